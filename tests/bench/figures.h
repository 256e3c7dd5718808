/* figures.h: how a benchmark in C tells a figure as data, beside what it prints; the form is that of figures.py.
**
**   tell_figure(&(struct figure){.subject = "opening", .value = 0.3, .unit = "ms", .command = "bench_store DUMP"},
**               "Dump of %s ops: open", figure_count(ops).text);
**
** Where TFPROF_BENCH_RESULTS names a file, the figure is appended to it as one line of JSON, in one write; a file that
** cannot be written ends the program with status 1.
*/
#ifndef TFPROF_BENCH_FIGURES_H
#define TFPROF_BENCH_FIGURES_H

#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct figure {
  const char *subject, *unit, *command; /* subject: one of SUBJECTS, unit: one of UNITS of figures.py */
  double value;
  const char *better; /* NULL: lower */
  long trials;        /* 0: nothing is said of them */
  const char *compared_with; /* NULL: nothing */
  double compared_value;     /* in the same unit */
};

struct figure_text {
  char text[32];
};

/* "1 million", or "12,345". */
static inline struct figure_text figure_count(unsigned long long count) {
  struct figure_text text;
  if (count && count % 1000000 == 0) snprintf(text.text, sizeof text.text, "%llu million", count / 1000000);
  else if (count >= 1000000)
    snprintf(text.text, sizeof text.text, "%llu,%03llu,%03llu", count / 1000000, count / 1000 % 1000, count % 1000);
  else if (count >= 1000) snprintf(text.text, sizeof text.text, "%llu,%03llu", count / 1000, count % 1000);
  else snprintf(text.text, sizeof text.text, "%llu", count);
  return text;
}

/* The text as a JSON string; what does not fit is cut. */
static inline struct figure_json {
  char text[600];
} figure_string(const char *text) {
  struct figure_json json;
  size_t length = 0;
  json.text[length++] = '"';
  for (; *text && length < sizeof json.text - 8; text++) {
    unsigned char byte = (unsigned char)*text;
    if (byte < ' ') {
      length += (size_t)snprintf(json.text + length, 7, "\\u%04x", byte);
      continue;
    }
    if (byte == '"' || byte == '\\') json.text[length++] = '\\';
    json.text[length++] = (char)byte;
  }
  memcpy(json.text + length, "\"", 2);
  return json;
}

static inline void figure_append(const char *path, const char *line, size_t length) {
  int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file >= 0 && write(file, line, length) == (ssize_t)length && !close(file)) return;
  perror(path);
  exit(1);
}

/* Appends the figure; the sentence is that of `what`. A value that is no number is not told. */
__attribute__((format(printf, 2, 3))) static inline void tell_figure(const struct figure *figure, const char *format,
                                                                     ...) {
  const char *path = getenv("TFPROF_BENCH_RESULTS");
  char what[300], line[4000];
  va_list arguments;
  if (!path || !*path || !isfinite(figure->value)) return;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  size_t length = (size_t)snprintf(line, sizeof line,
                                   "{\"subject\": \"%s\", \"what\": %s, \"value\": %.4g, \"unit\": \"%s\", "
                                   "\"command\": %s",
                                   figure->subject, figure_string(what).text, figure->value, figure->unit,
                                   figure_string(figure->command).text);
  if (figure->trials)
    length += (size_t)snprintf(line + length, sizeof line - length, ", \"trials\": %ld", figure->trials);
  if (figure->better)
    length += (size_t)snprintf(line + length, sizeof line - length, ", \"better\": \"%s\"", figure->better);
  if (figure->compared_with && isfinite(figure->compared_value))
    length += (size_t)snprintf(line + length, sizeof line - length,
                               ", \"compared\": [{\"with\": %s, \"value\": %.4g}]",
                               figure_string(figure->compared_with).text, figure->compared_value);
  length += (size_t)snprintf(line + length, sizeof line - length, "}\n");
  figure_append(path, line, length);
}

#endif
