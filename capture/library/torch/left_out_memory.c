/* left_out_memory.c: an array with a list of free places. */
#include "left_out_memory.h"

#include "base/list.h"

#include <stdlib.h>
#include <string.h>

enum { CAPACITY_MAXIMUM = 1 << 22 };

struct left_out_piece *left_out_piece(struct left_out_memory *left_out, uint32_t number) {
  return number && number <= left_out->count ? &left_out->pieces[number - 1] : NULL;
}

uint32_t left_out_add(struct left_out_memory *left_out, const struct memory_event *given) {
  uint32_t number = left_out->first_free;
  if (number) {
    left_out->first_free = left_out->pieces[number - 1].next;
  } else {
    if (left_out->count >= CAPACITY_MAXIMUM || !array_room(left_out->pieces, left_out->count, left_out->capacity))
      return 0;
    number = ++left_out->count;
  }
  left_out->pieces[number - 1] =
      (struct left_out_piece){.given = *given, .order = ++left_out->order, .state = PIECE_LIVE};
  return number;
}

void left_out_remove(struct left_out_memory *left_out, uint32_t number) {
  struct left_out_piece *piece = left_out_piece(left_out, number);
  piece->state = PIECE_FREE;
  piece->next = left_out->first_free;
  left_out->first_free = number;
}

void left_out_end(struct left_out_memory *left_out) {
  free(left_out->pieces);
  memset(left_out, 0, sizeof *left_out);
}
