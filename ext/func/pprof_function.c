/* pprof_function.c: tfprof_pprof(path [, metric [, profile]]) writes what is open for pprof and flame graph viewers.
**
**   SELECT tfprof_pprof('run.pb.gz');                    every metric that something is known of
**   SELECT tfprof_pprof('kernels.pb.gz', 'kernel_ns');   one of them, and how often it occurred
**   $ go tool pprof -http : run.pb.gz
**
** The metrics, all of the measured steps (no warm-up, ops recorded), or of everything where no step was measured, and
** weighed by ops.sample_weight as the views do it:
**
**   self_ns          time of each op without the ops that it called; ops of category user are frames without time
**   kernel_ns        time of the kernels that it launched, each a frame of its own
**   allocated_bytes  memory that it allocated itself
**   flops            floating point operations
**
** A stack is, outermost first: the program's frames (code_traces), then the ops, then the kernel.  An op without a
** trace has that of the op that called it; what has none at all but answers a forward op, as autograd's own threads
** do, has the forward op's, every function with " (gradient)" after it, as TensorFlow's profiler writes it.
**
** Returns how many samples were written.  An error names what is wrong: a metric that does not exist or that nothing
** is known of, a file that cannot be written.
*/
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "func/functions.h"
#include "vtab/connection.h"
#include "write/pprof.h"

SQLITE_EXTENSION_INIT3

enum metric { COUNT, SELF, KERNEL, ALLOCATED, FLOPS, METRIC_COUNT };

static const struct pprof_type metrics[METRIC_COUNT] = {
    [COUNT] = {"count", "count"},
    [SELF] = {"self_ns", "nanoseconds"},
    [KERNEL] = {"kernel_ns", "nanoseconds"},
    [ALLOCATED] = {"allocated_bytes", "bytes"},
    [FLOPS] = {"flops", "count"},
};

/* The frame of a trace, and the two nodes that it becomes: as it is, and as the gradient of it. */
struct trace {
  sqlite3_int64 id, parent;
  uint32_t location, gradient_location;
  uint32_t node, gradient_node; /* 0: not made yet */
};

struct op {
  sqlite3_int64 id, parent, trace, forward;
  uint32_t location, node; /* node 0: not made yet */
  bool is_counted, is_visited;
  double weight;
  int64_t values[METRIC_COUNT];
};

struct export {
  sqlite3 *db;
  sqlite3_value *profile; /* NULL: all */
  struct pprof *pprof;
  int types[METRIC_COUNT]; /* the sample type of each metric that is written, else -1 */
  LIST(struct trace) traces; /* by id */
  LIST(struct op) ops;       /* by id */
  int64_t start_ns, duration_ns;
};

/* ---- reading ---- */

/* Calls `take` for each row. The tables named in `sql` by %s get the profile argument. */
static int each_row(struct export *export, const char *format, int (*take)(struct export *, sqlite3_stmt *)) {
  sqlite3_stmt *statement = NULL;
  const char *argument = export->profile ? "(?1)" : "";
  char *sql = sqlite3_mprintf(format, argument, argument, argument);
  if (!sql) return SQLITE_NOMEM;
  int result = sqlite3_prepare_v2(export->db, sql, -1, &statement, NULL);
  sqlite3_free(sql);
  if (!result && export->profile) result = sqlite3_bind_value(statement, 1, export->profile);
  while (!result && (result = sqlite3_step(statement)) == SQLITE_ROW) result = take(export, statement);
  sqlite3_finalize(statement);
  return result == SQLITE_DONE ? SQLITE_OK : result;
}

static const char *text_or(sqlite3_stmt *statement, int column, const char *otherwise) {
  const char *text = (const char *)sqlite3_column_text(statement, column);
  return text ? text : otherwise;
}

static int64_t weighed(int64_t value, double weight) {
  double product = (double)value * weight;
  if (weight == 1) return value;
  return product >= 9.2e18 ? INT64_MAX : product <= -9.2e18 ? INT64_MIN : llround(product);
}

static int take_trace(struct export *export, sqlite3_stmt *statement) {
  struct trace *trace = list_add(&export->traces);
  if (!trace) return SQLITE_NOMEM;
  *trace = (struct trace){.id = sqlite3_column_int64(statement, 0), .parent = sqlite3_column_int64(statement, 1)};
  const char *function = text_or(statement, 2, "(unknown)"), *file = text_or(statement, 3, NULL);
  sqlite3_int64 first_line = sqlite3_column_int64(statement, 4), line = sqlite3_column_int64(statement, 5);
  char *gradient = sqlite3_mprintf("%s (gradient)", function);
  if (!gradient || pprof_location(export->pprof, function, file, first_line, line, &trace->location) ||
      pprof_location(export->pprof, gradient, file, first_line, line, &trace->gradient_location)) {
    sqlite3_free(gradient);
    return SQLITE_NOMEM;
  }
  sqlite3_free(gradient);
  return SQLITE_OK;
}

static int take_op(struct export *export, sqlite3_stmt *statement) {
  struct op *op = list_add(&export->ops);
  if (!op) return SQLITE_NOMEM;
  *op = (struct op){.id = sqlite3_column_int64(statement, 0),
                    .parent = sqlite3_column_int64(statement, 1),
                    .trace = sqlite3_column_int64(statement, 2),
                    .forward = sqlite3_column_int64(statement, 3),
                    .weight = sqlite3_column_double(statement, 5),
                    .is_counted = sqlite3_column_int(statement, 9) != 0};
  if (pprof_location(export->pprof, text_or(statement, 4, "(unnamed)"), NULL, 0, 0, &op->location)) return SQLITE_NOMEM;
  if (op->is_counted && sqlite3_column_int(statement, 10) == 0) {
    op->values[COUNT] = weighed(1, op->weight);
    for (int metric = 0; metric < 3; metric++) {
      static const enum metric of_column[] = {SELF, ALLOCATED, FLOPS};
      op->values[of_column[metric]] = weighed(sqlite3_column_int64(statement, 6 + metric), op->weight);
    }
  }
  return SQLITE_OK;
}

/* Which metrics anything is known of, in the order of `metrics`. */
static int take_known(struct export *export, sqlite3_stmt *statement) {
  for (int metric = 0; metric < METRIC_COUNT; metric++)
    export->types[metric] = sqlite3_column_int(statement, metric) ? 0 : -1;
  return SQLITE_OK;
}

static int take_span(struct export *export, sqlite3_stmt *statement) {
  export->start_ns = sqlite3_column_int64(statement, 0);
  export->duration_ns = sqlite3_column_int64(statement, 1);
  return SQLITE_OK;
}

/* ---- stacks ---- */

/* Both arrays are in the order of their ids, which begin each item. */
static int compare_ids(const void *a, const void *b) {
  sqlite3_int64 left = *(const sqlite3_int64 *)a, right = *(const sqlite3_int64 *)b;
  return (left > right) - (left < right);
}

static struct trace *find_trace(struct export *export, sqlite3_int64 id) {
  return id && export->traces.count
             ? bsearch(&id, export->traces.items, export->traces.count, sizeof(struct trace), compare_ids)
             : NULL;
}

static struct op *find_op(struct export *export, sqlite3_int64 id) {
  return id && export->ops.count
             ? bsearch(&id, export->ops.items, export->ops.count, sizeof(struct op), compare_ids)
             : NULL;
}

/* The node of a trace: its callers are made first, outermost to innermost, without recursion. A parent that is not
** older than its child, as only a damaged file has it, ends the stack. */
static int trace_node(struct export *export, struct trace *trace, bool is_gradient, uint32_t *node) {
  struct trace *chain[1024];
  size_t length = 0;
  uint32_t caller = PPROF_ROOT;
  for (struct trace *at = trace; at; at = at->parent < at->id ? find_trace(export, at->parent) : NULL) {
    uint32_t made = is_gradient ? at->gradient_node : at->node;
    if (made) {
      caller = made;
      break;
    }
    if (length == sizeof chain / sizeof chain[0]) break; /* deeper than Python's own limit: the outermost frames go */
    chain[length++] = at;
  }
  while (length) {
    struct trace *at = chain[--length];
    uint32_t location = is_gradient ? at->gradient_location : at->location;
    if (pprof_node(export->pprof, caller, location, &caller)) return SQLITE_NOMEM;
    *(is_gradient ? &at->gradient_node : &at->node) = caller;
  }
  *node = caller;
  return SQLITE_OK;
}

/* What an op that nothing called stands on. */
static int base_node(struct export *export, const struct op *op, uint32_t *node) {
  struct trace *trace = find_trace(export, op->trace);
  const struct op *forward = trace ? NULL : find_op(export, op->forward);
  *node = PPROF_ROOT;
  if (forward) {
    struct trace *at = find_trace(export, forward->trace);
    return at ? trace_node(export, at, true, node) : SQLITE_OK;
  }
  return trace ? trace_node(export, trace, false, node) : SQLITE_OK;
}

static void add_metric(struct export *export, uint32_t node, enum metric metric, int64_t value) {
  if (export->types[metric] >= 0) pprof_add(export->pprof, node, (unsigned)export->types[metric], value);
}

/* Makes the nodes of an op and of all around it. */
static int op_node(struct export *export, struct op *op) {
  struct op *chain[1024];
  size_t length = 0;
  uint32_t caller = PPROF_ROOT;
  struct op *at = op;
  while (at && !at->node && !at->is_visited && length < sizeof chain / sizeof chain[0]) {
    at->is_visited = true; /* a circle of parents, as only a damaged file has it, ends here */
    chain[length++] = at;
    at = find_op(export, at->parent);
  }
  int result = SQLITE_OK;
  if (at && at->node) {
    caller = at->node;
  } else if (length) {
    result = base_node(export, chain[length - 1], &caller);
  }
  while (length && !result) {
    at = chain[--length];
    result = pprof_node(export->pprof, caller, at->location, &caller) ? SQLITE_NOMEM : SQLITE_OK;
    at->node = caller;
  }
  return result;
}

static int take_kernel(struct export *export, sqlite3_stmt *statement) {
  struct op *op = find_op(export, sqlite3_column_int64(statement, 0));
  uint32_t location, node;
  double weight = op ? op->weight : 1;
  if (pprof_location(export->pprof, text_or(statement, 1, "(unnamed)"), NULL, 0, 0, &location) ||
      pprof_node(export->pprof, op ? op->node : PPROF_ROOT, location, &node))
    return SQLITE_NOMEM;
  add_metric(export, node, KERNEL, weighed(sqlite3_column_int64(statement, 2), weight));
  add_metric(export, node, COUNT, weighed(1, weight));
  return SQLITE_OK;
}

/* Everything into export->pprof. */
static int collect_samples(struct export *export) {
  static const char measured[] =
      "WITH measured AS MATERIALIZED ("
      "SELECT profile_id, id FROM tfprof_own.steps%s WHERE is_warmup = 0 AND ops_recorded = 1) ";
  bool with_ops = export->types[SELF] >= 0 || export->types[ALLOCATED] >= 0 || export->types[FLOPS] >= 0;
  char *ops = sqlite3_mprintf(
      "%sSELECT id, parent_id, code_trace_id, forward_op_id, name, sample_weight, self_ns, allocated_self_bytes, "
      "flops, "
      "step_id IN (SELECT id FROM measured) OR profile_id NOT IN (SELECT profile_id FROM measured), "
      "category = 'user' FROM tfprof_own.ops%%s ORDER BY id",
      measured);
  char *kernels = sqlite3_mprintf(
      "%sSELECT op_id, coalesce(short_name, name), dur_ns FROM tfprof_own.kernels%%s "
      "WHERE step_id IN (SELECT id FROM measured) OR profile_id NOT IN (SELECT profile_id FROM measured)",
      measured);
  int result = ops && kernels ? SQLITE_OK : SQLITE_NOMEM;
  if (!result)
    result = each_row(export,
                      "SELECT code_traces.id, code_traces.parent_id, function, file, first_line, line "
                      "FROM tfprof_own.code_traces%s AS code_traces LEFT JOIN tfprof_own.code_frames%s AS code_frames "
                      "ON code_frames.id = leaf_frame_id ORDER BY code_traces.id",
                      take_trace);
  if (!result) result = each_row(export, ops, take_op);
  for (size_t i = 0; i < export->ops.count && !result; i++) {
    struct op *op = &export->ops.items[i];
    if (!op->node) result = op_node(export, op);
    for (int metric = 0; metric < METRIC_COUNT && with_ops && !result; metric++)
      add_metric(export, op->node, (enum metric)metric, op->values[metric]);
  }
  if (!result && export->types[KERNEL] >= 0) result = each_row(export, kernels, take_kernel);
  if (!result)
    result = each_row(export, "SELECT min(start_ns), max(end_ns) - min(start_ns) FROM tfprof_own.steps%s", take_span);
  sqlite3_free(ops);
  sqlite3_free(kernels);
  return result;
}

/* ---- the function ---- */

static enum metric metric_named(const char *name) {
  enum metric metric = SELF;
  while (metric < METRIC_COUNT && strcmp(name, metrics[metric].name) != 0) metric++;
  return metric;
}

/* Decides on the sample types; false: an error was set. */
static bool choose_types(sqlite3_context *context, struct export *export, const char *wanted, struct pprof_type *types,
                         unsigned *type_count) {
  int result = each_row(export,
                        "SELECT 1, total(self_ns) > 0, EXISTS (SELECT 1 FROM tfprof_own.kernels%s), "
                        "total(allocated_self_bytes) > 0, total(flops) > 0 FROM tfprof_own.ops%s",
                        take_known);
  if (result) {
    sqlite3_result_error(context, sqlite3_errmsg(export->db), -1);
    return false;
  }
  enum metric only = wanted ? metric_named(wanted) : METRIC_COUNT;
  if (wanted && (only == METRIC_COUNT || export->types[only] < 0)) {
    char *message = sqlite3_mprintf(only == METRIC_COUNT
                                        ? "tfprof_pprof: there is no metric '%q'; the metrics are self_ns, kernel_ns, "
                                          "allocated_bytes and flops"
                                        : "tfprof_pprof: nothing is known of %q in what is open",
                                    wanted);
    sqlite3_result_error(context, message ? message : "no memory", -1);
    sqlite3_free(message);
    return false;
  }
  *type_count = 0;
  for (int metric = 0; metric < METRIC_COUNT; metric++) {
    if (export->types[metric] < 0) continue;
    export->types[metric] = -1;
    if (wanted && metric != COUNT && metric != (int)only) continue;
    export->types[metric] = (int)*type_count;
    types[(*type_count)++] = metrics[metric];
  }
  return true;
}

static void pprof_function(sqlite3_context *context, int count, sqlite3_value **values) {
  struct connection *connection = sqlite3_user_data(context);
  struct tfprof_error error;
  struct pprof_type types[METRIC_COUNT];
  unsigned type_count;
  const char *wanted = count > 1 ? (const char *)sqlite3_value_text(values[1]) : NULL;
  struct export export = {.db = connection->db, .profile = count > 2 ? values[2] : NULL};
  if (count < 1 || count > 3) {
    sqlite3_result_error(context, "tfprof_pprof takes a path, then a metric (NULL: all of them) and a profile", -1);
    return;
  }
  const char *path = path_argument(context, values[0], "tfprof_pprof");
  if (!path) return;
  if (!choose_types(context, &export, wanted, types, &type_count)) return;
  if (pprof_create(&export.pprof, types, type_count, type_count > 1 ? 1 : 0, &error)) {
    sqlite3_result_error_nomem(context);
    return;
  }
  int result = collect_samples(&export);
  if (result == SQLITE_NOMEM) {
    sqlite3_result_error_nomem(context);
  } else if (result) {
    sqlite3_result_error(context, sqlite3_errmsg(export.db), -1);
    sqlite3_result_error_code(context, result);
  } else if (pprof_write(export.pprof, path, export.start_ns, export.duration_ns, &error)) {
    connection_result_error(context, &error);
  } else {
    sqlite3_result_int64(context, (sqlite3_int64)pprof_sample_count(export.pprof));
  }
  list_free(&export.traces);
  list_free(&export.ops);
  pprof_free(export.pprof);
}

const struct function_spec pprof_functions[] = {
    {.name = "tfprof_pprof",
     .argument_count = -1,
     .has_effects = true,
     .function = pprof_function,
     .text = {"path [, metric [, profile]]",
              "Writes call stacks with what they cost, for go tool pprof and viewers of flame graphs.",
              "metric is self_ns, kernel_ns, allocated_bytes or flops. NULL or none stands for all that something is "
              "known of. profile selects among what is open, as the hidden argument of every table does. Measured "
              "steps count, or everything where no step was measured. Returns the number of samples. A metric that "
              "nothing is known of and a file that cannot be written are errors. The file holds source lines, names "
              "and paths.",
              "SELECT tfprof_pprof('run.pb.gz')"}},
    {0},
};
