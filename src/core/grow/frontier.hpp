// Tops of trees, grown level by level from sums over all parts of a table.
//
// For tables whose rows are on several machines. The caller computes the sums that `questions` lists on every part and
// passes them to `answer`, until no questions are left. Nodes end, inherit and split by the rules of the grower
// (frame.hpp), so the trees are those that one machine would grow.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/grow/frame.hpp"
#include "core/grow/options.hpp"
#include "core/grow/question.hpp"
#include "core/grow/write.hpp"
#include "core/kit/named_values.hpp"
#include "core/kit/table.hpp"
#include "core/rows/codes.hpp"

namespace hedgerow {

struct TopNode : Heritage {
    // A node is open until it is split, a leaf, gathered (to be grown on one machine), or borrowed (a leaf without
    // rows).
    enum class State { open, split, leaf, gathered, borrowed };

    explicit TopNode(const Heritage& heritage) : Heritage(heritage) {}
    std::uint32_t n_rows() const { return static_cast<std::uint32_t>(totals.back()); }
    bool is_split() const { return state == State::split; }

    State state = State::open;
    bool is_early = false;       // a leaf from the start, not because no split was found
    std::vector<double> totals;  // sums over its in-bag rows; the last is their number
    NodeSplit split;
    std::uint32_t first_child = 0, n_children = 0;
    // While the node is open:
    std::vector<std::uint32_t> needed;                  // features to sum next
    std::map<std::uint32_t, std::vector<double>> sums;  // by feature, as far as summed
    std::vector<double> first{1, 0};                    // in a regression, amount and sum of its first row
    std::uint32_t n_asked = 0;
};

// Nodes in the order of their creation; the children of a node are adjacent.
struct TopTree {
    SplitRules rules;
    UsedFeatures used;
    double gathered_per_row = 1;  // gathered rows per in-bag row
    std::deque<TopNode> nodes;
};

// The top of a tree, as parts send their rows through it: nodes without a split are its ends.
inline GrownTree sketch_of(const TopTree& top) {
    GrownTree tree;
    for (std::uint32_t at = 0; at < top.nodes.size(); ++at) {
        const TopNode& node = top.nodes[at];
        tree.payload.push_back(static_cast<std::int32_t>(tree.set_words.size()));
        append(tree.set_words, node.split.words);
        tree.nodes.push_back(node.is_split() ? node.split.as_node(node.first_child) : Node::leaf(at));
    }
    return tree;
}

// The nodes and features of a tree to sum; those of node i are features[start[i]] … features[start[i + 1] - 1].
struct TreeQuestions {
    std::size_t tree = 0;
    std::vector<std::uint32_t> nodes, features;
    std::vector<std::int64_t> start{0};
};

class Frontier {
public:
    // `n_rows` is that of the whole table; nodes that need at most `gather_rows` gathered rows are gathered. Trees are
    // numbered from `first_tree` of the forest on.
    Frontier(std::vector<Feature> features, const GrowOptions& options, std::unique_ptr<AnySumSearch> search,
             std::size_t n_rows, std::size_t n_trees, std::size_t gather_rows, std::size_t first_tree = 0)
        : features_(std::move(features)),
          options_(options),
          n_rows_(n_rows),
          gather_rows_(gather_rows),
          first_tree_(first_tree),
          search_(std::move(search)),
          trees_(n_trees) {}

    const GrowOptions& options() const { return options_; }
    const TopTree& tree(std::size_t number) const { return trees_.at(number); }
    TopTree& tree(std::size_t number) { return trees_.at(number); }
    std::size_t n_trees() const { return trees_.size(); }

    // totals (trees, cells): sums over the in-bag rows of each tree.
    void plant(const Table<const double>& totals) {
        const std::size_t n_cells = search_->n_cells();
        if (totals.n_rows != trees_.size() || totals.n_columns != n_cells)
            throw std::invalid_argument("totals must have a row per tree and a column per cell");
        for (std::size_t number = 0; number < trees_.size(); ++number) {
            TopNode root(Heritage::root(options_.seed, first_tree_ + number));
            root.totals.assign(totals.data + number * n_cells, totals.data + (number + 1) * n_cells);
            TopTree& tree = trees_[number];
            tree.rules = SplitRules(options_, search_->amount_of(root.totals));
            if (options_.counts_outside() && options_.bag_mean != 0)
                tree.gathered_per_row = static_cast<double>(n_rows_) / root.totals.back();
            tree.nodes.push_back(std::move(root));
            settle(number, 0);
        }
    }

    // Returns the sums needed next, of at most `most_bytes`, or of one node. Empty if no node is open.
    std::vector<TreeQuestions> questions(std::size_t most_bytes) {
        if (!asked_.empty()) throw std::logic_error("questions must be answered before the next questions");
        std::size_t n_bytes = 0;
        while (asked_.empty() && begin_level())
            for (; !level_.empty(); level_.pop_front()) {
                const Place place = level_.front();
                TopNode& node = node_at(place);
                if (node.needed.empty()) look(place, {});
                if (node.state != TopNode::State::open) continue;
                const std::size_t size = bytes_of(node);
                if (!asked_.empty() && n_bytes + size > most_bytes) break;
                asked_.push_back(place);
                n_bytes += size;
            }
        return grouped();
    }
    // Progress: the current level, and its numbers of open nodes and trees.
    std::size_t n_levels() const { return n_levels_; }
    std::size_t n_open() const { return n_open_; }
    std::size_t n_open_trees() const { return n_open_trees_; }

    // sums: those that the questions list, one after another. seen (nodes, 4), in a regression: the smallest and the
    // largest target of each node, and amount and sum of its first row.
    void answer(std::span<const double> sums, const std::optional<Table<const double>>& seen) {
        std::size_t size = 0;
        for (const Place& place : asked_) size += bytes_of(node_at(place)) / sizeof(double);
        if (sums.size() != size || (seen && (seen->n_rows != asked_.size() || seen->n_columns != 4)))
            throw std::invalid_argument("answers must have a sum per cell and a row per node");
        const double* next = sums.data();
        for (std::size_t i = 0; i < asked_.size(); ++i) {
            const std::vector<const double*> found = divide_sums(node_at(asked_[i]), next);
            take_answer(asked_[i], found, seen ? seen->data + 4 * i : nullptr);
        }
        asked_.clear();
    }

private:
    // A node of at most this many rows is always gathered, because small nodes are split by another search.
    static constexpr std::uint32_t few_rows = 64;

    struct Place {
        std::size_t tree;
        std::uint32_t node;
    };
    TopNode& node_at(const Place& place) { return trees_[place.tree].nodes[place.node]; }

    // Returns whether there is an open node.
    bool begin_level() {
        if (!level_.empty()) return true;
        if (below_.empty()) return false;
        level_.swap(below_);
        ++n_levels_;
        std::set<std::size_t> trees;
        for (const Place& place : level_) trees.insert(place.tree);
        n_open_ = level_.size();
        n_open_trees_ = trees.size();
        return true;
    }
    std::vector<TreeQuestions> grouped() const {
        std::vector<TreeQuestions> all;
        for (const Place& place : asked_) {
            if (all.empty() || all.back().tree != place.tree) all.push_back({place.tree, {}, {}, {0}});
            const std::vector<std::uint32_t>& needed = trees_[place.tree].nodes[place.node].needed;
            all.back().nodes.push_back(place.node);
            append(all.back().features, needed);
            all.back().start.push_back(static_cast<std::int64_t>(all.back().features.size()));
        }
        return all;
    }

    std::size_t n_cells_of(std::uint32_t feature) const { return (features_[feature].n_bins + 1) * search_->n_cells(); }
    std::size_t bytes_of(const TopNode& node) const {
        std::size_t n_cells = 0;
        for (const std::uint32_t feature : node.needed) n_cells += n_cells_of(feature);
        return n_cells * sizeof(double);
    }
    std::vector<const double*> divide_sums(const TopNode& node, const double*& next) const {
        std::vector<const double*> found;
        for (const std::uint32_t feature : node.needed) {
            found.push_back(next);
            next += n_cells_of(feature);
        }
        return found;
    }

    void take_answer(const Place& place, const std::vector<const double*>& found, const double* seen) {
        TopNode& node = node_at(place);
        ++node.n_asked;
        if (seen != nullptr) {
            node.first.assign(seen + 2, seen + 4);
            if (seen[0] == seen[1]) {
                end(node, TopNode::State::leaf, true);
                return;
            }
        }
        const std::vector<std::uint32_t> answered = std::exchange(node.needed, {});
        look(place, {answered, found});
        if (node.state != TopNode::State::open) return;
        for (std::size_t i = 0; i < answered.size(); ++i)
            node.sums[answered[i]].assign(found[i], found[i] + n_cells_of(answered[i]));
        below_.push_back(place);
    }

    // The features summed last, and their sums.
    struct NewSums {
        std::vector<std::uint32_t> features;
        std::vector<const double*> sums;
    };
    // Searches the split of a node in the sums so far; makes its children or a leaf, or stores the sums that it needs.
    void look(const Place& place, const NewSums& fresh) {
        TopTree& tree = trees_[place.tree];
        TopNode& node = node_at(place);
        Question question{node,        tree.rules, &tree.used,
                          node.totals, node.first, std::vector<const double*>(features_.size(), nullptr)};
        for (const auto& [feature, sums] : node.sums) question.bins[feature] = sums.data();
        for (std::size_t i = 0; i < fresh.features.size(); ++i) question.bins[fresh.features[i]] = fresh.sums[i];
        const std::size_t n_known = node.sums.size() + fresh.features.size();
        Answer answer = search_->choose(question, node.n_asked < 2 ? 0 : static_cast<std::uint32_t>(n_known));
        node.needed = std::move(answer.needed);
        if (!node.needed.empty()) return;
        if (answer.split) divide(place, *answer.split, question.bins[answer.split->feature]);
        else end(node, TopNode::State::leaf, false);
    }

    static void end(TopNode& node, TopNode::State state, bool is_early) {
        node.state = state;
        node.is_early = is_early;
        node.sums.clear();
        node.needed.clear();
    }

    // Makes the children of a node.
    void divide(const Place& place, const NodeSplit& split, const double* bins) {
        TopTree& tree = trees_[place.tree];
        TopNode& node = node_at(place);
        const std::uint32_t n_bins = features_[split.feature].n_bins, n_children = split.n_children(n_bins);
        const std::size_t n_cells = node.totals.size();
        const std::uint32_t used =
            split.kind == NodeKind::multiway ? tree.used.add(split.feature, node.used) : node.used;
        node.first_child = static_cast<std::uint32_t>(tree.nodes.size());
        node.n_children = n_children;
        for (std::uint32_t side = 0; side < n_children; ++side) {
            TopNode child(static_cast<const Heritage&>(node));
            if (split.kind == NodeKind::multiway) child.descend(side, used);
            else child.descend(side);
            child.totals.assign(n_cells, 0.0);
            tree.nodes.push_back(std::move(child));
        }
        for (std::uint32_t bin = 0; bin <= n_bins; ++bin) {
            std::vector<double>& totals = tree.nodes[node.first_child + split.side_of(bin, n_bins)].totals;
            for (std::size_t cell = 0; cell < n_cells; ++cell) totals[cell] += bins[bin * n_cells + cell];
        }
        bound_sides(options_.sign_of(split.feature), tree.nodes[node.first_child], tree.nodes[node.first_child + 1],
                    [&](int side) {
            return search_->share_of(tree.nodes[node.first_child + static_cast<std::uint32_t>(side)].totals);
        });
        node.split = split;
        end(node, TopNode::State::split, false);
        for (std::uint32_t side = 0; side < n_children; ++side) settle(place.tree, node.first_child + side);
    }

    // Settles a new node: a leaf if it must not be split, gathered if it is small, otherwise open.
    void settle(std::size_t number, std::uint32_t at) {
        const TopTree& tree = trees_[number];
        TopNode& node = trees_[number].nodes[at];
        const std::uint32_t n_rows = node.n_rows();
        if (n_rows == 0) end(node, TopNode::State::borrowed, true);
        else if (must_end(options_, node, n_rows, n_rows) || search_->is_pure(node.totals))
            end(node, TopNode::State::leaf, true);
        else if (n_rows * tree.gathered_per_row <= static_cast<double>(gather_rows_) || n_rows <= few_rows)
            end(node, TopNode::State::gathered, false);
        else below_.push_back({number, at});
    }

    const std::vector<Feature> features_;
    const GrowOptions options_;
    const std::size_t n_rows_, gather_rows_, first_tree_;
    std::unique_ptr<AnySumSearch> search_;
    std::vector<TopTree> trees_;
    std::deque<Place> level_, below_;
    std::vector<Place> asked_;
    std::size_t n_levels_ = 0, n_open_ = 0, n_open_trees_ = 0;
};

}  // namespace hedgerow
