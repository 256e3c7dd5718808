/* passes.c: how columns come to be: loaded by the source, derived by a pass, or absent.
**
** Everything here works on one version of a profile.  A pass runs at most once for a version; before it runs, all
** that it reads is made, by other passes where necessary.
*/
#include "store/parallel.h"
#include "store/private.h"
#include "store/scratch.h"

#include <pthread.h>
#include <string.h>

/* ---- loading ---- */

/* Asks the source for `count` raw columns of a segment; out[i] is never NULL after success. */
static enum tfprof_status load_columns(struct segment *segment, const uint16_t *columns, unsigned count,
                                       struct column **out, struct tfprof_error *error) {
  struct profile *profile = segment->profile;
  memset(out, 0, count * sizeof *out);
  enum tfprof_status status = profile->source->load(profile, segment, columns, count, out, error);
  for (unsigned i = 0; i < count && !status; i++) {
    if (!out[i]) out[i] = column_absent(segment->rows);
    if (!out[i]) {
      status = error_no_memory(error);
    } else if (out[i]->rows != segment->rows) {
      status = error_set(error, TFPROF_CORRUPT, "the reader of %s gave %u rows of %u", profile->source->format,
                         out[i]->rows, segment->rows);
    }
    assert(status || segment_may_have(segment, columns[i], out[i]));
  }
  if (status) {
    for (unsigned i = 0; i < count; i++) column_release(out[i]);
    return status;
  }
  for (unsigned i = 0; i < count; i++) column_set_add(&segment->is_told, columns[i]);
  return TFPROF_OK;
}

static enum tfprof_status load_missing(struct segment *segment, const struct column_set *wanted,
                                       struct tfprof_error *error) {
  uint16_t columns[SCHEMA_MAXIMUM_COLUMNS];
  struct column *loaded[SCHEMA_MAXIMUM_COLUMNS];
  unsigned count = 0;
  if (!wanted->words[0] && !wanted->words[1]) return TFPROF_OK;
  for (unsigned column = 2; column < schema_tables[segment->table].column_count; column++) {
    bool is_missing = column_set_has(wanted, column) && !segment->columns[column];
    if (is_missing && column_set_has(&segment->is_raw, column)) columns[count++] = (uint16_t)column;
  }
  if (count == 0) return TFPROF_OK;
  enum tfprof_status status = load_columns(segment, columns, count, loaded, error);
  for (unsigned i = 0; i < count && !status; i++) segment->columns[columns[i]] = loaded[i];
  return status;
}

enum tfprof_status profile_load_all(struct profile *profile, struct tfprof_error *error) {
  return profile_load_some(profile, NULL, error);
}

enum tfprof_status profile_load_some(struct profile *profile, bool (*is_wanted)(const struct segment *segment),
                                     struct tfprof_error *error) {
  for (unsigned table = 0; table < TABLE_count; table++) {
    const struct profile_table *list = &profile->tables[table];
    if (list->is_made) continue;
    for (size_t i = 0; i < list->segment_count; i++) {
      struct segment *segment = list->segments[i];
      uint16_t columns[SCHEMA_MAXIMUM_COLUMNS];
      struct column *loaded[SCHEMA_MAXIMUM_COLUMNS];
      unsigned count = 0;
      for (unsigned column = 2; column < schema_tables[table].column_count; column++) {
        bool is_news = column_set_has(&segment->is_raw, column) && !column_set_has(&segment->is_told, column);
        if (is_news) columns[count++] = (uint16_t)column;
      }
      if (store_interrupted(profile->store)) return error_interrupted(error);
      store_progress(profile->store, "verifying", (double)i / (double)list->segment_count);
      if (count == 0 || (is_wanted && !is_wanted(segment))) continue;
      enum tfprof_status status = load_columns(segment, columns, count, loaded, error);
      if (status) return status;
      for (unsigned k = 0; k < count; k++) column_release(loaded[k]);
    }
  }
  return TFPROF_OK;
}

/* ---- passes ---- */

static bool is_end(const struct table_column *entry) { return entry->table == 0 && entry->column == 0; }

static int pass_that_writes(const struct store *store, unsigned table, unsigned column) {
  for (unsigned pass = 0; pass < store->pass_count; pass++) {
    const struct table_column *writes = store->passes[pass]->writes;
    for (unsigned i = 0; i < DERIVE_MAXIMUM_COLUMNS && !is_end(&writes[i]); i++) {
      if (writes[i].table == table && writes[i].column == column) return (int)pass;
    }
  }
  return -1;
}

/* The pass that has to run before a table has its rows, or -1. */
static int pass_to_make(const struct profile *profile, unsigned table) {
  const struct store *store = profile->store;
  if (!profile->tables[table].is_made || profile->tables[table].is_ready) return -1;
  for (unsigned pass = 0; pass < store->pass_count; pass++) {
    if (store->passes[pass]->makes_table == (int)table) return (int)pass;
  }
  return -1;
}

static enum tfprof_status fill_absent(struct segment *segment, unsigned column, struct tfprof_error *error) {
  if (segment->columns[column] || column_set_has(&segment->is_raw, column)) return TFPROF_OK;
  segment->columns[column] = column_absent(segment->rows);
  return segment->columns[column] ? TFPROF_OK : error_no_memory(error);
}

static enum tfprof_status fill_absent_in_all(struct profile *profile, unsigned table, unsigned column,
                                             struct tfprof_error *error) {
  const struct profile_table *list = &profile->tables[table];
  enum tfprof_status status = TFPROF_OK;
  for (size_t i = 0; i < list->segment_count && !status; i++) status = fill_absent(list->segments[i], column, error);
  return status;
}

static bool is_idle(const struct profile *profile, const struct derive_pass *pass) {
  return pass->is_idle && pass->is_idle(profile);
}

static enum tfprof_status list_tables(struct profile *profile, const struct table_column *columns,
                                      struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (unsigned i = 0; i < DERIVE_MAXIMUM_COLUMNS && !is_end(&columns[i]) && !status; i++) {
    const struct column_spec *spec = &schema_tables[columns[i].table].columns[columns[i].column];
    status = profile_list_table(profile, columns[i].table, error);
    bool is_counted = spec->type != TYPE_REFERENCE || !profile->tables[spec->target].is_estimated;
    if (!status && !is_counted) status = profile_list_table(profile, spec->target, error);
  }
  return status;
}

/* Lists the tables that a pass has to do with, so that it may look at their segments, and those that its columns refer
** to where their rows are not counted. */
static enum tfprof_status list_for_pass(struct profile *profile, const struct derive_pass *pass,
                                        struct tfprof_error *error) {
  enum tfprof_status status = list_tables(profile, pass->reads, error);
  if (!status) status = list_tables(profile, pass->reads_here, error);
  if (!status) status = list_tables(profile, pass->writes, error);
  if (!status && pass->makes_table >= 0) status = profile_list_table(profile, (unsigned)pass->makes_table, error);
  return status;
}

/* Makes columns readable, in one segment or (NULL) in all. */
static enum tfprof_status prepare_reads(struct profile *profile, struct segment *segment,
                                        const struct table_column *reads, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (unsigned i = 0; i < DERIVE_MAXIMUM_COLUMNS && !is_end(&reads[i]) && !status; i++) {
    unsigned table = reads[i].table;
    struct column_set columns = {{0, 0}};
    /* All columns of a table at once, for then they are decoded side by side. */
    bool is_done = false;
    for (unsigned k = 0; k < i; k++) is_done |= reads[k].table == table;
    if (is_done) continue;
    for (unsigned k = i; k < DERIVE_MAXIMUM_COLUMNS && !is_end(&reads[k]); k++) {
      if (reads[k].table == table) column_set_add(&columns, reads[k].column);
    }
    status = profile_ensure_columns(profile, table, segment, &columns, error);
  }
  return status;
}

/* Makes all that a pass needs, to run for one segment or (NULL) for all. */
static enum tfprof_status prepare(struct profile *profile, const struct derive_pass *pass, struct segment *segment,
                                  struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (unsigned i = 0; i < DERIVE_MAXIMUM_COLUMNS && !is_end(&pass->writes[i]) && !status; i++) {
    unsigned table = pass->writes[i].table;
    if ((int)table != pass->makes_table) status = profile_ensure_table(profile, table, error);
  }
  if (!status) status = prepare_reads(profile, NULL, pass->reads, error);
  if (!status) status = prepare_reads(profile, segment, pass->reads_here, error);
  for (const char *const *text = pass->texts; text && *text && !status; text++) {
    string_id id;
    if (pool_intern(profile->store->pool, *text, strlen(*text), &id)) status = error_no_memory(error);
  }
  return status;
}

static enum tfprof_status call_pass(struct profile *profile, const struct derive_pass *pass, struct segment *segment,
                                    struct tfprof_error *error) {
  /* The status counts even where the pass filled in no message. */
  if (error) error_set(error, TFPROF_OK, "derive pass %s failed", pass->name);
  enum tfprof_status status = segment ? pass->run_segment(profile, segment, error) : pass->run(profile, error);
  if (status && error && error->status == TFPROF_OK) error->status = status;
  return status;
}

/* What is left to do after a pass has run for a segment. */
static enum tfprof_status finish_segment(const struct derive_pass *pass, struct segment *segment,
                                         struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (unsigned i = 0; i < DERIVE_MAXIMUM_COLUMNS && !is_end(&pass->writes[i]) && !status; i++)
    status = fill_absent(segment, pass->writes[i].column, error);
  return status;
}

/* What is left to do after a pass has run, or failed. */
static enum tfprof_status finish_pass(struct profile *profile, unsigned number, enum tfprof_status status,
                                      struct tfprof_error *error) {
  const struct derive_pass *pass = profile->store->passes[number];
  struct profile_table *made = NULL;
  if (pass->makes_table >= 0 && profile->tables[pass->makes_table].is_made) made = &profile->tables[pass->makes_table];
  if (status) {
    if (made && !made->is_ready) profile_cut_segments(profile, (unsigned)pass->makes_table, 0);
    return status;
  }
  if (made) made->is_ready = true;
  pass_set_add(&profile->passes_done, number);
  for (unsigned i = 0; i < DERIVE_MAXIMUM_COLUMNS && !is_end(&pass->writes[i]) && !status; i++) {
    const struct table_column *written = &pass->writes[i];
    /* Another pass that comes earlier in the list may still owe the column. */
    if (pass_that_writes(profile->store, written->table, written->column) != (int)number) continue;
    status = fill_absent_in_all(profile, written->table, written->column, error);
  }
  return status;
}

static enum tfprof_status run_pass(struct profile *profile, unsigned number, struct tfprof_error *error) {
  const struct derive_pass *pass = profile->store->passes[number];
  if (pass_set_has(&profile->passes_done, number)) return TFPROF_OK;
  if (pass_set_has(&profile->passes_running, number)) {
    return error_set(error, TFPROF_USAGE, "derive pass %s needs what it makes itself", pass->name);
  }
  enum tfprof_status status = list_for_pass(profile, pass, error);
  if (status) return status;
  if (is_idle(profile, pass)) return finish_pass(profile, number, TFPROF_OK, error);
  pass_set_add(&profile->passes_running, number);
  status = prepare(profile, pass, NULL, error);
  if (!status && store_interrupted(profile->store)) status = error_interrupted(error);
  if (!status) {
    store_progress(profile->store, pass->name, 0);
    status = call_pass(profile, pass, NULL, error);
  }
  pass_set_remove(&profile->passes_running, number);
  return finish_pass(profile, number, status, error);
}

enum tfprof_status profile_ensure_table(struct profile *profile, unsigned table, struct tfprof_error *error) {
  enum tfprof_status status = profile_list_table(profile, table, error);
  int pass = pass_to_make(profile, table);
  if (status || pass < 0) return status;
  scratch_keep();
  status = run_pass(profile, (unsigned)pass, error);
  scratch_return();
  return status;
}

/* ---- columns ---- */

static enum tfprof_status derive_column(struct profile *profile, unsigned table, unsigned column,
                                        struct tfprof_error *error) {
  int pass = pass_that_writes(profile->store, table, column);
  enum tfprof_status status = pass < 0 ? TFPROF_OK : run_pass(profile, (unsigned)pass, error);
  return status ? status : fill_absent_in_all(profile, table, column, error);
}

/* Whether a column is to be made, in one segment or (NULL) in any. */
static bool is_missing(const struct profile_table *list, const struct segment *segment, unsigned column) {
  for (size_t i = 0; i < list->segment_count; i++) {
    if (!list->segments[i]->columns[column] && (!segment || segment == list->segments[i])) return true;
  }
  return false;
}

/* In how many of the segments a column is raw: in all of a kind or in none of it. */
enum raw_part { RAW_NOWHERE, RAW_IN_SOME, RAW_EVERYWHERE };
static enum raw_part raw_part(const struct profile_table *list, unsigned column) {
  bool is_any = false, is_all = true;
  size_t count = list->has_kinds || !list->segment_count ? list->segment_count : 1; /* the others are as the first */
  for (size_t i = 0; i < count; i++) {
    bool is_raw = column_set_has(&list->segments[i]->is_raw, column);
    is_any |= is_raw;
    is_all &= is_raw;
  }
  return !is_any ? RAW_NOWHERE : is_all ? RAW_EVERYWHERE : RAW_IN_SOME;
}

/* What a request comes down to. */
struct needs {
  struct profile *profile;
  enum tfprof_status status; /* of listing the tables in question, after whose failure nothing is added */
  struct tfprof_error *error;
  struct column_set raw[TABLE_count]; /* columns to load in all segments */
  struct column_set raw_here;         /* and in the segment that is asked for */
  struct pass_set passes;             /* that have not run yet */
  struct pass_set passes_here;        /* that need to run for that segment only */
};

/* Whether a pass is to run for this segment alone: so far nobody has asked for another one. */
static bool runs_here(const struct profile *profile, const struct derive_pass *pass, const struct segment *segment) {
  if (!segment || !pass->run_segment || pass->writes[0].table != segment->table) return false;
  const struct profile_table *list = &profile->tables[segment->table];
  for (size_t i = 0; i < list->segment_count; i++) {
    if (list->segments[i] != segment && list->segments[i]->columns[pass->writes[0].column]) return false;
  }
  return list->segment_count > 1;
}

static void need_column(struct needs *needs, const struct segment *segment, unsigned table, unsigned column);

static void need_reads(struct needs *needs, const struct segment *segment, const struct table_column *reads) {
  for (unsigned i = 0; i < DERIVE_MAXIMUM_COLUMNS && !is_end(&reads[i]); i++)
    need_column(needs, segment, reads[i].table, reads[i].column);
}

/* All that a pass reads, be it loaded or made by other passes, to run for a segment where it can, or (NULL) for all. */
static void need_pass(struct needs *needs, const struct segment *segment, int number) {
  if (number < 0 || needs->status) return;
  struct profile *profile = needs->profile;
  unsigned place = (unsigned)number;
  if (pass_set_has(&profile->passes_done, place) || pass_set_has(&needs->passes, place)) return;
  const struct derive_pass *pass = profile->store->passes[number];
  needs->status = list_for_pass(profile, pass, needs->error);
  if (needs->status || is_idle(profile, pass)) return; /* of an idle one run_pass() is soon done */
  if (!runs_here(profile, pass, segment)) segment = NULL;
  if (segment && pass_set_has(&needs->passes_here, place)) return;
  pass_set_add(segment ? &needs->passes_here : &needs->passes, place);
  for (unsigned i = 0; i < DERIVE_MAXIMUM_COLUMNS && !is_end(&pass->writes[i]); i++) {
    need_pass(needs, NULL, pass_to_make(profile, pass->writes[i].table));
  }
  need_reads(needs, NULL, pass->reads);
  need_reads(needs, segment, pass->reads_here);
}

static void need_column(struct needs *needs, const struct segment *segment, unsigned table, unsigned column) {
  const struct profile *profile = needs->profile;
  const struct profile_table *list = &profile->tables[table];
  if (!needs->status) needs->status = profile_list_table(needs->profile, table, needs->error);
  if (needs->status) return;
  need_pass(needs, NULL, pass_to_make(profile, table));
  if (segment && segment->columns[column]) return;
  /* The segments of a made table are not looked at: a pass that runs may be adding them. */
  enum raw_part part = list->is_made ? RAW_NOWHERE : raw_part(list, column);
  if (part != RAW_NOWHERE) column_set_add(segment ? &needs->raw_here : &needs->raw[table], column);
  if (part != RAW_EVERYWHERE && (list->is_made || list->segment_count))
    need_pass(needs, segment, pass_that_writes(profile->store, table, column));
}

/* A request for some passes to run, those of `here` for one segment. */
struct request {
  struct profile *profile;
  struct segment *segment;
  struct pass_set passes, here;
};

static struct segment *segment_of(const struct request *request, unsigned number) {
  return pass_set_has(&request->here, number) ? request->segment : NULL;
}

/* Whether all that a pass reads has been made. */
static bool is_runnable(const struct request *request, unsigned number) {
  const struct profile *profile = request->profile;
  const struct derive_pass *pass = profile->store->passes[number];
  struct needs needs = {.profile = request->profile}; /* whose tables are listed: nothing fails */
  for (unsigned i = 0; i < DERIVE_MAXIMUM_COLUMNS && !is_end(&pass->writes[i]); i++) {
    if ((int)pass->writes[i].table != pass->makes_table && pass_to_make(profile, pass->writes[i].table) >= 0)
      return false;
  }
  need_reads(&needs, NULL, pass->reads);
  need_reads(&needs, segment_of(request, number), pass->reads_here);
  return pass_set_is_empty(&needs.passes) && pass_set_is_empty(&needs.passes_here);
}

/* Threads that run the passes of a request: each takes the next one that can run.  The lock is held for everything but
** what passes do themselves. */
struct crew {
  struct request *request;
  struct pass_set running;
  bool runs_alone; /* one of them, and no other may begin meanwhile */
  enum tfprof_status status;
  struct tfprof_error *error; /* of the first that failed */
  pthread_mutex_t lock;
  pthread_cond_t is_done; /* a pass */
};

/* Whether a pass that runs now writes one of the columns. */
static bool are_being_written(const struct crew *crew, const struct table_column *reads) {
  const struct profile *profile = crew->request->profile;
  for (unsigned i = 0; i < DERIVE_MAXIMUM_COLUMNS && !is_end(&reads[i]); i++) {
    int writer = pass_that_writes(profile->store, reads[i].table, reads[i].column);
    if (writer >= 0 && pass_set_has(&crew->running, (unsigned)writer)) return true;
  }
  return false;
}

/* Whether the request wants a pass that has not begun. */
static bool is_to_run(const struct request *request, unsigned number) {
  const struct profile *profile = request->profile;
  return pass_set_has(&request->passes, number) && !pass_set_has(&profile->passes_done, number) &&
         !pass_set_has(&profile->passes_running, number);
}

/* The first pass that can run now, -1: none. */
static int next_pass(const struct crew *crew) {
  const struct profile *profile = crew->request->profile;
  bool is_any_running = !pass_set_is_empty(&crew->running);
  if (crew->status || crew->runs_alone) return -1;
  for (unsigned number = 0; number < profile->store->pass_count; number++) {
    const struct derive_pass *pass = profile->store->passes[number];
    if (!is_to_run(crew->request, number) || (pass->is_alone && is_any_running)) continue;
    if (!are_being_written(crew, pass->reads_here) && is_runnable(crew->request, number)) return (int)number;
  }
  return -1;
}

static void crew_failed(struct crew *crew, enum tfprof_status status, const struct tfprof_error *error) {
  if (!status || crew->status) return;
  crew->status = status;
  if (crew->error) *crew->error = *error;
}

/* With the lock, which is given back while the pass runs. */
static void run_of_crew(struct crew *crew, unsigned number, bool tells_progress) {
  struct profile *profile = crew->request->profile;
  const struct derive_pass *pass = profile->store->passes[number];
  struct segment *segment = segment_of(crew->request, number);
  struct tfprof_error error = {0};
  pass_set_remove(&crew->request->passes, number);
  enum tfprof_status status = prepare(profile, pass, segment, &error);
  if (!status && store_interrupted(profile->store)) status = error_interrupted(&error);
  if (status) {
    crew_failed(crew, status, &error);
    return;
  }
  if (tells_progress) store_progress(profile->store, pass->name, 0);
  pass_set_add(&crew->running, number);
  crew->runs_alone = pass->is_alone;
  pass_set_add(&profile->passes_running, number);
  pthread_mutex_unlock(&crew->lock);
  status = call_pass(profile, pass, segment, &error);
  pthread_mutex_lock(&crew->lock);
  pass_set_remove(&profile->passes_running, number);
  pass_set_remove(&crew->running, number);
  crew->runs_alone = false;
  if (!segment) status = finish_pass(profile, number, status, &error);
  else if (!status) status = finish_segment(pass, segment, &error);
  crew_failed(crew, status, &error);
  pthread_cond_broadcast(&crew->is_done);
}

static void work_in_crew(void *context, size_t i, unsigned worker) {
  struct crew *crew = context;
  (void)i;
  pthread_mutex_lock(&crew->lock);
  for (;;) {
    int number = next_pass(crew);
    if (number >= 0) run_of_crew(crew, (unsigned)number, worker == 0);
    else if (!pass_set_is_empty(&crew->running)) pthread_cond_wait(&crew->is_done, &crew->lock);
    else break;
  }
  pthread_mutex_unlock(&crew->lock);
}

/* Puts the texts that the passes need into the pool, which may not change while one runs. */
static enum tfprof_status intern_texts(const struct request *request, struct tfprof_error *error) {
  const struct store *store = request->profile->store;
  for (unsigned number = 0; number < store->pass_count; number++) {
    const char *const *text = pass_set_has(&request->passes, number) ? store->passes[number]->texts : NULL;
    string_id id;
    for (; text && *text; text++) {
      if (pool_intern(store->pool, *text, strlen(*text), &id)) return error_no_memory(error);
    }
  }
  return TFPROF_OK;
}

/* Runs those of the passes side by side that can be, each as soon as it has what it reads. What then is left is for
** run_pass(), one by one. */
static enum tfprof_status run_side_by_side(struct request *request, struct tfprof_error *error) {
  struct crew crew = {.request = request,
                      .error = error,
                      .lock = PTHREAD_MUTEX_INITIALIZER,
                      .is_done = PTHREAD_COND_INITIALIZER};
  enum tfprof_status status = intern_texts(request, error);
  if (status) return status;
  size_t count = 0;
  for (unsigned number = 0; number < request->profile->store->pass_count; number++) count += is_to_run(request, number);
  parallel_for(count, work_in_crew, &crew);
  return crew.status;
}

/* Loads, all columns of a segment at once, for then they are decoded side by side: `columns` in all segments of the
** table, or in one, and what the passes read that will have to run for them. */
static enum tfprof_status load_needs(struct profile *profile, unsigned table, struct segment *segment,
                                     const struct column_set *columns, struct request *request,
                                     struct tfprof_error *error) {
  struct needs needs = {.profile = profile, .error = error};
  for (unsigned column = 2; column < schema_tables[table].column_count; column++) {
    if (!column_set_has(columns, column)) continue;
    if (raw_part(&profile->tables[table], column) == RAW_EVERYWHERE) continue;
    if (is_missing(&profile->tables[table], segment, column)) need_column(&needs, segment, table, column);
  }
  enum tfprof_status status = needs.status;
  for (unsigned other = 0; other < TABLE_count && !status; other++) {
    const struct profile_table *list = &profile->tables[other];
    for (size_t i = 0; !list->is_made && i < list->segment_count && !status; i++) {
      struct column_set wanted = needs.raw[other];
      if (other == table && (!segment || segment == list->segments[i])) {
        for (unsigned word = 0; word < 2; word++)
          wanted.words[word] |= columns->words[word] | needs.raw_here.words[word];
      }
      if (store_interrupted(profile->store)) return error_interrupted(error);
      if (other == table) store_progress(profile->store, "loading", (double)i / (double)list->segment_count);
      status = load_missing(list->segments[i], &wanted, error);
    }
  }
  /* Where all segments need a pass, the one that is asked for does not need it by itself. */
  *request = (struct request){profile, segment, needs.passes, needs.passes_here};
  for (unsigned word = 0; word < PASS_SET_WORDS; word++) {
    request->passes.words[word] |= needs.passes_here.words[word];
    request->here.words[word] &= ~needs.passes.words[word];
  }
  return status;
}

static enum tfprof_status ensure_columns(struct profile *profile, unsigned table, struct segment *segment,
                                         const struct column_set *columns, struct tfprof_error *error) {
  enum tfprof_status status = profile_ensure_table(profile, table, error);
  const struct profile_table *list = &profile->tables[table];
  if (status || list->segment_count == 0) return status;
  struct request request;
  status = load_needs(profile, table, segment, columns, &request, error);
  if (!status && !pass_set_is_empty(&request.passes)) status = run_side_by_side(&request, error);
  for (unsigned column = 2; column < schema_tables[table].column_count && !status; column++) {
    if (!column_set_has(columns, column) || raw_part(list, column) == RAW_EVERYWHERE) continue;
    if (is_missing(list, segment, column)) status = derive_column(profile, table, column, error);
  }
  return status;
}

enum tfprof_status profile_ensure_columns(struct profile *profile, unsigned table, struct segment *segment,
                                          const struct column_set *columns, struct tfprof_error *error) {
  scratch_keep();
  enum tfprof_status status = ensure_columns(profile, table, segment, columns, error);
  scratch_return();
  return status;
}

enum tfprof_status profile_require(struct profile *profile, unsigned table, const struct column_set *columns,
                                   struct tfprof_error *error) {
  return profile_ensure_columns(profile, table, NULL, columns, error);
}

enum tfprof_status profile_require_tables(struct profile *profile, const bool is_wanted[TABLE_count],
                                          struct tfprof_error *error) {
  struct needs needs = {.profile = profile, .error = error};
  for (unsigned table = 0; table < TABLE_count; table++) {
    if (!is_wanted[table]) continue;
    for (unsigned column = 2; column + 1u < schema_tables[table].column_count; column++) {
      need_column(&needs, NULL, table, column);
    }
  }
  scratch_keep();
  enum tfprof_status status = needs.status;
  for (unsigned table = 0; table < TABLE_count && !status; table++) {
    const struct profile_table *list = &profile->tables[table];
    for (size_t i = 0; i < list->segment_count && !list->is_made && !status; i++) {
      status = store_interrupted(profile->store) ? error_interrupted(error)
                                                 : load_missing(list->segments[i], &needs.raw[table], error);
    }
  }
  if (!status && !pass_set_is_empty(&needs.passes))
    status = run_side_by_side(&(struct request){.profile = profile, .passes = needs.passes}, error);
  for (unsigned table = 0; table < TABLE_count && !status; table++) {
    struct column_set columns = {{0, 0}};
    for (unsigned column = 2; column + 1u < schema_tables[table].column_count; column++)
      column_set_add(&columns, column);
    if (is_wanted[table]) status = profile_ensure_columns(profile, table, NULL, &columns, error);
  }
  scratch_return();
  return status;
}
