/* demangle.h: names of C++ functions as people write them: CUPTI tells what the compiler made of them. */
#ifndef TFPROF_CAPTURE_DEMANGLE_H
#define TFPROF_CAPTURE_DEMANGLE_H

/* To be freed; NULL: it is not one of C++, or this program has nothing that could tell. On the writer thread. */
char *demangle(const char *name);

#endif
