/* op_rows.c: reading the threads' chunks (see op_rows.h and thread_record.h).
**
** Each thread's items come in the order in which its ops ended and its memory changed; the threads are merged by time.
** An op item refers to names, inputs and stacks by the numbers of the thread that began it, which an id_map turns into
** strings and rows of the dump.
*/
#include "op_rows.h"

#include "python/python_calls.h"
#include "recorder/dump_ids.h"
#include "torch_inputs.h"

#include <stdlib.h>

enum {
  OP_NAME,
  OP_CATEGORY,
  OP_THREAD,
  OP_END,
  OP_DURATION,
  OP_SEQUENCE,
  OP_FORWARD_THREAD,
  OP_SHAPES,
  OP_TYPES,
  OP_VALUES,
  OP_TRACE,
  OP_MODULE,
  OP_ERROR,
  OP_COLUMNS
};
static const struct row_column op_columns[OP_COLUMNS] = {
    {DUMP_ops_name, DUMP_UNORDERED, false, true},
    {DUMP_ops_category, DUMP_UNORDERED, false, true},
    {DUMP_ops_thread_id, DUMP_UNORDERED, false, true},
    {DUMP_ops_end_ns, DUMP_ASCENDING, false, true},
    {DUMP_ops_dur_ns, DUMP_UNORDERED, false, true},
    {DUMP_ops_sequence_number, DUMP_ASCENDING, false, false},
    {DUMP_ops_forward_thread, DUMP_UNORDERED, false, false},
    {DUMP_ops_input_shapes, DUMP_UNORDERED, false, false},
    {DUMP_ops_input_types, DUMP_UNORDERED, false, false},
    {DUMP_ops_input_values, DUMP_UNORDERED, false, false},
    {DUMP_ops_recorded_code_trace, DUMP_UNORDERED, false, false},
    {DUMP_ops_recorded_module, DUMP_UNORDERED, false, false},
    {DUMP_ops_error, DUMP_UNORDERED, false, false},
};

enum {
  TEXT_SIZE = 256 * 1024, /* more than the JSON of the longest inputs */
  LATE_MAXIMUM = 65536,
  AHEAD = 512, /* bytes of a chunk that are on their way while those before are read */
  KEPT_TEXT_BYTES = 32 * 1024 * 1024, /* of all names and inputs together; the dump's writer holds them, too */
  TEXT_OVERHEAD = 100,                /* bytes of memory that each takes besides */
};

/* ---- Numbers of a thread. */

struct id_map {
  uint64_t *values;
  uint32_t base, count, capacity; /* values[0] is number `base` */
  uint32_t generation;            /* numbers from here on were given since the last ITEM_FORGET */
};

static uint64_t id_value(const struct id_map *map, uint32_t id) {
  return id >= map->base && id - map->base < map->count ? map->values[id - map->base] : 0;
}

static bool id_put(struct id_map *map, uint32_t id, uint64_t value) {
  if (!map->count) map->base = id;
  if (id < map->base) return false;
  uint32_t place = id - map->base;
  if (place >= map->capacity) {
    uint32_t capacity = map->capacity ? map->capacity : 64;
    while (capacity <= place) capacity *= 2;
    uint64_t *values = realloc(map->values, capacity * sizeof *values);
    if (!values) return false;
    map->values = values;
    map->capacity = capacity;
  }
  while (map->count <= place) map->values[map->count++] = 0;
  map->values[place] = value;
  return true;
}

/* Numbers that were given before the last ITEM_FORGET but one go; those since may be in ops that are still to come. */
static void id_forget(struct id_map *map, void (*release)(uint64_t)) {
  uint32_t keep = map->generation > map->base ? map->generation - map->base : 0;
  if (keep > map->count) keep = map->count;
  for (uint32_t i = 0; release && i < keep; i++) release(map->values[i]);
  map->generation = map->base + map->count;
  if (!keep) return;
  memmove(map->values, map->values + keep, (map->count - keep) * sizeof *map->values);
  map->base += keep;
  map->count -= keep;
}

static void id_clear(struct id_map *map, void (*release)(uint64_t)) {
  for (uint32_t i = 0; release && i < map->count; i++) release(map->values[i]);
  free(map->values);
  memset(map, 0, sizeof *map);
}

/* The value of a node. */
struct node {
  uint32_t trace_plus_one; /* row in code_traces */
  uint32_t level;          /* how many modules are on the stack, */
  uint32_t module;         /* and the number of the innermost one (known_modules.h) */
};
enum { TRACE_BITS = 20, LEVEL_BITS = 12 };
_Static_assert(TRACE_MAXIMUM + SHORT_TRACE_MAXIMUM < 1 << TRACE_BITS, "a value holds the row");
_Static_assert(STACK_MAXIMUM < 1 << LEVEL_BITS, "a value holds the level");

static uint64_t node_value(struct node node) {
  return node.trace_plus_one | (uint64_t)node.level << TRACE_BITS | (uint64_t)node.module << 32;
}

static struct node node_of(uint64_t value) {
  uint32_t low = (uint32_t)value;
  return (struct node){low & ((1u << TRACE_BITS) - 1), low >> TRACE_BITS, (uint32_t)(value >> 32)};
}

struct pinned {
  uint32_t name;
  uint64_t inputs, node;
};

struct op_reader {
  struct capture_thread *thread;
  struct chunk *chunk;
  uint32_t position, used;    /* used: as last seen */
  struct id_map names;        /* string */
  struct id_map inputs;       /* 1 + place in op_rows.input_texts */
  struct id_map codes;        /* struct code_copy * */
  struct id_map modules;      /* number of known_modules.h */
  struct id_map nodes;        /* node_value */
  struct open_calls calls;
  struct pinned *pins;        /* OPEN_MAXIMUM, when needed */
  uint32_t state;             /* of the thread when the drain began */
  unsigned ended_drains;      /* drains since the thread was seen to have ended */
  const struct item *next;    /* the op or event of memory to come, or NULL; */
  uint64_t ticks;             /* and when that was, */
  uint32_t later;             /* so many brief ones before it, each a nanosecond: their order is that of their times */
};

static void release_code(uint64_t value) { code_copy_free((struct code_copy *)(uintptr_t)value); }

static void reader_forget_thread(struct op_reader *reader) {
  id_clear(&reader->names, NULL);
  id_clear(&reader->inputs, NULL);
  id_clear(&reader->codes, release_code);
  id_clear(&reader->modules, NULL);
  id_clear(&reader->nodes, NULL);
  open_calls_free(&reader->calls);
  free(reader->pins);
  reader->pins = NULL;
  reader->chunk = NULL;
  reader->position = reader->used = 0;
  reader->ended_drains = 0;
  reader->next = NULL;
  reader->ticks = reader->later = 0;
}

bool op_rows_begin(struct op_rows *rows, struct dump_writer *writer) {
  memset(rows, 0, sizeof *rows);
  rows->writer = writer;
  rows->categories[0] = dump_writer_string(writer, "op", 2);
  rows->categories[1] = dump_writer_string(writer, "autograd", 8);
  rows->categories[2] = dump_writer_string(writer, "user", 4);
  rows->categories[3] = dump_writer_string(writer, "python", 6);
  rows->exception = dump_writer_string(writer, "exception", 9);
  static const char other_names[] = "(one of too many names)";
  rows->other_names = dump_writer_string(writer, other_names, sizeof other_names - 1);
  return row_buffer_begin(&rows->ops, DUMP_TABLE_ops, op_columns, OP_COLUMNS, DUMP_FRAME_ROWS) &&
         thread_rows_begin(&rows->threads, writer) &&
         stack_rows_begin(&rows->stacks) && memory_rows_begin(&rows->memory, writer, &rows->clock) &&
         module_rows_begin(&rows->modules, writer) && module_calls_begin(&rows->calls) && clock_map_begin(&rows->clock);
}

void op_rows_end(struct op_rows *rows) {
  for (unsigned i = 0; i < THREAD_MAXIMUM; i++) {
    if (rows->readers[i]) reader_forget_thread(rows->readers[i]);
    free(rows->readers[i]);
  }
  row_buffer_end(&rows->ops);
  thread_rows_end(&rows->threads);
  stack_rows_end(&rows->stacks);
  memory_rows_end(&rows->memory);
  module_rows_end(&rows->modules);
  module_calls_end(&rows->calls);
  clock_map_end(&rows->clock);
  row_map_end(&rows->texts);
  row_map_end(&rows->input_map);
  free(rows->input_texts);
  free(rows->late);
  memset(rows, 0, sizeof *rows);
}

/* ---- Definitions. */

/* The string of a text, or 0 when it is a new one and there are too many already: a program may make names and shapes
** without end. Two hashes of 64 bits stand for the text. */
static uint32_t keep_text(struct op_rows *rows, const char *text, size_t length) {
  uint64_t second = 0xcbf29ce484222325u;
  for (size_t i = 0; i < length; i++) second = (second ^ (uint8_t)text[i]) * 0x100000001b3u;
  struct row_map_entry *entry = row_map_entry(&rows->texts, intern_hash(text, length), second);
  if (entry && entry->row_plus_one) return entry->row_plus_one;
  if (!entry || rows->text_bytes >= KEPT_TEXT_BYTES) {
    rows->texts_refused++;
    return 0;
  }
  uint32_t string = dump_writer_string(rows->writer, text, length);
  if (!string) return 0; /* which the writer counts */
  rows->text_bytes += length + TEXT_OVERHEAD;
  entry->row_plus_one = string;
  row_map_added(&rows->texts);
  return string;
}

/* The number of these three texts together, from 1; 0: no memory. */
static uint64_t keep_inputs(struct op_rows *rows, struct input_texts texts) {
  struct row_map_entry *entry =
      row_map_entry(&rows->input_map, (uint64_t)texts.shapes << 32 | texts.types, texts.values);
  if (!entry) return 0;
  if (entry->row_plus_one) return entry->row_plus_one;
  uint32_t count = rows->input_map.used;
  if ((count & (count - 1)) == 0) { /* as many as there is room for, or none yet */
    struct input_texts *larger = realloc(rows->input_texts, (count ? (size_t)count * 2 : 1) * sizeof *larger);
    if (!larger) return 0;
    rows->input_texts = larger;
  }
  rows->input_texts[count] = texts;
  entry->row_plus_one = count + 1;
  row_map_added(&rows->input_map);
  return entry->row_plus_one;
}

static void read_inputs(struct op_rows *rows, struct op_reader *reader, const struct bytes_item *item) {
  static char text[TEXT_SIZE]; /* the writer thread is one */
  const uint64_t *words = (const uint64_t *)(const void *)item->bytes;
  size_t length = input_shapes_text(words, item->length / 8, text, sizeof text);
  struct input_texts texts = {.shapes = length ? keep_text(rows, text, length) : 0};
  length = input_types_text(words, item->length / 8, text, sizeof text);
  texts.types = length ? keep_text(rows, text, length) : 0;
  length = input_values_text(words, item->length / 8, text, sizeof text);
  texts.values = length ? keep_text(rows, text, length) : 0;
  id_put(&reader->inputs, item->head.id, keep_inputs(rows, texts));
}

static void read_node(struct op_rows *rows, struct op_reader *reader, const struct node_item *item) {
  const struct code_copy *code = (const struct code_copy *)(uintptr_t)id_value(&reader->codes, item->code);
  struct node node = node_of(item->parent ? id_value(&reader->nodes, item->parent) : 0); /* the caller's */
  int64_t parent = (int64_t)node.trace_plus_one - 1;
  if (!code || (item->parent && parent < 0)) return; /* ops of this stack have none */
  int64_t row = stack_trace_row(&rows->stacks, rows->writer, parent, code, item->offset);
  if (row < 0) return;
  node.trace_plus_one = (uint32_t)row + 1;
  if (item->module) {
    node.module = (uint32_t)id_value(&reader->modules, item->module);
    node.level++;
  }
  id_put(&reader->nodes, item->head.id, node_value(node));
}

static void read_call(struct op_rows *rows, struct op_reader *reader, const struct call_item *item) {
  struct node node = node_of(id_value(&reader->nodes, item->head.id));
  if (!node.level) return;
  if (item->head.scope & CALL_GOES_ON)
    module_call_goes_on(&reader->calls, node.level - 1, node.module);
  else
    module_call_begins(&rows->calls, &reader->calls, &rows->clock, thread_rows_of(&rows->threads, reader->thread),
                       node.level - 1, node.module, item->ticks);
}

static void read_pin(struct op_reader *reader, const struct pin_item *item) {
  if (!reader->pins) reader->pins = calloc(OPEN_MAXIMUM, sizeof *reader->pins);
  if (!reader->pins || item->place >= OPEN_MAXIMUM) return;
  reader->pins[item->place] =
      (struct pinned){(uint32_t)id_value(&reader->names, item->head.id), id_value(&reader->inputs, item->inputs),
                      id_value(&reader->nodes, item->node)};
}

static void read_definition(struct op_rows *rows, struct op_reader *reader, const struct item *item) {
  switch (item->kind) {
    case ITEM_NAME: {
      const struct bytes_item *name = (const struct bytes_item *)item;
      uint32_t string = keep_text(rows, (const char *)name->bytes, name->length);
      id_put(&reader->names, item->id, string ? string : rows->other_names);
      break;
    }
    case ITEM_INPUTS: read_inputs(rows, reader, (const struct bytes_item *)item); break;
    case ITEM_CODE:
      id_put(&reader->codes, item->id,
             (uint64_t)(uintptr_t)code_copy_make(rows->writer, (const struct code_item *)item));
      break;
    case ITEM_MODULE: id_put(&reader->modules, item->id, ((const struct module_item *)item)->number); break;
    case ITEM_NODE: read_node(rows, reader, (const struct node_item *)item); break;
    case ITEM_CALL: read_call(rows, reader, (const struct call_item *)item); break;
    case ITEM_PIN: read_pin(reader, (const struct pin_item *)item); break;
    case ITEM_FORGET:
      id_forget(&reader->names, NULL);
      id_forget(&reader->inputs, NULL);
      id_forget(&reader->codes, release_code);
      id_forget(&reader->modules, NULL);
      id_forget(&reader->nodes, NULL);
      break;
  }
}

/* ---- Items in order. */

/* The item at the reader's place, or NULL when the thread has written no more yet. Chunks that are read to the end are
** given back. */
static const struct item *current_item(struct op_reader *reader) {
  for (;;) {
    if (!reader->chunk) {
      reader->chunk = atomic_load_explicit(&reader->thread->first_chunk, memory_order_acquire);
      reader->position = reader->used = 0;
      if (!reader->chunk) return NULL;
    }
    if (reader->position < reader->used)
      return (const struct item *)(const void *)(reader->chunk->bytes + reader->position);
    /* Once `next` is set nothing is added to the chunk, so it is read before `used`. */
    struct chunk *next = atomic_load_explicit(&reader->chunk->next, memory_order_acquire);
    reader->used = atomic_load_explicit(&reader->chunk->used, memory_order_acquire);
    if (reader->position < reader->used) continue;
    if (!next) return NULL;
    chunk_release(reader->chunk);
    reader->chunk = next;
    reader->position = reader->used = 0;
  }
}

static bool has_time(const struct item *item) {
  return item->kind == ITEM_OP || item->kind == ITEM_MEMORY || item->kind == ITEM_OUT_OF_MEMORY ||
         item->kind == ITEM_MEMORY_BRIEF;
}

/* Takes in definitions up to the next item with a time, of those until the horizon: what has happened before the drain
** began has been written by then, and with it all that it came after on other threads. So an address is given back
** before it is given out again. */
static const struct item *next_item(struct op_rows *rows, struct op_reader *reader) {
  const struct item *item;
  while ((item = current_item(reader)) && !has_time(item)) {
    read_definition(rows, reader, item);
    reader->position += item->units * 16u;
  }
  /* When the op ended or the memory changed is at the same place in both; what is brief has no time of its own. */
  if (item && item->kind != ITEM_MEMORY_BRIEF) {
    reader->ticks = ((const struct op_item *)item)->end_ticks;
    reader->later = 0;
  }
  return item && reader->ticks <= rows->horizon ? item : NULL;
}

static struct op_reader *reader_of(struct op_rows *rows, unsigned number) {
  struct capture_thread *thread = thread_of_number(number);
  if (!thread) return NULL;
  struct op_reader *reader = rows->readers[number - 1];
  if (!reader) {
    reader = calloc(1, sizeof *reader);
    if (!reader) return NULL;
    reader->thread = thread;
      rows->readers[number - 1] = reader;
  }
  return reader;
}

/* ---- Rows. */

static void add_op(struct op_rows *rows, const struct op_item *item) {
  struct op_reader *owner = reader_of(rows, item->owner);
  if (!owner) {
    rows->unresolved++;
    return;
  }
  struct pinned numbers;
  if (item->pin && owner->pins) {
    numbers = owner->pins[item->pin - 1];
  } else {
    numbers.name = (uint32_t)id_value(&owner->names, item->head.id);
    numbers.inputs = id_value(&owner->inputs, item->inputs);
    numbers.node = id_value(&owner->nodes, item->node);
  }
  int64_t thread = thread_rows_of(&rows->threads, owner->thread);
  uint32_t row = thread < 0 || !numbers.name ? UINT32_MAX : row_add(&rows->ops);
  if (row == UINT32_MAX) {
    rows->unresolved++;
    return;
  }
  int64_t end = clock_map_ns(&rows->clock, item->end_ticks), start = clock_map_ns(&rows->clock, item->start_ticks);
  struct row_buffer *ops = &rows->ops;
  unsigned scope = item->head.scope & ~(unsigned)OP_THREW;
  rows->op_count += scope != SCOPE_USER && scope != SCOPE_PYTHON;
  row_put(ops, row, OP_NAME, numbers.name);
  row_put(ops, row, OP_CATEGORY,
          rows->categories[scope == SCOPE_BACKWARD_FUNCTION ? 1
                           : scope == SCOPE_USER            ? 2
                           : scope == SCOPE_PYTHON          ? 3
                                                            : 0]);
  row_put(ops, row, OP_THREAD, thread);
  row_put(ops, row, OP_END, end);
  row_put(ops, row, OP_DURATION, end - start);
  if (item->sequence >= 0) row_set(ops, row, OP_SEQUENCE, item->sequence);
  if (item->forward_thread) row_set(ops, row, OP_FORWARD_THREAD, item->forward_thread);
  if (numbers.inputs) {
    const struct input_texts *texts = &rows->input_texts[numbers.inputs - 1];
    if (texts->shapes) row_set(ops, row, OP_SHAPES, texts->shapes);
    if (texts->types) row_set(ops, row, OP_TYPES, texts->types);
    if (texts->values) row_set(ops, row, OP_VALUES, texts->values);
  }
  struct node node = node_of(numbers.node);
  if (node.trace_plus_one) row_set(ops, row, OP_TRACE, (int64_t)node.trace_plus_one - 1);
  if (node.module) row_set(ops, row, OP_MODULE, node.module);
  if (node.trace_plus_one && scope != SCOPE_USER) /* an op without a stack lies inside one, or Python called none */
    module_call_has_op(&rows->calls, &owner->calls, &rows->clock, thread, node.level, item->start_ticks,
                       item->end_ticks);
  if (item->head.scope & OP_THREW) row_set(ops, row, OP_ERROR, rows->exception);
}

static void add_memory(struct op_rows *rows, struct op_reader *reader, const struct item *head) {
  const struct memory_item *item = (const struct memory_item *)head;
  const struct memory_brief *brief = (const struct memory_brief *)head;
  struct memory_item whole;
  uint32_t later_ns = 0;
  if (head->kind == ITEM_MEMORY_BRIEF) {
    later_ns = ++reader->later;
    whole = (struct memory_item){{ITEM_MEMORY, POOL_CPU | MEMORY_WITHOUT_OPS, 0, 0},
                                 head->id ? (int64_t)head->id : MEMORY_SIZE_UNKNOWN,
                                 reader->ticks,
                                 brief->address,
                                 MEMORY_UNKNOWN,
                                 MEMORY_UNKNOWN};
    item = &whole;
  }
  uint32_t trace = item->head.id ? node_of(id_value(&reader->nodes, item->head.id)).trace_plus_one : 0;
  if (!memory_rows_add(&rows->memory, item, later_ns, thread_rows_of(&rows->threads, reader->thread), trace))
    rows->unresolved_memory++;
}

/* The names of an op that another thread ended may still lie unread in the chunks of the one that began it. */
static void keep_for_later(struct op_rows *rows, const struct op_item *item) {
  if (rows->late_count == rows->late_capacity) {
    uint32_t capacity = rows->late_capacity ? rows->late_capacity * 2 : 64;
    struct op_item *late = capacity <= LATE_MAXIMUM ? realloc(rows->late, capacity * sizeof *late) : NULL;
    if (!late) {
      rows->unresolved++;
      return;
    }
    rows->late = late;
    rows->late_capacity = capacity;
  }
  rows->late[rows->late_count++] = *item;
}

static bool is_full(const struct op_rows *rows) {
  return rows->ops.rows >= DUMP_FRAME_ROWS || rows->memory.events.rows >= DUMP_FRAME_ROWS ||
         rows->calls.rows.rows >= DUMP_FRAME_ROWS || rows->stacks.traces.rows >= DUMP_MAXIMUM_FRAME_ROWS / 2 ||
         rows->stacks.frames.rows >= DUMP_MAXIMUM_FRAME_ROWS / 2 ||
         rows->threads.rows.rows >= DUMP_MAXIMUM_FRAME_ROWS / 2;
}

/* An ended thread whose chunks are read: its last chunk and its structure can serve another one, and must soon, where
** many short threads follow each other. The state was read before the chunks. If another thread has ended a range of
** it, that may have been a moment ago: it is seen, too, when a whole drain has passed. */
static void recycle_if_done(struct op_rows *rows, struct op_reader *reader) {
  struct capture_thread *thread = reader->thread;
  if (reader->state != THREAD_ENDED || current_item(reader)) return;
  if (reader->chunk) {
    atomic_store_explicit(&thread->first_chunk, NULL, memory_order_relaxed);
    chunk_release(reader->chunk);
    reader->chunk = NULL;
    reader->position = reader->used = 0;
  }
  if (thread_has_open_ops(thread)) return;
  bool is_shared = atomic_load_explicit(&thread->is_shared, memory_order_relaxed);
  if (is_shared && (reader->ended_drains++ < 2 || rows->late_count)) return;
  module_calls_are_over(&rows->calls, &reader->calls, &rows->clock,
                          thread_rows_known(&rows->threads, reader->thread));
  reader_forget_thread(reader);
  thread_rows_forget(&rows->threads, thread);
  thread_recycle(thread);
}

uint64_t op_rows_drain(struct op_rows *rows, uint64_t limit, op_rows_full full, void *context) {
  uint64_t done = 0;
  uint32_t late_before = rows->late_count;
  struct op_reader *active[THREAD_MAXIMUM];
  rows->memory.full = full;
  memory_turn_ends(); /* so that a brief one is no later than the time between two drains */
  rows->horizon = clock_ticks();
  unsigned active_count = 0, count = thread_count();
  for (unsigned number = 1; number <= count; number++) {
    struct op_reader *reader = reader_of(rows, number);
    if (!reader) continue;
    reader->state = atomic_load_explicit(&reader->thread->state, memory_order_acquire);
    if (reader->state == THREAD_FREE) continue;
    reader->next = next_item(rows, reader);
    if (reader->next)
      active[active_count++] = reader;
    else
      recycle_if_done(rows, reader);
  }
  while (active_count && done < limit) {
    struct op_reader *first = active[0];
    uint64_t second_end = UINT64_MAX;
    unsigned place = 0;
    for (unsigned i = 1; i < active_count; i++) {
      uint64_t end = active[i]->ticks;
      if (end < first->ticks) {
        second_end = first->ticks;
        first = active[i];
        place = i;
      } else if (end < second_end) {
        second_end = end;
      }
    }
    while (first->next && first->ticks <= second_end && done < limit) {
      const struct item *item = first->next;
      const struct op_item *op = (const struct op_item *)item;
      __builtin_prefetch((const uint8_t *)item + AHEAD); /* the thread that wrote it has it in its own cache */
      if (item->kind != ITEM_OP)
        add_memory(rows, first, item);
      else if (op->owner == first->thread->number)
        add_op(rows, op);
      else
        keep_for_later(rows, op);
      if (is_full(rows)) full(context);
      done++;
      first->position += item->units * 16u;
      first->next = next_item(rows, first);
    }
    if (!first->next) {
      active[place] = active[--active_count];
      recycle_if_done(rows, first);
    }
  }
  if (active_count) return done;
  /* Those of an earlier drain: everything that they refer to has been read since. */
  for (uint32_t i = 0; i < late_before; i++) {
    add_op(rows, &rows->late[i]);
    if (is_full(rows)) full(context);
  }
  rows->late_count -= late_before;
  if (rows->late_count) memmove(rows->late, rows->late + late_before, rows->late_count * sizeof *rows->late);
  return done;
}

void op_rows_finish(struct op_rows *rows, op_rows_full full, void *context) {
  for (uint32_t i = 0; i < rows->late_count; i++) {
    add_op(rows, &rows->late[i]);
    if (is_full(rows)) full(context);
  }
  rows->late_count = 0;
  for (unsigned i = 0; i < THREAD_MAXIMUM; i++) {
    struct op_reader *reader = rows->readers[i];
    if (reader) module_calls_are_over(&rows->calls, &reader->calls, &rows->clock,
                          thread_rows_known(&rows->threads, reader->thread));
  }
}

void op_rows_losses(const struct op_rows *rows, struct op_losses *losses) {
  *losses = (struct op_losses){.no_thread = threads_refused(), .no_room = rows->unresolved,
                                .no_room_for_memory = rows->unresolved_memory + rows->memory.no_room,
                                .unknown_memory = rows->memory.unknown};
  for (unsigned number = 1; number <= thread_count(); number++) {
    struct capture_thread *thread = thread_of_number(number);
    if (!thread) continue;
    losses->no_room += atomic_load_explicit(&thread->lost, memory_order_relaxed);
    losses->too_deep += atomic_load_explicit(&thread->too_deep, memory_order_relaxed);
    losses->no_room_for_memory += atomic_load_explicit(&thread->lost_memory, memory_order_relaxed);
    losses->cut += atomic_load_explicit(&thread->cut, memory_order_relaxed);
    for (uint32_t i = 0, depth = atomic_load(&thread->depth); i < depth && i < OPEN_MAXIMUM; i++)
      if (!atomic_load_explicit(&thread->open[i].is_done, memory_order_relaxed)) losses->still_open++;
  }
}
