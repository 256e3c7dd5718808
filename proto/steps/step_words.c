/* step_words.c: see step_words.h. */
#include "step_words.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

const char step_of_user[] = "tfprof.step#", step_of_profiler[] = "ProfilerStep#",
           step_of_annotation[] = "StepTraceAnnotation#", step_of_keras[] = "keras.step#";

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

/* Reads digits; NULL: there are none, or too many. */
static const char *read_number(const char *text, int64_t *number) {
  const char *first = text;
  *number = 0;
  for (; isdigit((unsigned char)*text); text++) {
    if (*number > INT64_MAX / 10 - 1) return NULL;
    *number = *number * 10 + (*text - '0');
  }
  return text == first ? NULL : text;
}

int64_t step_mark_numbers(const char *name, const char *prefix, int64_t *last) {
  size_t length = strlen(prefix);
  int64_t number;
  if (strncmp(name, prefix, length) != 0 || !(name = read_number(name + length, &number))) return -1;
  *last = number;
  if (*name == '-' && (!(name = read_number(name + 1, last)) || *last < number)) return -1;
  return *name ? -1 : number;
}

int64_t step_mark_number(const char *name, const char *prefix) {
  int64_t last, number = step_mark_numbers(name, prefix, &last);
  return number == last ? number : -1;
}

bool is_repeated_call(const char *name) {
  static const char *const calls[] = {"PjitFunction(", "tf.function(", "EagerLocalExecute: __inference_", "SessionRun"};
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
    if (strncmp(name, calls[i], strlen(calls[i])) == 0) return true;
  return false;
}
