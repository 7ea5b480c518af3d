// Python functions for reading forests and the rows in their leaves.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include "bindings/arrays.hpp"
#include "core/read/entries.hpp"
#include "core/read/proximity.hpp"
#include "core/read/quantiles.hpp"
#include "core/read/reader.hpp"
#include "core/read/validate.hpp"
#include "core/read/walk.hpp"

namespace hedgerow {
namespace {

// Calls work(codes, control) without the GIL.
template <class Work>
auto reading(const InCodes& codes, Work&& work) {
    return without_gil([&](Control& control) {
        return with_codes(codes, [&](const auto& columns) { return work(columns, control); });
    });
}
// The same for work that takes much longer than a copy of the codes; compiled for two-byte codes only.
template <class Work>
auto reading_wide(const InCodes& codes, Work&& work) {
    return reading(codes,
                   [&](const auto& columns, Control& control) { return work(WideCodes(columns).columns(), control); });
}

// A reader, and the arrays it reads.
class HeldReader {
public:
    explicit HeldReader(const nb::kwargs& arrays) : values_(arrays), reader_(values_.given) {}

    nb::object average(const InCodes& codes, std::size_t n_threads) const {
        return to_numpy(reading(codes, [&](const auto& columns, Control& control) {
            return reader_.average(columns, n_threads, control);
        }));
    }
    nb::object average_known(const InCodes& codes, const InTable<double>& shares, const In<std::int32_t>& distinct,
                             std::size_t n_threads) const {
        return to_numpy(reading(codes, [&](const auto& columns, Control& control) {
            return reader_.average_known(columns, table_of(shares), span_of(distinct), n_threads, control);
        }));
    }
    nb::object average_oob(const InCodes& codes, const In<std::int64_t>& rows, std::size_t n_rows, std::uint64_t seed,
                           double bag_mean, const std::optional<In<std::uint16_t>>& labels, std::size_t n_threads,
                           const std::optional<In<std::uint32_t>>& units) const {
        const OobRows outside{rows.data(), n_rows, seed, bag_mean, pointer_to(labels), units_of(units)};
        const auto of_rows = labels ? span_of(*labels) : std::span<const std::uint16_t>{};
        return to_numpy(reading(codes, [&](const auto& columns, Control& control) {
            return reader_.average_oob(columns, span_of(rows), outside, of_rows, n_threads, control);
        }));
    }
    nb::tuple ancestors(const In<std::int64_t>& least, std::size_t n_threads) const {
        Ancestors found =
            without_gil([&](Control& control) { return reader_.ancestors(span_of(least), n_threads, control); });
        return nb::make_tuple(to_numpy(std::move(found.place)), to_numpy(std::move(found.start)),
                              to_numpy(std::move(found.label)), to_numpy(std::move(found.counts)),
                              to_numpy(std::move(found.weights)));
    }
    nb::tuple leaf_spans(const In<std::int64_t>& least, std::size_t n_threads) const {
        LeafSpans found =
            without_gil([&](Control& control) { return reader_.leaf_spans(span_of(least), n_threads, control); });
        return nb::make_tuple(to_numpy(std::move(found.place)), to_numpy(std::move(found.leaf)),
                              to_numpy(std::move(found.first)), to_numpy(std::move(found.last)));
    }
    // spans: as `leaf_spans` returns them; layout: the numbers of times and causes, and the entries.
    using Spans = std::tuple<In<std::int32_t>, In<std::int32_t>, In<std::int32_t>, In<std::int32_t>>;
    using Layout = std::tuple<std::size_t, std::size_t, In<std::uint16_t>>;
    nb::object curves(const InTable<std::int32_t>& reached, const Spans& spans, const In<double>& depth_weights,
                      const Layout& layout, const std::string& kind, double caution,
                      const std::optional<In<std::uint16_t>>& own, std::size_t n_threads) const {
        const auto& [place, leaf, first, last] = spans;
        const LeafSpansView view{span_of(place), span_of(leaf), span_of(first), span_of(last)};
        const SurvivalLayout cells(std::get<0>(layout), std::get<1>(layout), span_of(std::get<2>(layout)));
        const auto own_cells = own ? span_of(*own) : std::span<const std::uint16_t>{};
        return to_numpy(without_gil([&](Control& control) {
            return reader_.curves(view, span_of(depth_weights), cells, curve_kind_of(kind), caution, table_of(reached),
                                  own_cells, n_threads, control);
        }));
    }
    // bags: None, or the numbers of training rows, the number of all, seed and mean of the bags, the labels of rows
    // that leaves have counted, or None, and the groups of rows, or None.
    using Training = std::tuple<In<std::int64_t>, std::size_t, std::uint64_t, double, std::optional<In<std::uint16_t>>,
                                std::optional<In<std::uint32_t>>>;
    nb::object views(const InCodes& codes, const In<std::int32_t>& place, const In<std::int64_t>& start,
                     const In<std::uint16_t>& label, const In<double>& counts, const std::optional<In<double>>& weights,
                     std::tuple<std::size_t, std::size_t, std::size_t> shape, const std::optional<Training>& bags,
                     std::size_t n_threads) const {
        const auto [n_classes, n_depths, n_kinds] = shape;
        const ViewTable table{span_of(place),      span_of(start), span_of(label), counts.data(),
                              pointer_to(weights), n_classes,      n_depths,       n_kinds};
        OobRows outside;
        std::span<const std::uint16_t> labels;
        if (bags) {
            const auto& [rows, n_rows, seed, mean, given, units] = *bags;
            outside = {rows.data(), n_rows, seed, mean, pointer_to(given), units_of(units)};
            if (given) labels = span_of(*given);
        }
        return to_numpy(reading(codes, [&](const auto& columns, Control& control) {
            return reader_.views(columns, table, outside, labels, n_threads, control);
        }));
    }
    nb::tuple distinct(std::size_t n_threads) const {
        auto [examples, distinct] = without_gil([&](Control& control) { return reader_.distinct(n_threads, control); });
        return nb::make_tuple(to_numpy(std::move(examples)), to_numpy(std::move(distinct)));
    }
    nb::object leaves(const InCodes& codes, std::size_t n_threads, bool as_nodes) const {
        return to_numpy(reading(codes, [&](const auto& columns, Control& control) {
            return reader_.leaves(columns, n_threads, as_nodes, control);
        }));
    }
    nb::object path_most(const InCodes& codes, const InTable<double>& amounts, std::size_t n_threads) const {
        return to_numpy(reading_wide(codes, [&](const auto& columns, Control& control) {
            return reader_.path_most(columns, table_of(amounts), n_threads, control);
        }));
    }
    nb::object covers(const In<double>& amounts) const { return to_numpy(reader_.covers(span_of(amounts))); }
    nb::object mixed_counts(const InCodes& codes, const In<double>& covers, const In<std::uint8_t>& gapless,
                            bool pooled, std::size_t n_threads) const {
        const Branching branching{span_of(covers), span_of(gapless), pooled};
        return to_numpy(reading_wide(codes, [&](const auto& columns, Control& control) {
            return reader_.mixed_counts(columns, branching, n_threads, control);
        }));
    }
    nb::object mixed_states(const InCodes& codes, const InTable<double>& states, const In<double>& rows,
                            const In<double>& covers, const In<std::uint8_t>& gapless, bool pooled,
                            std::size_t n_threads) const {
        const Branching branching{span_of(covers), span_of(gapless), pooled};
        return to_numpy(reading_wide(codes, [&](const auto& columns, Control& control) {
            return reader_.mixed_states(columns, table_of(states), span_of(rows), branching, n_threads, control);
        }));
    }
    nb::object marks(const InCodes& codes, const InTable<std::int32_t>& drawn, const In<std::int64_t>& n_bins,
                     const In<std::uint8_t>& nominal, std::uint64_t seed, double bag_mean, std::size_t first_tree,
                     std::size_t n_threads, const std::optional<In<std::uint32_t>>& units) const {
        const Bags bags{seed, bag_mean, codes.shape(1), first_tree, units_of(units)};
        return to_numpy(reading(codes, [&](const auto& columns, Control& control) {
            return reader_.marks(columns, table_of(drawn), span_of(n_bins), span_of(nominal), bags, n_threads, control);
        }));
    }
    // bags: None, or the training rows, their number, the seed, the mean and the first tree of the bags, and the groups
    // of all rows, or None.
    using Drawn =
        std::tuple<In<std::int64_t>, std::size_t, std::uint64_t, double, std::size_t, std::optional<In<std::uint32_t>>>;
    nb::tuple novelty(const InCodes& codes, const InTable<double>& cells, const InTable<std::int32_t>& places,
                      const In<std::int32_t>& features, const In<std::uint8_t>& nominal, const In<std::int64_t>& n_bins,
                      const InTable<Mark>& marks, const InTable<double>& low, const InTable<double>& high,
                      const In<double>& spread, const In<double>& absent, const In<std::int64_t>& start,
                      const In<double>& missing, const In<double>& present, double far,
                      const std::optional<Drawn>& bags, std::size_t n_threads) const {
        const Rulers rulers{table_of(low),  table_of(high),   span_of(spread),  span_of(absent),
                            span_of(start), span_of(missing), span_of(present), far};
        const LeafRanges ranges{table_of(places), span_of(features), span_of(nominal),
                                span_of(n_bins),  table_of(marks),   rulers};
        Bags drawn;
        std::span<const std::int64_t> training;
        if (bags) {
            training = span_of(std::get<0>(*bags));
            drawn = {std::get<2>(*bags), std::get<3>(*bags), std::get<1>(*bags), std::get<4>(*bags),
                     units_of(std::get<5>(*bags))};
        }
        Novelty found = reading(codes, [&](const auto& columns, Control& control) {
            return reader_.novelty(columns, ranges, table_of(cells), training, drawn, n_threads, control);
        });
        const auto as_tuple = [](Scores& scores) {
            return nb::make_tuple(to_numpy(std::move(scores.total)), to_numpy(std::move(scores.single)),
                                  to_numpy(std::move(scores.place)));
        };
        return nb::make_tuple(as_tuple(found.all), as_tuple(found.half), to_numpy(std::move(found.n_trees_measured)));
    }
    // out_of_bag: None, or the seed and the mean of the bags, the labels of rows that leaves have counted, or None, and
    // the groups of rows, or None.
    using Outside =
        std::tuple<std::uint64_t, double, std::optional<In<std::uint16_t>>, std::optional<In<std::uint32_t>>>;
    void fold(const InCodes& codes, const InTable<double>& states, const std::optional<In<std::int32_t>>& distinct,
              int merge, std::size_t first_tree, std::size_t n_trees, const std::optional<In<double>>& tree_weights,
              const std::optional<Outside>& out_of_bag, std::size_t n_threads, const OutTable<double>& merged) const {
        const StatesGiven given{table_of(states), pointer_to(distinct), first_tree, n_trees, pointer_to(tree_weights)};
        std::optional<OutOfBag> outside;
        if (out_of_bag)
            outside = {std::get<0>(*out_of_bag), std::get<1>(*out_of_bag), pointer_to(std::get<2>(*out_of_bag)),
                       units_of(std::get<3>(*out_of_bag))};
        reading(codes, [&](const auto& columns, Control& control) {
            reader_.fold(columns, given, static_cast<Merge>(merge), outside, n_threads, table_of(merged), control);
        });
    }
    void explain(const InCodes& codes, const InTable<double>& states, std::size_t first_tree, std::size_t n_trees,
                 const In<double>& covers, const std::optional<InCodes>& background, std::size_t most,
                 std::size_t n_threads, const OutBox<3>& values, const std::optional<OutBox<4>>& pairs) const {
        const StatesGiven given{table_of(states), nullptr, first_tree, n_trees, nullptr};
        const auto to_pairs = pairs ? box_of<4>(*pairs) : Box<double, 4>{};
        without_gil([&](Control& control) {
            with_codes(codes, [&]<class Code>(const CodeColumns<Code>& columns) {
                const auto others = background ? columns_of<Code>(*background) : CodeColumns<Code>{};
                reader_.explain(columns, given, span_of(covers), others, most, n_threads, box_of<3>(values), to_pairs,
                                control);
            });
        });
    }
    nb::tuple smallest_change(const InCodes& codes, double seconds, const nb::kwargs& arrays) const {
        const Values values(arrays);
        Change found = reading(codes, [&](const auto& columns, Control& control) {
            return reader_.smallest_change(columns, values.given, seconds, control);
        });
        return nb::make_tuple(to_numpy(std::move(found.codes)), found.label, found.cost, found.bound, found.finished);
    }
    nb::object leaf_shares(const In<double>& covers) const { return to_numpy(reader_.leaf_shares(span_of(covers))); }

    void permute(const InCodes& codes, const In<std::uint16_t>& labels, int worth, bool counted, std::uint64_t seed,
                 double bag_mean, const In<std::int64_t>& features, const In<std::int64_t>& start, std::uint64_t key,
                 std::size_t n_repeats, std::size_t n_threads, const OutTable<double>& decrease,
                 const std::optional<In<std::uint32_t>>& units) const {
        const Permuting how{seed, bag_mean, span_of(features), span_of(start), key, n_repeats, units_of(units)};
        reading_wide(codes, [&](const auto& columns, Control& control) {
            reader_.permute(columns, span_of(labels), static_cast<Worth>(worth), counted, how, n_threads,
                            table_of(decrease), control);
        });
    }
    void permute_numbers(const InCodes& codes, const In<double>& targets, const In<double>& predicted,
                         std::uint64_t seed, double bag_mean, const In<std::int64_t>& features,
                         const In<std::int64_t>& start, std::uint64_t key, std::size_t n_repeats, std::size_t n_threads,
                         const OutTable<double>& decrease, const std::optional<In<std::uint32_t>>& units) const {
        const Permuting how{seed, bag_mean, span_of(features), span_of(start), key, n_repeats, units_of(units)};
        reading_wide(codes, [&](const auto& columns, Control& control) {
            reader_.permute_numbers(columns, span_of(targets), span_of(predicted), how, n_threads, table_of(decrease),
                                    control);
        });
    }
    void gains(const InCodes& codes, const In<std::uint16_t>& labels, std::uint64_t seed, double bag_mean,
               std::size_t n_threads, const OutTable<double>& gains,
               const std::optional<In<std::uint32_t>>& units) const {
        reading_wide(codes, [&](const auto& columns, Control& control) {
            reader_.gains(columns, span_of(labels), seed, bag_mean, units_of(units), n_threads, table_of(gains),
                          control);
        });
    }
    void gains_numbers(const InCodes& codes, const In<double>& targets, std::uint64_t seed, double bag_mean,
                       std::size_t n_threads, const OutTable<double>& gains,
                       const std::optional<In<std::uint32_t>>& units) const {
        reading_wide(codes, [&](const auto& columns, Control& control) {
            reader_.gains_numbers(columns, span_of(targets), seed, bag_mean, units_of(units), n_threads,
                                  table_of(gains), control);
        });
    }
    void first_uses(const In<std::int64_t>& depth, const OutTable<double>& first) const {
        reader_.first_uses(span_of(depth), table_of(first));
    }

private:
    Values values_;
    Reader reader_;
};

nb::object check_forest_of(std::size_t n_threads, const nb::kwargs& arrays) {
    const Values values(arrays);
    return to_numpy(without_gil([&](Control& control) { return check_forest(values.given, n_threads, control); }));
}

template <class Value>
nb::object node_sums_of(const In<std::uint64_t>& nodes, const In<std::int32_t>& payload, const InTable<Value>& leaves) {
    const TreeView tree{reinterpret_cast<const Node*>(nodes.data()), payload.data(), nullptr, true};
    return to_numpy(sum_up(tree, nodes.shape(0), table_of(leaves)));
}

// The class counts of every node of a tree of many classes, block by block, and the arrays they are read from.
class HeldEntries {
public:
    HeldEntries(const In<std::uint64_t>& nodes, const In<std::int32_t>& payload, const In<std::int64_t>& start,
                const In<std::uint16_t>& label, const In<double>& amount)
        : nodes_(nodes),
          payload_(payload),
          start_(start),
          label_(label),
          amount_(amount),
          entries_(TreeView{reinterpret_cast<const Node*>(nodes.data()), payload.data(), nullptr, true}, nodes.shape(0),
                   LeafEntries{span_of(start), span_of(label), span_of(amount)}) {}

    nb::tuple next(std::size_t most) {
        NodeEntries::Block block = entries_.next(most);
        return nb::make_tuple(to_numpy(std::move(block.start)), to_numpy(std::move(block.labels)),
                              to_numpy(std::move(block.amounts)));
    }

private:
    In<std::uint64_t> nodes_;
    In<std::int32_t> payload_;
    In<std::int64_t> start_;
    In<std::uint16_t> label_;
    In<double> amount_;
    NodeEntries entries_;
};

nb::object largest_margins_of(const In<std::int32_t>& contents, const In<std::int64_t>& starts,
                              const nb::kwargs& arrays) {
    const Values values(arrays);
    return to_numpy(largest_margins(Margins::from(values.given), span_of(contents), span_of(starts)));
}

LeafTable leaves_of(const InTable<std::int32_t>& leaves, const In<std::int64_t>& leaf_start) {
    return {leaves.data(), leaves.shape(0), leaves.shape(1), leaf_start.data()};
}

void make_rows_in_leaves(RowsInLeaves* self, const InTable<std::int32_t>& leaves, const In<std::int64_t>& leaf_start,
                         int present, std::uint64_t seed, double bag_mean,
                         const std::optional<In<std::uint32_t>>& units) {
    const nb::gil_scoped_release no_gil;
    new (self)
        RowsInLeaves(leaves_of(leaves, leaf_start), static_cast<Present>(present), seed, bag_mean, units_of(units));
}

nb::tuple meet_of(const InTable<std::int32_t>& leaves, const RowsInLeaves& others, const In<std::int64_t>& leaf_start,
                  int meeting, std::size_t first_row, std::size_t most, std::size_t n_threads) {
    SparseRows found = without_gil([&](Control& control) {
        return meet(leaves_of(leaves, leaf_start), others, static_cast<Meeting>(meeting), first_row, most, n_threads,
                    control);
    });
    return nb::make_tuple(to_numpy(std::move(found.start)), to_numpy(std::move(found.columns)),
                          to_numpy(std::move(found.values)));
}

// Quantiles of the rows in leaves or, without an interpolation, the positions of one number per sample among them.
nb::object quantiles_of(const InTable<std::int32_t>& leaves, const In<std::int64_t>& leaf_start,
                        const In<std::int64_t>& row_start, const In<std::uint32_t>& ranks, const In<double>& values,
                        const std::optional<In<double>>& weights, const In<double>& wanted, bool trees_alike,
                        std::optional<int> interpolation, std::size_t n_threads) {
    const LeafRows rows{leaf_start.data(),   row_start.data(), ranks.data(),   values.data(),
                        pointer_to(weights), leaves.shape(1),  values.shape(0)};
    const QuantileOptions options{trees_alike, static_cast<Interpolation>(interpolation.value_or(0))};
    if (!interpolation && wanted.shape(0) != leaves.shape(0))
        throw std::invalid_argument("wanted must have one number per sample");
    return to_numpy(without_gil([&](Control& control) {
        if (!interpolation) return place_numbers(rows, options, table_of(leaves), span_of(wanted), n_threads, control);
        return find_quantiles(rows, options, table_of(leaves), span_of(wanted), n_threads, control);
    }));
}

}  // namespace

void define_reading(nb::module_& module) {
    module.def("check_forest", &check_forest_of, "n_threads"_a, "arrays"_a);
    module.def("node_sums", &node_sums_of<std::int64_t>, "nodes"_a, "payload"_a, "leaves"_a.noconvert());
    module.def("node_sums", &node_sums_of<double>, "nodes"_a, "payload"_a, "leaves"_a.noconvert());
    module.def("largest_margins", &largest_margins_of, "contents"_a, "starts"_a, "arrays"_a);
    nb::class_<HeldReader> reader(module, "Reader");
    reader.def(nb::init<const nb::kwargs&>())
        .def("distinct", &HeldReader::distinct, "n_threads"_a)
        .def("covers", &HeldReader::covers, "amounts"_a)
        .def("first_uses", &HeldReader::first_uses, "depth"_a, "first"_a.noconvert())
        .def("leaf_shares", &HeldReader::leaf_shares, "covers"_a);
    const auto codes = "codes"_a.noconvert();
    const auto decrease = "decrease"_a.noconvert(), gains = "gains"_a.noconvert();
    reader.def("average", &HeldReader::average, codes, "n_threads"_a)
        .def("average_known", &HeldReader::average_known, codes, "shares"_a, "distinct"_a, "n_threads"_a)
        .def("average_outside", &HeldReader::average_oob, codes, "rows"_a, "n_rows"_a, "seed"_a, "bag_mean"_a,
             "labels"_a.none(), "n_threads"_a, "units"_a.none() = nb::none())
        .def("ancestors", &HeldReader::ancestors, "least"_a, "n_threads"_a)
        .def("views", &HeldReader::views, codes, "place"_a, "start"_a, "label"_a, "counts"_a, "weights"_a.none(),
             "shape"_a, "bags"_a.none(), "n_threads"_a)
        .def("leaf_spans", &HeldReader::leaf_spans, "least"_a, "n_threads"_a)
        .def("curves", &HeldReader::curves, "reached"_a, "spans"_a, "depth_weights"_a, "layout"_a, "kind"_a,
             "caution"_a, "own"_a.none(), "n_threads"_a)
        .def("leaves", &HeldReader::leaves, codes, "n_threads"_a, "as_nodes"_a)
        .def("mixed_counts", &HeldReader::mixed_counts, codes, "covers"_a, "gapless"_a, "pooled"_a, "n_threads"_a)
        .def("mixed_states", &HeldReader::mixed_states, codes, "states"_a, "rows"_a, "covers"_a, "gapless"_a,
             "pooled"_a, "n_threads"_a)
        .def("marks", &HeldReader::marks, codes, "drawn"_a, "n_bins"_a, "nominal"_a, "seed"_a, "bag_mean"_a,
             "first_tree"_a, "n_threads"_a, "units"_a.none() = nb::none())
        .def("strangeness", &HeldReader::novelty, codes, "cells"_a, "places"_a, "features"_a, "nominal"_a, "n_bins"_a,
             "marks"_a, "low"_a, "high"_a, "spread"_a, "absent"_a, "start"_a, "missing"_a, "present"_a, "far"_a,
             "bags"_a.none(), "n_threads"_a)
        .def("fold", &HeldReader::fold, codes, "states"_a, "distinct"_a.none(), "merge"_a, "first_tree"_a, "n_trees"_a,
             "tree_weights"_a.none(), "out_of_bag"_a.none(), "n_threads"_a, "merged"_a.noconvert())
        .def("explain", &HeldReader::explain, codes, "states"_a, "first_tree"_a, "n_trees"_a, "covers"_a,
             "background"_a.noconvert().none(), "most"_a, "n_threads"_a, "values"_a.noconvert(),
             "pairs"_a.noconvert().none())
        .def("path_most", &HeldReader::path_most, codes, "amounts"_a, "n_threads"_a)
        .def("smallest_change", &HeldReader::smallest_change, codes, "seconds"_a, "arrays"_a)
        .def("permute", &HeldReader::permute, codes, "labels"_a, "worth"_a, "counted"_a, "seed"_a, "bag_mean"_a,
             "features"_a, "start"_a, "key"_a, "n_repeats"_a, "n_threads"_a, decrease, "units"_a.none() = nb::none())
        .def("permute_numbers", &HeldReader::permute_numbers, codes, "targets"_a, "predicted"_a, "seed"_a, "bag_mean"_a,
             "features"_a, "start"_a, "key"_a, "n_repeats"_a, "n_threads"_a, decrease, "units"_a.none() = nb::none())
        .def("gains", &HeldReader::gains, codes, "labels"_a, "seed"_a, "bag_mean"_a, "n_threads"_a, gains,
             "units"_a.none() = nb::none())
        .def("gains_numbers", &HeldReader::gains_numbers, codes, "targets"_a, "seed"_a, "bag_mean"_a, "n_threads"_a,
             gains, "units"_a.none() = nb::none());
    nb::class_<HeldEntries>(module, "NodeEntries")
        .def(nb::init<const In<std::uint64_t>&, const In<std::int32_t>&, const In<std::int64_t>&,
                      const In<std::uint16_t>&, const In<double>&>(),
             "nodes"_a, "payload"_a, "start"_a, "label"_a, "amount"_a)
        .def("next", &HeldEntries::next, "most"_a);
    nb::class_<RowsInLeaves>(module, "RowsInLeaves")
        .def("__init__", &make_rows_in_leaves, "leaves"_a, "leaf_start"_a, "present"_a, "seed"_a, "bag_mean"_a,
             "units"_a.none() = nb::none());
    module.def("meet", &meet_of, "leaves"_a, "others"_a, "leaf_start"_a, "meeting"_a, "first_row"_a, "most"_a,
               "n_threads"_a);
    module.def("quantiles", &quantiles_of, "leaves"_a, "leaf_start"_a, "row_start"_a, "ranks"_a, "values"_a,
               "weights"_a.none(), "wanted"_a, "trees_alike"_a, "interpolation"_a.none(), "n_threads"_a);
}

}  // namespace hedgerow
