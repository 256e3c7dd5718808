/* sessions.c: see sessions.h.
**
** All runs of one step are one step of the guest, as the recorder counted them, so that what a node costs in a step is
** one row.  To which step of the dump that belongs its time tells.  RunMetadata has times of the wall clock; the dump
** knows how far that was ahead of its own as each run ended, and runs between which the wall clock was set are guests
** of their own.
**
** A program has a graph or several, in which nodes of one name mostly are the same: the same variables, trained and
** evaluated.  So nodes are one by their names, as TensorFlow's profiler has them, and what later guests tell of nodes
** that are there, such as their inputs, is not taken again.
*/
#include "classic/read/sessions.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "classic/read/tensorflow.h"

enum { MAXIMUM_RUNS = 1 << 20, MAXIMUM_GUESTS = 256, CLOCK_SLACK_NS = 1000000 };
#define NOT_KNOWN GUEST_NOT_KNOWN

/* A row of session_records. */
enum fact { FACT_FILE, FACT_KIND, FACT_GRAPH, FACT_START, FACT_STEP, FACT_PLACE, FACT_BYTES, FACT_REALTIME, FACTS };
static const uint16_t fact_columns[FACTS] = {
    COLUMN_session_records_file,        COLUMN_session_records_kind,  COLUMN_session_records_graph,
    COLUMN_session_records_start_ns,    COLUMN_session_records_step_group, COLUMN_session_records_byte_offset,
    COLUMN_session_records_bytes,       COLUMN_session_records_start_realtime_ns};

enum kind { KIND_RUN, KIND_GRAPH, KIND_OP_LOG, KINDS };
static const char *const kind_names[KINDS] = {"run", "graph", "op_log"};

struct record {
  enum kind kind;
  const char *name; /* of its file */
  int64_t graph, step;
  int64_t offset_ns; /* from the wall clock to the dump's; 0 of those that are no runs */
  struct tensorflow_part part;
};

struct records {
  LIST(struct record) items;
};

/* ---- what the dump says ---- */

static const char *fact_text(const struct profile *profile, int64_t value) {
  const struct dump_source *source = profile->source_data;
  bool is_known = value > 0 && value < source->string_count;
  return is_known ? pool_text(store_pool(profile->store), source->strings[value]) : NULL;
}

/* false: it names no bytes, which the recorder has told why, or is damaged. */
static bool read_record(const struct profile *profile, const int64_t *facts, struct record *record) {
  const char *kind = fact_text(profile, facts[FACT_KIND]);
  *record = (struct record){.kind = KINDS, .name = fact_text(profile, facts[FACT_FILE]), .graph = facts[FACT_GRAPH]};
  for (unsigned i = 0; i < KINDS && kind; i++)
    if (!strcmp(kind, kind_names[i])) record->kind = (enum kind)i;
  bool has_bytes = record->name && facts[FACT_PLACE] >= 0 && facts[FACT_BYTES] > 0;
  if (record->kind == KINDS || !has_bytes) return false;
  record->part = (struct tensorflow_part){(uint64_t)facts[FACT_PLACE], (uint64_t)facts[FACT_BYTES]};
  if (record->kind != KIND_RUN) return true;
  record->step = facts[FACT_STEP] < 0 ? 0 : facts[FACT_STEP];
  return is_dump_time(facts[FACT_START]) && is_dump_time(facts[FACT_REALTIME]) &&
         !__builtin_sub_overflow(facts[FACT_START], facts[FACT_REALTIME], &record->offset_ns);
}

static enum tfprof_status read_records(struct profile *profile, size_t first, size_t end, struct records *records,
                                       struct tfprof_error *error) {
  const struct dump_source *source = profile->source_data;
  enum tfprof_status status = TFPROF_OK;
  for (size_t i = first; i < end && !status; i++) {
    const struct dump_frame *frame = &source->file->frames[i];
    int64_t *facts = NULL;
    if (frame->table_dump_id != schema_tables[TABLE_session_records].dump_id) continue;
    status = dump_load_strings(profile, error);
    if (!status) status = dump_guest_facts(source, frame, TABLE_session_records, fact_columns, FACTS, &facts, error);
    for (uint32_t row = 0; row < frame->rows && !status; row++) {
      struct record record;
      if (!read_record(profile, &facts[(size_t)row * FACTS], &record)) continue;
      struct record *item = list_add(&records->items);
      if (item) *item = record;
      else status = error_no_memory(error);
    }
    free(facts);
  }
  return status;
}

/* ---- rows that may come again ---- */

/* One column of a table that is one segment; NULL: it has none. */
static const struct column *guest_column(const struct dump_guest *guest, unsigned table, unsigned column) {
  const struct profile_table *content = &guest->profile->tables[table];
  return content->segment_count ? content->segments[0]->columns[column] : NULL;
}

static uint64_t hash_cell(const struct dump_guest *guest, const struct column *column, bool is_text, uint32_t row,
                          uint64_t hash) {
  if (!column || column_is_null(column, row)) return hash_fnv1a(hash, "", 1);
  int64_t value = column_integer(column, row);
  if (!is_text) return hash_fnv1a_value(hash, (uint64_t)value);
  const struct pool *pool = store_pool(guest->profile->store);
  return hash_fnv1a(hash, pool_text(pool, (string_id)value), pool_length(pool, (string_id)value) + 1u);
}

/* Rows are the same where these columns are. */
struct identity {
  unsigned table;
  enum guest_key key;
  uint16_t columns[4]; /* up to 0, which is none of them */
};
static const struct identity identities[] = {
    {TABLE_devices, KEY_DEVICE, {COLUMN_devices_name}},
    {TABLE_threads, KEY_LANE, {COLUMN_threads_name, COLUMN_threads_tid}},
    {TABLE_nodes, KEY_NODE, {COLUMN_nodes_name}},
    {TABLE_code_frames, KEY_FRAME,
     {COLUMN_code_frames_file, COLUMN_code_frames_line, COLUMN_code_frames_function, COLUMN_code_frames_text}},
};

static enum tfprof_status know_rows(struct dump_source *source, struct dump_guest *guest,
                                    const struct identity *identity, struct tfprof_error *error) {
  uint64_t count = profile_raw_rows(guest->profile, identity->table);
  struct row_key *keys = malloc((count + 1) * sizeof *keys);
  enum tfprof_status status = keys ? TFPROF_OK : error_no_memory(error);
  struct column_set wanted = {{0, 0}};
  for (unsigned i = 0; i < 4 && identity->columns[i]; i++) column_set_add(&wanted, identity->columns[i]);
  if (!status) status = profile_require(guest->profile, identity->table, &wanted, error);
  for (uint64_t row = 0; row < count && !status; row++) {
    uint64_t hash = HASH_FNV1A_START;
    for (unsigned i = 0; i < 4 && identity->columns[i]; i++) {
      enum column_type type = schema_tables[identity->table].columns[identity->columns[i]].type;
      hash = hash_cell(guest, guest_column(guest, identity->table, identity->columns[i]), type == TYPE_TEXT,
                       (uint32_t)row, hash);
    }
    keys[row] = (struct row_key){{identity->key, hash, 0}};
  }
  if (!status) status = dump_guest_know(source, guest, identity->table, keys, error);
  free(keys);
  return status;
}

/* A stack is known by its innermost frame and the stack around it, which comes before it. */
static enum tfprof_status know_traces(struct dump_source *source, struct dump_guest *guest,
                                      struct tfprof_error *error) {
  const unsigned table = TABLE_code_traces;
  uint64_t count = profile_raw_rows(guest->profile, table);
  struct row_key *keys = malloc((count + 1) * sizeof *keys);
  uint64_t *hashes = malloc((count + 1) * sizeof *hashes);
  struct column_set wanted = {{0, 0}};
  column_set_add(&wanted, COLUMN_code_traces_parent_id);
  column_set_add(&wanted, COLUMN_code_traces_leaf_frame_id);
  enum tfprof_status status =
      keys && hashes ? profile_require(guest->profile, table, &wanted, error) : error_no_memory(error);
  const struct column *parents = guest_column(guest, table, COLUMN_code_traces_parent_id),
                      *leaves = guest_column(guest, table, COLUMN_code_traces_leaf_frame_id);
  const uint64_t frames = profile_raw_rows(guest->profile, TABLE_code_frames);
  for (uint32_t row = 0; row < count && !status; row++) {
    bool has_parent = parents && !column_is_null(parents, row) && (uint64_t)column_integer(parents, row) < row;
    bool has_leaf = leaves && !column_is_null(leaves, row) && (uint64_t)column_integer(leaves, row) < frames;
    uint64_t around = has_parent ? hashes[column_integer(parents, row)] : 0;
    uint64_t frame = has_leaf ? guest->taken[TABLE_code_frames]->rows[column_integer(leaves, row)] : UINT64_MAX;
    keys[row] = (struct row_key){{KEY_TRACE, around, frame}};
    hashes[row] = hash_fnv1a_value(hash_fnv1a_value(HASH_FNV1A_START, around), frame);
  }
  if (!status) status = dump_guest_know(source, guest, table, keys, error);
  free(keys);
  free(hashes);
  return status;
}

static enum tfprof_status number_rows(struct profile *profile, struct dump_guest *guest, struct tfprof_error *error) {
  struct dump_source *source = profile->source_data;
  enum tfprof_status status = dump_guest_place(profile, guest, error);
  for (size_t i = 0; i < sizeof identities / sizeof *identities && !status; i++)
    status = know_rows(source, guest, &identities[i], error);
  if (!status) status = know_traces(source, guest, error);
  if (!status) status = dump_guest_follow(source, guest, TABLE_node_inputs, COLUMN_node_inputs_node_id, error);
  if (!status) status = dump_guest_follow(source, guest, TABLE_node_types, COLUMN_node_types_node_id, error);
  if (!status) dump_guest_number(source, guest);
  return status;
}

/* ---- opening ---- */

/* The last record of that kind and graph, of all that the dump has so far; NULL: there is none. */
static const struct record *find_last(const struct records *records, enum kind kind, int64_t graph) {
  for (size_t i = records->items.count; i-- > 0;) {
    const struct record *record = &records->items.items[i];
    if (record->kind == kind && record->graph == graph) return record;
  }
  return NULL;
}

static enum tfprof_status open_guest(struct profile *profile, const struct records *all,
                                     const struct record *const *runs, size_t count, struct dump_guest *guest,
                                     struct tfprof_error *error) {
  struct dump_source *source = profile->source_data;
  struct tensorflow_files files = {.run_meta = calloc(count + 1, sizeof *files.run_meta), .may_lack_files = true};
  const struct record *graph = find_last(all, KIND_GRAPH, runs[0]->graph),
                      *op_log = find_last(all, KIND_OP_LOG, runs[0]->graph);
  char *path = dump_guest_path(profile, runs[0]->name);
  uint32_t run;
  enum tfprof_status status = files.run_meta ? TFPROF_OK : error_no_memory(error);
  if (!status && !path) status = error_set(error, TFPROF_CORRUPT, "%s is no name of a file beside the recording",
                                           runs[0]->name);
  for (size_t i = 0; i < count && !status; i++)
    files.run_meta[files.run_meta_count++] = (struct tensorflow_run_meta){path, runs[i]->step, runs[i]->part};
  if (graph) files.graph = path, files.graph_part = graph->part;
  if (op_log) files.op_log = path, files.op_log_part = op_log->part;
  if (!status) status = dump_guest_add_run(profile, path, &run, error);
  if (!status) {
    status = tensorflow_open(source->guests->store, run, &files, error);
    guest->profile = dump_guest_opened(source, run, status);
  }
  free(files.run_meta);
  free(path);
  if (status) return status;
  guest->offset_ns = runs[0]->offset_ns;
  return profile_list_all(guest->profile, error);
}

static enum tfprof_status take_guest(struct profile *profile, const struct records *all,
                                     const struct record *const *runs, size_t count, size_t frames,
                                     struct tfprof_error *error) {
  struct dump_source *source = profile->source_data;
  struct dump_guest guest = {.frames = frames, .lender = GUEST_NONE};
  struct tfprof_error reason = {0};
  enum tfprof_status status = open_guest(profile, all, runs, count, &guest, &reason);
  bool is_over = status == TFPROF_NO_MEMORY || status == TFPROF_INTERRUPTED;
  if (status && !is_over) {
    profile_diagnose(profile, "warning", "session_records", (int64_t)count, -1, -1,
                     "runs of sessions have no ops here: %s: %s", runs[0]->name, reason.message);
    return TFPROF_OK;
  }
  if (!status) dump_guest_diagnose(profile, &guest, runs[0]->name);
  if (!status) status = number_rows(profile, &guest, &reason);
  status = dump_guest_keep(source, &guest, status, &reason);
  if (status && error) *error = reason;
  return status;
}

static int by_graph(const void *left, const void *right) {
  const struct record *a = *(const struct record *const *)left, *b = *(const struct record *const *)right;
  if (a->graph != b->graph) return a->graph < b->graph ? -1 : 1;
  return a < b ? -1 : a > b; /* as they came */
}

static bool belong_together(const struct record *a, const struct record *b) {
  int64_t ahead = a->offset_ns - b->offset_ns;
  return a->graph == b->graph && ahead >= -CLOCK_SLACK_NS && ahead <= CLOCK_SLACK_NS && !strcmp(a->name, b->name);
}

static enum tfprof_status take_guests(struct profile *profile, const struct records *all,
                                      const struct records *records, size_t frames, struct tfprof_error *error) {
  const struct record **runs = calloc(records->items.count + 1, sizeof *runs);
  size_t count = 0, guests = 0;
  enum tfprof_status status = runs ? TFPROF_OK : error_no_memory(error);
  for (size_t i = 0; i < records->items.count && count < MAXIMUM_RUNS && !status; i++)
    if (records->items.items[i].kind == KIND_RUN) runs[count++] = &records->items.items[i];
  if (!status) qsort(runs, count, sizeof *runs, by_graph);
  for (size_t first = 0, end; first < count && !status; first = end) {
    for (end = first + 1; end < count && belong_together(runs[first], runs[end]);) end++;
    if (store_interrupted(profile->store)) status = error_set(error, TFPROF_INTERRUPTED, "interrupted");
    if (!status && ++guests > MAXIMUM_GUESTS) break;
    if (!status) status = take_guest(profile, all, runs + first, end - first, frames, error);
  }
  if (!status && guests > MAXIMUM_GUESTS)
    profile_diagnose_once(profile, "warning", "session_records",
                          "of more than %d graphs, or settings of the clock, the runs of the others are left out",
                          MAXIMUM_GUESTS);
  free(runs);
  return status;
}

static enum tfprof_status take_sessions(struct profile *profile, size_t first, size_t end,
                                        struct tfprof_error *error) {
  struct dump_source *source = profile->source_data;
  struct records records = {0}, all = {0};
  struct tfprof_error reason = {0};
  if (!source->numbers[TABLE_session_records].rows) return TFPROF_OK;
  enum tfprof_status status = read_records(profile, first, end, &records, &reason);
  if (!status && records.items.count && !dump_guests_begin(source)) status = error_no_memory(&reason);
  if (!status && records.items.count) status = read_records(profile, 0, end, &all, &reason);
  if (!status) status = take_guests(profile, &all, &records, end, &reason);
  list_free(&records.items);
  list_free(&all.items);
  if (dump_is_lost(status)) {
    profile_tell_file(profile, &reason);
    return TFPROF_OK;
  }
  if (status && error) *error = reason;
  return status;
}

const struct dump_guest_part classic_guests = {.table = TABLE_session_records, .take = take_sessions};
