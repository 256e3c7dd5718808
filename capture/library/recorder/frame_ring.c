/* frame_ring.c: see frame_ring.h.
**
** The file is written to with pwrite(2), not mapped: where the system has no more memory a write fails, and a store
** would end the process.
*/
#include "frame_ring.h"

#include "common/control_place.h"
#include "dump/directory.h"
#include "file_threads.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
  SLOTS_OF_TIME = 8, /* the time that is to be kept is so many slots, */
  LEAST_SLOT_NS = 500000000, /* each of which is not shorter, */
  SLOTS_OF_BYTES = 8,        /* and holds no more than such a part of what all may */
  FILE_MODE = 0600,
  NAMES = 1000,
  ERASED_BYTES = 64, /* of a frame, so that none begins there */
  PAGE_BYTES = 4096,
};

/* ---- The file. */

struct opening {
  struct frame_ring *ring;
  int reason;
};

/* A file in memory without a name. */
static int open_anonymous(void) {
#ifdef SYS_memfd_create
  return (int)syscall(SYS_memfd_create, "tfprof-kept", 1u /* MFD_CLOEXEC */);
#else
  errno = ENOSYS;
  return -1;
#endif
}

static bool is_in_memory(const char *place) {
  struct stat facts;
  return stat("/dev/shm", &facts) == 0 && S_ISDIR(facts.st_mode) && place[0];
}

static int open_named(struct frame_ring *ring) {
  char place[64], name[CONTROL_NAME_SIZE], problem[300];
  ring->head.start_time = control_start_time((pid_t)ring->head.process);
  ring->head.launcher_start_time = control_start_time((pid_t)ring->head.launcher);
  kept_place(place, sizeof place, geteuid());
  int directory = is_in_memory(place) ? control_place_open(place, geteuid(), true, problem, sizeof problem) : -1;
  if (directory < 0) return -1;
  close(directory);
  control_name(name, (pid_t)ring->head.process, ring->head.start_time);
  snprintf(ring->path, sizeof ring->path, "%s/%s" KEPT_SUFFIX, place, name);
  unlink(ring->path); /* of this process, from before it became another program */
  return file_open(ring->path, O_RDWR | O_CREAT | O_EXCL, FILE_MODE);
}

/* A file may not be as long as it likes: what is beyond its limit ends the process by a signal. */
static uint64_t span_of_limit(void) {
  struct rlimit limit;
  uint64_t span = KEPT_MOST_SPAN;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    uint64_t share = limit.rlim_cur > KEPT_HEAD_BYTES ? (limit.rlim_cur - KEPT_HEAD_BYTES) / (KEPT_SLOTS + 1) : 0;
    if (share < span) span = share / PAGE_BYTES * PAGE_BYTES;
  }
  return span;
}

static bool write_all(int file, const void *bytes, size_t length, uint64_t offset) {
  const uint8_t *at = bytes;
  while (length) {
    ssize_t done = pwrite(file, at, length, (off_t)offset);
    if (done < 0 && errno == EINTR) continue;
    if (done == 0) errno = ENOSPC;
    if (done <= 0) return false;
    at += done;
    offset += (uint64_t)done;
    length -= (size_t)done;
  }
  return true;
}

static void open_ring_file(void *argument) {
  struct opening *opening = argument;
  struct frame_ring *ring = opening->ring;
  int number = open_named(ring);
  bool is_written = descriptor_take(&ring->file, number) && write_all(number, &ring->head, sizeof ring->head, 0);
  if (!is_written) { /* no such place, or no room in it */
    if (ring->file.number >= 0) descriptor_close(&ring->file);
    if (ring->path[0]) unlink(ring->path);
    ring->path[0] = 0;
    number = open_anonymous();
    is_written = descriptor_take(&ring->file, number) && write_all(number, &ring->head, sizeof ring->head, 0);
  }
  opening->reason = is_written ? 0 : errno;
}

int frame_ring_open(struct frame_ring *ring, const struct kept_head *head, uint64_t after_ns, uint64_t most_bytes) {
  memset(ring, 0, sizeof *ring);
  pthread_mutex_init(&ring->lock, NULL);
  ring->head = *head;
  ring->head.span = span_of_limit();
  ring->most_bytes = most_bytes;
  ring->held_ns = (int64_t)(head->keep_ns + after_ns);
  ring->file.number = -1;
  if (ring->head.span < KEPT_LEAST_SPAN) return EFBIG;
  struct opening opening = {.ring = ring};
  return file_thread_run(FILE_THREAD_QUICK, open_ring_file, &opening) ? opening.reason : EAGAIN;
}

/* 0, or the errno that says why the file cannot be had (dump/descriptor.h). */
static int find_ring_file(struct frame_ring *ring) {
  struct descriptor *file = &ring->file, again;
  if (descriptor_is_ours(file)) return 0;
  file->number = -1;
  if (!ring->path[0]) return ESTALE;
  if (!descriptor_take(&again, file_open(ring->path, O_RDWR, FILE_MODE))) return errno;
  if (again.device != file->device || again.inode != file->inode) {
    descriptor_close(&again);
    return ESTALE;
  }
  *file = again;
  return 0;
}

struct closing {
  struct frame_ring *ring;
  bool is_removed;
};

static void close_ring_file(void *argument) {
  struct closing *closing = argument;
  struct frame_ring *ring = closing->ring;
  if (closing->is_removed && ring->path[0]) unlink(ring->path);
  descriptor_close(&ring->file);
}

void frame_ring_close(struct frame_ring *ring, bool is_removed) {
  struct closing closing = {ring, is_removed};
  file_thread_run(FILE_THREAD_QUICK, close_ring_file, &closing);
}

void frame_ring_forget(struct frame_ring *ring) { memset(ring, 0, sizeof *ring); }

/* ---- Taking and letting go, on the thread for files. */

static uint64_t area_offset(const struct frame_ring *ring, bool is_lasting) {
  return is_lasting ? kept_lasting_offset() : kept_slot_offset(&ring->head, ring->current);
}

uint64_t frame_ring_bytes(const struct frame_ring *ring) {
  uint64_t bytes = 0;
  for (unsigned i = 0; i < KEPT_SLOTS; i++) bytes += atomic_load(&ring->slots[i].length);
  return bytes;
}

/* KEPT_SLOTS: there is none but that one. */
static unsigned oldest_slot(const struct frame_ring *ring, unsigned except) {
  unsigned oldest = KEPT_SLOTS;
  for (unsigned i = 0; i < KEPT_SLOTS; i++) {
    if (!atomic_load(&ring->slots[i].length) || i == except) continue;
    if (oldest == KEPT_SLOTS || ring->slots[i].first_ns < ring->slots[oldest].first_ns) oldest = i;
  }
  return oldest;
}

/* With the lock. What is given back reads as zeros. */
static void let_go(struct frame_ring *ring, unsigned slot) {
  off_t offset = (off_t)kept_slot_offset(&ring->head, slot);
  uint64_t length = (atomic_load(&ring->slots[slot].length) + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
  static const uint8_t nothing[ERASED_BYTES];
  if (fallocate(ring->file.number, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, (off_t)length) != 0)
    write_all(ring->file.number, nothing, sizeof nothing, (uint64_t)offset);
  atomic_store(&ring->slots[slot].length, 0);
}

/* One slot less. false: somebody copies, or there is no other. */
static bool let_oldest_go(struct frame_ring *ring) {
  if (pthread_mutex_trylock(&ring->lock)) return false;
  unsigned oldest = oldest_slot(ring, ring->current);
  if (oldest < KEPT_SLOTS) let_go(ring, oldest);
  pthread_mutex_unlock(&ring->lock);
  return oldest < KEPT_SLOTS;
}

struct taking {
  struct frame_ring *ring;
  const uint8_t *bytes;
  size_t length;
  bool is_lasting;
  int reason;
};

static void take(void *argument) {
  struct taking *taking = argument;
  struct frame_ring *ring = taking->ring;
  _Atomic uint64_t *length = taking->is_lasting ? &ring->lasting_length : &ring->slots[ring->current].length;
  uint64_t before = atomic_load(length);
  taking->reason = find_ring_file(ring);
  if (!taking->reason && before + taking->length > ring->head.span) taking->reason = ENOSPC;
  if (taking->reason) return;
  uint64_t offset = area_offset(ring, taking->is_lasting) + before;
  while (!write_all(ring->file.number, taking->bytes, taking->length, offset)) {
    taking->reason = errno;
    if (taking->reason != ENOSPC && taking->reason != EDQUOT) return;
    ring->is_short_of_memory = ring->is_cut = true;
    if (!let_oldest_go(ring)) return;
    taking->reason = 0;
  }
  atomic_store(length, before + taking->length);
}

int frame_ring_take(void *context, const uint8_t *bytes, size_t length, bool is_lasting) {
  struct frame_ring *ring = context;
  assert(is_lasting || ring->has_slot);
  struct taking taking = {ring, bytes, length, is_lasting, 0};
  return file_thread_run(FILE_THREAD_QUICK, take, &taking) ? taking.reason : EAGAIN;
}

/* ---- Slots. */

static int64_t slot_ns(const struct frame_ring *ring) {
  int64_t ns = ring->held_ns / SLOTS_OF_TIME;
  return ns > LEAST_SLOT_NS ? ns : LEAST_SLOT_NS;
}

bool frame_ring_wants_slot(const struct frame_ring *ring, int64_t now_ns) {
  if (!ring->has_slot) return true;
  const struct ring_slot *slot = &ring->slots[ring->current];
  return now_ns - slot->first_ns >= slot_ns(ring) || atomic_load(&slot->length) >= ring->most_bytes / SLOTS_OF_BYTES;
}

static bool is_too_much(struct frame_ring *ring) {
  if (frame_ring_bytes(ring) <= ring->most_bytes) return false;
  ring->is_cut = true;
  return true;
}

static bool is_too_old(const struct frame_ring *ring, unsigned slot, int64_t now_ns) {
  return ring->slots[slot].last_ns < now_ns - ring->held_ns;
}

struct beginning {
  struct frame_ring *ring;
  int64_t now_ns;
  bool has_begun;
};

/* With the lock: those that are too old, or too much. */
static void let_old_go(struct frame_ring *ring, int64_t now_ns) {
  for (unsigned oldest; (oldest = oldest_slot(ring, KEPT_SLOTS)) < KEPT_SLOTS; let_go(ring, oldest))
    if (!is_too_old(ring, oldest, now_ns) && !is_too_much(ring)) return;
}

/* With the lock. One that is free, as the oldest is then. */
static unsigned free_slot(struct frame_ring *ring) {
  for (unsigned i = 0; i < KEPT_SLOTS; i++)
    if (!atomic_load(&ring->slots[i].length)) return i;
  unsigned oldest = oldest_slot(ring, KEPT_SLOTS);
  ring->is_cut = true;
  let_go(ring, oldest);
  return oldest;
}

static void begin_slot(void *argument) {
  struct beginning *beginning = argument;
  struct frame_ring *ring = beginning->ring;
  if (find_ring_file(ring) || pthread_mutex_trylock(&ring->lock)) return; /* somebody copies */
  if (ring->has_slot) ring->slots[ring->current].last_ns = beginning->now_ns;
  let_old_go(ring, beginning->now_ns);
  ring->current = free_slot(ring);
  struct ring_slot *slot = &ring->slots[ring->current];
  slot->first_ns = slot->last_ns = beginning->now_ns;
  beginning->has_begun = ring->has_slot = true;
  pthread_mutex_unlock(&ring->lock);
}

bool frame_ring_begin_slot(struct frame_ring *ring, int64_t now_ns) {
  struct beginning beginning = {ring, now_ns, false};
  return file_thread_run(FILE_THREAD_QUICK, begin_slot, &beginning) && beginning.has_begun;
}

int64_t frame_ring_oldest_ns(const struct frame_ring *ring) {
  int64_t oldest_ns = ring->has_slot ? ring->slots[ring->current].first_ns : 0;
  unsigned oldest = oldest_slot(ring, ring->current);
  if (oldest < KEPT_SLOTS && ring->slots[oldest].first_ns < oldest_ns) oldest_ns = ring->slots[oldest].first_ns;
  return oldest_ns;
}

/* ---- Copying, on any thread. */

int frame_ring_open_reader(const struct frame_ring *ring) {
  char place[64];
  if (ring->path[0]) return file_open(ring->path, O_RDWR, FILE_MODE);
  long its_thread = file_thread_number(FILE_THREAD_QUICK);
  snprintf(place, sizeof place, "/proc/self/task/%ld/fd/%d", its_thread, ring->file.number);
  return file_open(place, O_RDWR, FILE_MODE);
}

/* A new file; -1, with errno. */
static int create_dump(const struct kept_head *head, char *path, size_t size) {
  if (dump_directory_open(head->run_directory, NULL, NULL)) return errno = EACCES, -1;
  for (int number = 1; number <= NAMES; number++) {
    char suffix[16] = "";
    if (number > 1) snprintf(suffix, sizeof suffix, "-%d", number);
    if ((size_t)snprintf(path, size, "%s/%s%s.tfprof", head->run_directory, head->name, suffix) >= size) break;
    int file = file_open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, FILE_MODE);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

static void note_extent(const struct frame_ring *ring, struct kept_extent *extent) {
  extent->lasting = atomic_load(&ring->lasting_length);
  for (unsigned i = 0; i < KEPT_SLOTS; i++) extent->slots[i] = atomic_load(&ring->slots[i].length);
}

int frame_ring_copy(struct frame_ring *ring, int reader, struct kept_trigger *triggers, unsigned count, char *path,
                    size_t size) {
  struct kept_extent extent;
  uint64_t rows;
  pthread_mutex_lock(&ring->lock);
  note_extent(ring, &extent);
  for (unsigned i = 0; i < count; i++) {
    triggers[i].keep_ns = (int64_t)ring->head.keep_ns;
    triggers[i].kept_from_ns = frame_ring_oldest_ns(ring);
  }
  int file = create_dump(&ring->head, path, size);
  int reason = file < 0 ? errno : kept_dump_write(reader, &ring->head, &extent, triggers, count, file, &rows);
  pthread_mutex_unlock(&ring->lock);
  if (file >= 0 && close(file) != 0 && !reason) reason = errno;
  if (file >= 0 && reason) unlink(path); /* a part of it would pass for the whole */
  return reason;
}

void frame_ring_note_end(struct frame_ring *ring, int reader, int signal_number) {
  ring->head.ended_by = signal_number;
  write_all(reader, &signal_number, sizeof signal_number, offsetof(struct kept_head, ended_by));
}
