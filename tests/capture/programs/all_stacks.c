/* all_stacks.c: what the recorder sees of all threads of a Python, for tests/capture/test_all_stacks.py: its own walk,
** on a thread of C that has nothing to do with Python.
*/
#include "python/guarded_read.h"
#include "python/python_api.h"
#include "python/python_code.h"
#include "python/python_layout.h"
#include "python/python_peek.h"
#include "python/python_states.h"

#include "channel/thread_record.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define ENTRY_POINT __attribute__((visibility("default")))

enum { STATES = 256 };

static struct look {
  int rounds;
  long whole, changing, without;
  char *text;
  size_t length, size;
} look;

static void describe(const struct python_state *state, const struct python_place *stack, unsigned depth) {
  static uint8_t buffer[SCRATCH_SIZE];
  look.length += (size_t)snprintf(look.text + look.length, look.size - look.length, "%u", state->tid);
  for (unsigned i = 0; i < depth && look.length + 300 < look.size; i++) {
    struct python_code code;
    if (!python_copy_code(guarded_read, (const uint8_t *)stack[i].code, buffer, sizeof buffer, &code)) break;
    uint32_t offset = python_code_offset(stack[i].code, stack[i].instruction);
    const uint8_t *function = code.bytes + code.file_length, *table = function + code.function_length;
    int32_t line = python_line(python_layout.table, table, code.table_length, code.first_line, offset);
    look.length += (size_t)snprintf(look.text + look.length, look.size - look.length, " %.*s:%d",
                                    (int)(code.function_length < 200 ? code.function_length : 200),
                                    (const char *)function, line);
  }
  look.length += (size_t)snprintf(look.text + look.length, look.size - look.length, "\n");
}

static void *look_at_all(void *argument) {
  static struct python_state states[STATES];
  static struct python_place stack[STACK_MAXIMUM];
  (void)argument;
  for (int round = 0; round < look.rounds; round++) {
    unsigned count = python_states_list(states, STATES);
    for (unsigned i = 0; i < count; i++) {
      bool is_changing;
      unsigned depth = python_peek_steady(states[i].address, stack, &is_changing);
      look.changing += is_changing;
      look.whole += !is_changing && depth;
      look.without += !is_changing && !depth;
      if (look.text && look.length + 400 < look.size) describe(&states[i], stack, depth);
    }
  }
  return NULL;
}

/* With the GIL held. NULL: it is proved; else why not. */
ENTRY_POINT const char *prove(unsigned version);
const char *prove(unsigned version) {
  static char reason[256] = "this Python lacks a function";
  if (!guarded_read_begin() || !python_api_find() || !python_find(version, reason, sizeof reason)) return reason;
  python_believe(true);
  python_peek_open();
  return python_states_prove(reason, sizeof reason) ? NULL : reason;
}

/* Without the GIL: so many rounds; a line of text for each thread where there is room for it. */
ENTRY_POINT void see(int rounds, char *text, size_t size, long seen[3]);
void see(int rounds, char *text, size_t size, long seen[3]) {
  pthread_t thread;
  look = (struct look){.rounds = rounds, .text = text, .size = size};
  if (pthread_create(&thread, NULL, look_at_all, NULL)) return;
  pthread_join(thread, NULL);
  seen[0] = look.whole, seen[1] = look.changing, seen[2] = look.without;
}
