/* op_rows.h: what the threads have written becomes rows of ops, and of thread_rows.h, stack_rows.h and
** memory_rows.h. On the writer thread only. */
#ifndef TFPROF_CAPTURE_OP_ROWS_H
#define TFPROF_CAPTURE_OP_ROWS_H

#include "channel/thread_rows.h"
#include "memory_rows.h"
#include "module_calls.h"
#include "module_rows.h"
#include "python/stack_rows.h"

struct op_reader; /* what is known of one thread */

struct input_texts { /* strings; 0: none */
  uint32_t shapes, types, values;
};

struct op_rows {
  struct dump_writer *writer;
  struct row_buffer ops;
  struct thread_rows threads;
  struct stack_rows stacks;
  struct memory_rows memory;
  struct module_rows modules;
  struct module_calls calls;
  struct clock_map clock;
  uint64_t horizon; /* ticks: when the drain began */
  struct op_reader *readers[THREAD_MAXIMUM];
  struct op_item *late; /* ops that ended on another thread than the one that began them: next time */
  uint32_t late_count, late_capacity;
  uint32_t categories[4], other_names, exception; /* strings */
  uint64_t op_count;                 /* ops that have become rows, but for ranges: these are there in every step */
  uint64_t unresolved;               /* ops without a name or a thread: no row */
  uint64_t unresolved_memory;        /* allocations and releases without a thread or a device: no row */
  struct row_map texts;              /* names, shapes and types that are kept: hash of the text to string */
  uint64_t text_bytes, texts_refused;
  struct row_map input_map;          /* the three texts of an op's inputs to their place in input_texts */
  struct input_texts *input_texts;   /* as many as input_map has, room for the next power of two */
};

/* false: no memory. The clock map begins with it. */
bool op_rows_begin(struct op_rows *rows, struct dump_writer *writer);
void op_rows_end(struct op_rows *rows);

/* Called when `ops` or `memory.events` holds DUMP_FRAME_ROWS rows or a definition table has grown large; it must empty
** what is full. */
typedef void (*op_rows_full)(void *context);
/* Reads what the threads have written until nothing is left, or `limit` ops and events of memory. Ops come in the order
** in which they ended, events as they happened. Returns how many. */
uint64_t op_rows_drain(struct op_rows *rows, uint64_t limit, op_rows_full full, void *context);
/* Nothing will follow: ops that wait for the next drain are made rows too. */
void op_rows_finish(struct op_rows *rows, op_rows_full full, void *context);
/* Sum over all threads of a count of struct capture_thread. */
struct op_losses {
  uint64_t no_room, too_deep, cut, no_thread, still_open, no_room_for_memory, unknown_memory;
};
void op_rows_losses(const struct op_rows *rows, struct op_losses *losses);

#endif
