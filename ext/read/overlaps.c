/* overlaps.c: see overlaps.h.
**
** A process records one window after the other.  So two files that have one rank, host and pid at the same time are no
** windows: one is a copy, whole or cut off, compressed or not, or somebody gave two processes the same names.  A copy
** is seen by its rows: all ops, calls and kernels of the smaller are in the other, by name and start.  They may end
** elsewhere there, since impossible times are mended by what else is in a file.  What is no copy stays, is told, and is
** by itself for process_windows.
**
** Only profiles with the same names and overlapping spans are read and compared: traces of PyTorch, and XSpaces of one
** directory, whose times may begin at 0 in each.
*/
#include "read/overlaps.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PROFILES = 4096 };

struct event { int64_t start, name; };
struct events {
  struct event *items; /* by start and name */
  size_t count;
};

static const struct { unsigned table, start, name; } event_tables[] = {
    {TABLE_ops, COLUMN_ops_start_ns, COLUMN_ops_name},
    {TABLE_kernels, COLUMN_kernels_start_ns, COLUMN_kernels_name},
    {TABLE_api_calls, COLUMN_api_calls_start_ns, COLUMN_api_calls_name}};
enum { EVENT_TABLES = sizeof event_tables / sizeof *event_tables };

static int by_start(const void *left, const void *right) {
  const struct event *a = left, *b = right;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return (a->name > b->name) - (a->name < b->name);
}

/* The events of a table that have a start. False: they cannot be had. */
static bool list_events(struct profile *profile, unsigned kind, struct events *events) {
  struct column_set columns = {{0, 0}};
  unsigned table = event_tables[kind].table, start = event_tables[kind].start, name = event_tables[kind].name;
  column_set_add(&columns, start);
  column_set_add(&columns, name);
  *events = (struct events){NULL, 0};
  if (profile_require(profile, table, &columns, NULL)) return false;
  const struct profile_table *content = &profile->tables[table];
  events->items = malloc(((size_t)content->rows + 1) * sizeof *events->items);
  for (size_t s = 0; s < content->segment_count && events->items; s++) {
    const struct column *starts = content->segments[s]->columns[start], *names = content->segments[s]->columns[name];
    for (uint32_t row = 0; row < content->segments[s]->rows; row++) {
      if (column_is_null(starts, row)) continue;
      int64_t text = column_is_null(names, row) ? 0 : column_integer(names, row);
      events->items[events->count++] = (struct event){column_integer(starts, row), text};
    }
  }
  if (events->count) qsort(events->items, events->count, sizeof *events->items, by_start);
  return events->items != NULL;
}

/* How many of the events are among the others. */
static uint64_t count_shared(const struct events *events, const struct events *others) {
  uint64_t shared = 0;
  for (size_t i = 0, k = 0; i < events->count && k < others->count;) {
    int order = by_start(&events->items[i], &others->items[k]);
    shared += order == 0;
    i += order <= 0;
    k += order >= 0;
  }
  return shared;
}

struct overlap { uint64_t of_one, of_other, shared; }; /* events */

static bool compare_events(struct profile *one, struct profile *other, struct overlap *overlap) {
  bool ok = true;
  *overlap = (struct overlap){0, 0, 0};
  for (unsigned kind = 0; kind < EVENT_TABLES && ok; kind++) {
    struct events left, right = {NULL, 0};
    ok = list_events(one, kind, &left) && list_events(other, kind, &right);
    overlap->of_one += left.count;
    overlap->of_other += right.count;
    if (ok) overlap->shared += count_shared(&left, &right);
    free(left.items);
    free(right.items);
  }
  return ok;
}

/* Whether two profiles say to be of one process. Files that say nothing but a pid, which is the same in each container,
** may be copies, but need not be of one. */
static bool may_be_copies(const struct profile *one, const struct profile *other) {
  bool is_same = one->source == other->source && one->pid >= 0 && one->pid == other->pid && one->rank == other->rank;
  return is_same && one->host == other->host && one->path != other->path;
}

static const char *name_in(const struct profile *profile) {
  const char *path = pool_text(store_pool(profile->store), profile->path);
  const char *slash = path ? strrchr(path, '/') : NULL;
  return slash ? slash + 1 : path ? path : "";
}

static bool share_directory(const struct profile *one, const struct profile *other) {
  const char *left = pool_text(store_pool(one->store), one->path);
  const char *right = pool_text(store_pool(other->store), other->path);
  size_t length = (size_t)(name_in(one) - left);
  return length == (size_t)(name_in(other) - right) && strncmp(left, right, length) == 0;
}

/* As process_windows has it: by rank, else by what the names of files begin with. */
static bool is_one_process(const struct profile *one, const struct profile *other) {
  const char *left = name_in(one), *right = name_in(other);
  size_t length = strcspn(left, ".");
  return one->rank >= 0 || (length == strcspn(right, ".") && strncmp(left, right, length) == 0);
}

static bool do_overlap(struct profile *one, struct profile *other) {
  if (strcmp(one->source->format, "xplane") == 0 && !share_directory(one, other)) return false;
  bool is_known = profile_find_span(one, NULL) == TFPROF_OK && profile_find_span(other, NULL) == TFPROF_OK;
  if (!is_known || one->start_ns > one->end_ns || other->start_ns > other->end_ns) return false;
  return one->start_ns < other->end_ns && other->start_ns < one->end_ns;
}

static bool is_compared(const struct profile *profile) {
  return strcmp(profile->source->format, "kineto") == 0 || strcmp(profile->source->format, "xplane") == 0;
}

static void take_out(struct store *store, struct profile *copy, struct profile *other, uint64_t events, bool is_whole) {
  profile_diagnose(other, "warning", "repeated_file", (int64_t)events, -1, -1,
                   "%s holds %s events of %s, as a copy%s does: it was left out, so that nothing counts twice",
                   name_in(copy), is_whole ? "all" : "nothing but", name_in(other),
                   is_whole ? "" : " that was cut off");
  store_merge_profile(store, copy, other);
}

/* What two profiles of the same names have in common. Returns the one that is taken out; NULL: both stay. */
static struct profile *settle_overlap(struct store *store, struct profile *one, struct profile *other) {
  struct overlap overlap;
  if (!do_overlap(one, other) || !compare_events(one, other, &overlap)) return NULL;
  if (overlap.shared && (overlap.shared == overlap.of_other || overlap.shared == overlap.of_one)) {
    bool is_other = overlap.of_other <= overlap.of_one;
    struct profile *copy = is_other ? other : one;
    take_out(store, copy, is_other ? one : other, overlap.shared, overlap.of_one == overlap.of_other);
    return copy;
  }
  if (strcmp(one->source->format, "kineto") != 0 || !is_one_process(one, other)) return NULL;
  profile_diagnose(other, "warning", "overlapping_files", (int64_t)overlap.shared, -1, -1,
                   "%s begins before %s ends, and both say to be of the same process, which records one window after "
                   "the other: each counts by itself, and no step of either is compared with those of other ranks; "
                   "%llu of their events are in both", name_in(one->start_ns < other->start_ns ? other : one),
                   name_in(one->start_ns < other->start_ns ? one : other), (unsigned long long)overlap.shared);
  return NULL;
}

void overlaps_run(struct store *store, uint32_t run_number) {
  size_t all = store_profile_count(store), count = 0;
  struct profile **profiles = malloc((all + 1) * sizeof *profiles);
  for (size_t i = 0; i < all && profiles && count < MOST_PROFILES; i++) {
    struct profile *profile = store_profile_at(store, i);
    if (profile->run_number == run_number && is_compared(profile)) profiles[count++] = profile;
  }
  for (size_t i = 1; i < count; i++) {
    for (size_t k = 0; k < i && profiles[i]; k++) {
      if (!profiles[k] || !may_be_copies(profiles[k], profiles[i])) continue;
      struct profile *gone = settle_overlap(store, profiles[k], profiles[i]);
      if (gone) profiles[gone == profiles[i] ? i : k] = NULL;
    }
  }
  free(profiles);
}
