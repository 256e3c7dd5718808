/* trace.h: a trace that is being put together from the chunks that workers have parsed.
**
** Chunks are published one after the other in the order of the file, whichever worker parsed them: numbers of strings,
** lanes, devices and rows therefore do not depend on the number of threads.  After publishing, a worker packs its rows
** into columns by itself.  When all chunks are in, trace_finish() builds what needs the whole trace and hands
** everything to the store.
*/
#ifndef TFPROF_JSON_TRACE_H
#define TFPROF_JSON_TRACE_H

#include "read/file/source.h"
#include "read/json/worker.h"
#include "store/store.h"

struct chunk_table { /* the rows of one table that one chunk gave */
  uint32_t rows;
  uint64_t first_row;
  struct column **columns; /* by slot of rows.def, from the table's first */
  struct column *end;      /* end_ns, where the table has a span */
  uint32_t *offsets;       /* of the events in the chunk */
};

struct chunk {
  uint64_t offset;   /* in the decompressed bytes */
  uint64_t length;
  bool is_utf8; /* all of it */
  struct chunk_table tables[ROWS_COUNT];
};

struct frame_key_text { string_id file, function; int64_t line; };

struct lane_info {
  string_id pid_text, tid_text;
  string_id facts[LANE_FACTS]; /* of metadata events; 0: none */
  int64_t context;
};

struct device_info { /* of deviceProperties */
  string_id model;
  int64_t memory_bytes, major, minor, multiprocessors, clock_hz, bandwidth;
};

/* What queues_link() finds. */
struct queue_row {
  uint64_t row;   /* of api_calls */
  int64_t number; /* its correlation; ROW_NULL: none */
  int64_t lane;   /* ROW_NULL: as it is */
};
struct queue_links {
  LIST(struct queue_row) rows;  /* ascending */
  struct row_map connections;   /* numbers of launches that are another one's */
  LIST(int64_t) numbers;        /* by number of the connection: what it becomes */
};

struct trace {
  struct store *store;
  struct pool *pool;
  struct source *source;
  const char *path;
  const struct trace_part *part; /* the process that is read; NULL: all of the file */
  struct tfprof_error *error;
  enum tfprof_status status;     /* first failure */
  LIST(struct chunk *) chunks;
  uint64_t rows[ROWS_COUNT];
  struct row_map lanes, devices, frames, stacks;
  LIST(struct lane_info) lane_infos;       /* by lane */
  LIST(struct device_info) device_infos;   /* by device */
  uint32_t *device_rows;                   /* by device: its row; NULL: all have their own */
  LIST(struct frame_key_text) frame_texts; /* by frame */
  LIST(uint64_t) stack_hashes;             /* by stack */
  LIST(struct lane_name) lane_names;       /* as in worker, numbers of the trace */
  LIST(struct half_event) halves;
  LIST(struct collective) collectives;
  LIST(struct python_frame) python_frames;
  LIST(struct queue_call) queue_calls;
  struct queue_links queue_links;
  LIST(struct member) members;
  struct problem_tally problems[PROBLEM_COUNT];
  uint64_t event_count, tensorflow_count;
  struct xspace_processes processes;
  uint64_t xspace_counts[XSPACE_FRAMEWORKS]; /* as in worker */
  bool is_other_than_utf8;    /* some chunk holds bytes that are not UTF-8 */
  bool numbers_repeat;        /* calls or ops have numbers of others */
  bool has_repeats;           /* calls or ops have numbers of others, and nothing tells whose is whose */
  bool is_kineto, has_events; /* has_events: there was an array of events, perhaps empty */
  string_id literals[LITERAL_COUNT];
  /* from the top-level object */
  int64_t base_ns, rank, world_size;
  string_id host, version;
  string_id process_name; /* where pids are no processes but layers of a picture, as Ascend's profiler has them; or 0 */
  string_id framework, origin; /* of the profile that tfprof_timeline() wrote */
  char *scratch;
  size_t scratch_size;
};

/* A time of the file as it is stored, ROW_NULL where baseTimeNanoseconds moves it beyond all times. */
static inline int64_t trace_time(const struct trace *trace, int64_t ns) {
  if (ns == ROW_NULL) return ROW_NULL;
  assert(llabs(ns) <= STORE_TIME_LIMIT && llabs(trace->base_ns) <= STORE_TIME_LIMIT);
  int64_t moved = ns + trace->base_ns;
  return moved > STORE_TIME_LIMIT ? ROW_NULL : moved;
}

/* The duration of what begins at a stored time, ROW_NULL where its end lies beyond all times. */
static inline int64_t trace_duration(int64_t start, int64_t duration) {
  bool is_beyond = start != ROW_NULL && duration != ROW_NULL && start + duration > STORE_TIME_LIMIT;
  return is_beyond ? ROW_NULL : duration;
}

bool trace_init(struct trace *trace, struct store *store, const char *path, struct tfprof_error *error);
void trace_free(struct trace *trace);
/* Keeps the first failure. */
void trace_fail(struct trace *trace, enum tfprof_status status);

/* ---- publish.c: by one thread at a time, in file order ---- */

/* Translates what the worker found and reserves row numbers. NULL: failed, see trace->status. */
struct chunk *publish_chunk(struct trace *trace, struct worker *worker, uint64_t length);
/* Packs the worker's rows into the chunk's columns. Values are the worker's numbers, or the trace's. May run beside
** everything else. */
enum tfprof_status pack_chunk(const struct worker *worker, struct chunk *chunk, bool is_translated);
/* Of each table its first place among the columns of a chunk, and behind the last one their number. */
extern const uint16_t row_first_slots[ROWS_COUNT + 1];
/* What the numbers of each slot are. */
enum value_kind { KIND_INTEGER, KIND_TIME, KIND_REAL, KIND_TEXT, KIND_LANE, KIND_DEVICE, KIND_STACK };
extern const uint8_t row_slot_kinds[ROW_SLOTS];

/* ---- stacks.c ---- */

/* The row of code_traces + 1 for "file(line): function;..." with the innermost frame first; 0: none or no memory. */
uint32_t stack_intern(struct trace *trace, const char *text, size_t length);
/* The trace of one more frame on top of parent (row + 1, 0: none). */
uint32_t stack_push(struct trace *trace, uint32_t parent, const char *text, size_t length);

/* ---- text.c ---- */

/* A JSON string without its quotes, decoded to UTF-8; to[length] suffices. Lone surrogates become U+FFFD, unknown
** escapes stay as they are. */
size_t text_unescape(const char *from, size_t length, char *to);
/* JSON without the white space between its parts, made valid where a writer left control characters in texts, or what
** is no JSON (NaN, Infinity), which becomes a text. */
size_t text_compact(const char *from, size_t length, char *to);
/* How many bytes that takes at most. */
size_t text_compact_room(const char *from, size_t length);

/* ---- header.c ---- */

/* The text of a member, or of a part of one. */
string_id header_text(struct trace *trace, const struct field *field);
/* Reads the members of the top-level object. */
void header_read(struct trace *trace);
/* The modules that ProfileContext writes become rows of nodes. */
enum tfprof_status header_add_modules(struct trace *trace, struct profile *profile);
/* Members that have no place become attributes of the profile, messages of the profiler diagnostics. */
void header_describe(struct trace *trace, struct profile *profile);

/* ---- devices.c ---- */

/* Tells of rows of accelerators that became ranges, as what they are is not known, and of a profiler of devices that
** has recorded nothing. Once all segments are there. */
void devices_tell(struct trace *trace, struct profile *profile);

/* ---- queues.c ---- */

/* Finds which op launched what, of Ascend's profiler. False: no memory. */
bool queues_link(struct trace *trace);
/* Changes the numbers (and, of calls, the lanes) of a chunk's rows accordingly, before they become columns of a
** segment. False: no memory. */
bool queues_apply(const struct trace *trace, enum row_table table, struct chunk_table *rows);
void queues_free(struct trace *trace);

/* ---- halves.c ---- */

/* Where the two events of a range stand in the file; FAR_NONE: it was never ended. */
struct far_place { uint64_t begin, end; };
#define FAR_NONE UINT64_MAX
/* Puts the ends of ranges (B and E, b and e) together: a chunk that holds only ranges is added. *places are those of
** its rows, to be freed by the caller; NULL when there are none. */
enum tfprof_status halves_match(struct trace *trace, struct far_place **places);
/* Gives python_function events that have ids instead of a call stack the stacks which the ids tell. */
enum tfprof_status python_stacks(struct trace *trace);

/* ---- finish.c, lanes.c, collectives.c ---- */

/* A column that its file has, not a derived one. */
static inline void trace_set_column(struct segment *segment, unsigned column, struct column *value) {
  assert(!segment->columns[column] && (!value || segment_may_have(segment, column, value)));
  segment->columns[column] = value;
  column_set_add(&segment->is_raw, column);
}

/* All chunks are in: a profile in the run. sources: of a plain Chrome trace, of one that PyTorch wrote. */
enum tfprof_status trace_finish(struct trace *trace, uint32_t run_number, struct source_index *index,
                                const struct profile_source *sources, struct tfprof_error *error);
enum tfprof_status lanes_add(struct trace *trace, struct profile *profile);
enum tfprof_status collectives_add(struct trace *trace, struct profile *profile);

/* ---- attributes.c ---- */

struct segment_text { /* source_data of a segment */
  uint64_t offset, length; /* of the chunk; length 0: rows are all over the file */
  uint32_t *offsets;       /* in the chunk */
  struct far_place *far_places; /* or in the file */
  struct xspace_processes *processes; /* of the trace, where its events are read by them; NULL: they are not */
  bool has_quotes;              /* events of the file hold quotes that are not escaped */
  bool is_utf8;                 /* the chunk, or the file where rows are all over it */
};
enum tfprof_status attributes_load(struct profile *profile, struct segment *segment, const uint16_t *columns,
                                   unsigned count, struct column **out, struct tfprof_error *error);
void segment_text_free(void *source_data);
/* source->verify: attributes tell nothing but bytes that are not UTF-8, so only those of chunks with such are read. */
enum tfprof_status attributes_verify(struct profile *profile, struct tfprof_error *error);

#endif
