/* flight_json.h: the last collectives of each process group, out of what PyTorch's Flight Recorder writes as JSON
** (versions 2.3 to 2.10 of its form).
*/
#ifndef TFPROF_CAPTURE_FLIGHT_JSON_H
#define TFPROF_CAPTURE_FLIGHT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FLIGHT_GROUPS = 64, FLIGHT_NAME = 64 };

struct flight_group {
  int64_t id;
  bool is_point_to_point; /* sends and receives, which have numbers of their own */
  char name[FLIGHT_NAME], description[FLIGHT_NAME];
  char collective[FLIGHT_NAME]; /* of `number`, as the backend calls it: gloo:all_reduce */
  int64_t number;      /* of the first one that is pending, else of the last */
  int64_t last_number; /* that was begun */
  int64_t began_ns;    /* of `number`: since 1970 */
  bool is_pending;
};

/* Total: of any bytes it makes what can be made of them. `now_ns`: since 1970; what began less than `settled_ns` before
** does not count as pending, for it takes a moment until one that is over is known to be. How many groups, `room` at
** most. */
unsigned flight_groups_of(const char *text, size_t length, int64_t now_ns, int64_t settled_ns,
                          struct flight_group *groups, unsigned room);

#endif
