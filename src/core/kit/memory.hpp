// Control over freed memory.
#pragma once
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace hedgerow {

// Returns freed memory to the system. The C library of Linux keeps free blocks between used ones, so a table that was
// freed column by column would count as used until the end (a million rows × 31 as CSV: 130 MB of 360). It takes a few
// milliseconds.
inline void give_back_memory() {
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
}

// Lets this process keep up to 32 MB of freed memory for reuse. Workers of a cluster may be configured to return memory
// at once; then every large array begins with new pages, and growing the tops of trees took 1.35 times as long.
inline void keep_memory() {
#if defined(__GLIBC__)
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 32 << 20);
#endif
}

}  // namespace hedgerow
