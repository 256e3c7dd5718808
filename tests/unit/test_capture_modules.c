/* test_capture_modules.c: modules come and go on many threads while they are seen, looked for, told and declared dead.
**
** The interpreter below is made up: a lock for the GIL, threads with stacks of frames, weak references, a call that is
** pending.  Each module has one number of its own while it lives, those of a model that is made again are the ones of
** before, and what is told refers to no other. Built with ThreadSanitizer it is the stress test of what the program's
** threads, the looker, the hook's threads and the writer thread share.
*/
#include "fake_torch.h"

#include "python/python_api.h"
#include "python/python_frames.h"
#include "python/python_thread.h"
#include "torch/known_modules.h"
#include "torch/module_discovery.h"
#include "torch/module_facts.h"
#include "torch/module_rows.h"
#include "torch/module_sightings.h"

#include <signal.h>

#define INTERPRETER __attribute__((visibility("default"), used))

enum { THREADS = 3, MODELS = 300, KEPT_ALIVE = 40, ALIVE_MAXIMUM = 4096, NUMBERS = 1 << 16 };

struct type { /* as PyTypeObject begins */
  int64_t references;
  void *type;
  int64_t size;
  const char *name;
};
static struct type module_type = {.references = 1, .name = "Module"},
                   other_type = {.references = 1, .name = "Other"}, list_type, number_type, function_type,
                   reference_type, base_type; /* torch.nn.Module, torch.Tensor */

struct object { /* as PyObject begins */
  int64_t references;
  void *type;
};
struct list { /* or tuple */
  struct object head;
  intptr_t size, capacity;
  void **items;
};
struct number {
  struct object head;
  long long value;
};
struct definition {
  const char *name;
  void *(*function)(void *, void *);
};
struct function {
  struct object head;
  struct definition *definition;
  void *self;
};
struct module {
  struct object head;
  struct module *child;
  struct reference *reference;
};
struct reference {
  struct object head;
  struct module *target;
  struct function *callback;
};
struct dictionary {
  struct object head;
  struct module *module; /* its __dict__; NULL: an empty one */
  bool is_of_modules;    /* its _modules */
};
struct frame {
  void *code;
  const struct frame *previous;
  void *module;
};
struct python_thread {
  const struct frame *frame;
  struct python_thread *next;
};

static struct object work = {1, NULL}, get_objects = {1, NULL};
static int module_code[8];
static pthread_mutex_t gil = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool has_gil;
static struct python_thread *states; /* with the GIL held, as all of an interpreter */
static struct module *alive[ALIVE_MAXIMUM];
static unsigned alive_count;
static int (*_Atomic pending)(void *);
static _Thread_local struct python_thread *own_state;
static unsigned work_count;
static uint64_t rows_told, told_again;
static int64_t row_of[NUMBERS]; /* by number: its row and one */

static void take_gil(void) {
  pthread_mutex_lock(&gil);
  has_gil = true;
}
static void give_gil(void) {
  has_gil = false;
  pthread_mutex_unlock(&gil);
}

/* ---- The interpreter. */

extern __attribute__((visibility("default"))) struct type PyDict_Type;
extern __attribute__((visibility("default"))) struct object _Py_NoneStruct, _Py_FalseStruct;
struct type PyDict_Type;
struct object _Py_NoneStruct = {1, NULL}, _Py_FalseStruct = {1, NULL};

INTERPRETER void Py_IncRef(void *object);
INTERPRETER void Py_DecRef(void *object);
INTERPRETER void PyErr_Clear(void);
INTERPRETER void *PyObject_CallObject(void *callable, void *arguments);
INTERPRETER void *PyObject_GetAttrString(void *object, const char *name);
INTERPRETER void *PyObject_GenericGetDict(void *object, void *context);
INTERPRETER int PyType_IsSubtype(void *type, void *of);
INTERPRETER int64_t PyObject_Hash(void *object);
INTERPRETER void *PyDict_GetItemString(void *dictionary, const char *key);
INTERPRETER void *PyDict_Items(void *dictionary);
INTERPRETER void *PyList_New(intptr_t size);
INTERPRETER intptr_t PyList_Size(void *list);
INTERPRETER void *PyList_GetItem(void *list, intptr_t index);
INTERPRETER int PyList_Append(void *list, void *object);
INTERPRETER void *PyTuple_Pack(intptr_t size, ...);
INTERPRETER void *PyTuple_GetItem(void *tuple, intptr_t index);
INTERPRETER void *PyLong_FromLongLong(long long value);
INTERPRETER void *PyLong_FromVoidPtr(void *address);
INTERPRETER void *PyLong_AsVoidPtr(void *number);
INTERPRETER void *PyWeakref_NewRef(void *object, void *callback);
INTERPRETER void *PyCFunction_NewEx(void *definition, void *self, void *module);
INTERPRETER int Py_AddPendingCall(int (*function)(void *), void *argument);
INTERPRETER int PyGILState_Check(void);
INTERPRETER void *PyEval_SaveThread(void);
INTERPRETER void PyEval_RestoreThread(void *state);
INTERPRETER int PyGILState_Ensure(void);
INTERPRETER void PyGILState_Release(int state);
INTERPRETER void *PyInterpreterState_Main(void);
INTERPRETER void *PyInterpreterState_ThreadHead(void *interpreter);
INTERPRETER void *PyThreadState_Next(void *thread);

static void *new_object(size_t size, void *type) {
  struct object *object = calloc(1, size);
  check(object != NULL, "no memory");
  *object = (struct object){1, type};
  return object;
}

void Py_IncRef(void *object) {
  check(has_gil, "without the GIL");
  ((struct object *)object)->references++;
}

void Py_DecRef(void *object) {
  struct object *its = object;
  check(has_gil && its->references > 0, "a reference that is nobody's");
  if (--its->references) return;
  if (its->type == &list_type) {
    struct list *list = object;
    while (list->size) Py_DecRef(list->items[--list->size]);
    free(list->items);
  } else if (its->type == &function_type) {
    Py_DecRef(((struct function *)object)->self);
  } else if (its->type == &reference_type) {
    struct reference *reference = object;
    if (reference->target) reference->target->reference = NULL;
    if (reference->callback) Py_DecRef(reference->callback);
  } else if (its->type == &module_type || its->type == &other_type) {
    struct module *module = object;
    struct reference *reference = module->reference;
    if (reference) {
      struct function *callback = reference->callback;
      reference->target = NULL;
      reference->callback = NULL;
      Py_DecRef(callback->definition->function(callback->self, reference));
      Py_DecRef(callback);
    }
    unsigned place = 0;
    while (alive[place] != module) place++;
    alive[place] = alive[--alive_count];
    if (module->child) Py_DecRef(module->child);
  }
  free(object);
}

void PyErr_Clear(void) {}
void *PyObject_GetAttrString(void *object, const char *name) {
  (void)object;
  (void)name;
  abort(); /* models have no parameters here */
}

void *PyObject_GenericGetDict(void *object, void *context) {
  check(!context, "a context");
  struct dictionary *dictionary = new_object(sizeof *dictionary, &PyDict_Type);
  dictionary->module = object;
  return dictionary;
}

void *PyDict_GetItemString(void *object, const char *key) {
  static _Thread_local struct dictionary parts[2];
  struct dictionary *part = &parts[!strcmp(key, "_modules")];
  *part = (struct dictionary){{1, &PyDict_Type}, ((struct dictionary *)object)->module, part == &parts[1]};
  return part;
}

void *PyDict_Items(void *object) {
  const struct dictionary *dictionary = object;
  void *list = PyList_New(0);
  struct module *child = dictionary->is_of_modules ? dictionary->module->child : NULL;
  if (!child) return list;
  void *key = PyLong_FromLongLong(7), *item = PyTuple_Pack(2, key, child);
  PyList_Append(list, item);
  Py_DecRef(key);
  Py_DecRef(item);
  return list;
}

int PyType_IsSubtype(void *type, void *of) {
  return type == of || (of == &base_type && (type == &module_type || type == &other_type));
}
int64_t PyObject_Hash(void *object) { return ((struct number *)object)->value; }

void *PyList_New(intptr_t size) {
  check(!size && has_gil, "a list of %ld", (long)size);
  return new_object(sizeof(struct list), &list_type);
}
intptr_t PyList_Size(void *list) { return ((struct list *)list)->size; }
void *PyList_GetItem(void *list, intptr_t index) { return ((struct list *)list)->items[index]; }
int PyList_Append(void *object, void *item) {
  struct list *list = object;
  if (list->size == list->capacity) {
    list->capacity = list->capacity ? list->capacity * 2 : 16;
    list->items = realloc(list->items, (size_t)list->capacity * sizeof *list->items);
  }
  Py_IncRef(item);
  list->items[list->size++] = item;
  return 0;
}
void *PyTuple_Pack(intptr_t size, ...) {
  void *tuple = PyList_New(0);
  va_list items;
  va_start(items, size);
  while (size--) PyList_Append(tuple, va_arg(items, void *));
  va_end(items);
  return tuple;
}
void *PyTuple_GetItem(void *tuple, intptr_t index) { return PyList_GetItem(tuple, index); }

void *PyLong_FromLongLong(long long value) {
  struct number *number = new_object(sizeof *number, &number_type);
  number->value = value;
  return number;
}
void *PyLong_FromVoidPtr(void *address) { return PyLong_FromLongLong((long long)(intptr_t)address); }
void *PyLong_AsVoidPtr(void *number) { return (void *)(intptr_t)((struct number *)number)->value; }

void *PyWeakref_NewRef(void *object, void *callback) {
  struct module *module = object;
  check(!module->reference, "a module is referred to twice");
  struct reference *reference = new_object(sizeof *reference, &reference_type);
  reference->target = module;
  reference->callback = callback;
  Py_IncRef(callback);
  return module->reference = reference;
}

void *PyCFunction_NewEx(void *definition, void *self, void *module) {
  check(!module, "a module");
  struct function *function = new_object(sizeof *function, &function_type);
  function->definition = definition;
  function->self = self;
  Py_IncRef(self);
  return function;
}

int Py_AddPendingCall(int (*function)(void *), void *argument) {
  check(!argument, "an argument that nobody gave");
  int (*none)(void *) = NULL;
  return atomic_compare_exchange_strong(&pending, &none, function) ? 0 : -1;
}
int PyGILState_Check(void) { return has_gil; }
void *PyEval_SaveThread(void) {
  give_gil();
  return &gil;
}
void PyEval_RestoreThread(void *state) {
  check(state == &gil, "another state");
  take_gil();
}
int PyGILState_Ensure(void) {
  sigset_t blocked;
  pthread_sigmask(SIG_BLOCK, NULL, &blocked);
  check(sigismember(&blocked, SIGTERM) && sigismember(&blocked, SIGUSR1), "a thread of ours takes signals");
  take_gil();
  return 7;
}
void PyGILState_Release(int state) {
  check(state == 7, "another state");
  give_gil();
}
void *PyInterpreterState_Main(void) { return &states; }
void *PyInterpreterState_ThreadHead(void *interpreter) { return *(struct python_thread **)interpreter; }
void *PyThreadState_Next(void *thread) { return ((struct python_thread *)thread)->next; }

/* ---- The hook. */

static uint32_t number_in(void *tuple, intptr_t place) {
  const struct number *number = PyList_GetItem(tuple, place);
  check(number->head.type == &number_type && number->value >= 0 && number->value < NUMBERS, "no number");
  return (uint32_t)number->value;
}

static void tell_model(struct list *facts) {
  for (intptr_t i = 0; i < facts->size; i++) {
    uint32_t number = number_in(facts->items[i], 0);
    check(number != 0, "a module without a number");
    if (row_of[number]) continue;
    check(module_tell(&(struct module_node){.module = number, .parent = -1, .name = "module", .type = "Module"}),
          "no memory");
    row_of[number] = (int64_t)++rows_told;
  }
}

static void take_news(struct list *news) {
  for (intptr_t i = 0; i < news->size; i++) {
    struct object *second = PyList_GetItem(news->items[i], 1);
    uint32_t first = number_in(news->items[i], 0);
    if (second->type == &list_type) {
      tell_model((struct list *)(void *)second);
      continue;
    }
    uint32_t seen = number_in(news->items[i], 1);
    check(first && row_of[first] && !row_of[seen], "%u is %u again, which was not told", seen, first);
    check(module_tell_change(&(struct module_change){.row = row_of[first] - 1, .kind = "made again", .parameters = -1,
                                                     .bytes = -1, .trainable = -1, .module = seen}),
          "no memory");
    told_again++;
  }
}

static void run_hook(void) {
  struct list *news = PyList_New(0);
  module_discovery_take(news, false);
  take_news(news);
  Py_DecRef(news);
}

void *PyObject_CallObject(void *callable, void *arguments) {
  check(has_gil, "without the GIL");
  struct object *its = callable;
  if (callable == &get_objects) {
    void *list = PyList_New(0);
    for (unsigned i = 0; i < alive_count; i++) PyList_Append(list, alive[i]);
    return list;
  }
  if (its->type == &reference_type) {
    void *target = ((struct reference *)callable)->target ? (void *)((struct reference *)callable)->target
                                                          : (void *)&_Py_NoneStruct;
    Py_IncRef(target);
    return target;
  }
  check(callable == &work && !arguments, "something else is called");
  run_hook();
  work_count++;
  Py_IncRef(&_Py_NoneStruct);
  return &_Py_NoneStruct;
}

/* ---- The program. */

static struct module *make_module(struct module *child) {
  struct module *module = new_object(sizeof *module, rand() % 2 ? &module_type : &other_type);
  module->child = child;
  check(alive_count < ALIVE_MAXIMUM, "too many");
  alive[alive_count++] = module;
  return module;
}

static _Atomic int running;

/* An op in a module, which is called by another one. */
static void run_op(struct python_thread *state, struct module *module) {
  struct fake_schema schema;
  fake_schema_make(&schema, "aten::linear");
  struct frame outer = {module_code, NULL, module}, inner = {module_code, &outer, module->child};
  take_gil();
  state->frame = &inner;
  give_gil();
  struct fake_op op;
  fake_begin(&op, SCOPE_FUNCTION, &schema, true, -1, NULL, 0);
  module_sighting_number(capture_current_thread, (uintptr_t)module, (uintptr_t)module->head.type);
  module_sighting_number(capture_current_thread, (uintptr_t)module->child, (uintptr_t)module->child->head.type);
  module_sightings_resolve(capture_current_thread, true);
  fake_end(&op);
  take_gil();
  state->frame = NULL;
  give_gil();
}

static void *run_program(void *argument) {
  struct python_thread *state = argument;
  struct fake_schema schema;
  struct fake_op op;
  fake_schema_make(&schema, "aten::ones");
  /* Entered before it is Python's: its frames have no code that could be sampled. */
  fake_begin(&op, SCOPE_FUNCTION, &schema, true, -1, NULL, 0);
  fake_end(&op);
  own_state = state;
  struct module *kept[KEPT_ALIVE] = {NULL};
  for (int i = 0; i < MODELS + KEPT_ALIVE; i++) {
    struct module **place = &kept[i % KEPT_ALIVE];
    take_gil();
    if (*place) Py_DecRef(*place);
    *place = i < MODELS ? make_module(make_module(NULL)) : NULL;
    give_gil();
    if (*place) run_op(state, *place);
    usleep(500);
  }
  running--;
  return NULL;
}

/* The rows of nodes; each has a number of its own. */
static uint64_t count_nodes(const char *path) {
  struct tfprof_error error;
  struct dump_file *file;
  struct dump_cursor *cursor;
  check(dump_file_open(path, &file, &error) == TFPROF_OK, "%s cannot be read", path);
  check(dump_cursor_open(file, &cursor, &error) == TFPROF_OK, "no cursor");
  static bool is_seen[NUMBERS];
  uint64_t rows = 0;
  for (size_t i = 0; i < file->frame_count; i++) {
    const struct dump_frame *frame = &file->frames[i];
    if (frame->table_dump_id != DUMP_TABLE_nodes) continue;
    const struct dump_block *block = dump_frame_block(frame, DUMP_nodes_recorded_module);
    check(block != NULL, "modules have no numbers");
    int64_t *values = calloc(frame->rows, sizeof *values);
    uint64_t nulls[DUMP_MAXIMUM_FRAME_ROWS / 64];
    check(dump_block_decode(cursor, frame, block, values, nulls, &error) == TFPROF_OK, "numbers cannot be read");
    for (uint32_t row = 0; row < frame->rows; row++) {
      check(values[row] > 0 && values[row] < NUMBERS && !is_seen[values[row]], "number %lld of row %u",
            (long long)values[row], row);
      is_seen[values[row]] = true;
    }
    free(values);
    rows += frame->rows;
  }
  dump_cursor_close(cursor);
  dump_file_close(file);
  return rows;
}

static void *state_of_caller(void) { return own_state; }

int main(void) {
  static struct python_thread made[THREADS];
  setenv("TFPROF_PYTHON_MODE", "none", 1); /* the frames have no code that could be copied */
  fake_torch_begin();
  python_layout = (struct python_layout){.version = 313, .thread_cframe = -1, .current_frame = 0, .frame_code = 0,
                                         .frame_previous = 8, .frame_owner = -1, .frame_locals = 16};
  python_module_code = (uintptr_t)module_code;
  python_thread_state = state_of_caller;
  check(python_api_find(), "the interpreter lacks a function");
  take_gil();
  module_facts_begin(&(struct module_classes){&base_type, &base_type, &_Py_NoneStruct, &_Py_NoneStruct});
  module_discovery_begin(&work, &get_objects);
  for (int i = 0; i < THREADS; i++) {
    made[i].next = states;
    states = &made[i];
  }
  give_gil();
  check(tfprof_capture_arm(), "the library does not arm");
  pthread_t threads[THREADS];
  running = THREADS;
  module_discovery_begin_looking();
  module_discovery_begin_looking();
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, run_program, &made[i]);
  while (running) { /* the main thread of the interpreter */
    int (*call)(void *) = atomic_exchange(&pending, NULL);
    take_gil();
    if (call) call(NULL);
    give_gil();
    usleep(500);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  python_threads_stop();
  take_gil();
  struct list *rest = PyList_New(0);
  module_discovery_take(rest, true);
  take_news(rest);
  Py_DecRef(rest);
  give_gil();
  char path[4400];
  snprintf(path, sizeof path, "%s", tfprof_capture_path());
  tfprof_capture_finish();
  uint64_t rows = count_nodes(path);
  printf("%llu modules told, %llu made again, %u calls\n", (unsigned long long)rows_told,
         (unsigned long long)told_again, work_count);
  check(rows_told > KEPT_ALIVE && rows == rows_told, "%llu rows of %llu modules", (unsigned long long)rows,
        (unsigned long long)rows_told);
  /* Of four sorts of models no more than those that live are ever new. */
  check(rows_told <= 2 * THREADS * 4 * (KEPT_ALIVE + 2) && told_again > 100, "%llu modules, %llu made again",
        (unsigned long long)rows_told, (unsigned long long)told_again);
  return 0;
}
