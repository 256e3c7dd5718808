/* selection.c: which profiles the hidden argument of a table names.
**
** The first of these that anything open fits decides, so that a path means that path and nothing beside it:
**
**   a number    the profile with that id (a path of digits is written ./7)
**   a path      of a profile's file, of the run it was opened with, or of the directory its file lies in; spelled in
**   any
**               way: run, ./run, run/, from the root on, or as it is without symbolic links
**   a name      the last part of such a path, with or without .tfprof
**   a glob      * for all; as in SQL, over such paths as they were given or, when it begins with a slash, from the root
**   on; where none fits one with a slash elsewhere, this too over paths from the root on
**
** What fits nothing is an error that lists what is open: no rows would look like an answer.  Nothing here asks the file
** system, so that a query on what is open finds out nothing else.
*/
#include "store/private.h"

#include <stdio.h>
#include <stdlib.h>

/* SQLite's GLOB: * ? [a-z] [^a-z]; a slash is a character as any other. Backtracks to the last star only, so that no
** pattern takes more than length times length steps. */
static const char *match_set(const char *pattern, unsigned char character) {
  bool is_inverted = *pattern == '^', is_in = false;
  if (is_inverted) pattern++;
  const char *first = pattern;
  for (; *pattern && (*pattern != ']' || pattern == first); pattern++) {
    unsigned char low = (unsigned char)*pattern;
    if (pattern[1] == '-' && pattern[2] && pattern[2] != ']') {
      is_in |= low <= character && character <= (unsigned char)pattern[2];
      pattern += 2;
    } else {
      is_in |= low == character;
    }
  }
  return *pattern && is_in != is_inverted ? pattern + 1 : NULL;
}

static bool glob_matches(const char *pattern, const char *text) {
  const char *star = NULL, *star_text = NULL;
  for (;;) {
    if (*pattern == '*') {
      star = ++pattern;
      star_text = text;
      continue;
    }
    const char *next = NULL;
    if (!*pattern && !*text) return true;
    if (*text && *pattern == '[') next = match_set(pattern + 1, (unsigned char)*text);
    else if (*text && (*pattern == '?' || *pattern == *text)) next = pattern + 1;
    if (next) {
      pattern = next;
      text++;
    } else if (star && *star_text) {
      pattern = star;
      text = ++star_text;
    } else {
      return false;
    }
  }
}

static bool is_number(const char *text, uint64_t *number) {
  *number = 0;
  for (const char *at = text; *at; at++) {
    if (*at < '0' || *at > '9') return false;
    if (*number < UINT32_MAX) *number = *number * 10 + (uint64_t)(*at - '0');
  }
  return true;
}

/* ---- the ways to name a profile ---- */

struct selection {
  const struct store *store;
  const char *text;
  char *location; /* of the text */
  uint64_t number;
};

struct place { /* where a profile or a run is */
  const char *path, *location, *real_location; /* NULL: not known */
};

static const char *pool_text_or_null(const struct store *store, string_id id) {
  return id ? pool_text(store->pool, id) : NULL;
}

static struct place place_of_profile(const struct store *store, const struct profile *profile) {
  return (struct place){pool_text_or_null(store, profile->path), pool_text_or_null(store, profile->location),
                        pool_text_or_null(store, profile->real_location)};
}

static struct place place_of_run(const struct store *store, const struct profile *profile) {
  for (size_t i = 0; i < store->run_count; i++) {
    const struct run *run = &store->runs[i];
    if (run->number != profile->run_number) continue;
    return (struct place){pool_text_or_null(store, run->path), pool_text_or_null(store, run->location),
                          pool_text_or_null(store, run->real_location)};
  }
  return (struct place){NULL, NULL, NULL};
}

static bool is_same(const char *left, const char *right) { return left && strcmp(left, right) == 0; }

/* Whether the location is a file directly in `directory`. */
static bool lies_in(const char *location, const char *directory) {
  if (!location) return false;
  size_t length = strlen(directory);
  if (length == 1) length = 0; /* the root */
  return strncmp(location, directory, length) == 0 && location[length] == '/' && !strchr(location + length + 1, '/');
}

static bool fits_number(const struct selection *selection, const struct profile *profile) {
  return profile->number == selection->number;
}

static bool fits_path(const struct selection *selection, const struct profile *profile) {
  struct place file = place_of_profile(selection->store, profile), run = place_of_run(selection->store, profile);
  const char *location = selection->location;
  return is_same(file.path, selection->text) || is_same(run.path, selection->text) ||
         is_same(file.location, location) || is_same(file.real_location, location) ||
         is_same(run.location, location) || is_same(run.real_location, location) ||
         lies_in(file.location, location) || lies_in(file.real_location, location);
}

static bool ends_with_name(const char *location, const char *name) {
  static const char extension[] = ".tfprof";
  if (!location) return false;
  const char *last = strrchr(location, '/');
  last = last ? last + 1 : location;
  size_t length = strlen(name);
  return strncmp(last, name, length) == 0 && (last[length] == 0 || strcmp(last + length, extension) == 0);
}

static bool fits_name(const struct selection *selection, const struct profile *profile) {
  struct place file = place_of_profile(selection->store, profile), run = place_of_run(selection->store, profile);
  return ends_with_name(file.location ? file.location : file.path, selection->text) ||
         ends_with_name(run.location ? run.location : run.path, selection->text);
}

static bool fits_location_glob(const struct selection *selection, const struct profile *profile) {
  struct place file = place_of_profile(selection->store, profile), run = place_of_run(selection->store, profile);
  if (!strchr(selection->text, '/')) return false; /* it means a name, not one of a directory further up */
  return (file.location && glob_matches(selection->text, file.location)) ||
         (run.location && glob_matches(selection->text, run.location));
}

static bool fits_glob(const struct selection *selection, const struct profile *profile) {
  struct place file = place_of_profile(selection->store, profile), run = place_of_run(selection->store, profile);
  return (file.path && glob_matches(selection->text, file.path)) ||
         (run.path && glob_matches(selection->text, run.path)) ||
         (*selection->text == '/' && fits_location_glob(selection, profile));
}

/* ---- what there is instead ---- */

static enum tfprof_status nothing_fits(const struct store *store, const char *selection, struct tfprof_error *error) {
  char open[600] = "";
  size_t length = 0, shown = 0;
  if (store->profiles.count == 0) {
    return error_set(error, TFPROF_USAGE, "nothing is open that '%.200s' could select; tfprof_open(path) opens a run",
                     selection);
  }
  for (size_t i = 0; i < store->profiles.count && length + 160 < sizeof open; i++, shown++) {
    const struct profile *profile = store->profiles.items[i];
    const char *path = pool_text_or_null(store, profile->path);
    size_t size = path ? strlen(path) : 0;
    length += (size_t)snprintf(open + length, sizeof open - length, "%s%u (%s%s)", shown ? ", " : "", profile->number,
                               size > 120 ? "..." : "", size > 120 ? path + size - 120 : path ? path : "");
  }
  if (shown < store->profiles.count) {
    snprintf(open + length, sizeof open - length, " and %zu more", store->profiles.count - shown);
  }
  return error_set(error, TFPROF_USAGE, "no profile is '%.200s', by id, path, name or pattern; open are: %s", selection,
                   open);
}

/* ---- selecting ---- */

typedef bool (*way_to_fit)(const struct selection *selection, const struct profile *profile);

static size_t select_by(const struct selection *selection, way_to_fit fits, struct profile **selected) {
  const struct profile_list *profiles = &selection->store->profiles;
  size_t count = 0;
  for (size_t i = 0; i < profiles->count; i++) {
    if (fits(selection, profiles->items[i])) selected[count++] = profiles->items[i];
  }
  return count;
}

enum tfprof_status store_select(const struct store *store, const char *text, struct profile ***selected, size_t *count,
                                struct tfprof_error *error) {
  static const way_to_fit ways[] = {fits_number, fits_path, fits_name, fits_glob, fits_location_glob};
  struct selection selection = {.store = store, .text = text};
  *count = 0;
  *selected = malloc((store->profiles.count + 1) * sizeof(struct profile *));
  if (!*selected) return error_no_memory(error);
  if (!text || !*text || strcmp(text, "*") == 0) { /* everything, be it nothing */
    for (size_t i = 0; i < store->profiles.count; i++) (*selected)[(*count)++] = store->profiles.items[i];
    return TFPROF_OK;
  }
  selection.location = location_of(text);
  enum tfprof_status status = selection.location ? TFPROF_OK : error_no_memory(error);
  for (size_t i = is_number(text, &selection.number) ? 0 : 1; i < sizeof ways / sizeof ways[0]; i++) {
    if (!status && *count == 0) *count = select_by(&selection, ways[i], *selected);
  }
  if (!status && *count == 0) status = nothing_fits(store, text, error);
  free(selection.location);
  if (!status) return TFPROF_OK;
  free(*selected);
  *selected = NULL;
  return status;
}

/* ---- one run ---- */

enum tfprof_status store_name_run(const struct store *store, const char *name, uint32_t *run_number,
                                  struct tfprof_error *error) {
  char open[600] = "";
  size_t length = 0, named = 0;
  *run_number = store_find_run(store, name);
  if (*run_number) return TFPROF_OK;
  for (size_t i = 0; i < store->run_count; i++) {
    const struct run *run = &store->runs[i];
    const char *path = pool_text_or_null(store, run->path), *location = pool_text_or_null(store, run->location);
    if (!run->is_published) continue;
    if (ends_with_name(location ? location : path, name)) {
      *run_number = run->number;
      named++;
    }
    if (length + 160 < sizeof open)
      length += (size_t)snprintf(open + length, sizeof open - length, "%s%u (%.120s)", length ? ", " : "", run->number,
                                 path ? path : "");
  }
  if (named == 1) return TFPROF_OK;
  *run_number = 0;
  return error_set(error, TFPROF_NOT_FOUND, "%s '%.200s'; open are: %s",
                   named ? "several runs have the name" : "no run is", name, length ? open : "none");
}
