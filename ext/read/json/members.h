/* members.h: the members of one event as the values of rows.
**
** take_*() give a value, ROW_NULL or INTERN_NONE where the event has none of the kind, and note with is_dry that a row
** has it (emit.c); the member then is no part of the column `attributes`.  They run some ten times for each of millions
** of events, so they are inline.
*/
#ifndef TFPROF_JSON_MEMBERS_H
#define TFPROF_JSON_MEMBERS_H

#include "read/json/number.h"
#include "read/json/worker.h"

/* ---- taking members ---- */

static inline bool has(const struct worker *w, unsigned key) { return key_set_has(&w->present, key); }
static inline void taken(struct worker *w, unsigned key) { if (w->is_dry) key_set_add(&w->consumed, key); }

static inline int64_t take_integer(struct worker *w, unsigned key) {
  if (!has(w, key)) return ROW_NULL;
  int64_t value;
  if (w->fields[key].kind == FIELD_INTEGER) value = w->fields[key].number;
  else if (!number_integer(&w->fields[key], &value)) return ROW_NULL;
  if (value == ROW_NULL) return ROW_NULL;
  taken(w, key);
  return value;
}

/* The same for what goes to no column and must stay in attributes. */
static inline int64_t peek_integer(const struct worker *w, unsigned key) {
  int64_t value;
  return has(w, key) && number_integer(&w->fields[key], &value) ? value : ROW_NULL;
}

static inline int64_t real_bits(double value) {
  int64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline int64_t take_real(struct worker *w, unsigned key, double scale) {
  double value;
  if (!has(w, key) || !number_real(&w->fields[key], &value)) return ROW_NULL;
  taken(w, key);
  return real_bits(value * scale);
}

/* The same, of what lies from 0 to `most` once it is scaled; else it is counted and stays in attributes. */
static inline int64_t take_real_within(struct worker *w, unsigned key, double scale, double most) {
  double value;
  if (!has(w, key) || !number_real(&w->fields[key], &value)) return ROW_NULL;
  if (value * scale >= 0 && value * scale <= most) return take_real(w, key, scale);
  worker_problem(w, PROBLEM_SHARE, w->event);
  return ROW_NULL;
}

static inline uint32_t intern(struct worker *w, const char *text, uint32_t length, enum text_form form) {
  if (w->is_dry) return 0;
  uint32_t index = text_intern(&w->texts, text, length, form);
  if (index == INTERN_NONE) w->no_memory = true;
  return index;
}

static inline uint32_t intern_field(struct worker *w, const struct field *f) {
  if (f->kind == FIELD_TEXT) return intern(w, f->text, f->length, f->is_escaped ? TEXT_ESCAPED : TEXT_PLAIN);
  return intern(w, f->text, f->length, f->kind == FIELD_NESTED ? TEXT_JSON : TEXT_PLAIN);
}

static inline int64_t as_value(uint32_t text) { return text == INTERN_NONE ? ROW_NULL : (int64_t)text; }

/* A string, or a number written out. */
static inline uint32_t take_text_number(struct worker *w, unsigned key) {
  if (!has(w, key) || w->fields[key].kind == FIELD_LITERAL) return INTERN_NONE;
  taken(w, key);
  return intern_field(w, &w->fields[key]);
}
static inline int64_t take_text(struct worker *w, unsigned key) { return as_value(take_text_number(w, key)); }

static inline int64_t take_json(struct worker *w, unsigned key) {
  if (!has(w, key) || w->fields[key].kind != FIELD_NESTED) return ROW_NULL;
  taken(w, key);
  return as_value(intern(w, w->fields[key].text, w->fields[key].length, TEXT_JSON));
}

/* [x, y, z] */
static inline void take_triple(struct worker *w, unsigned key, int64_t values[3]) {
  values[0] = values[1] = values[2] = ROW_NULL;
  const struct field *f = &w->fields[key];
  if (!has(w, key) || f->kind != FIELD_NESTED || f->text[0] != '[') return;
  struct member_cursor cursor = scan_members(f);
  struct field element;
  int64_t found[3];
  unsigned count = 0;
  for (; count < 3 && scan_next(&cursor, NULL, &element); count++) {
    if (element.kind != FIELD_INTEGER) return;
    found[count] = element.number;
  }
  if (count != 3 || scan_next(&cursor, NULL, &element)) return;
  memcpy(values, found, sizeof found);
  taken(w, key);
}

/* ---- lanes ---- */

/* A pid or tid: an integer, a text that is one, or any other text (by its hash). */
static inline uint64_t lane_word(struct worker *w, unsigned key, uint64_t text_flag, uint64_t *flags, uint32_t *text) {
  *text = INTERN_NONE;
  if (!has(w, key)) return 0;
  const struct field *f = &w->fields[key];
  int64_t value;
  if (f->kind == FIELD_INTEGER) {
    value = f->number;
  } else if (!number_integer(f, &value)) {
    *flags |= text_flag;
    *text = intern_field(w, f);
    return text_hash(f->text, f->length);
  }
  return (uint64_t)value;
}

static inline uint32_t lane_number(struct worker *w, struct row_key key, uint32_t pid_text, uint32_t tid_text,
                                   int64_t context) {
  if (w->is_dry) return 0;
  uint32_t before = w->lanes.count, lane = row_map_number(&w->lanes, key);
  if (lane == INTERN_NONE) {
    w->no_memory = true;
  } else if (lane == before) {
    struct lane_text *text = list_add(&w->lane_texts);
    if (text) *text = (struct lane_text){pid_text, tid_text, context};
    else w->no_memory = true;
  }
  return lane;
}

static inline uint32_t host_lane(struct worker *w) {
  taken(w, KEY_PID);
  taken(w, KEY_TID);
  uint64_t flags = LANE_HOST;
  uint32_t pid_text, tid_text;
  uint64_t pid = lane_word(w, KEY_PID, LANE_PID_IS_TEXT, &flags, &pid_text);
  uint64_t tid = lane_word(w, KEY_TID, LANE_TID_IS_TEXT, &flags, &tid_text);
  if (!has(w, KEY_TID) && !has(w, KEY_PID)) return INTERN_NONE;
  if (flags == LANE_HOST && w->host_cache.is_set && w->host_cache.pid == pid && w->host_cache.tid == tid)
    return w->host_cache.lane;
  uint32_t lane = lane_number(w, (struct row_key){{flags, pid, tid}}, pid_text, tid_text, ROW_NULL);
  if (flags == LANE_HOST && !w->is_dry) {
    w->host_cache.pid = pid;
    w->host_cache.tid = tid;
    w->host_cache.lane = lane;
    w->host_cache.is_set = lane != INTERN_NONE;
  }
  return lane;
}

static inline uint32_t device_number(struct worker *w, enum device_kind kind, int64_t ordinal) {
  if (w->is_dry) return 0;
  uint32_t device = row_map_number(&w->devices, (struct row_key){{kind, (uint64_t)ordinal, 0}});
  if (device == INTERN_NONE) w->no_memory = true;
  return device;
}

/* Device and stream of an event that ran on a device. libkineto writes the device ordinal as pid too; the stream as
** tid, in 2021 as "stream 7", for stream synchronisations since 2025 as stream + 1000000. */
struct place { int64_t device, lane; };
static inline struct place device_place(struct worker *w, enum device_kind kind, unsigned stream_key) {
  int64_t ordinal = take_integer(w, KEY_DEVICE);
  if (ordinal == ROW_NULL) {
    ordinal = take_integer(w, KEY_PID);
  } else if (w->is_dry && has(w, KEY_PID)) {
    int64_t pid;
    if (number_integer(&w->fields[KEY_PID], &pid) && pid == ordinal) taken(w, KEY_PID);
  }
  int64_t stream = take_integer(w, stream_key);
  int64_t tid = ROW_NULL;
  if (stream == ROW_NULL || w->is_dry) {
    const struct field *f = &w->fields[KEY_TID];
    if (has(w, KEY_TID) && f->kind == FIELD_TEXT && f->length > 7 && memcmp(f->text, "stream ", 7) == 0) {
      struct field number = {f->text + 7, f->length - 7, FIELD_TEXT, false, 0, 0, 0};
      while (number.length && scan_is_space(number.text[number.length - 1])) number.length--;
      if (!number_integer(&number, &tid)) tid = ROW_NULL;
    } else if (has(w, KEY_TID) && !number_integer(f, &tid)) {
      tid = ROW_NULL;
    }
    if (stream == ROW_NULL) stream = tid;
    if (tid == stream || tid == stream + 1000000) taken(w, KEY_TID);
  }
  struct place place = {ROW_NULL, ROW_NULL};
  if (ordinal == ROW_NULL) return place;
  if (w->stream_cache.is_set && w->stream_cache.device == ((uint64_t)kind << 32 ^ (uint64_t)ordinal) &&
      w->stream_cache.stream == (uint64_t)stream) {
    place.device = w->stream_cache.device_number;
    place.lane = as_value(w->stream_cache.lane);
    taken(w, KEY_CONTEXT);
    return place;
  }
  uint32_t device = device_number(w, kind, ordinal), lane = INTERN_NONE;
  place.device = as_value(device);
  if (stream != ROW_NULL && stream >= 0 && stream != UINT32_MAX) { /* -1 and 4294967295: no stream */
    lane = lane_number(w, (struct row_key){{LANE_STREAM, (uint64_t)kind << 32 | (uint32_t)ordinal, (uint64_t)stream}},
                       INTERN_NONE, INTERN_NONE, take_integer(w, KEY_CONTEXT));
  }
  place.lane = as_value(lane);
  if (!w->is_dry) {
    w->stream_cache.device = (uint64_t)kind << 32 ^ (uint64_t)ordinal;
    w->stream_cache.stream = (uint64_t)stream;
    w->stream_cache.lane = lane;
    w->stream_cache.device_number = device;
    w->stream_cache.is_set = true;
  }
  return place;
}

/* ---- times ---- */

static inline bool take_time(struct worker *w, int64_t *ns) {
  if (!has(w, KEY_TS)) {
    worker_problem(w, PROBLEM_NO_TIME, w->event);
    return false;
  }
  if (!number_nanoseconds(&w->fields[KEY_TS], ns)) {
    worker_problem(w, PROBLEM_TIME_RANGE, w->event);
    return false;
  }
  taken(w, KEY_TS);
  return true;
}

static inline bool take_span(struct worker *w, int64_t *start, int64_t *duration) {
  if (!take_time(w, start)) return false;
  *duration = 0;
  if (has(w, KEY_DUR)) {
    if (!number_nanoseconds(&w->fields[KEY_DUR], duration)) {
      *duration = 0;
      if (!scan_key_is(&w->fields[KEY_DUR], "null")) {
        worker_problem(w, PROBLEM_TIME_RANGE, w->event);
        return false;
      }
    }
    if (*duration < 0) { /* no length: the number stays in attributes */
      worker_problem(w, PROBLEM_NEGATIVE, w->event);
      *duration = ROW_NULL;
      return true;
    }
    taken(w, KEY_DUR);
  }
  return true;
}

/* ---- names ---- */

static inline bool starts(const struct field *f, const char *head) {
  size_t length = strlen(head);
  return f->length >= length && memcmp(f->text, head, length) == 0;
}

static inline enum name_class classify(const struct field *f) {
  if (f->kind != FIELD_TEXT || f->length == 0) return NAME_PLAIN;
  switch (f->text[0]) {
    case 'P': return starts(f, "ProfilerStep") ? NAME_USER : NAME_PLAIN;
    case 'O': return starts(f, "Optimizer.") ? NAME_USER : NAME_PLAIN;
    case 'e':
      return starts(f, "enumerate(DataLoader)") || starts(f, "enumerate(DataPipe)") ? NAME_INPUT : NAME_PLAIN;
    case 'a': return starts(f, "autograd::engine::") ? NAME_AUTOGRAD : NAME_PLAIN;
    case 'n': return starts(f, "nn.Module: ") ? NAME_MODULE : NAME_PLAIN;
    case '[': return starts(f, "[memory]") ? NAME_MEMORY : starts(f, "[OutOfMemory]") ? NAME_OUT_OF_MEMORY : NAME_PLAIN;
    default: return NAME_PLAIN;
  }
}

static inline int64_t take_name(struct worker *w, enum name_class *name_class) {
  *name_class = NAME_PLAIN;
  if (!has(w, KEY_NAME)) return ROW_NULL;
  const struct field *f = &w->fields[KEY_NAME];
  taken(w, KEY_NAME);
  if (w->is_dry) {
    *name_class = classify(f);
    return 0;
  }
  uint32_t text = intern_field(w, f);
  if (text == INTERN_NONE) return ROW_NULL;
  struct text *entry = &w->texts.texts[text];
  if (entry->name_class == NAME_UNKNOWN) entry->name_class = (uint8_t)classify(f);
  *name_class = entry->name_class;
  return text;
}

#endif
