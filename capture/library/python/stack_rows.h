/* stack_rows.h: code objects and stack nodes of all threads become rows of code_frames and code_traces.
**
** A row of code_frames is a line of a function, whichever code object it came from; a row of code_traces is a frame
** and its caller's trace.  Both are made once for the whole process, so that equal stacks of two threads are the same
** row.
*/
#ifndef TFPROF_CAPTURE_STACK_ROWS_H
#define TFPROF_CAPTURE_STACK_ROWS_H

#include "channel/thread_record.h"
#include "recorder/recorder.h"

/* Rows of code_traces, some 20 MB; a program with more distinct stacks makes them without end. From then on a stack is
** its innermost frame alone, of which there are few. */
enum { TRACE_MAXIMUM = 1 << 18, SHORT_TRACE_MAXIMUM = 1 << 16 };

struct code_copy {         /* of a code object, in the memory of the writer thread */
  uint32_t file, function; /* strings of the dump */
  int32_t first_line;
  uint32_t table_length;
  uint64_t hash; /* of file and function: equal in other processes */
  bool is_own;   /* of the recorder, which stands around functions of libraries: no part of a trace */
  char *file_name;
  uint8_t table[];
};

bool stack_rows_open(struct recorder *recorder);
void stack_rows_close(void);
/* NULL: no memory. Freed with code_copy_free. */
struct code_copy *code_copy_make(struct recorder *recorder, const struct code_item *item);
void code_copy_free(struct code_copy *code);
/* The row number of the trace. `parent` is the caller's row, or below 0 where there is none. Code of the recorder's own
** has the caller's trace, TRACE_OUTSIDE where it has no caller, and what it calls begins a stack. */
enum { TRACE_LOST = -1 /* no memory, or too many */, TRACE_OUTSIDE = -2 };
int64_t stack_trace_row(struct recorder *recorder, int64_t parent, const struct code_copy *code, uint32_t offset);
/* Whether there are as many traces as may be: further ones are their innermost frame alone. */
bool stack_rows_are_full(void);

/* Whether rows of frames should not be written yet, since their texts are on their way. */
bool stack_rows_are_awaited(void);
/* Before rows of frames are written: gives them the texts that have come. */
void stack_rows_complete(struct recorder *recorder);

#endif
