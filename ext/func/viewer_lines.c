/* viewer_lines.c: see viewer_lines.h. */
#include "func/viewer_lines.h"

#include <stdlib.h>
#include <string.h>

const char *const viewer_line_names[VIEWER_LINE_COUNT] = {
    [VIEWER_SCOPES] = "Framework Name Scope",
    [VIEWER_OPS] = "Framework Ops",
    [VIEWER_MODULES] = "XLA Modules",
    [VIEWER_XLA_OPS] = "XLA Ops",
};

/* The line whose spans end with those of this one; the line itself: none. */
static const enum viewer_line line_below[VIEWER_LINE_COUNT] = {
    [VIEWER_SCOPES] = VIEWER_OPS,
    [VIEWER_OPS] = VIEWER_OPS,
    [VIEWER_MODULES] = VIEWER_XLA_OPS,
    [VIEWER_XLA_OPS] = VIEWER_XLA_OPS,
};

enum { DEEPEST = 64 }; /* scopes inside scopes; what is deeper is not drawn */

struct open_span {
  struct viewer_title title;
  int64_t step, start_ns, end_ns;
};

struct viewer_lines {
  void (*take)(void *user, const struct viewer_span *span);
  void *user;
  int64_t step;
  struct open_span spans[VIEWER_LINE_COUNT][DEEPEST];
  unsigned depths[VIEWER_LINE_COUNT]; /* how many of them have not ended */
  bool are_named[VIEWER_LINE_COUNT];
};

struct viewer_lines *viewer_lines_new(void (*take)(void *user, const struct viewer_span *span), void *user) {
  struct viewer_lines *lines = calloc(1, sizeof *lines);
  if (!lines) return NULL;
  lines->take = take;
  lines->user = user;
  lines->step = -1;
  return lines;
}

void viewer_lines_free(struct viewer_lines *lines) { free(lines); }

/* ---- spans ---- */

/* From `depth` on, and all of the line below. */
static void end_spans(struct viewer_lines *lines, enum viewer_line line, unsigned depth) {
  for (unsigned i = depth; i < lines->depths[line]; i++) {
    const struct open_span *span = &lines->spans[line][i];
    lines->take(lines->user, &(struct viewer_span){.line = line,
                                                   .is_first = !lines->are_named[line],
                                                   .title = span->title,
                                                   .start_ns = span->start_ns,
                                                   .end_ns = span->end_ns});
    lines->are_named[line] = true;
  }
  if (lines->depths[line] > depth) lines->depths[line] = depth;
  if (line_below[line] != line) end_spans(lines, line_below[line], 0);
}

static bool are_alike(const struct viewer_title *a, const struct viewer_title *b) {
  return a->op_name == b->op_name && a->program == b->program && a->length == b->length &&
         (a->name == b->name || memcmp(a->name, b->name, a->length) == 0);
}

/* The span at `depth` goes on to the kernel's end, or ends and a new one begins. */
static void extend(struct viewer_lines *lines, enum viewer_line line, unsigned depth, struct viewer_title title,
                   const struct viewer_kernel *kernel) {
  if (depth >= DEEPEST) return;
  struct open_span *span = &lines->spans[line][depth];
  if (depth < lines->depths[line] && span->step == lines->step && are_alike(&span->title, &title)) {
    if (kernel->end_ns > span->end_ns) span->end_ns = kernel->end_ns;
    return;
  }
  end_spans(lines, line, depth);
  *span = (struct open_span){title, lines->step, kernel->start_ns, kernel->end_ns};
  lines->depths[line] = depth + 1;
}

/* ---- kernels ---- */

static void add_op(struct viewer_lines *lines, const struct viewer_kernel *kernel) {
  const char *at = kernel->op_name, *end;
  for (unsigned depth = 0; (end = strchr(at, '/')); depth++, at = end + 1) {
    extend(lines, VIEWER_SCOPES, depth, (struct viewer_title){at, (size_t)(end - at), NULL, INT64_MIN}, kernel);
  }
  struct viewer_title op = {kernel->op_type, strlen(kernel->op_type), kernel->op_name, INT64_MIN};
  extend(lines, VIEWER_OPS, 0, op, kernel);
}

/* The last of a stack of ops is the one that the kernel is of. */
static void add_compiled(struct viewer_lines *lines, const struct viewer_kernel *kernel) {
  const char *name = kernel->hlo_op, *next;
  while ((next = strstr(name, "::"))) name = next + 2;
  struct viewer_title module = {kernel->hlo_module, strlen(kernel->hlo_module), NULL, kernel->program};
  extend(lines, VIEWER_MODULES, 0, module, kernel);
  if (*name) extend(lines, VIEWER_XLA_OPS, 0, (struct viewer_title){name, strlen(name), NULL, kernel->program}, kernel);
}

void viewer_lines_add(struct viewer_lines *lines, const struct viewer_kernel *kernel) {
  if (kernel->step >= 0) lines->step = kernel->step;
  if (*kernel->op_type) add_op(lines, kernel);
  if (*kernel->hlo_module) add_compiled(lines, kernel);
}

void viewer_lines_end(struct viewer_lines *lines) {
  end_spans(lines, VIEWER_SCOPES, 0);
  end_spans(lines, VIEWER_MODULES, 0);
  lines->step = -1;
  memset(lines->are_named, 0, sizeof lines->are_named);
}
