// Growth of a forest on several threads.
//
// Each split target has its own search; searches are compiled in growers.cpp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/grow/forest.hpp"
#include "core/grow/grow.hpp"
#include "core/grow/pack.hpp"
#include "core/kit/attributes.hpp"
#include "core/kit/parallel.hpp"
#include "core/rows/codes.hpp"
#include "core/targets/multi_output.hpp"

namespace hedgerow {

// One search per thread and kind of tree.
template <class Row>
using MakeSearch = std::function<std::unique_ptr<NodeSearch<Row>>(const GrowOptions&)>;

// The searches for a target; the features of the table, options and target must outlive them.
template <class Target>
MakeSearch<typename Target::Row> searches_for(const AnyTable& table, const Target& target) {
    return [&features = table.features, wide = table.wide, &target](const GrowOptions& options) {
        return std::make_unique<RowSearch<Target>>(features, wide, options, target);
    };
}

// Grows trees by number or, if nodes are given, the subtrees below them.
template <class Row, class Source>
HEDGEROW_NOINLINE auto grow_trees(const AnyTable& table, const Source& source, const std::vector<GrowOptions>& kinds,
                                  const std::vector<Start>& starts, const WhichTrees& which,
                                  const MakeSearch<Row>& make_search, Control& control) {
    using OneGrower = Grower<Row, Source>;
    const std::size_t n_tasks = starts.empty() ? which.n_trees : starts.size();
    std::vector<std::optional<Grown<typename OneGrower::Leaves>>> trees(n_tasks);
    std::vector<std::unique_ptr<OneGrower>> growers(which.n_threads * kinds.size());
    run_tasks(n_tasks, which.n_threads, control, [&](std::size_t number, std::size_t thread) {
        const std::size_t kind = (which.first_tree + number) % kinds.size();
        std::unique_ptr<OneGrower>& grower = growers[thread * kinds.size() + kind];
        if (!grower) {
            const GrowOptions& options = kinds[kind];
            grower = std::make_unique<OneGrower>(table, source, options, make_search(options), control, thread == 0);
        }
        trees[number] = starts.empty() ? grower->grow(which.first_tree + number) : grower->grow(starts[number]);
    });
    return trees;
}

struct ToGrow {
    const AnyTable& table;
    const NamedValues& target;
    const GrowOptions& options;
    const std::vector<Start>& starts;
    const WhichTrees& which;
    Control& control;
};

// Grows a forest on a source, and returns its arrays.
template <class Source>
HEDGEROW_NOINLINE Fields grow_on(const Source& source, const ToGrow& job) {
    source.check(job.table.n_rows);
    return with_criterion(source, job.target, job.table.n_rows, [&]<class Target>(const Target& target, const Source&) {
        const MakeSearch<typename Target::Row> searches = searches_for(job.table, target);
        const std::vector<GrowOptions> kinds = job.options.kinds(job.table.features.size());
        return pack_trees(grow_trees(job.table, source, kinds, job.starts, job.which, searches, job.control), source,
                          job.options.leaf_rules());
    });
}

template <class Code>
Fields grow_forest(const CodeColumns<Code>& codes, const NamedValues& bins, const NamedValues& target,
                   const NamedValues& given, const NamedValues* below, const WhichTrees& which, Control& control) {
    const GrowOptions options = GrowOptions::from(given);
    CodeTable<Code> table = table_from(codes, bins);
    std::vector<Start> starts;
    if (below != nullptr) {
        starts = Start::all_from(*below, table.n_rows);
        table.tell_missing(below->array<std::uint8_t>("has_missing", table.features.size()));
    } else {
        table.note_missing();
    }
    std::vector<Code> by_row;
    table.lay_out(by_row);
    return with_source(
        target, [&](const auto& source) { return grow_on(source, {table, target, options, starts, which, control}); });
}

}  // namespace hedgerow
