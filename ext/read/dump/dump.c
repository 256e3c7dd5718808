/* dump.c: the source of profiles that tfprof-capture or tfprof_save wrote.
**
** Opening counts the rows of the frames that the codec (proto/dump/reader.h) found.  When a table is first asked for
** its frames become segments: frames one after the other, few enough that a query with a LIMIT need not decode
** everything. Nothing is decoded here.
*/
#include "read/dump/dump.h"

#include "read/dump/guests.h"
#include "read/dump/guest_parts.h"
#include "read/dump/windows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- frames to segments ---- */

/* Tables or columns of a later version, and how many rows they have. */
enum { MAXIMUM_UNKNOWN = 64 };
struct unknown {
  struct {
    uint16_t dump_id;
    uint64_t rows;
  } items[MAXIMUM_UNKNOWN];
  unsigned count;
};

struct scan { /* of the frames of one table */
  struct profile *profile;
  const struct dump_file *file;
  unsigned table;
  uint32_t frames[SEGMENT_FRAMES]; /* that will be a segment */
  unsigned frame_count;
  uint64_t first_row, rows;
  struct column_set raw;
  struct unknown unknown;
};

static void note_unknown(struct unknown *unknown, uint16_t dump_id, uint64_t rows) {
  unsigned i = 0;
  while (i < unknown->count && unknown->items[i].dump_id != dump_id) i++;
  if (i == MAXIMUM_UNKNOWN) return; /* that many say enough */
  if (i == unknown->count) unknown->count++;
  unknown->items[i].dump_id = dump_id;
  unknown->items[i].rows += rows;
}

/* Makes a segment of what was gathered. */
static enum tfprof_status flush(struct scan *scan, struct tfprof_error *error) {
  if (scan->frame_count == 0) return TFPROF_OK;
  struct dump_segment *segment = malloc(sizeof *segment + scan->frame_count * sizeof *segment->frames);
  if (!segment) return error_no_memory(error);
  segment->frame_count = scan->frame_count;
  memcpy(segment->frames, scan->frames, scan->frame_count * sizeof *segment->frames);
  segment->is_of_guest = false;
  scan->frame_count = 0;
  return profile_add_segment(scan->profile, scan->table, scan->first_row, (uint32_t)scan->rows, &scan->raw, segment,
                             NULL, error);
}

/* Begins with the last segment of the table where that is not full. */
static void take_up_last(struct scan *scan) {
  const struct profile_table *list = &scan->profile->tables[scan->table];
  scan->first_row = list->rows;
  scan->rows = 0;
  scan->raw = (struct column_set){{0, 0}};
  if (list->segment_count == 0) return;
  const struct segment *last = list->segments[list->segment_count - 1];
  const struct dump_segment *frames = last->source_data;
  if (frames->is_of_guest) return;
  if (frames->frame_count >= SEGMENT_FRAMES || last->rows >= SEGMENT_ROWS) return;
  memcpy(scan->frames, frames->frames, frames->frame_count * sizeof *frames->frames);
  scan->frame_count = frames->frame_count;
  scan->first_row = last->first_row;
  scan->rows = last->rows;
  scan->raw = last->is_raw;
  profile_remove_last_segment(scan->profile, scan->table);
}

/* The columns that a frame has. Any two of start, end and duration make the third. */
static void add_columns(struct scan *scan, const struct dump_frame *frame) {
  const struct table_spec *spec = &schema_tables[scan->table];
  struct column_set *raw = &scan->raw;
  for (unsigned i = 0; i < frame->block_count; i++) {
    int column = schema_column_of_dump_id(spec, frame->blocks[i].dump_id);
    if (column < 0) note_unknown(&scan->unknown, frame->blocks[i].dump_id, frame->rows);
    else column_set_add(raw, (unsigned)column);
  }
  if (spec->start_column < 0) return;
  unsigned start = (unsigned)spec->start_column, end = (unsigned)spec->end_column, dur = (unsigned)spec->dur_column;
  bool is_whole = column_set_has(raw, start) + column_set_has(raw, end) + column_set_has(raw, dur) >= 2;
  /* A part of a span alone stays, but where the span is derived: then it is so as a whole. */
  bool is_derived = !is_whole && scan->table == TABLE_collectives;
  for (unsigned i = 0; i < 3; i++) {
    unsigned column = i == 0 ? start : i == 1 ? end : dur;
    if (is_whole) column_set_add(raw, column);
    else if (is_derived) column_set_remove(raw, column);
  }
}

static enum tfprof_status add_frame(struct scan *scan, uint32_t index, struct tfprof_error *error) {
  const struct dump_frame *frame = &scan->file->frames[index];
  if (scan->frame_count == SEGMENT_FRAMES || scan->rows >= SEGMENT_ROWS) {
    enum tfprof_status status = flush(scan, error);
    if (status) return status;
  }
  if (scan->frame_count == 0) take_up_last(scan);
  scan->frames[scan->frame_count++] = index;
  scan->rows += frame->rows;
  add_columns(scan, frame);
  return TFPROF_OK;
}

/* Makes segments of the frames [first, end) that are of the table. */
static enum tfprof_status add_frames(struct profile *profile, unsigned table, size_t first, size_t end,
                                     struct tfprof_error *error) {
  const struct dump_source *source = profile->source_data;
  struct scan scan = {.profile = profile, .file = source->file, .table = table};
  enum tfprof_status status = TFPROF_OK;
  bool tells_windows = source->windows && table == TABLE_profiler_windows;
  for (size_t i = first; i < end && !status; i++) {
    bool is_of_table = source->file->frames[i].table_dump_id == schema_tables[table].dump_id;
    if (is_of_table) status = add_frame(&scan, (uint32_t)i, error);
    if (is_of_table && tells_windows) column_set_add(&scan.raw, COLUMN_profiler_windows_is_read);
  }
  if (!status) status = flush(&scan, error);
  for (unsigned i = 0; i < scan.unknown.count && !status; i++) {
    profile_diagnose(profile, "info", "unknown_column", (int64_t)scan.unknown.items[i].rows, -1, (int)table,
                     "column %u of %s is not known to this version; update tfprof to see it",
                     scan.unknown.items[i].dump_id, schema_tables[table].name);
  }
  return status;
}

/* Makes segments of the frames [first, end), and of the guests that came meanwhile, each behind the frames that were
** there before. */
static enum tfprof_status add_frames_and_guests(struct profile *profile, unsigned table, size_t first, size_t end,
                                                struct tfprof_error *error) {
  const struct dump_source *source = profile->source_data;
  const size_t from = first, guests = dump_guests_count(source);
  enum tfprof_status status = TFPROF_OK;
  for (size_t guest = 0; guest < guests && !status; guest++) {
    size_t frames = dump_guest_frames(source, guest);
    if (frames <= from || frames > end) continue;
    if (first < frames) status = add_frames(profile, table, first, frames, error);
    first = frames;
    if (!status) status = dump_guests_add(profile, guest, table, error);
  }
  return status ? status : add_frames(profile, table, first, end, error);
}

/* ---- what earlier releases saved ---- */

static bool is_saved(const struct dump_file *file) {
  const char *recorder = file->profile.recorder;
  return recorder && strncmp(recorder, "tfprof_save", strlen("tfprof_save")) == 0;
}

/* What is derived otherwise since a column came.  A copy of a table that lacks the column was saved before, and what it
** has of the others is not looked at: they are derived as of the recording itself.  A copy that was saved since has
** it even where it is NULL in all rows (save.c). */
static const struct older {
  unsigned table, since, columns[3]; /* no columns: the whole table is made anew */
  bool is_of_recordings;             /* the others have them from the file */
} older[] = {
    {TABLE_ops, COLUMN_ops_net_ns, {COLUMN_ops_self_ns, COLUMN_ops_op_self_ns}, true},
    {TABLE_steps, COLUMN_steps_net_ns, {COLUMN_steps_recording_ns, COLUMN_steps_training_ns}, true},
    {TABLE_host_steps, COLUMN_host_steps_op_recording_ns, {0}, true},
    {TABLE_collectives,
     COLUMN_collectives_carried_by,
     {COLUMN_collectives_start_ns, COLUMN_collectives_end_ns, COLUMN_collectives_dur_ns},
     false},
};

static bool has_column(const struct dump_file *file, unsigned table, unsigned column) {
  const struct table_spec *spec = &schema_tables[table];
  for (size_t i = 0; i < file->frame_count; i++) {
    const struct dump_frame *frame = &file->frames[i];
    if (frame->table_dump_id != spec->dump_id) continue;
    for (unsigned k = 0; k < frame->block_count; k++)
      if (frame->blocks[k].dump_id == spec->columns[column].dump_id) return true;
  }
  return false;
}

/* What of the table is older than what is asked for now, or NULL. Only a recording tells by counters what it took. */
static const struct older *find_older(const struct dump_source *source, unsigned table) {
  if (!is_saved(source->file)) return NULL;
  for (size_t i = 0; i < sizeof older / sizeof *older; i++) {
    if (older[i].table != table || has_column(source->file, table, older[i].since)) continue;
    if (!older[i].is_of_recordings || source->numbers[TABLE_counters].rows) return &older[i];
  }
  return NULL;
}

static enum tfprof_status list(struct profile *profile, unsigned table, struct tfprof_error *error) {
  enum tfprof_status status = add_frames_and_guests(profile, table, 0, profile->source_mark, error);
  const struct older *found = status ? NULL : find_older(profile->source_data, table);
  struct profile_table *made = &profile->tables[table];
  for (size_t i = 0; found && i < made->segment_count; i++) {
    for (unsigned k = 0; k < 3 && found->columns[k]; k++)
      column_set_remove(&made->segments[i]->is_raw, found->columns[k]);
  }
  return status;
}

static bool is_shown(int table) { return table >= 0 && table != TABLE_runs && table != TABLE_profiles; }

static void tell_unknown_tables(struct profile *profile, const struct dump_file *file) {
  struct unknown unknown = {.count = 0};
  for (size_t i = profile->source_mark; i < file->frame_count; i++) {
    const struct dump_frame *frame = &file->frames[i];
    bool is_known = is_shown(schema_table_of_dump_id(frame->table_dump_id));
    if (!is_known) note_unknown(&unknown, frame->table_dump_id, frame->rows);
  }
  for (unsigned i = 0; i < unknown.count; i++) {
    profile_diagnose(profile, "warning", "unknown_table", (int64_t)unknown.items[i].rows, -1, -1,
                     "table %u of the file is not one that this version can show; update tfprof to see it",
                     unknown.items[i].dump_id);
  }
}

/* Takes in the frames that this version has not seen: those of tables that are listed as segments. */
static enum tfprof_status take_frames(struct profile *profile, struct tfprof_error *error) {
  struct dump_source *source = profile->source_data;
  const struct dump_file *file = source->file;
  enum tfprof_status status = dump_number_rows(source, error);
  if (!status && !is_saved(file))
    status = dump_windows_take(profile, profile->source_mark, file->frame_count, error);
  if (!status && !is_saved(file))
    status = dump_guest_parts_take(profile, profile->source_mark, file->frame_count, error);
  for (unsigned table = 0; table < TABLE_count && !status; table++) {
    if (!is_shown((int)table) || dump_is_made_again(table) || !source->numbers[table].rows) continue;
    const struct older *found = find_older(source, table);
    if (found && !found->columns[0]) continue;
    bool is_listed = profile->tables[table].segment_count;
    if (is_listed) status = add_frames_and_guests(profile, table, profile->source_mark, file->frame_count, error);
    else profile_defer_table(profile, table, source->numbers[table].rows, false);
  }
  if (status) return status;
  tell_unknown_tables(profile, file);
  profile->source_mark = file->frame_count;
  return TFPROF_OK;
}

/* ---- what the file says of itself ---- */

static void append_json(char *buffer, size_t size, const char *name, const char *text) {
  size_t length = strlen(buffer);
  if (length + strlen(name) + 6 * strlen(text) + 8 > size) return;
  length += (size_t)sprintf(buffer + length, "%s\"%s\":\"", length > 1 ? "," : "", name);
  for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
    if (*at == '"' || *at == '\\') buffer[length++] = '\\';
    if (*at < ' ') length += (size_t)sprintf(buffer + length, "\\u%04x", *at);
    else buffer[length++] = (char)*at;
  }
  strcpy(buffer + length, "\"");
}

static enum tfprof_status intern(struct profile *profile, const char *text, string_id *id, struct tfprof_error *error) {
  enum tfprof_status status = pool_intern_mended(store_pool(profile->store), text, text ? strlen(text) : 0, id, NULL);
  return status ? error_set(error, status, "the strings of the profile cannot be kept") : TFPROF_OK;
}

static enum tfprof_status set_attributes(struct profile *profile, const struct dump_profile *from,
                                         struct tfprof_error *error) {
  char json[2048] = "{", digits[40] = "";
  unsigned known = 0;
  if (from->attributes || from->origin) return intern(profile, from->attributes, &profile->attributes, error);
  if (from->recorder) append_json(json, sizeof json, "recorder", from->recorder);
  for (size_t i = 0; i < sizeof from->boot_id; i++) {
    known |= from->boot_id[i];
    sprintf(digits + 2 * i, "%02x", from->boot_id[i]);
  }
  if (known) append_json(json, sizeof json, "boot_id", digits);
  snprintf(digits, sizeof digits, "%016llx", (unsigned long long)from->sampling_seed);
  if (from->sampling_seed) append_json(json, sizeof json, "sampling_seed", digits);
  snprintf(digits, sizeof digits, "%llu", (unsigned long long)from->process_start_ticks);
  if (from->process_start_ticks) append_json(json, sizeof json, "process_start_ticks", digits);
  if (from->created_realtime_ns > 0) {
    size_t length = strlen(json);
    snprintf(json + length, sizeof json - length, "%s\"created_ns\":%lld", length > 1 ? "," : "",
             (long long)from->created_realtime_ns);
  }
  if (strlen(json) == 1) return TFPROF_OK;
  strcat(json, "}");
  return intern(profile, json, &profile->attributes, error);
}

/* Times of a clock of its own, such as a monotonic one, are moved to the common one by the first reading of both; by
** how much later readings differ from that is the error. */
static void set_clock(struct profile *profile, const struct dump_file *file) {
  const char *domain = file->profile.clock_domain;
  bool is_common = !domain || strcmp(domain, "realtime") == 0;
  int64_t offset = is_common && is_dump_time(file->profile.clock_offset_ns) ? file->profile.clock_offset_ns : 0;
  int64_t largest = 0;
  uint32_t uncertainty = 0;
  profile->clock_offset_ns = offset;
  profile->clock_error_ns = -1;
  if (file->clock_count == 0) {
    if (is_common || file->frame_count == 0 || file->profile.has_no_clock_error) return;
    profile_diagnose_source(profile, "warning", "no_clock", 1, -1, -1,
                            "the file has no reading of the clocks; its times count from the start of the machine");
    return;
  }
  for (size_t i = 0; i < file->clock_count; i++) {
    const struct dump_clock *clock = &file->clocks[i];
    int64_t difference, drift;
    if (clock->uncertainty_ns > uncertainty) uncertainty = clock->uncertainty_ns;
    if (is_common) continue;
    bool is_wrong = __builtin_sub_overflow(clock->realtime_ns, clock->monotonic_ns, &difference) ||
                    difference > STORE_TIME_LIMIT || difference < -STORE_TIME_LIMIT;
    if (is_wrong) {
      profile_diagnose_source(profile, "warning", "impossible_clock", 1, -1, -1,
                              "a reading of the clocks is impossible and was left out");
      if (i == 0) return;
      continue;
    }
    if (i == 0) offset = difference;
    drift = difference > offset ? difference - offset : offset - difference;
    if (drift > largest) largest = drift;
  }
  profile->clock_offset_ns = offset;
  profile->clock_error_ns = file->profile.has_no_clock_error ? -1 : largest + uncertainty;
}

/* A copy was closed in order, but perhaps not what it is a copy of. */
static bool is_complete(const struct dump_file *file) { return file->is_closed && !file->profile.is_torn; }

/* Copies that an earlier version saved do not tell what of. Only XPlane files have times on a clock of their own. */
static const char *origin_of(const struct dump_profile *profile) {
  if (profile->origin) return profile->origin;
  return profile->clock_domain && strcmp(profile->clock_domain, "profile") == 0 ? "xplane" : NULL;
}

/* Everything that is said about the profile as a whole; after a refresh once more. */
static enum tfprof_status describe_profile(struct profile *profile, struct tfprof_error *error) {
  struct dump_source *source = profile->source_data;
  const struct dump_file *file = source->file;
  const struct dump_profile *from = &file->profile;
  const struct {
    const char *text;
    string_id *id;
  } texts[] = {
      {from->host, &profile->host},
      {from->job, &profile->job},
      {from->command, &profile->command},
      {from->run_command, &profile->run_command},
      {from->framework, &profile->framework},
      {from->framework_version, &profile->framework_version},
      {from->clock_domain, &profile->clock_domain},
      {origin_of(from), &profile->origin},
  };
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    enum tfprof_status status = intern(profile, texts[i].text, texts[i].id, error);
    if (status) return status;
  }
  profile->pid = from->pid ? (int64_t)from->pid : -1;
  profile->parent_pid = from->parent_pid ? (int64_t)from->parent_pid : -1;
  profile->rank = from->rank;
  profile->world_size = from->world_size ? (int64_t)from->world_size : -1;
  profile->file_bytes = (int64_t)file->file_bytes;
  profile->complete = is_complete(file);
  profile_forget_source_diagnostics(profile);
  source->problems_told = 0;
  dump_tell_problems(profile);
  set_clock(profile, file);
  bool has_count = from->event_count_plus_one && from->event_count_plus_one <= INT64_MAX;
  profile->event_count = has_count ? (int64_t)from->event_count_plus_one - 1 : -1;
  return set_attributes(profile, from, error);
}

/* ---- the span of a profile ---- */

struct span {
  const struct dump_source *source;
  struct dump_cursor *cursor;
  int64_t *values, *durations; /* of one frame */
  uint64_t *value_nulls, *duration_nulls;
  int64_t start, end;
};

/* Decodes a block; *is_damaged: it has no values to show. */
static enum tfprof_status decode(struct span *span, const struct dump_frame *frame, const struct dump_block *block,
                                 int64_t *values, uint64_t *nulls, bool *is_damaged, struct tfprof_error *error) {
  enum tfprof_status status = dump_block_decode(span->cursor, frame, block, values, nulls, error);
  *is_damaged = dump_is_damage(status);
  return *is_damaged ? TFPROF_OK : status;
}

static enum tfprof_status prepare(struct span *span, struct tfprof_error *error) {
  if (span->cursor) return TFPROF_OK;
  span->values = malloc(sizeof *span->values * 2 * DUMP_MAXIMUM_FRAME_ROWS);
  span->value_nulls = malloc(2 * DUMP_MAXIMUM_FRAME_ROWS / 8);
  if (!span->values || !span->value_nulls) return error_no_memory(error);
  span->durations = span->values + DUMP_MAXIMUM_FRAME_ROWS;
  span->duration_nulls = span->value_nulls + DUMP_MAXIMUM_FRAME_ROWS / 64;
  return dump_cursor_open(span->source->file, &span->cursor, error);
}

/* Looks at the rows of a frame: their times, or with `durations` what these make of them: starts of ends (sign -1),
** ends of starts (1). */
static enum tfprof_status look_closely(struct span *span, const struct dump_frame *frame,
                                       const struct dump_block *times, const struct dump_block *durations, int sign,
                                       struct tfprof_error *error) {
  bool is_damaged = false, is_duration_damaged = false;
  enum tfprof_status status = prepare(span, error);
  if (!status) status = decode(span, frame, times, span->values, span->value_nulls, &is_damaged, error);
  if (!status && durations) {
    status = decode(span, frame, durations, span->durations, span->duration_nulls, &is_duration_damaged, error);
  }
  if (status || is_damaged || is_duration_damaged) return status;
  for (uint32_t row = 0; row < frame->rows; row++) {
    int64_t value = span->values[row];
    bool is_null = span->value_nulls[row >> 6] >> (row & 63) & 1;
    if (is_null || !is_dump_time(value)) continue;
    if (durations) {
      int64_t duration = span->durations[row];
      if (span->duration_nulls[row >> 6] >> (row & 63) & 1 || duration < 0 || !is_dump_time(duration)) continue;
      value += sign * duration;
      if (!is_dump_time(value)) continue;
    }
    if (value < span->start) span->start = value;
    if (value > span->end) span->end = value;
  }
  return TFPROF_OK;
}

static bool is_tame(const struct dump_block *block) {
  return is_dump_time(block->minimum) && is_dump_time(block->maximum);
}

/* Whether the directory tells the least and the greatest time of a block: not of one that may be NULL in all rows. */
static bool tells_span(const struct dump_block *block) {
  return is_tame(block) && !(block->encoding == DUMP_CONSTANT && block->has_nulls);
}

/* Where the directory does not tell enough the block is decoded, which is seldom. */
static enum tfprof_status widen(struct span *span, const struct dump_frame *frame, const struct table_spec *spec,
                                struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (unsigned i = 0; i < frame->block_count && !status; i++) {
    const struct dump_block *block = &frame->blocks[i];
    int column = schema_column_of_dump_id(spec, block->dump_id);
    if (column < 0 || block->encoding == DUMP_REAL || spec->columns[column].type != TYPE_TIME) continue;
    if (!tells_span(block)) {
      status = look_closely(span, frame, block, NULL, 0, error);
    } else {
      if (block->minimum < span->start) span->start = block->minimum;
      if (block->maximum > span->end) span->end = block->maximum;
    }
  }
  if (status || spec->start_column < 0) return status;
  struct span_blocks blocks = dump_span_blocks(spec, frame);
  const struct dump_block *times = blocks.start ? blocks.start : blocks.end;
  if (!times || !blocks.dur || times->encoding == DUMP_REAL || blocks.dur->encoding == DUMP_REAL) return TFPROF_OK;
  bool is_clear = is_tame(times) && is_tame(blocks.dur);
  if (times == blocks.end) {
    if (is_clear) is_clear = times->minimum - blocks.dur->maximum >= span->start;
    return is_clear ? TFPROF_OK : look_closely(span, frame, times, blocks.dur, -1, error);
  }
  if (is_clear) is_clear = times->maximum + blocks.dur->maximum <= span->end;
  return is_clear ? TFPROF_OK : look_closely(span, frame, times, blocks.dur, 1, error);
}

static enum tfprof_status find_span(struct profile *profile, int64_t *start, int64_t *end, struct tfprof_error *error) {
  struct span span = {.source = profile->source_data, .start = *start, .end = *end};
  const struct dump_file *file = span.source->file;
  const struct dump_profile *told = &file->profile;
  struct tfprof_error reason;
  enum tfprof_status status = TFPROF_OK;
  if (told->span_ns_plus_one && told->span_ns_plus_one <= STORE_TIME_LIMIT && is_dump_time(told->span_start_ns) &&
      is_dump_time(told->span_start_ns + (int64_t)told->span_ns_plus_one)) {
    *start = told->span_start_ns;
    *end = *start + (int64_t)told->span_ns_plus_one - 1;
    return TFPROF_OK;
  }
  for (size_t i = 0; i < profile->source_mark && !status; i++) {
    int table = schema_table_of_dump_id(file->frames[i].table_dump_id);
    if (table < 0 || table == TABLE_runs || table == TABLE_profiles) continue;
    status = widen(&span, &file->frames[i], &schema_tables[table], &reason);
    if (!dump_is_lost(status)) continue;
    profile_tell_file(profile, &reason); /* without what must be looked at */
    status = TFPROF_OK;
  }
  if (status && error) *error = reason;
  dump_cursor_close(span.cursor);
  free(span.values);
  free(span.value_nulls);
  *start = span.start;
  *end = span.end;
  return status;
}

/* ---- the source ---- */

static enum tfprof_status refresh(struct profile *profile, bool *changed, struct tfprof_error *error) {
  struct dump_source *source = profile->source_data;
  enum tfprof_status status = dump_file_refresh(source->file, error);
  if (status) return status;
  bool has_more = source->file->frame_count != profile->source_mark;
  bool is_longer = (int64_t)source->file->file_bytes != profile->file_bytes;
  *changed = has_more || is_longer || is_complete(source->file) != profile->complete;
  if (!*changed) return TFPROF_OK;
  status = take_frames(profile, error);
  return status ? status : describe_profile(profile, error);
}

static bool is_file_same(const struct profile *profile) {
  const struct dump_source *source = profile->source_data;
  return source->file->frame_count == profile->source_mark && dump_file_is_same(source->file);
}

static enum tfprof_status verify(struct profile *profile, struct tfprof_error *error) {
  struct tfprof_error reason;
  enum tfprof_status status = dump_load_strings(profile, &reason);
  if (dump_is_lost(status)) profile_tell_file(profile, &reason);
  else if (status) {
    if (error) *error = reason;
    return status;
  }
  return profile_load_all(profile, error);
}

static void free_profile(struct profile *profile) {
  struct dump_source *source = profile->source_data;
  dump_file_close(source->file);
  dump_numbers_free(source);
  dump_windows_free(source);
  dump_guests_free(source);
  free(source->strings);
  free(source->ranges);
  free(source->pending_strings);
  free(source);
}

static void adopt(struct profile *profile, const string_id *map) {
  dump_adopt_strings(profile, map);
  dump_guests_adopt(profile->source_data, map);
}

static const struct profile_source dump_profile_source = {
    .format = "tfprof",
    .list = list,
    .load = dump_load,
    .refresh = refresh,
    .is_same = is_file_same,
    .verify = verify,
    .span = find_span,
    .adopt = adopt,
    .free_segment = free,
    .free_profile = free_profile,
};

static enum tfprof_status open_dump(struct store *store, uint32_t run_number, const struct read_bundle *bundle,
                                    struct tfprof_error *error) {
  const char *path = bundle->files[0].path;
  struct dump_source *source = calloc(1, sizeof *source);
  struct profile *profile;
  if (!source) return error_no_memory(error);
  enum tfprof_status status = dump_file_open(path, &source->file, error);
  if (status) {
    free(source);
    return status;
  }
  status = store_add_profile(store, run_number, &dump_profile_source, source, &profile, error);
  if (status) return status; /* the store has freed the source */
  status = intern(profile, path, &profile->path, error);
  if (!status) status = take_frames(profile, error);
  if (!status) status = describe_profile(profile, error);
  if (status) store_drop_profile(store, profile);
  return status;
}

const struct read_format dump_read_format = {
    .name = "tfprof",
    .description = "dump written by tfprof-capture or tfprof_save",
    .open = open_dump,
};

static struct recognised probe_dump(const char *path, const uint8_t *head, size_t length) {
  static const uint8_t magic[8] = {0x89, 'T', 'F', 'P', 'R', 'O', 'F', '\n'};
  (void)path;
  bool is_dump = length >= sizeof magic && memcmp(head, magic, sizeof magic) == 0;
  return (struct recognised){is_dump ? &dump_read_format : NULL, 100};
}

static const struct read_format *const formats[] = {&dump_read_format, NULL};
static const char *const below_logs[] = {".tfprof", NULL};
const struct reader dump_reader = {.formats = formats, .probe = probe_dump, .below = below_logs};
