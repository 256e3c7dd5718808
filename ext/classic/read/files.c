/* files.c: see files.h.
**
** Protobuf files have no signature.  What a file is shows in its first field: field 1 of all these messages is a
** message, and what that one begins with differs:
**   ProfileProto  {1: number, 2: {1: name ...}}     a map entry, whose key may be missing where it is 0
**   GraphDef      {1: name, 2: op as text ...}
**   OpLogProto    {1: name, 2: number | 3: text | 4: {1: ...}}
**   RunMetadata   {1: {1: device with a slash, 2: {1: node name, 2: number}}}
**   MetaGraphDef  {1: MetaInfoDef, 2: GraphDef}     the former {2: {1: op definition {1: name ...}}, 4: tag ...}
** A SavedModel begins with the number of its schema, then {2: MetaGraphDef}.  A HloProto looks like a GraphDef, but for
** the computations that stand where a node has its inputs.
*/
#include "classic/read/files.h"

#include "classic/read/fields.h"
#include "classic/read/tensorflow.h"
#include "read/file/message_head.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- kinds ---- */

/* A DeviceStepStats begins with its device, which has a slash: "/job:localhost/...", "/host:CPU". */
static bool is_device_stats(const uint8_t *at, const uint8_t *end) {
  struct wire_field field;
  return message_peek(&at, end, &field) && field.number == DeviceStepStats_device && message_is_name(&field) &&
         memchr(field.bytes, '/', field.length) &&
         (at == end ||
          (message_peek(&at, end, &field) && field.number == DeviceStepStats_node_stats && field.type == WIRE_BYTES));
}

/* The value of a map entry, a ProfileNode that begins with its name. */
static bool is_profile_node(const struct wire_field *value) {
  struct wire_field field;
  const uint8_t *inner = value->bytes, *end = value->bytes + value->length;
  return value->number == MapEntry_value && value->type == WIRE_BYTES && !is_trace_device(inner, end) &&
         message_peek(&inner, end, &field) && field.number == ProfileNode_name && message_is_name(&field);
}

/* A list of definitions of ops. */
static bool is_op_list(const struct wire_field *list) {
  struct wire_field op, name;
  const uint8_t *at = list->bytes;
  bool is_list = list->type == WIRE_BYTES && message_peek(&at, list->bytes + list->length, &op);
  if (!is_list || op.number != OpList_op) return false;
  const uint8_t *inner = op.bytes;
  return op.type == WIRE_BYTES && message_peek(&inner, op.bytes + op.length, &name) && name.number == OpDef_name &&
         message_is_name(&name);
}

/* A MetaInfoDef. */
static bool is_meta_info(const uint8_t *at, const uint8_t *end) {
  struct wire_field field;
  bool has_texts = false;
  while (at < end && message_peek(&at, end, &field)) {
    if (field.number == MetaInfoDef_stripped_op_list && is_op_list(&field)) return true;
    bool is_flag = field.number == MetaInfoDef_stripped_default_attrs;
    if (field.number == MetaInfoDef_stripped_op_list || field.number > MetaInfoDef_stripped_default_attrs ||
        is_flag != (field.type == WIRE_VARINT))
      return false;
    if (field.number != MetaInfoDef_any_info && !is_flag && !message_is_name(&field)) return false;
    has_texts |= field.number >= MetaInfoDef_tags && field.number <= MetaInfoDef_tensorflow_git_version;
  }
  return has_texts;
}

static bool is_saved_model(const uint8_t *at, const uint8_t *end) {
  struct wire_field version, graph, info;
  if (!message_peek(&at, end, &version) || version.number != SavedModel_saved_model_schema_version ||
      version.type != WIRE_VARINT || version.value > 100 ||
      !message_peek(&at, end, &graph) || graph.number != SavedModel_meta_graphs || graph.type != WIRE_BYTES)
    return false;
  const uint8_t *inner = graph.bytes;
  return message_peek(&inner, graph.bytes + graph.length, &info) && info.number == MetaGraphDef_meta_info_def &&
         info.type == WIRE_BYTES && is_meta_info(info.bytes, info.bytes + info.length);
}

/* The third field of a node is an input, which is a name. */
static bool is_node_so_far(const uint8_t *at, const uint8_t *end) {
  struct wire_field field;
  while (at < end && message_peek(&at, end, &field)) {
    if (field.number == NodeDef_input) return message_is_name(&field);
  }
  return true;
}

static enum tf_kind kind_of_first_field(const uint8_t *at, const uint8_t *end) {
  struct wire_field field, second;
  if (is_meta_info(at, end)) return TF_KIND_META_GRAPH;
  if (!message_peek(&at, end, &field)) return TF_KIND_NONE;
  if (field.number == 1 && field.type == WIRE_VARINT)
    return message_peek(&at, end, &second) && is_profile_node(&second) ? TF_KIND_PROFILE : TF_KIND_NONE;
  if (is_profile_node(&field)) return TF_KIND_PROFILE;
  if (field.number != 1 || field.type != WIRE_BYTES) return TF_KIND_NONE;
  if (is_device_stats(field.bytes, field.bytes + field.length)) return TF_KIND_RUN_METADATA;
  if (!message_is_name(&field) || !message_peek(&at, end, &second)) return TF_KIND_NONE;
  if (second.number == NodeDef_op && second.type == WIRE_BYTES)
    return message_is_name(&second) && is_node_so_far(at, end) ? TF_KIND_GRAPH : TF_KIND_NONE;
  if (second.number == OpLogEntry_float_ops && second.type == WIRE_VARINT) return TF_KIND_OP_LOG;
  if (second.number == OpLogEntry_types && message_is_name(&second)) return TF_KIND_OP_LOG;
  const uint8_t *inner = second.bytes;
  if (second.number == OpLogEntry_code_def && inner && message_peek(&inner, inner + second.length, &field) &&
      field.number == CodeDef_traces && field.type == WIRE_BYTES && !message_is_name(&field))
    return TF_KIND_OP_LOG;
  return TF_KIND_NONE;
}

static bool begins(const char *text, size_t length, const char *word) {
  size_t size = strlen(word);
  if (length <= size || memcmp(text, word, size) != 0) return false;
  size_t at = size;
  while (at < length && isspace((unsigned char)text[at])) at++;
  return at < length && (text[at] == '{' || text[at] == ':' || text[at] == '<');
}

static enum tf_kind kind_of_text(const char *text, size_t length) {
  for (;;) { /* space and comments */
    while (length && isspace((unsigned char)*text)) text++, length--;
    if (!length || *text != '#') break;
    while (length && *text != '\n') text++, length--;
  }
  if (begins(text, length, "step_stats") || begins(text, length, "partition_graphs")) return TF_KIND_RUN_METADATA;
  if (begins(text, length, "node") || begins(text, length, "library") || begins(text, length, "versions"))
    return TF_KIND_GRAPH;
  return begins(text, length, "model_checkpoint_path") ? TF_KIND_CHECKPOINT_STATE : TF_KIND_NONE;
}

static bool is_text(const uint8_t *head, size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (head[i] < 0x20 && !isspace(head[i])) return false;
  }
  return length > 0;
}

/* Checkpoints are sorted string tables, which end in this number. */
static bool is_table(const char *path) {
  static const uint8_t magic[8] = {0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb};
  struct stat facts;
  uint8_t tail[8];
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  bool found = fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size >= 48 &&
               pread(fd, tail, sizeof tail, facts.st_size - 8) == 8 && memcmp(tail, magic, sizeof tail) == 0;
  close(fd);
  return found;
}

enum tf_kind tf_kind_of(const char *path, const uint8_t *head, size_t length) {
  if (length == 0) return TF_KIND_NONE;
  enum tf_kind text = is_text(head, length) ? kind_of_text((const char *)head, length) : TF_KIND_NONE;
  if (text) return text; /* else it may still be a message whose first lengths look like white space */
  if (is_table(path)) return TF_KIND_CHECKPOINT;
  if (is_saved_model(head, head + length)) return TF_KIND_SAVED_MODEL;
  const uint8_t *at = head;
  struct wire_field field;
  for (unsigned i = 0; i < 16 && message_peek(&at, head + length, &field); i++) {
    if (field.type != WIRE_BYTES) break;
    if (field.number != 1) continue; /* id_to_string and partition graphs may come first */
    return kind_of_first_field(field.bytes, field.bytes + field.length);
  }
  return TF_KIND_NONE;
}

/* The wire types of the outermost fields of each kind, by number; -1: there is none. */
static const int8_t outermost_fields[TF_KIND_count][6] = {
    [TF_KIND_NONE] = {-1, -1, -1, -1, -1, -1},
    [TF_KIND_PROFILE] = {-1, WIRE_BYTES, WIRE_VARINT, WIRE_VARINT, WIRE_BYTES, WIRE_VARINT},
    [TF_KIND_GRAPH] = {-1, WIRE_BYTES, WIRE_BYTES, WIRE_VARINT, WIRE_BYTES, WIRE_BYTES},
    [TF_KIND_RUN_METADATA] = {-1, WIRE_BYTES, WIRE_BYTES, WIRE_BYTES, WIRE_BYTES, WIRE_BYTES},
    [TF_KIND_OP_LOG] = {-1, WIRE_BYTES, WIRE_BYTES, -1, -1, -1},
    [TF_KIND_CHECKPOINT] = {-1, -1, -1, -1, -1, -1},
    [TF_KIND_META_GRAPH] = {-1, -1, -1, -1, -1, -1},
    [TF_KIND_SAVED_MODEL] = {-1, -1, -1, -1, -1, -1},
    [TF_KIND_CHECKPOINT_STATE] = {-1, -1, -1, -1, -1, -1},
};

/* Whether the message in field 1 can be one of that kind: an empty one can, and one of which only the name is there. */
static bool may_be_first(enum tf_kind kind, const struct wire_field *outer) {
  const uint8_t *at = outer->bytes, *end = outer->bytes + outer->length;
  struct wire_field field;
  if (at == end) return true;
  if (!message_peek(&at, end, &field)) return false;
  if (kind == TF_KIND_PROFILE) return field.number <= 2;
  if (field.number != 1 || field.type != WIRE_BYTES) return false;
  if (kind != TF_KIND_RUN_METADATA) return message_is_name(&field);
  at = field.bytes; /* a DeviceStepStats of any device, or of none */
  end = at + field.length;
  return at == end || (message_peek(&at, end, &field) && field.number <= 2 && field.type == WIRE_BYTES);
}

bool tf_may_be(enum tf_kind kind, const uint8_t *head, size_t length) {
  const uint8_t *at = head, *end = head + length;
  struct wire_field field;
  while (at < end) {
    const uint8_t *start = at;
    if (!message_peek(&at, end, &field)) return start > head && end - start < 20; /* cut by the end of the head */
    int8_t type = field.number < 6 ? outermost_fields[kind][field.number] : -1;
    bool is_packed = kind == TF_KIND_PROFILE && field.number == ProfileProto_steps && field.type == WIRE_BYTES;
    if (type < 0 || (field.type != (uint32_t)type && !is_packed)) return false;
    if (field.number == 1 && !may_be_first(kind, &field)) return false;
  }
  return length > 0;
}

/* ---- reading ---- */

static ssize_t read_fully(int fd, uint8_t *to, size_t length, uint64_t offset) {
  size_t done = 0;
  while (done < length) {
    ssize_t got = pread(fd, to + done, length - done, (off_t)(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    done += (size_t)got;
  }
  return (ssize_t)done;
}

static enum tfprof_status open_file(const char *path, int *fd, uint64_t *size, struct tfprof_error *error) {
  struct stat facts;
  *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (*fd < 0) return error_io(error, path, "cannot open");
  enum tfprof_status status = TFPROF_OK;
  if (fstat(*fd, &facts) != 0) status = error_io(error, path, "cannot examine");
  else if (!S_ISREG(facts.st_mode)) status = error_at(error, TFPROF_WRONG_KIND, path, 0, "this is not a regular file");
  if (status) close(*fd);
  else *size = (uint64_t)facts.st_size;
  return status;
}

/* The whole file, to be freed. At most `most` bytes. */
static enum tfprof_status read_file(const char *path, uint64_t most, uint8_t **bytes, size_t *length,
                                    struct tfprof_error *error) {
  int fd;
  uint64_t size;
  enum tfprof_status status = open_file(path, &fd, &size, error);
  *bytes = NULL;
  *length = 0;
  if (status) return status;
  if (size > most)
    status = error_at(error, TFPROF_LIMIT, path, 0, "the file is too large to be one of TensorFlow's texts");
  if (!status && !(*bytes = malloc((size_t)size + 1))) status = error_no_memory(error);
  if (!status) {
    ssize_t got = read_fully(fd, *bytes, (size_t)size, 0);
    if (got < 0) status = error_io(error, path, "cannot read");
    else (*bytes)[*length = (size_t)got] = 0;
  }
  close(fd);
  if (status) {
    free(*bytes);
    *bytes = NULL;
  }
  return status;
}

/* Small enough to stay in the processor's cache until it has been read. */
enum { WINDOW_BYTES = 256 << 10 };

/* A part of a file in memory: bytes [offset, offset + length). */
struct window {
  int fd;
  uint8_t *bytes;
  size_t length, capacity;
  uint64_t offset, file_size;
};

/* Makes the window begin at `offset` and hold at least `wanted` bytes, or all that are left. */
static enum tfprof_status move_window(struct window *window, uint64_t offset, size_t wanted, const char *path,
                                      struct tfprof_error *error) {
  uint64_t left = window->file_size - offset;
  if (wanted < WINDOW_BYTES) wanted = WINDOW_BYTES;
  if (wanted > left) wanted = (size_t)left;
  size_t kept = 0;
  if (offset >= window->offset && offset < window->offset + window->length) {
    kept = (size_t)(window->offset + window->length - offset);
    memmove(window->bytes, window->bytes + (offset - window->offset), kept);
  }
  if (!array_reserve(window->bytes, window->capacity, wanted)) return error_no_memory(error);
  window->offset = offset;
  window->length = kept;
  if (kept >= wanted) return TFPROF_OK;
  ssize_t got = read_fully(window->fd, window->bytes + kept, wanted - kept, offset + kept);
  if (got < 0) return error_io(error, path, "cannot read");
  window->length += (size_t)got;
  if (window->length < wanted) window->file_size = offset + window->length; /* it became shorter meanwhile */
  return TFPROF_OK;
}

/* Bytes that the field at the beginning of the window takes; 0: it is damaged, or its head does not end in here. */
static uint64_t field_bytes(const struct window *window) {
  const uint8_t *at = window->bytes, *end = at + window->length;
  uint64_t tag, value;
  const uint8_t *next = varint_read(at, end, &tag);
  if (!next || tag < 8 || tag > UINT32_MAX) return 0;
  switch (tag & 7) {
    case WIRE_VARINT: next = varint_read(next, end, &value); return next ? (uint64_t)(next - at) : 0;
    case WIRE_FIXED64: return (uint64_t)(next - at) + 8;
    case WIRE_FIXED32: return (uint64_t)(next - at) + 4;
    case WIRE_BYTES:
      next = varint_read(next, end, &value);
      return next && value < UINT64_MAX / 2 ? (uint64_t)(next - at) + value : 0;
  }
  return 0;
}

/* All whole fields in a range of bytes. */
static bool take_fields(struct tf_model *model, const uint8_t *bytes, size_t length, tf_take_field *take, bool *taken) {
  struct wire_reader reader = wire_open(bytes, length);
  struct wire_field field;
  while (wire_next(&reader, &field)) {
    *taken = true;
    if (!tf_goes_on(model) || !take(model, &reader, &field)) return false;
  }
  tf_check(model, &reader);
  return true;
}

/* ---- files that were cut off ---- */

/* The fields, one in the other, of which one holds nearly all of a file; 0 ends them: down to what a node ran, or to
** the functions of a graph's library. */
static const uint8_t *containers_of(enum tf_kind kind) {
  static const uint8_t none[] = {0}, run_metadata[] = {1, 1, 0}, graph[] = {2, 0}, meta_graph[] = {2, 2, 0},
                       saved_model[] = {2, 2, 2, 0};
  return kind == TF_KIND_RUN_METADATA  ? run_metadata
         : kind == TF_KIND_GRAPH       ? graph
         : kind == TF_KIND_META_GRAPH  ? meta_graph
         : kind == TF_KIND_SAVED_MODEL ? saved_model
                                       : none;
}

/* Of bytes whose end is missing, those that are whole fields: a container that is cut off is made as long as what is
** whole in it. */
static size_t keep_whole_fields(uint8_t *bytes, size_t length, const uint8_t *containers) {
  size_t kept = 0;
  while (kept < length) {
    struct window rest = {.bytes = bytes + kept, .length = length - kept};
    uint64_t size = field_bytes(&rest), tag, value;
    if (size && size <= rest.length) {
      kept += (size_t)size;
      continue;
    }
    const uint8_t *end = bytes + length, *at = size ? varint_read(rest.bytes, end, &tag) : NULL;
    if (!at || (tag & 7) != WIRE_BYTES || tag >> 3 != *containers) break;
    uint8_t *first = bytes + (at - bytes), *content = bytes + (varint_read(at, end, &value) - bytes);
    size_t inside = keep_whole_fields(content, (size_t)(end - content), containers + 1);
    if (!inside) break;
    for (uint64_t left = inside; first < content; first++, left >>= 7) /* in as many bytes as it had */
      *first = (uint8_t)((left & 0x7f) | (first + 1 < content ? 0x80 : 0));
    return (size_t)(content - bytes) + inside;
  }
  return kept;
}

/* The last field of the file, at `offset`, is longer than what is left. */
static enum tfprof_status read_cut_field(struct tf_model *model, struct window *window, uint64_t offset,
                                         enum tf_kind kind, tf_take_field *take, bool *taken) {
  enum tfprof_status status =
      move_window(window, offset, (size_t)(window->file_size - offset), model->path, model->error);
  if (status) return status;
  size_t whole = keep_whole_fields(window->bytes, window->length, containers_of(kind));
  model->file_offset = offset;
  if (whole && !take_fields(model, window->bytes, whole, take, taken))
    return model->status ? model->status : error_no_memory(model->error);
  return TFPROF_OK;
}

static enum tfprof_status read_binary(struct tf_model *model, struct window *window, uint64_t offset, enum tf_kind kind,
                                      tf_take_field *take, bool *is_complete) {
  bool taken = false;
  enum tfprof_status status = TFPROF_OK;
  *is_complete = true;
  while (!status && offset < window->file_size) {
    if (store_interrupted(model->store)) return error_set(model->error, TFPROF_INTERRUPTED, "interrupted");
    if (window->offset + window->length < offset + 20 || offset < window->offset)
      status = move_window(window, offset, WINDOW_BYTES, model->path, model->error);
    if (status) break;
    /* Where in the window the run of whole fields ends. */
    struct window rest = *window;
    rest.bytes += offset - window->offset;
    rest.length -= (size_t)(offset - window->offset);
    size_t whole = 0;
    uint64_t size = 0;
    while (rest.length && (size = field_bytes(&rest)) && size <= rest.length) {
      whole += (size_t)size;
      rest.bytes += size;
      rest.length -= (size_t)size;
    }
    model->file_offset = offset;
    if (whole && !take_fields(model, window->bytes + (offset - window->offset), whole, take, &taken))
      return model->status ? model->status : error_no_memory(model->error);
    offset += whole;
    if (whole) continue;
    /* Not one whole field: it is longer than the window, cut off, or damaged. */
    bool is_at_end = window->offset + window->length >= window->file_size;
    if ((!size && (is_at_end || rest.length >= 20)) || size > window->file_size - offset) {
      *is_complete = false;
      if (size) {
        model->missing_bytes = size - (window->file_size - offset);
        status = read_cut_field(model, window, offset, kind, take, &taken);
      }
      model->file_offset = offset;
      tf_trouble(model, TF_TROUBLE_WIRE, 0);
      if (!taken && !status)
        status = error_at(
            model->error, TFPROF_CORRUPT, model->path, offset, "%s; it is damaged or was cut off",
            size ? "the first part of the file is longer than the file" : "the file does not begin as it should");
      return status;
    }
    status = move_window(window, offset, size ? (size_t)size : WINDOW_BYTES, model->path, model->error);
  }
  return status;
}

static enum tfprof_status read_text(struct tf_model *model, enum tf_kind kind, const char *path, tf_take_field *take,
                                    bool *is_complete) {
  uint8_t *bytes;
  size_t length, offset = 0;
  const char *wrong = NULL;
  struct text_buffer binary = {0};
  bool taken = false;
  enum tfprof_status status = read_file(path, (uint64_t)1 << 32, &bytes, &length, model->error);
  if (status) return status;
  if (!tf_text_to_binary(model, kind, (const char *)bytes, length, &binary, &wrong, &offset)) tf_no_memory(model);
  *is_complete = !wrong;
  free(bytes);
  if (!model->status) {
    model->file_offset = 0;
    take_fields(model, (const uint8_t *)(binary.bytes ? binary.bytes : ""), binary.length, take, &taken);
  }
  text_buffer_free(&binary);
  if (model->status) return model->status;
  if (wrong) {
    model->file_offset = offset;
    tf_trouble(model, TF_TROUBLE_WIRE, 0);
    if (!taken) return error_at(model->error, TFPROF_CORRUPT, path, offset, "this is no protobuf text: %s", wrong);
  }
  return TFPROF_OK;
}

/* Of a larger file: the window ends where the part does. */
static enum tfprof_status read_part(struct tf_model *model, struct window *window, const struct tensorflow_part *part,
                                    enum tf_kind kind, tf_take_field *take, bool *is_complete) {
  uint64_t end;
  bool is_there = !__builtin_add_overflow(part->offset, part->length, &end) && end <= window->file_size;
  if (!is_there)
    return error_at(model->error, TFPROF_CORRUPT, model->path, part->offset,
                    "the file ends before what is named of it");
  window->file_size = end;
  window->offset = part->offset;
  return read_binary(model, window, part->offset, kind, take, is_complete);
}

enum tfprof_status tf_file_fields(struct tf_model *model, const char *path, const struct tensorflow_part *part,
                                  enum tf_kind kind, tf_take_field *take, bool *is_complete) {
  uint8_t head[512];
  struct window window = {0};
  enum tfprof_status status = open_file(path, &window.fd, &window.file_size, model->error);
  if (status) return status;
  tf_begin_file(model, path);
  uint64_t size = part->length ? part->length : window.file_size;
  ssize_t got = part->length ? 0 : read_fully(window.fd, head, sizeof head, 0);
  if (got < 0) {
    status = error_io(model->error, path, "cannot read");
  } else if (part->length) {
    status = read_part(model, &window, part, kind, take, is_complete);
  } else if (is_text(head, (size_t)got) && kind_of_text((const char *)head, (size_t)got)) {
    status = read_text(model, kind, path, take, is_complete);
  } else {
    status = read_binary(model, &window, 0, kind, take, is_complete);
  }
  if (!status) model->file_bytes = tf_add(model, model->file_bytes, (int64_t)size);
  free(window.bytes);
  close(window.fd);
  return status;
}
