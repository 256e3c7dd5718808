/* python_thread.c: see python_thread.h. */
#include "python_thread.h"

#include "python_api.h"
#include "recorder/own_threads.h"

#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { STOP_WAIT_US = 200000, LOOK_US = 100 }; /* who has the GIL may be the thread that ends the process */

pthread_mutex_t python_threads_lock = PTHREAD_MUTEX_INITIALIZER; /* held for a moment */
static unsigned coming; /* threads that wait for the GIL for the first time */
static bool is_stopped;

static bool may_come(void) {
  pthread_mutex_lock(&python_threads_lock);
  bool may = !is_stopped;
  coming += may;
  pthread_mutex_unlock(&python_threads_lock);
  return may;
}

static void note_come(void) {
  pthread_mutex_lock(&python_threads_lock);
  coming--;
  pthread_mutex_unlock(&python_threads_lock);
}

static void *enter_python(void *function) {
  void (*run)(void);
  memcpy(&run, &function, sizeof run);
  prctl(PR_SET_NAME, "tfprof-python");
  if (!may_come()) return NULL;
  int state = python_api.enter();
  note_come();
  run();
  python_api.leave(state);
  return NULL;
}

bool python_thread_start(void (*run)(void)) {
  void *function;
  memcpy(&function, &run, sizeof function);
  return own_thread_start(NULL, enter_python, function);
}

static bool is_any_coming(void) {
  pthread_mutex_lock(&python_threads_lock);
  is_stopped = true;
  bool is_any = coming != 0;
  pthread_mutex_unlock(&python_threads_lock);
  return is_any;
}

void python_threads_stop(void) {
  for (int waited = 0; is_any_coming() && waited < STOP_WAIT_US; waited += LOOK_US) usleep(LOOK_US);
}

void python_threads_reset(void) { coming = 0; }
