/* viewer_lines.c: see viewer_lines.h. */
#include "func/viewer_lines.h"

#include <stdlib.h>
#include <string.h>

enum line { SCOPES, OPS, MODULES, XLA_OPS, LINES };

static const struct {
  const char *name;
  enum line below; /* whose spans end with those of this one; the line itself: none */
} kinds[LINES] = {
    [SCOPES] = {"Framework Name Scope", OPS},
    [OPS] = {"Framework Ops", OPS},
    [MODULES] = {"XLA Modules", XLA_OPS},
    [XLA_OPS] = {"XLA Ops", XLA_OPS},
};

enum { DEEPEST = 64 }; /* scopes inside scopes; what is deeper is not drawn */

struct open_span {
  char *texts; /* name and long name, each with its end */
  size_t capacity, name_length;
  int64_t step, start_ns, end_ns;
};

struct viewer_lines {
  void (*take)(void *user, const struct viewer_span *span);
  void *user;
  int64_t pid, stream, place, step;
  struct open_span spans[LINES][DEEPEST];
  unsigned depths[LINES]; /* how many of them have not ended */
  bool are_named[LINES];
};

struct viewer_lines *viewer_lines_new(void (*take)(void *user, const struct viewer_span *span), void *user) {
  struct viewer_lines *lines = calloc(1, sizeof *lines);
  if (!lines) return NULL;
  lines->take = take;
  lines->user = user;
  lines->place = -1;
  return lines;
}

void viewer_lines_free(struct viewer_lines *lines) {
  if (!lines) return;
  for (unsigned line = 0; line < LINES; line++) {
    for (unsigned depth = 0; depth < DEEPEST; depth++) free(lines->spans[line][depth].texts);
  }
  free(lines);
}

/* ---- spans ---- */

/* From `depth` on, and all of the line below. */
static void end_spans(struct viewer_lines *lines, enum line line, unsigned depth) {
  for (unsigned i = depth; i < lines->depths[line]; i++) {
    const struct open_span *span = &lines->spans[line][i];
    int64_t sort_index = lines->place * VIEWER_LINES + 1 + line;
    lines->take(lines->user, &(struct viewer_span){.pid = lines->pid,
                                                   .tid = VIEWER_STEPS + sort_index,
                                                   .sort_index = sort_index,
                                                   .stream = lines->stream,
                                                   .line_name = kinds[line].name,
                                                   .name = span->texts,
                                                   .long_name = span->texts + span->name_length + 1,
                                                   .start_ns = span->start_ns,
                                                   .end_ns = span->end_ns,
                                                   .is_first = !lines->are_named[line]});
    lines->are_named[line] = true;
  }
  if (lines->depths[line] > depth) lines->depths[line] = depth;
  if (kinds[line].below != line) end_spans(lines, kinds[line].below, 0);
}

/* The long name is the parts with the separator between them, or nothing. */
struct title {
  const char *name;
  size_t name_length;
  const char *first, *separator, *last;
};

static bool is_title(const struct open_span *span, const struct title *title) {
  if (span->name_length != title->name_length || memcmp(span->texts, title->name, title->name_length) != 0)
    return false;
  const char *long_name = span->texts + span->name_length + 1;
  size_t first = strlen(title->first), separator = strlen(title->separator);
  return strncmp(long_name, title->first, first) == 0 && strncmp(long_name + first, title->separator, separator) == 0 &&
         strcmp(long_name + first + separator, title->last) == 0;
}

static bool set_title(struct open_span *span, const struct title *title) {
  size_t first = strlen(title->first), separator = strlen(title->separator), last = strlen(title->last);
  size_t needed = title->name_length + 1 + first + separator + last + 1;
  if (needed > span->capacity) {
    char *texts = realloc(span->texts, needed);
    if (!texts) return false;
    span->texts = texts;
    span->capacity = needed;
  }
  char *at = span->texts;
  memcpy(at, title->name, title->name_length);
  at[title->name_length] = '\0';
  at += title->name_length + 1;
  memcpy(at, title->first, first);
  memcpy(at + first, title->separator, separator);
  memcpy(at + first + separator, title->last, last + 1);
  span->name_length = title->name_length;
  return true;
}

/* The span at `depth` goes on to the kernel's end, or ends and a new one begins. */
static bool extend(struct viewer_lines *lines, enum line line, unsigned depth, const struct title *title,
                   const struct viewer_kernel *kernel) {
  if (depth >= DEEPEST) return true;
  struct open_span *span = &lines->spans[line][depth];
  if (depth < lines->depths[line] && span->step == lines->step && is_title(span, title)) {
    if (kernel->end_ns > span->end_ns) span->end_ns = kernel->end_ns;
    return true;
  }
  end_spans(lines, line, depth);
  if (!set_title(span, title)) return false;
  span->step = lines->step;
  span->start_ns = kernel->start_ns;
  span->end_ns = kernel->end_ns;
  lines->depths[line] = depth + 1;
  return true;
}

/* ---- kernels ---- */

static bool add_scopes(struct viewer_lines *lines, const struct viewer_kernel *kernel) {
  const char *at = kernel->op_name;
  for (unsigned depth = 0;; depth++) {
    const char *end = strchr(at, '/');
    if (!end) return true;
    struct title scope = {at, (size_t)(end - at), "", "", ""};
    if (!extend(lines, SCOPES, depth, &scope, kernel)) return false;
    at = end + 1;
  }
}

static bool add_op(struct viewer_lines *lines, const struct viewer_kernel *kernel) {
  struct title op = {kernel->op_type, strlen(kernel->op_type), kernel->op_name, ":", kernel->op_type};
  return add_scopes(lines, kernel) && extend(lines, OPS, 0, &op, kernel);
}

/* The last of a stack of ops is the one that the kernel is of. */
static bool add_compiled(struct viewer_lines *lines, const struct viewer_kernel *kernel) {
  const char *name = kernel->hlo_op, *next;
  while ((next = strstr(name, "::"))) name = next + 2;
  struct title module = {kernel->hlo_module, strlen(kernel->hlo_module), "", "", ""};
  struct title op = {name, strlen(name), kernel->program, "/", name};
  return extend(lines, MODULES, 0, &module, kernel) && (!*name || extend(lines, XLA_OPS, 0, &op, kernel));
}

bool viewer_lines_add(struct viewer_lines *lines, const struct viewer_kernel *kernel) {
  if (kernel->pid != lines->pid || kernel->place != lines->place) {
    viewer_lines_end(lines);
    lines->pid = kernel->pid;
    lines->stream = kernel->stream;
    lines->place = kernel->place;
    lines->step = 0;
    memset(lines->are_named, 0, sizeof lines->are_named);
  }
  if (kernel->step) lines->step = kernel->step;
  if (*kernel->op_type && !add_op(lines, kernel)) return false;
  return !*kernel->hlo_module || add_compiled(lines, kernel);
}

void viewer_lines_end(struct viewer_lines *lines) {
  end_spans(lines, SCOPES, 0);
  end_spans(lines, MODULES, 0);
}
