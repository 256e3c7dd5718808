/* test_capture_c_stacks.c: stacks of C of threads that wait: whose is taken, and that none of them notices. */
#include "stopping_check.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "hangs/c_stacks.h"
#include "hangs/c_symbols.h"

enum { THREADS = 4 };
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static sem_t begun;
static int ends[2];
static uint32_t tids[THREADS];
static int results[THREADS];

static void begin(int number) {
  tids[number] = (uint32_t)syscall(SYS_gettid);
  sem_post(&begun);
}

static void *wait_for_lock(void *unused) {
  begin(0);
  pthread_mutex_lock(&held);
  pthread_mutex_unlock(&held);
  return unused;
}

static void *read_nothing(void *unused) {
  char letter;
  begin(1);
  results[1] = (int)read(ends[0], &letter, 1);
  return unused;
}

static void *sleep_on(void *unused) {
  begin(2);
  results[2] = nanosleep(&(struct timespec){1, 0}, NULL);
  return unused;
}

static void *block_signals(void *unused) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
  begin(3);
  pthread_mutex_lock(&held);
  pthread_mutex_unlock(&held);
  return unused;
}

/* Looks at the thread until it sleeps. */
static struct thread_look look_at(uint32_t tid) {
  struct thread_look look;
  const struct timespec moment = {0, 1000000};
  while (thread_look(tid, &look) && strcmp(look.state, "sleeping") != 0) nanosleep(&moment, NULL);
  return look;
}

static void test_names(void) {
  char text[300];
  size_t length = c_symbols_name((uintptr_t)&strtol + 1, text, sizeof text);
  check(length == strlen(text) && strstr(text, "+0x1"), "line %d", __LINE__);
  length = c_symbols_name(12345, text, sizeof text);
  check(strcmp(text, "0x3039") == 0 && length == 6, "line %d", __LINE__);
  check(c_symbols_name((uintptr_t)&strtol, text, 5) == 4, "line %d", __LINE__);
}

static void test_threads(void) {
  void *(*const functions[THREADS])(void *) = {wait_for_lock, read_nothing, sleep_on, block_signals};
  pthread_t threads[THREADS];
  char texts[THREADS][C_STACK_BYTES + 1];
  pthread_mutex_lock(&held);
  sem_init(&begun, 0, 0);
  check(pipe(ends) == 0, "line %d", __LINE__);
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, functions[i], NULL);
  for (int i = 0; i < THREADS; i++) sem_wait(&begun);
  check(c_stacks_begin(), "line %d", __LINE__);
  for (int i = 0; i < THREADS; i++) {
    struct thread_look look = look_at(tids[i]);
    texts[i][c_stacks_take(tids[i], &look, texts[i], C_STACK_BYTES)] = 0;
  }
  c_stacks_end();
  for (int i = 0; i < 2; i++)
    check(strstr(texts[i], "test_capture_c_stacks+0x") && strchr(texts[i], '\n'), "line %d", __LINE__);
  check(!texts[2][0] && !texts[3][0], "line %d", __LINE__);
  for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
    struct sigaction action;
    check(sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_DFL, "line %d", __LINE__);
  }
  pthread_mutex_unlock(&held);
  check(write(ends[1], "x", 1) == 1, "line %d", __LINE__);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  check(results[1] == 1 && results[2] == 0, "line %d", __LINE__);
}

int main(void) {
#ifdef __SANITIZE_THREAD__
  puts("ThreadSanitizer hands signals on when a thread calls something, and not in the calls that it waits in");
  return 77;
#endif
  const char *reason = c_stacks_prepare();
  if (reason) {
    puts(reason);
    return 77;
  }
  test_names();
  test_threads();
  return 0;
}
