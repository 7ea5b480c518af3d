// Shapley values of the features of rows.
//
// If only the features in S are known, the probability to reach a leaf is a product over the features on its path: of
// `one` for a known feature (1 if the row obeys all splits on it, else 0), and of `zero` for an unknown one (the share
// of training rows that obey them). Shapley's weight of a set of s out of d - 1 features is ∫ t^s (1-t)^(d-1-s) dt over
// [0, 1], so what feature i adds through a leaf of value v is
//
//     v · (one_i - zero_i) · ∫ Π_{j≠i} (t · one_j + (1-t) · zero_j) dt,
//
// a polynomial in t that ⌈d/2⌉ Gauss points integrate exactly. Every factor is positive, so nothing cancels. A subtree
// passes one number for each point to its parent, so a row costs nodes × d/2 instead of leaves × d².
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

#include "core/kit/parallel.hpp"
#include "core/read/read.hpp"
#include "core/read/walk.hpp"

namespace hedgerow {

// Number of doubles that are computed together; points are padded to full groups with weight 0.
inline constexpr std::size_t point_group = 4;

// Points t of Gauss and Legendre on [0, 1], 1 - t, 1/(1 - t) and their weights.
struct GaussPoints {
    std::vector<double> known, unknown, inverse_unknown, weight;
    std::size_t size() const { return known.size(); }

    // Exact for polynomials up to degree 2n - 1.
    explicit GaussPoints(std::size_t n) {
        const std::size_t padded = (n + point_group - 1) / point_group * point_group;
        known.assign(padded, 0.5), unknown.assign(padded, 0.5), inverse_unknown.assign(padded, 2.0),
            weight.assign(padded, 0.0);
        for (std::size_t i = 0; i < n; ++i) {
            double x = std::cos(std::numbers::pi * (static_cast<double>(i) + 0.75) / (static_cast<double>(n) + 0.5)),
                   slope = 1;
            for (int round = 0; round < 100; ++round) {
                double value = 1, before = 0;  // Legendre's polynomial of degree n, by its recurrence
                for (std::size_t k = 0; k < n; ++k) {
                    const double earlier = before, degree = static_cast<double>(k);
                    before = value;
                    value = ((2 * degree + 1) * x * before - degree * earlier) / (degree + 1);
                }
                slope = static_cast<double>(n) * (x * value - before) / (x * x - 1);
                const double change = value / slope;
                x -= change;
                if (std::fabs(change) < 1e-15) break;
            }
            known[i] = (1 + x) / 2, unknown[i] = (1 - x) / 2, inverse_unknown[i] = 2 / (1 - x);
            weight[i] = 1 / ((1 - x * x) * slope * slope);
        }
    }
};

// shares[node] = the cover of a node divided by that of its parent; 1 for the root, 0 for a borrowed leaf. The children
// of a node without cover have equal shares. `covers` are those of the leaves of the tree.
inline void cover_shares(const TreeView& tree, std::size_t n_nodes, const double* covers, std::vector<double>& shares) {
    std::vector<double> cover(n_nodes, 0.0);
    shares.assign(n_nodes, 1.0);
    for (std::size_t i = n_nodes; i-- > 0;) {
        const auto at = static_cast<std::uint32_t>(i);
        if (is_leaf(tree, at)) {
            cover[at] = is_borrowed(tree, at) ? 0.0 : covers[leaf_number(tree, at)];
            continue;
        }
        const std::uint32_t child = first_child(tree, at), n = n_children(tree, at);
        for (std::uint32_t k = child; k < child + n; ++k) cover[at] += cover[k];
        for (std::uint32_t k = child; k < child + n; ++k) shares[k] = cover[at] > 0 ? cover[k] / cover[at] : 1.0 / n;
    }
}

// reached[leaf] = probability of a leaf if nothing is known about a row: the mean value is the sum of value × reached.
inline void leaf_shares(const ForestView& forest, const double* covers, double* reached) {
    std::vector<double> shares;
    for (std::size_t number = 0; number < forest.n_trees; ++number) {
        const TreeView tree = forest.tree(number);
        const auto n_nodes = static_cast<std::size_t>(forest.node_start[number + 1] - forest.node_start[number]);
        const std::int64_t first_leaf = forest.leaf_start[number];
        cover_shares(tree, n_nodes, covers + first_leaf, shares);
        for (std::uint32_t at = 0; at < n_nodes; ++at) {
            for (std::uint32_t k = 0; k < n_children(tree, at); ++k) shares[first_child(tree, at) + k] *= shares[at];
            if (is_leaf(tree, at)) reached[first_leaf + leaf_number(tree, at)] = shares[at];
        }
    }
}

// The nodes below the root in depth-first order, with everything that does not depend on a row.
struct ShapPlan {
    struct Step {
        std::uint32_t node, level, feature;  // the feature of the split above the node
        std::uint32_t above;                 // level of the previous step on the same feature, 0 if there is none
        std::int32_t leaf;                   // -1 for a split
        double zero;                         // share of rows that obey all splits on the feature down to here
    };
    std::vector<Step> steps;
    std::uint32_t n_levels = 1, n_distinct = 0;  // longest path; most distinct features on one

    void take(const TreeView& tree, std::size_t n_nodes, std::size_t n_features, const double* covers) {
        cover_shares(tree, n_nodes, covers, shares_);
        steps.clear();
        n_levels = 1, n_distinct = 0;
        last_.assign(n_features, 0);
        path_.assign(1, Step{0, 0, 0, 0, -1, 1.0});
        distinct_.assign(1, 0);
        waiting_.clear();
        add_children(tree, 0, 0);
        while (!waiting_.empty()) {
            Step step = waiting_.back();
            waiting_.pop_back();
            for (; path_.size() > step.level; path_.pop_back()) last_[path_.back().feature] = path_.back().above;
            step.above = last_[step.feature];
            step.zero = shares_[step.node] * (step.above ? path_[step.above].zero : 1.0);
            step.leaf = is_leaf(tree, step.node) ? leaf_number(tree, step.node) : -1;
            last_[step.feature] = step.level;
            path_.push_back(step);
            distinct_.resize(step.level);
            distinct_.push_back(distinct_.back() + (step.above == 0));
            n_distinct = std::max(n_distinct, distinct_.back());
            n_levels = std::max(n_levels, step.level + 1);
            steps.push_back(step);
            if (step.leaf < 0) add_children(tree, step.node, step.level);
        }
    }

private:
    std::vector<double> shares_;
    std::vector<std::uint32_t> last_, distinct_;
    std::vector<Step> path_, waiting_;

    void add_children(const TreeView& tree, std::uint32_t at, std::uint32_t level) {
        for (std::uint32_t k = n_children(tree, at); k-- > 0;)
            waiting_.push_back({first_child(tree, at) + k, level + 1, split_feature(tree, at), 0, -1, 1.0});
    }
};

// State of the splits between the root and the current node: tables over points that are the same for all rows, and for
// each row the product of its factors and the sums from below.
template <class Code>
class PathShap {
public:
    static constexpr std::size_t rows_at_once = 8;

    PathShap(std::size_t n_features, std::size_t width) : n_features_(n_features), width_(width) {}

    void take_tree(const TreeView& tree, std::size_t n_nodes, const double* covers, const double* states) {
        tree_ = tree, states_ = states;
        plan_.take(tree, n_nodes, n_features_, covers);
        const std::size_t wanted = std::max<std::size_t>(1, (plan_.n_distinct + 1) / 2);
        while (points_by_number_.size() <= wanted) points_by_number_.emplace_back(points_by_number_.size());
        points_ = &points_by_number_[wanted];
        n_points_ = points_->size();
        level_size_ = (6 + rows_at_once * (1 + width_)) * n_points_;
        memory_.resize(std::size_t{plan_.n_levels} * level_size_);
        levels_.resize(plan_.n_levels);
    }

    // Adds the Shapley values of this tree to values[i] (p, S) of up to `rows_at_once` rows, and interactions to
    // pairs[i] (p, p, S), off the diagonal, unless they are null.
    void explain(const Code* const* rows, std::size_t n_rows, double* const* values, double* const* pairs) {
        rows_ = rows, n_rows_ = n_rows, values_ = values, pairs_ = pairs;
        // Loops over points take half the time if the compiler knows their length.
        if (n_points_ == 4) walk<4>();
        else if (n_points_ == 8) walk<8>();
        else if (n_points_ == 12) walk<12>();
        else walk<0>();
    }

private:
    // known: the number of points, or 0 for any number.
    template <std::size_t known>
    void walk() {
        begin();
        std::uint32_t open = 0;
        for (const ShapPlan::Step& step : plan_.steps) {
            for (; open >= step.level; --open) close<known>(open);
            enter<known>(step);
            if (step.leaf >= 0) {
                settle<known>(step);
            } else {
                open = step.level;
                clear_sums(open);
                look_ahead(open, step.node);
            }
        }
        for (; open > 0; --open) close<known>(open);
    }

    struct Level {
        std::uint32_t feature = 0, above = 0;
        double zero = 1;
        bool superseded = false;                // a deeper level splits on the same feature
        bool along[rows_at_once] = {};          // the row obeys all splits on the feature down to here
        bool off[rows_at_once] = {};            // it did not obey them at a level above
        std::uint32_t next[rows_at_once] = {};  // the child it would go to from here
    };

    double* table(std::uint32_t level, std::size_t number) {
        return memory_.data() + level * level_size_ + number * n_points_;
    }
    double* inverse(std::uint32_t level) { return table(level, 0); }      // 1 / (t + (1-t) zero)
    double* stay_ratio(std::uint32_t level) { return table(level, 1); }   // new factor over the one above, row obeys
    double* leave_ratio(std::uint32_t level) { return table(level, 2); }  // the same, row goes elsewhere
    double* stay(std::uint32_t level) {
        return table(level, 3);
    }  // weight × change of (one - zero) / factor, row obeys
    double* leave(std::uint32_t level) { return table(level, 4); }  // the same, row goes elsewhere
    double* pull(std::uint32_t level) { return table(level, 5); }   // (1 - zero) / factor
    double* product(std::uint32_t level, std::size_t row) { return table(level, 6 + row * (1 + width_)); }
    double* sums(std::uint32_t level, std::size_t row, std::size_t k) {
        return table(level, 7 + row * (1 + width_) + k);
    }

    void begin() {
        Level& root = levels_[0] = Level{};
        std::fill(inverse(0), inverse(0) + n_points_, 1.0);
        for (std::size_t i = 0; i < n_rows_; ++i) {
            std::fill(product(0, i), product(0, i) + n_points_, 1.0);
            root.along[i] = true;
        }
        clear_sums(0);
        look_ahead(0, 0);
    }

    void clear_sums(std::uint32_t level) {
        for (std::size_t i = 0; i < n_rows_; ++i)
            std::fill(sums(level, i, 0), sums(level, i, 0) + width_ * n_points_, 0.0);
    }

    void look_ahead(std::uint32_t level, std::uint32_t node) {
        if (is_leaf(tree_, node)) return;
        for (std::size_t i = 0; i < n_rows_; ++i) levels_[level].next[i] = next_node(tree_, node, rows_[i]);
    }

    template <std::size_t known>
    void enter(const ShapPlan::Step& step) {
        const std::size_t n_points = known ? known : n_points_;
        Level& level = levels_[step.level];
        const Level &parent = levels_[step.level - 1], &above = levels_[step.above];
        level.feature = step.feature, level.above = step.above, level.zero = step.zero, level.superseded = false;
        if (step.above) levels_[step.above].superseded = true;
        fill_tables<known>(step, above.zero);
        const double further = above.zero > 0 ? step.zero / above.zero : 0.0;
        for (std::size_t i = 0; i < n_rows_; ++i) {
            level.off[i] = !above.along[i];
            level.along[i] = above.along[i] && parent.next[i] == step.node;
            const double* before = product(step.level - 1, i);
            double* now = product(step.level, i);
            const double* ratio = level.along[i] ? stay_ratio(step.level) : leave_ratio(step.level);
            if (level.off[i])
                for (std::size_t q = 0; q < n_points; ++q) now[q] = before[q] * further;
            else
                for (std::size_t q = 0; q < n_points; ++q) now[q] = before[q] * ratio[q];
        }
    }

    // A row that left the path above changes its factor from (1-t) zero_above to (1-t) zero, and (one - zero) / factor
    // is -1/(1-t) before and after: a further split on the feature adds nothing for such a row.
    template <std::size_t known>
    void fill_tables(const ShapPlan::Step& step, double zero_above) {
        const std::size_t n_points = known ? known : n_points_;
        const double zero = step.zero;
        const double *t = points_->known.data(), *rest = points_->unknown.data(), *weight = points_->weight.data();
        const double *inverse_rest = points_->inverse_unknown.data(), *before = inverse(step.above);
        double *now = inverse(step.level), *to_stay = stay_ratio(step.level), *to_leave = leave_ratio(step.level);
        double *stayed = stay(step.level), *left = leave(step.level), *pulled = pull(step.level);
        for (std::size_t q = 0; q < n_points; ++q) {
            const double factor = t[q] + rest[q] * zero;
            now[q] = 1 / factor;
            to_stay[q] = factor * before[q];
            to_leave[q] = rest[q] * zero * before[q];
            pulled[q] = (1 - zero) * now[q];
            const double pulled_before = (1 - zero_above) * before[q];
            stayed[q] = weight[q] * (pulled[q] - pulled_before);
            left[q] = -weight[q] * (inverse_rest[q] + pulled_before);
        }
    }

    static double dot(const double* a, const double* b, std::size_t n) {
        double parts[point_group] = {};
        for (std::size_t q = 0; q < n; q += point_group)
            for (std::size_t k = 0; k < point_group; ++k) parts[k] += a[q + k] * b[q + k];
        return (parts[0] + parts[2]) + (parts[1] + parts[3]);
    }

    // A leaf: its value is used in place of sums from below.
    template <std::size_t known>
    void settle(const ShapPlan::Step& step) {
        const std::size_t n_points = known ? known : n_points_;
        const std::uint32_t level = step.level;
        const double* state = states_ + static_cast<std::size_t>(step.leaf) * width_;
        for (std::size_t i = 0; i < n_rows_; ++i) {
            const double* reached = product(level, i);
            for (std::size_t k = 0; k < width_; ++k) {
                double* into = sums(level - 1, i, k);
                for (std::size_t q = 0; q < n_points; ++q) into[q] += state[k] * reached[q];
            }
            if (levels_[level].off[i]) continue;
            const double* change = levels_[level].along[i] ? stay(level) : leave(level);
            const double added = dot(change, reached, n_points);
            double* value = values_[i] + step.feature * width_;
            for (std::size_t k = 0; k < width_; ++k) value[k] += state[k] * added;
            if (!pairs_) continue;
            add_pairs(level, i,
                      [&](const double* other, std::size_t k) { return state[k] * dot3(change, other, reached); });
        }
        leave_level(level);
    }

    // All leaves below are done: adds their values to the feature above, and passes their sums to the parent.
    template <std::size_t known>
    void close(std::uint32_t level) {
        const std::size_t n_points = known ? known : n_points_;
        for (std::size_t i = 0; i < n_rows_; ++i) {
            const double* below = sums(level, i, 0);
            double* into = sums(level - 1, i, 0);
            for (std::size_t q = 0; q < width_ * n_points; ++q) into[q] += below[q];
            if (levels_[level].off[i]) continue;
            const double* change = levels_[level].along[i] ? stay(level) : leave(level);
            double* value = values_[i] + levels_[level].feature * width_;
            for (std::size_t k = 0; k < width_; ++k) value[k] += dot(change, sums(level, i, k), n_points);
            if (!pairs_) continue;
            add_pairs(level, i,
                      [&](const double* other, std::size_t k) { return dot3(change, other, sums(level, i, k)); });
        }
        leave_level(level);
    }

    void leave_level(std::uint32_t level) {
        if (levels_[level].above) levels_[levels_[level].above].superseded = false;
    }

    double dot3(const double* a, const double* b, const double* c) const {
        double parts[point_group] = {};
        for (std::size_t q = 0; q < n_points_; q += point_group)
            for (std::size_t k = 0; k < point_group; ++k) parts[k] += a[q + k] * b[q + k] * c[q + k];
        return (parts[0] + parts[2]) + (parts[1] + parts[3]);
    }

    // Interactions of the feature of this level with every other feature above it: both factors are divided out.
    template <class Amount>
    void add_pairs(std::uint32_t level, std::size_t i, Amount&& amount) {
        const std::uint32_t feature = levels_[level].feature;
        for (std::uint32_t other = 1; other < level; ++other) {
            const Level& at = levels_[other];
            if (at.superseded || at.feature == feature) continue;
            const double sign = at.along[i] ? 0.5 : -0.5;
            const double* taken = at.along[i] ? pull(other) : points_->inverse_unknown.data();
            double* one = pairs_[i] + (feature * n_features_ + at.feature) * width_;
            double* mirror = pairs_[i] + (at.feature * n_features_ + feature) * width_;
            for (std::size_t k = 0; k < width_; ++k) {
                const double share = sign * amount(taken, k);
                one[k] += share;
                mirror[k] += share;
            }
        }
    }

    std::size_t n_features_, width_, n_points_ = 0, level_size_ = 0;
    TreeView tree_;
    const double* states_ = nullptr;
    ShapPlan plan_;
    std::vector<GaussPoints> points_by_number_;
    const GaussPoints* points_ = nullptr;
    std::vector<double> memory_;
    std::vector<Level> levels_;
    const Code* const* rows_ = nullptr;
    double *const *values_ = nullptr, *const *pairs_ = nullptr;
    std::size_t n_rows_ = 0;
};

// Rows in blocks, for threads: work(first, n, by_row, thread). The result of a row does not depend on the blocks.
template <class Code, class Work>
void for_explained_rows(const Code* by_column, std::size_t n_rows, std::size_t n_features, std::size_t n_threads,
                        Control& control, Work&& work) {
    constexpr std::size_t group = PathShap<Code>::rows_at_once;
    const std::size_t fair = (n_rows / (4 * n_threads) + group - 1) / group * group;
    const std::size_t block = std::clamp<std::size_t>(fair, group, 32 * group);
    std::vector<std::vector<Code>> buffers(n_threads);
    run_tasks((n_rows + block - 1) / block, n_threads, control, [&](std::size_t task, std::size_t thread) {
        const std::size_t first = task * block, n = std::min(block, n_rows - first);
        lay_out_rows(by_column, n_rows, n_features, first, n, buffers[thread]);
        work(first, n, buffers[thread].data(), thread);
    });
}

// Adds the Shapley values of the trees of the table to values (n, p, S), and interactions to pairs (n, p, p, S) unless
// null.
template <class Code>
void explain_paths(const ForestView& forest, const double* covers, const StateTable& table, const Code* by_column,
                   std::size_t n_rows, std::size_t n_features, std::size_t n_threads, double* values, double* pairs,
                   Control& control) {
    const std::size_t width = table.width;
    for_explained_rows(by_column, n_rows, n_features, n_threads, control,
                       [&](std::size_t first, std::size_t n, const Code* by_row, std::size_t thread) {
        constexpr std::size_t group = PathShap<Code>::rows_at_once;
        PathShap<Code> shap(n_features, width);
        for (std::size_t number = table.first_tree; number < table.first_tree + table.n_trees; ++number) {
            const auto n_nodes = static_cast<std::size_t>(forest.node_start[number + 1] - forest.node_start[number]);
            const std::int64_t leaf = forest.leaf_start[number];
            shap.take_tree(forest.tree(number), n_nodes, covers + leaf,
                           table.states + static_cast<std::size_t>(leaf - forest.leaf_start[table.first_tree]) * width);
            for (std::size_t row = 0; row < n; row += group) {
                control.tick(thread == 0);
                const Code* rows[group];
                double *of_row[group], *pairs_of_row[group];
                const std::size_t n_here = std::min(group, n - row);
                for (std::size_t i = 0; i < n_here; ++i) {
                    rows[i] = by_row + (row + i) * n_features;
                    of_row[i] = values + (first + row + i) * n_features * width;
                    pairs_of_row[i] = pairs ? pairs + (first + row + i) * n_features * n_features * width : nullptr;
                }
                shap.explain(rows, n_here, of_row, pairs ? pairs_of_row : nullptr);
            }
        }
    });
}

}  // namespace hedgerow
