/* hlo.c: see hlo.h. */
#include "read/xplane/hlo.h"

#include <stdlib.h>
#include <string.h>

#include "read/file/inflate.h"
#include "read/hlo/proto.h"
#include "read/xplane/fields.h"

enum {
  MAXIMUM_NAME = 64 << 10,        /* bytes of the name of a program */
  MAXIMUM_PROGRAM = 256 << 20     /* bytes of a program that was compressed */
};

bool hlo_is_in_plane(const struct xplane_plane *plane) { return strcmp(plane->name, "/host:metadata") == 0; }

/* The number in "jit_train_step(26)". */
static bool number_in_name(struct text_part name, uint64_t *number) {
  char digits[32];
  const char *open = name.length ? memrchr(name.bytes, '(', name.length) : NULL;
  size_t length = open ? name.length - (size_t)(open + 1 - name.bytes) : 0;
  if (length < 2 || length > sizeof digits || name.bytes[name.length - 1] != ')') return false;
  memcpy(digits, open + 1, length - 1);
  digits[length - 1] = '\0';
  char *end;
  *number = strtoull(digits, &end, 10); /* of a negative number the bits, as the events have them */
  return end != digits && !*end;
}

/* The whole of what gzip made smaller, to be freed; NULL: it is damaged, larger than any program, or no memory. */
static char *expand(struct hlo_reading *r, struct text_part packed, size_t *length) {
  struct inflater *inflater = inflater_create();
  const uint8_t *in = (const uint8_t *)packed.bytes;
  size_t left = packed.length, capacity = 0;
  char *bytes = NULL;
  enum inflater_status status = INFLATER_MORE;
  *length = 0;
  while (inflater && status == INFLATER_MORE && *length < MAXIMUM_PROGRAM) {
    if (!array_reserve(bytes, capacity, *length + (1 << 20))) {
      hlo_no_memory(r);
      break;
    }
    uint8_t *out = (uint8_t *)bytes + *length;
    size_t room = capacity - *length, before = left;
    status = inflater_step(inflater, &in, &left, &out, &room);
    size_t written = capacity - *length - room;
    *length += written;
    if (status == INFLATER_MORE && !written && left == before) break; /* it was cut off */
  }
  if (!inflater) hlo_no_memory(r);
  inflater_free(inflater);
  if (status == INFLATER_END && *length) return bytes;
  free(bytes);
  return NULL;
}

/* A program that the writer compressed is read from memory. */
static void read_compressed(struct hlo_reading *r, const struct far_field *far) {
  size_t length;
  char *bytes = expand(r, hlo_field_bytes(r, far, MAXIMUM_PROGRAM), &length);
  if (r->status) return;
  if (!bytes) {
    hlo_note_wrong(r, far->offset);
    return;
  }
  uint64_t wrong = r->programs->wrong;
  struct window of_file = r->window;
  r->window = (struct window){.file_bytes = length, .bytes = bytes, .length = length, .capacity = length};
  hlo_read_proto(r, 0, length);
  window_free(&r->window);
  r->window = of_file;
  if (!wrong && r->programs->wrong) r->programs->wrong_offset = far->offset;
}

static void read_stat(struct hlo_reading *r, const struct far_field *far, int64_t proto_stat) {
  uint64_t at = far->offset, end = far->offset + far->length, id = 0;
  struct far_field field, bytes = {0};
  while (hlo_next_field(r, &at, end, &field)) {
    if (field.number == XStat_metadata_id) id = field.value;
    else if (field.number == XStat_bytes_value || field.number == XStat_compressed_value) bytes = field;
  }
  if (r->status || (int64_t)id != proto_stat) return;
  if (bytes.number == XStat_compressed_value) read_compressed(r, &bytes);
  else if (bytes.number == XStat_bytes_value) hlo_read_proto(r, bytes.offset, bytes.offset + bytes.length);
}

/* An XEventMetadata. */
static void read_program(struct hlo_reading *r, const struct far_field *far, int64_t proto_stat) {
  uint64_t at = far->offset, end = far->offset + far->length;
  struct far_field field;
  r->has_number = false;
  while (hlo_next_field(r, &at, end, &field)) {
    if (field.number == XEventMetadata_name)
      r->has_number = number_in_name(hlo_field_bytes(r, &field, MAXIMUM_NAME), &r->number);
  }
  for (at = far->offset; hlo_next_field(r, &at, end, &field);) {
    if (field.number == XEventMetadata_stats && field.type == WIRE_BYTES) read_stat(r, &field, proto_stat);
  }
}

/* The number of the stat "Hlo Proto"; false: the plane has none. */
static bool find_proto_stat(struct hlo_reading *r, const struct xplane_plane *plane, int64_t *id) {
  static const char name[] = "Hlo Proto";
  uint64_t at = plane->names;
  struct far_field entry, part, field;
  while (hlo_next_field(r, &at, plane->names_end, &entry)) {
    uint64_t inner = entry.offset, key = 0;
    bool is_it = false;
    if (entry.number != XPlane_stat_metadata || entry.type != WIRE_BYTES) continue;
    while (hlo_next_field(r, &inner, entry.offset + entry.length, &part)) {
      uint64_t innermost = part.offset;
      if (part.number == XMetadataEntry_key) key = part.value;
      if (part.number != XMetadataEntry_value || part.type != WIRE_BYTES) continue;
      while (hlo_next_field(r, &innermost, part.offset + part.length, &field)) {
        if (field.number != XStatMetadata_name) continue;
        struct text_part text = hlo_field_bytes(r, &field, sizeof name);
        is_it = field.length == sizeof name - 1 && memcmp(text.bytes, name, text.length) == 0;
      }
    }
    *id = (int64_t)key;
    if (is_it) return true;
  }
  return false;
}

enum tfprof_status hlo_programs_read(struct hlo_programs *programs, struct hlo_rows *rows,
                                     const struct xplane_index *index, struct profile *profile,
                                     struct tfprof_error *error) {
  struct hlo_reading r = {.programs = programs,
                          .rows = rows,
                      .profile = profile,
                      .pool = store_pool(profile->store),
                      .error = error,
                      .window = {.file = index->file, .file_bytes = index->file_bytes}};
  for (size_t i = 0; i < index->planes.count && !r.status; i++) {
    const struct xplane_plane *plane = &index->planes.items[i];
    int64_t proto_stat;
    if (!hlo_is_in_plane(plane) || !find_proto_stat(&r, plane, &proto_stat)) continue;
    struct far_field entry, part;
    for (uint64_t at = plane->names; hlo_next_field(&r, &at, plane->names_end, &entry);) {
      if (entry.number != XPlane_event_metadata || entry.type != WIRE_BYTES) continue;
      uint64_t inner = entry.offset, end = entry.offset + entry.length;
      while (hlo_next_field(&r, &inner, end, &part)) {
        if (part.number == XMetadataEntry_value && part.type == WIRE_BYTES) read_program(&r, &part, proto_stat);
      }
    }
  }
  hlo_reading_free(&r);
  if (r.status) hlo_programs_free(programs);
  return r.status;
}

