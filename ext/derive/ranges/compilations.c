/* compilations.c: the table compilations from what compilers mark while a profiler watches them.
**
** The phases of torch.compile are ops named `NAME (dynamo_timed)`, one inside another: dynamo is the tracing and what
** holds everything together, aot the graph of forward and backward pass, inductor the code of kernels and its compiler.
** What JAX compiles in a recording of ours are ranges named `PHASE: FUNCTION (jax.monitoring)` (_tfprof_jax.py).
** Those of XLA, for TensorFlow and JAX, are rows of the runtime with the names of its functions, and so is what
** tf.function marks while it traces a function: it makes a graph of Python code, which is optimised and compiled.
*/
#include <string.h>

#include "derive/passes.h"
#include "derive/ranges/compilers.h"
#include "derive/rows.h"

static const char of_torch[] = " (dynamo_timed)", of_jax[] = " (jax.monitoring)";

static size_t length_without(const char *name, const char *suffix) {
  size_t length = strlen(name), end = strlen(suffix);
  return length > end && !strcmp(name + length - end, suffix) ? length - end : 0;
}

/* The length of the name without the suffix; 0: it is no phase of a compilation. */
static size_t length_of_phase(const char *name) {
  size_t length = length_without(name, of_torch);
  return length ? length : length_without(name, of_jax);
}

/* The mark of TensorFlow's python/eager/polymorphic_function. */
static bool is_graph_building(const char *name) { return strcmp(name, "tf.function-graph_building") == 0; }

bool is_runtime_compiling(const char *name) {
  static const char *const beginnings[] = {"backend_compile", "lower_sharding_computation", "XlaCompile", "HLO passes"};
  for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
    if (!strncmp(name, beginnings[i], strlen(beginnings[i]))) return true;
  return is_graph_building(name) || strstr(name, "::Compile") || strstr(name, "Compiler::");
}

static const char *compiler_of(const char *name) {
  if (length_without(name, of_jax)) return "xla";
  if (!length_of_phase(name)) return is_graph_building(name) ? "tf.function" : "xla";
  static const char *const inductor[] = {"inductor",      "compile_fx", "GraphLowering", "Scheduler",    "PyCodeCache",
                                         "async_compile", "fx_codegen", "compile_file",  "TritonBundler"};
  for (size_t i = 0; i < sizeof inductor / sizeof inductor[0]; i++)
    if (strstr(name, inductor[i])) return "inductor";
  return strstr(name, "aot") ? "aot" : "dynamo";
}

struct compilations {
  struct profile *profile;
  uint32_t *ops; /* rows of ops */
  uint32_t count, capacity;
};

static enum tfprof_status find_compilations(struct compilations *found, struct tfprof_error *error) {
  const struct pool *pool = store_pool(found->profile->store);
  enum tfprof_status status = TFPROF_OK;
  enum { NOT_ASKED, OTHER, OF_RUNTIME, OF_RECORDER };
  uint8_t *kinds = scratch_allocate_zeroed((size_t)pool_count(pool) + 1, 1); /* by name: one of these */
  string_id runtime = derive_known_text(found->profile, "runtime");
  if (!kinds) return error_no_memory(error);
  for (struct row_block block = {0}; derive_next_block(found->profile, TABLE_ops, &block, &status, error);) {
    string_id names[ROWS_BLOCK], categories[ROWS_BLOCK];
    block_texts(&block, COLUMN_ops_name, names);
    block_texts(&block, COLUMN_ops_category, categories);
    for (uint32_t i = 0; i < block.count && !status; i++) {
      if (!names[i]) continue;
      uint8_t *kind = &kinds[names[i]];
      if (*kind == NOT_ASKED) {
        const char *name = pool_text(pool, names[i]);
        *kind = length_of_phase(name) ? OF_RECORDER : is_runtime_compiling(name) ? OF_RUNTIME : OTHER;
      }
      if (*kind == OTHER || (*kind == OF_RUNTIME && categories[i] != runtime)) continue;
      uint32_t *ops = scratch_grow(found->ops, found->count, &found->capacity, 256, sizeof *ops);
      if (!ops) {
        status = error_no_memory(error);
        break;
      }
      found->ops = ops;
      ops[found->count++] = (uint32_t)block.row + i;
    }
  }
  scratch_free(kinds);
  return status;
}

static enum tfprof_status copy_column(const struct compilations *found, unsigned from, unsigned to,
                                      struct tfprof_error *error) {
  int64_t *all = NULL, *values = scratch_allocate((size_t)found->count * sizeof *values);
  uint32_t *references = scratch_allocate((size_t)found->count * sizeof *references), *threads = NULL;
  bool is_thread = from == COLUMN_ops_thread_id;
  enum tfprof_status status = values && references ? TFPROF_OK : error_no_memory(error);
  if (!status && is_thread) status = derive_all_references(found->profile, TABLE_ops, from, &threads, error);
  if (!status && !is_thread) status = derive_all_integers(found->profile, TABLE_ops, from, &all, error);
  for (uint32_t i = 0; i < found->count && !status; i++) {
    if (is_thread) references[i] = threads[found->ops[i]];
    else values[i] = all[found->ops[i]];
  }
  if (!status && is_thread) status = derive_set_references(found->profile, TABLE_compilations, to, references, error);
  else if (!status) status = derive_set_integers(found->profile, TABLE_compilations, to, values, error);
  scratch_free(all);
  scratch_free(values);
  scratch_free(references);
  scratch_free(threads);
  return status;
}

static enum tfprof_status set_phases(const struct compilations *found, struct tfprof_error *error) {
  struct pool *pool = store_pool(found->profile->store);
  int64_t *all = NULL;
  string_id *names = scratch_allocate((size_t)found->count * sizeof *names);
  string_id *kinds = scratch_allocate((size_t)found->count * sizeof *kinds);
  enum tfprof_status status = names && kinds ? TFPROF_OK : error_no_memory(error);
  if (!status) status = derive_all_integers(found->profile, TABLE_ops, COLUMN_ops_name, &all, error);
  for (uint32_t i = 0; i < found->count && !status; i++) {
    const char *name = pool_text(pool, (string_id)all[found->ops[i]]);
    size_t length = length_of_phase(name);
    status = pool_intern(pool, name, length ? length : strlen(name), &names[i]);
    if (status) status = error_set(error, status, "the names of compilations do not fit into memory");
    if (!status) status = derive_text(found->profile, compiler_of(name), &kinds[i], error);
  }
  if (!status) status = derive_set_texts(found->profile, TABLE_compilations, COLUMN_compilations_name, names, error);
  if (!status) status = derive_set_texts(found->profile, TABLE_compilations, COLUMN_compilations_kind, kinds, error);
  scratch_free(all);
  scratch_free(names);
  scratch_free(kinds);
  return status;
}

static enum tfprof_status run_compilations(struct profile *profile, struct tfprof_error *error) {
  static const uint16_t copied[][2] = {{COLUMN_ops_thread_id, COLUMN_compilations_thread_id},
                                       {COLUMN_ops_start_ns, COLUMN_compilations_start_ns},
                                       {COLUMN_ops_end_ns, COLUMN_compilations_end_ns},
                                       {COLUMN_ops_dur_ns, COLUMN_compilations_dur_ns}};
  struct compilations found = {.profile = profile};
  if (!profile->tables[TABLE_compilations].is_made) return TFPROF_OK;
  enum tfprof_status status = find_compilations(&found, error);
  if (!status && found.count) {
    status = derive_make_table(profile, TABLE_compilations, found.count, error);
    if (!status) status = set_phases(&found, error);
    for (size_t i = 0; i < sizeof copied / sizeof copied[0] && !status; i++)
      status = copy_column(&found, copied[i][0], copied[i][1], error);
  }
  scratch_free(found.ops);
  return status;
}

const struct derive_pass derive_compilations = {
    .name = "compilations",
    .summary = "What torch.compile, XLA and tf.function mark, by their names.",
    .makes_table = TABLE_compilations,
    .reads = {{TABLE_ops, COLUMN_ops_name},
              {TABLE_ops, COLUMN_ops_category},
              {TABLE_ops, COLUMN_ops_thread_id},
              {TABLE_ops, COLUMN_ops_start_ns},
              {TABLE_ops, COLUMN_ops_end_ns},
              {TABLE_ops, COLUMN_ops_dur_ns}},
    .writes = {{TABLE_compilations, COLUMN_compilations_name},
               {TABLE_compilations, COLUMN_compilations_kind},
               {TABLE_compilations, COLUMN_compilations_thread_id},
               {TABLE_compilations, COLUMN_compilations_start_ns},
               {TABLE_compilations, COLUMN_compilations_end_ns},
               {TABLE_compilations, COLUMN_compilations_dur_ns}},
    .run = run_compilations,
    .is_alone = true,
};
