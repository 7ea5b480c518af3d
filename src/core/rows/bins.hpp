// Bins: columns of values -> where to cut them.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "core/kit/named.hpp"
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
        if (type == Type::float64) { double v; std::memcpy(&v, at, sizeof v); return v; }
        float v; std::memcpy(&v, at, sizeof v); return v;
    }
    std::int32_t category(std::size_t row) const {
        std::int32_t v;
        std::memcpy(&v, data + static_cast<std::ptrdiff_t>(row) * stride, sizeof v);
        return v;
    }
};

// -> the number of rows of a table, which must be the same for all columns
inline std::size_t rows_of(const std::vector<Column>& columns) {
    for (const Column& column : columns)
        if (column.n_rows != columns[0].n_rows) throw std::invalid_argument("columns must have the same number of rows");
    return columns.empty() ? 0 : columns[0].n_rows;
}

// Bins of a numeric feature: code c stands for values in (cuts[c-1], cuts[c]]; centers[c] is a typical one.
struct NumericBins {
    std::vector<double> cuts;
    std::vector<double> centers;
};

namespace detail {

// Doubles as integers in the same order (−0 counts as 0).
inline std::uint64_t sortable(double value) {
    value += 0.0;
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits ^ ((bits >> 63) ? ~std::uint64_t{0} : std::uint64_t{1} << 63);
}
inline double from_sortable(std::uint64_t bits) {
    bits ^= (bits >> 63) ? std::uint64_t{1} << 63 : ~std::uint64_t{0};
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

// A radix sort of eleven bits in each pass, without passes in which all keys agree; short lists are left to std::sort.
inline void sort_keys(std::vector<std::uint64_t>& keys, std::vector<std::uint64_t>& other) {
    if (keys.size() < 256) { std::sort(keys.begin(), keys.end()); return; }
    constexpr int bits = 11, n_passes = 6;
    constexpr std::size_t radix = std::size_t{1} << bits;
    static thread_local std::vector<std::uint32_t> counts;
    counts.assign(radix * n_passes, 0);
    for (std::uint64_t key : keys)
        for (int pass = 0; pass < n_passes; ++pass) ++counts[pass * radix + ((key >> (pass * bits)) & (radix - 1))];
    other.resize(keys.size());
    for (int pass = 0; pass < n_passes; ++pass) {
        std::uint32_t* count = counts.data() + pass * radix;
        if (count[(keys[0] >> (pass * bits)) & (radix - 1)] == keys.size()) continue;
        std::uint32_t sum = 0;
        for (std::size_t digit = 0; digit < radix; ++digit) { const std::uint32_t n = count[digit]; count[digit] = sum; sum += n; }
        for (std::uint64_t key : keys) other[count[(key >> (pass * bits)) & (radix - 1)]++] = key;
        keys.swap(other);
    }
}

// The boundary between neighbouring values a < b: a goes left (≤), b goes right.
inline double cut_between(double a, double b) {
    constexpr double largest = std::numeric_limits<double>::max();
    if (b > largest) return largest;
    if (a < -largest) return b > -largest ? -largest : a;
    const double middle = a / 2 + b / 2;
    return middle >= b || middle < a ? a : middle;
}

}  // namespace detail

// The rows whose values decide the cuts: all rows of a table of at most `limit` rows, otherwise a sample. The sample depends
// only on the numbers of rows, so it is the same for every column, seed and partition. Only rows first, …, first + n - 1 of
// the table are considered, and the results are counted from `first`.
inline std::vector<std::uint32_t> rows_for_cuts(std::size_t n_rows, std::size_t limit, std::size_t first, std::size_t n) {
    std::vector<std::uint32_t> rows;
    const std::uint64_t key = derive_key(0, Purpose::sample);
    const auto bound = static_cast<std::uint64_t>(std::min(1.0, static_cast<double>(limit) / static_cast<double>(n_rows)) * 4294967296.0);
    for (std::size_t row = first; row < first + n; ++row)
        if (n_rows <= limit || (scramble(key + 0x9e3779b97f4a7c15ULL * row) >> 32) < bound)
            rows.push_back(static_cast<std::uint32_t>(row - first));
    return rows;
}

// How many rows each bin gets, from the lowest to the highest, if there are more distinct values than bins.
//
// Equal numbers of rows would put the highest of 20,000 rows into a bin with 77 others, and a tree could not tell what is rare
// from what is not. So bins get smaller towards both ends: near an end, a bin has the d-th part of the rows between it and
// that end, until this is as much as an equal share. With 255 bins, d is 10, and the ends take about half of the bins.
class BinSizes {
public:
    BinSizes(std::size_t n_rows, std::size_t max_bins)
        : n_rows_(n_rows), bins_left_(max_bins), divisor_(max_bins >= fewest_bins ? max_bins / 25 : 0),
          zone_(divisor_ * n_rows / max_bins) {
        for (std::size_t left = zone_; left > 0; left -= size_near_end(left)) ++zone_bins_;
    }
    // The number of rows of the next bin, before which `begin` rows are in bins.
    std::size_t next(std::size_t begin) {
        const std::size_t left = n_rows_ - begin, n_bins = bins_left_--;
        if (n_bins <= 1) return left;
        if (begin < zone_) return std::max<std::size_t>(1, begin / divisor_);
        if (left <= zone_) return size_near_end(left);
        const std::size_t n_equal = n_bins > zone_bins_ ? n_bins - zone_bins_ : 1;  // bins that share the rows before the end
        return (left - zone_ + n_equal - 1) / n_equal;
    }

private:
    static constexpr std::size_t fewest_bins = 128;  // with fewer bins, all are needed in the middle
    std::size_t size_near_end(std::size_t left) const { return std::max<std::size_t>(1, left / (divisor_ + 1)); }

    std::size_t n_rows_, bins_left_, divisor_;
    std::size_t zone_, zone_bins_ = 0;  // rows that are near an end, and bins of these
};

// Each distinct value gets its own bin if max_bins allows it; otherwise bins are smaller towards both ends. With `gaps`, what
// lies between two values is a bin, too, if max_bins allows it: then a value can be a threshold, with < and with ≤.
inline NumericBins find_bins(const Column& column, const std::vector<std::uint32_t>& rows, std::size_t max_bins, bool gaps = false) {
    static thread_local std::vector<std::uint64_t> keys, other;
    keys.clear();
    for (std::uint32_t row : rows) {
        const double value = column.value(row);
        if (!std::isnan(value)) keys.push_back(detail::sortable(value));
    }
    detail::sort_keys(keys, other);
    std::size_t n_distinct = keys.empty() ? 0 : 1;
    for (std::size_t i = 1; i < keys.size(); ++i) n_distinct += keys[i] != keys[i - 1];

    NumericBins bins;
    gaps = gaps && 2 * n_distinct <= max_bins + 1;
    BinSizes sizes(keys.size(), max_bins);
    for (std::size_t begin = 0, end; begin < keys.size(); begin = end) {
        // The bin ends when it has its rows and the next value differs.
        end = begin + (n_distinct > max_bins ? sizes.next(begin) : 1);
        while (end < keys.size() && keys[end] == keys[end - 1]) ++end;
        const double low = detail::from_sortable(keys[begin]), high = detail::from_sortable(keys[end - 1]);
        bins.centers.push_back(low == high ? low : low / 2 + high / 2);
        if (end == keys.size()) break;
        const double next = detail::from_sortable(keys[end]), below_next = std::nextafter(next, -std::numeric_limits<double>::infinity());
        bins.cuts.push_back(gaps ? high : detail::cut_between(high, next));
        if (gaps && below_next > high) {
            bins.centers.push_back(high / 2 + next / 2);
            bins.cuts.push_back(below_next);
        }
    }
    if (bins.centers.empty()) bins.centers.push_back(0.0);  // there are only missing values
    return bins;
}

// Bins of all columns, end to end.
struct AllBins {
    std::vector<double> cuts, centers;
    std::vector<std::int64_t> cut_start{0}, center_start{0};
};

// Cuts of numeric columns are decided by the `chosen` rows, or by about `sample_rows` of all of them.
inline AllBins find_all_bins(const std::vector<Column>& columns, const std::optional<std::span<const std::uint32_t>>& chosen,
                             std::size_t sample_rows, std::size_t max_bins, bool gaps, std::size_t n_threads, Control& control) {
    const std::size_t n_chosen = chosen ? chosen->size() : rows_of(columns);
    std::vector<std::uint32_t> rows = rows_for_cuts(n_chosen, sample_rows, 0, n_chosen);
    if (chosen)
        for (std::uint32_t& row : rows) row = (*chosen)[row];
    std::vector<NumericBins> found(columns.size());
    // A task has several columns: starting a thread for a small table costs more than it saves.
    const std::size_t columns_per_task = std::max<std::size_t>(1, 20000 / (rows.size() + 1));
    run_tasks((columns.size() + columns_per_task - 1) / columns_per_task, n_threads, control,
              [&](std::size_t task, std::size_t thread) {
        const std::size_t last = std::min(columns.size(), (task + 1) * columns_per_task);
        for (std::size_t i = task * columns_per_task; i < last; ++i) {
            control.tick(thread == 0);
            if (columns[i].type != Column::Type::category) found[i] = find_bins(columns[i], rows, max_bins, gaps);
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
