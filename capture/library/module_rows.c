/* module_rows.c: see module_rows.h. */
#include "module_rows.h"

#include "clock.h"
#include "dump_ids.h"
#include "module_discovery.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { NODE_NAME, NODE_TYPE, NODE_PARENT, NODE_DEPTH, NODE_IS_SCOPE, NODE_MODULE, NODE_COLUMNS };
static const struct row_column node_columns[NODE_COLUMNS] = {
    {DUMP_nodes_name, DUMP_UNORDERED, false, false},     {DUMP_nodes_op_type, DUMP_UNORDERED, false, false},
    {DUMP_nodes_parent_id, DUMP_UNORDERED, false, false}, {DUMP_nodes_depth, DUMP_UNORDERED, false, false},
    {DUMP_nodes_is_scope, DUMP_UNORDERED, false, false}, {DUMP_nodes_recorded_module, DUMP_UNORDERED, false, false},
};

enum {
  CHANGE_NODE,
  CHANGE_TIME,
  CHANGE_KIND,
  CHANGE_SHAPE,
  CHANGE_DTYPE,
  CHANGE_DEVICE,
  CHANGE_PARAMETERS,
  CHANGE_BYTES,
  CHANGE_TRAINABLE,
  CHANGE_ATTRIBUTES,
  CHANGE_COLUMNS
};
enum { DUMP_ATTRIBUTES = 3, SEEN_ONLY = 1u << 31 /* in row_plus_one: not told yet */ };
static const struct row_column change_columns[CHANGE_COLUMNS] = {
    {DUMP_node_changes_node_id, DUMP_UNORDERED, false, false},
    {DUMP_node_changes_time_ns, DUMP_ASCENDING, false, false},
    {DUMP_node_changes_kind, DUMP_UNORDERED, false, false},
    {DUMP_node_changes_shape, DUMP_UNORDERED, false, false},
    {DUMP_node_changes_dtype, DUMP_UNORDERED, false, false},
    {DUMP_node_changes_canonical_device, DUMP_UNORDERED, false, false},
    {DUMP_node_changes_param_count, DUMP_UNORDERED, false, false},
    {DUMP_node_changes_param_bytes, DUMP_UNORDERED, false, false},
    {DUMP_node_changes_trainable, DUMP_UNORDERED, false, false},
    {DUMP_ATTRIBUTES, DUMP_UNORDERED, false, false},
};

bool module_rows_begin(struct module_rows *rows, struct dump_writer *writer) {
  memset(rows, 0, sizeof *rows);
  rows->writer = writer;
  return row_buffer_begin(&rows->nodes, DUMP_TABLE_nodes, node_columns, NODE_COLUMNS, 64) &&
         row_buffer_begin(&rows->changes, DUMP_TABLE_node_changes, change_columns, CHANGE_COLUMNS, 64);
}

void module_rows_end(struct module_rows *rows) {
  row_buffer_end(&rows->nodes);
  row_buffer_end(&rows->changes);
  row_map_end(&rows->numbers);
  memset(rows, 0, sizeof *rows);
}

/* ---- The queue. */

enum told_kind { TOLD_NODE, TOLD_CHANGE, TOLD_DEATH, TOLD_CLASS };
enum { TEXT_COUNT = 5 };
struct told {
  struct told *next;
  enum told_kind kind;
  union {                       /* their texts are not used */
    struct module_node node;    /* also of TOLD_DEATH and TOLD_CLASS */
    struct module_change change;
  };
  uint64_t new_type; /* of TOLD_CLASS */
  int64_t time_ns;
  uint32_t lengths[TEXT_COUNT]; /* 0: none */
  char texts[];
};

pthread_mutex_t module_queue_lock = PTHREAD_MUTEX_INITIALIZER;
static struct told *first, **last = &first;

static void append(struct told *told) {
  pthread_mutex_lock(&module_queue_lock);
  *last = told;
  last = &told->next;
  pthread_mutex_unlock(&module_queue_lock);
}

/* With room for the texts, which are copied. */
static struct told *new_told(enum told_kind kind, const char *const *texts, unsigned count) {
  size_t size = sizeof(struct told);
  for (unsigned i = 0; i < count; i++) size += texts[i] ? strlen(texts[i]) : 0;
  struct told *told = calloc(1, size);
  if (!told) return NULL;
  told->kind = kind;
  char *at = told->texts;
  for (unsigned i = 0; i < count; i++) {
    told->lengths[i] = texts[i] ? (uint32_t)strlen(texts[i]) : 0;
    if (told->lengths[i]) memcpy(at, texts[i], told->lengths[i]);
    at += told->lengths[i];
  }
  return told;
}

bool module_tell(const struct module_node *node) {
  struct told *told = new_told(TOLD_NODE, (const char *const[]){node->name, node->type}, 2);
  if (!told) return false;
  told->node = *node;
  append(told);
  return true;
}

bool module_tell_change(const struct module_change *change) {
  const char *const texts[] = {change->kind, change->shape, change->dtype, change->device, change->attributes};
  struct told *told = new_told(TOLD_CHANGE, texts, TEXT_COUNT);
  if (!told) return false;
  told->change = *change;
  told->time_ns = (int64_t)clock_monotonic_ns();
  append(told);
  return true;
}

static void tell_of_address(enum told_kind kind, uint64_t address, uint64_t type, uint64_t new_type) {
  struct told *told = new_told(kind, NULL, 0);
  if (!told) return;
  told->node.address = address;
  told->node.object_type = type;
  told->new_type = new_type;
  append(told);
}

void module_died(uint64_t address, uint64_t type) { tell_of_address(TOLD_DEATH, address, type, 0); }

void module_changed(uint64_t address, uint64_t type, uint64_t new_type) {
  tell_of_address(TOLD_CLASS, address, type, new_type);
}

void module_queue_reset(void) {
  first = NULL; /* what was in it stays allocated in the child: it may be half a list */
  last = &first;
}

/* ---- Rows. */

static uint32_t number_of(struct module_rows *rows, uint64_t address, uint64_t type, bool is_told, bool *is_known) {
  struct row_map_entry *entry = row_map_entry(&rows->numbers, address, type);
  *is_known = true;
  if (!entry) return 0;
  if (!entry->row_plus_one) {
    entry->row_plus_one = ++rows->count | SEEN_ONLY;
    row_map_added(&rows->numbers);
  }
  *is_known = !(entry->row_plus_one & SEEN_ONLY);
  if (is_told) entry->row_plus_one &= ~(uint32_t)SEEN_ONLY;
  return entry->row_plus_one & ~(uint32_t)SEEN_ONLY;
}

/* Puts the texts into these columns. */
static void set_texts(struct module_rows *rows, struct row_buffer *buffer, uint32_t row, const struct told *told,
                      const unsigned *columns, unsigned count) {
  const char *at = told->texts;
  for (unsigned i = 0; i < count; i++) {
    uint32_t string = told->lengths[i] ? dump_writer_string(rows->writer, at, told->lengths[i]) : 0;
    if (string) row_set(buffer, row, columns[i], string);
    at += told->lengths[i];
  }
}

static void add_node(struct module_rows *rows, const struct told *told) {
  const struct module_node *node = &told->node;
  struct row_buffer *nodes = &rows->nodes;
  uint32_t row = row_add(nodes);
  if (row == UINT32_MAX) return;
  rows->told++;
  set_texts(rows, nodes, row, told, (const unsigned[]){NODE_NAME, NODE_TYPE}, 2);
  if (node->parent >= 0) row_set(nodes, row, NODE_PARENT, node->parent);
  row_set(nodes, row, NODE_DEPTH, node->depth);
  row_set(nodes, row, NODE_IS_SCOPE, node->address != 0);
  if (!node->address) return;
  bool is_known;
  uint32_t number = number_of(rows, node->address, node->object_type, true, &is_known);
  if (number) row_set(nodes, row, NODE_MODULE, number);
}

static void add_change(struct module_rows *rows, const struct told *told) {
  const struct module_change *change = &told->change;
  struct row_buffer *changes = &rows->changes;
  uint32_t row = row_add(changes);
  if (row == UINT32_MAX) return;
  row_set(changes, row, CHANGE_NODE, change->row);
  row_set(changes, row, CHANGE_TIME, told->time_ns);
  set_texts(rows, changes, row, told,
            (const unsigned[]){CHANGE_KIND, CHANGE_SHAPE, CHANGE_DTYPE, CHANGE_DEVICE, CHANGE_ATTRIBUTES}, TEXT_COUNT);
  if (change->parameters >= 0) row_set(changes, row, CHANGE_PARAMETERS, change->parameters);
  if (change->bytes >= 0) row_set(changes, row, CHANGE_BYTES, change->bytes);
  if (change->trainable >= 0) row_set(changes, row, CHANGE_TRAINABLE, change->trainable);
}

/* A module that takes the address of a dead one is another module. */
static void forget(struct module_rows *rows, uint64_t address, uint64_t type) {
  struct row_map_entry *entry = row_map_entry(&rows->numbers, address, type);
  if (entry && entry->row_plus_one) entry->row_plus_one = ++rows->count | SEEN_ONLY;
}

/* It keeps its number; what it may have been seen under with the new class is given up. */
static void change_class(struct module_rows *rows, const struct told *told) {
  bool is_known;
  uint32_t number = number_of(rows, told->node.address, told->node.object_type, true, &is_known);
  if (number) number_of(rows, told->node.address, told->new_type, true, &is_known);
  struct row_map_entry *entry = number ? row_map_entry(&rows->numbers, told->node.address, told->new_type) : NULL;
  if (entry && entry->row_plus_one) entry->row_plus_one = number;
}

void module_rows_drain(struct module_rows *rows) {
  /* More waits until these are written: the numbers of rows must not be lost. */
  while (rows->nodes.rows < DUMP_MAXIMUM_FRAME_ROWS / 2 && rows->changes.rows < DUMP_MAXIMUM_FRAME_ROWS / 2) {
    pthread_mutex_lock(&module_queue_lock);
    struct told *told = first;
    if (told) first = told->next;
    if (!first) last = &first;
    pthread_mutex_unlock(&module_queue_lock);
    if (!told) return;
    switch (told->kind) {
      case TOLD_NODE: add_node(rows, told); break;
      case TOLD_CHANGE: add_change(rows, told); break;
      case TOLD_DEATH: forget(rows, told->node.address, told->node.object_type); break;
      case TOLD_CLASS: change_class(rows, told); break;
    }
    free(told);
  }
}

uint32_t module_rows_seen(struct module_rows *rows, uint64_t address, uint64_t type) {
  bool is_known;
  module_rows_drain(rows); /* the address may be that of a module that was told to be dead before it was seen */
  uint32_t number = number_of(rows, address, type, false, &is_known);
  if (!is_known) module_discovery_want((uintptr_t)address, (uintptr_t)type);
  return number;
}
