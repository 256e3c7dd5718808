/* module_discovery.c: see module_discovery.h. The functions of the interpreter are found by name: nothing is linked. */
#include "module_discovery.h"

#include "clock.h"
#include "module_facts.h"
#include "module_rows.h"
#include "python_code.h"
#include "python_frames.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
  WANTED_MAXIMUM = 4096,
  SHORTEST_PAUSE_MS = 40,
  SHARE = 100,      /* of the time that passes is spent on it at most one part in so many, */
  FREE_CALLS = 8,   /* but for the first times */
  LONGEST_PAUSE_MS = 60000,
};

static struct {
  int (*add_pending_call)(int (*function)(void *), void *argument);
  void *(*call)(void *callable, void *arguments);
  void *(*new_tuple)(intptr_t size, ...);
  void *(*new_list)(intptr_t size);
  intptr_t (*list_size)(void *list);
  void *(*list_item)(void *list, intptr_t index); /* borrowed */
  int (*append)(void *list, void *object);
  void (*increment)(void *object);
  void (*decrement)(void *object);
  void (*clear_error)(void);
  void *work, *get_objects, *start_thread;
  bool is_ready;
} python;

pthread_mutex_t module_discovery_lock = PTHREAD_MUTEX_INITIALIZER;
struct wish {
  uintptr_t address, type;
  unsigned order; /* in which they were seen */
};
static struct wish wanted[WANTED_MAXIMUM];
static unsigned wanted_count;
static bool is_asked; /* and has not been called yet */
static unsigned calls;
static uint64_t fruitless_pause_ms;
static uint64_t next_ms, again_ms; /* 0: not wanted again */

static uint64_t now_ms(void) { return clock_monotonic_ns() / 1000000; }

bool module_discovery_begin(void *work, void *get_objects, void *start_thread) {
  const struct {
    void *target;
    const char *symbol;
  } functions[] = {
      {&python.add_pending_call, "Py_AddPendingCall"}, {&python.call, "PyObject_CallObject"},
      {&python.new_tuple, "PyTuple_Pack"},             {&python.new_list, "PyList_New"},
      {&python.list_size, "PyList_Size"},              {&python.list_item, "PyList_GetItem"},
      {&python.append, "PyList_Append"},               {&python.increment, "Py_IncRef"},
      {&python.decrement, "Py_DecRef"},                {&python.clear_error, "PyErr_Clear"},
  };
  for (unsigned i = 0; i < sizeof functions / sizeof *functions; i++) {
    void *address = dlsym(RTLD_DEFAULT, functions[i].symbol);
    if (!address) return false;
    memcpy(functions[i].target, &address, sizeof address);
  }
  python.work = work;
  python.get_objects = get_objects;
  python.start_thread = start_thread;
  python.increment(work);
  python.increment(get_objects);
  python.increment(start_thread);
  python.is_ready = true;
  return true;
}

void module_discovery_want(uintptr_t address, uintptr_t type) {
  pthread_mutex_lock(&module_discovery_lock);
  bool is_there = false;
  for (unsigned i = 0; i < wanted_count && !is_there; i++)
    is_there = wanted[i].address == address && wanted[i].type == type;
  if (!is_there && wanted_count < WANTED_MAXIMUM) {
    wanted[wanted_count] = (struct wish){address, type, wanted_count};
    wanted_count++;
  }
  pthread_mutex_unlock(&module_discovery_lock);
}

void module_discovery_again(unsigned milliseconds) {
  pthread_mutex_lock(&module_discovery_lock);
  again_ms = now_ms() + milliseconds;
  pthread_mutex_unlock(&module_discovery_lock);
}

static int compare(const void *left, const void *right) {
  const struct wish *a = left, *b = right;
  if (a->address != b->address) return a->address < b->address ? -1 : 1;
  return (a->type > b->type) - (a->type < b->type);
}

/* Appends references to the objects that are at one of these addresses, in the order in which they were seen, and
** says which are dead. false: something failed. */
static bool find_objects(struct wish *wished, unsigned count, void *found) {
  void *objects = python.call(python.get_objects, NULL);
  static void *alive[WANTED_MAXIMUM]; /* by order; with the GIL held */
  memset(alive, 0, count * sizeof *alive);
  intptr_t size = objects ? python.list_size(objects) : 0;
  qsort(wished, count, sizeof *wished, compare);
  for (intptr_t i = 0; i < size; i++) {
    void *object = python.list_item(objects, i);
    struct wish key = {(uintptr_t)object, 0, 0};
    if (key.address < wished[0].address || key.address > wished[count - 1].address) continue;
    key.type = (uintptr_t)python_at(object, OBJECT_TYPE);
    struct wish *place = bsearch(&key, wished, count, sizeof *wished, compare);
    if (place) alive[place->order] = object;
  }
  if (!objects) return false;
  for (unsigned i = 0; i < count; i++) {
    void *reference = alive[i] ? module_facts_reference(alive[i]) : NULL;
    if (alive[i] && (!reference || python.append(found, reference))) size = -1;
    if (reference) python.decrement(reference);
  }
  python.decrement(objects);
  for (unsigned i = 0; i < count; i++) {
    if (alive[wished[i].order]) continue;
    module_died(wished[i].address, wished[i].type);
    python_object_died((const void *)wished[i].address);
  }
  return size >= 0;
}

static struct wish wishes[WANTED_MAXIMUM]; /* used with the GIL held, and never across its release */

/* How many; -1: the recording has ended. */
static int take_wanted(void) {
  pthread_mutex_lock(&module_discovery_lock);
  int count = python.is_ready ? (int)wanted_count : -1;
  memcpy(wishes, wanted, wanted_count * sizeof *wanted);
  wanted_count = 0;
  again_ms = 0;
  pthread_mutex_unlock(&module_discovery_lock);
  return count;
}

void module_discovery_now(void *list) {
  int count = take_wanted();
  if (count > 0 && !find_objects(wishes, (unsigned)count, list)) python.clear_error();
}

/* Called by the interpreter with the GIL held. Whatever fails leaves no trace: an error set here would be the
** program's. */
static int discover(void *unused) {
  (void)unused;
  uint64_t start = clock_monotonic_ns();
  int count = take_wanted();
  if (count < 0) return 0;
  void *found = python.new_list(0);
  if (found && count && !find_objects(wishes, (unsigned)count, found)) python.clear_error();
  void *arguments = found ? python.new_tuple(1, found) : NULL;
  void *start_arguments = arguments ? python.new_tuple(2, python.work, arguments) : NULL;
  void *result = start_arguments ? python.call(python.start_thread, start_arguments) : NULL;
  bool is_fruitless = count && found && python.list_size(found) == 0;
  void *const owned[] = {found, arguments, start_arguments, result};
  for (unsigned i = 0; i < sizeof owned / sizeof *owned; i++)
    if (owned[i]) python.decrement(owned[i]);
  if (!result) python.clear_error();
  pthread_mutex_lock(&module_discovery_lock);
  is_asked = false;
  uint64_t took_ms = (clock_monotonic_ns() - start) / 1000000, pause = ++calls > FREE_CALLS ? took_ms * SHARE : 0;
  fruitless_pause_ms = !is_fruitless ? 0 : fruitless_pause_ms ? fruitless_pause_ms * 2 : SHORTEST_PAUSE_MS;
  if (fruitless_pause_ms > LONGEST_PAUSE_MS) fruitless_pause_ms = LONGEST_PAUSE_MS;
  if (pause < fruitless_pause_ms) pause = fruitless_pause_ms;
  next_ms = now_ms() + (pause > SHORTEST_PAUSE_MS ? pause : SHORTEST_PAUSE_MS);
  pthread_mutex_unlock(&module_discovery_lock);
  return 0;
}

void module_discovery_tick(void) {
  pthread_mutex_lock(&module_discovery_lock);
  uint64_t now = now_ms();
  bool is_due = python.is_ready && !is_asked && now >= next_ms && (wanted_count || (again_ms && now >= again_ms));
  if (is_due) is_asked = true;
  pthread_mutex_unlock(&module_discovery_lock);
  if (!is_due || python.add_pending_call(discover, NULL) == 0) return;
  pthread_mutex_lock(&module_discovery_lock);
  is_asked = false; /* too many calls are pending: at the next tick */
  pthread_mutex_unlock(&module_discovery_lock);
}

void module_discovery_stop(void) {
  pthread_mutex_lock(&module_discovery_lock);
  python.is_ready = false;
  pthread_mutex_unlock(&module_discovery_lock);
}

void module_discovery_reset(void) {
  wanted_count = 0;
  is_asked = false; /* a forked child has no pending calls */
  next_ms = again_ms = fruitless_pause_ms = 0;
  calls = 0;
}
