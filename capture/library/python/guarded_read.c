/* guarded_read.c: the kernel reads for us; a bad address is EFAULT (see guarded_read.h). Our own memory is read as that
** of any process (process_vm_readv), or, where a sandbox does not allow this, through a pipe, whose ends are those of a
** thread for files (recorder/file_threads.h). */
#include "guarded_read.h"

#include "dump/descriptor.h"
#include "recorder/file_threads.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/uio.h>
#include <unistd.h>

enum { OUT, IN };
static struct descriptor ends[2] = {{.number = -1}, {.number = -1}};
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER; /* of the bytes within, where the table is the program's */

struct reading {
  const void *address;
  void *copy;
  size_t bytes;
  bool is_done;
};

static bool read_memory(struct reading *reading) {
  struct iovec here = {reading->copy, reading->bytes}, there = {(void *)(uintptr_t)reading->address, reading->bytes};
  ssize_t count = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
  reading->is_done = count == (ssize_t)reading->bytes;
  return count >= 0 || errno == EFAULT;
}

static void make_pipe(void *argument) {
  bool *is_made = argument;
  int numbers[2];
  *is_made = descriptor_is_ours(&ends[OUT]) && descriptor_is_ours(&ends[IN]);
  if (*is_made || !file_open_pipe(numbers)) return;
  bool has_out = descriptor_take(&ends[OUT], numbers[OUT]), has_in = descriptor_take(&ends[IN], numbers[IN]);
  *is_made = has_out && has_in;
}

static void close_pipe(void *argument) {
  (void)argument;
  for (int i = 0; i < 2; i++) descriptor_close(&ends[i]);
}

/* A pipe takes up to 4096 bytes whole or not at all. */
static void read_through_pipe(void *argument) {
  struct reading *reading = argument;
  ssize_t written, got = -1;
  if (!descriptor_is_ours(&ends[OUT]) || !descriptor_is_ours(&ends[IN])) return;
  pthread_mutex_lock(&guard);
  do written = write(ends[IN].number, reading->address, reading->bytes);
  while (written < 0 && errno == EINTR);
  if (written > 0) {
    do got = read(ends[OUT].number, reading->copy, (size_t)written);
    while (got < 0 && errno == EINTR);
  }
  pthread_mutex_unlock(&guard);
  reading->is_done = written == (ssize_t)reading->bytes && got == written;
}

bool guarded_read_begin(void) {
  uint64_t word = 1, copy;
  struct reading reading = {.address = &word, .copy = &copy, .bytes = sizeof word};
  bool is_made = false;
  return read_memory(&reading) || (file_thread_run(FILE_THREAD_QUICK, make_pipe, &is_made) && is_made);
}

void guarded_read_after_fork_in_child(void) { pthread_mutex_init(&guard, NULL); }

void guarded_read_end(void) {
  if (ends[OUT].number >= 0 || ends[IN].number >= 0) file_thread_run(FILE_THREAD_QUICK, close_pipe, NULL);
}

bool guarded_read(const void *address, void *copy, size_t bytes) {
  static _Atomic bool is_refused;
  struct reading reading = {.address = address, .copy = copy, .bytes = bytes};
  if (bytes == 0) return true;
  if (bytes > 4096 || (uintptr_t)address < 4096) return false;
  if (!atomic_load_explicit(&is_refused, memory_order_relaxed)) {
    if (read_memory(&reading)) return reading.is_done;
    atomic_store_explicit(&is_refused, true, memory_order_relaxed);
  }
  return file_thread_run(FILE_THREAD_QUICK, read_through_pipe, &reading) && reading.is_done;
}
