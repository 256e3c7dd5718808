/* module_rows.c: see module_rows.h. */
#include "module_rows.h"

#include "dump_ids.h"
#include "module_discovery.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
  NODE_NAME,
  NODE_TYPE,
  NODE_DEVICE,
  NODE_PARENT,
  NODE_DEPTH,
  NODE_IS_SCOPE,
  NODE_SHAPE,
  NODE_DTYPE,
  NODE_PARAMETERS,
  NODE_BYTES,
  NODE_TRAINABLE,
  NODE_MODULE,
  NODE_ATTRIBUTES,
  NODE_COLUMNS
};
enum { DUMP_ATTRIBUTES = 3, SEEN_ONLY = 1u << 31 /* in row_plus_one: not told yet */ };
static const struct row_column node_columns[NODE_COLUMNS] = {
    {DUMP_nodes_name, DUMP_UNORDERED, false, false},
    {DUMP_nodes_op_type, DUMP_UNORDERED, false, false},
    {DUMP_nodes_canonical_device, DUMP_UNORDERED, false, false},
    {DUMP_nodes_parent_id, DUMP_UNORDERED, false, false},
    {DUMP_nodes_depth, DUMP_UNORDERED, false, false},
    {DUMP_nodes_is_scope, DUMP_UNORDERED, false, false},
    {DUMP_nodes_shape, DUMP_UNORDERED, false, false},
    {DUMP_nodes_dtype, DUMP_UNORDERED, false, false},
    {DUMP_nodes_param_count, DUMP_UNORDERED, false, false},
    {DUMP_nodes_param_bytes, DUMP_UNORDERED, false, false},
    {DUMP_nodes_trainable, DUMP_UNORDERED, false, false},
    {DUMP_nodes_recorded_module, DUMP_UNORDERED, false, false},
    {DUMP_ATTRIBUTES, DUMP_UNORDERED, false, false},
};

bool module_rows_begin(struct module_rows *rows, struct dump_writer *writer) {
  memset(rows, 0, sizeof *rows);
  rows->writer = writer;
  return row_buffer_begin(&rows->nodes, DUMP_TABLE_nodes, node_columns, NODE_COLUMNS, 64);
}

void module_rows_end(struct module_rows *rows) {
  row_buffer_end(&rows->nodes);
  row_map_end(&rows->numbers);
  memset(rows, 0, sizeof *rows);
}

/* ---- The queue. */

enum { TEXT_NAME, TEXT_TYPE, TEXT_SHAPE, TEXT_DTYPE, TEXT_DEVICE, TEXT_ATTRIBUTES, TEXT_COUNT };
struct told {
  struct told *next;
  struct module_node node; /* its texts are not used */
  bool is_death;
  uint64_t new_type; /* 0: no change of class */
  uint32_t lengths[TEXT_COUNT]; /* 0: none */
  char texts[];
};

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static struct told *first, **last = &first;

static void append(struct told *told) {
  pthread_mutex_lock(&guard);
  *last = told;
  last = &told->next;
  pthread_mutex_unlock(&guard);
}

bool module_tell(const struct module_node *node) {
  const char *const texts[TEXT_COUNT] = {node->name,  node->type,   node->shape,
                                         node->dtype, node->device, node->attributes};
  size_t size = sizeof(struct told);
  for (int i = 0; i < TEXT_COUNT; i++) size += texts[i] ? strlen(texts[i]) : 0;
  struct told *told = calloc(1, size);
  if (!told) return false;
  told->node = *node;
  char *at = told->texts;
  for (int i = 0; i < TEXT_COUNT; i++) {
    told->lengths[i] = texts[i] ? (uint32_t)strlen(texts[i]) : 0;
    if (told->lengths[i]) memcpy(at, texts[i], told->lengths[i]);
    at += told->lengths[i];
  }
  append(told);
  return true;
}

void module_died(uint64_t address, uint64_t type) {
  struct told *told = calloc(1, sizeof *told);
  if (!told) return;
  told->is_death = true;
  told->node.address = address;
  told->node.object_type = type;
  append(told);
}

void module_changed(uint64_t address, uint64_t type, uint64_t new_type) {
  struct told *told = calloc(1, sizeof *told);
  if (!told) return;
  told->new_type = new_type;
  told->node.address = address;
  told->node.object_type = type;
  append(told);
}

void module_queue_reset(void) {
  pthread_mutex_init(&guard, NULL);
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

static void add_node(struct module_rows *rows, const struct told *told) {
  static const unsigned columns[TEXT_COUNT] = {NODE_NAME,  NODE_TYPE,   NODE_SHAPE,
                                               NODE_DTYPE, NODE_DEVICE, NODE_ATTRIBUTES};
  const struct module_node *node = &told->node;
  struct row_buffer *nodes = &rows->nodes;
  uint32_t row = row_add(nodes);
  if (row == UINT32_MAX) return;
  rows->told++;
  const char *at = told->texts;
  for (int i = 0; i < TEXT_COUNT; i++) {
    uint32_t string = told->lengths[i] ? dump_writer_string(rows->writer, at, told->lengths[i]) : 0;
    if (string) row_set(nodes, row, columns[i], string);
    at += told->lengths[i];
  }
  if (node->parent >= 0) row_set(nodes, row, NODE_PARENT, node->parent);
  row_set(nodes, row, NODE_DEPTH, node->depth);
  row_set(nodes, row, NODE_IS_SCOPE, node->address != 0);
  if (node->parameters >= 0) row_set(nodes, row, NODE_PARAMETERS, node->parameters);
  if (node->bytes >= 0) row_set(nodes, row, NODE_BYTES, node->bytes);
  if (node->trainable >= 0) row_set(nodes, row, NODE_TRAINABLE, node->trainable);
  if (!node->address) return;
  bool is_known;
  uint32_t number = number_of(rows, node->address, node->object_type, true, &is_known);
  if (number) row_set(nodes, row, NODE_MODULE, number);
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
  while (rows->nodes.rows < DUMP_MAXIMUM_FRAME_ROWS / 2) {
    pthread_mutex_lock(&guard);
    struct told *told = first;
    if (told) first = told->next;
    if (!first) last = &first;
    pthread_mutex_unlock(&guard);
    if (!told) return;
    if (told->is_death)
      forget(rows, told->node.address, told->node.object_type);
    else if (told->new_type)
      change_class(rows, told);
    else
      add_node(rows, told);
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
