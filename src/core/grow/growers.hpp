// Growers: a table, labels and a target -> many trees, on several threads.
//
// There are twenty targets, each for codes of one and of two bytes. Who defines HEDGEROW_GROWERS_ELSEWHERE leaves three
// quarters of them to growers.cpp, so that two cores share the work: 80 instead of 160 seconds for the package.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/grow/grow.hpp"
#include "core/kit/parallel.hpp"
#include "core/rows/codes.hpp"
#include "core/targets/criterion.hpp"
#include "core/targets/numbers.hpp"
#include "core/targets/classes.hpp"

namespace hedgerow {

// What to grow: trees by number or, where there are any, the parts of trees below some nodes.
struct GrowRequest {
    GrowOptions options;
    Labels labels;
    std::size_t first_tree = 0, n_trees = 0, n_threads = 1;
    std::vector<Start> starts;
};

template <class Code, class Target>
std::vector<std::optional<Grown>> grow_with(const CodeTable<Code>& table, const GrowRequest& request, const Target& target,
                                            Control& control) {
    const std::size_t n_tasks = request.starts.empty() ? request.n_trees : request.starts.size();
    std::vector<std::optional<Grown>> trees(n_tasks);
    std::vector<std::unique_ptr<Grower<Code, Target>>> growers(request.n_threads);
    run_tasks(n_tasks, request.n_threads, control, [&](std::size_t number, std::size_t thread) {
        if (!growers[thread])
            growers[thread] = std::make_unique<Grower<Code, Target>>(table, request.labels, request.options, target,
                                                                     control, thread == 0);
        trees[number] = request.starts.empty() ? growers[thread]->grow(request.first_tree + number)
                                               : growers[thread]->grow(request.starts[number]);
    });
    return trees;
}

// Every target, for `declare(Target)`: the rarer ones, and those of ordinary classifiers.
#define HEDGEROW_CLASS_TARGETS(declare, Criterion)  \
    declare(ClassPair<Criterion>)                   \
    declare(ClassVector<Criterion, CountedRow, 8>)  \
    declare(ClassVector<Criterion, WeightedRow, 2>) \
    declare(ClassList<Criterion, WeightedRow>)      \
    declare(ClassList<Criterion, CountedRow>)
#define HEDGEROW_RARER_TARGETS(declare)         \
    HEDGEROW_CLASS_TARGETS(declare, BeliefGain) \
    declare(ClassList<WholeSide, WeightedRow>)  \
    declare(ClassList<WholeSide, CountedRow>)   \
    declare(Moments<SquaredError>)              \
    declare(Moments<Poisson>)                   \
    declare(Medians)
#define HEDGEROW_TARGETS(declare)            \
    HEDGEROW_RARER_TARGETS(declare)          \
    HEDGEROW_CLASS_TARGETS(declare, Gini)    \
    HEDGEROW_CLASS_TARGETS(declare, Entropy)

// One instantiation each, and what says that it is elsewhere.
#define HEDGEROW_GROW(Code, ...) \
    template std::vector<std::optional<Grown>> grow_with(const CodeTable<Code>&, const GrowRequest&, const __VA_ARGS__&, Control&);
#define HEDGEROW_GROW_WORDS(...) HEDGEROW_GROW(std::uint16_t, __VA_ARGS__)
#define HEDGEROW_GROW_BYTES(...) HEDGEROW_GROW(std::uint8_t, __VA_ARGS__)
#define HEDGEROW_WORDS_ELSEWHERE(...) extern HEDGEROW_GROW_WORDS(__VA_ARGS__)
#define HEDGEROW_BYTES_ELSEWHERE(...) extern HEDGEROW_GROW_BYTES(__VA_ARGS__)

#ifdef HEDGEROW_GROWERS_ELSEWHERE
HEDGEROW_TARGETS(HEDGEROW_WORDS_ELSEWHERE)
HEDGEROW_RARER_TARGETS(HEDGEROW_BYTES_ELSEWHERE)
#endif

}  // namespace hedgerow
