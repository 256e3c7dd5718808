/* emit_device.c: rows of an event on a line of a device: kernels, transfers, counters, overheads.
**
** Streams of GPUs have copies and fills by their names, and kernels else.  Their durations are the source's, in whole
** nanoseconds, so that sums are those of other tools.  Kernels of one run of an instruction share its operations.
**
** The ops of a TPU are kernels of the op that the framework named, of its category as type; what goes on beside them
** are kernels too where it is a collective, else copies.  Runs of programs are launches.
*/
#include "read/xplane/batch.h"

#include <string.h>

#define SET(row, column, x) batch_set(b, ROW_##column, row, x)

static int64_t literal(const struct batch *b, enum xplane_literal which) { return b->listing->literals[which]; }

static int64_t name_of_activity(const struct batch *b) {
  const struct event_name *name = b->event.name;
  return name && name->name ? (int64_t)name->name : ROW_NULL;
}

static int64_t known(int64_t detail) { return detail == DETAIL_NONE ? ROW_NULL : detail; }

static int64_t real_bits(double real) {
  int64_t bits;
  memcpy(&bits, &real, sizeof bits);
  return bits;
}

/* ---- kernels ---- */

/* The op that the annotation around the launch names, the outermost; else what XLA made its instruction of. */
static void set_op(struct batch *b, uint32_t row, const struct hlo_op *made_of) {
  struct text_part text, name, type;
  const struct event_field *field = &b->event.fields[KEY_TF_OP];
  bool is_op = event_peek_text(b, KEY_TF_OP, &text) && text.length;
  if (is_op && field->form == FIELD_REFERENCE && b->names->stats.items[field->number].op_name) {
    const struct stat_name *stat = &b->names->stats.items[field->number];
    event_taken(b, KEY_TF_OP);
    SET(row, kernels_op_name, stat->op_name);
    SET(row, kernels_op_type, stat->op_type ? (int64_t)stat->op_type : ROW_NULL);
    return;
  }
  if (is_op) {
    text = xplane_outermost(text.bytes, text.length);
    enum op_kind kind = xplane_op_name(text.bytes, text.length, &name, &type);
    if (kind == OP_NONE || kind == OP_DATASET || kind == OP_COPY) type.length = 0;
    event_taken(b, KEY_TF_OP);
  } else if (made_of && made_of->framework_name) {
    SET(row, kernels_op_name, made_of->framework_name);
    SET(row, kernels_op_type, made_of->op_type ? (int64_t)made_of->op_type : ROW_NULL);
    return;
  } else if (event_peek_text(b, KEY_HLO_OP, &text) && text.length) {
    name = xplane_innermost(text.bytes, text.length);
    type.length = 0;
  } else {
    return;
  }
  SET(row, kernels_op_name, batch_text(b, name));
  SET(row, kernels_op_type, batch_text(b, type));
}

/* Shares a number by the kernels' durations; the last one has what rounding leaves. */
static void share_count(struct batch *b, unsigned slot, int64_t whole) {
  const struct instruction_run *run = &b->instruction_run;
  double all_ns = 0;
  int64_t left = whole;
  if (whole == ROW_NULL) return;
  for (uint32_t i = 0; i < run->count; i++) all_ns += (double)run->durations[i];
  for (uint32_t i = 0; i < run->count; i++) {
    double share = all_ns > 0 ? (double)run->durations[i] / all_ns : 1.0 / run->count;
    int64_t mine = i + 1 == run->count ? left : (int64_t)((double)whole * share);
    if (mine > left) mine = left;
    batch_set(b, slot, run->first_row + i, mine);
    left -= mine;
  }
}

/* What XLA's analysis says of an instruction is of all kernels together that one run of it launches. */
void emit_device_end(struct batch *b) {
  struct instruction_run *run = &b->instruction_run;
  if (!run->op) return;
  share_count(b, ROW_kernels_flops, run->op->flops);
  share_count(b, ROW_kernels_bytes_accessed, run->op->bytes_accessed);
  run->op = NULL;
}

/* A kernel that the run has had already is the first of the next one. (An instruction that launches one kernel several
** times, as some transforms do, so looks like several runs of it: traces do not tell these apart.) */
static bool goes_on(const struct batch *b, const struct hlo_op *made_of, struct text_part instruction, uint32_t row) {
  const struct instruction_run *run = &b->instruction_run;
  bool is_same = run->op == made_of && run->line == b->line && run->count < INSTRUCTION_KERNELS &&
                 run->first_row + run->count == row && run->instruction.length == instruction.length &&
                 memcmp(run->instruction.bytes, instruction.bytes, instruction.length) == 0;
  for (uint32_t i = 0; i < run->count && is_same; i++) is_same = run->names[i] != b->event.name;
  return is_same;
}

static void set_costs(struct batch *b, uint32_t row, const struct hlo_op *made_of) {
  struct text_part instruction;
  int64_t flops = event_count(b, KEY_FLOPS), bytes = event_count(b, KEY_BYTES_ACCESSED);
  bool is_told = flops != ROW_NULL || bytes != ROW_NULL || !made_of || !event_peek_text(b, KEY_HLO_OP, &instruction);
  struct instruction_run *run = &b->instruction_run;
  if (b->is_dry) return;
  if (is_told || !goes_on(b, made_of, instruction, row)) emit_device_end(b);
  if (is_told) {
    SET(row, kernels_flops, flops == ROW_NULL && made_of ? made_of->flops : flops);
    SET(row, kernels_bytes_accessed, bytes == ROW_NULL && made_of ? made_of->bytes_accessed : bytes);
    return;
  }
  if (!run->op)
    *run = (struct instruction_run){.op = made_of, .line = b->line, .instruction = instruction, .first_row = row};
  run->names[run->count] = b->event.name;
  run->durations[run->count++] = b->event.dur_ns > 0 ? b->event.dur_ns : 0;
}

static void emit_kernel(struct batch *b) {
  uint32_t row = batch_row(b, ROWS_kernels);
  if (row == UINT32_MAX) return;
  SET(row, kernels_name, name_of_activity(b));
  SET(row, kernels_device_id, b->line->device);
  SET(row, kernels_thread_id, b->line->thread);
  SET(row, kernels_start_ns, b->event.start_ns);
  SET(row, kernels_dur_ns, b->event.dur_ns);
  SET(row, kernels_correlation, event_integer(b, KEY_CORRELATION));
  SET(row, kernels_equation, event_text(b, KEY_EQUATION));
  SET(row, kernels_graph, event_integer(b, KEY_GRAPH_ID));
  SET(row, kernels_graph_node, event_integer(b, KEY_GRAPH_NODE));
  SET(row, kernels_hlo_module, event_text(b, KEY_HLO_MODULE));
  SET(row, kernels_hlo_op, event_text(b, KEY_HLO_OP));
  SET(row, kernels_program, event_integer(b, KEY_PROGRAM));
  const struct hlo_op *made_of = event_hlo_op(b);
  if (made_of) SET(row, kernels_hlo_instruction_id, made_of->instruction);
  set_costs(b, row, made_of);
  SET(row, kernels_theoretical_occupancy_ratio, event_real(b, KEY_THEORETICAL_OCCUPANCY, 0.01));
  set_op(b, row, made_of);
  const struct xplane_details *details = event_details(b, KEY_KERNEL_DETAILS);
  if (!details) return;
  SET(row, kernels_registers_per_thread, known(details->registers));
  SET(row, kernels_static_shared_bytes, known(details->static_shared));
  SET(row, kernels_dynamic_shared_bytes, known(details->dynamic_shared));
  SET(row, kernels_grid_x, known(details->grid[0]));
  SET(row, kernels_grid_y, known(details->grid[1]));
  SET(row, kernels_grid_z, known(details->grid[2]));
  SET(row, kernels_block_x, known(details->block[0]));
  SET(row, kernels_block_y, known(details->block[1]));
  SET(row, kernels_block_z, known(details->block[2]));
  /* That of the launch on an empty multiprocessor, which the other stat has as well. */
  if (details->occupancy >= 0) SET(row, kernels_theoretical_occupancy_ratio, real_bits(details->occupancy / 100));
}

/* ---- of TPUs ---- */

static bool has_part(struct text_part text, const char *part) {
  return text.length && memmem(text.bytes, text.length, part, strlen(part));
}

static bool is_collective(struct text_part text) {
  static const char *const parts[] = {"all-reduce", "all-gather", "all-to-all",         "reduce-scatter",
                                      "collective", "send",       "ragged-all-to-all", "recv"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (has_part(text, parts[i])) return true;
  }
  return false;
}

/* By the category that XLA gives its instructions; "host send" and "host recv" exchange with the host. */
static enum xplane_literal kind_of_category(struct text_part category) {
  if (has_part(category, "infeed") || has_part(category, "host recv")) return LITERAL_infeed;
  if (has_part(category, "outfeed") || has_part(category, "host send")) return LITERAL_outfeed;
  return is_collective(category) ? LITERAL_communication : LITERAL_compute;
}

/* The short name, fusion.3; its expression in HLO, which is the name, is in attributes. */
static int64_t name_of_instruction(const struct batch *b) {
  const struct event_name *name = b->event.name;
  return name && name->display ? (int64_t)name->display : name_of_activity(b);
}

/* The device's own measure counts, which is not stretched to the host's clock. */
static int64_t duration_on_device(struct batch *b) {
  int64_t ps = event_count(b, KEY_DEVICE_DURATION);
  return ps == ROW_NULL ? b->event.dur_ns : ps / 1000;
}

static struct text_part text_at(const struct batch *b, enum xplane_key key) {
  struct text_part text;
  return event_peek_text(b, key, &text) ? text : (struct text_part){"", 0};
}

/* The instruction by its short name and the number of its program. */
static void set_instruction(struct batch *b, uint32_t row) {
  const struct event_field *program = &b->event.fields[KEY_PROGRAM];
  const struct event_name *name = b->event.name;
  bool is_number = event_has(b, KEY_PROGRAM) && (program->form == FIELD_INTEGER || program->form == FIELD_UNSIGNED);
  if (!is_number || !name || !name->display) return;
  struct text_part instruction = {pool_text(b->listing->pool, name->display),
                                  pool_length(b->listing->pool, name->display)};
  const struct hlo_op *made_of =
      hlo_find(b->listing->programs, &program->number, (struct text_part){"", 0}, instruction);
  if (made_of) SET(row, kernels_hlo_instruction_id, made_of->instruction);
}

static void emit_instruction(struct batch *b) {
  uint32_t row = batch_row(b, ROWS_kernels);
  if (row == UINT32_MAX) return;
  int64_t name = name_of_instruction(b), category = event_text(b, KEY_HLO_CATEGORY);
  int64_t framework = event_op_name(b);
  int64_t flops = event_count(b, KEY_FLOPS), of_model = event_count(b, KEY_MODEL_FLOPS);
  SET(row, kernels_name, name);
  SET(row, kernels_kind, literal(b, kind_of_category(text_at(b, KEY_HLO_CATEGORY))));
  SET(row, kernels_device_id, b->line->device);
  SET(row, kernels_thread_id, b->line->thread);
  SET(row, kernels_start_ns, b->event.start_ns);
  SET(row, kernels_dur_ns, duration_on_device(b));
  SET(row, kernels_op_name, framework == ROW_NULL ? name : framework);
  SET(row, kernels_op_type, category);
  SET(row, kernels_hlo_op, name);
  set_instruction(b, row);
  SET(row, kernels_program, event_integer(b, KEY_PROGRAM));
  SET(row, kernels_flops, of_model == ROW_NULL ? flops : of_model);
  SET(row, kernels_bytes_accessed, event_count(b, KEY_BYTES_ACCESSED));
}

static void emit_program(struct batch *b) {
  uint32_t row = batch_row(b, ROWS_graph_launches);
  if (row == UINT32_MAX) return;
  SET(row, graph_launches_name, name_of_activity(b));
  SET(row, graph_launches_graph, event_integer(b, KEY_PROGRAM));
  SET(row, graph_launches_device_id, b->line->device);
  SET(row, graph_launches_thread_id, b->line->thread);
  SET(row, graph_launches_start_ns, b->event.start_ns);
  SET(row, graph_launches_dur_ns, b->event.dur_ns);
  SET(row, graph_launches_correlation, event_integer(b, KEY_RUN));
}

/* What is copied beside the ops stays on the device or moves to the host's memory; which way is not told. */
static void emit_asynchronous(struct batch *b) {
  int64_t name = name_of_instruction(b);
  uint32_t row;
  struct text_part text = {"", 0}, category = text_at(b, KEY_HLO_CATEGORY);
  if (name != ROW_NULL)
    text = (struct text_part){pool_text(b->listing->pool, (string_id)name),
                              pool_length(b->listing->pool, (string_id)name)};
  if (is_collective(text) || is_collective(category)) {
    emit_instruction(b);
    if (!b->rows[ROWS_kernels].count || b->no_memory) return;
    row = b->rows[ROWS_kernels].count - 1;
    SET(row, kernels_kind, literal(b, LITERAL_communication));
    SET(row, kernels_op_name, ROW_NULL); /* the ops that start and await it are those of the program */
    return;
  }
  row = batch_row(b, ROWS_transfers);
  if (row == UINT32_MAX) return;
  SET(row, transfers_name, name);
  SET(row, transfers_kind, literal(b, LITERAL_memcpy));
  SET(row, transfers_device_id, b->line->device);
  SET(row, transfers_thread_id, b->line->thread);
  SET(row, transfers_start_ns, b->event.start_ns);
  SET(row, transfers_dur_ns, duration_on_device(b));
  SET(row, transfers_bytes, event_count(b, KEY_BYTES_ACCESSED));
}

/* ---- transfers ---- */

static int64_t direction_of(const struct batch *b) {
  static const struct {
    const char *text;
    enum xplane_literal direction;
  } directions[] = {{"H2D", LITERAL_HtoD}, {"D2H", LITERAL_DtoH}, {"D2D", LITERAL_DtoD}, {"P2P", LITERAL_PtoP},
                    {"H2H", LITERAL_HtoH}, {"HToD", LITERAL_HtoD}, {"DToH", LITERAL_DtoH}, {"DToD", LITERAL_DtoD},
                    {"HToH", LITERAL_HtoH}};
  int64_t id = name_of_activity(b);
  const char *name = id == ROW_NULL ? "" : pool_text(b->listing->pool, (string_id)id);
  for (size_t i = 0; i < sizeof directions / sizeof *directions; i++) {
    if (strstr(name, directions[i].text)) return literal(b, directions[i].direction);
  }
  return ROW_NULL;
}

static int64_t memory_of(struct batch *b, struct text_part kind) {
  static const enum xplane_literal kinds[] = {LITERAL_pageable, LITERAL_pinned, LITERAL_device, LITERAL_array,
                                              LITERAL_managed};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    const char *text = pool_text(b->listing->pool, (string_id)literal(b, kinds[i]));
    if (kind.length == strlen(text) && memcmp(kind.bytes, text, kind.length) == 0) return literal(b, kinds[i]);
  }
  return batch_text(b, kind);
}

static int64_t device_number(const struct batch *b, int64_t number) {
  return number >= 0 && (uint64_t)number < b->listing->device_count ? b->listing->devices[number] : ROW_NULL;
}

static void emit_transfer(struct batch *b, bool is_copy) {
  uint32_t row = batch_row(b, ROWS_transfers);
  if (row == UINT32_MAX) return;
  int64_t direction = is_copy ? direction_of(b) : ROW_NULL;
  SET(row, transfers_name, name_of_activity(b));
  SET(row, transfers_kind, literal(b, is_copy ? LITERAL_memcpy : LITERAL_memset));
  SET(row, transfers_direction, direction);
  SET(row, transfers_device_id, b->line->device);
  SET(row, transfers_thread_id, b->line->thread);
  SET(row, transfers_start_ns, b->event.start_ns);
  SET(row, transfers_dur_ns, b->event.dur_ns);
  SET(row, transfers_correlation, event_integer(b, KEY_CORRELATION));
  bool reads_device = direction == literal(b, LITERAL_DtoH) || direction == literal(b, LITERAL_DtoD);
  bool writes_device = !is_copy || direction == literal(b, LITERAL_HtoD) || direction == literal(b, LITERAL_DtoD);
  if (reads_device || direction == literal(b, LITERAL_PtoP)) SET(row, transfers_source_device_id, b->line->device);
  if (writes_device) SET(row, transfers_target_device_id, b->line->device);
  const struct xplane_details *details = event_details(b, is_copy ? KEY_COPY_DETAILS : KEY_FILL_DETAILS);
  if (!details) return;
  SET(row, transfers_bytes, known(details->bytes));
  if (details->bytes >= 0 && b->event.dur_ns > 0)
    SET(row, transfers_bytes_per_second, real_bits(1e9 * (double)details->bytes / (double)b->event.dur_ns));
  SET(row, transfers_is_async, known(details->is_async));
  SET(row, transfers_source_memory, memory_of(b, details->source_memory));
  SET(row, transfers_target_memory, memory_of(b, is_copy ? details->target_memory : details->memory));
  if (direction == literal(b, LITERAL_PtoP) && details->destination != DETAIL_NONE)
    SET(row, transfers_target_device_id, device_number(b, details->destination));
}

/* ---- the other lines ---- */

static void emit_counter(struct batch *b) {
  uint32_t row = batch_row(b, ROWS_counters);
  if (row == UINT32_MAX) return;
  SET(row, counters_name, name_of_activity(b));
  SET(row, counters_device_id, b->line->device);
  SET(row, counters_thread_id, b->line->thread);
  SET(row, counters_time_ns, b->event.start_ns);
  SET(row, counters_value, event_real(b, KEY_COUNTER_VALUE, 1));
}

static void emit_overhead(struct batch *b) {
  uint32_t row = batch_row(b, ROWS_overheads);
  if (row == UINT32_MAX) return;
  SET(row, overheads_kind, name_of_activity(b));
  SET(row, overheads_thread_id, b->line->thread);
  SET(row, overheads_start_ns, b->event.start_ns);
  SET(row, overheads_dur_ns, b->event.dur_ns);
}

void emit_device(struct batch *b) {
  const struct event_name *name = b->event.name;
  enum event_class kind = name ? name->kind : EVENT_PLAIN;
  bool has_details = event_has(b, KEY_KERNEL_DETAILS);
  if (b->line->role == LINE_OPS) emit_instruction(b);
  else if (b->line->role == LINE_PROGRAMS) emit_program(b);
  else if (b->line->role == LINE_ASYNC) emit_asynchronous(b);
  else if (b->is_counters) emit_counter(b);
  else if (b->is_overhead) emit_overhead(b);
  else if (kind == EVENT_COPY && !has_details) emit_transfer(b, true);
  else if (kind == EVENT_FILL && !has_details) emit_transfer(b, false);
  else emit_kernel(b);
}
