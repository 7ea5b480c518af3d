// Evidence of all leaves that rows with out-of-support values may reach.
//
// At a split on such a feature a row goes down both sides, with their shares of the training rows.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/kit/parallel.hpp"
#include "core/kit/table.hpp"
#include "core/read/read.hpp"
#include "core/read/walk.hpp"

namespace hedgerow {

// A part of a row below this continues on the larger side only, so that a row of missing values reaches about a
// thousand leaves of a tree and not all of them.
inline constexpr double smallest_part = 1.0 / 1024;

// Data needed to send rows down both sides.
struct Branching {
    std::span<const double> covers;         // (nodes,): weight of the training rows in each node, tree after tree
    std::span<const std::uint8_t> gapless;  // (p,): features without missing values in the training rows
    bool pooled = false;                    // whether leaves are weighted by rows instead of by the shares of the sides
};

// (nodes,): the sum of `amounts` (leaves,) below each node, tree after tree.
inline std::vector<double> node_covers(const ForestView& forest, std::span<const double> amounts) {
    std::vector<double> covers;
    for (std::size_t number = 0; number < forest.n_trees; ++number) {
        const auto n_nodes = static_cast<std::size_t>(forest.node_start[number + 1] - forest.node_start[number]);
        const auto n_leaves = static_cast<std::size_t>(forest.leaf_start[number + 1] - forest.leaf_start[number]);
        const OwnTable<double> sums =
            sum_up<double>(forest.tree(number), n_nodes, {amounts.data() + forest.leaf_start[number], n_leaves, 1});
        covers.insert(covers.end(), sums.data.get(), sums.data.get() + n_nodes);
    }
    return covers;
}

// Parts of a row that still have to go down: a node, and the share of the row.
using Waiting = std::vector<std::pair<std::uint32_t, double>>;

// Calls arrive(leaf node, share) for the leaves of a tree that a row may reach, from left to right; shares sum to one.
// At a multiway split the row goes to the child for values without rows, which repeats the counts of its siblings.
template <class Code, class Arrive>
inline void walk_both(const TreeView& tree, const double* covers, const std::uint8_t* gapless, const Code* row,
                      Waiting& waiting, Arrive&& arrive) {
    waiting.assign(1, {0, 1.0});
    while (!waiting.empty()) {
        auto [at, part] = waiting.back();
        waiting.pop_back();
        while (!is_leaf(tree, at)) {
            const Node& node = tree.nodes[at];
            if (row[node.feature()] != missing_code<Code> || !gapless[node.feature()] ||
                node.kind() == NodeKind::multiway) {
                at = next_node(tree, at, row);
                continue;
            }
            const std::uint32_t child = node.child();
            const double both = covers[child] + covers[child + 1], share = both > 0 ? covers[child] / both : 0.5;
            if (part * std::min(share, 1 - share) < smallest_part) {
                at = child + (share < 0.5 || (share == 0.5 && !node.missing_left()));
                continue;
            }
            waiting.emplace_back(child + 1, part * (1 - share));
            part *= share;
            at = child;
        }
        arrive(at, part);
    }
}

// each(row, tree, leaf, share) for all rows and trees, a row at a time; then done(row, tree).
template <class Code, class Each, class Done>
void for_each_branch(const ForestView& forest, const Branching& branching, const CodeColumns<Code>& codes,
                     std::size_t n_threads, Control& control, Each&& each, Done&& done) {
    constexpr std::size_t block = 16;
    run_tasks((codes.n_rows + block - 1) / block, n_threads, control, [&](std::size_t task, std::size_t) {
        const std::size_t first = task * block, n_rows = std::min(block, codes.n_rows - first);
        std::vector<Code> by_row;
        lay_out_rows(codes.codes, codes.n_rows, codes.n_features, first, n_rows, by_row);
        Waiting waiting;
        for (std::size_t number = 0; number < forest.n_trees; ++number) {
            const TreeView tree = forest.tree(number);
            const double* covers = branching.covers.data() + forest.node_start[number];
            for (std::size_t i = 0; i < n_rows; ++i) {
                walk_both(tree, covers, branching.gapless.data(), by_row.data() + i * codes.n_features, waiting,
                          [&](std::uint32_t at, double share) {
                    each(first + i, number, forest.leaf_start[number] + leaf_number(tree, at), share);
                });
                done(first + i, number);
            }
        }
    });
}

// (n, trees · K): counts of one virtual leaf: the mean class shares of the leaves, weighted by the shares of the sides,
// and the mean of their rows; if pooled, the sum of their counts. Empty leaves do not contribute to shares.
template <class Code>
OwnTable<double> mixed_counts(const ForestView& forest, const LeafView& leaves, const Branching& branching,
                              const CodeColumns<Code>& codes, std::size_t n_threads, Control& control) {
    const std::size_t width = leaves.n_classes;
    OwnTable<double> mixed(codes.n_rows, forest.n_trees * width), rows(codes.n_rows, forest.n_trees);
    std::fill_n(mixed.data.get(), codes.n_rows * forest.n_trees * width, 0.0);
    std::fill_n(rows.data.get(), codes.n_rows * forest.n_trees, 0.0);
    for_each_branch(forest, branching, codes, n_threads, control,
                    [&](std::size_t row, std::size_t tree, std::int64_t leaf, double share) {
        const std::size_t cell = row * forest.n_trees + tree;
        const std::int64_t begin = leaves.entry_start ? leaves.entry_start[leaf] : leaf * leaves.n_classes;
        const std::int64_t end = leaves.entry_start ? leaves.entry_start[leaf + 1] : begin + leaves.n_classes;
        double total = 0, n_rows = 0;
        for (std::int64_t i = begin; i < end; ++i) {
            total += leaves.weights ? leaves.weights[i] : leaves.counts[i];
            n_rows += leaves.counts[i];
        }
        rows.data[cell] += branching.pooled ? n_rows : share * n_rows;
        if (total <= 0) return;
        const double factor = branching.pooled ? 1 : share / total;
        for (std::int64_t i = begin; i < end; ++i) {
            const std::size_t label = leaves.entry_class ? leaves.entry_class[i] : static_cast<std::size_t>(i - begin);
            mixed.data[cell * width + label] += factor * (leaves.weights ? leaves.weights[i] : leaves.counts[i]);
        }
    }, [&](std::size_t row, std::size_t tree) {
        const std::size_t cell = row * forest.n_trees + tree;
        double* counts = mixed.data.get() + cell * width;
        double total = 0;
        for (std::size_t k = 0; k < width; ++k) total += counts[k];
        const double factor = total > 0 ? rows.data[cell] / total : 0;
        for (std::size_t k = 0; k < width; ++k) counts[k] *= factor;
    });
    return mixed;
}

// (n, trees · S): the mean of the states (leaves, S) of the leaves of each tree, weighted by the shares of the sides
// or, if pooled, by the rows of the leaves (leaves,).
template <class Code>
OwnTable<double> mixed_states(const ForestView& forest, const Table<const double>& states, std::span<const double> rows,
                              const Branching& branching, const CodeColumns<Code>& codes, std::size_t n_threads,
                              Control& control) {
    const std::size_t width = states.n_columns;
    OwnTable<double> mixed(codes.n_rows, forest.n_trees * width), weight(codes.n_rows, forest.n_trees);
    std::fill_n(mixed.data.get(), codes.n_rows * forest.n_trees * width, 0.0);
    std::fill_n(weight.data.get(), codes.n_rows * forest.n_trees, 0.0);
    for_each_branch(forest, branching, codes, n_threads, control,
                    [&](std::size_t row, std::size_t tree, std::int64_t leaf, double share) {
        const std::size_t cell = row * forest.n_trees + tree, at = static_cast<std::size_t>(leaf);
        const double factor = branching.pooled ? rows[at] : share;
        weight.data[cell] += factor;
        for (std::size_t k = 0; k < width; ++k) mixed.data[cell * width + k] += factor * states.data[at * width + k];
    }, [&](std::size_t row, std::size_t tree) {
        const std::size_t cell = row * forest.n_trees + tree;
        for (std::size_t k = 0; k < width; ++k) mixed.data[cell * width + k] /= weight.data[cell];
    });
    return mixed;
}

}  // namespace hedgerow
