/* emit.h: what emit.c, emit_host.c and emit_device.c share, which make rows of the members of one event. */
#ifndef TFPROF_JSON_EMIT_H
#define TFPROF_JSON_EMIT_H

#include "read/json/members.h"

/* Of an event with a duration, by its "cat". */
enum category {
  CATEGORY_NONE, /* no "cat" */
  CATEGORY_OTHER,
  CATEGORY_OP,
  CATEGORY_USER,
  CATEGORY_PYTHON,
  CATEGORY_KERNEL,
  CATEGORY_MTIA_KERNEL,
  CATEGORY_HPU_KERNEL,
  CATEGORY_PRIVATE_KERNEL, /* of a backend of its own, PrivateUse1 */
  CATEGORY_PRIVATE_MEMCPY,
  CATEGORY_PRIVATE_MEMSET,
  CATEGORY_ENQUEUE, /* of Ascend */
  CATEGORY_DEQUEUE,
  CATEGORY_MEMCPY,
  CATEGORY_MEMSET,
  CATEGORY_RUNTIME,
  CATEGORY_DRIVER,
  CATEGORY_SYNC,
  CATEGORY_GPU_USER,
  CATEGORY_OVERHEAD,
  CATEGORY_TENSORFLOW,
  CATEGORY_TRACE,
};

/* A new row, UINT32_MAX where there is none; with is_dry the table that the event goes to is noted. */
static inline uint32_t row_in(struct worker *w, enum row_table table) {
  if (w->is_dry) {
    w->row_table = (int)table;
    w->rows[table].count = 0;
  }
  return worker_row(w, table);
}
/* The value of a column of a row of the worker `w`. */
#define SET(row, column, x) w->values[ROW_##column][row] = (x)

/* Adds an item to a list of the worker. */
#define ADD_ITEM(w, list, ...)                                \
  do {                                                        \
    __typeof__((w)->list.items) item_ = list_add(&(w)->list); \
    if (item_) *item_ = __VA_ARGS__;                          \
    else (w)->no_memory = true;                               \
  } while (0)

/* The number of one member or, where the event has it not, of the other. */
static inline int64_t take_either(struct worker *w, unsigned key, unsigned other) {
  return take_integer(w, has(w, key) ? key : other);
}

/* ---- emit_host.c ---- */

void emit_op(struct worker *w, enum category category);
void emit_tensorflow_op(struct worker *w);
/* The process of the event among those of an XSpace; -1: none, as in any other trace. */
int process_of_xspace(const struct worker *w);
void emit_op_of_xspace(struct worker *w, bool is_device);
/* An op that tfprof_timeline() wrote of an XSpace, as it was there. */
void emit_op_of_own(struct worker *w, enum category category);
/* What the op or the kernel of this row exchanges. */
void emit_collective(struct worker *w, unsigned rows, uint64_t row); /* rows: as struct collective has it */
void emit_api_call(struct worker *w, bool is_driver);
/* An op that is put into Ascend's queue, or what the thread that takes it out asks of the device. */
void emit_queue_call(struct worker *w, enum queue_call_kind kind);
void emit_overhead(struct worker *w);
void emit_range(struct worker *w, enum category category);

/* ---- emit_device.c ---- */

void emit_kernel(struct worker *w, enum device_kind kind);
void emit_transfer(struct worker *w, enum device_kind device, bool is_copy);
/* `waits`: it is a task of a stream that waits for another. */
void emit_exchange(struct worker *w);
void emit_sync(struct worker *w, enum device_kind device, bool waits);

#endif
