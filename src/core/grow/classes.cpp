// The searches and growers of tables with labels.
#include "core/grow/growers.hpp"
#include "core/grow/sums.hpp"

namespace hedgerow {

template Fields grow_on(const Labels&, const ToGrow&);
template std::unique_ptr<AnySumSearch> sum_search_on(const Labels&, const Given&, const std::vector<Feature>&, const GrowOptions&, std::size_t);
template std::unique_ptr<OutputTarget> output_for(const Labels&, const Given&, std::size_t);

}  // namespace hedgerow
