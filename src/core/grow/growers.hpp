// Growers: a table and a target -> a forest, on several threads.
//
// There are twenty targets, each searched for codes of one and of two bytes; bytes.cpp and words.cpp are compiled in parallel.
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
#include "core/kit/parallel.hpp"
#include "core/rows/codes.hpp"
#include "core/targets/targets.hpp"

namespace hedgerow {

// A search for each thread.
template <class Code, class Row>
using MakeSearch = std::function<std::unique_ptr<NodeSearch<Code, Row>>()>;

// The searches for a target; table, options and target must live as long as they do.
template <class Code, class Target>
MakeSearch<Code, typename Target::Row> searches_for(const CodeTable<Code>& table, const GrowOptions& options, const Target& target) {
    return [&] { return std::make_unique<RowSearch<Code, Target>>(table.features, options, target); };
}

// Grows trees by their numbers or, if nodes are given, the parts of trees below them.
template <class Code, class Row, class Source>
auto grow_trees(const CodeTable<Code>& table, const Source& source, const GrowOptions& options, const std::vector<Start>& starts,
                const WhichTrees& which, const MakeSearch<Code, Row>& make_search, Control& control) {
    using OneGrower = Grower<Code, Row, Source>;
    const std::size_t n_tasks = starts.empty() ? which.n_trees : starts.size();
    std::vector<std::optional<Grown<typename OneGrower::Leaves>>> trees(n_tasks);
    std::vector<std::unique_ptr<OneGrower>> growers(which.n_threads);
    run_tasks(n_tasks, which.n_threads, control, [&](std::size_t number, std::size_t thread) {
        if (!growers[thread])
            growers[thread] = std::make_unique<OneGrower>(table, source, options, make_search(), control, thread == 0);
        trees[number] = starts.empty() ? growers[thread]->grow(which.first_tree + number) : growers[thread]->grow(starts[number]);
    });
    return trees;
}

template <class Code>
Fields grow_forest(const CodeColumns<Code>& codes, const Given& bins, const Given& target, const Given& given,
                   const Given* below, const WhichTrees& which, Control& control) {
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
    return with_target(target, table.n_rows, [&](const auto& chosen, const auto& source) {
        source.check(table.n_rows);
        const auto searches = searches_for(table, options, chosen);
        return pack_trees(grow_trees(table, source, options, starts, which, searches, control), source, options.leaf_rules());
    });
}

}  // namespace hedgerow
