// Grow: codes and labels -> one tree and what its leaves hold.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <queue>
#include <stdexcept>
#include <vector>

#include "core/grow/few.hpp"
#include "core/grow/order.hpp"
#include "core/grow/pairs.hpp"
#include "core/grow/split.hpp"
#include "core/kit/parallel.hpp"
#include "core/read/tree.hpp"
#include "core/rows/bag.hpp"
#include "core/rows/codes.hpp"
#include "core/targets/evidence.hpp"
#include "core/targets/numbers.hpp"

namespace hedgerow {

enum class Splitter : int { best = 0, random = 1, random_decision = 2 };

struct GrowOptions {
    Splitter splitter = Splitter::best;
    CountSense count_sense = CountSense::all;
    std::uint32_t n_classes = 2;
    std::uint32_t max_features = 1;
    std::uint32_t max_depth = 0xffffffff;
    std::uint32_t min_samples_split = 2;
    std::uint32_t min_samples_leaf = 1;
    double min_weight_fraction_leaf = 0;   // share of the tree's weight each side of a split must keep
    std::uint32_t max_leaf_nodes = 0;      // 0: no limit, depth first; otherwise best first
    double min_impurity_decrease = 0;
    double bag_mean = 0;                   // expected multiplicity of a row; 0: every row once
    double weight_unit = 1;                // what one unit of a fixed-point weight is worth
    bool balance_bag = false;              // classes weigh the same in every bag (weighted rows only)
    std::uint64_t seed = 0;
    std::vector<std::int8_t> monotonic;    // per feature, empty for none
};

// The weight each side of a split must keep, in a tree of so much.
inline std::int64_t min_amount_leaf(const GrowOptions& options, std::int64_t total_amount) {
    return static_cast<std::int64_t>(std::ceil(options.min_weight_fraction_leaf * static_cast<double>(total_amount)));
}

// Labels and, where there are any, fixed-point weights of the training rows; or their numbers, in a regression. A row
// that may be of several classes has several entries, side by side, that share its weight; it is still one row: in the
// bag as a whole, counted once.
struct Labels {
    const std::uint16_t* labels = nullptr;
    const std::int64_t* weights = nullptr;
    const std::uint32_t* rows = nullptr;  // the row of each entry, ascending (weighted only); null: an entry for each row
    std::size_t n_entries = 0;            // with rows
    const Numbers* numbers = nullptr;
};

// A node that was reached elsewhere: which rows of the table are its own, in the order of the whole table, and what it
// inherits from above. Weights of the labels are then those inside its tree, multiplicities included.
struct Start {
    std::uint32_t begin = 0, end = 0;
    const std::uint16_t* times = nullptr;  // how often the bag of the tree holds each row of the table
    std::uint64_t key = 0;
    std::uint32_t depth = 0;
    double lower = 0, upper = 1;
    std::int64_t total_amount = 0;         // of the tree
    std::vector<std::uint32_t> used;       // nominal features used above, by random decision trees
};

struct Grown {
    GrownTree tree;
    LeafCounts leaves;
    LeafMoments moments;
};

// One per thread; its memory serves tree after tree.
template <class Code, class Target>
class Grower {
public:
    using Row = typename Target::Row;
    static constexpr bool weighted = std::is_same_v<Row, WeightedRow>;
    static constexpr bool numeric = std::is_same_v<Row, NumberRow>;  // a regression

    Grower(const CodeTable<Code>& table, const Labels& labels, const GrowOptions& options, const Target& target,
           Control& control, bool calling_thread)
        : table_(table), labels_(labels), options_(options), search_(target), control_(control),
          calling_thread_(calling_thread), order_(table.n_features()) {
        // A row-major table that fits the cache is read as it is; a larger one column by column until compacted.
        compact_view_[0] = table.by_row.codes && table.n_rows <= level_rows[1] ? table.by_row : table.by_column;
    }

    Grown grow(std::uint64_t tree_number) {
        const Bag bag(options_.seed, tree_number, table_.n_rows, options_.bag_mean);
        begin_tree();
        bag_ = &bag;
        take_rows(bag);
        const std::uint64_t key = derive_key(derive_key(options_.seed, Purpose::grow), tree_number);
        const Frame root = whole(key);
        return grow_from(root, amount_of(root));
    }

    // The part of a tree below a node.
    Grown grow(const Start& start) {
        begin_tree();
        times_ = start.times;
        take_rows(start);
        Frame root = whole(start.key);
        root.depth = start.depth;
        root.lower = start.lower;
        root.upper = start.upper;
        for (const std::uint32_t feature : start.used) {
            used_.push_back({feature, root.used});
            root.used = static_cast<std::uint32_t>(used_.size() - 1);
        }
        return grow_from(root, start.total_amount);
    }

private:
    LeafCounts finish_counts() {
        LeafCounts leaves = evidence_->finish(options_.weight_unit);
        if (!options_.monotonic.empty() && options_.n_classes == 2) keep_shares_in_bounds(leaves);
        return leaves;
    }

    static constexpr std::uint32_t no_feature = 0xffffffff;
#ifdef HEDGEROW_VECTORS
    static constexpr bool has_pairs = std::is_same_v<Target, ClassPair<typename Target::Criterion>>;
    static constexpr bool has_few = std::is_same_v<Target, Moments<SquaredError>>;
#else
    static constexpr bool has_pairs = false, has_few = false;
#endif
    struct NoPairs {};
    struct NoFew {};
    static constexpr int n_levels = 4;
    static constexpr std::uint32_t level_rows[n_levels] = {0xffffffff, 65536, 8192, 1024};

    // A node waiting to be split: a range of rows_, one of outside_ (rows not in the bag, which only travel
    // along to be counted), and what it inherits.
    struct Frame {
        std::uint32_t node, begin, end, depth;
        std::uint32_t outside_begin, outside_end;
        std::uint64_t key;
        int level;                // 0: rows point into the table; above: into compact_[level]
        double lower, upper;      // bounds on the last class's share from monotonic ancestors
        std::uint32_t used;       // head of the list of nominal features used above (random decision trees)
        std::uint32_t size() const { return end - begin; }
        std::uint32_t outside_size() const { return outside_end - outside_begin; }
    };
    struct Used {
        std::uint32_t feature, above;
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

    void begin_tree() {
        tree_ = GrownTree{};
        if constexpr (numeric) evidence_ = std::make_unique<MomentBuilder>(*labels_.numbers);
        else evidence_ = std::make_unique<EvidenceBuilder>(options_.n_classes, weighted);
        bag_ = nullptr;
        times_ = nullptr;
        share_bounds_.clear();
        stack_.clear();
        used_.clear();
        n_leaves_ = 0;
    }

    // All rows that were taken, as one node.
    Frame whole(std::uint64_t key) const {
        return {0, 0, static_cast<std::uint32_t>(rows_.size()), 0, 0, static_cast<std::uint32_t>(outside_.size()),
                key, 0, 0, 1, no_feature};
    }

    Grown grow_from(const Frame& root, std::int64_t total_amount) {
        tree_.nodes.emplace_back();
        tree_.payload.push_back(0);
        total_amount_ = total_amount;
        min_amount_leaf_ = min_amount_leaf(options_, total_amount);
        if (options_.max_leaf_nodes > 0) grow_best_first(root); else grow_depth_first(root);
        tree_.n_leaves = n_leaves_;
        if constexpr (numeric) return {std::move(tree_), {}, evidence_->finish()};
        else return {std::move(tree_), finish_counts(), {}};
    }

    // ---- rows -------------------------------------------------------------------------------------------

    // Of the entries of one row all but the first carry this bit: they have a weight and are no rows of their own.
    static constexpr std::uint16_t follower = 0x8000;

    // Every entry is written to both lists and kept in one of them: no branch to guess wrong.
    void take_rows(const Bag& bag) {
        const bool spread = weighted && labels_.rows != nullptr;
        const std::size_t n_entries = spread ? labels_.n_entries : table_.n_rows;
        rows_.resize(n_entries);
        outside_.resize(n_entries);
        std::size_t n_inside = 0, n_outside = 0;
        for (std::size_t entry = 0; entry < n_entries; ++entry) {
            const std::size_t row = spread ? labels_.rows[entry] : entry;
            const bool follows = spread && entry > 0 && labels_.rows[entry - 1] == row;
            const std::uint32_t times = bag.multiplicity(row);
            rows_[n_inside] = outside_[n_outside] = make_row(entry, static_cast<std::uint32_t>(row), times, follows);
            n_inside += times > 0;
            n_outside += times == 0;
        }
        keep_rows(n_inside, n_outside);
        if (options_.balance_bag) balance_classes();
    }

    void take_rows(const Start& start) {
        rows_.resize(start.end - start.begin);
        outside_.resize(rows_.size());
        std::size_t n_inside = 0, n_outside = 0;
        for (std::uint32_t row = start.begin; row < start.end; ++row) {
            const std::uint32_t times = start.times[row];
            Row taken = make_row(row, row, times, false);
            if constexpr (weighted) taken.weight = labels_.weights[row];
            (times > 0 ? rows_[n_inside++] : outside_[n_outside++]) = taken;
        }
        keep_rows(n_inside, n_outside);
    }

    void keep_rows(std::size_t n_inside, std::size_t n_outside) {
        const bool counts_outside = options_.count_sense == CountSense::all || options_.count_sense == CountSense::oob;
        rows_.resize(n_inside);
        outside_.resize(counts_outside ? n_outside : 0);
        scratch_.resize(std::max(rows_.size(), outside_.size()));
    }

    std::uint32_t multiplicity_of(std::uint32_t row) const { return times_ ? times_[row] : bag_->multiplicity(row); }

    // An entry of the labels, or a number -> the row as the grower carries it.
    Row make_row(std::size_t entry, std::uint32_t row, std::uint32_t times, bool follows) const {
        if constexpr (numeric) {
            return NumberRow::make(*labels_.numbers, row, times);
        } else {
            Row taken;
            taken.offset = row;
            taken.label = labels_.labels[entry];
            taken.multiplicity = static_cast<std::uint16_t>(times | (follows ? follower : 0));
            if constexpr (weighted) taken.weight = labels_.weights[entry] * std::max(1U, times);
            return taken;
        }
    }

    // Scales the weights so that each class weighs the same in this tree's bag.
    void balance_classes() {
        if constexpr (weighted) {
            balance_.assign(options_.n_classes, 1.0);
            std::vector<double> amounts(options_.n_classes, 0.0);
            double total = 0;
            for (const Row& row : rows_) amounts[row.label] += static_cast<double>(row.weight), total += static_cast<double>(row.weight);
            for (std::uint32_t k = 0; k < options_.n_classes; ++k)
                if (amounts[k] > 0) balance_[k] = total / (options_.n_classes * amounts[k]);
            for (std::vector<Row>* rows : {&rows_, &outside_})
                for (Row& row : *rows)
                    row.weight = std::max<std::int64_t>(1, std::llround(static_cast<double>(row.weight) * balance_[row.label]));
        }
    }

    std::int64_t amount_of(const Frame& frame) const {
        std::int64_t sum = 0;
        for (std::uint32_t i = frame.begin; i < frame.end; ++i) sum += rows_[i].amount();
        return sum;
    }

    const CodeView<Code>& view_of(int level) const { return compact_view_[level]; }

    // Copies the codes of a node's rows side by side once it is small enough, and lets the rows point there:
    // the whole subtree then works in cache.
    void compact(Frame& frame) {
        int level = frame.level;
        while (level + 1 < n_levels && frame.size() <= level_rows[level + 1]) ++level;
        // Not worth it for a handful of rows, or when most of the rows around would be copied.
        const std::uint64_t around = frame.level == 0 ? table_.n_rows : level_rows[frame.level];
        if (level == frame.level || !table_.by_row.codes || frame.size() < 32 || 4 * std::uint64_t{frame.size()} > around) return;
        const CodeView<Code> source = frame.level == 0 ? table_.by_row : view_of(frame.level);
        const std::size_t stride = padded_width<Code>(table_.n_features());
        const std::size_t n_rows = std::size_t{frame.size()} + frame.outside_size();
        std::vector<Code>& buffer = compact_[level];
        if (buffer.size() < n_rows * stride) buffer.resize(n_rows * stride);
        copy_codes(source, rows_.data() + frame.begin, frame.size(), 0, buffer.data(), stride);
        copy_codes(source, outside_.data() + frame.outside_begin, frame.outside_size(), frame.size(), buffer.data(), stride);
        compact_view_[level] = {buffer.data(), stride, 1};
        frame.level = level;
    }

    // Codes of `rows` -> rows first, first + 1, … of the buffer, where the rows then point.
    void copy_codes(const CodeView<Code>& source, Row* rows, std::uint32_t n_rows, std::uint32_t first, Code* buffer,
                    std::size_t stride) {
        const std::size_t n_words = stride * sizeof(Code) / sizeof(std::uint64_t);
        for (std::uint32_t i = 0; i < n_rows; ++i)
            copy_words(source.codes + rows[i].offset * source.row_stride, n_words, buffer + (first + i) * stride);
        for (std::uint32_t i = 0; i < n_rows; ++i) rows[i].offset = first + i;
    }

    // ---- growing ----------------------------------------------------------------------------------------

    void grow_depth_first(const Frame& root) {
        settle(root);
        Split split;
        while (!stack_.empty()) {
            control_.tick(calling_thread_);
            Frame frame = stack_.back();
            stack_.pop_back();
            compact(frame);
            if (options_.splitter == Splitter::random_decision) {
                if (!split_randomly(frame)) make_leaf(frame);
                continue;
            }
            double gain = 0;
            if (find_split(frame, split, gain)) apply(frame, split); else make_leaf(frame);
        }
    }

    // The node with the largest gain is split next, until the tree has its leaves.
    void grow_best_first(const Frame& root) {
        std::priority_queue<Candidate> frontier;
        std::uint32_t n_ends = 1;  // leaves, were growing to stop now
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

    // A new node: a leaf at once where nothing could split it, otherwise it waits on the stack.
    void settle(const Frame& frame) {
        tree_.depth = std::max(tree_.depth, frame.depth);
        const bool terminal = n_rows_in(frame) < options_.min_samples_split || frame.depth >= options_.max_depth ||
                              frame.size() < 2 * std::uint64_t{options_.min_samples_leaf} || frame.size() < 2 ||
                              (options_.splitter != Splitter::random_decision && is_pure(frame));
        if (terminal) make_leaf(frame); else stack_.push_back(frame);
    }

    // Rows, not entries.
    std::uint32_t n_rows_in(const Frame& frame) const {
        std::uint32_t n_rows = frame.size();
        if constexpr (weighted)
            if (labels_.rows != nullptr)
                for (std::uint32_t i = frame.begin; i < frame.end; ++i) n_rows -= (rows_[i].multiplicity & follower) != 0;
        return n_rows;
    }

    bool is_pure(const Frame& frame) const {
        const Row* rows = rows_.data();
        const auto label = label_of(rows[frame.begin]);
        for (std::uint32_t i = frame.begin + 1; i < frame.end; ++i)
            if (label_of(rows[i]) != label) return false;
        return true;
    }

    auto label_of(const Row& row) const {
        if constexpr (numeric) return labels_.numbers->values[row.row]; else return row.label;
    }

    void make_leaf(const Frame& frame) {
        const std::uint32_t leaf = evidence_->new_leaf();
        ++n_leaves_;
        tree_.nodes[frame.node] = Node::leaf(frame.node);
        tree_.payload[frame.node] = static_cast<std::int32_t>(leaf);
        if (!numeric && !options_.monotonic.empty()) share_bounds_.push_back({frame.lower, frame.upper});
        if (options_.count_sense != CountSense::oob) add_rows(leaf, rows_, frame.begin, frame.end);
        add_rows(leaf, outside_, frame.outside_begin, frame.outside_end);
        if constexpr (numeric) {
            constexpr double infinity = std::numeric_limits<double>::infinity();
            if (options_.monotonic.empty()) evidence_->close_leaf(-infinity, infinity);
            else evidence_->close_leaf(labels_.numbers->value_at(frame.lower), labels_.numbers->value_at(frame.upper));
        }
    }

    void add_rows(std::uint32_t leaf, const std::vector<Row>& rows, std::uint32_t begin, std::uint32_t end) {
        const bool repeated = options_.count_sense == CountSense::inbag;
        for (std::uint32_t i = begin; i < end; ++i) {
            const Row& row = rows[i];
            if constexpr (numeric) {
                evidence_->add(row.row, repeated ? multiplicity_of(row.row) : 1);
            } else {
                std::uint32_t times = row.multiplicity;
                std::int64_t weight = 0;
                if constexpr (weighted) {
                    times &= ~std::uint32_t{follower};
                    weight = repeated ? row.weight : row.weight / std::max<std::int64_t>(1, times);
                }
                const bool counted = !weighted || !(row.multiplicity & follower);
                evidence_->add(leaf, row.label, counted ? (repeated ? times : 1) : 0, weight);
            }
        }
    }

    // Draws features until max_features of them vary in the node, and keeps the best split among those.
    bool find_split(const Frame& frame, Split& best, double& gain) {
        const Row* rows = rows_.data() + frame.begin;
        const std::uint32_t n_rows = frame.size();
        Target& target = search_.target;
        target.enter_node(rows, n_rows);
        if constexpr (has_few) few_.enter(rows, n_rows, target);
        Draws draws(frame.key);
        search_features(target, order_, options_.max_features, best, [&](std::uint32_t wanted) {
            return options_.splitter == Splitter::best ? try_best(frame, draws, wanted, best) : try_random(frame, draws, best);
        });
        gain = best.found() ? target.gain_from(best.score) : 0;
        target.leave_node(rows, n_rows);
        if (best.found()) best.settle_threshold(table_.features[best.feature]);
        return gains_enough<typename Target::Criterion>(best, gain, total_amount_, options_.min_impurity_decrease);
    }

    // Whether any feature of any node has more to respect than the gain.
    bool restricted() const {
        return options_.min_samples_leaf > 1 || min_amount_leaf_ > 0 || !options_.monotonic.empty();
    }

    Limits limits_for(const Frame& frame, std::uint32_t number) const {
        const int sign = options_.monotonic.empty() ? 0 : options_.monotonic[number];
        return {options_.min_samples_leaf, min_amount_leaf_, sign, frame.lower, frame.upper};
    }

    // Looks at up to `wanted` more features, as many as one pass takes. -> how many of them vary
    std::uint32_t try_best(const Frame& frame, Draws& draws, std::uint32_t wanted, Split& best) {
        constexpr std::uint32_t lanes = SplitSearch<Code, Target>::lanes;
        // A few rows are often told apart by the first feature that varies: look at one at a time.
        const std::uint32_t n_numbers = frame.size() <= (has_pairs || has_few ? 3U : 8U) ? 1 : std::min({wanted, order_.n_left(), lanes});
        std::uint32_t numbers[lanes] = {};
        for (std::uint32_t i = 0; i < n_numbers; ++i) numbers[i] = order_.draw(draws);
        const Row* rows = rows_.data() + frame.begin;
        if constexpr (has_pairs)
            if (!restricted()) {
                const std::uint32_t n_varying = pairs_.look(view_of(frame.level), table_.features, numbers, n_numbers, rows,
                                                            frame.size(), search_.target, best);
                if (n_varying != pairs_.declined) return n_varying;
            }
        if constexpr (has_few)
            if (!restricted()) {
                const std::uint32_t n_varying =
                    few_.look(view_of(frame.level), table_.features, numbers, n_numbers, rows, search_.target, best);
                if (n_varying != few_.declined) return n_varying;
            }
        search_.fill(view_of(frame.level), table_.features, numbers, static_cast<int>(n_numbers), rows, frame.size(),
                     restricted(), options_.min_samples_leaf > 1);
        std::uint32_t n_varying = 0;
        for (std::uint32_t i = 0; i < n_numbers; ++i)
            n_varying += search_.try_best(static_cast<int>(i), table_.features[numbers[i]], numbers[i], rows, frame.size(),
                                          limits_for(frame, numbers[i]), best);
        search_.empty(static_cast<int>(n_numbers));
        return n_varying;
    }

    std::uint32_t try_random(const Frame& frame, Draws& draws, Split& best) {
        const std::uint32_t number = order_.draw(draws);
        return search_.try_random(view_of(frame.level), table_.features[number], number, rows_.data() + frame.begin,
                                  frame.size(), limits_for(frame, number), draws, best);
    }

    void apply(const Frame& frame, const Split& split) {
        const std::uint32_t child = new_nodes(2);
        Frame left = frame, right = frame;
        left.node = child;
        right.node = child + 1;
        left.depth = right.depth = frame.depth + 1;
        left.key = derive_key(frame.key, std::uint64_t{0});
        right.key = derive_key(frame.key, std::uint64_t{1});
        if (split.kind == NodeKind::threshold) apply_threshold(frame, split, child, left, right);
        else apply_subset(frame, split, child, left, right);
        if (!options_.monotonic.empty()) bound_children(split, left, right);
        settle(right);
        settle(left);
    }

    void apply_threshold(const Frame& frame, const Split& split, std::uint32_t child, Frame& left, Frame& right) {
        bool missing_left = split.missing_left;
        const auto goes_right = [&](Code code) {
            return static_cast<Code>(code + missing_left) > split.threshold + missing_left;
        };
        left.end = right.begin = partition(rows_, frame.begin, frame.end, frame.level, split.feature, goes_right);
        if (!split.missing_seen) missing_left = 2 * left.size() > frame.size();
        left.outside_end = right.outside_begin =
            partition(outside_, frame.outside_begin, frame.outside_end, frame.level, split.feature, goes_right);
        tree_.nodes[frame.node] = Node::split_at(split.threshold, split.feature, missing_left, child);
    }

    void apply_subset(const Frame& frame, const Split& split, std::uint32_t child, Frame& left, Frame& right) {
        const std::size_t n_words = (table_.features[split.feature].n_bins + 63) / 64, start = tree_.set_words.size();
        tree_.set_words.resize(start + n_words, 0);
        std::uint64_t* words = tree_.set_words.data() + start;
        write_subset(split, false, words, n_words);
        bool missing_left = split.missing_left;
        const auto goes_right = [&](Code code) {
            return code == missing_code<Code> ? !missing_left : !((words[code >> 6] >> (code & 63)) & 1);
        };
        left.end = right.begin = partition(rows_, frame.begin, frame.end, frame.level, split.feature, goes_right);
        // Categories that were not in the node, and missing values when there were none, follow the larger side.
        const bool larger_left = 2 * left.size() > frame.size();
        if (larger_left) write_subset(split, larger_left, words, n_words);
        if (!split.missing_seen) missing_left = larger_left;
        left.outside_end = right.outside_begin =
            partition(outside_, frame.outside_begin, frame.outside_end, frame.level, split.feature, goes_right);
        tree_.nodes[frame.node] = Node::split_subset(split.feature, missing_left, child);
        tree_.payload[frame.node] = static_cast<std::int32_t>(start);
        tree_.has_nominal = true;
    }

    // A row moves as one to three words, not member by member.
    using Bits = std::conditional_t<sizeof(Row) == 8, std::uint64_t, std::array<std::uint64_t, sizeof(Row) / 8>>;
    static std::uint32_t offset_in(const Bits& bits) {
        if constexpr (sizeof(Row) > 8) return static_cast<std::uint32_t>(bits[0]); else return static_cast<std::uint32_t>(bits);
    }

    // Stable and without branches: rows that go right wait in scratch. -> where the right side begins
    template <class GoesRight>
    std::uint32_t partition(std::vector<Row>& all, std::uint32_t begin, std::uint32_t end, int level, std::uint32_t feature,
                            GoesRight&& goes_right) {
        const CodeView<Code>& view = view_of(level);
        const Code* column = view.column(feature);
        Row* rows = all.data();
        Row* waiting = scratch_.data();
        std::uint32_t n_left = begin, n_right = 0;
        for (std::uint32_t i = begin; i < end; ++i) {
            const auto row = std::bit_cast<Bits>(rows[i]);
            const bool right = goes_right(column[offset_in(row) * view.row_stride]);
            std::memcpy(static_cast<void*>(rows + n_left), &row, sizeof row);
            std::memcpy(static_cast<void*>(waiting + n_right), &row, sizeof row);
            n_left += !right;
            n_right += right;
        }
        std::copy_n(waiting, n_right, rows + n_left);
        return n_left;
    }

    std::uint32_t new_nodes(std::uint32_t how_many) {
        const std::size_t first = tree_.nodes.size();
        if (first + how_many > Node::max_child) throw std::length_error("a tree must have fewer than 2^28 nodes");
        tree_.nodes.resize(first + how_many);
        tree_.payload.resize(first + how_many, 0);
        return static_cast<std::uint32_t>(first);
    }

    // ---- monotonic constraints --------------------------------------------------------------------------

    // Below a monotonic split, both sides stay on their side of the mean of the two shares.
    void bound_children(const Split& split, Frame& left, Frame& right) {
        const int sign = options_.monotonic[split.feature];
        if (sign == 0) return;
        const double middle = (share_of(left) + share_of(right)) / 2;
        (sign > 0 ? left.upper : left.lower) = middle;
        (sign > 0 ? right.lower : right.upper) = middle;
    }

    double share_of(const Frame& frame) {
        if constexpr (numeric) {
            return search_.target.share_of(rows_.data() + frame.begin, frame.size());
        } else {
            double of_last = 0, all = 0;
            for (std::uint32_t i = frame.begin; i < frame.end; ++i) {
                const auto amount = static_cast<double>(rows_[i].amount());
                all += amount;
                if (rows_[i].label + 1U == options_.n_classes) of_last += amount;
            }
            return of_last / all;
        }
    }

    // Rows counted later (outside the bag) may push a leaf's share out of its bounds: the counts stay what
    // they are, the share the leaf predicts is brought back.
    void keep_shares_in_bounds(LeafCounts& leaves) const {
        const bool had_weights = !leaves.weights.empty();
        if (!had_weights) leaves.weights.assign(leaves.counts.begin(), leaves.counts.end());
        for (std::uint32_t leaf = 0; leaf < leaves.n_leaves; ++leaf) {
            double* pair = leaves.weights.data() + std::size_t{leaf} * 2;
            const double all = pair[0] + pair[1];
            pair[1] = std::clamp(pair[1], share_bounds_[leaf].first * all, share_bounds_[leaf].second * all);
            pair[0] = all - pair[1];
        }
    }

    // ---- random decision trees --------------------------------------------------------------------------

    // Labels are never looked at: draw a feature, draw a threshold, accept what keeps enough rows.
    bool split_randomly(const Frame& frame) {
        Draws draws(frame.key);
        const std::uint32_t n_features = table_.n_features();
        const CodeView<Code>& view = view_of(frame.level);
        for (std::uint32_t attempt = 0; attempt < n_features; ++attempt) {
            const std::uint32_t number = draws.below(n_features);
            const bool accepted = table_.features[number].nominal ? try_multiway(frame, view, number)
                                                                  : try_drawn_value(frame, view, number, draws);
            if (accepted) return true;
        }
        return false;
    }

    bool try_drawn_value(const Frame& frame, const CodeView<Code>& view, std::uint32_t number, Draws& draws) {
        DrawnValue drawn(draws, static_cast<std::uint64_t>(amount_of(frame)));
        for (std::uint32_t i = frame.begin; i < frame.end; ++i) {
            const Code code = view.at(rows_[i].offset, number);
            occupied_.mark(code);
            value_amount_[code] += static_cast<std::uint64_t>(rows_[i].amount());
            ++value_rows_[code];
        }
        occupied_.drain(table_.features[number].n_bins, [&](Code code) {
            if (code == missing_code<Code>) drawn.miss(value_amount_[code], value_rows_[code]);
            else drawn.pass(code, value_amount_[code], value_rows_[code]);
            value_amount_[code] = value_rows_[code] = 0;
        });
        Split split;
        if (!drawn.settle(number, frame.size(), {std::max(1U, options_.min_samples_leaf), min_amount_leaf_}, split)) return false;
        apply(frame, split);
        return true;
    }

    // One child per category and one for missing values; a nominal feature is used once on a path.
    bool try_multiway(const Frame& frame, const CodeView<Code>& view, std::uint32_t number) {
        for (std::uint32_t at = frame.used; at != no_feature; at = used_[at].above)
            if (used_[at].feature == number) return false;
        const std::uint32_t n_children = table_.features[number].n_bins + 1;
        child_rows_.assign(n_children + 1, 0);
        const auto child_of = [&](const Row& row) -> std::uint32_t {
            const Code code = view.at(row.offset, number);
            return code == missing_code<Code> ? n_children - 1 : code;
        };
        for (std::uint32_t i = frame.begin; i < frame.end; ++i) ++child_rows_[child_of(rows_[i]) + 1];
        if (!divides(child_rows_, options_.min_samples_leaf)) return false;
        for (std::uint32_t child = 0; child < n_children; ++child) child_rows_[child + 1] += child_rows_[child];
        std::vector<std::uint32_t> start(child_rows_.begin(), child_rows_.end()), fill = start;
        for (std::uint32_t i = frame.begin; i < frame.end; ++i) scratch_[fill[child_of(rows_[i])]++] = rows_[i];
        std::copy_n(scratch_.data(), frame.size(), rows_.data() + frame.begin);
        apply_multiway(frame, number, start);
        return true;
    }

    void apply_multiway(const Frame& frame, std::uint32_t number, const std::vector<std::uint32_t>& start) {
        const auto n_children = static_cast<std::uint32_t>(start.size() - 1);
        const std::uint32_t child = new_nodes(n_children);
        tree_.nodes[frame.node] = Node::split_multiway(n_children - 1, number, child);
        tree_.has_nominal = true;
        used_.push_back({number, frame.used});
        const auto used = static_cast<std::uint32_t>(used_.size() - 1);
        // Children without rows share one leaf: the sum of their siblings', which is the node itself.
        std::int64_t borrowed = -1;
        for (std::uint32_t side = n_children; side-- > 0;) {
            Frame next = frame;
            next.node = child + side;
            next.depth = frame.depth + 1;
            next.begin = frame.begin + start[side];
            next.end = frame.begin + start[side + 1];
            next.key = derive_key(frame.key, std::uint64_t{side} + 2);
            next.used = used;
            if (next.size() > 0) {
                settle(next);
            } else if (borrowed < 0) {
                Frame whole = frame;
                whole.node = next.node;
                make_leaf(whole);
                borrowed = tree_.payload[next.node];
                tree_.nodes[next.node] = Node::leaf(next.node, true);
            } else {
                tree_.nodes[next.node] = Node::leaf(next.node, true);
                tree_.payload[next.node] = static_cast<std::int32_t>(borrowed);
            }
        }
    }

    const CodeTable<Code>& table_;
    const Labels& labels_;
    const GrowOptions& options_;
    SplitSearch<Code, Target> search_;
    std::conditional_t<has_pairs, PairSearch<Code, typename Target::Criterion>, NoPairs> pairs_;
    std::conditional_t<has_few, FewRows<Code>, NoFew> few_;
    Control& control_;
    bool calling_thread_;

    std::vector<Row> rows_, outside_, scratch_;
    std::vector<Code> compact_[n_levels];
    CodeView<Code> compact_view_[n_levels];
    FeatureOrder order_;
    std::vector<std::uint32_t> child_rows_;
    std::vector<Frame> stack_;
    std::vector<Used> used_;
    std::vector<std::pair<double, double>> share_bounds_;
    std::vector<double> balance_;
    Zeroed<std::uint64_t> value_amount_{std::size_t{missing_code<Code>} + 1};
    Zeroed<std::uint32_t> value_rows_{std::size_t{missing_code<Code>} + 1};
    Occupancy<Code> occupied_;

    GrownTree tree_;
    std::unique_ptr<std::conditional_t<numeric, MomentBuilder, EvidenceBuilder>> evidence_;
    const Bag* bag_ = nullptr;               // of the tree that is growing …
    const std::uint16_t* times_ = nullptr;  // … or what it says of the rows of the table
    std::uint32_t n_leaves_ = 0;
    std::int64_t total_amount_ = 0, min_amount_leaf_ = 0;
};

}  // namespace hedgerow
