/* call_stacks.c: -output pprof: the code view as a profile of pprof, each node of the graph a sample.
**
** The stack of a sample is that of the displayed lines down to the innermost displayed one below which the node was
** made.  A location is a line and the function that it calls, as in TensorFlow's profiler: the outermost line calls the
** second one's function, so that the outermost function, mostly <module>, is none of the stack.  Functions of the
** gradient end in " (gradient)".  The nodes of lines that have displayed lines below them belong to no displayed leaf
** and are left out, as is all that -start, -trim and -show leave out with their lines.  A sample has its node's name as
** the label "graph node:", and two values: 1, and the selected metric, 0 where the node has none.
**
** Of a capture a location is a line and the function that it is in, which is what pprof -list shows, from the outermost
** on; and as lines there run ops as well as call functions that do, no node of a displayed line is left out.
**
** With -compat it is as in TensorFlow's profiler where that is mistaken: of functions of one name that one line calls,
** but that stand in several files, each is taken for the first of them; and the nodes of a line that calls others have
** no samples even where these others are hidden.
*/
#include <stdlib.h>
#include <string.h>

#include "classic/views/classic.h"
#include "write/pprof.h"

enum { ITEMS_BETWEEN_LOOKS = 1024, NO_ROW = UINT32_MAX };

struct stacks {
  const struct classic_result *result;
  struct pprof *pprof;
  int metric;
  uint32_t *rows;  /* of each item: the row that shows it; NO_ROW: hidden */
  uint32_t *stack; /* of each row: the node in the profile */
  uint8_t *is_leaf;
  struct pool *calls;       /* with -compat: what find_call() tells apart */
  uint32_t *call_locations; /* with -compat: of each call, 0: not met yet */
  uint8_t *is_calling;      /* with -compat: of each item, whether it has items below it */
};

static const struct {
  const char *unit, *comment;
} metrics[METRIC_count] = {
    [METRIC_bytes] = {"bytes", "Memory that was asked for, added up."},
    [METRIC_peak_bytes] = {"bytes", "The most memory that was held at once, added up."},
    [METRIC_residual_bytes] = {"bytes", "Memory that was still held at the end, added up."},
    [METRIC_output_bytes] = {"bytes", "Memory of the outputs, added up."},
    [METRIC_micros] = {"microseconds", "Times on accelerators and on the CPU, added up."},
    [METRIC_accelerator_micros] = {"microseconds", "Time on accelerators."},
    [METRIC_cpu_micros] = {"microseconds", "Time on the CPU."},
    [METRIC_params] = {"count", "Parameters."},
    [METRIC_float_ops] = {"count", "Floating point operations."},
};

/* The metric that is selected, alone. */
static enum tfprof_status find_metric(const struct classic_result *result, int *metric, struct tfprof_error *error) {
  int count = 0, selected = -1;
  if (result->view != CLASSIC_CODE)
    return error_set(error, TFPROF_USAGE, "-output pprof is for the code view: %s has no call stacks",
                     classic_view_names[result->view]);
  for (int i = 0; i < SELECT_count; i++) {
    if (!(result->options.selected & 1u << i)) continue;
    selected = i;
    count++;
  }
  if (count != 1)
    return error_set(error, TFPROF_USAGE, "-output pprof takes one metric, as in -select micros; -select names %d",
                     count);
  for (*metric = 0; *metric < METRIC_count; ++*metric) {
    if (metrics[*metric].unit && strcmp(classic_metric_names[*metric], classic_select_names[selected]) == 0)
      return TFPROF_OK;
  }
  return error_set(error, TFPROF_USAGE,
                   "-output pprof cannot show %s; it takes bytes, peak_bytes, residual_bytes, output_bytes, micros, "
                   "accelerator_micros, cpu_micros, params or float_ops",
                   classic_select_names[selected]);
}

/* "file:function": the file without its folder and ending; without a file the function alone. */
static char *function_name(const struct classic_model *model, uint32_t frame) {
  const struct classic_frame *f = &model->frames[frame / 2];
  const char *file = f->file ? pool_text(model->pool, f->file) : "", *slash = strrchr(file, '/');
  if (slash) file = slash + 1;
  const char *dot = strrchr(file, '.');
  char *name;
  if (!classic_name_without_file(model, f, frame & 1, &name) || name) return name;
  int length = asprintf(&name, "%.*s:%s%s", dot ? (int)(dot - file) : (int)strlen(file), file,
                        f->function ? pool_text(model->pool, f->function) : "", frame & 1 ? " (gradient)" : "");
  return length < 0 ? NULL : name;
}

/* What tells a location from others in TensorFlow's profiler: the calling line, and the bare name of what it calls. */
static enum tfprof_status find_call(struct stacks *stacks, uint32_t caller, uint32_t frame, string_id *call) {
  const struct classic_model *model = stacks->result->model;
  const struct classic_frame *from = &model->frames[caller / 2];
  char text[80];
  int length = snprintf(text, sizeof text, "%u:%lld:%u:%u", from->file, (long long)from->line,
                        model->frames[frame / 2].function, frame & 1);
  return pool_intern(stacks->calls, text, (size_t)length, call);
}

/* The place of a displayed line in the profile, below that of the displayed line around it. */
static enum tfprof_status add_stack_row(struct stacks *stacks, size_t row) {
  const struct classic_result *result = stacks->result;
  const struct classic_model *model = result->model;
  const struct classic_row *r = &result->rows[row];
  stacks->stack[row] = PPROF_ROOT;
  stacks->rows[r->item] = (uint32_t)row;
  stacks->is_leaf[row] = 1;
  if (r->parent < 0) return TFPROF_OK;
  stacks->is_leaf[r->parent] = 0;
  uint32_t caller = result->rows[r->parent].item, frame = result->frames[r->item], location;
  bool is_outermost = caller == result->item_count, is_capture = model->is_in_nanoseconds;
  if (is_outermost && !is_capture) return TFPROF_OK;
  const struct classic_frame *f = &model->frames[frame / 2];
  int64_t line = is_capture ? f->line : model->frames[result->frames[caller] / 2].line;
  enum tfprof_status status = TFPROF_OK;
  string_id call = 0;
  if (stacks->calls) status = find_call(stacks, result->frames[caller], frame, &call);
  if (status) return status;
  if (call && stacks->call_locations[call]) {
    location = stacks->call_locations[call];
  } else {
    char *name = function_name(model, frame);
    if (!name) return TFPROF_NO_MEMORY;
    int64_t first_line = is_capture && f->first_line < 0 ? 0 : f->first_line;
    status = pprof_location(stacks->pprof, name, f->file ? pool_text(model->pool, f->file) : NULL, first_line, line,
                            &location);
    free(name);
    if (call) stacks->call_locations[call] = location;
  }
  return status ? status : pprof_node(stacks->pprof, stacks->stack[r->parent], location, &stacks->stack[row]);
}

/* The samples of the nodes that an item made. */
static enum tfprof_status add_item(struct stacks *stacks, uint32_t item) {
  const struct classic_result *result = stacks->result;
  uint32_t first = result->member_first[item], last = result->member_first[item + 1], at = item;
  if (first == last || (stacks->is_calling && stacks->is_calling[item])) return TFPROF_OK;
  while (at != UINT32_MAX && stacks->rows[at] == NO_ROW) at = result->parents[at];
  if (at == UINT32_MAX || (!stacks->is_leaf[stacks->rows[at]] && !result->model->is_in_nanoseconds)) return TFPROF_OK;
  for (uint32_t i = first; i < last; i++) {
    const struct classic_node *node = &result->model->nodes[result->members[i]];
    const int64_t values[2] = {1, result->node_values[result->members[i]].of[stacks->metric]};
    enum tfprof_status status =
        pprof_labelled_sample(stacks->pprof, stacks->stack[stacks->rows[at]],
                              "graph node:", node->name ? pool_text(result->model->pool, node->name) : "", values);
    if (status) return status;
  }
  return TFPROF_OK;
}

enum tfprof_status classic_write_pprof(const struct classic_result *result, const char *path,
                                       struct tfprof_error *error) {
  struct store *store = result->model->store;
  struct stacks stacks = {.result = result};
  enum tfprof_status status = find_metric(result, &stacks.metric, error);
  if (status) return status;
  const struct pprof_type types[2] = {{"count", "count"},
                                      {classic_metric_names[stacks.metric], metrics[stacks.metric].unit}};
  status = pprof_create(&stacks.pprof, types, 2, 1, error);
  if (status) return status;
  stacks.rows = malloc(((size_t)result->item_count + 1) * sizeof *stacks.rows);
  stacks.stack = calloc(result->row_count + 1, sizeof *stacks.stack);
  stacks.is_leaf = calloc(result->row_count + 1, 1);
  if (result->options.integers[OPTION_compat] && !result->model->is_in_nanoseconds) {
    stacks.calls = pool_create();
    stacks.call_locations = calloc(result->row_count + 1, sizeof *stacks.call_locations);
    stacks.is_calling = calloc((size_t)result->item_count + 1, 1);
    if (!stacks.calls || !stacks.call_locations || !stacks.is_calling) status = error_no_memory(error);
    for (uint32_t i = 0; i < result->item_count && !status; i++) {
      if (result->parents[i] != UINT32_MAX) stacks.is_calling[result->parents[i]] = 1;
    }
  }
  if (!stacks.rows || !stacks.stack || !stacks.is_leaf) status = error_no_memory(error);
  if (!status) {
    memset(stacks.rows, 0xff, ((size_t)result->item_count + 1) * sizeof *stacks.rows);
    for (size_t row = 0; row < result->row_count && !status; row++)
      status = row % ITEMS_BETWEEN_LOOKS == 0 && store_interrupted(store) ? TFPROF_INTERRUPTED
                                                                          : add_stack_row(&stacks, row);
    for (uint32_t item = 0; item < result->item_count && !status; item++)
      status = item % ITEMS_BETWEEN_LOOKS == 0 && store_interrupted(store) ? TFPROF_INTERRUPTED
                                                                           : add_item(&stacks, item);
    if (!status) status = pprof_comment(stacks.pprof, metrics[stacks.metric].comment);
    if (status == TFPROF_INTERRUPTED)
      error_set(error, status, "interrupted");
    else if (status == TFPROF_NO_MEMORY)
      error_no_memory(error);
    else if (status)
      error_set(error, status, "more stacks than a profile of pprof can number");
  }
  if (!status) status = pprof_write(stacks.pprof, path, 0, 0, error);
  free(stacks.rows);
  free(stacks.stack);
  free(stacks.is_leaf);
  if (stacks.calls) pool_free(stacks.calls);
  free(stacks.call_locations);
  free(stacks.is_calling);
  pprof_free(stacks.pprof);
  return status;
}
