/* emit_device.c: events with a duration of devices: kernels, copies and fills, and what waits for them. */
#include <math.h>

#include "derive/names/communication_names.h"
#include "read/json/emit.h"

/* The device and stream of a task of Ascend, which names no device: each process of its file is one. */
static struct place task_place(struct worker *w) {
  struct field *pid = &w->fields[KEY_PID];
  int64_t number;
  if (!has(w, KEY_DEVICE) && has(w, KEY_PID) && number_integer(pid, &number))
    *pid = (struct field){pid->text, pid->length, FIELD_INTEGER, false, 0, (int32_t)number, 0};
  return device_place(w, DEVICE_NPU, has(w, KEY_PHYSICAL_STREAM) ? KEY_PHYSICAL_STREAM : KEY_STREAM);
}

static uint32_t intern_copy(struct worker *w, const char *text) {
  if (w->is_dry) return 0;
  uint32_t index = text_intern_copy(&w->texts, text, (uint32_t)strlen(text), TEXT_PLAIN);
  if (index == INTERN_NONE) w->no_memory = true;
  return index;
}

void emit_kernel(struct worker *w, enum device_kind kind) {
  int64_t start, duration, grid[3], block[3];
  if (!take_span(w, &start, &duration)) return;
  uint32_t row = row_in(w, ROWS_kernels);
  if (row == UINT32_MAX) return;
  enum name_class name_class;
  SET(row, kernels_name, take_name(w, &name_class));
  struct place place = kind == DEVICE_NPU
                           ? task_place(w)
                           : device_place(w, kind, has(w, KEY_STREAM) ? KEY_STREAM : KEY_STREAM_ID);
  SET(row, kernels_device_id, place.device);
  SET(row, kernels_thread_id, place.lane);
  SET(row, kernels_start_ns, start);
  SET(row, kernels_dur_ns, duration);
  SET(row, kernels_correlation, take_either(w, KEY_CORRELATION, KEY_CONNECTION));
  SET(row, kernels_op_correlation, take_either(w, KEY_EXTERNAL_ID, KEY_OLD_EXTERNAL_ID));
  /* 0 means that it was not launched by a graph. */
  int64_t graph = take_integer(w, KEY_GRAPH_ID), node = take_integer(w, KEY_GRAPH_NODE_ID);
  if (graph != 0) SET(row, kernels_graph, graph);
  if (graph != 0 && node != 0) SET(row, kernels_graph_node, node);
  take_triple(w, KEY_GRID, grid);
  take_triple(w, KEY_BLOCK, block);
  SET(row, kernels_grid_x, grid[0]);
  SET(row, kernels_grid_y, grid[1]);
  SET(row, kernels_grid_z, grid[2]);
  SET(row, kernels_block_x, block[0]);
  SET(row, kernels_block_y, block[1]);
  SET(row, kernels_block_z, block[2]);
  SET(row, kernels_registers_per_thread, take_integer(w, KEY_REGISTERS));
  /* libkineto writes static and dynamic shared memory as one sum. */
  SET(row, kernels_dynamic_shared_bytes, take_integer(w, KEY_SHARED_MEMORY));
  SET(row, kernels_priority, take_integer(w, KEY_PRIORITY));
  SET(row, kernels_occupancy_ratio, take_real_within(w, KEY_OCCUPANCY, 0.01, 1));
  SET(row, kernels_blocks_per_multiprocessor, take_real_within(w, KEY_BLOCKS_PER_SM, 1, INFINITY));
  SET(row, kernels_warps_per_multiprocessor, take_real_within(w, KEY_WARPS_PER_SM, 1, INFINITY));
  if (peek_integer(w, KEY_QUEUED) == 0) taken(w, KEY_QUEUED); /* 0: not asked for */
  if (has(w, KEY_COLLECTIVE)) emit_collective(w, ROWS_kernels, row);
}

/* "Memcpy HtoD (Pageable -> Device)", of ROCm "CopyHostToDevice": direction and memories. Anything that is not found
** stays NULL. */
static int64_t find_direction(const char *text, size_t length) {
  static const struct {
    const char *text;
    int literal;
  } known[] = {{"HtoD", LITERAL_HtoD},         {"DtoH", LITERAL_DtoH},           {"DtoD", LITERAL_DtoD},
               {"PtoP", LITERAL_PtoP},         {"HtoH", LITERAL_HtoH},           {"HostToDevice", LITERAL_HtoD},
               {"DeviceToHost", LITERAL_DtoH}, {"DeviceToDevice", LITERAL_DtoD}, {"HostToHost", LITERAL_HtoH}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (memmem(text, length, known[i].text, strlen(known[i].text))) return known[i].literal;
  }
  return ROW_NULL;
}

static int64_t find_memory(const char *text, const char *end) {
  static const struct { const char *text; int literal; } known[] = {
      {"Pageable", LITERAL_pageable}, {"Pinned", LITERAL_pinned}, {"Device", LITERAL_device}, {"Array", LITERAL_array},
      {"Managed", LITERAL_managed}, {"Unified", LITERAL_managed}};
  while (text < end && *text == ' ') text++;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    size_t length = strlen(known[i].text);
    if ((size_t)(end - text) >= length && memcmp(text, known[i].text, length) == 0) return known[i].literal;
  }
  return ROW_NULL;
}

void emit_transfer(struct worker *w, enum device_kind device, bool is_copy) {
  int64_t start, duration;
  if (!take_span(w, &start, &duration)) return;
  uint32_t row = row_in(w, ROWS_transfers);
  if (row == UINT32_MAX) return;
  enum name_class name_class;
  SET(row, transfers_name, take_name(w, &name_class));
  SET(row, transfers_kind, is_copy ? LITERAL_memcpy : LITERAL_memset);
  struct place place = device == DEVICE_NPU ? task_place(w) : device_place(w, device, KEY_STREAM);
  SET(row, transfers_device_id, place.device);
  SET(row, transfers_thread_id, place.lane);
  SET(row, transfers_start_ns, start);
  SET(row, transfers_dur_ns, duration);
  SET(row, transfers_bytes, take_integer(w, KEY_BYTES));
  SET(row, transfers_bytes_per_second, take_real(w, KEY_BANDWIDTH, 1e9));
  SET(row, transfers_correlation, take_either(w, KEY_CORRELATION, KEY_CONNECTION));
  SET(row, transfers_op_correlation, take_either(w, KEY_EXTERNAL_ID, KEY_OLD_EXTERNAL_ID));
  const struct field *name = &w->fields[KEY_NAME], *kind = &w->fields[KEY_KIND];
  const char *end = has(w, KEY_NAME) ? name->text + name->length : NULL;
  if (!is_copy) {
    const char *open = has(w, KEY_NAME) ? memchr(name->text, '(', name->length) : NULL;
    if (open) SET(row, transfers_target_memory, find_memory(open + 1, end));
    SET(row, transfers_target_device_id, place.device);
    return;
  }
  int64_t direction = has(w, KEY_NAME) ? find_direction(name->text, name->length) : ROW_NULL;
  if (has(w, KEY_KIND) && kind->kind == FIELD_TEXT) { /* ROCm tells it apart from the name */
    int64_t told = find_direction(kind->text, kind->length);
    if (direction == ROW_NULL) direction = told;
    if (told != ROW_NULL && told == direction) taken(w, KEY_KIND);
  }
  SET(row, transfers_direction, direction);
  const char *open = has(w, KEY_NAME) ? memchr(name->text, '(', name->length) : NULL;
  const char *arrow = open ? memmem(open, (size_t)(end - open), "->", 2) : NULL;
  if (arrow) {
    SET(row, transfers_source_memory, find_memory(open + 1, arrow));
    SET(row, transfers_target_memory, find_memory(arrow + 2, end));
  }
  int64_t from = take_integer(w, KEY_FROM_DEVICE), to = take_integer(w, KEY_TO_DEVICE);
  bool reads_device = direction == LITERAL_DtoH || direction == LITERAL_DtoD;
  bool writes_device = direction == LITERAL_HtoD || direction == LITERAL_DtoD;
  if (from != ROW_NULL) SET(row, transfers_source_device_id, as_value(device_number(w, DEVICE_GPU, from)));
  else if (reads_device) SET(row, transfers_source_device_id, place.device);
  if (to != ROW_NULL) SET(row, transfers_target_device_id, as_value(device_number(w, DEVICE_GPU, to)));
  else if (writes_device) SET(row, transfers_target_device_id, place.device);
}

/* HCCL's engines exchange data beside the cores of an NPU: like copies that carry out a collective this is
** communication, and no kernel.  The row tells the numbers that it sends and their type. */
void emit_exchange(struct worker *w) {
  int64_t start, duration;
  if (!take_span(w, &start, &duration)) return;
  uint32_t row = row_in(w, ROWS_transfers);
  if (row == UINT32_MAX) return;
  const struct field *f = &w->fields[KEY_NAME];
  char text[200], operation[200];
  size_t length = f->length < sizeof text ? f->length : sizeof text - 1;
  memcpy(text, f->text, length);
  text[length] = 0;
  communication_operation(text, operation, sizeof operation);
  enum name_class name_class;
  SET(row, transfers_name, take_name(w, &name_class));
  SET(row, transfers_kind, LITERAL_exchange);
  struct place place = task_place(w);
  SET(row, transfers_device_id, place.device);
  SET(row, transfers_thread_id, place.lane);
  SET(row, transfers_start_ns, start);
  SET(row, transfers_dur_ns, duration);
  SET(row, transfers_correlation, take_integer(w, KEY_CONNECTION));
  struct collective found = {.row = row,
                             .rows = ROWS_transfers,
                             .name = intern_copy(w, operation),
                             .group = INTERN_NONE,
                             .ranks = INTERN_NONE,
                             .dtype = take_text_number(w, KEY_DATA_TYPE),
                             .group_size = ROW_NULL,
                             .in_elements = take_integer(w, KEY_ELEMENTS),
                             .out_elements = ROW_NULL,
                             .sequence = ROW_NULL,
                             .correlation = ROW_NULL};
  if (!w->is_dry) ADD_ITEM(w, collectives, found);
}

void emit_sync(struct worker *w, enum device_kind device, bool waits) {
  int64_t start, duration;
  if (!take_span(w, &start, &duration)) return;
  uint32_t row = row_in(w, ROWS_syncs);
  if (row == UINT32_MAX) return;
  const struct field *kind = &w->fields[KEY_SYNC_KIND];
  unsigned kind_key = KEY_SYNC_KIND;
  if (!has(w, KEY_SYNC_KIND) || kind->kind != FIELD_TEXT) kind = &w->fields[kind_key = KEY_NAME];
  static const struct { const char *text; int literal; } known[] = {{"Stream Wait Event", LITERAL_stream_wait},
      {"Stream Sync", LITERAL_stream}, {"Event Sync", LITERAL_event}, {"Context Sync", LITERAL_context},
      {"Device Sync", LITERAL_device}};
  for (size_t i = 0; i < sizeof known / sizeof *known && has(w, kind_key); i++) {
    if (!scan_key_is(kind, known[i].text)) continue;
    SET(row, syncs_kind, known[i].literal);
    taken(w, kind_key);
    if (has(w, KEY_NAME) && scan_key_is(&w->fields[KEY_NAME], known[i].text)) taken(w, KEY_NAME);
  }
  if (waits) SET(row, syncs_kind, LITERAL_stream_wait);
  struct place place = device == DEVICE_NPU ? task_place(w) : device_place(w, device, KEY_STREAM);
  SET(row, syncs_device_id, place.device);
  SET(row, syncs_thread_id, place.lane);
  SET(row, syncs_start_ns, start);
  SET(row, syncs_dur_ns, duration);
  SET(row, syncs_event, take_integer(w, KEY_WAIT_EVENT));
  SET(row, syncs_correlation, take_integer(w, KEY_CORRELATION));
  SET(row, syncs_op_correlation, take_integer(w, KEY_EXTERNAL_ID));
  int64_t stream = take_integer(w, KEY_WAIT_STREAM), call = take_integer(w, KEY_WAIT_CORRELATION);
  if (stream != -1 && stream != UINT32_MAX) SET(row, syncs_wait_stream, stream);
  if (call != -1 && call != UINT32_MAX) SET(row, syncs_wait_correlation, call);
}
