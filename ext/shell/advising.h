/* advising.h: what one `advise` is about: the checks, those that are chosen, and settings for this time. */
#ifndef TFPROF_SHELL_ADVISING_H
#define TFPROF_SHELL_ADVISING_H

#include "session.h"
#include "vtab/connection.h"
#include "vtab/stored_select.h"

enum { MAXIMUM_CHECKS = 64, LONGEST_NAME = 80, MAXIMUM_CHANGES = 64 };

struct change {
  char name[LONGEST_NAME];
  double value;
  bool was_set;
  double former;
};

struct advising {
  struct session *session;
  struct connection *connection;
  const struct stored_select *checks[MAXIMUM_CHECKS]; /* in the order in which they are shown */
  bool is_chosen[MAXIMUM_CHECKS];
  int check_count;
  bool has_choice;   /* only those that are chosen are shown */
  bool is_old;       /* as the documents of an older generation show it */
  bool has_checkers; /* -checkers named those that are chosen */
  struct change changes[MAXIMUM_CHANGES];
  int change_count;
};

/* What -checkers calls a check: job -> JobChecker. `to` has room for LONGEST_NAME bytes. */
void advise_checker_name(const struct stored_select *check, char *to);

#endif
