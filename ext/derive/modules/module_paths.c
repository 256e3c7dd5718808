/* module_paths.c: ops.module_path, where each call of a module stands in the model: the names of the modules whose
** calls are around it, and its own.
**
** torch.profiler records each call of a module as a row of category `module`, "nn.Module: Linear_0": the class, and a
** number within it that is the module's own as long as it is recorded.  Which module holds which, it does not say; that
** is told by which call ran inside which.
*/
#include <string.h>

#include "derive/links/ancestors.h"
#include "derive/passes.h"
#include "derive/rows.h"
#include "store/scratch.h"

/* A path is not continued beyond this, so that calls nested without end, as only a made-up file has them, take no
** memory by the square; the next one begins anew. */
enum { MAXIMUM_PATH = 1000 };

struct calls {
  struct profile *profile;
  uint32_t rows;
  uint32_t *around;         /* by row: the call of a module that it is or is in; NO_ROW: none */
  uint32_t *parents;        /* by row */
  string_id *names, *paths; /* by row, of calls */
};

static uint32_t enclosing(const struct calls *c, uint32_t row) {
  return c->parents[row] == NO_ROW ? NO_ROW : c->around[c->parents[row]];
}

static enum tfprof_status set_path(struct calls *c, uint32_t row, uint32_t outer, struct tfprof_error *error) {
  static const char mark[] = "nn.Module: ";
  const struct pool *pool = store_pool(c->profile->store);
  const char *name = c->names[row] ? pool_text(pool, c->names[row]) : "", *path = "";
  if (outer != NO_ROW) path = pool_text(pool, c->paths[outer]);
  if (strncmp(name, mark, sizeof mark - 1) == 0) name += sizeof mark - 1;
  if (!*name) name = "module";
  char text[MAXIMUM_PATH + 2];
  size_t length = strlen(path), name_length = strlen(name);
  if (length == 0 || length + name_length > MAXIMUM_PATH) return derive_text(c->profile, name, &c->paths[row], error);
  memcpy(text, path, length);
  text[length] = '.';
  memcpy(text + length + 1, name, name_length + 1);
  return derive_text(c->profile, text, &c->paths[row], error);
}

/* Those around a call come first. `way` has room for as many rows as there are. */
static enum tfprof_status set_paths(struct calls *c, uint32_t *way, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (uint32_t row = 0; row < c->rows && !status; row++) {
    if (c->around[row] != row) continue;
    uint32_t length = 0, at = row;
    for (; at != NO_ROW && !c->paths[at]; at = enclosing(c, at)) way[length++] = at;
    while (length && !status) {
      uint32_t outer = at;
      at = way[--length];
      status = set_path(c, at, outer, error);
    }
    if (!status && row % ROWS_BLOCK == 0) status = derive_poll(c->profile, error);
  }
  return status;
}

static bool find_calls(const struct profile *profile, struct calls *c) {
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  string_id module = derive_known_text(profile, "module");
  bool is_found = false;
  for (size_t s = 0; s < ops->segment_count; s++) {
    const struct segment *segment = ops->segments[s];
    const struct column *categories = segment->columns[COLUMN_ops_category];
    uint32_t row = derive_find_text(categories, 0, module);
    for (; row < segment->rows; row = derive_find_text(categories, row + 1, module)) {
      is_found = true;
      if (!c) return true;
      c->around[segment->first_row + row] = (uint32_t)segment->first_row + row;
      derive_texts(segment->columns[COLUMN_ops_name], row, 1, &c->names[segment->first_row + row]);
    }
  }
  return is_found;
}

static enum tfprof_status run_module_paths(struct profile *profile, struct tfprof_error *error) {
  struct calls c = {.profile = profile};
  if (!find_calls(profile, NULL)) return TFPROF_OK;
  enum tfprof_status status = derive_row_count(profile, TABLE_ops, &c.rows, error);
  if (!status) status = derive_all_op_parents(profile, &c.parents, error);
  c.around = scratch_allocate((size_t)c.rows * sizeof *c.around);
  c.names = scratch_allocate_zeroed(c.rows, sizeof *c.names);
  c.paths = scratch_allocate_zeroed(c.rows, sizeof *c.paths);
  uint32_t *way = scratch_allocate((size_t)c.rows * sizeof *way);
  if (!status && (!c.around || !c.names || !c.paths || !way)) status = error_no_memory(error);
  if (!status) {
    memset(c.around, 0xff, (size_t)c.rows * sizeof *c.around); /* NO_ROW */
    find_calls(profile, &c);
    derive_inherit(c.parents, c.around, c.rows);
    status = set_paths(&c, way, error);
  }
  if (!status) status = derive_set_texts(profile, TABLE_ops, COLUMN_ops_module_path, c.paths, error);
  scratch_free(c.parents);
  scratch_free(c.around);
  scratch_free(c.names);
  scratch_free(c.paths);
  scratch_free(way);
  return status;
}

const struct derive_pass derive_module_paths = {
    .name = "module paths",
    .summary = "Which calls of modules are around each call of one; every way up walked once.",
    .makes_table = -1,
    .reads = {{TABLE_ops, COLUMN_ops_parent_id}, {TABLE_ops, COLUMN_ops_category}, {TABLE_ops, COLUMN_ops_name}},
    .writes = {{TABLE_ops, COLUMN_ops_module_path}},
    .run = run_module_paths,
    .is_alone = true,
};
