/* request_values.h: what a request asks for, from the parameters of its address.
**
** Each is read once, here, as strictly as it is meant: what is not known, or is no number where one is due, is an error
** that names it.
*/
#ifndef TFPROF_REQUEST_VALUES_H
#define TFPROF_REQUEST_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REQUEST_NAME_BYTES = 64, REQUEST_ALL_RUNS = -1, REQUEST_MOST_ROWS = 10000, REQUEST_ADDRESSES_BYTES = 4000 };

struct request_values {
  int run;                       /* which of those that are served, by number; REQUEST_ALL_RUNS */
  char name[REQUEST_NAME_BYTES]; /* of a panel */
  char
      view[REQUEST_NAME_BYTES]; /* the place in a page that asks: a newer question of it takes the place of the older */
  bool has_profile, has_steps, has_window;
  int64_t profile_id, first_step, last_step;
  int64_t from_ns, to_ns, bucket_ns; /* since the origin of the run */
  uint64_t rows;
  /* Of a recording: that of profiler servers, or, where there are no addresses, of so many steps. */
  char addresses[REQUEST_ADDRESSES_BYTES];
  int64_t count, duration_ms, host_level, device_level, python_level, retries;
};

extern const struct request_values request_defaults;

/* One parameter; false: `message` says what is wrong with it. text may be NULL: `?key` without a value. */
bool request_take_value(struct request_values *values, const char *key, const char *text, char *message,
                        size_t message_size);

#endif
