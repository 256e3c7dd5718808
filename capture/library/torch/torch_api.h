/* torch_api.h: PyTorch's RecordFunction, from C.
**
** PyTorch calls a function of ours at the beginning and the end of every op (at::addGlobalCallback).  The functions
** are found by their mangled names in libtorch_cpu.so; the fields of at::RecordFunction that have no exported accessor
** are read from the object.  Where they lie is not believed but proved each time: torch_self_test sends a range of its
** own through PyTorch and finds its values.  The tests have been run with torch 2.2.2 (the old ABI of std::string),
** 2.13.0 and 2.14.1.
*/
#ifndef TFPROF_CAPTURE_TORCH_API_H
#define TFPROF_CAPTURE_TORCH_API_H

#include "channel/thread_record.h" /* enum op_scope: at::RecordScope */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* at::RecordFunctionCallback (ATen/record_function.h): the same 40 bytes in torch 1.12 to 2.15; trivially copyable,
** passed by value. */
struct torch_callback {
  void *start, *end;
  double sampling_probability;
  uint8_t scopes[10];
  uint8_t needs_inputs, needs_outputs, needs_ids, padding[3];
};
_Static_assert(sizeof(struct torch_callback) == 40, "at::RecordFunctionCallback");

/* The start callback is `std::unique_ptr<at::ObserverContext> (*)(const at::RecordFunction &)`.  The result is an
** object with a destructor, so the caller passes the address for it: on x86-64 as the first argument, which is also
** returned; on aarch64 in x8, which C cannot name, hence the shim.  TORCH_START_CALLBACK(f) makes `f_entry` to
** register, which calls void f(void **context, const uint8_t *record_function). */
#if defined(__x86_64__)
#define TORCH_CALLBACKS_SUPPORTED 1
#define TORCH_START_CALLBACK(function)                                              \
  static void *function##_entry(void **context, const uint8_t *function##_record) { \
    function(context, function##_record);                                           \
    return context;                                                                 \
  }
#elif defined(__aarch64__)
#define TORCH_CALLBACKS_SUPPORTED 1
#define TORCH_START_CALLBACK(function)                                                                               \
  void function##_entry(void);                                                                                       \
  void function##_body(void **context, const uint8_t *record_function);                                              \
  __attribute__((used, visibility("hidden"))) void function##_body(void **context, const uint8_t *record_function) { \
    function(context, record_function);                                                                              \
  }                                                                                                                  \
  __asm__(".text\n.p2align 2\n.hidden " #function "_entry\n.globl " #function "_entry\n.type " #function             \
          "_entry,%function\n" #function "_entry:\n  mov x1, x0\n  mov x0, x8\n  b " #function "_body\n");
#else
#define TORCH_CALLBACKS_SUPPORTED 0
#define TORCH_START_CALLBACK(function)  \
  static void *function##_entry(void) { \
    (void)function;                     \
    return NULL;                        \
  }
#endif

/* What C++ keeps of exceptions for a thread (__cxa_eh_globals, Itanium C++ ABI: Exception Handling, 2.2.2). */
struct cxx_exceptions {
  void *caught;
  unsigned uncaught; /* thrown, and not yet caught: their functions are being left */
};

struct torch_functions {
  uint64_t (*add_global_callback)(struct torch_callback);
  uint64_t (*add_thread_callback)(struct torch_callback);
  void (*remove_callback)(uint64_t);
  const char *(*name)(const void *record_function);
  uint64_t (*current_thread)(void); /* the number that RecordFunction gives the calling thread */
  struct cxx_exceptions *(*exceptions)(void); /* those of the calling thread; NULL when not found */
  const void *undefined_tensor;               /* c10::UndefinedTensorImpl::_singleton; NULL when not found */
};
extern struct torch_functions torch;

/* Offsets in at::RecordFunction, proved. */
struct torch_layout {
  uint16_t scope, name, name_kind, sequence, inputs, forward_thread;
  bool has_details; /* sequence, scope and forward_thread were found; without them only name and time are recorded */
  bool has_name_object; /* name_kind 1: the word at `name` is the operator's schema, a stable key */
  bool has_name_text;   /* name_kind 0: at `name` is a std::string {address, length, up to 15 characters} */
  /* A schema begins with a std::string {address, length, up to 15 characters}, its name: proved by an op of
  ** torch_inputs. */
  bool schema_begins_with_text;
};
extern struct torch_layout torch_layout;

/* A handle of the library that is loaded from a path with this end, or NULL, and where it lies in memory. PyTorch's
** libraries are loaded RTLD_LOCAL: only a handle of their own finds their symbols. It is never closed. */
void *torch_open_loaded(const char *suffix, uintptr_t *begin, uintptr_t *end);
/* Finds libtorch_cpu.so and the functions. false: `reason` says what is missing. */
bool torch_find(char *reason, size_t size);
/* Proves torch_layout. false: callbacks do not work at all; true with `reason` filled: degraded. */
bool torch_self_test(char *reason, size_t size);

#endif
