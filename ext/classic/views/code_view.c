/* code_view.c: source lines as a tree of calls, each with the nodes that it made.
**
** A line is "file:line:function", the function cut to 17 characters and "..." when it has 20 or more; where there is no
** file, as of a function written in C or a module in a trace of PyTorch, the function alone, uncut.  Nodes of the
** gradient, ".../gradients/<name>_grad/...", have the stack of the line that wrote the optimizer's call; they go with
** the forward node <name> instead, into a twin of its stack whose lines end in " (gradient)".
*/
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/row_map.h"
#include "classic/views/tree.h"
#include "store/gradient_names.h"

enum { NO_ITEM = UINT32_MAX };

struct code {
  struct classic_result *result;
  const struct classic_model *model;
  uint32_t *parents;          /* of items; item_count grows */
  size_t parent_capacity, name_capacity, frame_capacity;
  string_id *plain, *gradient; /* display text of each frame; 0: not made yet */
  uint32_t *items[2];          /* of each trace, plain and gradient; NO_ITEM: not made yet */
  struct row_map lines; /* of the item above and the name: which item */
  uint32_t *path; /* traces from a leaf up */
  struct { uint32_t item, node; } *members;
  size_t member_count;
};

/* ---- lines ---- */

/* Texts of 20 characters and more are cut. */
static int shown_length(size_t length) { return length < 20 ? (int)length : 17; }
static const char *shown_end(size_t length) { return length < 20 ? "" : "..."; }

/* Adds the text of a line to the store's pool, which outlives every result. Older generations have the source
** behind. */
static bool line_text(struct code *code, uint32_t frame, bool is_gradient, string_id *id) {
  const struct pool *pool = code->model->pool;
  const struct classic_frame *f = &code->model->frames[frame];
  const char *file = f->file ? pool_text(pool, f->file) : "",
             *function = f->function ? pool_text(pool, f->function) : "",
             *source = f->text ? pool_text(pool, f->text) : "none";
  const char *slash = strrchr(file, '/');
  bool has_source = code->result->options.integers[OPTION_generation] != GENERATION_2;
  size_t length = strlen(function), source_length = has_source ? strlen(source) : 0;
  char *text;
  if (!classic_name_without_file(code->model, f, is_gradient, &text)) return false;
  if (!text && asprintf(&text, "%s:%lld:%.*s%s%s%.*s%s%s", slash ? slash + 1 : file, (long long)f->line,
                        shown_length(length), function, shown_end(length), has_source ? ":" : "",
                        shown_length(source_length), source, shown_end(source_length),
                        is_gradient ? " (gradient)" : "") < 0)
    return false;
  bool ok = pool_intern(store_pool(code->model->store), text, strlen(text), id) == TFPROF_OK;
  free(text);
  return ok;
}

/* The item below `parent` with that text, made where it is new, then with that frame. Parent NO_ITEM: the root. */
static bool child(struct code *code, uint32_t parent, string_id name, uint32_t frame, uint32_t *item) {
  struct classic_result *result = code->result;
  uint32_t number = row_map_number(&code->lines, (struct row_key){{parent, name}});
  if (number == ROW_MAP_NONE) return false;
  *item = number;
  if (number < result->item_count) return true;
  if (number == INT32_MAX || !array_reserve(code->parents, code->parent_capacity, (size_t)number + 1) ||
      !array_reserve(result->names, code->name_capacity, (size_t)number + 1) ||
      !array_reserve(result->frames, code->frame_capacity, (size_t)number + 1)) {
    row_map_cut(&code->lines, number);
    return false;
  }
  result->item_count++;
  code->parents[*item] = parent;
  result->names[*item] = name;
  result->frames[*item] = frame;
  return true;
}

/* The item of a whole trace. */
static bool item_of_trace(struct code *code, uint32_t trace, bool is_gradient, uint32_t *item) {
  const struct classic_model *model = code->model;
  uint32_t *items = code->items[is_gradient], above = NO_ITEM;
  string_id *texts = is_gradient ? code->gradient : code->plain;
  size_t count = 0;
  for (uint32_t at = trace; at != UINT32_MAX; at = model->traces[at].parent) {
    if (items[at] != NO_ITEM) {
      above = items[at];
      break;
    }
    code->path[count++] = at;
  }
  while (count--) {
    uint32_t at = code->path[count], frame = model->traces[at].frame;
    if (frame == UINT32_MAX) { /* a frame that the profile lacks: as if it were its caller's */
      items[at] = above;
      continue;
    }
    if (!texts[frame] && !line_text(code, frame, is_gradient, &texts[frame])) return false;
    if (!child(code, above, texts[frame], frame * 2 + is_gradient, &above)) return false;
    items[at] = above;
  }
  *item = items[trace];
  return true;
}

/* ---- nodes ---- */

static int compare_text(const struct pool *pool, string_id id, const char *text, size_t length) {
  const char *own = id ? pool_text(pool, id) : "";
  size_t own_length = id ? pool_length(pool, id) : 0;
  int order = memcmp(own, text, own_length < length ? own_length : length);
  return order ? order : own_length < length ? -1 : own_length > length;
}

static uint32_t find_node(const struct classic_model *model, const char *name, size_t length) {
  uint32_t low = 0, high = model->node_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    int order = compare_text(model->pool, model->nodes[middle].name, name, length);
    if (order == 0) return middle;
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return UINT32_MAX;
}

static void add_member(struct code *code, uint32_t item, uint32_t node) {
  if (item == NO_ITEM) return;
  code->members[code->member_count].item = item;
  code->members[code->member_count++].node = node;
}

struct gradient {
  const char *forward;
  size_t length;
  uint32_t node;
};

static int compare_gradients(const void *left, const void *right) {
  const struct gradient *a = left, *b = right;
  int order = memcmp(a->forward, b->forward, a->length < b->length ? a->length : b->length);
  if (order) return order;
  if (a->length != b->length) return a->length < b->length ? -1 : 1;
  return a->node < b->node ? -1 : 1;
}

/* Forward nodes by name, then gradients by the name of their forward node: the order in which lines are first met. */
static bool take_nodes(struct code *code, struct gradient *gradients) {
  const struct classic_model *model = code->model;
  size_t count = 0, lost = 0;
  uint32_t item;
  for (uint32_t i = 0; i < model->node_count; i++) {
    const struct classic_node *node = &model->nodes[i];
    const char *forward;
    size_t length;
    if (node->trace == UINT32_MAX || node->is_scope) continue;
    if (node->name && gradient_forward_name(pool_text(model->pool, node->name), &forward, &length)) {
      gradients[count++] = (struct gradient){forward, length, i};
      continue;
    }
    if (!item_of_trace(code, node->trace, false, &item)) return false;
    add_member(code, item, i);
  }
  qsort(gradients, count, sizeof *gradients, compare_gradients);
  for (size_t i = 0; i < count; i++) {
    bool is_new = i == 0 || gradients[i].length != gradients[i - 1].length ||
                  memcmp(gradients[i].forward, gradients[i - 1].forward, gradients[i].length) != 0;
    uint32_t forward = find_node(model, gradients[i].forward, gradients[i].length);
    const char *other;
    size_t length;
    bool is_forward = forward != UINT32_MAX && model->nodes[forward].trace != UINT32_MAX &&
                      !model->nodes[forward].is_scope &&
                      !gradient_forward_name(pool_text(model->pool, model->nodes[forward].name), &other, &length);
    if (!is_forward) {
      lost += is_new;
      continue;
    }
    if (!item_of_trace(code, model->nodes[forward].trace, true, &item)) return false;
    add_member(code, item, gradients[i].node);
  }
  if (lost) fprintf(stderr, "%zu gradient nodes not accounted\n", lost);
  return true;
}

/* ---- the tree ---- */

static int compare_nodes(const void *left, const void *right) {
  uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  return a < b ? -1 : a > b;
}

/* The nodes of a line by name: those of the gradient came by the names of their forward nodes. */
static void sort_nodes(uint32_t *nodes, uint32_t count) {
  uint32_t i = 1;
  while (i < count && nodes[i - 1] < nodes[i]) i++;
  if (i < count) qsort(nodes, count, sizeof *nodes, compare_nodes);
}

static bool finish_code_view(struct code *code, struct classic_tree *tree) {
  struct classic_result *result = code->result;
  uint32_t count = result->item_count;
  struct classic_children *children = &tree->children;
  result->member_first = calloc((size_t)count + 2, sizeof *result->member_first);
  result->members = malloc((code->member_count + 1) * sizeof *result->members);
  result->own = result->own_made = calloc((size_t)count + 1, sizeof *result->own_made);
  result->total = calloc((size_t)count + 1, sizeof *result->total);
  result->accounted = calloc((size_t)count + 1, 1);
  children->first = calloc((size_t)count + 3, sizeof *children->first);
  children->items = malloc(((size_t)count + 1) * sizeof *children->items);
  uint32_t *next = calloc((size_t)count + 2, sizeof *next);
  bool ok = result->member_first && result->members && result->own && result->total && result->accounted &&
            children->first && children->items && next;
  if (ok) {
    for (size_t i = 0; i < code->member_count; i++) result->member_first[code->members[i].item + 1]++;
    for (uint32_t i = 0; i < count; i++) result->member_first[i + 1] += result->member_first[i];
    memcpy(next, result->member_first, ((size_t)count + 1) * sizeof *next);
    for (size_t i = 0; i < code->member_count; i++)
      result->members[next[code->members[i].item]++] = code->members[i].node;
    for (uint32_t i = 0; i < count; i++)
      sort_nodes(&result->members[result->member_first[i]], result->member_first[i + 1] - result->member_first[i]);
    for (uint32_t i = 0; i < count; i++)
      children->first[(code->parents[i] == NO_ITEM ? count : code->parents[i]) + 1]++;
    for (uint32_t i = 0; i <= count; i++) children->first[i + 1] += children->first[i];
    memcpy(next, children->first, ((size_t)count + 1) * sizeof *next);
    for (uint32_t i = 0; i < count; i++)
      children->items[next[code->parents[i] == NO_ITEM ? count : code->parents[i]]++] = i;
  }
  free(next);
  return ok;
}

enum tfprof_status classic_code_tree(struct classic_tree *tree, const struct classic_accounting *accounting,
                                     struct tfprof_error *error) {
  struct classic_result *result = tree->result;
  const struct classic_model *model = result->model;
  struct code code = {.result = result, .model = model};
  size_t traces = (size_t)model->trace_count + 1;
  code.plain = calloc((size_t)model->frame_count + 1, sizeof *code.plain);
  code.gradient = calloc((size_t)model->frame_count + 1, sizeof *code.gradient);
  code.items[0] = malloc(traces * sizeof *code.items[0]);
  code.items[1] = malloc(traces * sizeof *code.items[1]);
  code.path = malloc(traces * sizeof *code.path);
  code.members = malloc(((size_t)model->node_count + 1) * sizeof *code.members);
  struct gradient *gradients = malloc(((size_t)model->node_count + 1) * sizeof *gradients);
  bool ok = code.plain && code.gradient && code.items[0] && code.items[1] && code.path && code.members && gradients;
  if (ok) {
    memset(code.items[0], 0xff, traces * sizeof *code.items[0]);
    memset(code.items[1], 0xff, traces * sizeof *code.items[1]);
    ok = take_nodes(&code, gradients) && finish_code_view(&code, tree);
  }
  if (ok) {
    classic_gather_members(result, accounting);
    /* With ".*" every line is accounted, those that made nothing themselves too. */
    if (strcmp(result->options.texts[OPTION_account_type_regexes], ".*") == 0)
      memset(result->accounted, 1, result->item_count);
  }
  result->parents = code.parents;
  free(code.plain);
  free(code.gradient);
  free(code.items[0]);
  free(code.items[1]);
  row_map_free(&code.lines);
  free(code.path);
  free(code.members);
  free(gradients);
  return ok ? TFPROF_OK : error_no_memory(error);
}
