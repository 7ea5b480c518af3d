// Assembly of trees from their tops, the subtrees grown below them, and the counts of their leaves. The result is, node
// for node, the tree that one machine would grow.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/grow/frame.hpp"
#include "core/grow/frontier.hpp"
#include "core/grow/pack.hpp"
#include "core/grow/write.hpp"
#include "core/kit/named_values.hpp"
#include "core/targets/target.hpp"

namespace hedgerow {

// Tree `number` of a forest whose arrays are given.
inline GrownTree tree_from(const NamedValues& arrays, std::size_t number) {
    const auto at = static_cast<std::int64_t>(number);
    const auto span_in = [&](const char* name) { return some<std::int64_t>(arrays, name, at, at + 2); };
    const auto node = span_in("node_start"), leaf = span_in("leaf_start"), word = span_in("set_start");
    GrownTree tree;
    for (const std::uint64_t bits : some<std::uint64_t>(arrays, "nodes", node[0], node[1]))
        tree.nodes.push_back(Node::from(bits));
    tree.payload = some<std::int32_t>(arrays, "payload", node[0], node[1]);
    tree.set_words = some<std::uint64_t>(arrays, "set_words", word[0], word[1]);
    tree.n_leaves = static_cast<std::uint32_t>(leaf[1] - leaf[0]);
    tree.depth = static_cast<std::uint32_t>(some<std::int64_t>(arrays, "depth", at, at + 1)[0]);
    return tree;
}

// Subtrees and counts below the ends of tops.
class AnyEnds {
public:
    virtual ~AnyEnds() = default;
    // Whether the evidence of a leaf can be summed part by part; otherwise its rows are gathered.
    virtual bool leaves_add_up() const = 0;
    // Factors that balance classes in a bag with these cells; empty if classes are not balanced.
    virtual std::vector<double> balance_of(const double* cells) const = 0;
    // Takes a tree that was grown below a node.
    virtual void graft(std::size_t tree, std::uint32_t node, const NamedValues& arrays, std::size_t number) = 0;
    // Takes the counts of the rows of a node, and their weights in units, by class.
    virtual void count(std::size_t tree, std::uint32_t node, const Heritage& heritage, const std::int64_t* counts,
                       const std::int64_t* weights) = 0;
    // Returns the arrays of a forest of one tree, and frees its ends.
    virtual Fields assemble(std::size_t number, const TopTree& top) = 0;
};

template <class Source>
class Ends final : public AnyEnds {
public:
    Ends(const Source& source, const LeafRules& rules, std::size_t n_trees)
        : source_(source), rules_(rules), ends_(n_trees) {}

    bool leaves_add_up() const override { return Source::leaves_add_up; }
    std::vector<double> balance_of(const double* cells) const override { return source_.balance_of(cells); }
    void graft(std::size_t tree, std::uint32_t node, const NamedValues& arrays, std::size_t number) override {
        const auto at = static_cast<std::int64_t>(number);
        const auto leaf = some<std::int64_t>(arrays, "leaf_start", at, at + 2);
        ends_[tree].insert_or_assign(node,
                                     End{tree_from(arrays, number), Leaves(source_, rules_, arrays, leaf[0], leaf[1])});
    }
    void count(std::size_t tree, std::uint32_t node, const Heritage& heritage, const std::int64_t* counts,
               const std::int64_t* weights) override {
        if constexpr (Source::leaves_add_up) {
            typename Source::LeafBuilder leaf(source_, rules_);
            leaf.open_leaf();
            leaf.add_counts(counts, weights);
            leaf.close_leaf(heritage.lower, heritage.upper);
            TreeWriter writer;
            writer.begin();
            writer.reach(heritage.depth);
            writer.leaf(0);
            ends_[tree].insert_or_assign(node, End{writer.finish(), leaf.finish()});
        }
    }
    Fields assemble(std::size_t number, const TopTree& top) override {
        std::vector<std::optional<End>> trees;
        trees.push_back(write(top, ends_[number]));
        ends_[number].clear();
        return pack_trees(std::move(trees), source_, rules_);
    }

private:
    using Leaves = typename Source::LeafBuilder::Leaves;
    using End = Grown<Leaves>;

    // Walks a top as the grower does: nodes are numbered when their parent is split, and the left side comes first.
    End write(const TopTree& top, const std::map<std::uint32_t, End>& ends) const {
        struct Waiting {
            std::uint32_t number, place;  // in the top, and in the tree
        };
        std::vector<Waiting> stack;
        TreeWriter writer;
        Leaves leaves(source_, rules_);
        const auto graft = [&](std::uint32_t number, std::uint32_t place) {
            const End& end = ends.at(number);
            writer.graft(place, end.tree);
            leaves.append(end.leaves);
        };
        const auto settle = [&](std::uint32_t number, std::uint32_t place) {
            writer.reach(top.nodes[number].depth);
            if (top.nodes[number].is_early) graft(number, place);
            else stack.push_back({number, place});
        };
        writer.begin();
        settle(0, 0);
        while (!stack.empty()) {
            const auto [number, place] = stack.back();
            stack.pop_back();
            const TopNode& node = top.nodes[number];
            if (!node.is_split()) {
                graft(number, place);
                continue;
            }
            const std::uint32_t first = writer.add_children(node.n_children);
            writer.split(place, node.split.as_node(first), node.split.words);
            settle_children(writer, first, node.n_children,
                            [&](std::uint32_t side) { return top.nodes[node.first_child + side].n_rows() > 0; },
                            [&](std::uint32_t side) { settle(node.first_child + side, first + side); },
                            [&, at = number](std::uint32_t child) { graft(at, child); });
        }
        return {writer.finish(), std::move(leaves)};
    }

    Source source_;
    LeafRules rules_;
    std::vector<std::map<std::uint32_t, End>> ends_;
};

}  // namespace hedgerow
