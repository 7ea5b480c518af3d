// Conversion between Python objects and the types of the core.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "core/kit/named_values.hpp"
#include "core/kit/parallel.hpp"
#include "core/kit/table.hpp"
#include "core/rows/bag.hpp"
#include "core/rows/codes.hpp"

namespace hedgerow {

namespace nb = nanobind;
using namespace nb::literals;

// ---- in -------------------------------------------------------------------------------------------------

template <class T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using InTable = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using OutTable = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <std::size_t n_axes>
using OutBox = nb::ndarray<double, nb::ndim<n_axes>, nb::c_contig, nb::device::cpu>;

template <class T>
std::span<const T> span_of(const In<T>& array) {
    return {array.data(), array.shape(0)};
}
template <class T>
std::optional<std::span<const T>> span_of(const std::optional<In<T>>& array) {
    return array ? std::optional(span_of(*array)) : std::nullopt;
}
inline Units units_of(const std::optional<In<std::uint32_t>>& groups) {
    return groups ? Units(span_of(*groups)) : Units();
}
template <class T>
const T* pointer_to(const std::optional<In<T>>& array) {
    return array ? array->data() : nullptr;
}
template <class T>
Table<const T> table_of(const InTable<T>& array) {
    return {array.data(), array.shape(0), array.shape(1)};
}
template <class T>
Table<T> table_of(const OutTable<T>& array) {
    return {array.data(), array.shape(0), array.shape(1)};
}
template <std::size_t n_axes>
Box<double, n_axes> box_of(const OutBox<n_axes>& array) {
    Box<double, n_axes> box{array.data()};
    for (std::size_t axis = 0; axis < n_axes; ++axis) box.shape[axis] = array.shape(axis);
    return box;
}
// Codes of one or two bytes, stored feature by feature. A function that takes them is defined once for both, because
// instantiating nanobind's templates twice takes longer than compiling the function.
using InCodes = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class Code>
CodeColumns<Code> columns_of(const InCodes& codes) {
    if (codes.dtype() != nb::dtype<Code>()) throw nb::next_overload();
    return {static_cast<const Code*>(codes.data()), codes.shape(0), codes.shape(1)};
}
// Calls visit with the codes by column, as they are.
template <class Visit>
auto with_codes(const InCodes& codes, Visit&& visit) {
    if (codes.dtype() == nb::dtype<std::uint8_t>()) return visit(columns_of<std::uint8_t>(codes));
    return visit(columns_of<std::uint16_t>(codes));
}
// The same for row-major codes (n, width), of which only the first columns are features.
template <class Visit>
auto with_rows(const InCodes& codes, std::size_t n_features, Visit&& visit) {
    if (codes.shape(1) < n_features)
        throw std::invalid_argument("codes must have at least " + std::to_string(n_features) + " columns, got " +
                                    std::to_string(codes.shape(1)));
    return with_codes(codes, [&]<class Code>(const CodeColumns<Code>& columns) {
        return visit(CodeColumns<Code>{columns.codes, n_features, codes.shape(0), codes.shape(1)});
    });
}

// The values of a dictionary by name, and references that keep its arrays alive.
struct Values {
    explicit Values(const nb::dict& dictionary);
    NamedValues given;

private:
    using AnyArray = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    NamedValues::Value value_of(nb::handle object, const std::string& name);
    std::vector<AnyArray> held_;
};

// ---- out ------------------------------------------------------------------------------------------------

// Moves memory into a NumPy array that owns it, without a copy.
template <class T>
nb::object to_numpy(std::vector<T>&& values) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(owned->data(), {owned->size()}, owner));
}
template <class T>
nb::object to_numpy(OwnTable<T>&& table) {
    T* data = table.data.release();
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<2>>(data, {table.n_rows, table.n_columns}, owner));
}
inline nb::object to_numpy(std::monostate) { return nb::none(); }

nb::dict to_dict(Fields&& fields);

// ---- work -----------------------------------------------------------------------------------------------

// Called while work runs: Ctrl-C raises an exception, and a progress function that returns true stops the work.
std::function<bool(std::size_t)> look_on_with(const nb::object& progress);

// Runs work(control) without the GIL.
template <class Work>
auto without_gil(Work&& work, const nb::object& progress = nb::none()) {
    Control control(look_on_with(progress));
    const nb::gil_scoped_release no_gil;
    return work(control);
}

// Defines a function for one-byte and for two-byte codes: define(Code{}).
template <class Define>
void for_each_code(Define&& define) {
    define(std::uint8_t{});
    define(std::uint16_t{});
}

// ---- the parts of the module ----------------------------------------------------------------------------

void define_rows(nb::module_& module);
void define_growing(nb::module_& module);
void define_tops(nb::module_& module);
void define_reading(nb::module_& module);

}  // namespace hedgerow
