/* op_rows.c: see op_rows.h.
**
** An op item refers to names, inputs and stacks by the numbers of the thread that began it, which an id_map turns into
** strings and rows of the dump.
*/
#include "op_rows.h"

#include "base/list.h"
#include "channel/id_map.h"
#include "channel/op_table.h"
#include "channel/thread_rows.h"
#include "module_calls.h"
#include "python/stack_nodes.h"
#include "torch_inputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_SIZE = 256 * 1024 /* more than the JSON of the longest inputs */ };

struct input_texts { /* strings; 0: none */
  uint32_t shapes, types, values;
};

struct pinned {
  uint32_t name;
  uint64_t inputs;
  struct stack_node node;
};

struct thread_ops {
  struct id_map names;  /* string */
  struct id_map inputs; /* 1 + place in input_texts */
  struct pinned *pins;  /* PIN_MAXIMUM, by number - 1, when needed */
  bool is_numbered;     /* PyTorch's number of the thread is in `logical` */
};

static struct {
  struct thread_ops of_thread[THREAD_MAXIMUM]; /* by number, from 1 on */
  uint32_t categories[4], other_names, exception; /* strings */
  uint64_t unresolved;             /* ops without a name or a thread: no row */
  uint64_t long_names;             /* texts of NAME_MAXIMUM bytes, which is where they are cut */
  struct key_map logical;          /* PyTorch's number of a thread to its row */
  struct key_map optimizers;       /* to their numbers */
  struct key_map input_map;        /* the three texts of an op's inputs to their place in input_texts */
  struct input_texts *input_texts; /* as many as input_map has */
  size_t input_capacity;
} rows;

bool op_rows_open(struct recorder *recorder) {
  struct dump_writer *writer = recorder->writer;
  memset(&rows, 0, sizeof rows);
  rows.categories[0] = dump_writer_string(writer, "op", 2);
  rows.categories[1] = dump_writer_string(writer, "autograd", 8);
  rows.categories[2] = dump_writer_string(writer, "user", 4);
  rows.categories[3] = dump_writer_string(writer, "python", 6);
  rows.exception = dump_writer_string(writer, "exception", 9);
  static const char other_names[] = "(one of too many names)";
  rows.other_names = dump_writer_string(writer, other_names, sizeof other_names - 1);
  return true;
}

static void clear_ops(struct thread_ops *its) {
  id_clear(&its->names, NULL);
  id_clear(&its->inputs, NULL);
  free(its->pins);
  its->pins = NULL;
  its->is_numbered = false;
}

void op_rows_thread_over(struct recorder *recorder, const struct capture_thread *thread) {
  (void)recorder;
  clear_ops(&rows.of_thread[thread->number - 1]);
}

void op_rows_close(bool in_child) {
  (void)in_child;
  for (unsigned i = 0; i < THREAD_MAXIMUM; i++) clear_ops(&rows.of_thread[i]);
  key_map_end(&rows.input_map);
  key_map_end(&rows.logical);
  key_map_end(&rows.optimizers);
  free(rows.input_texts);
}

/* ---- What ops refer to. */

/* The number of these three texts together, from 1; 0: no memory. */
static uint64_t keep_inputs(struct input_texts texts) {
  struct key_map_entry *entry =
      key_map_entry(&rows.input_map, (uint64_t)texts.shapes << 32 | texts.types, texts.values);
  if (!entry) return 0;
  if (entry->row_plus_one) return entry->row_plus_one;
  uint32_t count = rows.input_map.used;
  if (!array_room(rows.input_texts, count, rows.input_capacity)) return 0;
  rows.input_texts[count] = texts;
  entry->row_plus_one = count + 1;
  key_map_added(&rows.input_map);
  return entry->row_plus_one;
}

static uint32_t keep_text(struct recorder *recorder, const char *text, size_t length) {
  return length ? texts_keep(&recorder->texts, recorder->writer, text, length) : 0;
}

static void take_inputs(struct recorder *recorder, struct thread_ops *its, const struct bytes_item *item) {
  static char text[TEXT_SIZE]; /* the writer thread is one */
  const uint64_t *words = (const uint64_t *)(const void *)item->bytes;
  uint32_t count = item->length / 8;
  struct input_texts texts;
  texts.shapes = keep_text(recorder, text, input_shapes_text(words, count, text, sizeof text));
  texts.types = keep_text(recorder, text, input_types_text(words, count, text, sizeof text));
  texts.values = keep_text(recorder, text, input_values_text(words, count, text, sizeof text));
  id_put(&its->inputs, item->head.id, keep_inputs(texts));
}

static void take_name(struct recorder *recorder, struct thread_ops *its, const struct bytes_item *item) {
  uint32_t string = texts_keep(&recorder->texts, recorder->writer, (const char *)item->bytes, item->length);
  id_put(&its->names, item->head.id, string ? string : rows.other_names);
  rows.long_names += item->length == NAME_MAXIMUM;
}

static void take_pin(struct thread_ops *its, const struct capture_thread *thread, const struct pin_item *item) {
  if (!its->pins) its->pins = calloc(PIN_MAXIMUM, sizeof *its->pins);
  if (!its->pins) return;
  its->pins[item->number - 1] =
      (struct pinned){(uint32_t)id_value(&its->names, item->head.id), id_value(&its->inputs, item->inputs),
                      stack_node(thread, item->node)};
}

/* ---- Threads. */

static void note_logical(struct thread_ops *its, const struct capture_thread *thread, int64_t row) {
  if (key_map_bound(&rows.logical)) /* those that live are noted again */
    for (unsigned i = 0; i < THREAD_MAXIMUM; i++) rows.of_thread[i].is_numbered = false;
  struct key_map_entry *entry = key_map_entry(&rows.logical, thread->logical_thread, 0);
  if (!entry || !thread->logical_thread) return;
  if (!entry->row_plus_one) key_map_added(&rows.logical);
  entry->row_plus_one = (uint32_t)(row + 1);
  its->is_numbered = true;
}

/* What stands in threads.logical_thread of the thread that PyTorch numbers so. Of one that has recorded nothing yet: a
** number that no thread has. */
static int64_t logical_of(uint32_t forward_thread) {
  const struct key_map_entry *entry = key_map_entry(&rows.logical, forward_thread, 0);
  return entry && entry->row_plus_one ? thread_row_logical(entry->row_plus_one - 1)
                                      : ((int64_t)1 << 40) + forward_thread;
}

/* By their first steps; `object` is what optimizer_objects.h has for it. 0: no memory, or too many. */
static uint32_t optimizer_number(uint32_t object) {
  if (rows.optimizers.used >= KEY_MAP_BOUND) return 0;
  struct key_map_entry *entry = key_map_entry(&rows.optimizers, object, 0);
  if (entry && !entry->row_plus_one) {
    key_map_added(&rows.optimizers);
    entry->row_plus_one = rows.optimizers.used;
  }
  return entry ? entry->row_plus_one : 0;
}

/* ---- Ops. */

static void take_op(struct recorder *recorder, const struct channel_item *of, const struct op_item *item) {
  struct thread_ops *its = &rows.of_thread[of->thread->number - 1];
  struct pinned numbers;
  if (item->pin && its->pins) {
    numbers = its->pins[item->pin - 1];
  } else {
    numbers.name = (uint32_t)id_value(&its->names, item->head.id);
    numbers.inputs = id_value(&its->inputs, item->inputs);
    numbers.node = stack_node(of->thread, item->node);
  }
  struct row_buffer *ops = &op_table;
  int64_t thread = thread_row(recorder, of->thread);
  uint32_t row = thread < 0 || !numbers.name ? UINT32_MAX : row_add(ops);
  if (row == UINT32_MAX) {
    rows.unresolved++;
    return;
  }
  if (__builtin_expect(!its->is_numbered, 0)) note_logical(its, of->thread, thread);
  int64_t end = clock_map_ns(&recorder->clock, item->end_ticks);
  int64_t start = clock_map_ns(&recorder->clock, item->start_ticks);
  unsigned scope = item->head.scope & ~(unsigned)OP_THREW;
  recorder->full_rows += scope != SCOPE_USER && scope != SCOPE_PYTHON;
  row_put(ops, row, OP_NAME, numbers.name);
  row_put(ops, row, OP_CATEGORY,
          rows.categories[scope == SCOPE_BACKWARD_FUNCTION ? 1
                           : scope == SCOPE_USER            ? 2
                           : scope == SCOPE_PYTHON          ? 3
                                                            : 0]);
  row_put(ops, row, OP_THREAD, thread);
  row_put(ops, row, OP_END, end);
  row_put(ops, row, OP_DURATION, clock_span_ns(start, end));
  if (item->sequence >= 0) row_set(ops, row, OP_SEQUENCE, item->sequence);
  if (scope == SCOPE_USER) {
    uint32_t optimizer = item->forward_thread ? optimizer_number(item->forward_thread) : 0;
    if (optimizer) row_set(ops, row, OP_OPTIMIZER, optimizer);
  } else if (item->forward_thread) {
    row_set(ops, row, OP_FORWARD_THREAD, logical_of(item->forward_thread));
  }
  if (numbers.inputs) {
    const struct input_texts *texts = &rows.input_texts[numbers.inputs - 1];
    if (texts->shapes) row_set(ops, row, OP_SHAPES, texts->shapes);
    if (texts->types) row_set(ops, row, OP_TYPES, texts->types);
    if (texts->values) row_set(ops, row, OP_VALUES, texts->values);
  }
  struct stack_node node = numbers.node;
  if (node.trace_plus_one) row_set(ops, row, OP_TRACE, (int64_t)node.trace_plus_one - 1);
  if (node.module) row_set(ops, row, OP_MODULE, node.module);
  if (node.trace_plus_one && scope != SCOPE_USER) /* an op without a stack lies inside one, or Python called none */
    module_call_has_op(recorder, of->thread, node.level, item->start_ticks, item->end_ticks);
  if (item->head.scope & OP_THREW) row_set(ops, row, OP_ERROR, rows.exception);
}

void op_rows_item(struct recorder *recorder, const struct channel_item *item) {
  struct thread_ops *its = &rows.of_thread[item->thread->number - 1];
  const struct item *head = item->item;
  switch (head->kind) {
    case ITEM_OP: take_op(recorder, item, (const struct op_item *)head); break;
    case ITEM_NAME: take_name(recorder, its, (const struct bytes_item *)head); break;
    case ITEM_INPUTS: take_inputs(recorder, its, (const struct bytes_item *)head); break;
    case ITEM_PIN: take_pin(its, item->thread, (const struct pin_item *)head); break;
    case ITEM_FORGET:
      id_forget(&its->names, NULL);
      id_forget(&its->inputs, NULL);
      break;
  }
}

uint32_t op_rows_name(const struct capture_thread *thread, uint32_t number) {
  return number ? (uint32_t)id_value(&rows.of_thread[thread->number - 1].names, number) : 0;
}

void op_rows_losses(struct recorder *recorder) {
  uint64_t no_room = rows.unresolved + late_items_lost(), too_deep = 0, cut = 0, still_open = 0;
  for (unsigned number = 1; number <= thread_count(); number++) {
    struct capture_thread *thread = thread_of_number(number);
    if (!thread) continue;
    no_room += atomic_load_explicit(&thread->lost, memory_order_relaxed);
    too_deep += atomic_load_explicit(&thread->too_deep, memory_order_relaxed);
    cut += atomic_load_explicit(&thread->cut, memory_order_relaxed);
    still_open += thread_open_count(thread);
  }
  static char cut_names[160];
  uint64_t longest = name_longest_cut();
  snprintf(cut_names, sizeof cut_names,
           "names of ops or ranges are longer than %d bytes, of which the first are kept; the longest has %llu",
           NAME_MAXIMUM, (unsigned long long)longest);
  const struct loss losses[] = {
      {no_room, "warning", "ops were lost because the writer thread could not keep up", "ops", &op_table},
      {too_deep, "warning", "ops were lost because too many others were open on their thread", "ops", &op_table},
      {threads_refused(REFUSED_OP), "warning", "ops and ranges were lost because their threads were left out", "ops",
       &op_table},
      {cut, "info", "ops have no input shapes or only the inner part of their stack, which is too long to be kept",
       "ops", NULL},
      {longest ? rows.long_names : 0, "info", cut_names, "ops", NULL},
      {still_open, "info", "ops and ranges were still running when the recording ended: they have no row", "ops",
       NULL},
  };
  for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) recorder_lost(recorder, losses[i]);
}
