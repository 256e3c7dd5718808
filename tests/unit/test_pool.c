/* test_pool.c: the string pool: ids, bytes that stay, their order, merging, and memory that runs out. */
#include "store/pool.h"

#include "store_check.h"

static string_id put(struct pool *pool, const char *text, size_t length) {
  string_id id = 0;
  enum tfprof_status status = pool_intern(pool, text, length, &id);
  check(status == TFPROF_OK, "interning fails with %d", status);
  return id;
}

static void test_ids(void) {
  struct pool *pool = pool_create();
  string_id empty = put(pool, "", 0), name = put(pool, "aten::mm", 8), with_nul = put(pool, "a\0b", 3);
  check(empty == 1 && name == 2 && with_nul == 3, "ids are not 1, 2, 3");
  check(put(pool, NULL, 0) == 0 && pool_text(pool, 0) == NULL, "NULL is not id 0");
  check(put(pool, "aten::mm", 8) == name, "the same text has two ids");
  check(put(pool, "aten::mmm", 8) == name, "the length does not end the text");
  check(put(pool, "a", 1) != with_nul && put(pool, "a\0c", 3) != with_nul, "texts with NUL are confused");
  check(strcmp(pool_text(pool, name), "aten::mm") == 0 && pool_length(pool, name) == 8, "the text is not the text");
  check(memcmp(pool_text(pool, with_nul), "a\0b", 4) == 0, "no NUL after a text that has one");
  check(pool_has_nul(pool, with_nul) && !pool_has_nul(pool, name) && !pool_has_nul(pool, empty), "NULs are not seen");
  check(pool_find(pool, "aten::mm", 8) == name, "a text is not found");
  check(pool_find(pool, "aten::m", 7) == 0 && pool_find(pool, NULL, 0) == 0, "a text is found that is not there");
  check(pool_count(pool) == 5, "%u strings instead of 5", pool_count(pool));
  pool_free(pool);
  pool_free(NULL);
}

/* Text number i, of very different lengths. */
static size_t make_text(char *text, unsigned i) {
  size_t length = (size_t)sprintf(text, "%u", i * 2654435761u);
  if (i % 97 == 0) {
    memset(text + length, 'x', 3000 + i % 5000);
    length += 3000 + i % 5000;
    text[length] = 0;
  }
  return length;
}

static void test_many(void) {
  enum { COUNT = 60000 };
  static char text[16384];
  struct pool *pool = pool_create();
  const char **texts = calloc(COUNT + 1, sizeof *texts);
  for (unsigned i = 1; i <= COUNT; i++) {
    size_t length = make_text(text, i);
    check(put(pool, text, length) == i, "text %u has another id", i);
    texts[i] = pool_text(pool, i);
  }
  for (unsigned i = 1; i <= COUNT; i++) {
    size_t length = make_text(text, i);
    check(texts[i] == pool_text(pool, i), "text %u has moved", i);
    check(pool_length(pool, i) == length && memcmp(texts[i], text, length + 1) == 0, "text %u has changed", i);
    check(pool_find(pool, text, length) == i, "text %u is not found", i);
  }
  check(pool_bytes(pool) > COUNT * 8, "the pool claims to need no memory");
  free(texts);
  pool_free(pool);
}

static int compare(const struct pool *pool, string_id left, string_id right) {
  uint32_t a = pool_length(pool, left), b = pool_length(pool, right);
  int order = memcmp(pool_text(pool, left), pool_text(pool, right), a < b ? a : b);
  return order ? order : (a > b) - (a < b);
}

/* All ids, sorted from the last to the first. */
static void check_order(const struct pool *pool) {
  uint32_t count = pool_count(pool);
  string_id *ids = calloc((size_t)count + 1, sizeof *ids);
  for (uint32_t i = 0; i < count; i++) ids[i] = count - i;
  check(pool_sort(pool, ids, count) == TFPROF_OK, "sorting fails");
  for (uint32_t i = 1; i < count; i++)
    check(compare(pool, ids[i - 1], ids[i]) < 0, "pool_sort leaves %u before %u", ids[i - 1], ids[i]);
  free(ids);
}

static void test_order(void) {
  static const char *const texts[] = {"b",        "",          "a",    "ab",   "aaaaaaaab",
                                      "aaaaaaaa", "aaaaaaaac", "\xff", "\x7f", "a\x01"};
  struct pool *pool = pool_create();
  check_order(pool);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) put(pool, texts[i], strlen(texts[i]));
  put(pool, "a\0", 2);
  put(pool, "a\0\0", 3);
  put(pool, "aaaaaaaa\0", 9);
  check_order(pool);
  for (unsigned i = 0; i < 3000; i++) { /* grows bit by bit */
    char text[24];
    size_t length = (size_t)sprintf(text, "%llx", (unsigned long long)check_random(0));
    put(pool, text, length - check_random(length));
    if (check_random(200) == 0) check_order(pool);
  }
  check_order(pool);
  pool_free(pool);
}

static void test_merge(void) {
  struct pool *pool = pool_create(), *from = pool_create();
  string_id *map = NULL, two = put(pool, "two", 3);
  put(from, "one", 3);
  put(from, "two", 3);
  put(from, "t\0o", 3);
  check(pool_merge(pool, from, &map) == TFPROF_OK, "merging fails");
  check(map[0] == 0 && map[2] == two && pool_count(pool) == 3, "merging gives other ids");
  check(strcmp(pool_text(pool, map[1]), "one") == 0 && pool_has_nul(pool, map[3]), "merging changes texts");
  free(map);
  pool_free(from);
  pool_free(pool);
}

static void test_limits(void) {
  struct pool *pool = pool_create();
  string_id id = 7;
  /* The length is looked at first. */
  check(pool_intern(pool, "", ((size_t)1 << 30) + 1, &id) == TFPROF_LIMIT && id == 0, "a text of over 1 GB is taken");
  check(pool_find(pool, "", ((size_t)1 << 30) + 1) == 0, "a text of over 1 GB is looked for");
  pool_free(pool);
}

static void test_no_memory(void) {
  for (long allowed = 0; can_fail_allocations && allowed < 60; allowed++) {
    fail_allocation_after(allowed);
    struct pool *pool = pool_create();
    enum tfprof_status status = TFPROF_OK;
    unsigned added = 0;
    char text[16];
    for (; pool && added < 500; added++) {
      string_id id;
      size_t length = (size_t)sprintf(text, "text %u", added);
      status = pool_intern(pool, text, length, &id);
      if (status) break;
      check(id == added + 1, "text %u has id %u", added, id);
    }
    string_id ids[] = {2, 1};
    bool is_sorted = added >= 2 && pool_sort(pool, ids, 2) == TFPROF_OK;
    fail_allocation_after(-1);
    if (!pool) continue;
    check(status == TFPROF_OK || status == TFPROF_NO_MEMORY, "status %d", status);
    check(pool_count(pool) == added, "%u strings after %u were added", pool_count(pool), added);
    check(ids[0] == (is_sorted ? 1 : 2) && ids[0] + ids[1] == 3, "sorting without memory changes ids");
    for (; added < 600; added++) {
      size_t length = (size_t)sprintf(text, "text %u", added);
      check(put(pool, text, length) == added + 1, "the pool is not usable after memory was short");
    }
    check_order(pool);
    pool_free(pool);
  }
}

int main(void) {
  test_ids();
  test_many();
  test_order();
  test_merge();
  test_limits();
  test_no_memory();
  return check_result();
}
