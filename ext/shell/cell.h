/* cell.h: the texts in a box: printable copies of values, their widths, and breaking them into lines. */
#ifndef TFPROF_SHELL_CELL_H
#define TFPROF_SHELL_CELL_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quantity.h"

struct cell {
  double number; /* NaN: it is none */
  char *text; /* printable UTF-8, NUL-terminated; the line feeds of the value are still in it */
  uint32_t length;
  uint8_t type; /* SQLITE_INTEGER ... */
};

/* A copy with nothing in it that a terminal would act on, except line feeds. false: no memory. */
bool cell_make_text(const char *text, size_t length, struct cell *cell);
/* The statement's present value; a real is rounded to six digits, a number of some quantity has its unit. */
bool cell_make(sqlite3_stmt *statement, int column, enum quantity quantity, struct cell *cell);

/* Appends a character as it is shown (at most 3 bytes or `size`); returns the new end. */
char *cell_append(char *end, uint32_t character, const char *text, size_t size);

/* Bytes at the beginning that are printable ASCII: nearly always all of them. */
size_t cell_plain_length(const char *text, size_t length);
/* Columns of a terminal. */
int cell_width(const char *text, size_t length);
/* Bytes that fit into `width` columns; at least one character, so that loops go on. *used: their columns. */
size_t cell_fitting(const char *text, size_t length, int width, int *used);
/* The next line of a wrapped text: up to a line feed, else as many whole words as fit, else as many characters. *rest
** is where the following line begins. */
size_t cell_next_line(const char *text, size_t length, int width, size_t *rest);
/* Prints it in lines, the first after `first`, the others after as many blanks. `width`: 0, lines of any length. */
void cell_print_wrapped(const struct cell *cell, const char *first, int width);

#endif
