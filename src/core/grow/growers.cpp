// Searches and growers of all sources (targets/sources.hpp), in one translation unit because they share most code.
#include "core/grow/growers.hpp"
#include "core/grow/sums.hpp"

namespace hedgerow {

template Fields grow_forest(const CodeColumns<std::uint8_t>&, const NamedValues&, const NamedValues&,
                            const NamedValues&, const NamedValues*, const WhichTrees&, Control&);
template Fields grow_forest(const CodeColumns<std::uint16_t>&, const NamedValues&, const NamedValues&,
                            const NamedValues&, const NamedValues*, const WhichTrees&, Control&);

std::unique_ptr<AnySumSearch> sum_search_for(const NamedValues& target, const std::vector<Feature>& features,
                                             const GrowOptions& options, std::size_t n_rows) {
    if (options.is_blind()) return std::make_unique<BlindSumSearch>(features, options);
    return with_source(target,
                       [&](const auto& source) { return sum_search_on(source, target, features, options, n_rows); });
}

}  // namespace hedgerow
