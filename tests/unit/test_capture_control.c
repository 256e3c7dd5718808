/* test_capture_control.c: what a dormant program and who asks it say to each other: whole, in pieces, and wrong. */
#include "check.h"
#include "common/control_message.h"
#include "common/control_place.h"

#include <string.h>
#include <unistd.h>

#define CHECK(holds) check(holds, "line %d: %s", __LINE__, #holds)

static size_t write_request(uint8_t *bytes) {
  struct control_message message = {.kind = CONTROL_RECORD};
  message.numbers[CONTROL_STEPS] = 5;
  message.numbers[CONTROL_START] = UINT64_C(0x0123456789abcdef);
  control_set_text(&message, CONTROL_DIRECTORY, "/a/b");
  return control_message_write(&message, bytes, CONTROL_MAXIMUM);
}

static void test_whole(void) {
  static uint8_t bytes[CONTROL_MAXIMUM];
  static struct control_message message;
  size_t size = write_request(bytes);
  CHECK(size == CONTROL_HEAD + 9 + 9 + 3 + 4);
  CHECK(control_message_read(bytes, size + 7, &message) == CONTROL_WHOLE); /* more may follow */
  CHECK(message.kind == CONTROL_RECORD && message.numbers[CONTROL_STEPS] == 5);
  CHECK(message.numbers[CONTROL_START] == UINT64_C(0x0123456789abcdef) && !message.numbers[CONTROL_DURATION]);
  CHECK(!strcmp(control_text(&message, CONTROL_DIRECTORY), "/a/b") && !control_text(&message, CONTROL_FILE));
}

static void test_cut(void) {
  static uint8_t bytes[CONTROL_MAXIMUM];
  static struct control_message message;
  size_t size = write_request(bytes);
  for (size_t i = 0; i < size; i++) CHECK(control_message_read(bytes, i, &message) == CONTROL_MORE);
  for (size_t cut = 1; cut < size - CONTROL_HEAD; cut++) { /* the length says that it ends within a field */
    bytes[6] = (uint8_t)cut;
    enum control_reading reading = control_message_read(bytes, size, &message);
    CHECK(reading == (cut == 9 || cut == 18 ? CONTROL_WHOLE : CONTROL_WRONG));
  }
}

static void test_wrong(void) {
  static uint8_t bytes[CONTROL_MAXIMUM], wrong[CONTROL_MAXIMUM];
  static struct control_message message;
  size_t size = write_request(bytes);
  static const struct {
    size_t place;
    uint8_t value;
    enum control_reading reading;
  } changes[] = {
      {0, 'T', CONTROL_WRONG},        {3, 0, CONTROL_WRONG},
      {4, 2, CONTROL_OTHER_VERSION},  {4, 0, CONTROL_OTHER_VERSION},
      {5, 0, CONTROL_WRONG},          {5, CONTROL_KINDS, CONTROL_WRONG},
      {7, 0xff, CONTROL_WRONG},       {CONTROL_HEAD, 0, CONTROL_WHOLE}, /* tags that are not known */
      {CONTROL_HEAD, 63, CONTROL_WHOLE}, {CONTROL_HEAD + 18, 255, CONTROL_WHOLE},
      {CONTROL_HEAD, CONTROL_START, CONTROL_WRONG}, /* two of one */
      {CONTROL_HEAD + 22, 0, CONTROL_WRONG},        /* a NUL in a text */
  };
  for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
    memcpy(wrong, bytes, size);
    wrong[changes[i].place] = changes[i].value;
    CHECK(control_message_read(wrong, size, &message) == changes[i].reading);
  }
}

static void test_long(void) {
  static uint8_t bytes[CONTROL_MAXIMUM];
  static struct control_message message, read;
  static char text[CONTROL_TEXT_MAXIMUM + 2];
  memset(text, 'x', CONTROL_TEXT_MAXIMUM);
  message.kind = CONTROL_FACTS;
  for (int which = CONTROL_PROGRAM; which < CONTROL_PROGRAM + 3; which++)
    control_set_text(&message, (enum control_text)which, text);
  size_t size = control_message_write(&message, bytes, sizeof bytes);
  CHECK(size == CONTROL_HEAD + 3 * (3 + CONTROL_TEXT_MAXIMUM));
  CHECK(control_message_read(bytes, size, &read) == CONTROL_WHOLE);
  CHECK(!strcmp(control_text(&read, CONTROL_DIRECTORY), text));
  CHECK(control_message_write(&message, bytes, size - 1) == 0);
  text[CONTROL_TEXT_MAXIMUM] = 'x';
  CHECK(control_message_write(&message, bytes, sizeof bytes) == 0);
}

static void test_names(void) {
  static const char *const wrong[] = {"", "-", "1", "1-", "-1-2", "0-5", "1-2x", "01-2", " 1-2", "1-2.run", "1-+2"};
  char name[CONTROL_NAME_SIZE];
  pid_t process;
  uint64_t time = control_start_time(getpid()), read_time;
  CHECK(time != 0 && control_start_time(0) == 0);
  control_name(name, getpid(), time);
  CHECK(control_name_read(name, &process, &read_time) && process == getpid() && read_time == time);
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) CHECK(!control_name_read(wrong[i], &process, &read_time));
}

int main(void) {
  test_whole();
  test_cut();
  test_wrong();
  test_long();
  test_names();
  return check_result();
}
