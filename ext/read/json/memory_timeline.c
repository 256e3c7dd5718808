/* memory_timeline.c: see memory_timeline.h. */
#include "read/json/memory_timeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "read/file/source.h"
#include "read/rows/eager_rows.h"

enum { BUFFER_BYTES = 1 << 18, FIELDS = 4 };
enum { ACTION_PREEXISTING = 1, ACTION_CREATE, ACTION_RECATEGORIZE, ACTION_DESTROY };

struct change { int64_t time, bytes; uint8_t action, category; };

/* What may come next. */
enum state {
  BEFORE_LIST,
  BEFORE_FIRST,
  BEFORE_EVENT,
  BEFORE_NUMBER,
  IN_NUMBER,
  BEHIND_NUMBER,
  BEHIND_EVENT,
  BEHIND_LIST
};

struct timeline {
  struct change *changes;
  size_t count, capacity;
  enum state state;
  uint64_t offset, event_offset; /* of the byte that comes next; of the event being read */
  int64_t fields[FIELDS];
  unsigned field;
  uint64_t number;
  bool is_negative, is_too_large, has_digits, is_odd;
  uint64_t odd_count, odd_offset; /* events with numbers that cannot be */
};

static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

static bool end_event(struct timeline *t) {
  const int64_t *f = t->fields;
  if (t->is_odd || f[0] < -1 || f[1] < ACTION_PREEXISTING || f[1] > ACTION_DESTROY || f[3] < 0 || f[3] > 7) {
    if (t->odd_count++ == 0) t->odd_offset = t->event_offset;
    return true;
  }
  if (!array_reserve(t->changes, t->capacity, t->count + 1)) return false;
  t->changes[t->count++] = (struct change){f[0], f[2], (uint8_t)f[1], (uint8_t)f[3]};
  return true;
}

static void end_number(struct timeline *t) {
  if (t->is_too_large) t->is_odd = true;
  t->fields[t->field++] = t->is_negative ? -(int64_t)t->number : (int64_t)t->number;
}

enum taken { TAKEN, TAKEN_WRONG, TAKEN_NO_MEMORY };

static enum taken take_byte(struct timeline *t, char c) {
  bool is_digit = c >= '0' && c <= '9';
  if (t->state == IN_NUMBER) {
    if (is_digit) {
      t->has_digits = true;
      t->is_too_large |= t->number > (INT64_MAX - 9) / 10;
      if (!t->is_too_large) t->number = t->number * 10 + (uint64_t)(c - '0');
      return TAKEN;
    }
    if (!t->has_digits) return TAKEN_WRONG;
    end_number(t);
    t->state = BEHIND_NUMBER;
  }
  if (is_space(c)) return TAKEN;
  switch (t->state) {
    case BEFORE_LIST: t->state = BEFORE_FIRST; return c == '[' ? TAKEN : TAKEN_WRONG;
    case BEFORE_FIRST:
    case BEFORE_EVENT:
      if (c == ']' && t->state == BEFORE_FIRST) {
        t->state = BEHIND_LIST;
        return TAKEN;
      }
      t->event_offset = t->offset;
      t->field = 0;
      t->is_odd = false;
      t->state = BEFORE_NUMBER;
      return c == '[' ? TAKEN : TAKEN_WRONG;
    case BEFORE_NUMBER:
      if (!is_digit && c != '-') return TAKEN_WRONG;
      t->number = is_digit ? (uint64_t)(c - '0') : 0;
      t->has_digits = is_digit;
      t->is_negative = !is_digit;
      t->is_too_large = false;
      t->state = IN_NUMBER;
      return TAKEN;
    case BEHIND_NUMBER:
      if (c == ',' && t->field < FIELDS) {
        t->state = BEFORE_NUMBER;
        return TAKEN;
      }
      if (c != ']' || t->field != FIELDS) return TAKEN_WRONG;
      t->state = BEHIND_EVENT;
      return end_event(t) ? TAKEN : TAKEN_NO_MEMORY;
    case BEHIND_EVENT:
      t->state = c == ',' ? BEFORE_EVENT : BEHIND_LIST;
      return c == ',' || c == ']' ? TAKEN : TAKEN_WRONG;
    case IN_NUMBER:
    case BEHIND_LIST: break;
  }
  return TAKEN_WRONG;
}

/* Reads until the list ends, or what cannot belong to it. */
static enum tfprof_status read_changes(struct store *store, struct source *source, struct timeline *t, bool *is_wrong,
                                       struct tfprof_error *error) {
  char *buffer = malloc(BUFFER_BYTES);
  size_t got = buffer ? BUFFER_BYTES : 0;
  enum tfprof_status status = buffer ? TFPROF_OK : error_no_memory(error);
  *is_wrong = false;
  while (got == BUFFER_BYTES && !status && !*is_wrong) {
    got = source_read(source, buffer, BUFFER_BYTES);
    for (size_t i = 0; i < got && !status && !*is_wrong; i++) {
      enum taken taken = take_byte(t, buffer[i]);
      if (taken == TAKEN_NO_MEMORY) status = error_no_memory(error);
      *is_wrong = taken == TAKEN_WRONG;
      if (taken == TAKEN) t->offset++;
    }
    if (store_interrupted(store)) status = error_set(error, TFPROF_INTERRUPTED, "interrupted");
  }
  free(buffer);
  return status;
}

/* ---- rows ---- */

static enum tfprof_status publish(struct profile *profile, const struct timeline *t, struct tfprof_error *error) {
  static const char *const categories[8] = {"parameter", "optimizer_state", "input",           "temporary",
                                            "activation", "gradient",       "autograd_detail", "unknown"};
  static const char *const kinds[5] = {[ACTION_PREEXISTING] = "allocate", [ACTION_CREATE] = "allocate",
                                       [ACTION_RECATEGORIZE] = "recategorize", [ACTION_DESTROY] = "release"};
  struct pool *pool = store_pool(profile->store);
  string_id category_ids[8] = {0}, kind_ids[5] = {0};
  struct eager_rows rows;
  int64_t first = INT64_MAX, last = INT64_MIN, in_use = 0;
  enum tfprof_status status = TFPROF_OK;
  for (unsigned i = 0; i < 8 && !status; i++)
    status = pool_intern(pool, categories[i], strlen(categories[i]), &category_ids[i]);
  for (unsigned i = 1; i < 5 && !status; i++) status = pool_intern(pool, kinds[i], strlen(kinds[i]), &kind_ids[i]);
  if (status) error_no_memory(error);
  eager_rows_begin(&rows, profile, TABLE_memory_events, t->count, &status, error);
  for (size_t i = 0; i < t->count; i++) {
    if (t->changes[i].time >= 0 && t->changes[i].time < first) first = t->changes[i].time;
    if (t->changes[i].time > last) last = t->changes[i].time;
  }
#define SET(column, expression)              \
  for (size_t i = 0; i < rows.count; i++) {  \
    const struct change *c = &t->changes[i]; \
    rows.values[i] = (expression);           \
  }                                          \
  eager_rows_set(&rows, COLUMN_memory_events_##column)
  bool is_timed = first != INT64_MAX;
  SET(time_ns, c->time >= 0 ? c->time : is_timed ? first : 0);
  SET(kind, kind_ids[c->action]);
  SET(bytes, c->bytes);
  SET(region, category_ids[c->category]);
  for (size_t i = 0; i < rows.count; i++) {
    const struct change *c = &t->changes[i];
    bool counts = c->action != ACTION_RECATEGORIZE && !__builtin_add_overflow(in_use, c->bytes, &in_use);
    rows.values[i] = counts ? in_use : ROW_NULL;
  }
  eager_rows_set(&rows, COLUMN_memory_events_in_use_bytes);
#undef SET
  eager_rows_end(&rows);
  profile->has_span = is_timed;
  profile->start_ns = is_timed ? first : 0;
  profile->end_ns = is_timed ? last : 0;
  return status;
}

static void diagnose_timeline(struct profile *profile, const struct timeline *t, const struct source *source,
                              bool is_wrong) {
  uint64_t offset;
  enum source_problem problem = source_problem(source, &offset);
  profile->complete = t->state == BEHIND_LIST && (!problem || problem == SOURCE_TRAILING);
  if (is_wrong) {
    profile_diagnose(profile, t->state == BEHIND_LIST ? "warning" : "error", "malformed_json", 1, (int64_t)t->offset,
                     -1, "what stands here is no event of a memory timeline; reading ended there");
  } else if (problem) {
    profile_diagnose(profile, problem == SOURCE_TRAILING ? "warning" : "error", "gzip", 1, (int64_t)offset, -1, "%s",
                     source_problem_text(problem));
  } else if (t->state != BEHIND_LIST) {
    profile_diagnose(profile, "error", "truncated", 1, (int64_t)t->offset, -1,
                     "the file ends in the middle; everything before is served");
  }
  if (t->odd_count) {
    profile_diagnose(profile, "warning", "number_out_of_range", (int64_t)t->odd_count, (int64_t)t->odd_offset,
                     TABLE_memory_events, "events with a time, action, size or category that cannot be were left out");
  }
}

static const struct profile_source timeline_source = {.format = "memory_timeline", .load = eager_rows_load};

static enum tfprof_status add_profile(struct store *store, uint32_t run_number, const char *path,
                                      const struct timeline *t, const struct source *source, bool is_wrong,
                                      struct tfprof_error *error) {
  struct profile *profile = NULL;
  struct pool *pool = store_pool(store);
  enum tfprof_status status = store_add_profile(store, run_number, &timeline_source, NULL, &profile, error);
  if (status) return status;
  status = publish(profile, t, error);
  if (!status && (pool_intern_mended(pool, path, strlen(path), &profile->path, NULL) ||
                  pool_intern(pool, "pytorch", 7, &profile->framework) ||
                  pool_intern(pool, "realtime", 8, &profile->clock_domain)))
    status = error_no_memory(error);
  if (status) {
    store_drop_profile(store, profile);
    return status;
  }
  profile->file_bytes = (int64_t)source_file_bytes(source);
  diagnose_timeline(profile, t, source, is_wrong);
  return TFPROF_OK;
}

static enum tfprof_status timeline_open(struct store *store, uint32_t run_number, const struct read_bundle *bundle,
                                        struct tfprof_error *error) {
  const char *path = bundle->files[0].path;
  struct timeline t = {.state = BEFORE_LIST};
  struct source *source;
  bool is_wrong;
  enum tfprof_status status = source_open(path, &source, error);
  if (status) return status;
  status = read_changes(store, source, &t, &is_wrong, error);
  if (!status && !t.count && !t.odd_count && t.state != BEHIND_LIST) {
    status = error_at(error, TFPROF_CORRUPT, path, t.offset, "is no memory timeline: a list of [time, action, bytes, "
                      "category] is expected");
  }
  if (!status) status = add_profile(store, run_number, path, &t, source, is_wrong, error);
  source_close(source);
  free(t.changes);
  return status;
}

bool memory_timeline_is(const uint8_t *head, size_t length) {
  struct timeline t = {.state = BEFORE_LIST};
  for (size_t i = 0; i < length && i < 512; i++) {
    if (take_byte(&t, (char)head[i]) != TAKEN) break;
    if (t.state == BEHIND_EVENT) break;
  }
  free(t.changes);
  return t.state == BEHIND_EVENT;
}

const struct read_format read_format_memory_timeline = {
    .name = "memory_timeline",
    .description = "raw memory timeline (.raw.json, .raw.json.gz) by torch.profiler's export_memory_timeline()",
    .may_be_gzip = true,
    .open = timeline_open};
