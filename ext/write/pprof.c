/* pprof.c: see pprof.h.  Field numbers are those of profile.proto. */
#include "write/pprof.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/list.h"
#include "base/row_map.h"
#include "store/pool.h"
#include "write/output_file.h"
#include "write/pprof_fields.h"

/* Fields of the messages, as NUMBER << 3 | wire type: 0 is a number, 2 bytes with their length before them. */
enum {
  PROFILE_SAMPLE_TYPE = Profile_sample_type << 3 | 2,
  PROFILE_SAMPLE = Profile_sample << 3 | 2,
  PROFILE_LOCATION = Profile_location << 3 | 2,
  PROFILE_FUNCTION = Profile_function << 3 | 2,
  PROFILE_STRING = Profile_string_table << 3 | 2,
  PROFILE_TIME = Profile_time_nanos << 3,
  PROFILE_DURATION = Profile_duration_nanos << 3,
  PROFILE_COMMENT = Profile_comment << 3,
  PROFILE_DEFAULT_TYPE = Profile_default_sample_type << 3,
  TYPE_NAME = ValueType_type << 3,
  TYPE_UNIT = ValueType_unit << 3,
  SAMPLE_LOCATIONS = Sample_location_id << 3 | 2,
  SAMPLE_VALUES = Sample_value << 3 | 2,
  SAMPLE_LABEL = Sample_label << 3 | 2,
  LABEL_KEY = Label_key << 3,
  LABEL_TEXT = Label_str << 3,
  LOCATION_ID = Location_id << 3,
  LOCATION_LINE = Location_line << 3 | 2,
  LINE_FUNCTION = Line_function_id << 3,
  LINE_NUMBER = Line_line << 3,
  FUNCTION_ID = Function_id << 3,
  FUNCTION_NAME = Function_name << 3,
  FUNCTION_FILE = Function_filename << 3,
  FUNCTION_FIRST_LINE = Function_start_line << 3,
};

struct function {
  string_id name, file;
  int64_t first_line;
};
struct location {
  uint32_t function; /* from 1 */
  int64_t line;
};
struct node {
  uint32_t caller, location;
};

/* A sample with a label of its own. */
struct labelled {
  uint32_t node;
  string_id key, text;
};

/* Things of one kind, each once: `items` of `size` bytes without padding that matters, found by their bytes. */
struct collection {
  unsigned char *items;
  size_t size, capacity; /* of an item; of all, in bytes */
  struct row_map map;
};

struct pprof {
  struct pool *texts;
  struct pprof_type types[PPROF_MAXIMUM_TYPES];
  string_id type_names[PPROF_MAXIMUM_TYPES], type_units[PPROF_MAXIMUM_TYPES];
  unsigned type_count, preferred;
  struct collection functions, locations, nodes;
  int64_t *values; /* type_count for each node */
  size_t value_count;
  struct labelled *labelled;
  int64_t *labelled_values; /* type_count for each */
  size_t labelled_count, labelled_capacity, labelled_value_capacity;
  string_id comment; /* 0: none */
};

/* The number of the item, from 1; it is appended if it is new. */
static enum tfprof_status collection_find(struct collection *all, const void *item, uint32_t *number) {
  struct row_key key = {{0}};
  assert(all->size <= sizeof key);
  memcpy(&key, item, all->size);
  uint32_t found = row_map_number(&all->map, key);
  if (found == ROW_MAP_NONE || !array_reserve(all->items, all->capacity, ((size_t)found + 1) * all->size)) {
    if (found != ROW_MAP_NONE) row_map_cut(&all->map, found);
    return TFPROF_NO_MEMORY;
  }
  memcpy(all->items + found * all->size, item, all->size);
  *number = found + 1;
  return TFPROF_OK;
}

void pprof_free(struct pprof *profile) {
  if (!profile) return;
  pool_free(profile->texts);
  struct collection *all[] = {&profile->functions, &profile->locations, &profile->nodes};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    free(all[i]->items);
    row_map_free(&all[i]->map);
  }
  free(profile->values);
  free(profile->labelled);
  free(profile->labelled_values);
  free(profile);
}

enum tfprof_status pprof_create(struct pprof **made, const struct pprof_type *types, unsigned type_count,
                                unsigned preferred, struct tfprof_error *error) {
  struct pprof *profile = calloc(1, sizeof *profile);
  *made = NULL;
  if (!profile || !(profile->texts = pool_create())) {
    pprof_free(profile);
    return error_no_memory(error);
  }
  profile->functions.size = sizeof(struct function);
  profile->locations.size = sizeof(struct location);
  profile->nodes.size = sizeof(struct node);
  profile->type_count = type_count;
  profile->preferred = preferred;
  for (unsigned i = 0; i < type_count; i++) {
    profile->types[i] = types[i];
    if (pool_intern(profile->texts, types[i].name, strlen(types[i].name), &profile->type_names[i]) ||
        pool_intern(profile->texts, types[i].unit, strlen(types[i].unit), &profile->type_units[i])) {
      pprof_free(profile);
      return error_no_memory(error);
    }
  }
  *made = profile;
  return TFPROF_OK;
}

enum tfprof_status pprof_location(struct pprof *profile, const char *name, const char *file, int64_t first_line,
                                  int64_t line, uint32_t *number) {
  struct function function;
  struct location location;
  memset(&function, 0, sizeof function); /* items are compared by their bytes, padding and all */
  memset(&location, 0, sizeof location);
  function.first_line = first_line;
  location.line = line;
  enum tfprof_status status = pool_intern(profile->texts, name, strlen(name), &function.name);
  if (!status && file) status = pool_intern(profile->texts, file, strlen(file), &function.file);
  if (!status) status = collection_find(&profile->functions, &function, &location.function);
  return status ? status : collection_find(&profile->locations, &location, number);
}

enum tfprof_status pprof_node(struct pprof *profile, uint32_t caller, uint32_t location, uint32_t *node) {
  struct node wanted = {.caller = caller, .location = location};
  enum tfprof_status status = collection_find(&profile->nodes, &wanted, node);
  if (status) return status;
  size_t needed = (size_t)profile->nodes.map.count * profile->type_count;
  return array_extend(profile->values, profile->value_count, needed) ? TFPROF_OK : TFPROF_NO_MEMORY;
}

void pprof_add(struct pprof *profile, uint32_t node, unsigned type, int64_t value) {
  if (node == PPROF_ROOT) return;
  int64_t *at = &profile->values[(size_t)(node - 1) * profile->type_count + type];
  if (__builtin_add_overflow(*at, value, at)) *at = value > 0 ? INT64_MAX : INT64_MIN;
}

enum tfprof_status pprof_labelled_sample(struct pprof *profile, uint32_t node, const char *key, const char *text,
                                         const int64_t *values) {
  size_t width = profile->type_count * sizeof *values;
  struct labelled sample = {.node = node};
  enum tfprof_status status = pool_intern(profile->texts, key, strlen(key), &sample.key);
  if (!status) status = pool_intern(profile->texts, text, strlen(text), &sample.text);
  if (status) return status;
  if (!array_room(profile->labelled, profile->labelled_count, profile->labelled_capacity) ||
      !array_reserve(profile->labelled_values, profile->labelled_value_capacity,
                     (profile->labelled_count + 1) * profile->type_count)) {
    return TFPROF_NO_MEMORY;
  }
  memcpy(profile->labelled_values + profile->labelled_count * profile->type_count, values, width);
  profile->labelled[profile->labelled_count++] = sample;
  return TFPROF_OK;
}

enum tfprof_status pprof_comment(struct pprof *profile, const char *text) {
  return pool_intern(profile->texts, text, strlen(text), &profile->comment);
}

static bool has_value(const struct pprof *profile, size_t node) {
  for (unsigned i = 0; i < profile->type_count; i++)
    if (profile->values[node * profile->type_count + i]) return true;
  return false;
}

uint64_t pprof_sample_count(const struct pprof *profile) {
  uint64_t count = profile->labelled_count;
  for (size_t i = 0; i < profile->nodes.map.count; i++) count += has_value(profile, i);
  return count;
}

/* ---- messages ---- */

enum { LONGEST_FIELD = 20 }; /* a tag and a number */

static uint8_t *field(uint8_t *to, unsigned tag, uint64_t value) { return varint_write(varint_write(to, tag), value); }

/* A message of which all fields are numbers. */
static void write_message(struct output_file *file, unsigned tag, const uint8_t *start, const uint8_t *end) {
  uint8_t head[LONGEST_FIELD];
  output_bytes(file, head, (size_t)(field(head, tag, (uint64_t)(end - start)) - head));
  output_bytes(file, start, (size_t)(end - start));
}

static void write_types(const struct pprof *profile, struct output_file *file) {
  uint8_t bytes[2 * LONGEST_FIELD];
  for (unsigned i = 0; i < profile->type_count; i++) {
    uint8_t *end = field(field(bytes, TYPE_NAME, profile->type_names[i]), TYPE_UNIT, profile->type_units[i]);
    write_message(file, PROFILE_SAMPLE_TYPE, bytes, end);
  }
}

/* A sample is written with its whole stack, so that stacks a hundred thousand deep would take more than all else: where
** frames are more than these, stacks lose their outermost ones. */
enum { FREE_FRAMES = 1 << 24, FRAMES_OF_A_SAMPLE = 64, FEWEST_FRAMES = 64 };

/* How many frames each stack may have. 0: no memory. */
static uint32_t find_most_frames(const struct pprof *profile) {
  const struct node *nodes = (const struct node *)profile->nodes.items;
  size_t count = profile->nodes.map.count;
  uint32_t *depths = malloc((count + 1) * sizeof *depths), most = FEWEST_FRAMES;
  uint64_t allowed = FREE_FRAMES + FRAMES_OF_A_SAMPLE * pprof_sample_count(profile), frames;
  if (!depths) return 0;
  for (size_t i = 0; i < count; i++) { /* a caller is made before what it calls */
    depths[i] = nodes[i].caller ? depths[nodes[i].caller - 1] + 1 : 1;
    if (depths[i] > most) most = depths[i];
  }
  for (;; most /= 2) {
    frames = 0;
    for (size_t i = 0; i < count; i++) frames += !has_value(profile, i) ? 0 : depths[i] < most ? depths[i] : most;
    for (size_t i = 0; i < profile->labelled_count; i++) {
      uint32_t node = profile->labelled[i].node, depth = node ? depths[node - 1] : 0;
      frames += depth < most ? depth : most;
    }
    if (frames <= allowed || most <= FEWEST_FRAMES) break;
  }
  free(depths);
  return most;
}

/* `bytes` is reused from sample to sample. */
struct sample_buffer {
  uint32_t most_frames;
  uint8_t *bytes;
  size_t capacity;
};

/* A sample at a node (0: the root); `label` may be NULL. False: no memory. */
static bool write_sample(const struct pprof *profile, struct output_file *file, struct sample_buffer *buffer,
                         uint32_t node, const int64_t *values, const struct labelled *label) {
  const struct node *nodes = (const struct node *)profile->nodes.items;
  size_t location_bytes = 0, value_bytes = 0;
  uint32_t frames = 0;
  for (uint32_t at = node; at && frames < buffer->most_frames; at = nodes[at - 1].caller, frames++)
    location_bytes += varint_length(nodes[at - 1].location);
  for (unsigned k = 0; k < profile->type_count; k++) value_bytes += varint_length((uint64_t)values[k]);
  size_t needed = location_bytes + value_bytes + (size_t)6 * LONGEST_FIELD;
  if (!array_reserve(buffer->bytes, buffer->capacity, needed)) return false;
  uint8_t *end = field(buffer->bytes, SAMPLE_LOCATIONS, location_bytes);
  for (uint32_t at = node; frames; at = nodes[at - 1].caller, frames--)
    end = varint_write(end, nodes[at - 1].location);
  end = field(end, SAMPLE_VALUES, value_bytes);
  for (unsigned k = 0; k < profile->type_count; k++) end = varint_write(end, (uint64_t)values[k]);
  if (label) {
    uint8_t bytes[2 * LONGEST_FIELD];
    size_t length = (size_t)(field(field(bytes, LABEL_KEY, label->key), LABEL_TEXT, label->text) - bytes);
    end = field(end, SAMPLE_LABEL, length);
    memcpy(end, bytes, length);
    end += length;
  }
  write_message(file, PROFILE_SAMPLE, buffer->bytes, end);
  return true;
}

static bool write_samples(const struct pprof *profile, struct output_file *file) {
  struct sample_buffer buffer = {.most_frames = find_most_frames(profile)};
  bool ok = buffer.most_frames > 0;
  for (size_t i = 0; ok && i < profile->nodes.map.count; i++) {
    if (!has_value(profile, i)) continue;
    ok = write_sample(profile, file, &buffer, (uint32_t)i + 1, profile->values + i * profile->type_count, NULL);
  }
  for (size_t i = 0; ok && i < profile->labelled_count; i++) {
    const struct labelled *sample = &profile->labelled[i];
    ok = write_sample(profile, file, &buffer, sample->node, profile->labelled_values + i * profile->type_count, sample);
  }
  free(buffer.bytes);
  return ok;
}

static void write_places(const struct pprof *profile, struct output_file *file) {
  const struct location *locations = (const struct location *)profile->locations.items;
  const struct function *functions = (const struct function *)profile->functions.items;
  uint8_t line[2 * LONGEST_FIELD], bytes[6 * LONGEST_FIELD];
  for (size_t i = 0; i < profile->locations.map.count; i++) {
    size_t length =
        (size_t)(field(field(line, LINE_FUNCTION, locations[i].function), LINE_NUMBER, (uint64_t)locations[i].line) -
                 line);
    uint8_t *end = field(field(bytes, LOCATION_ID, i + 1), LOCATION_LINE, length);
    memcpy(end, line, length);
    write_message(file, PROFILE_LOCATION, bytes, end + length);
  }
  for (size_t i = 0; i < profile->functions.map.count; i++) {
    uint8_t *end = field(field(bytes, FUNCTION_ID, i + 1), FUNCTION_NAME, functions[i].name);
    end = field(field(end, FUNCTION_FILE, functions[i].file), FUNCTION_FIRST_LINE, (uint64_t)functions[i].first_line);
    write_message(file, PROFILE_FUNCTION, bytes, end);
  }
}

enum tfprof_status pprof_write(const struct pprof *profile, const char *path, int64_t start_ns, int64_t duration_ns,
                               struct tfprof_error *error) {
  struct output_file *file;
  enum tfprof_status status = output_open(&file, path, true, error);
  if (status) return status;
  write_types(profile, file);
  if (!write_samples(profile, file)) {
    output_abandon(file);
    return error_no_memory(error);
  }
  write_places(profile, file);
  uint8_t bytes[3 * LONGEST_FIELD];
  output_bytes(file, bytes, (size_t)(field(bytes, PROFILE_STRING, 0) - bytes)); /* text 0 is the empty one */
  for (string_id id = 1; id <= pool_count(profile->texts); id++) {
    output_bytes(file, bytes, (size_t)(field(bytes, PROFILE_STRING, pool_length(profile->texts, id)) - bytes));
    output_bytes(file, pool_text(profile->texts, id), pool_length(profile->texts, id));
  }
  if (profile->comment) output_bytes(file, bytes, (size_t)(field(bytes, PROFILE_COMMENT, profile->comment) - bytes));
  uint8_t *end = field(field(bytes, PROFILE_TIME, (uint64_t)start_ns), PROFILE_DURATION, (uint64_t)duration_ns);
  output_bytes(file, bytes,
               (size_t)(field(end, PROFILE_DEFAULT_TYPE, profile->type_names[profile->preferred]) - bytes));
  return output_commit(file, error);
}
