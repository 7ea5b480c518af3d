// Python functions for growing trees, also on the parts of a table on several machines.
#include "bindings/arrays.hpp"
#include "core/grow/forest.hpp"
#include "core/grow/histogram.hpp"
#include "core/grow/row_routing.hpp"

namespace hedgerow {
namespace {

nb::dict grow(const InCodes& codes, const nb::dict& bins, const nb::dict& target, const nb::dict& options,
              std::size_t first_tree, std::size_t n_trees, std::size_t n_threads, const nb::object& progress,
              const std::optional<nb::dict>& below) {
    const Values cuts(bins), y(target), how(options);
    std::optional<Values> nodes;
    if (below) nodes.emplace(*below);
    return to_dict(without_gil([&](Control& control) {
        const auto grown = [&](const auto& columns) {
            return grow_forest(columns, cuts.given, y.given, how.given, nodes ? &nodes->given : nullptr,
                               {first_tree, n_trees, n_threads}, control);
        };
        return nodes ? with_rows(codes, cuts.given.array<std::int64_t>("n_bins").size(), grown)
                     : with_codes(codes, grown);
    }, progress));
}

nb::tuple to_tuple(RoutedRows&& found) {
    return nb::make_tuple(to_numpy(std::move(found.rows)), to_numpy(std::move(found.times)),
                          to_numpy(std::move(found.start)));
}

TopView top_of(const In<std::uint64_t>& nodes, const In<std::int32_t>& payload, const In<std::uint64_t>& set_words) {
    return {{reinterpret_cast<const Node*>(nodes.data()), payload.data(), set_words.data(), true}, nodes.size()};
}

// With the groups of the rows of a part, `n_rows` is the number of all groups, and the part begins with row 0.
Bag bag_of_part(std::uint64_t seed, std::uint64_t tree, std::size_t n_rows, double bag_mean,
                const std::optional<In<std::uint32_t>>& units) {
    return Bag(seed, tree, n_rows, bag_mean, units ? Units(span_of(*units), n_rows) : Units());
}

// Finds the rows of a part that reach some nodes of the top of a tree: rows, times, start.
nb::tuple routed_rows(const InCodes& codes, const In<std::uint64_t>& nodes, const In<std::int32_t>& payload,
                      const In<std::uint64_t>& set_words, const In<std::uint32_t>& asked, std::uint64_t seed,
                      std::uint64_t tree, std::size_t n_rows, double bag_mean, std::size_t first_row, bool inside,
                      bool outside, const std::optional<In<std::uint32_t>>& units) {
    RoutedRows found = without_gil([&](Control&) {
        return with_rows(codes, 0, [&](const auto& rows) {
            return find_routed_rows(top_of(nodes, payload, set_words), rows.view(), rows.n_rows, span_of(asked),
                                    bag_of_part(seed, tree, n_rows, bag_mean, units), first_row, inside, outside);
        });
    });
    return to_tuple(std::move(found));
}

void make_rows_in_nodes(RowsInNodes* self, std::uint64_t seed, std::uint64_t tree, std::size_t n_rows, double bag_mean,
                        std::size_t first_row, std::size_t part_rows, const std::optional<In<std::uint32_t>>& units) {
    new (self) RowsInNodes(bag_of_part(seed, tree, n_rows, bag_mean, units), first_row, part_rows, true, false);
}

// The same, starting from the nodes in which rows are known to be.
nb::tuple rows_in_nodes(RowsInNodes& self, const InCodes& codes, const In<std::uint64_t>& nodes,
                        const In<std::int32_t>& payload, const In<std::uint64_t>& set_words,
                        const In<std::uint32_t>& asked, bool keeps) {
    RoutedRows found = without_gil([&](Control&) {
        return with_rows(codes, 0, [&](const auto& rows) {
            self.check(rows.n_rows);
            return self.rows(top_of(nodes, payload, set_words), rows.view(), span_of(asked), keeps);
        });
    });
    return to_tuple(std::move(found));
}

// The same, summed over the rows of these nodes.
nb::object sums_in_nodes(RowsInNodes& self, const InCodes& codes, const In<std::uint64_t>& nodes,
                         const In<std::int32_t>& payload, const In<std::uint64_t>& set_words,
                         const In<std::uint32_t>& asked, bool keeps, const In<std::int64_t>& n_bins,
                         const std::optional<In<std::uint16_t>>& labels, std::size_t n_cells,
                         const In<std::int64_t>& start, const In<std::uint32_t>& features) {
    if (start.size() != asked.size() + 1)
        throw std::invalid_argument("start must have one entry per node, and one more");
    return to_numpy(without_gil([&](Control&) {
        return with_rows(codes, n_bins.size(), [&](const auto& rows) {
            self.check(rows.n_rows);
            if (labels && labels->size() != rows.n_rows)
                throw std::invalid_argument("labels must have one entry per row");
            return self.sums(top_of(nodes, payload, set_words), rows.view(), span_of(asked), keeps, span_of(n_bins),
                             span_of(labels), n_cells, {span_of(start), span_of(features)});
        });
    }));
}

template <class Cell>
nb::object histograms(const InCodes& codes, const In<std::int64_t>& n_bins, const In<std::uint32_t>& rows,
                      const In<std::int64_t>& row_start, const std::optional<In<std::uint16_t>>& labels,
                      const In<Cell>& amounts, const std::optional<In<Cell>>& sums, std::uint32_t n_cells,
                      const In<std::int64_t>& start, const In<std::uint32_t>& features) {
    const RowAmounts<Cell> given{span_of(row_start), span_of(rows),   span_of(amounts),
                                 span_of(sums),      span_of(labels), n_cells};
    return to_numpy(without_gil([&](Control&) {
        return with_rows(codes, n_bins.size(), [&](const auto& all) {
            return sum_bins(all.view(), all.n_rows, span_of(n_bins), given, {span_of(start), span_of(features)});
        });
    }));
}

}  // namespace

void define_growing(nb::module_& module) {
    module.def("grow", &grow, "codes"_a.noconvert(), "bins"_a, "target"_a, "options"_a, "first_tree"_a, "n_trees"_a,
               "n_threads"_a, "progress"_a.none(), "below"_a.none());
    module.def("arrived", &routed_rows, "codes"_a.noconvert(), "nodes"_a, "payload"_a, "set_words"_a, "asked"_a,
               "seed"_a, "tree"_a, "n_rows"_a, "bag_mean"_a, "first_row"_a, "inside"_a, "outside"_a,
               "units"_a.none() = nb::none());
    nb::class_<RowsInNodes>(module, "RowsInNodes")
        .def("__init__", &make_rows_in_nodes, "seed"_a, "tree"_a, "n_rows"_a, "bag_mean"_a, "first_row"_a,
             "part_rows"_a, "units"_a.noconvert().none() = nb::none(), nb::keep_alive<1, 8>())
        .def_prop_ro("n_nodes", &RowsInNodes::n_nodes)
        .def_prop_ro("nbytes", &RowsInNodes::n_bytes)
        .def("rows", &rows_in_nodes, "codes"_a.noconvert(), "nodes"_a, "payload"_a, "set_words"_a, "asked"_a, "keeps"_a)
        .def("sums", &sums_in_nodes, "codes"_a.noconvert(), "nodes"_a, "payload"_a, "set_words"_a, "asked"_a, "keeps"_a,
             "n_bins"_a, "labels"_a.none(), "n_cells"_a, "start"_a, "features"_a);
    const auto define_histograms = [&]<class Cell>(Cell) {
        module.def("histograms", &histograms<Cell>, "codes"_a.noconvert(), "n_bins"_a, "rows"_a, "row_start"_a,
                   "labels"_a.none(), "amounts"_a.noconvert(), "sums"_a.none(), "n_cells"_a, "start"_a, "features"_a);
    };
    define_histograms(std::uint32_t{});
    define_histograms(double{});
}

}  // namespace hedgerow
