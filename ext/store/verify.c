/* verify.c: finding out all there is to tell of a profile, before its diagnostics are read or counted.
**
** What is told of a column is told when that is first loaded or derived.  The table diagnostics has to be the same
** whatever was asked before, and so everything that may tell something is made for it, and what came in the order of
** the questions is put into one of its own.
*/
#include "store/private.h"

#include <stdlib.h>
#include <string.h>

static int compare_diagnostics(const void *left, const void *right) {
  const struct diagnostic *a = left, *b = right;
  if (a->key != b->key) return a->key < b->key ? -1 : 1;
  return (a->place > b->place) - (a->place < b->place);
}

/* By what they are told of; those of one column stay as they came. What was shown before, and so has its ids, stays in
** front. */
static void order_diagnostics(struct profile *profile) {
  size_t first = profile->diagnostics_ordered, count = profile->diagnostic_count - first;
  for (size_t i = 0; i < count; i++) profile->diagnostics[first + i].place = i;
  if (count) qsort(profile->diagnostics + first, count, sizeof *profile->diagnostics, compare_diagnostics);
  profile->diagnostics_ordered = profile->diagnostic_count;
}

/* The tables and columns of passes that tell something. */
static enum tfprof_status derive_all(struct profile *profile, struct tfprof_error *error) {
  const struct store *store = profile->store;
  enum tfprof_status status = TFPROF_OK;
  for (unsigned number = 0; number < store->pass_count && !status; number++) {
    const struct derive_pass *pass = store->passes[number];
    if (!pass->has_diagnostics) continue;
    if (pass->makes_table >= 0) status = profile_ensure_table(profile, (unsigned)pass->makes_table, error);
    for (unsigned i = 0; i < DERIVE_MAXIMUM_COLUMNS && !status; i++) {
      const struct table_column *written = &pass->writes[i];
      struct column_set columns = {{0, 0}};
      if (written->table == 0 && written->column == 0) break;
      column_set_add(&columns, written->column);
      status = profile_require(profile, written->table, &columns, error);
    }
  }
  return status;
}

/* A file that can no longer be read at all is the best reason to look at the diagnostics, so that is one of them. */
enum tfprof_status profile_verify(struct profile *profile, struct tfprof_error *error) {
  struct tfprof_error reason;
  if (profile->is_verified) return TFPROF_OK;
  enum tfprof_status status = profile_list_all(profile, &reason);
  if (!status && profile->source->verify) status = profile->source->verify(profile, &reason);
  if (!status) status = derive_all(profile, &reason);
  if (status == TFPROF_NO_MEMORY || status == TFPROF_INTERRUPTED) {
    if (error) *error = reason;
    return status;
  }
  if (status) profile_diagnose(profile, "error", "unreadable_file", 1, -1, -1, "%s", reason.message);
  order_diagnostics(profile);
  profile->is_verified = true;
  return TFPROF_OK;
}
