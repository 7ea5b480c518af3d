// Drive core: random tables -> bins, forests and readings, for a sanitizer to look on.
//
// Nothing here knows of Python. Every target, criterion, splitter, sense of counting and width of codes is
// grown and read; what must hold of any forest is checked on the way, the rest is the sanitizer's business.
// The argument says what: bytes and Gini, or words and entropy. One program has both, because most of what a compiler
// does is the same for both: 37 CPU seconds instead of 54.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "core/grow/growers.hpp"
#include "core/read/importance.hpp"
#include "core/read/oob.hpp"
#include "core/read/proximity.hpp"
#include "core/read/read.hpp"
#include "core/read/validate.hpp"
#include "core/rows/bins.hpp"
#include "core/rows/encode.hpp"
#include "drive_top.hpp"

using namespace hedgerow;

namespace {

#define CHECK(condition)                                                          \
    do {                                                                          \
        if (!(condition)) {                                                       \
            std::printf("%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
            std::exit(1);                                                         \
        }                                                                         \
    } while (0)

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

// ---- bins -----------------------------------------------------------------------------------------------

template <class Code>
void drive_bins(Draws& draws, std::size_t max_bins) {
    const double odd[] = {0.0, -0.0, infinity, -infinity, nan_value, 5e-324, -5e-324, 1e308, -1e308, 1.0, 1e-310};
    const std::size_t n_rows = 1 + draws.below(2000);
    std::vector<double> values(n_rows);
    for (double& value : values) value = draws.coin() ? odd[draws.below(11)] : draws.unit() - 0.5;
    const Column column{reinterpret_cast<const char*>(values.data()), sizeof(double), Column::Type::float64, n_rows};
    const std::vector<std::uint32_t> rows = rows_for_cuts(n_rows, 1000, 0, n_rows);
    NumericBins bins;
    find_bins<double>({&column, 1}, rows, max_bins, false, &bins);
    CHECK(bins.centers.size() == bins.cuts.size() + 1 && bins.centers.size() <= max_bins);
    std::vector<Code> codes(n_rows), in_buckets(n_rows);
    Encoder<Code>(bins.cuts.data(), bins.cuts.size(), 0).encode(column, 0, n_rows, codes.data());
    Encoder<Code>(bins.cuts.data(), bins.cuts.size(), 1U << 20).encode(column, 0, n_rows, in_buckets.data());
    CHECK(codes == in_buckets);
    for (std::size_t row = 0; row < n_rows; ++row) {
        CHECK(codes[row] == code_among<Code>(bins.cuts.data(), bins.cuts.size(), values[row]));
        if (std::isnan(values[row])) {
            CHECK(codes[row] == missing_code<Code>);
            continue;
        }
        CHECK(codes[row] < bins.centers.size());
        CHECK(codes[row] == 0 || bins.cuts[codes[row] - 1] < values[row]);
        CHECK(codes[row] == bins.cuts.size() || values[row] <= bins.cuts[codes[row]]);
    }
}

// Floats have shorter keys, and columns that are read together lie between each other; the bins are those of one column
// of doubles.
void drive_bins_of_floats(Draws& draws) {
    const float odd[] = {0.0F, -0.0F, HUGE_VALF, -HUGE_VALF, std::nanf(""), 1e-45F, -1e-45F, 3e38F, -3e38F, 1.0F};
    const std::size_t n_rows = 1 + draws.below(2000), n_columns = 1 + draws.below(5);
    std::vector<float> values(n_rows * n_columns);
    for (float& value : values) value = draws.coin() ? odd[draws.below(10)] : static_cast<float>(draws.unit() - 0.5);
    std::vector<Column> columns;
    columns.reserve(n_columns);
    for (std::size_t i = 0; i < n_columns; ++i)
        columns.push_back({reinterpret_cast<const char*>(values.data() + i),
                           static_cast<std::ptrdiff_t>(n_columns * sizeof(float)), Column::Type::float32, n_rows});
    const std::vector<std::uint32_t> rows = rows_for_cuts(n_rows, 1000, 0, n_rows);
    std::vector<NumericBins> found(n_columns);
    const bool gaps = draws.coin();
    find_bins<float>(columns, rows, 255, gaps, found.data());
    for (std::size_t i = 0; i < n_columns; ++i) {
        std::vector<double> wide(n_rows);
        for (std::size_t row = 0; row < n_rows; ++row) wide[row] = values[row * n_columns + i];
        const Column column{reinterpret_cast<const char*>(wide.data()), sizeof(double), Column::Type::float64, n_rows};
        NumericBins bins;
        find_bins<double>({&column, 1}, rows, 255, gaps, &bins);
        CHECK(found[i].cuts == bins.cuts && found[i].centers == bins.centers);
    }
}

// ---- tables ---------------------------------------------------------------------------------------------

// A table of random codes and labels, and the memory behind its views.
template <class Code>
struct RandomTable {
    std::vector<Code> by_column, by_row;
    std::vector<std::vector<double>> centers;
    std::vector<std::uint16_t> labels;
    std::vector<std::int64_t> weights;
    CodeTable<Code> table;
    bool has_nominal = false;

    RandomTable(Draws& draws, std::size_t n_rows, std::uint32_t n_features, std::uint32_t n_classes,
                bool laid_out_by_row)
        : by_column(n_rows * n_features), labels(n_rows), weights(n_rows) {
        for (std::uint32_t feature = 0; feature < n_features; ++feature) add_feature(draws, n_rows, feature);
        for (std::size_t row = 0; row < n_rows; ++row) {
            labels[row] = static_cast<std::uint16_t>((draws.below(n_classes) + by_column[row] % 3) % n_classes);
            weights[row] = 1 + draws.below(draws.coin() ? 3 : 1 << 20);
        }
        table.by_column = {by_column.data(), 1, n_rows};
        table.n_rows = n_rows;
        if (!laid_out_by_row) return;
        const std::size_t stride = padded_width<Code>(n_features);
        by_row.resize(n_rows * stride);
        transpose_codes(by_column.data(), n_rows, n_features, n_rows, by_row.data(), stride);
        table.by_row = {by_row.data(), stride, 1};
        if (draws.coin()) table.note_missing();
    }

    ClassLabels labelled(std::uint32_t n_classes, bool weighted) const {
        return {labels.data(), weighted ? weights.data() : nullptr,
                nullptr,       labels.size(),
                n_classes,     weighted ? 0.25 : 1.0,
                weighted,      false};
    }
    // Rows that may be of several classes: up to three entries each, that share the row's weight.
    ClassLabels with_several(Draws& draws, std::uint32_t n_classes) {
        for (std::uint32_t row = 0; row < labels.size(); ++row)
            for (std::uint32_t i = 0, n = 1 + draws.below(std::min(3U, n_classes)); i < n; ++i) {
                rows_of.push_back(row);
                labels_of.push_back(static_cast<std::uint16_t>((labels[row] + i) % n_classes));
                weights_of.push_back(1 + weights[row] / n);
            }
        return {labels_of.data(), weights_of.data(), rows_of.data(), rows_of.size(), n_classes, 0.25, true, false};
    }

private:
    std::vector<std::uint32_t> rows_of;
    std::vector<std::uint16_t> labels_of;
    std::vector<std::int64_t> weights_of;

    void add_feature(Draws& draws, std::size_t n_rows, std::uint32_t feature) {
        const std::uint32_t widest = sizeof(Code) == 1 ? 255 : 65535;
        const std::uint32_t choices[] = {1, 2, 5, 70, widest};
        const std::uint32_t n_bins = choices[draws.below(5)];
        const bool nominal = n_bins > 1 && draws.below(3) == 0;
        const std::uint32_t one_missing_in = draws.coin() ? 0 : 2 + draws.below(10);
        std::vector<double> centre(n_bins);
        for (std::uint32_t bin = 0; bin < n_bins; ++bin) centre[bin] = bin * bin * 0.5;
        if (n_bins > 2 && draws.coin()) centre.front() = -infinity, centre.back() = infinity;
        centers.push_back(std::move(centre));
        for (std::size_t row = 0; row < n_rows; ++row) {
            const bool missing = one_missing_in > 0 && draws.below(one_missing_in) == 0;
            by_column[feature * n_rows + row] = missing ? missing_code<Code> : static_cast<Code>(draws.below(n_bins));
        }
        // A vector that is moved keeps its memory, so the pointer stays right as `centers` grows.
        table.features.push_back({n_bins, nominal, nominal ? nullptr : centers.back().data()});
        has_nominal |= nominal;
    }
};

GrowOptions random_options(Draws& draws, std::uint32_t n_features, std::uint32_t n_classes, Splitter splitter,
                           const std::vector<Feature>& features) {
    GrowOptions options;
    options.splitter = splitter;
    options.max_features = 1 + draws.below(n_features);
    options.bag_mean = splitter == Splitter::random_decision || draws.below(4) == 0 ? 0.0 : (draws.coin() ? 1.0 : 0.3);
    options.count_sense = static_cast<CountSense>(draws.below(options.bag_mean > 0 ? 4 : 3));
    if (draws.below(4) == 0) options.max_depth = draws.below(6);
    if (draws.below(4) == 0) options.min_samples_split = 2 + draws.below(20);
    if (draws.below(4) == 0) options.min_samples_leaf = 1 + draws.below(8);
    if (draws.below(4) == 0) options.min_weight_fraction_leaf = draws.unit() / 4;
    if (draws.below(4) == 0) options.min_impurity_decrease = draws.unit() / 50;
    if (draws.below(4) == 0 && splitter != Splitter::random_decision) options.max_leaf_nodes = 2 + draws.below(12);
    options.seed = draws.next();
    if (options.seed % 4 == 0) options.min_gain = static_cast<double>(options.seed % 1000) / 50000;
    if (n_classes <= 2 && splitter != Splitter::random_decision && draws.below(3) == 0)
        for (const Feature& feature : features)
            options.monotonic.push_back(
                feature.nominal ? 0 : static_cast<std::int8_t>(static_cast<int>(draws.below(3)) - 1));
    return options;
}

// ---- forests --------------------------------------------------------------------------------------------

// The arrays of a forest, by name.
struct Packed {
    std::vector<Node> nodes;
    std::vector<std::int32_t> payload;
    std::vector<std::uint64_t> set_words;
    std::vector<std::int64_t> node_start, leaf_start, set_start, entry_start, depth;
    std::vector<std::uint32_t> counts;
    std::vector<std::uint16_t> entry_class;
    std::vector<double> weights;

    explicit Packed(Fields&& fields) {
        std::vector<std::uint64_t> bits;
        for (Field& field : fields) {
            const auto is = [&](const char* name, auto& member) {
                if (field.name == name && field.values.index() != 0)
                    member = std::get<std::decay_t<decltype(member)>>(std::move(field.values));
            };
            is("nodes", bits), is("payload", payload), is("set_words", set_words), is("node_start", node_start);
            is("leaf_start", leaf_start), is("set_start", set_start), is("entry_start", entry_start),
                is("depth", depth);
            is("counts", counts), is("entry_class", entry_class), is("weights", weights);
        }
        nodes.resize(bits.size());
        std::memcpy(static_cast<void*>(nodes.data()), bits.data(), bits.size() * sizeof(Node));
        CHECK(nodes.size() == payload.size() && (weights.empty() || weights.size() == counts.size()));
    }
    ForestView forest(bool has_nominal) const {
        return {nodes.data(),      payload.data(),   set_words.data(),      node_start.data(),
                leaf_start.data(), set_start.data(), node_start.size() - 1, has_nominal};
    }
    LeafView leaves(std::uint32_t n_classes) const {
        const bool dense = n_classes <= LeafCounts::dense_classes;
        return {n_classes, counts.data(), dense ? nullptr : entry_start.data(), dense ? nullptr : entry_class.data(),
                weights.empty() ? nullptr : weights.data()};
    }
};

// Leaves of one number hold the same, and the shares of distinct leaves have the mean of the leaves themselves.
template <class Code>
void check_distinct(const ForestView& forest, const LeafView& leaves, const RandomTable<Code>& made,
                    std::size_t n_threads, const std::vector<double>& probability) {
    if (leaves.weights != nullptr) return;
    const std::size_t n_leaves = static_cast<std::size_t>(forest.leaf_start[forest.n_trees]);
    std::vector<std::int32_t> distinct(n_leaves);
    Control control;
    const std::vector<std::int64_t> examples = find_distinct(forest, leaves, n_threads, distinct.data(), control);
    const auto shares_of = [&](std::int64_t leaf, double* shares) {
        std::fill(shares, shares + leaves.n_classes, 0.0);
        return add_shares(leaves, leaf, shares);
    };
    std::vector<double> shares(examples.size() * leaves.n_classes), own(leaves.n_classes);
    bool filled = true;
    for (std::size_t i = 0; i < examples.size(); ++i)
        filled &= shares_of(examples[i], shares.data() + i * leaves.n_classes);
    for (std::size_t leaf = 0; leaf < n_leaves; ++leaf) {
        shares_of(static_cast<std::int64_t>(leaf), own.data());
        CHECK(std::equal(own.begin(), own.end(),
                         shares.data() + static_cast<std::size_t>(distinct[leaf]) * leaves.n_classes));
    }
    if (!filled) return;
    std::vector<double> mean(probability.size());
    const StateTable table{shares.data(), leaves.n_classes, distinct.data(), 0, forest.n_trees, nullptr};
    average_states(forest, leaves, table, made.by_column.data(), made.table.n_rows, made.table.n_features(), n_threads,
                   mean.data(), control);
    CHECK(mean == probability);
}

// Out of bag, shares sum to one or are unknown; a row that is left out of its leaf does not change that.
template <class Code>
void check_outside(const ForestView& forest, const LeafView& leaves, const RandomTable<Code>& made,
                   std::size_t n_threads) {
    const std::size_t n_rows = made.table.n_rows;
    std::vector<std::int64_t> rows(n_rows);
    for (std::size_t row = 0; row < n_rows; ++row) rows[row] = static_cast<std::int64_t>(row);
    std::vector<std::uint16_t> labels(n_rows);
    for (std::size_t row = 0; row < n_rows; ++row) labels[row] = static_cast<std::uint16_t>(row % leaves.n_classes);
    std::vector<double> shares(n_rows * leaves.n_classes);
    Control control;
    for (const std::uint16_t* own :
         {static_cast<const std::uint16_t*>(nullptr), static_cast<const std::uint16_t*>(labels.data())}) {
        average_oob(forest, leaves, OobRows{rows.data(), n_rows, 7, 1.0, own}, made.by_column.data(), n_rows,
                    made.table.n_features(), n_threads, shares.data(), control);
        for (std::size_t row = 0; row < n_rows; ++row) {
            double sum = 0;
            for (std::uint32_t k = 0; k < leaves.n_classes; ++k) sum += shares[row * leaves.n_classes + k];
            CHECK(std::isnan(sum) || std::fabs(sum - 1) < 1e-9);
        }
    }
}

template <class Code>
void check_readings(const Packed& packed, const RandomTable<Code>& made, std::uint32_t n_classes,
                    std::size_t n_threads) {
    const std::size_t n_rows = made.table.n_rows, n_features = made.table.n_features(),
                      n_trees = packed.node_start.size() - 1;
    const ForestView forest = packed.forest(made.has_nominal);
    Control control;
    std::vector<std::int32_t> nodes(n_rows * n_trees), leaves(n_rows * n_trees);
    find_leaves(forest, made.by_column.data(), n_rows, n_features, n_threads, true, nodes.data(), control);
    find_leaves(forest, made.by_column.data(), n_rows, n_features, n_threads, false, leaves.data(), control);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const TreeView tree = forest.tree(i % n_trees);
        CHECK(tree.nodes[nodes[i]].is_leaf(static_cast<std::uint32_t>(nodes[i])));
        CHECK(tree.payload[nodes[i]] == leaves[i]);
    }
    std::vector<double> probability(n_rows * n_classes);
    average_shares(forest, packed.leaves(n_classes), made.by_column.data(), n_rows, n_features, n_threads,
                   probability.data(), control);
    for (std::size_t row = 0; row < n_rows; ++row) {
        double sum = 0;
        for (std::uint32_t k = 0; k < n_classes; ++k) sum += probability[row * n_classes + k];
        CHECK(std::fabs(sum - 1) < 1e-9);
    }
    check_distinct(forest, packed.leaves(n_classes), made, n_threads, probability);
    check_outside(forest, packed.leaves(n_classes), made, n_threads);
}

// Importances are shares, or NaN where a bag has left no row out; depths of first use are depths.
template <class Code>
void check_importances(const Packed& packed, const RandomTable<Code>& made, std::uint32_t n_classes,
                       std::size_t n_threads) {
    const std::size_t n_rows = made.table.n_rows, n_features = made.table.n_features(),
                      n_trees = packed.node_start.size() - 1;
    const ForestView forest = packed.forest(made.has_nominal);
    const LeafView leaves = packed.leaves(n_classes);
    const BaggedRows<Code> rows{made.by_column.data(), n_rows, n_features, 5, 1.0};
    std::vector<std::int64_t> features, start{0};  // each by itself, then all together
    for (std::size_t j = 0; j < n_features; ++j)
        features.push_back(static_cast<std::int64_t>(j)), start.push_back(start.back() + 1);
    for (std::size_t j = 0; j < n_features; ++j) features.push_back(static_cast<std::int64_t>(j));
    start.push_back(static_cast<std::int64_t>(features.size()));
    const FeatureGroups groups{features.data(), start.data(), n_features + 1};
    std::vector<double> found(n_trees * (n_features + 1)), targets(made.labels.begin(), made.labels.begin() + n_rows);
    Control control;
    for (const bool counted : {false, true})
        for (const Worth worth : {Worth::vote, Worth::share}) {
            permute_oob(forest, rows, groups, ClassScorer{leaves, made.labels.data(), worth, counted}, 7, 2, n_threads,
                        found.data(), control);
            for (const double loss : found) CHECK(std::isnan(loss) || std::fabs(loss) <= 1);
        }
    const std::vector<double> predicted(static_cast<std::size_t>(forest.leaf_start[n_trees]), 0.5);
    permute_oob(forest, rows, groups, RealScorer{predicted.data(), targets.data()}, 7, 1, n_threads, found.data(),
                control);
    for (const double loss : found) CHECK(std::isnan(loss) || loss == 0);  // all leaves say the same
    for (const bool numbers : {false, true}) {
        const Responses responses = numbers ? Responses::of_numbers(targets.data(), n_rows)
                                            : Responses::of_classes(made.labels.data(), n_rows, n_classes);
        gain_outside(forest, rows, responses, n_threads, found.data(), control);
        for (std::size_t i = 0; i < n_trees * n_features; ++i) CHECK(!std::isinf(found[i]));
    }
    first_uses(forest, packed.depth.data(), n_features, found.data());
    for (std::size_t i = 0; i < n_trees * n_features; ++i)
        CHECK(found[i] >= 0 && found[i] <= packed.depth[i / n_features]);
}

// Rows that meet come in ascending order, and what they are worth to each other is a share.
template <class Code>
void check_proximities(const Packed& packed, const RandomTable<Code>& made, std::size_t n_threads) {
    const std::size_t n_rows = made.table.n_rows, n_trees = packed.node_start.size() - 1;
    Control control;
    std::vector<std::int32_t> leaves(n_rows * n_trees);
    find_leaves(packed.forest(made.has_nominal), made.by_column.data(), n_rows, made.table.n_features(), n_threads,
                false, leaves.data(), control);
    const LeafTable table{leaves.data(), n_rows, n_trees, packed.leaf_start.data()};
    const std::pair<Present, Meeting> cases[] = {{Present::all, Meeting::share_of_trees},
                                                 {Present::oob, Meeting::share_of_outside},
                                                 {Present::inbag, Meeting::share_of_leaf},
                                                 {Present::distinct, Meeting::share_of_leaf}};
    for (const auto& [present, meeting] : cases)
        for (const std::size_t most : {0, 1, 5}) {
            const RowsInLeaves known(table, present, 5, 1.0);
            const SparseRows met = meet(table, known, meeting, 0, most, n_threads, control);
            CHECK(met.start.size() == n_rows + 1 && met.columns.size() == met.values.size());
            for (std::size_t row = 0; row < n_rows; ++row) {
                CHECK(most == 0 || met.start[row + 1] - met.start[row] <= static_cast<std::int64_t>(most));
                for (std::int64_t at = met.start[row]; at < met.start[row + 1]; ++at) {
                    const auto i = static_cast<std::size_t>(at);
                    CHECK(at == met.start[row] || met.columns[i - 1] < met.columns[i]);
                    CHECK(met.values[i] > 0 && met.values[i] <= 1 + 1e-12);
                }
            }
        }
}

// Whether the arrays are accepted as those of a forest.
template <class Code>
bool is_accepted(const Packed& packed, const RandomTable<Code>& made, std::uint32_t n_classes, std::size_t n_threads) {
    std::vector<std::int64_t> n_bins;
    std::vector<std::uint8_t> nominal;
    for (const Feature& feature : made.table.features)
        n_bins.push_back(feature.n_bins), nominal.push_back(feature.nominal);
    const Known known{n_bins.data(), nominal.data(), n_bins.size(),
                      static_cast<std::int64_t>(packed.entry_class.size())};
    const ForestView forest = packed.forest(made.has_nominal);
    const LeafView leaves = packed.leaves(n_classes);
    Control control;
    try {
        check_forest(forest, leaves, known, packed.depth.data(), n_threads, control);
        return true;
    } catch (const Invalid&) {
        return false;
    }
}

// A forest that was grown is accepted; one that was tampered with is refused, or can be read all the same.
template <class Code>
void check_validation(Draws& draws, const Packed& packed, const RandomTable<Code>& made, std::uint32_t n_classes) {
    CHECK(is_accepted(packed, made, n_classes, 2));
    if (made.table.n_rows > 60) return;
    const std::pair<int, int> fields[] = {{36, 28}, {36, 28}, {16, 17},
                                          {33, 2},  {35, 1},  {0, 16}};  // first bit and width
    for (int repeat = 0; repeat < 20; ++repeat) {
        Packed other = packed;
        const std::size_t at = draws.below(static_cast<std::uint32_t>(other.nodes.size()));
        const auto [shift, width] = fields[draws.below(6)];
        const std::uint64_t mask = ((std::uint64_t{1} << width) - 1) << shift;
        const std::uint64_t value = draws.coin() ? draws.below(6) : draws.below_wide(std::uint64_t{1} << 32);
        const std::uint64_t bits = (other.nodes[at].bits() & ~mask) | ((value << shift) & mask);
        std::memcpy(static_cast<void*>(&other.nodes[at]), &bits, sizeof bits);
        if (draws.coin())
            other.payload[draws.below(static_cast<std::uint32_t>(other.payload.size()))] =
                static_cast<std::int32_t>(draws.below(9)) - 2;
        if (!other.entry_class.empty() && draws.coin()) {
            other.entry_class[draws.below(static_cast<std::uint32_t>(other.entry_class.size()))] =
                static_cast<std::uint16_t>(draws.below(400));
            if (other.entry_start.size() > 2)
                other.entry_start[1 + draws.below(static_cast<std::uint32_t>(other.entry_start.size() - 2))] +=
                    static_cast<int>(draws.below(5)) - 2;
        }
        if (is_accepted(other, made, n_classes, 1)) check_readings(other, made, n_classes, 1);
    }
}

// Rows counted by a tree whose leaves count all rows: each once, and once more in a borrowed leaf.
void check_counts(const Grown<LeafCounts>& grown, std::size_t n_rows, const GrowOptions& options) {
    if (options.splitter == Splitter::random_decision || options.count_sense != CountSense::all) return;
    std::size_t counted = 0;
    for (std::uint32_t count : grown.leaves.counts) counted += count;
    CHECK(counted == n_rows);
}

// Trees of a table in parts are those of the whole, in every array.
template <class Code, class Target>
void check_parts(Draws& draws, const RandomTable<Code>& made, const ClassLabels& labels, const GrowOptions& options,
                 const Target& target) {
    constexpr std::size_t n_trees = 2;
    PartsDriver<Code, Target> driver(made.table, labels, options, target, 1 + draws.below(4));
    const std::vector<Fields> trees = driver.grow(n_trees, 1 + draws.below(300), draws.coin() ? 1 : 1 << 16);
    Control control;
    for (std::size_t number = 0; number < n_trees; ++number) {
        const Fields whole = pack_trees(grow_trees(made.table, labels, options.kinds(made.table.features.size()), {},
                                                   {number, 1, 1}, searches_for(made.table, target), control),
                                        labels, options.leaf_rules());
        CHECK(whole.size() == trees[number].size());
        for (std::size_t i = 0; i < whole.size(); ++i)
            CHECK(whole[i].name == trees[number][i].name && whole[i].values == trees[number][i].values);
    }
}

template <class Code, class Target>
void drive_target(Draws& draws, const Target& target, std::uint32_t n_classes, std::size_t n_rows) {
    constexpr bool weighted = std::is_same_v<typename Target::Row, WeightedRow>;
    constexpr std::size_t n_trees = 3, n_threads = 2;
    const std::uint32_t n_features = 1 + draws.below(7);
    RandomTable<Code> made(draws, n_rows, n_features, n_classes, draws.coin());
    ClassLabels labels =
        weighted && draws.coin() ? made.with_several(draws, n_classes) : made.labelled(n_classes, weighted);
    for (const Splitter splitter : {Splitter::best, Splitter::random, Splitter::random_decision}) {
        const GrowOptions options = random_options(draws, n_features, n_classes, splitter, made.table.features);
        labels.balance_bag = weighted && draws.below(3) == 0;
        Control control;
        auto trees = grow_trees(made.table, labels, options.kinds(made.table.features.size()), {},
                                {0, n_trees, n_threads}, searches_for(made.table, target), control);
        for (const auto& grown : trees) {
            CHECK(grown.has_value());
            check_counts(*grown, n_rows, options);
        }
        const Packed packed(pack_trees(std::move(trees), labels, options.leaf_rules()));
        check_readings(packed, made, n_classes, n_threads);
        if (n_rows <= 9 || (n_rows == 60 && splitter == Splitter::best)) {
            check_importances(packed, made, n_classes, n_threads);
            check_proximities(packed, made, n_threads);
        }
        check_validation(draws, packed, made, n_classes);
        std::uint32_t most_bins = 0;
        for (const Feature& feature : made.table.features) most_bins = std::max(most_bins, feature.n_bins);
        if (n_rows <= 1500 && most_bins * n_classes <= 200000 && options.max_leaf_nodes == 0 &&
            labels.rows == nullptr && !labels.balance_bag)
            check_parts(draws, made, labels, options, target);
    }
}

template <class Code, class Criterion>
void drive_criterion(Draws& draws, const Criterion& criterion, std::size_t n_rows) {
    for (const std::uint32_t n_classes : {1U, 2U}) {
        drive_target<Code>(draws, ClassPair<Criterion>(criterion, n_classes), n_classes, n_rows);
        drive_target<Code>(draws, ClassVector<Criterion, WeightedRow, 2>(criterion, n_classes), n_classes, n_rows);
    }
    for (const std::uint32_t n_classes : {3U, 8U})
        drive_target<Code>(draws, ClassVector<Criterion, CountedRow, 8>(criterion, n_classes), n_classes, n_rows);
    for (const std::uint32_t n_classes : {3U, 9U, 300U})
        drive_target<Code>(draws, ClassList<Criterion, WeightedRow>(criterion, n_classes), n_classes, n_rows);
    for (const std::uint32_t n_classes : {9U, 300U})
        drive_target<Code>(draws, ClassList<Criterion, CountedRow>(criterion, n_classes), n_classes, n_rows);
}

// Work that is stopped from outside, or that fails, leaves no thread behind and no tree half made.
void drive_stopping() {
    Control stopped([](std::size_t) { return true; });
    std::atomic<int> done{0};
    run_tasks(1000, 3, stopped, [&](std::size_t, std::size_t thread) {
        for (int i = 0; i < 200000; ++i) stopped.tick(thread == 0);
        ++done;
    });
    CHECK(done < 1000);
    Control failing;
    bool caught = false;
    try {
        run_tasks(100, 3, failing, [](std::size_t task, std::size_t) {
            if (task == 7) throw std::length_error("too long");
        });
    } catch (const std::length_error&) {
        caught = true;
    }
    CHECK(caught);
}

template <class Code, class Criterion>
void drive(Criterion (*criterion_for)(std::size_t n_rows)) {
    Draws draws(20240229);
    for (int repeat = 0; repeat < 20; ++repeat) drive_bins<Code>(draws, 1 + draws.below(missing_code<Code>));
    for (int repeat = 0; repeat < 20; ++repeat) drive_bins_of_floats(draws);
    for (const std::size_t n_rows : {1, 2, 9, 60, 1500}) drive_criterion<Code>(draws, criterion_for(n_rows), n_rows);
    // Every level of compaction, from the table to a thousand rows.
    drive_target<Code>(draws, ClassPair<Criterion>(criterion_for(70000), 2), 2, 70000);
    drive_stopping();
}

}  // namespace

int main(int n_words, char** words) {
    const char* what = n_words == 2 ? words[1] : "";
    if (std::strcmp(what, "bytes") == 0) drive<std::uint8_t, Gini>([](std::size_t) { return Gini{}; });
    else if (std::strcmp(what, "words") == 0)
        drive<std::uint16_t, Logarithmic>([](std::size_t n_rows) { return Logarithmic::entropy(n_rows); });
    else return 2;
    std::printf("driven %s\n", what);
    return 0;
}
