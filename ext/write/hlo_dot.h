/* hlo_dot.h: instructions of XLA as a graph for Graphviz (dot).
**
**   node       an instruction: name, opcode, what it makes, the line of the program, what it took
**   cluster    a fusion, in which what is in it is drawn; and what a loop, a call or a condition runs, which a dashed
**              edge leads to
**   edge       from what makes a value to what takes it: into a fusion to its parameter, out of it from its root
**   colour     the redder, the larger a share of the whole it took
**
** Instructions are given in the order of their rows: those of one computation follow one another.
*/
#ifndef TFPROF_WRITE_HLO_DOT_H
#define TFPROF_WRITE_HLO_DOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { HLO_DOT_NONE = UINT32_MAX, HLO_DOT_MAXIMUM = 5000 /* instructions; more, no viewer lays out */ };

struct hlo_dot_node {
  char *label;           /* lines parted by '\n'; owned by the caller, as `title` */
  char *title;           /* one line, of a cluster */
  uint32_t computation;  /* numbers grow by 1 from one to the next */
  uint32_t caller;       /* of its computation: a node; HLO_DOT_NONE */
  int64_t parameter;     /* -1: it is none */
  bool is_root, is_fusion, is_entry;
  bool runs_others;      /* loops, calls, conditions: what they run is drawn beside them */
  double heat;           /* 0 to 1; below 0: not known */
};
struct hlo_dot_edge {
  uint32_t from, to; /* nodes; from may be HLO_DOT_NONE */
  uint32_t position; /* among the operands of `to` */
};
struct hlo_dot_graph {
  const struct hlo_dot_node *nodes;
  const struct hlo_dot_edge *edges; /* in the order of `to` */
  size_t node_count, edge_count;
  const char *title;
};

/* What of the graph is drawn. */
struct hlo_dot_choice {
  uint32_t computation; /* with all that is in it */
  uint32_t node;        /* or HLO_DOT_NONE: of the computation only this node and what is near it */
  uint32_t hops;        /* so many edges away, in either direction */
};

/* Writes the file; *drawn is how many instructions are in it. TFPROF_LIMIT: more than HLO_DOT_MAXIMUM; TFPROF_IO as
** output_open(). */
enum tfprof_status hlo_dot_write(const struct hlo_dot_graph *graph, const struct hlo_dot_choice *choice,
                                 const char *path, uint64_t *drawn, struct tfprof_error *error);

#endif
