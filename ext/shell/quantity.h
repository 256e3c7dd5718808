/* quantity.h: what the numbers of a column measure, judged by its name, so that a box can show 1.23 ms, 45.6 MiB and
** 312 TFLOP/s.
**
**   self_ns, sum(dur_ns)        a length of time
**   peak_bytes, bytes, bytes_accessed   an amount of memory
**   flops, flops_per_second, bytes_per_second   floating point operations, and how fast they and memory are done
**   start_ns                    a point in time (what tables.def calls TIME), which is shown as it is: rounded, it
**                               would tell nothing, and whole it is looked for in other rows
*/
#ifndef TFPROF_SHELL_QUANTITY_H
#define TFPROF_SHELL_QUANTITY_H

#include <stddef.h>

enum quantity {
  QUANTITY_NONE,
  QUANTITY_NS,
  QUANTITY_BYTES,
  QUANTITY_BYTE_RATE,
  QUANTITY_FLOPS,
  QUANTITY_FLOP_RATE
};

/* `name` is a column's, or an expression such as max(ops.dur_ns) that gives what its argument measures. */
enum quantity quantity_of_name(const char *name);
/* The number with its unit, and the length of that text, which is less than SCALED_TEXT_BYTES (write/scaled_text.h).
** 0: shown as any other number. */
size_t quantity_text(enum quantity quantity, double number, char *text);

#endif
