/* stack_rows.h: code objects and stack nodes of all threads become rows of code_frames and code_traces.
**
** A row of code_frames is a line of a function, whichever code object it came from; a row of code_traces is a frame
** and its caller's trace.  Both are made once for the whole process, so that equal stacks of two threads are the same
** row.
*/
#ifndef TFPROF_CAPTURE_STACK_ROWS_H
#define TFPROF_CAPTURE_STACK_ROWS_H

#include "row_buffer.h"
#include "row_map.h"
#include "thread_record.h"

struct code_copy {         /* of a code object, in the memory of the writer thread */
  uint32_t file, function; /* strings of the dump */
  int32_t first_line;
  uint32_t table_length;
  uint64_t hash; /* of file and function: equal in other processes */
  char *file_name;
  uint8_t table[];
};

struct stack_rows {
  struct row_buffer frames, traces;
  struct row_map frame_map, trace_map;
  uint64_t *trace_hashes; /* by row */
  uint32_t *trace_depths;
  uint32_t trace_count, trace_capacity;
  bool is_full;     /* there are as many traces as may be: further ones are their innermost frame alone */
  uint32_t python;  /* the string "python" */
};

bool stack_rows_begin(struct stack_rows *rows);
void stack_rows_end(struct stack_rows *rows);
/* NULL: no memory. Freed with code_copy_free. */
struct code_copy *code_copy_make(struct dump_writer *writer, const struct code_item *item);
void code_copy_free(struct code_copy *code);
/* The row number of the trace, or -1: no memory. `parent` is the caller's row or -1. */
int64_t stack_trace_row(struct stack_rows *rows, struct dump_writer *writer, int64_t parent,
                        const struct code_copy *code, uint32_t offset);

#endif
