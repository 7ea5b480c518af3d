// Growth of one tree, or of the subtree below a node, with the evidence of its leaves.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <queue>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/grow/frame.hpp"
#include "core/grow/occupancy.hpp"
#include "core/grow/options.hpp"
#include "core/grow/rows.hpp"
#include "core/grow/search.hpp"
#include "core/grow/write.hpp"
#include "core/kit/attributes.hpp"
#include "core/kit/parallel.hpp"
#include "core/kit/zeroed.hpp"
#include "core/rows/bag.hpp"
#include "core/rows/codes.hpp"

namespace hedgerow {

// A node that was reached elsewhere: its rows in the table, in the order of the whole table, and its inherited state.
// Label weights are then multiplied by multiplicities.
struct Start {
    std::uint32_t begin = 0, end = 0;
    const std::uint16_t* times = nullptr;  // multiplicity of each row of the table in the bag
    Heritage node;
    std::int64_t total_amount = 0;    // of the tree
    std::vector<std::uint32_t> used;  // categorical features that a random decision tree has used above

    // Reads nodes from arrays; `used` has the features of all nodes, one node after another.
    static std::vector<Start> all_from(const NamedValues& given, std::size_t n_rows) {
        const auto keys = given.array<std::uint64_t>("key");
        const std::size_t n = keys.size();
        const std::uint16_t* times = given.array<std::uint16_t>("times", n_rows);
        const auto* row_start = given.array<std::int64_t>("row_start", n + 1);
        const auto* used_start = given.array<std::int64_t>("used_start", n + 1);
        const auto used = given.array<std::uint32_t>("used");
        const auto* depth = given.array<std::uint32_t>("depth", n);
        const auto* lower = given.array<double>("lower", n);
        const auto* upper = given.array<double>("upper", n);
        const auto* amount = given.array<std::int64_t>("total_amount", n);
        std::vector<Start> starts;
        for (std::size_t i = 0; i < n; ++i) {
            if (row_start[i] < 0 || row_start[i] > row_start[i + 1] ||
                row_start[i + 1] > static_cast<std::int64_t>(n_rows))
                throw std::invalid_argument("row_start must lie within the rows of the table");
            if (used_start[i] < 0 || used_start[i] > used_start[i + 1] ||
                used_start[i + 1] > static_cast<std::int64_t>(used.size()))
                throw std::invalid_argument("used_start must ascend within used");
            starts.push_back({static_cast<std::uint32_t>(row_start[i]),
                              static_cast<std::uint32_t>(row_start[i + 1]),
                              times,
                              {keys[i], depth[i], UsedFeatures::none, lower[i], upper[i]},
                              amount[i],
                              {used.begin() + used_start[i], used.begin() + used_start[i + 1]}});
        }
        return starts;
    }
};

// Grows one tree after another in the same memory; each thread has a grower.
template <class Row, class Source>
class Grower {
public:
    using Search = NodeSearch<Row>;
    using LeafBuilder = typename Source::LeafBuilder;
    using Leaves = typename LeafBuilder::Leaves;

    Grower(const AnyTable& table, const Source& source, const GrowOptions& options, std::unique_ptr<Search> search,
           Control& control, bool calling_thread)
        : table_(table),
          source_(source),
          options_(options),
          search_(std::move(search)),
          rows_(table),
          control_(control),
          calling_thread_(calling_thread),
          value_amount_(std::size_t{table.missing()} + 1),
          value_rows_(std::size_t{table.missing()} + 1),
          occupied_(table.wide) {}

    Grown<Leaves> grow(std::uint64_t tree_number) {
        const Bag bag(options_.seed, tree_number, table_.n_rows, options_.bag_mean, options_.units);
        begin_tree({&bag, nullptr});
        const RowSpan all = rows_.take(source_, bag, options_.counts_outside());
        return grow_from({Heritage::root(options_.seed, tree_number), all, 0}, rows_.amount(all));
    }

    // Grows the subtree below a node.
    Grown<Leaves> grow(const Start& start) {
        begin_tree({nullptr, start.times});
        const RowSpan all = rows_.take(source_, start.times, start.begin, start.end, options_.counts_outside());
        Frame root{start.node, all, 0};
        for (const std::uint32_t feature : start.used) root.used = used_.add(feature, root.used);
        return grow_from(root, start.total_amount);
    }

private:
    // A node that waits to be split.
    struct Frame : Heritage, RowSpan {
        std::uint32_t node = 0;
        Frame(const Heritage& heritage, const RowSpan& span, std::uint32_t number)
            : Heritage(heritage), RowSpan(span), node(number) {}
    };
    struct Candidate {
        double gain;
        Frame frame;
        Split split;
        bool operator<(const Candidate& other) const {
            return gain != other.gain ? gain < other.gain : frame.node > other.frame.node;
        }
    };

    // ---- one tree ---------------------------------------------------------------------------------------

    void begin_tree(const BagTimes& bag) {
        bag_ = bag;
        writer_.begin();
        leaves_.emplace(source_, options_.leaf_rules());
        stack_.clear();
        used_.clear();
    }

    Grown<Leaves> grow_from(const Frame& root, std::int64_t total_amount) {
        rules_ = SplitRules(options_, total_amount);
        search_->begin_tree(rules_);
        if (options_.max_leaf_nodes > 0) grow_best_first(root);
        else grow_depth_first(root);
        return {writer_.finish(), leaves_->finish()};
    }

    void grow_depth_first(const Frame& root) {
        settle(root);
        Split split;
        while (!stack_.empty()) {
            control_.tick(calling_thread_);
            Frame frame = stack_.back();
            stack_.pop_back();
            rows_.compact(frame);
            if (options_.is_blind()) {
                if (!split_randomly(frame)) make_leaf(frame);
                continue;
            }
            double gain = 0;
            if (find_split(frame, split, gain)) apply(frame, split);
            else make_leaf(frame);
        }
    }

    // Splits the node with the largest gain next, until the tree has enough leaves.
    HEDGEROW_NOINLINE void grow_best_first(const Frame& root) {
        std::priority_queue<Candidate> frontier;
        std::uint32_t n_ends = 1;  // number of leaves if growth stopped here
        settle(root);
        for (;;) {
            while (!stack_.empty()) {
                control_.tick(calling_thread_);
                Candidate candidate{0, stack_.back(), {}};
                stack_.pop_back();
                if (find_split(candidate.frame, candidate.split, candidate.gain)) frontier.push(std::move(candidate));
                else make_leaf(candidate.frame);
            }
            if (frontier.empty() || n_ends >= options_.max_leaf_nodes) break;
            const Candidate best = frontier.top();
            frontier.pop();
            ++n_ends;
            apply(best.frame, best.split);
        }
        for (; !frontier.empty(); frontier.pop()) make_leaf(frontier.top().frame);
    }

    bool find_split(const Frame& frame, Split& split, double& gain) {
        return search_->find(frame, {rows_.view(frame), rows_.inside(frame), frame.size()}, split, gain);
    }

    // Settles a new node: a leaf if it must not be split, otherwise it waits on the stack.
    HEDGEROW_NOINLINE void settle(const Frame& frame) {
        writer_.reach(frame.depth);
        const bool is_end =
            must_end(options_, frame, n_rows_in(frame), frame.size()) || (!options_.is_blind() && is_pure(frame));
        if (is_end) make_leaf(frame);
        else stack_.push_back(frame);
    }

    // The number of rows, not of entries.
    std::uint32_t n_rows_in(const Frame& frame) const {
        std::uint32_t n_rows = frame.size();
        if (Row::rows_of(source_) != nullptr)
            for (std::uint32_t i = 0; i < frame.size(); ++i) n_rows -= rows_.inside(frame)[i].follows();
        return n_rows;
    }

    bool is_pure(const Frame& frame) const {
        const Row* rows = rows_.inside(frame);
        for (std::uint32_t i = 1; i < frame.size(); ++i)
            if (!Row::alike(source_, rows[i], rows[0])) return false;
        return true;
    }

    HEDGEROW_NOINLINE void make_leaf(const Frame& frame) {
        writer_.leaf(frame.node);
        leaves_->open_leaf();
        const Row *inside = rows_.inside(frame), *outside = rows_.outside(frame);
        if (options_.count_sense != CountSense::oob)
            for (std::uint32_t i = 0; i < frame.size(); ++i) leaves_->add(inside[i], bag_);
        for (std::uint32_t i = 0; i < frame.outside_size(); ++i) leaves_->add(outside[i], bag_);
        leaves_->close_leaf(frame.lower, frame.upper);
    }

    // ---- splits -----------------------------------------------------------------------------------------

    HEDGEROW_NOINLINE void apply(const Frame& frame, const Split& split) {
        const std::uint32_t child = writer_.add_children(2);
        Frame left = frame, right = frame;
        left.node = child;
        right.node = child + 1;
        left.descend(0);
        right.descend(1);
        if (split.kind == NodeKind::threshold) apply_threshold(frame, split, child, left, right);
        else apply_subset(frame, split, child, left, right);
        bound_sides(options_.sign_of(split.feature), left, right, [&](int side) {
            const Frame& one = side == 0 ? left : right;
            return search_->share_of(rows_.inside(one), one.size());
        });
        settle(right);
        settle(left);
    }

    void apply_threshold(const Frame& frame, const Split& split, std::uint32_t child, Frame& left, Frame& right) {
        bool missing_left = split.missing_left;
        const auto goes_right = [&] {
            return [missing_left, bound = split.threshold + missing_left]<class Code>(Code code) {
                return static_cast<Code>(code + missing_left) > bound;
            };
        };
        left.end = right.begin = rows_.divide_inside(frame, split.feature, goes_right());
        if (!split.missing_seen) missing_left = 2 * left.size() > frame.size();
        left.outside_end = right.outside_begin = rows_.divide_outside(frame, split.feature, goes_right());
        writer_.split(frame.node, Node::split_at(split.threshold, split.feature, missing_left, child));
    }

    void apply_subset(const Frame& frame, const Split& split, std::uint32_t child, Frame& left, Frame& right) {
        const std::uint32_t n_categories = table_.features[split.feature].n_bins;
        write_subset(split, false, n_categories, left_bits_);
        bool missing_left = split.missing_left;
        const auto goes_right = [&] {
            return [missing_left, bits = left_bits_.data()]<class Code>(Code code) {
                return code == missing_code<Code> ? !missing_left : !((bits[code >> 6] >> (code & 63)) & 1);
            };
        };
        left.end = right.begin = rows_.divide_inside(frame, split.feature, goes_right());
        // Categories that do not occur in the node, and missing values if it has none, go to the larger side.
        const bool larger_left = 2 * left.size() > frame.size();
        if (larger_left) write_subset(split, larger_left, n_categories, left_bits_);
        if (!split.missing_seen) missing_left = larger_left;
        left.outside_end = right.outside_begin = rows_.divide_outside(frame, split.feature, goes_right());
        words_.clear();
        const std::uint32_t form = store_subset(left_bits_, n_categories, words_);
        writer_.split(frame.node, Node::split_subset(form, split.feature, missing_left, child), words_);
    }

    // ---- random decision trees --------------------------------------------------------------------------

    // Ignores labels: draws a feature and a threshold, and accepts a split that leaves enough rows on both sides.
    bool split_randomly(const Frame& frame) {
        Draws draws(frame.key);
        const std::uint32_t n_features = table_.n_features();
        for (std::uint32_t attempt = 0; attempt < n_features; ++attempt) {
            const std::uint32_t number = draws.below(n_features);
            const bool accepted =
                table_.features[number].nominal ? try_multiway(frame, number) : try_drawn_value(frame, number, draws);
            if (accepted) return true;
        }
        return false;
    }

    HEDGEROW_NOINLINE bool try_drawn_value(const Frame& frame, std::uint32_t number, Draws& draws) {
        DrawnValue drawn(draws, static_cast<std::uint64_t>(rows_.amount(frame)));
        const Row* rows = rows_.inside(frame);
        rows_.view(frame).visit([&](const auto& view) {
            for (std::uint32_t i = 0; i < frame.size(); ++i) {
                const auto code = view.at(rows[i].offset, number);
                occupied_.mark(code);
                value_amount_[code] += static_cast<std::uint64_t>(rows[i].amount());
                ++value_rows_[code];
            }
        });
        occupied_.drain(table_.features[number].n_bins, [&](std::uint32_t code) {
            if (code == table_.missing()) drawn.miss(value_amount_[code], value_rows_[code]);
            else drawn.pass(code, value_amount_[code], value_rows_[code]);
            value_amount_[code] = value_rows_[code] = 0;
        });
        Split split;
        if (!drawn.settle(number, frame.size(), {std::max(1U, options_.min_samples_leaf), rules_.min_amount_leaf},
                          split))
            return false;
        apply(frame, split);
        return true;
    }

    // One child per category and one for missing values; a path uses a categorical feature only once.
    bool try_multiway(const Frame& frame, std::uint32_t number) {
        if (used_.has(frame.used, number)) return false;
        const AnyView& any = rows_.view(frame);
        const std::uint32_t n_categories = table_.features[number].n_bins;
        const auto child_of = [&](const Row& row) {
            const std::uint32_t code =
                any.visit([&](const auto& view) { return std::uint32_t{view.at(row.offset, number)}; });
            return code == table_.missing() ? n_categories : code;
        };
        child_rows_.assign(n_categories + 1, 0);
        for (std::uint32_t i = 0; i < frame.size(); ++i) ++child_rows_[child_of(rows_.inside(frame)[i])];
        if (!divides(child_rows_, options_.min_samples_leaf)) return false;
        apply_multiway(frame, number, rows_.deal_inside(frame, child_rows_, child_of));
        return true;
    }

    void apply_multiway(const Frame& frame, std::uint32_t number, const std::vector<std::uint32_t>& start) {
        const auto n_children = static_cast<std::uint32_t>(start.size() - 1);
        const std::uint32_t child = writer_.add_children(n_children), used = used_.add(number, frame.used);
        writer_.split(frame.node, Node::split_multiway(n_children - 1, number, child));
        const auto settle_child = [&](std::uint32_t side) {
            Frame next = frame;
            next.node = child + side;
            next.descend(side, used);
            next.begin = frame.begin + start[side];
            next.end = frame.begin + start[side + 1];
            settle(next);
        };
        settle_children(writer_, child, n_children, [&](std::uint32_t side) { return start[side] < start[side + 1]; },
                        settle_child, [&](std::uint32_t node) { make_leaf({frame, frame, node}); });
    }

    const AnyTable table_;
    const Source& source_;
    const GrowOptions& options_;
    std::unique_ptr<Search> search_;
    TreeRows<Row> rows_;
    Control& control_;
    bool calling_thread_;

    std::vector<Frame> stack_;
    UsedFeatures used_;
    std::vector<std::uint32_t> child_rows_;
    Zeroed<std::uint64_t> value_amount_;
    Zeroed<std::uint32_t> value_rows_;
    Occupancy occupied_;
    std::vector<std::uint64_t> left_bits_, words_;  // of a subset: as bits, and as stored

    TreeWriter writer_;
    std::optional<LeafBuilder> leaves_;
    BagTimes bag_;  // of the tree that is growing
    SplitRules rules_;
};

}  // namespace hedgerow
