/* profile_argument.h: the hidden argument of every table, which selects among what is open. */
#ifndef TFPROF_PROFILE_ARGUMENT_H
#define TFPROF_PROFILE_ARGUMENT_H

#include <sqlite3ext.h>

#include "base/error.h"

struct profile_argument {
  const char *text; /* for store_snapshot(): the value's own, valid as long as that, or `number` */
  char number[24];
};

/* What is no name of a profile is an error: a NULL or an empty text where a name was meant would read as no rows, or as
** all of them. */
enum tfprof_status profile_argument_take(struct profile_argument *argument, sqlite3_value *value,
                                         struct tfprof_error *error);

#endif
