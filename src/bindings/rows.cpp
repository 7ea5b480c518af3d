// Python functions for columns and bags.
#include "bindings/arrays.hpp"
#include "core/kit/memory.hpp"
#include "core/rows/bag.hpp"
#include "core/rows/bins.hpp"
#include "core/rows/encode.hpp"

namespace hedgerow {
namespace {

// Columns of Python arrays, with copies of those that cannot be read in place.
struct Columns {
    std::vector<Column> columns;
    nb::list kept;

    // A list of columns, or a table (columns, rows): a list of 50 views of one row takes six times as long.
    explicit Columns(const nb::object& arrays) {
        AnyTable table;
        if (nb::try_cast(arrays, table)) {
            const std::ptrdiff_t step = stride_of(table, 0);
            const Column first{static_cast<const char*>(table.data()), stride_of(table, 1), type_of(table),
                               table.shape(1)};
            columns.assign(table.shape(0), first);
            for (std::size_t i = 0; i < columns.size(); ++i) columns[i].data += static_cast<std::ptrdiff_t>(i) * step;
            return;
        }
        columns.reserve(nb::len(arrays));
        for (const nb::handle item : arrays) columns.push_back(column_of(item));
    }

private:
    using AnyColumn = nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>;
    using AnyTable = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;

    Column column_of(nb::handle item) {
        AnyColumn array;
        if (!nb::try_cast(item, array)) {
            kept.append(nb::module_::import_("numpy").attr("ascontiguousarray")(item));
            array = nb::cast<AnyColumn>(kept[kept.size() - 1]);
        }
        return {static_cast<const char*>(array.data()), stride_of(array, 0), type_of(array), array.shape(0)};
    }
    template <class Array>
    static std::ptrdiff_t stride_of(const Array& array, std::size_t axis) {
        return static_cast<std::ptrdiff_t>(array.stride(axis)) * static_cast<std::ptrdiff_t>(array.itemsize());
    }
    template <class Array>
    static Column::Type type_of(const Array& array) {
        if (array.dtype() == nb::dtype<double>()) return Column::Type::float64;
        if (array.dtype() == nb::dtype<float>()) return Column::Type::float32;
        if (array.dtype() == nb::dtype<std::int32_t>()) return Column::Type::category;
        throw nb::type_error("columns must be float64, float32 or (category numbers) int32");
    }
};

nb::tuple find_bins_in(const nb::object& arrays, const std::optional<In<std::uint32_t>>& chosen,
                       std::size_t sample_rows, std::size_t max_bins, std::size_t n_threads, bool gaps) {
    const Columns read(arrays);
    AllBins found = without_gil([&](Control& control) {
        return find_all_bins(read.columns, span_of(chosen), sample_rows, max_bins, gaps, n_threads, control);
    });
    return nb::make_tuple(to_numpy(std::move(found.cuts)), to_numpy(std::move(found.cut_start)),
                          to_numpy(std::move(found.centers)), to_numpy(std::move(found.center_start)));
}

template <class Code>
void encode_into(const nb::object& arrays, std::size_t first_feature, const In<double>& cuts,
                 const In<std::int64_t>& cut_start, const std::optional<In<std::uint8_t>>& wanted,
                 std::size_t n_threads, const OutTable<Code>& out) {
    const Columns read(arrays);
    const Encoding<Code> to{first_feature, span_of(cuts), span_of(cut_start), span_of(wanted), table_of(out)};
    without_gil([&](Control& control) { encode_columns(read.columns, to, n_threads, control); });
}

nb::object bag_of(std::uint64_t seed, std::uint64_t tree, std::size_t n_rows, double mean, std::size_t first,
                  std::optional<std::size_t> last, const std::optional<In<std::uint32_t>>& units) {
    return to_numpy(times_of_rows(Bag(seed, tree, n_rows, mean, units_of(units)), first, last.value_or(n_rows)));
}

nb::object sampled_rows_of(std::size_t n_rows, std::size_t limit, std::size_t first, std::size_t n) {
    return to_numpy(rows_for_cuts(n_rows, limit, first, n));
}

}  // namespace

void define_rows(nb::module_& module) {
    module.def("find_bins", &find_bins_in, "columns"_a, "chosen"_a.none(), "sample_rows"_a, "max_bins"_a, "n_threads"_a,
               "gaps"_a = false);
    for_each_code([&]<class Code>(Code) {
        module.def("encode_into", &encode_into<Code>, "columns"_a, "first_feature"_a, "cuts"_a, "cut_start"_a,
                   "wanted"_a.none(), "n_threads"_a, "out"_a.noconvert());
    });
    module.def("bag", &bag_of, "seed"_a, "tree"_a, "n_rows"_a, "mean"_a, "first"_a = 0, "last"_a.none() = nb::none(),
               "units"_a.none() = nb::none());
    module.def("give_back_memory", &give_back_memory, nb::call_guard<nb::gil_scoped_release>());
    module.def("keep_memory", &keep_memory);
    module.def("sampled_rows", &sampled_rows_of, "n_rows"_a, "limit"_a, "first"_a, "n"_a);
}

}  // namespace hedgerow
