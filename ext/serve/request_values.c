/* request_values.c: see request_values.h. */
#include "serve/request_values.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct request_values request_defaults = {
    .rows = 1000, .count = 5, .duration_ms = 2000, .host_level = 2, .device_level = 1, .retries = 3};

static bool is_number(const char *text, int64_t low, int64_t high, int64_t *number) {
  char *end;
  if (!*text || strspn(text, "-0123456789") != strlen(text)) return false;
  errno = 0;
  *number = strtoll(text, &end, 10);
  return !errno && !*end && *number >= low && *number <= high;
}

/* "A-B", either of which may be negative. */
static bool is_range(const char *text, const char *separator, int64_t *first, int64_t *last) {
  char part[32];
  const char *middle = *text ? strstr(text + 1, separator) : NULL;
  if (!middle || (size_t)(middle - text) >= sizeof part) return false;
  memcpy(part, text, (size_t)(middle - text));
  part[middle - text] = 0;
  return is_number(part, INT64_MIN, INT64_MAX, first) &&
         is_number(middle + strlen(separator), INT64_MIN, INT64_MAX, last) && *first <= *last;
}

static bool take_name(char *name, const char *text) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  size_t length = strlen(text);
  if (!length || length >= REQUEST_NAME_BYTES || strspn(text, letters) != length) return false;
  memcpy(name, text, length + 1);
  return true;
}

static bool take_run(struct request_values *values, const char *text) {
  int64_t number = REQUEST_ALL_RUNS;
  bool is_well = strcmp(text, "all") == 0 || is_number(text, 0, INT32_MAX, &number);
  values->run = (int)number;
  return is_well;
}

/* Of hosts and their ports, and processes beside them: none of them an option or a path. */
static bool take_addresses(char *addresses, const char *text) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-:[]%,";
  size_t length = strlen(text);
  if (!length || length >= REQUEST_ADDRESSES_BYTES || strspn(text, letters) != length || *text == '-') return false;
  if (strncmp(text, "run:", 4) == 0) return false;
  memcpy(addresses, text, length + 1);
  return true;
}

/* A number of a recording; NULL: the key is none of these. */
static int64_t *recording_number(struct request_values *values, const char *key, int64_t *most) {
  const struct {
    const char *key;
    int64_t *number, most;
  } numbers[] = {{"count", &values->count, 100000},        {"duration_ms", &values->duration_ms, 86400000},
                 {"host_level", &values->host_level, 3},    {"device_level", &values->device_level, 1},
                 {"python_level", &values->python_level, 1}, {"retries", &values->retries, 100}};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    *most = numbers[i].most;
    if (strcmp(numbers[i].key, key) == 0) return numbers[i].number;
  }
  return NULL;
}

bool request_take_value(struct request_values *values, const char *key, const char *text, char *message,
                        size_t message_size) {
  const char *value = text ? text : "";
  int64_t number = 0, most, *of_recording = recording_number(values, key, &most);
  bool is_well;
  if (strcmp(key, "run") == 0) {
    is_well = take_run(values, value);
  } else if (strcmp(key, "name") == 0) {
    is_well = take_name(values->name, value);
  } else if (strcmp(key, "view") == 0) {
    is_well = take_name(values->view, value);
  } else if (strcmp(key, "profile") == 0) {
    is_well = values->has_profile = is_number(value, 0, INT64_MAX, &values->profile_id);
  } else if (strcmp(key, "steps") == 0) {
    is_well = values->has_steps = is_range(value, "-", &values->first_step, &values->last_step);
  } else if (strcmp(key, "window") == 0) {
    is_well = values->has_window = is_range(value, "~", &values->from_ns, &values->to_ns);
  } else if (strcmp(key, "bucket") == 0) {
    is_well = is_number(value, 0, INT64_MAX / 8, &values->bucket_ns);
  } else if (strcmp(key, "rows") == 0) {
    is_well = is_number(value, 1, REQUEST_MOST_ROWS, &number);
    values->rows = (uint64_t)number;
  } else if (strcmp(key, "addresses") == 0) {
    if (!take_addresses(values->addresses, value)) {
      snprintf(message, message_size,
               "the parameter addresses names no profiler servers, such as host:6009,host2:6009: '%.80s'", value);
      return false;
    }
    is_well = true;
  } else if (of_recording) {
    bool may_be_zero = most <= 100; /* levels and retries */
    is_well = is_number(value, !may_be_zero, most, of_recording);
  } else {
    snprintf(message, message_size, "there is no parameter '%.40s'", key);
    return false;
  }
  if (!is_well) snprintf(message, message_size, "the parameter %s is not what it should be: '%.80s'", key, value);
  return is_well;
}
