/* hlo_dot.c: see hlo_dot.h. */
#include "write/hlo_dot.h"

#include <stdlib.h>

#include "write/output_file.h"

enum { MAXIMUM_DEPTH = 64 };

struct drawing {
  const struct hlo_dot_graph *graph;
  struct output_file *file;
  uint32_t *first;      /* of each computation, its first node; one more behind the last */
  uint32_t *called;     /* of each node, the first computation that it calls; HLO_DOT_NONE */
  uint32_t *next_called; /* of each computation, the next one that the same node calls */
  uint32_t *roots;      /* of each computation; HLO_DOT_NONE */
  uint32_t computation_count;
  uint8_t *is_drawn;    /* of each node: enum mark */
  uint8_t *is_border;   /* it is drawn, and something beside it is not */
  uint64_t count;
};

static bool make_lists(struct drawing *d) {
  const struct hlo_dot_graph *graph = d->graph;
  uint32_t count = graph->node_count ? graph->nodes[graph->node_count - 1].computation + 1 : 0;
  d->computation_count = count;
  d->first = calloc(count + 1u, sizeof *d->first);
  d->next_called = calloc(count + 1u, sizeof *d->next_called);
  d->roots = calloc(count + 1u, sizeof *d->roots);
  d->called = calloc(graph->node_count + 1, sizeof *d->called);
  d->is_drawn = calloc(graph->node_count + 1, 1);
  d->is_border = calloc(graph->node_count + 1, 1);
  if (!d->first || !d->next_called || !d->roots || !d->called || !d->is_drawn || !d->is_border) return false;
  for (uint32_t c = 0; c <= count; c++) d->next_called[c] = d->roots[c] = HLO_DOT_NONE;
  for (size_t i = 0; i < graph->node_count; i++) d->called[i] = HLO_DOT_NONE;
  d->first[count] = (uint32_t)graph->node_count;
  for (uint32_t i = (uint32_t)graph->node_count; i-- > 0;) { /* backwards: lists are then in order */
    const struct hlo_dot_node *node = &graph->nodes[i];
    uint32_t c = node->computation;
    bool is_first = i == 0 || graph->nodes[i - 1].computation != c;
    if (node->is_root) d->roots[c] = i;
    if (!is_first) continue;
    d->first[c] = i;
    if (node->caller == HLO_DOT_NONE) continue;
    d->next_called[c] = d->called[node->caller];
    d->called[node->caller] = c;
  }
  return true;
}

static void free_lists(struct drawing *d) {
  free(d->first);
  free(d->next_called);
  free(d->roots);
  free(d->called);
  free(d->is_drawn);
  free(d->is_border);
}

/* ---- what is drawn ---- */

/* Edges that lead to a node. */
static const struct hlo_dot_edge *edges_to(const struct hlo_dot_graph *graph, uint32_t node, size_t *count) {
  size_t low = 0, high = graph->edge_count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (graph->edges[middle].to < node) low = middle + 1;
    else high = middle;
  }
  for (*count = 0; low + *count < graph->edge_count && graph->edges[low + *count].to == node;) ++*count;
  return graph->edges + low;
}

enum mark { MARK_NONE, MARK_DRAWN, MARK_NEW };

/* An edge between a node that is drawn and one that is not, which is drawn from the next round on; in the last round
** the drawn one is told to be at the border. */
static void follow(struct drawing *d, uint32_t inner, uint32_t outer, bool is_last, bool *is_new) {
  if (d->is_drawn[inner] != MARK_DRAWN || d->is_drawn[outer] != MARK_NONE) return;
  if (is_last) d->is_border[inner] = 1;
  else d->is_drawn[outer] = MARK_NEW;
  *is_new = true;
}

/* Marks those of the computation that are near the node; every round looks at all of its edges. */
static void mark_near(struct drawing *d, const struct hlo_dot_choice *choice) {
  uint32_t first = d->first[choice->computation], end = d->first[choice->computation + 1];
  bool is_new = true;
  d->is_drawn[choice->node] = MARK_DRAWN;
  for (uint32_t hop = 0; hop <= choice->hops && is_new; hop++) {
    is_new = false;
    for (uint32_t node = first; node < end; node++) {
      size_t count;
      const struct hlo_dot_edge *edges = edges_to(d->graph, node, &count);
      for (size_t i = 0; i < count; i++) {
        if (edges[i].from == HLO_DOT_NONE) continue;
        follow(d, node, edges[i].from, hop == choice->hops, &is_new);
        follow(d, edges[i].from, node, hop == choice->hops, &is_new);
      }
    }
    for (uint32_t node = first; node < end; node++) d->is_drawn[node] = d->is_drawn[node] != MARK_NONE;
  }
}

/* Whether what the node calls is drawn: reductions and the like apply a few instructions, which say little. */
static bool shows_called(const struct hlo_dot_node *node) { return node->is_fusion || node->runs_others; }

static void mark_inside(struct drawing *d, uint32_t computation, unsigned depth) {
  for (uint32_t node = d->first[computation]; node < d->first[computation + 1]; node++) {
    if (!d->is_drawn[node]) continue;
    d->count++;
    if (!shows_called(&d->graph->nodes[node]) || depth == MAXIMUM_DEPTH) continue;
    for (uint32_t c = d->called[node]; c != HLO_DOT_NONE; c = d->next_called[c]) {
      memset(d->is_drawn + d->first[c], 1, d->first[c + 1] - d->first[c]);
      mark_inside(d, c, depth + 1);
    }
  }
}

/* ---- writing ---- */

/* The label of a node, within quotes. */
static void put_dot_text(struct output_file *file, const char *text) {
  for (const char *start = text;; text++) {
    if (*text && *text != '"' && *text != '\\' && *text != '\n') continue;
    output_bytes(file, start, (size_t)(text - start));
    if (!*text) return;
    if (*text == '\n') output_text(file, "\\n");
    else output_format(file, "\\%c", *text);
    start = text + 1;
  }
}

static void put_heat(struct output_file *file, double heat) {
  if (heat < 0) return;
  output_format(file, ", fillcolor=\"0.04 %.3f 1.000\"", heat > 1 ? 1 : heat);
}

/* The fusion's own root stands for what it makes. */
static uint32_t end_from(const struct drawing *d, uint32_t node) {
  for (unsigned depth = 0; depth < MAXIMUM_DEPTH && d->graph->nodes[node].is_fusion; depth++) {
    uint32_t c = d->called[node];
    if (c == HLO_DOT_NONE || d->roots[c] == HLO_DOT_NONE || !d->is_drawn[d->roots[c]]) break;
    node = d->roots[c];
  }
  return node;
}

/* And its parameter for what it takes. */
static uint32_t end_to(const struct drawing *d, uint32_t node, uint32_t position) {
  uint32_t c = d->graph->nodes[node].is_fusion ? d->called[node] : HLO_DOT_NONE;
  for (uint32_t i = c == HLO_DOT_NONE ? 0 : d->first[c]; c != HLO_DOT_NONE && i < d->first[c + 1]; i++) {
    if (d->graph->nodes[i].parameter == (int64_t)position && d->is_drawn[i]) return i;
  }
  return node;
}

static void draw_computation(struct drawing *d, uint32_t computation, unsigned depth);

static void indent(struct drawing *d, unsigned depth) { output_format(d->file, "%*s", 2 * (int)(depth + 1), ""); }

/* Whether the node is drawn as what is in it. */
static bool is_cluster(const struct drawing *d, uint32_t node) { return end_from(d, node) != node; }

static void draw_cluster(struct drawing *d, uint32_t node, uint32_t computation, const char *title, unsigned depth) {
  const struct hlo_dot_node *its = &d->graph->nodes[node];
  indent(d, depth);
  output_format(d->file, "subgraph cluster_%u {\n", computation);
  indent(d, depth + 1);
  output_text(d->file, "label=\"");
  put_dot_text(d->file, title);
  output_text(d->file, its->is_fusion ? "\"; style=filled; color=gray50" : "\"; style=dashed; color=gray50");
  if (its->is_fusion) output_format(d->file, "; fillcolor=\"0.04 %.3f 1.000\"", its->heat > 0 ? its->heat / 2 : 0.0);
  output_text(d->file, ";\n");
  draw_computation(d, computation, depth + 1);
  indent(d, depth);
  output_text(d->file, "}\n");
}

static void draw_node(struct drawing *d, uint32_t node, unsigned depth) {
  const struct hlo_dot_node *its = &d->graph->nodes[node];
  if (is_cluster(d, node)) {
    draw_cluster(d, node, d->called[node], its->title, depth);
    return;
  }
  indent(d, depth);
  output_format(d->file, "n%u [label=\"", node);
  put_dot_text(d->file, its->label);
  output_text(d->file, "\"");
  put_heat(d->file, its->heat);
  if (d->is_border[node]) output_text(d->file, ", style=\"filled,dashed\"");
  output_text(d->file, its->is_root ? ", penwidth=2];\n" : "];\n");
  for (uint32_t c = its->runs_others ? d->called[node] : HLO_DOT_NONE; c != HLO_DOT_NONE; c = d->next_called[c]) {
    uint32_t root = d->roots[c];
    draw_cluster(d, node, c, its->title, depth);
    if (root == HLO_DOT_NONE || !d->is_drawn[root]) continue;
    indent(d, depth);
    output_format(d->file, "n%u -> n%u [style=dashed];\n", node, end_from(d, root));
  }
}

static void draw_computation(struct drawing *d, uint32_t computation, unsigned depth) {
  if (depth > 2 * MAXIMUM_DEPTH) return;
  for (uint32_t node = d->first[computation]; node < d->first[computation + 1]; node++) {
    if (d->is_drawn[node]) draw_node(d, node, depth);
  }
}

static void draw_edges(struct drawing *d) {
  for (size_t i = 0; i < d->graph->edge_count; i++) {
    const struct hlo_dot_edge *edge = &d->graph->edges[i];
    if (edge->from == HLO_DOT_NONE || !d->is_drawn[edge->from] || !d->is_drawn[edge->to]) continue;
    output_format(d->file, "  n%u -> n%u;\n", end_from(d, edge->from), end_to(d, edge->to, edge->position));
  }
}

static void draw(struct drawing *d, uint32_t computation) {
  output_text(d->file, "digraph hlo {\n  graph [labelloc=t, fontname=\"Helvetica\", label=\"");
  put_dot_text(d->file, d->graph->title);
  output_text(d->file, "\"];\n  node [shape=box, style=filled, fillcolor=white, fontname=\"Helvetica\"];\n");
  output_text(d->file, "  edge [color=gray40];\n");
  draw_computation(d, computation, 0);
  draw_edges(d);
  output_text(d->file, "}\n");
}

enum tfprof_status hlo_dot_write(const struct hlo_dot_graph *graph, const struct hlo_dot_choice *choice,
                                 const char *path, uint64_t *drawn, struct tfprof_error *error) {
  struct drawing d = {.graph = graph};
  enum tfprof_status status = make_lists(&d) ? TFPROF_OK : error_no_memory(error);
  if (!status) {
    uint32_t first = d.first[choice->computation], end = d.first[choice->computation + 1];
    if (choice->node == HLO_DOT_NONE) memset(d.is_drawn + first, 1, end - first);
    else mark_near(&d, choice);
    mark_inside(&d, choice->computation, 0);
    if (d.count > HLO_DOT_MAXIMUM)
      status = error_set(error, TFPROF_LIMIT,
                         "these are %llu instructions, and no viewer draws more than %d; name one of them, and how "
                         "many edges around it", (unsigned long long)d.count, HLO_DOT_MAXIMUM);
  }
  if (!status) status = output_open(&d.file, path, false, error);
  if (!status) {
    draw(&d, choice->computation);
    status = output_commit(d.file, error);
  }
  *drawn = d.count;
  free_lists(&d);
  return status;
}
