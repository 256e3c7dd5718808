/* mark_times.c: numbered marks that last over the next ones of their family.
**
** Loops number their marks: ProfilerStep#4, ProfilerStep#5, "epoch 3".  The marks of a thread whose names are the same
** but for the number are a family.  Where their numbers grow with their starts, they follow one another, and one that
** lasts on when the next one has begun may have lost its end: then it ends where the next one begins.
**
** The profiler's own steps never overlap.  What a program marks may: layers and modules lie inside each other,
** requests and batches of coroutines lie side by side, and epochs reach into the next one.  So a mark of the program's
** own is cut only where all of this holds:
**
**   the next one begins after half of the usual distance at least: what lies inside another begins soon after it;
**   it takes FAR_TIMES the usual distance;
**   it crosses a later mark, or all later ones begin in it: what ends before others begin lies around those before;
**   no more than FEW of its family reach over the next one.
**
** Marks that may end on another thread say nothing.  Marks that overlap in greater number stay, too: where more than
** FEW do and one of FEW_SHARE, or one of ENOUGH_SHARE in a small family.
*/
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/list.h"
#include "base/row_map.h"
#include "read/rows/eager_rows.h"
#include "read/rows/time_faults.h"

enum { FEW = 2, FEW_SHARE = 20, ENOUGH_SHARE = 4, FAR_TIMES = 100, DIGITS = 18 };
static const char PROFILER_STEP[] = "ProfilerStep#";
static const int64_t ROUNDING_NS = 2000; /* by which marks that follow one another may overlap */

struct mark {
  int64_t number, start, end, next; /* next: where it has to end */
  uint32_t family, segment, row;
  bool is_of_profiler, is_out;
};

struct marks {
  struct profile *profile;
  struct row_map families; /* of stem, thread and table */
  LIST(struct segment *) segments;
  LIST(struct mark) items;
  uint8_t *is_stream;
  uint64_t thread_count;
  string_id user;
};

/* The number at the end of a name, and the hash of what stands before it. False: the name has none. */
static bool split_name(const char *name, size_t length, int64_t *number, uint64_t *stem) {
  size_t first = length;
  while (first > 0 && name[first - 1] >= '0' && name[first - 1] <= '9') first--;
  if (!first || first == length || length - first > DIGITS) return false;
  *number = 0;
  for (size_t i = first; i < length; i++) *number = *number * 10 + (name[i] - '0');
  *stem = hash_fnv1a(HASH_FNV1A_START, name, first);
  return true;
}

static bool is_of_profiler(const char *name) { return strncmp(name, PROFILER_STEP, sizeof PROFILER_STEP - 1) == 0; }

static bool gather_segment(struct marks *all, struct segment *segment) {
  const struct pool *pool = store_pool(all->profile->store);
  bool is_of_ops = segment->table == TABLE_ops;
  struct row_columns columns;
  int64_t *names = segment_numbers(segment, is_of_ops ? COLUMN_ops_name : COLUMN_ranges_name);
  int64_t *wide = is_of_ops ? NULL : segment_numbers(segment, COLUMN_ranges_is_process_wide);
  bool ok = row_columns_read(&columns, segment) && names && (wide || is_of_ops);
  for (uint32_t row = 0; ok && row < segment->rows; row++) {
    int64_t start = columns.starts[row], duration = columns.durations[row], thread = columns.threads[row];
    int64_t number;
    uint64_t stem;
    if (is_of_ops && columns.categories[row] != (int64_t)all->user) continue;
    if (wide && wide[row] == 1) continue;
    if (start == ROW_NULL || names[row] <= 0 || thread < 0 || (uint64_t)thread >= all->thread_count) continue;
    if (all->is_stream[thread]) continue; /* its marks last as long as the work of several streams */
    string_id name = (string_id)names[row];
    if (!split_name(pool_text(pool, name), pool_length(pool, name), &number, &stem)) continue;
    uint32_t family = row_map_number(&all->families, (struct row_key){{stem, (uint64_t)thread, segment->table}});
    struct mark *mark = family == ROW_MAP_NONE ? NULL : list_add(&all->items);
    ok = mark != NULL;
    if (ok)
      *mark = (struct mark){.number = number, .start = start, .end = start + (duration == ROW_NULL ? 0 : duration),
                            .family = family, .segment = (uint32_t)(all->segments.count - 1), .row = row,
                            .is_of_profiler = is_of_profiler(pool_text(pool, name))};
  }
  row_columns_free(&columns);
  free(names);
  free(wide);
  return ok;
}

static int by_family(const void *a, const void *b) {
  const struct mark *x = a, *y = b;
  if (x->family != y->family) return x->family < y->family ? -1 : 1;
  if (x->start != y->start) return x->start < y->start ? -1 : 1;
  return x->number < y->number ? -1 : x->number > y->number;
}

static int compare_numbers(const void *a, const void *b) {
  const int64_t *x = a, *y = b;
  return *x < *y ? -1 : *x > *y;
}

/* How far apart the marks of a family begin. False: no memory. */
static bool find_usual(const struct mark *marks, size_t count, int64_t *usual) {
  size_t distances = count - 1;
  int64_t *apart = malloc(count * sizeof *apart);
  if (!apart) return false;
  for (size_t i = 0; i < distances; i++) apart[i] = marks[i + 1].start - marks[i].start;
  qsort(apart, distances, sizeof *apart, compare_numbers);
  *usual = apart[distances / 2];
  free(apart);
  return true;
}

static bool is_over_next(const struct mark *mark) { return mark[0].end > mark[1].start + ROUNDING_NS; }

/* Whether a mark of the program's own that reaches over the next one lost its end. */
static bool has_lost_end(const struct mark *marks, size_t count, size_t at, int64_t usual) {
  const struct mark *mark = &marks[at];
  size_t later = at + 1;
  if (marks[later].start - mark->start < usual / 2 || (mark->end - mark->start) / FAR_TIMES < usual) return false;
  for (; later < count && marks[later].start < mark->end - ROUNDING_NS; later++)
    if (marks[later].end > mark->end + ROUNDING_NS) return true;
  return later == count;
}

/* Marks the faults of a family, which is sorted by starts. False: no memory. */
static bool judge_family(struct mark *marks, size_t count) {
  size_t over = 0;
  int64_t usual = 0;
  for (size_t i = 1; i < count; i++) {
    if (marks[i].number <= marks[i - 1].number) return true;
    over += is_over_next(&marks[i - 1]);
  }
  if (!over || over * ENOUGH_SHARE > count || (over > FEW && over > count / FEW_SHARE)) return true;
  if (!marks->is_of_profiler && over > FEW) return true;
  if (!marks->is_of_profiler && !find_usual(marks, count, &usual)) return false;
  for (size_t i = 0; i + 1 < count; i++) {
    marks[i].next = marks[i + 1].start;
    marks[i].is_out = is_over_next(&marks[i]) && (marks->is_of_profiler || has_lost_end(marks, count, i, usual));
  }
  return true;
}

static int marks_by_place(const void *a, const void *b) {
  const struct mark *x = a, *y = b;
  if (x->segment != y->segment) return x->segment < y->segment ? -1 : 1;
  return x->row < y->row ? -1 : x->row > y->row;
}

/* Ends marks of one segment. False: no memory. */
static bool end_marks(struct segment *segment, const struct mark *marks, size_t count, struct time_faults *faults) {
  const struct table_spec *spec = &schema_tables[segment->table];
  int64_t *starts = segment_numbers(segment, (unsigned)spec->start_column);
  int64_t *durations = segment_numbers(segment, (unsigned)spec->dur_column);
  bool ok = starts && durations;
  for (size_t i = 0; ok && i < count; i++) {
    double less = (double)marks[i].end - (double)marks[i].next;
    durations[marks[i].row] = marks[i].next - marks[i].start;
    time_faults_add(faults, FAULT_OVER_MARKS, segment, marks[i].row, 1, less, less);
  }
  ok = ok && segment_change_span(segment, starts, durations);
  free(starts);
  free(durations);
  return ok;
}

static bool judge_marks(struct marks *all, struct time_faults *faults, bool *is_changed) {
  struct mark *marks = all->items.items;
  size_t count = all->items.count, out = 0;
  bool ok = true;
  if (count) qsort(marks, count, sizeof *marks, by_family);
  for (size_t first = 0, last; first < count && ok; first = last) {
    for (last = first; last < count && marks[last].family == marks[first].family;) last++;
    ok = judge_family(marks + first, last - first);
  }
  for (size_t i = 0; i < count && ok; i++)
    if (marks[i].is_out) marks[out++] = marks[i];
  if (out) qsort(marks, out, sizeof *marks, marks_by_place);
  for (size_t first = 0, last; first < out && ok; first = last) {
    for (last = first; last < out && marks[last].segment == marks[first].segment;) last++;
    ok = end_marks(all->segments.items[marks[first].segment], marks + first, last - first, faults);
  }
  *is_changed |= out > 0;
  return ok;
}

enum tfprof_status mark_times_mend(struct profile *profile, const uint16_t *tables, unsigned count,
                                   struct time_faults *faults, bool *is_changed, struct tfprof_error *error) {
  struct marks all = {.profile = profile, .is_stream = threads_on_devices(profile, &all.thread_count)};
  bool ok = all.is_stream != NULL;
  all.user = pool_find(store_pool(profile->store), "user", strlen("user"));
  for (unsigned i = 0; i < count; i++) {
    if (tables[i] != TABLE_ranges && (tables[i] != TABLE_ops || !all.user)) continue;
    const struct profile_table *table = &profile->tables[tables[i]];
    for (size_t s = 0; s < table->segment_count && ok; s++) {
      if (!segment_has_span(table->segments[s])) continue;
      struct segment **made = list_add(&all.segments);
      ok = made != NULL;
      if (!ok) break;
      *made = table->segments[s];
      ok = gather_segment(&all, *made);
    }
  }
  ok = ok && judge_marks(&all, faults, is_changed);
  row_map_free(&all.families);
  list_free(&all.segments);
  list_free(&all.items);
  free(all.is_stream);
  return ok ? TFPROF_OK : error_no_memory(error);
}
