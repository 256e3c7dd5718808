/* longest_path.h: the longest path through a directed graph without circles. */
#ifndef TFPROF_DERIVE_LONGEST_PATH_H
#define TFPROF_DERIVE_LONGEST_PATH_H

#include "derive/rows.h"

struct path_edge {
  uint32_t from, to;
  int64_t weight; /* not negative */
};

/* The edges of a path of the largest sum of weights, in their order: path[0 ... *length - 1] are numbers of edges; it
** has room for `nodes`.  A path may begin and end anywhere.  Of paths of the same length one that ends at the node of
** the lowest number, and at each node of the edges that lead to it the first, is taken.  Edges within or behind a
** circle, as only a damaged source makes them, are on no path.  Linear in nodes and edges: nodes in topological order
** (Kahn, "Topological sorting of large networks", CACM 1962), each told how long the longest way to it is. */
enum tfprof_status longest_path(const struct path_edge *edges, uint32_t edge_count, uint32_t nodes, uint32_t *path,
                                uint32_t *length, struct tfprof_error *error);

#endif
