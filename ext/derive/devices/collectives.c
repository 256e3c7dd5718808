/* collectives.c: collectives that only kernels, ops and the program's marks tell, and the step and rate of all of them.
**
** NCCL's come with their arguments from the source.  Older releases of PyTorch write none: there are its kernels, and a
** range around the call that launched one, `nccl:all_reduce`, whose inputs are the tensors that are exchanged (c10d,
** ProcessGroup::Work), and each such kernel becomes a row, as do those of other libraries (communication_names.h) and
** what XLA calls its collectives on a device.  Without such kernels the ops that XLA compiled of collectives for CPUs
** become rows, or else the ranges: of backends that work on the host (Gloo, MPI, UCC) these are the exchange.
**
** The step is that of the kernel, or without one of the op.  The rate per link is as NCCL's tests define it
** (nccl-tests, PERFORMANCE.md): all_reduce moves 2 (n - 1) / n of the data over each link, all_gather, reduce_scatter
** and all_to_all (n - 1) / n, the others all of it.
*/
#include "derive/links/ancestors.h"
#include "derive/names/communication_names.h"
#include "derive/passes.h"
#include "derive/ranges/user_rows.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- from marks ---- */

static const char *operation_of(const char *name) {
  static const char *const backends[] = {"gloo:", "mpi:", "ucc:", "nccl:", "xccl:", "hccl:"};
  for (size_t i = 0; i < sizeof backends / sizeof *backends; i++) {
    size_t length = strlen(backends[i]);
    if (strncmp(name, backends[i], length) == 0 && name[length]) return name + length;
  }
  return NULL;
}

static bool is_collective(const char *name) { return operation_of(name) != NULL; }

/* How many ranks take part where the job has one group only, as the source says; NO_VALUE: not known. A quotation mark
** within a text of the JSON has a backslash, so that this is found as a member only. */
static int64_t only_group_size(const struct profile *profile) {
  const char *text = profile->attributes ? pool_text(store_pool(profile->store), profile->attributes) : NULL;
  const char *count = text ? strstr(text, "\"pg_count\":1") : NULL;
  bool is_one = count && strchr(",}", count[strlen("\"pg_count\":1")]);
  return is_one && profile->world_size > 0 ? profile->world_size : NO_VALUE;
}

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

/* What the inputs of a mark say of the data; NO_VALUE, or NULL, where they do not. */
struct exchanged {
  const struct number_type *type;
  int64_t elements, bytes;
};
static struct exchanged exchanged_by(const char *shapes, const char *types) {
  struct exchanged found = {find_type(types), NO_VALUE, NO_VALUE};
  if (found.type) found.elements = count_elements(shapes);
  if (found.elements != NO_VALUE && __builtin_mul_overflow(found.elements, found.type->bytes, &found.bytes))
    found.bytes = NO_VALUE;
  return found;
}

static enum tfprof_status set_marked(struct profile *profile, const struct user_rows *rows,
                                     struct tfprof_error *error) {
  const struct pool *pool = store_pool(profile->store);
  int64_t *names = NULL, *shapes = NULL, *types = NULL;
  string_id *texts = scratch_allocate((size_t)rows->count * sizeof *texts);
  string_id *dtypes = scratch_allocate_zeroed(rows->count, sizeof *dtypes);
  int64_t *bytes = scratch_allocate((size_t)rows->count * sizeof *bytes), size = only_group_size(profile);
  int64_t *sizes = scratch_allocate((size_t)rows->count * sizeof *sizes);
  enum tfprof_status status = texts && dtypes && bytes && sizes ? TFPROF_OK : error_no_memory(error);
  if (!status) status = user_rows_values(rows, profile, COLUMN_ops_name, &names, error);
  if (!status) status = user_rows_values(rows, profile, COLUMN_ops_input_shapes, &shapes, error);
  if (!status) status = user_rows_values(rows, profile, COLUMN_ops_input_types, &types, error);
  for (uint32_t i = 0; i < rows->count && !status; i++) {
    struct exchanged found = exchanged_by(shapes[i] == NO_VALUE ? NULL : pool_text(pool, (string_id)shapes[i]),
                                          types[i] == NO_VALUE ? NULL : pool_text(pool, (string_id)types[i]));
    shapes[i] = found.elements;
    bytes[i] = found.bytes;
    sizes[i] = size;
    status = derive_text(profile, operation_of(pool_text(pool, (string_id)names[i])), &texts[i], error);
    if (!status && found.type) status = derive_text(profile, found.type->name, &dtypes[i], error);
  }
  if (!status) status = derive_set_texts(profile, TABLE_collectives, COLUMN_collectives_name, texts, error);
  if (!status) status = derive_set_texts(profile, TABLE_collectives, COLUMN_collectives_dtype, dtypes, error);
  if (!status) status = derive_set_integers(profile, TABLE_collectives, COLUMN_collectives_in_elements, shapes, error);
  if (!status) status = derive_set_integers(profile, TABLE_collectives, COLUMN_collectives_bytes, bytes, error);
  if (!status) status = derive_set_integers(profile, TABLE_collectives, COLUMN_collectives_group_size, sizes, error);
  if (!status) status = derive_set_references(profile, TABLE_collectives, COLUMN_collectives_op_id, rows->ops, error);
  scratch_free(names);
  scratch_free(shapes);
  scratch_free(types);
  scratch_free(texts);
  scratch_free(dtypes);
  scratch_free(bytes);
  scratch_free(sizes);
  return status;
}

/* ---- from kernels that communicate ---- */

struct exchange_kernel {
  uint32_t row, mark;
};
struct exchange_kernels {
  struct exchange_kernel *items; /* by row */
  uint32_t count, capacity;
};

/* The rows of kernels that communicate by their names, and of a TPU what XLA calls its collectives. */
static bool is_exchange(const char *name) { return communication_kernel(name) || communication_instruction(name); }

static enum tfprof_status find_exchange_kernels(struct profile *profile, struct exchange_kernels *found,
                                                struct tfprof_error *error) {
  enum { NOT_ASKED, NO, YES };
  const struct profile_table *kernels = &profile->tables[TABLE_kernels];
  const struct pool *pool = store_pool(profile->store);
  enum tfprof_status status = TFPROF_OK;
  if (!kernels->rows) return TFPROF_OK;
  uint8_t *answers = scratch_allocate_zeroed((size_t)pool_count(pool) + 1, 1); /* by name */
  if (!answers) return error_no_memory(error);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_kernels, &block, &status, error);) {
    string_id names[ROWS_BLOCK];
    block_texts(&block, COLUMN_kernels_name, names);
    for (uint32_t i = 0; i < block.count && !status; i++) {
      if (names[i] && answers[names[i]] == NOT_ASKED)
        answers[names[i]] = is_exchange(pool_text(pool, names[i])) ? YES : NO;
      if (!names[i] || answers[names[i]] == NO) continue;
      struct exchange_kernel *items =
          scratch_grow(found->items, found->count, &found->capacity, 256, sizeof *found->items);
      if (!items) status = error_no_memory(error);
      else found->items = items;
      if (!status)
        found->items[found->count++] = (struct exchange_kernel){(uint32_t)block.row + i, NO_ROW};
    }
  }
  scratch_free(answers);
  return status;
}

/* The values of a column at rows that are given one after another, mostly ascending. */
struct reader_at {
  const struct profile_table *table;
  unsigned column;
  size_t segment;
};
static int64_t value_at(struct reader_at *reader, uint32_t row) {
  struct segment *const *segments = reader->table->segments;
  int64_t value = NO_VALUE;
  size_t *s = &reader->segment, count = reader->table->segment_count;
  while (*s > 0 && row < segments[*s]->first_row) --*s;
  while (*s + 1 < count && row >= segments[*s]->first_row + segments[*s]->rows) ++*s;
  if (*s < count && row >= segments[*s]->first_row && row - segments[*s]->first_row < segments[*s]->rows)
    derive_integers(segments[*s]->columns[reader->column], row - (uint32_t)segments[*s]->first_row, 1, &value);
  return value;
}

/* The nearest mark of NCCL around the op that launched each; how many each mark launched is counted in `launched`. */
static void find_exchange_marks(const struct profile *profile, struct exchange_kernels *kernels,
                                const uint32_t *parents, uint32_t *launched) {
  enum { FURTHEST = 100 };
  const struct pool *pool = store_pool(profile->store);
  struct reader_at ops = {&profile->tables[TABLE_kernels], COLUMN_kernels_op_id, 0};
  struct reader_at names = {&profile->tables[TABLE_ops], COLUMN_ops_name, 0};
  for (uint32_t i = 0; i < kernels->count; i++) {
    int64_t op = value_at(&ops, kernels->items[i].row);
    uint32_t at = op < 0 || op >= (int64_t)profile->tables[TABLE_ops].rows ? NO_ROW : (uint32_t)op, far = 0;
    for (; at != NO_ROW && far < FURTHEST; at = parents[at], far++) {
      int64_t name = value_at(&names, at);
      if (name > 0 && strncmp(pool_text(pool, (string_id)name), "nccl:", 5) == 0) break;
    }
    kernels->items[i].mark = far < FURTHEST ? at : NO_ROW;
    if (kernels->items[i].mark != NO_ROW) launched[at]++;
  }
}

/* What a kernel exchanges, by its name.  NCCL runs what has no kernel of its own in one that is called Generic, RCCL
** all in one: there the instruction of XLA that it carries out tells, or the nearest op of c10d around the launch. */
static void put_operation(const struct profile *profile, uint32_t row, const uint32_t *parents, char *name,
                          size_t size) {
  enum { FURTHEST = 100 };
  static const char *const asking[] = {"c10d::", "_c10d_functional::", "c10d_functional::"};
  const struct pool *pool = store_pool(profile->store);
  struct reader_at names = {&profile->tables[TABLE_kernels], COLUMN_kernels_name, 0};
  communication_operation(pool_text(pool, (string_id)value_at(&names, row)), name, size);
  if (strcmp(name, "generic") != 0 && strcmp(name, "rccl_main_kernel") != 0) return;
  struct reader_at instructions = {names.table, COLUMN_kernels_hlo_op, 0}, ops = {names.table, COLUMN_kernels_op_id, 0};
  int64_t instruction = value_at(&instructions, row), op = value_at(&ops, row);
  const char *found = instruction > 0 ? pool_text(pool, (string_id)instruction) : NULL;
  if (found && !communication_instruction(found)) found = NULL;
  names = (struct reader_at){&profile->tables[TABLE_ops], COLUMN_ops_name, 0};
  uint32_t at = op < 0 || op >= (int64_t)names.table->rows ? NO_ROW : (uint32_t)op, far = 0;
  for (; at != NO_ROW && far < FURTHEST && !found; at = parents[at], far++) {
    int64_t text = value_at(&names, at);
    const char *caller = text > 0 ? pool_text(pool, (string_id)text) : "";
    for (size_t i = 0; i < sizeof asking / sizeof *asking; i++)
      if (strncmp(caller, asking[i], strlen(asking[i])) == 0) found = caller;
  }
  if (found) communication_operation(found, name, size);
}

static enum tfprof_status fill_from_kernels(struct profile *profile, struct exchange_kernels *kernels,
                                            const uint32_t *parents, const uint32_t *launched,
                                            struct tfprof_error *error) {
  const struct pool *pool = store_pool(profile->store);
  const struct profile_table *kernel_rows = &profile->tables[TABLE_kernels], *op_rows = &profile->tables[TABLE_ops];
  struct reader_at names = {op_rows, COLUMN_ops_name, 0};
  struct reader_at shapes = {op_rows, COLUMN_ops_input_shapes, 0}, types = {op_rows, COLUMN_ops_input_types, 0};
  struct reader_at launching = {kernel_rows, COLUMN_kernels_op_id, 0};
  size_t count = kernels->count;
  int64_t *values = scratch_allocate(count * sizeof *values), *elements = scratch_allocate(count * sizeof *elements);
  int64_t *bytes = scratch_allocate(count * sizeof *bytes), size = only_group_size(profile);
  uint32_t *rows = scratch_allocate(count * sizeof *rows), *ops = scratch_allocate(count * sizeof *ops);
  string_id *texts = scratch_allocate(count * sizeof *texts), *dtypes = scratch_allocate_zeroed(count, sizeof *dtypes);
  enum tfprof_status status =
      values && elements && bytes && rows && ops && texts && dtypes ? TFPROF_OK : error_no_memory(error);
  for (uint32_t i = 0; i < count && !status; i++) {
    uint32_t row = kernels->items[i].row, mark = kernels->items[i].mark;
    int64_t op = value_at(&launching, row);
    rows[i] = row;
    ops[i] = mark != NO_ROW ? mark : op < 0 || op >= (int64_t)op_rows->rows ? NO_ROW : (uint32_t)op;
    elements[i] = bytes[i] = NO_VALUE;
    if (mark == NO_ROW) {
      char name[200];
      put_operation(profile, row, parents, name, sizeof name);
      status = derive_text(profile, name, &texts[i], error);
      continue;
    }
    status =
        derive_text(profile, pool_text(pool, (string_id)value_at(&names, mark)) + strlen("nccl:"), &texts[i], error);
    int64_t shape = value_at(&shapes, mark), type = value_at(&types, mark);
    struct exchanged found = exchanged_by(shape > 0 ? pool_text(pool, (string_id)shape) : NULL,
                                          type > 0 ? pool_text(pool, (string_id)type) : NULL);
    if (!status && found.type) status = derive_text(profile, found.type->name, &dtypes[i], error);
    if (launched[mark] != 1) continue; /* which kernel had which part of the data is not known */
    elements[i] = found.elements;
    bytes[i] = found.bytes;
  }
  if (!status) status = derive_set_texts(profile, TABLE_collectives, COLUMN_collectives_name, texts, error);
  if (!status) status = derive_set_texts(profile, TABLE_collectives, COLUMN_collectives_dtype, dtypes, error);
  if (!status)
    status = derive_set_integers(profile, TABLE_collectives, COLUMN_collectives_in_elements, elements, error);
  if (!status) status = derive_set_integers(profile, TABLE_collectives, COLUMN_collectives_bytes, bytes, error);
  if (!status) status = derive_set_references(profile, TABLE_collectives, COLUMN_collectives_op_id, ops, error);
  if (!status) status = derive_set_references(profile, TABLE_collectives, COLUMN_collectives_kernel_id, rows, error);
  for (size_t i = 0; i < count && !status; i++) values[i] = size;
  if (!status) status = derive_set_integers(profile, TABLE_collectives, COLUMN_collectives_group_size, values, error);
  scratch_free(values);
  scratch_free(elements);
  scratch_free(bytes);
  scratch_free(rows);
  scratch_free(ops);
  scratch_free(texts);
  scratch_free(dtypes);
  return status;
}

/* *count: how many rows it has made. */
static enum tfprof_status make_from_kernels(struct profile *profile, uint32_t *count, struct tfprof_error *error) {
  struct exchange_kernels kernels = {NULL, 0, 0};
  uint32_t op_count = 0, *parents = NULL, *launched = NULL;
  enum tfprof_status status = find_exchange_kernels(profile, &kernels, error);
  *count = kernels.count;
  if (!status && kernels.count) {
    status = derive_row_count(profile, TABLE_ops, &op_count, error);
    if (!status) status = derive_all_op_parents(profile, &parents, error);
    launched = scratch_allocate_zeroed((size_t)op_count + 1, sizeof *launched);
    if (!status && !launched) status = error_no_memory(error);
    if (!status) find_exchange_marks(profile, &kernels, parents, launched);
    if (!status) status = derive_make_table(profile, TABLE_collectives, kernels.count, error);
    if (!status) status = fill_from_kernels(profile, &kernels, parents, launched, error);
  }
  scratch_free(kernels.items);
  scratch_free(parents);
  scratch_free(launched);
  return status;
}

/* ---- from ops that XLA compiled for CPUs ---- */

static enum tfprof_status fill_from_ops(struct profile *profile, const uint32_t *ops, uint32_t count,
                                        struct tfprof_error *error) {
  static const uint16_t columns[][2] = {{COLUMN_ops_exchanged_bytes, COLUMN_collectives_bytes},
                                        {COLUMN_ops_exchange_group, COLUMN_collectives_group_size}};
  const struct pool *pool = store_pool(profile->store);
  struct reader_at opcodes = {&profile->tables[TABLE_ops], COLUMN_ops_collective, 0};
  int64_t *values = scratch_allocate((size_t)count * sizeof *values);
  string_id *texts = scratch_allocate((size_t)count * sizeof *texts);
  enum tfprof_status status = values && texts ? TFPROF_OK : error_no_memory(error);
  for (uint32_t i = 0; i < count && !status; i++) {
    char name[64];
    communication_operation(pool_text(pool, (string_id)value_at(&opcodes, ops[i])), name, sizeof name);
    status = derive_text(profile, name, &texts[i], error);
  }
  if (!status) status = derive_make_table(profile, TABLE_collectives, count, error);
  if (!status) status = derive_set_texts(profile, TABLE_collectives, COLUMN_collectives_name, texts, error);
  if (!status) status = derive_set_references(profile, TABLE_collectives, COLUMN_collectives_op_id, ops, error);
  for (size_t c = 0; c < sizeof columns / sizeof *columns && !status; c++) {
    struct reader_at reader = {&profile->tables[TABLE_ops], columns[c][0], 0};
    for (uint32_t i = 0; i < count; i++) values[i] = value_at(&reader, ops[i]);
    status = derive_set_integers(profile, TABLE_collectives, columns[c][1], values, error);
  }
  scratch_free(values);
  scratch_free(texts);
  return status;
}

/* *count: how many rows it has made. */
static enum tfprof_status make_from_ops(struct profile *profile, uint32_t *count, struct tfprof_error *error) {
  const struct profile_table *content = &profile->tables[TABLE_ops];
  uint32_t *ops = NULL, capacity = 0, made = 0;
  enum tfprof_status status = TFPROF_OK;
  for (size_t s = 0; s < content->segment_count && !status; s++) {
    const struct segment *segment = content->segments[s];
    const struct column *opcodes = segment->columns[COLUMN_ops_collective];
    for (uint32_t row = derive_find_value(opcodes, 0); row < segment->rows && !status;
         row = derive_find_value(opcodes, row + 1)) {
      uint32_t *grown = scratch_grow(ops, made, &capacity, 256, sizeof *ops);
      if (grown) ops = grown;
      else status = error_no_memory(error);
      if (!status) ops[made++] = (uint32_t)segment->first_row + row;
    }
  }
  if (!status && made) status = fill_from_ops(profile, ops, made, error);
  scratch_free(ops);
  *count = made;
  return status;
}

static enum tfprof_status run_marks(struct profile *profile, struct tfprof_error *error) {
  struct user_rows rows;
  uint32_t count;
  if (!profile->tables[TABLE_collectives].is_made) return TFPROF_OK;
  enum tfprof_status status = make_from_kernels(profile, &count, error);
  if (!status && !count) status = make_from_ops(profile, &count, error);
  if (status || count) return status;
  status = user_rows_make_table(&rows, profile, TABLE_collectives, is_collective, NULL, 0, error);
  if (!status && rows.count) status = set_marked(profile, &rows, error);
  user_rows_free(&rows);
  return status;
}

/* No mark, no kernel that exchanges and no op that does: where the source tells the kinds of its kernels, those are
** among `communication`. */
static bool is_idle(const struct profile *profile) {
  const struct profile_table *kernels = &profile->tables[TABLE_kernels], *ops = &profile->tables[TABLE_ops];
  string_id communication = derive_known_text(profile, "communication");
  if (!user_rows_is_idle(profile)) return false;
  for (size_t s = 0; s < ops->segment_count; s++) {
    const struct column *opcodes = ops->segments[s]->columns[COLUMN_ops_collective];
    if (opcodes ? derive_find_value(opcodes, 0) < opcodes->rows
                : column_set_has(&ops->segments[s]->is_raw, COLUMN_ops_collective))
      return false;
  }
  for (size_t s = 0; s < kernels->segment_count; s++) {
    const struct column *kinds = kernels->segments[s]->columns[COLUMN_kernels_kind];
    if (!kinds || derive_find_text(kinds, 0, communication) < kinds->rows) return false;
  }
  return true;
}

const struct derive_pass derive_marked_collectives = {
    .name = "collectives of marks",
    .summary = "One collective for each kernel that exchanges data, each op that XLA compiled to do so, or for each "
               "range by which a backend marks one.",
    .makes_table = TABLE_collectives,
    .is_idle = is_idle,
    .reads = {USER_ROWS_READ,
              {TABLE_ops, COLUMN_ops_collective},
              {TABLE_ops, COLUMN_ops_exchanged_bytes},
              {TABLE_ops, COLUMN_ops_exchange_group},
              {TABLE_ops, COLUMN_ops_input_shapes},
              {TABLE_ops, COLUMN_ops_input_types},
              {TABLE_kernels, COLUMN_kernels_name},
              {TABLE_kernels, COLUMN_kernels_hlo_op},
              {TABLE_kernels, COLUMN_kernels_op_id}},
    .writes = {{TABLE_collectives, COLUMN_collectives_name},
               {TABLE_collectives, COLUMN_collectives_dtype},
               {TABLE_collectives, COLUMN_collectives_in_elements},
               {TABLE_collectives, COLUMN_collectives_bytes},
               {TABLE_collectives, COLUMN_collectives_group_size},
               {TABLE_collectives, COLUMN_collectives_op_id},
               {TABLE_collectives, COLUMN_collectives_kernel_id}},
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
    string_id name, carrier;
    int64_t bytes, dur_ns, group_size;
    derive_texts(segment->columns[COLUMN_collectives_name], row, 1, &name);
    derive_integers(segment->columns[COLUMN_collectives_bytes], row, 1, &bytes);
    derive_integers(segment->columns[COLUMN_collectives_dur_ns], row, 1, &dur_ns);
    derive_integers(segment->columns[COLUMN_collectives_group_size], row, 1, &group_size);
    derive_texts(segment->columns[COLUMN_collectives_carried_by], row, 1, &carrier);
    double share = name ? bus_share(pool_text(pool, name), group_size) : 0;
    bool is_known = carrier && share > 0 && bytes != NO_VALUE && bytes > 0 && dur_ns != NO_VALUE && dur_ns > 0;
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

/* What a collective was carried out by, or asked for by: the first that its row names says the step. */
static const struct {
  uint16_t column, table, step;
} step_sources[] = {{COLUMN_collectives_kernel_id, TABLE_kernels, COLUMN_kernels_step_id},
                    {COLUMN_collectives_transfer, TABLE_transfers, COLUMN_transfers_step_id},
                    {COLUMN_collectives_op_id, TABLE_ops, COLUMN_ops_step_id}};

static enum tfprof_status run_collectives(struct profile *profile, struct tfprof_error *error) {
  const struct profile_table *content = &profile->tables[TABLE_collectives];
  uint32_t count, step_count, *steps = NULL;
  enum tfprof_status status = derive_row_count(profile, TABLE_collectives, &count, error);
  if (status || !count) return status;
  status = derive_row_count(profile, TABLE_steps, &step_count, error);
  steps = status ? NULL : scratch_allocate((size_t)count * sizeof *steps);
  if (!status && !steps) status = error_no_memory(error);
  for (uint32_t i = 0; i < count && !status; i++) steps[i] = NO_ROW;
  for (size_t k = sizeof step_sources / sizeof *step_sources; k-- > 0 && !status;) {
    uint32_t rows, *of_rows = NULL;
    int64_t *named = NULL;
    status = derive_row_count(profile, step_sources[k].table, &rows, error);
    if (status || !rows) continue;
    status = derive_all_integers(profile, TABLE_collectives, step_sources[k].column, &named, error);
    if (!status) status = derive_all_references(profile, step_sources[k].table, step_sources[k].step, &of_rows, error);
    for (uint32_t i = 0; i < count && !status; i++)
      if (named[i] >= 0 && named[i] < rows) steps[i] = of_rows[named[i]] < step_count ? of_rows[named[i]] : NO_ROW;
    scratch_free(named);
    scratch_free(of_rows);
  }
  if (!status) status = derive_set_references(profile, TABLE_collectives, COLUMN_collectives_step_id, steps, error);
  for (size_t i = 0; i < content->segment_count && !status; i++) {
    status = set_rates(content->segments[i], store_pool(profile->store));
    if (status) error_no_memory(error);
  }
  scratch_free(steps);
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
              {TABLE_collectives, COLUMN_collectives_carried_by},
              {TABLE_collectives, COLUMN_collectives_op_id},
              {TABLE_collectives, COLUMN_collectives_kernel_id},
              {TABLE_collectives, COLUMN_collectives_transfer},
              {TABLE_kernels, COLUMN_kernels_step_id},
              {TABLE_transfers, COLUMN_transfers_step_id},
              {TABLE_ops, COLUMN_ops_step_id},
              {TABLE_steps, COLUMN_steps_number}},
    .writes = {{TABLE_collectives, COLUMN_collectives_step_id},
               {TABLE_collectives, COLUMN_collectives_bus_bytes_per_second}},
    .run = run_collectives,
};
