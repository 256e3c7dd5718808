/* settings.c: see settings.h. The names are found in the texts of the stored SELECTs, so that they are written once. */
#include "vtab/settings.h"

#include <stdlib.h>
#include <string.h>

#include "vtab/stored_select.h"

SQLITE_EXTENSION_INIT3

enum { LONGEST_NAME = 80 };

struct setting {
  struct setting *next;
  double value;
  char name[];
};

/* The name and default after "tfprof_setting('". */
static bool read_use(const char *at, char *name, char *standard) {
  size_t length = strcspn(at, "'");
  if (length >= LONGEST_NAME || at[length] != '\'') return false;
  memcpy(name, at, length);
  name[length] = '\0';
  at += length + 1;
  at += strspn(at, ", ");
  length = strcspn(at, ")");
  if (length >= LONGEST_NAME) return false;
  memcpy(standard, at, length);
  standard[length] = '\0';
  return true;
}

/* Whether this use is the first of its name. */
static bool is_first(const struct stored_select *until, const char *place, const char *name) {
  static const char call[] = "tfprof_setting('";
  char other[LONGEST_NAME], standard[LONGEST_NAME];
  for (const struct stored_select *select = stored_selects; select->name; select++) {
    for (const char *at = strstr(select->sql, call); at; at = strstr(at + 1, call)) {
      if (select == until && at == place) return true;
      if (read_use(at + sizeof call - 1, other, standard) && strcmp(other, name) == 0) return false;
    }
  }
  return true;
}

void settings_each(const char *prefix, void (*take)(void *user, const char *name, const char *standard), void *user) {
  static const char call[] = "tfprof_setting('";
  char name[LONGEST_NAME], standard[LONGEST_NAME];
  for (const struct stored_select *select = stored_selects; select->name; select++) {
    for (const char *at = strstr(select->sql, call); at; at = strstr(at + 1, call)) {
      if (!read_use(at + sizeof call - 1, name, standard) || !is_first(select, at, name)) continue;
      if (!prefix || strncmp(name, prefix, strlen(prefix)) == 0) take(user, name, standard);
    }
  }
}

struct listing {
  const char *wanted;
  bool is_there;
  sqlite3_str *names;
};

static void list_name(void *user, const char *name, const char *standard) {
  struct listing *listing = user;
  (void)standard;
  listing->is_there |= strcmp(name, listing->wanted) == 0;
  sqlite3_str_appendf(listing->names, "%s%s", sqlite3_str_length(listing->names) ? ", " : "", name);
}

static bool exists(const char *name, char **message) {
  struct listing listing = {.wanted = name, .names = sqlite3_str_new(NULL)};
  settings_each(NULL, list_name, &listing);
  char *names = sqlite3_str_finish(listing.names);
  *message = listing.is_there ? NULL : sqlite3_mprintf("there is no setting '%s'; the settings are: %s", name, names);
  sqlite3_free(names);
  return listing.is_there;
}

double settings_get(const struct connection *connection, const char *name, double otherwise) {
  for (const struct setting *setting = connection->settings; setting; setting = setting->next) {
    if (strcmp(setting->name, name) == 0) return setting->value;
  }
  return otherwise;
}

bool settings_reset(struct connection *connection, const char *name, char **message) {
  if (!exists(name, message)) return false;
  for (struct setting **place = &connection->settings; *place; place = &(*place)->next) {
    if (strcmp((*place)->name, name) != 0) continue;
    struct setting *gone = *place;
    *place = gone->next;
    free(gone);
    break;
  }
  return true;
}

bool settings_set(struct connection *connection, const char *name, double value, char **message) {
  if (!settings_reset(connection, name, message)) return false;
  struct setting *setting = malloc(sizeof *setting + strlen(name) + 1);
  if (!setting) return false;
  strcpy(setting->name, name);
  setting->value = value;
  setting->next = connection->settings;
  connection->settings = setting;
  return true;
}

void settings_free(struct connection *connection) {
  while (connection->settings) {
    struct setting *next = connection->settings->next;
    free(connection->settings);
    connection->settings = next;
  }
}
