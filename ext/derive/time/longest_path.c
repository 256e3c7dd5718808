/* longest_path.c: see longest_path.h. */
#include "derive/time/longest_path.h"

#include <assert.h>
#include <string.h>

void path_search_free(struct path_search *s) {
  scratch_free(s->first_edge);
  scratch_free(s->out);
  scratch_free(s->missing);
  scratch_free(s->best_edge);
  scratch_free(s->distance);
  scratch_free(s->ready);
  memset(s, 0, sizeof *s);
}

static bool make_room(struct path_search *s, uint32_t edges, uint32_t nodes) {
  if (s->first_edge && nodes <= s->nodes && edges <= s->edges) return true;
  path_search_free(s);
  size_t node_room = (size_t)nodes + nodes / 2 + 2, edge_room = (size_t)edges + edges / 2 + 1;
  s->first_edge = scratch_allocate((node_room + 1) * sizeof *s->first_edge);
  s->out = scratch_allocate(edge_room * sizeof *s->out);
  s->missing = scratch_allocate(node_room * sizeof *s->missing);
  s->best_edge = scratch_allocate(node_room * sizeof *s->best_edge);
  s->distance = scratch_allocate(node_room * sizeof *s->distance);
  s->ready = scratch_allocate(node_room * sizeof *s->ready);
  s->nodes = (uint32_t)node_room - 2;
  s->edges = (uint32_t)edge_room - 1;
  if (s->first_edge && s->out && s->missing && s->best_edge && s->distance && s->ready) return true;
  path_search_free(s);
  return false;
}

static bool begin_search(struct path_search *s, const struct path_edge *edges, uint32_t edge_count, uint32_t nodes) {
  if (!make_room(s, edge_count, nodes)) return false;
  memset(s->first_edge, 0, ((size_t)nodes + 2) * sizeof *s->first_edge);
  memset(s->missing, 0, ((size_t)nodes + 1) * sizeof *s->missing);
  memset(s->distance, 0, ((size_t)nodes + 1) * sizeof *s->distance);
  memset(s->best_edge, 0xff, ((size_t)nodes + 1) * sizeof *s->best_edge); /* NO_ROW */
  for (uint32_t i = 0; i < edge_count; i++) {
    assert(edges[i].from < nodes && edges[i].to < nodes && edges[i].weight >= 0);
    s->first_edge[edges[i].from + 2]++;
    s->missing[edges[i].to]++;
  }
  for (uint32_t node = 1; node < nodes; node++) s->first_edge[node + 2] += s->first_edge[node + 1];
  for (uint32_t i = 0; i < edge_count; i++) s->out[s->first_edge[edges[i].from + 1]++] = i;
  return true;
}

bool longest_path(struct path_search *s, const struct path_edge *edges, uint32_t edge_count, uint32_t nodes,
                  uint32_t *path, uint32_t *length) {
  *length = 0;
  if (!begin_search(s, edges, edge_count, nodes)) return false;
  uint32_t ready = 0, last = NO_ROW;
  for (uint32_t node = 0; node < nodes; node++) {
    if (!s->missing[node]) s->ready[ready++] = node;
  }
  for (uint32_t i = 0; i < ready; i++) {
    uint32_t node = s->ready[i];
    bool is_longer = last == NO_ROW || s->distance[node] > s->distance[last];
    if (is_longer || (s->distance[node] == s->distance[last] && node < last)) last = node;
    for (uint32_t k = s->first_edge[node]; k < s->first_edge[node + 1]; k++) {
      const struct path_edge *edge = &edges[s->out[k]];
      int64_t distance = (int64_t)((uint64_t)s->distance[node] + (uint64_t)edge->weight);
      uint32_t known = s->best_edge[edge->to];
      if (known == NO_ROW || distance > s->distance[edge->to] ||
          (distance == s->distance[edge->to] && s->out[k] < known)) {
        s->distance[edge->to] = distance;
        s->best_edge[edge->to] = s->out[k];
      }
      if (--s->missing[edge->to] == 0) s->ready[ready++] = edge->to;
    }
  }
  for (uint32_t node = last; node != NO_ROW && s->best_edge[node] != NO_ROW; node = edges[s->best_edge[node]].from)
    path[(*length)++] = s->best_edge[node];
  for (uint32_t i = 0; i < *length / 2; i++) {
    uint32_t swap = path[i];
    path[i] = path[*length - 1 - i];
    path[*length - 1 - i] = swap;
  }
  return true;
}
