/* python_frames.h: the Python call stack of the calling thread, read without the GIL.
**
** The thread that is inside an op cannot change its own frames meanwhile, and frames keep their code objects alive, so
** the chain from its thread state may be followed as it lies in memory: 1 to 2 ns a frame, where the public API takes
** the GIL and 10 ns (then 40 for a line). Each minor version of CPython has a row of offsets.  A row is used only
** after the Python hook has compared our view of its own stack with sys._getframe(), reading through guarded_read
** (python_describe_stack).  An unknown version means no stacks, never a guess.
*/
#ifndef TFPROF_CAPTURE_PYTHON_FRAMES_H
#define TFPROF_CAPTURE_PYTHON_FRAMES_H

#include "thread_record.h"

enum python_table {                   /* how a code object says which instruction belongs to which line */
                    PYTHON_LNOTAB,    /* 3.8, 3.9: Objects/lnotab_notes.txt */
                    PYTHON_LINETABLE, /* 3.10: PEP 626 */
                    PYTHON_LOCATIONS, /* 3.11 on: Objects/locations.md */
};

struct python_layout {
  uint16_t version; /* 308 ... 314 */
  uint8_t table;
  int16_t thread_cframe; /* PyThreadState to _PyCFrame; -1: there is none */
  int16_t current_frame; /* in the cframe, or else in the thread state */
  int16_t frame_code, frame_previous, frame_instruction, frame_owner; /* owner -1: there is none */
  int16_t frame_locals;                                               /* the first of them; -1: not known */
  int16_t code_first_line, code_file, code_function, code_table;
  int16_t code_instructions;        /* -1: frame_instruction holds an index (int32), not an address */
  int16_t text_ascii, text_compact; /* where the characters of a str lie */
};
/* Row in use; version 0: no stacks. */
extern struct python_layout python_layout;
extern void *(*python_thread_state)(
    void); /* PyGILState_GetThisThreadState: the calling thread's, with or without the GIL */

/* The owners from here on, FRAME_OWNED_BY_CSTACK (3.12, 3.13), FRAME_OWNED_BY_INTERPRETER and _CSTACK (3.14): an entry
** of C into the interpreter that belongs to no code. */
enum { FRAME_OF_C_STACK = 3 };
/* In the words of a frame that 3.14 calls _PyStackRef: how the reference is counted, not where the object is. */
enum { STACK_REFERENCE_TAG = 3 };
enum { OBJECT_TYPE = 8 }; /* PyObject.ob_type, after the reference count */

/* Takes the row of this version for the proof. false: `reason` says why there can be no stacks. */
bool python_find(unsigned version, char *reason, size_t size);
/* The stack of the caller as text, for the proof: one line a frame from the innermost outwards, "code-address offset
** line first_line file function", the texts in UTF-8 with the characters of control replaced. Returns the length; 0:
** it could not be read. */
size_t python_describe_stack(char *text, size_t size);
/* From now on python_layout is believed (or not). */
void python_believe(bool is_proved);

/* The code object of torch.nn.Module._wrapped_call_impl, a plain function (torch 2.1 on) through which modules are
** called: the first local of its frames is the module. 0: modules are not looked for. */
extern uintptr_t python_module_code;
/* The modules on the caller's stack from the innermost outwards, for the proof; how many. */
unsigned python_describe_modules(uint64_t *modules, unsigned room);

static inline const uint8_t *python_at(const uint8_t *object, int offset) {
  const uint8_t *pointer;
  memcpy(&pointer, object + offset, sizeof pointer);
  return pointer;
}

/* The code object or a local of a frame. */
static inline uintptr_t python_frame_object(const uint8_t *frame, int offset) {
  return (uintptr_t)python_at(frame, offset) & ~(uintptr_t)STACK_REFERENCE_TAG;
}

/* The innermost frame of the calling thread; NULL when it runs no Python. */
static inline const uint8_t *python_current_frame(void) {
  const uint8_t *state = python_thread_state();
  if (!state) return NULL;
  if (python_layout.thread_cframe >= 0) {
    state = python_at(state, python_layout.thread_cframe);
    if (!state) return NULL;
  }
  return python_at(state, python_layout.current_frame);
}

static inline uintptr_t python_instruction(const uint8_t *frame) {
  if (python_layout.code_instructions < 0) {
    int32_t index;
    memcpy(&index, frame + python_layout.frame_instruction, sizeof index);
    return (uintptr_t)(intptr_t)index;
  }
  return (uintptr_t)python_at(frame, python_layout.frame_instruction);
}

/* The number of the stack that begins at this frame, in the tables of the thread; 0: none. `recent`, which may be NULL,
** is where its innermost frame was when the caller asked for the same purpose before. */
uint32_t python_stack_node(struct capture_thread *thread, const uint8_t *frame, struct recent_node *recent);

#endif
