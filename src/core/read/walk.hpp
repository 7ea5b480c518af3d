// Children, leaf numbers and paths, for explanations.
//
// Explanations depend on the layout of nodes and on the routing of rows only here.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/kit/parallel.hpp"
#include "core/kit/table.hpp"
#include "core/read/read.hpp"
#include "core/read/tree.hpp"
#include "core/rows/codes.hpp"

namespace hedgerow {

inline bool is_leaf(const TreeView& tree, std::uint32_t at) { return tree.nodes[at].is_leaf(at); }
// A leaf without rows of its own, which repeats the counts of its siblings.
inline bool is_borrowed(const TreeView& tree, std::uint32_t at) {
    return is_leaf(tree, at) && tree.nodes[at].missing_left();
}
inline std::int32_t leaf_number(const TreeView& tree, std::uint32_t at) { return tree.payload[at]; }
inline std::uint32_t split_feature(const TreeView& tree, std::uint32_t at) { return tree.nodes[at].feature(); }
// The children of a node are neighbours and come after it.
inline std::uint32_t first_child(const TreeView& tree, std::uint32_t at) { return tree.nodes[at].child(); }
inline std::uint32_t n_children(const TreeView& tree, std::uint32_t at) {
    if (is_leaf(tree, at)) return 0;
    return tree.nodes[at].kind() == NodeKind::multiway ? tree.nodes[at].code() + 1 : 2;
}

// The child of a node to which a row goes, given the codes of the row; a leaf returns itself.
template <class Code>
inline std::uint32_t next_node(const TreeView& tree, std::uint32_t at, const Code* row) {
    return step<Ready::for_all>(tree, at, row);
}
template <class Code>
inline std::uint32_t leaf_of(const TreeView& tree, const Code* row) {
    std::uint32_t at = 0;
    while (!is_leaf(tree, at)) at = next_node(tree, at, row);
    return at;
}

// (n, trees): the largest amount (p, n) of a feature on the path of each row.
template <class Code>
inline OwnTable<double> path_most(const ForestView& forest, const CodeColumns<Code>& codes,
                                  const Table<const double>& amounts, std::size_t n_threads, Control& control) {
    OwnTable<double> most(codes.n_rows, forest.n_trees);
    std::vector<Code> by_row(codes.n_rows * codes.n_features);
    transpose_codes(codes.codes, codes.n_rows, codes.n_features, codes.n_rows, by_row.data(), codes.n_features);
    run_tasks(forest.n_trees, n_threads, control, [&](std::size_t number, std::size_t) {
        const TreeView tree = forest.tree(number);
        for (std::size_t row = 0; row < codes.n_rows; ++row) {
            double found = 0;
            for (std::uint32_t at = 0; !is_leaf(tree, at);
                 at = next_node(tree, at, by_row.data() + row * codes.n_features))
                found = std::max(found, amounts.data[split_feature(tree, at) * codes.n_rows + row]);
            most.data[row * forest.n_trees + number] = found;
        }
    });
    return most;
}

// Calls arrive(i, node) with the leaf of each listed row of a row-major table.
template <class Code, class Arrive>
inline void route_listed(const TreeView& tree, const Code* by_row, std::size_t n_features, const std::uint32_t* rows,
                         std::size_t n_rows, Arrive&& arrive) {
    std::vector<std::uint32_t> at(n_rows);
    route_rows(tree, RowView<Code>{by_row, n_features, true}, rows, n_rows, at.data());
    for (std::size_t i = 0; i < n_rows; ++i) arrive(i, at[i]);
}

// Sums values of leaves (leaves, width) over the nodes (nodes, width) above them, except those of borrowed leaves.
// Children come after their parents.
template <class Value>
inline OwnTable<Value> sum_up(const TreeView& tree, std::size_t n_nodes, const Table<const Value>& leaves) {
    const std::size_t width = leaves.n_columns;
    OwnTable<Value> all(n_nodes, width);
    Value* const sums = all.data.get();
    for (std::size_t i = n_nodes; i-- > 0;) {
        const auto at = static_cast<std::uint32_t>(i);
        Value* mine = sums + i * width;
        if (is_leaf(tree, at)) {
            std::copy_n(leaves.data + static_cast<std::size_t>(leaf_number(tree, at)) * width, width, mine);
            continue;
        }
        std::fill_n(mine, width, Value{0});
        for (std::uint32_t child = first_child(tree, at); child < first_child(tree, at) + n_children(tree, at); ++child)
            if (!is_borrowed(tree, child))
                for (std::size_t k = 0; k < width; ++k) mine[k] += sums[child * width + k];
    }
    return all;
}

// Copies rows first, …, first + n - 1 of column-major codes row by row.
template <class Code>
inline void lay_out_rows(const Code* by_column, std::size_t n_rows, std::size_t n_features, std::size_t first,
                         std::size_t n, std::vector<Code>& by_row) {
    by_row.resize(n * n_features);
    transpose_codes(by_column + first, n, n_features, n_rows, by_row.data(), n_features);
}

}  // namespace hedgerow
