/* worker.h: what one thread has in hand while it parses chunks of a trace.
**
** A chunk is a stretch of the file that begins and ends between two events.  A worker parses it into wide rows (one
** int64_t per value, rows.def says which), with texts, lanes and devices numbered by itself; publish.c then translates
** the numbers into those of the whole trace and packs the rows into columns.
*/
#ifndef TFPROF_JSON_WORKER_H
#define TFPROF_JSON_WORKER_H

#include "base/list.h"
#include "read/json/intern.h"
#include "read/json/keys.h"
#include "read/json/processes.h"
#include "read/json/scan.h"
#include "read/rows/eager_rows.h"
#include "schema/schema.h"

/* ---- wide rows ---- */

enum row_table {
#define ROWS(table) ROWS_##table,
#define VALUE(table, column, kind)
#define CONSTANT(table, column, number)
#include "read/json/rows.def"
  ROWS_COUNT
};

/* Slots number the value columns of all tables in one go: ROW_ops_name, ... */
enum row_slot {
#define ROWS(table) ROW_FIRST_##table, ROW_BEFORE_##table = ROW_FIRST_##table - 1,
#define VALUE(table, column, kind) ROW_##table##_##column,
#define CONSTANT(table, column, number)
#include "read/json/rows.def"
  ROW_SLOTS
};

struct rows {
  uint32_t count, capacity;
  uint32_t *offsets; /* of each row's event in the chunk */
};

/* ---- what is found rarely and kept as lists ---- */

struct lane_name { /* a metadata event */
  struct row_key key; /* of the lane that its pid and tid name; it may have no events */
  uint64_t offset;     /* of the event in the file */
  uint32_t text;
  uint8_t what; /* enum lane_fact */
};
enum lane_fact { THREAD_NAME, THREAD_SORT_INDEX, PROCESS_NAME, PROCESS_LABELS, PROCESS_SORT_INDEX, LANE_FACTS };

struct half_event { /* B, E, b, e, S, F: one end of a range, or of a row of another table */
  uint64_t offset;  /* of the event in the file */
  int64_t time_ns;
  uint64_t id; /* hash of its id; of B and E, of process and thread */
  uint32_t lane, category; /* of what begins a range, or is asynchronous */
  uint32_t name;           /* 0 in a trace: none */
  uint8_t rows;             /* ROWS_COUNT: it begins a range; else the table of the row that it is the begin of: */
  uint64_t row, range_row;  /* of that table; and of ranges, where a mark has both; HALF_NO_ROW: none */
  bool is_begin, is_async, has_more; /* has_more: it says more than its time, name and thread */
};
#define HALF_NO_ROW UINT64_MAX

struct collective {
  int64_t group_size, in_elements, out_elements, sequence, correlation; /* ROW_NULL where absent */
  uint64_t row;
  uint32_t name, group, ranks, dtype; /* INTERN_NONE where absent */
  unsigned rows; /* what `row` is of: ROWS_ops, ROWS_kernels or ROWS_transfers */
};

/* A row of the host of Ascend's profiler that tells which op launched what: see queues.c. */
struct queue_call {
  enum queue_call_kind { QUEUE_ENQUEUE, QUEUE_DEQUEUE, QUEUE_LAUNCH } kind;
  int64_t start_ns, dur_ns, number; /* of an op that is queued, or the connection of a launch */
  uint64_t row;                     /* of api_calls, but of a QUEUE_DEQUEUE */
  uint32_t lane;
};

/* A python_function event without a call stack of its own, or an event that names one of the file's stackFrames. */
struct python_frame {
  int64_t id, parent; /* ROW_NULL: none */
  uint64_t row;       /* of ops */
  uint32_t name;
  bool is_of_file;    /* id is a key of the file's stackFrames, and that is all */
};

struct member { /* of the top-level object */
  char *key, *value; /* owned; value is followed by SCAN_PADDING quotes */
  size_t key_length, value_length;
  uint64_t offset;
};

enum problem {
  PROBLEM_FLOW,
  PROBLEM_PHASE,
  PROBLEM_MALFORMED,
  PROBLEM_NOT_OBJECT,
  PROBLEM_QUOTE,
  PROBLEM_NO_TIME,
  PROBLEM_TIME_RANGE,
  PROBLEM_MOVED_TIME,
  PROBLEM_NEGATIVE,
  PROBLEM_SHARE,
  PROBLEM_REPEATED,
  PROBLEM_TRUNCATED,
  PROBLEM_OVERSIZED,
  PROBLEM_TRAILING,
  PROBLEM_UNMATCHED_BEGIN,
  PROBLEM_UNMATCHED_END,
  PROBLEM_CROSSING_END,
  PROBLEM_END_MEMBERS,
  PROBLEM_METADATA,
  PROBLEM_COUNTER,
  PROBLEM_NOT_UTF8,
  PROBLEM_LEVEL,
  PROBLEM_COUNT
};
struct problem_tally { uint64_t count, offset; /* of the first */ };

/* Texts that every worker has, with the same numbers. */
#define JSON_LITERALS(X) \
  X(op) X(autograd) X(module) X(python) X(user) X(input) X(runtime) X(driver) X(memcpy) X(memset) X(exchange) \
  X(HtoD) X(DtoH) X(DtoD) X(PtoP) X(HtoH) X(pageable) X(pinned) X(device) X(array) X(managed) X(event) X(stream) \
  X(stream_wait) X(context) X(allocate) X(release) X(out_of_memory) X(torch)
enum literal {
#define LITERAL_ENUM(name) LITERAL_##name,
  JSON_LITERALS(LITERAL_ENUM)
#undef LITERAL_ENUM
  LITERAL_COUNT
};

/* ---- lanes and devices ---- */

enum device_kind { DEVICE_CPU, DEVICE_GPU, DEVICE_MTIA, DEVICE_NPU, DEVICE_HPU, DEVICE_PRIVATE, DEVICE_KINDS };
enum lane_flags { /* words[0] of a lane's key */
  LANE_HOST,        /* words[1] pid, words[2] tid */
  LANE_STREAM,      /* words[1] device kind << 32 | ordinal, words[2] stream */
  LANE_PID_IS_TEXT = 4, /* the word is the hash of a text; its number is in lane_texts */
  LANE_TID_IS_TEXT = 8,
};
struct lane_text { uint32_t pid, tid; int64_t context; };

/* ---- prediction: see parser.c ---- */

enum { EDGE_TEXT = 64, NODE_EDGES = 6, NODE_MAXIMUM = 1024 };
enum edge_flags { EDGE_ENDS_EVENT = 1, EDGE_BEGINS_EVENT = 2 };
struct edge {
  char text[EDGE_TEXT];
  uint8_t length, key, flags;
  uint8_t end_offset;   /* just behind the event's closing brace */
  uint8_t begin_offset; /* of the next event's opening brace */
  uint8_t in_args;      /* level of the value that follows */
  uint16_t target;
};
struct node {
  uint16_t edge_count;
  uint16_t edges[NODE_EDGES];
};

/* Numbers of the processes that are hosts and devices of an XSpace (xspace_trace.h). */
enum { XSPACE_PROCESSES = 64 };
struct xspace_processes {
  int64_t pids[XSPACE_PROCESSES];
  bool are_devices[XSPACE_PROCESSES];
  unsigned count;
  bool is_own;        /* tfprof_timeline() wrote the trace */
  bool is_own_xspace; /* it did, of an XSpace */
  bool is_tensorflow; /* the XSpace is of TensorFlow, whose ops are told by their names */
};
enum xspace_framework { XSPACE_OTHER, XSPACE_JAX, XSPACE_TENSORFLOW, XSPACE_FRAMEWORKS };

struct worker {
  struct xspace_processes processes;
  /* the chunk being parsed */
  const char *data, *end;
  uint64_t file_offset;     /* of data */
  bool is_utf8;             /* data */
  bool has_events;          /* an array of events began */
  bool is_last;             /* nothing comes behind this chunk */
  bool is_array;            /* the document is an array of events */
  bool is_dry;              /* for attributes: nothing is entered anywhere */
  bool no_memory;
  const struct trace_part *part; /* NULL: events of all processes */
  /* the event being parsed */
  const char *event;        /* its opening brace */
  struct key_set present;
  struct field fields[KEY_COUNT];
  struct key_set consumed;  /* is_dry only: members that went into columns */
  int row_table;            /* is_dry only: where the row went, -1: nowhere */

  struct rows rows[ROWS_COUNT];
  int64_t *values[ROW_SLOTS];
  struct text_table texts;
  struct row_map lanes, devices; /* the values of those that are published are their numbers in the trace */
  uint32_t lanes_published, devices_published;
  LIST(struct lane_text) lane_texts; /* by lane */
  LIST(struct lane_name) lane_names;
  LIST(struct half_event) halves;
  LIST(struct collective) collectives;
  LIST(struct queue_call) queue_calls;
  LIST(struct python_frame) python_frames;
  LIST(struct member) members;
  struct problem_tally problems[PROBLEM_COUNT];
  uint64_t event_count, tensorflow_count;
  uint64_t xspace_counts[XSPACE_FRAMEWORKS]; /* of events */
  char *scratch;            /* for a text that is composed of several */
  size_t scratch_size;
  struct { uint64_t pid, tid; uint32_t lane; bool is_set; } host_cache;
  struct { uint64_t device, stream; uint32_t lane, device_number; bool is_set; } stream_cache;

  struct node *nodes;
  struct edge *edges;
  uint32_t node_count, edge_count;
};

bool worker_init(struct worker *worker);
void worker_free(struct worker *worker);
/* Forgets rows and lists, keeps texts and lanes. */
void worker_clear(struct worker *worker);
/* Forgets also the texts and lanes that were never published: the chunk that they were found in goes. */
void worker_forget(struct worker *worker);
void worker_problem(struct worker *worker, enum problem problem, const char *where);
/* Room for `size` bytes and 8 behind them until the next call. NULL: no memory (and no_memory is set). */
char *worker_scratch(struct worker *worker, size_t size);
/* A row of the table, all values ROW_NULL. UINT32_MAX: no memory (and no_memory is set). */
uint32_t worker_row(struct worker *worker, enum row_table table);

/* ---- parser.c ---- */

enum parse_state {
  PARSE_START,  /* before the document */
  PARSE_OBJECT, /* in the top-level object, behind a member or its brace */
  PARSE_EVENTS, /* in the array of events, behind an event or its bracket */
  PARSE_END,    /* behind the document */
};
/* Parses data[0, length) beginning in *state; SCAN_PADDING quotes follow the data. Returns how many bytes are dealt
** with: fewer than `length` when the rest is an element that does not end within the data; *state holds there. */
size_t parse_chunk(struct worker *worker, const char *data, size_t length, uint64_t file_offset,
                   enum parse_state *state);
/* Where a text really ends in whose middle a quote stands without an escape, as libkineto wrote them until 2026: p is
** behind that quote. Sets the field's length. NULL: nowhere near. */
const char *parse_extend_text(const char *p, const char *end, struct field *field);
/* Behind the last place in data[0, length) that looks as if one event ended there and another begins: just behind the
** first one's brace. 0: none. */
size_t parse_find_cut(const char *data, size_t length);

/* ---- emit.c ---- */

/* Turns the event in worker->fields into rows. */
void emit_event(struct worker *worker);
/* The same for one event given as text (braces included, padding behind): sets consumed and row_table. False: no event.
*/
bool emit_dry(struct worker *worker, const char *text, size_t length);

#endif
