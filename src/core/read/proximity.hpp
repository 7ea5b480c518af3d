// Rows that share leaves, and how often, without visiting pairs that never meet.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "core/kit/parallel.hpp"
#include "core/rows/bag.hpp"

namespace hedgerow {

// Rows that count as members of a leaf, and how often.
enum class Present : int { all = 0, inbag = 1, distinct = 2, oob = 3 };

// leaves[row · n_trees + tree]: numbers within the tree, whose leaves begin at leaf_start[tree] among those of all
// trees.
struct LeafTable {
    const std::int32_t* leaves = nullptr;
    std::size_t n_rows = 0, n_trees = 0;
    const std::int64_t* leaf_start = nullptr;

    std::size_t leaf(std::size_t row, std::size_t tree) const {
        return static_cast<std::size_t>(leaf_start[tree] + leaves[row * n_trees + tree]);
    }
};

// The rows in each leaf of each tree.
class RowsInLeaves {
public:
    RowsInLeaves(const LeafTable& table, Present present, std::uint64_t seed, double bag_mean, const Units& units = {})
        : n_rows_(table.n_rows),
          start_(static_cast<std::size_t>(table.leaf_start[table.n_trees]) + 1, 0),
          total_(start_.size() - 1, 0.0),
          n_words_(present == Present::oob ? (table.n_trees + 63) / 64 : 0),
          outside_(n_words_ * table.n_rows, 0) {
        std::vector<std::uint32_t> times(table.n_rows, 1);
        for (const bool counting : {true, false}) {
            if (!counting) {
                for (std::size_t leaf = 0; leaf < total_.size(); ++leaf) start_[leaf + 1] += start_[leaf];
                rows_.resize(static_cast<std::size_t>(start_.back()));
                times_.resize(present == Present::inbag ? rows_.size() : 0);
                next_.assign(start_.begin(), start_.end() - 1);
            }
            for (std::size_t tree = 0; tree < table.n_trees; ++tree) {
                if (present != Present::all)
                    count_times(times, present, Bag(seed, tree, table.n_rows, bag_mean, units));
                for (std::size_t row = 0; row < table.n_rows; ++row) {
                    if (times[row] == 0) continue;
                    const std::size_t leaf = table.leaf(row, tree);
                    if (counting) {
                        ++start_[leaf + 1];
                        total_[leaf] += times[row];
                        if (n_words_) outside_[row * n_words_ + tree / 64] |= std::uint64_t{1} << (tree % 64);
                        continue;
                    }
                    const auto at = static_cast<std::size_t>(next_[leaf]++);
                    rows_[at] = static_cast<std::uint32_t>(row);
                    if (!times_.empty()) times_[at] = times[row];
                }
            }
        }
        next_ = {};
    }

    std::size_t n_rows() const { return n_rows_; }
    double total(std::size_t leaf) const { return total_[leaf]; }
    std::int64_t begin(std::size_t leaf) const { return start_[leaf]; }
    std::int64_t end(std::size_t leaf) const { return start_[leaf + 1]; }
    std::uint32_t row(std::int64_t at) const { return rows_[static_cast<std::size_t>(at)]; }
    double times(std::int64_t at) const { return times_.empty() ? 1.0 : times_[static_cast<std::size_t>(at)]; }
    bool is_outside(std::size_t row, std::size_t tree) const {
        return (outside_[row * n_words_ + tree / 64] >> (tree % 64)) & 1;
    }
    // The number of trees for which both rows are out of bag.
    int n_outside_both(std::size_t a, std::size_t b) const {
        int both = 0;
        for (std::size_t word = 0; word < n_words_; ++word)
            both += std::popcount(outside_[a * n_words_ + word] & outside_[b * n_words_ + word]);
        return both;
    }

private:
    static void count_times(std::vector<std::uint32_t>& times, Present present, const Bag& bag) {
        for (std::size_t row = 0; row < times.size(); ++row) {
            const std::uint32_t drawn = bag.multiplicity(row);
            times[row] = present == Present::inbag ? drawn : present == Present::distinct ? drawn > 0 : drawn == 0;
        }
    }

    std::size_t n_rows_;
    std::vector<std::int64_t> start_, next_;
    std::vector<double> total_;
    std::size_t n_words_;
    std::vector<std::uint64_t> outside_;  // for each row, a bit per tree: whether the row is out of bag
    std::vector<std::uint32_t> rows_, times_;
};

// Contribution of a shared leaf to the proximity of two rows.
enum class Meeting : int {
    share_of_trees = 0,    // 1 / trees
    share_of_outside = 1,  // rows of one table: 1 / trees for which both are out of bag
    share_of_leaf = 2,     // share of the row in the leaf / trees whose leaf is not empty: the weights of a mean
};

// Rows of a sparse table, end to end.
struct SparseRows {
    std::vector<std::int64_t> start{0};
    std::vector<std::int32_t> columns;
    std::vector<double> values;
};

// The rows that share leaves with one row, tree by tree. Amount is an integer if leaves are counted, otherwise a
// double.
template <class Amount>
class Meetings {
public:
    Meetings(const LeafTable& table, const RowsInLeaves& others, Meeting meeting, std::size_t first_row,
             std::size_t most)
        : table_(table),
          others_(others),
          meeting_(meeting),
          first_row_(first_row),
          most_(most),
          amount_(others.n_rows(), Amount{0}) {}

    // Appends the rows met, ascending: all, or if most > 0 those with the largest amounts; the earlier of equal ones.
    void append(std::size_t row, SparseRows& part) {
        add_up(row);
        if (most_ > 0 && found_.size() > most_) {
            const auto more = [](const Met& a, const Met& b) {
                return a.value != b.value ? a.value > b.value : a.row < b.row;
            };
            std::nth_element(found_.begin(), found_.begin() + static_cast<std::ptrdiff_t>(most_), found_.end(), more);
            found_.resize(most_);
            in_order_ = false;
        }
        if (!in_order_)
            std::sort(found_.begin(), found_.end(), [](const Met& a, const Met& b) { return a.row < b.row; });
        for (const Met& met : found_) {
            part.columns.push_back(static_cast<std::int32_t>(met.row));
            part.values.push_back(met.value);
        }
        part.start.push_back(static_cast<std::int64_t>(part.columns.size()));
    }

private:
    struct Met {
        std::uint32_t row;
        double value;
    };

    // If a row meets about as many rows as there are, a scan of all rows is faster than a list that must be sorted.
    void add_up(std::size_t row) {
        const std::size_t n_rows = others_.n_rows();
        leaves_.clear();
        std::int64_t n_meetings = 0;
        n_heard_ = 0;
        for (std::size_t tree = 0; tree < table_.n_trees; ++tree) {
            if (meeting_ == Meeting::share_of_outside && !others_.is_outside(first_row_ + row, tree)) continue;
            const std::size_t leaf = table_.leaf(row, tree);
            leaves_.push_back(leaf);
            n_meetings += others_.end(leaf) - others_.begin(leaf);
            n_heard_ += others_.total(leaf) > 0;
        }
        found_.clear();
        in_order_ = static_cast<std::size_t>(n_meetings) > n_rows / 4;
        for (const std::size_t leaf : leaves_) {
            if (in_order_) each_in(leaf, [&](std::uint32_t other, Amount more) { amount_[other] += more; });
            else
                each_in(leaf, [&](std::uint32_t other, Amount more) {
                    if (amount_[other] == 0) found_.push_back({other, 0});
                    amount_[other] += more;
                });
        }
        if (in_order_) {
            for (std::uint32_t other = 0; other < n_rows; ++other)
                if (amount_[other] != 0) found_.push_back({other, 0});
        }
        for (Met& met : found_) {
            met.value = static_cast<double>(amount_[met.row]) / out_of(row, met.row);
            amount_[met.row] = 0;
        }
    }

    template <class Add>
    void each_in(std::size_t leaf, Add&& add) const {
        for (std::int64_t at = others_.begin(leaf); at < others_.end(leaf); ++at) {
            if constexpr (std::is_floating_point_v<Amount>)
                add(others_.row(at), others_.times(at) / others_.total(leaf));
            else add(others_.row(at), Amount{1});
        }
    }

    double out_of(std::size_t row, std::uint32_t other) const {
        if (meeting_ == Meeting::share_of_outside) return others_.n_outside_both(first_row_ + row, other);
        return static_cast<double>(meeting_ == Meeting::share_of_leaf ? n_heard_ : table_.n_trees);
    }

    const LeafTable& table_;
    const RowsInLeaves& others_;
    const Meeting meeting_;
    const std::size_t first_row_, most_;
    std::vector<Amount> amount_;  // zeros between rows
    std::vector<Met> found_;
    std::vector<std::size_t> leaves_;
    std::size_t n_heard_ = 0;
    bool in_order_ = false;
};

// For each row of the table the rows it meets. first_row: the number of its first row among the other rows (for
// share_of_outside).
template <class Amount>
SparseRows meet_by(const LeafTable& table, const RowsInLeaves& others, Meeting meeting, std::size_t first_row,
                   std::size_t most, std::size_t n_threads, Control& control) {
    constexpr std::size_t block = 64;
    const std::size_t n_blocks = (table.n_rows + block - 1) / block;
    std::vector<SparseRows> parts(n_blocks);
    std::vector<Meetings<Amount>> meetings(std::max<std::size_t>(1, std::min(n_threads, n_blocks)),
                                           Meetings<Amount>(table, others, meeting, first_row, most));
    run_tasks(n_blocks, n_threads, control, [&](std::size_t task, std::size_t thread) {
        for (std::size_t row = task * block; row < std::min(table.n_rows, (task + 1) * block); ++row)
            meetings[thread].append(row, parts[task]);
    });
    SparseRows all;
    std::size_t n_entries = 0;
    for (const SparseRows& part : parts) n_entries += part.columns.size();
    all.columns.reserve(n_entries), all.values.reserve(n_entries), all.start.reserve(table.n_rows + 1);
    for (SparseRows& part : parts) {
        const std::int64_t before = all.start.back();
        for (std::size_t i = 1; i < part.start.size(); ++i) all.start.push_back(before + part.start[i]);
        all.columns.insert(all.columns.end(), part.columns.begin(), part.columns.end());
        all.values.insert(all.values.end(), part.values.begin(), part.values.end());
        part = {};
    }
    return all;
}

inline SparseRows meet(const LeafTable& table, const RowsInLeaves& others, Meeting meeting, std::size_t first_row,
                       std::size_t most, std::size_t n_threads, Control& control) {
    if (meeting == Meeting::share_of_leaf)
        return meet_by<double>(table, others, meeting, first_row, most, n_threads, control);
    return meet_by<std::uint32_t>(table, others, meeting, first_row, most, n_threads, control);
}

}  // namespace hedgerow
