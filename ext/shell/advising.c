/* advising.c: see advising.h. */
#include "advising.h"

#include <ctype.h>
#include <string.h>

void advise_checker_name(const struct stored_select *check, char *to) {
  size_t length = 0;
  bool begins = true;
  const char *end = check->name + stored_check_name_length(check);
  for (const char *at = check->name; at < end && length + 9 < LONGEST_NAME; at++) {
    if (*at == '_')
      begins = true;
    else {
      to[length++] = begins ? (char)toupper((unsigned char)*at) : *at;
      begins = false;
    }
  }
  strcpy(to + length, "Checker");
}
