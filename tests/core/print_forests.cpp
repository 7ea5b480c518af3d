// Print forests: random tables -> the nodes of trees grown on them, a line each.
//
// Compiled as the compiler can, with HEDGEROW_NARROW and with HEDGEROW_PORTABLE, it must print the same.
#include <cstdint>
#include <cstdio>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/grow/growers.hpp"
#include "core/targets/sources.hpp"

using namespace hedgerow;

namespace {

constexpr std::uint32_t n_features = 7, n_bins = 40;

template <class Code, class Make>
void print_trees(const char* name, const Make& make, std::uint32_t n_classes, std::uint32_t n_rows) {
    Draws draws(n_rows);
    std::vector<Code> codes(n_rows * n_features);
    std::vector<std::uint16_t> labels(n_rows);
    std::vector<std::int64_t> weights(n_rows);
    std::vector<double> values(n_rows), centers(n_bins);
    for (std::uint32_t bin = 0; bin < n_bins; ++bin) centers[bin] = bin;
    for (Code& code : codes) code = static_cast<Code>(draws.below(n_bins));
    for (std::uint32_t row = 0; row < n_rows; ++row) {
        labels[row] = static_cast<std::uint16_t>((draws.below(n_classes) + codes[row] / 8) % n_classes);
        weights[row] = std::int64_t{1} + draws.below(0xffffffff);  // whose squares add up to more than 64 bits
        values[row] = draws.below(1000) + 30.0 * codes[row];
    }
    CodeTable<Code> table;
    table.by_column = {codes.data(), 1, n_rows};
    table.n_rows = n_rows;
    for (std::uint32_t feature = 0; feature < n_features; ++feature)
        table.features.push_back({n_bins, false, centers.data(), false});
    RealTargets real;
    real.values = real.sums = values.data();
    real.high = 4000;
    GrowOptions options;
    options.max_features = 3;
    options.bag_mean = 1;
    ClassLabels given{labels.data(), weights.data()};
    given.n_classes = n_classes;
    given.weighted = true;
    Control control;
    const auto target = make(real);
    using Target = std::remove_const_t<decltype(target)>;
    const auto source = std::get<const typename Target::Source&>(std::tie(std::as_const(given), std::as_const(real)));
    Grower<typename Target::Row, typename Target::Source> grower(table, source, options,
                                                                 searches_for(table, target)(options), control, true);
    for (std::size_t tree = 0; tree < 3; ++tree) {
        std::printf("%s, %u classes, %u rows:", name, n_classes, n_rows);
        for (const Node node : grower.grow(tree).tree.nodes)
            std::printf(" %016llx", static_cast<unsigned long long>(node.bits()));
        std::printf("\n");
    }
}

}  // namespace

int main() {
    for (const std::uint32_t n_rows : {3, 16, 60, 300, 6000}) {
        print_trees<std::uint8_t>("counts", [](const RealTargets&) { return ClassPair<Gini>({}, 2); }, 2, n_rows);
        print_trees<std::uint8_t>("counts", [](const RealTargets&) { return ClassVector<Gini, CountedRow, 8>({}, 3); },
                                  3, n_rows);
        print_trees<std::uint16_t>("counts", [](const RealTargets&) { return ClassVector<Gini, CountedRow, 8>({}, 7); },
                                   7, n_rows);
        print_trees<std::uint8_t>(
            "weights", [](const RealTargets&) { return ClassVector<Gini, WeightedRow, 2>({}, 2); }, 2, n_rows);
        print_trees<std::uint8_t>("weights", [](const RealTargets&) { return ClassList<Gini, WeightedRow>({}, 5); }, 5,
                                  n_rows);
        print_trees<std::uint8_t>("numbers", [](const RealTargets& given) { return Moments<SquaredError>(given); }, 1,
                                  n_rows);
    }
    for (const std::int64_t value :
         {0LL, 1LL, -3LL, 4294967295LL, 4294967297LL, 6074001001LL, 9223372036854775807LL, -9223372036854775807LL - 1})
        std::printf("%lld: %a\n", static_cast<long long>(value), static_cast<double>(wide_square(value)));
    return 0;
}
