/* test_wire.c: the protobuf wire reader: every kind of field, every way to be cut off, and any bytes at all.
**
** Prints a line for each thing that is wrong; exit status 0 when there is none, else 1.
*/
#include "base/wire.h"

#include <stdio.h>
#include <stdlib.h>

#include "check.h"

/* ---- Writing messages ---- */

static uint8_t *put_tag(uint8_t *to, uint32_t number, enum wire_type type) {
  return varint_write(to, (uint64_t)number << 3 | type);
}

static uint8_t *put_varint(uint8_t *to, uint32_t number, uint64_t value) {
  return varint_write(put_tag(to, number, WIRE_VARINT), value);
}

static uint8_t *put_fixed64(uint8_t *to, uint32_t number, uint64_t value) {
  to = put_tag(to, number, WIRE_FIXED64);
  store_u64(to, value);
  return to + 8;
}

static uint8_t *put_fixed32(uint8_t *to, uint32_t number, uint32_t value) {
  to = put_tag(to, number, WIRE_FIXED32);
  store_u32(to, value);
  return to + 4;
}

static uint8_t *put_bytes(uint8_t *to, uint32_t number, const void *bytes, size_t length) {
  to = varint_write(put_tag(to, number, WIRE_BYTES), length);
  if (length) memcpy(to, bytes, length);
  return to + length;
}

/* Calls to a reader of a copy whose end is the end of its allocation, so that a sanitizer sees a read past it. */
struct exact {
  uint8_t *bytes;
  struct wire_reader reader;
};

static struct exact open_exact(const uint8_t *bytes, size_t length) {
  struct exact exact = {.bytes = malloc(length ? length : 1)};
  if (!exact.bytes) abort();
  if (length) memcpy(exact.bytes, bytes, length);
  exact.reader = wire_open(length ? exact.bytes : NULL, length);
  return exact;
}

/* ---- Tests ---- */

static void test_varints(void) {
  static const uint64_t values[] = {0, 1, 127, 128, 16383, 16384, 1 << 21, UINT32_MAX, (uint64_t)1 << 63, UINT64_MAX};
  uint8_t bytes[16];
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    uint64_t value = 0;
    uint8_t *end = varint_write(bytes, values[i]);
    check((unsigned)(end - bytes) == varint_length(values[i]), "length of %llx", (unsigned long long)values[i]);
    check(varint_read(bytes, end, &value) == end && value == values[i], "varint %llx", (unsigned long long)values[i]);
    for (const uint8_t *cut = bytes; cut < end; cut++) check(!varint_read(bytes, cut, &value), "a varint cut off");
  }
  memset(bytes, 0x80, sizeof bytes);
  uint64_t value;
  check(!varint_read(bytes, bytes + sizeof bytes, &value), "a varint without end");
  memset(bytes, 0xff, sizeof bytes);
  bytes[9] = 2;
  check(!varint_read(bytes, bytes + sizeof bytes, &value), "a varint of 65 bits");
  for (int64_t number = -5; number <= 5; number++) check(unzigzag(zigzag(number)) == number, "zigzag");
  check(zigzag(-1) == 1 && zigzag(INT64_MIN) == UINT64_MAX && unzigzag(UINT64_MAX) == INT64_MIN, "zigzag of extremes");
}

static void test_fields(void) {
  uint8_t bytes[512], *end = bytes, packed[64], *packed_end = packed, child[16], *child_end;
  struct wire_field field;
  for (int i = 0; i < 5; i++) packed_end = varint_write(packed_end, (uint64_t)i * 1000);
  child_end = put_varint(child, 7, 70);
  end = put_varint(end, 1, 5);
  end = put_varint(end, 15, UINT64_MAX);
  end = put_varint(end, 16, zigzag(-12));
  end = put_varint(end, (1u << 29) - 1, 1);
  double real = -2.5;
  uint64_t bits;
  memcpy(&bits, &real, 8);
  end = put_fixed64(end, 2, bits);
  float small = 0.5f;
  uint32_t small_bits;
  memcpy(&small_bits, &small, 4);
  end = put_fixed32(end, 3, small_bits);
  end = put_bytes(end, 4, "text", 4);
  end = put_bytes(end, 5, NULL, 0);
  end = put_bytes(end, 6, packed, (size_t)(packed_end - packed));
  /* A group with fields and a group inside: skipped. */
  end = put_tag(end, 8, WIRE_GROUP);
  end = put_bytes(end, 1, "inside", 6);
  end = put_tag(end, 9, WIRE_GROUP);
  end = put_fixed32(end, 1, 1);
  end = put_tag(end, 9, WIRE_GROUP_END);
  end = put_tag(end, 8, WIRE_GROUP_END);
  end = put_bytes(end, 10, child, (size_t)(child_end - child));
  struct exact exact = open_exact(bytes, (size_t)(end - bytes));
  struct wire_reader *reader = &exact.reader;
  size_t length;
  check(wire_next(reader, &field) && field.number == 1 && wire_int64(&field) == 5 && wire_bool(&field), "field 1");
  check(wire_next(reader, &field) && field.number == 15 && wire_int64(&field) == -1 && wire_int32(&field) == -1,
        "field 15");
  check(wire_next(reader, &field) && field.number == 16 && wire_sint64(&field) == -12, "field 16");
  check(wire_next(reader, &field) && field.number == (1u << 29) - 1, "the largest number");
  check(wire_next(reader, &field) && wire_double(&field) == -2.5 && wire_float(&field) == 0, "a double");
  check(wire_next(reader, &field) && wire_float(&field) == 0.5f && wire_double(&field) == 0, "a float");
  check(wire_next(reader, &field) && memcmp(wire_text(&field, &length), "text", 4) == 0 && length == 4, "a text");
  check(wire_uint64(&field) == 0 && !wire_is_number(&field), "a text is no number");
  check(wire_next(reader, &field) && field.number == 5 && wire_text(&field, &length) && length == 0, "an empty text");
  check(wire_next(reader, &field) && field.number == 6, "packed numbers");
  struct wire_packed list = wire_unpack(&field, WIRE_VARINT);
  uint64_t value, count = 0;
  while (wire_packed_next(&list, &value)) check(value == count++ * 1000, "a packed number");
  check(count == 5, "%d packed numbers", (int)count);
  check(wire_next(reader, &field) && field.number == 10, "the field after the groups is %u", field.number);
  struct wire_reader inner = wire_enter(reader, &field);
  check(wire_next(&inner, &field) && field.number == 7 && wire_uint64(&field) == 70 &&
            wire_offset(&inner) == (uint64_t)(end - bytes),
        "the child");
  check(!wire_next(&inner, &field) && !inner.wrong, "the child ends");
  check(!wire_next(reader, &field) && !reader->wrong && wire_offset(reader) == (uint64_t)(end - bytes), "the end");
  free(exact.bytes);
}

static void test_packed(void) {
  uint8_t bytes[64], *end;
  uint64_t value;
  struct wire_field field;
  end = put_fixed32(bytes, 1, 7); /* a repeated field that is not packed */
  struct wire_reader reader = wire_open(bytes, (size_t)(end - bytes));
  check(wire_next(&reader, &field), "a field");
  struct wire_packed list = wire_unpack(&field, WIRE_FIXED32);
  check(wire_packed_next(&list, &value) && value == 7 && !wire_packed_next(&list, &value), "a single number");
  list = wire_unpack(&field, WIRE_VARINT);
  check(!wire_packed_next(&list, &value), "a single number of another type");
  end = put_bytes(bytes, 1, "12345678abcdefgh1234", 20);
  reader = wire_open(bytes, (size_t)(end - bytes));
  check(wire_next(&reader, &field), "a field");
  int count = 0;
  for (list = wire_unpack(&field, WIRE_FIXED64); wire_packed_next(&list, &value); count++) {
    check(value == load_u64(count ? "abcdefgh" : "12345678"), "fixed64 %d", count);
  }
  check(count == 2, "%d of 2.5 fixed64", count);
  for (list = wire_unpack(&field, WIRE_FIXED32), count = 0; wire_packed_next(&list, &value); count++) {
  }
  check(count == 5, "%d of 5 fixed32", count);
}

/* Reads everything at every level; returns the number of fields. */
static unsigned read_all(struct wire_reader *reader, bool *is_wrong) {
  struct wire_field field;
  unsigned count = 0;
  while (wire_next(reader, &field)) {
    count++;
    check(field.number >= 1 && field.number < 1u << 29, "field number %u", field.number);
    if (field.type == WIRE_BYTES) {
      uint64_t value;
      for (int type = 0; type <= 5; type++) {
        struct wire_packed list = wire_unpack(&field, (enum wire_type)type);
        while (wire_packed_next(&list, &value)) count++;
      }
      struct wire_reader child = wire_enter(reader, &field);
      if (field.length) count += read_all(&child, is_wrong);
    }
  }
  *is_wrong |= reader->wrong != NULL;
  check(!wire_next(reader, &field), "a reader that stopped goes on");
  return count;
}

static void test_wrong(void) {
  static const struct {
    const char *bytes;
    size_t length, offset;
  } cases[] = {
      {"\x00\x01", 2, 0},                                      /* field 0 */
      {"\x07", 1, 0},                                          /* field 0 */
      {"\x0e\x01", 2, 0},                                      /* wire type 6 */
      {"\x0f\x01", 2, 0},                                      /* wire type 7 */
      {"\x08", 1, 0},                                          /* no value */
      {"\x08\x01\x08", 3, 2},                                  /* the second has none */
      {"\x08\x80", 2, 0},                                      /* a varint cut off */
      {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 11, 0}, /* a varint of 70 bits */
      {"\x09\x01\x02\x03", 4, 0},                              /* fixed64 cut off */
      {"\x0d\x01\x02\x03", 4, 0},                              /* fixed32 cut off */
      {"\x0a\x05"
       "1234",
       6, 0}, /* bytes cut off */
      {"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
       "1234",
       15, 0},                                /* a length of 2^64-1 */
      {"\xff\xff\xff\xff\xff\x01\x00", 7, 0}, /* a field number over 2^29 */
      {"\x0c", 1, 0},                         /* the end of a group that is not open */
      {"\x0b\x08\x01", 3, 0},                 /* a group without end */
      {"\x0b\x14", 2, 0},                     /* ... that ends as another one */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct wire_field field;
    struct exact exact = open_exact((const uint8_t *)cases[i].bytes, cases[i].length);
    while (wire_next(&exact.reader, &field)) {
    }
    check(exact.reader.wrong != NULL, "case %zu is not noticed", i);
    check(wire_offset(&exact.reader) == cases[i].offset, "case %zu: at byte %d", i, (int)wire_offset(&exact.reader));
    free(exact.bytes);
  }
}

static void test_depth(void) {
  enum { LEVELS = 150 };
  uint8_t bytes[LEVELS * 6 + 8], copy[LEVELS * 6 + 8];
  size_t length = 0;
  for (int i = 0; i < LEVELS; i++) {
    memcpy(copy, bytes, length);
    length = (size_t)(put_bytes(bytes, 1, copy, length) - bytes);
  }
  struct wire_reader reader = wire_open(bytes, length);
  struct wire_field field;
  unsigned levels = 0;
  while (wire_next(&reader, &field)) {
    levels++;
    reader = wire_enter(&reader, &field);
  }
  check(reader.wrong && levels == WIRE_MAXIMUM_DEPTH + 1, "%u levels", levels);
  memset(bytes, 0x0b, sizeof bytes); /* groups in groups */
  reader = wire_open(bytes, sizeof bytes);
  check(!wire_next(&reader, &field) && reader.wrong, "groups nest without end");
}

static void test_any_bytes(void) {
  uint64_t state = 12345;
  for (int round = 0; round < 200000; round++) {
    uint8_t bytes[48];
    size_t length = (size_t)round % sizeof bytes;
    for (size_t i = 0; i < length; i++) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      bytes[i] = (uint8_t)(state >> 33);
      if (round & 1) bytes[i] &= 0x1f; /* short lengths and low numbers: deeper messages */
    }
    struct exact exact = open_exact(bytes, length);
    bool is_wrong = false;
    read_all(&exact.reader, &is_wrong);
    check(is_wrong || exact.reader.at == exact.reader.end, "stopped for no reason");
    free(exact.bytes);
  }
}

int main(void) {
  test_varints();
  test_fields();
  test_packed();
  test_wrong();
  test_depth();
  test_any_bytes();
  printf("test_wire: %s\n", check_failures ? "failed" : "ok");
  return check_result();
}
