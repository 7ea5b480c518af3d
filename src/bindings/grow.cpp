// Grow: the functions of Python for growing trees, and for parts of a table on many machines.
#include "bindings/arrays.hpp"
#include "core/grow/arrive.hpp"
#include "core/grow/forest.hpp"
#include "core/grow/histogram.hpp"

namespace hedgerow {
namespace {

nb::dict grow(const InCodes& codes, const nb::dict& bins, const nb::dict& target, const nb::dict& options, std::size_t first_tree,
              std::size_t n_trees, std::size_t n_threads, const nb::object& progress, const std::optional<nb::dict>& below) {
    const Values cut(bins), judged(target), how(options);
    std::optional<Values> nodes;
    if (below) nodes.emplace(*below);
    return to_dict(without_gil([&](Control& control) {
        const auto grown = [&](const auto& columns) {
            return grow_forest(columns, cut.given, judged.given, how.given, nodes ? &nodes->given : nullptr,
                               {first_tree, n_trees, n_threads}, control);
        };
        return nodes ? with_rows(codes, cut.given.array<std::int64_t>("n_bins").size(), grown) : with_codes(codes, grown);
    }, progress));
}

// Codes of a part, row after row -> its rows that reach some nodes of the top of a tree: rows, times, start. Those in some nodes
// may be known from before.
nb::tuple arrived_of(const InCodes& codes, const In<std::uint64_t>& nodes, const In<std::int32_t>& payload,
                     const In<std::uint64_t>& set_words, const In<std::int32_t>& place, std::size_t n_places, std::uint64_t seed,
                     std::uint64_t tree, std::size_t n_rows, double bag_mean, std::size_t first_row, bool outside,
                     const std::optional<In<std::uint32_t>>& begun_nodes, const std::optional<In<std::int64_t>>& begun_start,
                     const std::optional<In<std::uint32_t>>& begun_rows) {
    const TreeView top{reinterpret_cast<const Node*>(nodes.data()), payload.data(), set_words.data(), true};
    std::optional<Begun> begun;
    if (begun_nodes) begun = {span_of(*begun_nodes), span_of(*begun_rows), span_of(*begun_start)};
    Arrived found = without_gil([&](Control&) {
        return with_rows(codes, 0, [&](const auto& rows) {
            return find_arrived(top, rows.view(), rows.n_rows, {span_of(place), n_places}, Bag(seed, tree, n_rows, bag_mean), first_row,
                                outside, begun ? &*begun : nullptr);
        });
    });
    return nb::make_tuple(to_numpy(std::move(found.rows)), to_numpy(std::move(found.times)), to_numpy(std::move(found.start)));
}

template <class Cell>
nb::object histograms(const InCodes& codes, const In<std::int64_t>& n_bins, const In<std::uint32_t>& rows,
                      const In<std::int64_t>& row_start, const std::optional<In<std::uint16_t>>& labels, const In<Cell>& amounts,
                      const std::optional<In<Cell>>& sums, std::uint32_t n_cells, const In<std::int64_t>& start,
                      const In<std::uint32_t>& features) {
    const RowAmounts<Cell> given{span_of(row_start), span_of(rows), span_of(amounts), span_of(sums), span_of(labels), n_cells};
    return to_numpy(without_gil([&](Control&) {
        return with_rows(codes, n_bins.size(), [&](const auto& all) {
            return sum_bins(all.view(), all.n_rows, span_of(n_bins), given, {span_of(start), span_of(features)});
        });
    }));
}

}  // namespace

void define_growing(nb::module_& module) {
    module.def("grow", &grow, "codes"_a.noconvert(), "bins"_a, "target"_a, "options"_a, "first_tree"_a, "n_trees"_a, "n_threads"_a,
               "progress"_a.none(), "below"_a.none());
    module.def("arrived", &arrived_of, "codes"_a.noconvert(), "nodes"_a, "payload"_a, "set_words"_a, "place"_a, "n_places"_a, "seed"_a,
               "tree"_a, "n_rows"_a, "bag_mean"_a, "first_row"_a, "outside"_a, "begun_nodes"_a.none() = nb::none(),
               "begun_start"_a.none() = nb::none(), "begun_rows"_a.none() = nb::none());
    const auto define_histograms = [&]<class Cell>(Cell) {
        module.def("histograms", &histograms<Cell>, "codes"_a.noconvert(), "n_bins"_a, "rows"_a, "row_start"_a, "labels"_a.none(),
                   "amounts"_a.noconvert(), "sums"_a.none(), "n_cells"_a, "start"_a, "features"_a);
    };
    define_histograms(std::uint32_t{});
    define_histograms(double{});
}

}  // namespace hedgerow
