/* test_capture_memory.c: what is told about memory comes out of the dump, from many threads at once, and reaches a
** profiler of the user as PyTorch's own allocator would have told it.  The allocator is made up: it calls the functions
** that stand in the place of PyTorch's. Built with ThreadSanitizer it is the stress test of all that is shared. */
#include "fake_torch.h"

#include "memory_callbacks.h"
#include "python_frames.h"
#include "recording.h"

#include <sys/wait.h>

bool memory_enabled(void) __asm__("_ZN3c1022memoryProfilingEnabledEv");
void memory_reported(void *address, int64_t bytes, size_t in_use, size_t reserved, struct torch_device device)
    __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
void memory_failed(int64_t bytes, size_t in_use, size_t reserved, struct torch_device device)
    __asm__("_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE");

enum { THREADS = 4, ROUNDS = 5000, PIECES = 3000, USER_ROUNDS = 40000 };
static const struct torch_device cpu = {DEVICE_TYPE_CPU, -1}, gpu = {DEVICE_TYPE_CUDA, 1};
static _Atomic uint64_t in_use;

/* ---- The user's profiler. */

static bool user_is_active;
static struct told {
  void *address;
  int64_t bytes;
  size_t in_use;
} last_told, last_failure;
static uint64_t told_count;

static bool user_listens(void) { return user_is_active; }
static void tell_user(void *address, int64_t bytes, size_t total, size_t reserved, struct torch_device device) {
  check(device.type != DEVICE_TYPE_CPU || reserved == 0, "the CPU's allocator reserves nothing");
  last_told = (struct told){address, bytes, total};
  told_count++;
}
static void tell_user_failure(int64_t bytes, size_t total, size_t reserved, struct torch_device device) {
  (void)reserved;
  (void)device;
  last_failure = (struct told){NULL, bytes, total};
}

static void give(void *address, int64_t bytes) {
  size_t total = atomic_fetch_add(&in_use, (uint64_t)bytes) + (uint64_t)bytes;
  memory_reported(address, bytes, total, 0, cpu);
}

/* Pieces come and go at random addresses, the profiler is switched on and off: it is told what an allocator would tell
** whose table has only what was given while it was on. */
static void test_forwarding(void) {
  static int64_t given[PIECES], known[PIECES];
  uint64_t random = 1;
  size_t total = 0;
  for (int round = 0; round < USER_ROUNDS; round++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    size_t piece = (size_t)(random >> 33) % PIECES;
    void *address = (void *)(uintptr_t)(0x10000 + piece * 64);
    if (round % 1000 == 0) user_is_active = round / 1000 % 3 != 0;
    uint64_t before = told_count;
    int64_t bytes = given[piece] ? -given[piece] : (int64_t)(random >> 50) + 1;
    bool is_told = user_is_active && (bytes > 0 || known[piece]);
    if (is_told) {
      total += (size_t)(bytes > 0 ? bytes : -known[piece]);
      known[piece] = bytes > 0 ? bytes : 0;
    }
    int64_t expected = bytes;
    given[piece] = bytes > 0 ? bytes : 0;
    give(address, bytes);
    check(told_count - before == is_told, "round %d: the user is told %d times", round, (int)(told_count - before));
    check(!is_told || (last_told.address == address && last_told.in_use == total), "round %d: total %zu and not %zu",
          round, last_told.in_use, total);
    check(!is_told || bytes < 0 || last_told.bytes == expected, "round %d: %lld bytes", round,
          (long long)last_told.bytes);
  }
  user_is_active = true;
  memory_failed(1 << 20, 77, 0, cpu);
  check(last_failure.bytes == 1 << 20 && last_failure.in_use == total, "a failure with %zu in use", last_failure.in_use);
  user_is_active = false;
  /* Other allocators tell in any case. */
  memory_reported((void *)0x1000, 512, 1024, 2048, gpu);
  check(last_told.bytes == 512 && last_told.in_use == 1024, "the user is not told of another device");
  for (size_t piece = 0; piece < PIECES; piece++)
    if (given[piece]) give((void *)(uintptr_t)(0x10000 + piece * 64), -given[piece]);
}

static void *run_thread(void *argument) {
  uintptr_t base = (uintptr_t)(intptr_t)argument << 32;
  static const char *const names[2] = {"outer", "inner"};
  for (int round = 0; round < ROUNDS; round++) {
    struct fake_op ops[2];
    while (round % 32 == 0 && chunk_pool_used() > 100) usleep(500);
    for (int i = 0; i < 2; i++) {
      fake_begin(&ops[i], SCOPE_FUNCTION, names[i], false, -1, NULL, 0);
      give((void *)(base + (uintptr_t)round * 2 + (uintptr_t)i), 100 + i);
    }
    for (int i = 2; i--;) {
      give((void *)(base + (uintptr_t)round * 2 + (uintptr_t)i), -(100 + i));
      fake_end(&ops[i]);
    }
  }
  return NULL;
}

static uint64_t rows_of(const struct dump_file *file, uint16_t table) {
  uint64_t rows = 0;
  for (size_t i = 0; i < file->frame_count; i++)
    if (file->frames[i].table_dump_id == table) rows += file->frames[i].rows;
  return rows;
}

/* A child that only releases what it inherited leaves no file; one that allocates does. */
static void test_fork(const char *directory, bool allocates) {
#ifdef __SANITIZE_THREAD__
  (void)directory; /* ThreadSanitizer allows no threads in the child */
  (void)allocates;
#else
  int status;
  pid_t pid = fork();
  if (pid == 0) {
    give((void *)0x20000, -1);
    if (allocates) give((void *)0x20000, 1);
    if (allocates) give((void *)0x20000, -1);
    tfprof_capture_finish();
    _exit(0);
  }
  check(waitpid(pid, &status, 0) == pid && status == 0, "the child ended with status %d", status);
  char host[128], path[512];
  check(gethostname(host, sizeof host) == 0, "no host name");
  snprintf(path, sizeof path, "%s/%s-%d.tfprof", directory, host, (int)pid);
  check((access(path, F_OK) == 0) == allocates, "%s is%s there", path, allocates ? " not" : "");
  if (!allocates) return;
  struct read_dump dump;
  read_dump_file(path, &dump);
  check(rows_of(dump.file, DUMP_TABLE_memory_events) == 2, "the child has other rows");
  release_dump(&dump);
#endif
}

int main(void) {
  char directory[] = "/tmp/tfprof-test-XXXXXX", path[4352];
  fake_torch_begin(directory);
  check(memory_enabled(), "PyTorch is not asked to tell");
  torch_memory = (struct torch_memory_functions){user_listens, tell_user, tell_user_failure, 0, UINTPTR_MAX};

  char reason[256] = "";
  memory_watch();
  check(!memory_prove(0x5000, 64, reason, sizeof reason) && strstr(reason, "before the library"), "%s", reason);
  memory_watch();
  memory_reported((void *)0x5000, 128, 128, 0, cpu);
  memory_reported((void *)0x5000, -128, 0, 0, cpu);
  check(!memory_prove(0x5000, 64, reason, sizeof reason) && strstr(reason, "2 reports"), "%s", reason);
  memory_watch();
  memory_reported((void *)0x5000, 64, 999999, 0, cpu); /* also the peak from before the recording */
  memory_reported((void *)0x5000, -64, 0, 0, cpu);
  check(memory_prove(0x5000, 64, reason, sizeof reason), "%s", reason);

  test_forwarding();
  check(tfprof_capture_arm(), "the library does not arm");
  memory_arm(false);
  pthread_t threads[THREADS];
  for (intptr_t i = 0; i < THREADS; i++)
    check(pthread_create(&threads[i], NULL, run_thread, (void *)(i + 1)) == 0, "no thread");
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  memory_failed(4096, 1, 0, cpu);
  memory_reported((void *)0x1000, -512, 512, 2048, gpu);
  test_fork(directory, false);
  test_fork(directory, true);
  snprintf(path, sizeof path, "%s", tfprof_capture_path());
  tfprof_capture_finish();
  give((void *)0x30000, 5); /* after the end: nobody listens */

  struct read_dump dump;
  read_dump_file(path, &dump);
  uint64_t rows = rows_of(dump.file, DUMP_TABLE_memory_events), devices = rows_of(dump.file, DUMP_TABLE_devices);
  check(dump.file->is_closed && dump.dropped == 0, "rows are lost");
  check(rows == THREADS * ROUNDS * 4 + 2, "%llu rows of memory_events", (unsigned long long)rows);
  check(devices == 2, "%llu devices", (unsigned long long)devices);
  check(dump.op_count == THREADS * ROUNDS * 2, "%zu ops", dump.op_count);
  printf("%llu events of memory, %zu ops\n", (unsigned long long)rows, dump.op_count);
  release_dump(&dump);
  remove_directory(directory);
  return 0;
}
