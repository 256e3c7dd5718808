/* flight_rows.c: entries of a dump become records (see flight_rows.h and, for what they mean, flight_dump.h). */
#include "read/flight/flight_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "write/json_text.h"

enum {
  BYTES_OF_ITEM = 4, /* of the file: entries and frames take several times as many, a number of a shape two */
  MAXIMUM_LIST_BYTES = 64 << 10, /* of shapes or types as JSON */
  SETTLED_NS = 500000000         /* what began less than that before is not known to be pending */
};

/* ---- shapes and types ---- */

static int64_t add_counts(int64_t a, int64_t b) {
  int64_t sum;
  return a == ROW_NULL || __builtin_add_overflow(a, b, &sum) ? ROW_NULL : sum;
}

static void append_text(void *user, const void *bytes, size_t length) { fwrite(bytes, 1, length, user); }

/* One shape as JSON; *elements: with the numbers that it has. False: it is none. */
static bool write_shape(FILE *out, const struct pickle_value *shape, int64_t *elements) {
  int64_t product = 1;
  if (shape->kind != PICKLE_LIST) return false;
  putc('[', out);
  for (uint64_t i = 0; i < shape->container->count && ftell(out) <= MAXIMUM_LIST_BYTES; i++) {
    const struct pickle_value *size = &shape->container->items[i];
    if (size->kind != PICKLE_INTEGER || size->integer < 0) return false;
    fprintf(out, "%s%lld", i ? "," : "", (long long)size->integer);
    if (product == ROW_NULL || __builtin_mul_overflow(product, size->integer, &product)) product = ROW_NULL;
  }
  putc(']', out);
  *elements = product == ROW_NULL ? ROW_NULL : add_counts(*elements, product);
  return true;
}

static bool write_type(FILE *out, const struct pickle_value *type, int64_t *elements) {
  (void)elements;
  if (type->kind != PICKLE_TEXT) return false;
  json_text_write(type->text, type->length, append_text, out);
  return true;
}

/* A list of shapes or types as JSON; NULL: it is none, or too long. */
static enum tfprof_status take_list(struct flight_rows *rows, const struct pickle_container *list,
                                    bool (*write)(FILE *, const struct pickle_value *, int64_t *), string_id *id,
                                    int64_t *elements) {
  char *text = NULL;
  size_t length = 0;
  bool is_good = true;
  *id = 0;
  if (!list) return TFPROF_OK;
  FILE *out = open_memstream(&text, &length);
  if (!out) return TFPROF_NO_MEMORY;
  putc('[', out);
  for (uint64_t i = 0; i < list->count && is_good && ftell(out) <= MAXIMUM_LIST_BYTES; i++) {
    if (i) putc(',', out);
    is_good = write(out, &list->items[i], elements);
  }
  putc(']', out);
  enum tfprof_status status = fclose(out) ? TFPROF_NO_MEMORY : pickle_rows_count(&rows->pickle, length / BYTES_OF_ITEM);
  bool is_long = length > MAXIMUM_LIST_BYTES;
  rows->long_count += is_good && is_long;
  rows->odd_count += !is_good;
  if (!is_good || is_long) *elements = ROW_NULL;
  if (!status && is_good && !is_long && !rows->pickle.is_too_much)
    status = pool_intern_mended(rows->pickle.pool, text, length, id, &rows->pickle.mended_count);
  free(text);
  return status;
}

static enum tfprof_status take_data(struct flight_rows *rows, const struct pickle_value *entry,
                                    struct flight_record *record) {
  const struct pickle_container *inputs = pickle_find_list(entry, "input_sizes");
  const struct pickle_container *outputs = pickle_find_list(entry, "output_sizes");
  int64_t none = 0;
  record->in_elements = inputs ? 0 : ROW_NULL;
  record->out_elements = outputs ? 0 : ROW_NULL;
  enum tfprof_status status = take_list(rows, inputs, write_shape, &record->input_shapes, &record->in_elements);
  if (!status) status = take_list(rows, outputs, write_shape, &record->output_shapes, &record->out_elements);
  if (!status)
    status = take_list(rows, pickle_find_list(entry, "input_dtypes"), write_type, &record->input_dtypes, &none);
  if (!status)
    status = take_list(rows, pickle_find_list(entry, "output_dtypes"), write_type, &record->output_dtypes, &none);
  return status;
}

/* ---- process groups ---- */

/* "[0, 1]", or a list, as JSON. */
static enum tfprof_status take_ranks(struct flight_rows *rows, const struct pickle_value *name,
                                     const struct pickle_value *group) {
  const struct pickle_value *ranks = pickle_find(group, "ranks");
  const struct pickle_container *list = pickle_find_list(group, "ranks");
  size_t length = list ? (size_t)list->count * 21 : ranks && ranks->kind == PICKLE_TEXT ? ranks->length : 0, end = 1;
  string_id name_id, id = 0;
  enum tfprof_status status = pickle_rows_text(&rows->pickle, name, &name_id);
  if (!status) status = pickle_rows_count(&rows->pickle, length / BYTES_OF_ITEM);
  if (status || rows->pickle.is_too_much || !length || !name_id) return status;
  char *text = malloc(length + 2);
  if (!text) return TFPROF_NO_MEMORY;
  bool is_good = list || (ranks->text[0] == '[' && ranks->text[length - 1] == ']');
  text[0] = '[';
  for (uint64_t i = 0; list && i < list->count && is_good; i++) {
    is_good = list->items[i].kind == PICKLE_INTEGER;
    if (is_good) end += (size_t)sprintf(text + end, "%s%lld", i ? "," : "", (long long)list->items[i].integer);
  }
  for (size_t i = 1; !list && i + 1 < length && is_good; i++) {
    is_good = strchr(", 0123456789", ranks->text[i]) && ranks->text[i];
    if (ranks->text[i] != ' ') text[end++] = ranks->text[i];
  }
  text[end++] = ']';
  uint32_t *number = is_good && end > 2 ? pickle_rows_number(&rows->rank_lists, name_id, 0, 0) : NULL;
  if (is_good && end > 2) status = number ? pool_intern(rows->pickle.pool, text, end, &id) : TFPROF_NO_MEMORY;
  if (number && !status) *number = id;
  bool is_world = number && pickle_is_text(pickle_find(group, "desc"), "default_pg");
  for (size_t i = 0; i < end && is_world; i++) rows->world_size += i == 0 || text[i] == ',';
  free(text);
  return status;
}

static enum tfprof_status take_groups(struct flight_rows *rows, const struct pickle_value *groups) {
  enum tfprof_status status = TFPROF_OK;
  const struct pickle_container *entries = groups && groups->kind == PICKLE_DICT ? groups->container : NULL;
  for (uint64_t i = 0; entries && i + 1 < entries->count && !status && !rows->pickle.is_too_much; i += 2) {
    status = pickle_rows_count(&rows->pickle, 1);
    if (!status) status = take_ranks(rows, &entries->items[i], &entries->items[i + 1]);
  }
  return status;
}

/* Of each group the first record that is pending, else the last. */
static enum tfprof_status note_progress(struct flight_rows *rows, size_t place, int64_t group_number) {
  const struct flight_record *record = &rows->records.items[place];
  uint32_t *number = pickle_rows_number(&rows->group_index, record->group, group_number, record->is_point_to_point);
  if (!number) return TFPROF_NO_MEMORY;
  if (!*number) {
    struct flight_group *made = list_add(&rows->groups);
    if (!made) return TFPROF_NO_MEMORY;
    *made = (struct flight_group){place, record->number};
    *number = (uint32_t)rows->groups.count;
  }
  struct flight_group *group = &rows->groups.items[*number - 1];
  const struct flight_record *known = &rows->records.items[group->record];
  bool is_first_pending = record->is_pending && (!known->is_pending || record->number < known->number);
  bool is_last = !known->is_pending && record->number >= known->number;
  if (is_first_pending || is_last) group->record = place;
  if (record->number > group->last_number) group->last_number = record->number;
  return TFPROF_OK;
}

/* ---- entries ---- */

/* Since 1970; ROW_NULL: it has none, which JSON writes as 0. */
static int64_t time_in(struct flight_rows *rows, const struct pickle_value *entry, const char *key) {
  int64_t time = pickle_find_integer(entry, key, 0);
  if (time <= 0 || time > INT64_MAX / 2) return ROW_NULL;
  if (time < rows->first_ns) rows->first_ns = time;
  if (time > rows->last_ns) rows->last_ns = time;
  return time;
}

static int64_t duration_of(const struct pickle_value *entry, const char *key) {
  const struct pickle_value *found = pickle_find(entry, key);
  double milliseconds = !found ? -1 : found->kind == PICKLE_REAL ? found->real
                                    : found->kind == PICKLE_INTEGER ? (double)found->integer : -1;
  return milliseconds >= 0 && milliseconds < 1e12 ? (int64_t)(milliseconds * 1e6) : ROW_NULL;
}

static int64_t truth_of(const struct pickle_value *entry, const char *key) {
  const struct pickle_value *found = pickle_find(entry, key);
  return found && found->kind == PICKLE_BOOL && found->integer;
}

static int64_t number_from(const struct pickle_value *entry, const char *key) {
  int64_t number = pickle_find_integer(entry, key, ROW_NULL);
  return number < 0 ? ROW_NULL : number;
}

/* What has only just begun may be over, and its entry not know it yet. */
static bool is_pending(const struct flight_rows *rows, const struct pickle_value *entry, int64_t created_ns) {
  bool is_later = created_ns != ROW_NULL && rows->written_ns >= created_ns;
  bool is_fresh = is_later && rows->written_ns - created_ns < SETTLED_NS;
  return !is_fresh && !truth_of(entry, "retired") && !pickle_is_text(pickle_find(entry, "state"), "completed");
}

static enum tfprof_status take_thread(struct flight_rows *rows, const struct pickle_value *entry, size_t place) {
  struct flight_record *record = &rows->records.items[place];
  const struct pickle_value *name = pickle_find(entry, "thread_name"), *id = pickle_find(entry, "thread_id");
  string_id name_id, id_id;
  enum tfprof_status status = pickle_rows_text(&rows->pickle, name, &name_id);
  if (!status) status = pickle_rows_text(&rows->pickle, id, &id_id);
  if (status || (!name_id && !id_id && !record->is_pending)) return status;
  uint32_t *number = pickle_rows_number(&rows->thread_index, name_id, id_id, 0);
  if (!number) return TFPROF_NO_MEMORY;
  if (!*number) {
    struct flight_thread *made = list_add(&rows->threads);
    if (!made) return TFPROF_NO_MEMORY;
    made->name = name_id;
    *number = (uint32_t)rows->threads.count;
  }
  record->thread = *number - 1;
  struct flight_thread *thread = &rows->threads.items[record->thread];
  if (record->is_pending && !thread->pending) thread->pending = place + 1;
  return TFPROF_OK;
}

/* Name and description; before version 2.2 the name alone, or none. */
static enum tfprof_status take_names(struct flight_rows *rows, const struct pickle_value *entry,
                                     struct flight_record *record) {
  const struct pickle_container *names = pickle_find_list(entry, "process_group");
  const struct pickle_value *name = names && names->count ? &names->items[0] : pickle_find(entry, "process_group");
  enum tfprof_status status = pickle_rows_text(&rows->pickle, name, &record->group);
  if (!status && names && names->count > 1)
    status = pickle_rows_text(&rows->pickle, &names->items[1], &record->description);
  if (!status) status = pickle_rows_text(&rows->pickle, pickle_find(entry, "profiling_name"), &record->name);
  if (!status) status = pickle_rows_text(&rows->pickle, pickle_find(entry, "state"), &record->state);
  uint32_t ranks = record->group ? row_map_find(&rows->rank_lists, (struct row_key){{record->group, 0, 0}})
                                 : ROW_MAP_NONE;
  if (ranks != ROW_MAP_NONE) record->ranks = rows->rank_lists.values[ranks];
  return status;
}

/* Before version 2.2 there was one number, seq_id, of all. */
static int64_t sequence_number(const struct pickle_value *entry, bool is_point_to_point) {
  int64_t number = number_from(entry, is_point_to_point ? "p2p_seq_id" : "collective_seq_id");
  return number == ROW_NULL ? number_from(entry, "seq_id") : number;
}

static enum tfprof_status take_entry(struct flight_rows *rows, const struct pickle_value *entry) {
  if (entry->kind != PICKLE_DICT || !pickle_find(entry, "profiling_name")) {
    rows->odd_count++;
    return TFPROF_OK;
  }
  struct flight_record *record = list_add(&rows->records);
  if (!record) return TFPROF_NO_MEMORY;
  size_t place = rows->records.count - 1;
  record->is_point_to_point = truth_of(entry, "is_p2p");
  record->record_number = number_from(entry, "record_id");
  record->number = sequence_number(entry, record->is_point_to_point);
  record->op_number = number_from(entry, "op_id");
  record->created_ns = time_in(rows, entry, "time_created_ns");
  record->started_ns = time_in(rows, entry, "time_discovered_started_ns");
  record->completed_ns = time_in(rows, entry, "time_discovered_completed_ns");
  record->device_ns = duration_of(entry, "duration_ms");
  record->timeout_ns = duration_of(entry, "timeout_ms");
  record->is_pending = is_pending(rows, entry, record->created_ns);
  record->thread = ROW_NULL;
  enum tfprof_status status = take_names(rows, entry, record);
  if (!status) status = take_data(rows, entry, record);
  if (!status) status = pickle_rows_stack(&rows->pickle, entry, &record->trace);
  if (!status) status = take_thread(rows, entry, place);
  if (!status) status = note_progress(rows, place, number_from(entry, "pg_id"));
  const struct flight_record *longest = rows->pending ? &rows->records.items[rows->pending - 1] : NULL;
  if (record->is_pending && (!longest || record->created_ns < longest->created_ns)) rows->pending = place + 1;
  return status;
}

enum tfprof_status flight_collect(struct flight_rows *rows, struct store *store, const struct pickle_value *root,
                                  uint64_t file_bytes, int64_t written_ns, struct tfprof_error *error) {
  const struct pickle_container *entries = pickle_find_list(root, "entries");
  *rows = (struct flight_rows){.pickle = pickle_rows_begin(store, file_bytes, BYTES_OF_ITEM),
                               .written_ns = written_ns,
                               .first_ns = INT64_MAX,
                               .last_ns = INT64_MIN};
  enum tfprof_status status = take_groups(rows, pickle_find(root, "pg_config"));
  PICKLE_ROWS_EACH(&rows->pickle, entries, i, status, take_entry(rows, &entries->items[i]))
  return pickle_rows_failed(status, "the dump", error);
}

void flight_rows_free(struct flight_rows *rows) {
  list_free(&rows->records);
  list_free(&rows->groups);
  list_free(&rows->threads);
  pickle_rows_free(&rows->pickle);
  row_map_free(&rows->group_index);
  row_map_free(&rows->thread_index);
  row_map_free(&rows->rank_lists);
}

/* ---- the tables ---- */

static void publish_records(const struct flight_rows *rows, struct profile *profile, enum tfprof_status *status,
                            struct tfprof_error *error) {
  struct eager_rows made;
  eager_rows_begin(&made, profile, TABLE_flight_records, rows->records.count, status, error);
  eager_rows_set_members(&made, COLUMN_flight_records_record_number, rows->records, record_number);
  eager_rows_set_members(&made, COLUMN_flight_records_process_group, rows->records, group);
  eager_rows_set_members(&made, COLUMN_flight_records_description, rows->records, description);
  eager_rows_set_members(&made, COLUMN_flight_records_group_ranks, rows->records, ranks);
  eager_rows_set_members(&made, COLUMN_flight_records_name, rows->records, name);
  eager_rows_set_members(&made, COLUMN_flight_records_number, rows->records, number);
  eager_rows_set_members(&made, COLUMN_flight_records_op_number, rows->records, op_number);
  eager_rows_set_members(&made, COLUMN_flight_records_is_point_to_point, rows->records, is_point_to_point);
  eager_rows_set_members(&made, COLUMN_flight_records_input_shapes, rows->records, input_shapes);
  eager_rows_set_members(&made, COLUMN_flight_records_output_shapes, rows->records, output_shapes);
  eager_rows_set_members(&made, COLUMN_flight_records_input_dtypes, rows->records, input_dtypes);
  eager_rows_set_members(&made, COLUMN_flight_records_output_dtypes, rows->records, output_dtypes);
  eager_rows_set_members(&made, COLUMN_flight_records_in_elements, rows->records, in_elements);
  eager_rows_set_members(&made, COLUMN_flight_records_out_elements, rows->records, out_elements);
  eager_rows_set_members(&made, COLUMN_flight_records_created_ns, rows->records, created_ns);
  eager_rows_set_members(&made, COLUMN_flight_records_started_ns, rows->records, started_ns);
  eager_rows_set_members(&made, COLUMN_flight_records_completed_ns, rows->records, completed_ns);
  eager_rows_set_members(&made, COLUMN_flight_records_device_ns, rows->records, device_ns);
  eager_rows_set_members(&made, COLUMN_flight_records_timeout_ns, rows->records, timeout_ns);
  eager_rows_set_members(&made, COLUMN_flight_records_state, rows->records, state);
  eager_rows_set_members(&made, COLUMN_flight_records_is_pending, rows->records, is_pending);
  eager_rows_set_members(&made, COLUMN_flight_records_thread_id, rows->records, thread);
  eager_rows_set_members(&made, COLUMN_flight_records_code_trace_id, rows->records, trace);
  eager_rows_end(&made);
}

/* Of each thread with pending records the first of those. */
static void publish_hang_threads(const struct flight_rows *rows, struct profile *profile, enum tfprof_status *status,
                                 struct tfprof_error *error) {
  struct eager_rows made;
  LIST(size_t) waiting = {NULL, 0, 0};
  string_id text = 0;
  for (size_t i = 0; i < rows->threads.count && !*status; i++) {
    if (!rows->threads.items[i].pending) continue;
    size_t *place = list_add(&waiting);
    if (!place) *status = error_no_memory(error);
    else *place = rows->threads.items[i].pending - 1;
  }
  if (!*status) *status = pool_intern(rows->pickle.pool, "collective", strlen("collective"), &text);
  eager_rows_begin(&made, profile, TABLE_hang_threads, waiting.count, status, error);
  eager_rows_set_constant(&made, COLUMN_hang_threads_hang_id, 0);
  eager_rows_set_constant(&made, COLUMN_hang_threads_waits_for, text);
  eager_rows_set_constant(&made, COLUMN_hang_threads_time_ns, rows->last_ns);
  eager_rows_set_constant(&made, COLUMN_hang_threads_is_changing, 0);
  for (uint32_t i = 0; i < made.count; i++) made.values[i] = rows->records.items[waiting.items[i]].thread;
  eager_rows_set(&made, COLUMN_hang_threads_thread_id);
  for (uint32_t i = 0; i < made.count; i++) made.values[i] = rows->records.items[waiting.items[i]].trace;
  eager_rows_set(&made, COLUMN_hang_threads_code_trace_id);
  eager_rows_end(&made);
  list_free(&waiting);
}

static void publish_hang(const struct flight_rows *rows, struct profile *profile, enum tfprof_status *status,
                         struct tfprof_error *error) {
  struct eager_rows made;
  const struct flight_record *pending = rows->pending ? &rows->records.items[rows->pending - 1] : NULL;
  eager_rows_begin(&made, profile, TABLE_hangs, pending != NULL, status, error);
  if (pending) {
    eager_rows_set_constant(&made, COLUMN_hangs_start_ns, pending->created_ns);
    eager_rows_set_constant(&made, COLUMN_hangs_noticed_ns, rows->last_ns);
    eager_rows_set_constant(&made, COLUMN_hangs_thread_id, pending->thread);
    eager_rows_set_constant(&made, COLUMN_hangs_is_working, 0);
  }
  eager_rows_end(&made);
}

#define SET_GROUPS(column, member)                                                                           \
  do {                                                                                                       \
    for (uint32_t i = 0; i < made.count; i++)                                                                \
      made.values[i] = (int64_t)rows->records.items[rows->groups.items[i].record].member;                    \
    eager_rows_set(&made, COLUMN_hang_collectives_##column);                                                 \
  } while (0)

static void publish_groups(const struct flight_rows *rows, struct profile *profile, enum tfprof_status *status,
                           struct tfprof_error *error) {
  struct eager_rows made;
  eager_rows_begin(&made, profile, TABLE_hang_collectives, rows->groups.count, status, error);
  eager_rows_set_constant(&made, COLUMN_hang_collectives_hang_id, rows->pending ? 0 : ROW_NULL);
  SET_GROUPS(process_group, group);
  SET_GROUPS(description, description);
  SET_GROUPS(name, name);
  SET_GROUPS(number, number);
  SET_GROUPS(start_ns, created_ns);
  SET_GROUPS(is_pending, is_pending);
  SET_GROUPS(is_point_to_point, is_point_to_point);
  eager_rows_set_members(&made, COLUMN_hang_collectives_last_number, rows->groups, last_number);
  eager_rows_end(&made);
}

enum tfprof_status flight_publish(const struct flight_rows *rows, struct profile *profile, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  struct eager_rows made;
  string_id host = 0;

  if (pool_intern(rows->pickle.pool, "host", strlen("host"), &host)) return error_no_memory(error);
  eager_rows_begin(&made, profile, TABLE_threads, rows->threads.count, &status, error);
  eager_rows_set_constant(&made, COLUMN_threads_kind, host);
  eager_rows_set_members(&made, COLUMN_threads_name, rows->threads, name);
  eager_rows_end(&made);

  pickle_rows_publish(&rows->pickle, profile, &status, error);
  publish_records(rows, profile, &status, error);
  publish_hang(rows, profile, &status, error);
  publish_hang_threads(rows, profile, &status, error);
  publish_groups(rows, profile, &status, error);
  return status;
}
