// Importance of each feature to each tree on out-of-bag rows.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/kit/parallel.hpp"
#include "core/read/read.hpp"
#include "core/read/walk.hpp"
#include "core/rows/bag.hpp"
#include "core/rows/random.hpp"

namespace hedgerow {

// The training table, and the bags drawn from its rows.
template <class Code>
struct BaggedRows {
    const Code* by_column = nullptr;
    std::size_t n_rows = 0, n_features = 0;
    std::uint64_t seed = 0;
    double bag_mean = 0;
    Units units = {};
};

// Quality of the prediction of a leaf for a row of a class.
enum class Worth : int {
    vote = 0,
    share = 1
};  // vote: 1 if its class leads, divided among ties; share: the share of its class

// `own`: the leaf has counted the row, which is removed. A leaf without rows prefers no class.
inline double worth_of(const LeafView& leaves, std::int64_t leaf, std::uint16_t label, bool own, Worth worth) {
    const bool dense = leaves.entry_start == nullptr;
    const std::int64_t begin = dense ? leaf * leaves.n_classes : leaves.entry_start[leaf];
    const std::int64_t end = dense ? begin + leaves.n_classes : leaves.entry_start[leaf + 1];
    double total = 0, largest = 0, mine = 0;
    std::uint32_t n_largest = 0;
    for (std::int64_t i = begin; i < end; ++i) {
        double amount = leaves.weights ? leaves.weights[i] : leaves.counts[i];
        const bool is_mine = (dense ? static_cast<std::uint32_t>(i - begin) : leaves.entry_class[i]) == label;
        if (is_mine && own && leaves.counts[i] > 0) amount *= (leaves.counts[i] - 1.0) / leaves.counts[i];
        if (is_mine) mine = amount;
        total += amount;
        if (amount > largest) largest = amount, n_largest = 0;
        n_largest += amount == largest;
    }
    if (!(total > 0)) return 1.0 / leaves.n_classes;
    if (worth == Worth::share) return mine / total;
    return mine == largest ? 1.0 / n_largest : 0.0;
}

// Quality of the prediction for a row: of the leaf it reaches, or of the leaf it reaches with values of another row.
struct ClassScorer {
    const LeafView& leaves;
    const std::uint16_t* labels;
    Worth worth;
    bool counted;  // whether leaves have counted out-of-bag rows, and so the row itself

    double at_home(std::size_t row, std::int64_t leaf) const {
        return worth_of(leaves, leaf, labels[row], counted, worth);
    }
    double astray(std::size_t row, std::int64_t leaf) const {
        return worth_of(leaves, leaf, labels[row], false, worth);
    }
};

struct RealScorer {
    const double* predicted;  // by leaf
    const double* targets;

    double at_home(std::size_t row, std::int64_t leaf) const {
        const double error = targets[row] - predicted[leaf];
        return -error * error;
    }
    double astray(std::size_t row, std::int64_t leaf) const { return at_home(row, leaf); }
};

// Features that are permuted together.
struct FeatureGroups {
    const std::int64_t* features = nullptr;
    const std::int64_t* start = nullptr;  // n_groups + 1
    std::size_t n_groups = 0;
};

// Decrease in the quality of the out-of-bag predictions of a tree if a group of features is permuted among these rows.
template <class Code, class Scorer>
class OobPermuter {
public:
    OobPermuter(const ForestView& forest, const BaggedRows<Code>& rows, const FeatureGroups& groups,
                const Scorer& scorer, std::uint64_t key, std::size_t n_repeats)
        : forest_(forest), rows_(rows), groups_(groups), scorer_(scorer), key_(key), n_repeats_(n_repeats) {}

    // decrease[group]: mean over out-of-bag rows and repeats; NaN without out-of-bag rows.
    void permute(std::size_t number, double* decrease) {
        take_rows(number);
        std::fill(decrease, decrease + groups_.n_groups, outside_.empty() ? std::nan("") : 0.0);
        for (std::size_t group = 0; group < groups_.n_groups; ++group) {
            find_touched(group);
            if (touched_.empty()) continue;
            double lost = 0;
            for (std::size_t repeat = 0; repeat < n_repeats_; ++repeat) lost += permute_once(number, group, repeat);
            decrease[group] = lost / static_cast<double>(outside_.size() * n_repeats_);
        }
    }

private:
    // Collects the out-of-bag rows, their leaves, and for each feature the rows whose path depends on it.
    void take_rows(std::size_t number) {
        tree_ = forest_.tree(number);
        first_leaf_ = forest_.leaf_start[number];
        const Bag bag(rows_.seed, number, rows_.n_rows, rows_.bag_mean, rows_.units);
        outside_.clear();
        for (std::size_t row = 0; row < rows_.n_rows; ++row)
            if (bag.multiplicity(row) == 0) outside_.push_back(static_cast<std::uint32_t>(row));
        const std::size_t n = outside_.size(), p = rows_.n_features;
        by_row_.resize(n * p);
        for (std::size_t feature = 0; feature < p; ++feature) {
            const Code* column = rows_.by_column + feature * rows_.n_rows;
            for (std::size_t i = 0; i < n; ++i) by_row_[i * p + feature] = column[outside_[i]];
        }
        home_.resize(n);
        worth_at_home_.resize(n);
        paths_.clear();
        stamp_.assign(p, 0);
        start_.assign(p + 1, 0);
        for (std::size_t i = 0; i < n; ++i) {
            std::uint32_t at = 0;
            for (; !is_leaf(tree_, at); at = next_node(tree_, at, by_row_.data() + i * p)) {
                const std::uint32_t feature = split_feature(tree_, at);
                if (stamp_[feature] == i + 1) continue;
                stamp_[feature] = static_cast<std::uint32_t>(i + 1);
                paths_.push_back({feature, static_cast<std::uint32_t>(i)});
                ++start_[feature + 1];
            }
            home_[i] = at;
            worth_at_home_[i] = scorer_.at_home(outside_[i], first_leaf_ + leaf_number(tree_, at));
        }
        for (std::size_t feature = 0; feature < p; ++feature) start_[feature + 1] += start_[feature];
        by_feature_.resize(paths_.size());
        std::vector<std::size_t> next(start_.begin(), start_.end() - 1);
        for (const auto& [feature, row] : paths_) by_feature_[next[feature]++] = row;
    }

    void find_touched(std::size_t group) {
        touched_.clear();
        const std::int64_t begin = groups_.start[group], end = groups_.start[group + 1];
        for (std::int64_t k = begin; k < end; ++k) {
            const auto feature = static_cast<std::size_t>(groups_.features[k]);
            touched_.insert(touched_.end(), by_feature_.begin() + static_cast<std::ptrdiff_t>(start_[feature]),
                            by_feature_.begin() + static_cast<std::ptrdiff_t>(start_[feature + 1]));
        }
        if (end - begin < 2) return;
        std::sort(touched_.begin(), touched_.end());
        touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    }

    // Returns the sum of the losses of all rows.
    double permute_once(std::size_t number, std::size_t group, std::size_t repeat) {
        const std::size_t p = rows_.n_features, n = outside_.size();
        Draws draws(derive_key(derive_key(derive_key(derive_key(key_, Purpose::permute), number), group), repeat));
        order_.resize(n);
        for (std::size_t i = 0; i < n; ++i) order_[i] = static_cast<std::uint32_t>(i);
        for (std::size_t i = n; i > 1; --i)
            std::swap(order_[i - 1], order_[draws.below(static_cast<std::uint32_t>(i))]);
        const std::int64_t* features = groups_.features + groups_.start[group];
        const auto n_features = static_cast<std::size_t>(groups_.start[group + 1] - groups_.start[group]);
        kept_.resize(2 * touched_.size() * n_features);
        Code *old = kept_.data(), *given = old + touched_.size() * n_features;
        for (std::size_t i = 0; i < touched_.size(); ++i)
            for (std::size_t k = 0; k < n_features; ++k) {
                old[i * n_features + k] = by_row_[touched_[i] * p + static_cast<std::size_t>(features[k])];
                given[i * n_features + k] = by_row_[order_[touched_[i]] * p + static_cast<std::size_t>(features[k])];
            }
        double lost = 0;
        write(given, features, n_features);
        route_listed(tree_, by_row_.data(), p, touched_.data(), touched_.size(),
                     [&](std::size_t i, std::uint32_t node) {
            const std::uint32_t row = touched_[i];
            if (node == home_[row]) return;
            lost += worth_at_home_[row] - scorer_.astray(outside_[row], first_leaf_ + leaf_number(tree_, node));
        });
        write(old, features, n_features);
        return lost;
    }

    void write(const Code* values, const std::int64_t* features, std::size_t n_features) {
        for (std::size_t i = 0; i < touched_.size(); ++i)
            for (std::size_t k = 0; k < n_features; ++k)
                by_row_[touched_[i] * rows_.n_features + static_cast<std::size_t>(features[k])] =
                    values[i * n_features + k];
    }

    struct Passed {
        std::uint32_t feature, row;
    };
    const ForestView& forest_;
    const BaggedRows<Code>& rows_;
    const FeatureGroups& groups_;
    const Scorer& scorer_;
    const std::uint64_t key_;
    const std::size_t n_repeats_;
    TreeView tree_;
    std::int64_t first_leaf_ = 0;
    std::vector<std::uint32_t> outside_, home_, stamp_, by_feature_, touched_, order_;
    std::vector<double> worth_at_home_;
    std::vector<Passed> paths_;
    std::vector<std::size_t> start_;
    std::vector<Code> by_row_, kept_;
};

// decrease (trees, groups).
template <class Code, class Scorer>
void permute_oob(const ForestView& forest, const BaggedRows<Code>& rows, const FeatureGroups& groups,
                 const Scorer& scorer, std::uint64_t key, std::size_t n_repeats, std::size_t n_threads,
                 double* decrease, Control& control) {
    using Permuter = OobPermuter<Code, Scorer>;
    std::vector<Permuter> permuters(n_threads, Permuter(forest, rows, groups, scorer, key, n_repeats));
    run_tasks(forest.n_trees, n_threads, control, [&](std::size_t number, std::size_t thread) {
        permuters[thread].permute(number, decrease + number * groups.n_groups);
    });
}

// Responses that splits should predict: for each class, 1 for its rows and 0 for the others, or one number per row.
struct Responses {
    std::vector<std::uint32_t> rows, start;  // rows whose response k is not 0: from start[k] to start[k + 1]
    const double* amounts = nullptr;         // by row; null means 1

    static Responses of_classes(const std::uint16_t* labels, std::size_t n_rows, std::uint32_t n_classes) {
        Responses responses{std::vector<std::uint32_t>(n_rows), std::vector<std::uint32_t>(n_classes + 1, 0)};
        for (std::size_t row = 0; row < n_rows; ++row) ++responses.start[labels[row] + 1U];
        for (std::uint32_t k = 0; k < n_classes; ++k) responses.start[k + 1] += responses.start[k];
        std::vector<std::uint32_t> next(responses.start.begin(), responses.start.end() - 1);
        for (std::size_t row = 0; row < n_rows; ++row)
            responses.rows[next[labels[row]]++] = static_cast<std::uint32_t>(row);
        return responses;
    }
    static Responses of_numbers(const double* targets, std::size_t n_rows) {
        Responses responses{std::vector<std::uint32_t>(n_rows), {0, static_cast<std::uint32_t>(n_rows)}, targets};
        for (std::size_t row = 0; row < n_rows; ++row) responses.rows[row] = static_cast<std::uint32_t>(row);
        return responses;
    }
    std::size_t n_responses() const { return start.size() - 1; }
};

// Gain of the splits on each feature of a tree, measured on its out-of-bag rows.
//
// A split sends each row at its node to a child, and the in-bag rows of that child have a mean response. The gain is
// the sum of response times mean over the out-of-bag rows, minus its expectation if these rows were sent to the same
// children at random. On in-bag rows, it would be the decrease of Gini impurity or of squared error. Out of bag, its
// mean is zero for a feature that is unrelated to the responses of the rows at a node.
template <class Code>
class OutsideGains {
public:
    OutsideGains(const ForestView& forest, const BaggedRows<Code>& rows, const Responses& responses)
        : forest_(forest), rows_(rows), responses_(responses), leaf_of_row_(rows.n_rows), times_(rows.n_rows) {}

    // gains[feature]: mean per out-of-bag row; NaN without out-of-bag rows.
    void measure(std::size_t number, const Code* by_row, double* gains) {
        tree_ = forest_.tree(number);
        n_nodes_ = static_cast<std::size_t>(forest_.node_start[number + 1] - forest_.node_start[number]);
        const Bag bag(rows_.seed, number, rows_.n_rows, rows_.bag_mean, rows_.units);
        for (std::size_t row = 0; row < rows_.n_rows; ++row) times_[row] = bag.multiplicity(row);
        route_listed(tree_, by_row, rows_.n_features, nullptr, rows_.n_rows,
                     [&](std::size_t i, std::uint32_t node) { leaf_of_row_[i] = node; });
        sum_up(0, responses_.rows.size(), nullptr, all_inside_, all_outside_);
        const double n_outside = all_outside_[0];
        std::fill(gains, gains + rows_.n_features, n_outside > 0 ? 0.0 : std::nan(""));
        for (std::size_t k = 0; k < responses_.n_responses() && n_outside > 0; ++k) {
            sum_up(responses_.start[k], responses_.start[k + 1], responses_.amounts, inside_, outside_);
            for (std::uint32_t at = 0; at < n_nodes_; ++at)
                if (outside_[at] != 0 && !is_leaf(tree_, at))
                    gains[split_feature(tree_, at)] += gain_at(at) / n_outside;
        }
    }

private:
    // Sums the amounts of listed rows at every node: of in-bag rows with multiplicity, and of out-of-bag rows.
    void sum_up(std::size_t begin, std::size_t end, const double* amounts, std::vector<double>& inside,
                std::vector<double>& outside) {
        inside.assign(n_nodes_, 0), outside.assign(n_nodes_, 0);
        for (; begin < end; ++begin) {
            const std::uint32_t row = responses_.rows[begin];
            const double amount = amounts ? amounts[row] : 1.0;
            (times_[row] ? inside : outside)[leaf_of_row_[row]] += amount * std::max<std::uint32_t>(1, times_[row]);
        }
        for (std::size_t i = n_nodes_; i-- > 0;) {
            const auto at = static_cast<std::uint32_t>(i);
            for (std::uint32_t k = 0; k < n_children(tree_, at); ++k) {
                inside[at] += inside[first_child(tree_, at) + k];
                outside[at] += outside[first_child(tree_, at) + k];
            }
        }
    }

    // The gain of one response of the out-of-bag rows at the split of a node. A child without in-bag rows adds 0.
    double gain_at(std::uint32_t at) const {
        double given = 0, means = 0, n_rows = 0, total = 0;
        for (std::uint32_t child = first_child(tree_, at); child < first_child(tree_, at) + n_children(tree_, at);
             ++child) {
            if (all_inside_[child] == 0) continue;
            const double mean = inside_[child] / all_inside_[child];
            given += outside_[child] * mean, total += outside_[child];
            means += all_outside_[child] * mean, n_rows += all_outside_[child];
        }
        return n_rows > 0 ? given - total * means / n_rows : 0.0;
    }

    const ForestView& forest_;
    const BaggedRows<Code>& rows_;
    const Responses& responses_;
    TreeView tree_;
    std::size_t n_nodes_ = 0;
    std::vector<std::uint32_t> leaf_of_row_, times_;
    std::vector<double> inside_, outside_, all_inside_, all_outside_;
};

// gains (trees, p).
template <class Code>
void gain_outside(const ForestView& forest, const BaggedRows<Code>& rows, const Responses& responses,
                  std::size_t n_threads, double* gains, Control& control) {
    std::vector<Code> by_row;
    lay_out_rows(rows.by_column, rows.n_rows, rows.n_features, 0, rows.n_rows, by_row);
    std::vector<OutsideGains<Code>> measures(n_threads, OutsideGains<Code>(forest, rows, responses));
    run_tasks(forest.n_trees, n_threads, control, [&](std::size_t number, std::size_t thread) {
        measures[thread].measure(number, by_row.data(), gains + number * rows.n_features);
    });
}

// first (trees, p): depth of the first split on a feature; the depth of the tree if there is none.
inline void first_uses(const ForestView& forest, const std::int64_t* depth, std::size_t n_features, double* first) {
    std::vector<std::uint32_t> level;
    for (std::size_t number = 0; number < forest.n_trees; ++number) {
        const TreeView tree = forest.tree(number);
        const auto n_nodes = static_cast<std::size_t>(forest.node_start[number + 1] - forest.node_start[number]);
        double* const of_tree = first + number * n_features;
        std::fill(of_tree, of_tree + n_features, static_cast<double>(depth[number]));
        level.assign(n_nodes, 0);
        for (std::uint32_t at = 0; at < n_nodes; ++at) {
            if (is_leaf(tree, at)) continue;
            double& seen = of_tree[split_feature(tree, at)];
            seen = std::min(seen, static_cast<double>(level[at]));
            for (std::uint32_t k = 0; k < n_children(tree, at); ++k) level[first_child(tree, at) + k] = level[at] + 1;
        }
    }
}

}  // namespace hedgerow
