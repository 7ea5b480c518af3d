// Bin edges of columns.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "core/kit/named_values.hpp"
#include "core/kit/parallel.hpp"
#include "core/rows/random.hpp"

namespace hedgerow {

// A column as given: with any stride, of float32, float64 or (for category numbers) int32.
struct Column {
    enum class Type { float32, float64, category };
    const char* data = nullptr;
    std::ptrdiff_t stride = 0;  // in bytes
    Type type = Type::float64;
    std::size_t n_rows = 0;

    double value(std::size_t row) const {
        const char* at = data + static_cast<std::ptrdiff_t>(row) * stride;
        if (type == Type::float64) {
            double v;
            std::memcpy(&v, at, sizeof v);
            return v;
        }
        float v;
        std::memcpy(&v, at, sizeof v);
        return v;
    }
    std::int32_t category(std::size_t row) const {
        std::int32_t v;
        std::memcpy(&v, data + static_cast<std::ptrdiff_t>(row) * stride, sizeof v);
        return v;
    }
};

// Returns the number of rows of a table, which must be the same for all columns.
inline std::size_t rows_of(const std::vector<Column>& columns) {
    for (const Column& column : columns)
        if (column.n_rows != columns[0].n_rows)
            throw std::invalid_argument("columns must have the same number of rows");
    return columns.empty() ? 0 : columns[0].n_rows;
}

// Bins of a numeric feature: code c represents values in (cuts[c-1], cuts[c]]; centers[c] is a typical one.
struct NumericBins {
    std::vector<double> cuts;
    std::vector<double> centers;
};

namespace detail {

// Values as integers in the same order (−0 equals 0). Those of a float are half as long, and sorted in half the time.
template <class Value>
using KeyOf = std::conditional_t<sizeof(Value) == 4, std::uint32_t, std::uint64_t>;
template <class Value, class Key = KeyOf<Value>>
inline Key sortable(Value value) {
    constexpr Key sign = Key{1} << (8 * sizeof(Key) - 1);
    value += Value{0};
    const auto bits = std::bit_cast<Key>(value);
    return bits ^ (bits & sign ? static_cast<Key>(~Key{0}) : sign);
}
template <class Value, class Key = KeyOf<Value>>
inline double from_sortable(Key bits) {
    constexpr Key sign = Key{1} << (8 * sizeof(Key) - 1);
    return std::bit_cast<Value>(static_cast<Key>(bits ^ (bits & sign ? sign : static_cast<Key>(~Key{0}))));
}

// A radix sort of eleven bits in each pass, without passes in which all keys agree; short lists are left to std::sort.
template <class Key>
inline void sort_keys(std::vector<Key>& keys, std::vector<Key>& other) {
    if (keys.size() < 256) {
        std::sort(keys.begin(), keys.end());
        return;
    }
    constexpr int bits = 11, n_passes = (8 * sizeof(Key) + bits - 1) / bits;
    constexpr std::size_t radix = std::size_t{1} << bits;
    static thread_local std::vector<std::uint32_t> counts;
    counts.assign(radix * n_passes, 0);
    for (const Key key : keys)
        for (int pass = 0; pass < n_passes; ++pass) ++counts[pass * radix + ((key >> (pass * bits)) & (radix - 1))];
    other.resize(keys.size());
    for (int pass = 0; pass < n_passes; ++pass) {
        std::uint32_t* count = counts.data() + pass * radix;
        if (count[(keys[0] >> (pass * bits)) & (radix - 1)] == keys.size()) continue;
        std::uint32_t sum = 0;
        for (std::size_t digit = 0; digit < radix; ++digit) {
            const std::uint32_t n = count[digit];
            count[digit] = sum;
            sum += n;
        }
        for (const Key key : keys) other[count[(key >> (pass * bits)) & (radix - 1)]++] = key;
        keys.swap(other);
    }
}

// The boundary between adjacent values a < b: a goes left (≤), b goes right.
inline double cut_between(double a, double b) {
    constexpr double largest = std::numeric_limits<double>::max();
    if (b > largest) return largest;
    if (a < -largest) return b > -largest ? -largest : a;
    const double middle = a / 2 + b / 2;
    return middle >= b || middle < a ? a : middle;
}

}  // namespace detail

// The rows that determine the edges: all rows of a table of at most `limit` rows, otherwise a sample. The sample
// depends only on row numbers, so it is the same for every column, seed and partition. Only rows first, …, first + n -
// 1 of the table are considered, and the results are counted from `first`.
inline std::vector<std::uint32_t> rows_for_cuts(std::size_t n_rows, std::size_t limit, std::size_t first,
                                                std::size_t n) {
    std::vector<std::uint32_t> rows;
    const std::uint64_t key = derive_key(0, Purpose::sample);
    const auto bound = static_cast<std::uint64_t>(
        std::min(1.0, static_cast<double>(limit) / static_cast<double>(n_rows)) * 4294967296.0);
    for (std::size_t row = first; row < first + n; ++row)
        if (n_rows <= limit || (scramble(key + 0x9e3779b97f4a7c15ULL * row) >> 32) < bound)
            rows.push_back(static_cast<std::uint32_t>(row - first));
    return rows;
}

// Number of rows per bin, from the lowest to the highest, if there are more distinct values than bins.
//
// Equal numbers of rows would put the highest of 20,000 rows into a bin with 77 others, and a tree could not separate
// rare values from common ones. So bins get smaller towards both ends: near an end, a bin has the d-th part of the rows
// between it and that end, until this reaches an equal share. With 255 bins, d is 10, and the ends take about half of
// the bins.
class BinSizes {
public:
    BinSizes(std::size_t n_rows, std::size_t max_bins)
        : n_rows_(n_rows),
          bins_left_(max_bins),
          divisor_(max_bins >= fewest_bins ? max_bins / 25 : 0),
          zone_(divisor_ * n_rows / max_bins) {
        for (std::size_t left = zone_; left > 0; left -= size_near_end(left)) ++zone_bins_;
    }
    // The number of rows of the next bin, given that `begin` rows are in bins already.
    std::size_t next(std::size_t begin) {
        const std::size_t left = n_rows_ - begin, n_bins = bins_left_--;
        if (n_bins <= 1) return left;
        if (begin < zone_) return std::max<std::size_t>(1, begin / divisor_);
        if (left <= zone_) return size_near_end(left);
        const std::size_t n_equal =
            n_bins > zone_bins_ ? n_bins - zone_bins_ : 1;  // bins that share the rows before the end
        return (left - zone_ + n_equal - 1) / n_equal;
    }

private:
    static constexpr std::size_t fewest_bins = 128;  // with fewer bins, all are needed in the middle
    std::size_t size_near_end(std::size_t left) const { return std::max<std::size_t>(1, left / (divisor_ + 1)); }

    std::size_t n_rows_, bins_left_, divisor_;
    std::size_t zone_, zone_bins_ = 0;  // rows near an end, and their bins
};

// Bins from the sorted keys of the values that determine the edges.
//
// Each distinct value gets its own bin if max_bins allows it; otherwise bins are smaller towards both ends. With
// `gaps`, the range between two values is a bin too, if max_bins allows it: then a value can be a threshold, with < and
// with ≤.
template <class Value, class Key>
inline NumericBins bins_from_keys(const std::vector<Key>& keys, std::size_t max_bins, bool gaps) {
    std::size_t n_distinct = keys.empty() ? 0 : 1;
    for (std::size_t i = 1; i < keys.size(); ++i) n_distinct += keys[i] != keys[i - 1];

    NumericBins bins;
    gaps = gaps && 2 * n_distinct <= max_bins + 1;
    BinSizes sizes(keys.size(), max_bins);
    for (std::size_t begin = 0, end; begin < keys.size(); begin = end) {
        // The bin ends when it has its rows and the next value differs.
        end = begin + (n_distinct > max_bins ? sizes.next(begin) : 1);
        while (end < keys.size() && keys[end] == keys[end - 1]) ++end;
        const double low = detail::from_sortable<Value>(keys[begin]),
                     high = detail::from_sortable<Value>(keys[end - 1]);
        bins.centers.push_back(low == high ? low : low / 2 + high / 2);
        if (end == keys.size()) break;
        const double next = detail::from_sortable<Value>(keys[end]);
        const double below_next = std::nextafter(next, -std::numeric_limits<double>::infinity());
        bins.cuts.push_back(gaps ? high : detail::cut_between(high, next));
        if (gaps && below_next > high) {
            bins.centers.push_back(high / 2 + next / 2);
            bins.cuts.push_back(below_next);
        }
    }
    if (bins.centers.empty()) bins.centers.push_back(0.0);  // all values are missing
    return bins;
}

// Bins of a few columns of the same type. They are read together, a block of rows at a time, so that a row-major table
// is read once and not once per column (together with the shorter keys of floats, 5,000 rows of 1,000 columns: 0.83 of
// the time).
template <class Value>
inline void find_bins(std::span<const Column> columns, const std::vector<std::uint32_t>& rows, std::size_t max_bins,
                      bool gaps, NumericBins* bins) {
    using Key = detail::KeyOf<Value>;
    constexpr std::size_t block = 256;
    std::vector<std::vector<Key>> keys(columns.size(), std::vector<Key>(rows.size()));
    std::vector<Key> other;
    std::vector<std::size_t> n_keys(columns.size(), 0);
    for (std::size_t first = 0; first < rows.size(); first += block)
        for (std::size_t i = 0; i < columns.size(); ++i) {
            Key* to = keys[i].data() + n_keys[i];
            for (std::size_t at = first; at < std::min(first + block, rows.size()); ++at) {
                Value value;
                std::memcpy(&value, columns[i].data + static_cast<std::ptrdiff_t>(rows[at]) * columns[i].stride,
                            sizeof value);
                *to = detail::sortable(value);
                to += value == value;  // skips missing values
            }
            n_keys[i] = static_cast<std::size_t>(to - keys[i].data());
        }
    for (std::size_t i = 0; i < columns.size(); ++i) {
        keys[i].resize(n_keys[i]);
        detail::sort_keys(keys[i], other);
        bins[i] = bins_from_keys<Value>(keys[i], max_bins, gaps);
    }
}

// Bins of all columns, end to end.
struct AllBins {
    std::vector<double> cuts, centers;
    std::vector<std::int64_t> cut_start{0}, center_start{0};
};

// Edges of numeric columns are determined by the `chosen` rows, or by about `sample_rows` of all of them.
inline AllBins find_all_bins(const std::vector<Column>& columns,
                             const std::optional<std::span<const std::uint32_t>>& chosen, std::size_t sample_rows,
                             std::size_t max_bins, bool gaps, std::size_t n_threads, Control& control) {
    const std::size_t n_chosen = chosen ? chosen->size() : rows_of(columns);
    std::vector<std::uint32_t> rows = rows_for_cuts(n_chosen, sample_rows, 0, n_chosen);
    if (chosen)
        for (std::uint32_t& row : rows) row = (*chosen)[row];
    std::vector<NumericBins> found(columns.size());
    // A task has several columns: for a small table, starting a thread costs more than it saves.
    constexpr std::size_t together = 8;
    const std::size_t fair_share = columns.size() / (4 * std::max<std::size_t>(1, n_threads)) + 1;
    const std::size_t columns_per_task = std::max(std::min(together, fair_share), 20000 / (rows.size() + 1));
    run_tasks((columns.size() + columns_per_task - 1) / columns_per_task, n_threads, control,
              [&](std::size_t task, std::size_t thread) {
        const std::size_t last = std::min(columns.size(), (task + 1) * columns_per_task);
        for (std::size_t i = task * columns_per_task, next; i < last; i = next) {
            control.tick(thread == 0);
            for (next = i + 1; next < last && next < i + together && columns[next].type == columns[i].type;) ++next;
            const std::span some(columns.data() + i, next - i);
            if (columns[i].type == Column::Type::float64) find_bins<double>(some, rows, max_bins, gaps, &found[i]);
            else if (columns[i].type == Column::Type::float32) find_bins<float>(some, rows, max_bins, gaps, &found[i]);
        }
    });
    AllBins all;
    for (const NumericBins& bins : found) {
        append(all.cuts, bins.cuts);
        append(all.centers, bins.centers);
        all.cut_start.push_back(static_cast<std::int64_t>(all.cuts.size()));
        all.center_start.push_back(static_cast<std::int64_t>(all.centers.size()));
    }
    return all;
}

}  // namespace hedgerow
