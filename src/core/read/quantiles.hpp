// Quantiles: the leaves that samples reach, and the rows in them -> quantiles of the targets of these rows for each sample.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/kit/parallel.hpp"
#include "core/kit/table.hpp"

namespace hedgerow {

// The training rows in the leaves of all trees, each as often as the bag holds it. A row is named by its rank: rows are
// numbered in the order of their targets.
struct LeafRows {
    const std::int64_t* leaf_start = nullptr;  // n_trees + 1
    const std::int64_t* row_start = nullptr;   // where the rows of each leaf begin; one entry more than leaves
    const std::uint32_t* ranks = nullptr;      // ascending within a leaf
    const double* values = nullptr;            // by rank, ascending
    const double* weights = nullptr;           // by rank; null if all rows weigh the same
    std::size_t n_trees = 0, n_rows = 0;
};

struct QuantileOptions {
    bool trees_alike = true;   // every tree weighs the same, whatever the size of its leaf; otherwise every row weighs the same
    bool inverse = false;      // the smallest number whose share is reached; otherwise between two numbers
};

// Finds the quantiles of one sample after another, and reuses its memory.
class QuantileFinder {
public:
    QuantileFinder(const LeafRows& rows, const QuantileOptions& options)
        : rows_(rows), options_(options), by_rank_(rows.n_rows, 0.0) {}

    void find(const std::int32_t* leaves, const double* quantiles, std::size_t n_quantiles, double* out) {
        gather(leaves);
        for (std::size_t i = 0; i < n_quantiles; ++i) out[i] = options_.inverse ? inverse(quantiles[i]) : between(quantiles[i]);
    }

private:
    // Sums up the weight of each rank that occurs; weights add up to the number of rows in the leaves.
    void gather(const std::int32_t* leaves) {
        std::int64_t n_found = 0;
        for (std::size_t tree = 0; tree < rows_.n_trees; ++tree) {
            const std::int64_t* span = rows_.row_start + rows_.leaf_start[tree] + leaves[tree];
            n_found += span[1] - span[0];
        }
        touched_.clear();
        double all = 0;
        for (std::size_t tree = 0; tree < rows_.n_trees; ++tree) {
            const std::int64_t* span = rows_.row_start + rows_.leaf_start[tree] + leaves[tree];
            double of_leaf = 0;
            for (std::int64_t i = span[0]; i < span[1]; ++i) of_leaf += weight_of(rows_.ranks[i]);
            const double share = options_.trees_alike ? static_cast<double>(n_found) / (of_leaf * static_cast<double>(rows_.n_trees)) : 1.0;
            for (std::int64_t i = span[0]; i < span[1]; ++i) {
                const std::uint32_t rank = rows_.ranks[i];
                if (by_rank_[rank] == 0) touched_.push_back(rank);
                by_rank_[rank] += share * weight_of(rank);
            }
            all += of_leaf;
        }
        // The scale makes the weights of all rows add up to their number.
        const double scale = options_.trees_alike || !rows_.weights ? 1.0 : static_cast<double>(n_found) / all;
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

    // The smallest target such that at least the share q of the weight is at or below it.
    double inverse(double quantile) const {
        const double wanted = quantile * passed_.back() * (1 - 0x1.0p-45);  // a share that is missed by rounding counts as reached
        const auto at = std::lower_bound(passed_.begin(), passed_.end(), wanted) - passed_.begin();
        return value_at(std::min<std::size_t>(at, touched_.size() - 1));
    }
    // As if every target occurred as often as it weighs: the quantile is interpolated between the two nearest.
    double between(double quantile) const {
        const double wanted = quantile * (passed_.back() - 1) + 1;
        const auto above = static_cast<std::size_t>(std::upper_bound(passed_.begin(), passed_.end(), wanted) - passed_.begin());
        if (above == 0) return value_at(0);
        if (above == passed_.size()) return value_at(above - 1);
        const double low = value_at(above - 1), high = value_at(above);
        return low + std::min(1.0, wanted - passed_[above - 1]) * (high - low);
    }
    double value_at(std::size_t i) const { return rows_.values[touched_[i]]; }

    const LeafRows& rows_;
    const QuantileOptions options_;
    std::vector<double> by_rank_, passed_;  // passed_[i]: weight up to and including touched_[i]
    std::vector<std::uint32_t> touched_;    // ranks that occur, ascending
};

// leaves (n, trees) -> (n, quantiles)
inline OwnTable<double> find_quantiles(const LeafRows& rows, const QuantileOptions& options, const Table<const std::int32_t>& leaves,
                                       std::span<const double> quantiles, std::size_t n_threads, Control& control) {
    constexpr std::size_t block = 64;
    const std::size_t n_samples = leaves.n_rows, n_quantiles = quantiles.size();
    OwnTable<double> found(n_samples, n_quantiles);
    std::vector<QuantileFinder> finders(std::max<std::size_t>(1, n_threads), QuantileFinder(rows, options));
    run_tasks((n_samples + block - 1) / block, n_threads, control, [&](std::size_t task, std::size_t thread) {
        for (std::size_t i = task * block; i < std::min(n_samples, (task + 1) * block); ++i)
            finders[thread].find(leaves.data + i * rows.n_trees, quantiles.data(), n_quantiles, found.data.get() + i * n_quantiles);
    });
    return found;
}

}  // namespace hedgerow
