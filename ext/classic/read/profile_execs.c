/* profile_execs.c: reads the executions of a ProfileProto, which are nine tenths of such a file.
**
** Executions repeat each other: in every step, and in many nodes, the same fields in the same order with texts and
** numbers of the same lengths.  So the form of one - where its numbers are, and what they are - is found out once and
** kept; those that differ from it in numbers only are then read without a look at their fields.  That they do is seen
** by comparing all bytes but those of the numbers, and of these the bits that say where each ends.  What is too large
** for a form, or written in another way than TensorFlow does, is read field by field, to the same effect.
*/
#include "base/vectors.h"
#include "classic/read/fields.h"
#include "classic/read/profile_proto.h"

/* A time or count that is absurd is left out. */
static inline int64_t checked(struct tf_model *model, const struct wire_reader *reader, int64_t value, int64_t most) {
  if (value >= 0 && value <= most) return value;
  tf_trouble(model, TF_TROUBLE_TIME, wire_offset(reader));
  return 0;
}

static const int64_t most_bytes = INT64_MAX / 4;

/* ---- what an execution tells, however it is read; `place` is where, for messages ---- */

static inline void take_number(struct tf_model *model, const struct wire_reader *place, unsigned number, int64_t value,
                               struct tf_exec *exec) {
  switch (number) {
    case ExecProfile_run_count: exec->run_count = (uint32_t)checked(model, place, value, INT32_MAX); break;
    case ExecProfile_all_start_micros: exec->start_micros = checked(model, place, value, TF_MOST_MICROS); break;
    case ExecProfile_latest_end_micros: exec->end_micros = checked(model, place, value, TF_MOST_MICROS); break;
  }
}

/* The lane of a device's name. */
static bool find_lane(struct tf_model *model, const char *name, size_t length, bool is_accelerator, uint32_t *lane) {
  string_id device;
  return tf_intern(model, name, length, &device) && tf_get_lane(model, device, device, TF_NONE, is_accelerator, lane);
}

static inline bool add_time(struct tf_model *model, const struct wire_reader *place, struct tf_exec *exec,
                            bool is_accelerator, uint32_t lane, int64_t start, int64_t micros) {
  int64_t *sum = is_accelerator ? &exec->accelerator_micros : &exec->cpu_micros;
  start = checked(model, place, start, TF_MOST_MICROS);
  micros = checked(model, place, micros, TF_MOST_MICROS);
  *sum = tf_add_micros(model, *sum, micros);
  return tf_add_run(model, tf_exec_row(model, exec), lane, start, micros);
}

struct memory {
  int64_t micros, in_use, persistent;
};

static inline void take_memory(struct tf_model *model, const struct wire_reader *place, unsigned number, int64_t value,
                               struct memory *memory, struct tf_exec *exec) {
  int64_t *sum;
  switch (number) {
    case ExecMemory_memory_micros: memory->micros = value; return;
    case ExecMemory_accelerator_persistent_bytes: memory->persistent = value; return;
    case ExecMemory_allocator_bytes_in_use: memory->in_use = value; return;
    case ExecMemory_requested_bytes: sum = &exec->requested_bytes; break;
    case ExecMemory_peak_bytes: sum = &exec->peak_bytes; break;
    case ExecMemory_residual_bytes: sum = &exec->residual_bytes; break;
    case ExecMemory_output_bytes: sum = &exec->output_bytes; break;
    default: return;
  }
  if (value < -most_bytes || value > most_bytes) tf_trouble(model, TF_TROUBLE_TIME, wire_offset(place));
  else *sum = tf_add(model, *sum, value);
}

static inline bool end_memory(struct tf_model *model, const struct memory *memory, const struct tf_exec *exec) {
  return tf_add_allocation(model, exec->node, true, 0, memory->persistent) &&
         tf_add_memory_point(model, exec, memory->micros, memory->in_use);
}

/* ---- field by field ---- */

static bool read_runs(struct tf_model *model, const struct wire_reader *place, const struct map_entry *entry,
                      struct tf_exec *exec, bool is_accelerator) {
  struct wire_reader times = entry->value;
  struct wire_field field;
  uint32_t lane;
  size_t length;
  const char *name = wire_text(&entry->key, &length);
  if (!find_lane(model, name, length, is_accelerator, &lane)) return false;
  while (wire_next(&times, &field)) {
    if (field.number != ExecTime_times) continue;
    struct wire_reader tuple = wire_enter(&times, &field);
    int64_t values[2] = {0, 0};
    unsigned count = 0;
    while (wire_next(&tuple, &field)) {
      uint64_t value;
      if (field.number != Tuple_int64_values) continue;
      for (struct wire_packed list = wire_unpack(&field, WIRE_VARINT); wire_packed_next(&list, &value);) {
        if (count < 2) values[count++] = (int64_t)value;
      }
    }
    if (!add_time(model, place, exec, is_accelerator, lane, values[0], values[1])) return false;
  }
  tf_check(model, &times);
  return true;
}

static bool read_memory(struct tf_model *model, const struct wire_reader *place, struct wire_reader reader,
                        struct tf_exec *exec) {
  struct memory memory = {0};
  struct wire_field field;
  while (wire_next(&reader, &field)) {
    if (wire_is_number(&field)) take_memory(model, place, field.number, wire_int64(&field), &memory, exec);
  }
  tf_check(model, &reader);
  return end_memory(model, &memory, exec);
}

static bool read_allocation(struct tf_model *model, struct wire_reader reader, uint32_t node) {
  struct wire_field field;
  int64_t micros = 0, bytes = 0;
  while (wire_next(&reader, &field)) {
    if (field.number == AllocationRecord_alloc_micros && wire_is_number(&field)) micros = wire_int64(&field);
    else if (field.number == AllocationRecord_alloc_bytes && wire_is_number(&field)) bytes = wire_int64(&field);
  }
  tf_check(model, &reader);
  return tf_add_allocation(model, node, false, micros, bytes);
}

static bool read_fields(struct tf_model *model, struct wire_reader *reader, int64_t step, uint32_t node) {
  struct wire_reader place = *reader;
  struct wire_field field;
  struct tf_exec *exec; /* stays where it is: only the next execution adds one */
  bool ok = tf_begin_step(model, step) && tf_get_exec(model, node, &exec);
  for (; ok && wire_next(reader, &field); place.at = reader->at) {
    struct map_entry runs;
    switch (field.number) {
      case ExecProfile_run_count:
      case ExecProfile_all_start_micros:
      case ExecProfile_latest_end_micros:
        if (wire_is_number(&field)) take_number(model, &place, field.number, wire_int64(&field), exec);
        break;
      case ExecProfile_accelerator_execs:
      case ExecProfile_cpu_execs:
        runs = read_map_entry(reader, &field);
        ok = read_runs(model, &place, &runs, exec, field.number == ExecProfile_accelerator_execs);
        break;
      case ExecProfile_memory_execs: ok = read_memory(model, &place, wire_enter(reader, &field), exec); break;
      case ExecProfile_allocations: ok = read_allocation(model, wire_enter(reader, &field), node); break;
    }
  }
  if (ok) tf_check(model, reader);
  return ok;
}

/* ---- forms ---- */

enum { FORM_BYTES = 1024, FORM_NUMBERS = 80, FORM_PARTS = 40, FORMS_OF_LENGTH = 4, FORM_LENGTHS = 64 };

/* What numbers [first, first + count) are. */
struct form_part {
  enum part_kind { PART_NUMBERS, PART_CPU_RUN, PART_ACCELERATOR_RUN, PART_MEMORY, PART_ALLOCATION } kind;
  uint32_t lane; /* of a run */
  uint16_t at;   /* where the field is */
  uint8_t first, count;
};

/* The form of a whole map entry. */
struct exec_form {
  uint32_t length; /* 0: there is no form here */
  unsigned number_count, part_count;
  /* Of each number, the first of which is the step: where it is; of the first eight bytes of its varint the bits that
  ** hold it; what further bytes add, which are the same in all; its field in the message. */
  uint16_t at[FORM_NUMBERS];
  uint64_t bits[FORM_NUMBERS], high[FORM_NUMBERS];
  uint8_t field[FORM_NUMBERS];
  struct form_part parts[FORM_PARTS];
  uint64_t same[FORM_BYTES / 8], words[FORM_BYTES / 8]; /* an entry has this form if entry & same == words */
};

/* By the length of the entry; those of one length are replaced in turn. */
struct exec_forms {
  struct exec_form forms[FORM_LENGTHS][FORMS_OF_LENGTH];
  uint8_t next[FORM_LENGTHS];
};

/* A form that is being found out, of the entry at `start`. */
struct finding {
  struct exec_form *form;
  const uint8_t *start;
};

static uint16_t place_of(const struct finding *finding, const uint8_t *at) { return (uint16_t)(at - finding->start); }

/* That so many bytes may differ, but for some bits of them. */
static void allow_others(const struct finding *finding, const uint8_t *at, size_t length, int same_bits) {
  memset((uint8_t *)finding->form->same + (at - finding->start), same_bits, length);
}

/* The number whose varint lies in [start, end). */
static bool find_number(const struct finding *finding, const uint8_t *start, const uint8_t *end, uint32_t field) {
  struct exec_form *form = finding->form;
  size_t length = (size_t)(end - start), low = length < 8 ? length : 8;
  unsigned number = form->number_count;
  if (number == FORM_NUMBERS) return false;
  form->number_count++;
  form->at[number] = place_of(finding, start);
  form->bits[number] = UINT64_C(0x7f7f7f7f7f7f7f7f) >> (64 - 8 * low);
  form->high[number] = 0;
  for (size_t i = low; i < length; i++) form->high[number] |= (uint64_t)(start[i] & 0x7f) << 7 * i;
  form->field[number] = (uint8_t)field;
  allow_others(finding, start, low, 0x80);
  return true;
}

static struct form_part *find_part(const struct finding *finding, enum part_kind kind, const uint8_t *at) {
  struct exec_form *form = finding->form;
  if (form->part_count == FORM_PARTS) return NULL;
  struct form_part *part = &form->parts[form->part_count++];
  *part = (struct form_part){.kind = kind, .at = place_of(finding, at), .first = (uint8_t)form->number_count};
  return part;
}

/* Numbers of the execution itself that follow one another are one part. */
static struct form_part *find_part_of_numbers(const struct finding *finding, const uint8_t *at) {
  struct exec_form *form = finding->form;
  struct form_part *last = form->part_count ? &form->parts[form->part_count - 1] : NULL;
  return last && last->kind == PART_NUMBERS ? last : find_part(finding, PART_NUMBERS, at);
}

/* Whether the field that was read from `at` on has a tag of one byte there: groups are passed over silently. */
static bool has_plain_tag(const uint8_t *at, const struct wire_field *field) {
  return *at == (field->number << 3 | field->type);
}

/* The fields of a message, of which those up to most_number are numbers and the rest is passed over. */
static bool find_numbers(const struct finding *finding, struct wire_reader reader, uint32_t most_number) {
  struct wire_field field;
  for (const uint8_t *at = reader.at; wire_next(&reader, &field); at = reader.at) {
    bool is_number = field.number <= most_number;
    if (!has_plain_tag(at, &field) || field.type != (is_number ? WIRE_VARINT : WIRE_BYTES)) return false;
    if (!is_number) allow_others(finding, field.bytes, field.length, 0);
    else if (!find_number(finding, at + 1, reader.at, field.number)) return false;
  }
  return !reader.wrong;
}

/* Enters the only field of a message. */
static bool enter_only(struct wire_reader *reader, uint32_t number) {
  struct wire_field field;
  if (!wire_next(reader, &field) || field.number != number || field.type != WIRE_BYTES || reader->at != reader->end)
    return false;
  *reader = wire_enter(reader, &field);
  return true;
}

/* {1: start, micros} */
static bool find_run(const struct finding *finding, struct wire_reader tuple) {
  uint64_t value;
  if (!enter_only(&tuple, Tuple_int64_values)) return false;
  for (int i = 0; i < 2; i++) {
    const uint8_t *start = tuple.at;
    tuple.at = varint_read(start, tuple.end, &value);
    if (!tuple.at || !find_number(finding, start, tuple.at, 1)) return false;
  }
  return tuple.at == tuple.end;
}

/* {1: device, 2: {1: run, 1: run ...}}, the field of which is at `at`. */
static bool find_runs(struct tf_model *model, const struct finding *finding, struct wire_reader reader,
                      const uint8_t *at, bool is_accelerator) {
  struct wire_field field;
  uint32_t lane;
  if (!wire_next(&reader, &field) || field.number != MapEntry_key || field.type != WIRE_BYTES ||
      !enter_only(&reader, MapEntry_value) ||
      !find_lane(model, (const char *)field.bytes, field.length, is_accelerator, &lane))
    return false;
  while (wire_next(&reader, &field)) {
    struct form_part *part = find_part(finding, is_accelerator ? PART_ACCELERATOR_RUN : PART_CPU_RUN, at);
    if (!part || field.number != ExecTime_times || field.type != WIRE_BYTES ||
        !find_run(finding, wire_enter(&reader, &field)))
      return false;
    part->lane = lane;
    part->count = 2;
  }
  return !reader.wrong;
}

/* A field of an execution, which was read from `at` on. */
static bool find_field(struct tf_model *model, const struct finding *finding, const struct wire_reader *reader,
                       const struct wire_field *field, const uint8_t *at) {
  bool is_number = field->number <= ExecProfile_latest_end_micros;
  struct form_part *part;
  if (!has_plain_tag(at, field) || field->type != (is_number ? WIRE_VARINT : WIRE_BYTES)) return false;
  switch (field->number) {
    case ExecProfile_run_count:
    case ExecProfile_all_start_micros:
    case ExecProfile_latest_end_micros:
      part = find_part_of_numbers(finding, at);
      if (!part || !find_number(finding, at + 1, reader->at, field->number)) return false;
      break;
    case ExecProfile_accelerator_execs:
    case ExecProfile_cpu_execs:
      return find_runs(model, finding, wire_enter(reader, field), at, field->number == ExecProfile_accelerator_execs);
    case ExecProfile_memory_execs:
      part = find_part(finding, PART_MEMORY, at);
      if (!part || !find_numbers(finding, wire_enter(reader, field), ExecMemory_allocator_bytes_in_use)) return false;
      break;
    case ExecProfile_allocations:
      part = find_part(finding, PART_ALLOCATION, at);
      if (!part || !find_numbers(finding, wire_enter(reader, field), AllocationRecord_alloc_bytes)) return false;
      break;
    default: allow_others(finding, field->bytes, field->length, 0); return true;
  }
  part->count = (uint8_t)(finding->form->number_count - part->first);
  return true;
}

/* {1: step, 2: execution}. False: it has no form, or there is no memory. */
static bool find_form(struct tf_model *model, struct wire_reader reader, struct exec_form *form) {
  struct finding finding = {form, reader.at};
  struct wire_field field;
  size_t length = (size_t)(reader.end - reader.at), count = (length + 7) / 8;
  form->number_count = form->part_count = 0;
  form->same[count - 1] = 0;
  memset(form->same, 0xff, length);
  if (!wire_next(&reader, &field) || field.number != MapEntry_key || field.type != WIRE_VARINT ||
      !has_plain_tag(finding.start, &field) || !find_number(&finding, finding.start + 1, reader.at, 1) ||
      !enter_only(&reader, MapEntry_value))
    return false;
  for (const uint8_t *at = reader.at; wire_next(&reader, &field); at = reader.at) {
    if (!find_field(model, &finding, &reader, &field, at)) return false;
  }
  if (reader.wrong) return false;
  memcpy(form->words, finding.start, count * 8);
  for (size_t i = 0; i < count; i++) form->words[i] &= form->same[i];
  for (unsigned i = form->number_count; i % 4 != 0; i++) form->at[i] = 0; /* numbers are read four at a time */
  form->length = (uint32_t)length;
  return true;
}

VECTOR_CLONES static bool has_form(const uint8_t *entry, const struct exec_form *form) {
  uint64_t differences = 0;
  for (size_t i = 0; i < (form->length + 7) / 8; i++) {
    uint64_t word;
    memcpy(&word, entry + 8 * i, sizeof word);
    differences |= (word & form->same[i]) ^ form->words[i];
  }
  return differences == 0;
}

/* As varint_join() of each. */
typedef uint64_t four_words __attribute__((vector_size(32)));
static VECTOR_INLINE void join_four(four_words *varints) {
  four_words words = *varints;
  words = (words & 0x7f007f007f007f00u) >> 1 | (words & 0x007f007f007f007fu);
  words = (words & 0x3fff00003fff0000u) >> 2 | (words & 0x00003fff00003fffu);
  *varints = (words & 0x0fffffff00000000u) >> 4 | (words & 0x000000000fffffffu);
}

VECTOR_CLONES static void get_numbers(const uint8_t *entry, const struct exec_form *form, int64_t *values) {
  for (unsigned i = 0; i < form->number_count; i += 4) {
    const uint16_t *at = form->at + i;
    four_words words = {load_u64(entry + at[0]), load_u64(entry + at[1]), load_u64(entry + at[2]),
                        load_u64(entry + at[3])},
               bits, high;
    memcpy(&bits, form->bits + i, sizeof bits);
    memcpy(&high, form->high + i, sizeof high);
    words &= bits;
    join_four(&words);
    words |= high;
    memcpy(values + i, &words, sizeof words);
  }
}

/* The form of an entry; NULL: none, or no memory (model->status). */
static const struct exec_form *get_form(struct tf_model *model, const struct wire_reader *entry) {
  size_t length = (size_t)(entry->end - entry->at);
  /* Up to eight bytes behind it are looked at. */
  if (length == 0 || length > FORM_BYTES || entry->limit - entry->end < 8) return NULL;
  if (!model->exec_forms && !(model->exec_forms = calloc(1, sizeof *model->exec_forms))) {
    tf_no_memory(model);
    return NULL;
  }
  struct exec_form *forms = model->exec_forms->forms[length % FORM_LENGTHS];
  for (int i = 0; i < FORMS_OF_LENGTH; i++) {
    if (forms[i].length == length && has_form(entry->at, &forms[i])) return &forms[i];
  }
  uint8_t *next = &model->exec_forms->next[length % FORM_LENGTHS];
  struct exec_form *form = &forms[*next];
  form->length = 0;
  if (!find_form(model, *entry, form)) return NULL;
  *next = (uint8_t)((*next + 1) % FORMS_OF_LENGTH);
  return form;
}

static inline bool take_part(struct tf_model *model, const struct wire_reader *entry, const struct exec_form *form,
                             const struct form_part *part, const int64_t *values, struct tf_exec *exec) {
  const uint8_t *fields = form->field + part->first;
  struct memory memory = {0};
  int64_t allocation[3] = {0, 0, 0};
  struct wire_reader place = *entry;
  place.at = entry->at + part->at;
  switch (part->kind) {
    case PART_NUMBERS:
      for (unsigned i = 0; i < part->count; i++) {
        place.at = entry->at + form->at[part->first + i] - 1; /* behind its tag */
        take_number(model, &place, fields[i], values[i], exec);
      }
      return true;
    case PART_CPU_RUN: return add_time(model, &place, exec, false, part->lane, values[0], values[1]);
    case PART_ACCELERATOR_RUN: return add_time(model, &place, exec, true, part->lane, values[0], values[1]);
    case PART_MEMORY:
      for (unsigned i = 0; i < part->count; i++) take_memory(model, &place, fields[i], values[i], &memory, exec);
      return end_memory(model, &memory, exec);
    case PART_ALLOCATION:
      for (unsigned i = 0; i < part->count; i++) allocation[fields[i]] = values[i];
      return tf_add_allocation(model, exec->node, false, allocation[1], allocation[2]);
  }
  return true;
}

static bool read_by_form(struct tf_model *model, const struct wire_reader *entry, const struct exec_form *form,
                         uint32_t node) {
  int64_t values[FORM_NUMBERS]; /* and what is read with the last ones */
  struct tf_exec *exec;         /* stays where it is: only the next execution adds one */
  get_numbers(entry->at, form, values);
  bool ok = tf_begin_step(model, values[0]) && tf_get_exec(model, node, &exec);
  for (unsigned i = 0; ok && i < form->part_count; i++)
    ok = take_part(model, entry, form, &form->parts[i], values + form->parts[i].first, exec);
  return ok;
}

bool tf_read_exec(struct tf_model *model, const struct wire_reader *outer, const struct wire_field *field,
                  uint32_t node) {
  struct wire_reader reader = wire_enter(outer, field);
  const struct exec_form *form = get_form(model, &reader);
  if (form) return read_by_form(model, &reader, form, node);
  if (model->status) return false;
  struct map_entry entry = read_map_entry(outer, field);
  return read_fields(model, &entry.value, wire_int64(&entry.key), node);
}
