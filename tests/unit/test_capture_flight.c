/* test_capture_flight.c: what is taken out of the JSON of PyTorch's Flight Recorder, and out of what is none. */
#include "check.h"

#include "hangs/flight_json.h"

#include <stdlib.h>
#include <string.h>

#define HOLDS(condition) check(condition, "line %d: %s", __LINE__, #condition)
#define SECOND INT64_C(1000000000)
#define ENTRY(number, group, more)                                                                             \
  "{\"collective_seq_id\":" #number ",\"input_sizes\":[[1],[2,3]],\"is_p2p\":false,\"p2p_seq_id\":0,\"pg_id\":" #group \
  ",\"process_group\":[\"" #group "\",\"a \\\"group\\\"\"],\"profiling_name\":\"gloo:all_reduce\"," more "}"

static const char trace[] =
    "{\"comm_lib_version\":\"\",\"entries\":[" ENTRY(1, 0, "\"retired\":true,\"time_created_ns\":1000000000") ","
    ENTRY(3, 0, "\"retired\":false,\"state\":\"scheduled\",\"time_created_ns\":3000000000") ","
    ENTRY(2, 0, "\"retired\":false,\"state\":\"started\",\"time_created_ns\":2000000000") ","
    ENTRY(4, 0, "\"retired\":false,\"time_created_ns\":9900000000") ","
    ENTRY(7, 1, "\"retired\":false,\"state\":\"completed\",\"time_created_ns\":1000000000") ","
    "{\"is_p2p\":true,\"p2p_seq_id\":5,\"pg_id\":0,\"retired\":false,\"time_created_ns\":1}],"
    "\"pg_status\":{\"0\":{\"last_enqueued_collective\":\"4\"}},\"version\":\"2.10\"}";

static unsigned groups_of(const char *text, size_t length, struct flight_group *groups) {
  char *copy = malloc(length + 1); /* of its own, so that a read beyond the end is found */
  memcpy(copy, text, length);
  char *exact = realloc(copy, length ? length : 1);
  unsigned count = flight_groups_of(exact, length, 10 * SECOND, SECOND / 2, groups, FLIGHT_GROUPS);
  free(exact);
  return count;
}

static void test_groups(void) {
  struct flight_group groups[FLIGHT_GROUPS];
  HOLDS(groups_of(trace, sizeof trace - 1, groups) == 3);
  HOLDS(groups[0].is_pending && groups[0].number == 2 && groups[0].last_number == 4);
  HOLDS(groups[0].began_ns == 2 * SECOND && !strcmp(groups[0].name, "0"));
  HOLDS(!strcmp(groups[0].description, "a \"group\"") && !strcmp(groups[0].collective, "gloo:all_reduce"));
  HOLDS(!groups[1].is_pending && groups[1].number == 7 && groups[1].id == 1);
  HOLDS(groups[2].is_point_to_point && groups[2].is_pending && groups[2].number == 5);
  HOLDS(flight_groups_of(trace, sizeof trace - 1, 10 * SECOND, 0, groups, 1) == 1 && groups[0].last_number == 4);
}

/* Cut anywhere, and with any byte another one: something comes, and nothing is read or written beyond. */
static void test_bad_input(void) {
  struct flight_group groups[FLIGHT_GROUPS];
  for (size_t length = 0; length < sizeof trace; length++)
    check(groups_of(trace, length, groups) <= 3, "cut at %zu", length);
  static const char bytes[] = {'"', '\\', '{', '}', '[', ']', ',', ':', '9', 0, -1};
  char changed[sizeof trace];
  for (size_t place = 0; place < sizeof trace - 1; place++) {
    for (size_t i = 0; i < sizeof bytes; i++) {
      memcpy(changed, trace, sizeof trace);
      changed[place] = bytes[i];
      HOLDS(groups_of(changed, sizeof trace - 1, groups) <= FLIGHT_GROUPS);
    }
  }
  HOLDS(groups_of("[]", 2, groups) == 0 && groups_of("{\"entries\":3}", 13, groups) == 0);
  static const char large[] = "{\"entries\":[{\"collective_seq_id\":99999999999999999999999999,\"pg_id\":-5}]}";
  HOLDS(groups_of(large, sizeof large - 1, groups) == 1 && groups[0].number > 0 && groups[0].id == -5);
}

int main(void) {
  test_groups();
  test_bad_input();
  return check_result();
}
