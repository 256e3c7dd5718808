/* strings.c: the texts of a dump in the pool.
**
** They are read when the first column of texts is asked for, and more of them after a refresh.
*/
#include "read/dump/source.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/utf8.h"

enum {
  STRING_BLOCK = 1024,
  BATCH_STRINGS = 256, /* texts that are interned together, or fewer with */
  BATCH_BYTES = 32 << 10,
};

/* What the file has given and the pool has not taken yet. */
struct pending_strings {
  struct pool *pool;
  struct dump_source *source;
  uint64_t mended; /* texts that are not UTF-8 */
  unsigned count;
  size_t used;
  struct pool_text texts[BATCH_STRINGS];
  char bytes[BATCH_BYTES];
};

static enum tfprof_status reserve_strings(struct dump_source *source, unsigned count) {
  size_t needed = (size_t)source->string_count + count;
  bool has_room = array_reserve(source->strings, source->string_capacity, needed) &&
                  array_reserve(source->ranges, source->range_capacity, (needed + STRING_BLOCK - 1) / STRING_BLOCK);
  return has_room ? TFPROF_OK : TFPROF_NO_MEMORY;
}

static void set_string(struct dump_source *source, uint32_t file_id, string_id id) {
  assert(file_id < source->string_capacity && file_id / STRING_BLOCK < source->range_capacity);
  struct string_range *range = &source->ranges[file_id / STRING_BLOCK];
  if (file_id % STRING_BLOCK == 0) *range = (struct string_range){id, id};
  if (id < range->minimum) range->minimum = id;
  if (id > range->maximum) range->maximum = id;
  source->strings[file_id] = id;
}

static void append_string(struct dump_source *source, string_id id) { set_string(source, source->string_count++, id); }

void dump_adopt_strings(struct profile *profile, const string_id *map) {
  struct dump_source *source = profile->source_data;
  for (uint32_t i = 0; i < source->string_count; i++) set_string(source, i, map[source->strings[i]]);
}

/* At most BATCH_STRINGS texts: all of them, or none and an error. */
static enum tfprof_status add_texts(struct pending_strings *pending, const struct pool_text *texts, unsigned count) {
  string_id ids[BATCH_STRINGS];
  assert(count <= BATCH_STRINGS);
  enum tfprof_status status = reserve_strings(pending->source, count);
  if (!status) status = pool_intern_many(pending->pool, texts, count, ids);
  for (unsigned i = 0; i < count && !status; i++) append_string(pending->source, ids[i]);
  return status;
}

static enum tfprof_status add_pending(struct pending_strings *pending) {
  enum tfprof_status status = add_texts(pending, pending->texts, pending->count);
  if (status) return status;
  pending->count = 0;
  pending->used = 0;
  return TFPROF_OK;
}

static enum tfprof_status add_string(void *context, uint32_t file_id, const char *text, uint32_t length) {
  struct pending_strings *pending = context;
  (void)file_id; /* they are consecutive */
  if (text && utf8_valid(text, length) != length) {
    string_id id;
    enum tfprof_status status = add_pending(pending);
    if (!status) status = reserve_strings(pending->source, 1);
    if (!status) status = pool_intern_mended(pending->pool, text, length, &id, &pending->mended);
    if (!status) append_string(pending->source, id);
    return status;
  }
  bool has_room = pending->count < BATCH_STRINGS && length <= BATCH_BYTES - pending->used;
  if (!has_room) {
    enum tfprof_status status = add_pending(pending);
    if (status) return status;
  }
  if (length > BATCH_BYTES) return add_texts(pending, &(struct pool_text){text, length}, 1);
  char *copy = pending->bytes + pending->used;
  if (length) memcpy(copy, text, length);
  pending->texts[pending->count++] = (struct pool_text){text ? copy : NULL, length};
  pending->used += length;
  return TFPROF_OK;
}

enum tfprof_status dump_load_strings(struct profile *profile, struct tfprof_error *error) {
  struct dump_source *source = profile->source_data;
  if (source->string_count == 0) {
    if (reserve_strings(source, 1)) return error_no_memory(error);
    append_string(source, 0);
  }
  /* The file gives each text once: those that found no memory wait for the next call. */
  struct pending_strings *pending = source->pending_strings;
  if (!pending) pending = calloc(1, sizeof *pending);
  if (!pending) return error_no_memory(error);
  source->pending_strings = pending;
  pending->pool = store_pool(profile->store);
  pending->source = source;
  if (error) error_set(error, TFPROF_OK, "the strings of the file cannot be kept");
  enum tfprof_status status = dump_file_strings(source->file, add_string, pending, error);
  if (!status) status = add_pending(pending);
  if (pending->mended)
    profile_diagnose(profile, "warning", "not_utf8", (int64_t)pending->mended, -1, -1, NOT_UTF8_MESSAGE);
  pending->mended = 0;
  if (pending->count == 0) {
    free(pending);
    source->pending_strings = NULL;
  }
  if (status && error) error->status = status;
  dump_tell_problems(profile);
  return status;
}

struct string_range dump_string_range(const struct dump_source *source, uint32_t minimum, uint32_t maximum) {
  struct string_range found = {UINT32_MAX, 0};
  assert(maximum < source->string_count);
  for (uint32_t id = minimum; id <= maximum; id++) {
    struct string_range range = {source->strings[id], source->strings[id]};
    if (id % STRING_BLOCK == 0 && maximum - id >= STRING_BLOCK - 1) {
      range = source->ranges[id / STRING_BLOCK];
      id += STRING_BLOCK - 1;
    }
    if (range.minimum < found.minimum) found.minimum = range.minimum;
    if (range.maximum > found.maximum) found.maximum = range.maximum;
  }
  return found;
}
