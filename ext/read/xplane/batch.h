/* batch.h: the rows that one worker makes of a stretch of events, and the event that it is at.
**
** Columns are arrays of numbers, a slot each (rows.def).  A text is its id in the pool; one that stands in the event
** itself is entered into the pool only when the batch is packed, by one worker at a time: until then it is a number
** below TEXT_OWN.
*/
#ifndef TFPROF_XPLANE_BATCH_H
#define TFPROF_XPLANE_BATCH_H

#include "read/rows/eager_rows.h"
#include "read/xplane/hlo.h"
#include "read/xplane/names.h"

/* Texts of columns that the reader itself writes. */
#define XPLANE_LITERALS(X)                                                                                     \
  X(op) X(input) X(python) X(user) X(runtime) X(driver) X(allocate) X(release) X(memcpy) X(memset)             \
  X(HtoD) X(DtoH) X(DtoD) X(PtoP) X(HtoH) X(pageable) X(pinned) X(device) X(array) X(managed) X(temporary)     \
  X(persistent) X(dynamic) X(output) X(read_on_demand) X(read_in_advance) X(preprocess) X(batch) X(Dataset)           \
  X(eager) X(function) X(graph) X(Steps) X(compute) X(communication) X(infeed) X(outfeed) X(enqueue) X(other)
enum xplane_literal {
#define X(name) LITERAL_##name,
  XPLANE_LITERALS(X)
#undef X
  LITERAL_COUNT
};

enum row_table {
#define ROWS(table) ROWS_##table,
#define VALUE(table, column, kind)
#include "read/xplane/rows.def"
  ROWS_COUNT
};
/* Tables whose rows are made together: a query of one needs no more than the events of its group. */
enum row_group {
  GROUP_THREADS, /* ops, calls and input events: what threads of the host did */
  GROUP_MEMORY,  /* memory_events, from the same lines */
  GROUP_DEVICES, /* all that devices did */
  GROUP_COUNTERS, /* what was measured on them, on lines of their own */
  GROUP_COUNT
};
enum row_slot {
#define ROWS(table) ROW_FIRST_##table, ROW_BEFORE_##table = ROW_FIRST_##table - 1,
#define VALUE(table, column, kind) ROW_##table##_##column,
#include "read/xplane/rows.def"
  ROW_SLOTS
};
/* The first slot of each table, and behind the last. */
extern const uint16_t batch_first_slots[ROWS_COUNT + 1];
/* What rows do with a slot. */
enum slot_use { SLOT_VALUE, SLOT_EACH, SLOT_STEADY };
static const uint8_t batch_slot_uses[ROW_SLOTS] = {
#define ROWS(table)
#define VALUE(table, column, kind)
#define EACH(table, column, kind) [ROW_##table##_##column] = SLOT_EACH,
#define STEADY(table, column, kind) [ROW_##table##_##column] = SLOT_STEADY,
#include "read/xplane/rows.def"
};

enum xplane_problem {
  PROBLEM_DAMAGED,  /* an event that is no message */
  PROBLEM_UNNAMED,  /* an event whose name is not there */
  PROBLEM_TIME,     /* a time beyond all times */
  PROBLEM_NEGATIVE, /* an end before the start */
  PROBLEM_VALUE,    /* a stat that is too large for its column */
  PROBLEM_OVERSIZED,
  PROBLEM_NOT_UTF8,
  PROBLEM_COUNT
};
struct problem_tally {
  uint64_t count, offset;
};

/* What all batches of a listing share, and nobody changes. */
struct listing {
  const struct xplane_index *index;
  const struct plane_names *names; /* by plane */
  const struct hlo_programs *programs;
  const struct pool *pool;
  string_id literals[LITERAL_COUNT];
  string_id data_types[32];
  int64_t host_device;    /* row in devices */
  const int64_t *devices; /* rows of GPU or TPU 0 ... */
  size_t device_count;
};

enum { TEXT_OWN = -2 };
struct own_text {
  const char *bytes;
  size_t length;
};

struct event {
  const struct event_name *name; /* NULL: not there */
  int64_t start_ns, dur_ns;      /* ROW_NULL: not known */
  int64_t occurrences;           /* of one that stands for several; ROW_NULL: it does not */
  uint64_t present, consumed;    /* bits by key */
  uint64_t offset;               /* of its message in the file */
  struct event_field fields[KEY_COUNT + 1]; /* those that are present; at KEY_UNKNOWN any */
};

/* Kernels one after the other that one run of an instruction of XLA launched: a product that is split and then added
** up, a convolution around which layouts change. They share what the instruction computes and moves. A run of more
** kernels, and one that two pieces of a line part, counts as two. */
enum { INSTRUCTION_KERNELS = 16 };
struct instruction_run {
  const struct hlo_op *op; /* NULL: the last kernel was of none */
  const struct xplane_line *line;
  struct text_part instruction;
  uint32_t first_row, count;
  const struct event_name *names[INSTRUCTION_KERNELS];
  int64_t durations[INSTRUCTION_KERNELS];
};

struct batch {
  const struct listing *listing;
  const struct xplane_line *line; /* that the event lies on */
  const struct plane_names *names;
  enum row_group group; /* rows of which are made */
  bool is_counters, is_overhead, is_framework_thread; /* the line, by its name */
  struct event event;
  struct xplane_details details; /* of a text that stands in the event */
  uint32_t place; /* of the event in the piece */
  bool is_dry;    /* nothing is kept: it is only looked which stats the columns of dry_table take */
  enum row_table dry_table;
  bool no_memory;
  struct rows {
    uint32_t count, capacity;
    uint32_t *places; /* of their events in the piece */
  } rows[ROWS_COUNT];
  int64_t *values[ROW_SLOTS];
  uint32_t filled[ROW_SLOTS]; /* so many rows are written; those behind have: */
  int64_t rest[ROW_SLOTS];    /* of a STEADY slot what its first row has, else NULL */
  LIST(struct own_text) own_texts;
  struct problem_tally problems[PROBLEM_COUNT];
  struct instruction_run instruction_run;
};

void batch_clear(struct batch *batch);
void batch_free(struct batch *batch);
/* Makes room for a row; false: no memory. */
bool batch_grow(struct batch *batch, enum row_table table);
/* A new row of the current event, all NULL but for what EACH and STEADY set; UINT32_MAX: no memory. A dry batch has one
** row in each table. */
static inline uint32_t batch_row(struct batch *batch, enum row_table table) {
  struct rows *rows = &batch->rows[table];
  if (batch->is_dry) rows->count = 0;
  if (rows->count == rows->capacity && !batch_grow(batch, table)) return UINT32_MAX;
  rows->places[rows->count] = batch->place;
  return rows->count++;
}
/* Writes up to a row what those have that were not written yet. */
void batch_fill(struct batch *batch, unsigned slot, uint32_t row);
/* Writes up to the last row, but for slots that have the same in all. */
void batch_complete(struct batch *batch);
static inline void batch_set(struct batch *batch, unsigned slot, uint32_t row, int64_t value) {
  if (batch_slot_uses[slot] == SLOT_EACH) {
    batch->values[slot][row] = value;
    return;
  }
  if (batch_slot_uses[slot] == SLOT_STEADY && row == 0) batch->rest[slot] = value;
  if (batch->filled[slot] <= row) {
    if (value == batch->rest[slot]) return; /* as most columns have in most rows */
    if (batch->filled[slot] < row) batch_fill(batch, slot, row);
    batch->filled[slot] = row + 1;
  }
  batch->values[slot][row] = value;
}
void batch_problem(struct batch *batch, enum xplane_problem problem, uint64_t offset);

/* event.c: reads the XEvent of `length` bytes into batch->event; false: it is none of which the group has rows, or is
** damaged, which is told. What stands before `limit` may be read, though it does not count; `offset`: where the event
** lies in the file. */
bool event_read(struct batch *batch, const uint8_t *bytes, size_t length, const uint8_t *limit, uint64_t offset);
/* Rows of the event. */
void emit_host(struct batch *batch);
void emit_device(struct batch *batch);
/* Ends the run of an instruction of XLA, whose kernels wait for each other: behind the last event of a batch, too. */
void emit_device_end(struct batch *batch);

/* ---- what a stat says; whatever is taken is not in `attributes` ---- */

static inline bool event_has(const struct batch *b, enum xplane_key key) { return b->event.present >> key & 1; }
/* Whether it has one of several, which spares most events to be asked for each: KEY_BIT(FLOPS) | KEY_BIT(SHAPE). */
#define KEY_BIT(key) ((uint64_t)1 << KEY_##key)
static inline bool event_has_any(const struct batch *b, uint64_t keys) { return b->event.present & keys; }
static inline void event_taken(struct batch *b, enum xplane_key key) { b->event.consumed |= (uint64_t)1 << key; }
/* ROW_NULL where there is none, or it is of another type. An unsigned number from 2^63 on is the negative one of the
** same bits: ids are that as often as not. */
int64_t event_integer_there(struct batch *b, enum xplane_key key);
static inline int64_t event_integer(struct batch *b, enum xplane_key key) {
  return event_has(b, key) ? event_integer_there(b, key) : ROW_NULL;
}
/* The same of one that stays among the attributes. */
static inline int64_t event_peek_integer(const struct batch *b, enum xplane_key key) {
  const struct event_field *field = &b->event.fields[key];
  bool is_integer = event_has(b, key) && (field->form == FIELD_INTEGER || field->form == FIELD_UNSIGNED);
  return is_integer ? (int64_t)field->number : ROW_NULL;
}
/* The same, but numbers only that are none below 0. */
int64_t event_count_there(struct batch *b, enum xplane_key key);
static inline int64_t event_count(struct batch *b, enum xplane_key key) {
  return event_has(b, key) ? event_count_there(b, key) : ROW_NULL;
}
/* The bits of a real number times `factor`. */
int64_t event_real_there(struct batch *b, enum xplane_key key, double factor);
static inline int64_t event_real(struct batch *b, enum xplane_key key, double factor) {
  return event_has(b, key) ? event_real_there(b, key, factor) : ROW_NULL;
}
/* As a column has it. */
int64_t event_text_there(struct batch *b, enum xplane_key key);
static inline int64_t event_text(struct batch *b, enum xplane_key key) {
  return event_has(b, key) ? event_text_there(b, key) : ROW_NULL;
}
/* The text as it stands; false: it is none. */
bool event_peek_text_there(const struct batch *b, enum xplane_key key, struct text_part *text);
static inline bool event_peek_text(const struct batch *b, enum xplane_key key, struct text_part *text) {
  return event_has(b, key) && event_peek_text_there(b, key, text);
}
/* The name of the op that the framework made it of, without the type behind it: dot of "dot:" and of "dot:MatMul". */
int64_t event_op_name(struct batch *b);
int64_t batch_text(struct batch *b, struct text_part text);
/* What the instruction that the event ran was made of; NULL: it ran none, or the file does not tell. */
const struct hlo_op *event_hlo_op(const struct batch *b);
/* NULL: it has none. */
const struct xplane_details *event_details(struct batch *b, enum xplane_key key);

#endif
