/* queue_totals.c: the table queue_totals: how long the queue of each stream was, after each launch and each start.
**
** Quantiles are found by counting: a queue grows and shrinks by one, so that it has no more lengths than events.
*/
#include "derive/groups.h"
#include "derive/passes.h"

enum { FULL = 1024 }; /* launches that CUDA queues before it lets the host wait */

struct queue {
  uint32_t device, thread; /* rows, NO_ROW for no device */
  uint32_t first, count;   /* of events, which lie one after the other */
  int64_t least, most;
  double mean, deviation, quartiles[3];
  uint64_t full;
};

struct queues {
  struct profile *profile;
  struct queue *items;
  uint32_t count, capacity;
  uint32_t event_count, activity_count;
  int64_t *times, *lengths; /* by event */
  uint32_t *activities;
  int64_t *launches, *starts; /* by activity */
};

static enum tfprof_status find_queues(struct queues *q, struct tfprof_error *error) {
  uint32_t devices, threads;
  enum tfprof_status status = derive_row_count(q->profile, TABLE_devices, &devices, error);
  if (!status) status = derive_row_count(q->profile, TABLE_threads, &threads, error);
  for (struct row_block block = {0}; derive_next_block(q->profile, TABLE_queue_events, &block, &status, error);) {
    uint32_t of_device[ROWS_BLOCK], of_thread[ROWS_BLOCK];
    block_references(&block, COLUMN_queue_events_device_id, devices, of_device);
    block_references(&block, COLUMN_queue_events_thread_id, threads, of_thread);
    for (uint32_t i = 0; i < block.count && !status; i++) {
      struct queue *last = q->count ? &q->items[q->count - 1] : NULL;
      if (last && last->device == of_device[i] && last->thread == of_thread[i]) {
        last->count++;
        continue;
      }
      struct queue *grown = scratch_grow(q->items, q->count, &q->capacity, 16, sizeof *grown);
      if (!grown) {
        status = error_no_memory(error);
        break;
      }
      q->items = grown;
      grown[q->count++] =
          (struct queue){.device = of_device[i], .thread = of_thread[i], .first = (uint32_t)block.row + i, .count = 1};
    }
  }
  return status;
}

/* The length that `place` of the events do not exceed, in order; between two of them in proportion. */
static double quantile(const uint32_t *counts, int64_t least, double place) {
  uint64_t below = (uint64_t)place, seen = 0;
  uint32_t at = 0;
  while (seen + counts[at] <= below) seen += counts[at++];
  uint32_t next = at;
  if (place > (double)below && seen + counts[at] <= below + 1) do next++; while (!counts[next]);
  return (double)(least + at) + (place - (double)below) * (double)(next - at);
}

static bool measure_lengths(const struct queues *q, struct queue *queue) {
  const int64_t *lengths = q->lengths + queue->first;
  double sum = 0, squares = 0;
  queue->least = queue->most = lengths[0];
  for (uint32_t i = 0; i < queue->count; i++) {
    sum += (double)lengths[i];
    if (lengths[i] < queue->least) queue->least = lengths[i];
    if (lengths[i] > queue->most) queue->most = lengths[i];
  }
  queue->mean = sum / queue->count;
  uint32_t *counts = scratch_allocate_zeroed((size_t)(queue->most - queue->least) + 1, sizeof *counts);
  if (!counts) return false;
  for (uint32_t i = 0; i < queue->count; i++) {
    squares += ((double)lengths[i] - queue->mean) * ((double)lengths[i] - queue->mean);
    counts[lengths[i] - queue->least]++;
  }
  queue->deviation = queue->count > 1 ? sqrt(squares / (queue->count - 1)) : (double)NAN;
  for (unsigned i = 0; i < 3; i++)
    queue->quartiles[i] = quantile(counts, queue->least, 0.25 * (i + 1) * (double)(queue->count - 1));
  scratch_free(counts);
  return true;
}

/* What started before its launch, by clocks that disagree, never waited. */
static void measure_full(const struct queues *q, struct queue *queue) {
  int64_t waiting = 0, last = 0;
  for (uint32_t i = queue->first; i < queue->first + queue->count; i++) {
    uint32_t activity = q->activities[i];
    bool is_launch = q->lengths[i] > (i == queue->first ? 0 : q->lengths[i - 1]);
    if (activity == NO_ROW || q->starts[activity] <= q->launches[activity]) continue;
    if (waiting >= FULL) queue->full += (uint64_t)q->times[i] - (uint64_t)last;
    waiting += is_launch ? 1 : -1;
    last = q->times[i];
  }
}

static enum tfprof_status set_queues(const struct queues *q, struct tfprof_error *error) {
  uint32_t count = q->count;
  const struct queue *of = q->items;
  int64_t *integers = scratch_allocate(((size_t)count + 1) * sizeof *integers);
  double *reals = scratch_allocate(((size_t)count + 1) * sizeof *reals);
  enum tfprof_status status = integers && reals ? TFPROF_OK : error_no_memory(error);
#define SET(kind, column, expression) \
  SET_TOTALS(kind, q->profile, TABLE_queue_totals, COLUMN_queue_totals_##column, expression)
  SET(integers, device_id, of[i].device == NO_ROW ? NO_VALUE : (int64_t)of[i].device);
  SET(integers, thread_id, of[i].thread);
  SET(integers, count, of[i].count);
  SET(reals, mean, of[i].mean);
  SET(reals, stddev, of[i].deviation);
  SET(integers, min, of[i].least);
  SET(reals, p25, of[i].quartiles[0]);
  SET(reals, median, of[i].quartiles[1]);
  SET(reals, p75, of[i].quartiles[2]);
  SET(integers, max, of[i].most);
  SET(integers, full_ns, of[i].full > INT64_MAX ? INT64_MAX : (int64_t)of[i].full);
#undef SET
  scratch_free(integers);
  scratch_free(reals);
  return status;
}

static enum tfprof_status load_events(struct queues *q, struct tfprof_error *error) {
  struct profile *profile = q->profile;
  enum tfprof_status status = derive_all_integers(profile, TABLE_queue_events, COLUMN_queue_events_time_ns, &q->times,
                                                  error);
  if (!status)
    status = derive_all_integers(profile, TABLE_queue_events, COLUMN_queue_events_queue_length, &q->lengths, error);
  if (!status)
    status = derive_all_references(profile, TABLE_queue_events, COLUMN_queue_events_device_activity_id, &q->activities,
                                   error);
  if (!status)
    status = derive_all_integers(profile, TABLE_device_activities, COLUMN_device_activities_launch_ns, &q->launches,
                                 error);
  if (!status)
    status = derive_all_integers(profile, TABLE_device_activities, COLUMN_device_activities_start_ns, &q->starts,
                                 error);
  return status;
}

static enum tfprof_status run_queue_totals(struct profile *profile, struct tfprof_error *error) {
  struct queues q = {.profile = profile};
  enum tfprof_status status = find_queues(&q, error);
  if (!status && q.count) status = load_events(&q, error);
  for (uint32_t i = 0; i < q.count && !status; i++) {
    if (!measure_lengths(&q, &q.items[i])) status = error_no_memory(error);
    measure_full(&q, &q.items[i]);
  }
  if (!status) status = derive_make_table(profile, TABLE_queue_totals, q.count, error);
  if (!status && q.count) status = set_queues(&q, error);
  scratch_free(q.items);
  scratch_free(q.times);
  scratch_free(q.lengths);
  scratch_free(q.activities);
  scratch_free(q.launches);
  scratch_free(q.starts);
  return status;
}

const struct derive_pass derive_queue_totals = {
    .name = "totals of queues",
    .summary = "How long queues of streams were after each event, quantiles by counting.",
    .makes_table = TABLE_queue_totals,
    .reads = {{TABLE_queue_events, COLUMN_queue_events_device_id},
              {TABLE_queue_events, COLUMN_queue_events_thread_id},
              {TABLE_queue_events, COLUMN_queue_events_time_ns},
              {TABLE_queue_events, COLUMN_queue_events_queue_length},
              {TABLE_queue_events, COLUMN_queue_events_device_activity_id},
              {TABLE_device_activities, COLUMN_device_activities_launch_ns},
              {TABLE_device_activities, COLUMN_device_activities_start_ns},
              {TABLE_devices, COLUMN_devices_ordinal},
              {TABLE_threads, COLUMN_threads_kind}},
    .run = run_queue_totals,
};
