// Checked access to the arrays of a forest.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/kit/named_values.hpp"
#include "core/kit/parallel.hpp"
#include "core/kit/table.hpp"
#include "core/read/branch.hpp"
#include "core/read/change.hpp"
#include "core/read/curves.hpp"
#include "core/read/importance.hpp"
#include "core/read/leaf_ranges.hpp"
#include "core/read/oob.hpp"
#include "core/read/read.hpp"
#include "core/read/shap.hpp"
#include "core/read/shap_background.hpp"
#include "core/read/views.hpp"
#include "core/read/walk.hpp"
#include "core/rows/codes.hpp"

namespace hedgerow {

// States of the leaves of some trees, as in StateTable.
struct StatesGiven {
    Table<const double> states;
    const std::int32_t* distinct = nullptr;
    std::size_t first_tree = 0, n_trees = 0;
    const double* tree_weights = nullptr;
};

// The training table and its bags, groups of features that are permuted together, and the number of repeats.
struct Permuting {
    std::uint64_t seed = 0;
    double bag_mean = 0;
    std::span<const std::int64_t> features, start;
    std::uint64_t key = 0;
    std::size_t n_repeats = 0;
    Units units = {};
};

class Reader {
public:
    explicit Reader(const NamedValues& arrays) : forest_(ForestView::from(arrays)), leaves_(LeafView::from(arrays)) {}

    // (n, K): the mean of the class shares of the leaves.
    template <class Code>
    OwnTable<double> average(const CodeColumns<Code>& codes, std::size_t n_threads, Control& control) const {
        OwnTable<double> probability(codes.n_rows, leaves_.n_classes);
        average_shares(forest_, leaves_, codes.codes, codes.n_rows, codes.n_features, n_threads, probability.data.get(),
                       control);
        return probability;
    }
    // The mean of shares (D, K); distinct[leaf] is the content of a leaf.
    template <class Code>
    OwnTable<double> average_known(const CodeColumns<Code>& codes, const Table<const double>& shares,
                                   std::span<const std::int32_t> distinct, std::size_t n_threads,
                                   Control& control) const {
        require(distinct.size() == forest_.n_leaves(), "distinct must have one number per leaf");
        OwnTable<double> probability(codes.n_rows, shares.n_columns);
        const StateTable table{shares.data, shares.n_columns, distinct.data(), 0, forest_.n_trees, nullptr};
        average_states(forest_, leaves_, table, codes.codes, codes.n_rows, codes.n_features, n_threads,
                       probability.data.get(), control);
        return probability;
    }
    // (m, K): the out-of-bag mean for each of some rows, without the row itself.
    template <class Code>
    OwnTable<double> average_oob(const CodeColumns<Code>& codes, std::span<const std::int64_t> rows,
                                 const OobRows& outside, std::span<const std::uint16_t> labels, std::size_t n_threads,
                                 Control& control) const {
        require(rows.size() == codes.n_rows, "rows must have one number per row of codes");
        if (outside.labels) check_labels(labels, codes.n_rows);
        OwnTable<double> probability(codes.n_rows, leaves_.n_classes);
        hedgerow::average_oob(forest_, leaves_, outside, codes.codes, codes.n_rows, codes.n_features, n_threads,
                              probability.data.get(), control);
        return probability;
    }
    // For each leaf and depth the node that it is read at, and the contents of these nodes.
    Ancestors ancestors(std::span<const std::int64_t> least, std::size_t n_threads, Control& control) const {
        require(!least.empty(), "least must have a number for each depth");
        return find_ancestors(forest_, leaves_, least, n_threads, control);
    }
    // (n, V · K): mean class shares by view; those of training rows if `outside` has row numbers. The table is that of
    // `ancestors`; its places are not checked, which would take longer than a prediction.
    template <class Code>
    OwnTable<double> views(const CodeColumns<Code>& codes, const ViewTable& table, const OobRows& outside,
                           std::span<const std::uint16_t> labels, std::size_t n_threads, Control& control) const {
        require(table.place.size() == forest_.n_leaves() * table.n_depths && table.n_depths > 0 && table.n_kinds > 0,
                "place must have one number per leaf and depth");
        require(table.n_classes == leaves_.n_classes && !table.start.empty(), "nodes must be those of the forest");
        OwnTable<double> shares(codes.n_rows, table.width());
        if (!outside.rows) {
            average_views(forest_, table, codes.codes, codes.n_rows, codes.n_features, n_threads, shares.data.get(),
                          control);
            return shares;
        }
        if (outside.labels) check_labels(labels, codes.n_rows);
        average_views_oob(forest_, table, outside, codes.codes, codes.n_rows, codes.n_features, n_threads,
                          shares.data.get(), control);
        return shares;
    }
    // For each leaf of a survival forest and depth, the leaves below the node that it is read at.
    LeafSpans leaf_spans(std::span<const std::int64_t> least, std::size_t n_threads, Control& control) const {
        require(!least.empty(), "least must have a number for each depth");
        return find_leaf_spans(forest_, leaves_, least, n_threads, control);
    }
    // (n, S): the mean curves of the leaves reached (n, M), numbered over all trees; negative ones are skipped.
    OwnTable<double> curves(const LeafSpansView& spans, std::span<const double> depth_weights,
                            const SurvivalLayout& layout, CurveKind kind, double caution,
                            const Table<const std::int32_t>& reached, std::span<const std::uint16_t> own,
                            std::size_t n_threads, Control& control) const {
        const std::size_t n_leaves = forest_.n_leaves(), n_spans = n_leaves * depth_weights.size();
        require(layout.n_cells() == leaves_.n_classes, "the layout must be that of the forest");
        require(spans.place.size() == n_leaves && spans.leaf.size() == n_leaves && spans.first.size() == n_spans &&
                    spans.last.size() == n_spans,
                "spans must be those of the forest, with a weight for each depth");
        require(own.empty() || own.size() == reached.n_rows, "own must have one cell per row");
        for (std::size_t i = 0; i < reached.n_rows * reached.n_columns; ++i)
            require(reached.data[i] < static_cast<std::int64_t>(n_leaves), "leaves must be those of the forest");
        OwnTable<double> found(reached.n_rows, NodeCurve(leaves_, layout, kind, caution).width());
        mean_curves(forest_, leaves_, spans, depth_weights, layout, kind, caution, reached, own, n_threads,
                    found.data.get(), control);
        return found;
    }
    // Returns the first leaf of each distinct content (D,), and the content of each leaf (L,).
    std::pair<std::vector<std::int64_t>, std::vector<std::int32_t>> distinct(std::size_t n_threads,
                                                                             Control& control) const {
        std::vector<std::int32_t> distinct(forest_.n_leaves());
        std::vector<std::int64_t> examples = find_distinct(forest_, leaves_, n_threads, distinct.data(), control);
        return {std::move(examples), std::move(distinct)};
    }
    // (n, trees): the leaf, or the node, that each row reaches.
    template <class Code>
    OwnTable<std::int32_t> leaves(const CodeColumns<Code>& codes, std::size_t n_threads, bool as_nodes,
                                  Control& control) const {
        OwnTable<std::int32_t> found(codes.n_rows, forest_.n_trees);
        find_leaves(forest_, codes.codes, codes.n_rows, codes.n_features, n_threads, as_nodes, found.data.get(),
                    control);
        return found;
    }

    // (n, trees): the largest of some amounts (p, n) on the path of each row.
    template <class Code>
    OwnTable<double> path_most(const CodeColumns<Code>& codes, const Table<const double>& amounts,
                               std::size_t n_threads, Control& control) const {
        require(amounts.n_rows == codes.n_features && amounts.n_columns == codes.n_rows,
                "amounts must have the shape of codes");
        return hedgerow::path_most(forest_, codes, amounts, n_threads, control);
    }

    // (nodes,): the sum of amounts (leaves,) below each node.
    std::vector<double> covers(std::span<const double> amounts) const {
        require(amounts.size() == forest_.n_leaves(), "amounts must have one number per leaf");
        return node_covers(forest_, amounts);
    }
    // (n, trees · K), and (n, trees · S): combined evidence of the leaves of each tree that a row may reach.
    template <class Code>
    OwnTable<double> mixed_counts(const CodeColumns<Code>& codes, const Branching& branching, std::size_t n_threads,
                                  Control& control) const {
        check_branching(codes, branching);
        return hedgerow::mixed_counts(forest_, leaves_, branching, codes, n_threads, control);
    }
    template <class Code>
    OwnTable<double> mixed_states(const CodeColumns<Code>& codes, const Table<const double>& states,
                                  std::span<const double> rows, const Branching& branching, std::size_t n_threads,
                                  Control& control) const {
        check_branching(codes, branching);
        require(states.n_rows == forest_.n_leaves() && rows.size() == forest_.n_leaves(),
                "states and rows must have one row per leaf");
        return hedgerow::mixed_states(forest_, states, rows, branching, codes, n_threads, control);
    }

    // (leaves, m): leaf ranges of the features drawn for each tree (trees, m).
    template <class Code>
    OwnTable<Mark> marks(const CodeColumns<Code>& codes, const Table<const std::int32_t>& drawn,
                         std::span<const std::int64_t> n_bins, std::span<const std::uint8_t> nominal, const Bags& bags,
                         std::size_t n_threads, Control& control) const {
        require(
            drawn.n_rows <= forest_.n_trees && n_bins.size() == codes.n_features && nominal.size() == codes.n_features,
            "drawn must have a row per tree, and n_bins and nominal one value per feature");
        for (std::size_t i = 0; i < drawn.n_rows * drawn.n_columns; ++i)
            require(drawn.data[i] >= 0 && static_cast<std::size_t>(drawn.data[i]) < codes.n_features,
                    "drawn must be features of the table");
        return find_marks(forest_, codes, drawn, n_bins, nominal, bags, n_threads, control);
    }
    // Novelty of rows; training: their numbers in the training table, or empty.
    template <class Code>
    Novelty novelty(const CodeColumns<Code>& codes, const LeafRanges& ranges, const Table<const double>& cells,
                    std::span<const std::int64_t> training, const Bags& bags, std::size_t n_threads,
                    Control& control) const {
        const std::size_t n_places = ranges.features.size();
        require(ranges.places.n_rows <= forest_.n_trees &&
                    ranges.marks.n_rows == static_cast<std::size_t>(forest_.leaf_start[ranges.places.n_rows]) &&
                    ranges.marks.n_columns == ranges.places.n_columns,
                "marks must have one row per leaf and one column per drawn feature");
        require(cells.n_rows == n_places && cells.n_columns == codes.n_rows &&
                    (training.empty() || training.size() == codes.n_rows),
                "cells and rows must have the rows of codes");
        return measure_rows(forest_, ranges, codes, cells, training, bags, n_threads, control);
    }

    // The cheapest change of a row after which one class remains; the arrays are those of `Moves` and `Margins`.
    template <class Code>
    Change smallest_change(const CodeColumns<Code>& row, const NamedValues& given, double seconds,
                           Control& control) const {
        require(given.array<std::int32_t>("contents").size() == forest_.n_leaves(),
                "contents must have one number per leaf");
        require(given.array<double>("tree_shares").size() == forest_.n_trees,
                "tree_shares must have one number per tree");
        const WideCodes wide(row);
        Change change = hedgerow::smallest_change(forest_, given, wide.columns(), seconds, control);
        for (auto& code : change.codes)
            if (code == missing_code<std::uint16_t>) code = missing_code<Code>;
        return change;
    }

    // Merges the states of the leaves into merged (n, S), or (n, 2S).
    template <class Code>
    void fold(const CodeColumns<Code>& codes, const StatesGiven& given, Merge merge,
              const std::optional<OutOfBag>& outside, std::size_t n_threads, const Table<double>& merged,
              Control& control) const {
        const std::size_t width = given.states.n_columns;
        require(merged.n_rows == codes.n_rows && merged.n_columns == (merge == Merge::both ? 2 * width : width),
                "merged must have one row per sample and the width of the states");
        fold_states(forest_, leaves_, states_from(given), merge, outside ? &*outside : nullptr, codes.codes,
                    codes.n_rows, codes.n_features, n_threads, merged.data, control);
    }

    // Adds the Shapley values of the trees to values (n, p, S), and interactions to pairs (n, p, p, S) unless they are
    // null. Unknown features follow the covers of leaves or, unless it is null, a background; no path has more than
    // `most` features.
    template <class Code>
    void explain(const CodeColumns<Code>& codes, const StatesGiven& given, std::span<const double> covers,
                 const CodeColumns<Code>& background, std::size_t most, std::size_t n_threads,
                 const Box<double, 3>& values, const Box<double, 4>& pairs, Control& control) const {
        const std::size_t n = codes.n_rows, p = codes.n_features, width = given.states.n_columns;
        require(values.shape == std::array{n, p, width},
                "values must have one row per sample, one column per feature and the width of the states");
        require(!pairs.data || pairs.shape == std::array{n, p, p, width},
                "pairs must have one row per sample, features twice and the width of the states");
        require(!background.codes || background.n_features == p, "a background must have the features of the samples");
        const StateTable table = states_from(given);
        const WideCodes wide(codes), others(background);
        if (background.codes)
            explain_against(forest_, table, others.columns().codes, background.n_rows, wide.columns().codes, n, p,
                            n_threads, most, values.data, pairs.data, control);
        else
            explain_paths(forest_, covers.data(), table, wide.columns().codes, n, p, n_threads, values.data, pairs.data,
                          control);
    }
    // (leaves,): the probability of each leaf if nothing is known about a row, from the covers of the leaves.
    std::vector<double> leaf_shares(std::span<const double> covers) const {
        require(covers.size() == forest_.n_leaves(), "covers must have one number per leaf");
        std::vector<double> reached(covers.size());
        hedgerow::leaf_shares(forest_, covers.data(), reached.data());
        return reached;
    }

    // decrease (trees, groups): loss of quality of the predictions of each tree.
    template <class Code>
    void permute(const CodeColumns<Code>& codes, std::span<const std::uint16_t> labels, Worth worth, bool counted,
                 const Permuting& how, std::size_t n_threads, const Table<double>& decrease, Control& control) const {
        check_labels(labels, codes.n_rows);
        permute_by(ClassScorer{leaves_, labels.data(), worth, counted}, codes, how, n_threads, decrease, control);
    }
    // The same if leaves predict numbers (leaves,); quality is measured by the squared error.
    template <class Code>
    void permute_numbers(const CodeColumns<Code>& codes, std::span<const double> targets,
                         std::span<const double> predicted, const Permuting& how, std::size_t n_threads,
                         const Table<double>& decrease, Control& control) const {
        require(targets.size() == codes.n_rows && predicted.size() == forest_.n_leaves(),
                "targets must have one value per row, and predicted one per leaf");
        permute_by(RealScorer{predicted.data(), targets.data()}, codes, how, n_threads, decrease, control);
    }

    // gains (trees, p) of the splits on each feature, measured out of bag.
    template <class Code>
    void gains(const CodeColumns<Code>& codes, std::span<const std::uint16_t> labels, std::uint64_t seed,
               double bag_mean, const Units& units, std::size_t n_threads, const Table<double>& gains,
               Control& control) const {
        check_labels(labels, codes.n_rows);
        gain_by(Responses::of_classes(labels.data(), codes.n_rows, leaves_.n_classes), codes, seed, bag_mean, units,
                n_threads, gains, control);
    }
    template <class Code>
    void gains_numbers(const CodeColumns<Code>& codes, std::span<const double> targets, std::uint64_t seed,
                       double bag_mean, const Units& units, std::size_t n_threads, const Table<double>& gains,
                       Control& control) const {
        require(targets.size() == codes.n_rows, "targets must have one value per row");
        gain_by(Responses::of_numbers(targets.data(), codes.n_rows), codes, seed, bag_mean, units, n_threads, gains,
                control);
    }
    // first (trees, p): depth of the first split on each feature.
    void first_uses(std::span<const std::int64_t> depth, const Table<double>& first) const {
        require(first.n_rows == forest_.n_trees && depth.size() == forest_.n_trees,
                "depth and first must have one row per tree");
        hedgerow::first_uses(forest_, depth.data(), first.n_columns, first.data);
    }

private:
    static void require(bool condition, const char* otherwise) {
        if (!condition) throw std::invalid_argument(otherwise);
    }
    void check_labels(std::span<const std::uint16_t> labels, std::size_t n_rows) const {
        require(labels.size() == n_rows, "labels must have one value per row");
        for (const std::uint16_t label : labels)
            require(label < leaves_.n_classes, "labels must be classes of the forest");
    }
    template <class Code>
    void check_branching(const CodeColumns<Code>& codes, const Branching& branching) const {
        require(branching.covers.size() == static_cast<std::size_t>(forest_.node_start[forest_.n_trees]),
                "covers must have one number per node");
        require(branching.gapless.size() == codes.n_features, "gapless must have one value per feature");
    }
    static StateTable states_from(const StatesGiven& given) {
        return {given.states.data, given.states.n_columns, given.distinct,
                given.first_tree,  given.n_trees,          given.tree_weights};
    }

    template <class Scorer, class Code>
    void permute_by(const Scorer& scorer, const CodeColumns<Code>& codes, const Permuting& how, std::size_t n_threads,
                    const Table<double>& decrease, Control& control) const {
        const BaggedRows<Code> rows{codes.codes, codes.n_rows, codes.n_features, how.seed, how.bag_mean, how.units};
        const FeatureGroups groups{how.features.data(), how.start.data(), how.start.size() - 1};
        require(decrease.n_rows == forest_.n_trees && decrease.n_columns == groups.n_groups,
                "decrease must have one row per tree and one column per group");
        for (const std::int64_t feature : how.features)
            require(feature >= 0 && static_cast<std::size_t>(feature) < rows.n_features,
                    "groups must consist of features of the table");
        permute_oob(forest_, rows, groups, scorer, how.key, how.n_repeats, n_threads, decrease.data, control);
    }
    template <class Code>
    void gain_by(const Responses& responses, const CodeColumns<Code>& codes, std::uint64_t seed, double bag_mean,
                 const Units& units, std::size_t n_threads, const Table<double>& gains, Control& control) const {
        const BaggedRows<Code> rows{codes.codes, codes.n_rows, codes.n_features, seed, bag_mean, units};
        require(gains.n_rows == forest_.n_trees && gains.n_columns == rows.n_features,
                "gains must have one row per tree and one column per feature");
        gain_outside(forest_, rows, responses, n_threads, gains.data, control);
    }

    ForestView forest_;
    LeafView leaves_;
};

}  // namespace hedgerow
