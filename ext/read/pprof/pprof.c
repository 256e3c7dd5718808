/* pprof.c: see pprof.h.
**
** What is in use at one moment, by call stack.  A sample is a row of allocations that stands for as many pieces as its
** count (allocations.occurrence_count), all of them live: neither when they were allocated nor where is told.  The file
** is gzip as a rule; it is taken into memory whole.
*/
#include "read/pprof/pprof.h"

#include <stdlib.h>
#include <string.h>

#include "read/file/whole_file.h"
#include "read/pprof/heap_profile.h"
#include "write/pprof_fields.h"

enum { MAXIMUM_BYTES = 256 << 20 };

static void diagnose(struct profile *profile, const struct heap_profile *heap, const struct source *source) {
  uint64_t offset;
  enum source_problem problem = source_problem(source, &offset);
  profile->complete = !heap->wrong && !heap->is_too_much && (!problem || problem == SOURCE_TRAILING);
  if (problem)
    profile_diagnose(profile, problem == SOURCE_TRAILING ? "warning" : "error", "gzip", 1, (int64_t)offset, -1, "%s",
                     source_problem_text(problem));
  if (heap->wrong)
    profile_diagnose(profile, "error", "damaged", 1, (int64_t)heap->wrong_offset, -1,
                     "%s; what is before that is served", heap->wrong);
  if (heap->is_too_much)
    profile_diagnose(profile, "error", "limit", 1, -1, TABLE_allocations,
                     "samples name the same places over and over, more often than a file of its size can: what comes "
                     "after that was left out");
  if (heap->odd_count)
    profile_diagnose(profile, "warning", "number_out_of_range", (int64_t)heap->odd_count, -1, TABLE_allocations,
                     "samples without a number for each type, or with one below 0, were left out");
  if (heap->mended_count)
    profile_diagnose(profile, "warning", "not_utf8", (int64_t)heap->mended_count, -1, -1, NOT_UTF8_MESSAGE);
}

static const struct profile_source profile_source = {.format = "pprof", .load = eager_rows_load};

static enum tfprof_status add_profile(struct store *store, uint32_t run_number, const char *path,
                                      const struct heap_profile *heap, const struct source *source,
                                      struct tfprof_error *error) {
  struct profile *profile = NULL;
  struct pool *pool = store_pool(store);
  enum tfprof_status status = store_add_profile(store, run_number, &profile_source, NULL, &profile, error);
  if (status) return status;
  status = heap_profile_publish(heap, profile, error);
  if (!status && (pool_intern_mended(pool, path, strlen(path), &profile->path, NULL) ||
                  (heap->is_of_jax && pool_intern(pool, "jax", 3, &profile->framework))))
    status = error_no_memory(error);
  if (status) {
    store_drop_profile(store, profile);
    return status;
  }
  profile->rank = profile->world_size = -1;
  profile->attributes = heap->comments;
  profile->file_bytes = (int64_t)source_file_bytes(source);
  if (heap->time_ns > 0 && heap->time_ns <= STORE_TIME_LIMIT) {
    profile->has_span = true;
    profile->start_ns = profile->end_ns = heap->time_ns;
  }
  diagnose(profile, heap, source);
  return TFPROF_OK;
}

/* Why no type of the samples is bytes in use. Texts stand last in the file, and types are named by these: of one that
** was cut nothing can be told. */
static enum tfprof_status refuse_heap_profile(const char *path, const struct heap_profile *heap,
                                              const struct source *source, struct tfprof_error *error) {
  uint64_t offset;
  enum source_problem problem = source_problem(source, &offset);
  static const char last[] =
      "; its texts, which stand last, are missing, so that nothing of it can be told: copy it anew";
  if (problem && problem != SOURCE_TRAILING)
    return error_at(error, TFPROF_CORRUPT, path, offset, "a profile of pprof: %s%s", source_problem_text(problem),
                    last);
  if (heap->wrong)
    return error_at(error, TFPROF_CORRUPT, path, heap->wrong_offset, "a profile of pprof: %s%s", heap->wrong, last);
  error_at(error, TFPROF_WRONG_KIND, path, 0,
           "a profile of pprof, but not of memory, as its samples have no bytes in use; `go tool pprof -http : %.400s` "
           "shows it", path);
  if (error) error->has_offset = false;
  return TFPROF_WRONG_KIND;
}

static enum tfprof_status open_pprof(struct store *store, uint32_t run_number, const struct read_bundle *bundle,
                                     struct tfprof_error *error) {
  const char *path = bundle->files[0].path;
  struct heap_profile heap = {0};
  struct source *source;
  char *bytes = NULL;
  size_t length = 0;
  enum tfprof_status status = source_open(path, &source, error);
  if (status) return status;
  status = whole_file_read(source, path, MAXIMUM_BYTES, "memory profile", &bytes, &length, error);
  if (!status) {
    status = heap_profile_read(&heap, store, (const uint8_t *)bytes, length, error);
    if (status == TFPROF_WRONG_KIND) status = refuse_heap_profile(path, &heap, source, error);
    if (!status) status = add_profile(store, run_number, path, &heap, source, error);
    heap_profile_free(&heap);
  }
  source_close(source);
  free(bytes);
  return status;
}

const struct read_format read_format_pprof = {
    .name = "pprof",
    .description = "memory profile in pprof's format, as jax.profiler.save_device_memory_profile() writes it",
    .may_be_gzip = true,
    .is_no_run = true,
    .open = open_pprof};

/* ---- what a file is ---- */

/* Two numbers, the type and its unit. */
static bool is_value_type(struct wire_reader message) {
  struct wire_field field;
  while (wire_next(&message, &field)) {
    if (field.number > ValueType_unit || field.type != WIRE_VARINT) return false;
  }
  return !message.wrong;
}

/* As all writers do, it begins with the types of samples, and then come messages whose fields are numbers or lists of
** them, labels or lines. */
static bool is_pprof(const uint8_t *head, size_t length) {
  struct wire_reader reader = wire_open(head, length);
  struct wire_field field;
  unsigned types = 0;
  while (wire_next(&reader, &field) && field.number == Profile_sample_type) {
    if (field.type != WIRE_BYTES || !field.length || !is_value_type(wire_enter(&reader, &field))) return false;
    types++;
  }
  if (!types) return false;
  bool is_number = field.number >= Profile_drop_frames && field.number != Profile_period_type &&
                   field.number != Profile_comment;
  return reader.at == reader.end || reader.wrong ||
         (field.number <= Profile_default_sample_type && is_number == (field.type == WIRE_VARINT));
}

static struct recognised probe_pprof(const char *path, const uint8_t *head, size_t length) {
  (void)path;
  return (struct recognised){is_pprof(head, length) ? &read_format_pprof : NULL, 70};
}

static const struct read_format *const formats[] = {&read_format_pprof, NULL};
const struct reader pprof_reader = {.formats = formats, .probe = probe_pprof};
