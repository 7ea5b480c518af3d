// Codes: the binned table as the grower and the readers of trees see it.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace hedgerow {

// A missing value has the highest code there is; value bins are numbered from 0.
template <class Code>
inline constexpr Code missing_code = std::numeric_limits<Code>::max();

// What the grower must know of a feature: its bins and, for a numeric one, a typical value of each.
struct Feature {
    std::uint32_t n_bins = 0;
    bool nominal = false;
    const double* centers = nullptr;  // n_bins ascending values; null for nominal features
    bool has_missing = true;          // false only where it is known that no row lacks a value
};

// Codes of some rows, addressed by row and feature; either layout, the same code reads both.
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

template <class Code>
struct CodeTable {
    CodeView<Code> by_column;
    CodeView<Code> by_row;  // the same codes, row after row; codes == nullptr where that does not pay
    std::size_t n_rows = 0;
    std::vector<Feature> features;

    std::uint32_t n_features() const { return static_cast<std::uint32_t>(features.size()); }
    // Looks through the columns once, so that the grower need not look out for missing values where there are none.
    void note_missing() {
        for (std::uint32_t i = 0; i < n_features(); ++i) {
            const Code* column = by_column.column(i);
            features[i].has_missing = std::find(column, column + n_rows, missing_code<Code>) != column + n_rows;
        }
    }
};

// Rows that are copied whole are padded to full words.
template <class Code>
inline std::size_t padded_width(std::size_t n_features) {
    constexpr std::size_t per_word = sizeof(std::uint64_t) / sizeof(Code);
    return (n_features + per_word - 1) / per_word * per_word;
}
template <class Code>
inline void copy_words(const Code* source, std::size_t n_words, Code* target) {
    for (std::size_t word = 0; word < n_words; ++word) std::memcpy(target + word * 8 / sizeof(Code), source + word * 8 / sizeof(Code), 8);
}

// Where between two occupied bins a < b the split lies: the last code whose centre is not above
// centre(a) + fraction · (centre(b) − centre(a)). CART's midpoint is fraction = ½.
inline std::uint32_t code_between(const double* centers, std::uint32_t low, std::uint32_t high, double fraction) {
    if (high == low + 1) return low;
    const double value = centers[low] * (1 - fraction) + centers[high] * fraction;
    if (!(value > -std::numeric_limits<double>::max() && value < std::numeric_limits<double>::max()))
        return low + static_cast<std::uint32_t>((high - low) * fraction);  // an infinite end: go by rank
    std::uint32_t inside = low, outside = high;
    while (outside - inside > 1) {
        const std::uint32_t middle = inside + (outside - inside) / 2;
        if (centers[middle] <= value) inside = middle; else outside = middle;
    }
    return inside;
}

}  // namespace hedgerow
