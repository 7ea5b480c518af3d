// Meet: what Python asks of the rows in leaves.
#include "bindings/arrays.hpp"
#include "core/read/proximity.hpp"
#include "core/read/quantiles.hpp"

namespace hedgerow {
namespace {

LeafTable leaves_of(const InTable<std::int32_t>& leaves, const In<std::int64_t>& leaf_start) {
    return {leaves.data(), leaves.shape(0), leaves.shape(1), leaf_start.data()};
}

void make_rows_in_leaves(RowsInLeaves* self, const InTable<std::int32_t>& leaves, const In<std::int64_t>& leaf_start, int present,
                         std::uint64_t seed, double bag_mean) {
    const nb::gil_scoped_release no_gil;
    new (self) RowsInLeaves(leaves_of(leaves, leaf_start), static_cast<Present>(present), seed, bag_mean);
}

nb::tuple meet_of(const InTable<std::int32_t>& leaves, const RowsInLeaves& others, const In<std::int64_t>& leaf_start, int meeting,
                  std::size_t first_row, std::size_t most, std::size_t n_threads) {
    SparseRows found = without_gil([&](Control& control) {
        return meet(leaves_of(leaves, leaf_start), others, static_cast<Meeting>(meeting), first_row, most, n_threads, control);
    });
    return nb::make_tuple(to_numpy(std::move(found.start)), to_numpy(std::move(found.columns)), to_numpy(std::move(found.values)));
}

nb::object quantiles_of(const InTable<std::int32_t>& leaves, const In<std::int64_t>& leaf_start, const In<std::int64_t>& row_start,
                        const In<std::uint32_t>& ranks, const In<double>& values, const std::optional<In<double>>& weights,
                        const In<double>& quantiles, bool trees_alike, bool inverse, std::size_t n_threads) {
    const LeafRows rows{leaf_start.data(), row_start.data(), ranks.data(), values.data(), pointer_to(weights), leaves.shape(1),
                        values.shape(0)};
    return to_numpy(without_gil([&](Control& control) {
        return find_quantiles(rows, {trees_alike, inverse}, table_of(leaves), span_of(quantiles), n_threads, control);
    }));
}

}  // namespace

void define_meeting(nb::module_& module) {
    nb::class_<RowsInLeaves>(module, "RowsInLeaves")
        .def("__init__", &make_rows_in_leaves, "leaves"_a, "leaf_start"_a, "present"_a, "seed"_a, "bag_mean"_a);
    module.def("meet", &meet_of, "leaves"_a, "others"_a, "leaf_start"_a, "meeting"_a, "first_row"_a, "most"_a, "n_threads"_a);
    module.def("quantiles", &quantiles_of, "leaves"_a, "leaf_start"_a, "row_start"_a, "ranks"_a, "values"_a, "weights"_a.none(),
               "quantiles"_a, "trees_alike"_a, "inverse"_a, "n_threads"_a);
}

}  // namespace hedgerow
