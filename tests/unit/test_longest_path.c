/* test_longest_path.c: the longest path is as long as any that trying all of them finds, on small random graphs. */
#include "derive/time/longest_path.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t random_state = 88172645463325252u;
static uint32_t below(uint32_t bound) { /* xorshift64* */
  random_state ^= random_state >> 12;
  random_state ^= random_state << 25;
  random_state ^= random_state >> 27;
  return (uint32_t)((random_state * 2685821657736338717u >> 32) * bound >> 32);
}

static int64_t try_all(const struct path_edge *edges, uint32_t count, uint32_t node) {
  int64_t best = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (edges[i].from != node) continue;
    int64_t length = edges[i].weight + try_all(edges, count, edges[i].to);
    best = length > best ? length : best;
  }
  return best;
}

int main(void) {
  int failures = 0;
  struct path_search search = {0};
  for (unsigned round = 0; round < 20000 && failures < 10; round++) {
    uint32_t nodes = 1 + below(9), count = below(16), number[10], path[10], length;
    struct path_edge edges[17];
    for (uint32_t i = 0; i < nodes; i++) number[i] = i;
    for (uint32_t i = nodes; i > 1; i--) { /* an order that is not that of the numbers */
      uint32_t other = below(i), swap = number[i - 1];
      number[i - 1] = number[other];
      number[other] = swap;
    }
    uint32_t made = 0;
    for (uint32_t i = 0; i < count && nodes > 1; i++) {
      uint32_t from = below(nodes - 1), to = from + 1 + below(nodes - from - 1);
      edges[made++] = (struct path_edge){number[from], number[to], below(4)};
    }
    if (!longest_path(&search, edges, made, nodes, path, &length)) return 1;
    int64_t best = 0, sum = 0;
    for (uint32_t node = 0; node < nodes; node++) {
      int64_t found = try_all(edges, made, node);
      best = found > best ? found : best;
    }
    for (uint32_t i = 0; i < length; i++) {
      sum += edges[path[i]].weight;
      if (i && edges[path[i]].from != edges[path[i - 1]].to)
        failures++, printf("round %u: the path has a gap\n", round);
    }
    if (sum != best) failures++, printf("round %u: %lld instead of %lld\n", round, (long long)sum, (long long)best);
  }
  /* A circle, and what lies behind it, are on no path; what lies beside it is. */
  struct path_edge circle[] = {{0, 1, 5}, {1, 2, 5}, {2, 1, 5}, {2, 3, 50}, {4, 5, 1}};
  uint32_t path[6], length;
  if (!longest_path(&search, circle, 5, 6, path, &length)) return 1;
  if (length != 1 || path[0] != 4) failures++, printf("circle: %u edges, the first %u\n", length, path[0]);
  if (!longest_path(&search, NULL, 0, 0, path, &length) || length) failures++, printf("no nodes: %u edges\n", length);
  path_search_free(&search);
  return failures > 0;
}
