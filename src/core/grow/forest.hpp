// Declarations for callers that grow a forest without compiling a grower.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/kit/named_values.hpp"
#include "core/kit/parallel.hpp"
#include "core/rows/codes.hpp"

namespace hedgerow {

struct WhichTrees {
    std::size_t first_tree = 0, n_trees = 0, n_threads = 1;
};

// Grows a forest from codes and, by name, bins, target and options; with `below`, the subtrees below nodes that were
// reached elsewhere. Defined in growers.hpp.
template <class Code>
Fields grow_forest(const CodeColumns<Code>& codes, const NamedValues& bins, const NamedValues& target,
                   const NamedValues& given, const NamedValues* below, const WhichTrees& which, Control& control);

extern template Fields grow_forest(const CodeColumns<std::uint8_t>&, const NamedValues&, const NamedValues&,
                                   const NamedValues&, const NamedValues*, const WhichTrees&, Control&);
extern template Fields grow_forest(const CodeColumns<std::uint16_t>&, const NamedValues&, const NamedValues&,
                                   const NamedValues&, const NamedValues*, const WhichTrees&, Control&);

}  // namespace hedgerow
