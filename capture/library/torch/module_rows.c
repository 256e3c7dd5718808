/* module_rows.c: see module_rows.h. */
#include "module_rows.h"

#include "recorder/clock.h"

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
  CHANGE_MODULE,
  CHANGE_ADDRESS,
  CHANGE_ATTRIBUTES,
  CHANGE_COLUMNS
};
enum { DUMP_ATTRIBUTES = 3 };
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
    {DUMP_node_changes_recorded_module, DUMP_UNORDERED, false, false},
    {DUMP_node_changes_recorded_address, DUMP_UNORDERED, false, false},
    {DUMP_ATTRIBUTES, DUMP_UNORDERED, false, false},
};

static const struct table_form nodes_form =
    TABLE_FORM(nodes, TABLE_DEFINITION, "modules and parameters", node_columns, 64);
static const struct table_form changes_form =
    TABLE_FORM(node_changes, TABLE_DEFINITION, "changes of modules and parameters", change_columns, 64);

static struct row_buffer nodes, changes;

static void tell_kept_again(void);

bool module_rows_open(struct recorder *recorder) {
  tell_kept_again();
  return row_tables_add(&recorder->tables, &nodes, &nodes_form) &&
         row_tables_add(&recorder->tables, &changes, &changes_form);
}

/* ---- The queue. */

enum told_kind { TOLD_NODE, TOLD_CHANGE };
enum { TEXT_COUNT = 5 };
struct told {
  struct told *next;
  enum told_kind kind;
  union { /* their texts are not used */
    struct module_node node;
    struct module_change change;
  };
  int64_t time_ns;
  uint32_t lengths[TEXT_COUNT]; /* 0: none */
  char texts[];
};

pthread_mutex_t module_queue_lock = PTHREAD_MUTEX_INITIALIZER;
static struct told *first, **last = &first;
/* Of a dormant program: what was told before, of which each file has its rows. */
static struct told *first_kept, **last_kept = &first_kept;
static unsigned kept;
static bool is_keeping;
enum { WAITING_MAXIMUM = 64 * 1024 }; /* nodes and changes, some 20 MB */
static unsigned waiting;
static uint64_t refused;

/* false: too many wait. */
static bool append_told(struct told *told) {
  pthread_mutex_lock(&module_queue_lock);
  bool is_taken = waiting + kept < WAITING_MAXIMUM;
  if (is_taken) {
    *last = told;
    last = &told->next;
    waiting++;
  } else {
    refused++;
  }
  pthread_mutex_unlock(&module_queue_lock);
  if (!is_taken) free(told);
  return is_taken;
}

uint64_t module_queue_refused(void) {
  pthread_mutex_lock(&module_queue_lock);
  uint64_t count = refused;
  pthread_mutex_unlock(&module_queue_lock);
  return count;
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
  return append_told(told);
}

bool module_tell_change(const struct module_change *change) {
  const char *const texts[] = {change->kind, change->shape, change->dtype, change->device, change->attributes};
  struct told *told = new_told(TOLD_CHANGE, texts, TEXT_COUNT);
  if (!told) return false;
  told->change = *change;
  told->time_ns = (int64_t)clock_monotonic_ns();
  return append_told(told);
}

void module_queue_reset(void) {
  first = NULL; /* what was in it stays allocated in the child: it may be half a list */
  last = &first;
  waiting = 0;
  refused = 0;
  first_kept = NULL;
  last_kept = &first_kept;
  kept = 0;
}

void module_queue_keep(void) { is_keeping = true; }

/* What has come since is behind it, as numbers of rows go by the order. */
static void tell_kept_again(void) {
  pthread_mutex_lock(&module_queue_lock);
  if (first_kept) {
    int64_t now_ns = (int64_t)clock_monotonic_ns();
    for (struct told *told = first_kept; told; told = told->next) told->time_ns = now_ns;
    *last_kept = first;
    if (!first) last = last_kept;
    first = first_kept;
    waiting += kept;
    first_kept = NULL;
    last_kept = &first_kept;
    kept = 0;
  }
  pthread_mutex_unlock(&module_queue_lock);
}

/* With the lock. false: it is not kept. */
static bool keep_told(struct told *told) {
  if (!is_keeping) return false;
  told->next = NULL;
  *last_kept = told;
  last_kept = &told->next;
  kept++;
  return true;
}

/* ---- Rows. */

/* Puts the texts into these columns. */
static void set_texts(struct recorder *recorder, struct row_buffer *buffer, uint32_t row, const struct told *told,
                      const unsigned *columns, unsigned count) {
  const char *at = told->texts;
  for (unsigned i = 0; i < count; i++) {
    uint32_t string = told->lengths[i] ? texts_keep(&recorder->texts, recorder->writer, at, told->lengths[i]) : 0;
    if (string) row_set(buffer, row, columns[i], string);
    at += told->lengths[i];
  }
}

static void add_node(struct recorder *recorder, const struct told *told) {
  const struct module_node *node = &told->node;
  uint32_t row = row_add(&nodes);
  if (row == UINT32_MAX) return;
  set_texts(recorder, &nodes, row, told, (const unsigned[]){NODE_NAME, NODE_TYPE}, 2);
  if (node->parent >= 0) row_set(&nodes, row, NODE_PARENT, node->parent);
  row_set(&nodes, row, NODE_DEPTH, node->depth);
  row_set(&nodes, row, NODE_IS_SCOPE, node->module != 0);
  if (node->module) row_set(&nodes, row, NODE_MODULE, node->module);
}

static void add_change(struct recorder *recorder, const struct told *told) {
  const struct module_change *change = &told->change;
  uint32_t row = row_add(&changes);
  if (row == UINT32_MAX) return;
  row_set(&changes, row, CHANGE_NODE, change->row);
  row_set(&changes, row, CHANGE_TIME, told->time_ns);
  set_texts(recorder, &changes, row, told,
            (const unsigned[]){CHANGE_KIND, CHANGE_SHAPE, CHANGE_DTYPE, CHANGE_DEVICE, CHANGE_ATTRIBUTES}, TEXT_COUNT);
  if (change->parameters >= 0) row_set(&changes, row, CHANGE_PARAMETERS, change->parameters);
  if (change->bytes >= 0) row_set(&changes, row, CHANGE_BYTES, change->bytes);
  if (change->trainable >= 0) row_set(&changes, row, CHANGE_TRAINABLE, change->trainable);
  if (change->module) row_set(&changes, row, CHANGE_MODULE, change->module);
  if (change->address) row_set(&changes, row, CHANGE_ADDRESS, change->address);
}

void module_rows_drain(struct recorder *recorder) {
  /* More waits until these are written: the numbers of rows must not be lost. */
  while (nodes.rows < DUMP_MAXIMUM_FRAME_ROWS / 2 && changes.rows < DUMP_MAXIMUM_FRAME_ROWS / 2) {
    pthread_mutex_lock(&module_queue_lock);
    struct told *told = first;
    if (told) first = told->next;
    if (!first) last = &first;
    if (told) waiting--;
    pthread_mutex_unlock(&module_queue_lock);
    if (!told) return;
    switch (told->kind) {
      case TOLD_NODE: add_node(recorder, told); break;
      case TOLD_CHANGE: add_change(recorder, told); break;
    }
    pthread_mutex_lock(&module_queue_lock);
    bool is_kept = keep_told(told);
    pthread_mutex_unlock(&module_queue_lock);
    if (!is_kept) free(told);
  }
}

void module_rows_losses(struct recorder *recorder) {
  static const char why[] = "modules and parameters were lost because those before were";
  recorder_lost(recorder, (struct loss){module_queue_refused(), "error", why, "nodes", &nodes});
}
