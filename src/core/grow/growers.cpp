// The searches and growers of all targets, as one file: most of what labels, numbers and several outputs need is the same.
#include "core/grow/growers.hpp"
#include "core/grow/sums.hpp"

namespace hedgerow {

template Fields grow_on(const Labels&, const ToGrow&);
template Fields grow_on(const Numbers&, const ToGrow&);
template Fields grow_on(const Several&, const ToGrow&);
template std::unique_ptr<AnySumSearch> sum_search_on(const Labels&, const Given&, const std::vector<Feature>&, const GrowOptions&, std::size_t);
template std::unique_ptr<AnySumSearch> sum_search_on(const Numbers&, const Given&, const std::vector<Feature>&, const GrowOptions&, std::size_t);
template std::unique_ptr<AnySumSearch> sum_search_on(const Several&, const Given&, const std::vector<Feature>&, const GrowOptions&, std::size_t);
template std::unique_ptr<OutputTarget> output_for(const Labels&, const Given&, std::size_t);
template std::unique_ptr<OutputTarget> output_for(const Numbers&, const Given&, std::size_t);

template Fields grow_forest(const CodeColumns<std::uint8_t>&, const Given&, const Given&, const Given&, const Given*,
                            const WhichTrees&, Control&);
template Fields grow_forest(const CodeColumns<std::uint16_t>&, const Given&, const Given&, const Given&, const Given*,
                            const WhichTrees&, Control&);

std::unique_ptr<AnySumSearch> sum_search_for(const Given& target, const std::vector<Feature>& features, const GrowOptions& options,
                                             std::size_t n_rows) {
    if (options.is_blind()) return std::make_unique<BlindSumSearch>(features, options);
    return with_source(target, [&](const auto& source) { return sum_search_on(source, target, features, options, n_rows); });
}

}  // namespace hedgerow
