/* guarded_read.c: the kernel reads for us; a bad address is EFAULT (see guarded_read.h). Our own memory is read as that
** of any process (process_vm_readv), or, where a sandbox does not allow this, through a pipe. */
#include "guarded_read.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/uio.h>
#include <unistd.h>

static int pipe_ends[2] = {-1, -1};
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

bool guarded_read_begin(void) { return pipe_ends[0] >= 0 || pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK) == 0; }

void guarded_read_end(void) {
  if (pipe_ends[0] < 0) return;
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  pipe_ends[0] = pipe_ends[1] = -1;
}

/* A pipe takes up to 4096 bytes whole or not at all; bytes left over by a torn transfer are emptied before the next
** one. */
bool guarded_read(const void *address, void *copy, size_t bytes) {
  static _Atomic bool is_refused;
  if (bytes == 0) return true;
  if (bytes > 4096 || (uintptr_t)address < 4096) return false;
  if (!atomic_load_explicit(&is_refused, memory_order_relaxed)) {
    struct iovec here = {copy, bytes}, there = {(void *)(uintptr_t)address, bytes};
    ssize_t count = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
    if (count >= 0 || errno == EFAULT) return count == (ssize_t)bytes;
    atomic_store_explicit(&is_refused, true, memory_order_relaxed);
  }
  if (pipe_ends[0] < 0) return false;
  pthread_mutex_lock(&guard);
  ssize_t written, got = -1;
  do written = write(pipe_ends[1], address, bytes);
  while (written < 0 && errno == EINTR);
  if (written > 0) {
    do got = read(pipe_ends[0], copy, (size_t)written);
    while (got < 0 && errno == EINTR);
  }
  pthread_mutex_unlock(&guard);
  return written == (ssize_t)bytes && got == written;
}
