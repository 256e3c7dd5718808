/* test_read_several.c: a directory of profiles is opened by several threads as it is by one: profiles in the order of
** the names, the same rows, texts with the same numbers.
**
** Among the files are one that is damaged, one under two names, and checkpoints, which know tensors by the numbers of
** texts; dumps, which know texts by their numbers, are a directory of their own.  Then memory runs out and the user
** presses Ctrl-C, at every place.
*/
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "read/dump/dump.h"
#include "store/private.h"
#include "check.h"
#include "scratch.h"

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { CAN_REFUSE = 0 };
static atomic_long countdown;
#else
enum { CAN_REFUSE = 1 };
/* The allocator of libc under the names that programs call. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
static atomic_long countdown =
    -1; /* negative: not armed; else so many allocations until one is refused, and all after */
static bool is_refused(void) {
  long left = atomic_load(&countdown);
  while (left > 0 && !atomic_compare_exchange_weak(&countdown, &left, left - 1)) continue;
  return left == 0;
}
void *malloc(size_t size) { return is_refused() ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return is_refused() ? NULL : __libc_calloc(count, size); }
void *realloc(void *memory, size_t size) { return is_refused() ? NULL : __libc_realloc(memory, size); }
#endif

static const char *const fixtures[] = {"accelerators.json", "base_time.json", "collectives.json", "memory.json",
                                       "odd_texts.json",    "old_2021.json",  "python.json",      "times.json"};
enum { PROFILES = sizeof fixtures / sizeof *fixtures + 3 };
static const char *const checkpoints[] = {"v1.ckpt", "v2.ckpt.index", "v2.ckpt.data-00000-of-00001"};
static const char *const dumps[] = {"dumps/rank0.tfprof", "dumps/rank1.tfprof", "dumps/rank2.tfprof"};
enum { DUMPS = sizeof dumps / sizeof *dumps };

static void copy(const char *from_directory, const char *name, const char *to) {
  char from[1024], bytes[65536];
  snprintf(from, sizeof from, "%s/%s/%s", TFPROF_SOURCE_DIRECTORY, from_directory, name);
  FILE *in = fopen(from, "rb"), *out = fopen(test_path(to), "wb");
  if (!in || !out) abort();
  for (size_t count; (count = fread(bytes, 1, sizeof bytes, in)) > 0;) fwrite(bytes, 1, count, out);
  fclose(in);
  if (fclose(out)) abort();
}

static void write_files(void) {
  for (unsigned i = 0; i < sizeof fixtures / sizeof *fixtures; i++) {
    copy("tests/fixtures/kineto", fixtures[i], fixtures[i]);
  }
  for (unsigned i = 0; i < sizeof checkpoints / sizeof *checkpoints; i++) {
    copy("tests/golden/checkpoints", checkpoints[i], checkpoints[i]);
  }
  if (mkdir(test_path("dumps"), 0700)) abort();
  for (unsigned i = 0; i < DUMPS; i++) copy("tests/golden/dump-1", "ops.tfprof", dumps[i]);
  copy("tests/fuzz/corpus/memory_snapshot", "protocol-4", "n.pickle");
  FILE *file = fopen(test_path("damaged.json"), "wb");
  if (!file || fputs("{\"traceEvents\":[{\"ph\":\"X\",\"name\":", file) < 0 || fclose(file)) abort();
  if (symlink(test_path("memory.json"), test_path("z.json"))) abort();
}

static uint64_t mix(uint64_t hash, uint64_t value) { return (hash ^ value) * 1099511628211u; }

static uint64_t mix_text(uint64_t hash, const struct pool *pool, string_id id) {
  const char *text = pool_text(pool, id);
  for (uint32_t i = 0; text && i < pool_length(pool, id); i++) hash = mix(hash, (uint8_t)text[i]);
  return hash;
}

/* Every value of every table as one hash.  Of all profiles: what is said of them too, and texts with their numbers.  Of
** one (its path): what its file says, whatever else is open. */
static uint64_t content(struct store *store, const char *path) {
  uint64_t hash = 1469598103934665603u;
  struct tfprof_error error;
  for (unsigned table = 0; table < TABLE_count; table++) {
    const struct table_spec *spec = &schema_tables[table];
    struct snapshot *snapshot;
    struct column_set columns = {{0, 0}};
    if (path && (table == TABLE_runs || table == TABLE_profiles || table == TABLE_diagnostics)) continue;
    for (unsigned c = 2; c < spec->column_count; c++) column_set_add(&columns, c);
    if (store_snapshot(store, table, path, &snapshot, &error) || snapshot_require(snapshot, &columns, &error)) abort();
    hash = mix(hash, snapshot->rows);
    for (size_t s = 0; s < snapshot->segment_count; s++) {
      for (uint32_t row = 0; row < snapshot->segments[s]->rows; row++) {
        for (unsigned c = path ? 2 : 0; c < spec->column_count; c++) {
          struct value v = segment_value(snapshot->segments[s], c, row);
          hash = mix(hash, v.kind);
          if (v.kind == VALUE_TEXT) {
            hash = mix_text(hash, store_pool(store), v.text);
            if (!path) hash = mix(hash, v.text);
          } else if (v.kind != VALUE_NULL) {
            bool is_reference = path && spec->columns[c].type == TYPE_REFERENCE;
            hash = mix(hash, is_reference ? id_row(v.integer) : (uint64_t)v.integer); /* or the bits of a real */
          }
        }
      }
    }
    snapshot_release(snapshot);
  }
  return hash;
}

static struct store *create(const struct store_hooks *hooks) {
  struct store *store = store_create(NULL, 0);
  if (!store) abort();
  if (hooks) store_set_hooks(store, hooks);
  return store;
}

static void test_order(void) {
  uint64_t expected = 0;
  for (int threads = 1; threads <= 5; threads++) {
    char number[16];
    snprintf(number, sizeof number, "%d", threads);
    setenv("TFPROF_THREADS", number, 1);
    struct store *store = create(NULL);
    struct tfprof_error error;
    uint32_t run;
    enum tfprof_status status = read_open(store, test_directory, &run, &error);
    check(!status, "with %d threads: %s", threads, error.message);
    if (status) exit(1);
    check(store_profile_count(store) == PROFILES, "%zu profiles", store_profile_count(store));
    const char *before = "";
    for (size_t i = 0; i < store_profile_count(store); i++) {
      const struct profile *profile = store_profile_at(store, i);
      const char *path = pool_text(store_pool(store), profile->path);
      check(profile->number == i + 1 && strcmp(before, path) < 0, "profile %u is %s", profile->number, path);
      before = path;
    }
    const struct profile *first = store_profile_at(store, 0);
    unsigned unopened = 0;
    for (size_t i = 0; i < first->diagnostic_count; i++) {
      const char *message = pool_text(store_pool(store), first->diagnostics[i].message);
      unopened += strstr(message, "damaged.json could not be opened") != NULL;
    }
    check(unopened == 1, "the damaged file is told %u times", unopened);
    uint64_t found = content(store, NULL);
    check(threads == 1 || found == expected, "%d threads find something else", threads);
    expected = found;
    uint64_t added;
    uint32_t again;
    check(!read_refresh(store, &added, &error) && added == 0, "%llu rows more", (unsigned long long)added);
    check(!read_open(store, test_directory, &again, &error) && again == run, "opened anew");
    store_release(store);
  }
}

/* Each file by itself has the same rows. */
static void test_alone(const char *directory, size_t profiles) {
  setenv("TFPROF_THREADS", "3", 1);
  struct store *store = create(NULL);
  struct tfprof_error error;
  uint32_t run;
  if (read_open(store, directory, &run, &error)) abort();
  check(store_profile_count(store) == profiles, "%zu profiles of %s", store_profile_count(store), directory);
  for (size_t i = 0; i < store_profile_count(store); i++) {
    struct store *alone = create(NULL);
    const char *path = pool_text(store_pool(store), store_profile_at(store, i)->path);
    if (read_open(alone, path, &run, &error)) abort();
    check(content(store, path) == content(alone, path), "%s has other rows among others", path);
    store_release(alone);
  }
  store_release(store);
}

/* Texts of a dump that it has numbered already go over with it, to other numbers. */
static void test_adopted_late(void) {
  const char *path = test_path(dumps[1]);
  const struct read_file file = {.path = path, .format = &dump_read_format};
  const struct read_bundle bundle = {&file, 1};
  struct tfprof_error error;
  struct store *store = create(NULL), *apart = store_create_apart(store), *alone = create(NULL);
  uint32_t run, other;
  string_id id;
  for (char text[] = "a"; *text <= 'z'; ++*text) pool_intern(store_pool(store), text, 1, &id);
  if (!apart || store_add_run(apart, path, NULL, &run, &error) || dump_read_format.open(apart, run, &bundle, &error) ||
      profile_load_all(apart->pending.items[0], &error) || store_add_run(store, path, NULL, &run, &error)) {
    abort();
  }
  check(!store_adopt(store, run, apart, &error), "not adopted: %s", error.message);
  store_release(apart);
  store_publish_run(store, run);
  if (read_open(alone, path, &other, &error)) abort();
  check(content(store, path) == content(alone, path), "texts are others");
  store_release(store);
  store_release(alone);
}

static atomic_int questions_left;
static bool is_interrupted(void *context) {
  (void)context;
  return atomic_fetch_sub(&questions_left, 1) <= 0;
}

/* Nothing is open afterwards, and everything can be. */
static void test_giving_up(bool by_memory) {
  setenv("TFPROF_THREADS", "3", 1);
  struct tfprof_error error;
  uint32_t run;
  unsigned refused = 0;
  for (int number = 0; check_failures < 10; number += 1 + number / 50) {
    struct store *store = create(by_memory ? NULL : &(struct store_hooks){.is_interrupted = is_interrupted});
    if (by_memory) countdown = number;
    else questions_left = number;
    enum tfprof_status status = read_open(store, test_directory, &run, &error);
    bool was_refused = by_memory ? countdown == 0 : questions_left < 0;
    countdown = -1;
    questions_left = 1 << 30;
    refused += status != TFPROF_OK;
    enum tfprof_status expected = by_memory ? TFPROF_NO_MEMORY : TFPROF_INTERRUPTED;
    check(!status || status == expected, "at %d: %s", number, error.message);
    if (status) {
      check(store_profile_count(store) == 0 && store_run_count(store) == 0, "at %d: something is open", number);
      check(!read_open(store, test_directory, &run, &error), "at %d: not afterwards: %s", number, error.message);
      check(store_profile_count(store) == PROFILES, "%zu profiles", store_profile_count(store));
    }
    store_release(store);
    if (!was_refused) break;
  }
  check(refused > 5, "given up only %u times", refused);
}

int main(void) {
  make_test_directory();
  write_files();
  test_order();
  test_alone(test_directory, PROFILES);
  test_alone(test_path("dumps"), DUMPS);
  test_adopted_late();
  test_giving_up(false);
  if (CAN_REFUSE) test_giving_up(true);
  return check_result();
}
