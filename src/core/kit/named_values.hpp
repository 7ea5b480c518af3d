// Values by name from callers, and arrays by name to return.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace hedgerow {

// A function of some amounts that is computed outside the core.
using OutsideFunction = std::function<double(const std::vector<double>&)>;

// Values by name, without ownership of arrays. Access to a value that is absent or of another type throws.
class NamedValues {
public:
    using Value =
        std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, OutsideFunction,
                     std::span<const std::int8_t>, std::span<const std::uint8_t>, std::span<const std::uint16_t>,
                     std::span<const std::int32_t>, std::span<const std::uint32_t>, std::span<const std::int64_t>,
                     std::span<const std::uint64_t>, std::span<const double>>;

    void set(std::string name, Value value) { values_.insert_or_assign(std::move(name), std::move(value)); }
    bool has(const std::string& name) const {
        const auto found = values_.find(name);
        return found != values_.end() && !std::holds_alternative<std::monostate>(found->second);
    }
    // The values whose names begin with a prefix, without it.
    NamedValues below(const std::string& prefix) const {
        NamedValues found;
        for (const auto& [name, value] : values_)
            if (name.starts_with(prefix)) found.set(name.substr(prefix.size()), value);
        return found;
    }
    template <class T>
    T number(const std::string& name) const {
        const Value& value = at(name);
        if (const bool* held = std::get_if<bool>(&value)) return static_cast<T>(*held);
        if constexpr (!std::is_same_v<T, bool>) {
            if (const std::int64_t* held = std::get_if<std::int64_t>(&value)) return in_range<T>(name, *held);
            if (const std::uint64_t* held = std::get_if<std::uint64_t>(&value)) return in_range<T>(name, *held);
        }
        if constexpr (std::is_floating_point_v<T>)
            if (const double* held = std::get_if<double>(&value)) return static_cast<T>(*held);
        throw wrong(name, "a number");
    }
    const std::string& word(const std::string& name) const { return as<std::string>(name, "a word"); }
    // The index of the word among some words.
    int choice(const std::string& name, std::initializer_list<const char*> words) const {
        const auto found = std::find(words.begin(), words.end(), word(name));
        if (found == words.end()) throw wrong(name, "a known word, got '" + word(name) + "'");
        return static_cast<int>(found - words.begin());
    }
    const OutsideFunction& function(const std::string& name) const { return as<OutsideFunction>(name, "a function"); }
    template <class T>
    std::span<const T> array(const std::string& name) const {
        return as<std::span<const T>>(name, "an array of the expected type");
    }
    // An array of length `size`.
    template <class T>
    const T* array(const std::string& name, std::size_t size) const {
        const std::span<const T> found = array<T>(name);
        if (found.size() != size)
            throw wrong(name, "of length " + std::to_string(size) + ", got " + std::to_string(found.size()));
        return found.data();
    }
    // The same, or null if the value is absent.
    template <class T>
    const T* array_if_given(const std::string& name, std::size_t size) const {
        return has(name) ? array<T>(name, size) : nullptr;
    }

private:
    template <class T, class Whole>
    static T in_range(const std::string& name, Whole value) {
        if constexpr (std::is_integral_v<T>)
            if (!std::in_range<T>(value)) throw wrong(name, "within its range");
        return static_cast<T>(value);
    }
    static std::invalid_argument wrong(const std::string& name, const std::string& constraint) {
        return std::invalid_argument(name + " must be " + constraint);
    }
    const Value& at(const std::string& name) const {
        const auto found = values_.find(name);
        if (found == values_.end()) throw wrong(name, "given");
        return found->second;
    }
    template <class T>
    const T& as(const std::string& name, const char* what) const {
        const T* value = std::get_if<T>(&at(name));
        if (value == nullptr) throw wrong(name, what);
        return *value;
    }

    std::map<std::string, Value> values_;
};

// An array to return, or nothing.
struct Field {
    std::string name;
    std::variant<std::monostate, std::vector<std::uint16_t>, std::vector<std::int32_t>, std::vector<std::uint32_t>,
                 std::vector<std::int64_t>, std::vector<std::uint64_t>, std::vector<double>>
        values;
};
using Fields = std::vector<Field>;

template <class T>
void append(std::vector<T>& values, const std::vector<T>& more) {
    values.insert(values.end(), more.begin(), more.end());
}

// Entries first, …, last - 1 of a named array.
template <class T>
std::vector<T> some(const NamedValues& given, const std::string& name, std::int64_t first, std::int64_t last) {
    const std::span<const T> all = given.array<T>(name);
    if (first < 0 || first > last || last > static_cast<std::int64_t>(all.size()))
        throw std::invalid_argument(name + " must have at least " + std::to_string(last) + " entries");
    return {all.begin() + first, all.begin() + last};
}

}  // namespace hedgerow
