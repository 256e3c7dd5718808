/* test_capture_nvtx.c: NVTX from many threads at once: every range and mark is a row, whoever ends it, while others
** name and register; and payloads of any layout, most of them wrong, are read within their bounds.  Built with
** ThreadSanitizer and AddressSanitizer it is the stress test of both.
*/
#include "fake_nvtx.h"
#include "fake_torch.h"

#include "nvtx/nvtx_domains.h"
#include "nvtx/nvtx_payload.h"
#include "nvtx/nvtx_ranges.h"
#include "nvtx/nvtx_schemas.h"
#include "nvtx/nvtx_texts.h"

enum { THREADS = 6, ROUNDS = 3000, TURNS = 1000, SHELF = 64, LAYOUTS = 20000 };

static void *domain;
static const void *registered;
static _Atomic uint64_t shelf[SHELF]; /* ids of ranges that whoever comes next ends */

/* Of another binary, whose NVTX has no module that we know. */
static int no_module(int module, nvtx_function ***functions, unsigned *count) {
  (void)module, (void)functions, (void)count;
  return 0;
}
static const void *other_table(uint32_t table) {
  static const struct nvtx_callback_table callbacks = {sizeof callbacks, no_module};
  return table == NVTX_TABLE_CALLBACKS ? &callbacks : NULL;
}

static void *run_thread(void *argument) {
  int number = (int)(intptr_t)argument;
  char name[64];
  check(InitializeInjectionNvtx2(other_table), "another binary is not attached");
  struct nvtx_attributes attributes = fake_attributes("");
  attributes.message_type = NVTX_MESSAGE_REGISTERED;
  attributes.message = registered;
  attributes.value_type = NVTX_VALUE_INT64;
  attributes.category = (uint32_t)number + 1;
  for (int i = 0; i < ROUNDS; i++) {
    snprintf(name, sizeof name, "name %d", i % 500);
    attributes.value = (uint64_t)i;
    check(push_a(name) == 0, "the outer range is not the outermost");
    check(domain_push(domain, &attributes) == 0, "the range is not the outermost of its domain");
    check(push_a("inner") == 1, "the inner range is not the second one");
    uint64_t before = atomic_exchange(&shelf[i % SHELF], start_a("started"));
    if (before) end_range(before);
    mark_a("mark");
    check(pop() == 1, "the inner range is not the second one at its end");
    check(domain_pop(domain) == 0 && pop() == 0, "ranges are left");
    if (i % 100 == 0) {
      nvtx_category_name(nvtx_domain_number(domain), (uint32_t)number + 1, nvtx_text_number(name));
      check(domain_create(i % 200 ? "the domain" : "another") != NULL, "no domain");
    }
    if (i % 1000 == 999) tfprof_capture_flush();
  }
  /* Two domains take turns, so that something is open all the while below what ends. */
  check(push_a("turn") == 0, "something is left");
  for (int i = 0; i < TURNS; i++) {
    check(domain_push(domain, &attributes) == 0 && pop() == 0, "the turn of the domain goes wrong");
    check(push_a("turn") == 0 && domain_pop(domain) == 0, "the turn of the default domain goes wrong");
    if (i % 500 == 499) tfprof_capture_flush();
  }
  check(pop() == 0, "the last turn is gone");
  return NULL;
}

static uint64_t rows_in(const struct dump_file *file, uint16_t table) {
  uint64_t rows = 0;
  for (size_t i = 0; i < file->frame_count; i++)
    if (file->frames[i].table_dump_id == table) rows += file->frames[i].rows;
  return rows;
}

static void test_threads(void) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++)
    check(pthread_create(&threads[i], NULL, run_thread, (void *)(intptr_t)i) == 0, "no thread");
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < SHELF; i++) end_range(atomic_load(&shelf[i]));
  check(pop() == NVTX_NOT_TRACKED, "something is open that was not pushed");
  char path[4352];
  snprintf(path, sizeof path, "%s", tfprof_capture_path());
  tfprof_capture_finish();
  check(push_a("after the end") == 0 && pop() == 0, "ranges are not counted after the end");
  struct read_dump dump;
  read_dump_file(path, &dump);
  uint64_t instants = rows_in(dump.file, DUMP_TABLE_instants);
  check(dump.file->is_closed && dump.dropped == 0, "%llu rows are lost", (unsigned long long)dump.dropped);
  check(dump.op_count == (size_t)THREADS * (ROUNDS * 4 + TURNS * 2 + 1), "%zu ranges", dump.op_count);
  check(instants == (uint64_t)THREADS * ROUNDS, "%llu marks", (unsigned long long)instants);
  size_t started = 0;
  for (size_t i = 0; i < dump.op_count; i++) {
    const struct read_op *op = &dump.ops[i];
    check(op->name && op->duration >= 0, "range %zu (%s) has no name or no end: it lasts %lld ns", i,
          op->name ? op->name : "without a name", (long long)op->duration);
    started += !strcmp(op->name, "started");
  }
  check(started == (size_t)THREADS * ROUNDS, "%zu ranges that were started", started);
  printf("%zu ranges, %llu marks\n", dump.op_count, (unsigned long long)instants);
  release_dump(&dump);
}

/* ---- Payloads. */

static uint64_t random_state = 88172645463325252u;
static uint64_t draw(uint64_t below) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state * 0x2545f4914f6cdd1du % below;
}

/* Any entry but texts behind pointers, which the program vouches for. */
static struct nvtx_schema_entry draw_entry(uint64_t last_id) {
  static const uint64_t types[] = {1, 5, 10, 12, 15, 17, 18, 19, 20, 21, 22, 23, 24, 26, 32, 33, 42, 45, 50, 52, 67,
                                   68, 69, 70, 74, 75, 76, 77, 78, 80, 99, 100, 1022, 1023, 5000};
  struct nvtx_schema_entry entry = {.type = types[draw(sizeof types / sizeof *types)], .name = draw(3) ? "x" : NULL};
  if (last_id > NVTX_ID_GIVEN && !draw(4)) entry.type = last_id - draw(3);
  entry.flags = draw(6) << 4 | (draw(8) ? 0 : draw(8) << 1) | (draw(8) ? 0 : NVTX_ENTRY_MESSAGE);
  entry.detail = draw(8) ? draw(12) : UINT64_MAX - draw(9);
  entry.offset = draw(3) ? 0 : draw(9) ? draw(80) : UINT64_MAX - draw(9);
  if (entry.type >= 75 && entry.type <= 78) {
    entry.flags &= ~(uint64_t)NVTX_ENTRY_POINTER;
    if (!entry.detail) entry.detail = 1;
  }
  return entry;
}

static void test_layouts(void) {
  uint64_t id = 0;
  unsigned known = 0, longest = 0;
  struct nvtx_payload payload;
  for (int i = 0; i < LAYOUTS; i++) {
    struct nvtx_schema_entry entries[6];
    size_t count = 1 + draw(6), size = 1 + draw(64);
    for (size_t j = 0; j < count; j++) entries[j] = draw_entry(id);
    if (i < NVTX_SCHEMAS - 8) {
      struct nvtx_schema schema = {.fields = NVTX_SCHEMA_HAS_TYPE | NVTX_SCHEMA_HAS_ENTRIES | NVTX_SCHEMA_HAS_COUNT |
                                             (draw(2) ? NVTX_SCHEMA_HAS_SIZE : 0) |
                                             (draw(4) ? 0 : NVTX_SCHEMA_HAS_ALIGNMENT),
                                   .type = 1 + draw(3),
                                   .entries = entries,
                                   .entry_count = count,
                                   .static_size = draw(80),
                                   .alignment = draw(9)};
      id = nvtx_schema_register(0, &schema);
      check(id >= NVTX_ID_GIVEN, "a schema is refused");
    }
    uint8_t *bytes = malloc(size); /* of its own size, so that AddressSanitizer sees what lies behind */
    for (size_t j = 0; j < size; j++) bytes[j] = (uint8_t)(draw(3) ? draw(6) : draw(256));
    const struct nvtx_payload_data data = {draw(4) ? id - draw(20) : draw(120), size, bytes};
    nvtx_payload_read(0, &data, 1, &payload);
    check(payload.length && payload.length <= NVTX_JSON_MAXIMUM, "a payload of %u bytes", payload.length);
    known += payload.json[0] == '{';
    if (payload.length > longest) longest = payload.length;
    free(bytes);
  }
  check(known > LAYOUTS / 10 && longest > 100, "%u payloads are objects", known);
  printf("%d payloads, %u of them objects\n", LAYOUTS, known);
}

int main(void) {
  make_test_directory();
  setenv("TFPROF_RUN_DIRECTORY", test_directory, 1);
  check(fake_nvtx_begin(), "NVTX is not attached");
  domain = domain_create("the domain");
  registered = register_string(domain, "registered");
  test_layouts();
  test_threads();
  return 0;
}
