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
#include <stdint.h>

/* Threads of the viewer: the steps of a device, and how many numbers each stream has with its lines. */
#define VIEWER_STEPS 3735928559
#define VIEWER_LINES 8

/* Texts that are not known are empty. */
struct viewer_kernel {
  int64_t pid, stream, place; /* place: of the stream among those of its device */
  const char *op_name, *op_type, *hlo_module, *program, *hlo_op;
  int64_t step; /* 0: that of the kernel before */
  int64_t start_ns, end_ns;
};

struct viewer_span {
  int64_t pid, tid, sort_index, stream;
  const char *line_name, *name, *long_name;
  int64_t start_ns, end_ns;
  bool is_first; /* of its line, which has to be named */
};

struct viewer_lines;

/* NULL: no memory. `take` gets each span when it has ended. */
struct viewer_lines *viewer_lines_new(void (*take)(void *user, const struct viewer_span *span), void *user);
/* Kernels come stream by stream, and by time in each. false: no memory. */
bool viewer_lines_add(struct viewer_lines *lines, const struct viewer_kernel *kernel);
/* Hands over what has not ended yet. */
void viewer_lines_end(struct viewer_lines *lines);
void viewer_lines_free(struct viewer_lines *lines);

#endif
