/* serving.c: see serving.h. */
#include "derive/serving/serving.h"

#include "derive/links/ancestors.h"

#include <stdlib.h>
#include <string.h>

enum {
  MOST_ROWS_UP = 1024,    /* from a task to its request: depths that only damaged files have are not gone through */
  LEVEL_OF_REQUESTS = -1, /* what a server marks as a request itself */
};
enum { IS_BATCH = 1, IS_REQUEST = 2, IS_SESSION = 4, IS_ROOT = 8, IS_BATCHER = 16 };

static bool begins_so(const char *text, const char *beginning) {
  return strncmp(text, beginning, strlen(beginning)) == 0;
}

enum serving_kind serving_kind(const char *name) {
  static const char *const batches[] = {"ProcessBatch", "OrbaxServing::ProcessBatch"};
  static const char *const requests[] = {"BatchingSessionRun", "TfrtModelRun", "ServingModelRun"};
  static const char *const sessions[] = {"SessionRun", "RunGraph"};
  if (!name) return SERVING_NONE;
  for (size_t i = 0; i < sizeof batches / sizeof *batches; i++)
    if (!strcmp(name, batches[i])) return SERVING_BATCH;
  for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
    if (!strcmp(name, requests[i])) return SERVING_REQUEST;
  for (size_t i = 0; i < sizeof sessions / sizeof *sessions; i++)
    if (!strcmp(name, sessions[i])) return SERVING_SESSION;
  return begins_so(name, "ModelServerRequest_") ? SERVING_REQUEST : SERVING_NONE;
}

bool serving_has_none(const struct profile *profile) {
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  for (size_t i = 0; i < ops->segment_count; i++) {
    const struct column_set *raw = &ops->segments[i]->is_raw;
    if (column_set_has(raw, COLUMN_ops_task_size) || column_set_has(raw, COLUMN_ops_padded_size) ||
        column_set_has(raw, COLUMN_ops_model_name))
      return false;
  }
  return true;
}

void serving_free(struct serving *serving) {
  scratch_free(serving->batches);
  scratch_free(serving->requests);
  scratch_free(serving->tasks);
  *serving = (struct serving){.batches = NULL};
}

/* ---- what there is ---- */

struct hand_over {
  int64_t context, start;
  uint32_t row; /* of ops */
};
struct hand_over_list {
  struct hand_over *items;
  uint32_t count, capacity;
};

struct row_list {
  uint32_t *items;
  uint32_t count, capacity;
};

struct finding {
  struct profile *profile;
  struct serving *serving;
  uint32_t rows;
  uint8_t *flags;                     /* by op */
  uint32_t *parents, *threads;        /* by op */
  int64_t *consumed;                  /* by op: the context that it takes, NO_VALUE */
  int64_t *starts, *ends, *sizes;     /* by op */
  string_id *names, *models;          /* by op */
  uint32_t *place;                    /* by op: of batches and requests, which of them; NO_ROW */
  struct hand_over_list givers, takers; /* of any context; of batches' */
  struct row_list batches, requests, telling; /* `telling`: rows with sizes of padding, or a model */
};

static void finding_free(struct finding *f) {
  scratch_free(f->flags);
  scratch_free(f->parents);
  scratch_free(f->threads);
  scratch_free(f->consumed);
  scratch_free(f->starts);
  scratch_free(f->ends);
  scratch_free(f->sizes);
  scratch_free(f->names);
  scratch_free(f->models);
  scratch_free(f->place);
  scratch_free(f->givers.items);
  scratch_free(f->takers.items);
  scratch_free(f->batches.items);
  scratch_free(f->requests.items);
  scratch_free(f->telling.items);
}

static bool add_served_row(struct row_list *list, uint32_t row) {
  uint32_t *items = scratch_grow(list->items, list->count, &list->capacity, 256, sizeof *items);
  if (!items) return false;
  list->items = items;
  items[list->count++] = row;
  return true;
}

static bool add_hand_over(struct hand_over_list *list, int64_t context, int64_t start, uint32_t row) {
  struct hand_over *items = scratch_grow(list->items, list->count, &list->capacity, 256, sizeof *items);
  if (!items) return false;
  list->items = items;
  items[list->count++] = (struct hand_over){context, start, row};
  return true;
}

static int by_context_and_start(const void *left, const void *right) {
  const struct hand_over *a = left, *b = right;
  if (a->context != b->context) return a->context < b->context ? -1 : 1;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}

/* The first of a context that begins at a moment or later, else its last; NULL: there is none. */
static const struct hand_over *find_hand_over(const struct hand_over_list *list, int64_t context, int64_t time) {
  uint32_t low = 0, high = list->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    const struct hand_over *it = &list->items[middle];
    if (it->context < context || (it->context == context && it->start < time)) low = middle + 1;
    else high = middle;
  }
  if (low < list->count && list->items[low].context == context) return &list->items[low];
  return low && list->items[low - 1].context == context ? &list->items[low - 1] : NULL;
}

static bool allocate_by_op(struct finding *f) {
  size_t count = (size_t)f->rows + 1;
  f->flags = scratch_allocate_zeroed(count, sizeof *f->flags);
  f->consumed = scratch_allocate(count * sizeof *f->consumed);
  f->sizes = scratch_allocate(count * sizeof *f->sizes);
  f->names = scratch_allocate(count * sizeof *f->names);
  f->models = scratch_allocate(count * sizeof *f->models);
  f->place = scratch_allocate(count * sizeof *f->place);
  if (f->place) memset(f->place, 0xff, count * sizeof *f->place); /* NO_ROW */
  return f->flags && f->consumed && f->sizes && f->names && f->models && f->place;
}

static uint8_t flags_of(enum serving_kind kind, int64_t level, string_id type, string_id batcher) {
  uint8_t flags = kind == SERVING_BATCH ? IS_BATCH : kind == SERVING_REQUEST ? IS_REQUEST : 0;
  if (kind == SERVING_SESSION) flags |= IS_SESSION;
  if (level != NO_VALUE && !(flags & IS_BATCH)) flags |= level == LEVEL_OF_REQUESTS ? IS_REQUEST : IS_ROOT;
  return type && type == batcher ? flags | IS_BATCHER : flags;
}

/* Rows of a block: what they are, and whose they may be. */
static bool take_block(struct finding *f, const struct row_block *block, uint8_t *kinds) {
  const struct pool *pool = store_pool(f->profile->store);
  string_id types[ROWS_BLOCK], batcher = derive_known_text(f->profile, "BatchFunction");
  int64_t levels[ROWS_BLOCK], produced[ROWS_BLOCK], padded[ROWS_BLOCK];
  const uint32_t first = (uint32_t)block->row;
  block_texts(block, COLUMN_ops_name, f->names + first);
  block_texts(block, COLUMN_ops_model_name, f->models + first);
  block_texts(block, COLUMN_ops_op_type, types);
  block_integers(block, COLUMN_ops_root_level, levels);
  block_integers(block, COLUMN_ops_consumed_context, f->consumed + first);
  block_integers(block, COLUMN_ops_produced_context, produced);
  block_integers(block, COLUMN_ops_task_size, f->sizes + first);
  block_integers(block, COLUMN_ops_padded_size, padded);
  bool ok = true;
  for (uint32_t i = 0; i < block->count && ok; i++) {
    const uint32_t row = first + i;
    uint8_t *kind = &kinds[f->names[row]];
    if (*kind == SERVING_NOT_ASKED) *kind = (uint8_t)serving_kind(pool_text(pool, f->names[row]));
    f->flags[row] = flags_of((enum serving_kind)*kind, levels[i], types[i], batcher);
    if (produced[i] != NO_VALUE) ok = add_hand_over(&f->givers, produced[i], f->starts[row], row);
    bool is_timed = f->starts[row] != NO_VALUE && f->ends[row] != NO_VALUE && f->ends[row] >= f->starts[row];
    if (ok && is_timed && f->flags[row] & IS_BATCH) {
      ok = add_served_row(&f->batches, row);
      if (ok && f->consumed[row] != NO_VALUE)
        ok = add_hand_over(&f->takers, f->consumed[row], f->starts[row], row);
    }
    bool is_session = f->flags[row] & IS_SESSION && f->models[row];
    if (ok && is_timed && (f->flags[row] & IS_REQUEST || is_session)) ok = add_served_row(&f->requests, row);
    if (ok && (padded[i] != NO_VALUE || f->models[row])) ok = add_served_row(&f->telling, row);
  }
  return ok;
}

static enum tfprof_status look_through(struct finding *f, struct tfprof_error *error) {
  enum tfprof_status status = derive_all_op_parents(f->profile, &f->parents, error);
  const size_t texts = (size_t)pool_count(store_pool(f->profile->store)) + 1;
  if (!status) status = derive_all_references(f->profile, TABLE_ops, COLUMN_ops_thread_id, &f->threads, error);
  if (!status) status = derive_all_integers(f->profile, TABLE_ops, COLUMN_ops_start_ns, &f->starts, error);
  if (!status) status = derive_all_integers(f->profile, TABLE_ops, COLUMN_ops_end_ns, &f->ends, error);
  uint8_t *kinds = scratch_allocate_zeroed(texts, sizeof *kinds); /* enum serving_kind by name */
  if (!status && (!kinds || !allocate_by_op(f))) status = error_no_memory(error);
  for (struct row_block block = {0}; derive_next_block(f->profile, TABLE_ops, &block, &status, error);)
    if (!take_block(f, &block, kinds)) status = error_no_memory(error);
  scratch_free(kinds);
  if (f->givers.count) qsort(f->givers.items, f->givers.count, sizeof *f->givers.items, by_context_and_start);
  if (f->takers.count) qsort(f->takers.items, f->takers.count, sizeof *f->takers.items, by_context_and_start);
  return status;
}

/* ---- outwards ---- */

/* What lies on the way from an op outwards; NO_ROW: nothing such. */
struct way {
  uint32_t request; /* the outermost that is one by its name or level */
  uint32_t begun;   /* the outermost that has a level */
  uint32_t batch;   /* the innermost, at which the way ends */
  uint32_t batcher; /* the innermost op of the model that batches */
};

static struct way go_outwards(const struct finding *f, uint32_t from) {
  struct way way = {NO_ROW, NO_ROW, NO_ROW, NO_ROW};
  unsigned rows = 0;
  for (uint32_t row = from; row != NO_ROW && rows < MOST_ROWS_UP;) {
    uint32_t taker = NO_ROW;
    for (uint32_t at = row; at != NO_ROW && rows < MOST_ROWS_UP; at = f->parents[at], rows++) {
      const uint8_t flags = f->flags[at];
      if (flags & IS_BATCH) {
        way.batch = at;
        return way;
      }
      bool is_request = flags & IS_REQUEST || (flags & IS_SESSION && f->models[at]);
      if (is_request) way.request = at;
      if (flags & IS_ROOT) way.begun = at;
      if (flags & IS_BATCHER && way.batcher == NO_ROW) way.batcher = at;
      if (f->consumed[at] != NO_VALUE && taker == NO_ROW) taker = at;
    }
    if (taker == NO_ROW) return way;
    const struct hand_over *giver = find_hand_over(&f->givers, f->consumed[taker], INT64_MIN);
    row = giver && giver->row != taker ? giver->row : NO_ROW;
  }
  return way;
}

/* ---- batches and requests ---- */

static int batches_by_start(const void *left, const void *right) {
  const struct served_batch *a = left, *b = right;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return a->op < b->op ? -1 : a->op > b->op;
}
static int requests_by_start(const void *left, const void *right) {
  const struct served_request *a = left, *b = right;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return a->op < b->op ? -1 : a->op > b->op;
}

static bool make_batches(struct finding *f) {
  struct serving *serving = f->serving;
  serving->batches = scratch_allocate(((size_t)f->batches.count + 1) * sizeof *serving->batches);
  if (!serving->batches) return false;
  serving->batch_count = f->batches.count;
  for (uint32_t i = 0; i < f->batches.count; i++) {
    uint32_t op = f->batches.items[i];
    serving->batches[i] = (struct served_batch){.start = f->starts[op],
                                                .end = f->ends[op],
                                                .size = f->sizes[op],
                                                .padding = NO_VALUE,
                                                .padded_size = NO_VALUE,
                                                .first_queued = NO_VALUE,
                                                .op = op,
                                                .thread = f->threads[op],
                                                .name = f->names[op],
                                                .model = f->models[op]};
  }
  if (serving->batch_count)
    qsort(serving->batches, serving->batch_count, sizeof *serving->batches, batches_by_start);
  for (uint32_t i = 0; i < serving->batch_count; i++) f->place[serving->batches[i].op] = i;
  return true;
}

/* Each op once. */
static bool make_requests(struct finding *f) {
  struct serving *serving = f->serving;
  serving->requests = scratch_allocate(((size_t)f->requests.count + 1) * sizeof *serving->requests);
  if (!serving->requests) return false;
  for (uint32_t i = 0; i < f->requests.count; i++) {
    uint32_t op = f->requests.items[i];
    if (f->place[op] != NO_ROW || f->starts[op] == NO_VALUE || f->ends[op] < f->starts[op]) continue;
    f->place[op] = 0;
    serving->requests[serving->request_count++] = (struct served_request){.start = f->starts[op],
                                                                          .end = f->ends[op],
                                                                          .size = NO_VALUE,
                                                                          .op = op,
                                                                          .thread = f->threads[op],
                                                                          .first_batch = NO_ROW,
                                                                          .name = f->names[op],
                                                                          .model = f->models[op]};
  }
  if (serving->request_count)
    qsort(serving->requests, serving->request_count, sizeof *serving->requests, requests_by_start);
  for (uint32_t i = 0; i < serving->request_count; i++) f->place[serving->requests[i].op] = i;
  return true;
}

/* Those that are called so stay where no other lies around them, and they in no batch. */
static enum tfprof_status keep_outer_requests(struct finding *f, struct tfprof_error *error) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < f->requests.count; i++) {
    uint32_t op = f->requests.items[i];
    struct way way = go_outwards(f, op);
    if (way.batch == NO_ROW && way.request == op) f->requests.items[kept++] = op;
    enum tfprof_status status = i % 1024 ? TFPROF_OK : derive_poll(f->profile, error);
    if (status) return status;
  }
  f->requests.count = kept;
  return TFPROF_OK;
}

/* Ops that handed a batch's context on, each a task; `request` is an op until all are found. */
static enum tfprof_status make_tasks(struct finding *f, struct tfprof_error *error) {
  struct serving *serving = f->serving;
  serving->tasks = scratch_allocate(((size_t)f->givers.count + 1) * sizeof *serving->tasks);
  if (!serving->tasks) return error_no_memory(error);
  for (uint32_t i = 0; i < f->givers.count && f->takers.count; i++) {
    const struct hand_over *giver = &f->givers.items[i];
    if (giver->start == NO_VALUE) continue;
    const struct hand_over *taker = find_hand_over(&f->takers, giver->context, giver->start);
    if (!taker) continue;
    struct way way = go_outwards(f, giver->row);
    uint32_t request = way.request != NO_ROW ? way.request : way.begun;
    uint32_t parent = f->parents[giver->row];
    int64_t size = f->sizes[giver->row];
    if (size == NO_VALUE && parent != NO_ROW) size = f->sizes[parent];
    if (request == giver->row || (request != NO_ROW && f->starts[request] == NO_VALUE)) request = NO_ROW;
    if (request != NO_ROW && !add_served_row(&f->requests, request)) return error_no_memory(error);
    serving->tasks[serving->task_count++] =
        (struct served_task){giver->start, size, giver->row, f->place[taker->row], request,
                             way.batcher == NO_ROW ? 0 : f->names[way.batcher]};
    enum tfprof_status status = serving->task_count % 1024 ? TFPROF_OK : derive_poll(f->profile, error);
    if (status) return status;
  }
  return TFPROF_OK;
}

/* ---- what is told of them ---- */

static int tasks_by_batch(const void *left, const void *right) {
  const struct served_task *a = left, *b = right;
  if (a->batch != b->batch) return a->batch < b->batch ? -1 : 1;
  if (a->queued != b->queued) return a->queued < b->queued ? -1 : 1;
  return a->op < b->op ? -1 : a->op > b->op;
}

/* Sizes with padding, and models: of the batch or request around the row that tells them. */
static enum tfprof_status take_told(struct finding *f, struct tfprof_error *error) {
  struct serving *serving = f->serving;
  int64_t *padded = NULL, *padding = NULL;
  enum tfprof_status status = TFPROF_OK;
  if (f->telling.count) status = derive_all_integers(f->profile, TABLE_ops, COLUMN_ops_padded_size, &padded, error);
  if (!status && padded) status = derive_all_integers(f->profile, TABLE_ops, COLUMN_ops_padding, &padding, error);
  for (uint32_t i = 0; i < f->telling.count && !status; i++) {
    uint32_t row = f->telling.items[i];
    struct way way = go_outwards(f, row);
    struct served_batch *batch = way.batch == NO_ROW ? NULL : &serving->batches[f->place[way.batch]];
    if (way.batch != NO_ROW && f->place[way.batch] == NO_ROW) batch = NULL; /* without times */
    uint32_t request = way.request != NO_ROW ? way.request : way.begun;
    request = request == NO_ROW ? NO_ROW : f->place[request];
    if (batch && padded[row] != NO_VALUE) {
      batch->padded_size = padded[row];
      batch->padding = padding[row] > padded[row] ? NO_VALUE : padding[row]; /* more than there is cannot be */
    }
    if (f->models[row] && batch && !batch->model) batch->model = f->models[row];
    bool is_of_request = f->models[row] && !batch && request != NO_ROW && request < serving->request_count;
    if (is_of_request && !serving->requests[request].model) serving->requests[request].model = f->models[row];
    status = i % 1024 ? TFPROF_OK : derive_poll(f->profile, error);
  }
  scratch_free(padded);
  scratch_free(padding);
  return status;
}

/* What tasks tell of their batches, and these of requests. `last_batch` is by request. */
static void join_tasks(struct serving *serving, uint32_t *last_batch) {
  for (uint32_t i = 0; i < serving->task_count; i++) {
    struct served_task *task = &serving->tasks[i];
    struct served_batch *batch = &serving->batches[task->batch];
    struct served_request *request = task->request == NO_ROW ? NULL : &serving->requests[task->request];
    batch->task_count++;
    if (batch->first_queued == NO_VALUE) batch->first_queued = task->queued;
    if (request && !batch->model) batch->model = request->model;
    if (!request) continue;
    if (last_batch[task->request] != task->batch) request->batch_count++;
    bool is_first = request->first_batch == NO_ROW;
    last_batch[task->request] = task->batch;
    if (is_first) request->first_batch = task->batch; /* batches are in the order of their starts */
    if (is_first) request->size = task->size;
    else if (request->size != NO_VALUE)
      request->size = task->size == NO_VALUE ? NO_VALUE : derive_sum(request->size, task->size);
    if (request->end < batch->end) request->end = batch->end;
  }
  for (uint32_t i = 0; i < serving->task_count; i++) {
    const struct served_task *task = &serving->tasks[i];
    struct served_batch *batch = &serving->batches[task->batch];
    if (!batch->model) batch->model = task->model;
    if (task->request != NO_ROW && !serving->requests[task->request].model)
      serving->requests[task->request].model = batch->model;
  }
  for (uint32_t i = 0; i < serving->batch_count; i++) {
    struct served_batch *batch = &serving->batches[i];
    bool is_told = batch->padded_size != NO_VALUE && batch->padding != NO_VALUE;
    if (batch->size == NO_VALUE && is_told) batch->size = derive_difference(batch->padded_size, batch->padding);
  }
}

static enum tfprof_status join_served(struct finding *f, struct tfprof_error *error) {
  struct serving *serving = f->serving;
  uint32_t *last_batch = scratch_allocate(((size_t)serving->request_count + 1) * sizeof *last_batch);
  if (!last_batch) return error_no_memory(error);
  memset(last_batch, 0xff, serving->request_count * sizeof *last_batch); /* NO_ROW */
  for (uint32_t i = 0; i < serving->task_count; i++) {
    struct served_task *task = &serving->tasks[i];
    if (task->request != NO_ROW) task->request = f->place[task->request];
  }
  if (serving->task_count) qsort(serving->tasks, serving->task_count, sizeof *serving->tasks, tasks_by_batch);
  join_tasks(serving, last_batch);
  scratch_free(last_batch);
  return TFPROF_OK;
}

enum tfprof_status serving_find(struct profile *profile, struct serving *serving, struct tfprof_error *error) {
  struct finding f = {.profile = profile, .serving = serving};
  *serving = (struct serving){.batches = NULL};
  enum tfprof_status status = derive_row_count(profile, TABLE_ops, &f.rows, error);
  if (status || !f.rows) return status;
  status = look_through(&f, error);
  if (!status && !make_batches(&f)) status = error_no_memory(error);
  if (!status) status = keep_outer_requests(&f, error);
  if (!status) status = make_tasks(&f, error);
  if (!status && !make_requests(&f)) status = error_no_memory(error);
  if (!status) status = take_told(&f, error);
  if (!status) status = join_served(&f, error);
  finding_free(&f);
  return status;
}
