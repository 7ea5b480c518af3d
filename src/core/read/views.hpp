// Views of a forest: class shares by kind of tree and by depth of the node.
//
// A view is a kind of trees, which take turns, and a depth: the leaf that a row reaches, or its smallest ancestor with
// a least number of rows.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "core/kit/parallel.hpp"
#include "core/kit/table.hpp"
#include "core/read/oob.hpp"
#include "core/read/read.hpp"
#include "core/read/walk.hpp"

namespace hedgerow {

// The nodes that leaves are read at: place[leaf · depths + depth] is the number of a node, whose rows by class are the
// entries start[node] to start[node + 1] of label, counts and weights. Without weights, the last is empty.
struct Ancestors {
    std::vector<std::int32_t> place;
    std::vector<std::int64_t> start{0};
    std::vector<std::uint16_t> label;
    std::vector<double> counts, weights;
};

// The rows of each class (nodes, K), or their weight, in the nodes of a tree.
inline OwnTable<double> class_sums(const ForestView& forest, const LeafView& leaves, std::size_t number,
                                   bool weighted) {
    const auto n_nodes = static_cast<std::size_t>(forest.node_start[number + 1] - forest.node_start[number]);
    const std::int64_t first = forest.leaf_start[number], last = forest.leaf_start[number + 1];
    std::vector<double> cells(static_cast<std::size_t>(last - first) * leaves.n_classes, 0.0);
    for (std::int64_t leaf = first; leaf < last; ++leaf) {
        const bool dense = leaves.entry_start == nullptr;
        const std::int64_t begin = dense ? leaf * leaves.n_classes : leaves.entry_start[leaf];
        const std::int64_t end = dense ? begin + leaves.n_classes : leaves.entry_start[leaf + 1];
        double* mine = cells.data() + static_cast<std::size_t>(leaf - first) * leaves.n_classes;
        for (std::int64_t i = begin; i < end; ++i)
            mine[dense ? i - begin : leaves.entry_class[i]] = weighted ? leaves.weights[i] : leaves.counts[i];
    }
    return sum_up<double>(forest.tree(number), n_nodes,
                          {cells.data(), static_cast<std::size_t>(last - first), leaves.n_classes});
}

// The nodes at which the leaves of one tree are read, by number of rows.
inline Ancestors ancestors_in(const ForestView& forest, const LeafView& leaves, std::size_t number,
                              std::span<const std::int64_t> least) {
    const TreeView tree = forest.tree(number);
    const std::size_t n_classes = leaves.n_classes, n_depths = least.size();
    const auto n_nodes = static_cast<std::size_t>(forest.node_start[number + 1] - forest.node_start[number]);
    const auto n_leaves = static_cast<std::size_t>(forest.leaf_start[number + 1] - forest.leaf_start[number]);
    const OwnTable<double> counts = class_sums(forest, leaves, number, false);
    Ancestors found;
    found.place.resize(n_leaves * n_depths);
    std::vector<double> rows(n_nodes, 0.0);
    for (std::size_t i = 0; i < n_nodes * n_classes; ++i) rows[i / n_classes] += counts.data[i];
    std::vector<std::uint32_t> held(n_nodes), used;
    std::vector<std::int32_t> known(n_nodes, -1);
    for (std::size_t depth = 0; depth < n_depths; ++depth) {
        held[0] = 0;
        for (std::uint32_t at = 0; at < n_nodes; ++at) {  // children come after their parents
            if (is_leaf(tree, at)) {
                std::int32_t& place = known[held[at]];
                if (place < 0) {
                    place = static_cast<std::int32_t>(used.size());
                    used.push_back(held[at]);
                }
                found.place[static_cast<std::size_t>(leaf_number(tree, at)) * n_depths + depth] = place;
                continue;
            }
            const std::uint32_t child = first_child(tree, at);
            for (std::uint32_t each = child; each < child + n_children(tree, at); ++each)
                held[each] = rows[each] >= static_cast<double>(least[depth]) ? each : held[at];
        }
    }
    const OwnTable<double> weights = leaves.weights ? class_sums(forest, leaves, number, true) : OwnTable<double>(0, 0);
    for (const std::uint32_t at : used) {
        for (std::size_t k = 0; k < n_classes; ++k) {
            const std::size_t cell = at * n_classes + k;
            if (counts.data[cell] <= 0 && !(leaves.weights && weights.data[cell] > 0)) continue;
            found.label.push_back(static_cast<std::uint16_t>(k));
            found.counts.push_back(counts.data[cell]);
            if (leaves.weights) found.weights.push_back(weights.data[cell]);
        }
        found.start.push_back(static_cast<std::int64_t>(found.label.size()));
    }
    return found;
}

// For each leaf and depth, the smallest ancestor with at least least[depth] rows; the root if there is none.
inline Ancestors find_ancestors(const ForestView& forest, const LeafView& leaves, std::span<const std::int64_t> least,
                                std::size_t n_threads, Control& control) {
    std::vector<Ancestors> parts(forest.n_trees);
    run_tasks(forest.n_trees, n_threads, control,
              [&](std::size_t number, std::size_t) { parts[number] = ancestors_in(forest, leaves, number, least); });
    Ancestors all;
    for (Ancestors& part : parts) {
        const auto nodes = static_cast<std::int32_t>(all.start.size() - 1);
        const auto entries = static_cast<std::int64_t>(all.label.size());
        for (const std::int32_t place : part.place) all.place.push_back(nodes + place);
        for (std::size_t i = 1; i < part.start.size(); ++i) all.start.push_back(entries + part.start[i]);
        all.label.insert(all.label.end(), part.label.begin(), part.label.end());
        all.counts.insert(all.counts.end(), part.counts.begin(), part.counts.end());
        all.weights.insert(all.weights.end(), part.weights.begin(), part.weights.end());
        part = {};
    }
    return all;
}

// The nodes at which leaves are read, as in Ancestors, and the number of kinds of trees. For predictions, counts are
// class shares.
struct ViewTable {
    std::span<const std::int32_t> place;
    std::span<const std::int64_t> start;
    std::span<const std::uint16_t> label;
    const double* counts = nullptr;
    const double* weights = nullptr;  // null without weights
    std::size_t n_classes = 0, n_depths = 1, n_kinds = 1;

    std::size_t width() const { return n_kinds * n_depths * n_classes; }
    // Where the sums of the first depth of a tree begin.
    std::size_t first_column(std::size_t tree) const { return tree % n_kinds * n_depths * n_classes; }
    std::pair<std::int64_t, std::int64_t> entries(std::int64_t leaf, std::size_t depth) const {
        const auto node = static_cast<std::size_t>(place[static_cast<std::size_t>(leaf) * n_depths + depth]);
        return {start[node], start[node + 1]};
    }
};

// Divides the sums of each view of a row by their total. A view without shares gets the mean of the same depth over all
// kinds; without any, the row is uniform, or NaN if no tree may predict it.
inline void finish_views(double* sums, std::size_t n_kinds, std::size_t n_depths, std::size_t n_classes, bool known) {
    const auto total_of = [&](const double* view) {
        double total = 0;
        for (std::size_t k = 0; k < n_classes; ++k) total += view[k];
        return total;
    };
    const std::size_t width = n_depths * n_classes;
    std::vector<double> pooled(width, 0.0);
    for (std::size_t kind = 0; kind < n_kinds; ++kind)
        for (std::size_t i = 0; i < width; ++i) pooled[i] += sums[kind * width + i];
    for (std::size_t view = 0; view < n_kinds * n_depths; ++view) {
        double* shares = sums + view * n_classes;
        const double* of_all = pooled.data() + view % n_depths * n_classes;
        const double own = total_of(shares), total = own > 0 ? own : total_of(of_all);
        for (std::size_t k = 0; k < n_classes; ++k)
            shares[k] = own > 0     ? shares[k] / total
                        : total > 0 ? of_all[k] / total
                        : known     ? 1.0 / static_cast<double>(n_classes)
                                    : std::numeric_limits<double>::quiet_NaN();
    }
}

// views[row · V · K …] = mean class shares by view, kind after kind, of the nodes at which the row is read.
template <class Code>
void average_views(const ForestView& forest, const ViewTable& views, const Code* by_column, std::size_t n_rows,
                   std::size_t n_features, std::size_t n_threads, double* shares, Control& control) {
    const std::size_t width = views.width();
    for_row_blocks(forest, by_column, n_rows, n_features, n_threads, control,
                   [&](std::size_t first, std::size_t rows, const RowView<Code>& view, std::size_t) {
        std::vector<std::uint32_t> at;
        double* block = shares + first * width;
        std::fill(block, block + rows * width, 0.0);
        route_block(forest, 0, forest.n_trees, view, rows, at,
                    [&](std::size_t number, const TreeView& tree, std::size_t i, std::uint32_t node) {
            const std::int64_t leaf = forest.leaf_start[number] + tree.payload[node];
            double* sums = block + i * width + views.first_column(number);
            for (std::size_t depth = 0; depth < views.n_depths; ++depth, sums += views.n_classes) {
                const auto [begin, end] = views.entries(leaf, depth);
                for (std::int64_t e = begin; e < end; ++e) sums[views.label[e]] += views.counts[e];
            }
        });
        for (std::size_t i = 0; i < rows; ++i)
            finish_views(block + i * width, views.n_kinds, views.n_depths, views.n_classes, true);
    });
}

// Adds the class shares of a node without a row of class `own`, which is assumed to have the mean weight of its class
// in the node; without an own class, the shares of all rows.
inline void add_node_without(const ViewTable& views, std::int64_t begin, std::int64_t end, const std::uint16_t* own,
                             double* sums) {
    const auto held = [&](std::int64_t e) {
        const double amount = views.weights ? views.weights[e] : views.counts[e];
        const bool is_own = own && views.label[e] == *own && views.counts[e] > 0;
        return is_own ? amount * (views.counts[e] - 1.0) / views.counts[e] : amount;
    };
    double total = 0;
    for (std::int64_t e = begin; e < end; ++e) total += held(e);
    if (total <= 0) return;
    for (std::int64_t e = begin; e < end; ++e) sums[views.label[e]] += held(e) / total;
}

// The same for training rows in their out-of-bag trees, each without itself.
template <class Code>
void average_views_oob(const ForestView& forest, const ViewTable& views, const OobRows& outside, const Code* by_column,
                       std::size_t n_rows, std::size_t n_features, std::size_t n_threads, double* shares,
                       Control& control) {
    const std::size_t width = views.width();
    std::vector<Bag> bags;
    bags.reserve(forest.n_trees);
    for (std::size_t number = 0; number < forest.n_trees; ++number)
        bags.emplace_back(outside.seed, number, outside.n_rows_in_all, outside.bag_mean, outside.units);
    for_row_blocks(forest, by_column, n_rows, n_features, n_threads, control,
                   [&](std::size_t first, std::size_t rows, const RowView<Code>& view, std::size_t) {
        std::vector<std::uint32_t> predicted, at(rows);
        std::vector<bool> known(rows);
        double* block = shares + first * width;
        std::fill(block, block + rows * width, 0.0);
        for (std::size_t number = 0; number < forest.n_trees; ++number) {
            const TreeView tree = forest.tree(number);
            predicted.clear();
            for (std::size_t i = 0; i < rows; ++i)
                if (!bags[number].holds(static_cast<std::size_t>(outside.rows[first + i])))
                    predicted.push_back(static_cast<std::uint32_t>(i));
            route_rows(tree, view, predicted.data(), predicted.size(), at.data());
            for (std::size_t j = 0; j < predicted.size(); ++j) {
                const std::size_t i = predicted[j];
                const std::int64_t leaf = forest.leaf_start[number] + tree.payload[at[j]];
                const std::uint16_t* own = outside.labels ? outside.labels + first + i : nullptr;
                double* sums = block + i * width + views.first_column(number);
                known[i] = true;
                for (std::size_t depth = 0; depth < views.n_depths; ++depth, sums += views.n_classes) {
                    const auto [begin, end] = views.entries(leaf, depth);
                    add_node_without(views, begin, end, own, sums);
                }
            }
        }
        for (std::size_t i = 0; i < rows; ++i)
            finish_views(block + i * width, views.n_kinds, views.n_depths, views.n_classes, known[i]);
    });
}

}  // namespace hedgerow
