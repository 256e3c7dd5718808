/* parser.c: a pull parser for arrays of trace events that learns the shapes of events.
**
** A writer of traces puts the same members in the same order with the same white space, event after event.  So between
** the end of one value and the start of the next stand bytes that have almost always been seen before at this place:
** `,\n "correlation": `, or the end of an event and the beginning of the next.  The parser keeps a graph of such
** segments.  A node is a place (behind a value of an event whose members so far were such and such), an edge is a
** segment seen there, with the member that follows. Usually one or two comparisons of 16 to 64 bytes tell which member
** comes next; no white space is skipped, no key is looked up.  Where no edge fits, the segment is parsed the ordinary
** way (segment_parse) and becomes an edge.  Whatever the graph holds, the bytes are compared in full, so that a
** prediction can be useless but never wrong.
**
** Measured by tests/bench/bench_json against simdjson 3.0 on the same bytes: see there.
*/
#include "base/utf8.h"
#include "read/json/worker.h"

#include <stdlib.h>

/* What stands between two values. */
struct segment_scan {
  const char *value;   /* start of the next value; NULL: see stop */
  unsigned key;
  unsigned level;      /* 1: member of the event, 2: of its args */
  const char *end;     /* behind the brace that ended an event, or NULL */
  const char *begin;   /* brace that began one, or NULL */
  bool is_plain;       /* at most one event ends and one begins: may become an edge */
};

enum segment_stop { STOP_VALUE, STOP_CHUNK, STOP_ARRAY, STOP_ERROR, STOP_ELEMENT };

/* From p at `level` (0: between events, 1: in an event, 2: in args) to the next value. STOP_CHUNK: the data ends before
** it; STOP_ARRAY: the array of events is closed (out->value behind its bracket); STOP_ELEMENT: an element that is no
** object begins at out->value; STOP_ERROR: no JSON at out->value. out->end is set in all cases. */
static enum segment_stop segment_parse(const char *p, const char *end, unsigned level, struct segment_scan *out) {
  memset(out, 0, sizeof *out);
  out->is_plain = true;
  for (;;) {
    while (scan_is_space(*p) || *p == ',') p++;
    if (p >= end) return STOP_CHUNK;
    if (level == 0) {
      out->value = p;
      if (*p == ']') return out->value++, STOP_ARRAY;
      if (*p == '}' || *p == ':') return STOP_ERROR;
      if (*p != '{') return STOP_ELEMENT;
      out->begin = p++;
      level = 1;
      continue;
    }
    if (*p == '}') {
      p++;
      if (--level == 0) {
        if (out->end || out->begin) out->is_plain = false; /* a second end, or an event without members */
        out->end = p;
        out->begin = NULL;
      }
      continue;
    }
    out->value = p;
    if (*p != '"') return STOP_ERROR;
    bool is_escaped;
    const char *key = p + 1, *close = scan_string(key, end, &is_escaped);
    if (close >= end) return STOP_CHUNK;
    p = scan_space(close + 1);
    if (p >= end) return STOP_CHUNK;
    if (*p != ':') return STOP_ERROR;
    p = scan_space(p + 1);
    if (p >= end) return STOP_CHUNK;
    unsigned found = key_find(key, (size_t)(close - key), level == 2);
    if (found == KEY_ARGS && level == 1 && *p == '{') {
      p++;
      level = 2;
      continue;
    }
    out->key = found;
    out->level = level;
    out->value = p;
    return STOP_VALUE;
  }
}

/* The value must follow at once: with more white space before it, it is another segment. */
static inline bool edge_fits(const struct edge *edge, const char *p) {
  if (scan_is_space(p[edge->length])) return false;
#ifdef __SSE2__
  unsigned length = edge->length;
  for (unsigned at = 0;; at += 16) {
    __m128i a = _mm_loadu_si128((const __m128i *)(const void *)(edge->text + at));
    __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(p + at));
    unsigned differ = ~(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(a, b)) & 0xffff;
    if (length - at <= 16) return (differ & ((2u << (length - at - 1)) - 1)) == 0;
    if (differ) return false;
  }
#else
  return memcmp(edge->text, p, edge->length) == 0;
#endif
}

/* Nodes 0, 1 and 2 are the places of unknown past at level 0, 1 and 2. Places behind an event's first member are shared
** by all ways that lead to it, so that the graph is a tree for each first member. */
static uint16_t node_add(struct worker *w) {
  if (w->node_count >= NODE_MAXIMUM) return 0;
  w->nodes[w->node_count].edge_count = 0;
  return (uint16_t)w->node_count++;
}

static uint16_t learn(struct worker *w, uint16_t at, const char *p, const struct segment_scan *s) {
  size_t length = (size_t)(s->value - p);
  uint16_t none = (uint16_t)s->level; /* node of unknown past */
  if (!s->is_plain || length == 0 || length > EDGE_TEXT || w->node_count >= NODE_MAXIMUM) return none;
  /* Args that are no object: the same bytes with a brace behind them are another segment, which goes on into it. */
  if (s->level == 1 && s->key == KEY_ARGS) return none;
  struct node *node = &w->nodes[at];
  if (node->edge_count == NODE_EDGES) return none;
  uint16_t target = 0;
  if (s->begin) {
    for (uint32_t i = 0; i < w->edge_count && !target; i++) {
      const struct edge *other = &w->edges[i];
      size_t mine = (size_t)(s->value - s->begin), theirs = (size_t)other->length - other->begin_offset;
      if (other->flags & EDGE_BEGINS_EVENT && mine == theirs &&
          memcmp(other->text + other->begin_offset, s->begin, mine) == 0) {
        target = other->target;
      }
    }
  }
  if (!target) target = node_add(w);
  if (!target) return none;
  struct edge *edge = &w->edges[w->edge_count];
  memset(edge, 0, sizeof *edge);
  memcpy(edge->text, p, length);
  edge->length = (uint8_t)length;
  edge->key = (uint8_t)s->key;
  edge->in_args = s->level == 2;
  edge->target = target;
  if (s->end) {
    edge->flags |= EDGE_ENDS_EVENT;
    edge->end_offset = (uint8_t)(s->end - p);
  }
  if (s->begin) {
    edge->flags |= EDGE_BEGINS_EVENT;
    edge->begin_offset = (uint8_t)(s->begin - p);
  }
  node->edges[node->edge_count++] = (uint16_t)w->edge_count++;
  return target;
}

/* Where to go on after something that is no JSON: behind the next brace that looks like the end of an event. NULL:
** nowhere in the data. Also finds the end of the last event of the array. */
static const char *recover(const char *p, const char *end) {
  for (; (p = memchr(p, '}', (size_t)(end - p))) != NULL; p++) {
    const char *q = scan_space(p + 1);
    if (q < end && *q == ',') {
      q = scan_space(q + 1);
      if (q < end && *q == '{') {
        q = scan_space(q + 1);
        if (q < end && *q == '"') return p + 1;
      }
    } else if (q < end && *q == ']') {
      q = scan_space(q + 1);
      if (q < end && (*q == '}' || *q == ',')) return p + 1;
    }
  }
  return NULL;
}

size_t parse_find_cut(const char *data, size_t length) {
  for (const char *brace = memrchr(data, '{', length); brace; brace = memrchr(data, '{', (size_t)(brace - data))) {
    if (*scan_space(brace + 1) != '"') continue;
    const char *p = brace;
    while (p > data && scan_is_space(p[-1])) p--;
    if (p == data || *--p != ',') continue;
    while (p > data && scan_is_space(p[-1])) p--;
    if (p > data && p[-1] == '}') return (size_t)(p - data);
  }
  return 0;
}

/* Neither ',' nor '}' follows the quote; the real closing quote is the first that is followed by '}' or by ',' and a
** quote. */
enum { REPAIR_BYTES = 4096 };

const char *parse_extend_text(const char *p, const char *end, struct field *field) {
  if (end - p > REPAIR_BYTES) end = p + REPAIR_BYTES;
  for (;;) {
    const char *quote = memchr(p, '"', (size_t)(end - p));
    if (!quote) return NULL;
    const char *q = scan_space(quote + 1);
    if (q >= end) return NULL;
    if (*q == '}' || (*q == ',' && *scan_space(q + 1) == '"')) {
      field->length = (uint32_t)(quote - field->text);
      return quote + 1;
    }
    p = quote + 1;
  }
  return NULL;
}

/* Whether only white space and at most one comma lie between. */
static bool is_next(const char *p, const char *where) {
  p = scan_space(p);
  if (p < where && *p == ',') p = scan_space(p + 1);
  return p == where;
}

/* The event is complete. Returns where it ends. */
static const char *finish_event(struct worker *w, const struct segment_scan *s, const char **quote) {
  /* Nothing is present also for an event without members ("{}", which JAX writes last). */
  if (w->present.words[0] | w->present.words[1]) emit_event(w);
  w->present = (struct key_set){{0, 0}};
  if (*quote) worker_problem(w, PROBLEM_QUOTE, *quote);
  *quote = NULL;
  return s->end;
}

/* The array of events from p on. Sets *state when the array ends. Returns where it stopped: the end, behind the array,
** or behind the last event that is complete. */
static const char *parse_events(struct worker *w, const char *p, enum parse_state *state) {
  const char *end = w->end, *done = p; /* everything before `done` is dealt with */
  uint16_t at = 0;
  unsigned level = 0;
  struct field ignored, *last = NULL; /* the field read last */
  const char *quote = NULL;            /* a text of this event that holds unescaped quotes */
  w->present = (struct key_set){{0, 0}};
  for (;;) {
    struct node *node = &w->nodes[at];
    const struct edge *edge = NULL;
    unsigned key;
    for (unsigned i = 0; i < node->edge_count; i++) {
      if (!edge_fits(&w->edges[node->edges[i]], p)) continue;
      edge = &w->edges[node->edges[i]];
      if (i) { /* what fitted last is tried first */
        uint16_t front = node->edges[i];
        node->edges[i] = node->edges[i - 1];
        node->edges[i - 1] = front;
      }
      break;
    }
    if (edge) {
      if (edge->flags) {
        if (edge->flags & EDGE_ENDS_EVENT) {
          emit_event(w);
          w->present = (struct key_set){{0, 0}};
          if (quote) worker_problem(w, PROBLEM_QUOTE, quote);
          quote = NULL;
          done = p + edge->end_offset;
        }
        if (edge->flags & EDGE_BEGINS_EVENT) w->event = p + edge->begin_offset;
      }
      key = edge->key;
      level = 1u + edge->in_args;
      at = edge->target;
      p += edge->length;
    } else {
      struct segment_scan s;
      enum segment_stop stop = segment_parse(p, end, level, &s);
      /* What repairs see must not depend on where the chunk ends. */
      if (stop == STOP_ERROR && end - s.value < REPAIR_BYTES && !w->is_last)
        return s.end ? finish_event(w, &s, &quote) : done;
      if (stop == STOP_ERROR && level && !s.end && last && last->kind == FIELD_TEXT && is_next(p, s.value)) {
        const char *q = parse_extend_text(p, end, last);
        if (q) {
          if (!quote) quote = last->text;
          p = q;
          continue;
        }
      }
      if (s.end) {
        done = finish_event(w, &s, &quote);
        level = 0;
      }
      if (stop == STOP_CHUNK) return (level || s.begin) ? done : end;
      if (stop == STOP_ARRAY) {
        *state = w->is_array ? PARSE_END : PARSE_OBJECT;
        return s.value;
      }
      if (stop == STOP_ELEMENT) {
        p = scan_value(s.value, end, &ignored);
        const char *next = scan_space(p);
        if (next >= end && !w->is_last) return done;
        /* Otherwise it is what is left of an event whose quotes have confused the parser. */
        if (next >= end || *next == ',' || *next == ']') {
          if (p >= end) return done;
          worker_problem(w, PROBLEM_NOT_OBJECT, s.value);
          done = p;
          at = 0, level = 0, last = NULL;
          continue;
        }
        stop = STOP_ERROR;
      }
      if (stop == STOP_ERROR) {
        p = recover(s.value, end);
        if (!p) return done; /* what follows may tell; the caller bounds how much */
        worker_problem(w, PROBLEM_MALFORMED, s.value);
        w->present = (struct key_set){{0, 0}};
        quote = NULL;
        done = p;
        at = 0, level = 0, last = NULL;
        continue;
      }
      if (s.begin) w->event = s.begin;
      key = s.key;
      level = s.level;
      at = learn(w, at, p, &s);
      p = s.value;
    }
    last = &w->fields[key];
    p = scan_value(p, end, last);
    if (p >= end) return done;
    key_set_add(&w->present, key);
  }
}

/* ---- beside the events ---- */

/* Where one of the members begins that libkineto writes, or the events: where to go on behind what is no JSON. NULL:
** nowhere in the data. */
static const char *find_member(const char *p, const char *end) {
  static const char *const names[] = {"traceEvents",         "deviceProperties", "distributedInfo", "displayTimeUnit",
                                      "baseTimeNanoseconds", "schemaVersion",    "host_name",       "traceName"};
  for (; (p = memchr(p, '"', (size_t)(end - p))) != NULL; p++) {
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
      size_t length = strlen(names[i]);
      if ((size_t)(end - p) < length + 2 || memcmp(p + 1, names[i], length) != 0 || p[length + 1] != '"') continue;
      const char *colon = scan_space(p + length + 2);
      if (colon < end && *colon == ':') return p;
    }
  }
  return NULL;
}

/* torch.profiler writes what add_metadata() was given without escapes: a text may end early, as those of events do.
** Returns the end of the value; NULL: it cannot be told before there is more data. */
static const char *end_of_member(struct worker *w, const char *p, const char *end, struct field *value) {
  const char *next = scan_space(p);
  if (next >= end) return w->is_last ? p : NULL;
  if (value->kind != FIELD_TEXT || *next == ',' || *next == '}') return p;
  if (end - next < REPAIR_BYTES && !w->is_last) return NULL;
  const char *repaired = parse_extend_text(p, end, value);
  if (repaired) worker_problem(w, PROBLEM_QUOTE, value->text);
  return repaired ? repaired : p;
}

/* The value as it stands in the file, but with the quotes of a text escaped. */
static size_t copy_value(const struct field *value, const char *from, size_t length, char *to) {
  if (value->kind != FIELD_TEXT) {
    memcpy(to, from, length);
    return length;
  }
  char *out = to;
  *out++ = '"';
  for (uint32_t i = 0; i < value->length; i++) {
    if (value->text[i] == '"') *out++ = '\\';
    else if (value->text[i] == '\\' && i + 1 < value->length) *out++ = value->text[i++];
    *out++ = value->text[i];
  }
  *out++ = '"';
  return (size_t)(out - to);
}

static bool add_member(struct worker *w, const struct field *key, const struct field *value, const char *from,
                       const char *to) {
  size_t length = (size_t)(to - from), room = value->kind == FIELD_TEXT ? 2 * length : length;
  struct member *member = list_add(&w->members);
  char *copy = malloc(room + SCAN_PADDING + key->length + 1);
  if (!member || !copy) {
    if (member) w->members.count--;
    free(copy);
    return false;
  }
  member->value = copy;
  member->value_length = copy_value(value, from, length, copy);
  memset(copy + member->value_length, '"', SCAN_PADDING);
  member->key = copy + member->value_length + SCAN_PADDING;
  memcpy(member->key, key->text, key->length);
  member->key[key->length] = '\0';
  member->key_length = key->length;
  member->offset = w->file_offset + (uint64_t)(key->text - 1 - w->data);
  return true;
}

/* Members of the top-level object from p on, up to the events. */
static const char *parse_object(struct worker *w, const char *p, enum parse_state *state) {
  const char *end = w->end;
  for (;;) {
    const char *start = p;
    while (scan_is_space(*p) || *p == ',') p++;
    if (p >= end) return end;
    if (*p == '}') {
      *state = PARSE_END;
      return p + 1;
    }
    struct field key, value;
    const char *q = *p == '"' ? scan_value(p, end, &key) : NULL;
    if (q && q >= end) return start;
    if (q) q = scan_space(q);
    if (q && q >= end) return start;
    if (!q || *q != ':') {
      const char *next = find_member(p, end);
      if (!next && !w->is_last) return start;
      worker_problem(w, next ? PROBLEM_MALFORMED : PROBLEM_LEVEL, p);
      if (!next) {
        *state = PARSE_END;
        return p;
      }
      p = next;
      continue;
    }
    q = scan_space(q + 1);
    if (q >= end) return start;
    if (*q == '[' && scan_key_is(&key, "traceEvents")) {
      *state = PARSE_EVENTS;
      w->has_events = true;
      return q + 1;
    }
    p = scan_value(q, end, &value);
    if (p >= end) return start;
    p = end_of_member(w, p, end, &value);
    if (!p) return start;
    if (!add_member(w, &key, &value, q, p)) w->no_memory = true;
  }
}

size_t parse_chunk(struct worker *w, const char *data, size_t length, uint64_t file_offset, enum parse_state *state) {
  const char *p = data, *end = data + length;
  w->data = data;
  w->end = end;
  w->file_offset = file_offset;
  w->is_utf8 = utf8_valid(data, length) == length;
  if (*state == PARSE_START) {
    if (length >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) p += 3; /* byte order mark */
    p = scan_space(p);
    if (p >= end) return length;
    if (*p != '{' && *p != '[') {
      worker_problem(w, PROBLEM_LEVEL, p);
      *state = PARSE_END;
      return length;
    }
    w->is_array = *p == '[';
    w->has_events |= w->is_array;
    *state = w->is_array ? PARSE_EVENTS : PARSE_OBJECT;
    p++;
  }
  while (p < end) {
    enum parse_state before = *state;
    if (*state == PARSE_END) {
      p = scan_space(p);
      if (p < end) worker_problem(w, PROBLEM_TRAILING, p);
      return length;
    }
    p = *state == PARSE_OBJECT ? parse_object(w, p, state) : parse_events(w, p, state);
    if (*state == before) break;
  }
  return (size_t)(p - data);
}
