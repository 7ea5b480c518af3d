// Random order of the features of a node, and acceptance of its split.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/grow/split.hpp"
#include "core/read/subset.hpp"
#include "core/rows/random.hpp"
#include "core/targets/target.hpp"

namespace hedgerow {

// Features in random order. Each draw is one step of a Fisher–Yates shuffle, which is undone after each node, so that
// the draws of a node depend only on its key. With weights, features of infinite weight come first, without a draw; the
// next is drawn in proportion to the remaining weights, and features of weight 0 are never drawn.
class FeatureOrder {
public:
    FeatureOrder(std::uint32_t n_features, const std::vector<double>& weights) : weights_(weights), swaps_(n_features) {
        const auto take = [&](auto&& belongs) {
            for (std::uint32_t i = 0; i < n_features; ++i)
                if (belongs(weights_.empty() ? 1.0 : weights_[i])) permutation_.push_back(i);
        };
        take([](double weight) { return std::isinf(weight); });
        n_always_ = static_cast<std::uint32_t>(permutation_.size());
        take([](double weight) { return weight > 0 && !std::isinf(weight); });
    }
    std::uint32_t draw(Draws& draws) {
        const std::uint32_t other = weights_.empty() ? n_drawn_ + draws.below(n_left()) : draw_by_weight(draws);
        std::swap(permutation_[n_drawn_], permutation_[other]);
        swaps_[n_drawn_] = other;
        return permutation_[n_drawn_++];
    }
    std::uint32_t n_left() const { return static_cast<std::uint32_t>(permutation_.size()) - n_drawn_; }
    void undo() {
        for (; n_drawn_ > 0; --n_drawn_) std::swap(permutation_[n_drawn_ - 1], permutation_[swaps_[n_drawn_ - 1]]);
    }

private:
    std::uint32_t draw_by_weight(Draws& draws) const {
        if (n_drawn_ < n_always_) return n_drawn_;
        double rest = 0;
        for (std::size_t i = n_drawn_; i < permutation_.size(); ++i) rest += weights_[permutation_[i]];
        rest *= draws.unit();
        std::uint32_t other = n_drawn_;
        while (other + 1 < permutation_.size() && rest >= weights_[permutation_[other]])
            rest -= weights_[permutation_[other++]];
        return other;
    }

    std::vector<double> weights_;
    std::vector<std::uint32_t> permutation_, swaps_;
    std::uint32_t n_always_ = 0, n_drawn_ = 0;
};

// Draws features until max_features of them vary in the node that the target has entered or, with `counts_constants`,
// until that many are drawn and one of them has a split; keeps the best split among them. look(wanted) looks at up to
// `wanted` more features and returns how many of them vary.
template <class Target, class Look>
inline void search_features(const Target& target, FeatureOrder& order, std::uint32_t max_features,
                            bool counts_constants, Split& best, Look&& look) {
    best.score = no_score;
    const double perfect = target.perfect_score();
    std::uint32_t n_counted = 0;
    while (order.n_left() > 0 && (n_counted < max_features || !best.found())) {
        const std::uint32_t n_left = order.n_left();
        const std::uint32_t n_varying = look(n_counted < max_features ? max_features - n_counted : 1);
        n_counted += counts_constants ? n_left - order.n_left() : n_varying;
        if (best.score >= perfect) break;
    }
    order.undo();
}

// The gain that a split must exceed, if its target needs one.
template <class Target>
inline double least_gain_of(const Target& target) {
    if constexpr (requires { target.least_gain(); }) return target.least_gain();
    else return 0x1.0p-12;  // bits · rows; criteria of classes are summed in units of 2^-16 bit
}

// Whether a split with this gain may be made.
template <class Target>
inline bool gains_enough(const Target& target, const Split& best, double gain, std::int64_t total_amount,
                         double min_impurity_decrease) {
    if (!best.found() || (target.needs_gain() && !(gain > least_gain_of(target)))) return false;
    return gain / static_cast<double>(total_amount) + 1e-15 >= min_impurity_decrease;
}

// Threshold of a random decision tree: the value of a row that is drawn in proportion to its weight. It is found by
// passing the values in ascending order, so it depends neither on the order of the rows nor on how they are distributed
// over machines.
class DrawnValue {
public:
    DrawnValue(Draws& draws, std::uint64_t amount)
        : amount_(amount), drawn_(draws.below_wide(amount)), inclusive_(draws.coin()), missing_left_(draws.coin()) {}

    void miss(std::uint64_t amount, std::uint32_t n_rows) {
        if (missing_left_) amount_left_ += amount, n_left_ += n_rows;
    }
    // Takes the next value in ascending order; missing values are not passed.
    void pass(std::uint32_t code, std::uint64_t amount, std::uint32_t n_rows) {
        const bool reached = !found_ && drawn_ < (passed_ += amount);
        if (reached) found_ = true, value_ = code;
        if (!found_ || (reached && inclusive_)) amount_left_ += amount, n_left_ += n_rows;
    }
    // Whether both sides of the threshold have enough rows; if so, stores the split.
    bool settle(std::uint32_t feature, std::uint32_t n_rows, const Limits& limits, Split& split) const {
        if (!found_ || (value_ == 0 && !inclusive_) || !limits.allow_rows(n_left_, n_rows - n_left_) ||
            !limits.allow_amounts(static_cast<std::int64_t>(amount_left_),
                                  static_cast<std::int64_t>(amount_ - amount_left_)))
            return false;
        split = Split{};
        split.feature = feature;
        split.threshold = value_ - !inclusive_;
        split.missing_seen = true;
        split.missing_left = missing_left_;
        return true;
    }

private:
    std::uint64_t amount_, drawn_, passed_ = 0, amount_left_ = 0;
    bool inclusive_, missing_left_, found_ = false;
    std::uint32_t n_left_ = 0, value_ = 0;
};

// Whether at least two children have enough rows.
inline bool divides(const std::vector<std::uint32_t>& child_rows, std::uint32_t min_samples_leaf) {
    std::uint32_t largest = 0, second = 0;
    for (const std::uint32_t n_rows : child_rows) {
        if (n_rows > largest) second = largest, largest = n_rows;
        else second = std::max(second, n_rows);
    }
    return second >= std::max(1U, min_samples_leaf);
}

// Sets the bits of the categories that go left; categories that do not occur in the node go to the larger side.
inline void write_subset(const Split& split, bool larger_left, std::uint32_t n_categories,
                         std::vector<std::uint64_t>& bits) {
    bits.assign(n_words_for(n_categories), larger_left ? ~std::uint64_t{0} : 0);
    for (std::uint16_t code : larger_left ? split.right_codes : split.left_codes)
        bits[code / 64] ^= std::uint64_t{1} << (code & 63);
}

}  // namespace hedgerow
