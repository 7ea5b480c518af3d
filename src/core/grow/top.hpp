// Whole trees from sums and counts over the parts of a table, and subtrees grown below nodes.
//
// The caller uses the methods in this order, and computes on every part what they need: `plant` takes the totals of
// roots; `questions` and `answer` find splits until no node is open (frontier.hpp); the rows of `groups` are gathered,
// and `graft` takes the trees grown on them; `count` takes the counts of the leaves of the top; `tree` returns the
// tree.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/grow/assemble.hpp"
#include "core/grow/frontier.hpp"
#include "core/grow/options.hpp"
#include "core/grow/question.hpp"
#include "core/kit/named_values.hpp"
#include "core/kit/table.hpp"
#include "core/rows/codes.hpp"
#include "core/targets/multi_output.hpp"

namespace hedgerow {

// Nodes of one tree whose rows are gathered together, and their size in bytes.
struct Group {
    std::vector<std::uint32_t> nodes;
    std::size_t n_bytes = 0;
};

// The trees of a forest whose rows are on several machines.
class Top {
public:
    Top(Frontier&& frontier, std::unique_ptr<AnyEnds> ends)
        : frontier_(std::move(frontier)), ends_(std::move(ends)), balances_(frontier_.n_trees()) {}

    Frontier& frontier() { return frontier_; }
    const std::vector<double>& balance(std::size_t tree) const { return balances_.at(tree); }

    // totals (trees, cells). Returns whether the roots are made; otherwise classes must be balanced, and `plant` called
    // again with new totals.
    bool plant(const Table<const double>& totals) {
        if (!balanced_ && !frontier_.options().is_blind() && totals.n_rows == balances_.size()) {
            balanced_ = true;
            for (std::size_t i = 0; i < balances_.size(); ++i)
                balances_[i] = ends_->balance_of(totals.data + i * totals.n_columns);
            if (!balances_.empty() && !balances_[0].empty()) return false;
        }
        frontier_.plant(totals);
        return true;
    }

    // Nodes whose rows are to be gathered and grown elsewhere, in groups of at most `most_bytes`, or of one node. The
    // largest nodes are placed first, each in the first group with room for it: 217 groups instead of 256 at a million
    // rows and 20 trees.
    std::vector<Group> groups(std::size_t number, std::size_t row_bytes, std::size_t most_bytes) const {
        const TopTree& tree = frontier_.tree(number);
        std::vector<std::pair<std::size_t, std::uint32_t>> found;
        for (std::uint32_t at = 0; at < tree.nodes.size(); ++at) {
            const TopNode& node = tree.nodes[at];
            if (node.state != TopNode::State::gathered &&
                (ends_->leaves_add_up() || node.state != TopNode::State::leaf))
                continue;
            found.emplace_back(
                static_cast<std::size_t>(node.n_rows() * tree.gathered_per_row * static_cast<double>(row_bytes)), at);
        }
        std::stable_sort(found.begin(), found.end(),
                         [](const auto& one, const auto& other) { return one.first > other.first; });
        std::vector<Group> groups;
        for (const auto& [n_bytes, at] : found) {
            auto group = std::find_if(groups.begin(), groups.end(), [&, size = n_bytes](const Group& each) {
                return each.n_bytes + size <= most_bytes;
            });
            if (group == groups.end()) group = groups.insert(group, Group{});
            group->nodes.push_back(at);
            group->n_bytes += n_bytes;
        }
        for (Group& group : groups) std::sort(group.nodes.begin(), group.nodes.end());
        return groups;
    }
    // The inherited state of some nodes, as arrays: see Start::all_from.
    Fields heritage(std::size_t number, std::span<const std::uint32_t> nodes) const {
        const TopTree& tree = frontier_.tree(number);
        std::vector<std::uint64_t> key;
        std::vector<std::uint32_t> depth, used;
        std::vector<double> lower, upper;
        std::vector<std::int64_t> used_start{0};
        for (const std::uint32_t at : nodes) {
            const TopNode& node = tree.nodes.at(at);
            key.push_back(node.key), depth.push_back(node.depth), lower.push_back(node.lower),
                upper.push_back(node.upper);
            append(used, tree.used.features(node.used));
            used_start.push_back(static_cast<std::int64_t>(used.size()));
        }
        std::vector<std::int64_t> total_amount(nodes.size(), tree.rules.total_amount);
        return {{"key", std::move(key)},
                {"depth", std::move(depth)},
                {"lower", std::move(lower)},
                {"upper", std::move(upper)},
                {"used", std::move(used)},
                {"used_start", std::move(used_start)},
                {"total_amount", std::move(total_amount)}};
    }
    // Takes the trees of a forest, one below each of these nodes; `early` marks nodes whose rows are all equal.
    void graft(std::size_t number, std::span<const std::uint32_t> nodes, const NamedValues& arrays,
               std::span<const std::uint8_t> early) {
        if (early.size() != nodes.size()) throw std::invalid_argument("early must have one mark per node");
        TopTree& tree = frontier_.tree(number);
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            tree.nodes.at(nodes[i]).is_early |= early[i] != 0;
            ends_->graft(number, nodes[i], arrays, i);
        }
    }

    // Nodes whose rows must be counted: leaves of the top, and splits with categories that have no rows. For each node,
    // the ends of the top that its rows reach.
    std::vector<std::vector<std::uint32_t>> counted(std::size_t number) const {
        std::vector<std::vector<std::uint32_t>> all;
        for (const std::uint32_t at : counted_nodes(number)) all.push_back(ends_below(frontier_.tree(number), at));
        return all;
    }
    // Takes (2, counted nodes, classes): multiplicities of rows, and their weights in units.
    void count(std::size_t number, std::span<const std::int64_t> sums) {
        const std::vector<std::uint32_t> nodes = counted_nodes(number);
        const std::size_t width = nodes.empty() ? 0 : sums.size() / (2 * nodes.size());
        if (sums.size() != 2 * nodes.size() * width)
            throw std::invalid_argument("sums must have the size (2, counted nodes, classes)");
        for (std::size_t i = 0; i < nodes.size(); ++i)
            ends_->count(number, nodes[i], frontier_.tree(number).nodes[nodes[i]], sums.data() + i * width,
                         sums.data() + (nodes.size() + i) * width);
    }

    // Returns the arrays of a forest of one tree, all of whose ends are known, and frees the ends.
    Fields tree(std::size_t number) {
        Fields arrays = ends_->assemble(number, frontier_.tree(number));
        frontier_.tree(number) = {};
        return arrays;
    }

private:
    static bool has_rows(const TopNode& node) { return node.state != TopNode::State::borrowed; }

    std::vector<std::uint32_t> counted_nodes(std::size_t number) const {
        const TopTree& tree = frontier_.tree(number);
        std::vector<std::uint32_t> found;
        for (std::uint32_t at = 0; at < tree.nodes.size() && ends_->leaves_add_up(); ++at) {
            const TopNode& node = tree.nodes[at];
            bool lends = false;
            for (std::uint32_t side = 0; side < node.n_children; ++side)
                lends |= !has_rows(tree.nodes[node.first_child + side]);
            if (node.state == TopNode::State::leaf || lends) found.push_back(at);
        }
        return found;
    }
    static std::vector<std::uint32_t> ends_below(const TopTree& tree, std::uint32_t node) {
        std::vector<std::uint32_t> found, waiting{node};
        while (!waiting.empty()) {
            const std::uint32_t at = waiting.back();
            waiting.pop_back();
            if (!tree.nodes[at].is_split()) found.push_back(at);
            for (std::uint32_t side = 0; side < tree.nodes[at].n_children; ++side)
                waiting.push_back(tree.nodes[at].first_child + side);
        }
        return found;
    }

    Frontier frontier_;
    std::unique_ptr<AnyEnds> ends_;
    std::vector<std::vector<double>> balances_;
    bool balanced_ = false;
};

// `n_rows` is that of the whole table; nodes that need at most `gather_rows` gathered rows are gathered.
inline Top top_from(const NamedValues& bins, const NamedValues& target, const NamedValues& given, std::size_t n_rows,
                    std::size_t first_tree, std::size_t n_trees, std::size_t gather_rows) {
    const std::vector<Feature> features = features_from(bins);
    const GrowOptions options = GrowOptions::from(given);
    auto ends = with_source(target, [&]<class Source>(const Source& source) -> std::unique_ptr<AnyEnds> {
        if constexpr (requires { source.n_cells(); })
            return std::make_unique<Ends<Source>>(source, options.leaf_rules(), n_trees);
        else throw std::invalid_argument("trees grown on the parts of a table do not support multi-output y");
    });
    return {Frontier(features, options, sum_search_for(target, features, options, n_rows), n_rows, n_trees, gather_rows,
                     first_tree),
            std::move(ends)};
}

}  // namespace hedgerow
