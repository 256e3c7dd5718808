/* output_private.h: what the formats share. Each format fills a struct output_kind; output.c picks one. */
#ifndef TFPROF_SHELL_OUTPUT_PRIVATE_H
#define TFPROF_SHELL_OUTPUT_PRIVATE_H

#include "output.h"

#include <stddef.h>

struct box;

struct output {
  FILE *file;
  struct output_style style;
  sqlite3_stmt *statement;
  const struct output_kind *kind;
  int column_count;
  uint64_t rows;
  char **names;    /* json, jsonl: the column names, made different, as JSON strings */
  struct box *box; /* box, chart: its state */
  struct numbers *numbers; /* chart of one column: its state */
};

struct output_kind {
  bool (*begin)(struct output *output);
  bool (*row)(struct output *output);
  void (*end)(struct output *output);
};

extern const struct output_kind output_box, output_csv, output_tsv, output_json, output_jsonl, output_markdown,
    output_chart;

/* The shortest decimal text that reads back as the same number; `text` holds 32 bytes. Infinities: "Inf", "-Inf". */
void output_format_real(double value, char *text);
/* Two lower-case digits a byte. */
void output_hexadecimal(FILE *file, const void *bytes, int length);

#endif
