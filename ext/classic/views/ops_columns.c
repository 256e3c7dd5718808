/* ops_columns.c: columns of a profile as plain lists, and what the text of shapes says.  See ops_graph.h. */
#include <stdlib.h>
#include <string.h>

#include "classic/views/ops_graph.h"

/* ---- columns ---- */

enum tfprof_status ops_graph_require(struct ops_graph *graph, unsigned table, const uint16_t *columns, size_t count) {
  struct column_set set = {{0, 0}};
  for (size_t i = 0; i < count; i++) column_set_add(&set, columns[i]);
  return profile_require(graph->profile, table, &set, graph->error);
}

enum tfprof_status ops_graph_texts(struct ops_graph *graph, unsigned table, unsigned column, string_id **texts) {
  const struct profile_table *content = &graph->profile->tables[table];
  uint32_t rows;
  enum tfprof_status status = derive_row_count(graph->profile, table, &rows, graph->error);
  if (status) return status;
  string_id *all = *texts = calloc((size_t)rows + 1, sizeof *all);
  if (!all) return error_no_memory(graph->error);
  for (size_t s = 0; s < content->segment_count; s++) {
    const struct segment *segment = content->segments[s];
    for (uint32_t first = 0; first < segment->rows; first += ROWS_BLOCK) {
      uint32_t count = derive_block_rows(segment, first);
      derive_texts(segment->columns[column], first, count, all + segment->first_row + first);
    }
  }
  return derive_poll(graph->profile, graph->error);
}

/* ---- shapes ---- */

/* The next element of a JSON list of texts, without its quotes; NULL: there is none. */
static const char *next_text(const char *at, const char **text, size_t *length) {
  if (!at || !(at = strchr(at, '"'))) return NULL;
  const char *end = strchr(at + 1, '"');
  if (!end) return NULL;
  *text = at + 1;
  *length = (size_t)(end - at - 1);
  return end + 1;
}

static bool is_tensor_type(const char *type, size_t length) {
  static const char *const others[] = {"", "Scalar", "ScalarList", "None", "Device", "String"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strlen(others[i]) == length && memcmp(others[i], type, length) == 0) return false;
  return true;
}

/* One shape, from behind its bracket: "2,3]" -> "2x3". Returns where it ends. */
static const char *shape_text(const char *at, char *to, size_t size, size_t *length) {
  size_t used = 0;
  for (; *at && *at != ']' && *at != '['; at++) {
    if (*at == ' ') continue;
    if (used + 1 < size) to[used++] = *at == ',' ? 'x' : *at;
  }
  if (used == 0) to[used++] = '1';
  to[used] = '\0';
  *length = used;
  return at;
}

enum tfprof_status ops_graph_shapes(struct ops_graph *graph, string_id shapes, string_id types,
                                    enum tfprof_status (*take)(void *context, int32_t place, const char *shape,
                                                               size_t length),
                                    void *context) {
  const char *at = shapes ? pool_text(graph->pool, shapes) : "", *kinds = types ? pool_text(graph->pool, types) : NULL;
  enum tfprof_status status = TFPROF_OK;
  int32_t place = -1;
  int depth = 0;
  char shape[200];
  for (; *at && !status; at++) {
    if (*at == ']') depth--;
    if (*at != '[') continue;
    if (++depth == 1) continue;
    bool is_tensor = true;
    const char *type = NULL;
    size_t length;
    if (depth == 2) {
      place++;
      kinds = next_text(kinds, &type, &length);
      is_tensor = kinds ? is_tensor_type(type, length) : at[1] != ']';
    }
    const char *end = at + 1 + strspn(at + 1, " ");
    if (*end == '[' || !is_tensor) continue; /* a list of tensors: each of them; or none */
    end = shape_text(at + 1, shape, sizeof shape, &length);
    status = take(context, place, shape, length);
    at = end - 1;
  }
  return status;
}
