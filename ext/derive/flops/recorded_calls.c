/* recorded_calls.c: see recorded_calls.h.  Rows of a step lie together, as readers of steps make them; what a node gave
** in the step goes before what the graph says of it. */
#include "derive/flops/recorded_calls.h"

#include "base/list.h"

#include <stdlib.h>
#include <string.h>

static enum tfprof_status read_texts(const struct profile *profile, unsigned table, unsigned column, uint32_t rows,
                                     string_id **texts, struct tfprof_error *error) {
  struct row_block block = {0};
  enum tfprof_status status = TFPROF_OK;
  *texts = scratch_allocate_zeroed((size_t)rows + 1, sizeof **texts);
  if (!*texts) return error_no_memory(error);
  while (derive_next_block(profile, table, &block, &status, error)) block_texts(&block, column, *texts + block.row);
  return status;
}

static enum tfprof_status find_names(struct recorded_calls *calls, struct tfprof_error *error) {
  string_id *names = NULL;
  enum tfprof_status status =
      read_texts(calls->profile, TABLE_nodes, COLUMN_nodes_name, calls->node_count, &names, error);
  calls->named_count = pool_count(store_pool(calls->profile->store)) + 1;
  calls->named = scratch_allocate((size_t)calls->named_count * sizeof *calls->named);
  if (!status && !calls->named) status = error_no_memory(error);
  for (uint32_t i = 0; i < calls->named_count && !status; i++) calls->named[i] = NO_ROW;
  for (uint32_t i = 0; i < calls->node_count && !status; i++) {
    if (names[i] && names[i] < calls->named_count) calls->named[names[i]] = i;
  }
  scratch_free(names);
  return status;
}

enum tfprof_status recorded_calls_make(struct recorded_calls *calls, const struct profile *profile,
                                       struct tfprof_error *error) {
  *calls = (struct recorded_calls){.profile = profile};
  enum tfprof_status status = derive_row_count(profile, TABLE_nodes, &calls->node_count, error);
  if (!status) status = derive_row_count(profile, TABLE_node_steps, &calls->row_count, error);
  if (!status)
    status = derive_all_references(profile, TABLE_node_steps, COLUMN_node_steps_node_id, &calls->nodes, error);
  if (!status)
    status = derive_all_references(profile, TABLE_node_steps, COLUMN_node_steps_step_id, &calls->steps, error);
  if (!status)
    status = read_texts(profile, TABLE_node_steps, COLUMN_node_steps_recorded_call, calls->row_count, &calls->calls,
                        error);
  if (!status)
    status = read_texts(profile, TABLE_node_steps, COLUMN_node_steps_output_shapes, calls->row_count, &calls->outputs,
                        error);
  if (!status)
    status = read_texts(profile, TABLE_nodes, COLUMN_nodes_output_shapes, calls->node_count, &calls->graph_outputs,
                        error);
  calls->step_outputs = scratch_allocate_zeroed((size_t)calls->node_count + 1, sizeof *calls->step_outputs);
  if (!status && !calls->step_outputs) status = error_no_memory(error);
  return status ? status : find_names(calls, error);
}

void recorded_calls_free(struct recorded_calls *calls) {
  scratch_free(calls->nodes);
  scratch_free(calls->steps);
  scratch_free(calls->calls);
  scratch_free(calls->outputs);
  scratch_free(calls->graph_outputs);
  scratch_free(calls->step_outputs);
  scratch_free(calls->named);
  free(calls->text);
}

static bool is_of_node(const struct recorded_calls *calls, uint32_t row) {
  return calls->nodes[row] < calls->node_count;
}

uint32_t recorded_calls_next_step(struct recorded_calls *calls, uint32_t first) {
  uint32_t end = first;
  /* What the step before gave, which ends where this one begins. */
  for (uint32_t row = first; row > 0 && calls->steps[row - 1] == calls->steps[first - 1]; row--) {
    if (is_of_node(calls, row - 1)) calls->step_outputs[calls->nodes[row - 1]] = 0;
  }
  for (; end < calls->row_count && calls->steps[end] == calls->steps[first]; end++) {
    if (is_of_node(calls, end)) calls->step_outputs[calls->nodes[end]] = calls->outputs[end];
  }
  return end;
}

struct flops_text recorded_text(const struct recorded_calls *calls, string_id id) {
  const struct pool *pool = store_pool(calls->profile->store);
  return (struct flops_text){pool_text(pool, id), id ? pool_length(pool, id) : 0};
}

struct flops_text recorded_call_op(const struct recorded_calls *calls, uint32_t row) {
  struct flops_text call = recorded_text(calls, calls->calls[row]);
  const char *open = call.bytes ? memchr(call.bytes, '(', call.length) : NULL;
  if (!open) return (struct flops_text){0};
  return (struct flops_text){call.bytes, (size_t)(open - call.bytes)};
}

/* Lists of shapes that are longer are not looked through: nothing that is counted takes from so many outputs. */
enum { LONGEST_LIST = 4096 };

/* The shape of what "name:2" stands for; null where that is not known. */
static struct flops_text shape_of_input(const struct recorded_calls *calls, const char *input, size_t length) {
  static const struct flops_text unknown = {"null", 4};
  const char *colon = memrchr(input, ':', length);
  size_t name_length = colon ? (size_t)(colon - input) : length;
  unsigned output = 0;
  for (const char *at = colon ? colon + 1 : input + length; at < input + length; at++) {
    if (*at < '0' || *at > '9' || output > 100000) return unknown;
    output = output * 10 + (unsigned)(*at - '0');
  }
  string_id name = pool_find(store_pool(calls->profile->store), input, name_length);
  uint32_t node = name && name < calls->named_count ? calls->named[name] : NO_ROW;
  if (node == NO_ROW) return unknown;
  string_id shapes = calls->step_outputs[node] ? calls->step_outputs[node] : calls->graph_outputs[node];
  struct flops_text shape;
  if (!shapes || recorded_text(calls, shapes).length > LONGEST_LIST) return unknown;
  return flops_element(recorded_text(calls, shapes), output, &shape) && shape.length ? shape : unknown;
}

static bool append(struct recorded_calls *calls, size_t *length, const char *bytes, size_t count) {
  if (!array_reserve(calls->text, calls->text_size, *length + count)) return false;
  memcpy(calls->text + *length, bytes, count);
  *length += count;
  return true;
}

struct flops_text recorded_call_inputs(struct recorded_calls *calls, uint32_t row) {
  struct flops_text call = recorded_text(calls, calls->calls[row]);
  const char *at = call.bytes ? memchr(call.bytes, '(', call.length) : NULL, *end = call.bytes + call.length;
  size_t length = 0, inputs = 0;
  bool ok = append(calls, &length, "[", 1);
  if (at) at++, end--; /* within the parentheses */
  while (ok && at && at < end) {
    const char *last = memchr(at, ',', (size_t)(end - at));
    if (!last) last = end;
    while (at < last && *at == ' ') at++;
    if (at < last && *at != '^') {
      struct flops_text shape = shape_of_input(calls, at, (size_t)(last - at));
      ok = (!inputs++ || append(calls, &length, ",", 1)) && append(calls, &length, shape.bytes, shape.length);
    }
    at = last + 1;
  }
  ok = ok && append(calls, &length, "]", 1);
  return ok ? (struct flops_text){calls->text, length} : (struct flops_text){0};
}
