// Apart: marks a function that is called once for a feature or less often, and compiled once instead of in each of its callers.
// Seldom: one that is called so seldom that it is made small, and so compiled in less time, rather than fast.
// Inside: one that is called for every place of a split, and compiled in each of its callers, however many these are.
#pragma once

#if defined(_MSC_VER) && !defined(__clang__)
#define HEDGEROW_APART __declspec(noinline)
#define HEDGEROW_SELDOM __declspec(noinline)
#define HEDGEROW_INSIDE __forceinline
#else
#define HEDGEROW_APART __attribute__((noinline))
#define HEDGEROW_SELDOM __attribute__((noinline, cold))
#define HEDGEROW_INSIDE __attribute__((always_inline)) inline
#endif
