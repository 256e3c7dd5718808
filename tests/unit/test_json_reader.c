/* test_json_reader.c: the reader of trace JSON as a whole: cut anywhere, truncated anywhere, compressed, huge, hostile.
*/
#include <inttypes.h>
#include <zlib.h>

#include "unit/cases.h"
#include "unit/json_test.h"

/* EVENTS take more than 16 MB, after which an inflater's state is kept. */
enum {
  IS_SANITIZED = WATCHES_MEMORY || WATCHES_THREADS,
  MANY = IS_SANITIZED ? 30000 : 300000,
  EVENTS = IS_SANITIZED ? 180000 : 300000,
  DEEP = IS_SANITIZED ? 300000 : 3000000,
};

/* ---- a trace as text ---- */

static const char *const files[] = {"times.json",       "base_time.json", "old_2021.json", "accelerators.json",
                                    "collectives.json", "memory.json",    "python.json",   "tensorflow.json",
                                    "odd_texts.json",   "chrome.json"};

static char *read_fixture(const char *name, size_t *length) {
  char path[1024];
  snprintf(path, sizeof path, "%s/tests/fixtures/kineto/%s", TFPROF_SOURCE_DIRECTORY, name);
  FILE *file = fopen(path, "rb");
  if (!file) abort();
  char *bytes = malloc(1 << 20);
  *length = fread(bytes, 1, 1 << 20, file);
  fclose(file);
  return bytes;
}

/* Every value of every table (texts as texts), as one hash; diagnostics too. */
static uint64_t content(struct opened *o) {
  uint64_t hash = 1469598103934665603u;
#define MIX(x) hash = (hash ^ (uint64_t)(x)) * 1099511628211u
  for (unsigned table = 0; table < TABLE_count; table++) {
    struct snapshot *snapshot;
    struct column_set columns = {{0, 0}};
    if (table == TABLE_runs || table == TABLE_profiles || table == TABLE_diagnostics) continue;
    for (unsigned c = 2; c < schema_tables[table].column_count; c++) column_set_add(&columns, c);
    if (store_snapshot(o->store, table, NULL, &snapshot, &o->error) || snapshot_require(snapshot, &columns, &o->error))
      abort();
    MIX(snapshot->rows);
    for (size_t s = 0; s < snapshot->segment_count; s++) {
      for (uint32_t row = 0; row < snapshot->segments[s]->rows; row++) {
        for (unsigned c = 2; c < schema_tables[table].column_count; c++) {
          struct value v = segment_value(snapshot->segments[s], c, row);
          MIX(v.kind);
          if (v.kind == VALUE_INTEGER) MIX(v.integer);
          if (v.kind == VALUE_REAL) {
            uint64_t bits;
            memcpy(&bits, &v.real, sizeof bits);
            MIX(bits);
          }
          if (v.kind == VALUE_TEXT) {
            const char *text = pool_text(store_pool(o->store), v.text);
            for (uint32_t i = 0; i < pool_length(store_pool(o->store), v.text); i++) MIX(text[i]);
          }
        }
      }
    }
    snapshot_release(snapshot);
  }
  struct profile *profile = store_profile_at(o->store, 0);
  for (size_t i = 0; i < profile->diagnostic_count; i++) {
    MIX(profile->diagnostics[i].count);
    MIX(profile->diagnostics[i].offset);
  }
#undef MIX
  return hash;
}

/* Wherever the file is cut into chunks, and however many threads there are, the rows are the same. */
static void test_cuts(void) {
  for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
    size_t length;
    char *bytes = read_fixture(files[f], &length);
    struct opened o = open_bytes(bytes, length, 0);
    CHECK(!o.status);
    uint64_t whole = content(&o);
    close_opened(&o);
    unsigned wrong = 0;
    for (size_t chunk = 1; chunk < length; chunk += chunk < 64 ? 9 : chunk < 1000 ? 61 : 307) {
      o = open_bytes(bytes, length, chunk);
      if (o.status || content(&o) != whole) {
        if (!wrong++) fprintf(stderr, "  %s differs in chunks of %zu bytes\n", files[f], chunk);
      }
      close_opened(&o);
    }
    CHECK(wrong == 0);
    free(bytes);
  }
}

/* ---- truncation and damage ---- */

static void test_truncation(void) {
  for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
    size_t length;
    char *bytes = read_fixture(files[f], &length);
    uint64_t last = 0;
    for (size_t cut = 0; cut < length; cut += (1 + cut % 7) * DAMAGE_SHARE) {
      struct opened o = open_bytes(bytes, cut, cut % 3 ? 0 : 200);
      if (o.status) {
        CHECK(o.error.message[0]);
      } else {
        uint64_t rows = row_count(&o, TABLE_ops) + row_count(&o, TABLE_kernels) + row_count(&o, TABLE_ranges);
        /* (A repair of unescaped quotes may take more text into a name while the rest is missing.) */
        if (strcmp(files[f], "odd_texts.json") != 0 && strcmp(files[f], "chrome.json") != 0) CHECK(rows >= last);
        last = rows;
        if (strcmp(files[f], "chrome.json") != 0 && cut + 3 < length) {
          CHECK(!store_profile_at(o.store, 0)->complete && diagnosed(&o, "truncated") == 1);
        }
        content(&o);
      }
      close_opened(&o);
    }
    free(bytes);
  }
}

static void test_flipped_bytes(void) {
  uint64_t state = 88172645463325252u;
  for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
    size_t length;
    char *bytes = read_fixture(files[f], &length);
    for (unsigned i = 0; i < 300 / DAMAGE_SHARE; i++) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      size_t at = state % length;
      char before = bytes[at];
      bytes[at] = (char)(i % 3 == 0 ? "\"{}[],:\\"[state >> 40 & 7] : (char)(state >> 32));
      struct opened o = open_bytes(bytes, length, i % 2 ? 0 : 150);
      if (!o.status) content(&o);
      close_opened(&o);
      bytes[at] = before;
    }
    free(bytes);
  }
}

/* ---- gzip ---- */

static size_t compress_member(const char *bytes, size_t length, uint8_t *out, size_t room) {
  z_stream stream = {0};
  if (deflateInit2(&stream, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY) != Z_OK) abort();
  stream.next_in = (Bytef *)(uintptr_t)bytes;
  stream.avail_in = (uInt)length;
  stream.next_out = out;
  stream.avail_out = (uInt)room;
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) abort();
  size_t made = room - stream.avail_out;
  deflateEnd(&stream);
  return made;
}

static void test_gzip(void) {
  size_t length;
  char *bytes = read_fixture("accelerators.json", &length);
  uint8_t *packed = malloc(1 << 20);
  struct opened o = open_bytes(bytes, length, 0);
  uint64_t whole = content(&o);
  close_opened(&o);

  /* Two members, and zero bytes behind. */
  size_t first = compress_member(bytes, length / 2, packed, 1 << 19);
  size_t size = first + compress_member(bytes + length / 2, length - length / 2, packed + first, 1 << 19);
  memset(packed + size, 0, 512);
  o = open_bytes(packed, size + 512, 0);
  CHECK(!o.status && content(&o) == whole);
  close_opened(&o);
  /* Other bytes behind. */
  memcpy(packed + size, "tail", 4);
  o = open_bytes(packed, size + 4, 0);
  CHECK(!o.status && row_count(&o, TABLE_kernels) == 3 && diagnosed(&o, "gzip") == 1);
  CHECK(store_profile_at(o.store, 0)->complete);
  close_opened(&o);
  /* The end missing: what came before is served. */
  for (size_t cut = 0; cut < size; cut += 5 * DAMAGE_SHARE) {
    o = open_bytes(packed, cut, 300);
    if (!o.status) {
      CHECK(cut >= size - 8 || !store_profile_at(o.store, 0)->complete);
      CHECK(diagnosed(&o, "gzip") == 1);
      struct value v = row_count(&o, TABLE_kernels) ? CELL(&o, kernels, name, 0) : (struct value){.kind = VALUE_NULL};
      (void)v;
    }
    close_opened(&o);
  }
  for (size_t at = 0; at < size; at += 3 * DAMAGE_SHARE) {
    packed[at] ^= 0x55;
    o = open_bytes(packed, size, 0);
    close_opened(&o);
    packed[at] ^= 0x55;
  }
  free(packed);
  free(bytes);
}

/* Attributes of a compressed file are found again, past the marks, and a changed file is refused. */
static void test_reading_again(void) {
  size_t room = (size_t)EVENTS * 128, length = 0;
  char *text = malloc(room);
  length += (size_t)sprintf(text, "{\"schemaVersion\": 1, \"traceEvents\": [\n");
  for (unsigned i = 0; i < EVENTS; i++) {
    length += (size_t)sprintf(
        text + length,
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"op%u\", \"pid\": 1, \"tid\": 1, \"ts\": %u, \"dur\": 1, "
        "\"args\": {\"Ev Idx\": %u}}%s\n",
        i % 50, i, i, i + 1 < EVENTS ? "," : "");
  }
  length += (size_t)sprintf(text + length, "]}");
  uint8_t *packed = malloc(length);
  size_t size = compress_member(text, length, packed, length);
  for (unsigned form = 0; form < 2; form++) {
    struct opened o = form ? open_bytes(packed, size, 0) : open_bytes(text, length, 0);
    CHECK(!o.status);
    ROWS(ops, EVENTS);
    TEXT(ops, attributes, 0, "{\"Ev Idx\":0}");
    char last[32];
    snprintf(last, sizeof last, "{\"Ev Idx\":%d}", EVENTS - 1);
    TEXT(ops, attributes, EVENTS - 1, last);
    TEXT(ops, attributes, 150001, "{\"Ev Idx\":150001}");
    INTEGER(ops, start_ns, 123456, 123456000);
    close_opened(&o);
    o = form ? open_bytes(packed, size, 0) : open_bytes(text, length, 0);
    temporary(text, 100); /* another file of that name */
    struct snapshot *snapshot;
    struct column_set columns = {{0, 0}};
    column_set_add(&columns, COLUMN_ops_attributes);
    CHECK(store_snapshot(o.store, TABLE_ops, NULL, &snapshot, &o.error) == TFPROF_OK);
    CHECK(snapshot_require(snapshot, &columns, &o.error) == TFPROF_OK);
    CHECK(segment_value(snapshot->segments[0], COLUMN_ops_attributes, 0).kind == VALUE_NULL);
    snapshot_release(snapshot);
    const struct profile *profile = store_profile_at(o.store, 0);
    bool is_told = false;
    for (size_t i = 0; i < profile->diagnostic_count; i++) {
      is_told |= !strcmp(pool_text(store_pool(o.store), profile->diagnostics[i].reason), "replaced_file");
    }
    CHECK(is_told);
    uint64_t added;
    CHECK(store_refresh(o.store, 0, &added, &o.error) == TFPROF_OK && store_profile_at(o.store, 0)->is_replaced);
    close_opened(&o);
  }
  free(text);
  free(packed);
}

static void test_gzip_bomb(void) {
  size_t length = (size_t)300 << 20;
  char *zeros = calloc(1, length);
  uint8_t *packed = malloc(1 << 20);
  memcpy(zeros, "[{\"ph\":\"X\",\"ts\":1,\"name\":\"a\"},\"", 31);
  memset(zeros + 31, 'a', length - 31);
  size_t size = compress_member(zeros, length, packed, 1 << 20);
  free(zeros);
  struct opened o = open_bytes(packed, size, 0);
  CHECK(!o.status && diagnosed(&o, "gzip") == 1);
  ROWS(ranges, 1);
  close_opened(&o);
  free(packed);
}

/* ---- what no profiler writes ---- */

/* A text that goes on over very many chunks is not read from its beginning with each of them: that would take minutes;
** and the document may begin behind many chunks of white space. */
static void test_long_text(void) {
  enum { SPACE = 5000, TEXT_BYTES = 8 << 20, CHUNK = 512 };
  static const char head[] =
      "[{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", \"ts\": 1, \"dur\": 1},\n"
      "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"b\", \"ts\": 3, \"dur\": 1, \"args\": {\"text\": \"";
  static const char tail[] = "\"}},\n{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"c\", \"ts\": 5, \"dur\": 1}]";
  char *text = malloc(SPACE + sizeof head + TEXT_BYTES + sizeof tail), *p = text;
  memset(p, ' ', SPACE);
  p += SPACE;
  memcpy(p, head, sizeof head - 1);
  p += sizeof head - 1;
  memset(p, 't', TEXT_BYTES);
  p += TEXT_BYTES;
  memcpy(p, tail, sizeof tail - 1);
  p += sizeof tail - 1;
  struct opened o = open_bytes(text, (size_t)(p - text), CHUNK);
  CHECK(!o.status && store_profile_at(o.store, 0)->complete && store_profile_at(o.store, 0)->diagnostic_count == 0);
  ROWS(ops, 3);
  TEXT(ops, name, 1, "b");
  TEXT(ops, name, 2, "c");
  struct value attributes = CELL(&o, ops, attributes, 1);
  CHECK(attributes.kind == VALUE_TEXT && pool_length(store_pool(o.store), attributes.text) == TEXT_BYTES + 11);
  close_opened(&o);
  free(text);
}

/* An event of more than 64 MB is passed over; those around it are there. */
static void test_oversized(void) {
  size_t size = (size_t)66 << 20;
  char *big = malloc(size + 400);
  size_t length = (size_t)sprintf(
      big, "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"before\",\"ts\":1,\"dur\":1},{\"ph\":\"X\",\"name\":\"");
  memset(big + length, 'x', size);
  length += size;
  length += (size_t)sprintf(big + length,
                            "\",\"ts\":2},{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"after\",\"ts\":3,\"dur\":1}]");
  struct opened o = open_bytes(big, length, 0);
  CHECK(!o.status && diagnosed(&o, "oversized_element") == 1);
  ROWS(ops, 2);
  TEXT(ops, name, 1, "after");
  close_opened(&o);
  free(big);
}

/* What looks like the array of events in the middle of a text does not count, however the file is cut. */
static void test_wrong_guess(void) {
  size_t length;
  char *bytes = read_fixture("events-in-a-wrong-guess", &length);
  for (size_t chunk = 150; chunk < 300; chunk++) {
    struct opened o = open_bytes(bytes, length, chunk);
    CHECK(o.status == TFPROF_WRONG_KIND);
    close_opened(&o);
  }
  free(bytes);
}

static void test_hostile(void) {
  struct opened o = open_text("");
  CHECK(o.status);
  close_opened(&o);
  o = open_text("{\"a\": [1, 2, {\"b\": null}]}");
  CHECK(o.status == TFPROF_WRONG_KIND);
  close_opened(&o);
  o = open_text("no JSON at all");
  CHECK(o.status == TFPROF_CORRUPT && o.error.has_offset);
  close_opened(&o);
  o = open_text("{\"traceEvents\": []}");
  CHECK(!o.status && row_count(&o, TABLE_ops) == 0 && store_profile_at(o.store, 0)->complete);
  close_opened(&o);
  o = open_text("[]");
  CHECK(!o.status);
  close_opened(&o);
  o = open_text(
      "{\"traceEvents\": {\"ph\": \"X\"}, \"deviceProperties\": 7, \"distributedInfo\": [], \"baseTimeNanoseconds\": "
      "\"x\"}");
  CHECK(o.status == TFPROF_WRONG_KIND);
  close_opened(&o);

  /* Deeper than any stack. */
  size_t depth = DEEP;
  char *deep = malloc(depth + 200);
  size_t length = (size_t)sprintf(deep, "[{\"ph\":\"X\",\"name\":\"deep\",\"ts\":1,\"dur\":1,\"args\":{\"x\":");
  memset(deep + length, '[', depth);
  length += depth;
  o = open_bytes(deep, length, 0);
  CHECK(o.status);
  close_opened(&o);
  memset(deep + length - depth / 2, ']', depth / 2);
  memcpy(deep + length, "}}]", 3);
  o = open_bytes(deep, length + 3, 100000);
  CHECK(!o.status || o.error.message[0]);
  close_opened(&o);
  free(deep);

  /* Numbers beyond everything. */
  o = open_text(
      "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"n\",\"pid\":99999999999999999999999,\"tid\":-9223372036854775808,"
      "\"ts\":1,\"dur\":1e400,"
      "\"args\":{\"External id\":-9223372036854775808,\"Sequence number\":9223372036854775807,\"Fwd thread id\":1e99}},"
      "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"m\",\"pid\":1,\"tid\":1,\"ts\":1e-400,\"dur\":0,\"args\":{"
      "\"External id\":-9223372036854775808}}]");
  CHECK(!o.status);
  ROWS(ops, 1);
  IS_NULL(ops, correlation, 0);
  close_opened(&o);

  /* Bytes that are no UTF-8, lone surrogates. */
  o = open_text(
      "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"\xff\xfe\xc3\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,\"args\":{"
      "\"\xf0\x28\":\"\\ud800x\\u12\"}}]");
  ROWS(ops, 1);
  content(&o);
  close_opened(&o);
}

/* Kernels of one correlation, each with a device, a stream and a kind of members of its own: were anything quadratic
** here, this would take hours. */
static void test_many(void) {
  size_t room = (size_t)64 << 20, length = 0;
  char *text = malloc(room);
  length += (size_t)sprintf(text, "[");
  for (unsigned i = 0; i < MANY; i++) {
    length += (size_t)sprintf(
        text + length,
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":%u,\"tid\":%u,\"ts\":%u,\"dur\":1,\"args\":{\"m%u\":1,"
        "\"correlation\":5}},\n",
        i * 7, i, i, i);
  }
  length += (size_t)sprintf(text + length, "{}]");
  struct opened o = open_bytes(text, length, 0);
  CHECK(!o.status);
  ROWS(kernels, MANY);
  ROWS(devices, MANY + 1);
  close_opened(&o);
  free(text);
}

int main(void) {
  test_cuts();
  if (!WATCHES_THREADS) { /* what is damaged is read by the same threads as what is whole */
    test_truncation();
    test_flipped_bytes();
    test_gzip_bomb();
    test_long_text();
    test_oversized();
  }
  test_gzip();
  test_reading_again();
  test_wrong_guess();
  test_hostile();
  test_many();
  return json_test_result();
}
