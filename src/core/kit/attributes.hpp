// Attributes: how a compiler should treat a function, in the words of each compiler.
//
// NOINLINE: called once for a feature or less often, so it is compiled once instead of in each of its callers.
// COLD: called so rarely that it is made small, and so compiled in less time, rather than fast.
// FORCE_INLINE: called for every place of a split, so it is compiled in each of its callers.
#pragma once

#if defined(_MSC_VER) && !defined(__clang__)
#define HEDGEROW_NOINLINE __declspec(noinline)
#define HEDGEROW_COLD __declspec(noinline)
#define HEDGEROW_FORCE_INLINE __forceinline
#else
#define HEDGEROW_NOINLINE __attribute__((noinline))
#define HEDGEROW_COLD __attribute__((noinline, cold))
#define HEDGEROW_FORCE_INLINE __attribute__((always_inline)) inline
#endif
