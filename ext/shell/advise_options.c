/* advise_options.c: see advise_options.h. */
#include "advise_options.h"

#include <stdio.h>
#include <string.h>

#include "vtab/settings.h"

enum { LONGEST_OPTION = 81 };

struct each_option {
  void (*take)(void *user, const char *name, const char *standard);
  void *user;
};

static void take_option(void *user, const char *name, const char *standard) {
  const struct each_option *each = user;
  char option[LONGEST_OPTION];
  if (strcmp(name, "compat") == 0) return;
  snprintf(option, sizeof option, "-%s", name);
  each->take(each->user, option, standard);
}

void advise_each_option(void (*take)(void *user, const char *name, const char *standard), void *user) {
  struct each_option each = {take, user};
  take(user, "-checkers", "all");
  settings_each(NULL, take_option, &each);
}

static void add_name(void *user, const char *option, const char *standard) {
  const char *dot = strchr(option, '.');
  (void)standard;
  vocabulary_add_word(user, option + 1);
  if (dot) vocabulary_add_word(user, dot + 1);
}

void advise_add_options(struct vocabulary *vocabulary) { advise_each_option(add_name, vocabulary); }
