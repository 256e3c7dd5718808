/* thread_record.h: what one thread of the program writes and the writer thread reads.
**
** A thread that runs an op for the first time gets a `struct capture_thread`.  It writes items of 16-byte multiples
** into chunks (chunk_pool.h): one for each op that has ended, and before it one for each name, list of inputs, code
** object and stack frame that it meets for the first time.  One producer, one consumer, acquire and release: no locks.
** When no chunk is free an op is counted as lost. The writer thread reuses chunk and structure once the thread has
** ended and everything is read.  A thread for which there is no structure asks again when one has become free; until
** then what it does is counted, and costs no more than that.
*/
#ifndef TFPROF_CAPTURE_THREAD_RECORD_H
#define TFPROF_CAPTURE_THREAD_RECORD_H

#include "chunk_pool.h"
#include "intern.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/types.h>

enum item_kind {
  ITEM_OP = 1, /* struct op_item; id is the name's */
  ITEM_NAME,   /* struct bytes_item: text */
  ITEM_INPUTS, /* struct bytes_item: words of torch_inputs.h */
  ITEM_CODE,   /* struct code_item */
  ITEM_NODE,   /* struct node_item: one frame of a stack */
  ITEM_MODULE, /* struct module_item */
  ITEM_CALL,   /* struct call_item: a call of a module; id is the node that ends with it; scope: CALL_GOES_ON */
  ITEM_FORGET, /* struct item: numbers given before now are used only by ops that were pinned */
  ITEM_PIN,    /* struct pin_item: what an op that is still running refers to, before ITEM_FORGET */
  ITEM_MEMORY, /* struct memory_item; id is the stack's node */
  ITEM_OUT_OF_MEMORY, /* the same; bytes that there were not; address is the number of the op's name; 0: none */
  ITEM_RANGE,   /* struct range_item, or started_item; id is the text's (nvtx_texts.h); scope: RANGE_... */
  ITEM_PAYLOAD, /* struct bytes_item: JSON of a range or mark of this thread that ends later; numbers ascend */
  ITEM_RENEWED, /* struct item: id is capture_recording; what the thread wrote before is of a recording that is over */
  ITEM_MEMORY_BRIEF, /* struct memory_brief; id is how many bytes were given, 0: taken back */
  ITEM_KINDS
};
enum {
  ITEMS_WITH_TIME = 1 << ITEM_OP | 1 << ITEM_MEMORY | 1 << ITEM_OUT_OF_MEMORY | 1 << ITEM_MEMORY_BRIEF | 1 << ITEM_RANGE
};

struct item {
  uint8_t kind;
  uint8_t scope;  /* ITEM_OP: enum op_scope, and OP_THREW; ITEM_MEMORY: number of the pool (memory_callbacks.h), and
                  ** MEMORY_WITHOUT_OPS */
  uint16_t units; /* size of the whole item in 16 bytes */
  uint32_t id;
};

enum op_scope { /* at::RecordScope, which ends at 9, and what is none of PyTorch's */
  SCOPE_FUNCTION = 0,
  SCOPE_BACKWARD_FUNCTION = 1,
  SCOPE_USER = 7,
  SCOPE_PYTHON = 64, /* a call of a function (python_calls.h) */
};
enum { CALL_GOES_ON = 1 /* it was told of before: another number counts for its module now */ };
enum { OP_THREW = 0x80 /* an exception ended the op */, MEMORY_WITHOUT_OPS = 0x80 /* none were recorded then */ };

struct op_item {
  struct item head;
  uint64_t start_ticks, end_ticks;
  int64_t sequence;
  uint32_t inputs, node; /* 0: none */
  uint32_t forward_thread;
  uint16_t owner; /* number of the capture_thread that began it, whose numbers it uses */
  uint16_t pin;   /* number of the ITEM_PIN that holds its numbers; 0: none */
};
_Static_assert(sizeof(struct op_item) == 48, "an op takes three units");

struct memory_item {
  struct item head;
  int64_t bytes;  /* negative: released; MEMORY_SIZE_UNKNOWN: so much as was given */
  uint64_t ticks; /* where an op has the time of its end: items with a time are merged by it */
  uint64_t address, in_use, reserved;
};
/* The same of the CPU's allocator while no ops are recorded, without a stack, at the time of the item with a time that
** the thread wrote before (memory_callbacks.h). */
struct memory_brief {
  struct item head;
  uint64_t address;
};
_Static_assert(sizeof(struct memory_brief) == 16, "one unit");
#define MEMORY_SIZE_UNKNOWN INT64_MIN
#define MEMORY_UNKNOWN UINT64_MAX /* in_use and reserved */
_Static_assert(sizeof(struct memory_item) == 48, "an allocation takes three units");
_Static_assert(offsetof(struct memory_item, ticks) == offsetof(struct op_item, end_ticks), "one place for the time");

/* What NVTX marked. */
struct range_item {
  struct item head;
  uint64_t start_ticks, end_ticks; /* of a mark the same */
  uint64_t value;
  uint32_t payload; /* number of an ITEM_PAYLOAD of the thread that began it; 0: none */
  uint32_t color, category;
  uint16_t domain; /* 0: the default one */
  uint16_t owner;  /* number of the thread that began it */
};
_Static_assert(sizeof(struct range_item) == 48, "a range takes three units");
_Static_assert(offsetof(struct range_item, end_ticks) == offsetof(struct op_item, end_ticks), "one place for the time");
/* One that may have ended on another thread. */
struct started_item {
  struct range_item range;
  uint32_t life; /* of the owner, when it began it */
  uint32_t padding[3];
};
_Static_assert(sizeof(struct started_item) == 64, "whole units");

struct bytes_item {
  struct item head;
  uint32_t length, padding;
  uint8_t bytes[];
};

struct node_item {
  struct item head;
  uint32_t parent; /* the caller's node; 0: outermost */
  uint32_t code, offset;
  uint32_t module; /* that is called here; 0: none */
  uint32_t padding[2];
};

struct module_item {
  struct item head;
  uint64_t number; /* known_modules.h */
};

struct call_item {
  struct item head;
  uint64_t ticks; /* no op inside it began before */
};

struct code_item {
  struct item head;
  int32_t first_line;
  uint32_t file_length, function_length, table_length;
  uint32_t padding[2];
  uint8_t bytes[]; /* file, function (both UTF-8), line table */
};

struct pin_item {
  struct item head; /* id: name */
  uint32_t inputs, node, number, padding[3]; /* number: 1 ... PIN_MAXIMUM */
};
_Static_assert(sizeof(struct module_item) == 16 && sizeof(struct call_item) == 16, "whole units");
_Static_assert(sizeof(struct node_item) == 32 && sizeof(struct pin_item) == 32, "whole units");

struct capture_thread;

/* An op or a range that has begun. What an op needs comes first: one cache line.
**
** An op ends on the thread that began it, and its object, an at::RecordFunction, is then where it was: that tells which
** one ends.  So ops lie on a stack, and where one ends below others (greenlets switch within ops) those move down.
**
** A range of the user may end anywhere and in any order, as where the tasks of asyncio take turns. PyTorch hands its
** address to the end callback as ObserverContext, a class with a virtual destructor and nothing else
** (ATen/record_function.h, torch 1.12 to 2.15), hence the first member.  So a range stays in its place until it ends,
** and the places that are free are a list.
*/
struct open_op {
  _Alignas(64) const void *const *vtable;
  const void *object; /* of an op; NULL: a range */
  const void *frame;  /* the innermost Python frame then, and where it was in its code */
  uintptr_t instruction;
  uint64_t start_ticks;
  uint32_t name, inputs, node;
  uint32_t stack; /* node, or that of the op around it where it stands at the same place */
  _Atomic uint16_t pin; /* of a range it is read where the range ends, and given when the thread's tables are emptied */
  _Atomic uint8_t scope;           /* the writer thread looks at it, too, and at the next: thread_runs_op() */
  _Atomic uint8_t is_engine_range; /* what the autograd engine puts around an op of the backward pass */
  uint8_t is_told : 1;         /* by that op: its sequence number */
  uint8_t mark : 4;            /* of a range: enum step_mark */
  _Atomic uint8_t is_done;     /* of a range: its place is free, or about to be */
  uint8_t has_child;           /* another op or range has begun inside it */
  uint8_t uncaught;            /* exceptions when an op began: those of destructors that run while one is on its way */

  struct capture_thread *thread; /* of a range, and its object */
  const void *range_object;
  int64_t sequence;              /* of an engine range: what its op told it */
  uint32_t forward_thread;
  uint32_t mark_name;            /* of a range that is a mark: a hash of its name */
  uint32_t recording;            /* of a range: capture_recording as it began; 0: it is only a mark */
  _Atomic uint32_t next;         /* of a place that is free: 1 + that of the next one; 0: it is the last */
};

enum {
  OPEN_MAXIMUM = 512,       /* ops within ops on one thread */
  RANGE_MAXIMUM = 16384,    /* ranges that are open at the same time on one thread */
  PIN_MAXIMUM = OPEN_MAXIMUM + RANGE_MAXIMUM,
  STACK_MAXIMUM = 512,      /* Python frames of one stack */
  SCRATCH_SIZE = 32 * 1024, /* the inputs of one op, a name or a code object while it is copied */
  ARENA_SIZE = 8 * 1024 * 1024,
  THREAD_MAXIMUM = CHUNK_HOLDERS, /* threads that are recorded at the same time */
  NAME_MAXIMUM = 4000,  /* bytes kept of an op's name */
  THREAD_NAME_MAXIMUM = 128, /* with the NUL; thread_names.h has the same */
};

enum thread_state { THREAD_RUNNING, THREAD_ENDED, THREAD_FREE };

struct stack_frame { /* of the last stack of the thread, outermost first */
  uintptr_t code, instruction;
  uintptr_t module, type; /* that the frame calls, and its type; 0: none */
  uint32_t node;
};

struct module_call { /* that the thread is inside of, or was when it had its last op */
  uint64_t number;   /* python_call_number */
  uint32_t place;    /* of its frame in `stack`; STACK_MAXIMUM: not known */
  uint32_t node;     /* that it was told of with */
};

/* A frame called from `parent`: its number, as it was not long ago. */
struct recent_node {
  uint64_t place;        /* a hash of code, instruction and module, and of the generation in which the number counts */
  uint32_t parent, node; /* node 0: free */
};
enum { NODE_SETS = 512, NODE_WAYS = 4 }; /* a set is a cache line, instead of a look into two tables */

/* The numbers of an op's name and inputs, as they were not long ago; the key is a hash of the operator (or its text)
** and of the words of the inputs.  With them the place that it was called from last: few ops of the same inputs are
** called from many. */
struct recent_op {
  uint64_t key;
  uint32_t name, inputs; /* name 0: free */
  struct recent_node node;
};
enum { OP_SETS = 1024, OP_WAYS = 2 }; /* the same */
/* Ops follow each other as they did before: by what came last, the set in which the next one will be looked for, so
** that it can be fetched in time. */
enum { OP_CONTEXTS = 1024 };

/* What threads have written, for the governor. */
enum written { WRITTEN_OPS, WRITTEN_MEMORY, WRITTEN_RANGES, WRITTEN_KINDS };

enum { FORK_PAGE = 4096 }; /* the smallest page of memory */

struct capture_thread {
  /* Up to `open` it is empty in the child of a fork: one that no handler saw has no chunk to write into. What is open
  ** stays, for PyTorch calls destructors of it there. Read by the writer thread. */
  uint32_t number; /* 1, 2, ... */
  _Atomic uint32_t life; /* counts the threads that had this structure */
  _Atomic(struct chunk *) first_chunk;
  _Atomic uint64_t lost;     /* ops for which there was no room */
  _Atomic uint64_t too_deep; /* ops beyond OPEN_MAXIMUM, ranges beyond RANGE_MAXIMUM */
  _Atomic uint64_t lost_memory; /* allocations and releases for which there was no room */
  _Atomic uint32_t is_shared; /* another thread has ended a range of it */
  _Atomic uint64_t cut;      /* lists of inputs that exceed SCRATCH_SIZE, stacks deeper than STACK_MAXIMUM */
  uint32_t tid;
  uint64_t logical_thread; /* RecordFunction's number of the thread; 0: it has run no op */
  _Atomic(const void *) python_state; /* PyThreadState; NULL: it is none of Python's, or has only begun to record */
  char name[16];                         /* the system's, when it was first seen */
  char python_name[THREAD_NAME_MAXIMUM]; /* that of threading.Thread; empty: it is no such thread */

  /* The rest belongs to the thread alone. What every op needs comes first: one cache line. */
  _Alignas(64) struct chunk *chunk;
  uint8_t *bytes; /* of the chunk */
  uint32_t position;
  uint32_t brief_left;    /* so many changes of memory may be brief before the clock is read again */
  _Atomic uint32_t depth; /* of `open`; also read by the writer thread at the end */
  uint32_t stack_depth;   /* of `stack`; 0: it is void */
  uint64_t op_seed;       /* begins each key of `recent_ops`: changes when numbers of names and inputs become void */
  uint64_t deaths_seen;   /* python_code.h */
  uint32_t generation;    /* of `recent_nodes`: changes when numbers of code objects or nodes become void */
  uint32_t op_context;    /* what ops came last */
  _Atomic uint64_t written[WRITTEN_KINDS]; /* also read by whoever ends a step (sampling.c) */
  uint32_t call_count;                     /* of `calls`, outermost first, that the writer thread knows of */
  struct changes {
    uint32_t forgets; /* how often the tables were emptied, */
    uint32_t wanted;  /* and a module was met that has to be looked for */
  } changes;
  bool was_not_asked; /* the main thread, about such a module (module_discovery.h) */

  /* Places of `ranges`, over all lives of the structure, since one may be given back late. */
  _Atomic uint32_t range_count; /* that were ever used; also read by the writer thread */
  uint32_t free_range;          /* 1 + the first one that is free; 0: none */
  _Atomic uint32_t ended_range; /* the same of those that other threads have given back */
  struct open_op *last_range;   /* that began; NULL: none did */
  uint32_t last_pin;            /* number of an ITEM_PIN */

  uint32_t session;
  uint32_t recording; /* that its numbers are of; 0: of none yet */
  struct arena arena;
  struct intern_table schemas, names, inputs, codes, modules, nodes; /* schemas and names share the numbers of names */
  _Alignas(FORK_PAGE) struct open_op open[OPEN_MAXIMUM];
  struct stack_frame stack[STACK_MAXIMUM]; /* the last one */
  struct module_call calls[STACK_MAXIMUM];
  const uint8_t *walk[STACK_MAXIMUM];      /* the frames of the next one, innermost first */
  _Alignas(64) struct recent_node recent_nodes[NODE_SETS][NODE_WAYS];
  _Alignas(64) struct recent_op recent_ops[OP_SETS][OP_WAYS];
  uint16_t following[OP_CONTEXTS];
  _Alignas(16) uint8_t scratch[SCRATCH_SIZE];
  struct open_op ranges[RANGE_MAXIMUM]; /* untouched memory costs nothing */
};
_Static_assert(sizeof(struct recent_node) * NODE_WAYS == 64 && sizeof(struct recent_op) * OP_WAYS == 64, "cache lines");

extern _Thread_local struct capture_thread *capture_current_thread __attribute__((tls_model("initial-exec")));

/* Counts the sessions of this process and its ancestors: a thread structure of another session is not ours. */
extern uint32_t capture_session;

/* Counts the recordings of this process: a dormant one makes a file each time that it is asked. It changes as one ends,
** and what threads know of that file is void. */
extern _Atomic uint32_t capture_recording;
static inline bool thread_is_of_recording(const struct capture_thread *thread) {
  return thread->recording == atomic_load_explicit(&capture_recording, memory_order_relaxed);
}
/* Begins anew in this recording. false: nothing is recorded now, or there is no room. */
bool thread_renew(struct capture_thread *thread);

/* The number of the thread whose changes of memory may be brief: nobody else has recorded one since it read the clock.
** 0: nobody's. */
extern _Atomic uint32_t memory_turn;
static inline void memory_turn_ends(void) { atomic_store(&memory_turn, 0); }

/* The threads of this session: numbers 1 ... thread_count(). NULL for a number that was never used. */
unsigned thread_count(void);
struct capture_thread *thread_of_number(unsigned number);
/* By number - 1: enum thread_state. They lie together, as the writer thread looks at all of them. */
extern _Atomic uint32_t capture_thread_states[];
static inline uint32_t thread_state_of(const struct capture_thread *thread) {
  return atomic_load_explicit(&capture_thread_states[thread->number - 1], memory_order_acquire);
}

/* What is lost of a thread that cannot be recorded, as THREAD_MAXIMUM are there or memory is short. */
enum refused {
  REFUSED_OP, /* or a range, or call */
  REFUSED_MEMORY,
  REFUSED_BEGIN, /* of what is counted when it ends */
  REFUSED_KINDS
};
uint64_t threads_refused(enum refused what);
/* So many threads were, wholly or for a time. */
uint64_t threads_left_out(void);

/* How much all have written. Of those beyond the first NEAR_THREADS, which are not looked at one by one each time a
** step ends, as the writer thread saw it last. */
enum { NEAR_THREADS = 256 };
uint64_t threads_written(enum written what);
/* By the writer thread, of a thread beyond those: so much more. */
void thread_note_written(enum written what, uint64_t more);
static inline void thread_count_written(struct capture_thread *thread, enum written what) {
  uint64_t written = atomic_load_explicit(&thread->written[what], memory_order_relaxed);
  atomic_store_explicit(&thread->written[what], written + 1, memory_order_relaxed);
}

/* Makes the calling thread known; NULL when it cannot be recorded, which is counted, or nothing is recorded now
** (gate.h). */
struct capture_thread *thread_enter(enum refused what);
/* It was entered before all who are told of it had begun. */
void thread_enter_again(struct capture_thread *thread);
/* Who is told of each thread that is entered, on that thread, and fills what is known of it besides. */
void thread_tell_entry(void (*entered)(struct capture_thread *thread));
/* A structure for ops that another part tells of a thread, with PyTorch's number of it; the caller writes for it. */
struct capture_thread *thread_adopt(uint64_t logical_thread);
/* `buffer_bytes`: for what the writer thread has not read yet (chunk_pool.h). */
bool thread_records_begin(uint64_t buffer_bytes);
/* In a forked child: what the parent recorded is not ours. */
void thread_records_reset(void);
/* By the writer thread: a range that the ended thread began is still to be ended by another thread. */
bool thread_has_open_ranges(struct capture_thread *thread);
/* How many ops and ranges are open; of a thread that goes on meanwhile about so many. */
unsigned thread_open_count(const struct capture_thread *thread);
/* By the writer thread, of a thread that goes on meanwhile: whether it runs an op now, and one of the backward pass.
** Ranges and calls of Python are no ops. */
bool thread_runs_op(const struct capture_thread *thread, bool *is_backward);
/* By the writer thread, when it has read everything of a thread that has ended and has no open ranges. */
void thread_recycle(struct capture_thread *thread);
/* By the writer thread, once in each of its slots: from now on a structure that is wanted rings the bell again. */
void thread_records_pulse(void);
/* By the writer thread, each second: where there was no memory there may be some now. */
void thread_records_tick(void);

/* The op at that place of `open` has ended, below others. */
void thread_take_out(struct capture_thread *thread, uint32_t place);
/* A place for a range; NULL: there is none. */
struct open_op *thread_take_range(struct capture_thread *thread);
/* The range has ended, on the calling thread. */
void thread_give_range(struct capture_thread *owner, struct open_op *range);

/* RecordScope of what is open. */
static inline uint8_t open_op_scope(const struct open_op *op) {
  return atomic_load_explicit(&op->scope, memory_order_relaxed);
}

/* Room for an item of `bytes` (a multiple of 16) at the end of what the thread has written, or NULL when no chunk is
** free. */
void *thread_next_chunk(struct capture_thread *thread, uint32_t bytes);
static inline void *thread_reserve(struct capture_thread *thread, uint32_t bytes) {
  if (__builtin_expect(!thread->chunk || thread->position + bytes > CHUNK_SIZE, 0))
    return thread_next_chunk(thread, bytes);
  return thread->bytes + thread->position;
}
static inline void thread_commit(struct capture_thread *thread, uint32_t bytes) {
  thread->position += bytes;
  atomic_store_explicit(&thread->chunk->used, thread->position, memory_order_release);
}

/* How many bytes of a name are kept: up to NAME_MAXIMUM. Of a name that is cut the whole length is noted; the longest
** is told when the recording ends (0: none was cut). Any thread may ask. */
uint32_t name_length(const char *text);
void name_cut(uint64_t length);
uint64_t name_longest_cut(void);

/* The number of a text or a list of inputs; written as an item when it is new. 0: there was no room. */
uint32_t thread_intern_name(struct capture_thread *thread, uint64_t hash, const char *text, uint32_t length);
uint32_t thread_intern_inputs(struct capture_thread *thread, uint64_t hash, const void *words, uint32_t length);
/* A new operator: `key`, made of the address and the contents of its schema, stands for the text from now on. */
uint32_t thread_intern_schema(struct capture_thread *thread, uint64_t key, const char *text);
/* Modules will be met again. */
void thread_forget_modules(struct capture_thread *thread);
uint32_t thread_intern_node(struct capture_thread *thread, uint32_t parent, uint32_t code, uint32_t offset,
                            uint32_t module);
/* Empties all tables of the thread. false: there is no room to say so, and nothing was changed. */
bool thread_forget(struct capture_thread *thread);

#endif
