// Read: codes and trees -> leaves, and what the leaves say.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bag.hpp"
#include "bins.hpp"
#include "parallel.hpp"
#include "tree.hpp"

namespace hedgerow {

// All trees of a forest, end to end.
struct ForestView {
    const Node* nodes = nullptr;
    const std::int32_t* payload = nullptr;
    const std::uint64_t* set_words = nullptr;
    const std::int64_t* node_start = nullptr;  // n_trees + 1
    const std::int64_t* leaf_start = nullptr;  // n_trees + 1
    const std::int64_t* set_start = nullptr;   // n_trees + 1
    std::size_t n_trees = 0;
    bool has_nominal = false;

    TreeView tree(std::size_t number) const {
        return {nodes + node_start[number], payload + node_start[number], set_words + set_start[number], has_nominal};
    }
};

// What the leaves hold, over all trees; the layouts of LeafCounts end to end.
struct LeafView {
    std::uint32_t n_classes = 0;
    const std::uint32_t* counts = nullptr;
    const std::int64_t* entry_start = nullptr;   // null when dense
    const std::uint16_t* entry_class = nullptr;
    const double* weights = nullptr;             // null without weights
};

// Cuts the rows into blocks; each block is laid out row by row and handed over with its first row.
// work(first_row, n_rows, view, thread)
template <class Code, class Work>
void for_row_blocks(const Code* by_column, std::size_t n_rows, std::size_t n_features, std::size_t n_threads,
                    Control& control, Work&& work) {
    // Many rows to a block: each block pulls every large tree through the cache once, and that is what costs.
    const std::size_t budget = std::size_t{2} << 20;
    const std::size_t roomy = std::clamp<std::size_t>(budget / (n_features * sizeof(Code)) / 8 * 8, 64, 32768);
    // Several blocks for each thread, so that none waits long for the last one.
    const std::size_t fair = std::max<std::size_t>(64, (n_rows / (4 * n_threads) + 7) / 8 * 8);
    const std::size_t block = std::min({roomy, fair, n_rows});
    const std::size_t n_blocks = block == 0 ? 0 : (n_rows + block - 1) / block;
    std::vector<std::vector<Code>> buffers(n_threads);
    run_tasks(n_blocks, n_threads, control, [&](std::size_t number, std::size_t thread) {
        const std::size_t first = number * block, rows = std::min(block, n_rows - first);
        std::vector<Code>& buffer = buffers[thread];
        buffer.resize(block * n_features);
        transpose_codes(by_column + first, rows, n_features, n_rows, buffer.data(), n_features);
        work(first, rows, CodeView<Code>{buffer.data(), n_features, 1}, thread);
    });
}

// leaves[row · n_trees + tree] = number of the leaf (or the node) the row reaches in that tree.
template <class Code>
void find_leaves(const ForestView& forest, const Code* by_column, std::size_t n_rows, std::size_t n_features,
                 std::size_t n_threads, bool as_nodes, std::int32_t* leaves, Control& control) {
    for_row_blocks(by_column, n_rows, n_features, n_threads, control,
                   [&](std::size_t first, std::size_t rows, const CodeView<Code>& view, std::size_t) {
        for (std::size_t number = 0; number < forest.n_trees; ++number) {
            const TreeView tree = forest.tree(number);
            route_rows(tree, view, nullptr, rows, [&](std::size_t i, std::uint32_t node) {
                leaves[(first + i) * forest.n_trees + number] = as_nodes ? static_cast<std::int32_t>(node) : tree.payload[node];
            });
        }
    });
}

// How the states of the leaves a row reaches become the state of the row.
enum class Merge : int { add = 0, largest = 1, both = 2 };  // both: the largest, then the sums, side by side

// Which trees judge a row of the training table, and what they may remember of it.
struct OutOfBag {
    std::uint64_t seed = 0;
    double bag_mean = 0;
    const std::uint16_t* labels = nullptr;  // null: the leaves have not counted the row itself
};

// One state per leaf — or, for rows that the leaves have counted, one per leaf and class: the state of the leaf
// without one row of that class.
struct StateTable {
    const double* states = nullptr;
    std::size_t width = 0;
    std::size_t first_tree = 0, n_trees = 0;       // the trees whose states these are
    const double* tree_weights = nullptr;          // n_trees, or null for equal ones
};

// The row of the state table that a sample with `label` finds at a leaf; -1 where the leaf has no row of its class.
inline std::int64_t state_row(const LeafView& leaves, std::int64_t leaf, std::int64_t first_leaf, const std::uint16_t* label) {
    if (label == nullptr) return leaf - first_leaf;
    if (leaves.entry_start == nullptr) return (leaf - first_leaf) * leaves.n_classes + *label;
    std::int64_t at = leaves.entry_start[leaf];
    while (at < leaves.entry_start[leaf + 1] && leaves.entry_class[at] != *label) ++at;
    return at < leaves.entry_start[leaf + 1] ? at - leaves.entry_start[first_leaf] : -1;
}

// merged[row · width …] takes in the states of the leaves the row reaches in the trees of the table. Rows start
// from what is there, so the trees of a forest can come in several calls; memory does not grow with rows × trees.
template <class Code>
void fold_states(const ForestView& forest, const LeafView& leaves, const StateTable& table, Merge merge,
                 const OutOfBag* outside, const Code* by_column, std::size_t n_rows, std::size_t n_features,
                 std::size_t n_threads, double* merged, Control& control) {
    const std::size_t width = table.width, stride = merge == Merge::both ? 2 * width : width;
    const std::int64_t first_leaf = forest.leaf_start[table.first_tree];
    for_row_blocks(by_column, n_rows, n_features, n_threads, control,
                   [&](std::size_t first, std::size_t rows, const CodeView<Code>& view, std::size_t) {
        std::vector<std::uint32_t> judged;
        for (std::size_t number = table.first_tree; number < table.first_tree + table.n_trees; ++number) {
            const TreeView tree = forest.tree(number);
            const double weight = table.tree_weights ? table.tree_weights[number - table.first_tree] : 1.0;
            if (outside) {
                const Bag bag(outside->seed, number, n_rows, outside->bag_mean);
                judged.clear();
                for (std::size_t i = 0; i < rows; ++i)
                    if (bag.multiplicity(first + i) == 0) judged.push_back(static_cast<std::uint32_t>(i));
            }
            const std::size_t n_judged = outside ? judged.size() : rows;
            route_rows(tree, view, outside ? judged.data() : nullptr, n_judged, [&](std::size_t i, std::uint32_t node) {
                const std::size_t row = first + (outside ? judged[i] : i);
                const std::uint16_t* label = outside && outside->labels ? outside->labels + row : nullptr;
                const std::int64_t leaf = forest.leaf_start[number] + tree.payload[node];
                const std::int64_t at = state_row(leaves, leaf, first_leaf, label);
                if (at < 0) return;
                const double* state = table.states + static_cast<std::size_t>(at) * width;
                double* into = merged + row * stride;
                if (merge != Merge::add) {
                    for (std::size_t k = 0; k < width; ++k) into[k] = std::max(into[k], state[k]);
                    into += width;
                }
                if (merge != Merge::largest)
                    for (std::size_t k = 0; k < width; ++k) into[k] += weight * state[k];
            });
        }
    });
}

// Adds the class shares of one leaf; an empty leaf adds nothing. -> whether it had something to say
inline bool add_shares(const LeafView& leaves, std::int64_t leaf, double* shares) {
    if (leaves.entry_start == nullptr) {
        const std::size_t start = static_cast<std::size_t>(leaf) * leaves.n_classes;
        double total = 0;
        if (leaves.weights != nullptr) {
            for (std::uint32_t k = 0; k < leaves.n_classes; ++k) total += leaves.weights[start + k];
            if (total <= 0) return false;
            for (std::uint32_t k = 0; k < leaves.n_classes; ++k) shares[k] += leaves.weights[start + k] / total;
            return true;
        }
        for (std::uint32_t k = 0; k < leaves.n_classes; ++k) total += leaves.counts[start + k];
        if (total <= 0) return false;
        for (std::uint32_t k = 0; k < leaves.n_classes; ++k) shares[k] += leaves.counts[start + k] / total;
        return true;
    }
    double total = 0;
    const std::int64_t begin = leaves.entry_start[leaf], end = leaves.entry_start[leaf + 1];
    for (std::int64_t i = begin; i < end; ++i) total += leaves.weights ? leaves.weights[i] : leaves.counts[i];
    if (total <= 0) return false;
    for (std::int64_t i = begin; i < end; ++i)
        shares[leaves.entry_class[i]] += (leaves.weights ? leaves.weights[i] : leaves.counts[i]) / total;
    return true;
}

// probability[row · n_classes + class] = mean of the class shares of the leaves the row reaches, uniform when
// all of them are empty. No table of rows × trees is ever made.
template <class Code>
void average_shares(const ForestView& forest, const LeafView& leaves, const Code* by_column, std::size_t n_rows,
                    std::size_t n_features, std::size_t n_threads, double* probability, Control& control) {
    const std::uint32_t n_classes = leaves.n_classes;
    std::vector<std::vector<std::uint32_t>> heard_by_thread(n_threads);
    for_row_blocks(by_column, n_rows, n_features, n_threads, control,
                   [&](std::size_t first, std::size_t rows, const CodeView<Code>& view, std::size_t thread) {
        std::vector<std::uint32_t>& heard = heard_by_thread[thread];
        heard.assign(rows, 0);
        double* block = probability + first * n_classes;
        std::fill(block, block + rows * n_classes, 0.0);
        for (std::size_t number = 0; number < forest.n_trees; ++number) {
            const TreeView tree = forest.tree(number);
            route_rows(tree, view, nullptr, rows, [&](std::size_t i, std::uint32_t node) {
                heard[i] += add_shares(leaves, forest.leaf_start[number] + tree.payload[node], block + i * n_classes);
            });
        }
        for (std::size_t i = 0; i < rows; ++i)
            for (std::uint32_t k = 0; k < n_classes; ++k)
                block[i * n_classes + k] = heard[i] ? block[i * n_classes + k] / heard[i] : 1.0 / n_classes;
    });
}

}  // namespace hedgerow
