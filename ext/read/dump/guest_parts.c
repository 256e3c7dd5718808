/* guest_parts.c: see guest_parts.h. */
#include "read/dump/guest_parts.h"

#define PART(name) extern const struct dump_guest_part name##_guests;
#include "parts.def"
#undef PART

static const struct dump_guest_part *const guest_parts[] = {
#define PART(name) &name##_guests,
#include "parts.def"
#undef PART
    NULL};

static void tell_missing_sessions(struct profile *profile) {
  const struct dump_source *source = profile->source_data;
  bool is_taken = false;
  for (const struct dump_guest_part *const *part = guest_parts; *part; part++)
    is_taken |= (*part)->table == TABLE_session_records;
  if (is_taken || !source->numbers[TABLE_session_records].rows) return;
  profile_diagnose_once(profile, "warning", "session_records",
                        "runs of sessions have no ops here: this build of tfprof lacks the part that reads them");
}

enum tfprof_status dump_guest_parts_take(struct profile *profile, size_t first, size_t end,
                                         struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (const struct dump_guest_part *const *part = guest_parts; *part && !status; part++)
    status = (*part)->take(profile, first, end, error);
  tell_missing_sessions(profile);
  return status;
}
