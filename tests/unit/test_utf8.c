/* test_utf8.c: every number as a character in UTF-8, written and recognised; what is none; texts cut anywhere. */
#include "base/utf8.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

static void test_every_number(void) {
  for (uint32_t number = 0; number < 0x110100; number++) {
    char text[5] = "";
    size_t length = utf8_put(text, number);
    bool is_character = number < 0x110000 && (number < 0xd800 || number > 0xdfff);
    size_t wanted = !is_character ? 3 : number < 0x80 ? 1 : number < 0x800 ? 2 : number < 0x10000 ? 3 : 4;
    check(length == wanted && utf8_character(text, length) == length, "U+%X takes %zu bytes", number, length);
    check(is_character || memcmp(text, UTF8_REPLACEMENT, 3) == 0, "U+%X is taken for a character", number);
    for (size_t left = 1; left < length; left++)
      check(utf8_character(text, left) == 0, "%zu bytes of U+%X are a character", left, number);
  }
  char text[4];
  check(utf8_put(text, UINT32_MAX) == 3 && memcmp(text, UTF8_REPLACEMENT, 3) == 0, "what is too large is a character");
  check(utf8_put(text, 0x20ac) == 3 && memcmp(text, "\xe2\x82\xac", 3) == 0, "U+20AC is not what it should be");
}

static void test_no_characters(void) {
  static const char *const wrong[] = {
      "\x80",         "\xbf",         "\xc0\xaf",         "\xc1\x81",         "\xc3\x28",         "\xe0\x9f\xbf",
      "\xed\xa0\x80", "\xe2\x28\xa1", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    check(utf8_character(wrong[i], strlen(wrong[i])) == 0, "text %zu begins with a character", i);
    for (size_t before = 0; before < 20; before++) { /* wherever it lies among the eight bytes that are looked at */
      char text[32];
      memset(text, 'a', before);
      memcpy(text + before, wrong[i], strlen(wrong[i]));
      check(utf8_valid(text, before + strlen(wrong[i])) == before, "text %zu after %zu letters is valid", i, before);
    }
  }
  check(utf8_valid("", 0) == 0 && utf8_valid("a\0b", 3) == 3, "zero bytes end a text");
}

int main(void) {
  test_every_number();
  test_no_characters();
  return check_result();
}
