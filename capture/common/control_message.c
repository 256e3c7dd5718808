/* control_message.c: see control_message.h. */
#include "control_message.h"

#include <string.h>

static const uint8_t magic[4] = {'t', 'f', 'p', 'c'};

enum { FIRST_TEXT = CONTROL_PROGRAM };

static unsigned two_bytes(const uint8_t *at) { return at[0] | (unsigned)at[1] << 8; }

static uint64_t eight_bytes(const uint8_t *at) {
  uint64_t number = 0;
  for (int i = 8; i--;) number = number << 8 | at[i];
  return number;
}

/* What is read, and where of its texts the next one lies. */
struct reading {
  struct control_message *message;
  uint32_t numbers_seen, texts_seen; /* a bit for each */
  size_t stored;
};

static bool store_number(struct reading *reading, unsigned tag, uint64_t number) {
  if (!tag || tag >= CONTROL_NUMBERS) return true;
  if (reading->numbers_seen >> tag & 1) return false;
  reading->numbers_seen |= 1u << tag;
  reading->message->numbers[tag] = number;
  return true;
}

static bool store_text(struct reading *reading, unsigned tag, const uint8_t *text, size_t length) {
  unsigned place = tag - FIRST_TEXT;
  if (place >= CONTROL_TEXTS) return true;
  if (reading->texts_seen >> place & 1 || length > CONTROL_TEXT_MAXIMUM || memchr(text, 0, length)) return false;
  reading->texts_seen |= 1u << place;
  char *stored = reading->message->storage + reading->stored;
  memcpy(stored, text, length);
  stored[length] = 0; /* in the place of its own tag and length, of three bytes */
  reading->stored += length + 1;
  reading->message->texts[place] = stored;
  return true;
}

static bool read_fields(struct reading *reading, const uint8_t *at, size_t size) {
  while (size) {
    unsigned tag = at[0];
    size_t head = tag < FIRST_TEXT ? 1 : 3, length = 8;
    if (size < head) return false;
    if (tag >= FIRST_TEXT) length = two_bytes(at + 1);
    if (size - head < length) return false;
    at += head;
    bool is_number = tag < FIRST_TEXT;
    if (is_number && !store_number(reading, tag, eight_bytes(at))) return false;
    if (!is_number && !store_text(reading, tag, at, length)) return false;
    at += length;
    size -= head + length;
  }
  return true;
}

enum control_reading control_message_read(const uint8_t *bytes, size_t size, struct control_message *message) {
  memset(message->numbers, 0, sizeof message->numbers);
  memset(message->texts, 0, sizeof message->texts);
  if (memcmp(bytes, magic, size < sizeof magic ? size : sizeof magic) != 0) return CONTROL_WRONG;
  if (size < CONTROL_HEAD) return CONTROL_MORE;
  size_t length = two_bytes(bytes + 6);
  if (bytes[4] != CONTROL_VERSION) return CONTROL_OTHER_VERSION;
  if (!bytes[5] || bytes[5] >= CONTROL_KINDS || length > CONTROL_MAXIMUM - CONTROL_HEAD) return CONTROL_WRONG;
  if (size - CONTROL_HEAD < length) return CONTROL_MORE;
  message->kind = bytes[5];
  struct reading reading = {.message = message};
  return read_fields(&reading, bytes + CONTROL_HEAD, length) ? CONTROL_WHOLE : CONTROL_WRONG;
}

/* ---- Writing. */

size_t control_message_write(const struct control_message *message, uint8_t *bytes, size_t room) {
  if (room > CONTROL_MAXIMUM) room = CONTROL_MAXIMUM;
  if (room < CONTROL_HEAD) return 0;
  size_t used = CONTROL_HEAD;
  for (unsigned tag = 1; tag < CONTROL_NUMBERS; tag++) {
    uint64_t number = message->numbers[tag];
    if (!number) continue;
    if (room - used < 9) return 0;
    bytes[used++] = (uint8_t)tag;
    for (unsigned shift = 0; shift < 64; shift += 8) bytes[used++] = (uint8_t)(number >> shift);
  }
  for (unsigned place = 0; place < CONTROL_TEXTS; place++) {
    const char *text = message->texts[place];
    size_t length = text ? strlen(text) : 0;
    if (!length) continue;
    if (length > CONTROL_TEXT_MAXIMUM || room - used < length + 3) return 0;
    bytes[used++] = (uint8_t)(FIRST_TEXT + place);
    bytes[used++] = (uint8_t)length;
    bytes[used++] = (uint8_t)(length >> 8);
    memcpy(bytes + used, text, length);
    used += length;
  }
  memcpy(bytes, magic, sizeof magic);
  bytes[4] = CONTROL_VERSION;
  bytes[5] = (uint8_t)message->kind;
  bytes[6] = (uint8_t)(used - CONTROL_HEAD);
  bytes[7] = (uint8_t)((used - CONTROL_HEAD) >> 8);
  return used;
}
