/* event.c: reads an XEvent: its name, its times and those of its stats that columns know.
**
**   XEvent  metadata_id=1 offset_ps=2 duration_ps=3 stats=4 num_occurrences=5
**
** Writers put fields in the order of their numbers, and a stat as its number with one value behind it.  What has that
** form, as nearly everything has, is read straight from the bytes; from the first field on that differs the general
** reader of protobuf goes on, to which any order and any damage is the same.  Of several names, which no writer gives,
** the first counts, so that it can be told without the rest of the event.
*/
#include "read/xplane/batch.h"
#include "read/xplane/fields.h"

/* What is read straight needs no look at the end of the bytes where so many follow: the head of an event, or a stat. */
enum { READ_AHEAD = 48 };

/* ---- times ---- */

/* Nanoseconds, rounded down: so the order of any two moments stays, and what lies in another event still does. On
** devices, where nothing nests, a duration is rounded by itself, as other tools do. False: beyond all times. */
static inline bool add_picoseconds(int64_t ns, int64_t ps, int64_t *sum) {
  int64_t whole = ps / 1000 - (ps % 1000 < 0);
  return !__builtin_add_overflow(ns, whole, sum) && *sum <= STORE_TIME_LIMIT && *sum >= -STORE_TIME_LIMIT;
}

static void find_times(struct batch *batch, int64_t offset_ps, int64_t dur_ps) {
  struct event *event = &batch->event;
  int64_t end_ps = 0, end_ns = 0;
  event->start_ns = event->dur_ns = ROW_NULL;
  if (dur_ps < 0) {
    batch_problem(batch, PROBLEM_NEGATIVE, event->offset);
  } else if (event->occurrences != ROW_NULL) {
    event->dur_ns = dur_ps / 1000;
    return;
  }
  if (event->occurrences != ROW_NULL) return;
  if (!add_picoseconds(batch->line->timestamp_ns, offset_ps, &event->start_ns)) {
    batch_problem(batch, PROBLEM_TIME, event->offset);
    event->start_ns = ROW_NULL;
  } else if (dur_ps >= 0) {
    bool fits = !__builtin_add_overflow(offset_ps, dur_ps, &end_ps) &&
                add_picoseconds(batch->line->timestamp_ns, end_ps, &end_ns);
    if (fits) event->dur_ns = batch->line->device != ROW_NULL ? dur_ps / 1000 : end_ns - event->start_ns;
    else batch_problem(batch, PROBLEM_TIME, event->offset);
  }
}

/* ---- stats ---- */

static void take_field(struct batch *batch, const struct event_field *field) {
  if (field->form == FIELD_NONE || field->stat == ROW_MAP_NONE) return;
  unsigned key = batch->names->stats.items[field->stat].key;
  if (key == KEY_UNKNOWN) return;
  batch->event.fields[key] = *field;
  batch->event.present |= (uint64_t)1 << key;
}

/* Takes the plain stats from `at` on; returns where the first field begins that is none. */
static inline const uint8_t *take_plain_stats(struct batch *batch, const uint8_t *at, const uint8_t *end,
                                              const uint8_t *limit) {
  enum { STAT = XEvent_stats << 3 | WIRE_BYTES, ID = XStat_metadata_id << 3 | WIRE_VARINT };
  static const uint8_t forms[256] = {[XStat_double_value << 3 | WIRE_FIXED64] = FIELD_REAL,
                                     [XStat_uint64_value << 3 | WIRE_VARINT] = FIELD_UNSIGNED,
                                     [XStat_int64_value << 3 | WIRE_VARINT] = FIELD_INTEGER,
                                     [XStat_str_value << 3 | WIRE_BYTES] = FIELD_TEXT,
                                     [XStat_ref_value << 3 | WIRE_VARINT] = FIELD_REFERENCE};
  const struct plane_names *names = batch->names;
  uint64_t present = batch->event.present;
  while (at < end && limit - at >= READ_AHEAD) {
    uint32_t head = load_u32(at); /* STAT, the length of the stat, ID, its number or the first byte of that */
    const uint8_t *stat_end = at + 2 + (head >> 8 & 0xff), *next = at + 4, *text = NULL;
    uint64_t id = head >> 24, value;
    if ((head & 0xff80ff) != (STAT | ID << 16) || stat_end > end) break;
    if (id >= 0x80 && !(next = varint_read_ahead(at + 3, &id))) break;
    unsigned form = forms[*next++];
    if (form == FIELD_REAL) {
      value = load_u64(next);
      next += sizeof value;
    } else if (*next < 0x80) {
      value = *next++;
    } else if (!(next = varint_read_far(next, &value))) {
      break;
    }
    if (form == FIELD_TEXT && next <= stat_end && value == (size_t)(stat_end - next)) {
      text = next;
      next = stat_end;
    }
    if (form == FIELD_NONE || next != stat_end) break;
    unsigned key = plane_key_of_stat(names, (int64_t)id);
    struct event_field *field = &batch->event.fields[key];
    field->form = form;
    field->number = form == FIELD_REFERENCE ? id_map_find(&names->stat_map, (int64_t)value) : value;
    if (text) {
      field->bytes = (const char *)text;
      field->length = (size_t)value;
    }
    present |= (uint64_t)1 << key;
    at = stat_end;
  }
  batch->event.present = present & (((uint64_t)1 << KEY_UNKNOWN) - 1);
  return at;
}

/* What events of that name have, unless they have it themselves. */
static void take_inherited(struct batch *batch) {
  const struct plane_names *names = batch->names;
  const struct event_name *name = batch->event.name;
  uint64_t own = batch->event.present;
  for (uint32_t i = 0; i < name->stat_count; i++) {
    const struct event_field *inherited = &names->inherited.items[name->first_stat + i];
    unsigned key = inherited->stat == ROW_MAP_NONE ? KEY_UNKNOWN : names->stats.items[inherited->stat].key;
    if (key != KEY_UNKNOWN && !(own >> key & 1)) take_field(batch, inherited);
  }
}

/* ---- events ---- */

/* A number that has the tag, which is one byte; where there is none, or one of more than eight bytes, nothing. */
static inline const uint8_t *take_varint(const uint8_t *at, unsigned tag, int64_t *number) {
  uint64_t value;
  if (*at != tag) return at;
  if (at[1] < 0x80) {
    *number = at[1];
    return at + 2;
  }
  const uint8_t *next = varint_read_ahead(at + 1, &value);
  if (!next) return at;
  *number = (int64_t)value;
  return next;
}

/* The number of its name where that is not the first field. */
static int64_t number_of_name(const uint8_t *bytes, size_t length, const uint8_t *limit) {
  struct wire_reader reader = {.at = bytes, .end = bytes + length, .origin = bytes, .limit = limit, .depth = 1};
  struct wire_field field;
  while (wire_next(&reader, &field)) {
    if (field.number == XEvent_metadata_id) return wire_int64(&field);
  }
  return 0;
}

static bool is_of_group(const struct batch *batch, const struct event_name *name) {
  bool is_memory = name && (name->kind == EVENT_ALLOCATION || name->kind == EVENT_RELEASE);
  if (batch->group >= GROUP_DEVICES) return true; /* by their lines */
  return (is_memory && batch->line->role == LINE_PLAIN) == (batch->group == GROUP_MEMORY);
}

bool event_read(struct batch *batch, const uint8_t *bytes, size_t length, const uint8_t *limit, uint64_t offset) {
  struct event *event = &batch->event;
  const struct plane_names *names = batch->names;
  const uint8_t *at = bytes, *end = bytes + length;
  int64_t id = 0, offset_ps = 0, dur_ps = 0;
  bool is_whole = true;
  if (limit - at >= READ_AHEAD) at = take_varint(at, XEvent_metadata_id << 3 | WIRE_VARINT, &id);
  bool has_id = at != bytes && at <= end;
  if (!has_id) {
    at = bytes;
    id = number_of_name(bytes, length, limit);
  }
  uint32_t number = id_map_find(&names->event_map, id);
  event->name = number == ROW_MAP_NONE ? NULL : &names->events.items[number];
  if (!is_of_group(batch, event->name)) return false;
  event->present = event->consumed = 0;
  event->offset = offset;
  event->occurrences = ROW_NULL;
  if (has_id) {
    const uint8_t *next = take_varint(at, XEvent_offset_ps << 3 | WIRE_VARINT, &offset_ps);
    next = take_varint(next, XEvent_duration_ps << 3 | WIRE_VARINT, &dur_ps);
    if (next <= end) at = next;
    else offset_ps = dur_ps = 0; /* of what follows the event */
  }
  at = take_plain_stats(batch, at, end, limit);
  if (at != end) {
    struct wire_reader reader = {.at = at, .end = end, .origin = bytes, .limit = limit, .depth = 1};
    struct wire_field field;
    while (wire_next(&reader, &field)) {
      switch (field.number) {
        case XEvent_offset_ps: offset_ps = wire_int64(&field); break;
        case XEvent_duration_ps: dur_ps = wire_int64(&field); break;
        case XEvent_stats: {
          struct event_field value;
          is_whole &= plane_read_stat(names, &reader, &field, &value);
          take_field(batch, &value);
          reader.at = take_plain_stats(batch, reader.at, end, limit);
          break;
        }
        case XEvent_num_occurrences: event->occurrences = wire_int64(&field); break;
      }
    }
    if (reader.wrong || !is_whole) batch_problem(batch, PROBLEM_DAMAGED, offset);
    if (reader.wrong) return false;
  }
  if (!event->name) batch_problem(batch, PROBLEM_UNNAMED, offset);
  else if (event->name->stat_count) take_inherited(batch);
  find_times(batch, offset_ps, dur_ps);
  return true;
}
