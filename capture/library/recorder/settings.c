/* settings.c: see settings.h. */
#include "settings.h"

#include <stdlib.h>
#include <string.h>

static struct {
  const char *name, *value;
} told[SETTING_MAXIMUM];
static unsigned told_count;

const char *setting(const char *name) {
  if (!told_count) return getenv(name);
  for (unsigned i = 0; i < told_count; i++)
    if (!strcmp(told[i].name, name)) return told[i].value;
  return NULL;
}

bool settings_were_told(void) { return told_count > 0; }

bool setting_tell(const char *name, const char *value) {
  if (told_count == SETTING_MAXIMUM) return false;
  const char *its_name = strdup(name), *its_value = strdup(value);
  if (!its_name || !its_value) {
    free((char *)its_name);
    free((char *)its_value);
    return false;
  }
  told[told_count].name = its_name;
  told[told_count++].value = its_value;
  return true;
}
