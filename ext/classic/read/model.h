/* model.h: what TensorFlow's files say about one program, collected before it becomes a profile of the store.
**
** A GraphDef brings nodes and edges, each RunMetadata a step with what every node cost in it, an OpLogProto types,
** flops and call stacks, a checkpoint the stored tensors; a ProfileProto holds all but the last.  Readers (graph_def.c,
** run_metadata.c, op_log.c, profile_proto.c, checkpoint.c) add to one `struct tf_model` in that order, and publish.c
** makes the tables.  Numbers in a model are those of the files: microseconds, bytes, indexes from 0.
**
** The accounting is that of the TensorFlow profiler (core/profiler/internal, described in its README): a node has one
** canonical device; what runs on devices named .../cpu:N or .../gpu:N is CPU time, on ".../stream:all" accelerator
** time.
**
** Functions return false when the model cannot go on: it has then no memory, and model->status says so.
*/
#ifndef TFPROF_TENSORFLOW_MODEL_H
#define TFPROF_TENSORFLOW_MODEL_H

#include "base/bytes.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/row_map.h"
#include "base/wire.h"
#include "read/rows/stacks.h"
#include "read/rows/text_buffer.h"
#include "store/column_appender.h"
#include "store/store.h"

enum { TF_NONE = -1 };

struct tf_node {
  string_id name, op;
  string_id device;                    /* the first canonical device, lower case; 0: none yet */
  string_id requested_device;          /* where the graph asks for it; 0: anywhere */
  string_id shape, dtype, data_format; /* shape: "3x3x16", of the attribute `shape` */
  string_id output_shapes;             /* JSON: [[5,12,12,8],null] */
  string_id attributes;                /* JSON of the other attributes; 0: none */
  int64_t flops;                       /* of one run, as a file says; 0: it does not */
  int64_t parameters;                  /* product of shape; TF_NONE: no shape, or an unknown dimension */
  int64_t file_id;                     /* ProfileProto's own number of the node */
  uint32_t parent;                     /* row of the enclosing scope + 1; 0: none. Set by publish_graph.c */
  uint32_t trace;                      /* row of traces + 1; 0: none */
  string_id run_call, run_shapes;      /* of the execution before, which mostly was the same */
  uint32_t exec;                       /* the place of its last one in execs + 1; 0: it never ran */
  bool is_scope;                       /* made by publish.c */
  bool is_runtime;                     /* ran under a name that no graph has */
  string_id function;                  /* of whose nodes it is one, in the place of a call; 0: the graph's own */
  string_id inferred_shapes;           /* as output_shapes, where these are 0: shapes.c */
  string_id own_shape;                 /* JSON as output_shapes: what a constant, placeholder or variable holds */
  uint32_t constant;                   /* its place in constants + 1; 0: none that is kept */
};

/* Small constants of whole numbers, which tell shapes: see shapes.c. */
enum { TF_CONSTANT_VALUES = 8 };
struct tf_constant {
  uint8_t count;
  bool is_scalar;
  int64_t values[TF_CONSTANT_VALUES];
};

struct tf_edge {
  uint32_t node;
  int32_t position;
  int32_t source_output;
  bool is_control;
  bool is_by_file_id; /* source is a node's file_id, not yet a name */
  int64_t source;     /* string_id of the source's name */
};

struct tf_type {
  uint32_t node;
  string_id type;
};

struct tf_step {
  int64_t number;
  int64_t start_micros, end_micros; /* the first start and the last end in it; 0: nothing was timed */
  bool misses_streams;              /* ran something on an accelerator and says nothing about its streams */
};

/* What a node cost in the step that is being read. */
struct tf_exec {
  uint32_t node;
  uint32_t run_count;
  int64_t start_micros, end_micros; /* start 0: nothing was timed */
  int64_t accelerator_micros, cpu_micros;
  int64_t requested_bytes, peak_bytes, residual_bytes, output_bytes;
  string_id call, output_shapes; /* of its last run: "MatMul(x, w:1)", JSON; 0: not known */
};

/* The same of the steps that have been read, as the columns of node_steps: rows of nodes and steps are those of the
** model, times in nanoseconds, NULL where nothing was timed. */
enum tf_cost {
  TF_COST_node, TF_COST_step, TF_COST_run_count, TF_COST_start, TF_COST_length, TF_COST_accelerator, TF_COST_cpu,
  TF_COST_requested, TF_COST_peak, TF_COST_residual, TF_COST_output, TF_COST_call, TF_COST_output_shapes, TF_COST_count
};
enum { TF_COST_ROWS = 256 };
struct tf_costs {
  struct column_appender columns[TF_COST_count];
  uint32_t count; /* with the last rows, which are not yet in the columns: */
  struct tf_cost_rows {
    uint32_t count;
    bool has_untimed;
    int64_t values[TF_COST_count][TF_COST_ROWS];
    bool is_untimed[TF_COST_ROWS]; /* start and length are NULL */
  } *rows;
};

/* One run of a node on one device: a row of ops (canonical devices) or of kernels (stream:all). */
struct tf_run {
  int64_t start_micros, micros;
  uint32_t exec, lane; /* rows of node_steps and lanes */
};

/* An allocation (bytes above 0) or release of a node on its accelerator; or, persistent, what it keeps after the
** step. */
struct tf_allocation {
  uint32_t node, step, run; /* run: one of the node's in the step; UINT32_MAX: none */
  bool is_persistent;
  int64_t micros, bytes;
};

/* How much of the memory of a node's device was in use when it had run. */
struct tf_memory_point {
  int64_t micros, bytes;
  uint32_t exec; /* row of node_steps */
};

/* What the runtime moved: a tensor received from another process, or a copy by a device. */
struct tf_transfer {
  string_id name, attributes;
  uint32_t step, lane; /* lane: UINT32_MAX: none */
  bool is_receive;
  int64_t start_micros, micros, bytes; /* bytes: TF_NONE: unknown */
};

/* Runs or memory points as they were added, as varints: of a run the differences of exec and start to the run before,
** lane, micros; of a point the differences of exec, micros and bytes.  There are more of them than of anything else,
** and they are seldom looked at. */
enum { TF_PACKED_ITEM = 4 * VARINT_MAXIMUM_BYTES, TF_PACKED_BLOCK = (256 << 10) - 64 };
struct tf_packed {
  struct tf_packed_block {
    struct tf_packed_block *next;
    uint8_t *end; /* of the items in it, which are whole */
    uint8_t bytes[TF_PACKED_BLOCK];
  } *first, *last;
  size_t count;
};
/* Read from the beginning, struct tf_run_reader reader = {packed->first}, packed->count times. */
struct tf_run_reader {
  const struct tf_packed_block *block;
  const uint8_t *at; /* NULL: its beginning */
  struct tf_run run;
};
struct tf_point_reader {
  const struct tf_packed_block *block;
  const uint8_t *at;
  struct tf_memory_point point;
};
/* Where the next item is. */
static inline const uint8_t *tf_next_packed(const struct tf_packed_block **block, const uint8_t *at) {
  if (at == (*block)->end) *block = (*block)->next;
  else if (at) return at;
  assert(*block);
  return (*block)->bytes;
}
static inline const struct tf_run *tf_next_run(struct tf_run_reader *reader) {
  uint64_t exec = 0, lane = 0, start = 0, micros = 0;
  const uint8_t *at = tf_next_packed(&reader->block, reader->at), *end = reader->block->end;
  reader->at =
      varint_read(varint_read(varint_read(varint_read(at, end, &exec), end, &lane), end, &start), end, &micros);
  reader->run.exec += (uint32_t)(int32_t)unzigzag(exec);
  reader->run.lane = (uint32_t)lane;
  reader->run.start_micros += unzigzag(start);
  reader->run.micros = (int64_t)micros;
  return &reader->run;
}
static inline const struct tf_memory_point *tf_next_point(struct tf_point_reader *reader) {
  uint64_t exec = 0, micros = 0, bytes = 0;
  const uint8_t *at = tf_next_packed(&reader->block, reader->at), *end = reader->block->end;
  reader->at = varint_read(varint_read(varint_read(at, end, &exec), end, &micros), end, &bytes);
  reader->point.exec += (uint32_t)(int32_t)unzigzag(exec);
  reader->point.micros += unzigzag(micros);
  reader->point.bytes += unzigzag(bytes);
  return &reader->point;
}
void tf_packed_free(struct tf_packed *packed);

/* A device, or one thread or stream of it. */
struct tf_lane {
  string_id device;       /* as the file writes it */
  string_id device_lower;
  int64_t thread;         /* TF_NONE: unknown */
  bool is_accelerator;
  uint32_t run_count;
};

struct tf_frame {
  int64_t file, function, text; /* keys of strings, or string_ids when is_inline; TF_NONE: none */
  int64_t line, first_line;
  bool is_inline;
};

/* A function of the graph's library: its arguments' names and its nodes, which lie together. */
struct tf_function {
  uint32_t first_argument, argument_count, first_node, node_count;
};

/* Its nodes are like those of a graph (struct tf_node), but for their inputs and where they stand. */
struct tf_function_node {
  string_id name, op, attributes, data_format, output_shapes, shape, dtype, own_shape;
  uint32_t constant; /* as of a struct tf_node */
  int64_t parameters;
  uint32_t first_input, input_count, first_call, call_count;
  bool is_ambiguous; /* functions have different ones of that name */
};

/* What a node of a function takes: an argument, or output `number` of those that are called `output` of a node. */
struct tf_function_input {
  string_id source, output; /* output 0: not said */
  int32_t number;
  bool is_control;
};

/* A function that a node names in an attribute, `number` in a list of them (-1: no list), or by its op (key 0). */
struct tf_function_call {
  string_id key, function;
  uint32_t node, depth;
  int32_t number;
  bool is_once; /* within a loop or a condition */
};

enum tf_trouble {
  TF_TROUBLE_TIME,       /* a time or size beyond what can be kept */
  TF_TROUBLE_NO_START,   /* an execution without a start time */
  TF_TROUBLE_DROPPED,    /* executions of _SOURCE, which belongs to no graph */
  TF_TROUBLE_DEVICE,     /* executions on another device than the node's own */
  TF_TROUBLE_STREAM,     /* executions on single streams, which stream:all repeats */
  TF_TROUBLE_INPUT,      /* an input that no node makes */
  TF_TROUBLE_STRING,     /* a number that id_to_string lacks */
  TF_TROUBLE_SCOPE,      /* names nested beyond all reason */
  TF_TROUBLE_DUPLICATE,  /* a node that is there already */
  TF_TROUBLE_OP_LOG,     /* entries of an OpLog for nodes that the graph lacks */
  TF_TROUBLE_FUNCTION,   /* nodes of functions, which belong to no graph */
  TF_TROUBLE_ONCE,       /* nodes of loops and conditions, which are counted once */
  TF_TROUBLE_SIGNATURE,  /* signatures that call the same function as others */
  TF_TROUBLE_CALL,       /* calls of functions that are nested too deep, or would be too many nodes */
  TF_TROUBLE_TEXT,       /* texts that are not UTF-8 */
  TF_TROUBLE_WIRE,       /* a message that is damaged */
  TF_TROUBLE_count
};

LIST_NAMED(tf_nodes, struct tf_node);
LIST_NAMED(tf_edges, struct tf_edge);
LIST_NAMED(tf_types, struct tf_type);
LIST_NAMED(tf_constants, struct tf_constant);
LIST_NAMED(tf_steps, struct tf_step);
LIST_NAMED(tf_execs, struct tf_exec);
LIST_NAMED(tf_allocations, struct tf_allocation);
LIST_NAMED(tf_transfers, struct tf_transfer);
LIST_NAMED(tf_lanes, struct tf_lane);
LIST_NAMED(tf_frames, struct tf_frame);
LIST_NAMED(tf_functions, struct tf_function);
LIST_NAMED(tf_function_nodes, struct tf_function_node);
LIST_NAMED(tf_function_inputs, struct tf_function_input);
LIST_NAMED(tf_function_calls, struct tf_function_call);
LIST_NAMED(tf_rows_of, uint32_t);

struct tf_model {
  struct store *store;
  struct pool *pool;
  struct tfprof_error *error;
  enum tfprof_status status;

  struct tf_nodes nodes;
  struct tf_edges edges;
  struct tf_types types;
  struct tf_constants constants;
  struct tf_steps steps;
  bool misses_streams;    /* of some step, as a ProfileProto says, which does not say of which */
  struct tf_execs execs; /* of the step that is being read */
  struct tf_costs costs; /* of those before */
  struct tf_packed runs, memory_points;
  struct tf_run last_run;
  struct tf_memory_point last_point;
  int64_t start_micros, end_micros; /* of all runs; start after end: there are none */
  string_id last_device; /* which was asked for last, and whether it is a processor of the host */
  bool last_is_host;
  struct tf_allocations allocations;
  struct tf_transfers transfers;
  struct tf_lanes lanes;
  struct tf_frames frames;
  struct row_map traces; /* stacks of frames: rows/stacks.h */
  struct row_map step_map, lane_map, frame_map, string_map;
  bool has_text_zero; /* key 0 of string_map is a text, not "none" */
  struct tf_function_nodes function_nodes;
  struct row_map function_map; /* the row of the first of each name */
  struct tf_functions functions;
  struct row_map functions_by_name;
  struct tf_rows_of function_arguments; /* string_ids */
  struct tf_function_inputs function_inputs;
  struct tf_function_calls function_calls; /* of their nodes */
  struct tf_function_calls calls;          /* of nodes of the graph */
  uint32_t *named; /* by string_id: row + 1 of the node of that name, 0: none */
  size_t named_count;
  string_id recent[256]; /* texts that were interned a moment ago: see tf_intern */
  /* Whole call stacks, and frames, as the bytes that stand for them: most nodes share theirs with others. */
  struct tf_known_bytes {
    struct pool *pool;
    struct tf_rows_of rows; /* by id in the pool: row + 1 of traces or frames, 0: none */
    string_id last;         /* which was found last, 0: none */
  } codes, code_frames;
  struct node_parts *node_parts; /* profile_proto.c's own */
  void (*free_node_parts)(struct node_parts *parts);
  struct exec_forms *exec_forms; /* profile_execs.c's own */
  string_id *device_names;          /* of the rows of devices, in lower case; made by publish_steps.c */
  size_t device_count;
  int64_t *lane_devices; /* the row in devices of each lane, INT64_MIN: none */

  bool has_graph;
  bool has_calls; /* RunMetadata is read, which tells calls and shapes of outputs */
  uint32_t step; /* being read */
  struct { uint64_t count, offset; string_id file; } troubles[TF_TROUBLE_count];
  struct row_map damages; /* files and offsets of TF_TROUBLE_WIRE: a part that is read twice is damaged once */
  /* the file being read, for messages */
  const char *path;
  string_id path_id;
  uint64_t file_offset; /* of the outermost message that is being read */
  int64_t file_bytes;   /* of all files together */
  uint64_t missing_bytes; /* at the end of a file that was cut off, as the length of its last part tells */
  char *scratch;
  size_t scratch_size;
  struct text_buffer run_shapes; /* of the outputs of the execution that is read */
  uint32_t until_poll; /* nodes and executions until the store is asked whether to go on */
};

bool tf_model_init(struct tf_model *model, struct store *store, struct tfprof_error *error);
void tf_model_free(struct tf_model *model);
bool tf_no_memory(struct tf_model *model); /* false, always */
/* To be called for each node or execution: false when the user has asked to stop. */
bool tf_goes_on(struct tf_model *model);
void tf_begin_file(struct tf_model *model, const char *path);
void tf_trouble(struct tf_model *model, enum tf_trouble trouble, uint64_t offset);
/* Counts what stopped the reader of a part. */
void tf_check(struct tf_model *model, const struct wire_reader *part);

/* 0 for an empty text. */
bool tf_intern(struct tf_model *model, const char *text, size_t length, string_id *id);
bool tf_intern_lower(struct tf_model *model, const char *text, size_t length, string_id *id);
/* At least `size` bytes that the next call may reuse; NULL: no memory. */
char *tf_scratch(struct tf_model *model, size_t size);

/* The row of a key; *row is UINT32_MAX when it is not there. */
uint32_t tf_map_find(const struct row_map *map, uint64_t first, uint64_t second);
bool tf_map_put(struct tf_model *model, struct row_map *map, uint64_t first, uint64_t second, uint32_t row);

/* UINT32_MAX: there is no node of that name. */
uint32_t tf_find_node(const struct tf_model *model, string_id name);
/* Adds a node whose name is new. */
bool tf_add_node(struct tf_model *model, string_id name, string_id op, uint32_t *row);
bool tf_add_type(struct tf_model *model, uint32_t node, string_id type);
bool tf_add_function_node(struct tf_model *model, const struct tf_function_node *node);
/* That of a function which ran as `name`: "body/_11/rec/mm" is its "rec/mm". NULL: there is none of that op, or
** functions have different ones of that name. */
const struct tf_function_node *tf_find_function_node(const struct tf_model *model, const char *name, size_t length,
                                                     string_id op);
/* The digits behind the last colon of an input; 0 where they are no number. */
int32_t tf_output_number(const char *text, size_t length);
bool tf_add_input(struct tf_model *model, uint32_t node, int32_t position, const char *text, size_t length);
/* The step of that number, added where it is new; becomes model->step. */
bool tf_begin_step(struct tf_model *model, int64_t number);
/* What a node cost in model->step, added where it is new. */
bool tf_get_exec(struct tf_model *model, uint32_t node, struct tf_exec **exec);
/* Its row in node_steps. */
static inline uint32_t tf_exec_row(const struct tf_model *model, const struct tf_exec *exec) {
  assert(exec >= model->execs.items && exec < model->execs.items + model->execs.count);
  return model->costs.count + (uint32_t)(exec - model->execs.items);
}
/* Puts what was read of a step behind what was read before. */
bool tf_end_execs(struct tf_model *model);
/* The same, and all of them are in the columns. */
bool tf_end_costs(struct tf_model *model);
bool tf_get_lane(struct tf_model *model, string_id device, string_id device_lower, int64_t thread, bool is_accelerator,
                 uint32_t *lane);
bool tf_add_run(struct tf_model *model, uint32_t exec, uint32_t lane, int64_t start_micros, int64_t micros);
/* The row of a frame, added where it is new. */
bool tf_get_frame(struct tf_model *model, const struct tf_frame *frame, uint32_t *row);
/* Of the node that ran last, in model->step; on a processor of the host nothing is kept. `bytes` 0 is left out but for
** points. */
bool tf_add_allocation(struct tf_model *model, uint32_t node, bool is_persistent, int64_t micros, int64_t bytes);
bool tf_add_memory_point(struct tf_model *model, const struct tf_exec *exec, int64_t micros, int64_t bytes);
/* The trace that continues `parent` (row + 1, 0: none) with a frame; *trace is its row + 1. */
bool tf_push_frame(struct tf_model *model, uint32_t parent, uint32_t frame, uint32_t *trace);
/* id_to_string. */
bool tf_add_string(struct tf_model *model, int64_t key, const char *text, size_t length);

/* True for .../cpu:0, .../device:GPU:1 and the like, in lower case. */
bool tf_is_canonical_device(const char *device, size_t length);
bool tf_is_accelerator_lane(const char *device, size_t length);
/* A sum that stays what it was where it would overflow, which is told. */
int64_t tf_add(struct tf_model *model, int64_t a, int64_t b);
/* The same of microseconds, which must fit as nanoseconds, and with as many again on top. */
#define TF_MOST_MICROS (INT64_MAX / 4000)
static inline int64_t tf_add_micros(struct tf_model *model, int64_t a, int64_t b) {
  if (a <= TF_MOST_MICROS - b) return a + b;
  tf_trouble(model, TF_TROUBLE_TIME, 0);
  return a;
}

#endif
