// The searches by sums over the parts of a table.
#include "core/grow/sums.hpp"

namespace hedgerow {

std::unique_ptr<AnySumSearch> sum_search_for(const Given& target, const std::vector<Feature>& features, const GrowOptions& options,
                                             std::size_t n_rows) {
    return make_sum_search(target, features, options, n_rows);
}

}  // namespace hedgerow
