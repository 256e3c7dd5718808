/* test_base.c: lists, the map of addresses and the map of rows, against what is written out in the simplest way.
**
** Prints a line for each thing that is wrong; exit status 0 when there is none, else 1.
*/
#include "base/address_map.h"
#include "base/list.h"
#include "base/row_map.h"
#include "check.h"

#include <stdint.h>
#include <stdlib.h>

static uint64_t state = 1;

static uint32_t draw(uint32_t below) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(state >> 33) % below;
}

/* Capacities of 32 and of 64 bits grow alike, and what was there stays. */
static void test_arrays(void) {
  uint32_t *narrow = NULL, narrow_count = 0, narrow_capacity = 0;
  uint64_t *wide = NULL;
  size_t wide_count = 0, wide_capacity = 0;
  for (uint32_t i = 0; i < 1000; i++) {
    if (!array_room(narrow, narrow_count, narrow_capacity) || !array_room(wide, wide_count, wide_capacity)) abort();
    narrow[narrow_count++] = i;
    wide[wide_count++] = i;
    check(narrow_capacity >= narrow_count && narrow_capacity == wide_capacity, "capacities differ");
  }
  for (uint32_t i = 0; i < 1000; i++) check(narrow[i] == i && wide[i] == i, "an item is lost");
  uint32_t *before = narrow, capacity = UINT32_MAX - 1;
  check(!list_grow(&narrow, &capacity, sizeof capacity, (size_t)UINT32_MAX + 1, 1), "more than 32 bits can count");
  check(narrow == before && capacity == UINT32_MAX - 1, "what was refused has changed something");
  free(narrow);
  free(wide);
}

/* Arrays that are asked by a number have zero where nothing was put, wherever the next one is. */
static void test_numbers(void) {
  uint32_t *narrow = NULL, narrow_count = 0;
  uint64_t *wide = NULL;
  size_t wide_count = 0;
  for (uint32_t needed = 1; needed < 5000; needed += 1 + draw(needed)) {
    uint32_t before = narrow_count;
    if (!array_extend(narrow, narrow_count, needed) || !array_extend(wide, wide_count, needed)) abort();
    check(narrow_count >= needed && narrow_count == wide_count, "too few items");
    for (uint32_t i = before; i < narrow_count; i++) check(!narrow[i] && !wide[i], "a new item is not zero");
    for (uint32_t i = 0; i < narrow_count; i++) {
      check(i >= before || (narrow[i] == i + 1 && wide[i] == i + 1), "an item is lost");
      wide[i] = narrow[i] = i + 1;
    }
  }
  free(narrow);
  free(wide);
}

enum { THINGS = 3000 };
struct thing {
  uintptr_t address;
  uint32_t value;
};

/* Addresses that come and go in any order; many of them share a home, so that holes are closed across others. */
static void test_addresses(void) {
  static uint32_t values[THINGS]; /* 0: not there */
  struct address_map map = {0};
  size_t count = 0;
  for (uint32_t turn = 0; turn < 60000; turn++) {
    uint32_t which = draw(THINGS), value = 1 + draw(1000);
    uintptr_t address = (uintptr_t)(which + 1) << 4 | 1;
    struct thing *thing = address_map_find(&map, sizeof *thing, address);
    check(thing ? thing->value == values[which] : !values[which], "an address is not found, or another is");
    if (thing && draw(2)) {
      address_map_remove(&map, sizeof *thing, thing);
      values[which] = 0;
      count--;
    } else {
      bool is_new;
      thing = address_map_put(&map, sizeof *thing, address, &is_new);
      if (!thing) abort();
      check(is_new == !values[which] && thing->address == address, "an entry is new that was there, or is not");
      check(!is_new || thing->value == 0, "a new entry is not empty");
      thing->value = values[which] = value;
      count += is_new;
    }
    check(map.count == count, "the count is wrong");
  }
  free(map.entries);
}

static void test_rows(void) {
  struct row_map map = {0};
  for (uint32_t i = 0; i < 5000; i++)
    check(row_map_number(&map, (struct row_key){{i % 7, i, i * UINT64_C(1) << 40}}) == i, "numbers do not follow");
  for (uint32_t i = 0; i < 5000; i++) {
    check(row_map_number(&map, (struct row_key){{i % 7, i, i * UINT64_C(1) << 40}}) == i, "a key has two numbers");
    map.values[i] = i + 1;
  }
  row_map_cut(&map, 100);
  check(row_map_find(&map, (struct row_key){{99 % 7, 99, UINT64_C(99) << 40}}) == 99 && map.values[99] == 100,
        "a key below the cut is lost");
  check(row_map_find(&map, (struct row_key){{100 % 7, 100, UINT64_C(100) << 40}}) == ROW_MAP_NONE,
        "a key beyond the cut is there");
  check(row_map_number(&map, (struct row_key){{1, 2, 3}}) == 100 && map.values[100] == 0, "a value is not empty");
  row_map_free(&map);
}

int main(void) {
  test_arrays();
  test_numbers();
  test_addresses();
  test_rows();
  return check_result();
}
