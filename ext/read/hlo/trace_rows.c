/* trace_rows.c: the places in the program that XLA names, as rows of code_frames and code_traces. */
#include "read/hlo/programs.h"
#include "read/rows/eager_rows.h"
#include "read/rows/stacks.h"

static const char *text_of(const struct profile *profile, int64_t id) {
  return id == ROW_NULL ? NULL : pool_text(store_pool(profile->store), (string_id)id);
}

enum tfprof_status hlo_publish_traces(const struct hlo_programs *programs, struct profile *profile,
                                      struct tfprof_error *error) {
  struct eager_rows rows;
  enum tfprof_status status = TFPROF_OK;
  string_id python;
  status = pool_intern(store_pool(profile->store), "python", 6, &python);
  if (status) return error_set(error, status, "the texts of the profile cannot be kept");
  eager_rows_begin(&rows, profile, TABLE_code_frames, programs->frames.count, &status, error);
#define COLUMN_OF(column, expression) \
  for (uint32_t i = 0; i < rows.count; i++) { \
    const struct hlo_frame *frame = &programs->frames.items[i]; \
    (void)frame; \
    rows.values[i] = (expression); \
  } \
  eager_rows_set_known(&rows, COLUMN_code_frames_##column);
  COLUMN_OF(file, frame->file)
  COLUMN_OF(function, frame->function)
  COLUMN_OF(line, frame->line)
  COLUMN_OF(language, python)
#undef COLUMN_OF
  eager_rows_end(&rows);
  eager_rows_begin(&rows, profile, TABLE_code_traces, programs->stacks.count, &status, error);
  stacks_set(&rows, &programs->stacks);
  for (uint32_t i = 0; i < rows.count; i++) {
    uint32_t parent = stacks_parent(&programs->stacks, i);
    const struct hlo_frame *frame = &programs->frames.items[stacks_frame(&programs->stacks, i)];
    rows.values[i] = stacks_hash(parent ? &rows.values[parent - 1] : NULL, text_of(profile, frame->file),
                                 text_of(profile, frame->function), frame->line);
  }
  eager_rows_set_known(&rows, COLUMN_code_traces_hash);
  eager_rows_end(&rows);
  return status;
}
