/* engine_callbacks.c: the range around each backward pass, which PyTorch's own callbacks do not tell of as a whole.
**
** torch::autograd::Engine::execute of libtorch_cpu.so is called through the procedure linkage table, by backward(), by
** grad(), and by a backward pass within another one, from Python and from C++.  This library defines it, too, and is
** loaded earlier, into the global scope, so that the calls come here (as memory_callbacks.h has it).  Its parameters
** are part of its name, so a PyTorch in which they differ (before 1.8) calls its own.
**
** Compiled with -fexceptions: a C++ exception that leaves the backward pass passes through execute() here, whose
** cleanup then ends the range.
*/
#include "next_definition.h"
#include "noted_ranges.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#define ENTRY_POINT __attribute__((visibility("default"), used))
#define EXECUTE "_ZN5torch8autograd6Engine7executeERKSt6vectorINS0_4EdgeESaIS3_EERKS2_IN2at6TensorESaIS9_EEbbbS7_"

/* std::vector<at::Tensor>, which may be moved as it lies in memory. Returned where the caller says, as C++ does of a
** class with a destructor and C of a structure of this size. */
struct tensor_list {
  void *begin, *end, *limit;
};
typedef struct tensor_list execute_function(void *engine, const void *roots, const void *inputs, bool keep_graph,
                                            bool create_graph, bool accumulate, const void *outputs);

ENTRY_POINT execute_function backward_pass __asm__(EXECUTE);

static execute_function *_Atomic torch_execute;
static pthread_once_t find_once = PTHREAD_ONCE_INIT;
static void *_Atomic first_caller; /* a place in the code that called first */

/* A program that runs without us has a next definition, for who else would call? Where there is none all the same, the
** program gets an exception, which says what is missing: there is nothing to go on with. */
static struct tensor_list execute_nothing(void *engine, const void *roots, const void *inputs, bool keep_graph,
                                          bool create_graph, bool accumulate, const void *outputs) {
  (void)engine, (void)roots, (void)inputs, (void)keep_graph, (void)create_graph, (void)accumulate, (void)outputs;
  void (*throw_error)(const char *);
  void *function = dlsym(RTLD_DEFAULT, "_ZSt21__throw_runtime_errorPKc"); /* of libstdc++ */
  memcpy(&throw_error, &function, sizeof function);
  if (throw_error) throw_error("torch::autograd::Engine::execute is defined by no library that is loaded");
  return (struct tensor_list){NULL, NULL, NULL};
}

static void find_engine(void) {
  void *address = next_definition(EXECUTE, "/libtorch_cpu.so", first_caller);
  execute_function *function = execute_nothing;
  if (address) memcpy(&function, &address, sizeof address);
  atomic_store_explicit(&torch_execute, function, memory_order_release);
}

struct noted {
  uint64_t start_ticks;
  bool accumulates; /* into .grad, as backward() does */
};
static void pass_left(struct noted *noted) {
  noted_range_end(noted->accumulates ? "torch.autograd.backward" : "torch.autograd.grad", noted->start_ticks);
}

struct tensor_list backward_pass(void *engine, const void *roots, const void *inputs, bool keep_graph,
                                 bool create_graph, bool accumulate, const void *outputs) {
  execute_function *execute = atomic_load_explicit(&torch_execute, memory_order_acquire);
  if (!execute) {
    first_caller = __builtin_return_address(0);
    pthread_once(&find_once, find_engine);
    execute = atomic_load_explicit(&torch_execute, memory_order_acquire);
  }
  struct noted noted __attribute__((cleanup(pass_left), unused)) = {noted_pass_begin(), accumulate};
  return execute(engine, roots, inputs, keep_graph, create_graph, accumulate, outputs);
}
