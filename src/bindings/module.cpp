// The Python module.
#include "bindings/arrays.hpp"

namespace hedgerow {

Values::Values(const nb::dict& dictionary) {
    for (const auto& [key, object] : dictionary) {
        const auto name = nb::cast<std::string>(key);
        given.set(name, value_of(object, name));
    }
}

NamedValues::Value Values::value_of(nb::handle object, const std::string& name) {
    if (object.is_none()) return {};
    if (nb::isinstance<nb::bool_>(object)) return nb::cast<bool>(object);
    if (nb::isinstance<nb::str>(object)) return nb::cast<std::string>(object);
    if (nb::isinstance<nb::float_>(object)) return nb::cast<double>(object);
    std::int64_t integer = 0;
    std::uint64_t large = 0;
    AnyArray array;
    if (nb::try_cast(object, integer)) return integer;
    if (nb::try_cast(object, large)) return large;
    if (nb::try_cast(object, array)) {
        held_.push_back(array);
        NamedValues::Value value;
        const auto is = [&]<class T>(T) {
            if (array.dtype() == nb::dtype<T>()) value = std::span(static_cast<const T*>(array.data()), array.shape(0));
        };
        is(std::int8_t{}), is(std::uint8_t{}), is(std::uint16_t{}), is(std::int32_t{}), is(std::uint32_t{}),
            is(std::int64_t{});
        is(std::uint64_t{}), is(double{});
        if (value.index() != 0) return value;
    }
    // The caller keeps the function alive, as long as the dictionary.
    if (PyCallable_Check(object.ptr()))
        return OutsideFunction([object](const std::vector<double>& amounts) {
            const nb::gil_scoped_acquire gil;
            return nb::cast<double>(object(amounts));
        });
    throw nb::type_error((name + " must be a number, a word, a function or an array of integers or doubles").c_str());
}

nb::dict to_dict(Fields&& fields) {
    nb::dict result;
    for (Field& field : fields)
        result[field.name.c_str()] = std::visit([](auto& values) { return to_numpy(std::move(values)); }, field.values);
    return result;
}

std::function<bool(std::size_t)> look_on_with(const nb::object& progress) {
    return [progress](std::size_t done) {
        const nb::gil_scoped_acquire gil;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        return !progress.is_none() && nb::cast<bool>(progress(done));
    };
}

}  // namespace hedgerow

NB_MODULE(_core, module) {
    module.doc() = "Hot loops of hedgerow: bin columns, grow trees, read leaves.";
    hedgerow::define_rows(module);
    hedgerow::define_growing(module);
    hedgerow::define_tops(module);
    hedgerow::define_reading(module);
}
