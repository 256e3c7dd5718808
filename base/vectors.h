/* vectors.h: loops over values that are worth compiling twice.
**
** The code is built for every x86-64 processor, whose registers hold four 32-bit values and which cannot even compare
** 64-bit ones several at a time.  A function marked VECTOR_CLONES is built for processors with AVX2 as well, and the
** dynamic linker chooses between the two when the library is loaded.  What it calls is only part of that where it is
** inlined: VECTOR_INLINE.  Where the compiler or the linker cannot do this, or a sanitizer would run in the function
** that chooses before it is ready, there is one version.
*/
#ifndef TFPROF_VECTORS_H
#define TFPROF_VECTORS_H

#include <features.h>

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define VECTOR_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define VECTOR_CLONES
#endif

#define VECTOR_INLINE inline __attribute__((always_inline))

#endif
