// Apart: marks a function that is called once for a feature or less often, and compiled once instead of in each of its callers.
#pragma once

#if defined(_MSC_VER) && !defined(__clang__)
#define HEDGEROW_APART __declspec(noinline)
#else
#define HEDGEROW_APART __attribute__((noinline))
#endif
