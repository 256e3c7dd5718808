/* dump_strings.c: the texts of a dump in the pool.
**
** They are read when the first column of texts is asked for, and more of them after a refresh.
*/
#include "read/dump_source.h"

#include <stdlib.h>
#include <string.h>

enum {
  STRING_BLOCK = 1024,
  BATCH_STRINGS = 256,       /* are interned together, or fewer with */
  BATCH_BYTES = 32 << 10
};

static enum tfprof_status reserve_strings(struct dump_source *source) {
  if (source->string_count < source->string_capacity) return TFPROF_OK;
  uint32_t capacity = source->string_capacity ? source->string_capacity * 2 : STRING_BLOCK;
  string_id *strings = realloc(source->strings, capacity * sizeof *strings);
  if (!strings) return TFPROF_NO_MEMORY;
  source->strings = strings;
  struct string_range *ranges = realloc(source->ranges, capacity / STRING_BLOCK * sizeof *ranges);
  if (!ranges) return TFPROF_NO_MEMORY;
  source->ranges = ranges;
  source->string_capacity = capacity;
  return TFPROF_OK;
}

static void append_string(struct dump_source *source, string_id id) {
  struct string_range *range = &source->ranges[source->string_count / STRING_BLOCK];
  if (source->string_count % STRING_BLOCK == 0) *range = (struct string_range){id, id};
  if (id < range->minimum) range->minimum = id;
  if (id > range->maximum) range->maximum = id;
  source->strings[source->string_count++] = id;
}

struct string_context {
  struct profile *profile;
  struct dump_source *source;
  unsigned count;
  size_t used;
  struct pool_text texts[BATCH_STRINGS];
  char bytes[BATCH_BYTES];
};

static enum tfprof_status add_texts(struct string_context *strings, const struct pool_text *texts, unsigned count) {
  string_id ids[BATCH_STRINGS];
  enum tfprof_status status = pool_intern_many(store_pool(strings->profile->store), texts, count, ids);
  for (unsigned i = 0; i < count && !status; i++) {
    status = reserve_strings(strings->source);
    if (!status) append_string(strings->source, ids[i]);
  }
  return status;
}

static enum tfprof_status add_batch(struct string_context *strings) {
  unsigned count = strings->count;
  strings->count = 0;
  strings->used = 0;
  return add_texts(strings, strings->texts, count);
}

static enum tfprof_status add_string(void *context, uint32_t file_id, const char *text, uint32_t length) {
  struct string_context *strings = context;
  enum tfprof_status status = TFPROF_OK;
  (void)file_id; /* they are consecutive */
  bool has_room = strings->count < BATCH_STRINGS && length <= BATCH_BYTES - strings->used;
  if (!has_room) status = add_batch(strings);
  if (status || length > BATCH_BYTES) return status ? status : add_texts(strings, &(struct pool_text){text, length}, 1);
  char *copy = strings->bytes + strings->used;
  if (length) memcpy(copy, text, length);
  strings->texts[strings->count++] = (struct pool_text){copy, length};
  strings->used += length;
  return TFPROF_OK;
}

enum tfprof_status dump_load_strings(struct profile *profile, struct tfprof_error *error) {
  struct dump_source *source = profile->source_data;
  struct string_context *context = malloc(sizeof *context);
  if (!context) return error_no_memory(error);
  *context = (struct string_context){.profile = profile, .source = source};
  if (source->string_count == 0) {
    if (reserve_strings(source)) {
      free(context);
      return error_no_memory(error);
    }
    append_string(source, 0);
  }
  if (error) error_set(error, TFPROF_OK, "the strings of the file cannot be kept");
  enum tfprof_status status = dump_file_strings(source->file, add_string, context, error);
  enum tfprof_status rest = add_batch(context); /* what came before a failure counts */
  free(context);
  if (!status) status = rest;
  if (status && error) error->status = status;
  dump_tell_problems(profile);
  return status;
}

struct string_range dump_string_range(const struct dump_source *source, uint32_t minimum, uint32_t maximum) {
  struct string_range found = {UINT32_MAX, 0};
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
