/* test_capture_modules.c: modules come and go on many threads while they are seen, looked for, told and declared dead.
**
** The interpreter below is made up: a lock for the GIL, a list of what is alive, a call that is pending.  Each module
** that is told has one row and one number of its own, also where one lies at the address of a dead one.  Built with
** ThreadSanitizer it is the stress test of what the program's threads, the hook's and the writer thread share.
*/
#include "fake_torch.h"

#include "module_discovery.h"
#include "module_facts.h"
#include "module_rows.h"

#define INTERPRETER __attribute__((visibility("default"), used))

enum { THREADS = 3, MODULES = 300, KEPT_ALIVE = 40, ALIVE_MAXIMUM = 4096 };

struct object { /* as PyObject begins */
  int64_t references;
  void *type;
};
struct list {
  struct object head;
  intptr_t size, capacity;
  void **items;
};
static int module_type, other_type, list_type;
static struct object work = {1, NULL}, get_objects = {1, NULL}, start_thread = {1, NULL};
static struct object reference_class = {1, NULL}, died_callback = {1, NULL};

static pthread_mutex_t gil = PTHREAD_MUTEX_INITIALIZER;
static struct object *alive[ALIVE_MAXIMUM]; /* with the GIL held, as all of an interpreter */
static bool is_told[ALIVE_MAXIMUM];
static unsigned alive_count;
static uint64_t told, died;
static int (*_Atomic pending)(void *);
static pthread_t hooks[ALIVE_MAXIMUM];
static unsigned hook_count;

/* ---- The interpreter. */

INTERPRETER int Py_AddPendingCall(int (*function)(void *), void *argument);
INTERPRETER void *PyObject_CallObject(void *callable, void *arguments);
INTERPRETER void *PyTuple_Pack(intptr_t size, ...);
INTERPRETER void *PyList_New(intptr_t size);
INTERPRETER intptr_t PyList_Size(void *list);
INTERPRETER void *PyList_GetItem(void *list, intptr_t index);
INTERPRETER int PyList_Append(void *list, void *object);
INTERPRETER void Py_IncRef(void *object);
INTERPRETER void Py_DecRef(void *object);
INTERPRETER void PyErr_Clear(void);
/* What is looked for, and not used here: models have no parts. */
#define UNUSED_FUNCTION(name) \
  INTERPRETER void name(void); \
  void name(void) { abort(); }
UNUSED_FUNCTION(PyObject_GetAttrString)
UNUSED_FUNCTION(PyDict_GetItemString)
UNUSED_FUNCTION(PyDict_Items)
UNUSED_FUNCTION(PyTuple_GetItem)
UNUSED_FUNCTION(PyLong_FromVoidPtr)
UNUSED_FUNCTION(PyType_IsSubtype)
extern __attribute__((visibility("default"))) struct object PyDict_Type, _Py_NoneStruct, _Py_FalseStruct;
struct object PyDict_Type = {1, NULL}, _Py_NoneStruct = {1, NULL}, _Py_FalseStruct = {1, NULL};

int Py_AddPendingCall(int (*function)(void *), void *argument) {
  check(!argument, "an argument that nobody gave");
  int (*none)(void *) = NULL;
  return atomic_compare_exchange_strong(&pending, &none, function) ? 0 : -1;
}

void *PyList_New(intptr_t size) {
  struct list *list = calloc(1, sizeof *list);
  check(list && !size, "a list of %ld", (long)size);
  list->head = (struct object){1, &list_type};
  return list;
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
void Py_IncRef(void *object) { ((struct object *)object)->references++; }
void Py_DecRef(void *object) {
  struct object *its = object;
  if (--its->references) return;
  if (its->type == &list_type) {
    struct list *list = object;
    while (list->size) Py_DecRef(list->items[--list->size]);
    free(list->items);
  }
  free(object);
}
void PyErr_Clear(void) {}

/* What the hook does with the modules that were found. */
static void *run_hook(void *arguments) {
  pthread_mutex_lock(&gil);
  struct list *found = PyList_GetItem(arguments, 0);
  for (intptr_t i = 0; i < found->size; i++) {
    struct object *module = found->items[i];
    unsigned place = 0;
    while (place < alive_count && alive[place] != module) place++;
    if (place == alive_count || is_told[place]) continue; /* it has been taken from the list, and this is the last */
    check(module_tell(&(struct module_node){.address = (uintptr_t)module, .object_type = (uintptr_t)module->type,
                                            .parent = -1, .name = "module", .type = "Module"}) &&
              module_tell_change(&(struct module_change){.row = (int64_t)told, .kind = "seen", .parameters = 0,
                                                         .bytes = 0, .trainable = -1}),
          "no memory");
    is_told[place] = true;
    told++;
  }
  Py_DecRef(arguments);
  pthread_mutex_unlock(&gil);
  return NULL;
}

void *PyObject_CallObject(void *callable, void *arguments) {
  if (callable == &get_objects) {
    void *list = PyList_New(0);
    for (unsigned i = 0; i < alive_count; i++) PyList_Append(list, alive[i]);
    return list;
  }
  if (callable == &reference_class) { /* a strong one serves */
    void *module = PyList_GetItem(arguments, 0);
    Py_IncRef(module);
    return module;
  }
  check(callable == &start_thread && PyList_GetItem(arguments, 0) == &work, "something else is called");
  void *given = PyList_GetItem(arguments, 1);
  Py_IncRef(given);
  check(hook_count < ALIVE_MAXIMUM && !pthread_create(&hooks[hook_count++], NULL, run_hook, given), "no thread");
  Py_IncRef(&work);
  return &work;
}

/* ---- The program. */

static struct object *make_module(void) {
  struct object *module = malloc(sizeof *module);
  *module = (struct object){1, rand() % 2 ? &module_type : &other_type};
  pthread_mutex_lock(&gil);
  check(alive_count < ALIVE_MAXIMUM, "too many");
  is_told[alive_count] = false;
  alive[alive_count++] = module;
  pthread_mutex_unlock(&gil);
  return module;
}

/* As the hook's weak references do it: whoever was told is declared dead. */
static void drop_module(struct object *module) {
  pthread_mutex_lock(&gil);
  unsigned place = 0;
  while (alive[place] != module) place++;
  if (is_told[place]) {
    module_died((uintptr_t)module, (uintptr_t)module->type);
    died++;
  }
  alive_count--;
  alive[place] = alive[alive_count];
  is_told[place] = is_told[alive_count];
  Py_DecRef(module);
  pthread_mutex_unlock(&gil);
}

static _Atomic int running;

static void *run_program(void *argument) {
  (void)argument;
  struct fake_schema schema;
  fake_schema_make(&schema, "aten::linear");
  struct object *kept[KEPT_ALIVE] = {NULL};
  for (int i = 0; i < MODULES; i++) {
    struct object **place = &kept[i % KEPT_ALIVE];
    if (*place) drop_module(*place);
    *place = make_module();
    struct fake_op op;
    fake_begin(&op, SCOPE_FUNCTION, &schema, true, -1, NULL, 0);
    thread_intern_module(capture_current_thread, (uintptr_t)*place, (uintptr_t)(*place)->type);
    fake_end(&op);
    usleep(1000);
  }
  for (int i = 0; i < KEPT_ALIVE; i++) drop_module(kept[i]);
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
  static bool is_seen[ALIVE_MAXIMUM];
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
      check(values[row] > 0 && values[row] < ALIVE_MAXIMUM && !is_seen[values[row]], "number %lld of row %u",
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

int main(void) {
  fake_torch_begin();
  check(module_discovery_begin(&work, &get_objects, &start_thread) &&
            module_facts_begin(&reference_class, &died_callback, &_Py_NoneStruct),
        "the interpreter lacks a function");
  check(tfprof_capture_arm(), "the library does not arm");
  pthread_t threads[THREADS];
  running = THREADS;
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, run_program, NULL);
  while (running) { /* the main thread of the interpreter */
    int (*call)(void *) = atomic_exchange(&pending, NULL);
    pthread_mutex_lock(&gil);
    if (call) call(NULL);
    pthread_mutex_unlock(&gil);
    usleep(500);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (unsigned i = 0; i < hook_count; i++) pthread_join(hooks[i], NULL);
  char path[4400];
  snprintf(path, sizeof path, "%s", tfprof_capture_path());
  tfprof_capture_finish();
  uint64_t rows = count_nodes(path);
  printf("%llu modules told, %llu of them dead, %u calls\n", (unsigned long long)told, (unsigned long long)died,
         hook_count);
  check(told > KEPT_ALIVE && rows == told, "%llu rows of %llu modules", (unsigned long long)rows,
        (unsigned long long)told);
  check(died == told, "%llu modules were told and %llu died", (unsigned long long)told, (unsigned long long)died);
  return 0;
}
