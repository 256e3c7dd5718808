/* processes.c: see processes.h. */
#include "read/json/processes.h"

#include <stdlib.h>
#include <string.h>

#include "read/json/number.h"
#include "read/json/pids.h"
#include "read/json/sections.h"
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

bool part_takes(const struct trace_part *part, struct field *pid, bool has_pid, uint64_t offset) {
  if (part->is_section) return offset >= part->from && offset < part->until;
  if (part->owners) {
    int64_t number = 0;
    bool is_number = has_pid && number_integer(pid, &number);
    return pids_take(part, number, is_number, offset);
  }
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

/* Of 1000_rank0 either number may be the pid: ranks are smaller. */
static int64_t largest_rank(const struct part_list *parts) {
  int64_t largest = -1;
  for (size_t i = 0; i < parts->count; i++) {
    int64_t rank = parts->items[i].rank;
    if (rank < 0) return INT64_MAX;
    if (rank > largest) largest = rank;
  }
  return largest;
}

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

/* How many processes have ops, or calls, by numeric pids. */
static uint32_t count_processes(const struct trace *trace) {
  int64_t first = -1;
  for (uint32_t lane = 0; lane < trace->lane_infos.count; lane++) {
    const struct row_key *key = &trace->lanes.keys[lane];
    bool is_host = (key->words[0] & ~(uint64_t)LANE_TID_IS_TEXT) == LANE_HOST && (int64_t)key->words[1] > 0;
    if (!is_host) continue;
    if (first >= 0 && first != (int64_t)key->words[1]) return 2;
    first = (int64_t)key->words[1];
  }
  return first >= 0;
}

/* Of pids that are numbers. */
static enum tfprof_status find_sections(struct trace *trace, struct trace_part **parts, uint32_t *count) {
  if (!trace->numbers_repeat && count_processes(trace) < 2) return TFPROF_OK;
  enum tfprof_status status = sections_find(trace, parts, count);
  if (!status && !*count) status = pids_find(trace, parts, count);
  trace->has_repeats = trace->numbers_repeat && !*count;
  return status;
}

enum tfprof_status parts_find(struct trace *trace, struct trace_part **parts, uint32_t *count) {
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
  bool is_tie = lists[0].count == lists[1].count && largest_rank(&lists[1]) < largest_rank(&lists[0]);
  bool has_behind = lists[1].count > 1 && (lists[0].count < 2 || lists[1].count < lists[0].count || is_tie);
  struct part_list *taken = &lists[has_behind];
  list_free(&lists[!has_behind]);
  if (taken->count < 2) {
    list_free(taken);
    return find_sections(trace, parts, count);
  }
  *parts = taken->items;
  *count = (uint32_t)taken->count;
  for (uint32_t i = 0; i < *count; i++) {
    (*parts)[i].number = i;
    (*parts)[i].count = *count;
  }
  return TFPROF_OK;
}

void parts_free(struct trace_part *parts, uint32_t count) {
  if (count) pids_free(parts->owners);
  free(parts);
}

/* ---- several processes that nothing tells apart ---- */

struct holder { uint32_t lane; int64_t start, end, name; bool is_several; }; /* the first row of a number */
struct holders {
  struct row_map map; /* numbers */
  LIST(struct holder) rows;
};

struct number_columns { unsigned table, thread, number, start, duration, name; };

/* Whether two rows of one number may be one call or op: a runtime's call and the driver's below it, of another name, or
** a mark and an op in it. Processes that run in step have the same at the same time, or one within the other. */
static bool may_be_one(const struct profile *profile, unsigned table, const struct holder *a, const struct holder *b) {
  bool is_within = b->start >= a->start && b->end <= a->end, is_around = b->start <= a->start && b->end >= a->end;
  if (a->lane != b->lane || !(is_within || is_around) || a->name == b->name) return false;
  if (table == TABLE_api_calls) return true;
  const struct pool *pool = store_pool(profile->store); /* of ops the categories stand for names */
  return (a->name > 0 && strcmp(pool_text(pool, (string_id)a->name), "user") == 0) ||
         (b->name > 0 && strcmp(pool_text(pool, (string_id)b->name), "user") == 0);
}

/* Enters the numbers of the rows of a host table. */
static bool enter_numbers(struct holders *holders, const struct profile *profile,
                          const struct number_columns *columns) {
  const struct profile_table *table = &profile->tables[columns->table];
  for (size_t s = 0; s < table->segment_count; s++) {
    const struct segment *segment = table->segments[s];
    int64_t *lanes = segment_numbers(segment, columns->thread), *starts = segment_numbers(segment, columns->start);
    int64_t *numbers = segment_numbers(segment, columns->number), *names = segment_numbers(segment, columns->name);
    int64_t *durations = segment_numbers(segment, columns->duration);
    bool ok = lanes && numbers && starts && durations && names;
    for (uint32_t row = 0; ok && row < segment->rows; row++) {
      if (numbers[row] == ROW_NULL || numbers[row] <= 0 || starts[row] == ROW_NULL) continue;
      int64_t end = starts[row] + (durations[row] == ROW_NULL ? 0 : durations[row]);
      struct holder own = {(uint32_t)lanes[row], starts[row], end, names[row], false};
      uint32_t before = holders->map.count;
      uint32_t at = row_map_number(&holders->map, (struct row_key){{(uint64_t)numbers[row], 0, 0}});
      ok = at != ROW_MAP_NONE && (at != before || list_add(&holders->rows));
      if (!ok) break;
      struct holder *other = &holders->rows.items[at];
      if (at == before) *other = own;
      else other->is_several |= !may_be_one(profile, columns->table, other, &own);
    }
    free(lanes);
    free(starts);
    free(numbers);
    free(names);
    free(durations);
    if (!ok) return false;
  }
  return true;
}

/* Enters numbers that several processes have. */
static bool enter_several(struct holders *holders, const struct row_map *numbers) {
  for (uint32_t i = 0; i < numbers->count; i++) {
    uint32_t before = holders->map.count, at = row_map_number(&holders->map, numbers->keys[i]);
    if (at == ROW_MAP_NONE || (at == before && !list_add(&holders->rows))) return false;
    holders->rows.items[at].is_several = true;
  }
  return true;
}

/* Numbers that several rows have become NULL in a table. */
static bool part_numbers(const struct holders *holders, struct profile_table *table, unsigned column,
                         uint64_t *parted) {
  for (size_t s = 0; s < table->segment_count; s++) {
    struct segment *segment = table->segments[s];
    if (!segment->columns[column]) continue;
    int64_t *numbers = segment_numbers(segment, column);
    bool ok = numbers != NULL, is_changed = false;
    for (uint32_t row = 0; ok && row < segment->rows; row++) {
      if (numbers[row] == ROW_NULL) continue;
      uint32_t at = row_map_find(&holders->map, (struct row_key){{(uint64_t)numbers[row], 0, 0}});
      if (at == ROW_MAP_NONE || !holders->rows.items[at].is_several) continue;
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

enum tfprof_status processes_part_links(const struct trace *trace, struct profile *profile) {
  static const struct {
    unsigned table, call, op;
  } devices[] = {{TABLE_kernels, COLUMN_kernels_correlation, COLUMN_kernels_op_correlation},
                 {TABLE_transfers, COLUMN_transfers_correlation, COLUMN_transfers_op_correlation},
                 {TABLE_syncs, COLUMN_syncs_correlation, COLUMN_syncs_op_correlation}};
  const struct pid_owners *owners = trace->part ? trace->part->owners : NULL;
  bool is_shared = owners && (owners->calls.count || owners->ops.count);
  bool has_repeats = trace->part ? owners && trace->numbers_repeat : trace->has_repeats;
  if (!has_repeats && !is_shared) return TFPROF_OK;
  struct holders calls = {.map = {0}}, ops = {.map = {0}};
  struct profile_table *own_calls = &profile->tables[TABLE_api_calls];
  uint64_t parted = 0, launches = 0;
  static const struct number_columns of_calls = {TABLE_api_calls, COLUMN_api_calls_thread_id,
      COLUMN_api_calls_correlation, COLUMN_api_calls_start_ns, COLUMN_api_calls_dur_ns, COLUMN_api_calls_name};
  static const struct number_columns of_ops = {TABLE_ops, COLUMN_ops_thread_id, COLUMN_ops_correlation,
      COLUMN_ops_start_ns, COLUMN_ops_dur_ns, COLUMN_ops_category};
  bool ok = !has_repeats || (enter_numbers(&calls, profile, &of_calls) && enter_numbers(&ops, profile, &of_ops));
  ok = ok && (!is_shared || (enter_several(&calls, &owners->calls) && enter_several(&ops, &owners->ops)));
  for (size_t i = 0; i < sizeof devices / sizeof *devices && ok; i++) {
    struct profile_table *table = &profile->tables[devices[i].table];
    ok = part_numbers(&calls, table, devices[i].call, &parted) && part_numbers(&ops, table, devices[i].op, &parted);
  }
  /* A launch without a number is none whose kernel is lost. Calls count for the ops around them. */
  ok = ok && part_numbers(&calls, own_calls, COLUMN_api_calls_correlation, &launches) &&
       part_numbers(&ops, own_calls, COLUMN_api_calls_op_correlation, &launches);
  if (ok && (parted || launches)) {
    profile_diagnose(profile, "warning", "several_processes", (int64_t)(parted + launches), -1, -1,
                     "calls or ops have the numbers of others, as where several processes were merged into one file, "
                     "and nothing tells which is whose: what ran on devices under these numbers is linked to none of "
                     "them, and has no part in the times of ops and lines; open the file of each process instead");
  }
  row_map_free(&calls.map);
  row_map_free(&ops.map);
  list_free(&calls.rows);
  list_free(&ops.rows);
  return ok ? TFPROF_OK : TFPROF_NO_MEMORY;
}
