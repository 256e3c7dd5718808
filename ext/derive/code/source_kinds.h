/* source_kinds.h: what the path of a source file tells: whose code it is. */
#ifndef TFPROF_SOURCE_KINDS_H
#define TFPROF_SOURCE_KINDS_H

#include <stdbool.h>
#include <stddef.h>

enum source_kind {
  SOURCE_PROGRAM,   /* of the program itself: scripts, cells of notebooks, what is typed in */
  SOURCE_GENERATED, /* made while the program runs: exec() of texts, inductor's files, graphs of torch.fx */
  SOURCE_LIBRARY,   /* an installed package */
  SOURCE_FRAMEWORK, /* PyTorch and the like, and what only hands on to them */
  SOURCE_PYTHON,    /* Python's own library */
  SOURCE_KINDS
};

/* program, generated, library, framework, python. */
extern const char *const source_kind_names[SOURCE_KINDS];

/* Of a path as code objects and traces have it; not NULL. */
enum source_kind source_kind_of(const char *path);
/* Of a path whose first `folder` bytes are a folder of the program, with the slash behind it: what lies below the
** folder tells, as a path from the root on would. 0: there is none. */
enum source_kind source_kind_below(const char *path, size_t folder);
/* Whether it lies in site-packages or dist-packages. */
bool source_is_installed(const char *path);

#endif
