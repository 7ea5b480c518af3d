// Portable function attributes.
//
// NOINLINE: called at most once per feature, so compiled once instead of in each caller.
// COLD: called so rarely that it is optimised for size, which also saves compile time.
// FORCE_INLINE: called for every place of a split, so compiled into each caller.
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
