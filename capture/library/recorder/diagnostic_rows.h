/* diagnostic_rows.h: rows of diagnostics: what the recorder has to say of the recording. */
#ifndef TFPROF_CAPTURE_DIAGNOSTIC_ROWS_H
#define TFPROF_CAPTURE_DIAGNOSTIC_ROWS_H

#include "row_buffer.h"

/* false: no memory. */
bool diagnostic_rows_begin(struct row_buffer *rows);
/* `count` may be 0 and `table` NULL: there is none. */
void diagnostic_rows_add(struct row_buffer *rows, struct dump_writer *writer, const char *severity, const char *reason,
                         int64_t count, const char *table, const char *format, ...)
    __attribute__((format(printf, 7, 8)));

#endif
