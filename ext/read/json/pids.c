/* pids.c: see pids.h. */
#include "read/json/pids.h"

#include <stdlib.h>
#include <string.h>

#include "read/json/processes.h"
#include "read/json/trace.h"

enum { SEVERAL = UINT32_MAX, MOST_MISFITS = 100 /* of so many works one may lie before its launch */ };

struct finding {
  const struct trace *trace;
  struct pid_owners *owners;
  struct row_map calls, ops; /* numbers, with the part that has them + 1, or SEVERAL */
  struct row_map launches;   /* numbers of calls and parts */
  LIST(int64_t) starts;      /* of launches */
  struct row_map lanes;      /* of devices, with the part that they are of + 1; 0: it cannot be told */
  LIST(uint64_t) works;      /* of lanes: how many have a call at all */
  struct row_map fits;       /* lanes and parts, with how many works fit */
  bool no_memory;
};

static const struct work_slots { enum row_table table; uint16_t lane, start, call, op;
} work_slots[] = {
    {ROWS_kernels, ROW_kernels_thread_id, ROW_kernels_start_ns, ROW_kernels_correlation, ROW_kernels_op_correlation},
    {ROWS_transfers, ROW_transfers_thread_id, ROW_transfers_start_ns, ROW_transfers_correlation,
     ROW_transfers_op_correlation},
    {ROWS_syncs, ROW_syncs_thread_id, ROW_syncs_start_ns, ROW_syncs_correlation, ROW_syncs_op_correlation}};

/* A row of those tables. */
struct device_work { int64_t lane, start, call, op; uint64_t offset; };
typedef void take_work(struct finding *f, const struct device_work *work);

static int64_t work_value(const struct chunk_table *t, enum row_table table, unsigned slot, uint32_t row) {
  const struct column *column = t->columns[slot - row_first_slots[table]];
  return column_is_null(column, row) ? ROW_NULL : column_integer(column, row);
}

static uint32_t enter_in_map(struct finding *f, struct row_map *map, uint64_t first, uint64_t second) {
  uint32_t at = row_map_number(map, (struct row_key){{first, second, 0}});
  f->no_memory |= at == ROW_MAP_NONE;
  return at;
}

static void each_work(struct finding *f, take_work *take) {
  struct chunk *const *chunks = f->trace->chunks.items;
  for (size_t c = 0; c < f->trace->chunks.count && !f->no_memory; c++) {
    for (size_t i = 0; i < sizeof work_slots / sizeof *work_slots; i++) {
      const struct work_slots *slots = &work_slots[i];
      const struct chunk_table *t = &chunks[c]->tables[slots->table];
      for (uint32_t row = 0; row < t->rows && !f->no_memory; row++) {
        const struct device_work work = {work_value(t, slots->table, slots->lane, row),
                                         work_value(t, slots->table, slots->start, row),
                                         work_value(t, slots->table, slots->call, row),
                                         work_value(t, slots->table, slots->op, row),
                                         chunks[c]->offset + t->offsets[row]};
        take(f, &work);
      }
    }
  }
}

/* ---- processes ---- */

/* The pid of a row's thread; 0: none that is a number. */
static uint64_t pid_of(const struct trace *trace, int64_t lane) {
  if (lane < 0 || (uint64_t)lane >= trace->lanes.count) return 0;
  const struct row_key *key = &trace->lanes.keys[lane];
  bool has_pid = (key->words[0] & ~(uint64_t)LANE_TID_IS_TEXT) == LANE_HOST && (int64_t)key->words[1] > 0;
  return has_pid ? key->words[1] : 0;
}

/* Marks that tools add may have any pid, so that only ops tell. */
static void find_pids(struct finding *f) {
  struct chunk *const *chunks = f->trace->chunks.items;
  for (size_t c = 0; c < f->trace->chunks.count && !f->no_memory; c++) {
    const struct chunk_table *t = &chunks[c]->tables[ROWS_ops];
    for (uint32_t row = 0; row < t->rows && f->owners->pids.count <= MAXIMUM_PARTS; row++) {
      int64_t number = work_value(t, ROWS_ops, ROW_ops_correlation, row);
      int64_t category = work_value(t, ROWS_ops, ROW_ops_category, row);
      uint64_t pid = pid_of(f->trace, work_value(t, ROWS_ops, ROW_ops_thread_id, row));
      bool is_mark = category > 0 && strcmp(pool_text(f->trace->pool, (string_id)category), "user") == 0;
      if (pid && !is_mark && number != ROW_NULL && number > 0) enter_in_map(f, &f->owners->pids, pid, 0);
    }
  }
}

/* ---- whose the numbers are ---- */

static void own_number(struct finding *f, struct row_map *map, int64_t number, uint32_t part) {
  uint32_t at = enter_in_map(f, map, (uint64_t)number, 0);
  if (at == ROW_MAP_NONE) return;
  if (!map->values[at]) map->values[at] = part + 1;
  else if (map->values[at] != part + 1) map->values[at] = SEVERAL;
}

static void own_launch(struct finding *f, int64_t number, uint32_t part, int64_t start) {
  uint32_t before = f->launches.count, at = enter_in_map(f, &f->launches, (uint64_t)number, part);
  if (at == ROW_MAP_NONE) return;
  int64_t *first = at == before ? list_add(&f->starts) : &f->starts.items[at];
  f->no_memory |= !first;
  if (first && (at == before || start < *first)) *first = start;
}

static void own_numbers(struct finding *f, enum row_table table, unsigned lane_slot, unsigned number_slot,
                        unsigned start_slot, struct row_map *map) {
  struct chunk *const *chunks = f->trace->chunks.items;
  for (size_t c = 0; c < f->trace->chunks.count && !f->no_memory; c++) {
    const struct chunk_table *t = &chunks[c]->tables[table];
    for (uint32_t row = 0; row < t->rows; row++) {
      int64_t number = work_value(t, table, number_slot, row), start = work_value(t, table, start_slot, row);
      uint64_t pid = pid_of(f->trace, work_value(t, table, lane_slot, row));
      uint32_t part = pid ? row_map_find(&f->owners->pids, (struct row_key){{pid, 0, 0}}) : ROW_MAP_NONE;
      if (number == ROW_NULL || number <= 0 || part == ROW_MAP_NONE) continue;
      own_number(f, map, number, part);
      if (table == ROWS_api_calls && start != ROW_NULL) own_launch(f, number, part, start);
    }
  }
}

/* ---- whose the streams are ---- */

static void fit_work(struct finding *f, const struct device_work *work) {
  bool is_launched = work->lane != ROW_NULL && work->start != ROW_NULL && work->call != ROW_NULL &&
                     row_map_find(&f->calls, (struct row_key){{(uint64_t)work->call, 0, 0}}) != ROW_MAP_NONE;
  if (!is_launched) return;
  uint32_t before = f->lanes.count, at = enter_in_map(f, &f->lanes, (uint64_t)work->lane, 0);
  if (at == ROW_MAP_NONE || (at == before && !list_add(&f->works))) {
    f->no_memory = true;
    return;
  }
  f->works.items[at]++;
  for (uint32_t part = 0; part < f->owners->pids.count; part++) {
    uint32_t launch = row_map_find(&f->launches, (struct row_key){{(uint64_t)work->call, part, 0}});
    if (launch == ROW_MAP_NONE || f->starts.items[launch] > work->start) continue;
    uint32_t fit = enter_in_map(f, &f->fits, (uint64_t)work->lane, part);
    if (fit != ROW_MAP_NONE && f->fits.values[fit] < UINT32_MAX) f->fits.values[fit]++;
  }
}

static void find_owned_lanes(struct finding *f) {
  each_work(f, fit_work);
  for (uint32_t lane = 0; lane < f->lanes.count; lane++) {
    uint32_t fitting = 0;
    for (uint32_t part = 0; part < f->owners->pids.count; part++) {
      uint32_t fit = row_map_find(&f->fits, (struct row_key){{f->lanes.keys[lane].words[0], part, 0}});
      uint64_t works = fit == ROW_MAP_NONE ? 0 : f->fits.values[fit];
      if ((f->works.items[lane] - works) * MOST_MISFITS > f->works.items[lane]) continue;
      fitting++;
      f->lanes.values[lane] = fitting == 1 ? part + 1 : 0;
    }
  }
}

/* ---- whose the works are ---- */

static uint32_t owner_of(const struct row_map *map, int64_t number) {
  uint32_t at = number == ROW_NULL || number <= 0 ? ROW_MAP_NONE
                                                  : row_map_find(map, (struct row_key){{(uint64_t)number, 0, 0}});
  return at == ROW_MAP_NONE ? 0 : map->values[at];
}

/* The part of a work; its numbers are kept where nothing tells. */
static uint32_t part_of_work(struct finding *f, const struct device_work *work) {
  uint32_t by_call = owner_of(&f->calls, work->call), by_op = owner_of(&f->ops, work->op);
  uint32_t owner = by_call && by_call != SEVERAL ? by_call : by_op;
  if (!owner && !by_call) return 0; /* of no process that is known */
  if (owner && owner != SEVERAL) return owner - 1;
  uint32_t at = work->lane == ROW_NULL ? ROW_MAP_NONE
                                       : row_map_find(&f->lanes, (struct row_key){{(uint64_t)work->lane, 0, 0}});
  if (at != ROW_MAP_NONE && f->lanes.values[at]) return f->lanes.values[at] - 1;
  if (by_call) enter_in_map(f, &f->owners->calls, (uint64_t)work->call, 0);
  if (by_op) enter_in_map(f, &f->owners->ops, (uint64_t)work->op, 0);
  return 0;
}

static void own_work(struct finding *f, const struct device_work *work) {
  struct owned_event *owned = list_add(&f->owners->works);
  f->no_memory |= !owned;
  if (owned) *owned = (struct owned_event){work->offset, part_of_work(f, work)};
}

static int by_offset(const void *left, const void *right) {
  const struct owned_event *a = left, *b = right;
  return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static void find_works(struct finding *f) {
  each_work(f, own_work);
  if (f->owners->works.count) qsort(f->owners->works.items, f->owners->works.count, sizeof *f->owners->works.items,
                                    by_offset);
}

/* ---- parts ---- */

static bool make_parts(struct pid_owners *owners, struct trace_part **parts, uint32_t *count) {
  *parts = calloc(owners->pids.count, sizeof **parts);
  if (!*parts) return false;
  *count = owners->pids.count;
  for (uint32_t i = 0; i < *count; i++)
    (*parts)[i] = (struct trace_part){.is_first = i == 0, .rank = -1, .owners = owners, .number = i, .count = *count};
  return true;
}

enum tfprof_status pids_find(const struct trace *trace, struct trace_part **parts, uint32_t *count) {
  struct finding f = {.trace = trace, .owners = calloc(1, sizeof *f.owners)};
  *parts = NULL;
  *count = 0;
  if (!f.owners) return TFPROF_NO_MEMORY;
  find_pids(&f);
  bool has_several = f.owners->pids.count > 1 && f.owners->pids.count <= MAXIMUM_PARTS;
  if (has_several) {
    own_numbers(&f, ROWS_api_calls, ROW_api_calls_thread_id, ROW_api_calls_correlation, ROW_api_calls_start_ns,
                &f.calls);
    own_numbers(&f, ROWS_ops, ROW_ops_thread_id, ROW_ops_correlation, ROW_ops_start_ns, &f.ops);
    find_owned_lanes(&f);
    find_works(&f);
    if (!f.no_memory) f.no_memory = !make_parts(f.owners, parts, count);
  }
  row_map_free(&f.calls);
  row_map_free(&f.ops);
  row_map_free(&f.launches);
  row_map_free(&f.lanes);
  row_map_free(&f.fits);
  list_free(&f.starts);
  list_free(&f.works);
  if (!*count) pids_free(f.owners);
  return f.no_memory ? TFPROF_NO_MEMORY : TFPROF_OK;
}

void pids_free(struct pid_owners *owners) {
  if (!owners) return;
  row_map_free(&owners->pids);
  row_map_free(&owners->calls);
  row_map_free(&owners->ops);
  list_free(&owners->works);
  free(owners);
}

bool pids_take(const struct trace_part *part, int64_t pid, bool has_pid, uint64_t offset) {
  const struct pid_owners *owners = part->owners;
  size_t low = 0, high = owners->works.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (owners->works.items[middle].offset < offset) low = middle + 1;
    else high = middle;
  }
  bool is_work = low < owners->works.count && owners->works.items[low].offset == offset;
  if (is_work) return owners->works.items[low].part == part->number;
  uint32_t owner = has_pid ? row_map_find(&owners->pids, (struct row_key){{(uint64_t)pid, 0, 0}}) : ROW_MAP_NONE;
  return owner == ROW_MAP_NONE ? part->is_first : owner == part->number;
}
