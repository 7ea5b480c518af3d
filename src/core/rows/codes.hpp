// Binned table, as trees are grown on it and read it.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <vector>

#include "core/kit/named_values.hpp"

namespace hedgerow {

inline constexpr std::size_t max_features = (std::size_t{1} << 17) - 1;  // limited by the bits of a node

// Missing values have the highest code; bins of values are numbered from 0.
template <class Code>
inline constexpr Code missing_code = std::numeric_limits<Code>::max();

// A feature for the grower: its bins and, if it is numeric, a typical value of each.
struct Feature {
    std::uint32_t n_bins = 0;
    bool nominal = false;
    const double* centers = nullptr;  // n_bins ascending values; null for nominal features
    bool has_missing = true;          // false only if no value is known to be missing

    // Only thresholds, no missing values, and codes that can be compared as signed 16-bit numbers.
    bool is_plain() const { return !nominal && !has_missing && n_bins <= 0x7fff; }
    // Enough categories for their order in a small node to follow chance: they are grouped first.
    bool has_many_categories() const { return nominal && n_bins > few_categories; }

    static constexpr std::uint32_t few_categories = 32;
};

// Codes of some rows, addressed by row and feature, in either layout.
template <class Code>
struct CodeView {
    const Code* codes = nullptr;
    std::size_t row_stride = 1;
    std::size_t feature_stride = 0;

    const Code* column(std::uint32_t feature) const { return codes + feature * feature_stride; }
    Code at(std::uint32_t row, std::uint32_t feature) const {
        return codes[row * row_stride + feature * feature_stride];
    }
};

// Codes of a table from a caller, by column or, with a row stride, by row.
template <class Code>
struct CodeColumns {
    const Code* codes = nullptr;
    std::size_t n_features = 0, n_rows = 0, row_stride = 1;

    CodeView<Code> view() const {
        return row_stride == 1 ? CodeView<Code>{codes, 1, n_rows} : CodeView<Code>{codes, row_stride, 1};
    }
};

// Two-byte codes; one-byte codes are converted. Work that takes much longer than a copy is compiled for these only.
class WideCodes {
public:
    explicit WideCodes(const CodeColumns<std::uint16_t>& codes) : columns_(codes) {}
    explicit WideCodes(const CodeColumns<std::uint8_t>& codes) : columns_{nullptr, codes.n_features, codes.n_rows} {
        if (!codes.codes) return;
        copy_.reserve(codes.n_features * codes.n_rows);
        for (std::size_t i = 0; i < codes.n_features * codes.n_rows; ++i)
            copy_.push_back(codes.codes[i] == missing_code<std::uint8_t> ? missing_code<std::uint16_t>
                                                                         : codes.codes[i]);
        columns_.codes = copy_.data();
    }
    WideCodes(const WideCodes&) = delete;
    WideCodes& operator=(const WideCodes&) = delete;
    const CodeColumns<std::uint16_t>& columns() const { return columns_; }

private:
    CodeColumns<std::uint16_t> columns_;
    std::vector<std::uint16_t> copy_;
};

// Codes of one or two bytes. Code that runs once per row is compiled for both, by `visit`; the rest is compiled once.
struct AnyView {
    const std::byte* codes = nullptr;
    std::size_t row_stride = 1, feature_stride = 0;  // in codes
    bool wide = false;                               // two bytes

    AnyView() = default;
    template <class Code>
    AnyView(const CodeView<Code>& view)
        : codes(reinterpret_cast<const std::byte*>(view.codes)),
          row_stride(view.row_stride),
          feature_stride(view.feature_stride),
          wide(sizeof(Code) > 1) {}

    std::size_t code_size() const { return wide ? 2 : 1; }
    template <class Code>
    CodeView<Code> as() const {
        return {reinterpret_cast<const Code*>(codes), row_stride, feature_stride};
    }
    // Calls visit with the codes as they are.
    template <class Visit>
    auto visit(Visit&& visit) const {
        return wide ? visit(as<std::uint16_t>()) : visit(as<std::uint8_t>());
    }
};

// Rows that are copied as a whole are padded to full words.
template <class Code>
inline std::size_t padded_width(std::size_t n_features) {
    constexpr std::size_t per_word = sizeof(std::uint64_t) / sizeof(Code);
    return (n_features + per_word - 1) / per_word * per_word;
}
// Transposes a square of codes, as many rows and columns as a word has codes. Words hold columns first; then halves of
// them are exchanged, then quarters, then eighths.
template <class Code>
inline void transpose_square(const Code* by_column, std::size_t column_stride, Code* by_row, std::size_t row_stride) {
    constexpr std::size_t size = sizeof(std::uint64_t) / sizeof(Code);
    std::uint64_t words[size];
    for (std::size_t i = 0; i < size; ++i) std::memcpy(words + i, by_column + i * column_stride, sizeof *words);
    for (std::size_t part = size / 2; part > 0; part /= 2) {
        const std::size_t bits = 8 * sizeof(Code) * part;
        const std::uint64_t low = ~std::uint64_t{0} / ((std::uint64_t{1} << bits) + 1);
        for (std::size_t i = 0; i < size; ++i) {
            if (i & part) continue;
            const std::uint64_t differs = (words[i] >> bits ^ words[i + part]) & low;
            words[i + part] ^= differs;
            words[i] ^= differs << bits;
        }
    }
    for (std::size_t i = 0; i < size; ++i) std::memcpy(by_row + i * row_stride, words + i, sizeof *words);
}
// Transposes column-major codes in blocks that stay in the cache; code by code took three times as long.
template <class Code>
inline void transpose_codes(const Code* by_column, std::size_t n_rows, std::size_t n_features,
                            std::size_t column_stride, Code* by_row, std::size_t row_stride) {
    constexpr std::size_t block = 64, size = sizeof(std::uint64_t) / sizeof(Code);
    const std::size_t square_features = n_features / size * size;
    for (std::size_t first = 0; first < n_rows; first += block) {
        const std::size_t last = std::min(n_rows, first + block), square_rows = first + (last - first) / size * size;
        for (std::size_t feature = 0; feature < square_features; feature += size)
            for (std::size_t row = first; row < square_rows; row += size)
                transpose_square(by_column + feature * column_stride + row, column_stride,
                                 by_row + row * row_stride + feature, row_stride);
        for (std::size_t feature = 0; feature < n_features; ++feature) {
            const Code* column = by_column + feature * column_stride;
            for (std::size_t row = feature < square_features ? square_rows : first; row < last; ++row)
                by_row[row * row_stride + feature] = column[row];
        }
    }
}

template <class Code>
struct CodeTable {
    CodeView<Code> by_column;
    CodeView<Code> by_row;  // the same codes by row; codes == nullptr if that does not pay
    std::size_t n_rows = 0;
    std::vector<Feature> features;

    std::uint32_t n_features() const { return static_cast<std::uint32_t>(features.size()); }
    // Scans the columns once, so that the grower need not handle missing values in columns that have none.
    void note_missing() {
        for (std::uint32_t i = 0; i < n_features(); ++i) {
            const Code* column = by_column.column(i);
            features[i].has_missing = std::find(column, column + n_rows, missing_code<Code>) != column + n_rows;
        }
    }
    // The same if the table is a part of another one, given the features with missing values in the whole table.
    void tell_missing(const std::uint8_t* has_missing) {
        for (std::uint32_t i = 0; i < n_features(); ++i) features[i].has_missing = has_missing[i] != 0;
    }
    // Copies the codes row by row to `memory` if that pays: as long as a node reads a large part of each row. A
    // row-major table is used as it is, or else copied column by column.
    void lay_out(std::vector<Code>& memory) {
        if (by_column.row_stride > 1) {
            if (by_column.row_stride != padded_width<Code>(n_features()))
                throw std::invalid_argument("rows must be padded to full words");
            by_row = by_column;
            if (n_features() <= 256) return;
            memory.resize(n_rows * n_features());
            transpose_codes(by_row.codes, n_features(), n_rows, by_row.row_stride, memory.data(), n_rows);
            by_column = {memory.data(), 1, n_rows};
            by_row = {};
            return;
        }
        if (n_features() > 256) return;
        const std::size_t stride = padded_width<Code>(n_features());
        memory.resize(n_rows * stride);
        transpose_codes(by_column.codes, n_rows, n_features(), n_rows, memory.data(), stride);
        by_row = {memory.data(), stride, 1};
    }
};

// A table with codes of either size, for a grower; it must not outlive the table.
struct AnyTable {
    AnyView by_column, by_row;
    std::size_t n_rows;
    const std::vector<Feature>& features;
    bool wide;

    template <class Code>
    AnyTable(const CodeTable<Code>& table)
        : by_column(table.by_column),
          by_row(table.by_row),
          n_rows(table.n_rows),
          features(table.features),
          wide(sizeof(Code) > 1) {}
    std::uint32_t n_features() const { return static_cast<std::uint32_t>(features.size()); }
    std::uint32_t missing() const { return wide ? missing_code<std::uint16_t> : missing_code<std::uint8_t>; }
};

// Reads the features of a table from bins by name.
inline std::vector<Feature> features_from(const NamedValues& bins) {
    const auto n_bins = bins.array<std::int64_t>("n_bins");
    const auto* nominal = bins.array<std::uint8_t>("nominal", n_bins.size());
    const auto* center_start = bins.array<std::int64_t>("center_start", n_bins.size() + 1);
    const auto centers = bins.array<double>("centers");
    std::vector<Feature> features;
    features.reserve(n_bins.size());
    for (std::size_t i = 0; i < n_bins.size(); ++i)
        features.push_back({static_cast<std::uint32_t>(n_bins[i]), nominal[i] != 0, centers.data() + center_start[i]});
    return features;
}

// Makes a table for the grower from codes and bins.
template <class Code>
CodeTable<Code> table_from(const CodeColumns<Code>& codes, const NamedValues& bins) {
    if (codes.n_features > max_features) throw std::invalid_argument("a table must have fewer than 131,072 features");
    if (codes.n_rows >= (std::size_t{1} << 31)) throw std::invalid_argument("a table must have fewer than 2^31 rows");
    CodeTable<Code> table{codes.view(), {}, codes.n_rows, features_from(bins)};
    if (table.features.size() != codes.n_features) throw std::invalid_argument("codes must have one row per feature");
    return table;
}

// The threshold between two occupied bins a < b: the last code whose centre is not above
// centre(a) + fraction · (centre(b) − centre(a)). CART's midpoint is fraction = ½.
inline std::uint32_t code_between(const double* centers, std::uint32_t low, std::uint32_t high, double fraction) {
    if (high == low + 1) return low;
    const double value = centers[low] * (1 - fraction) + centers[high] * fraction;
    if (!(value > -std::numeric_limits<double>::max() && value < std::numeric_limits<double>::max()))
        return low + static_cast<std::uint32_t>((high - low) * fraction);  // by rank if an end is infinite
    std::uint32_t inside = low, outside = high;
    while (outside - inside > 1) {
        const std::uint32_t middle = inside + (outside - inside) / 2;
        if (centers[middle] <= value) inside = middle;
        else outside = middle;
    }
    return inside;
}

}  // namespace hedgerow
