// Leaves that rows reach, class shares, and merged states.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/kit/named_values.hpp"
#include "core/kit/parallel.hpp"
#include "core/kit/vectors.hpp"
#include "core/read/tree.hpp"
#include "core/rows/bag.hpp"
#include "core/rows/codes.hpp"

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

    // The arrays of a forest by name; checked elsewhere.
    static ForestView from(const NamedValues& given) {
        const auto node_start = given.array<std::int64_t>("node_start");
        const auto nodes = given.array<std::uint64_t>("nodes");
        ForestView forest{reinterpret_cast<const Node*>(nodes.data()),
                          given.array<std::int32_t>("payload", nodes.size()),
                          given.array<std::uint64_t>("set_words").data(),
                          node_start.data(),
                          given.array<std::int64_t>("leaf_start", node_start.size()),
                          given.array<std::int64_t>("set_start", node_start.size()),
                          node_start.size() - 1,
                          false};
        for (std::size_t i = 0; i < nodes.size() && !forest.has_nominal; ++i)
            forest.has_nominal = forest.nodes[i].kind() != NodeKind::threshold;
        return forest;
    }

    std::size_t n_leaves() const { return static_cast<std::size_t>(leaf_start[n_trees]); }
    TreeView tree(std::size_t number) const {
        return {nodes + node_start[number], payload + node_start[number], set_words + set_start[number], has_nominal};
    }
};

// The evidence of the leaves of all trees, in the layouts of LeafCounts.
struct LeafView {
    std::uint32_t n_classes = 0;
    const std::uint32_t* counts = nullptr;
    const std::int64_t* entry_start = nullptr;  // null if dense
    const std::uint16_t* entry_class = nullptr;
    const double* weights = nullptr;  // null without weights

    static LeafView from(const NamedValues& given) {
        const auto pointer_to = [&]<class T>(const char* name, T) {
            return given.has(name) ? given.array<T>(name).data() : nullptr;
        };
        return {given.number<std::uint32_t>("n_classes"), given.array<std::uint32_t>("counts").data(),
                pointer_to("entry_start", std::int64_t{}), pointer_to("entry_class", std::uint16_t{}),
                pointer_to("weights", double{})};
    }
};

// Number of rows to send through all trees at once.
//
// Every block loads all trees into the cache. So a block has a row for every eight bytes of a tree, and a row pays for
// an eighth of a cache line (trees of 19,000 nodes: 53 ns per row and tree with 4,096 rows, 30 with 16,384, 26 with
// 65,536). Long rows do not stay in the cache meanwhile, and then a block has fewer of them. Blocks come in rounds, one
// block per thread, so that none waits long for the last one; if trees are small, there are four rounds.
inline std::size_t rows_per_block(std::size_t n_rows, std::size_t bytes_per_row, std::size_t bytes_per_tree,
                                  std::size_t n_threads) {
    constexpr std::size_t cache = std::size_t{1} << 18, short_row = 128, fewest = 64, most = 65536;
    const std::size_t cached = std::min<std::size_t>(cache / bytes_per_row, 4096);
    const std::size_t for_trees = bytes_per_tree / 8 * short_row / std::max(short_row, bytes_per_row);
    const std::size_t share = (n_rows + n_threads - 1) / n_threads;
    const std::size_t wanted = std::clamp(std::max(std::min(cached, share / 4), for_trees), fewest, most);
    const std::size_t n_rounds = (share + wanted - 1) / wanted;
    return n_rounds == 0 ? 0 : std::min(n_rows, ((share + n_rounds - 1) / n_rounds + 7) / 8 * 8);
}

// Splits the rows into blocks, copies each block row by row, and calls work(first_row, n_rows, view, thread).
template <class Code, class Work>
void for_row_blocks(const ForestView& forest, const Code* by_column, std::size_t n_rows, std::size_t n_features,
                    std::size_t n_threads, Control& control, Work&& work) {
    const std::size_t n_nodes = static_cast<std::size_t>(forest.node_start[forest.n_trees]);
    const std::size_t bytes_per_tree = (sizeof(Node) + sizeof(std::int32_t)) * n_nodes / forest.n_trees;
    const std::size_t block = rows_per_block(n_rows, n_features * sizeof(Code), bytes_per_tree, n_threads);
    const std::size_t n_blocks = block == 0 ? 0 : (n_rows + block - 1) / block;
    std::vector<std::vector<Code>> buffers(n_threads);
    run_tasks(n_blocks, n_threads, control, [&](std::size_t number, std::size_t thread) {
        const std::size_t first = number * block, rows = std::min(block, n_rows - first);
        std::vector<Code>& buffer = buffers[thread];
        buffer.resize(block * n_features);
        transpose_codes(by_column + first, rows, n_features, n_rows, buffer.data(), n_features);
        Code highest = 0;
        for (std::size_t i = 0; i < rows * n_features; ++i) highest = std::max(highest, buffer[i]);
        work(first, rows,
             RowView<Code>{buffer.data(), n_features, highest == missing_code<Code>, by_column + first, n_rows},
             thread);
    });
}

// Fewer rows than this go down many trees in step; more of them go down one tree after the other.
inline constexpr std::size_t few_rows = 8;

// Sends a block of rows down trees first_tree, …; calls arrived(index of the tree among these, its view, row, node) for
// each row and tree, for a row in the order of the trees.
template <class Code, class RoutedRows>
void route_block(const ForestView& forest, std::size_t first_tree, std::size_t n_trees, const RowView<Code>& view,
                 std::size_t rows, std::vector<std::uint32_t>& at, RoutedRows&& arrived) {
    if (rows >= few_rows) {
        at.resize(rows);
        for (std::size_t place = 0; place < n_trees; ++place) {
            const TreeView tree = forest.tree(first_tree + place);
            route_rows(tree, view, nullptr, rows, at.data());
            for (std::size_t i = 0; i < rows; ++i) arrived(place, tree, i, at[i]);
        }
        return;
    }
    for (std::size_t start = 0; start < n_trees; start += trees_in_step) {
        const std::size_t n = std::min(trees_in_step, n_trees - start);
        TreeView trees[trees_in_step];
        std::uint32_t nodes[trees_in_step];
        for (std::size_t lane = 0; lane < n; ++lane) trees[lane] = forest.tree(first_tree + start + lane);
        for (std::size_t i = 0; i < rows; ++i) {
            route_row(trees, n, view, i, nodes);
            for (std::size_t lane = 0; lane < n; ++lane) arrived(start + lane, trees[lane], i, nodes[lane]);
        }
    }
}

// leaves[row · n_trees + tree] = number of the leaf (or of its node) that the row reaches in that tree.
template <class Code>
void find_leaves(const ForestView& forest, const Code* by_column, std::size_t n_rows, std::size_t n_features,
                 std::size_t n_threads, bool as_nodes, std::int32_t* leaves, Control& control) {
    for_row_blocks(forest, by_column, n_rows, n_features, n_threads, control,
                   [&](std::size_t first, std::size_t rows, const RowView<Code>& view, std::size_t) {
        std::vector<std::uint32_t> at;
        route_block(forest, 0, forest.n_trees, view, rows, at,
                    [&](std::size_t number, const TreeView& tree, std::size_t i, std::uint32_t node) {
            leaves[(first + i) * forest.n_trees + number] =
                as_nodes ? static_cast<std::int32_t>(node) : tree.payload[node];
        });
    });
}

// How the states of the leaves of a row are merged.
enum class Merge : int { add = 0, largest = 1, both = 2 };  // both: the largest, then the sums, side by side

// The trees that predict a training row, and whether the row is removed from their leaves first.
struct OutOfBag {
    std::uint64_t seed = 0;
    double bag_mean = 0;
    const std::uint16_t* labels = nullptr;  // null if leaves have not counted the row itself
    Units units = {};
};

// States of the leaves of some trees: one per distinct content, and `distinct` maps leaves to contents; or one per
// leaf; or, for rows that the leaves have counted, one per leaf and class: the state of the leaf without one row of
// that class.
struct StateTable {
    const double* states = nullptr;
    std::size_t width = 0;
    const std::int32_t* distinct = nullptr;   // over the leaves of all trees, or null
    std::size_t first_tree = 0, n_trees = 0;  // the trees whose states these are
    const double* tree_weights = nullptr;     // n_trees, or null if all are equal
};

// Marks a tree that does not predict a row.
inline constexpr std::uint32_t no_state = 0xffffffff;

// The row of the state table with the state of a leaf for a sample with `label`.
inline std::uint32_t state_row(const LeafView& leaves, const StateTable& table, std::int64_t leaf,
                               std::int64_t first_leaf, const std::uint16_t* label) {
    if (table.distinct != nullptr) return static_cast<std::uint32_t>(table.distinct[leaf]);
    if (label == nullptr) return static_cast<std::uint32_t>(leaf - first_leaf);
    if (leaves.entry_start == nullptr)
        return static_cast<std::uint32_t>((leaf - first_leaf) * leaves.n_classes + *label);
    std::int64_t at = leaves.entry_start[leaf];
    while (at < leaves.entry_start[leaf + 1] && leaves.entry_class[at] != *label) ++at;
    return at < leaves.entry_start[leaf + 1] ? static_cast<std::uint32_t>(at - leaves.entry_start[first_leaf])
                                             : no_state;
}

// Number of trees whose states are merged at once, so that the state of the row stays in registers.
inline constexpr std::size_t trees_together = 8;

// Merges the states found for one row, one per tree, into `columns` adjacent columns of its state.
template <Merge merge, bool weighted, std::size_t columns>
inline void take_in_columns(const double* states, std::size_t width, const double* weights, const std::uint32_t* found,
                            std::size_t n_trees, double* merged) {
    constexpr std::size_t pairs = (columns + 1) / 2;
    double* sums = merge == Merge::both ? merged + width : merged;
    Pair largest[pairs], sum[pairs], state[pairs];
    load_pairs<columns>(merged, largest);
    load_pairs<columns>(sums, sum);
    for (std::size_t tree = 0; tree < n_trees; ++tree) {
        if (found[tree] == no_state) continue;
        load_pairs<columns>(states + std::size_t{found[tree]} * width, state);
        for (std::size_t k = 0; k < pairs; ++k) {
            if constexpr (merge != Merge::add) largest[k] = larger(largest[k], state[k]);
            if constexpr (merge != Merge::largest)
                sum[k] = plus(sum[k], weighted ? times(weights[tree], state[k]) : state[k]);
        }
    }
    if constexpr (merge != Merge::add) store_pairs<columns>(largest, merged);
    if constexpr (merge != Merge::largest) store_pairs<columns>(sum, sums);
}

// Prefetches the states found for a row, one per tree: 0.81 to 1 of the time for ten classes and all rules.
inline void fetch_states(const StateTable& table, const std::uint32_t* found, std::size_t n_trees) {
    for (std::size_t tree = 0; tree < n_trees; ++tree) {
        if (found[tree] == no_state) continue;
        const double* state = table.states + std::size_t{found[tree]} * table.width;
        for (std::size_t column = 0; column < table.width; column += 8) fetch(state + column);
    }
}

// Merges the states found[row · trees_together …] into merged[row · stride …], eight columns at a time. All columns of
// a row come before the next row, because wide states would otherwise be loaded into the cache several times (40
// columns, largest and sum: 65 ns per row and tree instead of 81).
template <Merge merge, bool weighted, std::size_t last_columns>
void take_in_rows(const StateTable& table, const double* weights, const std::uint32_t* found, std::size_t n_rows,
                  std::size_t n_trees, double* merged, std::size_t stride) {
    for (std::size_t row = 0; row < n_rows; ++row, found += trees_together, merged += stride) {
        if (row + 1 < n_rows) fetch_states(table, found + trees_together, n_trees);
        std::size_t first = 0;
        for (; first + 8 <= table.width; first += 8)
            take_in_columns<merge, weighted, 8>(table.states + first, table.width, weights, found, n_trees,
                                                merged + first);
        if constexpr (last_columns > 0)
            take_in_columns<merge, weighted, last_columns>(table.states + first, table.width, weights, found, n_trees,
                                                           merged + first);
    }
}

template <Merge merge, bool weighted>
void take_in(const StateTable& table, const double* weights, const std::uint32_t* found, std::size_t n_rows,
             std::size_t n_trees, double* merged, std::size_t stride) {
    using Rows = void (*)(const StateTable&, const double*, const std::uint32_t*, std::size_t, std::size_t, double*,
                          std::size_t);
    static constexpr Rows by_last_columns[8] = {
        take_in_rows<merge, weighted, 0>, take_in_rows<merge, weighted, 1>, take_in_rows<merge, weighted, 2>,
        take_in_rows<merge, weighted, 3>, take_in_rows<merge, weighted, 4>, take_in_rows<merge, weighted, 5>,
        take_in_rows<merge, weighted, 6>, take_in_rows<merge, weighted, 7>,
    };
    by_last_columns[table.width % 8](table, weights, found, n_rows, n_trees, merged, stride);
}

// Merges the states of the leaves that a block of rows reaches in the trees of the table into merged[row · stride …].
template <class Code>
void fold_block(const ForestView& forest, const LeafView& leaves, const StateTable& table, Merge merge,
                const OutOfBag* outside, std::span<const Bag> bags, std::size_t first, std::size_t rows,
                const RowView<Code>& view, double* merged) {
    const std::size_t stride = merge == Merge::both ? 2 * table.width : table.width;
    const std::int64_t first_leaf = forest.leaf_start[table.first_tree];
    const std::size_t most = rows < few_rows ? trees_in_step : trees_together;  // trees at a time
    std::vector<std::uint32_t> predicted, at(rows), found(rows * most);
    for (std::size_t start = 0; start < table.n_trees; start += most) {
        const std::size_t n_trees = std::min(most, table.n_trees - start);
        const auto arrived = [&](std::size_t place, const TreeView& tree, std::size_t row, std::uint32_t node) {
            const std::uint16_t* label = outside && outside->labels ? outside->labels + first + row : nullptr;
            const std::int64_t leaf = forest.leaf_start[table.first_tree + start + place] + tree.payload[node];
            const std::size_t group = place / trees_together * trees_together;
            found[group * rows + row * trees_together + (place - group)] =
                state_row(leaves, table, leaf, first_leaf, label);
        };
        if (!outside) route_block(forest, table.first_tree + start, n_trees, view, rows, at, arrived);
        else std::fill(found.begin(), found.end(), no_state);
        for (std::size_t place = 0; outside && place < n_trees; ++place) {
            const std::size_t number = table.first_tree + start + place;
            const TreeView tree = forest.tree(number);
            const Bag& bag = bags[start + place];
            predicted.clear();
            for (std::size_t i = 0; i < rows; ++i)
                if (!bag.holds(first + i)) predicted.push_back(static_cast<std::uint32_t>(i));
            route_rows(tree, view, predicted.data(), predicted.size(), at.data());
            for (std::size_t i = 0; i < predicted.size(); ++i) arrived(place, tree, predicted[i], at[i]);
        }
        for (std::size_t place = 0; place < n_trees; place += trees_together) {
            const double* weights = table.tree_weights ? table.tree_weights + start + place : nullptr;
            const std::uint32_t* group = found.data() + place * rows;
            const std::size_t n = std::min(trees_together, n_trees - place);
            if (merge == Merge::largest) take_in<Merge::largest, false>(table, weights, group, rows, n, merged, stride);
            else if (merge == Merge::add && !weights)
                take_in<Merge::add, false>(table, weights, group, rows, n, merged, stride);
            else if (merge == Merge::add) take_in<Merge::add, true>(table, weights, group, rows, n, merged, stride);
            else if (!weights) take_in<Merge::both, false>(table, weights, group, rows, n, merged, stride);
            else take_in<Merge::both, true>(table, weights, group, rows, n, merged, stride);
        }
    }
}

// Merges the states of the leaves that rows reach in the trees of the table into merged[row · width …]. Earlier
// contents are kept, so the trees of a forest can come in several calls; memory does not grow with rows × trees.
template <class Code>
void fold_states(const ForestView& forest, const LeafView& leaves, const StateTable& table, Merge merge,
                 const OutOfBag* outside, const Code* by_column, std::size_t n_rows, std::size_t n_features,
                 std::size_t n_threads, double* merged, Control& control) {
    const std::size_t stride = merge == Merge::both ? 2 * table.width : table.width;
    std::vector<Bag> bags;
    for (std::size_t i = 0; outside && i < table.n_trees; ++i)
        bags.emplace_back(outside->seed, table.first_tree + i, n_rows, outside->bag_mean, outside->units);
    for_row_blocks(forest, by_column, n_rows, n_features, n_threads, control,
                   [&](std::size_t first, std::size_t rows, const RowView<Code>& view, std::size_t) {
        fold_block(forest, leaves, table, merge, outside, bags, first, rows, view, merged + first * stride);
    });
}

// probability[row · n_classes + class] = mean of the class shares of the leaves that the row reaches, given the shares
// of each distinct content of a leaf; no leaf is empty.
template <class Code>
void average_states(const ForestView& forest, const LeafView& leaves, const StateTable& shares, const Code* by_column,
                    std::size_t n_rows, std::size_t n_features, std::size_t n_threads, double* probability,
                    Control& control) {
    const std::size_t n_classes = shares.width;
    const auto n_heard = static_cast<double>(forest.n_trees);
    for_row_blocks(forest, by_column, n_rows, n_features, n_threads, control,
                   [&](std::size_t first, std::size_t rows, const RowView<Code>& view, std::size_t) {
        double* block = probability + first * n_classes;
        std::fill(block, block + rows * n_classes, 0.0);
        fold_block(forest, leaves, shares, Merge::add, nullptr, {}, first, rows, view, block);
        for (std::size_t i = 0; i < rows * n_classes; ++i) block[i] /= n_heard;
    });
}

// Adds the class shares of one leaf; an empty leaf adds nothing. Returns whether the leaf has rows.
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

// probability[row · n_classes + class] = mean of the class shares of the leaves that the row reaches, uniform if all of
// them are empty. No table of rows × trees is made.
template <class Code>
void average_shares(const ForestView& forest, const LeafView& leaves, const Code* by_column, std::size_t n_rows,
                    std::size_t n_features, std::size_t n_threads, double* probability, Control& control) {
    const std::uint32_t n_classes = leaves.n_classes;
    for_row_blocks(forest, by_column, n_rows, n_features, n_threads, control,
                   [&](std::size_t first, std::size_t rows, const RowView<Code>& view, std::size_t) {
        std::vector<std::uint32_t> heard(rows), at;
        double* block = probability + first * n_classes;
        std::fill(block, block + rows * n_classes, 0.0);
        route_block(forest, 0, forest.n_trees, view, rows, at,
                    [&](std::size_t number, const TreeView& tree, std::size_t i, std::uint32_t node) {
            heard[i] += add_shares(leaves, forest.leaf_start[number] + tree.payload[node], block + i * n_classes);
        });
        for (std::size_t i = 0; i < rows; ++i)
            for (std::uint32_t k = 0; k < n_classes; ++k)
                block[i * n_classes + k] = heard[i] ? block[i * n_classes + k] / heard[i] : 1.0 / n_classes;
    });
}

// Numbers the distinct contents of leaves in the order of their first appearance.
class DistinctLeaves {
public:
    explicit DistinctLeaves(const LeafView& leaves) : leaves_(leaves) {}

    std::int32_t number_of(std::int64_t leaf) {
        if (2 * (examples.size() + 1) > slots_.size()) grow();
        std::int32_t& slot = slots_[place_of(leaf)];
        if (slot < 0) {
            slot = static_cast<std::int32_t>(examples.size());
            examples.push_back(leaf);
        }
        return slot;
    }

    std::vector<std::int64_t> examples;  // for each number, the first leaf with that content

private:
    // Where the counts of a leaf begin, and their number.
    std::int64_t begin(std::int64_t leaf) const {
        return leaves_.entry_start ? leaves_.entry_start[leaf] : leaf * leaves_.n_classes;
    }
    std::int64_t size(std::int64_t leaf) const { return begin(leaf + 1) - begin(leaf); }

    std::uint64_t hash(std::int64_t leaf) const {
        std::uint64_t mixed = 0;
        for (std::int64_t i = begin(leaf); i < begin(leaf + 1); ++i) {
            const std::uint64_t label = leaves_.entry_class ? leaves_.entry_class[i] : 0;
            mixed = (mixed ^ leaves_.counts[i] ^ label << 32) * 0x9e3779b97f4a7c15ULL;
            mixed ^= mixed >> 29;
        }
        return mixed;
    }
    bool same(std::int64_t one, std::int64_t other) const {
        if (size(one) != size(other)) return false;
        for (std::int64_t i = begin(one), j = begin(other); i < begin(one + 1); ++i, ++j)
            if (leaves_.counts[i] != leaves_.counts[j] ||
                (leaves_.entry_class && leaves_.entry_class[i] != leaves_.entry_class[j]))
                return false;
        return true;
    }
    std::size_t place_of(std::int64_t leaf) const {
        std::size_t place = hash(leaf) & (slots_.size() - 1);
        while (slots_[place] >= 0 && !same(examples[static_cast<std::size_t>(slots_[place])], leaf))
            place = (place + 1) & (slots_.size() - 1);
        return place;
    }
    void grow() {
        slots_.assign(std::max<std::size_t>(64, 2 * slots_.size()), -1);
        for (std::size_t number = 0; number < examples.size(); ++number)
            slots_[place_of(examples[number])] = static_cast<std::int32_t>(number);
    }

    LeafView leaves_;
    std::vector<std::int32_t> slots_;  // open addressing with a power of two of slots; -1 is free
};

// distinct[leaf] = content of the leaf. Returns the first leaf of each content, for any number of threads.
inline std::vector<std::int64_t> find_distinct(const ForestView& forest, const LeafView& leaves, std::size_t n_threads,
                                               std::int32_t* distinct, Control& control) {
    std::vector<std::vector<std::int64_t>> examples(forest.n_trees);
    run_tasks(forest.n_trees, n_threads, control, [&](std::size_t number, std::size_t) {
        DistinctLeaves of_tree(leaves);
        for (std::int64_t leaf = forest.leaf_start[number]; leaf < forest.leaf_start[number + 1]; ++leaf)
            distinct[leaf] = of_tree.number_of(leaf);
        examples[number] = std::move(of_tree.examples);
    });
    DistinctLeaves of_all(leaves);
    for (std::size_t number = 0; number < forest.n_trees; ++number) {
        std::vector<std::int32_t> renumbered;
        for (const std::int64_t leaf : examples[number]) renumbered.push_back(of_all.number_of(leaf));
        for (std::int64_t leaf = forest.leaf_start[number]; leaf < forest.leaf_start[number + 1]; ++leaf)
            distinct[leaf] = renumbered[static_cast<std::size_t>(distinct[leaf])];
    }
    return std::move(of_all.examples);
}

}  // namespace hedgerow
