/* index.c: see index.h. */
#include "read/xplane/index.h"

#include "read/xplane/fields.h"

#include <string.h>

enum { MAXIMUM_NAME = 64 << 10, MAXIMUM_TEXTS = 1000 };

struct indexing {
  struct xplane_index *index;
  struct window window;
  struct tfprof_error *error;
};

void xplane_index_free(struct xplane_index *index) {
  for (size_t i = 0; i < index->planes.count; i++) free(index->planes.items[i].name);
  for (size_t i = 0; i < index->lines.count; i++) free(index->lines.items[i].name);
  for (size_t i = 0; i < index->errors.count; i++) free(index->errors.items[i].bytes);
  for (size_t i = 0; i < index->warnings.count; i++) free(index->warnings.items[i].bytes);
  for (size_t i = 0; i < index->hostnames.count; i++) free(index->hostnames.items[i].bytes);
  list_free(&index->planes);
  list_free(&index->lines);
  list_free(&index->errors);
  list_free(&index->warnings);
  list_free(&index->hostnames);
  if (index->file) source_index_free(index->file);
  *index = (struct xplane_index){0};
}

static void note_wrong(struct xplane_index *index, const char *wrong, uint64_t offset, uint64_t missing) {
  if (!wrong) return;
  if (!index->wrong_count++) {
    index->wrong = wrong;
    index->wrong_offset = offset;
    index->missing_bytes = missing;
  }
}

/* The next field of a message. */
static enum tfprof_status next_field(struct indexing *i, uint64_t *offset, uint64_t end, struct far_field *field) {
  const char *wrong = NULL;
  uint64_t start = *offset;
  enum tfprof_status status = window_field(&i->window, offset, end, field, &wrong, i->error);
  note_wrong(i->index, wrong, start, field->missing);
  return status;
}

/* A copy of a text, to be freed; of a long one the beginning. */
static enum tfprof_status copy_text(struct indexing *i, const struct far_field *field, char **text, size_t *length) {
  const uint8_t *at = NULL;
  size_t got = 0, wanted = field->length < MAXIMUM_NAME ? (size_t)field->length : MAXIMUM_NAME;
  enum tfprof_status status = TFPROF_OK;
  if (field->type == WIRE_BYTES) status = window_move(&i->window, field->offset, wanted, &at, &got, i->error);
  char *copy = status ? NULL : malloc(got + 1);
  if (status) return status;
  if (!copy) return error_no_memory(i->error);
  if (got) memcpy(copy, at, got);
  copy[got] = '\0';
  free(*text);
  *text = copy;
  if (length) *length = got;
  return TFPROF_OK;
}

/* Up to the first event: what stands behind the events would cost to read all of them. */
static enum tfprof_status index_line(struct indexing *i, const struct far_field *whole, uint32_t plane) {
  struct xplane_line *line = list_add(&i->index->lines);
  if (!line) return error_no_memory(i->error);
  *line = (struct xplane_line){.offset = whole->offset,
                               .end = whole->offset + whole->length,
                               .events = whole->offset + whole->length,
                               .plane = plane};
  uint64_t offset = line->offset;
  enum tfprof_status status = TFPROF_OK;
  while (!status && offset < line->end) {
    struct far_field field;
    uint64_t start = offset;
    status = next_field(i, &offset, line->end, &field);
    if (status) break;
    if (field.number == XLine_id && field.type == WIRE_VARINT) line->id = (int64_t)field.value;
    if (field.number == XLine_name) status = copy_text(i, &field, &line->name, NULL);
    if (field.number == XLine_timestamp_ns && field.type == WIRE_VARINT) line->timestamp_ns = (int64_t)field.value;
    if (field.number == XLine_events) {
      line->events = start;
      break;
    }
  }
  if (!status && !line->name && !(line->name = calloc(1, 1))) return error_no_memory(i->error);
  return status;
}

static bool begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

static enum plane_kind kind_of_plane(const char *name) {
  if (begins(name, "/host:metadata") || begins(name, "Task Environment")) return PLANE_OTHER;
  if (begins(name, "/device:") || begins(name, "/virtualdevice:") || begins(name, "#Chip")) return PLANE_DEVICE;
  return PLANE_HOST;
}

static bool is_of_tpu(const struct xplane_plane *plane) {
  return begins(plane->name, "/device:TPU") || begins(plane->name, "#Chip");
}

/* Those of a sparse core, which is a plane of its own, have it in their names. */
static enum line_role role_of(const struct xplane_plane *plane, const char *name) {
  static const struct {
    const char *name;
    enum line_role role;
  } roles[] = {{"XLA Ops", LINE_OPS},          {"Sparse Core Ops", LINE_OPS},
               {"Async XLA Ops", LINE_ASYNC},  {"Host Offload Ops", LINE_ASYNC},
               {"XLA Modules", LINE_PROGRAMS}, {"Sparse Core Modules", LINE_PROGRAMS},
               {"Steps", LINE_STEPS},          {"Sparse Core Steps", LINE_STEPS},
               {"XLA TraceMe", LINE_MARKS}};
  if (plane->kind != PLANE_DEVICE || !is_of_tpu(plane)) return LINE_PLAIN;
  for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
    if (strcmp(name, roles[i].name) == 0) return roles[i].role;
  }
  return LINE_PLAIN;
}

enum plane_kind xplane_kind_of_line(const struct xplane_index *index, const struct xplane_line *line) {
  bool is_op = line->role == LINE_STEPS || line->role == LINE_MARKS;
  return is_op ? PLANE_HOST : index->planes.items[line->plane].kind;
}

static void widen_stretch(uint64_t *start, uint64_t *end, uint64_t from, uint64_t to) {
  if (*start == *end) *start = from;
  *end = to;
}

static enum tfprof_status index_plane(struct indexing *i, const struct far_field *whole) {
  uint32_t number = (uint32_t)i->index->planes.count;
  size_t first_line = i->index->lines.count;
  struct xplane_plane *plane = list_add(&i->index->planes);
  if (!plane) return error_no_memory(i->error);
  *plane = (struct xplane_plane){.offset = whole->offset, .end = whole->offset + whole->length};
  uint64_t offset = plane->offset, end = plane->end;
  enum tfprof_status status = TFPROF_OK;
  while (!status && offset < end) {
    struct far_field field;
    uint64_t start = offset;
    status = next_field(i, &offset, end, &field);
    if (status || field.type != WIRE_BYTES) continue;
    switch (field.number) {
      case XPlane_name: status = copy_text(i, &field, &plane->name, NULL); break;
      case XPlane_lines:
        plane->event_bytes += field.length;
        status = index_line(i, &field, number);
        break;
      case XPlane_event_metadata:
      case XPlane_stat_metadata: widen_stretch(&plane->names, &plane->names_end, start, offset); break;
      case XPlane_stats: widen_stretch(&plane->stats, &plane->stats_end, start, offset); break;
    }
  }
  if (!status && !plane->name && !(plane->name = calloc(1, 1))) return error_no_memory(i->error);
  if (status) return status;
  plane->kind = kind_of_plane(plane->name);
  for (size_t k = first_line; k < i->index->lines.count; k++) {
    struct xplane_line *line = &i->index->lines.items[k];
    line->role = role_of(plane, line->name);
  }
  return status;
}

static enum tfprof_status add_space_text(struct indexing *i, struct index_texts *list, const struct far_field *field) {
  if (list->count == MAXIMUM_TEXTS) return TFPROF_OK;
  struct index_text *text = list_add(list);
  if (!text) return error_no_memory(i->error);
  return copy_text(i, field, &text->bytes, &text->length);
}

static enum tfprof_status index_space(struct indexing *i) {
  uint64_t offset = 0, end = i->index->file_bytes;
  enum tfprof_status status = TFPROF_OK;
  while (!status && offset < end) {
    struct far_field field;
    status = next_field(i, &offset, end, &field);
    if (status || field.type != WIRE_BYTES) continue;
    switch (field.number) {
      case XSpace_planes: status = index_plane(i, &field); break;
      case XSpace_errors: status = add_space_text(i, &i->index->errors, &field); break;
      case XSpace_warnings: status = add_space_text(i, &i->index->warnings, &field); break;
      case XSpace_hostnames: status = add_space_text(i, &i->index->hostnames, &field); break;
    }
  }
  return status;
}

/* Goes through a gzip file once, to know how long it is and to leave marks from which it can be read again. */
static enum tfprof_status unpack(struct xplane_index *index, struct source *source, struct tfprof_error *error) {
  enum { UNPACK_BYTES = 1 << 20 };
  char *buffer = malloc(UNPACK_BYTES);
  size_t got;
  if (!buffer) return error_no_memory(error);
  index->file_bytes = 0;
  while ((got = source_read(source, buffer, UNPACK_BYTES))) index->file_bytes += got;
  index->problem = source_problem(source, &index->problem_offset);
  free(buffer);
  return TFPROF_OK;
}

enum tfprof_status xplane_index_make(struct xplane_index *index, const char *path, struct tfprof_error *error) {
  struct source *source;
  *index = (struct xplane_index){0};
  enum tfprof_status status = source_open(path, &source, error);
  if (status) return status;
  index->file_bytes = index->stored_bytes = source_file_bytes(source);
  if (source_is_gzip(source)) status = unpack(index, source, error);
  index->file = source_take_index(source);
  source_close(source);
  struct indexing indexing = {index, {.file = index->file, .file_bytes = index->file_bytes}, error};
  if (!status) status = index->file ? index_space(&indexing) : error_no_memory(error);
  window_free(&indexing.window);
  if (!status && index->planes.count == 0)
    status = error_at(error, TFPROF_WRONG_KIND, path, index->wrong_offset, "the file has no plane, so it is no XSpace");
  if (status) xplane_index_free(index);
  return status;
}
