/* step_segments.c: the table step_segments: what each step's time went to, one thing at a time.
**
** The rules are those of the overview of the PyTorch TensorBoard plugin.  A step reaches from its start on the host,
** but not before the step before it has ended, to its end or that of the last kernel, copy or fill which calls lying
** wholly inside it launched, whichever comes last; the first step does not begin before the end of the last work that
** no step launched and that was over before the first work of the step began.  Of what goes on at a moment the first in
** this list counts: kernel, memcpy_HtoD, memcpy_DtoH, memcpy_DtoD, memcpy (other copies), memset, communication,
** runtime (calls of the device's interfaces), data_loader, cpu (ops and ranges on any host thread), other.
** Communication is communication kernels and the ops nccl:* and gloo:*.  The last steps are left out where they
** launched nothing, and the last of the others too where it launched less than 0.8 of what the step before it did: the
** profiler has stopped before their work was done.  Steps of which no work on a device is known are cut from their
** start to their end.
**
** Each category is the union of its intervals less that of those before it: linear sweeps over sorted lists.
*/
#include "derive/match.h"
#include "derive/passes.h"

#include <stdlib.h>
#include <string.h>

enum category {
  KERNEL, MEMCPY_HTOD, MEMCPY_DTOH, MEMCPY_DTOD, MEMCPY, MEMSET, COMMUNICATION, RUNTIME, DATA_LOADER, CPU, OTHER,
  CATEGORIES
};
static const char *const category_names[CATEGORIES] = {
    "kernel", "memcpy_HtoD", "memcpy_DtoH", "memcpy_DtoD", "memcpy", "memset", "communication", "runtime",
    "data_loader", "cpu", "other"};

struct interval { int64_t start, end; };
struct intervals {
  struct lane_span *items; /* while they are collected */
  size_t count, capacity;
};

struct step { int64_t start, end, device_start, device_end; uint32_t row, launched; };
struct piece { int64_t start, end; uint32_t step, category; };

struct work {
  struct profile *profile;
  struct intervals of[CATEGORIES];
  struct step *steps;
  uint32_t step_count;
  struct piece *pieces;
  size_t piece_count, piece_capacity;
};

static bool grow(void **items, size_t *capacity, size_t count, size_t size) {
  if (count < *capacity) return true;
  size_t larger = *capacity ? *capacity * 2 : 1024;
  void *grown = realloc(*items, larger * size);
  if (!grown) return false;
  *items = grown;
  *capacity = larger;
  return true;
}

static bool add(struct intervals *list, int64_t start, int64_t end) {
  if (start == NO_VALUE || end == NO_VALUE || end <= start) return true;
  if (!grow((void **)&list->items, &list->capacity, list->count, sizeof *list->items)) return false;
  list->items[list->count++] = (struct lane_span){start, end, 0, 0};
  return true;
}

/* ---- steps ---- */

static int by_start(const void *left, const void *right) {
  const struct step *a = left, *b = right;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}

static enum tfprof_status find_steps(struct work *w, struct tfprof_error *error) {
  int64_t *starts = NULL, *ends = NULL;
  uint32_t rows;
  enum tfprof_status status = derive_row_count(w->profile, TABLE_steps, &rows, error);
  if (!status) status = derive_all_integers(w->profile, TABLE_steps, COLUMN_steps_start_ns, &starts, error);
  if (!status) status = derive_all_integers(w->profile, TABLE_steps, COLUMN_steps_end_ns, &ends, error);
  w->steps = malloc(((size_t)rows + 1) * sizeof *w->steps);
  if (!status && !w->steps) status = error_no_memory(error);
  for (uint32_t row = 0; row < rows && !status; row++) {
    if (starts[row] == NO_VALUE || ends[row] == NO_VALUE || ends[row] < starts[row]) continue;
    w->steps[w->step_count++] = (struct step){starts[row], ends[row], INT64_MAX, INT64_MIN, row, 0};
  }
  if (!status) qsort(w->steps, w->step_count, sizeof *w->steps, by_start);
  free(starts);
  free(ends);
  return status;
}

/* The step in which a call lies wholly; the number of steps: none. Steps that overlap each other are gone into by the
** one that began last. */
static uint32_t step_of(const struct work *w, int64_t start, int64_t end) {
  uint32_t low = 0, high = w->step_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (w->steps[middle].start <= start) low = middle + 1;
    else high = middle;
  }
  return low && end <= w->steps[low - 1].end ? low - 1 : w->step_count;
}

/* What the steps' calls launched, and where the first step may begin. */
static enum tfprof_status extend_steps(struct work *w, struct tfprof_error *error) {
  static const struct { uint16_t table, call, start, end; } tables[2] = {
      {TABLE_kernels, COLUMN_kernels_api_call_id, COLUMN_kernels_start_ns, COLUMN_kernels_end_ns},
      {TABLE_transfers, COLUMN_transfers_api_call_id, COLUMN_transfers_start_ns, COLUMN_transfers_end_ns}};
  int64_t *call_starts = NULL, *call_ends = NULL, previous = w->steps[0].start;
  bool has_work = false;
  enum tfprof_status status =
      derive_all_integers(w->profile, TABLE_api_calls, COLUMN_api_calls_start_ns, &call_starts, error);
  if (!status) status = derive_all_integers(w->profile, TABLE_api_calls, COLUMN_api_calls_end_ns, &call_ends, error);
  /* The second round needs the first work of the first step. */
  for (unsigned round = 0; round < 2 && !status; round++) {
    for (unsigned t = 0; t < 2 && !status; t++) {
      uint32_t rows, *calls = NULL;
      int64_t *starts = NULL, *ends = NULL;
      status = derive_row_count(w->profile, tables[t].table, &rows, error);
      if (!status) status = derive_all_references(w->profile, tables[t].table, tables[t].call, &calls, error);
      if (!status) status = derive_all_integers(w->profile, tables[t].table, tables[t].start, &starts, error);
      if (!status) status = derive_all_integers(w->profile, tables[t].table, tables[t].end, &ends, error);
      for (uint32_t row = 0; row < rows && !status; row++) {
        if (starts[row] == NO_VALUE || ends[row] == NO_VALUE) continue;
        uint32_t call = calls[row], step = w->step_count;
        if (call != NO_ROW && call_starts[call] != NO_VALUE && call_ends[call] != NO_VALUE)
          step = step_of(w, call_starts[call], call_ends[call]);
        if (round && step == w->step_count && ends[row] < w->steps[0].device_start && ends[row] > previous)
          previous = ends[row];
        if (round || step == w->step_count) continue;
        has_work = true;
        struct step *s = &w->steps[step];
        s->launched++;
        if (starts[row] < s->device_start) s->device_start = starts[row];
        if (ends[row] > s->device_end) s->device_end = ends[row];
      }
      free(calls);
      free(starts);
      free(ends);
    }
    if (w->steps[0].device_start == INT64_MAX) break;
  }
  free(call_starts);
  free(call_ends);
  for (uint32_t i = 0; i < w->step_count && has_work && !status; i++) {
    struct step *s = &w->steps[i];
    if (previous > s->start) s->start = previous;
    if (s->device_end > s->end) s->end = s->device_end;
    if (s->end < s->start) s->end = s->start;
    previous = s->end;
  }
  if (has_work && w->step_count > 1 && !status) {
    uint32_t last = w->step_count - 1;
    while (last && !w->steps[last].launched) last--;
    bool is_cut = last && (double)w->steps[last - 1].launched * 0.8 > (double)w->steps[last].launched;
    w->step_count = last + !is_cut;
  }
  return status;
}

/* ---- intervals ---- */

static enum tfprof_status collect(struct work *w, unsigned table, unsigned start_column, unsigned end_column,
                                  unsigned text_column, enum category (*choose)(const char *text, bool *is_wanted),
                                  struct tfprof_error *error) {
  const struct profile_table *content = &w->profile->tables[table];
  const struct pool *pool = store_pool(w->profile->store);
  uint8_t *known = calloc((size_t)pool_count(pool) + 1, 1); /* by text: 1 not wanted, else 2 + category */
  enum tfprof_status status = known ? TFPROF_OK : error_no_memory(error);
  for (size_t s = 0; s < content->segment_count && !status; s++) {
    const struct segment *segment = content->segments[s];
    for (uint32_t first = 0; first < segment->rows && !status; first += ROWS_BLOCK) {
      uint32_t count = segment->rows - first < ROWS_BLOCK ? segment->rows - first : ROWS_BLOCK;
      int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK];
      string_id texts[ROWS_BLOCK];
      derive_integers(segment->columns[start_column], first, count, starts);
      derive_integers(segment->columns[end_column], first, count, ends);
      derive_texts(segment->columns[text_column], first, count, texts);
      for (uint32_t i = 0; i < count && !status; i++) {
        if (!known[texts[i]]) {
          bool is_wanted = true;
          enum category category = choose(texts[i] ? pool_text(pool, texts[i]) : "", &is_wanted);
          known[texts[i]] = is_wanted ? (uint8_t)(2 + category) : 1;
        }
        if (known[texts[i]] > 1 && !add(&w->of[known[texts[i]] - 2], starts[i], ends[i]))
          status = error_no_memory(error);
      }
      if (!status) status = derive_poll(w->profile, error);
    }
  }
  free(known);
  return status;
}

static enum category of_kernel(const char *kind, bool *is_wanted) {
  (void)is_wanted;
  return strcmp(kind, "communication") == 0 ? COMMUNICATION : KERNEL;
}
static enum category of_copy(const char *direction, bool *is_wanted) {
  *is_wanted = *direction; /* fills have none */
  if (strcmp(direction, "HtoD") == 0) return MEMCPY_HTOD;
  if (strcmp(direction, "DtoH") == 0) return MEMCPY_DTOH;
  return strcmp(direction, "DtoD") == 0 ? MEMCPY_DTOD : MEMCPY;
}
static enum category of_transfer(const char *kind, bool *is_wanted) {
  *is_wanted = strcmp(kind, "memset") == 0;
  return MEMSET;
}
static enum category of_call(const char *domain, bool *is_wanted) {
  (void)domain;
  (void)is_wanted;
  return RUNTIME;
}
static enum category of_op(const char *name, bool *is_wanted) {
  *is_wanted = strncmp(name, "ProfilerStep", 12) != 0;
  if (strncmp(name, "enumerate(DataLoader)#", 22) == 0 || strncmp(name, "enumerate(DataPipe)#", 20) == 0)
    return DATA_LOADER;
  return strncmp(name, "nccl:", 5) == 0 || strncmp(name, "gloo:", 5) == 0 ? COMMUNICATION : CPU;
}

static enum tfprof_status collect_all(struct work *w, struct tfprof_error *error) {
#define COLLECT(table, text, choose) \
  collect(w, TABLE_##table, COLUMN_##table##_start_ns, COLUMN_##table##_end_ns, COLUMN_##table##_##text, choose, error)
  enum tfprof_status status = COLLECT(kernels, kind, of_kernel);
  if (!status) status = COLLECT(transfers, direction, of_copy);
  if (!status) status = COLLECT(transfers, kind, of_transfer);
  if (!status) status = COLLECT(api_calls, domain, of_call);
  if (!status) status = COLLECT(ops, name, of_op);
#undef COLLECT
  return status;
}

/* ---- pieces ---- */

struct set { struct interval *items; size_t count; }; /* disjoint, ascending, none touching the next */

static enum tfprof_status unite(struct intervals *list, struct set *set, struct tfprof_error *error) {
  enum tfprof_status status = lane_span_sort(list->items, list->count, error);
  set->count = 0;
  set->items = malloc((list->count + 1) * sizeof *set->items);
  if (!status && !set->items) status = error_no_memory(error);
  for (size_t i = 0; i < list->count && !status; i++) {
    struct interval *last = set->count ? &set->items[set->count - 1] : NULL;
    if (last && list->items[i].start <= last->end) {
      if (list->items[i].end > last->end) last->end = list->items[i].end;
    } else {
      set->items[set->count++] = (struct interval){list->items[i].start, list->items[i].end};
    }
  }
  return status;
}

static bool emit(struct work *w, int64_t start, int64_t end, enum category category, uint32_t *step) {
  while (*step < w->step_count && w->steps[*step].end <= start) (*step)++;
  for (uint32_t at = *step; at < w->step_count && w->steps[at].start < end; at++) {
    int64_t from = start > w->steps[at].start ? start : w->steps[at].start;
    int64_t to = end < w->steps[at].end ? end : w->steps[at].end;
    if (to <= from) continue;
    if (!grow((void **)&w->pieces, &w->piece_capacity, w->piece_count, sizeof *w->pieces)) return false;
    w->pieces[w->piece_count++] = (struct piece){from, to, at, category};
  }
  return true;
}

/* Emits what of `set` lies outside of `covered`, and makes `covered` the union of both. */
static enum tfprof_status subtract(struct work *w, const struct set *set, struct set *covered, enum category category,
                                   struct tfprof_error *error) {
  struct set both = {malloc((set->count + covered->count + 1) * sizeof *both.items), 0};
  size_t c = 0;
  uint32_t step = 0;
  if (!both.items) return error_no_memory(error);
  for (size_t i = 0; i < set->count; i++) {
    int64_t from = set->items[i].start;
    while (c < covered->count && covered->items[c].end <= from) c++;
    for (size_t k = c; from < set->items[i].end; k++) {
      bool is_last = k == covered->count || covered->items[k].start >= set->items[i].end;
      int64_t to = is_last ? set->items[i].end : covered->items[k].start;
      if (to > from && !emit(w, from, to, category, &step)) {
        free(both.items);
        return error_no_memory(error);
      }
      if (is_last) break;
      from = covered->items[k].end;
    }
  }
  for (size_t a = 0, b = 0; a < set->count || b < covered->count;) {
    bool is_first = b == covered->count || (a < set->count && set->items[a].start <= covered->items[b].start);
    struct interval next = is_first ? set->items[a++] : covered->items[b++];
    struct interval *last = both.count ? &both.items[both.count - 1] : NULL;
    if (last && next.start <= last->end) last->end = next.end > last->end ? next.end : last->end;
    else both.items[both.count++] = next;
  }
  free(covered->items);
  *covered = both;
  return derive_poll(w->profile, error);
}

static int by_step_and_start(const void *left, const void *right) {
  const struct piece *a = left, *b = right;
  if (a->step != b->step) return a->step < b->step ? -1 : 1;
  return a->start < b->start ? -1 : a->start > b->start;
}

static enum tfprof_status cut(struct work *w, struct tfprof_error *error) {
  struct set covered = {NULL, 0};
  enum tfprof_status status = TFPROF_OK;
  for (uint32_t i = 0; i < w->step_count && !status; i++) {
    if (!add(&w->of[OTHER], w->steps[i].start, w->steps[i].end)) status = error_no_memory(error);
  }
  for (unsigned category = 0; category < CATEGORIES && !status; category++) {
    struct set set = {NULL, 0};
    status = unite(&w->of[category], &set, error);
    if (!status) status = subtract(w, &set, &covered, (enum category)category, error);
    free(set.items);
  }
  free(covered.items);
  if (!status && w->piece_count) qsort(w->pieces, w->piece_count, sizeof *w->pieces, by_step_and_start);
  return status;
}

static enum tfprof_status set_columns(struct work *w, struct tfprof_error *error) {
  if (w->piece_count >= NO_ROW) return error_set(error, TFPROF_LIMIT, "too many pieces of steps for one table");
  uint32_t rows = (uint32_t)w->piece_count;
  enum tfprof_status status = derive_make_table(w->profile, TABLE_step_segments, rows, error);
  string_id names[CATEGORIES];
  uint32_t *references = malloc(((size_t)rows + 1) * sizeof *references);
  int64_t *integers = malloc(((size_t)rows + 1) * sizeof *integers);
  if (!status && (!references || !integers)) status = error_no_memory(error);
  for (unsigned i = 0; i < CATEGORIES && !status; i++)
    status = derive_text(w->profile, category_names[i], &names[i], error);
#define SET(kind, column, array, expression) \
  for (uint32_t i = 0; i < rows && !status; i++) array[i] = (expression); \
  if (!status && rows) \
  status = derive_set_##kind(w->profile, TABLE_step_segments, COLUMN_step_segments_##column, array, error)
  SET(references, step_id, references, w->steps[w->pieces[i].step].row);
  SET(texts, category, references, names[w->pieces[i].category]);
  SET(integers, start_ns, integers, w->pieces[i].start);
  SET(integers, end_ns, integers, w->pieces[i].end);
  SET(integers, dur_ns, integers, derive_difference(w->pieces[i].end, w->pieces[i].start));
#undef SET
  free(references);
  free(integers);
  return status;
}

static enum tfprof_status run(struct profile *profile, struct tfprof_error *error) {
  struct work w = {.profile = profile};
  enum tfprof_status status = find_steps(&w, error);
  if (!status && w.step_count) {
    status = extend_steps(&w, error);
    if (!status) status = collect_all(&w, error);
    if (!status) status = cut(&w, error);
    if (!status) status = set_columns(&w, error);
  }
  for (unsigned i = 0; i < CATEGORIES; i++) free(w.of[i].items);
  free(w.steps);
  free(w.pieces);
  return status;
}

const struct derive_pass derive_step_segments = {
    .name = "step segments",
    .summary = "Steps with their work on devices, cut by precedence of categories as the TensorBoard plugin does.",
    .makes_table = TABLE_step_segments,
    .reads = {{TABLE_steps, COLUMN_steps_start_ns},
              {TABLE_steps, COLUMN_steps_end_ns},
              {TABLE_api_calls, COLUMN_api_calls_start_ns},
              {TABLE_api_calls, COLUMN_api_calls_end_ns},
              {TABLE_api_calls, COLUMN_api_calls_domain},
              {TABLE_kernels, COLUMN_kernels_start_ns},
              {TABLE_kernels, COLUMN_kernels_end_ns},
              {TABLE_kernels, COLUMN_kernels_kind},
              {TABLE_kernels, COLUMN_kernels_api_call_id},
              {TABLE_transfers, COLUMN_transfers_start_ns},
              {TABLE_transfers, COLUMN_transfers_end_ns},
              {TABLE_transfers, COLUMN_transfers_kind},
              {TABLE_transfers, COLUMN_transfers_direction},
              {TABLE_transfers, COLUMN_transfers_api_call_id},
              {TABLE_ops, COLUMN_ops_name},
              {TABLE_ops, COLUMN_ops_start_ns},
              {TABLE_ops, COLUMN_ops_end_ns}},
    .run = run,
};
