/* graph_links.c: see graph_links.h. */
#include "graph_links.h"

#include "base/hash.h"
#include "base/list.h"
#include "device_clock.h"

#include <stdlib.h>
#include <string.h>

enum { LAUNCHES = 1 << 16, NODES_BITS = 14, NODES = 1 << NODES_BITS };
enum { HELD_MAXIMUM = 1 << 16 }; /* of 250 bytes each */
#define EARLY_NS 50000 /* by so much CUPTI's times of devices may be off */

static struct launch {
  uint64_t correlation;
  int64_t start_ns;
} launches[LAUNCHES]; /* the last ones, by number */
static struct seen_node {
  uint64_t node, correlation;
} nodes[NODES]; /* that ran last, by hash */
static struct held_work *held;
static unsigned held_count, held_room;
static bool has_any;  /* of these, since the file began: the tables take memory only then */
static bool has_news; /* launches, since it was looked what waits for them */

void graph_links_begin(void) {
  if (has_any) memset(launches, 0, sizeof launches);
  if (has_any) memset(nodes, 0, sizeof nodes);
  held_count = 0;
  has_any = has_news = false;
}

void graph_links_end(void) {
  free(held);
  held = NULL;
  held_count = held_room = 0;
}

void graph_links_note_launch(uint64_t correlation, int64_t start_ns) {
  launches[correlation % LAUNCHES] = (struct launch){correlation, start_ns};
  has_any = has_news = true;
}

bool graph_links_is_repeated(const struct graph_work *work) {
  has_any = true;
  struct seen_node *seen = &nodes[hash_spread(work->node, NODES_BITS)];
  bool is_repeated = seen->node == work->node && seen->correlation == work->correlation;
  *seen = (struct seen_node){work->node, work->correlation};
  return is_repeated;
}

enum graph_link graph_links_judge(const struct graph_work *work) {
  const struct launch *launch = &launches[work->correlation % LAUNCHES];
  if (!work->correlation) return LINK_IS_WRONG;
  if (launch->correlation != work->correlation) return LINK_WAITS;
  bool has_times = work->start_ns != DEVICE_CLOCK_UNKNOWN && launch->start_ns != DEVICE_CLOCK_UNKNOWN;
  return has_times && work->start_ns < launch->start_ns - EARLY_NS ? LINK_IS_WRONG : LINK_HOLDS;
}

bool graph_links_hold(const struct held_work *work) {
  if (held_count >= HELD_MAXIMUM || !array_room(held, held_count, held_room)) return false;
  held[held_count++] = *work;
  return true;
}

bool graph_links_have_news(void) { return has_news && held_count; }

/* Without those that were taken, whose `bytes` are 0. */
static void close_gaps(void) {
  unsigned count = 0;
  for (unsigned i = 0; i < held_count; i++)
    if (held[i].bytes && count++ != i) held[count - 1] = held[i];
  held_count = count;
}

bool graph_links_take(unsigned *at, bool is_due, bool is_all, struct held_work *taken, enum graph_link *link) {
  for (; *at < held_count; ++*at) {
    struct held_work *one = &held[*at];
    if (!one->bytes) continue;
    *link = graph_links_judge(&one->work);
    bool has_waited = is_all || (is_due && one->is_old);
    one->is_old |= is_due;
    if (*link == LINK_WAITS && !has_waited) continue;
    if (*link == LINK_WAITS) *link = LINK_IS_WRONG;
    *taken = *one;
    one->bytes = 0;
    return true;
  }
  close_gaps();
  has_news = false;
  return false;
}
