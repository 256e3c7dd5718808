/* probe.c: whether a JSON document is a trace, by its own members: what looks like one within a text, or deeper in the
** document, does not count; or, by its first event, a memory timeline.
**
** An object is one when it has an array traceEvents; what libkineto writes beside the events is as good.  An array is
** one when an element of it is an object with a member ph.  Where the beginning of the file does not tell, LOOK_AHEAD
** bytes are looked at: members come in any order, and those before the events may be long.  Beyond them the file's name
** decides.
*/
#include "read/json/json.h"

#include <stdlib.h>
#include <strings.h>

#include "read/file/source.h"
#include "read/json/memory_timeline.h"
#include "read/json/scan.h"

enum { HEAD = 4096, LOOK_AHEAD = 1 << 20 };
enum verdict {
  VERDICT_NO,
  VERDICT_OPEN,     /* the bytes end before it can be told */
  VERDICT_PROBABLY, /* the same, but a member has the name of one of libkineto's */
  VERDICT_TRACE,
};

static bool is_sure(const struct field *key, const struct field *value) {
  char first = value->kind == FIELD_NESTED ? value->text[0] : 0;
  if (scan_key_is(key, "traceEvents") || scan_key_is(key, "deviceProperties")) return first == '[';
  if (scan_key_is(key, "distributedInfo")) return first == '{';
  return scan_key_is(key, "baseTimeNanoseconds") && value->kind == FIELD_INTEGER;
}

/* Behind the colon of the member whose key begins at p. NULL: no JSON; at or beyond `end`: not complete. */
static const char *scan_key(const char *p, const char *end, struct field *key) {
  if (*p != '"') return NULL;
  p = scan_value(p, end, key);
  if (p >= end) return end;
  p = scan_space(p);
  if (p >= end) return end;
  return *p == ':' ? scan_space(p + 1) : NULL;
}

/* From behind the brace of the document. */
static enum verdict look_at_object(const char *p, const char *end) {
  enum verdict otherwise = VERDICT_OPEN;
  for (;;) {
    while (scan_is_space(*p) || *p == ',') p++;
    if (p >= end) return otherwise;
    struct field key, value;
    const char *q = scan_key(p, end, &key);
    if (!q) return otherwise == VERDICT_PROBABLY ? otherwise : VERDICT_NO; /* libkineto does not always write JSON */
    if (q >= end) return otherwise;
    bool is_events = *q == '[' && scan_key_is(&key, "traceEvents");
    if (is_events) return VERDICT_TRACE; /* perhaps cut */
    p = scan_value(q, end, &value);
    if (scan_key_is(&key, "schemaVersion") || scan_key_is(&key, "deviceProperties")) otherwise = VERDICT_PROBABLY;
    if (p >= end) return otherwise;
    if (is_sure(&key, &value)) return VERDICT_TRACE;
    if (p == q) return VERDICT_NO; /* no value */
  }
}

/* From behind the bracket of the document. */
static enum verdict look_at_array(const char *p, const char *end) {
  for (;;) {
    while (scan_is_space(*p) || *p == ',') p++;
    if (p >= end) return VERDICT_OPEN;
    struct field key, value;
    if (*p != '{') {
      const char *q = scan_value(p, end, &value);
      if (q == p) return VERDICT_NO;
      if (q >= end) return VERDICT_OPEN;
      p = q;
      continue;
    }
    for (p++;;) {
      while (scan_is_space(*p) || *p == ',') p++;
      if (p >= end) return VERDICT_OPEN;
      if (*p == '}') break;
      const char *q = scan_key(p, end, &key);
      if (!q) return VERDICT_NO;
      if (q >= end) return VERDICT_OPEN;
      if (scan_key_is(&key, "ph") && *q == '"') return VERDICT_TRACE;
      p = scan_value(q, end, &value);
      if (p >= end) return VERDICT_OPEN;
      if (p == q) return VERDICT_NO;
    }
    p++;
  }
}

/* The bytes are followed by SCAN_PADDING quotes. */
static enum verdict look(const char *bytes, size_t length) {
  const char *p = bytes, *end = bytes + length;
  if (length >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) p += 3; /* byte order mark */
  p = scan_space(p);
  if (p >= end) return length ? VERDICT_OPEN : VERDICT_NO;
  return *p == '{' ? look_at_object(p + 1, end) : *p == '[' ? look_at_array(p + 1, end) : VERDICT_NO;
}

static bool is_trace_name(const char *path) {
  static const char *const endings[] = {".trace.json", ".trace.json.gz", ".ctf.json", ".ctf.json.gz"};
  size_t length = strlen(path);
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    size_t ending = strlen(endings[i]);
    if (length > ending && strcasecmp(path + length - ending, endings[i]) == 0) return true;
  }
  return false;
}

static enum verdict look_ahead(const char *path) {
  char *buffer = malloc(LOOK_AHEAD + SCAN_PADDING);
  enum verdict verdict = VERDICT_NO;
  size_t length;
  if (buffer && !source_head(path, LOOK_AHEAD, buffer, &length)) {
    memset(buffer + length, '"', SCAN_PADDING);
    verdict = look(buffer, length);
  }
  free(buffer);
  return verdict;
}

static int certainty_of_trace(const char *path, const uint8_t *head, size_t length) {
  char buffer[HEAD + SCAN_PADDING];
  if (length > HEAD) length = HEAD;
  memcpy(buffer, head, length);
  memset(buffer + length, '"', SCAN_PADDING);
  enum verdict verdict = look(buffer, length);
  if (verdict == VERDICT_OPEN || verdict == VERDICT_PROBABLY) verdict = look_ahead(path);
  if (verdict == VERDICT_TRACE) return 90;
  if (verdict == VERDICT_PROBABLY) return 40;
  return verdict == VERDICT_OPEN && is_trace_name(path) ? 20 : 0;
}

static struct recognised probe_json(const char *path, const uint8_t *head, size_t length) {
  if (memory_timeline_is(head, length)) return (struct recognised){&read_format_memory_timeline, 85};
  int certainty = certainty_of_trace(path, head, length);
  return (struct recognised){certainty ? &read_format_json : NULL, certainty};
}

static const struct read_format *const formats[] = {&read_format_json, &read_format_memory_timeline, NULL};
/* As torch.profiler.tensorboard_trace_handler(), torchtitan and JAX call them. */
static const char *const below_logs[] = {".trace.json", ".trace.json.gz", "_trace.json", "_trace.json.gz", NULL};
/* JAX writes its trace a second time for Perfetto; people pack theirs. */
static const struct read_copy copies[] = {{".trace.json.gz", "/perfetto_trace.json.gz"},
                                          {".json", ".json.gz"},
                                          {NULL, NULL}};
const struct reader json_reader = {.formats = formats, .probe = probe_json, .copies = copies, .below = below_logs};
