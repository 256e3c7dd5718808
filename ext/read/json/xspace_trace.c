/* xspace_trace.c: see xspace_trace.h.
**
** XProf writes the events of an XSpace for Chrome's viewer without a category: the names of processes tell it,
** /host:CPU and /device:GPU:0, which stand in the first events of the file.  Events of hosts are ops, steps and marks
** as in the XSpace itself (xplane/emit_host.c), by the same rules for names; their stats are args.  Events of devices
** are ops on lanes of the device, as in TensorFlow's timeline, and no kernels: which lane is a stream and which is
** computed of others, the viewer's names tell no longer.
*/
#include "read/json/xspace_trace.h"

#include <stdlib.h>
#include <string.h>

#include "read/file/source.h"
#include "read/json/number.h"
#include "read/xplane/framework_names.h"
#include "read/xplane/texts.h"

enum {
  HEAD = 4096,
  METADATA_BYTES = 1 << 20,
  MOST_NAMES = 1000 /* of processes, that are looked at: each may be in an event that does not end */
};

/* The brace before `at` that begins the event which it lies in: what comes before a process's name is flat. It does not
** lie before `from`. */
static const char *event_around(const char *from, const char *at) {
  while (at > from && *at != '{') at--;
  return *at == '{' ? at : NULL;
}

/* The host or device that an event names, if it does. */
static bool is_process_name(const char *event, const char *end, int64_t *pid, bool *is_device) {
  const char *close = scan_nested(event, end);
  if (!close || close >= end) return false;
  struct field whole = {event, (uint32_t)(close - event), FIELD_NESTED, false, 0, 0, 0}, key, value, name, argument;
  bool is_host = false, has_pid = false;
  *is_device = false;
  for (struct member_cursor members = scan_members(&whole); scan_next(&members, &key, &value);) {
    if (scan_key_is(&key, "pid")) has_pid = number_integer(&value, pid);
    if (!scan_key_is(&key, "args") || value.kind != FIELD_NESTED || value.text[0] != '{') continue;
    for (struct member_cursor args = scan_members(&value); scan_next(&args, &name, &argument);) {
      bool is_name = scan_key_is(&name, "name") && argument.kind == FIELD_TEXT && argument.length >= 6;
      is_host |= is_name && memcmp(argument.text, "/host:", 6) == 0;
      *is_device |= is_name && argument.length >= 8 && memcmp(argument.text, "/device:", 8) == 0;
    }
  }
  return (is_host || *is_device) && has_pid;
}

void xspace_trace_find_processes(const char *path, struct xspace_processes *processes) {
  static const char word[] = "\"process_name\"";
  char head[HEAD];
  size_t length;
  static const char own[] = "\"tfprofSource\":{", xspace[] = "\"origin\":\"xplane\"",
                    framework[] = "\"framework\":\"tensorflow\"";
  processes->count = 0;
  if (source_head(path, sizeof head, head, &length)) return;
  processes->is_own = memmem(head, length, own, sizeof own - 1);
  processes->is_own_xspace = processes->is_own && memmem(head, length, xspace, sizeof xspace - 1);
  processes->is_tensorflow = memmem(head, length, framework, sizeof framework - 1);
  if (processes->is_own || !memmem(head, length, word, sizeof word - 1)) return;
  if (!memmem(head, length, "\"/host:", 7) && !memmem(head, length, "\"/device:", 9)) return;
  char *bytes = malloc(METADATA_BYTES + SCAN_PADDING);
  bool has_host = false;
  if (bytes && !source_head(path, METADATA_BYTES, bytes, &length)) {
    const char *from = bytes, *at, *end = bytes + length;
    memset(bytes + length, '"', SCAN_PADDING);
    for (unsigned looked_at = 0; processes->count < XSPACE_PROCESSES && looked_at < MOST_NAMES; looked_at++) {
      if (!(at = memmem(from, (size_t)(end - from), word, sizeof word - 1))) break;
      const char *event = event_around(from, at);
      unsigned i = processes->count;
      if (event && is_process_name(event, end, &processes->pids[i], &processes->are_devices[i])) {
        has_host |= !processes->are_devices[i];
        processes->count++;
      }
      from = at + sizeof word - 1;
    }
  }
  if (!has_host) processes->count = 0; /* TensorFlow's own timeline names devices so, too */
  free(bytes);
}

/* ---- events ---- */

static struct field part_of(const struct field *whole, struct text_part part) {
  struct field field = *whole;
  field.text = part.bytes;
  field.length = (uint32_t)part.length;
  return field;
}

static bool begins_as(const struct field *name, const char *beginning) {
  size_t length = strlen(beginning);
  return name->length >= length && memcmp(name->text, beginning, length) == 0;
}

enum xspace_framework xspace_trace_classify(const struct field *name, bool has_step, bool is_framework,
                                            struct xspace_event *event) {
  struct text_part op, type;
  enum op_kind kind = xplane_op_name(name->text, name->length, &op, &type);
  *event = (struct xspace_event){.name = *name, .category = LITERAL_runtime};
  if (kind == OP_TENSORFLOW || kind == OP_JAX) {
    event->name = part_of(name, op);
    event->type = part_of(name, type);
    event->category = LITERAL_op;
    return kind == OP_JAX ? XSPACE_JAX : XSPACE_TENSORFLOW;
  }
  if (kind == OP_DATASET) {
    event->category = LITERAL_input;
    return XSPACE_TENSORFLOW;
  }
  if (name->length > 1 && name->text[0] == '$') event->category = LITERAL_python;
  else if (has_step || !(is_framework || xplane_is_framework_name(name->text, name->length)))
    event->category = LITERAL_user;
  if (begins_as(name, "PjitFunction") || begins_as(name, "np.asarray(jax.")) return XSPACE_JAX;
  return begins_as(name, "TFE_") || begins_as(name, "EagerExecute") ? XSPACE_TENSORFLOW : XSPACE_OTHER;
}

enum literal xspace_trace_own_category(const struct field *name, bool is_tensorflow, struct xspace_event *event,
                                       int64_t *step) {
  enum xspace_framework of = xspace_trace_classify(name, false, true, event);
  size_t digits = name->length;
  *step = -1;
  while (digits > 0 && name->text[digits - 1] >= '0' && name->text[digits - 1] <= '9') digits--;
  if (digits > 1 && digits < name->length && name->length - digits < 10 && name->text[digits - 1] == ' ') {
    *step = strtoll(name->text + digits, NULL, 10);
    event->name.length = (uint32_t)digits - 1;
  }
  bool is_of_framework = is_tensorflow || xplane_is_framework_name(name->text, name->length);
  return event->category == LITERAL_runtime && of == XSPACE_OTHER && !is_of_framework ? LITERAL_op : event->category;
}
