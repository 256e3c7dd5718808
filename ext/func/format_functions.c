/* format_functions.c: numbers for people to read, with three significant digits. */
#include <stdio.h>

#include "func/functions.h"
#include "write/scaled_text.h"

SQLITE_EXTENSION_INIT3

static void format_scaled(sqlite3_context *context, sqlite3_value *value, size_t (*write)(double, char *)) {
  int type = sqlite3_value_numeric_type(value);
  if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) return;
  char text[SCALED_TEXT_BYTES];
  size_t length = write(sqlite3_value_double(value), text);
  sqlite3_result_text(context, text, (int)length, SQLITE_TRANSIENT);
}

static void format_ns(sqlite3_context *context, int count, sqlite3_value **values) {
  (void)count;
  format_scaled(context, values[0], scaled_text_ns);
}

static void format_bytes(sqlite3_context *context, int count, sqlite3_value **values) {
  (void)count;
  format_scaled(context, values[0], scaled_text_bytes);
}

static void format_count(sqlite3_context *context, int count, sqlite3_value **values) {
  (void)count;
  format_scaled(context, values[0], scaled_text_count);
}

static void format_micros(sqlite3_context *context, int count, sqlite3_value **values) {
  char text[400];
  (void)count;
  int type = sqlite3_value_numeric_type(values[0]);
  if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) return;
  double micros = sqlite3_value_double(values[0]);
  if (micros < 1000) snprintf(text, sizeof text, "%.0fus", micros);
  else if (micros < 1000000) snprintf(text, sizeof text, "%.2fms", micros / 1e3);
  else snprintf(text, sizeof text, "%.2fsec", micros / 1e6);
  sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

const struct function_spec format_functions[] = {
    {.name = "format_ns",
     .argument_count = 1,
     .function = format_ns,
     .text = {"x",
              "A time in ns for people to read: 999 ns, 1.23 µs, 12.3 ms, 123 s.",
              "The text has three significant digits. NULL of NULL and of what is no number.",
              "SELECT number, format_ns(dur_ns) FROM steps"}},
    {.name = "format_bytes",
     .argument_count = 1,
     .function = format_bytes,
     .text = {"x",
              "A number of bytes for people to read, in steps of 1024: 999 B, 1.23 KiB, 12.3 MiB.",
              "The text has three significant digits. NULL of NULL and of what is no number.",
              "SELECT format_bytes(48000000)"}},
    {.name = "format_count",
     .argument_count = 1,
     .function = format_count,
     .text = {"x",
              "A count for people to read, in steps of 1000: 999, 1.23 k, 12.3 M, 123 G.",
              "The text has three significant digits. NULL of NULL and of what is no number.",
              "SELECT format_count(count(*)) FROM ops"}},
    {.name = "format_micros",
     .argument_count = 1,
     .function = format_micros,
     .text = {"x",
              "A time in µs as the TensorFlow profiler writes it: 999us, 1.23ms, 12.34sec.",
              "NULL of NULL and of what is no number.",
              "SELECT format_micros(1234)"}},
    {0},
};
