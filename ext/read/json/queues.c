/* queues.c: which op launched what, of Ascend's profiler (torch_npu's trace_view.json).
**
** A task of the device and the call that launched it share a connection.  Python puts ops into a queue (Enqueue) which
** another thread takes out again (Dequeue) and launches; both carry the number of the op.  What was launched while a
** thread had taken out an op is a launch of the Enqueue, which lies in the op; the first connection of several is the
** number of all.  Without the queue the thread that runs the op launches itself: the call is moved to the thread of
** that number in the process that has the ops, for the file gives each layer of the software a process.
*/
#include <stdlib.h>
#include <string.h>

#include "read/json/trace.h"

static int compare_calls(const void *left, const void *right) {
  const struct queue_call *a = left, *b = right;
  if (a->lane != b->lane) return a->lane < b->lane ? -1 : 1; /* of Dequeues: the thread's number, see below */
  return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

static int compare_rows(const void *left, const void *right) {
  uint64_t a = ((const struct queue_row *)left)->row, b = ((const struct queue_row *)right)->row;
  return a < b ? -1 : a > b;
}

/* The number of a thread among those that calls run on: lanes of several processes may be one. INTERN_NONE: no memory,
** or no lane. */
static uint32_t thread_of(const struct trace *trace, struct row_map *threads, uint32_t lane) {
  if (lane >= trace->lanes.count) return INTERN_NONE;
  return row_map_number(threads, (struct row_key){{trace->lanes.keys[lane].words[2], 0, 0}});
}

struct linking {
  struct trace *trace;
  struct row_map threads, queued; /* queued: number of an Enqueue -> its place in `enqueues` */
  LIST(struct queue_call) dequeues, enqueues;
  int64_t *given; /* by place of an Enqueue: the connection of its first launch, ROW_NULL */
  int64_t *lanes; /* by thread: one of another process, ROW_NULL */
};

static const struct queue_call *dequeue_around(const struct linking *l, uint32_t thread, int64_t time) {
  size_t low = 0, high = l->dequeues.count;
  const struct queue_call *all = l->dequeues.items;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    bool is_before = all[middle].lane < thread || (all[middle].lane == thread && all[middle].start_ns <= time);
    if (is_before) low = middle + 1;
    else high = middle;
  }
  if (!low || all[low - 1].lane != thread) return NULL;
  return time - all[low - 1].start_ns <= all[low - 1].dur_ns ? &all[low - 1] : NULL;
}

static bool add_row(struct linking *l, uint64_t row, int64_t number, int64_t lane) {
  struct queue_row *item = list_add(&l->trace->queue_links.rows);
  if (item) *item = (struct queue_row){row, number, lane};
  return item != NULL;
}

/* What carries the connection is a launch of another number from now on. */
static bool rename_connection(struct linking *l, int64_t connection, int64_t number) {
  struct queue_links *links = &l->trace->queue_links;
  uint32_t before = links->connections.count;
  uint32_t at = row_map_number(&links->connections, (struct row_key){{(uint64_t)connection, 0, 0}});
  if (at == INTERN_NONE) return false;
  if (at != before) return true;
  int64_t *item = list_add(&links->numbers);
  if (item) *item = number;
  return item != NULL;
}

static bool sort_out(struct linking *l) {
  const struct queue_call *all = l->trace->queue_calls.items;
  bool ok = true;
  for (size_t i = 0; i < l->trace->queue_calls.count && ok; i++) {
    if (all[i].kind == QUEUE_LAUNCH) continue;
    bool is_dequeue = all[i].kind == QUEUE_DEQUEUE;
    if (!is_dequeue) {
      uint32_t before = l->queued.count;
      uint32_t at = row_map_number(&l->queued, (struct row_key){{(uint64_t)all[i].number, 0, 0}});
      ok = at != INTERN_NONE;
      if (!ok || at != before) continue; /* of several of a number the first */
    }
    struct queue_call *item = is_dequeue ? list_add(&l->dequeues) : list_add(&l->enqueues);
    if (!(ok = item != NULL)) break;
    *item = all[i];
    if (is_dequeue) item->lane = thread_of(l->trace, &l->threads, all[i].lane);
  }
  if (ok && l->dequeues.count) qsort(l->dequeues.items, l->dequeues.count, sizeof(struct queue_call), compare_calls);
  return ok;
}

/* The lane of each thread's number that no call of a device's interface runs on. */
static bool find_op_lanes(struct linking *l) {
  const struct queue_call *all = l->trace->queue_calls.items;
  uint32_t lanes = l->trace->lanes.count;
  uint8_t *launches = calloc((size_t)lanes + 1, 1);
  l->lanes = malloc(((size_t)lanes + l->threads.count + 1) * sizeof *l->lanes);
  if (!launches || !l->lanes) {
    free(launches);
    return false;
  }
  for (size_t i = 0; i < l->trace->queue_calls.count; i++) {
    if (all[i].kind == QUEUE_LAUNCH && all[i].lane < lanes) launches[all[i].lane] = 1;
  }
  for (size_t i = 0; i < (size_t)lanes + l->threads.count + 1; i++) l->lanes[i] = ROW_NULL;
  for (uint32_t lane = 0; lane < lanes; lane++) {
    if ((l->trace->lanes.keys[lane].words[0] & 3) != LANE_HOST || launches[lane]) continue;
    uint32_t thread = thread_of(l->trace, &l->threads, lane);
    if (thread == INTERN_NONE) continue;
    if (l->lanes[thread] == ROW_NULL) l->lanes[thread] = lane;
  }
  free(launches);
  return true;
}

static bool link_launch(struct linking *l, const struct queue_call *launch) {
  uint32_t thread = thread_of(l->trace, &l->threads, launch->lane);
  if (thread == INTERN_NONE) return true;
  const struct queue_call *taken = dequeue_around(l, thread, launch->start_ns);
  uint32_t at = taken ? row_map_find(&l->queued, (struct row_key){{(uint64_t)taken->number, 0, 0}}) : INTERN_NONE;
  if (at < l->enqueues.count) {
    if (l->given[at] == ROW_NULL) l->given[at] = launch->number;
    return add_row(l, launch->row, ROW_NULL, ROW_NULL) && rename_connection(l, launch->number, l->given[at]);
  }
  return add_row(l, launch->row, launch->number, l->lanes[thread]);
}

bool queues_link(struct trace *trace) {
  if (!trace->queue_calls.count) return true;
  struct linking l = {.trace = trace};
  bool ok = sort_out(&l) && find_op_lanes(&l);
  l.given = malloc((l.enqueues.count + 1) * sizeof *l.given);
  ok = ok && l.given;
  for (size_t i = 0; i < l.enqueues.count && ok; i++) l.given[i] = ROW_NULL;
  const struct queue_call *all = trace->queue_calls.items;
  for (size_t i = 0; i < trace->queue_calls.count && ok; i++)
    if (all[i].kind == QUEUE_LAUNCH) ok = link_launch(&l, &all[i]);
  const struct queue_call *enqueues = l.enqueues.items;
  for (size_t i = 0; i < l.enqueues.count && ok; i++) ok = add_row(&l, enqueues[i].row, l.given[i], ROW_NULL);
  struct queue_row *rows = trace->queue_links.rows.items;
  if (ok) qsort(rows, trace->queue_links.rows.count, sizeof *rows, compare_rows);
  row_map_free(&l.threads);
  row_map_free(&l.queued);
  list_free(&l.dequeues);
  list_free(&l.enqueues);
  free(l.given);
  free(l.lanes);
  return ok;
}

/* ---- columns ---- */

static int64_t number_at(const struct column *column, uint32_t row) {
  return column_is_null(column, row) ? ROW_NULL : column_integer(column, row);
}

static bool replace_column(struct column **place, int64_t *values) {
  struct column *made = pack_values(values, (*place)->rows, false);
  if (!made) return false;
  column_release(*place);
  *place = made;
  return true;
}

static bool apply_to_calls(const struct queue_links *links, struct chunk_table *t) {
  struct column **numbers = &t->columns[ROW_api_calls_correlation - ROW_FIRST_api_calls];
  struct column **lanes = &t->columns[ROW_api_calls_thread_id - ROW_FIRST_api_calls];
  const struct queue_row *rows = links->rows.items;
  size_t low = 0, high = links->rows.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (rows[middle].row < t->first_row) low = middle + 1;
    else high = middle;
  }
  if (low == links->rows.count || rows[low].row >= t->first_row + t->rows) return true;
  int64_t *of_numbers = malloc((size_t)t->rows * sizeof *of_numbers);
  int64_t *of_lanes = malloc((size_t)t->rows * sizeof *of_lanes);
  bool ok = of_numbers && of_lanes;
  for (uint32_t row = 0; row < t->rows && ok; row++) {
    of_numbers[row] = number_at(*numbers, row);
    of_lanes[row] = number_at(*lanes, row);
  }
  for (; low < links->rows.count && rows[low].row < t->first_row + t->rows && ok; low++) {
    of_numbers[rows[low].row - t->first_row] = rows[low].number;
    if (rows[low].lane != ROW_NULL) of_lanes[rows[low].row - t->first_row] = rows[low].lane;
  }
  ok = ok && replace_column(numbers, of_numbers) && replace_column(lanes, of_lanes);
  free(of_numbers);
  free(of_lanes);
  return ok;
}

static bool apply_to_work(const struct queue_links *links, struct column **numbers) {
  uint32_t rows = (*numbers)->rows;
  if (!links->numbers.count || (*numbers)->form == COLUMN_ABSENT) return true;
  int64_t *values = malloc((size_t)rows * sizeof *values);
  const int64_t *of = links->numbers.items;
  if (!values) return false;
  for (uint32_t row = 0; row < rows; row++) {
    values[row] = number_at(*numbers, row);
    uint32_t at = values[row] == ROW_NULL
                      ? INTERN_NONE
                      : row_map_find(&links->connections, (struct row_key){{(uint64_t)values[row], 0, 0}});
    if (at != INTERN_NONE) values[row] = of[at];
  }
  bool ok = replace_column(numbers, values);
  free(values);
  return ok;
}

bool queues_apply(const struct trace *trace, enum row_table table, struct chunk_table *t) {
  const struct queue_links *links = &trace->queue_links;
  if (!links->rows.count) return true;
  if (table == ROWS_api_calls) return apply_to_calls(links, t);
  if (table == ROWS_kernels)
    return apply_to_work(links, &t->columns[ROW_kernels_correlation - ROW_FIRST_kernels]);
  if (table == ROWS_transfers)
    return apply_to_work(links, &t->columns[ROW_transfers_correlation - ROW_FIRST_transfers]);
  return true;
}

void queues_free(struct trace *trace) {
  list_free(&trace->queue_calls);
  list_free(&trace->queue_links.rows);
  list_free(&trace->queue_links.numbers);
  row_map_free(&trace->queue_links.connections);
}
