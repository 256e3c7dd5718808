/* collectives.c: one row for each collective operation of the rank.
**
** libkineto writes the same arguments at the record_param_comms op that asks for a collective
** (torch/csrc/distributed/c10d/ ParamCommsUtils) and at the kernel that carries it out.  The kernel's External id is
** the op's: a pair becomes one row; an op without such a kernel, as on CPUs, is a row of its own.  Kernels that
** exchange data by their names, but carry no arguments (those of other libraries, of graphs, of older releases), are
** rows, too, and so is what HCCL's engines exchange.  When each took place derive/devices/collective_times.c tells.
*/
#include <stdlib.h>
#include <string.h>

#include "derive/names/communication_names.h"
#include "read/json/trace.h"

static int64_t element_bytes(const char *dtype) {
  static const struct { const char *name; int64_t bytes;
  } known[] = {{"Byte", 1},   {"Char", 1},        {"Bool", 1},         {"Short", 2},
               {"UInt16", 2}, {"Half", 2},        {"BFloat16", 2},     {"Int", 4},
               {"UInt32", 4}, {"Float", 4},       {"Long", 8},         {"UInt64", 8},
               {"Double", 8}, {"ComplexHalf", 4}, {"ComplexFloat", 8}, {"ComplexDouble", 16},
               {"INT8", 1},   {"UINT8", 1},       {"INT16", 2},         {"FP16", 2},
               {"BFP16", 2},  {"INT32", 4},       {"FP32", 4},          {"INT64", 8},
               {"UINT64", 8}, {"FP64", 8}}; /* from INT8 on HCCL's */
  if (!dtype) return 0;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (strcmp(known[i].name, dtype) == 0) return known[i].bytes;
  }
  return strncmp(dtype, "Float8", 6) == 0 ? 1 : 0;
}

static int64_t known_bytes(const struct trace *trace, const struct collective *c) {
  int64_t size = element_bytes(pool_text(trace->pool, c->dtype)), bytes;
  int64_t elements = c->in_elements > c->out_elements ? c->in_elements : c->out_elements; /* ROW_NULL is the least */
  if (!size || elements < 0 || __builtin_mul_overflow(size, elements, &bytes)) return ROW_NULL;
  return bytes;
}

/* The group's ranks as they stand in distributedInfo.pg_config; 0: not there. */
static string_id configured_ranks(struct trace *trace, string_id group) {
  const struct member *members = trace->members.items;
  const char *name = pool_text(trace->pool, group);
  size_t length = name ? strlen(name) : 0;
  for (size_t i = 0; i < trace->members.count && name; i++) {
    if (strcmp(members[i].key, "distributedInfo") != 0) continue;
    struct field value, key, item;
    scan_value(members[i].value, members[i].value + members[i].value_length + 1, &value);
    if (value.kind != FIELD_NESTED) continue;
    for (struct member_cursor c = scan_members(&value); scan_next(&c, &key, &item);) {
      struct field config;
      if (!scan_key_is(&key, "pg_config") || item.kind != FIELD_NESTED) continue;
      for (struct member_cursor list = scan_members(&item); scan_next(&list, NULL, &config);) {
        struct field ranks = {0}, part;
        bool is_it = false;
        if (config.kind != FIELD_NESTED) continue;
        for (struct member_cursor m = scan_members(&config); scan_next(&m, &key, &part);) {
          if (scan_key_is(&key, "pg_name")) is_it = part.length == length && memcmp(part.text, name, length) == 0;
          if (scan_key_is(&key, "ranks")) ranks = part;
        }
        if (!is_it || ranks.kind != FIELD_NESTED) continue;
        string_id id = 0;
        char *copy = malloc(text_compact_room(ranks.text, ranks.length));
        if (copy) pool_intern_mended(trace->pool, copy, text_compact(ranks.text, ranks.length, copy), &id, NULL);
        free(copy);
        return id;
      }
    }
  }
  return 0;
}

/* "[0, 1]" as JSON; long lists are cut by the writer with dots. */
static int64_t ranks_json(struct trace *trace, const struct collective *c) {
  const char *text = pool_text(trace->pool, c->ranks);
  size_t length = text ? strlen(text) : 0;
  string_id id = 0;
  if (length < 2 || text[0] != '[' || text[length - 1] != ']' || strspn(text, "[], 0123456789") != length ||
      length == 2) {
    id = configured_ranks(trace, c->group);
  } else {
    char *copy = malloc(text_compact_room(text, length));
    if (copy) pool_intern(trace->pool, copy, text_compact(text, length, copy), &id);
    free(copy);
  }
  return id ? (int64_t)id : ROW_NULL;
}

/* The memory of ranks_json for texts that repeat. */
struct ranks_cache { uint32_t ranks, group; int64_t id; bool is_set; };
static int64_t cached_ranks(struct trace *trace, struct ranks_cache *cache, const struct collective *c) {
  struct ranks_cache *slot = &cache[(c->ranks * 31 + c->group) % 64];
  if (!slot->is_set || slot->ranks != c->ranks || slot->group != c->group) {
    *slot = (struct ranks_cache){c->ranks, c->group, ranks_json(trace, c), true};
  }
  return slot->id;
}

/* ---- kernels without arguments ---- */

/* Adds what of the kernels exchanges data by its name and is not among `all`. False: no memory. */
static bool add_named_kernels(struct trace *trace, const struct profile *profile) {
  enum { NOT_ASKED, NO, YES };
  const struct profile_table *kernels = &profile->tables[TABLE_kernels];
  size_t with_arguments = trace->collectives.count;
  uint8_t *answers = calloc((size_t)pool_count(trace->pool) + 1, 1), *is_known = calloc(kernels->rows / 8 + 1, 1);
  bool ok = answers && is_known;
  for (size_t i = 0; i < with_arguments && ok; i++) {
    const struct collective *c = &trace->collectives.items[i];
    if (c->rows == ROWS_kernels && c->row < kernels->rows) is_known[c->row / 8] |= (uint8_t)(1u << c->row % 8);
  }
  for (size_t s = 0; s < kernels->segment_count && ok; s++) {
    const struct segment *segment = kernels->segments[s];
    const struct column *names = segment->columns[COLUMN_kernels_name];
    const struct column *ops = segment->columns[COLUMN_kernels_op_correlation];
    for (uint32_t i = 0; i < segment->rows && ok; i++) {
      uint64_t row = segment->first_row + i;
      if (!names || column_is_null(names, i) || is_known[row / 8] >> row % 8 & 1) continue;
      string_id name = (string_id)column_integer(names, i);
      if (answers[name] == NOT_ASKED) answers[name] = communication_kernel(pool_text(trace->pool, name)) ? YES : NO;
      if (answers[name] == NO) continue;
      char operation[200];
      string_id id = 0;
      communication_operation(pool_text(trace->pool, name), operation, sizeof operation);
      struct collective *item = list_add(&trace->collectives);
      ok = item && pool_intern(trace->pool, operation, strlen(operation), &id) == TFPROF_OK;
      if (!ok) break;
      *item = (struct collective){.row = row, .rows = ROWS_kernels, .name = id, .group_size = ROW_NULL,
                                  .in_elements = ROW_NULL, .out_elements = ROW_NULL, .sequence = ROW_NULL,
                                  .correlation = ops && !column_is_null(ops, i) ? column_integer(ops, i) : ROW_NULL};
    }
  }
  free(answers);
  free(is_known);
  return ok;
}

/* ---- kernels whose op tells its arguments, but not by the number of both ---- */

/* Values of a column at rows that mostly ascend; ROW_NULL: none. */
struct values_at {
  const struct profile_table *table;
  unsigned column;
  size_t segment;
};
static int64_t value_in_row(struct values_at *from, uint64_t row) {
  size_t *s = &from->segment, count = from->table->segment_count;
  struct segment *const *segments = from->table->segments;
  while (*s > 0 && row < segments[*s]->first_row) --*s;
  while (*s + 1 < count && row >= segments[*s]->first_row + segments[*s]->rows) ++*s;
  if (*s >= count || row < segments[*s]->first_row || row - segments[*s]->first_row >= segments[*s]->rows)
    return ROW_NULL;
  const struct column *column = segments[*s]->columns[from->column];
  uint32_t at = (uint32_t)(row - segments[*s]->first_row);
  return column && !column_is_null(column, at) ? column_integer(column, at) : ROW_NULL;
}

struct asking_op { int64_t lane, start, end; uint32_t item; };
static int asking_op_order(const void *a, const void *b) {
  const struct asking_op *x = a, *y = b;
  if (x->lane != y->lane) return x->lane < y->lane ? -1 : 1;
  return x->start != y->start ? x->start < y->start ? -1 : 1 : x->item < y->item ? -1 : x->item > y->item;
}

/* The op of each kernel without one: that on whose thread, and while which, the call was made that launched it. Each
** op has one kernel. False: no memory. */
static bool find_launching_ops(const struct trace *trace, const struct profile *profile, uint32_t *op_of,
                            bool *is_paired) {
  const struct collective *all = trace->collectives.items;
  size_t count = trace->collectives.count, op_count = 0;
  struct values_at lanes = {&profile->tables[TABLE_ops], COLUMN_ops_thread_id, 0};
  struct values_at starts = {lanes.table, COLUMN_ops_start_ns, 0}, durations = {lanes.table, COLUMN_ops_dur_ns, 0};
  struct values_at numbers = {&profile->tables[TABLE_kernels], COLUMN_kernels_correlation, 0};
  bool has_kernel = false;
  for (size_t i = 0; i < count; i++) {
    has_kernel |= all[i].rows == ROWS_kernels && op_of[i] == UINT32_MAX;
    op_count += all[i].rows == ROWS_ops && !is_paired[i];
  }
  if (!op_count || !has_kernel) return true;
  struct asking_op *ops = malloc(op_count * sizeof *ops);
  struct row_map calls = {0}; /* correlation -> kernel of `all` */
  uint32_t *kernels = malloc(count * sizeof *kernels);
  bool ok = ops && kernels;
  op_count = 0;
  for (size_t i = 0; i < count && ok; i++) {
    if (all[i].rows == ROWS_ops && !is_paired[i]) {
      int64_t start = value_in_row(&starts, all[i].row), dur = value_in_row(&durations, all[i].row);
      int64_t lane = value_in_row(&lanes, all[i].row);
      if (start == ROW_NULL || dur == ROW_NULL || lane == ROW_NULL) continue;
      ops[op_count++] = (struct asking_op){lane, start, start + dur, (uint32_t)i};
    } else if (all[i].rows == ROWS_kernels && op_of[i] == UINT32_MAX) {
      int64_t number = value_in_row(&numbers, all[i].row);
      if (number == ROW_NULL || number == 0) continue;
      uint32_t before = calls.count, at = row_map_number(&calls, (struct row_key){{(uint64_t)number, 0, 0}});
      ok = at != INTERN_NONE;
      if (ok && at == before) kernels[at] = (uint32_t)i;
    }
  }
  if (ok && op_count) qsort(ops, op_count, sizeof *ops, asking_op_order);
  const struct profile_table *api = &profile->tables[TABLE_api_calls];
  for (size_t s = 0; s < api->segment_count && ok && calls.count && op_count; s++) {
    const struct segment *segment = api->segments[s];
    const struct column *correlations = segment->columns[COLUMN_api_calls_correlation];
    const struct column *times = segment->columns[COLUMN_api_calls_start_ns];
    const struct column *threads = segment->columns[COLUMN_api_calls_thread_id];
    for (uint32_t row = 0; row < segment->rows && correlations && times && threads; row++) {
      if (column_is_null(correlations, row) || column_is_null(times, row) || column_is_null(threads, row)) continue;
      uint64_t number = (uint64_t)column_integer(correlations, row);
      uint32_t at = row_map_find(&calls, (struct row_key){{number, 0, 0}});
      if (at == INTERN_NONE) continue;
      int64_t lane = column_integer(threads, row), time = column_integer(times, row);
      size_t low = 0, high = op_count; /* behind the last op that began before */
      while (low < high) {
        size_t middle = low + (high - low) / 2;
        bool is_before = ops[middle].lane != lane ? ops[middle].lane < lane : ops[middle].start <= time;
        if (is_before) low = middle + 1;
        else high = middle;
      }
      const struct asking_op *op = low ? &ops[low - 1] : NULL;
      if (!op || op->lane != lane || time > op->end || is_paired[op->item]) continue;
      op_of[kernels[at]] = op->item;
      is_paired[op->item] = true;
    }
  }
  row_map_free(&calls);
  free(kernels);
  free(ops);
  return ok;
}

/* ---- what is coalesced ---- */

/* c10d writes the arguments of a collective also where a group of them, which go in one kernel, begins and ends. */
static bool is_bracket(const struct trace *trace, const struct collective *c) {
  const char *name = pool_text(trace->pool, c->name);
  return name && (strcmp(name, "startCoalescing") == 0 || strcmp(name, "endCoalescing") == 0);
}

/* What the kernel of a group is called says what it carries out. False: no memory. */
static bool name_group(struct trace *trace, struct collective *c, struct values_at *kernel_names) {
  char operation[200];
  int64_t name = c->rows == ROWS_kernels ? value_in_row(kernel_names, c->row) : ROW_NULL;
  if (name == ROW_NULL) return true;
  communication_operation(pool_text(trace->pool, (string_id)name), operation, sizeof operation);
  return pool_intern(trace->pool, operation, strlen(operation), &c->name) == TFPROF_OK;
}

enum tfprof_status collectives_add(struct trace *trace, struct profile *profile) {
  if (!trace->collectives.count) return TFPROF_OK;
  size_t with_arguments = trace->collectives.count;
  if (!add_named_kernels(trace, profile)) return error_no_memory(trace->error);
  struct collective *all = trace->collectives.items;
  size_t count = trace->collectives.count;
  if (count > UINT32_MAX / 2) return TFPROF_LIMIT;
  struct row_map ops = {0}; /* External id -> op, UINT32_MAX: none */
  uint32_t *op_of = malloc(count * sizeof *op_of), *rows = malloc(count * sizeof *rows);
  bool *is_paired = calloc(count, sizeof *is_paired);
  bool ok = op_of && rows && is_paired;
  for (size_t i = 0; ok && i < count; i++) {
    if (all[i].rows != ROWS_ops || all[i].correlation == ROW_NULL) continue;
    uint32_t before = ops.count, at = row_map_number(&ops, (struct row_key){{(uint64_t)all[i].correlation, 0, 0}});
    if (at == INTERN_NONE) ok = false;
    else if (at == before) ops.values[at] = (uint32_t)i;
  }
  for (size_t i = 0; ok && i < count; i++) {
    op_of[i] = UINT32_MAX;
    if (all[i].rows == ROWS_ops || all[i].correlation == ROW_NULL) continue;
    uint32_t before = ops.count, at = row_map_number(&ops, (struct row_key){{(uint64_t)all[i].correlation, 0, 0}});
    if (at == INTERN_NONE) ok = false;
    else if (at == before) ops.values[at] = UINT32_MAX;
    else op_of[i] = ops.values[at];
    if (op_of[i] != UINT32_MAX) is_paired[op_of[i]] = true;
  }
  ok = ok && find_launching_ops(trace, profile, op_of, is_paired);
  uint32_t made = 0;
  struct values_at kernel_names = {&profile->tables[TABLE_kernels], COLUMN_kernels_name, 0};
  for (size_t i = 0; ok && i < count; i++) {
    bool is_asked = op_of[i] != UINT32_MAX;
    bool is_group = is_bracket(trace, &all[i]) || (is_asked && is_bracket(trace, &all[op_of[i]]));
    if (is_group) ok = name_group(trace, &all[i], &kernel_names);
    if (all[i].rows == ROWS_ops && (is_paired[i] || is_bracket(trace, &all[i]))) continue;
    rows[made++] = (uint32_t)i;
  }
  enum tfprof_status status = ok ? TFPROF_OK : error_no_memory(trace->error);
  struct eager_rows m;
  eager_rows_begin(&m, profile, TABLE_collectives, made, &status, trace->error);
#define EACH(column, expression) \
  for (uint32_t i = 0; !status && i < made; i++) { \
    const struct collective *c = &all[rows[i]], *op = op_of[rows[i]] != UINT32_MAX ? &all[op_of[rows[i]]] : c; \
    (void)op; \
    m.values[i] = (expression); \
  } \
  eager_rows_set(&m, COLUMN_collectives_##column)
#define TEXT(field) (c->field ? (int64_t)c->field : op->field ? (int64_t)op->field : ROW_NULL)
#define NUMBER(field) (c->field != ROW_NULL ? c->field : op->field)
  struct ranks_cache cache[64] = {{0, 0, 0, false}};
  EACH(name, rows[i] >= with_arguments && op->name && !is_bracket(trace, op) ? (int64_t)op->name : TEXT(name));
  EACH(process_group, TEXT(group));
  EACH(group_ranks, cached_ranks(trace, cache, c->ranks ? c : op));
  EACH(group_size, NUMBER(group_size));
  EACH(dtype, TEXT(dtype));
  EACH(in_elements, NUMBER(in_elements));
  EACH(out_elements, NUMBER(out_elements));
  EACH(bytes, known_bytes(trace, c->dtype ? c : op));
  EACH(op_id, op->rows == ROWS_ops ? (int64_t)op->row : ROW_NULL);
  EACH(kernel_id, c->rows == ROWS_kernels ? (int64_t)c->row : ROW_NULL);
  EACH(transfer, c->rows == ROWS_transfers ? (int64_t)c->row : ROW_NULL);
  EACH(sequence_number, NUMBER(sequence));
#undef EACH
#undef TEXT
#undef NUMBER
  eager_rows_end(&m);
  row_map_free(&ops);
  free(op_of);
  free(rows);
  free(is_paired);
  return status;
}
