/* repeated_texts.h: long texts that come again in a column of rows, so that each is written once. */
#ifndef TFPROF_REPORT_REPEATED_TEXTS_H
#define TFPROF_REPORT_REPEATED_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHORTEST_REPEATED = 12 };

struct repeated_texts; /* of the rows of one panel */

struct repeated_texts *repeated_texts_create(void); /* NULL: no memory */
void repeated_texts_free(struct repeated_texts *texts);
/* Whether the column has had the text, and in which row first; else it is remembered, as long as there is room. */
bool repeated_texts_find(struct repeated_texts *texts, int column, uint64_t row, const char *text, size_t length,
                         uint64_t *first_row);

#endif
