// Sources: the types of targets on which a forest can be grown.
//
// A source holds y of the rows of a table. A new type is one header, its #include below, and its name in `Sources`:
// reading it by name, growers, searches over parts of a table and multi-output follow from that list.
//
// The header defines the source, which satisfies `TargetSource`. Python passes a dictionary with the `kind` of the
// source, and `from` reads it.
//
// It defines at least one type of row, which a grower keeps for each row of a node, in 8, 16 or 24 bytes of which
// `offset` is the first four (CountedRow, WeightedRow, RealRow).
//
// It defines a builder, which collects the rows of one leaf after another, and its `Leaves`, which are the arrays of a
// forest (LeafCountsBuilder, LeafMomentsBuilder).
//
// It defines at least one split target for this source and row, which scores the two sides of a split; see target.hpp.
//
// It defines with_criterion(source, values, n_rows, visit), which calls visit(target, source) with the split target for
// the "criterion" of the values. Argument-dependent lookup finds it.
//
// A source whose leaves count rows by class or cell can derive from ClassLabels, and then has rows, builder and sums
// already: it needs its own `kind`, `from`, split target and with_criterion.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/kit/named_values.hpp"
#include "core/kit/type_list.hpp"
#include "core/rows/bag.hpp"
#include "core/targets/class_criteria.hpp"
#include "core/targets/real_targets.hpp"
#include "core/targets/survival.hpp"
#include "core/targets/target.hpp"

namespace hedgerow {

// Leaves of a tree, then of a forest, and the builder of those of a tree.
template <class Leaves>
concept LeafArrays = requires(Leaves leaves, const Leaves& more, std::size_t size) {
    leaves.reserve(size);
    { more.size() } -> std::convertible_to<std::size_t>;
    { more.n_values() } -> std::convertible_to<std::uint32_t>;  // per leaf: classes, or one
    leaves.append(more);
    { std::move(leaves).fields() } -> std::same_as<Fields>;
};
template <class Builder>
concept LeafCollector =
    LeafArrays<typename Builder::Leaves> && requires(Builder builder, const Taken& taken, const BagTimes& bag) {
        { builder.open_leaf() } -> std::same_as<std::uint32_t>;
        builder.add(taken, bag);       // a row of the table; growers add their own rows
        builder.close_leaf(0.0, 1.0);  // bounds of the share or place, from monotonic constraints
        { builder.finish() } -> std::same_as<typename Builder::Leaves>;
    };

template <class Source>
concept TargetSource = requires(const Source& source, const NamedValues& values, std::size_t row, const double* cells) {
    { std::string_view(Source::kind) };  // its name in Python
    { Source::from(values) } -> std::same_as<Source>;
    source.check(row);  // throws unless it matches a table of this many rows
    { source.n_entries } -> std::convertible_to<std::size_t>;
    requires LeafCollector<typename Source::LeafBuilder>;
    requires std::constructible_from<typename Source::LeafBuilder, const Source&, const LeafRules&>;
    // For multi-output: whether every row has one entry, whose weight is the same in all trees; its weight in whole
    // units; whether two rows have equal targets.
    { source.is_plain() } -> std::same_as<bool>;
    { source.row_amount(row) } -> std::same_as<std::int64_t>;
    { source.rows_alike(row, row) } -> std::same_as<bool>;
    // For tables in parts: whether the leaves of parts can be added (then its builder has add_counts); and, for sums of
    // some rows in cells, the number of cells, the weight, whether targets are equal, the share or place, and factors
    // that balance classes.
    { Source::leaves_add_up } -> std::convertible_to<bool>;
    { source.n_cells() } -> std::same_as<std::size_t>;
    { source.amount_of(cells) } -> std::same_as<std::int64_t>;
    { source.is_pure(cells) } -> std::same_as<bool>;
    { source.share_of(cells) } -> std::same_as<double>;
    { source.balance_of(cells) } -> std::same_as<std::vector<double>>;
};

using Sources = TypeList<ClassLabels, RealTargets, SurvivalCells>;

// Calls `visit` with the source of the named kind.
template <class First, class... Rest, class Visit>
auto with_source_among(TypeList<First, Rest...>, const NamedValues& values, Visit&& visit) {
    if (values.word("kind") == First::kind) return visit(First::from(values));
    if constexpr (sizeof...(Rest) > 0) return with_source_among(TypeList<Rest...>{}, values, visit);
    else throw std::invalid_argument("kind must be that of a target, got '" + values.word("kind") + "'");
}

// Every source satisfies the concept, and no two have the same kind.
template <class... Each>
constexpr bool are_sources(TypeList<Each...>) {
    const std::string_view kinds[] = {Each::kind...};
    bool differ = (TargetSource<Each> && ...);
    for (std::size_t i = 0; i < sizeof...(Each); ++i)
        for (std::size_t j = 0; j < i; ++j) differ = differ && kinds[i] != kinds[j];
    return differ;
}
static_assert(are_sources(Sources{}));

}  // namespace hedgerow
