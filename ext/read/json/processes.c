/* processes.c: see processes.h. */
#include "read/json/processes.h"

#include <stdlib.h>
#include <string.h>

#include "read/json/trace.h"
#include "read/rows/time_faults.h"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* How many digits a text ends with, or begins with. */
static size_t digits_at_end(const char *text, size_t length) {
  size_t digits = 0;
  while (digits < length && is_digit(text[length - 1 - digits])) digits++;
  return digits;
}

static size_t digits_at_start(const char *text, size_t length) {
  size_t digits = 0;
  while (digits < length && is_digit(text[digits])) digits++;
  return digits;
}

/* What stands beside the number of a pid; false: there is no number there, or nothing beside it. */
static bool part_of_text(const char *text, size_t length, bool is_behind, struct trace_part *part) {
  size_t digits = is_behind ? digits_at_start(text, length) : digits_at_end(text, length), rest = length - digits;
  *part = (struct trace_part){.length = (uint8_t)rest, .is_behind = is_behind, .rank = -1};
  if (!digits || digits > 18 || !rest || rest >= PART_TEXT) return false;
  memcpy(part->text, is_behind ? text + digits : text, rest);
  return true;
}

bool part_takes(const struct trace_part *part, struct field *pid, bool has_pid) {
  if (!has_pid || pid->kind != FIELD_TEXT) return part->is_first;
  bool is_longer = pid->length > part->length;
  const char *own = part->is_behind ? pid->text + pid->length - part->length : pid->text;
  if (!is_longer || memcmp(own, part->text, part->length) != 0) {
    struct trace_part other;
    return part->is_first && !part_of_text(pid->text, pid->length, part->is_behind, &other);
  }
  if (!part->is_behind) pid->text += part->length;
  pid->length -= part->length;
  return true;
}

/* The only number in a text; -1: there is none, or there are several. */
static int64_t only_number(const char *text, size_t length) {
  int64_t number = -1;
  for (size_t i = 0; i < length;) {
    size_t digits = digits_at_start(text + i, length - i);
    if (!digits) {
      i++;
      continue;
    }
    if (number >= 0 || digits > 9) return -1;
    number = 0;
    for (size_t k = 0; k < digits; k++) number = number * 10 + (text[i + k] - '0');
    i += digits;
  }
  return number;
}

/* Whether two texts differ in their digits alone. */
static bool differ_in_digits(const struct trace_part *a, const struct trace_part *b) {
  size_t i = 0, k = 0;
  for (;;) {
    while (i < a->length && is_digit(a->text[i])) i++;
    while (k < b->length && is_digit(b->text[k])) k++;
    if (i == a->length || k == b->length) return i == a->length && k == b->length;
    if (a->text[i++] != b->text[k++]) return false;
  }
}

LIST_NAMED(part_list, struct trace_part);

/* The parts of all pids, in the order in which they first appear; none where they have not all the same form. */
static bool list_parts(const struct trace *trace, bool is_behind, struct part_list *parts) {
  const struct lane_info *infos = trace->lane_infos.items;
  for (size_t lane = 0; lane < trace->lane_infos.count; lane++) {
    const char *text = infos[lane].pid_text ? pool_text(trace->pool, infos[lane].pid_text) : NULL;
    struct trace_part part;
    if (!text || !part_of_text(text, pool_length(trace->pool, infos[lane].pid_text), is_behind, &part)) continue;
    size_t i = 0;
    for (; i < parts->count; i++) {
      if (parts->items[i].length == part.length && !memcmp(parts->items[i].text, part.text, part.length)) break;
    }
    if (i < parts->count) continue;
    bool is_alike = !parts->count || differ_in_digits(&parts->items[0], &part);
    if (!is_alike || parts->count == MAXIMUM_PARTS) {
      parts->count = 0;
      return true;
    }
    struct trace_part *item = list_add(parts);
    if (!item) return false;
    *item = part;
    item->is_first = parts->count == 1;
    item->rank = only_number(part.text, part.length);
  }
  return true;
}

enum tfprof_status parts_find(const struct trace *trace, struct trace_part **parts, uint32_t *count) {
  struct part_list lists[2] = {{0}, {0}};
  *parts = NULL;
  *count = 0;
  bool is_profile = trace->rows[ROWS_ops] > trace->tensorflow_count || trace->rows[ROWS_kernels] ||
                    trace->rows[ROWS_api_calls];
  if (!is_profile) return TFPROF_OK; /* what pids are in any other trace is not known */
  if (!list_parts(trace, false, &lists[0]) || !list_parts(trace, true, &lists[1])) {
    list_free(&lists[0]);
    list_free(&lists[1]);
    return TFPROF_NO_MEMORY;
  }
  bool has_behind = lists[1].count > 1 && (lists[0].count < 2 || lists[1].count < lists[0].count);
  struct part_list *taken = &lists[has_behind];
  list_free(&lists[!has_behind]);
  if (taken->count < 2) {
    list_free(taken);
    return TFPROF_OK;
  }
  *parts = taken->items;
  *count = (uint32_t)taken->count;
  return TFPROF_OK;
}

/* ---- several processes that only numbers tell apart ---- */

enum { SEVERAL = UINT32_MAX - 1 };

struct owners { /* which process has a number */
  struct row_map map; /* values: the process, or SEVERAL */
};

/* Enters the numbers of the rows of a host table. `processes` by lane, INTERN_NONE: none. */
static bool enter_numbers(struct owners *owners, const struct profile_table *table, unsigned thread, unsigned number,
                          const uint32_t *processes, size_t lanes) {
  for (size_t s = 0; s < table->segment_count; s++) {
    int64_t *threads = segment_numbers(table->segments[s], thread);
    int64_t *numbers = segment_numbers(table->segments[s], number);
    bool ok = threads && numbers;
    for (uint32_t row = 0; ok && row < table->segments[s]->rows; row++) {
      bool has_process = threads[row] >= 0 && (uint64_t)threads[row] < lanes;
      if (!has_process || numbers[row] == ROW_NULL || processes[threads[row]] == INTERN_NONE) continue;
      uint32_t before = owners->map.count;
      uint32_t at = row_map_number(&owners->map, (struct row_key){{(uint64_t)numbers[row], 0, 0}});
      ok = at != INTERN_NONE;
      if (!ok) break;
      uint32_t process = processes[threads[row]];
      if (at == before) owners->map.values[at] = process;
      else if (owners->map.values[at] != process) owners->map.values[at] = SEVERAL;
    }
    free(threads);
    free(numbers);
    if (!ok) return false;
  }
  return true;
}

/* Numbers of rows of a device that several processes have become NULL. */
static bool part_numbers(struct owners *owners, struct profile_table *table, unsigned column, uint64_t *parted) {
  for (size_t s = 0; s < table->segment_count; s++) {
    struct segment *segment = table->segments[s];
    if (!segment->columns[column]) continue;
    int64_t *numbers = segment_numbers(segment, column);
    bool ok = numbers != NULL, is_changed = false;
    for (uint32_t row = 0; ok && row < segment->rows; row++) {
      if (numbers[row] == ROW_NULL) continue;
      uint32_t before = owners->map.count;
      uint32_t at = row_map_number(&owners->map, (struct row_key){{(uint64_t)numbers[row], 0, 0}});
      ok = at != INTERN_NONE;
      if (!ok) break;
      if (at == before) owners->map.values[at] = INTERN_NONE;
      if (owners->map.values[at] != SEVERAL) continue;
      numbers[row] = ROW_NULL;
      is_changed = true;
      ++*parted;
    }
    if (ok && is_changed) ok = segment_change(segment, column, numbers);
    free(numbers);
    if (!ok) return false;
  }
  return true;
}

/* The process of each lane of the host, by its pid; their number. */
static uint32_t number_processes(const struct trace *trace, struct row_map *pids, uint32_t *processes) {
  for (uint32_t lane = 0; lane < trace->lane_infos.count; lane++) {
    const struct row_key *key = &trace->lanes.keys[lane];
    bool is_host = (key->words[0] & ~(uint64_t)LANE_TID_IS_TEXT) == LANE_HOST && (int64_t)key->words[1] > 0;
    processes[lane] = is_host ? row_map_number(pids, (struct row_key){{key->words[1], 0, 0}}) : INTERN_NONE;
  }
  return pids->count;
}

enum tfprof_status processes_part_links(const struct trace *trace, struct profile *profile) {
  static const struct {
    unsigned table, call, op;
  } devices[] = {{TABLE_kernels, COLUMN_kernels_correlation, COLUMN_kernels_op_correlation},
                 {TABLE_transfers, COLUMN_transfers_correlation, COLUMN_transfers_op_correlation},
                 {TABLE_syncs, COLUMN_syncs_correlation, COLUMN_syncs_op_correlation}};
  struct row_map pids = {0};
  struct owners calls = {{0}}, ops = {{0}};
  size_t lanes = trace->lane_infos.count;
  uint32_t *processes = malloc((lanes + 1) * sizeof *processes);
  uint64_t parted = 0;
  bool ok = processes != NULL;
  if (ok && number_processes(trace, &pids, processes) > 1) {
    ok = enter_numbers(&calls, &profile->tables[TABLE_api_calls], COLUMN_api_calls_thread_id,
                       COLUMN_api_calls_correlation, processes, lanes) &&
         enter_numbers(&ops, &profile->tables[TABLE_ops], COLUMN_ops_thread_id, COLUMN_ops_correlation, processes,
                       lanes);
    for (size_t i = 0; i < sizeof devices / sizeof *devices && ok; i++) {
      struct profile_table *table = &profile->tables[devices[i].table];
      ok = part_numbers(&calls, table, devices[i].call, &parted) && part_numbers(&ops, table, devices[i].op, &parted);
    }
  }
  if (ok && parted) {
    profile_diagnose(profile, "warning", "several_processes", (int64_t)parted, -1, -1,
                     "the file holds %u processes, whose calls and ops have the same numbers: what ran on devices is "
                     "linked to none of them; open the file of each process instead", pids.count);
  }
  free(processes);
  row_map_free(&pids);
  row_map_free(&calls.map);
  row_map_free(&ops.map);
  return ok ? TFPROF_OK : TFPROF_NO_MEMORY;
}
