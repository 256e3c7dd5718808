/* load.c: decodes columns of a segment of a dump.
**
** Each column wanted is a job; its array is allocated first, as narrow as the directory's minima and maxima allow,
** and then all frames of all jobs are decoded side by side, straight into the arrays.  What the file says is checked
** on the way, once: strings must exist, references must name a row that is there (numbers.c), booleans are 0 or 1,
** times are this side of the year 2116.  What does not pass, or cannot be decoded at all, is NULL and becomes a
** diagnostic.  When the file is gone or has been replaced, all that was asked for is NULL, until a refresh.
**
** Of start_ns, end_ns and dur_ns any two make the third: end_ns is added up from the other two when it is read, and
** start_ns is computed here where the file has end_ns instead, whose differences are smaller.  Segments where this
** is not so simple are left to span.c.
*/
#include "read/dump/guests.h"
#include "read/dump/windows.h"

#include "base/vectors.h"
#include "store/parallel.h"

#include <stdlib.h>
#include <string.h>

enum { SERIAL_VALUES = 1 << 15 };

enum job_kind { JOB_INTEGER, JOB_TEXT, JOB_REAL, JOB_START };

struct job {
  enum job_kind kind;
  unsigned column;
  uint16_t dump_id;
  int64_t minimum, maximum; /* what values may be; of text and references: the file's numbers */
  int renumbered;           /* the table whose rows have other numbers here than the values say, or -1 */
  bool is_parent;           /* values must lie below their own row */
  bool has_lost_texts;
  int duration_job;      /* JOB_START: the job that wants the durations decoded on the way, or -1 */
  bool is_done_by_start; /* its frames without start are such durations */
  struct column_builder builder;
};

struct trouble {  /* of one job in one frame */
  uint8_t status; /* enum tfprof_status of decoding */
  uint32_t refused;
  uint64_t offset;
  char *text; /* what is wrong */
};

struct worker { /* made by the thread that uses it */
  struct dump_cursor *cursor;
  int64_t *values, *durations;
  uint64_t *nulls, *duration_nulls;
  struct tfprof_error error; /* status 0: none */
};

struct loading {
  struct profile *profile;
  struct dump_source *source;
  struct segment *segment;
  const struct table_spec *spec;
  size_t frame_count;
  uint32_t largest_frame;
  struct job jobs[SCHEMA_MAXIMUM_COLUMNS];
  unsigned job_count;
  struct trouble *troubles; /* frame_count * job_count */
  struct worker workers[PARALLEL_MAXIMUM_WORKERS];
};

static uint32_t row_of_frame(const struct loading *loading, const struct dump_frame *frame) {
  return dump_row_in_segment(loading->source, loading->segment, frame);
}

/* ---- writing into arrays ---- */

#define PUT_AS(type)                                                                                                   \
  for (uint32_t i = 0; i < count; i++) ((type *)builder->elements)[first + i] = (type)((uint64_t)values[i] - base)

VECTOR_CLONES static void put_values(struct column_builder *builder, uint32_t first, uint32_t count,
                                     const int64_t *values) {
  uint64_t base = (uint64_t)builder->column->base;
  assert(first <= builder->column->rows && count <= builder->column->rows - first);
  switch (builder->column->width) {
    case 0: break;
    case 1: PUT_AS(uint8_t); break;
    case 2: PUT_AS(uint16_t); break;
    case 4: PUT_AS(uint32_t); break;
    default: PUT_AS(uint64_t); break;
  }
}

static void put_constant(struct column_builder *builder, uint32_t first, uint32_t count, int64_t value) {
  for (uint32_t i = 0; i < count && builder->column->width; i++) column_builder_put(builder, first + i, value);
}

/* Frames need not begin at a multiple of 64 rows, so neighbours may share a word. */
static void or_word(uint64_t *word, uint64_t bits) {
  if (bits) __atomic_fetch_or(word, bits, __ATOMIC_RELAXED);
}

static void put_nulls(struct column_builder *builder, uint32_t first, uint32_t count, const uint64_t *nulls) {
  unsigned shift = first % 64;
  if (!builder->nulls) return;
  for (uint32_t i = 0; i < (count + 63) / 64; i++) {
    uint64_t *word = &builder->nulls[first / 64 + i];
    or_word(word, nulls[i] << shift);
    if (shift) or_word(word + 1, nulls[i] >> (64 - shift)); /* 0 past the last row */
  }
}

static void put_all_null(struct column_builder *builder, uint32_t first, uint32_t count) {
  uint32_t end = first + count;
  assert(builder->nulls && count <= builder->column->rows && first <= builder->column->rows - count);
  for (uint32_t row = first; row < end;) {
    uint32_t bits = 64 - row % 64;
    if (bits > end - row) bits = end - row;
    uint64_t mask = bits == 64 ? ~(uint64_t)0 : ((uint64_t)1 << bits) - 1;
    or_word(&builder->nulls[row / 64], mask << row % 64);
    row += bits;
  }
}

/* ---- checking ---- */

/* Whether a block may hold what the job does not allow. */
static bool is_doubtful(const struct job *job, const struct dump_frame *frame, const struct dump_block *block) {
  if (job->kind == JOB_REAL || job->kind == JOB_START) return false;
  if (block->encoding == DUMP_REAL || block->minimum < job->minimum || block->maximum > job->maximum) return true;
  return job->is_parent && (uint64_t)block->maximum >= frame->first_row;
}

/* Makes NULL of what the job does not allow and returns how many values that were. */
static uint32_t refuse(const struct job *job, const struct dump_frame *frame, int64_t *values, uint64_t *nulls) {
  uint32_t refused = 0;
  for (uint32_t row = 0; row < frame->rows; row++) {
    bool is_wrong = values[row] < job->minimum || values[row] > job->maximum;
    if (job->is_parent) is_wrong |= (uint64_t)values[row] >= frame->first_row + row;
    if (!is_wrong) continue;
    bool is_no_text = job->kind == JOB_TEXT && values[row] == 0; /* NULL is written so */
    refused += !nulls_have(nulls, row) && !is_no_text;
    nulls_add(nulls, row);
    values[row] = 0;
  }
  return refused;
}

/* File ids to pool ids. */
static uint32_t map_texts(const struct dump_source *source, bool has_lost, uint32_t rows, int64_t *values,
                          uint64_t *nulls) {
  uint32_t lost = 0;
  for (uint32_t row = 0; row < rows; row++) {
    assert((uint64_t)values[row] < source->string_count);
    values[row] = source->strings[values[row]];
  }
  for (uint32_t row = 0; row < rows && has_lost; row++) {
    if (values[row] || nulls_have(nulls, row)) continue;
    lost++;
    nulls_add(nulls, row);
  }
  return lost;
}

/* The file's numbers of rows to those that they have here; how many were lost. */
static uint32_t map_rows(const struct dump_source *source, unsigned table, uint32_t rows, int64_t *values,
                         uint64_t *nulls) {
  uint32_t lost = 0;
  for (uint32_t row = 0; row < rows; row++) {
    uint64_t found;
    if (nulls_have(nulls, row)) continue;
    if (!dump_row(source, table, (uint64_t)values[row], &found)) {
      lost++;
      nulls_add(nulls, row);
    }
    values[row] = (int64_t)found;
  }
  return lost;
}

/* ---- decoding: on any thread ---- */

static enum tfprof_status prepare_worker(const struct loading *loading, struct worker *worker) {
  size_t rows = loading->largest_frame, words = (rows + 63) / 64;
  if (worker->cursor) return TFPROF_OK;
  worker->values = malloc((2 * rows + 2 * words) * sizeof *worker->values);
  if (!worker->values) return error_no_memory(&worker->error);
  worker->durations = worker->values + rows;
  worker->nulls = (uint64_t *)(worker->values + 2 * rows);
  worker->duration_nulls = worker->nulls + words;
  return dump_cursor_open(loading->source->file, &worker->cursor, &worker->error);
}

/* Decodes one block, or says in *trouble what is wrong with it. */
static enum tfprof_status decode(struct worker *worker, const struct dump_frame *frame, const struct dump_block *block,
                                 int64_t *values, uint64_t *nulls, struct trouble *trouble) {
  struct tfprof_error reason;
  enum tfprof_status status = dump_block_decode(worker->cursor, frame, block, values, nulls, &reason);
  if (!status) return TFPROF_OK;
  if (!dump_is_damage(status)) {
    worker->error = reason;
    return status;
  }
  trouble->status = (uint8_t)status;
  trouble->offset = block->offset;
  trouble->text = strdup(dump_damage_text(&reason));
  return trouble->text ? TFPROF_OK : error_no_memory(&worker->error);
}

static void reals_of_integers(uint32_t rows, int64_t *values) {
  for (uint32_t row = 0; row < rows; row++) {
    double real = (double)values[row];
    memcpy(&values[row], &real, sizeof real);
  }
}

static enum tfprof_status decode_plain(const struct loading *loading, struct worker *worker, struct job *job,
                                       const struct dump_frame *frame, struct trouble *trouble) {
  const struct dump_block *block = dump_frame_block(frame, job->dump_id);
  uint32_t first = row_of_frame(loading, frame);
  bool is_checked = false;
  if (!block) {
    put_all_null(&job->builder, first, frame->rows);
    return TFPROF_OK;
  }
  is_checked = is_doubtful(job, frame, block);
  bool is_constant = block->encoding == DUMP_CONSTANT && block->minimum == block->maximum && block->stored_bytes == 0;
  if (is_constant && !block->has_nulls && !is_checked && job->kind == JOB_INTEGER && job->renumbered < 0) {
    put_constant(&job->builder, first, frame->rows, block->minimum);
    return TFPROF_OK;
  }
  enum tfprof_status status = prepare_worker(loading, worker);
  if (!status) status = decode(worker, frame, block, worker->values, worker->nulls, trouble);
  if (status || trouble->status) return status;
  if (block->encoding == DUMP_REAL && job->kind != JOB_REAL) {
    trouble->status = TFPROF_CORRUPT;
    trouble->offset = block->offset;
    trouble->text = strdup("it holds real numbers");
    return trouble->text ? TFPROF_OK : error_no_memory(&worker->error);
  }
  if (is_checked) trouble->refused = refuse(job, frame, worker->values, worker->nulls);
  if (job->renumbered >= 0) {
    trouble->refused +=
        map_rows(loading->source, (unsigned)job->renumbered, frame->rows, worker->values, worker->nulls);
  }
  if (job->kind == JOB_TEXT) {
    trouble->refused +=
        map_texts(loading->source, job->has_lost_texts, frame->rows, worker->values, worker->nulls);
  }
  if (job->kind == JOB_REAL && block->encoding != DUMP_REAL) reals_of_integers(frame->rows, worker->values);
  put_values(&job->builder, first, frame->rows, worker->values);
  put_nulls(&job->builder, first, frame->rows, worker->nulls);
  return TFPROF_OK;
}

/* start_ns of a frame that has end and duration instead, and dur_ns with it where that is wanted too. */
static enum tfprof_status decode_start(struct loading *loading, struct worker *worker, struct job *job,
                                       const struct dump_frame *frame, struct trouble *trouble,
                                       struct trouble *frame_troubles) {
  struct span_blocks blocks = dump_span_blocks(loading->spec, frame);
  struct trouble unwanted = {0}, *duration_trouble = &unwanted;
  uint32_t first = row_of_frame(loading, frame);
  if (blocks.start || !blocks.end) return decode_plain(loading, worker, job, frame, trouble);
  if (job->duration_job >= 0) duration_trouble = &frame_troubles[job->duration_job];
  enum tfprof_status status = prepare_worker(loading, worker);
  if (!status) {
    status = decode(worker, frame, blocks.dur, worker->durations, worker->duration_nulls, duration_trouble);
  }
  if (!status && duration_trouble->status) { /* no start without the duration */
    trouble->status = duration_trouble->status;
    trouble->offset = duration_trouble->offset;
    trouble->text = unwanted.text;
    if (!trouble->text) trouble->text = strdup(duration_trouble->text);
    return trouble->text ? TFPROF_OK : error_no_memory(&worker->error);
  }
  if (!status && job->duration_job >= 0) {
    struct column_builder *builder = &loading->jobs[job->duration_job].builder;
    put_values(builder, first, frame->rows, worker->durations);
    put_nulls(builder, first, frame->rows, worker->duration_nulls);
  }
  if (!status) status = decode(worker, frame, blocks.end, worker->values, worker->nulls, trouble);
  if (status || trouble->status) return status;
  for (uint32_t row = 0; row < frame->rows; row++) worker->values[row] -= worker->durations[row];
  put_values(&job->builder, first, frame->rows, worker->values);
  put_nulls(&job->builder, first, frame->rows, worker->nulls); /* even spans have no NULL durations here */
  return TFPROF_OK;
}

static void run_task(void *context, size_t i, unsigned number) {
  struct loading *loading = context;
  struct worker *worker = &loading->workers[number];
  size_t frame_index = i / loading->job_count;
  struct job *job = &loading->jobs[i % loading->job_count];
  struct trouble *frame_troubles = &loading->troubles[frame_index * loading->job_count];
  struct trouble *trouble = &loading->troubles[i];
  const struct dump_frame *frame = dump_segment_frame(loading->source, loading->segment, frame_index);
  enum tfprof_status status = TFPROF_OK;
  if (worker->error.status) return; /* this thread cannot go on, and the whole will fail */
  if (job->kind == JOB_START) {
    status = decode_start(loading, worker, job, frame, trouble, frame_troubles);
  } else {
    struct span_blocks blocks = {0};
    if (job->is_done_by_start) blocks = dump_span_blocks(loading->spec, frame);
    if (!blocks.end || blocks.start) status = decode_plain(loading, worker, job, frame, trouble);
  }
  if (status) worker->error.status = status;
}

/* ---- setting up ---- */

/* What values a column may have. */
static void set_limits(const struct loading *loading, struct job *job) {
  const struct column_spec *spec = &loading->spec->columns[job->column];
  job->minimum = INT64_MIN;
  job->maximum = INT64_MAX;
  switch ((enum column_type)spec->type) {
    case TYPE_BOOLEAN:
      job->minimum = 0;
      job->maximum = 1;
      break;
    case TYPE_TEXT:
    case TYPE_JSON:
      job->minimum = 1;
      job->maximum = (int64_t)loading->source->string_count - 1;
      break;
    case TYPE_TIME:
    case TYPE_DURATION:
      job->minimum = -STORE_TIME_LIMIT;
      job->maximum = STORE_TIME_LIMIT;
      if ((int)job->column == loading->spec->dur_column) job->minimum = 0;
      break;
    case TYPE_REFERENCE: {
      const struct profile_table *target = &loading->profile->tables[spec->target];
      job->minimum = 0;
      /* Rows that a pass will make cannot be known to the file. */
      job->maximum = -1;
      uint64_t last;
      if (target->is_made || !target->rows) break;
      if (!dump_number(loading->source, spec->target, target->rows - 1, &last)) break;
      job->maximum = (int64_t)last;
      if (dump_numbers_differ(loading->source, spec->target)) job->renumbered = spec->target;
      job->is_parent = loading->segment->table == TABLE_code_traces && spec->target == TABLE_code_traces;
      break;
    }
    case TYPE_INTEGER:
    case TYPE_REAL: break;
  }
}

struct extent { /* of the values of a job, over all frames */
  int64_t minimum, maximum;
  bool has_values, may_have_nulls, has_blocks;
};

static void extend(struct extent *extent, int64_t minimum, int64_t maximum) {
  if (minimum > maximum) return;
  if (!extent->has_values || minimum < extent->minimum) extent->minimum = minimum;
  if (!extent->has_values || maximum > extent->maximum) extent->maximum = maximum;
  extent->has_values = true;
}

static void extend_by_frame(const struct loading *loading, const struct job *job, const struct dump_frame *frame,
                            struct extent *extent) {
  const struct dump_block *block = dump_frame_block(frame, job->dump_id);
  if (job->kind == JOB_START && !block) {
    struct span_blocks blocks = dump_span_blocks(loading->spec, frame);
    if (blocks.end) { /* then there is a duration: the segment is even */
      extend(extent, blocks.end->minimum - blocks.dur->maximum, blocks.end->maximum - blocks.dur->minimum);
      extent->may_have_nulls |= blocks.end->has_nulls;
      extent->has_blocks = true;
      return;
    }
  }
  extent->has_blocks |= block != NULL;
  if (!block || block->encoding >= DUMP_ENCODING_COUNT) {
    extent->may_have_nulls = true;
    return;
  }
  extent->may_have_nulls |= block->has_nulls || is_doubtful(job, frame, block);
  if (job->kind == JOB_REAL) {
    extent->has_values = true;
    return;
  }
  if (block->encoding == DUMP_REAL) return;
  int64_t minimum = block->minimum > job->minimum ? block->minimum : job->minimum;
  int64_t maximum = block->maximum < job->maximum ? block->maximum : job->maximum;
  if (job->renumbered >= 0 && minimum <= maximum) {
    uint64_t low, high;
    dump_row(loading->source, (unsigned)job->renumbered, (uint64_t)minimum, &low);
    bool is_there = dump_row(loading->source, (unsigned)job->renumbered, (uint64_t)maximum, &high);
    /* Fewer rows than numbers: some of those in between are lost, or so it may be where rows of windows are, too. */
    bool has_others = loading->source->windows || loading->source->guests;
    extent->may_have_nulls |= !is_there || has_others || (int64_t)(high - low) != maximum - minimum;
    minimum = (int64_t)low;
    maximum = (int64_t)high - !is_there;
  }
  extend(extent, minimum, maximum);
}

/* Allocates the array of a job; none (and *is_absent) where no frame has the column. */
static enum tfprof_status start_builder(struct loading *loading, struct job *job, bool *is_absent,
                                        struct tfprof_error *error) {
  struct extent extent = {0};
  for (size_t i = 0; i < loading->frame_count; i++) {
    extend_by_frame(loading, job, dump_segment_frame(loading->source, loading->segment, i), &extent);
  }
  *is_absent = !extent.has_blocks;
  if (*is_absent) return TFPROF_OK;
  if (job->kind == JOB_TEXT && extent.has_values) {
    struct string_range range = dump_string_range(loading->source, (uint32_t)extent.minimum, (uint32_t)extent.maximum);
    job->has_lost_texts = range.minimum == 0;
    extent.may_have_nulls |= job->has_lost_texts;
    extent.minimum = range.minimum;
    extent.maximum = range.maximum;
  }
  if (!extent.has_values) extent.minimum = extent.maximum = 0;
  enum tfprof_status status = column_builder_start(&job->builder, loading->segment->rows, extent.minimum,
                                                   extent.maximum, job->kind == JOB_REAL, extent.may_have_nulls);
  return status ? error_no_memory(error) : TFPROF_OK;
}

static enum tfprof_status add_job(struct loading *loading, unsigned column, struct tfprof_error *error) {
  const struct column_spec *spec = &loading->spec->columns[column];
  bool is_text = spec->type == TYPE_TEXT || spec->type == TYPE_JSON, is_absent;
  struct job *job = &loading->jobs[loading->job_count];
  *job = (struct job){.kind = is_text                   ? JOB_TEXT
                              : spec->type == TYPE_REAL ? JOB_REAL
                                                        : JOB_INTEGER,
                      .column = column,
                      .dump_id = spec->dump_id,
                      .renumbered = -1,
                      .duration_job = -1};
  if ((int)column == loading->spec->start_column) job->kind = JOB_START;
  set_limits(loading, job);
  enum tfprof_status status = start_builder(loading, job, &is_absent, error);
  if (!status && !is_absent) loading->job_count++;
  return status;
}

static struct job *find_job(struct loading *loading, int column) {
  for (unsigned i = 0; i < loading->job_count; i++) {
    if ((int)loading->jobs[i].column == column) return &loading->jobs[i];
  }
  return NULL;
}

/* ---- the columns asked for ---- */

static enum tfprof_status add_jobs(struct loading *loading, const struct column_set *wanted,
                                   struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (unsigned column = 2; column < loading->spec->column_count && !status; column++) {
    if (column_set_has(wanted, column)) status = add_job(loading, column, error);
  }
  struct job *start = find_job(loading, loading->spec->start_column);
  struct job *duration = find_job(loading, loading->spec->dur_column);
  if (start && duration && loading->spec->start_column >= 0) {
    start->duration_job = (int)(duration - loading->jobs);
    duration->is_done_by_start = true;
  }
  return status;
}

static enum tfprof_status decode_all(struct loading *loading, struct tfprof_error *error) {
  size_t tasks = loading->frame_count * loading->job_count;
  loading->troubles = calloc(tasks + 1, sizeof *loading->troubles);
  if (!loading->troubles) return error_no_memory(error);
  if ((uint64_t)loading->segment->rows * loading->job_count <= SERIAL_VALUES) { /* not worth a thread */
    for (size_t i = 0; i < tasks; i++) run_task(loading, i, 0);
  } else {
    parallel_for(tasks, run_task, loading);
  }
  for (unsigned i = 0; i < PARALLEL_MAXIMUM_WORKERS; i++) {
    const struct tfprof_error *failure = &loading->workers[i].error;
    if (!failure->status) continue;
    if (error) *error = *failure;
    return failure->status;
  }
  return TFPROF_OK;
}

/* NULLs for what could not be decoded, and word of it. */
static enum tfprof_status settle_job(struct loading *loading, unsigned index, struct tfprof_error *error) {
  struct job *job = &loading->jobs[index];
  int64_t refused = 0;
  for (size_t i = 0; i < loading->frame_count; i++) {
    const struct dump_frame *frame = dump_segment_frame(loading->source, loading->segment, i);
    const struct trouble *trouble = &loading->troubles[i * loading->job_count + index];
    refused += trouble->refused;
    if (!trouble->status) continue;
    if (column_builder_allow_nulls(&job->builder)) return error_no_memory(error);
    put_all_null(&job->builder, row_of_frame(loading, frame), frame->rows);
    dump_tell_damage(loading->segment, job->column, frame, (enum tfprof_status)trouble->status, trouble->offset,
                     trouble->text);
  }
  if (refused) dump_tell_refused(loading->segment, job->column, refused);
  return TFPROF_OK;
}

static void clear(struct loading *loading) {
  for (unsigned i = 0; i < PARALLEL_MAXIMUM_WORKERS; i++) {
    dump_cursor_close(loading->workers[i].cursor);
    free(loading->workers[i].values);
  }
  for (size_t i = 0; i < loading->frame_count * loading->job_count && loading->troubles; i++) {
    free(loading->troubles[i].text);
  }
  for (unsigned i = 0; i < loading->job_count; i++) column_builder_cancel(&loading->jobs[i].builder);
  free(loading->troubles);
  free(loading);
}

/* Loads the wanted columns, end_ns of tables with a span excepted, into loaded[column]. */
static enum tfprof_status load_plain(struct profile *profile, struct segment *segment, const struct column_set *wanted,
                                     struct column **loaded, struct tfprof_error *error) {
  const struct dump_segment *frames = segment->source_data;
  struct loading *loading = calloc(1, sizeof *loading);
  if (!loading) return error_no_memory(error);
  loading->profile = profile;
  loading->source = profile->source_data;
  loading->segment = segment;
  loading->spec = &schema_tables[segment->table];
  loading->frame_count = frames->frame_count;
  for (size_t i = 0; i < loading->frame_count; i++) {
    uint32_t rows = dump_segment_frame(loading->source, segment, i)->rows;
    if (rows > loading->largest_frame) loading->largest_frame = rows;
  }
  enum tfprof_status status = add_jobs(loading, wanted, error);
  if (!status) status = decode_all(loading, error);
  for (unsigned i = 0; i < loading->job_count && !status; i++) status = settle_job(loading, i, error);
  for (unsigned i = 0; i < loading->job_count && !status; i++) {
    loaded[loading->jobs[i].column] = column_builder_done(&loading->jobs[i].builder);
  }
  clear(loading);
  return status;
}

static bool wants_text(const struct table_spec *spec, const struct column_set *wanted) {
  for (unsigned column = 2; column < spec->column_count; column++) {
    bool is_text = spec->columns[column].type == TYPE_TEXT || spec->columns[column].type == TYPE_JSON;
    if (is_text && column_set_has(wanted, column)) return true;
  }
  return false;
}

static void remove_column(struct column_set *set, int column) {
  set->words[column >> 6] &= ~((uint64_t)1 << (column & 63));
}

/* Loads the wanted of the three columns of a span, and those that end_ns needs; takes out of *wanted what is done. */
static enum tfprof_status load_span(struct profile *profile, struct segment *segment, struct column_set *wanted,
                                    struct column **loaded, struct tfprof_error *error) {
  const struct table_spec *spec = &schema_tables[segment->table];
  const int parts[3] = {spec->start_column, spec->end_column, spec->dur_column};
  bool is_wanted = false;
  if (spec->start_column < 0) return TFPROF_OK;
  for (unsigned i = 0; i < 3; i++) is_wanted |= column_set_has(wanted, (unsigned)parts[i]);
  if (!is_wanted || dump_span_is_even(profile->source_data, segment)) return TFPROF_OK;
  struct column *columns[3] = {NULL, NULL, NULL};
  enum tfprof_status status = dump_load_odd_span(profile, segment, columns, error);
  for (unsigned i = 0; i < 3 && !status; i++) {
    loaded[parts[i]] = columns[i];
    remove_column(wanted, parts[i]);
  }
  return status;
}

/* end_ns as the sum of the others, which were loaded now or before; NULL where either is absent. */
static enum tfprof_status add_up_end(struct segment *segment, struct column **loaded, struct tfprof_error *error) {
  const struct table_spec *spec = &schema_tables[segment->table];
  struct column *start = loaded[spec->start_column], *dur = loaded[spec->dur_column];
  if (!start) start = segment->columns[spec->start_column];
  if (!dur) dur = segment->columns[spec->dur_column];
  if (!start || !dur) return TFPROF_OK;
  loaded[spec->end_column] = column_sum(start, dur);
  return loaded[spec->end_column] ? TFPROF_OK : error_no_memory(error);
}

static enum tfprof_status load(struct profile *profile, struct segment *segment, struct column_set wanted,
                               struct column **loaded, struct tfprof_error *error) {
  const struct table_spec *spec = &schema_tables[segment->table];
  enum tfprof_status status = TFPROF_OK;
  if (wants_text(spec, &wanted)) status = dump_load_strings(profile, error);
  if (status == TFPROF_IO) status = TFPROF_OK; /* the file was cut: those texts are lost, and told so */
  if (!status) status = load_span(profile, segment, &wanted, loaded, error);
  bool needs_end = spec->end_column >= 0 && column_set_has(&wanted, (unsigned)spec->end_column);
  if (!status && needs_end) {
    if (!segment->columns[spec->start_column]) column_set_add(&wanted, (unsigned)spec->start_column);
    if (!segment->columns[spec->dur_column]) column_set_add(&wanted, (unsigned)spec->dur_column);
    remove_column(&wanted, spec->end_column);
  }
  if (!status) status = load_plain(profile, segment, &wanted, loaded, error);
  if (!status && needs_end) status = add_up_end(segment, loaded, error);
  return status;
}

enum tfprof_status dump_load(struct profile *profile, struct segment *segment, const uint16_t *columns, unsigned count,
                             struct column **out, struct tfprof_error *error) {
  const struct table_spec *spec = &schema_tables[segment->table];
  const struct dump_segment *own = segment->source_data;
  if (own->is_of_guest) return dump_guests_load(profile, segment, columns, count, out, error);
  struct column *loaded[SCHEMA_MAXIMUM_COLUMNS] = {NULL};
  struct column_set wanted = {{0, 0}};
  struct tfprof_error reason;
  for (unsigned i = 0; i < count; i++) column_set_add(&wanted, columns[i]);
  enum tfprof_status status = load(profile, segment, wanted, loaded, &reason);
  if (dump_is_lost(status)) {
    for (unsigned i = 0; i < count; i++) {
      if (!loaded[columns[i]]) segment_lose(segment, columns[i], &reason);
    }
    status = TFPROF_OK;
  }
  if (status && error) *error = reason;
  const struct dump_source *source = profile->source_data;
  for (unsigned i = 0; i < count && !status; i++) {
    bool is_ours = source->windows && segment->table == TABLE_profiler_windows &&
                   columns[i] == COLUMN_profiler_windows_is_read;
    out[i] = is_ours ? dump_windows_are_read(source, segment) : loaded[columns[i]];
    if (is_ours) continue;
    loaded[columns[i]] = NULL;
  }
  /* What was made on the way need not be made again. */
  for (unsigned column = 2; column < spec->column_count && !status; column++) {
    if (!loaded[column] || segment->columns[column]) continue;
    assert(segment_may_have(segment, column, loaded[column]));
    segment->columns[column] = loaded[column];
    column_set_add(&segment->is_told, column);
    loaded[column] = NULL;
  }
  for (unsigned column = 2; column < spec->column_count; column++) column_release(loaded[column]);
  return status;
}
