/* python_layout.h: where a thread of CPython has its frames, and what lies in them.
**
** Each minor version has a row of offsets.  A row is used only after the Python hook has compared our view of its own
** stack with sys._getframe() (python_frames.h).  An unknown version means no stacks, never a guess.
*/
#ifndef TFPROF_CAPTURE_PYTHON_LAYOUT_H
#define TFPROF_CAPTURE_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* How a code object says which instruction belongs to which line. */
enum python_table {
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
  int16_t code_flags;
  int16_t text_ascii, text_compact; /* where the characters of a str lie */
  int16_t interpreter_threads; /* PyInterpreterState to the first of its thread states; -1: not known */
  int16_t thread_next, thread_number; /* PyThreadState to the next one, and to the system's number of the thread */
};
/* Row in use; version 0: no stacks. */
extern struct python_layout python_layout;
/* PyGILState_GetThisThreadState: the calling thread's, with or without the GIL. */
extern void *(*python_thread_state)(void);

/* The owners from here on, FRAME_OWNED_BY_CSTACK (3.12, 3.13), FRAME_OWNED_BY_INTERPRETER and _CSTACK (3.14): an entry
** of C into the interpreter that belongs to no code. */
enum { FRAME_OF_C_STACK = 3 };
/* In the words of a frame that 3.14 calls _PyStackRef: how the reference is counted, not where the object is. */
enum { STACK_REFERENCE_TAG = 3 };
enum { OBJECT_TYPE = 8 }; /* PyObject.ob_type, after the reference count */
/* PyDictObject.ma_version_tag, up to 3.13; and **kwargs among the locals, after self and *args. */
enum { DICTIONARY_VERSION = 24, KEYWORDS_LOCAL = 16 };

/* Takes the row of this version for the proof. false: `reason` says why there can be no stacks. */
bool python_find(unsigned version, char *reason, size_t size);
/* That row, until and after it is believed; NULL: there is none. */
const struct python_layout *python_layout_to_prove(void);
/* From now on python_layout is believed (or not). */
void python_believe(bool is_proved);

/* The code object of torch.nn.Module._wrapped_call_impl, a plain function (torch 2.1 on) through which modules are
** called: the first local of its frames is the module. 0: modules are not looked for. */
extern uintptr_t python_module_code;
/* Whether successive calls of a module can be told apart, by the number of the call (python_call_number). */
extern bool python_tells_calls;
static inline const uint8_t *python_at(const uint8_t *object, int offset) {
  const uint8_t *pointer;
  memcpy(&pointer, object + offset, sizeof pointer);
  return pointer;
}

/* The code object or a local of a frame. */
static inline uintptr_t python_frame_object(const uint8_t *frame, int offset) {
  return (uintptr_t)python_at(frame, offset) & ~(uintptr_t)STACK_REFERENCE_TAG;
}

/* Which call it is that a frame of python_module_code makes.  For its **kwargs Python makes a dictionary at each call,
** and numbers all dictionaries, and what is done to them, upwards: the number is that of no other call, and lower than
** those of the calls inside it. */
static inline uint64_t python_call_number(const uint8_t *frame) {
  const uint8_t *keywords = (const uint8_t *)python_frame_object(frame, python_layout.frame_locals + KEYWORDS_LOCAL);
  uint64_t number;
  if (!keywords) return 0;
  memcpy(&number, keywords + DICTIONARY_VERSION, sizeof number);
  return number;
}

/* The innermost frame of a thread that has this state; NULL when it runs no Python. */
static inline const uint8_t *python_frame_of_thread(const uint8_t *state) {
  if (!state) return NULL;
  if (python_layout.thread_cframe >= 0) {
    state = python_at(state, python_layout.thread_cframe);
    if (!state) return NULL;
  }
  return python_at(state, python_layout.current_frame);
}

/* That of the calling thread. */
static inline const uint8_t *python_current_frame(void) { return python_frame_of_thread(python_thread_state()); }

static inline uintptr_t python_instruction(const uint8_t *frame) {
  if (python_layout.code_instructions < 0) {
    int32_t index;
    memcpy(&index, frame + python_layout.frame_instruction, sizeof index);
    return (uintptr_t)(intptr_t)index;
  }
  return (uintptr_t)python_at(frame, python_layout.frame_instruction);
}

/* How far an instruction is from the beginning of its code, in bytes as Python's f_lasti says from 3.10 on. */
static inline uint32_t python_offset_in(const struct python_layout *layout, uintptr_t code, uintptr_t instruction) {
  if (layout->code_instructions >= 0) return (uint32_t)(instruction - (code + (uintptr_t)layout->code_instructions));
  return (uint32_t)instruction * (layout->table == PYTHON_LINETABLE ? 2 : 1);
}
static inline uint32_t python_code_offset(uintptr_t code, uintptr_t instruction) {
  return python_offset_in(&python_layout, code, instruction);
}

#endif
