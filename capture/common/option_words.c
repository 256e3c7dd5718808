/* option_words.c: see option_words.h. */
#include "option_words.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

uint64_t option_time_ns(const char *text) {
  static const struct {
    const char *unit;
    double ns;
  } units[] = {{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}};
  char *end;
  if (*text < '0' || *text > '9') return 0;
  double number = strtod(text, &end);
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
    if (!strcmp(end, units[i].unit) && number * units[i].ns >= 1e6 && number * units[i].ns <= 1e15)
      return (uint64_t)(number * units[i].ns);
  return 0;
}

int option_signal(const char *text) {
  static const struct {
    const char *name;
    int number;
  } signals[] = {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"HUP", SIGHUP},   {"QUIT", SIGQUIT},
                 {"ALRM", SIGALRM}, {"PROF", SIGPROF}, {"VTALRM", SIGVTALRM}, {"URG", SIGURG},
                 {"IO", SIGIO},     {"PWR", SIGPWR},   {"WINCH", SIGWINCH}};
  char *end;
  long number = strtol(text, &end, 10);
  bool is_number = *text && !*end;
  if (!strncmp(text, "SIG", 3)) text += 3;
  if (is_number && number >= SIGRTMIN && number <= SIGRTMAX) return (int)number;
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
    if (is_number ? number == signals[i].number : !strcmp(text, signals[i].name)) return signals[i].number;
  return 0;
}
