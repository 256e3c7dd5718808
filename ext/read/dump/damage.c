/* damage.c: what is wrong with a dump, as diagnostics: of the file, of a column that cannot be read, of values. */
#include "read/dump/source.h"

#include <string.h>

const char *dump_damage_text(const struct tfprof_error *reason) {
  const char *colon = strstr(reason->message, ": ");
  return colon ? colon + 2 : reason->message;
}

void dump_tell_damage(struct segment *segment, unsigned column, const struct dump_frame *frame,
                      enum tfprof_status status, uint64_t offset, const char *text) {
  const struct table_spec *spec = &schema_tables[segment->table];
  if (status == TFPROF_IO) { /* the file was cut: told once for all its columns */
    struct tfprof_error reason;
    error_set(&reason, TFPROF_IO, "%s", text);
    segment_lose(segment, column, &reason);
    return;
  }
  segment_diagnose(segment, column, "error", status == TFPROF_VERSION ? "unknown_encoding" : "damaged_column",
                   frame->rows, offset <= INT64_MAX ? (int64_t)offset : -1, "%s.%s is NULL where it cannot be read: %s",
                   spec->name, spec->columns[column].name, text);
}

void dump_tell_refused(struct segment *segment, unsigned column, int64_t count) {
  const struct table_spec *spec = &schema_tables[segment->table];
  const char *name = spec->columns[column].name;
  switch ((enum column_type)spec->columns[column].type) {
    case TYPE_REFERENCE:
      segment_diagnose(segment, column, "warning", "dangling_reference", count, -1,
                       "%s.%s is NULL where it names no row of %s that the file has", spec->name, name,
                       schema_tables[spec->columns[column].target].name);
      /* It may have once there are more rows. */
      column_set_add(&segment->is_unsettled, column);
      break;
    case TYPE_TEXT:
    case TYPE_JSON:
      segment_diagnose(segment, column, "error", "lost_text", count, -1,
                       "%s.%s is NULL where its text is in a damaged part of the file", spec->name, name);
      column_set_add(&segment->is_unsettled, column); /* a file that was cut may be whole again */
      break;
    default:
      segment_diagnose(segment, column, "warning", "impossible_value", count, -1,
                       "%s.%s is NULL where the file has a value that cannot be", spec->name, name);
  }
}

static void tell_problem(struct profile *profile, const struct dump_problem *problem) {
  int64_t offset = problem->offset <= INT64_MAX ? (int64_t)problem->offset : -1;
  int64_t count = problem->count <= INT64_MAX ? (int64_t)problem->count : INT64_MAX;
  int table = problem->table_dump_id ? schema_table_of_dump_id(problem->table_dump_id) : -1;
  profile_diagnose_source(profile, problem->severity, problem->reason, count, offset, table, "%s", problem->message);
}

void dump_tell_problems(struct profile *profile) {
  struct dump_source *source = profile->source_data;
  const struct dump_file *file = source->file;
  for (; source->problems_told < file->problem_count; source->problems_told++) {
    tell_problem(profile, &file->problems[source->problems_told]);
  }
}
