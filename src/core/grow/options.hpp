// Growth options that apply to every target.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/kit/named_values.hpp"
#include "core/rows/bag.hpp"
#include "core/targets/target.hpp"

namespace hedgerow {

enum class Splitter : int { best = 0, random = 1, random_decision = 2, mixed = 3 };

// A mixed forest has three kinds of trees, which take turns.
inline constexpr std::size_t n_mixed_kinds = 3;

struct GrowOptions {
    Splitter splitter = Splitter::best;
    CountSense count_sense = CountSense::all;
    std::uint32_t max_features = 1;
    bool counts_constants = false;  // whether max_features counts drawn features that are constant in the node
    std::uint32_t max_depth = 0xffffffff;
    std::uint32_t min_samples_split = 2;
    std::uint32_t min_samples_leaf = 1;
    double min_weight_fraction_leaf = 0;  // share of the weight of the tree that each side of a split must have
    std::uint32_t max_leaf_nodes = 0;     // 0: no limit, depth first; otherwise best first
    double min_impurity_decrease = 0;
    double min_gain = 0;  // decrease of the impurity of the node itself; 0: no limit
    double bag_mean = 0;  // expected multiplicity of a row; 0: every row once; negative: exact bag size
    std::uint64_t seed = 0;
    Units units;                         // group of each row, drawn together
    std::vector<std::int8_t> monotonic;  // per feature; empty for none
    std::vector<double>
        feature_weights;  // relative probability of drawing each feature, infinite: always; empty: all equal

    static GrowOptions from(const NamedValues& given) {
        GrowOptions options;
        options.splitter =
            static_cast<Splitter>(given.choice("splitter", {"best", "random", "random_decision", "mixed"}));
        options.count_sense = static_cast<CountSense>(given.choice("leaf_counts", {"all", "inbag", "distinct", "oob"}));
        options.max_features = given.number<std::uint32_t>("max_features");
        options.counts_constants = given.choice("constant_features", {"skip", "count"}) == 1;
        options.max_depth = given.number<std::uint32_t>("max_depth");
        options.min_samples_split = given.number<std::uint32_t>("min_samples_split");
        options.min_samples_leaf = given.number<std::uint32_t>("min_samples_leaf");
        options.min_weight_fraction_leaf = given.number<double>("min_weight_fraction_leaf");
        options.max_leaf_nodes = given.number<std::uint32_t>("max_leaf_nodes");
        options.min_impurity_decrease = given.number<double>("min_impurity_decrease");
        options.min_gain = given.number<double>("min_gain");
        options.bag_mean = given.number<double>("bag_mean");
        options.seed = given.number<std::uint64_t>("seed");
        if (given.has("units")) options.units = Units(given.array<std::uint32_t>("units"));
        if (given.has("monotonic")) {
            const auto signs = given.array<std::int8_t>("monotonic");
            options.monotonic.assign(signs.begin(), signs.end());
        }
        if (given.has("feature_weights")) {
            const auto weights = given.array<double>("feature_weights");
            options.feature_weights.assign(weights.begin(), weights.end());
            for (const double weight : weights)
                options.max_features += std::isinf(weight);  // in addition to those that are drawn
        }
        return options;
    }

    // The options of each kind of tree; tree number t is of kind t modulo their number. A mixed forest has best splits
    // of some features, random thresholds of all features, and random thresholds of some.
    std::vector<GrowOptions> kinds(std::size_t n_features) const {
        if (splitter != Splitter::mixed) return {*this};
        std::vector<GrowOptions> found(n_mixed_kinds, *this);
        found[0].splitter = Splitter::best;
        found[1].splitter = found[2].splitter = Splitter::random;
        found[1].max_features = std::max(max_features, static_cast<std::uint32_t>(n_features));
        return found;
    }
    // Random decision trees never use labels.
    bool is_blind() const { return splitter == Splitter::random_decision; }
    bool counts_outside() const { return count_sense == CountSense::all || count_sense == CountSense::oob; }
    LeafRules leaf_rules() const { return {count_sense == CountSense::inbag, !monotonic.empty()}; }
    int sign_of(std::uint32_t feature) const { return monotonic.empty() ? 0 : monotonic[feature]; }
};

// Constraints on every split of one tree.
struct SplitRules {
    std::uint32_t min_samples_leaf = 1;
    std::int64_t total_amount = 0;     // of the tree
    std::int64_t min_amount_leaf = 0;  // weight that each side of a split must have
    bool bounded = false;              // whether some feature has a monotonic constraint

    SplitRules() = default;
    SplitRules(const GrowOptions& options, std::int64_t total)
        : min_samples_leaf(options.min_samples_leaf),
          total_amount(total),
          min_amount_leaf(
              static_cast<std::int64_t>(std::ceil(options.min_weight_fraction_leaf * static_cast<double>(total)))),
          bounded(!options.monotonic.empty()) {}

    // Whether splits must satisfy more than the gain.
    bool restricted() const { return min_samples_leaf > 1 || min_amount_leaf > 0 || bounded; }
    bool counts_rows() const { return min_samples_leaf > 1; }
};

}  // namespace hedgerow
