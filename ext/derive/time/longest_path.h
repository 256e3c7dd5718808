/* longest_path.h: the longest path through a directed graph without circles. */
#ifndef TFPROF_DERIVE_LONGEST_PATH_H
#define TFPROF_DERIVE_LONGEST_PATH_H

#include "derive/rows.h"

struct path_edge {
  uint32_t from, to;
  int64_t weight; /* not negative */
};

/* The memory of a search, for one after the other: begins as {0}. */
struct path_search {
  uint32_t nodes, edges;  /* that there is room for */
  uint32_t *first_edge;   /* by node, and one more: place in `out` */
  uint32_t *out;          /* edges by the node that they leave */
  uint32_t *missing;      /* by node: edges that lead to it from nodes that are not done */
  uint32_t *best_edge;    /* by node: the last edge of the longest way to it; NO_ROW: it begins there */
  int64_t *distance;      /* by node: its length */
  uint32_t *ready;        /* nodes in topological order */
};
void path_search_free(struct path_search *search);

/* The edges of a path of the largest sum of weights, in their order: path[0 ... *length - 1] are numbers of edges; it
** has room for `nodes`.  A path may begin and end anywhere.  Of paths of the same length one that ends at the node of
** the lowest number, and at each node of the edges that lead to it the first, is taken.  Edges within or behind a
** circle, as only a damaged source makes them, are on no path.  Linear in nodes and edges: nodes in topological order
** (Kahn, "Topological sorting of large networks", CACM 1962), each told how long the longest way to it is.
** False: no memory. */
bool longest_path(struct path_search *search, const struct path_edge *edges, uint32_t edge_count, uint32_t nodes,
                  uint32_t *path, uint32_t *length);

#endif
