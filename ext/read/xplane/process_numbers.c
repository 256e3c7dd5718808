/* process_numbers.c: which process of a job of JAX a profile is (jax.process_index()), where its devices tell it.
**
** No stat says it.  But XLA numbers the CPUs of all processes of a job in one row, those of process p from 2048 p on,
** and what it runs on one says the number (device_ordinal).  It is looked for in the first events of the threads that
** run programs on CPUs.  GPUs go by their place in the process, which tells nothing.
**
** What becomes of the numbers: process_ranks.c.
*/
#include <string.h>

#include "read/xplane/fields.h"
#include "read/xplane/source.h"

enum { CPUS_OF_PROCESS = 2048, LOOKED_AT = 64 << 10, MOST_LINES = 64 };

/* The numbers that the plane gives to the name of a stat; 0: none. */
static int64_t number_of_stat(struct window *window, const struct xplane_plane *plane, const char *name) {
  uint64_t offset = plane->names;
  const char *wrong = NULL;
  while (offset < plane->names_end) {
    struct far_field far;
    struct wire_field field, part;
    const uint8_t *bytes;
    size_t got, length = 0;
    int64_t id = 0;
    bool is_it = false;
    if (window_field(window, &offset, plane->names_end, &far, &wrong, NULL)) return 0;
    if (far.number != XPlane_stat_metadata || far.length > 256) continue;
    if (window_move(window, far.offset, (size_t)far.length, &bytes, &got, NULL)) return 0;
    struct wire_reader reader = wire_open(bytes, got);
    while (wire_next(&reader, &field)) {
      if (field.number == XMetadataEntry_key) id = wire_int64(&field);
      if (field.number != XMetadataEntry_value) continue;
      struct wire_reader value = wire_enter(&reader, &field);
      while (wire_next(&value, &part)) {
        const char *text = part.number == XStatMetadata_name ? wire_text(&part, &length) : "";
        if (part.number == XStatMetadata_name) is_it = length == strlen(name) && !memcmp(text, name, length);
      }
    }
    if (is_it) return id;
  }
  return 0;
}

/* The value of the first stat of that number among the events; -1: there is none. */
static int64_t find_ordinal(const uint8_t *bytes, size_t length, int64_t id) {
  struct wire_reader line = wire_open(bytes, length);
  struct wire_field event, field, part;
  while (wire_next(&line, &event)) {
    if (event.number != XLine_events || event.type != WIRE_BYTES) continue;
    struct wire_reader reader = wire_enter(&line, &event);
    while (wire_next(&reader, &field)) {
      if (field.number != XEvent_stats || field.type != WIRE_BYTES) continue;
      struct wire_reader stat = wire_enter(&reader, &field);
      int64_t key = 0, value = -1;
      while (wire_next(&stat, &part)) {
        if (part.number == XStat_metadata_id) key = wire_int64(&part);
        if (part.number == XStat_uint64_value || part.number == XStat_int64_value) value = wire_int64(&part);
      }
      if (key == id && value >= 0) return value;
    }
  }
  return -1;
}

static bool runs_programs(const struct xplane_line *line) {
  return strncmp(line->name, "tf_XLAPjRtCpuClient", 19) == 0 || strncmp(line->name, "tf_XLATfrtCpuClient", 19) == 0;
}

int64_t xplane_find_process_number(const struct xplane_index *index) {
  struct window window = {.file = index->file, .file_bytes = index->file_bytes};
  int64_t ordinal = -1, id = 0;
  uint32_t plane = UINT32_MAX;
  unsigned looked_at = 0;
  for (size_t i = 0; i < index->lines.count && ordinal < 0 && looked_at < MOST_LINES; i++) {
    const struct xplane_line *line = &index->lines.items[i];
    const uint8_t *bytes;
    size_t got;
    if (!runs_programs(line) || line->events >= line->end) continue;
    if (line->plane != plane) id = number_of_stat(&window, &index->planes.items[line->plane], "device_ordinal");
    plane = line->plane;
    looked_at++;
    uint64_t length = line->end - line->events < LOOKED_AT ? line->end - line->events : LOOKED_AT;
    if (id && !window_move(&window, line->events, (size_t)length, &bytes, &got, NULL))
      ordinal = find_ordinal(bytes, got, id);
  }
  window_free(&window);
  return ordinal < 0 || ordinal / CPUS_OF_PROCESS >= XPLANE_MOST_PROCESSES ? -1 : ordinal / CPUS_OF_PROCESS;
}
