// Quantiles of the targets of rows in leaves, and the positions of numbers among these targets.
//
// A leaf of -1 means that the tree is skipped, because the sample is in its bag. Without any tree, the result is NaN.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "core/kit/parallel.hpp"
#include "core/kit/table.hpp"

namespace hedgerow {

// The training rows in the leaves of all trees, with multiplicity. A row is named by its rank: rows are numbered in the
// order of their targets.
struct LeafRows {
    const std::int64_t* leaf_start = nullptr;  // n_trees + 1
    const std::int64_t* row_start = nullptr;   // where the rows of each leaf begin; one entry more than leaves
    const std::uint32_t* ranks = nullptr;      // ascending within a leaf
    const double* values = nullptr;            // by rank, ascending
    const double* weights = nullptr;           // by rank; null if all rows weigh the same
    std::size_t n_trees = 0, n_rows = 0;
};

// The quantile between two targets; `inverse` is the smallest target whose share is reached.
enum class Interpolation : int { linear = 0, inverse = 1, lower = 2, higher = 3, midpoint = 4, nearest = 5 };

struct QuantileOptions {
    bool trees_alike =
        true;  // every tree weighs the same, whatever the size of its leaf; otherwise every row weighs the same
    Interpolation interpolation = Interpolation::linear;
};

// Finds the quantiles of one sample after another, reusing its memory.
class QuantileFinder {
public:
    QuantileFinder(const LeafRows& rows, const QuantileOptions& options)
        : rows_(rows), options_(options), by_rank_(rows.n_rows, 0.0) {}

    void find(const std::int32_t* leaves, const double* quantiles, std::size_t n_quantiles, double* out) {
        gather(leaves);
        for (std::size_t i = 0; i < n_quantiles; ++i)
            out[i] = touched_.empty()                                   ? std::numeric_limits<double>::quiet_NaN()
                     : options_.interpolation == Interpolation::inverse ? inverse(quantiles[i])
                                                                        : between(quantiles[i]);
    }

    // out: the share of the weight below the number, the share up to and including it, and the mean share of one row.
    void place(const std::int32_t* leaves, double number, double* out) {
        gather(leaves);
        std::fill_n(out, 3, std::numeric_limits<double>::quiet_NaN());
        if (touched_.empty()) return;
        const auto share_of_first = [&](auto&& belongs) {
            const auto end = std::partition_point(touched_.begin(), touched_.end(),
                                                  [&](std::uint32_t rank) { return belongs(rows_.values[rank]); });
            return end == touched_.begin()
                       ? 0.0
                       : passed_[static_cast<std::size_t>(end - touched_.begin()) - 1] / passed_.back();
        };
        out[0] = share_of_first([&](double value) { return value < number; });
        out[1] = share_of_first([&](double value) { return value <= number; });
        out[2] = 1 / static_cast<double>(n_found_);
    }

private:
    // Sums the weight of each rank that occurs; weights sum to the number of rows in the leaves.
    void gather(const std::int32_t* leaves) {
        std::size_t n_trees = 0;
        n_found_ = 0;
        for (std::size_t tree = 0; tree < rows_.n_trees; ++tree) {
            if (leaves[tree] < 0) continue;
            const std::int64_t* span = rows_.row_start + rows_.leaf_start[tree] + leaves[tree];
            n_found_ += span[1] - span[0];
            ++n_trees;
        }
        touched_.clear();
        double all = 0;
        for (std::size_t tree = 0; tree < rows_.n_trees; ++tree) {
            if (leaves[tree] < 0) continue;
            const std::int64_t* span = rows_.row_start + rows_.leaf_start[tree] + leaves[tree];
            double of_leaf = 0;
            for (std::int64_t i = span[0]; i < span[1]; ++i) of_leaf += weight_of(rows_.ranks[i]);
            const double share =
                options_.trees_alike ? static_cast<double>(n_found_) / (of_leaf * static_cast<double>(n_trees)) : 1.0;
            for (std::int64_t i = span[0]; i < span[1]; ++i) {
                const std::uint32_t rank = rows_.ranks[i];
                if (by_rank_[rank] == 0) touched_.push_back(rank);
                by_rank_[rank] += share * weight_of(rank);
            }
            all += of_leaf;
        }
        // Scaled so that the weights of all rows sum to their number.
        const double scale = options_.trees_alike || !rows_.weights ? 1.0 : static_cast<double>(n_found_) / all;
        if (touched_.size() * 16 < rows_.n_rows) std::sort(touched_.begin(), touched_.end());
        else list_all();
        passed_.clear();
        double sum = 0;
        for (std::uint32_t rank : touched_) {
            passed_.push_back(sum += scale * by_rank_[rank]);
            by_rank_[rank] = 0;
        }
    }
    double weight_of(std::uint32_t rank) const { return rows_.weights ? rows_.weights[rank] : 1.0; }
    void list_all() {
        touched_.clear();
        for (std::uint32_t rank = 0; rank < rows_.n_rows; ++rank)
            if (by_rank_[rank] != 0) touched_.push_back(rank);
    }

    // The smallest target such that at least a share q of the weight is at or below it.
    double inverse(double quantile) const {
        const double wanted =
            quantile * passed_.back() * (1 - 0x1.0p-45);  // a share that is missed by rounding counts as reached
        const auto at = std::lower_bound(passed_.begin(), passed_.end(), wanted) - passed_.begin();
        return value_at(std::min<std::size_t>(at, touched_.size() - 1));
    }
    // As if every target occurred as often as it weighs: the quantile is interpolated between the two nearest.
    double between(double quantile) const {
        const double wanted = quantile * (passed_.back() - 1) + 1;
        const auto above =
            static_cast<std::size_t>(std::upper_bound(passed_.begin(), passed_.end(), wanted) - passed_.begin());
        if (above == 0) return value_at(0);
        if (above == passed_.size()) return value_at(above - 1);
        const double low = value_at(above - 1), high = value_at(above),
                     part = std::min(1.0, wanted - passed_[above - 1]);
        if (options_.interpolation == Interpolation::linear) return low + part * (high - low);
        const double slack = passed_.back() * 0x1.0p-45;  // a place that is missed by rounding counts as reached
        return part <= slack ? low : part >= 1 - slack ? high : either(low, high, part, passed_[above - 1]);
    }
    // Half way, the nearest is the one at an even position, counted from 0, as in NumPy.
    double either(double low, double high, double part, double passed) const {
        if (options_.interpolation == Interpolation::midpoint) return 0.5 * (low + high);
        if (options_.interpolation == Interpolation::lower) return low;
        if (options_.interpolation == Interpolation::higher) return high;
        return part < 0.5 || (part == 0.5 && std::fmod(passed, 2) != 0) ? low : high;
    }
    double value_at(std::size_t i) const { return rows_.values[touched_[i]]; }

    const LeafRows& rows_;
    const QuantileOptions options_;
    std::vector<double> by_rank_, passed_;  // passed_[i]: weight up to and including touched_[i]
    std::vector<std::uint32_t> touched_;    // ranks that occur, ascending
    std::int64_t n_found_ = 0;              // rows in the leaves
};

// Calls find(finder, sample, leaves of the sample, its results) for leaves (n, trees), and returns (n, width).
template <class Find>
inline OwnTable<double> find_in_leaves(const LeafRows& rows, const QuantileOptions& options,
                                       const Table<const std::int32_t>& leaves, std::size_t width,
                                       std::size_t n_threads, Control& control, Find&& find) {
    constexpr std::size_t block = 64;
    const std::size_t n_samples = leaves.n_rows;
    OwnTable<double> found(n_samples, width);
    std::vector<QuantileFinder> finders(std::max<std::size_t>(1, n_threads), QuantileFinder(rows, options));
    run_tasks((n_samples + block - 1) / block, n_threads, control, [&](std::size_t task, std::size_t thread) {
        for (std::size_t i = task * block; i < std::min(n_samples, (task + 1) * block); ++i)
            find(finders[thread], i, leaves.data + i * rows.n_trees, found.data.get() + i * width);
    });
    return found;
}

// Returns (n, quantiles).
inline OwnTable<double> find_quantiles(const LeafRows& rows, const QuantileOptions& options,
                                       const Table<const std::int32_t>& leaves, std::span<const double> quantiles,
                                       std::size_t n_threads, Control& control) {
    return find_in_leaves(rows, options, leaves, quantiles.size(), n_threads, control,
                          [&](QuantileFinder& finder, std::size_t, const std::int32_t* reached, double* out) {
        finder.find(reached, quantiles.data(), quantiles.size(), out);
    });
}

// Returns (n, 3) for one number per sample, as in QuantileFinder::place.
inline OwnTable<double> place_numbers(const LeafRows& rows, const QuantileOptions& options,
                                      const Table<const std::int32_t>& leaves, std::span<const double> numbers,
                                      std::size_t n_threads, Control& control) {
    return find_in_leaves(rows, options, leaves, 3, n_threads, control,
                          [&](QuantileFinder& finder, std::size_t sample, const std::int32_t* reached, double* out) {
        finder.place(reached, numbers[sample], out);
    });
}

}  // namespace hedgerow
