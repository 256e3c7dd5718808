/* ticker.c: a thread that wakes each second, since the one that works is inside SQLite. It takes no signals, and writes
** past stderr, which keeps ESC from terminals (printable_errors.h). */
#include "ticker.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static struct {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t stop;
  const char *what;
  bool is_running, is_stopping;
} ticker = {.lock = PTHREAD_MUTEX_INITIALIZER, .stop = PTHREAD_COND_INITIALIZER};

static void *tick(void *unused) {
  (void)unused;
  struct timespec next;
  clock_gettime(CLOCK_REALTIME, &next);
  pthread_mutex_lock(&ticker.lock);
  bool is_shown = false;
  for (int seconds = 1; !ticker.is_stopping; seconds++) {
    next.tv_sec++;
    while (!ticker.is_stopping && pthread_cond_timedwait(&ticker.stop, &ticker.lock, &next) == 0) continue;
    if (ticker.is_stopping) break;
    dprintf(STDERR_FILENO, "\r\033[K%s … %d s", ticker.what, seconds);
    is_shown = true;
  }
  if (is_shown) dprintf(STDERR_FILENO, "\r\033[K");
  pthread_mutex_unlock(&ticker.lock);
  return NULL;
}

void ticker_start(const char *what) {
  if (ticker.is_running || !isatty(STDERR_FILENO)) return;
  ticker.what = what;
  ticker.is_stopping = false;
  sigset_t all, former;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &former);
  ticker.is_running = pthread_create(&ticker.thread, NULL, tick, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &former, NULL);
}

void ticker_stop(void) {
  if (!ticker.is_running) return;
  pthread_mutex_lock(&ticker.lock);
  ticker.is_stopping = true;
  pthread_cond_signal(&ticker.stop);
  pthread_mutex_unlock(&ticker.lock);
  pthread_join(ticker.thread, NULL);
  ticker.is_running = false;
}
