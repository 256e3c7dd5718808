/* damage.c: see damage.h.
**
** Told is what opening itself came across (a torn end, frames that are no frames, members that cannot be read), which
** costs nothing, and what a question came across that read more (columns whose bytes have changed): of each profile
** once.  What a saved copy brings along counts, too.  The table diagnostics, which verifies every byte, tells the rest.
*/
#include "damage.h"

#include <stdio.h>
#include <string.h>

#include "base/list.h"
#include "vtab/connection.h"

struct damage {
  const struct profile *profile; /* the first one with any */
  struct diagnostic first;
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

static void look_at(const struct profile *profile, const struct pool *pool, const struct diagnostic *diagnostic,
                    struct damage *damage) {
  bool is_known = diagnostic->severity && diagnostic->reason && diagnostic->message;
  if (!is_known || !is_damage(pool_text(pool, diagnostic->severity), pool_text(pool, diagnostic->reason))) return;
  if (damage->count++) return;
  damage->profile = profile;
  damage->first = *diagnostic;
}

static string_id recorded_text(const struct segment *segment, unsigned column, uint32_t row) {
  const struct column *texts = segment->columns[column];
  return texts && !column_is_null(texts, row) ? (string_id)column_integer(texts, row) : 0;
}

/* What the file itself has as rows of the table: that of a saved copy. */
static void look_at_rows(struct profile *profile, const struct pool *pool, struct damage *damage) {
  const struct profile_table *table = &profile->tables[TABLE_diagnostics];
  struct column_set columns = {{0, 0}};
  column_set_add(&columns, COLUMN_diagnostics_severity);
  column_set_add(&columns, COLUMN_diagnostics_reason);
  column_set_add(&columns, COLUMN_diagnostics_message);
  column_set_add(&columns, COLUMN_diagnostics_file);
  if (profile_list_table(profile, TABLE_diagnostics, NULL) || !table->segment_count) return;
  if (profile_require(profile, TABLE_diagnostics, &columns, NULL)) return;
  for (size_t s = 0; s < table->segment_count; s++) {
    const struct segment *segment = table->segments[s];
    for (uint32_t row = 0; row < segment->rows; row++) {
      struct diagnostic diagnostic = {.severity = recorded_text(segment, COLUMN_diagnostics_severity, row),
                                      .reason = recorded_text(segment, COLUMN_diagnostics_reason, row),
                                      .message = recorded_text(segment, COLUMN_diagnostics_message, row),
                                      .file = recorded_text(segment, COLUMN_diagnostics_file, row)};
      look_at(profile, pool, &diagnostic, damage);
    }
  }
}

/* Whether the damage of the profile was told before; from now on it was. */
static bool was_told(struct session *session, uint32_t profile) {
  for (size_t i = 0; i < session->told_count; i++) {
    if (session->told[i] == profile) return true;
  }
  if (!array_room(session->told, session->told_count, session->told_capacity)) return true;
  session->told[session->told_count++] = profile;
  return false;
}

void damage_tell(struct session *session) {
  bool is_of_other_build;
  struct connection *connection = connection_find(session->db, &is_of_other_build);
  struct damage damage = {0};
  if (!connection) return;
  const struct pool *pool = store_pool(connection->store);
  for (size_t i = 0; i < store_profile_count(connection->store); i++) {
    struct profile *profile = store_profile_at(connection->store, i);
    struct damage own = {0};
    for (size_t k = 0; k < profile->diagnostic_count; k++) look_at(profile, pool, &profile->diagnostics[k], &own);
    look_at_rows(profile, pool, &own);
    if (!own.count || was_told(session, profile->number)) continue;
    if (!damage.count) damage = own;
    else damage.count += own.count;
  }
  if (!damage.count) return;
  string_id file = damage.first.file ? damage.first.file : damage.profile->path;
  fflush(stdout);
  const char *path = file ? pool_text(pool, file) : "?", *message = pool_text(pool, damage.first.message);
  bool names_file = strncmp(message, path, strlen(path)) == 0 ||
                    strcmp(pool_text(pool, damage.first.reason), "unopened_file") == 0;
  fprintf(stderr, "tfprof: %s%s%s", names_file ? "" : path, names_file ? "" : ": ", message);
  if (damage.count > 1) fprintf(stderr, " (and %lu more)", damage.count - 1);
  fputs("; SELECT * FROM diagnostics tells all\n", stderr);
}
