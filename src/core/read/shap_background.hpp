// Shapley values as in shap.hpp, with the values of unknown features from background rows.
//
// A row and a background row go down the tree together. Where a split separates them, the feature belongs to one or to
// the other from there on, and both paths are followed. In a leaf where a features belong to the row and b to the
// background, Shapley's weight is (a-1)! b!/(a+b)! for each of the former and -a! (b-1)!/(a+b)! for each of the latter.
// Background rows with the same features so far stay together, so a node is visited once for all of them.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/kit/parallel.hpp"
#include "core/read/read.hpp"
#include "core/read/shap.hpp"
#include "core/read/walk.hpp"

namespace hedgerow {

// (a-1)! b!/(a+b)! for a >= 1, b >= 0.
class ShapleyWeights {
public:
    explicit ShapleyWeights(std::size_t most) : stride_(most + 2), table_((most + 2) * (most + 2), 0.0) {
        for (std::size_t b = 0; b <= most + 1; ++b) {
            double weight = 1.0 / static_cast<double>(b + 1);
            for (std::size_t a = 1; a <= most + 1; ++a) {
                table_[a * stride_ + b] = weight;
                weight *= static_cast<double>(a) / static_cast<double>(a + b + 1);
            }
        }
    }
    double operator()(std::size_t a, std::size_t b) const { return table_[a * stride_ + b]; }

private:
    std::size_t stride_;
    std::vector<double> table_;
};

template <class Code>
class BackgroundShap {
public:
    // `most`: largest number of distinct features on a path.
    BackgroundShap(const Code* background, std::size_t n_background, std::size_t n_features, std::size_t width,
                   std::size_t most)
        : background_(background),
          n_features_(n_features),
          width_(width),
          weights_(most),
          others_(n_background),
          owner_(n_features, Owner::nobody) {}

    void explain(const TreeView& tree, const double* states, const Code* row, double* values, double* pairs) {
        tree_ = tree, states_ = states, row_ = row, values_ = values, pairs_ = pairs;
        std::iota(others_.begin(), others_.end(), 0U);  // fixes the order of sums
        visit(0, 0, others_.size(), 0);
    }

private:
    enum class Owner : std::uint8_t { nobody, row, background };

    // Sums over the leaves below of their values times the number of background rows that reach them, weighted for a
    // feature that belongs to the row, and for one that belongs to the background: 2 S numbers for each depth.
    double* sums(std::size_t depth) {
        if (sums_.size() <= depth) sums_.resize(depth + 1);
        if (sums_[depth].empty()) sums_[depth].resize(2 * width_);
        return sums_[depth].data();
    }

    const Code* other(std::uint32_t i) const { return background_ + std::size_t{i} * n_features_; }

    // Visits a node with background rows begin … end - 1 of the list.
    void visit(std::uint32_t at, std::size_t begin, std::size_t end, std::size_t depth) {
        std::fill(sums(depth), sums(depth) + 2 * width_, 0.0);
        if (is_leaf(tree_, at)) return settle(at, end - begin, depth);
        const std::uint32_t feature = split_feature(tree_, at), own = next_node(tree_, at, row_);
        if (owner_[feature] == Owner::background) return part(at, begin, end, depth, nullptr);
        const std::size_t parted = owner_[feature] == Owner::row ? end : gather(at, own, begin, end);
        if (parted > begin) descend(own, begin, parted, depth);
        if (parted == end) return;
        double* value = values_ + feature * width_;
        give(feature, Owner::row);
        const double* below = descend(own, parted, end, depth);
        for (std::size_t k = 0; k < width_; ++k) value[k] += below[k];
        take_back(feature);
        give(feature, Owner::background);
        part(at, parted, end, depth, value);
        take_back(feature);
    }

    // The feature belongs to the background: its rows go to their children, those of one child together. `value` is
    // that of the feature of this split, if it has belonged to the background only from here on.
    void part(std::uint32_t at, std::size_t begin, std::size_t end, std::size_t depth, double* value) {
        while (begin < end) {
            const std::uint32_t child = next_node(tree_, at, other(others_[begin]));
            const std::size_t last = gather(at, child, begin, end);
            const double* below = descend(child, begin, last, depth);
            for (std::size_t k = 0; value && k < width_; ++k) value[k] -= below[width_ + k];
            begin = last;
        }
    }

    // Moves the rows that go from a node to a child to the front of the list. Returns where they end.
    std::size_t gather(std::uint32_t at, std::uint32_t child, std::size_t begin, std::size_t end) {
        const auto list = others_.begin();
        const auto goes_there = [&](std::uint32_t i) { return next_node(tree_, at, other(i)) == child; };
        return static_cast<std::size_t>(std::partition(list + static_cast<std::ptrdiff_t>(begin),
                                                       list + static_cast<std::ptrdiff_t>(end), goes_there) -
                                        list);
    }

    // Returns the sums of the child, which have been added to those of its parent.
    const double* descend(std::uint32_t child, std::size_t begin, std::size_t end, std::size_t depth) {
        visit(child, begin, end, depth + 1);
        const double* below = sums(depth + 1);
        double* here = sums(depth);
        for (std::size_t k = 0; k < 2 * width_; ++k) here[k] += below[k];
        return below;
    }

    void settle(std::uint32_t at, std::size_t n_background, std::size_t depth) {
        const double* state = states_ + static_cast<std::size_t>(leaf_number(tree_, at)) * width_;
        const double many = static_cast<double>(n_background);
        double* here = sums(depth);
        for (std::size_t k = 0; k < width_; ++k) {
            if (n_own_ > 0) here[k] = many * state[k] * weights_(n_own_, n_theirs_);
            if (n_theirs_ > 0) here[width_ + k] = many * state[k] * weights_(n_theirs_, n_own_);
        }
        if (pairs_) add_pairs(state, many);
    }

    // Two features of the same owner add to their interaction, two of different owners subtract from it.
    void add_pairs(const double* state, double many) {
        for (std::size_t i = 0; i < given_.size(); ++i)
            for (std::size_t j = 0; j < i; ++j) {
                const bool own_i = owner_[given_[i]] == Owner::row, own_j = owner_[given_[j]] == Owner::row;
                double weight = 0;
                if (own_i && own_j) weight = 0.5 * weights_(n_own_ - 1, n_theirs_);
                else if (!own_i && !own_j) weight = 0.5 * weights_(n_theirs_ - 1, n_own_);
                else weight = -0.5 * weights_(n_own_, n_theirs_ - 1);
                for (std::size_t k = 0; k < width_; ++k) {
                    const double share = many * weight * state[k];
                    pairs_[(std::size_t{given_[i]} * n_features_ + given_[j]) * width_ + k] += share;
                    pairs_[(std::size_t{given_[j]} * n_features_ + given_[i]) * width_ + k] += share;
                }
            }
    }

    void give(std::uint32_t feature, Owner owner) {
        owner_[feature] = owner;
        given_.push_back(feature);
        (owner == Owner::row ? n_own_ : n_theirs_) += 1;
    }
    void take_back(std::uint32_t feature) {
        (owner_[feature] == Owner::row ? n_own_ : n_theirs_) -= 1;
        owner_[feature] = Owner::nobody;
        given_.pop_back();
    }

    const Code* background_;
    std::size_t n_features_, width_;
    ShapleyWeights weights_;
    std::vector<std::uint32_t> others_, given_;
    std::vector<Owner> owner_;
    std::vector<std::vector<double>> sums_;
    TreeView tree_;
    const double* states_ = nullptr;
    const Code* row_ = nullptr;
    double *values_ = nullptr, *pairs_ = nullptr;
    std::size_t n_own_ = 0, n_theirs_ = 0;
};

// As explain_paths, summed over the background rows, which are column by column, like the rows themselves.
template <class Code>
void explain_against(const ForestView& forest, const StateTable& table, const Code* background,
                     std::size_t n_background, const Code* by_column, std::size_t n_rows, std::size_t n_features,
                     std::size_t n_threads, std::size_t most, double* values, double* pairs, Control& control) {
    const std::size_t width = table.width;
    std::vector<Code> others;
    lay_out_rows(background, n_background, n_features, 0, n_background, others);
    for_explained_rows(by_column, n_rows, n_features, n_threads, control,
                       [&](std::size_t first, std::size_t n, const Code* by_row, std::size_t thread) {
        BackgroundShap<Code> shap(others.data(), n_background, n_features, width, most);
        for (std::size_t number = table.first_tree; number < table.first_tree + table.n_trees; ++number) {
            const std::int64_t leaf = forest.leaf_start[number] - forest.leaf_start[table.first_tree];
            for (std::size_t row = 0; row < n; ++row) {
                control.tick(thread == 0);
                shap.explain(forest.tree(number), table.states + static_cast<std::size_t>(leaf) * width,
                             by_row + row * n_features, values + (first + row) * n_features * width,
                             pairs ? pairs + (first + row) * n_features * n_features * width : nullptr);
            }
        }
    });
}

}  // namespace hedgerow
