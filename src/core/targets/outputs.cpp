// Outputs: the labels or numbers of several outputs -> the target of each, that of a table with this output alone.
#include "core/targets/targets.hpp"

namespace hedgerow {

std::vector<std::unique_ptr<OutputTarget>> outputs_for(const Several& several, const Given& given, std::size_t n_rows) {
    std::vector<std::unique_ptr<OutputTarget>> outputs;
    const auto keep = [&]<class Target>(const Target& target, const auto& source) {
        constexpr bool whole_side = requires { target.by_ratio(); };  // always needs a gain
        if (target.needs_gain()) throw std::invalid_argument("criterion must be gini or entropy for several outputs");
        if constexpr (!whole_side) outputs.push_back(std::make_unique<OutputOf<Target>>(target, source));
    };
    for (std::size_t number = 0; number < several.outputs.size(); ++number) {
        const Given own = Several::of_output(given, number);
        std::visit([&](const auto& source) { with_criterion(source, own, n_rows, keep); }, several.outputs[number]);
    }
    return outputs;
}

}  // namespace hedgerow
