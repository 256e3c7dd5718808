/* longest_path.c: see longest_path.h. */
#include "derive/longest_path.h"

#include <stdlib.h>

struct graph {
  uint32_t *first_edge; /* by node, and one more: place in `out` */
  uint32_t *out;        /* edges by the node that they leave */
  uint32_t *missing;    /* by node: edges that lead to it from nodes that are not done */
  uint32_t *best_edge;  /* by node: the last edge of the longest way to it; NO_ROW: it begins there */
  int64_t *distance;    /* by node: its length */
  uint32_t *ready;      /* nodes in topological order */
};

static void graph_free(struct graph *g) {
  free(g->first_edge);
  free(g->out);
  free(g->missing);
  free(g->best_edge);
  free(g->distance);
  free(g->ready);
}

static bool graph_make(struct graph *g, const struct path_edge *edges, uint32_t edge_count, uint32_t nodes) {
  g->first_edge = calloc((size_t)nodes + 2, sizeof *g->first_edge);
  g->out = malloc(((size_t)edge_count + 1) * sizeof *g->out);
  g->missing = calloc((size_t)nodes + 1, sizeof *g->missing);
  g->best_edge = malloc(((size_t)nodes + 1) * sizeof *g->best_edge);
  g->distance = calloc((size_t)nodes + 1, sizeof *g->distance);
  g->ready = malloc(((size_t)nodes + 1) * sizeof *g->ready);
  if (!g->first_edge || !g->out || !g->missing || !g->best_edge || !g->distance || !g->ready) return false;
  for (uint32_t i = 0; i < edge_count; i++) {
    g->first_edge[edges[i].from + 2]++;
    g->missing[edges[i].to]++;
  }
  for (uint32_t node = 0; node < nodes; node++) {
    g->first_edge[node + 2] += node ? g->first_edge[node + 1] : 0;
    g->best_edge[node] = NO_ROW;
  }
  for (uint32_t i = 0; i < edge_count; i++) g->out[g->first_edge[edges[i].from + 1]++] = i;
  return true;
}

enum tfprof_status longest_path(const struct path_edge *edges, uint32_t edge_count, uint32_t nodes, uint32_t *path,
                                uint32_t *length, struct tfprof_error *error) {
  struct graph g;
  *length = 0;
  if (!graph_make(&g, edges, edge_count, nodes)) {
    graph_free(&g);
    return error_no_memory(error);
  }
  uint32_t ready = 0, last = NO_ROW;
  for (uint32_t node = 0; node < nodes; node++) {
    if (!g.missing[node]) g.ready[ready++] = node;
  }
  for (uint32_t i = 0; i < ready; i++) {
    uint32_t node = g.ready[i];
    bool is_longer = last == NO_ROW || g.distance[node] > g.distance[last];
    if (is_longer || (g.distance[node] == g.distance[last] && node < last)) last = node;
    for (uint32_t k = g.first_edge[node]; k < g.first_edge[node + 1]; k++) {
      const struct path_edge *edge = &edges[g.out[k]];
      int64_t distance = (int64_t)((uint64_t)g.distance[node] + (uint64_t)edge->weight);
      uint32_t known = g.best_edge[edge->to];
      if (known == NO_ROW || distance > g.distance[edge->to] ||
          (distance == g.distance[edge->to] && g.out[k] < known)) {
        g.distance[edge->to] = distance;
        g.best_edge[edge->to] = g.out[k];
      }
      if (--g.missing[edge->to] == 0) g.ready[ready++] = edge->to;
    }
  }
  for (uint32_t node = last; node != NO_ROW && g.best_edge[node] != NO_ROW; node = edges[g.best_edge[node]].from)
    path[(*length)++] = g.best_edge[node];
  for (uint32_t i = 0; i < *length / 2; i++) {
    uint32_t swap = path[i];
    path[i] = path[*length - 1 - i];
    path[*length - 1 - i] = swap;
  }
  graph_free(&g);
  return TFPROF_OK;
}
