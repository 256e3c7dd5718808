/* op_times.c: ops that begin out of the order in which their thread began them.
**
** PyTorch numbers ops and marks as they begin, so that on a thread starts grow with the numbers.  What lies out of that
** order (launch_order.h) has no time, and neither has the row of ranges that was made of a mark.  One look at each row
** says for nearly all files that all is in order.
*/
#include <stdlib.h>
#include <string.h>

#include "read/rows/eager_rows.h"
#include "read/rows/launch_order.h"
#include "read/rows/list.h"
#include "read/rows/time_faults.h"

enum { FEW_SHARE = 20 }; /* of a thread's ops: more of them, and it keeps no such order */

struct numbered_op {
  int64_t start, duration;
  uint32_t thread, segment, row;
  bool is_out;
};

struct op_lane { int64_t number, start; }; /* of the op before; number 0: none */

struct numbered_ops {
  struct profile *profile;
  LIST(struct numbered_op) items;
  LIST(struct in_order) order;
  struct op_lane *lanes; /* by row of threads */
  uint64_t thread_count;
  bool is_suspect;
};

struct op_columns { int64_t *starts, *durations, *threads, *numbers; };

static bool op_columns_read(struct op_columns *columns, const struct segment *segment, bool has_durations) {
  *columns = (struct op_columns){segment_numbers(segment, COLUMN_ops_start_ns),
                                 has_durations ? segment_numbers(segment, COLUMN_ops_dur_ns) : NULL,
                                 segment_numbers(segment, COLUMN_ops_thread_id),
                                 segment_numbers(segment, COLUMN_ops_correlation)};
  return columns->starts && (columns->durations || !has_durations) && columns->threads && columns->numbers;
}

static void op_columns_free(struct op_columns *columns) {
  free(columns->starts);
  free(columns->durations);
  free(columns->threads);
  free(columns->numbers);
}

/* Whether this op came before the last one of its thread by number, and after it by time, or the other way round. */
static bool op_overtakes(struct op_lane *lane, int64_t number, int64_t start) {
  bool is_first = !lane->number, is_same = number == lane->number;
  int64_t later = number > lane->number ? start - lane->start : lane->start - start;
  *lane = (struct op_lane){number, start};
  return !is_first && !is_same && later < -ORDER_SKEW_NS;
}

/* Looks at all ops; `is_gathering`: keeps them. False: no memory. */
static bool look_at_ops(struct numbered_ops *all, bool is_gathering) {
  const struct profile_table *table = &all->profile->tables[TABLE_ops];
  for (size_t s = 0; s < table->segment_count; s++) {
    const struct segment *segment = table->segments[s];
    struct op_columns columns;
    if (!segment_has_span(segment) || !segment->columns[COLUMN_ops_correlation]) continue;
    bool ok = op_columns_read(&columns, segment, is_gathering);
    for (uint32_t row = 0; ok && row < segment->rows; row++) {
      int64_t start = columns.starts[row], number = columns.numbers[row], thread = columns.threads[row];
      if (start == ROW_NULL || number <= 0 || thread < 0 || (uint64_t)thread >= all->thread_count) continue;
      if (!is_gathering) {
        all->is_suspect |= op_overtakes(&all->lanes[thread], number, start);
        continue;
      }
      struct in_order *event = list_add(&all->order);
      struct numbered_op *op = list_add(&all->items);
      ok = event && op && all->items.count < UINT32_MAX;
      if (!ok) break;
      *event = (struct in_order){.key = number, .start = start, .lane = (uint32_t)thread,
                                 .number = (uint32_t)(all->items.count - 1)};
      *op = (struct numbered_op){.start = start, .duration = columns.durations[row], .thread = (uint32_t)thread,
                                 .segment = (uint32_t)s, .row = row};
    }
    op_columns_free(&columns);
    if (!ok) return false;
  }
  return true;
}

/* Takes rows out of a segment whose `is_gone`, one for each, says so. False: no memory. */
static bool take_times(struct segment *segment, const bool *is_gone) {
  const struct table_spec *spec = &schema_tables[segment->table];
  int64_t *starts = segment_numbers(segment, (unsigned)spec->start_column);
  int64_t *durations = segment_numbers(segment, (unsigned)spec->dur_column);
  bool ok = starts && durations;
  for (uint32_t row = 0; ok && row < segment->rows; row++)
    if (is_gone[row]) starts[row] = durations[row] = ROW_NULL;
  ok = ok && segment_change_span(segment, starts, durations);
  free(starts);
  free(durations);
  return ok;
}

/* By thread, start and duration, as a row of ranges has those of its op. */
static int by_span(const void *a, const void *b) {
  const struct numbered_op *x = a, *y = b;
  if (x->thread != y->thread) return x->thread < y->thread ? -1 : 1;
  if (x->start != y->start) return x->start < y->start ? -1 : 1;
  return x->duration < y->duration ? -1 : x->duration > y->duration;
}

/* Takes the times of a segment of ops or ranges that are among `gone`. False: no memory. */
static bool take_segment(struct segment *segment, size_t place, const struct numbered_op *gone, size_t count) {
  bool is_of_ops = segment->table == TABLE_ops, is_any = false;
  int thread_column = schema_find_column(&schema_tables[segment->table], "thread_id");
  if (!segment_has_span(segment)) return true;
  bool *is_gone = calloc((size_t)segment->rows + 1, sizeof *is_gone);
  int64_t *starts = is_of_ops ? NULL : segment_numbers(segment, COLUMN_ranges_start_ns);
  int64_t *durations = is_of_ops ? NULL : segment_numbers(segment, COLUMN_ranges_dur_ns);
  int64_t *threads = is_of_ops ? NULL : segment_numbers(segment, (unsigned)thread_column);
  bool ok = is_gone && (is_of_ops || (starts && durations && threads));
  for (size_t i = 0; ok && is_of_ops && i < count; i++) {
    if (gone[i].segment != place) continue;
    is_gone[gone[i].row] = is_any = true;
  }
  for (uint32_t row = 0; ok && !is_of_ops && row < segment->rows; row++) {
    if (threads[row] < 0 || threads[row] > UINT32_MAX) continue;
    struct numbered_op wanted = {.start = starts[row], .duration = durations[row], .thread = (uint32_t)threads[row]};
    is_gone[row] = bsearch(&wanted, gone, count, sizeof *gone, by_span) != NULL;
    is_any |= is_gone[row];
  }
  ok = ok && (!is_any || take_times(segment, is_gone));
  free(is_gone);
  free(starts);
  free(durations);
  free(threads);
  return ok;
}

static bool judge_ops(struct numbered_ops *all, struct time_faults *faults, bool *is_changed) {
  static const uint16_t tables[] = {TABLE_ops, TABLE_ranges};
  struct profile_table *ops = &all->profile->tables[TABLE_ops];
  struct numbered_op *items = all->items.items;
  size_t gone = 0;
  if (!launch_order_find(all->order.items, all->order.count, FEW_SHARE)) return false;
  for (size_t i = 0; i < all->order.count; i++) {
    const struct in_order *event = &all->order.items[i];
    struct numbered_op *op = &items[event->number];
    op->is_out = event->away != 0;
    if (!op->is_out) continue;
    double stake = op->duration == ROW_NULL ? 0 : (double)op->duration;
    time_faults_add(faults, FAULT_OP_ORDER, ops->segments[op->segment], op->row, 1, stake, (double)event->away);
  }
  for (size_t i = 0; i < all->items.count; i++)
    if (items[i].is_out) items[gone++] = items[i];
  if (!gone) return true;
  *is_changed = true;
  qsort(items, gone, sizeof *items, by_span);
  for (unsigned i = 0; i < sizeof tables / sizeof *tables; i++) {
    const struct profile_table *table = &all->profile->tables[tables[i]];
    for (size_t s = 0; s < table->segment_count; s++)
      if (!take_segment(table->segments[s], s, items, gone)) return false;
  }
  return true;
}

enum tfprof_status op_times_mend(struct profile *profile, struct time_faults *faults, bool *is_changed,
                                 struct tfprof_error *error) {
  struct numbered_ops all = {.profile = profile, .thread_count = profile->tables[TABLE_threads].rows};
  all.lanes = calloc(all.thread_count + 1, sizeof *all.lanes);
  bool ok = all.lanes && look_at_ops(&all, false);
  if (ok && all.is_suspect) ok = look_at_ops(&all, true) && judge_ops(&all, faults, is_changed);
  list_free(&all.items);
  list_free(&all.order);
  free(all.lanes);
  return ok ? TFPROF_OK : error_no_memory(error);
}
