/* hlo.c: see hlo.h.
**
** A file is a profile of its own, in which nothing ran: what XLA made of a program, with what it costs as XLA counts.
** It is taken into memory whole; a text is made the message that it is the text of (text.h).
**
** XLA_FLAGS=--xla_dump_to=DIR writes several files of each module: module_0001.jit_f.before_optimizations.txt, what
** passes made of it, module_0001.jit_f.cpu_after_optimizations.txt, each as a message as well where that is asked for.
** Of a directory the last of each module is opened, the message rather than the text; the others by their paths.
*/
#include "read/hlo/hlo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "read/file/whole_file.h"
#include "read/hlo/fields.h"
#include "read/hlo/instruction_rows.h"
#include "read/hlo/proto.h"
#include "read/hlo/text.h"

enum { MAXIMUM_BYTES = 1 << 30 };

/* ---- what a file is called ---- */

static const char *last_part_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static bool name_ends_in(const char *path, const char *ending) {
  size_t length = strlen(path), size = strlen(ending);
  return length > size && strcmp(path + length - size, ending) == 0;
}

/* The length of "module_0001.", by which XLA calls all files of a module, where the name begins so or with the time
** before it; 0: it does not. */
static size_t module_length(const char *name) {
  const char *at = strstr(name, "module_");
  if (!at || (at != name && at[-1] != '.')) return 0;
  size_t digits = strspn(at + 7, "0123456789");
  return digits && at[7 + digits] == '.' ? (size_t)(at - name) + 7 + digits + 1 : 0;
}

/* How far XLA was when it wrote the file: the file that says most of what runs has the largest. */
static int compilation_stage(const char *name) {
  int stage = strstr(name, "after_optimizations") ? 4 : strstr(name, "before_optimizations") ? 0 : 2;
  return stage + (name_ends_in(name, ".pb") ? 1 : 0);
}

static void claim(const struct read_file *files, size_t count, size_t *owners) {
  size_t best = 0;
  for (size_t i = 0; i < count; i++) {
    const char *name = last_part_of(files[i].path), *before = last_part_of(files[best].path);
    size_t length = module_length(name);
    bool is_same = i && length && length == module_length(before) && strncmp(name, before, length) == 0;
    if (!is_same) {
      best = i;
    } else if (compilation_stage(name) > compilation_stage(before)) { /* of passes, which are many, the first counts */
      owners[best] = READ_LEFT_OUT;
      best = i;
    } else {
      owners[i] = READ_LEFT_OUT;
    }
  }
}

/* ---- opening ---- */

static const struct profile_source profile_source = {.format = "hlo", .load = eager_rows_load};
static const struct profile_source text_source = {.format = "hlo_text", .load = eager_rows_load};

/* Where the program before optimizations lies beside the one after them. */
static void tell_stages(struct profile *profile, const char *path) {
  static const char *const endings[] = {"before_optimizations.hlo.pb", "before_optimizations.txt",
                                        "before_optimizations.hlo"};
  const char *name = last_part_of(path), *after = strstr(name, "after_optimizations");
  if (!module_length(name) || !after) return;
  while (after > name && after[-1] != '.') after--;
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    char *before = NULL;
    if (asprintf(&before, "%.*s%s", (int)(after - path), path, endings[i]) < 0) return;
    bool is_there = access(before, R_OK) == 0;
    if (is_there)
      profile_diagnose(profile, "info", "before_optimizations", 1, -1, TABLE_hlo_instructions,
                       "this is the module after XLA's optimizations, which runs; as it was before them is in %s",
                       last_part_of(before));
    free(before);
    if (is_there) return;
  }
}

struct module_file {
  char *bytes;
  size_t length;
  bool is_text;
  struct hlo_text_faults faults;
  struct source *source;
};

static void diagnose(struct profile *profile, const struct module_file *file, const struct hlo_programs *programs) {
  uint64_t offset;
  enum source_problem problem = source_problem(file->source, &offset);
  profile->complete = !programs->wrong && !file->faults.count && (!problem || problem == SOURCE_TRAILING);
  if (problem)
    profile_diagnose(profile, problem == SOURCE_TRAILING ? "warning" : "error", "gzip", 1, (int64_t)offset, -1, "%s",
                     source_problem_text(problem));
  if (file->faults.count)
    profile_diagnose(profile, "error", "damaged", (int64_t)file->faults.count, (int64_t)file->faults.offset,
                     TABLE_hlo_instructions, "%s; what else there is is served", file->faults.what);
  if (programs->wrong)
    profile_diagnose(profile, "error", "damaged_program", (int64_t)programs->wrong, (int64_t)programs->wrong_offset,
                     TABLE_hlo_instructions, "the module is damaged or was cut off; what is good is served");
  if (programs->mended)
    profile_diagnose(profile, "warning", "not_utf8", (int64_t)programs->mended, -1, -1, "%s", NOT_UTF8_MESSAGE);
}

static enum tfprof_status publish_module(struct profile *profile, const char *path, struct module_file *file,
                                  struct tfprof_error *error) {
  struct hlo_programs programs = {.wrong = 0};
  struct hlo_rows rows = {.rows = {.count = 0}};
  struct hlo_reading r = {.programs = &programs,
                          .rows = &rows,
                          .profile = profile,
                          .pool = store_pool(profile->store),
                          .window = {.file_bytes = file->length,
                                     .bytes = file->bytes,
                                     .length = file->length,
                                     .capacity = file->length},
                          .error = error};
  file->bytes = NULL; /* the window's */
  hlo_read_file(&r, file->length);
  hlo_reading_free(&r);
  enum tfprof_status status = r.status;
  if (!status) status = hlo_publish_traces(&programs, profile, error);
  if (!status) status = hlo_publish_rows(&rows, &programs, profile, error);
  if (!status && !rows.rows.count && !programs.wrong)
    status = error_set(error, TFPROF_CORRUPT, "%s has no instruction of HLO", path);
  if (!status) diagnose(profile, file, &programs);
  hlo_rows_free(&rows);
  hlo_programs_free(&programs);
  return status;
}

static enum tfprof_status add_module_profile(struct store *store, uint32_t run_number, const char *path,
                                      struct module_file *file, struct tfprof_error *error) {
  struct profile *profile = NULL;
  enum tfprof_status status =
      store_add_profile(store, run_number, file->is_text ? &text_source : &profile_source, NULL, &profile, error);
  if (status) return status;
  if (pool_intern_mended(store_pool(store), path, strlen(path), &profile->path, NULL)) status = error_no_memory(error);
  profile->rank = profile->world_size = -1;
  profile->file_bytes = (int64_t)source_file_bytes(file->source);
  if (!status) status = publish_module(profile, path, file, error);
  if (status) store_drop_profile(store, profile);
  else tell_stages(profile, path);
  return status;
}

static enum tfprof_status make_message(struct module_file *file, struct tfprof_error *error) {
  struct text_buffer proto = {0};
  hlo_text_read(file->bytes, file->length, &proto, &file->faults);
  if (proto.failed) {
    text_buffer_free(&proto);
    return error_no_memory(error);
  }
  free(file->bytes);
  file->bytes = proto.bytes;
  file->length = proto.length;
  return TFPROF_OK;
}

static enum tfprof_status open_file(struct store *store, uint32_t run_number, const char *path, bool is_text,
                                    struct tfprof_error *error) {
  struct module_file file = {.is_text = is_text};
  enum tfprof_status status = source_open(path, &file.source, error);
  if (status) return status;
  status = whole_file_read(file.source, path, MAXIMUM_BYTES, "module of XLA", &file.bytes, &file.length, error);
  if (!status && is_text) status = make_message(&file, error);
  if (!status) status = add_module_profile(store, run_number, path, &file, error);
  source_close(file.source);
  free(file.bytes);
  return status;
}

static enum tfprof_status open_proto(struct store *store, uint32_t run_number, const struct read_bundle *bundle,
                                     struct tfprof_error *error) {
  return open_file(store, run_number, bundle->files[0].path, false, error);
}

static enum tfprof_status open_text(struct store *store, uint32_t run_number, const struct read_bundle *bundle,
                                    struct tfprof_error *error) {
  return open_file(store, run_number, bundle->files[0].path, true, error);
}

const struct read_format read_format_hlo = {.name = "hlo",
                                            .description = "module of XLA as a message (HloProto, HloModuleProto)",
                                            .may_be_gzip = true,
                                            .is_no_run = true,
                                            .open = open_proto};
const struct read_format read_format_hlo_text = {
    .name = "hlo_text",
    .description = "module of XLA as text, as compiled.as_text() of JAX and --xla_dump_to write it",
    .may_be_gzip = true,
    .is_no_run = true,
    .open = open_text};

/* ---- what a file is ---- */

/* The next field of bytes: its number, and as much of it as is there. 0: there is none. */
static uint32_t next_bytes(const uint8_t **at, const uint8_t *end, struct text_part *bytes) {
  uint64_t tag, length;
  const uint8_t *next = *at < end ? varint_read(*at, end, &tag) : NULL;
  if (!next || (tag & 7) != WIRE_BYTES || tag >> 3 > 1000) return 0;
  next = varint_read(next, end, &length);
  if (!next) return 0;
  bytes->bytes = (const char *)next;
  bytes->length = length < (size_t)(end - next) ? (size_t)length : (size_t)(end - next);
  *at = next + bytes->length;
  return (uint32_t)(tag >> 3);
}

static bool is_name(struct text_part text) {
  for (size_t i = 0; i < text.length; i++) {
    if ((unsigned char)text.bytes[i] <= ' ' || text.bytes[i] == 0x7f) return false;
  }
  return text.length > 0;
}

static bool is_opcode(struct text_part text) {
  for (size_t i = 0; i < text.length; i++) {
    char c = text.bytes[i];
    if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-') return false;
  }
  return text.length > 1;
}

/* A computation begins with a name and an instruction, this with a name and an opcode. */
static bool is_computation(struct text_part computation) {
  const uint8_t *at = (const uint8_t *)computation.bytes, *end = at + computation.length;
  struct text_part part;
  if (next_bytes(&at, end, &part) != HloComputationProto_name || !is_name(part) ||
      next_bytes(&at, end, &part) != HloComputationProto_instructions)
    return false;
  at = (const uint8_t *)part.bytes;
  end = at + part.length;
  return next_bytes(&at, end, &part) == HloInstructionProto_name && is_name(part) &&
         next_bytes(&at, end, &part) == HloInstructionProto_opcode && is_opcode(part);
}

/* A module has its name, that of a computation, and computations. */
static bool is_module(const uint8_t *at, const uint8_t *end) {
  struct text_part part;
  uint32_t number = next_bytes(&at, end, &part);
  if (number == HloModuleProto_name && !is_name(part)) return false;
  if (number == HloModuleProto_name) number = next_bytes(&at, end, &part);
  if (number == HloModuleProto_entry_computation_name && !is_name(part)) return false;
  if (number == HloModuleProto_entry_computation_name) number = next_bytes(&at, end, &part);
  return number == HloModuleProto_computations && is_computation(part);
}

static bool is_proto(const uint8_t *head, size_t length) {
  const uint8_t *at = head, *end = head + length;
  struct text_part module;
  if (is_module(head, end)) return true;
  if (next_bytes(&at, end, &module) != 1) return false;
  return is_module((const uint8_t *)module.bytes, (const uint8_t *)module.bytes + module.length);
}

static struct recognised probe_hlo(const char *path, const uint8_t *head, size_t length) {
  if (hlo_text_begins((const char *)head, length)) return (struct recognised){&read_format_hlo_text, 95};
  if (is_proto(head, length)) return (struct recognised){&read_format_hlo, 85};
  bool is_called = name_ends_in(path, ".hlo.pb") || name_ends_in(path, ".hlo.pb.gz");
  return (struct recognised){is_called && length ? &read_format_hlo : NULL, 10};
}

static const struct read_format *const formats[] = {&read_format_hlo, &read_format_hlo_text, NULL};
const struct reader hlo_reader = {.formats = formats, .probe = probe_hlo, .claim = claim};
