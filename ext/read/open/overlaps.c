/* overlaps.c: see overlaps.h.
**
** A process records one window after the other.  So two files that have one rank, host and pid at the same time are no
** windows: one is a copy, whole or cut off, compressed or not, or somebody gave two processes the same names.  A copy
** is seen by its rows: all ops, calls and kernels of the smaller are in the other, by name and start.  They may end
** elsewhere there, since impossible times are mended by what else is in a file.  What is no copy stays, is told, and is
** by itself for _process_windows (is_overlapping in its attributes).
**
** The last kernels of a window end when the device has done them, which may be after the next window began.  So it is
** the host that tells: where its last op or call began before the first of the other file, one file follows the other.
**
** Only profiles with the same names and overlapping spans are read and compared: traces of PyTorch, and XSpaces of one
** directory, whose times may begin at 0 in each.  Of processes in containers, many of which have one pid, hundreds may
** be like this: the first event of a copy is in the other, which is looked for before all are compared.
*/
#include "read/open/overlaps.h"

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

/* Where the events of a table are read: those that have a start. */
struct reading {
  const struct profile_table *content;
  const struct column *starts, *names; /* of the segment */
  size_t segment;
  uint32_t row;
  unsigned kind;
};

/* False: they cannot be had. */
static bool begin_reading(struct profile *profile, unsigned kind, struct reading *reading) {
  struct column_set columns = {{0, 0}};
  column_set_add(&columns, event_tables[kind].start);
  column_set_add(&columns, event_tables[kind].name);
  *reading = (struct reading){.content = &profile->tables[event_tables[kind].table], .kind = kind};
  return !profile_require(profile, event_tables[kind].table, &columns, NULL);
}

static bool next_event(struct reading *reading, struct event *event) {
  for (; reading->segment < reading->content->segment_count; reading->segment++, reading->row = 0) {
    const struct segment *segment = reading->content->segments[reading->segment];
    reading->starts = segment->columns[event_tables[reading->kind].start];
    reading->names = segment->columns[event_tables[reading->kind].name];
    while (reading->row < segment->rows) {
      uint32_t row = reading->row++;
      if (column_is_null(reading->starts, row)) continue;
      event->start = column_integer(reading->starts, row);
      event->name = column_is_null(reading->names, row) ? 0 : column_integer(reading->names, row);
      return true;
    }
  }
  return false;
}

/* The events of a table, sorted. False: they cannot be had. */
static bool list_events(struct profile *profile, unsigned kind, struct events *events) {
  struct reading reading;
  *events = (struct events){NULL, 0};
  if (!begin_reading(profile, kind, &reading)) return false;
  events->items = malloc(((size_t)reading.content->rows + 1) * sizeof *events->items);
  while (events->items && next_event(&reading, &events->items[events->count])) events->count++;
  if (events->count) qsort(events->items, events->count, sizeof *events->items, by_start);
  return events->items != NULL;
}

/* The first event of a profile, once it is known; `kind`: of event_tables, EVENT_TABLES where there is none. */
struct first_event { struct event event; unsigned kind; bool is_known; };
struct candidate { struct profile *profile; struct first_event first; };

/* False: it cannot be had. */
static bool find_first(struct profile *profile, struct first_event *first) {
  if (first->is_known) return true;
  *first = (struct first_event){{INT64_MAX, INT64_MAX}, EVENT_TABLES, true};
  for (unsigned kind = 0; kind < EVENT_TABLES; kind++) {
    struct reading reading;
    struct event event;
    if (!begin_reading(profile, kind, &reading)) return false;
    while (next_event(&reading, &event)) {
      if (first->kind < EVENT_TABLES && by_start(&event, &first->event) >= 0) continue;
      first->event = event;
      first->kind = kind;
    }
  }
  return true;
}

static bool has_event(struct profile *profile, const struct first_event *wanted) {
  struct reading reading;
  struct event event;
  if (wanted->kind == EVENT_TABLES || !begin_reading(profile, wanted->kind, &reading)) return false;
  while (next_event(&reading, &event))
    if (by_start(&event, &wanted->event) == 0) return true;
  return false;
}

/* Whether the one that begins later can be a part of the other. */
static bool may_be_part(struct candidate *one, struct candidate *other) {
  if (!find_first(one->profile, &one->first) || !find_first(other->profile, &other->first)) return false;
  bool is_one_earlier = by_start(&one->first.event, &other->first.event) < 0;
  return is_one_earlier ? has_event(one->profile, &other->first) : has_event(other->profile, &one->first);
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

/* As _process_windows has it: by rank, else by what the names of files begin with. */
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

/* When the first op or call of the host began, and the last. */
struct host_span { int64_t first, last; };

/* False: there are none, or they cannot be had. */
static bool find_host_span(struct profile *profile, struct host_span *span) {
  *span = (struct host_span){INT64_MAX, INT64_MIN};
  for (unsigned kind = 0; kind < EVENT_TABLES; kind++) {
    struct reading reading;
    struct event event;
    if (event_tables[kind].table == TABLE_kernels) continue;
    if (!begin_reading(profile, kind, &reading)) return false;
    while (next_event(&reading, &event)) {
      if (event.start < span->first) span->first = event.start;
      if (event.start > span->last) span->last = event.start;
    }
  }
  return span->first <= span->last;
}

/* Whether one file is a window after the other. */
static bool do_follow(struct profile *one, struct profile *other) {
  struct host_span left, right;
  if (!find_host_span(one, &left) || !find_host_span(other, &right)) return false;
  return left.last < right.first || right.last < left.first;
}

/* Says in the attributes, which are an object of JSON, that a profile is no window of its process. */
static void mark_overlapping(struct profile *profile) {
  static const char mark[] = "\"is_overlapping\":true}";
  struct pool *pool = store_pool(profile->store);
  const char *text = profile->attributes ? pool_text(pool, profile->attributes) : "{}";
  size_t length = strlen(text);
  if (length < 2 || text[length - 1] != '}' || strstr(text, mark)) return;
  char *marked = malloc(length + sizeof mark + 1);
  if (!marked) return;
  memcpy(marked, text, length - 1);
  length--;
  if (length > 1) marked[length++] = ',';
  memcpy(marked + length, mark, sizeof mark - 1);
  string_id id;
  if (!pool_intern(pool, marked, length + sizeof mark - 1, &id)) profile->attributes = id;
  free(marked);
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
static struct profile *settle_overlap(struct store *store, struct candidate *of_one, struct candidate *of_other) {
  struct profile *one = of_one->profile, *other = of_other->profile;
  struct overlap overlap;
  bool may_be_told = strcmp(one->source->format, "kineto") == 0 && is_one_process(one, other);
  if (!do_overlap(one, other) || (!may_be_told && !may_be_part(of_one, of_other))) return NULL;
  if (may_be_told && do_follow(one, other)) return NULL;
  if (!compare_events(one, other, &overlap)) return NULL;
  if (overlap.shared && (overlap.shared == overlap.of_other || overlap.shared == overlap.of_one)) {
    bool is_other = overlap.of_other <= overlap.of_one;
    struct profile *copy = is_other ? other : one;
    take_out(store, copy, is_other ? one : other, overlap.shared, overlap.of_one == overlap.of_other);
    return copy;
  }
  if (!may_be_told) return NULL;
  mark_overlapping(one->start_ns > other->start_ns ? one : other);
  profile_diagnose(other, "warning", "overlapping_files", (int64_t)overlap.shared, -1, -1,
                   "%s begins before %s ends, and both say to be of the same process, which records one window after "
                   "the other: each counts by itself, and no step of either is compared with those of other ranks; "
                   "%llu of their events are in both", name_in(one->start_ns < other->start_ns ? other : one),
                   name_in(one->start_ns < other->start_ns ? one : other), (unsigned long long)overlap.shared);
  return NULL;
}

void overlaps_run(struct store *store, uint32_t run_number) {
  size_t all = store_profile_count(store), count = 0;
  struct candidate *profiles = calloc(all + 1, sizeof *profiles);
  for (size_t i = 0; i < all && profiles && count < MOST_PROFILES; i++) {
    struct profile *profile = store_profile_at(store, i);
    if (profile->run_number == run_number && is_compared(profile)) profiles[count++].profile = profile;
  }
  for (size_t i = 1; i < count; i++) {
    for (size_t k = 0; k < i && profiles[i].profile; k++) {
      if (!profiles[k].profile || !may_be_copies(profiles[k].profile, profiles[i].profile)) continue;
      struct profile *gone = settle_overlap(store, &profiles[k], &profiles[i]);
      if (gone) profiles[gone == profiles[i].profile ? i : k].profile = NULL;
    }
  }
  free(profiles);
}
