// Vectors: short vectors of numbers, if the compiler has them.
//
// GCC and Clang have them for every processor. With other compilers, and if HEDGEROW_PORTABLE is defined (as in a test), the
// general search replaces those written in vectors and finds the same splits.
#pragma once
#include <cstdint>
#include <cstring>

#if (defined(__GNUC__) || defined(__clang__)) && !defined(HEDGEROW_PORTABLE)
#define HEDGEROW_VECTORS

namespace hedgerow {

using Shorts = std::int16_t __attribute__((vector_size(16)));
using HalfShorts = std::int16_t __attribute__((vector_size(8)));
using Integers = std::int32_t __attribute__((vector_size(16)));
using Floats = float __attribute__((vector_size(16)));

// Whether some bit of 16 bytes is set.
template <class Vector>
inline bool any(const Vector& vector) {
    std::uint64_t words[2];
    static_assert(sizeof words == sizeof vector);
    std::memcpy(words, &vector, sizeof words);
    return (words[0] | words[1]) != 0;
}

// The first and the second of each of four pairs. GCC has Clang's name for it since version 12.
#if defined(__clang__) || __GNUC__ >= 12
inline Integers firsts(Integers low, Integers high) { return __builtin_shufflevector(low, high, 0, 2, 4, 6); }
inline Integers seconds(Integers low, Integers high) { return __builtin_shufflevector(low, high, 1, 3, 5, 7); }
#else
inline Integers firsts(Integers low, Integers high) { return __builtin_shuffle(low, high, Integers{0, 2, 4, 6}); }
inline Integers seconds(Integers low, Integers high) { return __builtin_shuffle(low, high, Integers{1, 3, 5, 7}); }
#endif

}  // namespace hedgerow

#endif
