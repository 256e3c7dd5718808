/* scaled_text.h: numbers for people to read, with three significant digits: 1.23 ms, 45.6 MiB, 789 k. */
#ifndef TFPROF_SCALED_TEXT_H
#define TFPROF_SCALED_TEXT_H

#include <stddef.h>

enum { SCALED_TEXT_BYTES = 400 }; /* 1e308 has 309 digits */

/* Each writes a text of fewer than SCALED_TEXT_BYTES bytes and returns its length. */
size_t scaled_text_ns(double number, char *text);    /* 999 ns, 1.23 µs, 12.3 ms, 123 s */
size_t scaled_text_bytes(double number, char *text); /* 999 B, 1.23 KiB, 12.3 MiB: steps of 1024 */
size_t scaled_text_count(double number, char *text); /* 999, 1.23 k, 12.3 M, 123 G: steps of 1000 */
/* In steps of 1000, as makers of devices give them. */
size_t scaled_text_byte_rate(double number, char *text); /* 999 B/s, 1.55 TB/s */
size_t scaled_text_flops(double number, char *text);     /* 999 FLOP, 4.09 GFLOP */
size_t scaled_text_flop_rate(double number, char *text); /* 999 FLOP/s, 312 TFLOP/s */

#endif
