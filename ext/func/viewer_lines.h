/* viewer_lines.h: the lines that XProf's trace viewer draws below a GPU's stream.
**
**   Framework Name Scope    the scopes of the op's name, outermost first, one inside the other
**   Framework Ops           the op
**   XLA Modules, XLA Ops    what XLA compiled, where the kernel is of such
**
** Neighbouring kernels of one step and name are one span; a new span ends those that stand in it (an op those of no
** scope, a module its ops).  As in XProf's derived lines, except that an inner scope is not made a nanosecond shorter
** than the outer one.
*/
#ifndef TFPROF_FUNC_VIEWER_LINES_H
#define TFPROF_FUNC_VIEWER_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Threads of the viewer: the steps of a device, and how many numbers each stream has with its lines. */
#define VIEWER_STEPS 3735928559
#define VIEWER_LINES 8

enum viewer_line { VIEWER_SCOPES, VIEWER_OPS, VIEWER_MODULES, VIEWER_XLA_OPS, VIEWER_LINE_COUNT };
extern const char *const viewer_line_names[VIEWER_LINE_COUNT];

/* Texts stay where they are until the spans are done with, equal ones at one place; those not known are empty. */
struct viewer_kernel {
  const char *op_name, *op_type, *hlo_module, *hlo_op;
  int64_t program; /* INT64_MIN: not known */
  int64_t step;    /* negative: that of the kernel before */
  int64_t start_ns, end_ns;
};

struct viewer_title {
  const char *name; /* part of a text */
  size_t length;
  const char *op_name; /* of ops: with its scopes; else NULL */
  int64_t program;     /* of modules and XLA's ops; INT64_MIN: not known */
};

struct viewer_span {
  enum viewer_line line;
  bool is_first; /* of its line, which has to be named */
  struct viewer_title title;
  int64_t start_ns, end_ns;
};

struct viewer_lines;

/* NULL: no memory. `take` gets each span when it has ended. */
struct viewer_lines *viewer_lines_new(void (*take)(void *user, const struct viewer_span *span), void *user);
/* Kernels come by time, stream by stream. */
void viewer_lines_add(struct viewer_lines *lines, const struct viewer_kernel *kernel);
/* Hands over what has not ended yet: the next kernel is of another stream. */
void viewer_lines_end(struct viewer_lines *lines);
void viewer_lines_free(struct viewer_lines *lines);

#endif
