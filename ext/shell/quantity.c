/* quantity.c: see quantity.h. */
#include "quantity.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "schema/schema.h"
#include "write/scaled_text.h"

/* About three years: no length of time in a profile, but a point in time of a column that the user named. */
static const double longest_ns = 1e17;

static bool ends_with(const char *name, size_t length, const char *end) {
  size_t size = strlen(end);
  return length >= size && strncasecmp(name + length - size, end, size) == 0;
}

static bool is_time(const char *name, size_t length) {
  for (unsigned table = 0; table < TABLE_count; table++) {
    const struct table_spec *spec = &schema_tables[table];
    for (unsigned column = 0; column < spec->column_count; column++) {
      const struct column_spec *of = &spec->columns[column];
      if (of->type == TYPE_TIME && strlen(of->name) == length && strncasecmp(of->name, name, length) == 0) return true;
    }
  }
  return ends_with(name, length, "start_ns") || ends_with(name, length, "end_ns");
}

/* Of f(x), for functions whose result is of the same kind as their argument: x. */
static const char *inside_call(const char *name, size_t *length) {
  static const char *const functions[] = {"sum(", "total(", "min(", "max(", "avg(", "median(", "stddev(", NULL};
  for (const char *const *function = functions; *function; function++) {
    size_t size = strlen(*function);
    if (strncasecmp(name, *function, size) != 0 || name[*length - 1] != ')') continue;
    *length -= size + 1;
    return name + size;
  }
  return name;
}

/* Last words of names. */
static const struct ending {
  const char *text;
  enum quantity quantity;
} endings[] = {{"bytes", QUANTITY_BYTES},
               {"bytes_accessed", QUANTITY_BYTES},
               {"bytes_per_second", QUANTITY_BYTE_RATE},
               {"flops", QUANTITY_FLOPS},
               {"flops_per_second", QUANTITY_FLOP_RATE},
               {NULL, QUANTITY_NONE}};

enum quantity quantity_of_name(const char *name) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
  size_t length = strlen(name);
  if (!length) return QUANTITY_NONE;
  name = inside_call(name, &length);
  if (strspn(name, letters) < length) return QUANTITY_NONE; /* another expression */
  for (const char *dot; (dot = memchr(name, '.', length));) {
    length -= (size_t)(dot + 1 - name);
    name = dot + 1;
  }
  if (ends_with(name, length, "_ns")) return is_time(name, length) ? QUANTITY_NONE : QUANTITY_NS;
  for (const struct ending *of = endings; of->text; of++) {
    size_t size = strlen(of->text);
    if (ends_with(name, length, of->text) && (length == size || name[length - size - 1] == '_')) return of->quantity;
  }
  return QUANTITY_NONE;
}

size_t quantity_text(enum quantity quantity, double number, char *text) {
  if (!isfinite(number)) return 0;
  switch (quantity) {
    case QUANTITY_NONE: break;
    case QUANTITY_NS: return fabs(number) < longest_ns ? scaled_text_ns(number, text) : 0;
    case QUANTITY_BYTES: return scaled_text_bytes(number, text);
    case QUANTITY_BYTE_RATE: return scaled_text_byte_rate(number, text);
    case QUANTITY_FLOPS: return scaled_text_flops(number, text);
    case QUANTITY_FLOP_RATE: return scaled_text_flop_rate(number, text);
  }
  return 0;
}
