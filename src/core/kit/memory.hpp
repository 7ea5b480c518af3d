// Memory: what has been freed -> back to the system.
#pragma once
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace hedgerow {

// The C library of Linux keeps freed memory that lies between what is in use. A table that was freed column by column
// would count as used until the end (a million rows × 31 as CSV: 130 MB of 360). It takes a few milliseconds.
inline void give_back_memory() {
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
}

// Lets this process keep up to 32 MB of what it frees, and so use it again. Workers of a cluster may have been told to
// return memory at once; then every large array begins with new pages, and growing the tops of trees took 1.35 times as
// long.
inline void keep_memory() {
#if defined(__GLIBC__)
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 32 << 20);
#endif
}

}  // namespace hedgerow
