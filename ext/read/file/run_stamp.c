/* run_stamp.c: see run_stamp.h. */
#include "read/file/run_stamp.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int64_t run_stamp_of_name(const char *name) {
  static const char form[] = "dddd_dd_dd_dd_dd_dd";
  int year, month, day, hour, minute, second;
  if (strlen(name) < sizeof form - 1) return -1;
  for (size_t i = 0; form[i]; i++) {
    if (form[i] == 'd' ? !isdigit((unsigned char)name[i]) : !strchr("_-.", name[i])) return -1;
  }
  if (sscanf(name, "%4d%*c%2d%*c%2d%*c%2d%*c%2d%*c%2d", &year, &month, &day, &hour, &minute, &second) != 6) return -1;
  struct tm when = {.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day,
                    .tm_hour = hour, .tm_min = minute, .tm_sec = second};
  return (int64_t)timegm(&when);
}

int64_t run_stamp_of_file(const char *path) {
  const char *slash = strrchr(path, '/'), *begin = slash;
  while (begin && begin > path && begin[-1] != '/') begin--;
  char *name = slash ? strndup(begin, (size_t)(slash - begin)) : NULL;
  int64_t stamp = name ? run_stamp_of_name(name) : -1;
  free(name);
  return stamp;
}
