/* parallel.c: see parallel.h. */
#include "store/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { STACK_BYTES = 1 << 20 };

struct loop {
  atomic_size_t next;
  size_t count;
  void (*task)(void *context, size_t i, unsigned worker);
  void *context;
};

struct worker {
  struct loop *loop;
  unsigned number;
  pthread_t thread;
};

static _Thread_local unsigned share_of_thread; /* 0: no limit */

void parallel_set_share(unsigned workers) { share_of_thread = workers; }

unsigned parallel_workers(void) {
  const char *setting = getenv("TFPROF_THREADS");
  long workers = setting ? strtol(setting, NULL, 10) : 0;
  if (workers <= 0) {
    cpu_set_t allowed;
    workers = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
  }
  if (workers < 1) return 1;
  if (share_of_thread && workers > (long)share_of_thread) workers = share_of_thread;
  return workers > PARALLEL_MAXIMUM_WORKERS ? PARALLEL_MAXIMUM_WORKERS : (unsigned)workers;
}

static void work(struct loop *loop, unsigned number) {
  for (;;) {
    size_t i = atomic_fetch_add_explicit(&loop->next, 1, memory_order_relaxed);
    if (i >= loop->count) return;
    loop->task(loop->context, i, number);
  }
}

static void *worker_main(void *argument) {
  struct worker *worker = argument;
  work(worker->loop, worker->number);
  return NULL;
}

void parallel_for(size_t count, void (*task)(void *context, size_t i, unsigned worker), void *context) {
  struct loop loop = {.next = 0, .count = count, .task = task, .context = context};
  struct worker workers[PARALLEL_MAXIMUM_WORKERS];
  unsigned wanted = count > 1 ? parallel_workers() : 1, started = 1;
  if (wanted > count) wanted = (unsigned)count;
  if (wanted > 1) {
    sigset_t all, before;
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) == 0) {
      pthread_attr_setstacksize(&attributes, STACK_BYTES);
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &before); /* threads inherit it */
      for (; started < wanted; started++) {
        workers[started] = (struct worker){.loop = &loop, .number = started};
        if (pthread_create(&workers[started].thread, &attributes, worker_main, &workers[started])) break;
      }
      pthread_sigmask(SIG_SETMASK, &before, NULL);
      pthread_attr_destroy(&attributes);
    }
  }
  work(&loop, 0);
  for (unsigned i = 1; i < started; i++) pthread_join(workers[i].thread, NULL);
}
