// Nodes of a tree in the order of its splits and leaves.
//
// Children get adjacent numbers when their parent is split, and leaves when they are made. Both depend only on the
// order in which nodes are settled and split, which is the same wherever a tree is grown: see settle_children.
#pragma once
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "core/kit/named_values.hpp"
#include "core/read/tree.hpp"

namespace hedgerow {

// A tree that is being grown; it owns its arrays.
struct GrownTree {
    std::vector<Node> nodes;
    std::vector<std::int32_t> payload;
    std::vector<std::uint64_t> set_words;
    std::uint32_t n_leaves = 0;
    std::uint32_t depth = 0;
    bool has_nominal = false;

    TreeView view() const { return {nodes.data(), payload.data(), set_words.data(), has_nominal}; }
};

// A tree, and the evidence of its leaves.
template <class Leaves>
struct Grown {
    GrownTree tree;
    Leaves leaves;
};

class TreeWriter {
public:
    // Starts a tree of one node, which is not written yet.
    void begin() {
        tree_ = GrownTree{};
        tree_.nodes.emplace_back();
        tree_.payload.push_back(0);
    }
    void reach(std::uint32_t depth) { tree_.depth = std::max(tree_.depth, depth); }

    // Returns the number of the first child.
    std::uint32_t add_children(std::uint32_t how_many) {
        const std::size_t first = tree_.nodes.size();
        if (first + how_many > Node::max_child) throw std::length_error("a tree must have fewer than 2^28 nodes");
        tree_.nodes.resize(first + how_many);
        tree_.payload.resize(first + how_many, 0);
        return static_cast<std::uint32_t>(first);
    }
    // A subset has words, in the form given by the code of the node.
    void split(std::uint32_t node, Node split, const std::vector<std::uint64_t>& words = {}) {
        tree_.nodes[node] = split;
        tree_.has_nominal |= split.kind() != NodeKind::threshold;
        if (split.kind() == NodeKind::subset) tree_.payload[node] = static_cast<std::int32_t>(tree_.set_words.size());
        append(tree_.set_words, words);
    }
    void leaf(std::uint32_t node) {
        tree_.nodes[node] = Node::leaf(node);
        tree_.payload[node] = static_cast<std::int32_t>(tree_.n_leaves++);
    }
    // A leaf without rows, which repeats leaf number `lender`.
    void borrowed_leaf(std::uint32_t node, std::int32_t lender) {
        tree_.nodes[node] = Node::leaf(node, true);
        tree_.payload[node] = lender;
    }
    std::int32_t last_leaf() const { return static_cast<std::int32_t>(tree_.n_leaves) - 1; }

    // Replaces a node by a whole tree, whose other nodes, leaves and words are appended.
    void graft(std::uint32_t node, const GrownTree& tree) {
        const auto n_nodes = static_cast<std::uint32_t>(tree.nodes.size());
        const std::uint32_t rest = add_children(n_nodes - 1);
        const auto place_of = [&](std::uint32_t at) { return at == 0 ? node : rest + at - 1; };
        for (std::uint32_t at = 0; at < n_nodes; ++at) {
            const bool is_leaf = tree.nodes[at].is_leaf(at), is_subset = tree.nodes[at].kind() == NodeKind::subset;
            tree_.nodes[place_of(at)] = tree.nodes[at].moved_to(place_of(tree.nodes[at].child()));
            const std::size_t before = is_leaf ? tree_.n_leaves : is_subset ? tree_.set_words.size() : 0;
            tree_.payload[place_of(at)] = tree.payload[at] + static_cast<std::int32_t>(before);
        }
        append(tree_.set_words, tree.set_words);
        tree_.n_leaves += tree.n_leaves;
        tree_.has_nominal |= tree.has_nominal;
        reach(tree.depth);
    }

    // Frees the capacity for more nodes, which may be half of the memory.
    GrownTree finish() {
        tree_.nodes.shrink_to_fit();
        tree_.payload.shrink_to_fit();
        tree_.set_words.shrink_to_fit();
        return std::move(tree_);
    }

private:
    GrownTree tree_;
};

// Settles new children from the last to the first: settle(side) makes a leaf, or pushes the node on a stack, so that
// the first child is split next. Children without rows share one leaf, made by make_leaf(child), with the evidence of
// the node itself.
template <class HasRows, class Settle, class MakeLeaf>
inline void settle_children(TreeWriter& writer, std::uint32_t first, std::uint32_t n_children, HasRows&& has_rows,
                            Settle&& settle, MakeLeaf&& make_leaf) {
    std::int32_t lender = -1;
    for (std::uint32_t side = n_children; side-- > 0;) {
        if (has_rows(side)) {
            settle(side);
            continue;
        }
        if (lender < 0) make_leaf(first + side), lender = writer.last_leaf();
        writer.borrowed_leaf(first + side, lender);
    }
}

}  // namespace hedgerow
