/* sound_times.c: times that lie far away from those of nearly all other events.
**
** Where everything lies within FAR_NS, which the bases and widths of packed columns mostly show, nothing is far.  Else
** the starts are sorted, and gone through from the middle one to either side.  A gap is large that is longer than
** FAR_NS and FAR_TIMES what lies between it and the middle: what lies behind it is far away where it is few
** (FEW_SHARE of all; FEWER_SHARE beyond FAR_AWAY_NS, which no program waits), else the recording just has a pause.
*/
#include "read/rows/sound_times.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "read/rows/eager_rows.h"
#include "read/rows/time_faults.h"

enum { FAR_TIMES = 10, FEW_SHARE = 10, FEWER_SHARE = 3, SAMPLES = 1 << 20 };
static const int64_t FAR_NS = INT64_C(3600) * 1000000000;                       /* an hour */
static const int64_t FAR_AWAY_NS = INT64_C(365) * 86400 * INT64_C(1000000000); /* a year */

struct sound { int64_t first, last; }; /* starts: where nearly all events lie */

/* Whether a column holds moments that are looked at by themselves: times but for ends, which follow. */
static bool is_moment(const struct segment *segment, unsigned column) {
  const struct table_spec *spec = &schema_tables[segment->table];
  return spec->columns[column].type == TYPE_TIME && (int)column != spec->end_column && segment->columns[column];
}

/* Widens the bounds by all times of a segment. */
static void widen_by_segment(struct bounds *bounds, const struct segment *segment) {
  const struct table_spec *spec = &schema_tables[segment->table];
  for (unsigned column = 0; column < spec->column_count; column++) {
    if (!is_moment(segment, column)) continue;
    struct bounds times = column_bounds(segment->columns[column]);
    if (times.low > times.high) continue;
    bounds_widen(bounds, times.low, times.high);
    if ((int)column != spec->start_column || !segment->columns[spec->dur_column]) continue;
    struct bounds lengths = column_bounds(segment->columns[spec->dur_column]);
    int64_t end;
    if (lengths.low > lengths.high) continue;
    if (__builtin_add_overflow(times.high, lengths.high, &end)) end = INT64_MAX;
    bounds_widen(bounds, times.low, end);
  }
}

#define EACH_SEGMENT(profile, tables, count, segment)                                       \
  for (unsigned table_ = 0; table_ < (count); table_++)                                     \
    for (size_t s_ = 0; s_ < (profile)->tables[(tables)[table_]].segment_count; s_++)       \
      for (struct segment *segment = (profile)->tables[(tables)[table_]].segments[s_]; segment; segment = NULL)

static bool is_near(const struct profile *profile, const uint16_t *tables, unsigned count) {
  struct bounds bounds = {INT64_MAX, INT64_MIN};
  EACH_SEGMENT(profile, tables, count, segment) widen_by_segment(&bounds, segment);
  int64_t span;
  if (bounds.low > bounds.high) return true;
  return !__builtin_sub_overflow(bounds.high, bounds.low, &span) && span <= FAR_NS;
}

/* ---- where nearly all lie ---- */

static int compare_starts(const void *a, const void *b) {
  const int64_t *x = a, *y = b;
  return *x < *y ? -1 : *x > *y;
}

LIST_NAMED(starts_list, int64_t);

/* The starts of events; of more than SAMPLES every so many. */
static bool gather_starts(struct starts_list *starts, const struct profile *profile, const uint16_t *tables,
                          unsigned count) {
  uint64_t rows = 0, seen = 0;
  EACH_SEGMENT(profile, tables, count, segment) rows += segment_has_span(segment) ? segment->rows : 0;
  uint64_t every = rows / SAMPLES + 1;
  EACH_SEGMENT(profile, tables, count, segment) {
    if (!segment_has_span(segment)) continue;
    const struct column *column = segment->columns[schema_tables[segment->table].start_column];
    for (uint32_t row = 0; row < segment->rows; row++) {
      if (seen++ % every || column_is_null(column, row)) continue;
      int64_t *start = list_add(starts);
      if (!start) return false;
      *start = column_integer(column, row);
    }
  }
  return true;
}

/* A moment counts once, however many events begin at it: where a profiler lost the times of most events they lie at 0
** all together, and are still no place where nearly all lie. */
static void keep_moments(struct starts_list *starts) {
  size_t kept = 0;
  for (size_t i = 0; i < starts->count; i++)
    if (!i || starts->items[i] != starts->items[i - 1]) starts->items[kept++] = starts->items[i];
  starts->count = kept;
}

/* How long a gap has to be to be large, next to what is as wide. */
static int64_t large_gap(int64_t width) {
  return width > FAR_NS / FAR_TIMES ? (width < INT64_MAX / FAR_TIMES ? width * FAR_TIMES : INT64_MAX) : FAR_NS;
}

static bool is_few(uint64_t few, uint64_t all, int64_t gap) {
  return few * (gap > FAR_AWAY_NS ? FEWER_SHARE : FEW_SHARE) <= all;
}

/* Times lie within STORE_TIME_LIMIT, so differences of two are in 64 bits. */
static void find_sound(struct sound *sound, const int64_t *starts, size_t count) {
  size_t low = count / 2, high = count / 2;
  for (; low > 0; low--) {
    int64_t gap = starts[low] - starts[low - 1];
    if (gap > large_gap(starts[high] - starts[low]) && is_few(low, count, gap)) break;
  }
  for (; high + 1 < count; high++) {
    int64_t gap = starts[high + 1] - starts[high];
    if (gap > large_gap(starts[high] - starts[low]) && is_few(count - 1 - high, count, gap)) break;
  }
  sound->first = starts[low];
  sound->last = starts[high];
}

/* Beyond which moments times are far away. */
static struct bounds far_bounds(const struct sound *sound) {
  int64_t room = large_gap(sound->last - sound->first);
  struct bounds bounds;
  if (__builtin_sub_overflow(sound->first, room, &bounds.low)) bounds.low = INT64_MIN + 1;
  if (__builtin_add_overflow(sound->last, room, &bounds.high)) bounds.high = INT64_MAX;
  return bounds;
}

/* ---- mending ---- */

static double away(const struct sound *sound, int64_t time) {
  return time < sound->first ? (double)sound->first - (double)time : (double)time - (double)sound->last;
}

/* False: no memory. */
static bool mend_span(struct segment *segment, const struct sound *sound, struct time_faults *faults,
                      bool *is_changed) {
  const struct table_spec *spec = &schema_tables[segment->table];
  struct bounds far = far_bounds(sound);
  int64_t *starts = segment_numbers(segment, (unsigned)spec->start_column);
  int64_t *durations = segment_numbers(segment, (unsigned)spec->dur_column);
  bool ok = starts && durations, is_mended = false;
  for (uint32_t row = 0; ok && row < segment->rows; row++) {
    int64_t start = starts[row], duration = durations[row];
    if (start == ROW_NULL || (start >= far.low && start <= far.high)) continue;
    time_faults_add(faults, FAULT_FAR_START, segment, row, 1, duration == ROW_NULL ? 0 : (double)duration,
                    away(sound, start));
    starts[row] = durations[row] = ROW_NULL;
    is_mended = true;
  }
  if (ok && is_mended) ok = segment_change_span(segment, starts, durations);
  *is_changed |= is_mended;
  free(starts);
  free(durations);
  return ok;
}

static bool mend_moments(struct segment *segment, unsigned column, const struct sound *sound,
                         struct time_faults *faults, bool *is_changed) {
  struct bounds far = far_bounds(sound);
  int64_t *times = segment_numbers(segment, column);
  bool ok = times != NULL, is_mended = false;
  for (uint32_t row = 0; ok && row < segment->rows; row++) {
    if (times[row] == ROW_NULL || (times[row] >= far.low && times[row] <= far.high)) continue;
    time_faults_add(faults, FAULT_FAR_START, segment, row, 1, 0, away(sound, times[row]));
    times[row] = ROW_NULL;
    is_mended = true;
  }
  if (ok && is_mended) ok = segment_change(segment, column, times);
  *is_changed |= is_mended;
  free(times);
  return ok;
}

/* False: no memory. */
static bool mend_far(struct profile *profile, const uint16_t *tables, unsigned count, struct time_faults *faults,
                     bool *is_changed) {
  struct starts_list starts = {0};
  struct sound sound = {0};
  bool ok = gather_starts(&starts, profile, tables, count);
  bool is_known = ok && starts.count;
  if (is_known) {
    qsort(starts.items, starts.count, sizeof *starts.items, compare_starts);
    keep_moments(&starts);
    find_sound(&sound, starts.items, starts.count);
  }
  list_free(&starts);
  EACH_SEGMENT(profile, tables, count, segment) {
    const struct table_spec *spec = &schema_tables[segment->table];
    bool is_span = segment_has_span(segment);
    if (is_known && ok && is_span) ok = mend_span(segment, &sound, faults, is_changed);
    for (unsigned column = 0; is_known && ok && column < spec->column_count; column++) {
      if (is_moment(segment, column) && !(is_span && (int)column == spec->start_column))
        ok = mend_moments(segment, column, &sound, faults, is_changed);
    }
  }
  return ok;
}

enum tfprof_status sound_times_mend(struct profile *profile, const uint16_t *tables, unsigned count, bool *is_changed,
                                    struct tfprof_error *error) {
  struct time_faults faults = {0};
  enum tfprof_status status = TFPROF_OK;
  bool has_streams = false, has_calls = false, is_work_changed = false;
  *is_changed = false;
  for (unsigned i = 0; i < count; i++) {
    has_streams |= tables[i] == TABLE_kernels;
    has_calls |= tables[i] == TABLE_api_calls;
  }
  if (!is_near(profile, tables, count)) { /* a whole device that is off is not far away */
    if (has_streams && has_calls) status = launch_times_mend(profile, true, true, &faults, is_changed, error);
    if (!status && !mend_far(profile, tables, count, &faults, is_changed)) status = error_no_memory(error);
  }
  if (!status && has_streams) status = stream_times_mend(profile, &faults, is_changed, error);
  if (!status) status = long_times_mend(profile, tables, count, &faults, is_changed, error);
  if (!status) status = mark_times_mend(profile, tables, count, &faults, is_changed, error);
  if (!status) status = thread_times_mend(profile, tables, count, &faults, is_changed, error);
  if (!status && has_streams) status = launch_times_mend(profile, has_calls, false, &faults, &is_work_changed, error);
  if (!status && is_work_changed && faults.named[FAULT_OVERLAPS][0].count) { /* what has no time now overlaps nothing */
    memset(faults.named[FAULT_OVERLAPS], 0, sizeof faults.named[FAULT_OVERLAPS]);
    status = stream_times_mend(profile, &faults, is_changed, error);
  }
  *is_changed |= is_work_changed;
  time_faults_tell(&faults, profile);
  return status;
}
