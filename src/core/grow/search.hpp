// Search for the split of a node.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/grow/frame.hpp"
#include "core/grow/options.hpp"
#include "core/grow/order.hpp"
#include "core/grow/small_multiclass_search.hpp"
#include "core/grow/small_regression_search.hpp"
#include "core/grow/split.hpp"
#include "core/grow/two_class_search.hpp"
#include "core/rows/codes.hpp"
#include "core/rows/random.hpp"

namespace hedgerow {

// Draws features of a node that the target has entered until max_features of them count, and keeps the best split.
// look(draws, wanted, best) looks at up to `wanted` more features. Returns whether the split may be made.
template <class Search, class Look>
inline bool find_split(Search& search, FeatureOrder& order, const std::vector<Feature>& features,
                       const GrowOptions& options, const SplitRules& rules, std::uint64_t key,
                       std::uint32_t max_features, Split& best, double& gain, Look&& look) {
    Draws draws(key);
    search_features(search.target, order, max_features, options.counts_constants, best,
                    [&](std::uint32_t wanted) { return look(draws, wanted); });
    search.compare_ratios(best);
    gain = best.found() ? search.target.gain_from(best.score) : 0;
    if (best.found()) best.settle_threshold(features[best.feature]);
    return gains_enough(search.target, best, gain, rules.total_amount, options.min_impurity_decrease) &&
           (options.min_gain == 0 ||
            gain / static_cast<double>(search.target.node_amount()) + 1e-15 >= options.min_gain);
}

// A vectorised search, for targets that have one: it finds the same split of plain features as the general search, but
// faster, or declines.
//
// The searches for two classes, up to eight classes and real targets are separate. As one template over kernels (load
// codes, score roughly, score exactly, cut) they find the same splits, but growing a forest takes 1.04 to 1.05 times as
// long with two classes, 1.03 with seven and 1.01 in a regression: each loads its rows in the layout that its kernel
// needs.
template <class Target>
struct QuickSearch {
    static constexpr bool exists = false;
    static constexpr std::uint32_t declined = 0xffffffff;
    explicit QuickSearch(bool) {}
    template <class... Anything>
    void enter(const Anything&...) {}
    template <class... Anything>
    std::uint32_t look(const Anything&...) {
        return declined;
    }
};
#ifdef HEDGEROW_VECTORS
template <class Criterion>
struct QuickSearch<ClassPair<Criterion>> : TwoClassSearch<Criterion> {
    using TwoClassSearch<Criterion>::TwoClassSearch;
    static constexpr bool exists = true;
};
template <>
struct QuickSearch<ClassVector<Gini, CountedRow, 8>> : SmallMulticlassSearch {
    using SmallMulticlassSearch::SmallMulticlassSearch;
    static constexpr bool exists = true;
};
template <>
struct QuickSearch<Moments<SquaredError>> : SmallRegressionSearch {
    explicit QuickSearch(bool) {}
    static constexpr bool exists = true;
};
#endif

// The rows of a node that are all in this process.
template <class Row>
struct NodeRows {
    const AnyView& view;
    const Row* rows;
    std::uint32_t n_rows;
};

// Interface between a grower and its searches. With it there is one grower per type of rows instead of one per target:
// the core compiles in half the time, and a node costs one more indirect call.
template <class Row>
class NodeSearch {
public:
    virtual ~NodeSearch() = default;
    virtual void begin_tree(const SplitRules& rules) = 0;
    virtual bool find(const Heritage& node, const NodeRows<Row>& rows, Split& best, double& gain) = 0;
    virtual double share_of(const Row* rows, std::uint32_t n_rows) = 0;
};

template <SplitTarget Target>
class RowSearch final : public NodeSearch<typename Target::Row> {
public:
    using Row = typename Target::Row;
    using Rows = NodeRows<Row>;

    RowSearch(const std::vector<Feature>& features, bool wide, const GrowOptions& options, const Target& target)
        : features_(features),
          options_(options),
          search_(target, wide),
          quick_(wide),
          order_(static_cast<std::uint32_t>(features.size()), options.feature_weights) {}

    void begin_tree(const SplitRules& rules) override { rules_ = rules; }
    double share_of(const Row* rows, std::uint32_t n_rows) override { return search_.target.share_of(rows, n_rows); }

    bool find(const Heritage& node, const Rows& rows, Split& best, double& gain) override {
        Target& target = search_.target;
        target.enter_node(rows.rows, rows.n_rows);
        quick_.enter(rows.rows, rows.n_rows, target);
        const auto look = [&](Draws& draws, std::uint32_t wanted) {
            return options_.splitter == Splitter::best ? try_best(node, rows, draws, wanted, best)
                                                       : try_random(node, rows, draws, best);
        };
        const bool found =
            find_split(search_, order_, features_, options_, rules_, node.key, options_.max_features, best, gain, look);
        target.leave_node(rows.rows, rows.n_rows);
        return found;
    }

private:
    using Quick = QuickSearch<Target>;

    // Looks at up to `wanted` more features, as many as one pass can take. Returns how many of them vary.
    std::uint32_t try_best(const Heritage& node, const Rows& rows, Draws& draws, std::uint32_t wanted, Split& best) {
        constexpr std::uint32_t lanes = SplitSearch<Target>::lanes;
        // The first feature that varies often separates a few rows perfectly, so features are tried one at a time.
        const std::uint32_t n_numbers =
            rows.n_rows <= (Quick::exists ? 3U : 8U) ? 1 : std::min({wanted, order_.n_left(), lanes});
        std::uint32_t numbers[lanes] = {};
        bool plain = !rules_.restricted();
        for (std::uint32_t i = 0; i < n_numbers; ++i) {
            numbers[i] = order_.draw(draws);
            plain = plain && features_[numbers[i]].is_plain();
        }
        if (plain) {
            const std::uint32_t n_varying =
                quick_.look(rows.view, features_, numbers, n_numbers, rows.rows, rows.n_rows, search_.target, best);
            if (n_varying != Quick::declined) return n_varying;
        }
        search_.fill(rows.view, features_, numbers, static_cast<int>(n_numbers), rows.rows, rows.n_rows,
                     rules_.restricted(), rules_.counts_rows());
        std::uint32_t n_varying = 0;
        for (std::uint32_t i = 0; i < n_numbers; ++i)
            n_varying += search_.try_best(static_cast<int>(i), features_[numbers[i]], numbers[i], rows.rows,
                                          rows.n_rows, node.key, node.limits(options_, rules_, numbers[i]), best);
        search_.empty(static_cast<int>(n_numbers));
        return n_varying;
    }

    std::uint32_t try_random(const Heritage& node, const Rows& rows, Draws& draws, Split& best) {
        const std::uint32_t number = order_.draw(draws);
        return search_.try_random(rows.view, features_[number], number, rows.rows, rows.n_rows,
                                  node.limits(options_, rules_, number), draws, best);
    }

    const std::vector<Feature>& features_;
    const GrowOptions& options_;
    SplitSearch<Target> search_;
    Quick quick_;
    FeatureOrder order_;
    SplitRules rules_;
};

}  // namespace hedgerow
