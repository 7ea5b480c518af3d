// Tree: eight bytes a node, and how a row finds its leaf.
#pragma once
#include <cstdint>
#include <vector>

#include "codes.hpp"

namespace hedgerow {

enum class NodeKind : std::uint32_t {
    threshold = 0,  // left when the code is at most the threshold; a leaf is one that leads to itself
    subset = 1,     // left when the category's bit is set
    multiway = 2,   // one child per category, the last for missing and unseen ones
};

// Layout, low bits first: threshold 16, feature 17, kind 2, missing_left 1, child 28.
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
    // Codes up to `code` go left; the threshold is stored shifted when missing values go left too,
    // so that one comparison of (code + missing_left), wrapped around, decides both.
    static Node split_at(std::uint32_t code, std::uint32_t feature, bool missing_left, std::uint32_t child) {
        return Node(code + missing_left, feature, NodeKind::threshold, missing_left, child);
    }
    static Node split_subset(std::uint32_t feature, bool missing_left, std::uint32_t child) {
        return Node(0, feature, NodeKind::subset, missing_left, child);
    }
    static Node split_multiway(std::uint32_t n_categories, std::uint32_t feature, std::uint32_t child) {
        return Node(n_categories, feature, NodeKind::multiway, false, child);
    }

    std::uint32_t threshold() const { return static_cast<std::uint32_t>(bits_ & 0xffff); }
    std::uint32_t feature() const { return static_cast<std::uint32_t>(bits_ >> 16) & max_feature; }
    NodeKind kind() const { return static_cast<NodeKind>((bits_ >> 33) & 3); }
    std::uint32_t missing_left() const { return static_cast<std::uint32_t>(bits_ >> 35) & 1; }
    std::uint32_t child() const { return static_cast<std::uint32_t>(bits_ >> 36); }
    bool is_leaf(std::uint32_t self) const { return child() == self; }
    std::uint64_t bits() const { return bits_; }

private:
    Node(std::uint32_t threshold, std::uint32_t feature, NodeKind kind, bool missing_left, std::uint32_t child)
        : bits_(std::uint64_t{threshold} | std::uint64_t{feature} << 16 | std::uint64_t(kind) << 33 |
                std::uint64_t{missing_left} << 35 | std::uint64_t{child} << 36) {}

    std::uint64_t bits_ = 0;
};
static_assert(sizeof(Node) == 8);

// One tree as it lies in memory, whoever owns it.
struct TreeView {
    const Node* nodes = nullptr;
    const std::int32_t* payload = nullptr;      // a leaf's number; where a subset's words begin
    const std::uint64_t* set_words = nullptr;   // the bits of all category subsets
    bool has_nominal = false;                   // some split is a subset or multiway
};

// The next node of a row on its way down; a leaf answers with itself.
template <class Code>
inline std::uint32_t step(const TreeView& tree, std::uint32_t at, const Code* row, std::size_t feature_stride) {
    const Node node = tree.nodes[at];
    const Code code = row[node.feature() * feature_stride];
    if (node.kind() == NodeKind::threshold) {
        const auto shifted = static_cast<Code>(code + node.missing_left());
        return node.child() + (shifted > node.threshold());
    }
    if (node.kind() == NodeKind::subset) {
        if (code == missing_code<Code>) return node.child() + !node.missing_left();
        const std::uint64_t* words = tree.set_words + tree.payload[at];
        return node.child() + !((words[code >> 6] >> (code & 63)) & 1);
    }
    return node.child() + (code == missing_code<Code> ? node.threshold() : code);
}

// The leaf node of each listed row, eight rows on their way at a time: their memory look-ups overlap
// instead of following one another. arrive(i, node) is called for i = 0, 1, … in order.
template <class Code, bool has_nominal, class Arrive>
inline void route_lanes(const TreeView& tree, const CodeView<Code>& view, const std::uint32_t* rows,
                        std::size_t n_rows, Arrive& arrive) {
    constexpr std::size_t lanes = 8;
    const std::size_t stride = view.feature_stride;
    const auto codes_of = [&](std::size_t i) { return view.codes + (rows ? rows[i] : i) * view.row_stride; };
    std::size_t first = 0;
    for (; first + lanes <= n_rows; first += lanes) {
        std::uint32_t at[lanes] = {};
        const Code* codes[lanes];
        for (std::size_t lane = 0; lane < lanes; ++lane) codes[lane] = codes_of(first + lane);
        for (bool moved = true; moved;) {
            std::uint32_t before[lanes];
            for (std::size_t lane = 0; lane < lanes; ++lane) before[lane] = at[lane];
            for (int repeat = 0; repeat < 4; ++repeat)
                for (std::size_t lane = 0; lane < lanes; ++lane)
                    if constexpr (has_nominal) {
                        at[lane] = step(tree, at[lane], codes[lane], stride);
                    } else {
                        const Node node = tree.nodes[at[lane]];
                        const auto shifted = static_cast<Code>(codes[lane][node.feature() * stride] + node.missing_left());
                        at[lane] = node.child() + (shifted > node.threshold());
                    }
            moved = false;
            for (std::size_t lane = 0; lane < lanes; ++lane) moved |= at[lane] != before[lane];
        }
        for (std::size_t lane = 0; lane < lanes; ++lane) arrive(first + lane, at[lane]);
    }
    for (; first < n_rows; ++first) {
        std::uint32_t at = 0;
        for (std::uint32_t before = ~0U; at != before;) {
            before = at;
            at = step(tree, at, codes_of(first), stride);
        }
        arrive(first, at);
    }
}

// rows == nullptr: the first n_rows rows of the view.
template <class Code, class Arrive>
inline void route_rows(const TreeView& tree, const CodeView<Code>& view, const std::uint32_t* rows,
                       std::size_t n_rows, Arrive&& arrive) {
    if (tree.has_nominal) route_lanes<Code, true>(tree, view, rows, n_rows, arrive);
    else route_lanes<Code, false>(tree, view, rows, n_rows, arrive);
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
