/* fuzz_capture_control.c: any bytes as what comes over the socket of a dormant program (common/control_message.h).
**
** Whatever they are: what is read is within its bounds, and written again it is the same.
*/
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/control_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds) {
  if (!holds) abort();
}

static bool is_same(const char *a, const char *b) { return !a || !*a ? !b || !*b : b && !strcmp(a, b); }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct control_message message, again;
  static uint8_t bytes[CONTROL_MAXIMUM];
  enum control_reading reading = control_message_read(data, size, &message);
  must(reading != CONTROL_MORE || size < CONTROL_MAXIMUM);
  if (reading != CONTROL_WHOLE) return 0;
  must(message.kind > 0 && message.kind < CONTROL_KINDS);
  size_t written = control_message_write(&message, bytes, sizeof bytes);
  must(written >= CONTROL_HEAD && written <= size);
  must(control_message_read(bytes, written, &again) == CONTROL_WHOLE && again.kind == message.kind);
  must(!memcmp(again.numbers, message.numbers, sizeof again.numbers));
  for (unsigned i = 0; i < CONTROL_TEXTS; i++) {
    must(is_same(message.texts[i], again.texts[i]));
    must(!message.texts[i] || strlen(message.texts[i]) <= CONTROL_TEXT_MAXIMUM);
  }
  return 0;
}
