/* lines.c: the text of the views, in the layout of TensorFlow 2. */
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

#include "classic/views/classic.h"
#include "write/json_text.h"

/* ---- numbers ---- */

/* Room for a number with its unit; what writes one returns where its text ends. */
enum { NUMBER_SIZE = 40 };

static char *printed(char *to, int length) { return to + (length > 0 ? length : 0); }

/* Most numbers are small; printf would take longer than everything else. */
static char *small_text(int64_t value, const char *unit, char *to) {
  if (value < 0 || value > 999) return printed(to, snprintf(to, NUMBER_SIZE, "%lld%s", (long long)value, unit));
  if (value > 99) *to++ = (char)('0' + value / 100);
  if (value > 9) *to++ = (char)('0' + value / 10 % 10);
  *to++ = (char)('0' + value % 10);
  return stpcpy(to, unit);
}

static char *scaled_text(double value, const char *unit, char *to) {
  return printed(to, snprintf(to, NUMBER_SIZE, "%.2f%s", value, unit));
}

static char *number_text(int64_t value, char *to) {
  if (value < 1000) return small_text(value, "", to);
  if (value < 1000000) return scaled_text((double)value / 1e3, "k", to);
  return value < 1000000000 ? scaled_text((double)value / 1e6, "m", to) : scaled_text((double)value / 1e9, "b", to);
}

static char *time_text(int64_t micros, char *to) {
  if (micros < 1000) return small_text(micros, "us", to);
  return micros < 1000000 ? scaled_text((double)micros / 1e3, "ms", to) : scaled_text((double)micros / 1e6, "sec", to);
}

static char *bytes_text(int64_t bytes, char *to) {
  if (bytes < 1000) return small_text(bytes, "B", to);
  return bytes < 1000000 ? scaled_text((double)bytes / 1e3, "KB", to) : scaled_text((double)bytes / 1e6, "MB", to);
}

static char *metric_text(int metric, int64_t value, char *to) {
  if (metric <= METRIC_output_bytes) return bytes_text(value, to);
  return metric <= METRIC_cpu_micros ? time_text(value, to) : number_text(value, to);
}

/* ---- what is selected, in the order in which it is written ---- */

struct part {
  int8_t metric; /* -1: none */
  const char *legend;
};
static const struct part parts[SELECT_count] = {
    [SELECT_bytes] = {METRIC_bytes, "requested bytes"},
    [SELECT_peak_bytes] = {METRIC_peak_bytes, "peak bytes"},
    [SELECT_residual_bytes] = {METRIC_residual_bytes, "residual bytes"},
    [SELECT_output_bytes] = {METRIC_output_bytes, "output bytes"},
    [SELECT_micros] = {METRIC_micros, "total execution time"},
    [SELECT_accelerator_micros] = {METRIC_accelerator_micros, "accelerator execution time"},
    [SELECT_cpu_micros] = {METRIC_cpu_micros, "cpu execution time"},
    [SELECT_params] = {METRIC_params, "# parameters"},
    [SELECT_float_ops] = {METRIC_float_ops, "# float_ops"},
    [SELECT_device] = {-1, "assigned devices"},
    [SELECT_op_types] = {-1, "op types"},
    [SELECT_occurrence] = {METRIC_occurrence, "(run|defined)"}, /* after "op count" or "op occurrence" */
    [SELECT_input_shapes] = {-1, "input shapes"},
    [SELECT_num_hidden_ops] = {-1, "# hidden ops"},
};

static bool is_single(const struct classic_result *result) {
  return result->view == CLASSIC_SCOPE || result->view == CLASSIC_GRAPH;
}

/* The order in which a view writes its parts, ended by SELECT_count. */
static const uint8_t *order_of(const struct classic_result *result) {
  static const uint8_t single[] = {
      SELECT_params,         SELECT_float_ops,       SELECT_bytes,        SELECT_peak_bytes,
      SELECT_residual_bytes, SELECT_output_bytes,    SELECT_micros,       SELECT_accelerator_micros,
      SELECT_cpu_micros,     SELECT_num_hidden_ops,  SELECT_device,       SELECT_op_types,
      SELECT_occurrence,     SELECT_input_shapes,    SELECT_count};
  static const uint8_t multiple[] = {
      SELECT_bytes,        SELECT_peak_bytes, SELECT_residual_bytes,     SELECT_output_bytes,
      SELECT_micros,       SELECT_accelerator_micros, SELECT_cpu_micros, SELECT_params,
      SELECT_float_ops,    SELECT_device,     SELECT_op_types,           SELECT_occurrence,
      SELECT_input_shapes, SELECT_count};
  return is_single(result) ? single : multiple;
}

static int generation_of(const struct classic_result *result) {
  return (int)result->options.integers[OPTION_generation];
}

/* In 0.12 bytes were those of the outputs. */
static int metric_of(const struct classic_result *result, unsigned select) {
  bool is_output = select == SELECT_bytes && generation_of(result) == GENERATION_0_12;
  return is_output ? METRIC_output_bytes : parts[select].metric;
}

/* micros brings the times of accelerators and CPUs along. */
static bool is_selected(const struct classic_result *result, unsigned select) {
  uint32_t selected = result->options.selected;
  if (classic_has_legend(&result->options, result->view) && selected & 1u << SELECT_micros)
    selected |= 1u << SELECT_accelerator_micros | 1u << SELECT_cpu_micros;
  return selected & 1u << select;
}

/* "node name | ...", with its line feed. */
static void write_legend(const struct classic_result *result, FILE *file) {
  const char *joint = "";
  fputs("node name | ", file);
  for (const uint8_t *select = order_of(result); *select != SELECT_count; select++) {
    if (!is_selected(result, *select)) continue;
    bool is_count = *select == SELECT_occurrence;
    fprintf(file, "%s%s%s", joint, !is_count ? "" : is_single(result) ? "op count " : "op occurrence ",
            parts[*select].legend);
    joint = " | ";
  }
  fputc('\n', file);
}

/* ---- facts of an item ---- */

static int compare_texts(const void *left, const void *right, void *context) {
  const struct pool *pool = context;
  string_id a = *(const string_id *)left, b = *(const string_id *)right;
  if (a == b) return 0;
  return strcmp(a ? pool_text(pool, a) : "", b ? pool_text(pool, b) : "");
}

/* Texts sorted, each once, with bars between. */
static void write_set(const struct pool *pool, string_id *texts, size_t count, FILE *file) {
  size_t written = 0;
  if (count > 1) qsort_r(texts, count, sizeof *texts, compare_texts, (void *)(uintptr_t)pool);
  for (size_t i = 0; i < count; i++) {
    if (i > 0 && texts[i] == texts[i - 1]) continue;
    fprintf(file, "%s%s", written++ ? "|" : "", texts[i] ? pool_text(pool, texts[i]) : "");
  }
}

/* Leaves out what stands twice; order of first sight. */
static size_t add_once(string_id *texts, size_t count, string_id text) {
  /* Few differ: looking at the last ones catches nearly all. */
  for (size_t i = count; i > 0 && count - i < 16; i--) {
    if (texts[i - 1] == text) return count;
  }
  texts[count] = text;
  return count + 1;
}

void classic_write_device(const struct classic_result *result, uint32_t item, FILE *file) {
  const struct classic_model *model = result->model;
  if (item == result->item_count) return;
  if (result->nodes) {
    string_id device = model->nodes[result->nodes[item]].device;
    if (device) fputs(pool_text(model->pool, device), file);
    return;
  }
  uint32_t first = result->member_first[item], last = result->member_first[item + 1];
  string_id *texts = malloc(((size_t)last - first + 1) * sizeof *texts);
  size_t count = 0;
  if (!texts) return;
  for (uint32_t i = first; i < last; i++) count = add_once(texts, count, model->nodes[result->members[i]].device);
  write_set(model->pool, texts, count, file);
  free(texts);
}

void classic_write_op_types(const struct classic_result *result, uint32_t item, FILE *file) {
  const struct classic_model *model = result->model;
  if (item == result->item_count) {
    if (result->view == CLASSIC_SCOPE) fputs("_kTFScopeParent", file);
    else if (result->view == CLASSIC_GRAPH) fputs("_TFGraphParent", file);
    return;
  }
  uint32_t node = result->nodes ? result->nodes[item] : 0, first = result->nodes ? 0 : result->member_first[item];
  uint32_t last = result->nodes ? 1 : result->member_first[item + 1];
  size_t count = 0, room = 0;
  for (uint32_t i = first; i < last; i++) {
    const struct classic_node *member = &model->nodes[result->nodes ? node : result->members[i]];
    room += member[1].first_type - member->first_type + 1;
  }
  string_id *texts = malloc((room + 1) * sizeof *texts);
  if (!texts) return;
  for (uint32_t i = first; i < last; i++) {
    const struct classic_node *member = &model->nodes[result->nodes ? node : result->members[i]];
    for (uint32_t k = member->first_type; k < member[1].first_type; k++)
      count = add_once(texts, count, model->types[k]);
  }
  if (result->nodes && model->nodes[node].is_scope && count == 0) fputs("_kTFScopeParent", file);
  else write_set(model->pool, texts, count, file);
  free(texts);
}

void classic_write_shape(const struct classic_result *result, uint32_t item, FILE *file) {
  if (item == result->item_count || !result->nodes) return;
  string_id shape = result->model->nodes[result->nodes[item]].shape;
  if (shape) fputs(pool_text(result->model->pool, shape), file);
}

/* The shape that an input has: of the output that it takes.  TensorFlow's profiler shows that of the source's first
** output, whichever it is (its release builds leave the number of the output unread): so with -compat.  Of control
** edges, which have no shape, the first output's is shown as it is there. */
static void write_input_shape(const struct classic_result *result, const struct classic_input *input, FILE *file) {
  const struct classic_model *model = result->model;
  string_id shapes = input->source != UINT32_MAX ? model->nodes[input->source].output_shapes : 0;
  const char *at = shapes ? pool_text(model->pool, shapes) : "";
  bool is_first = result->options.integers[OPTION_compat] || input->is_control || input->source_output <= 0;
  if (is_first && strncmp(at, "[[", 2) == 0) {
    at += 2;
    if (*at == ']') fputc('1', file);
    for (; *at && *at != ']'; at++) fputc(*at == ',' ? 'x' : *at, file);
  } else {
    fputs(input->shape && (!shapes || !is_first) ? pool_text(model->pool, input->shape) : "unknown", file);
  }
}

static void write_inputs(const struct classic_result *result, uint32_t node, const char *joint, FILE *file) {
  const struct classic_model *model = result->model;
  const struct classic_node *n = &model->nodes[node];
  for (uint32_t i = n->first_input; i < n[1].first_input; i++) {
    if (model->inputs[i].position < 0) continue;
    fprintf(file, "%s%d:", i > n->first_input ? joint : "", (int)model->inputs[i].position);
    write_input_shape(result, &model->inputs[i], file);
  }
}

void classic_write_input_shapes(const struct classic_result *result, uint32_t item, FILE *file) {
  if (item == result->item_count || !result->nodes) return;
  write_inputs(result, result->nodes[item], "|", file);
}

static void write_bytes(void *file, const void *bytes, size_t length) { fwrite(bytes, 1, length, file); }

static void write_text_member(const struct classic_result *result, const char *key, string_id text, FILE *file) {
  fprintf(file, ", \"%s\": ", key);
  if (text)
    json_text_write(pool_text(result->model->pool, text), pool_length(result->model->pool, text), write_bytes, file);
  else fputs("null", file);
}

void classic_write_members(const struct classic_result *result, uint32_t item, FILE *file) {
  enum { MEMBERS_BETWEEN_LOOKS = 4096 };
  const struct classic_model *model = result->model;
  if (item == result->item_count || !result->member_first) return;
  fputc('[', file);
  for (uint32_t i = result->member_first[item]; i < result->member_first[item + 1]; i++) {
    uint32_t node = result->members[i];
    const struct classic_node *n = &model->nodes[node];
    uint32_t place = i - result->member_first[item];
    if (place % MEMBERS_BETWEEN_LOOKS == MEMBERS_BETWEEN_LOOKS - 1 && store_interrupted(model->store)) return;
    fprintf(file, "%s{\"position\": %u", place ? ", " : "", place);
    write_text_member(result, "name", n->name, file);
    write_text_member(result, "device", n->device, file);
    write_text_member(result, "shape", n->shape, file);
    fputs(", \"input_shapes\": \"", file);
    write_inputs(result, node, "|", file);
    fputc('"', file);
    for (int m = 0; m < METRIC_count; m++)
      fprintf(file, ", \"%s\": %lld", classic_metric_names[m], (long long)result->node_values[node].of[m]);
    fputc('}', file);
  }
  fputc(']', file);
}

/* ---- lines of scope, graph and code ---- */

static void write_pair(const struct classic_result *result, uint32_t item, int metric, const char *unit, FILE *file) {
  char text[2 * NUMBER_SIZE + 1], *at = text;
  /* In older generations the root was accounted, too, where everything is. */
  bool is_root = item == result->item_count;
  bool is_accounted = is_root ? generation_of(result) != GENERATION_2 &&
                                    strcmp(result->options.texts[OPTION_account_type_regexes], ".*") == 0
                              : result->accounted[item];
  if (is_accounted) at = metric_text(metric, is_root ? 0 : result->own[item].of[metric], at);
  else at = stpcpy(at, "--");
  *at++ = '/';
  at = metric_text(metric, result->total[item].of[metric], at);
  fwrite(text, 1, (size_t)(at - text), file);
  if (*unit) fputs(unit, file);
}

static void write_occurrence(const struct classic_result *result, uint32_t item, FILE *file) {
  char defined[NUMBER_SIZE];
  bool is_accounted = item != result->item_count && result->accounted[item];
  write_pair(result, item, METRIC_occurrence, "|", file);
  number_text(result->total[item].of[METRIC_defined], defined);
  fprintf(file, "%s/%s", is_accounted ? "1" : "--", defined);
}

static bool has_device(const struct classic_result *result, uint32_t item) {
  if (item == result->item_count) return false;
  if (result->nodes) return result->model->nodes[result->nodes[item]].device != 0;
  return result->member_first[item + 1] > result->member_first[item];
}

static void write_fact(const struct classic_result *result, uint32_t item, unsigned select, FILE *file) {
  bool is_code = result->view == CLASSIC_CODE;
  switch (select) {
    case SELECT_device: classic_write_device(result, item, file); break;
    case SELECT_op_types: classic_write_op_types(result, item, file); break;
    case SELECT_occurrence:
      if (is_code) fputs("occurrence N/A in code view", file);
      else write_occurrence(result, item, file);
      break;
    case SELECT_input_shapes:
      if (is_code) fputs("input_shapes N/A in code view", file);
      else classic_write_input_shapes(result, item, file);
      break;
    case SELECT_params: write_pair(result, item, METRIC_params, " params", file); break;
    case SELECT_float_ops: write_pair(result, item, METRIC_float_ops, " flops", file); break;
    default: write_pair(result, item, metric_of(result, select), "", file); break;
  }
}

/* Whether the shape of its parameters is shown: of a scalar it was not at first. */
static bool has_shape(const struct classic_result *result, uint32_t item) {
  string_id shape = result->nodes && item != result->item_count ? result->model->nodes[result->nodes[item]].shape : 0;
  return shape && (generation_of(result) == GENERATION_2 || strcmp(pool_text(result->model->pool, shape), "1") != 0);
}

/* What is deeper stands as far in as what is that deep: of a chain of ops nearly all would be blanks, as many as the
** square of its length. */
enum { DEEPEST_INDENT = 2000 };

static void write_blanks(int32_t count, FILE *file) {
  static const char blanks[] = "                                                                ";
  if (count > DEEPEST_INDENT) count = DEEPEST_INDENT;
  for (; count > 0; count -= (int32_t)sizeof blanks - 1)
    fwrite(blanks, 1, count < (int32_t)sizeof blanks - 1 ? (size_t)count : sizeof blanks - 1, file);
}

static void write_tree_line(const struct classic_result *result, size_t row, FILE *file) {
  uint32_t item = result->rows[row].item;
  const char *joint = "";
  size_t length;
  const char *name = classic_item_name(result, item, &length);
  int32_t indent = result->indents ? result->indents[row] : (result->rows[row].depth - 1) * 2;
  if (result->hidden && result->hidden[item]) {
    write_blanks(indent - 2, file);
    fprintf(file, "...hidden %u...\n", result->hidden[item]);
  }
  write_blanks(indent, file);
  fwrite(name, 1, length, file);
  if (generation_of(result) == GENERATION_0_12 && !result->options.selected) {
    fputc('\n', file);
    return;
  }
  fputs(" (", file);
  for (const uint8_t *select = order_of(result); *select != SELECT_count; select++) {
    if (!is_selected(result, *select)) continue;
    if (*select == SELECT_device && !has_device(result, item)) continue;
    if (*select == SELECT_num_hidden_ops) continue; /* a line of its own */
    if (*select == SELECT_params && has_shape(result, item)) {
      fputs(joint, file);
      classic_write_shape(result, item, file);
      joint = ", ";
    }
    if (*joint) fputs(joint, file);
    write_fact(result, item, *select, file);
    joint = ", ";
  }
  fputs(")\n", file);
}

/* ---- lines of op ---- */

static void write_share(const struct classic_result *result, uint32_t item, int metric, const char *unit, FILE *file) {
  int64_t own = result->own[item].of[metric], total = result->total[item].of[metric];
  int64_t all = result->total[result->item_count].of[metric];
  double total_percent = 0, own_percent = 0;
  char value[NUMBER_SIZE], text[120];
  /* Of memory nothing is said where the row itself has none. */
  if ((metric <= METRIC_output_bytes ? own : total) > 0) {
    total_percent = 100.0 * (double)total / (double)all;
    own_percent = 100.0 * (double)own / (double)all;
  }
  metric_text(metric, own, value);
  snprintf(text, sizeof text, "%s%s (%.2f%%, %.2f%%)", value, unit, total_percent, own_percent);
  fprintf(file, "%30s", text);
}

struct signature {
  char *text;
  int64_t defined, runs, micros;
};

static int compare_signatures(const void *left, const void *right) {
  const struct signature *a = left, *b = right;
  return strcmp(a->text, b->text);
}

static int compare_runs(const void *left, const void *right) {
  const struct signature *a = left, *b = right;
  if (a->runs != b->runs) return a->runs > b->runs ? -1 : 1;
  return strcmp(a->text, b->text);
}

static void write_signatures(const struct classic_result *result, uint32_t item, FILE *file) {
  uint32_t first = result->member_first[item], count = result->member_first[item + 1] - first;
  struct signature *list = calloc((size_t)count + 1, sizeof *list);
  if (!list || count == 0) {
    free(list);
    return;
  }
  uint32_t made = 0, kept = 0;
  for (; made < count; made++) {
    uint32_t node = result->members[first + made];
    size_t size;
    FILE *memory = open_memstream(&list[made].text, &size);
    if (!memory) break;
    write_inputs(result, node, ",\t", memory);
    if (fclose(memory) != 0) break;
    list[made].defined = 1;
    list[made].runs = result->node_values[node].of[METRIC_occurrence];
    list[made].micros = result->node_values[node].of[METRIC_micros];
  }
  qsort(list, made, sizeof *list, compare_signatures);
  for (uint32_t i = 0; i < made; i++) {
    if (kept && strcmp(list[kept - 1].text, list[i].text) == 0) {
      list[kept - 1].defined++;
      list[kept - 1].runs += list[i].runs;
      list[kept - 1].micros += list[i].micros;
      free(list[i].text);
    } else {
      list[kept++] = list[i];
    }
  }
  qsort(list, kept, sizeof *list, compare_runs);
  fputc('\n', file);
  for (uint32_t i = 0; i < kept; i++) {
    char micros[NUMBER_SIZE];
    time_text(list[i].micros, micros);
    fprintf(file, "input_type: %s\t(run*%lld|defined*%lld)\texec_time: %s\n", list[i].text, (long long)list[i].runs,
            (long long)list[i].defined, micros);
    free(list[i].text);
  }
  fputc('\n', file);
  free(list);
}

static void write_op_line(const struct classic_result *result, size_t row, FILE *file) {
  uint32_t item = result->rows[row].item;
  const char *joint = "";
  size_t length;
  const char *name = classic_item_name(result, item, &length);
  fprintf(file, "%-25s", name);
  for (const uint8_t *select = order_of(result); *select != SELECT_count; select++) {
    if (!is_selected(result, *select) || *select == SELECT_input_shapes) continue;
    fputs(joint, file);
    joint = ", ";
    if (*select == SELECT_occurrence) {
      char text[60];
      snprintf(text, sizeof text, "%lld|%lld", (long long)result->own[item].of[METRIC_occurrence],
               (long long)result->own[item].of[METRIC_defined]);
      fprintf(file, "%10s", text);
    } else if (*select == SELECT_num_hidden_ops) {
      continue;
    } else if (parts[*select].metric >= 0) {
      const char *unit = *select == SELECT_params ? " params" : *select == SELECT_float_ops ? " float_ops" : "";
      write_share(result, item, metric_of(result, *select), unit, file);
    } else if (*select == SELECT_device) {
      classic_write_device(result, item, file);
    } else {
      classic_write_op_types(result, item, file);
    }
  }
  fputc('\n', file);
  if (result->options.selected & 1u << SELECT_input_shapes) write_signatures(result, item, file);
}

void classic_write_line(const struct classic_result *result, size_t row, FILE *file) {
  if (result->view == CLASSIC_OP) write_op_line(result, row, file);
  else write_tree_line(result, row, file);
  if (result->tensors) classic_write_tensor(result, result->rows[row].item, file);
}

/* ---- the report ---- */

static const char *const view_docs[CLASSIC_VIEW_count] = {
    "scope: Nodes of the graph, in a tree by the parts of their names.",
    "graph: Nodes of the graph, each with its inputs below it.",
    "code: Lines of the program, in a tree of calls, with the nodes that they made.",
    "op: Kinds of ops, each with all nodes of its kind."};

/* By the names of what is selected. */
static const struct { uint8_t select; const char *text; } select_docs[] = {
    {SELECT_accelerator_micros, "accelerator execution time: Time that ran on accelerators."},
    {SELECT_bytes, "requested bytes: All memory that was asked for, added up."},
    {SELECT_cpu_micros, "cpu execution time: Time from start to end on the CPU, waiting included."},
    {SELECT_device, "device: The device that it ran on."},
    {SELECT_float_ops, "flops: Floating point operations, counted from shapes."},
    {SELECT_input_shapes, "input shape: The shapes of the inputs."},
    {SELECT_micros, "total execution time: The times on accelerators and on the CPU, added up.\n"
                    "cpu execution time: Time from start to end on the CPU, waiting included.\n"
                    "accelerator execution time: Time that ran on accelerators."},
    {SELECT_occurrence, "occurrence: How often it ran, and how often it is defined."},
    {SELECT_op_types, "op_types: The op, the device, and the labels that users gave."},
    {SELECT_output_bytes, "output bytes: Memory of the outputs, whoever allocated it."},
    {SELECT_params, "param: Parameters, as in variables."},
    {SELECT_peak_bytes, "peak bytes: The most memory that was held at once."},
    {SELECT_residual_bytes, "residual bytes: Memory that was still held at the end."},
    {SELECT_tensor_value, "tensor_value: The value in the checkpoint."},
};

static void write_explanations(const struct classic_result *result, FILE *file) {
  fprintf(file, "\nDoc:\n%s\n", view_docs[result->view]);
  for (size_t i = 0; i < sizeof select_docs / sizeof select_docs[0]; i++) {
    if (result->options.selected & 1u << select_docs[i].select) fprintf(file, "%s\n", select_docs[i].text);
  }
  fputs("\nProfile:\n", file);
}

bool classic_write_report(const struct classic_result *result, FILE *file) {
  enum { LINES_BETWEEN_LOOKS = 256 };
  bool is_whole = true;
  int locking = __fsetlocking(file, FSETLOCKING_BYCALLER); /* not for each of the many parts of a line */
  if (generation_of(result) == GENERATION_2) write_explanations(result, file);
  if (classic_has_legend(&result->options, result->view)) write_legend(result, file);
  for (size_t row = 0; is_whole && row < result->row_count; row++) {
    uint32_t item = result->rows[row].item;
    size_t length;
    is_whole = row % LINES_BETWEEN_LOOKS != 0 || !store_interrupted(result->model->store);
    if (is_whole) classic_write_line(result, row, file);
    if (result->has_checkpoint && item != result->item_count && !classic_find_tensor(result, item))
      fprintf(stderr, "Key %s not found in checkpoint\n", classic_item_name(result, item, &length));
  }
  __fsetlocking(file, locking);
  return is_whole;
}
