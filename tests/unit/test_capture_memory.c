/* test_capture_memory.c: what passes through the functions that stand in the place of PyTorch's comes out of the dump,
** from many threads at once, with the sizes of what is released, totals and peaks, and goes on to PyTorch's own.  The
** PyTorch below is made up. Built with ThreadSanitizer it is the stress test of all that is shared. */
#include "fake_torch.h"

#include "python/python_frames.h"
#include "recorder/parts.h"
#include "recorder/recording.h"
#include "torch/memory_callbacks.h"
#include "torch/op_callbacks.h"

#include <sys/wait.h>

void *memory_allocate(size_t bytes) __asm__("_ZN3c109alloc_cpuEm");
void memory_release(void *address) __asm__("_ZN3c108free_cpuEPv");
void memory_reported(void *address, int64_t bytes, size_t in_use, size_t reserved, struct torch_device device)
    __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
void memory_failed(int64_t bytes, size_t in_use, size_t reserved, struct torch_device device)
    __asm__("_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE");

enum { THREADS = 4, ROUNDS = 5000, EXCHANGES = 20000, PIECES = 3000, LIVE_ROUNDS = 200000, KEPT_BEFORE = 777 };
static const struct torch_device cpu = {DEVICE_TYPE_CPU, -1}, gpu = {DEVICE_TYPE_CUDA, 1};

/* ---- A PyTorch. */

static _Atomic uint64_t allocated, released;
static uint64_t told_count;
static int64_t last_told, last_failure;

static void *allocate(size_t bytes) {
  allocated++;
  return malloc(bytes);
}
static void release(void *address) {
  released++;
  free(address);
}
static void tell_user(void *address, int64_t bytes, size_t total, size_t reserved, struct torch_device device) {
  (void)address, (void)total, (void)reserved, (void)device;
  last_told = bytes;
  told_count++;
}
static void tell_user_failure(int64_t bytes, size_t total, size_t reserved, struct torch_device device) {
  (void)total, (void)reserved, (void)device;
  last_failure = bytes;
}

/* Pieces come and go at random addresses: the table knows each of them, and the total. */
static void test_live_memory(void) {
  static int64_t given[PIECES];
  struct live_memory live = {0};
  uint64_t random = 1, total = 0, peak = 0;
  for (int round = 0; round < LIVE_ROUNDS; round++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    size_t piece = (size_t)(random >> 33) % PIECES;
    uintptr_t address = 0x10000 + piece * 64;
    bool is_put = !given[piece] || (random >> 20) % 64 == 0; /* now and then once more: a release was lost */
    if (is_put) {
      int64_t bytes = (int64_t)(random >> 50) + 1;
      live_memory_put(&live, address, bytes, (uint32_t)round);
      total += (uint64_t)bytes - (uint64_t)given[piece];
      given[piece] = bytes;
    } else {
      uint32_t number;
      int64_t taken = live_memory_take(&live, address, &number);
      check(taken == given[piece], "round %d: %lld bytes and not %lld", round, (long long)taken,
            (long long)given[piece]);
      total -= (uint64_t)given[piece];
      given[piece] = 0;
    }
    if (total > peak) peak = total;
    check(live.in_use == total && live.peak == peak, "round %d: %llu in use", round, (unsigned long long)live.in_use);
    uint32_t none;
    check(live_memory_take(&live, 0x7000000, &none) == 0 && !none, "a piece that was never there");
  }
  uint32_t number;
  for (size_t piece = 0; piece < PIECES; piece++)
    check(live_memory_take(&live, 0x10000 + piece * 64, &number) == given[piece], "piece %zu is another", piece);
  check(live.in_use == 0 && live.pieces.count == 0, "something is left");
  live_memory_end(&live);
}

static void *run_thread(void *argument) {
  static const char *const names[2] = {"outer", "inner"};
  (void)argument;
  for (int round = 0; round < ROUNDS; round++) {
    struct fake_op ops[2];
    void *pieces[2];
    while (round % 32 == 0 && chunk_pool_used() > 100) usleep(500);
    for (int i = 0; i < 2; i++) {
      fake_begin(&ops[i], SCOPE_FUNCTION, names[i], false, -1, NULL, 0);
      pieces[i] = memory_allocate(100 + (size_t)i);
    }
    for (int i = 2; i--;) {
      memory_release(pieces[i]);
      fake_end(&ops[i]);
    }
  }
  return NULL;
}

/* While no ops are recorded: what one thread has got another one gives back, and gets again, at the same addresses. */
static void *_Atomic shelf[8];
static void *run_exchange(void *argument) {
  uint64_t random = (uint64_t)(intptr_t)argument;
  for (int round = 0; round < EXCHANGES; round++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    while (round % 32 == 0 && chunk_pool_used() > 100) usleep(500);
    void *piece = atomic_exchange(&shelf[(random >> 33) % 8], memory_allocate(100 + round % 3));
    if (piece) memory_release(piece);
  }
  return NULL;
}

static void run_threads(void *(*run)(void *)) {
  pthread_t threads[THREADS];
  for (intptr_t i = 0; i < THREADS; i++)
    check(pthread_create(&threads[i], NULL, run, (void *)(i + 1)) == 0, "no thread");
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

/* All events of memory: their sizes add up to the totals, one by one. A child's peak is not below its parent's. */
static void check_totals(const struct read_dump *dump, int64_t in_use, bool is_child) {
  enum { COLUMNS = 4 };
  static const uint16_t columns[COLUMNS] = {DUMP_memory_events_bytes, DUMP_memory_events_in_use_bytes,
                                            DUMP_memory_events_peak_bytes, DUMP_memory_events_device_id};
  static int64_t values[COLUMNS][DUMP_MAXIMUM_FRAME_ROWS];
  static uint64_t nulls[COLUMNS][DUMP_MAXIMUM_FRAME_ROWS / 64];
  int64_t peak = in_use;
  struct dump_cursor *cursor;
  check(dump_cursor_open(dump->file, &cursor, NULL) == TFPROF_OK, "no cursor");
  for (size_t i = 0; i < dump->file->frame_count; i++) {
    const struct dump_frame *frame = &dump->file->frames[i];
    if (frame->table_dump_id != DUMP_TABLE_memory_events) continue;
    for (int c = 0; c < COLUMNS; c++) {
      memset(nulls[c], 0, sizeof nulls[c]);
      const struct dump_block *block = dump_frame_block(frame, columns[c]);
      check(block && dump_block_decode(cursor, frame, block, values[c], nulls[c], NULL) == TFPROF_OK, "no column");
    }
    for (uint32_t row = 0; row < frame->rows; row++) {
      if (values[3][row] != 0 || values[0][row] == 4096 * 4096) continue; /* another device; a failure */
      in_use += values[0][row];
      if (in_use > peak) peak = in_use;
      bool is_peak = is_child ? values[2][row] > peak : values[2][row] == peak;
      check(values[1][row] == in_use && is_peak, "%lld in use after %lld bytes and not %lld",
            (long long)values[1][row], (long long)values[0][row], (long long)in_use);
    }
  }
  dump_cursor_close(cursor);
}

/* A child that only releases what it inherited leaves no file; one that allocates does, and knows what it inherited. */
static void test_fork(const char *directory, void *inherited, bool allocates) {
#ifdef __SANITIZE_THREAD__
  (void)directory; /* ThreadSanitizer allows no threads in the child */
  (void)allocates;
  (void)inherited;
#else
  int status;
  tfprof_capture_flush();
  pid_t pid = fork();
  if (pid == 0) {
    if (!allocates) memory_release(inherited);
    if (allocates) memory_release(memory_allocate(1));
    if (allocates) memory_release(inherited);
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
  check(rows_of(dump.file, DUMP_TABLE_memory_events) == 3, "the child has other rows");
  check_totals(&dump, KEPT_BEFORE, true);
  release_dump(&dump);
#endif
}

int main(void) {
  char path[4352];
  fake_torch_begin();
  torch_memory = (struct torch_memory_functions){allocate, release, tell_user, tell_user_failure, 1, 2};
  test_live_memory();

  char reason[256] = "";
  memory_watch();
  check(!memory_prove(0x5000, 64, reason, sizeof reason) && strstr(reason, "before the library"), "%s", reason);
  memory_watch();
  void *piece = memory_allocate(64);
  check(!memory_prove((uintptr_t)piece, 64, reason, sizeof reason) && strstr(reason, "the release"), "%s", reason);
  memory_watch();
  memory_release(piece);
  check(!memory_prove((uintptr_t)piece, 64, reason, sizeof reason) && strstr(reason, "the allocation"), "%s", reason);
  memory_watch();
  piece = memory_allocate(64);
  memory_release(piece);
  check(memory_prove((uintptr_t)piece, 64, reason, sizeof reason), "%s", reason);

  void *kept = memory_allocate(KEPT_BEFORE);
  part_set(&memory_part, PART_OK, "");
  check(tfprof_capture_arm(), "the library does not arm");
  run_threads(run_thread);
  ops_disarm();
  run_threads(run_exchange);
  check(ops_arm(), "ops are not recorded again");
  for (int i = 0; i < 8; i++) memory_release(atomic_exchange(&shelf[i], NULL));
  memory_failed(4096 * 4096, 1, 0, cpu);
  check(last_failure == 4096 * 4096, "the user is not told of a failure");
  memory_reported((void *)0x1000, -512, 512, 2048, gpu);
  check(last_told == -512 && told_count == 1, "the user is not told of another device");
  test_fork(test_directory, kept, false);
  test_fork(test_directory, kept, true);
  memory_release(kept);
  snprintf(path, sizeof path, "%s", tfprof_capture_path());
  tfprof_capture_finish();
  memory_release(memory_allocate(5)); /* after the end: nobody listens */
  check(allocated == released, "%llu allocations and %llu releases", (unsigned long long)allocated,
        (unsigned long long)released);

  struct read_dump dump;
  read_dump_file(path, &dump);
  uint64_t rows = rows_of(dump.file, DUMP_TABLE_memory_events), devices = rows_of(dump.file, DUMP_TABLE_devices);
  check(dump.file->is_closed && dump.dropped == 0, "rows are lost");
  check(rows == THREADS * (ROUNDS * 4 + EXCHANGES * 2) + 3, "%llu rows of memory_events", (unsigned long long)rows);
  check(devices == 2, "%llu devices", (unsigned long long)devices);
  check_totals(&dump, KEPT_BEFORE, false);
  check(dump.op_count == THREADS * ROUNDS * 2, "%zu ops", dump.op_count);
  printf("%llu events of memory, %zu ops\n", (unsigned long long)rows, dump.op_count);
  release_dump(&dump);
  return 0;
}
