/* pickle.c: see pickle.h.  A stack of values and one of marks, as pickletools describes the machine. */
#include "read/pickle/pickle.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

enum {
  LOOKED_AT_ENTRIES = 64,
  OPCODES_UNTIL_POLL = 1 << 14,
  FREE_BYTES = 64 << 20, /* that the tree of any pickle may take, and beyond that, */
  ALLOCATION_BYTES = 16, /* what each takes by itself */
  BYTES_PER_BYTE = 24    /* for each of the pickle: those of snapshots take about six */
};

struct machine {
  struct pickle *pickle;
  const uint8_t *start, *at, *end;
  struct pickle_value *stack, *memo;
  uint64_t *marks;
  uint64_t depth, stack_capacity, mark_count, mark_capacity, memo_count, memo_capacity;
  uint64_t bytes; /* of the tree, the stack and the memo */
  bool no_memory, is_done;
};

static void stop(struct machine *m, const char *wrong) {
  if (m->is_done || m->no_memory) return;
  m->pickle->wrong = wrong;
  m->is_done = true;
}

/* ---- arrays that grow ---- */

/* Whether the pickle may have so many bytes of memory more: an opcode of one byte makes a list of many. What is done is
** only unwound, which takes no more than there is. */
static bool may_take(struct machine *m, uint64_t bytes) {
  if (m->is_done) return true;
  m->bytes += bytes;
  if (m->bytes <= FREE_BYTES + BYTES_PER_BYTE * (uint64_t)(m->end - m->start)) return true;
  stop(m, "it has more lists and values than a file of its size should");
  return false;
}

static bool grow_items(struct machine *m, void **items, uint64_t needed, uint64_t *capacity, size_t size) {
  if (needed <= *capacity) return true;
  uint64_t larger = *capacity ? *capacity : 1; /* most containers are small, and a file can have millions */
  while (larger < needed) larger *= 2;
  if (larger > SIZE_MAX / size || !may_take(m, (larger - *capacity) * size)) return false;
  void *moved = realloc(*items, (size_t)larger * size);
  if (!moved) {
    m->no_memory = true;
    return false;
  }
  *items = moved;
  *capacity = larger;
  return true;
}

static void push(struct machine *m, struct pickle_value value) {
  if (grow_items(m, (void **)&m->stack, m->depth + 1, &m->stack_capacity, sizeof value)) m->stack[m->depth++] = value;
}

static void push_integer(struct machine *m, enum pickle_kind kind, int64_t integer) {
  push(m, (struct pickle_value){.kind = (uint8_t)kind, .integer = integer});
}

/* How many values are on the stack above the last mark, which they may not go below. */
static uint64_t above_mark(const struct machine *m) {
  assert(!m->mark_count || m->marks[m->mark_count - 1] <= m->depth);
  return m->depth - (m->mark_count ? m->marks[m->mark_count - 1] : 0);
}

static struct pickle_container *push_container(struct machine *m, enum pickle_kind kind) {
  if (!may_take(m, sizeof(struct pickle_container) + ALLOCATION_BYTES)) return NULL;
  struct pickle_container *made = calloc(1, sizeof *made);
  if (!made) {
    m->no_memory = true;
    return NULL;
  }
  made->next = m->pickle->containers;
  m->pickle->containers = made;
  push(m, (struct pickle_value){.kind = (uint8_t)kind, .container = made});
  return made;
}

static void append_values(struct machine *m, struct pickle_container *to, const struct pickle_value *values,
                          uint64_t count) {
  if (!count || !grow_items(m, (void **)&to->items, to->count + count, &to->capacity, sizeof *values)) return;
  memcpy(to->items + to->count, values, (size_t)count * sizeof *values);
  to->count += count;
}

/* ---- groups of opcodes ---- */

static bool take_argument(struct machine *m, uint64_t length, const uint8_t **bytes) {
  if (length > (uint64_t)(m->end - m->at)) {
    stop(m, "the file ends in the middle of a value");
    return false;
  }
  *bytes = m->at;
  m->at += length;
  return true;
}

/* A number of `size` bytes, little-endian. */
static bool take_number(struct machine *m, unsigned size, uint64_t *number) {
  const uint8_t *bytes;
  if (!take_argument(m, size, &bytes)) return false;
  *number = 0;
  for (unsigned i = 0; i < size; i++) *number |= (uint64_t)bytes[i] << (8 * i);
  return true;
}

static void read_text(struct machine *m, unsigned length_size) {
  uint64_t length;
  const uint8_t *bytes;
  if (!take_number(m, length_size, &length) || !take_argument(m, length, &bytes)) return;
  if (length > INT32_MAX) {
    stop(m, "a text is longer than 2 GB");
    return;
  }
  push(m, (struct pickle_value){.kind = PICKLE_TEXT, .length = (uint32_t)length, .text = (const char *)bytes});
}

/* Two's complement, little-endian, of any length. */
static void read_long(struct machine *m, unsigned length_size) {
  uint64_t length, number = 0;
  const uint8_t *bytes;
  if (!take_number(m, length_size, &length) || !take_argument(m, length, &bytes)) return;
  bool is_negative = length && bytes[length - 1] & 0x80;
  uint8_t filler = is_negative ? 0xff : 0; /* a last byte that says no more than the sign of the one before it */
  while (length > 8 && bytes[length - 1] == filler && (bytes[length - 2] & 0x80) == (filler & 0x80)) length--;
  if (length > 8) {
    push_integer(m, PICKLE_HUGE, is_negative ? INT64_MIN : INT64_MAX);
    return;
  }
  for (uint64_t i = 0; i < 8; i++) number |= (uint64_t)(i < length ? bytes[i] : is_negative ? 0xff : 0) << (8 * i);
  push_integer(m, PICKLE_INTEGER, (int64_t)number);
}

static void read_real(struct machine *m) {
  const uint8_t *bytes;
  uint64_t bits = 0;
  struct pickle_value value = {.kind = PICKLE_REAL};
  if (!take_argument(m, 8, &bytes)) return;
  for (int i = 0; i < 8; i++) bits = bits << 8 | bytes[i]; /* the only one that is big-endian */
  memcpy(&value.real, &bits, sizeof bits);
  push(m, value);
}

static void memo_put(struct machine *m, uint64_t number) {
  if (!above_mark(m)) {
    stop(m, "there is nothing to put into the memo");
  } else if (number >= (uint64_t)(m->end - m->start)) { /* every entry takes at least a byte */
    stop(m, "a number of the memo is absurd");
  } else if (grow_items(m, (void **)&m->memo, number + 1, &m->memo_capacity, sizeof *m->memo)) {
    while (m->memo_count <= number) m->memo[m->memo_count++] = (struct pickle_value){.kind = PICKLE_NONE};
    m->memo[number] = m->stack[m->depth - 1];
  }
}

static void memo_get(struct machine *m, uint64_t number) {
  if (number >= m->memo_count) {
    stop(m, "the memo has no such number");
  } else {
    push(m, m->memo[number]);
  }
}

/* Puts the values from stack[first] on into the container below them. */
static void fill(struct machine *m, uint64_t first, bool is_dict) {
  assert(first <= m->depth);
  uint64_t count = m->depth - first;
  struct pickle_value *target = first ? &m->stack[first - 1] : NULL;
  if (!target || target->kind != (is_dict ? PICKLE_DICT : PICKLE_LIST) || (is_dict && count % 2)) {
    stop(m, is_dict ? "entries of a dict have no dict to go to" : "elements of a list have no list to go to");
    return;
  }
  append_values(m, target->container, &m->stack[first], count);
  m->depth = first;
}

/* Makes a tuple, list or dict of the topmost values. */
static void gather(struct machine *m, uint64_t first, bool is_dict) {
  uint64_t count = m->depth - first;
  if (is_dict && count % 2) {
    stop(m, "a dict has a key without a value");
    return;
  }
  struct pickle_container *made = push_container(m, is_dict ? PICKLE_DICT : PICKLE_LIST);
  if (!made || m->no_memory || m->is_done) return;
  append_values(m, made, &m->stack[first], count);
  m->stack[first] = m->stack[m->depth - 1];
  m->depth = first + 1;
}

/* Takes the last mark away; false: there is none. */
static bool pop_mark(struct machine *m, uint64_t *first) {
  if (!m->mark_count) {
    stop(m, "a mark is missing");
    return false;
  }
  *first = m->marks[--m->mark_count];
  return true;
}

static bool need(struct machine *m, uint64_t count) {
  if (above_mark(m) < count) stop(m, "values are missing on the stack");
  return !m->is_done;
}

/* ---- the machine ---- */

static void run_opcode(struct machine *m) {
  uint64_t number, first;
  const uint8_t *skipped;
  uint8_t opcode = *m->at++;
  switch (opcode) {
    case 0x80: /* PROTO */
      if (take_number(m, 1, &number) && (number < 2 || number > 5)) stop(m, "the protocol is not 2, 3, 4 or 5");
      break;
    case 0x95: take_argument(m, 8, &skipped); break; /* FRAME: a hint for readers of streams */
    case 'N': push_integer(m, PICKLE_NONE, 0); break;
    case 0x88: push_integer(m, PICKLE_BOOL, 1); break;
    case 0x89: push_integer(m, PICKLE_BOOL, 0); break;
    case 'K': if (take_number(m, 1, &number)) push_integer(m, PICKLE_INTEGER, (int64_t)number); break;
    case 'M': if (take_number(m, 2, &number)) push_integer(m, PICKLE_INTEGER, (int64_t)number); break;
    case 'J': if (take_number(m, 4, &number)) push_integer(m, PICKLE_INTEGER, (int32_t)number); break;
    case 0x8a: read_long(m, 1); break;
    case 0x8b: read_long(m, 4); break;
    case 'G': read_real(m); break;
    case 0x8c: case 'U': case 'C': read_text(m, 1); break;
    case 'X': case 'T': case 'B': read_text(m, 4); break;
    case 0x8d: case 0x8e: case 0x96: read_text(m, 8); break;
    case ']': case ')': push_container(m, PICKLE_LIST); break;
    case '}': push_container(m, PICKLE_DICT); break;
    case 0x94: memo_put(m, m->memo_count); break;
    case 'q': if (take_number(m, 1, &number)) memo_put(m, number); break;
    case 'r': if (take_number(m, 4, &number)) memo_put(m, number); break;
    case 'h': if (take_number(m, 1, &number)) memo_get(m, number); break;
    case 'j': if (take_number(m, 4, &number)) memo_get(m, number); break;
    case '(':
      if (grow_items(m, (void **)&m->marks, m->mark_count + 1, &m->mark_capacity, sizeof *m->marks))
        m->marks[m->mark_count++] = m->depth;
      break;
    case 'a': if (need(m, 2)) fill(m, m->depth - 1, false); break;
    case 's': if (need(m, 3)) fill(m, m->depth - 2, true); break;
    case 'e': if (pop_mark(m, &first)) fill(m, first, false); break;
    case 'u': if (pop_mark(m, &first)) fill(m, first, true); break;
    case 't': case 'l': if (pop_mark(m, &first)) gather(m, first, false); break;
    case 'd': if (pop_mark(m, &first)) gather(m, first, true); break;
    case 0x85: case 0x86: case 0x87:
      if (need(m, opcode - 0x84u)) gather(m, m->depth - (opcode - 0x84u), false);
      break;
    case '0': if (need(m, 1)) m->depth--; break;
    case '1': if (pop_mark(m, &first)) m->depth = first; break;
    case '2': if (need(m, 1)) push(m, m->stack[m->depth - 1]); break;
    case '.': m->is_done = true; break;
    case 'c': case 0x93: case 'R': case 'b': case 0x81: case 0x92: case 'i': case 'o': case 'P': case 'Q':
    case 0x82: case 0x83: case 0x84:
      stop(m, "the pickle would import or call something of a Python program, which is never done");
      break;
    default: stop(m, "an opcode is not known"); break;
  }
}

/* What was still being filled when the file ended gets what there was for it. */
static void unwind(struct machine *m) {
  while (m->mark_count && !m->no_memory) {
    uint64_t first = m->marks[--m->mark_count];
    const struct pickle_value *target = first ? &m->stack[first - 1] : NULL;
    if (target && (target->kind == PICKLE_DICT || target->kind == PICKLE_LIST)) {
      bool is_dict = target->kind == PICKLE_DICT;
      append_values(m, target->container, &m->stack[first], (m->depth - first) & ~(uint64_t)is_dict);
    }
    m->depth = first;
  }
}

enum tfprof_status pickle_read(struct pickle *pickle, struct store *store, const uint8_t *bytes, uint64_t length,
                               struct tfprof_error *error) {
  struct machine m = {.pickle = pickle, .start = bytes, .at = bytes, .end = bytes + length};
  *pickle = (struct pickle){.root.kind = PICKLE_NONE};
  bool is_interrupted = false;
  for (uint64_t opcodes = 0; !m.is_done && !m.no_memory && !is_interrupted; opcodes++) {
    is_interrupted = opcodes % OPCODES_UNTIL_POLL == 0 && store_interrupted(store);
    pickle->offset = (uint64_t)(m.at - m.start);
    if (m.at == m.end) {
      stop(&m, "the file ends before the pickle does");
    } else {
      run_opcode(&m);
    }
  }
  unwind(&m);
  if (m.depth) pickle->root = m.stack[0];
  free(m.stack);
  free(m.memo);
  free(m.marks);
  if (!m.no_memory && !is_interrupted) return TFPROF_OK;
  pickle_free(pickle);
  return is_interrupted ? error_set(error, TFPROF_INTERRUPTED, "interrupted") : error_no_memory(error);
}

void pickle_free(struct pickle *pickle) {
  for (struct pickle_container *container = pickle->containers, *next; container; container = next) {
    next = container->next;
    free(container->items);
    free(container);
  }
  *pickle = (struct pickle){.root.kind = PICKLE_NONE};
}

/* ---- looking things up ---- */

bool pickle_is_text(const struct pickle_value *value, const char *text) {
  return value && value->kind == PICKLE_TEXT && value->length == strlen(text) &&
         memcmp(value->text, text, value->length) == 0;
}

const struct pickle_value *pickle_find(const struct pickle_value *value, const char *key) {
  if (!value || value->kind != PICKLE_DICT) return NULL;
  const struct pickle_container *dict = value->container;
  for (uint64_t i = 0; i + 1 < dict->count && i / 2 < LOOKED_AT_ENTRIES; i += 2)
    if (pickle_is_text(&dict->items[i], key)) return &dict->items[i + 1];
  return NULL;
}

int64_t pickle_find_integer(const struct pickle_value *value, const char *key, int64_t otherwise) {
  const struct pickle_value *found = pickle_find(value, key);
  return found && found->kind == PICKLE_INTEGER ? found->integer : otherwise;
}

const struct pickle_container *pickle_find_list(const struct pickle_value *value, const char *key) {
  const struct pickle_value *found = pickle_find(value, key);
  return found && found->kind == PICKLE_LIST ? found->container : NULL;
}
