// The growers of tables with codes of two bytes, and the searches by sums, which are made of the same parts.
#include "core/grow/growers.hpp"
#include "core/grow/sums.hpp"

namespace hedgerow {

template Fields grow_forest(const CodeColumns<std::uint16_t>&, const Given&, const Given&, const Given&, const Given*,
                            const WhichTrees&, Control&);

std::unique_ptr<AnySumSearch> sum_search_for(const Given& target, const std::vector<Feature>& features, const GrowOptions& options,
                                             std::size_t n_rows) {
    return make_sum_search(target, features, options, n_rows);
}

}  // namespace hedgerow
