// Concatenation of trees to the arrays of a forest.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/grow/write.hpp"
#include "core/kit/memory.hpp"
#include "core/kit/named_values.hpp"
#include "core/targets/target.hpp"

namespace hedgerow {

inline std::vector<std::uint64_t> bits_of(const std::vector<Node>& nodes) {
    std::vector<std::uint64_t> bits;
    bits.reserve(nodes.size());
    for (const Node node : nodes) bits.push_back(node.bits());
    return bits;
}

// Number of bytes of copied trees that are returned to the system at once, because that takes a few milliseconds.
inline constexpr std::size_t given_back_together = std::size_t{16} << 20;

// Takes the completed trees before the first unfinished one, so numbers have no gaps. Each tree is freed and returned
// to the system once it is copied, so that there are never two copies of the forest (a million rows, 30 trees of 134
// MB: 500 MB at most instead of 600).
template <class Leaves, class Source>
Fields pack_trees(std::vector<std::optional<Grown<Leaves>>>&& trees, const Source& source, const LeafRules& rules) {
    Leaves leaves(source, rules);
    std::size_t n_trees = 0, n_nodes = 0, n_held = 0;
    for (; n_trees < trees.size() && trees[n_trees]; ++n_trees)
        n_nodes += trees[n_trees]->tree.nodes.size(), n_held += trees[n_trees]->leaves.size();
    std::vector<std::uint64_t> nodes, set_words;
    std::vector<std::int32_t> payload;
    std::vector<std::int64_t> node_start{0}, leaf_start{0}, set_start{0}, depth;
    nodes.reserve(n_nodes);
    payload.reserve(n_nodes);
    leaves.reserve(n_held);
    std::size_t n_freed = 0;
    for (std::size_t number = 0; number < n_trees; ++number) {
        const GrownTree& tree = trees[number]->tree;
        for (const Node node : tree.nodes) nodes.push_back(node.bits());
        append(payload, tree.payload);
        append(set_words, tree.set_words);
        leaves.append(trees[number]->leaves);
        node_start.push_back(static_cast<std::int64_t>(nodes.size()));
        leaf_start.push_back(leaf_start.back() + tree.n_leaves);
        set_start.push_back(static_cast<std::int64_t>(set_words.size()));
        depth.push_back(tree.depth);
        n_freed += tree.nodes.size() * (sizeof(Node) + sizeof(std::int32_t));
        trees[number].reset();
        if (n_freed < given_back_together) continue;
        give_back_memory();
        n_freed = 0;
    }
    Fields fields = std::move(leaves).fields();
    fields.push_back({"nodes", std::move(nodes)});
    fields.push_back({"payload", std::move(payload)});
    fields.push_back({"set_words", std::move(set_words)});
    fields.push_back({"node_start", std::move(node_start)});
    fields.push_back({"leaf_start", std::move(leaf_start)});
    fields.push_back({"set_start", std::move(set_start)});
    fields.push_back({"depth", std::move(depth)});
    return fields;
}

}  // namespace hedgerow
