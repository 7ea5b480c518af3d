// Paths of rows through a tree.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/kit/attributes.hpp"
#include "core/read/node.hpp"
#include "core/read/subset.hpp"
#include "core/read/upper.hpp"
#include "core/rows/codes.hpp"

namespace hedgerow {

// A view of the arrays of one tree.
struct TreeView {
    const Node* nodes = nullptr;
    const std::int32_t* payload = nullptr;     // the number of a leaf, or where the words of a subset begin
    const std::uint64_t* set_words = nullptr;  // of all category subsets
    bool has_nominal = false;                  // whether some split is a subset or multiway
};

// Rows of codes, one after the other.
template <class Code>
struct RowView {
    const Code* codes = nullptr;
    std::size_t n_features = 0;
    bool has_missing = true;        // whether some code may be missing
    const Code* columns = nullptr;  // the same codes by column, if available
    std::size_t column_stride = 0;

    const Code* row(std::size_t number) const { return codes + number * n_features; }
};

// Cases that a step must handle. Most blocks of rows have no missing values and most forests no categorical features; a
// step that relies on this takes half the time.
enum class Ready { for_values, for_missing, for_all };

// The next node of a row that has this code at the feature of the node; a leaf returns itself.
template <Ready ready, class Code>
inline std::uint32_t child_for(const TreeView& tree, std::uint32_t at, Code code) {
    const Node& node = tree.nodes[at];
    if constexpr (ready == Ready::for_values) return node.child() + (code > node.code());
    if (ready == Ready::for_missing || node.kind() == NodeKind::threshold) {
        // The code of missing values is the highest; if they go left, adding one wraps it around to the lowest.
        const std::uint32_t left = node.missing_left();
        return node.child() + (static_cast<Code>(code + left) > node.code() + left);
    }
    if (node.kind() == NodeKind::subset) {
        if (code == missing_code<Code>) return node.child() + !node.missing_left();
        const std::uint64_t* words = tree.set_words + tree.payload[at];
        // One-byte codes have no lists, so their loops do not check for them.
        return node.child() + !goes_left(words, sizeof(Code) == 1 ? 0 : node.code(), code);
    }
    return node.child() + (code == missing_code<Code> ? node.code() : code);
}

// The next node of a row.
template <Ready ready, class Code>
inline std::uint32_t step(const TreeView& tree, std::uint32_t at, const Code* row) {
    const Node& node = tree.nodes[at];
    return child_for<ready>(tree, at, row[ready == Ready::for_all ? node.feature() : node.low_feature()]);
}

// at[i] = the leaf node that row i of the view (or rows[i]) reaches from the node at[i].
//
// Eight rows go down at a time, so that their memory accesses overlap. After a few steps, rows that have reached a leaf
// are removed from the list; continuing with all eight until the last one arrives would take 1.3 to 2 times as long.
template <Ready ready, class Code>
inline void route_ready(const TreeView& tree, const RowView<Code>& view, const std::uint32_t* rows, std::size_t n_rows,
                        std::uint32_t* at) {
    constexpr std::size_t lanes = 8, steps = 4, together = 512;
    const Code* codes[together];
    std::uint16_t waiting[together];
    for (std::size_t first = 0; first < n_rows; first += together, at += together) {
        std::size_t n_waiting = std::min(together, n_rows - first);
        for (std::size_t i = 0; i < n_waiting; ++i) {
            codes[i] = view.row(rows ? rows[first + i] : first + i);
            waiting[i] = static_cast<std::uint16_t>(i);
        }
        while (n_waiting > 0) {
            std::size_t n_left = 0;
            const auto advance = [&]<std::size_t n_lanes>(const std::uint16_t* who,
                                                          std::integral_constant<std::size_t, n_lanes>) {
                std::uint32_t node[n_lanes];
                const Code* row[n_lanes];
                for (std::size_t lane = 0; lane < n_lanes; ++lane)
                    node[lane] = at[who[lane]], row[lane] = codes[who[lane]];
                for (std::size_t taken = 0; taken < steps; ++taken)
                    for (std::size_t lane = 0; lane < n_lanes; ++lane)
                        node[lane] = step<ready>(tree, node[lane], row[lane]);
                for (std::size_t lane = 0; lane < n_lanes; ++lane) {
                    const std::uint16_t one = who[lane];
                    at[one] = node[lane];
                    waiting[n_left] = one;  // never ahead of the reading position
                    n_left += !tree.nodes[node[lane]].is_leaf(node[lane]);
                }
            };
            std::size_t i = 0;
            for (; i + lanes <= n_waiting; i += lanes)
                advance(waiting + i, std::integral_constant<std::size_t, lanes>{});
            for (; i < n_waiting; ++i) advance(waiting + i, std::integral_constant<std::size_t, 1>{});
            n_waiting = n_left;
        }
    }
}

// at[lane] = the leaf node that a row reaches in each of some trees. All trees take a step before the first one takes
// the next: in large trees a step waits for memory, and these waits overlap. One row and 100 trees of 24,000 nodes: 90
// µs with one tree at a time, 40 with 8. Trees of 19,000 nodes: 25 µs with 8, 19 with 16 or 32, 20 with 64.
inline constexpr std::size_t trees_in_step = 32;
template <Ready ready, class Code>
inline void route_in_step(const TreeView* trees, std::size_t n_trees, const Code* row, std::uint32_t* at) {
    std::fill_n(at, n_trees, 0);
    for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t lane = 0; lane < n_trees; ++lane) {
            const std::uint32_t next = step<ready>(trees[lane], at[lane], row);
            moved |= next != at[lane];
            at[lane] = next;
        }
    }
}

// at[i] = the node that row i, or rows[i], reaches in the first levels. Rows are ascending; rows between them take the
// first levels too, which is faster than skipping them if every fourth row is listed.
template <bool has_missing, class Code>
inline void enter_rows(const TreeView& tree, const RowView<Code>& view, const std::uint32_t* rows, std::size_t n_rows,
                       std::uint32_t* at) {
    const Upper upper(tree.nodes);
    if (!rows) return upper.enter<has_missing>(view.columns, view.column_stride, n_rows, at);
    constexpr std::size_t together = 256, most = 4 * together;
    std::uint32_t of_all[most];
    for (std::size_t first = 0; first < n_rows; first += together) {
        const std::size_t n = std::min(together, n_rows - first), low = rows[first],
                          n_all = rows[first + n - 1] - low + 1;
        if (n_all > most) {
            std::fill_n(at + first, n, 0);
            continue;
        }
        upper.enter<has_missing>(view.columns + low, view.column_stride, n_all, of_all);
        for (std::size_t i = first; i < first + n; ++i) at[i] = of_all[rows[i] - low];
    }
}

// at[i] = the leaf node that row i reaches; rows == nullptr means the first n_rows rows of the view, else rows[i],
// which are ascending.
template <class Code>
HEDGEROW_NOINLINE void route_rows(const TreeView& tree, const RowView<Code>& view, const std::uint32_t* rows,
                                  std::size_t n_rows, std::uint32_t* at) {
    constexpr std::size_t fewest = 64;  // with fewer rows, preparing the first levels does not pay
    if (!view.columns || n_rows < fewest) std::fill_n(at, n_rows, 0);
    else if (view.has_missing) enter_rows<true>(tree, view, rows, n_rows, at);
    else enter_rows<false>(tree, view, rows, n_rows, at);
    if (tree.has_nominal || view.n_features > 65536) route_ready<Ready::for_all>(tree, view, rows, n_rows, at);
    else if (view.has_missing) route_ready<Ready::for_missing>(tree, view, rows, n_rows, at);
    else route_ready<Ready::for_values>(tree, view, rows, n_rows, at);
}
template <class Code>
HEDGEROW_NOINLINE void route_row(const TreeView* trees, std::size_t n_trees, const RowView<Code>& view, std::size_t row,
                                 std::uint32_t* at) {
    if (trees[0].has_nominal || view.n_features > 65536)
        route_in_step<Ready::for_all>(trees, n_trees, view.row(row), at);
    else if (view.has_missing) route_in_step<Ready::for_missing>(trees, n_trees, view.row(row), at);
    else route_in_step<Ready::for_values>(trees, n_trees, view.row(row), at);
}

}  // namespace hedgerow
