/* python_worker.c: see python_worker.h. */
#include "python_worker.h"

#include "python_api.h"
#include "python_thread.h"

/* Held for a moment, and never while Python is called. */
pthread_mutex_t python_worker_lock = PTHREAD_MUTEX_INITIALIZER;
static void *callables[PYTHON_WORKS];
static unsigned asked; /* a bit for each */
static bool is_running;

void python_worker_give(enum python_work work, void *callable) {
  python_api.increment(callable);
  pthread_mutex_lock(&python_worker_lock);
  callables[work] = callable;
  pthread_mutex_unlock(&python_worker_lock);
}

/* NULL: nothing is asked for, and the thread is over. */
static void *take_callable(void) {
  void *callable = NULL;
  pthread_mutex_lock(&python_worker_lock);
  for (unsigned work = 0; work < PYTHON_WORKS && !callable; work++) {
    if (!(asked >> work & 1)) continue;
    asked &= ~(1u << work);
    callable = callables[work];
  }
  if (!callable) is_running = false;
  pthread_mutex_unlock(&python_worker_lock);
  return callable;
}

static void call_what_is_asked(void) {
  for (void *callable; (callable = take_callable());) {
    void *result = python_api.call(callable, NULL);
    if (result) python_api.decrement(result);
    else python_api.clear_error();
  }
}

void python_worker_ask(enum python_work work) {
  pthread_mutex_lock(&python_worker_lock);
  asked |= 1u << work;
  /* Where it cannot be started the next one who asks tries. */
  if (!is_running) is_running = python_thread_start(call_what_is_asked);
  pthread_mutex_unlock(&python_worker_lock);
}

void python_worker_reset(void) {
  asked = 0;
  is_running = false;
}
