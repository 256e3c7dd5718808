/* step_words.c: see step_words.h. */
#include "step_words.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

const char step_of_user[] = "tfprof.step#", step_of_profiler[] = "ProfilerStep#";

static bool is_word(const char *text, size_t length, const char *word) {
  size_t i = 0;
  for (; i < length && word[i]; i++) {
    char letter = (char)tolower((unsigned char)text[i]);
    if (letter != word[i] && !(word[i] == '_' && (letter == ' ' || letter == '-'))) return false;
  }
  return i == length && !word[i];
}

unsigned step_word(const char *text, size_t length) {
  static const char *const words[STEP_WORDS - 1] = {
      "step",        "iteration",      "iter",           "train_step",        "training_step", "train_iter",
      "train_batch", "training_batch", "train_iteration", "training_iteration", "run_training_batch"};
  while (length && text[0] == '[') { /* who marks it */
    const char *end = memchr(text, ']', length);
    if (!end) return 0;
    length -= (size_t)(end + 1 - text);
    text = end + 1;
  }
  while (length && (isdigit((unsigned char)text[length - 1]) || strchr(" _#:=-", text[length - 1]))) length--;
  for (unsigned i = 0; i < STEP_WORDS - 1; i++)
    if (is_word(text, length, words[i])) return i + 1;
  return 0;
}

int64_t step_mark_number(const char *name, const char *prefix) {
  size_t length = strlen(prefix);
  int64_t number = 0;
  if (strncmp(name, prefix, length) != 0) return -1;
  name += length;
  if (!*name) return -1;
  for (; *name; name++) {
    if (*name < '0' || *name > '9' || number > INT64_MAX / 10 - 1) return -1;
    number = number * 10 + (*name - '0');
  }
  return number;
}
