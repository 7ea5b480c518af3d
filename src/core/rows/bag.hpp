// Multiplicity of a row in the bootstrap sample of a tree, as a function of seed, tree and row.
//
// Multiplicities are independent Poisson draws keyed by the number of the row, so any machine can recompute those of
// any block of rows, and they are never stored. The rows of a group are drawn together: then the key is the number of
// the group. Alternatively, bags have an exact size: then the draws of a tree are repeated from its key whenever its
// bag is made, which takes time and a byte per row of the table.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/rows/random.hpp"

namespace hedgerow {

// The group of each row, numbered from 0; empty if every row is drawn on its own.
struct Units {
    std::span<const std::uint32_t> of_row;
    std::size_t n_units = 0;

    Units() = default;
    explicit Units(std::span<const std::uint32_t> groups) : of_row(groups) {
        for (const std::uint32_t group : groups) n_units = std::max<std::size_t>(n_units, std::size_t{group} + 1);
    }
    // Some rows of a table with this many groups.
    Units(std::span<const std::uint32_t> groups, std::size_t n_groups) : of_row(groups), n_units(n_groups) {}
    // Rows after the last one with a group are groups of their own.
    std::size_t of(std::size_t row) const { return row < of_row.size() ? of_row[row] : row; }
};

class Bag {
public:
    // mean: expected multiplicity of a row (1 for an ordinary bootstrap); 0 means no resampling, and a negative value
    // that exactly -mean · n_rows rows are drawn. With units, all of this applies to groups instead of rows.
    Bag(std::uint64_t seed, std::uint64_t tree, std::size_t n_rows, double mean, const Units& units = {})
        : resampled_(mean != 0), units_(units) {
        if (!resampled_) return;
        if (units.n_units > 0) n_rows = units.n_units;
        const std::uint64_t tree_key = derive_key(derive_key(seed, Purpose::bag), tree);
        if (mean < 0) draw_exactly(tree_key, n_rows, -mean);
        mean = std::abs(mean);
        double term = std::exp(-mean), cumulative = 0;
        for (int times = 0; times < n_thresholds; ++times) {
            cumulative += term;
            term *= mean / (times + 1);
            thresholds_[times] = static_cast<std::uint64_t>(std::min(cumulative, 1.0) * 4294967296.0);
        }
        // An empty bag, which is likely only for tables of a few rows, is redrawn.
        for (std::uint64_t attempt = 0; attempt < 1000; ++attempt) {
            key_ = derive_key(tree_key, attempt);
            for (std::size_t row = 0; row < n_rows; ++row)
                if (drawn(row) > 0) return;
        }
        resampled_ = false;
    }

    std::uint32_t multiplicity(std::size_t row) const { return resampled_ ? drawn(units_.of(row)) : 1; }
    bool holds(std::size_t row) const {
        if (!resampled_) return true;
        row = units_.of(row);
        if (row < n_drawn_) return times_.get()[row] > 0;
        return scramble(key_ + 0x9e3779b97f4a7c15ULL * row) >> 32 >= thresholds_[0];
    }
    bool resampled() const { return resampled_; }

private:
    static constexpr int n_thresholds = 24;

    // Number of draws of a row, or of a group.
    std::uint32_t drawn(std::size_t unit) const {
        if (unit < n_drawn_) return times_.get()[unit];
        const std::uint64_t draw = scramble(key_ + 0x9e3779b97f4a7c15ULL * unit) >> 32;
        std::uint32_t times = 0;
        for (int level = 0; level < 4; ++level) times += draw >= thresholds_[level];
        if (times == 4)
            while (times < n_thresholds && draw >= thresholds_[times]) ++times;
        return times;
    }

    // A mean of at most 8 fits into a byte: 31 rows cannot have more than 248 draws, and with more rows the probability
    // of 255 draws of one row is below 1e-200.
    void draw_exactly(std::uint64_t tree_key, std::size_t n_rows, double mean) {
        auto times = std::make_shared<std::vector<std::uint8_t>>(n_rows);
        const auto size = std::max<std::int64_t>(1, std::llround(mean * static_cast<double>(n_rows)));
        Draws draws(tree_key);
        for (std::int64_t i = 0; i < size; ++i) ++(*times)[draws.below_wide(n_rows)];
        times_ = std::shared_ptr<const std::uint8_t>(times, times->data());
        n_drawn_ = n_rows;
    }

    bool resampled_;
    Units units_;
    std::shared_ptr<const std::uint8_t> times_;  // multiplicity of each row, if bags have an exact size
    std::size_t n_drawn_ = 0;
    std::uint64_t key_ = 0;
    std::uint64_t thresholds_[n_thresholds] = {};
};

// Multiplicities of the rows first, …, last - 1. Later rows, on which the tree was not grown, are drawn in the same
// way.
inline std::vector<std::uint32_t> times_of_rows(const Bag& bag, std::size_t first, std::size_t last) {
    std::vector<std::uint32_t> times(last - first);
    for (std::size_t i = 0; i < times.size(); ++i) times[i] = bag.multiplicity(first + i);
    return times;
}

// Multiplicity of each row in the bag of a tree: drawn here, or given by the caller.
struct BagTimes {
    const Bag* bag = nullptr;
    const std::uint16_t* told = nullptr;
    std::uint32_t of(std::size_t row) const { return told ? told[row] : bag->multiplicity(row); }
};

}  // namespace hedgerow
