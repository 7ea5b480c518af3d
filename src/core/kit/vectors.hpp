// Short vectors of numbers, if the compiler supports them.
//
// GCC and Clang support them for every processor. With other compilers, and if HEDGEROW_PORTABLE is defined (as in a
// test), the general search replaces the vectorised ones and finds the same splits.
//
// Vectors have 16 bytes on every processor. Where it pays, a loop is also compiled for vectors of 32 bytes (AVX2), and
// selected at run time; both must find the same split.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/kit/attributes.hpp"

#if (defined(__GNUC__) || defined(__clang__)) && !defined(HEDGEROW_PORTABLE)
#define HEDGEROW_VECTORS
#endif

namespace hedgerow {

// Two numbers side by side, on every compiler. Compilers do not vectorise the maximum of several numbers by themselves.
#ifdef HEDGEROW_VECTORS
using Pair = double __attribute__((vector_size(16)));
inline Pair larger(Pair one, Pair other) { return one < other ? other : one; }
inline Pair plus(Pair one, Pair other) { return one + other; }
inline Pair times(double factor, Pair pair) { return factor * pair; }
// Prefetches memory at `from`.
inline void fetch(const void* from) { __builtin_prefetch(from); }
#else
struct Pair {
    double first, second;
};
inline Pair larger(Pair one, Pair other) {
    return {one.first < other.first ? other.first : one.first, one.second < other.second ? other.second : one.second};
}
inline Pair plus(Pair one, Pair other) { return {one.first + other.first, one.second + other.second}; }
inline Pair times(double factor, Pair pair) { return {factor * pair.first, factor * pair.second}; }
inline void fetch(const void*) {}
#endif
// Pairs from adjacent numbers, of which the last one may be alone; and back.
template <std::size_t n>
HEDGEROW_FORCE_INLINE void load_pairs(const double* from, Pair* pairs) {
    for (std::size_t k = 0; k < n / 2; ++k) std::memcpy(pairs + k, from + 2 * k, sizeof(Pair));
    if constexpr (n % 2 == 1) pairs[n / 2] = Pair{from[n - 1], 0.0};
}
template <std::size_t n>
HEDGEROW_FORCE_INLINE void store_pairs(const Pair* pairs, double* to) {
    std::memcpy(to, pairs, n * sizeof(double));
}

}  // namespace hedgerow

#ifdef HEDGEROW_VECTORS

namespace hedgerow {

using Shorts = std::int16_t __attribute__((vector_size(16)));
using HalfShorts = std::int16_t __attribute__((vector_size(8)));
using Integers = std::int32_t __attribute__((vector_size(16)));
using Floats = float __attribute__((vector_size(16)));
using WideShorts = std::int16_t __attribute__((vector_size(32)));
using WideIntegers = std::int32_t __attribute__((vector_size(32)));
using WideFloats = float __attribute__((vector_size(32)));

// HEDGEROW_WIDE marks a function for processors with vectors of 32 bytes; call it only if `has_wide_vectors`. With
// HEDGEROW_NARROW (as in a test), no processor has them.
#if defined(__x86_64__) && !defined(HEDGEROW_NARROW)
#define HEDGEROW_WIDE __attribute__((target("avx2")))
inline bool has_wide_vectors() { return __builtin_cpu_supports("avx2"); }
#else
#define HEDGEROW_WIDE
inline bool has_wide_vectors() { return false; }
#endif

// Whether any bit of a vector is set.
template <class Vector>
HEDGEROW_FORCE_INLINE bool any(const Vector& vector) {
    std::uint64_t words[sizeof vector / 8], all = 0;
    std::memcpy(words, &vector, sizeof words);
    for (const std::uint64_t word : words) all |= word;
    return all != 0;
}

// Two vectors as one; the first and the second of each of four pairs. GCC has Clang's name for it since version 12.
#if defined(__clang__) || __GNUC__ >= 12
inline Integers firsts(Integers low, Integers high) { return __builtin_shufflevector(low, high, 0, 2, 4, 6); }
inline Integers seconds(Integers low, Integers high) { return __builtin_shufflevector(low, high, 1, 3, 5, 7); }
HEDGEROW_FORCE_INLINE void join(Integers low, Integers high, WideIntegers& both) {
    both = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
}
#else
HEDGEROW_FORCE_INLINE void join(Integers low, Integers high, WideIntegers& both) {
    for (int i = 0; i < 4; ++i) both[i] = low[i], both[4 + i] = high[i];
}
inline Integers firsts(Integers low, Integers high) { return __builtin_shuffle(low, high, Integers{0, 2, 4, 6}); }
inline Integers seconds(Integers low, Integers high) { return __builtin_shuffle(low, high, Integers{1, 3, 5, 7}); }
#endif

// Numbers below 2^15 in half as many bytes, and the sums of the products of neighbours.
#if defined(__SSE2__)
inline Shorts packed(Integers low, Integers high) { return __builtin_ia32_packssdw128(low, high); }
inline Integers multiply_pairs(Shorts one, Shorts other) { return __builtin_ia32_pmaddwd128(one, other); }
#else
inline Shorts packed(Integers low, Integers high) {
    Shorts both{};
    for (int i = 0; i < 4; ++i)
        both[i] = static_cast<std::int16_t>(low[i]), both[4 + i] = static_cast<std::int16_t>(high[i]);
    return both;
}
inline Integers multiply_pairs(Shorts one, Shorts other) {
    Integers sums{};
    for (int i = 0; i < 8; ++i) sums[i / 2] += one[i] * other[i];
    return sums;
}
#endif

// The sum of each of four vectors.
inline Integers sums_of(const Integers* four) {
    const Integers first = firsts(four[0], four[1]) + seconds(four[0], four[1]);
    const Integers second = firsts(four[2], four[3]) + seconds(four[2], four[3]);
    return firsts(first, second) + seconds(first, second);
}

}  // namespace hedgerow

#endif
