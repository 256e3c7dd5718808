/* output.h: prints the rows of a statement in one of seven formats.
**
**   box       for people: fits the terminal, numbers to the right, NULL said, durations and bytes with their units
**             (quantity.h) unless they are to be raw
**   tsv       a line a row, columns parted by tabs; within a value \t, \n, \r and \\ stand for a tab, a line feed, a
**             carriage return and a backslash; NULL is empty
**   csv       RFC 4180 with plain line feeds; NULL is empty, an empty text is ""
**             In csv and tsv there is a ' before a text that a spreadsheet would compute: it begins with =, +, - or @,
**             also behind white space, and is no number. On a terminal both show control characters as a box does, ESC
**             as U+241B
**   json      an array of objects;  jsonl  an object a line.  Always valid: integers exact, NULL and infinities null,
**             bytes that are no UTF-8 replaced, blobs in hexadecimal, a name that comes twice marked `name:1`
**   markdown  a table, as GitHub shows it
**   chart     for people: a box with a bar for each row's number; a histogram of a single column of numbers
**
**   struct output *output = output_begin(file, &style, statement);
**   while (sqlite3_step(statement) == SQLITE_ROW) output_row(output);
**   output_end(output);
*/
#ifndef TFPROF_SHELL_OUTPUT_H
#define TFPROF_SHELL_OUTPUT_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum output_format {
  OUTPUT_BOX,
  OUTPUT_CSV,
  OUTPUT_TSV,
  OUTPUT_JSON,
  OUTPUT_JSONL,
  OUTPUT_MARKDOWN,
  OUTPUT_CHART,
  OUTPUT_FORMAT_COUNT
};

struct output_style {
  enum output_format format;
  int width;     /* of the terminal; 0: no limit */
  bool colour;   /* bold and dim may be used */
  bool is_terminal; /* csv and tsv hold nothing that it would obey */
  bool is_raw;   /* a box has numbers as they are, without units */
  bool is_prose; /* the texts are sentences, which make no sense without their middle */
};

extern const char *const output_format_names[OUTPUT_FORMAT_COUNT];
#define OUTPUT_FORMAT_LIST "box, csv, tsv, json, jsonl, markdown and chart"
/* -1: no such format. */
int output_format_find(const char *name);

struct output;
/* NULL: no memory. */
struct output *output_begin(FILE *file, const struct output_style *style, sqlite3_stmt *statement);
/* Takes the present row. false: no memory. */
bool output_row(struct output *output);
/* Prints what is left, frees. Returns how many rows there were. */
uint64_t output_end(struct output *output);

#endif
