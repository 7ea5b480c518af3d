// The searches and growers of all targets, as one file: most of what labels, real targets and several outputs need is the same.
#include "core/grow/growers.hpp"
#include "core/grow/sums.hpp"

namespace hedgerow {

template Fields grow_on(const ClassLabels&, const ToGrow&);
template Fields grow_on(const RealTargets&, const ToGrow&);
template Fields grow_on(const MultiOutput&, const ToGrow&);
template std::unique_ptr<AnySumSearch> sum_search_on(const ClassLabels&, const NamedValues&, const std::vector<Feature>&, const GrowOptions&, std::size_t);
template std::unique_ptr<AnySumSearch> sum_search_on(const RealTargets&, const NamedValues&, const std::vector<Feature>&, const GrowOptions&, std::size_t);
template std::unique_ptr<AnySumSearch> sum_search_on(const MultiOutput&, const NamedValues&, const std::vector<Feature>&, const GrowOptions&, std::size_t);
template std::unique_ptr<OutputTarget> output_for(const ClassLabels&, const NamedValues&, std::size_t);
template std::unique_ptr<OutputTarget> output_for(const RealTargets&, const NamedValues&, std::size_t);

template Fields grow_forest(const CodeColumns<std::uint8_t>&, const NamedValues&, const NamedValues&, const NamedValues&, const NamedValues*,
                            const WhichTrees&, Control&);
template Fields grow_forest(const CodeColumns<std::uint16_t>&, const NamedValues&, const NamedValues&, const NamedValues&, const NamedValues*,
                            const WhichTrees&, Control&);

std::unique_ptr<AnySumSearch> sum_search_for(const NamedValues& target, const std::vector<Feature>& features, const GrowOptions& options,
                                             std::size_t n_rows) {
    if (options.is_blind()) return std::make_unique<BlindSumSearch>(features, options);
    return with_source(target, [&](const auto& source) { return sum_search_on(source, target, features, options, n_rows); });
}

}  // namespace hedgerow
