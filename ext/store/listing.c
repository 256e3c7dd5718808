/* listing.c: tables whose rows the source tells when they are first asked for.
**
** A deferred table has no segments and a number of rows, exact or estimated, that plans and counts go by.  It is listed
** once for a version of the profile, before anything of it is read, and before a pass that has to do with it is asked
** whether it has anything to do; never while one runs.
*/
#include "store/private.h"

/* Takes what was listed, or on failure gives it back: all deferred tables are as they were. */
static void settle_tables(struct profile *profile, unsigned table, const uint64_t *expected, bool is_listed) {
  for (unsigned other = 0; other < TABLE_count; other++) {
    struct profile_table *list = &profile->tables[other];
    if (!list->is_deferred) continue;
    if (!is_listed) profile_cut_segments(profile, other, 0);
    if (is_listed && (other == table || list->segment_count)) {
      list->is_deferred = false;
      assert(list->is_estimated || list->rows == expected[other]);
      profile_seal_table(profile, other);
    } else {
      list->rows = expected[other];
    }
  }
}

static bool is_lost(enum tfprof_status status) {
  return status == TFPROF_NOT_FOUND || status == TFPROF_REPLACED || status == TFPROF_IO;
}

enum tfprof_status profile_list_table(struct profile *profile, unsigned table, struct tfprof_error *error) {
  struct profile_table *list = &profile->tables[table];
  uint64_t expected[TABLE_count];
  struct tfprof_error reason = {0};
  if (!list->is_deferred) return TFPROF_OK;
  if (store_interrupted(profile->store)) return error_interrupted(error);
  assert(!profile->is_listing);
  size_t told = profile->diagnostic_count;
  for (unsigned other = 0; other < TABLE_count; other++) {
    expected[other] = profile->tables[other].rows;
    if (profile->tables[other].is_deferred) profile->tables[other].rows = 0;
  }
  store_progress(profile->store, "listing", 0);
  profile->is_listing = true;
  enum tfprof_status status = profile->source->list(profile, table, &reason);
  profile->is_listing = false;
  settle_tables(profile, table, expected, status == TFPROF_OK);
  if (!status) return TFPROF_OK;
  profile_cut_diagnostics(profile, told);
  if (!is_lost(status)) {
    if (error) *error = reason;
    return status;
  }
  profile_tell_file(profile, &reason);
  list->is_deferred = false;
  list->is_lost = list->is_estimated = true;
  list->rows = 0;
  profile_seal_table(profile, table);
  return TFPROF_OK;
}

enum tfprof_status profile_list_all(struct profile *profile, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (unsigned table = 0; table < TABLE_count && !status; table++) status = profile_list_table(profile, table, error);
  return status;
}
