// Bindings: the one file that knows of both Python and the core.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>

#define HEDGEROW_GROWERS_ELSEWHERE
#include "core/grow/arrive.hpp"
#include "core/grow/choose.hpp"
#include "core/grow/growers.hpp"
#include "core/grow/histogram.hpp"
#include "core/read/importance.hpp"
#include "core/read/proximity.hpp"
#include "core/read/quantiles.hpp"
#include "core/read/read.hpp"
#include "core/read/shap.hpp"
#include "core/read/shap_background.hpp"
#include "core/read/validate.hpp"
#include "core/rows/bins.hpp"
#include "core/targets/numbers.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace hedgerow;

namespace {

template <class T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using InTable = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using OutTable = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// A vector's memory -> a NumPy array that owns it, without a copy.
template <class T>
nb::object to_numpy(std::vector<T>&& values) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(owned->data(), {owned->size()}, owner));
}

template <class T>
nb::object to_table(std::unique_ptr<T[]>&& values, std::size_t n_rows, std::size_t n_columns) {
    T* data = values.release();
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<2>>(data, {n_rows, n_columns}, owner));
}

// Python's view of running work: Ctrl-C raises, and a progress function that returns true stops it.

std::function<bool(std::size_t)> look_on_with(nb::object progress) {
    return [progress](std::size_t done) {
        const nb::gil_scoped_acquire gil;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        return !progress.is_none() && nb::cast<bool>(progress(done));
    };
}

// Columns of Python arrays. `kept` holds copies of those whose memory cannot be read as it lies.
std::vector<Column> read_columns(const nb::list& arrays, std::size_t& n_rows, nb::list& kept) {
    using AnyColumn = nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>;
    std::vector<Column> columns;
    columns.reserve(arrays.size());
    for (nb::handle item : arrays) {
        AnyColumn array;
        if (!nb::try_cast(item, array)) {
            kept.append(nb::module_::import_("numpy").attr("ascontiguousarray")(item));
            array = nb::cast<AnyColumn>(kept[kept.size() - 1]);
        }
        Column column;
        column.data = static_cast<const char*>(array.data());
        column.stride = static_cast<std::ptrdiff_t>(array.stride(0)) * static_cast<std::ptrdiff_t>(array.itemsize());
        if (array.dtype() == nb::dtype<double>()) column.type = Column::Type::float64;
        else if (array.dtype() == nb::dtype<float>()) column.type = Column::Type::float32;
        else if (array.dtype() == nb::dtype<std::int32_t>()) column.type = Column::Type::category;
        else throw nb::type_error("a column must be float64, float32 or (category numbers) int32");
        if (columns.empty()) n_rows = array.shape(0);
        else if (array.shape(0) != n_rows) throw nb::value_error("columns must have the same number of rows");
        columns.push_back(column);
    }
    return columns;
}

// ---- bins -----------------------------------------------------------------------------------------------

// Cuts are decided by the `chosen` rows, or by about `sample_rows` of all of them.
nb::tuple find_bins_of(const nb::list& arrays, const std::optional<In<std::uint32_t>>& chosen, std::size_t sample_rows,
                       std::size_t max_bins, std::size_t n_threads) {
    std::size_t n_rows = 0;
    nb::list kept;
    const std::vector<Column> columns = read_columns(arrays, n_rows, kept);
    std::vector<NumericBins> found(columns.size());
    Control control(look_on_with(nb::none()));
    {
        const nb::gil_scoped_release no_gil;
        const std::size_t n_chosen = chosen ? chosen->shape(0) : n_rows;
        std::vector<std::uint32_t> rows = rows_for_cuts(n_chosen, sample_rows, 0, n_chosen);
        if (chosen)
            for (std::uint32_t& row : rows) row = chosen->data()[row];
        // Several columns a task: starting a thread for a small table costs more than it saves.
        const std::size_t columns_per_task = std::max<std::size_t>(1, 20000 / (rows.size() + 1));
        run_tasks((columns.size() + columns_per_task - 1) / columns_per_task, n_threads, control,
                  [&](std::size_t task, std::size_t thread) {
            const std::size_t last = std::min(columns.size(), (task + 1) * columns_per_task);
            for (std::size_t i = task * columns_per_task; i < last; ++i) {
                control.tick(thread == 0);
                if (columns[i].type != Column::Type::category) found[i] = find_bins(columns[i], rows, max_bins);
            }
        });
    }
    std::vector<double> cuts, centers;
    std::vector<std::int64_t> cut_start{0}, center_start{0};
    for (const NumericBins& bins : found) {
        cuts.insert(cuts.end(), bins.cuts.begin(), bins.cuts.end());
        centers.insert(centers.end(), bins.centers.begin(), bins.centers.end());
        cut_start.push_back(static_cast<std::int64_t>(cuts.size()));
        center_start.push_back(static_cast<std::int64_t>(centers.size()));
    }
    return nb::make_tuple(to_numpy(std::move(cuts)), to_numpy(std::move(cut_start)), to_numpy(std::move(centers)),
                          to_numpy(std::move(center_start)));
}

// Writes the codes of `columns` into rows first_feature … of `out` (features × rows); columns that are not
// `wanted` are left alone.
template <class Code>
void encode_into(const nb::list& arrays, std::size_t first_feature, const In<double>& cuts, const In<std::int64_t>& cut_start,
                 const std::optional<In<std::uint8_t>>& wanted, std::size_t n_threads,
                 nb::ndarray<Code, nb::ndim<2>, nb::c_contig, nb::device::cpu> out) {
    std::size_t n_rows = 0;
    nb::list kept;
    const std::vector<Column> columns = read_columns(arrays, n_rows, kept);
    if (first_feature + columns.size() > out.shape(0) || (!columns.empty() && n_rows != out.shape(1)))
        throw nb::value_error("codes must have one row per feature and one column per sample");
    Control control(look_on_with(nb::none()));
    const nb::gil_scoped_release no_gil;
    std::vector<std::optional<Encoder<Code>>> encoders(columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const std::int64_t* start = cut_start.data() + first_feature + i;
        if (columns[i].type == Column::Type::category || (wanted && !wanted->data()[first_feature + i])) continue;
        const double* of_column = cuts.data() + start[0];
        const auto n_cuts = static_cast<std::size_t>(start[1] - start[0]);
        // An encoder is not worth making for a few rows: it takes longer than they do.
        if (n_rows >= 8) encoders[i].emplace(of_column, n_cuts, n_rows);
        else for (std::size_t row = 0; row < n_rows; ++row)
            out.data()[(first_feature + i) * n_rows + row] = code_among<Code>(of_column, n_cuts, columns[i].value(row));
    }
    // Blocks of rows, all columns of each: a table that lies row by row is then read once, not once per column.
    const std::size_t block = std::clamp<std::size_t>((std::size_t{1} << 15) / (columns.size() + 1), 256, 4096);
    const std::size_t blocks_per_task = std::max<std::size_t>(1, (std::size_t{1} << 16) / (block * (columns.size() + 1)));
    const std::size_t rows_per_task = block * blocks_per_task;
    run_tasks((n_rows + rows_per_task - 1) / rows_per_task, n_threads, control, [&](std::size_t task, std::size_t) {
        const std::size_t end = std::min(n_rows, (task + 1) * rows_per_task);
        for (std::size_t first = task * rows_per_task; first < end; first += block) {
            const std::size_t rows = std::min(block, end - first);
            for (std::size_t i = 0; i < columns.size(); ++i) {
                Code* codes = out.data() + (first_feature + i) * n_rows + first;
                if (encoders[i]) encoders[i]->encode(columns[i], first, rows, codes);
                else if (columns[i].type == Column::Type::category) encode_categories(columns[i], first, rows, codes);
            }
        }
    });
}

// ---- growing --------------------------------------------------------------------------------------------

// The target that suits the labels -> what `visit` makes of it.
template <class Criterion, class Visit>
auto with_target(const Criterion& criterion, std::uint32_t n_classes, bool weighted, Visit&& visit) {
    // Criteria that look at all counts of a side together have one general target.
    if constexpr (!Criterion::whole_side) {
        if (!weighted && n_classes <= 2) return visit(ClassPair<Criterion>(criterion, n_classes));
        if (!weighted && n_classes <= 8) return visit(ClassVector<Criterion, CountedRow, 8>(criterion, n_classes));
        if (weighted && n_classes <= 2) return visit(ClassVector<Criterion, WeightedRow, 2>(criterion, n_classes));
    }
    if (weighted) return visit(ClassList<Criterion, WeightedRow>(criterion, n_classes));
    return visit(ClassList<Criterion, CountedRow>(criterion, n_classes));
}

// What the user calls a criterion; caution is in rows, as weights are fixed-point multiples of `weight_unit`.
struct CriterionRequest {
    std::string name;
    double lam, caution, quantile;
    nb::object uncertainty;  // for "python": counts (K,) -> float

    explicit CriterionRequest(const nb::dict& given)
        : name(nb::cast<std::string>(given["name"])), lam(nb::cast<double>(given["lam"])),
          caution(nb::cast<double>(given["caution"])), quantile(nb::cast<double>(given["quantile"])), uncertainty(given["uncertainty"]) {}
};

// An uncertainty that Python computes: asked once per count vector and thread.
WholeSide::Uncertainty ask_python(const nb::object& uncertainty, double weight_unit) {
    return [&uncertainty, weight_unit](const WholeSide::Counts& counts) {
        const nb::gil_scoped_acquire gil;
        nb::list amounts;
        for (const std::int64_t count : counts) amounts.append(static_cast<double>(count) * weight_unit);
        return nb::cast<double>(uncertainty(amounts));
    };
}

// The same for a criterion by name; tables of counts are made for up to `n_rows`.
template <class Visit>
auto with_criterion(const CriterionRequest& criterion, const GrowOptions& options, std::size_t n_rows, bool weighted, Visit&& visit) {
    const std::size_t n_classes = options.n_classes;
    const double unit = options.weight_unit, caution = criterion.caution / unit, quantile = criterion.quantile, lam = criterion.lam;
    const auto by = [&](const auto& made) { return with_target(made, options.n_classes, weighted, visit); };
    if (criterion.name == "gini") return by(Gini{});
    if (criterion.name == "entropy") return by(Entropy(n_rows));
    if (criterion.name == "belief") return by(BeliefGain(n_rows, options.n_classes, lam, caution));
    if (criterion.name == "imprecise")
        return by(WholeSide([=](const WholeSide::Counts& counts) { return upper_entropy(counts, n_classes, caution); }));
    if (criterion.name == "multinomial")
        return by(WholeSide([=](const WholeSide::Counts& counts) {
            std::vector<double> rows(counts.begin(), counts.end());
            for (double& amount : rows) amount *= unit;
            return multinomial_uncertainty(rows, n_classes, quantile, lam);
        }));
    return by(WholeSide(ask_python(criterion.uncertainty, unit)));
}

// What the leaves of a regression forest remember, all trees end to end.
void pack_moments(const std::vector<std::optional<Grown>>& trees, bool weighted, bool values_are_means, nb::dict& forest) {
    LeafMoments all;
    const auto join = [&](auto LeafMoments::*member) {
        std::size_t n_leaves = 0;
        for (const auto& grown : trees) n_leaves += (grown->moments.*member).size();
        (all.*member).reserve(n_leaves);
        for (const auto& grown : trees) (all.*member).insert((all.*member).end(), (grown->moments.*member).begin(), (grown->moments.*member).end());
    };
    join(&LeafMoments::counts);
    join(&LeafMoments::values);
    join(&LeafMoments::variances);
    if (weighted) join(&LeafMoments::weights);
    if (!values_are_means) join(&LeafMoments::means);
    forest["counts"] = to_numpy(std::move(all.counts));
    forest["values"] = to_numpy(std::move(all.values));
    forest["variances"] = to_numpy(std::move(all.variances));
    forest["weights"] = weighted ? to_numpy(std::move(all.weights)) : nb::none();
    forest["means"] = values_are_means ? nb::none() : to_numpy(std::move(all.means));
}

// The completed trees, up to the first that is not: a forest of fewer trees, not one with holes.
void keep_complete(std::vector<std::optional<Grown>>& trees) {
    std::size_t n_complete = 0;
    while (n_complete < trees.size() && trees[n_complete]) ++n_complete;
    trees.resize(n_complete);
}

nb::dict pack_forest(std::vector<std::optional<Grown>>&& trees, std::uint32_t n_classes, bool weighted) {
    keep_complete(trees);
    std::vector<std::uint64_t> nodes, set_words;
    std::vector<std::int32_t> payload;
    std::vector<std::uint32_t> counts;
    std::vector<std::uint16_t> entry_class;
    std::vector<double> weights;
    std::vector<std::int64_t> node_start{0}, leaf_start{0}, set_start{0}, entry_start{0}, depth;
    std::size_t n_nodes = 0, n_counts = 0;
    for (const auto& grown : trees) n_nodes += grown->tree.nodes.size(), n_counts += grown->leaves.counts.size();
    nodes.reserve(n_nodes);
    payload.reserve(n_nodes);
    counts.reserve(n_counts);
    bool has_weights = weighted;
    for (auto& grown : trees) {
        const GrownTree& tree = grown->tree;
        const LeafCounts& leaves = grown->leaves;
        for (const Node node : tree.nodes) nodes.push_back(node.bits());
        payload.insert(payload.end(), tree.payload.begin(), tree.payload.end());
        set_words.insert(set_words.end(), tree.set_words.begin(), tree.set_words.end());
        const auto entries_before = static_cast<std::int64_t>(counts.size());
        counts.insert(counts.end(), leaves.counts.begin(), leaves.counts.end());
        weights.insert(weights.end(), leaves.weights.begin(), leaves.weights.end());
        has_weights |= !leaves.weights.empty();
        if (!leaves.dense()) {
            entry_class.insert(entry_class.end(), leaves.entry_class.begin(), leaves.entry_class.end());
            for (std::size_t leaf = 0; leaf < leaves.n_leaves; ++leaf) entry_start.push_back(entries_before + leaves.entry_start[leaf + 1]);
        }
        node_start.push_back(static_cast<std::int64_t>(nodes.size()));
        leaf_start.push_back(leaf_start.back() + tree.n_leaves);
        set_start.push_back(static_cast<std::int64_t>(set_words.size()));
        depth.push_back(tree.depth);
        grown.reset();
    }
    nb::dict forest;
    forest["nodes"] = to_numpy(std::move(nodes));
    forest["payload"] = to_numpy(std::move(payload));
    forest["set_words"] = to_numpy(std::move(set_words));
    forest["node_start"] = to_numpy(std::move(node_start));
    forest["leaf_start"] = to_numpy(std::move(leaf_start));
    forest["set_start"] = to_numpy(std::move(set_start));
    forest["depth"] = to_numpy(std::move(depth));
    forest["counts"] = to_numpy(std::move(counts));
    const bool dense = n_classes <= LeafCounts::dense_classes;
    forest["entry_start"] = dense ? nb::none() : to_numpy(std::move(entry_start));
    forest["entry_class"] = dense ? nb::none() : to_numpy(std::move(entry_class));
    forest["weights"] = has_weights ? to_numpy(std::move(weights)) : nb::none();
    return forest;
}

GrowOptions read_options(const nb::dict& given) {
    GrowOptions options;
    const auto number = [&](const char* name) { return nb::cast<std::uint32_t>(given[name]); };
    options.splitter = static_cast<Splitter>(nb::cast<int>(given["splitter"]));
    options.count_sense = static_cast<CountSense>(nb::cast<int>(given["count_sense"]));
    options.n_classes = number("n_classes");
    options.max_features = number("max_features");
    options.max_depth = number("max_depth");
    options.min_samples_split = number("min_samples_split");
    options.min_samples_leaf = number("min_samples_leaf");
    options.max_leaf_nodes = number("max_leaf_nodes");
    options.min_weight_fraction_leaf = nb::cast<double>(given["min_weight_fraction_leaf"]);
    options.min_impurity_decrease = nb::cast<double>(given["min_impurity_decrease"]);
    options.bag_mean = nb::cast<double>(given["bag_mean"]);
    options.weight_unit = nb::cast<double>(given["weight_unit"]);
    options.balance_bag = nb::cast<bool>(given["balance_bag"]);
    options.seed = nb::cast<std::uint64_t>(given["seed"]);
    if (!given["monotonic"].is_none()) options.monotonic = nb::cast<std::vector<std::int8_t>>(given["monotonic"]);
    return options;
}

// The entries of labels that stand for several classes of one row.
void check_entries(const In<std::uint32_t>& rows, const In<std::uint16_t>& labels,
                   const std::optional<In<std::int64_t>>& weights, std::size_t n_rows) {
    if (!weights || rows.shape(0) != labels.shape(0) || weights->shape(0) != labels.shape(0))
        throw nb::value_error("every entry of labels must have a row and a weight");
    if (rows.shape(0) >= (std::size_t{1} << 31)) throw nb::value_error("labels must have fewer than 2^31 entries");
    for (std::size_t i = 0; i < rows.shape(0); ++i)
        if (rows.data()[i] >= n_rows || (i > 0 && rows.data()[i] < rows.data()[i - 1]))
            throw nb::value_error("the rows of labels must ascend within the table");
}

std::vector<Feature> features_of(const In<std::int64_t>& n_bins, const In<std::uint8_t>& nominal, const In<double>& centers,
                                 const In<std::int64_t>& center_start) {
    std::vector<Feature> features;
    for (std::size_t i = 0; i < n_bins.shape(0); ++i)
        features.push_back({static_cast<std::uint32_t>(n_bins.data()[i]), nominal.data()[i] != 0,
                            centers.data() + center_start.data()[i]});
    return features;
}

// A table as the grower sees it; the columns are Python's.
template <class Code>
CodeTable<Code> table_of(const InTable<Code>& codes, const In<std::int64_t>& n_bins, const In<std::uint8_t>& nominal,
                         const In<double>& centers, const In<std::int64_t>& center_start) {
    const std::size_t n_features = codes.shape(0), n_rows = codes.shape(1);
    if (n_features > Node::max_feature) throw nb::value_error("a table must have fewer than 131,072 features");
    if (n_rows >= (std::size_t{1} << 31)) throw nb::value_error("a table must have fewer than 2^31 rows");
    CodeTable<Code> table;
    table.by_column = {codes.data(), 1, n_rows};
    table.n_rows = n_rows;
    table.features = features_of(n_bins, nominal, centers, center_start);
    return table;
}

// Lays a table out row by row in `by_row` where that pays.
template <class Code>
void lay_out(CodeTable<Code>& table, std::vector<Code>& by_row) {
    // Whole rows are worth copying while they are not much longer than what a node reads of them.
    if (table.n_features() > 256) return;
    const std::size_t stride = padded_width<Code>(table.n_features());
    by_row.resize(table.n_rows * stride);
    transpose_codes(table.by_column.codes, table.n_rows, table.n_features(), table.n_rows, by_row.data(), stride);
    table.by_row = {by_row.data(), stride, 1};
}

// below: None, or has_missing (p,) of the whole table of which this one is a part, times (n,) that bags hold each row, and
// the nodes (begin, end, key, depth, lower, upper, amount of the tree, used features) to grow trees below, reached
// elsewhere. Weights are then those inside the trees, multiplicities included.
template <class Code>
std::vector<Start> starts_from(const nb::object& below, CodeTable<Code>& table) {
    std::vector<Start> starts;
    if (below.is_none()) return starts;
    const auto has_missing = nb::cast<In<std::uint8_t>>(below[0]);
    const auto times = nb::cast<In<std::uint16_t>>(below[1]);
    if (has_missing.shape(0) != table.features.size() || times.shape(0) != table.n_rows)
        throw nb::value_error("nodes must come with a mark for each feature and a multiplicity for each row");
    for (std::size_t i = 0; i < table.features.size(); ++i) table.features[i].has_missing = has_missing.data()[i] != 0;
    for (const nb::handle item : nb::cast<nb::list>(below[2])) {
        const auto node = nb::cast<nb::tuple>(item);
        Start start;
        start.begin = nb::cast<std::uint32_t>(node[0]);
        start.end = nb::cast<std::uint32_t>(node[1]);
        if (start.begin > start.end || start.end > times.shape(0)) throw nb::value_error("the rows of a node must lie within the table");
        start.times = times.data();
        start.key = nb::cast<std::uint64_t>(node[2]);
        start.depth = nb::cast<std::uint32_t>(node[3]);
        start.lower = nb::cast<double>(node[4]);
        start.upper = nb::cast<double>(node[5]);
        start.total_amount = nb::cast<std::int64_t>(node[6]);
        start.used = nb::cast<std::vector<std::uint32_t>>(node[7]);
        starts.push_back(std::move(start));
    }
    return starts;
}

template <class Code>
nb::dict grow(const InTable<Code>& codes, const In<std::int64_t>& n_bins, const In<std::uint8_t>& nominal,
              const In<double>& centers, const In<std::int64_t>& center_start, const In<std::uint16_t>& labels,
              const std::optional<In<std::int64_t>>& weights, const std::optional<In<std::uint32_t>>& rows,
              const nb::dict& given, const nb::dict& criterion,
              std::size_t first_tree, std::size_t n_trees, std::size_t n_threads, const nb::object& progress, const nb::object& below) {
    CodeTable<Code> table = table_of(codes, n_bins, nominal, centers, center_start);
    if (rows) check_entries(*rows, labels, weights, table.n_rows);
    const GrowRequest request{read_options(given),
                              {labels.data(), weights ? weights->data() : nullptr, rows ? rows->data() : nullptr, labels.shape(0)},
                              first_tree, n_trees, n_threads, starts_from(below, table)};
    const CriterionRequest judged_by(criterion);
    std::vector<std::optional<Grown>> trees;
    Control control(look_on_with(progress));
    {
        const nb::gil_scoped_release no_gil;
        std::vector<Code> by_row;
        if (below.is_none()) table.note_missing();
        lay_out(table, by_row);
        trees = with_criterion(judged_by, request.options, table.n_rows, weights.has_value(),
                               [&](const auto& target) { return grow_with(table, request, target, control); });
    }
    return pack_forest(std::move(trees), request.options.n_classes, weights.has_value());
}

// The same for numbers instead of labels. numbers: values, weights or None, sums, amounts or None; then
// (centre, unit, low, high) of the grid.
template <class Code>
nb::dict grow_numbers(const InTable<Code>& codes, const In<std::int64_t>& n_bins, const In<std::uint8_t>& nominal,
                      const In<double>& centers, const In<std::int64_t>& center_start, const In<double>& values,
                      const std::optional<In<double>>& weights, const In<double>& sums,
                      const std::optional<In<double>>& amounts, const std::vector<double>& grid, const nb::dict& given,
                      const std::string& criterion, std::size_t first_tree, std::size_t n_trees, std::size_t n_threads,
                      const nb::object& progress, const nb::object& below) {
    CodeTable<Code> table = table_of(codes, n_bins, nominal, centers, center_start);
    const bool median = criterion == "absolute_error";
    const Numbers numbers{values.data(), weights ? weights->data() : nullptr, sums.data(), amounts ? amounts->data() : nullptr,
                          grid.at(0), grid.at(1), grid.at(2), grid.at(3), median};
    const GrowRequest request{read_options(given), {.numbers = &numbers}, first_tree, n_trees, n_threads, starts_from(below, table)};
    std::vector<std::optional<Grown>> trees;
    Control control(look_on_with(progress));
    {
        const nb::gil_scoped_release no_gil;
        std::vector<Code> by_row;
        if (below.is_none()) table.note_missing();
        lay_out(table, by_row);
        if (median) trees = grow_with(table, request, Medians(numbers), control);
        else if (criterion == "poisson") trees = grow_with(table, request, Moments<Poisson>(numbers), control);
        else trees = grow_with(table, request, Moments<SquaredError>(numbers), control);
    }
    keep_complete(trees);
    nb::dict moments;
    pack_moments(trees, weights.has_value(), !median && request.options.monotonic.empty(), moments);
    nb::dict forest = pack_forest(std::move(trees), 1, weights.has_value());
    forest.update(moments);
    return forest;
}

// ---- growing where rows lie in many places --------------------------------------------------------------

// Rows of a part that have come to some nodes of the top of a tree: rows, times, start; see arrive.hpp.
template <class Code>
nb::tuple arrived_of(const InTable<Code>& codes, const In<std::uint64_t>& nodes, const In<std::int32_t>& payload,
                     const In<std::uint64_t>& set_words, const In<std::int32_t>& place, std::size_t n_places, std::uint64_t seed,
                     std::uint64_t tree, std::size_t n_rows, double bag_mean, std::size_t first_row, bool outside) {
    if (place.shape(0) != nodes.shape(0)) throw nb::value_error("places must have one entry for each node");
    const TreeView top{reinterpret_cast<const Node*>(nodes.data()), payload.data(), set_words.data(), true};
    Arrived found;
    {
        const nb::gil_scoped_release no_gil;
        found = find_arrived(top, CodeView<Code>{codes.data(), 1, codes.shape(1)}, codes.shape(1),
                             Places{place.data(), place.shape(0), n_places}, Bag(seed, tree, n_rows, bag_mean), first_row, outside);
    }
    return nb::make_tuple(to_numpy(std::move(found.rows)), to_numpy(std::move(found.times)), to_numpy(std::move(found.start)));
}

// What rows of some nodes add up to in the bins of the features asked for, flat: see histogram.hpp.
template <class Code, class Cell>
nb::object histograms(const InTable<Code>& codes, const In<std::int64_t>& n_bins, const In<std::uint32_t>& rows,
                      const In<std::int64_t>& row_start, const std::optional<In<std::uint16_t>>& labels, const In<Cell>& amounts,
                      const std::optional<In<Cell>>& sums, std::uint32_t n_cells,
                      const In<std::int64_t>& start, const In<std::uint32_t>& features) {
    if (labels && labels->shape(0) != codes.shape(1)) throw nb::value_error("labels must have one entry for each row");
    if (amounts.shape(0) != rows.shape(0) || (sums && sums->shape(0) != rows.shape(0)))
        throw nb::value_error("amounts must have one entry for each row that has come to a node");
    std::size_t size = 0;
    for (std::size_t i = 0; i < features.shape(0); ++i) size += static_cast<std::size_t>(n_bins.data()[features.data()[i]] + 1) * n_cells;
    std::vector<Cell> cells(size, 0);
    {
        const nb::gil_scoped_release no_gil;
        sum_bins(CodeView<Code>{codes.data(), 1, codes.shape(1)}, n_bins.data(),
                 RowAmounts<Cell>{row_start.data(), rows.data(), amounts.data(), sums ? sums->data() : nullptr,
                                  labels ? labels->data() : nullptr, n_cells},
                 Requests{start.data(), features.data(), start.shape(0) - 1}, cells.data());
    }
    return to_numpy(std::move(cells));
}

template <class Target>
std::unique_ptr<AnyChooser> choose_by(const std::vector<Feature>& features, const GrowOptions& options, const Target& target) {
    return std::make_unique<Chooser<Target>>(features, options, target);
}

// Chooses splits from such sums.
class PythonChooser {
public:
    PythonChooser(In<std::int64_t> n_bins, In<std::uint8_t> nominal, In<double> centers, In<std::int64_t> center_start,
                  const nb::dict& given, const nb::object& criterion, std::size_t n_rows, bool weighted,
                  const std::optional<std::vector<double>>& grid)
        : held_(nb::make_tuple(n_bins, nominal, centers, center_start)) {
        const std::vector<Feature> features = features_of(n_bins, nominal, centers, center_start);
        n_features_ = features.size();
        const GrowOptions options = read_options(given);
        if (options.splitter == Splitter::random_decision) {
            chooser_ = std::make_unique<RandomChooser>(features, options);
            return;
        }
        if (grid) {
            numbers_ = std::make_unique<Numbers>(Numbers{nullptr, nullptr, nullptr, nullptr, grid->at(0), grid->at(1), grid->at(2), grid->at(3), false});
            if (nb::cast<std::string>(criterion) == "poisson") chooser_ = choose_by(features, options, Moments<Poisson>(*numbers_));
            else chooser_ = choose_by(features, options, Moments<SquaredError>(*numbers_));
            return;
        }
        judged_by_ = std::make_unique<CriterionRequest>(nb::cast<nb::dict>(criterion));
        chooser_ = with_criterion(*judged_by_, options, n_rows, weighted, [&](const auto& target) { return choose_by(features, options, target); });
    }

    // bins: {feature: cells}. -> None for a leaf; features that are needed; or kind, feature, code, missing_left, words
    nb::object choose(std::uint64_t key, std::int64_t total_amount, double lower, double upper, const std::vector<std::uint32_t>& used,
                      const std::vector<double>& totals, const std::vector<double>& first, const nb::dict& bins, std::uint32_t spare) {
        Question question{key, total_amount, lower, upper, used, totals, first, std::vector<const double*>(n_features_, nullptr)};
        for (const auto& [feature, cells] : bins) question.bins.at(nb::cast<std::size_t>(feature)) = nb::cast<In<double>>(cells).data();
        Answer answer = chooser_->choose(question, spare);
        if (answer.what == Answer::What::leaf) return nb::none();
        if (answer.what == Answer::What::needs) return nb::cast(answer.needed);
        return nb::make_tuple(static_cast<int>(answer.kind), answer.feature, answer.code, answer.missing_left, to_numpy(std::move(answer.words)));
    }

private:
    nb::tuple held_;
    std::unique_ptr<CriterionRequest> judged_by_;  // what the chooser may ask
    std::unique_ptr<Numbers> numbers_;
    std::unique_ptr<AnyChooser> chooser_;
    std::size_t n_features_ = 0;
};

// The key of a tree's root, and of a child of a node: side 0 or 1, or category + 2.
std::uint64_t root_key_of(std::uint64_t seed, std::uint64_t tree) { return derive_key(derive_key(seed, Purpose::grow), tree); }
std::uint64_t child_key_of(std::uint64_t key, std::uint64_t side) { return derive_key(key, side); }

// ---- reading --------------------------------------------------------------------------------------------

// The arrays of a forest, held together for reading.
class Reader {
public:
    Reader(In<std::uint64_t> nodes, In<std::int32_t> payload, In<std::uint64_t> set_words, In<std::int64_t> node_start,
           In<std::int64_t> leaf_start, In<std::int64_t> set_start, In<std::uint32_t> counts,
           std::optional<In<std::int64_t>> entry_start, std::optional<In<std::uint16_t>> entry_class,
           std::optional<In<double>> weights, std::uint32_t n_classes)
        : held_(nb::make_tuple(nodes, payload, set_words, node_start, leaf_start, set_start, counts, entry_start, entry_class, weights)) {
        forest_ = {reinterpret_cast<const Node*>(nodes.data()), payload.data(), set_words.data(), node_start.data(),
                   leaf_start.data(), set_start.data(), node_start.shape(0) - 1, false};
        for (std::size_t i = 0; i < nodes.shape(0) && !forest_.has_nominal; ++i)
            forest_.has_nominal = forest_.nodes[i].kind() != NodeKind::threshold;
        leaves_ = {n_classes, counts.data(), entry_start ? entry_start->data() : nullptr,
                   entry_class ? entry_class->data() : nullptr, weights ? weights->data() : nullptr};
    }

    template <class Code>
    nb::object average(const InTable<Code>& codes, std::size_t n_threads) const {
        const std::size_t n_features = codes.shape(0), n_rows = codes.shape(1);
        auto probability = std::make_unique_for_overwrite<double[]>(n_rows * leaves_.n_classes);
        Control control(look_on_with(nb::none()));
        {
            const nb::gil_scoped_release no_gil;
            average_shares(forest_, leaves_, codes.data(), n_rows, n_features, n_threads, probability.get(), control);
        }
        return to_table(std::move(probability), n_rows, leaves_.n_classes);
    }

    // The mean of shares (D, K): distinct[leaf] says which of them a leaf has.
    template <class Code>
    nb::object average_known(const InTable<Code>& codes, const InTable<double>& shares, const In<std::int32_t>& distinct,
                             std::size_t n_threads) const {
        const std::size_t n_features = codes.shape(0), n_rows = codes.shape(1), n_classes = shares.shape(1);
        auto probability = std::make_unique_for_overwrite<double[]>(n_rows * n_classes);
        const StateTable table{shares.data(), n_classes, distinct.data(), 0, forest_.n_trees, nullptr};
        Control control(look_on_with(nb::none()));
        {
            const nb::gil_scoped_release no_gil;
            average_states(forest_, leaves_, table, codes.data(), n_rows, n_features, n_threads, probability.get(), control);
        }
        return to_table(std::move(probability), n_rows, n_classes);
    }

    // -> for each distinct content of a leaf the first leaf that has it (D,), and which one each leaf has (L,)
    nb::tuple distinct(std::size_t n_threads) const {
        std::vector<std::int32_t> distinct(static_cast<std::size_t>(forest_.leaf_start[forest_.n_trees]));
        std::vector<std::int64_t> examples;
        Control control(look_on_with(nb::none()));
        {
            const nb::gil_scoped_release no_gil;
            examples = find_distinct(forest_, leaves_, n_threads, distinct.data(), control);
        }
        return nb::make_tuple(to_numpy(std::move(examples)), to_numpy(std::move(distinct)));
    }

    template <class Code>
    nb::object leaves(const InTable<Code>& codes, std::size_t n_threads, bool as_nodes) const {
        const std::size_t n_features = codes.shape(0), n_rows = codes.shape(1);
        auto found = std::make_unique_for_overwrite<std::int32_t[]>(n_rows * forest_.n_trees);
        Control control(look_on_with(nb::none()));
        {
            const nb::gil_scoped_release no_gil;
            find_leaves(forest_, codes.data(), n_rows, n_features, n_threads, as_nodes, found.get(), control);
        }
        return to_table(std::move(found), n_rows, forest_.n_trees);
    }

    // merged (n, S), or (n, 2S), takes in the states of the trees first_tree, …, one for each distinct content of a
    // leaf or, without `distinct`, for each leaf; out_of_bag is None or (seed, bag_mean, labels or None).
    template <class Code>
    void fold(const InTable<Code>& codes, const InTable<double>& states, const std::optional<In<std::int32_t>>& distinct, int merge, std::size_t first_tree, std::size_t n_trees,
              const std::optional<In<double>>& tree_weights, const nb::object& out_of_bag, std::size_t n_threads,
              nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu> merged) const {
        const auto how = static_cast<Merge>(merge);
        const std::size_t width = states.shape(1);
        if (merged.shape(0) != codes.shape(1) || merged.shape(1) != (how == Merge::both ? 2 * width : width))
            throw nb::value_error("merged states must have one row per sample and the width of the states");
        const StateTable table{states.data(), width, distinct ? distinct->data() : nullptr, first_tree, n_trees, tree_weights ? tree_weights->data() : nullptr};
        OutOfBag outside;
        std::optional<In<std::uint16_t>> labels;
        if (!out_of_bag.is_none()) {
            outside.seed = nb::cast<std::uint64_t>(out_of_bag[0]);
            outside.bag_mean = nb::cast<double>(out_of_bag[1]);
            if (!nb::object(out_of_bag[2]).is_none()) labels = nb::cast<In<std::uint16_t>>(out_of_bag[2]);
            if (labels) outside.labels = labels->data();
        }
        Control control(look_on_with(nb::none()));
        const nb::gil_scoped_release no_gil;
        fold_states(forest_, leaves_, table, how, out_of_bag.is_none() ? nullptr : &outside, codes.data(), codes.shape(1),
                    codes.shape(0), n_threads, merged.data(), control);
    }

    // decrease (trees, groups) of the worth of the trees' answers; groups are features end to end and where each starts.
    template <class Code>
    void permute(const InTable<Code>& codes, const In<std::uint16_t>& labels, int worth, bool counted, std::uint64_t seed,
                 double bag_mean, const In<std::int64_t>& features, const In<std::int64_t>& start, std::uint64_t key,
                 std::size_t n_repeats, std::size_t n_threads, const OutTable& decrease) const {
        check_labels(labels, codes.shape(1));
        permute_with(ClassJudge{leaves_, labels.data(), static_cast<Worth>(worth), counted}, codes, seed, bag_mean, features, start,
                     key, n_repeats, n_threads, decrease);
    }
    // The same where leaves predict numbers (leaves,) and a row is worth minus its squared error.
    template <class Code>
    void permute_numbers(const InTable<Code>& codes, const In<double>& targets, const In<double>& predicted, std::uint64_t seed,
                         double bag_mean, const In<std::int64_t>& features, const In<std::int64_t>& start, std::uint64_t key,
                         std::size_t n_repeats, std::size_t n_threads, const OutTable& decrease) const {
        if (targets.shape(0) != codes.shape(1) || predicted.shape(0) != static_cast<std::size_t>(forest_.leaf_start[forest_.n_trees]))
            throw nb::value_error("targets and predictions must fit the table and the leaves");
        permute_with(NumberJudge{predicted.data(), targets.data()}, codes, seed, bag_mean, features, start, key, n_repeats, n_threads,
                     decrease);
    }

    // gains (trees, p) of the splits on each feature, by the rows outside the bags.
    template <class Code>
    void gains(const InTable<Code>& codes, const In<std::uint16_t>& labels, std::uint64_t seed, double bag_mean,
               std::size_t n_threads, const OutTable& gains) const {
        check_labels(labels, codes.shape(1));
        gain_with(Responses::of_classes(labels.data(), codes.shape(1), leaves_.n_classes), codes, seed, bag_mean, n_threads, gains);
    }
    template <class Code>
    void gains_numbers(const InTable<Code>& codes, const In<double>& targets, std::uint64_t seed, double bag_mean,
                       std::size_t n_threads, const OutTable& gains) const {
        if (targets.shape(0) != codes.shape(1)) throw nb::value_error("targets must fit the table");
        gain_with(Responses::of_numbers(targets.data(), codes.shape(1)), codes, seed, bag_mean, n_threads, gains);
    }

    // first (trees, p): depth of the first split on each feature.
    void first_uses_of(const In<std::int64_t>& depth, const OutTable& first) const {
        if (first.shape(0) != forest_.n_trees || depth.shape(0) != forest_.n_trees)
            throw nb::value_error("depths must fit the trees");
        first_uses(forest_, depth.data(), first.shape(1), first.data());
    }

    // (leaves,): how likely each leaf is when nothing is known of a row but the covers of the leaves.
    nb::object leaf_shares_of(const In<double>& covers) const {
        std::vector<double> reached(static_cast<std::size_t>(forest_.leaf_start[forest_.n_trees]));
        if (covers.shape(0) != reached.size()) throw nb::value_error("covers must have one number per leaf");
        leaf_shares(forest_, covers.data(), reached.data());
        return to_numpy(std::move(reached));
    }

    // values (n, p, S), and pairs (n, p, p, S) unless None, take in what the trees first_tree, … say of the rows:
    // against the covers of leaves or, when there is one, against a background (p, m) of which no path has more than
    // `most` distinct features.
    template <class Code>
    void explain(const InTable<Code>& codes, const InTable<double>& states, std::size_t first_tree, std::size_t n_trees,
                 const In<double>& covers, const std::optional<InTable<Code>>& background, std::size_t most, std::size_t n_threads,
                 nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu> values,
                 const std::optional<nb::ndarray<double, nb::ndim<4>, nb::c_contig, nb::device::cpu>>& pairs) const {
        const std::size_t n_features = codes.shape(0), n_rows = codes.shape(1), width = states.shape(1);
        if (values.shape(0) != n_rows || values.shape(1) != n_features || values.shape(2) != width)
            throw nb::value_error("values must have one row per sample, one column per feature and the width of the states");
        if (pairs && (pairs->shape(0) != n_rows || pairs->shape(1) != n_features || pairs->shape(2) != n_features || pairs->shape(3) != width))
            throw nb::value_error("pairs must have one row per sample, features twice and the width of the states");
        if (background && background->shape(0) != n_features)
            throw nb::value_error("a background must have the features of the samples");
        const StateTable table{states.data(), width, nullptr, first_tree, n_trees, nullptr};
        double* const to_pairs = pairs ? pairs->data() : nullptr;
        Control control(look_on_with(nb::none()));
        const nb::gil_scoped_release no_gil;
        if (background)
            explain_against(forest_, table, background->data(), background->shape(1), codes.data(), n_rows, n_features, n_threads,
                            most, values.data(), to_pairs, control);
        else
            explain_paths(forest_, covers.data(), table, codes.data(), n_rows, n_features, n_threads, values.data(), to_pairs, control);
    }

private:
    void check_labels(const In<std::uint16_t>& labels, std::size_t n_rows) const {
        if (labels.shape(0) != n_rows) throw nb::value_error("labels must fit the table");
        for (std::size_t i = 0; i < n_rows; ++i)
            if (labels.data()[i] >= leaves_.n_classes) throw nb::value_error("labels must be classes of the forest");
    }

    template <class Judge, class Code>
    void permute_with(const Judge& judge, const InTable<Code>& codes, std::uint64_t seed, double bag_mean,
                      const In<std::int64_t>& features, const In<std::int64_t>& start, std::uint64_t key, std::size_t n_repeats,
                      std::size_t n_threads, const OutTable& decrease) const {
        const BaggedRows<Code> rows{codes.data(), codes.shape(1), codes.shape(0), seed, bag_mean};
        const FeatureGroups groups{features.data(), start.data(), start.shape(0) - 1};
        if (decrease.shape(0) != forest_.n_trees || decrease.shape(1) != groups.n_groups)
            throw nb::value_error("decreases must fit the trees and the groups");
        for (std::size_t i = 0; i < features.shape(0); ++i)
            if (features.data()[i] < 0 || static_cast<std::size_t>(features.data()[i]) >= rows.n_features)
                throw nb::value_error("groups must be made of features of the table");
        Control control(look_on_with(nb::none()));
        const nb::gil_scoped_release no_gil;
        permute_outside(forest_, rows, groups, judge, key, n_repeats, n_threads, decrease.data(), control);
    }

    template <class Code>
    void gain_with(const Responses& responses, const InTable<Code>& codes, std::uint64_t seed, double bag_mean,
                   std::size_t n_threads, const OutTable& gains) const {
        const BaggedRows<Code> rows{codes.data(), codes.shape(1), codes.shape(0), seed, bag_mean};
        if (gains.shape(0) != forest_.n_trees || gains.shape(1) != rows.n_features)
            throw nb::value_error("gains must fit the trees and the table");
        Control control(look_on_with(nb::none()));
        const nb::gil_scoped_release no_gil;
        gain_outside(forest_, rows, responses, n_threads, gains.data(), control);
    }

    nb::tuple held_;
    ForestView forest_;
    LeafView leaves_;
};

// Arrays from outside -> rows counted in each tree; a ValueError says what is wrong with them. Where trees, leaves and
// words start must have been checked: ascending, from 0 to the lengths of the arrays.
nb::object check_forest_of(const In<std::uint64_t>& nodes, const In<std::int32_t>& payload, const In<std::uint64_t>& set_words,
                           const In<std::int64_t>& node_start, const In<std::int64_t>& leaf_start,
                           const In<std::int64_t>& set_start, const In<std::int64_t>& depth, const In<std::uint32_t>& counts,
                           const std::optional<In<std::int64_t>>& entry_start,
                           const std::optional<In<std::uint16_t>>& entry_class, const std::optional<In<double>>& weights,
                           std::uint32_t n_classes, const In<std::int64_t>& n_bins, const In<std::uint8_t>& nominal,
                           std::size_t n_threads) {
    const ForestView forest{reinterpret_cast<const Node*>(nodes.data()), payload.data(), set_words.data(), node_start.data(),
                            leaf_start.data(), set_start.data(), depth.shape(0), true};
    const LeafView leaves{n_classes, counts.data(), entry_start ? entry_start->data() : nullptr,
                          entry_class ? entry_class->data() : nullptr, weights ? weights->data() : nullptr};
    const Known known{n_bins.data(), nominal.data(), n_bins.shape(0),
                      static_cast<std::int64_t>(entry_class ? entry_class->shape(0) : 0)};
    Control control(look_on_with(nb::none()));
    std::vector<std::uint64_t> rows;
    {
        const nb::gil_scoped_release no_gil;
        rows = check_forest(forest, leaves, known, depth.data(), n_threads, control);
    }
    return to_numpy(std::move(rows));
}

// leaves (n, T) -> quantiles (n, q) of the numbers of the rows in them.
nb::object quantiles_of(const InTable<std::int32_t>& leaves, const In<std::int64_t>& leaf_start, const In<std::int64_t>& row_start,
                        const In<std::uint32_t>& ranks, const In<double>& values, const std::optional<In<double>>& weights,
                        const In<double>& quantiles, bool trees_alike, bool inverse, std::size_t n_threads) {
    const LeafRows rows{leaf_start.data(), row_start.data(), ranks.data(), values.data(), weights ? weights->data() : nullptr,
                        leaves.shape(1), values.shape(0)};
    const std::size_t n_samples = leaves.shape(0), n_quantiles = quantiles.shape(0);
    auto found = std::make_unique<double[]>(n_samples * n_quantiles);
    Control control(look_on_with(nb::none()));
    {
        const nb::gil_scoped_release no_gil;
        find_quantiles(rows, {trees_alike, inverse}, leaves.data(), n_samples, quantiles.data(), n_quantiles, n_threads,
                       found.get(), control);
    }
    double* data = found.release();
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<double*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, double, nb::ndim<2>>(data, {n_samples, n_quantiles}, owner));
}

// Leaves (n, trees) -> (start, columns, values) of the rows among `others` (m, trees) that each row meets.
nb::tuple meet_of(const InTable<std::int32_t>& leaves, const RowsInLeaves& others, const In<std::int64_t>& leaf_start, int meeting,
                  std::size_t first_row, std::size_t most, std::size_t n_threads) {
    const LeafTable table{leaves.data(), leaves.shape(0), leaves.shape(1), leaf_start.data()};
    SparseRows found;
    Control control(look_on_with(nb::none()));
    {
        const nb::gil_scoped_release no_gil;
        found = meet(table, others, static_cast<Meeting>(meeting), first_row, most, n_threads, control);
    }
    return nb::make_tuple(to_numpy(std::move(found.start)), to_numpy(std::move(found.columns)), to_numpy(std::move(found.values)));
}

// What the leaves of one tree hold (leaves × width) -> what its nodes do (nodes × width).
template <class Value>
nb::object node_sums_of(const In<std::uint64_t>& nodes, const In<std::int32_t>& payload, const InTable<Value>& leaves) {
    const TreeView tree{reinterpret_cast<const Node*>(nodes.data()), payload.data(), nullptr, true};
    const std::size_t n_nodes = nodes.shape(0), width = leaves.shape(1);
    auto sums = std::make_unique<Value[]>(n_nodes * width);
    sum_up(tree, n_nodes, leaves.data(), width, sums.get());
    Value* data = sums.release();
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<Value*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, Value, nb::ndim<2>>(data, {n_nodes, width}, owner));
}

// How often each of rows first to last - 1 is in the bag of a tree that was grown on n_rows rows. Rows beyond those have
// come later: they have their draw like all others.
nb::object bag_of(std::uint64_t seed, std::uint64_t tree, std::size_t n_rows, double mean, std::size_t first,
                  std::optional<std::size_t> last) {
    const Bag bag(seed, tree, n_rows, mean);
    std::vector<std::uint32_t> times(last.value_or(n_rows) - first);
    for (std::size_t i = 0; i < times.size(); ++i) times[i] = bag.multiplicity(first + i);
    return to_numpy(std::move(times));
}

// Which of the rows first, …, first + n - 1 of a table of n_rows decide its cuts, counted from `first`.
nb::object sampled_rows_of(std::size_t n_rows, std::size_t limit, std::size_t first, std::size_t n) {
    return to_numpy(rows_for_cuts(n_rows, limit, first, n));
}

}  // namespace

NB_MODULE(_core, module) {
    module.doc() = "Hot loops of hedgerow: bin columns, grow trees, read leaves.";
    module.def("find_bins", &find_bins_of, "columns"_a, "chosen"_a.none(), "sample_rows"_a, "max_bins"_a,
               "n_threads"_a);
    module.def("encode_into", &encode_into<std::uint8_t>, "columns"_a, "first_feature"_a, "cuts"_a, "cut_start"_a,
               "wanted"_a.none(), "n_threads"_a, "out"_a.noconvert());
    module.def("encode_into", &encode_into<std::uint16_t>, "columns"_a, "first_feature"_a, "cuts"_a, "cut_start"_a,
               "wanted"_a.none(), "n_threads"_a, "out"_a.noconvert());
    module.def("grow", &grow<std::uint8_t>, "codes"_a.noconvert(), "n_bins"_a, "nominal"_a, "centers"_a, "center_start"_a,
               "labels"_a, "weights"_a.none(), "rows"_a.none(), "options"_a, "criterion"_a, "first_tree"_a, "n_trees"_a, "n_threads"_a,
               "progress"_a.none(), "below"_a = nb::none());
    module.def("grow", &grow<std::uint16_t>, "codes"_a.noconvert(), "n_bins"_a, "nominal"_a, "centers"_a, "center_start"_a,
               "labels"_a, "weights"_a.none(), "rows"_a.none(), "options"_a, "criterion"_a, "first_tree"_a, "n_trees"_a, "n_threads"_a,
               "progress"_a.none(), "below"_a = nb::none());
    module.def("grow_numbers", &grow_numbers<std::uint8_t>, "codes"_a.noconvert(), "n_bins"_a, "nominal"_a, "centers"_a,
               "center_start"_a, "values"_a, "weights"_a.none(), "sums"_a, "amounts"_a.none(), "grid"_a, "options"_a,
               "criterion"_a, "first_tree"_a, "n_trees"_a, "n_threads"_a, "progress"_a.none(),
               "below"_a = nb::none());
    module.def("grow_numbers", &grow_numbers<std::uint16_t>, "codes"_a.noconvert(), "n_bins"_a, "nominal"_a, "centers"_a,
               "center_start"_a, "values"_a, "weights"_a.none(), "sums"_a, "amounts"_a.none(), "grid"_a, "options"_a,
               "criterion"_a, "first_tree"_a, "n_trees"_a, "n_threads"_a, "progress"_a.none(),
               "below"_a = nb::none());
    module.def("check_forest", &check_forest_of, "nodes"_a, "payload"_a, "set_words"_a, "node_start"_a, "leaf_start"_a,
               "set_start"_a, "depth"_a, "counts"_a, "entry_start"_a.none(), "entry_class"_a.none(), "weights"_a.none(),
               "n_classes"_a, "n_bins"_a, "nominal"_a, "n_threads"_a);
    module.def("quantiles", &quantiles_of, "leaves"_a, "leaf_start"_a, "row_start"_a, "ranks"_a, "values"_a, "weights"_a.none(),
               "quantiles"_a, "trees_alike"_a, "inverse"_a, "n_threads"_a);
    module.def("node_sums", &node_sums_of<std::int64_t>, "nodes"_a, "payload"_a, "leaves"_a.noconvert());
    module.def("node_sums", &node_sums_of<double>, "nodes"_a, "payload"_a, "leaves"_a.noconvert());
    module.def("bag", &bag_of, "seed"_a, "tree"_a, "n_rows"_a, "mean"_a, "first"_a = 0, "last"_a.none() = nb::none());
    nb::class_<RowsInLeaves>(module, "RowsInLeaves")
        .def("__init__", [](RowsInLeaves* self, const InTable<std::int32_t>& leaves, const In<std::int64_t>& leaf_start, int present,
                            std::uint64_t seed, double bag_mean) {
            const nb::gil_scoped_release no_gil;
            new (self) RowsInLeaves(LeafTable{leaves.data(), leaves.shape(0), leaves.shape(1), leaf_start.data()},
                                static_cast<Present>(present), seed, bag_mean);
        }, "leaves"_a, "leaf_start"_a, "present"_a, "seed"_a, "bag_mean"_a);
    module.def("meet", &meet_of, "leaves"_a, "others"_a, "leaf_start"_a, "meeting"_a, "first_row"_a, "most"_a, "n_threads"_a);
    const auto define_histograms = [&]<class Code>(Code) {
        module.def("arrived", &arrived_of<Code>, "codes"_a.noconvert(), "nodes"_a, "payload"_a, "set_words"_a, "place"_a,
                   "n_places"_a, "seed"_a, "tree"_a, "n_rows"_a, "bag_mean"_a, "first_row"_a, "outside"_a);
        const auto define_sums = [&]<class Cell>(Cell) {
            module.def("histograms", &histograms<Code, Cell>, "codes"_a.noconvert(), "n_bins"_a, "rows"_a, "row_start"_a,
                       "labels"_a.none(), "amounts"_a.noconvert(), "sums"_a.none(), "n_cells"_a, "start"_a, "features"_a);
        };
        define_sums(std::uint32_t{});
        define_sums(double{});
    };
    define_histograms(std::uint8_t{});
    define_histograms(std::uint16_t{});
    nb::class_<PythonChooser>(module, "Chooser")
        .def(nb::init<In<std::int64_t>, In<std::uint8_t>, In<double>, In<std::int64_t>, const nb::dict&, const nb::object&, std::size_t, bool,
                      const std::optional<std::vector<double>>&>(),
             "n_bins"_a, "nominal"_a, "centers"_a, "center_start"_a, "options"_a, "criterion"_a, "n_rows"_a, "weighted"_a, "grid"_a.none())
        .def("choose", &PythonChooser::choose, "key"_a, "total_amount"_a, "lower"_a, "upper"_a, "used"_a, "totals"_a, "first"_a, "bins"_a, "spare"_a);
    module.def("root_key", &root_key_of, "seed"_a, "tree"_a);
    module.def("child_key", &child_key_of, "key"_a, "side"_a);
    module.def("sampled_rows", &sampled_rows_of, "n_rows"_a, "limit"_a, "first"_a, "n"_a);
    nb::class_<Reader>(module, "Reader")
        .def(nb::init<In<std::uint64_t>, In<std::int32_t>, In<std::uint64_t>, In<std::int64_t>, In<std::int64_t>,
                      In<std::int64_t>, In<std::uint32_t>, std::optional<In<std::int64_t>>,
                      std::optional<In<std::uint16_t>>, std::optional<In<double>>, std::uint32_t>(),
             "nodes"_a, "payload"_a, "set_words"_a, "node_start"_a, "leaf_start"_a, "set_start"_a, "counts"_a,
             "entry_start"_a.none(), "entry_class"_a.none(), "weights"_a.none(), "n_classes"_a)
        .def("average", &Reader::average<std::uint8_t>, "codes"_a.noconvert(), "n_threads"_a)
        .def("average", &Reader::average<std::uint16_t>, "codes"_a.noconvert(), "n_threads"_a)
        .def("average_known", &Reader::average_known<std::uint8_t>, "codes"_a.noconvert(), "shares"_a, "distinct"_a, "n_threads"_a)
        .def("average_known", &Reader::average_known<std::uint16_t>, "codes"_a.noconvert(), "shares"_a, "distinct"_a, "n_threads"_a)
        .def("distinct", &Reader::distinct, "n_threads"_a)
        .def("fold", &Reader::fold<std::uint8_t>, "codes"_a.noconvert(), "states"_a, "distinct"_a.none(), "merge"_a, "first_tree"_a, "n_trees"_a,
             "tree_weights"_a.none(), "out_of_bag"_a.none(), "n_threads"_a, "merged"_a.noconvert())
        .def("fold", &Reader::fold<std::uint16_t>, "codes"_a.noconvert(), "states"_a, "distinct"_a.none(), "merge"_a, "first_tree"_a, "n_trees"_a,
             "tree_weights"_a.none(), "out_of_bag"_a.none(), "n_threads"_a, "merged"_a.noconvert())
        .def("explain", &Reader::explain<std::uint8_t>, "codes"_a.noconvert(), "states"_a, "first_tree"_a, "n_trees"_a, "covers"_a,
             "background"_a.noconvert().none(), "most"_a, "n_threads"_a, "values"_a.noconvert(), "pairs"_a.noconvert().none())
        .def("explain", &Reader::explain<std::uint16_t>, "codes"_a.noconvert(), "states"_a, "first_tree"_a, "n_trees"_a, "covers"_a,
             "background"_a.noconvert().none(), "most"_a, "n_threads"_a, "values"_a.noconvert(), "pairs"_a.noconvert().none())
        .def("permute", &Reader::permute<std::uint8_t>, "codes"_a.noconvert(), "labels"_a, "worth"_a, "counted"_a, "seed"_a,
             "bag_mean"_a, "features"_a, "start"_a, "key"_a, "n_repeats"_a, "n_threads"_a, "decrease"_a.noconvert())
        .def("permute_numbers", &Reader::permute_numbers<std::uint8_t>, "codes"_a.noconvert(), "targets"_a, "predicted"_a, "seed"_a,
             "bag_mean"_a, "features"_a, "start"_a, "key"_a, "n_repeats"_a, "n_threads"_a, "decrease"_a.noconvert())
        .def("gains", &Reader::gains<std::uint8_t>, "codes"_a.noconvert(), "labels"_a, "seed"_a, "bag_mean"_a, "n_threads"_a,
             "gains"_a.noconvert())
        .def("gains_numbers", &Reader::gains_numbers<std::uint8_t>, "codes"_a.noconvert(), "targets"_a, "seed"_a, "bag_mean"_a,
             "n_threads"_a, "gains"_a.noconvert())
        .def("permute", &Reader::permute<std::uint16_t>, "codes"_a.noconvert(), "labels"_a, "worth"_a, "counted"_a, "seed"_a,
             "bag_mean"_a, "features"_a, "start"_a, "key"_a, "n_repeats"_a, "n_threads"_a, "decrease"_a.noconvert())
        .def("permute_numbers", &Reader::permute_numbers<std::uint16_t>, "codes"_a.noconvert(), "targets"_a, "predicted"_a, "seed"_a,
             "bag_mean"_a, "features"_a, "start"_a, "key"_a, "n_repeats"_a, "n_threads"_a, "decrease"_a.noconvert())
        .def("gains", &Reader::gains<std::uint16_t>, "codes"_a.noconvert(), "labels"_a, "seed"_a, "bag_mean"_a, "n_threads"_a,
             "gains"_a.noconvert())
        .def("gains_numbers", &Reader::gains_numbers<std::uint16_t>, "codes"_a.noconvert(), "targets"_a, "seed"_a, "bag_mean"_a,
             "n_threads"_a, "gains"_a.noconvert())
        .def("first_uses", &Reader::first_uses_of, "depth"_a, "first"_a.noconvert())
        .def("leaf_shares", &Reader::leaf_shares_of, "covers"_a)
        .def("leaves", &Reader::leaves<std::uint8_t>, "codes"_a.noconvert(), "n_threads"_a, "as_nodes"_a)
        .def("leaves", &Reader::leaves<std::uint16_t>, "codes"_a.noconvert(), "n_threads"_a, "as_nodes"_a);
}
