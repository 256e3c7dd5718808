/* damage.c: see damage.h.
**
** Told is what opening itself came across (a torn end, frames that are no frames, members that cannot be read), which
** costs nothing, and what a question came across that read more (columns whose bytes have changed): of each profile
** once.  The table diagnostics, which verifies every byte, tells the rest.
*/
#include "damage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vtab/connection.h"

struct damage {
  const struct profile *profile; /* the first one with any */
  const struct diagnostic *first;
  unsigned long count;
};

/* Errors, and warnings of what is not there, or is of nobody knows which process; others are of what is there, such as
** odd numbers. */
static bool is_damage(const char *severity, const char *reason) {
  static const char *const reasons[] = {"torn", "cut", "truncated", "lost", "damaged", "no_events",
                                        "several_processes"};
  if (strcmp(severity, "error") == 0) return true;
  for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
    if (strcmp(severity, "warning") == 0 && strncmp(reason, reasons[i], strlen(reasons[i])) == 0) return true;
  }
  return false;
}

/* False: there is none. */
static bool look_at(const struct profile *profile, const struct pool *pool, struct damage *damage) {
  unsigned long before = damage->count;
  for (size_t i = 0; i < profile->diagnostic_count; i++) {
    const struct diagnostic *diagnostic = &profile->diagnostics[i];
    bool is_known = diagnostic->severity && diagnostic->reason && diagnostic->message;
    if (!is_known || !is_damage(pool_text(pool, diagnostic->severity), pool_text(pool, diagnostic->reason))) continue;
    if (damage->count++) continue;
    damage->profile = profile;
    damage->first = diagnostic;
  }
  return damage->count > before;
}

/* Whether the damage of the profile was told before; from now on it was. */
static bool was_told(struct session *session, uint32_t profile) {
  for (size_t i = 0; i < session->told_count; i++) {
    if (session->told[i] == profile) return true;
  }
  uint32_t *told = realloc(session->told, (session->told_count + 1) * sizeof *told);
  if (told) {
    session->told = told;
    told[session->told_count++] = profile;
  }
  return !told;
}

void damage_tell(struct session *session) {
  bool is_of_other_build;
  struct connection *connection = connection_find(session->db, &is_of_other_build);
  struct damage damage = {0};
  if (!connection) return;
  const struct pool *pool = store_pool(connection->store);
  for (size_t i = 0; i < store_profile_count(connection->store); i++) {
    const struct profile *profile = store_profile_at(connection->store, i);
    struct damage own = {0};
    if (!look_at(profile, pool, &own) || was_told(session, profile->number)) continue;
    if (!damage.count) damage = own;
    else damage.count += own.count;
  }
  if (!damage.count) return;
  string_id file = damage.first->file ? damage.first->file : damage.profile->path;
  fflush(stdout);
  const char *path = file ? pool_text(pool, file) : "?", *message = pool_text(pool, damage.first->message);
  bool names_file = strncmp(message, path, strlen(path)) == 0 ||
                    strcmp(pool_text(pool, damage.first->reason), "unopened_file") == 0;
  fprintf(stderr, "tfprof: %s%s%s", names_file ? "" : path, names_file ? "" : ": ", message);
  if (damage.count > 1) fprintf(stderr, " (and %lu more)", damage.count - 1);
  fputs("; SELECT * FROM diagnostics tells all\n", stderr);
}
