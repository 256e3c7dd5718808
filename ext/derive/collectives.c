/* collectives.c: collectives that only the program's marks tell, and the step and rate of all of them.
**
** NCCL's come with their arguments from the source.  Backends that work on the host (Gloo, MPI, UCC) mark each
** operation with a range, `gloo:all_reduce`, whose inputs are the tensors that are exchanged (c10d,
** ProcessGroup::Work): such a mark becomes a row where the source has no collectives of its own.  Marks of NCCL are of
** the launch, not of the exchange, and are left out.
**
** The step is that of the kernel, or without one of the op.  The rate per link is as NCCL's tests define it
** (nccl-tests, PERFORMANCE.md): all_reduce moves 2 (n - 1) / n of the data over each link, all_gather, reduce_scatter
** and all_to_all (n - 1) / n, the others all of it.
*/
#include "derive/passes.h"
#include "derive/user_rows.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- from marks ---- */

static const char *operation_of(const char *name) {
  static const char *const backends[] = {"gloo:", "mpi:", "ucc:"};
  for (size_t i = 0; i < sizeof backends / sizeof *backends; i++) {
    size_t length = strlen(backends[i]);
    if (strncmp(name, backends[i], length) == 0 && name[length]) return name + length;
  }
  return NULL;
}

static bool is_collective(const char *name) { return operation_of(name) != NULL; }

/* Types as PyTorch writes those of inputs, and as it writes those of collectives. */
static const struct number_type {
  const char *input, *name;
  int64_t bytes;
} number_types[] = {{"float", "Float", 4},
                    {"double", "Double", 8},
                    {"int", "Int", 4},
                    {"long int", "Long", 8},
                    {"c10::Half", "Half", 2},
                    {"c10::BFloat16", "BFloat16", 2},
                    {"short int", "Short", 2},
                    {"unsigned char", "Byte", 1},
                    {"signed char", "Char", 1},
                    {"bool", "Bool", 1},
                    {"c10::complex<float>", "ComplexFloat", 8},
                    {"c10::complex<double>", "ComplexDouble", 16}};

/* The first of ["float","float"]; NULL: none, or not known. */
static const struct number_type *find_type(const char *types) {
  if (!types || strncmp(types, "[\"", 2) != 0) return NULL;
  const char *end = strchr(types + 2, '"');
  size_t length = end ? (size_t)(end - types - 2) : 0;
  for (size_t i = 0; i < sizeof number_types / sizeof *number_types; i++) {
    const char *name = number_types[i].input;
    if (strlen(name) == length && memcmp(name, types + 2, length) == 0) return &number_types[i];
  }
  return NULL;
}

/* How many numbers the tensors of [[3,4],[]] hold together: 13; NO_VALUE: more than can be counted, or no shapes. */
static int64_t count_elements(const char *shapes) {
  int64_t sum = 0, product = 1;
  bool is_shape = false; /* no list within the one that is open */
  unsigned depth = 0;
  if (!shapes) return NO_VALUE;
  for (const char *p = shapes; *p; p++) {
    if (*p == '[') {
      depth++;
      product = 1;
      is_shape = true;
    } else if (*p >= '0' && *p <= '9') {
      char *end;
      long long size = strtoll(p, &end, 10);
      if (__builtin_mul_overflow(product, (int64_t)size, &product)) return NO_VALUE;
      p = end - 1;
    } else if (*p == ']') {
      if (is_shape && depth > 1 && __builtin_add_overflow(sum, product, &sum)) return NO_VALUE;
      is_shape = false;
      if (depth) depth--;
    } else if (*p != ',' && *p != ' ') {
      return NO_VALUE;
    }
  }
  return depth ? NO_VALUE : sum;
}

static enum tfprof_status set_marked(struct profile *profile, const struct user_rows *rows,
                                     struct tfprof_error *error) {
  const struct pool *pool = store_pool(profile->store);
  int64_t *names = NULL, *shapes = NULL, *types = NULL;
  string_id *texts = scratch_allocate((size_t)rows->count * sizeof *texts);
  string_id *dtypes = scratch_allocate_zeroed(rows->count, sizeof *dtypes);
  int64_t *bytes = scratch_allocate((size_t)rows->count * sizeof *bytes);
  enum tfprof_status status = texts && dtypes && bytes ? TFPROF_OK : error_no_memory(error);
  if (!status) status = user_rows_values(rows, profile, COLUMN_ops_name, &names, error);
  if (!status) status = user_rows_values(rows, profile, COLUMN_ops_input_shapes, &shapes, error);
  if (!status) status = user_rows_values(rows, profile, COLUMN_ops_input_types, &types, error);
  for (uint32_t i = 0; i < rows->count && !status; i++) {
    const struct number_type *type = find_type(types[i] == NO_VALUE ? NULL : pool_text(pool, (string_id)types[i]));
    int64_t elements =
        type ? count_elements(shapes[i] == NO_VALUE ? NULL : pool_text(pool, (string_id)shapes[i])) : NO_VALUE;
    shapes[i] = elements;
    if (!type || elements == NO_VALUE || __builtin_mul_overflow(elements, type->bytes, &bytes[i])) bytes[i] = NO_VALUE;
    status = derive_text(profile, operation_of(pool_text(pool, (string_id)names[i])), &texts[i], error);
    if (!status && type) status = derive_text(profile, type->name, &dtypes[i], error);
  }
  if (!status) status = derive_set_texts(profile, TABLE_collectives, COLUMN_collectives_name, texts, error);
  if (!status) status = derive_set_texts(profile, TABLE_collectives, COLUMN_collectives_dtype, dtypes, error);
  if (!status) status = derive_set_integers(profile, TABLE_collectives, COLUMN_collectives_in_elements, shapes, error);
  if (!status) status = derive_set_integers(profile, TABLE_collectives, COLUMN_collectives_bytes, bytes, error);
  if (!status) status = derive_set_references(profile, TABLE_collectives, COLUMN_collectives_op_id, rows->ops, error);
  scratch_free(names);
  scratch_free(shapes);
  scratch_free(types);
  scratch_free(texts);
  scratch_free(dtypes);
  scratch_free(bytes);
  return status;
}

static enum tfprof_status run_marks(struct profile *profile, struct tfprof_error *error) {
  static const struct user_column copied[] = {{COLUMN_ops_start_ns, COLUMN_collectives_start_ns},
                                              {COLUMN_ops_end_ns, COLUMN_collectives_end_ns},
                                              {COLUMN_ops_dur_ns, COLUMN_collectives_dur_ns}};
  struct user_rows rows;
  if (!profile->tables[TABLE_collectives].is_made) return TFPROF_OK;
  enum tfprof_status status = user_rows_make_table(&rows, profile, TABLE_collectives, is_collective, copied,
                                                   sizeof copied / sizeof copied[0], error);
  if (!status && rows.count) status = set_marked(profile, &rows, error);
  user_rows_free(&rows);
  return status;
}

const struct derive_pass derive_marked_collectives = {
    .name = "collectives of marks",
    .summary = "One collective for each range by which a backend that works on the host marks one.",
    .makes_table = TABLE_collectives,
    .reads = {USER_ROWS_READ, {TABLE_ops, COLUMN_ops_input_shapes}, {TABLE_ops, COLUMN_ops_input_types}},
    .writes = {{TABLE_collectives, COLUMN_collectives_name},
               {TABLE_collectives, COLUMN_collectives_dtype},
               {TABLE_collectives, COLUMN_collectives_in_elements},
               {TABLE_collectives, COLUMN_collectives_bytes},
               {TABLE_collectives, COLUMN_collectives_op_id},
               {TABLE_collectives, COLUMN_collectives_start_ns},
               {TABLE_collectives, COLUMN_collectives_end_ns},
               {TABLE_collectives, COLUMN_collectives_dur_ns}},
    .run = run_marks,
    .is_alone = true,
};

/* ---- step and rate of each ---- */

static bool begins_with(const char *name, const char *operation) {
  for (; *operation; name++) {
    if (*name == '_') continue;
    if (strncasecmp(name, operation, 1) != 0) return false;
    operation++;
  }
  return true;
}

/* Of the data, how much passes each link; 0: not known. */
static double bus_share(const char *name, int64_t group_size) {
  bool is_all_reduce = begins_with(name, "allreduce");
  bool is_part = begins_with(name, "allgather") || begins_with(name, "reducescatter") || begins_with(name, "alltoall");
  if (!is_all_reduce && !is_part) return 1;
  if (group_size < 1) return 0;
  return (is_all_reduce ? 2.0 : 1.0) * (double)(group_size - 1) / (double)group_size;
}

static enum tfprof_status set_rates(struct segment *segment, const struct pool *pool) {
  double *rates = malloc((size_t)segment->rows * sizeof *rates);
  uint64_t *nulls = calloc(((size_t)segment->rows + 63) / 64, sizeof *nulls);
  enum tfprof_status status = rates && nulls ? TFPROF_OK : TFPROF_NO_MEMORY;
  for (uint32_t row = 0; row < segment->rows && !status; row++) {
    string_id name;
    int64_t bytes, dur_ns, group_size;
    derive_texts(segment->columns[COLUMN_collectives_name], row, 1, &name);
    derive_integers(segment->columns[COLUMN_collectives_bytes], row, 1, &bytes);
    derive_integers(segment->columns[COLUMN_collectives_dur_ns], row, 1, &dur_ns);
    derive_integers(segment->columns[COLUMN_collectives_group_size], row, 1, &group_size);
    double share = name ? bus_share(pool_text(pool, name), group_size) : 0;
    bool is_known = share > 0 && bytes != NO_VALUE && bytes > 0 && dur_ns != NO_VALUE && dur_ns > 0;
    rates[row] = is_known ? share * (1e9 * (double)bytes / (double)dur_ns) : 0;
    if (!is_known) nulls[row >> 6] |= (uint64_t)1 << (row & 63);
  }
  if (!status) {
    struct column *column = column_from_reals(rates, nulls, segment->rows);
    status = segment_set_column(segment, COLUMN_collectives_bus_bytes_per_second, column);
  }
  free(rates);
  free(nulls);
  return status;
}

static enum tfprof_status run(struct profile *profile, struct tfprof_error *error) {
  const struct profile_table *content = &profile->tables[TABLE_collectives];
  uint32_t count, kernel_count, op_count, step_count, *steps = NULL, *kernels = NULL, *ops = NULL;
  uint32_t *of_kernels = NULL, *of_ops = NULL;
  enum tfprof_status status = derive_row_count(profile, TABLE_collectives, &count, error);
  if (status || !count) return status;
  status = derive_row_count(profile, TABLE_kernels, &kernel_count, error);
  if (!status) status = derive_row_count(profile, TABLE_ops, &op_count, error);
  if (!status) status = derive_row_count(profile, TABLE_steps, &step_count, error);
  if (!status)
    status = derive_all_references(profile, TABLE_collectives, COLUMN_collectives_kernel_id, &kernels, error);
  if (!status) status = derive_all_references(profile, TABLE_collectives, COLUMN_collectives_op_id, &ops, error);
  if (!status && kernel_count) {
    status = derive_all_references(profile, TABLE_kernels, COLUMN_kernels_step_id, &of_kernels, error);
  }
  if (!status && op_count) status = derive_all_references(profile, TABLE_ops, COLUMN_ops_step_id, &of_ops, error);
  steps = status ? NULL : scratch_allocate((size_t)count * sizeof *steps);
  if (!status && !steps) status = error_no_memory(error);
  for (uint32_t i = 0; i < count && !status; i++) {
    steps[i] = kernels[i] < kernel_count ? of_kernels[kernels[i]] : ops[i] < op_count ? of_ops[ops[i]] : NO_ROW;
    if (steps[i] >= step_count) steps[i] = NO_ROW;
  }
  if (!status) status = derive_set_references(profile, TABLE_collectives, COLUMN_collectives_step_id, steps, error);
  for (size_t i = 0; i < content->segment_count && !status; i++) {
    status = set_rates(content->segments[i], store_pool(profile->store));
    if (status) error_no_memory(error);
  }
  scratch_free(steps);
  scratch_free(kernels);
  scratch_free(ops);
  scratch_free(of_kernels);
  scratch_free(of_ops);
  return status;
}

const struct derive_pass derive_collectives = {
    .name = "steps and rates of collectives",
    .summary = "The step of each collective's kernel or op, and its rate per link as NCCL's tests define it.",
    .makes_table = -1,
    .reads = {{TABLE_collectives, COLUMN_collectives_name},
              {TABLE_collectives, COLUMN_collectives_bytes},
              {TABLE_collectives, COLUMN_collectives_dur_ns},
              {TABLE_collectives, COLUMN_collectives_group_size},
              {TABLE_collectives, COLUMN_collectives_op_id},
              {TABLE_collectives, COLUMN_collectives_kernel_id},
              {TABLE_kernels, COLUMN_kernels_step_id},
              {TABLE_ops, COLUMN_ops_step_id},
              {TABLE_steps, COLUMN_steps_number}},
    .writes = {{TABLE_collectives, COLUMN_collectives_step_id},
               {TABLE_collectives, COLUMN_collectives_bus_bytes_per_second}},
    .run = run,
};
