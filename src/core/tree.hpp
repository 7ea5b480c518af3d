// Tree: eight bytes a node, and how a row finds its leaf.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "codes.hpp"

namespace hedgerow {

enum class NodeKind : std::uint32_t {
    threshold = 0,  // left when the code is at most the threshold; a leaf is one that leads to itself
    subset = 1,     // left when the category's bit is set
    multiway = 2,   // one child per category, the last for missing and unseen ones
};

// Layout, low bits first: code 16, feature 17, kind 2, missing_left 1, child 28.
// The right child stands directly after the left one.
class Node {
public:
    static constexpr std::uint32_t max_feature = (1U << 17) - 1;
    static constexpr std::uint32_t max_child = (1U << 28) - 1;

    Node() = default;
    // A borrowed leaf stands for a child without rows and repeats the counts of its siblings' leaves.
    static Node leaf(std::uint32_t self, bool borrowed = false) {
        return Node(0xffff, 0, NodeKind::threshold, borrowed, self);
    }
    // Codes up to `code` go left, and missing values where told so.
    static Node split_at(std::uint32_t code, std::uint32_t feature, bool missing_left, std::uint32_t child) {
        return Node(code, feature, NodeKind::threshold, missing_left, child);
    }
    static Node split_subset(std::uint32_t feature, bool missing_left, std::uint32_t child) {
        return Node(0, feature, NodeKind::subset, missing_left, child);
    }
    static Node split_multiway(std::uint32_t n_categories, std::uint32_t feature, std::uint32_t child) {
        return Node(n_categories, feature, NodeKind::multiway, false, child);
    }

    // Of a threshold the last code that goes left, of a multiway split the number of categories.
    std::uint32_t code() const { return code_; }
    std::uint32_t feature() const { return feature_ | (rest_ & 1) << 16; }
    std::uint32_t low_feature() const { return feature_; }  // the feature, of a table with at most 65,536
    NodeKind kind() const { return static_cast<NodeKind>((rest_ >> 1) & 3); }
    std::uint32_t missing_left() const { return (rest_ >> 3) & 1; }
    std::uint32_t child() const { return rest_ >> 4; }
    bool is_leaf(std::uint32_t self) const { return child() == self; }
    std::uint64_t bits() const { return std::uint64_t{code_} | std::uint64_t{feature_} << 16 | std::uint64_t{rest_} << 32; }

private:
    Node(std::uint32_t code, std::uint32_t feature, NodeKind kind, bool missing_left, std::uint32_t child)
        : code_(static_cast<std::uint16_t>(code)), feature_(static_cast<std::uint16_t>(feature)),
          rest_(feature >> 16 | static_cast<std::uint32_t>(kind) << 1 | std::uint32_t{missing_left} << 3 | child << 4) {}

    // Parts that a step of a row loads one by one: shifting them out of one word took a third longer.
    std::uint16_t code_ = 0, feature_ = 0;
    std::uint32_t rest_ = 0;
};
static_assert(sizeof(Node) == 8 && std::endian::native == std::endian::little, "an array of bits() is read as nodes");

// One tree as it lies in memory, whoever owns it.
struct TreeView {
    const Node* nodes = nullptr;
    const std::int32_t* payload = nullptr;      // a leaf's number; where a subset's words begin
    const std::uint64_t* set_words = nullptr;   // the bits of all category subsets
    bool has_nominal = false;                   // some split is a subset or multiway
};

// Rows of codes, one after the other.
template <class Code>
struct RowView {
    const Code* codes = nullptr;
    std::size_t n_features = 0;
    bool has_missing = true;  // whether some code may be missing

    const Code* row(std::size_t number) const { return codes + number * n_features; }
};

// What a step must be ready for. Most blocks of rows have no missing value and most forests no nominal feature; a
// step that knows it takes half the time.
enum class Ready { for_values, for_missing, for_all };

// Where a row goes that has this code at the node's feature; a leaf answers with itself.
template <Ready ready, class Code>
inline std::uint32_t child_for(const TreeView& tree, std::uint32_t at, Code code) {
    const Node& node = tree.nodes[at];
    if constexpr (ready == Ready::for_values) return node.child() + (code > node.code());
    if (ready == Ready::for_missing || node.kind() == NodeKind::threshold) {
        // The missing code is the highest; where it goes left, adding one wraps it around to the lowest.
        const std::uint32_t left = node.missing_left();
        return node.child() + (static_cast<Code>(code + left) > node.code() + left);
    }
    if (node.kind() == NodeKind::subset) {
        if (code == missing_code<Code>) return node.child() + !node.missing_left();
        const std::uint64_t* words = tree.set_words + tree.payload[at];
        return node.child() + !((words[code >> 6] >> (code & 63)) & 1);
    }
    return node.child() + (code == missing_code<Code> ? node.code() : code);
}

// The next node of a row on its way down.
template <Ready ready, class Code>
inline std::uint32_t step(const TreeView& tree, std::uint32_t at, const Code* row) {
    const Node& node = tree.nodes[at];
    return child_for<ready>(tree, at, row[ready == Ready::for_all ? node.feature() : node.low_feature()]);
}

// at[i] = the leaf node that row i of the view (or rows[i]) reaches.
//
// Eight rows are on their way at a time, so that their memory look-ups overlap instead of following one another. After
// a few steps those that have arrived leave the list of the waiting: all eight going on until the last arrives takes
// 1.3 to 2 times as long.
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
            at[i] = 0;
        }
        while (n_waiting > 0) {
            std::size_t n_left = 0;
            const auto advance = [&]<std::size_t n_lanes>(const std::uint16_t* who, std::integral_constant<std::size_t, n_lanes>) {
                std::uint32_t node[n_lanes];
                const Code* row[n_lanes];
                for (std::size_t lane = 0; lane < n_lanes; ++lane) node[lane] = at[who[lane]], row[lane] = codes[who[lane]];
                for (std::size_t taken = 0; taken < steps; ++taken)
                    for (std::size_t lane = 0; lane < n_lanes; ++lane) node[lane] = step<ready>(tree, node[lane], row[lane]);
                for (std::size_t lane = 0; lane < n_lanes; ++lane) {
                    const std::uint16_t one = who[lane];
                    at[one] = node[lane];
                    waiting[n_left] = one;  // never ahead of where the list is read
                    n_left += !tree.nodes[node[lane]].is_leaf(node[lane]);
                }
            };
            std::size_t i = 0;
            for (; i + lanes <= n_waiting; i += lanes) advance(waiting + i, std::integral_constant<std::size_t, lanes>{});
            for (; i < n_waiting; ++i) advance(waiting + i, std::integral_constant<std::size_t, 1>{});
            n_waiting = n_left;
        }
    }
}

// rows == nullptr: the first n_rows rows of the view.
template <class Code>
inline void route_rows(const TreeView& tree, const RowView<Code>& view, const std::uint32_t* rows, std::size_t n_rows,
                       std::uint32_t* at) {
    if (tree.has_nominal || view.n_features > 65536) route_ready<Ready::for_all>(tree, view, rows, n_rows, at);
    else if (view.has_missing) route_ready<Ready::for_missing>(tree, view, rows, n_rows, at);
    else route_ready<Ready::for_values>(tree, view, rows, n_rows, at);
}

// A tree as it is grown: the node arrays, owned.
struct GrownTree {
    std::vector<Node> nodes;
    std::vector<std::int32_t> payload;
    std::vector<std::uint64_t> set_words;
    std::uint32_t n_leaves = 0;
    std::uint32_t depth = 0;

    TreeView view() const { return {nodes.data(), payload.data(), set_words.data(), has_nominal}; }
    bool has_nominal = false;
};

}  // namespace hedgerow
