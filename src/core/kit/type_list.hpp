// Lists of types.
#pragma once
#include <type_traits>
#include <variant>

namespace hedgerow {

template <class... Types>
struct TypeList;

template <class List, class... More>
struct Appended {
    using Type = List;
};
template <class List, class First, class... Rest>
struct Appended<List, First, Rest...> : Appended<typename List::template With<First>, Rest...> {};

template <class... Types>
struct TypeList {
    template <class Type>
    static constexpr bool has = (std::is_same_v<Type, Types> || ...);
    // The list with one more type, unless it has that type.
    template <class Type>
    using With = std::conditional_t<has<Type>, TypeList, TypeList<Types..., Type>>;
    // Of<T> for each type T, without repetitions.
    template <template <class> class Of>
    using Map = typename Appended<TypeList<>, Of<Types>...>::Type;
    using Variant = std::variant<Types...>;
};

}  // namespace hedgerow
