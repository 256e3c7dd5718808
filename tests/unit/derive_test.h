/* derive_test.h: what the tests of derive passes share: checks, random numbers, profiles made in memory.
**
** Profiles are opened through the store like any other, with a source that hands out prepared columns, cut into
** segments at random places.  Each test program includes this once; everything is static.
*/
#ifndef TFPROF_DERIVE_TEST_H
#define TFPROF_DERIVE_TEST_H

#include "derive/derive.h"
#include "derive/rows.h"
#include "store/snapshot.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"

static uint64_t random_state = 88172645463325252u;

/* xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators". */
static inline uint32_t below_of(uint64_t *state, uint32_t bound) {
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return (uint32_t)((*state * 2685821657736338717u >> 32) * bound >> 32);
}

static uint32_t below(uint32_t bound) { return below_of(&random_state, bound); }

/* ---- a profile in memory ---- */

struct content {
  int64_t *values[TABLE_count][SCHEMA_MAXIMUM_COLUMNS]; /* NO_VALUE: NULL; owned */
  uint32_t rows[TABLE_count];
};

struct opened {
  struct store *store;
  struct profile *profile;
  struct content content;
};

static inline enum tfprof_status load(struct profile *profile, struct segment *segment, const uint16_t *columns,
                                      unsigned count, struct column **out, struct tfprof_error *error) {
  struct content *content = profile->source_data;
  (void)error;
  for (unsigned i = 0; i < count; i++) {
    const int64_t *values = content->values[segment->table][columns[i]] + segment->first_row;
    uint64_t *nulls = calloc(segment->rows / 64 + 1, sizeof *nulls);
    bool has_nulls = false;
    for (uint32_t row = 0; row < segment->rows; row++) {
      if (values[row] != NO_VALUE) continue;
      nulls[row >> 6] |= (uint64_t)1 << (row & 63);
      has_nulls = true;
    }
    /* of reals these are the bits */
    bool is_real = schema_tables[segment->table].columns[columns[i]].type == TYPE_REAL;
    out[i] = is_real ? column_from_reals((const double *)(const void *)values, has_nulls ? nulls : NULL, segment->rows)
                     : column_from_integers(values, has_nulls ? nulls : NULL, segment->rows);
    free(nulls);
  }
  return TFPROF_OK;
}

static void free_profile(struct profile *profile) { (void)profile; }

static const struct profile_source from_start = {.format = "tfprof", .load = load, .free_profile = free_profile};
static const struct profile_source window = {.format = "kineto", .load = load, .free_profile = free_profile};

static inline void begin(struct opened *opened) {
  *opened = (struct opened){.store = store_create(derive_passes, derive_pass_count)};
}

static inline int64_t *column(struct opened *opened, unsigned table, unsigned number, uint32_t rows) {
  int64_t **values = &opened->content.values[table][number];
  *values = malloc(((size_t)rows + 1) * sizeof **values);
  for (uint32_t row = 0; row < rows; row++) (*values)[row] = NO_VALUE;
  opened->content.rows[table] = rows;
  return *values;
}

static inline int64_t text(struct opened *opened, const char *bytes) {
  string_id id = 0;
  pool_intern(store_pool(opened->store), bytes, strlen(bytes), &id);
  return id;
}

/* Publishes what was prepared, cut into segments of up to `piece` rows (0: one). */
static inline void publish(struct opened *opened, const struct profile_source *source, uint32_t piece) {
  struct tfprof_error error;
  uint32_t run;
  if (store_add_run(opened->store, "test", source->format, &run, &error) ||
      store_add_profile(opened->store, run, source, &opened->content, &opened->profile, &error)) {
    check(false, "cannot add a profile: %s", error.message);
    exit(1);
  }
  opened->profile->complete = true;
  for (unsigned table = 0; table < TABLE_count; table++) {
    struct column_set raw = {{0, 0}};
    for (unsigned number = 0; number < SCHEMA_MAXIMUM_COLUMNS; number++) {
      if (opened->content.values[table][number]) column_set_add(&raw, number);
    }
    for (uint32_t first = 0, rows; first < opened->content.rows[table]; first += rows) {
      rows = piece ? 1 + below(piece) : opened->content.rows[table];
      if (rows > opened->content.rows[table] - first) rows = opened->content.rows[table] - first;
      if (profile_add_segment(opened->profile, table, first, rows, &raw, NULL, NULL, &error)) {
        check(false, "cannot add a segment: %s", error.message);
        exit(1);
      }
    }
  }
  store_publish_run(opened->store, run);
}

static inline void end(struct opened *opened) {
  store_release(opened->store);
  for (unsigned table = 0; table < TABLE_count; table++) {
    for (unsigned number = 0; number < SCHEMA_MAXIMUM_COLUMNS; number++) free(opened->content.values[table][number]);
  }
}

/* A column as the store gives it after deriving; NO_VALUE for NULL. The caller frees it. */
static inline int64_t *derived(struct opened *opened, unsigned table, unsigned number, uint32_t *rows) {
  struct column_set columns = {{0, 0}};
  struct tfprof_error error = {.status = TFPROF_OK};
  int64_t *values = NULL, *copy;
  column_set_add(&columns, number);
  if (profile_require(opened->profile, table, &columns, &error) ||
      derive_all_integers(opened->profile, table, number, &values, &error)) {
    check(false, "cannot derive %s.%s: %s", schema_tables[table].name, schema_tables[table].columns[number].name,
          error.message);
    exit(1);
  }
  size_t count = opened->profile->tables[table].rows;
  if (rows) *rows = (uint32_t)count;
  copy = malloc((count + 1) * sizeof *copy);
  if (!copy) exit(1);
  memcpy(copy, values, count * sizeof *copy);
  scratch_free(values);
  return copy;
}

static inline const char *text_of(const struct opened *opened, int64_t id) {
  const char *bytes = id == NO_VALUE ? NULL : pool_text(store_pool(opened->store), (string_id)id);
  return bytes ? bytes : "(NULL)";
}

/* How the rows of a source are ordered. */
enum arrangement { END_ORDER, START_ORDER, SOME_LATE, SHUFFLED, ARRANGEMENTS };

/* ---- a program, told row by row ---- */

struct script {
  struct opened opened;
  int64_t *columns[COLUMN_COUNT_ops];
  uint32_t count;
};

enum { SCRIPT_ROWS = 4096 };

static inline void script_begin(struct script *script, uint32_t threads) {
  static const unsigned used[] = {COLUMN_ops_name,     COLUMN_ops_category,        COLUMN_ops_thread_id,
                                  COLUMN_ops_start_ns, COLUMN_ops_end_ns,          COLUMN_ops_dur_ns,
                                  COLUMN_ops_sequence_number, COLUMN_ops_forward_thread,
                                  COLUMN_ops_recorded_code_trace, COLUMN_ops_recorded_module};
  *script = (struct script){.count = 0};
  begin(&script->opened);
  for (size_t i = 0; i < sizeof used / sizeof used[0]; i++) {
    script->columns[used[i]] = column(&script->opened, TABLE_ops, used[i], SCRIPT_ROWS);
  }
  int64_t *logical = column(&script->opened, TABLE_threads, COLUMN_threads_logical_thread, threads);
  for (uint32_t i = 0; i < threads; i++) logical[i] = i + 1;
  int64_t *depths = column(&script->opened, TABLE_code_traces, COLUMN_code_traces_depth, 100);
  for (uint32_t i = 0; i < 100; i++) depths[i] = 1;
}

static inline uint32_t script_row(struct script *script, const char *category, const char *name, uint32_t thread,
                                  int64_t start, int64_t finish) {
  uint32_t row = script->count++;
  script->columns[COLUMN_ops_name][row] = text(&script->opened, name);
  script->columns[COLUMN_ops_category][row] = text(&script->opened, category);
  script->columns[COLUMN_ops_thread_id][row] = thread;
  script->columns[COLUMN_ops_start_ns][row] = start;
  script->columns[COLUMN_ops_end_ns][row] = finish;
  script->columns[COLUMN_ops_dur_ns][row] = finish - start;
  return row;
}

static inline void script_end(struct script *script, const struct profile_source *source) {
  script->opened.content.rows[TABLE_ops] = script->count;
  publish(&script->opened, source, 50);
}

/* Compares the steps with "origin number start end warmup recorded, ..." */

#endif
