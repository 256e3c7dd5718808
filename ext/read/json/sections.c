/* sections.c: see sections.h.
**
** Read are the numbers of calls (correlation), of ops (External id), of marks of steps, and the pids of ops, in the
** order of the file.  What comes a second time begins a section.  Sections are taken for processes only where
**   - there are as many of them as the most frequent number has rows, or as there are pids: files that were sorted by
**     time after they had been merged have many more;
**   - a quarter of the numbers in them came before, or each has another pid: one number may come again by a fault;
**   - half of them have more than a few numbers, or several have more than a few that came before: ops of a library may
**     all have one number, and stand behind all others; data loaders are as small, beside processes that are not;
**   - hardly any kernel or copy has the number of calls of other sections alone.
*/
#include "read/json/sections.h"

#include <stdlib.h>
#include <string.h>

#include "read/json/trace.h"

enum { FEW_NUMBERS = 3 }; /* of a section that is no process */
enum number_kind { NUMBER_CALL, NUMBER_OP, NUMBER_STEP, NUMBER_KINDS };

struct seen { uint32_t section, times; }; /* section + 1 in which the number was last, and how many rows have it */
struct sections {
  const struct trace *trace;
  struct row_map numbers[NUMBER_KINDS];
  LIST(struct seen) seen[NUMBER_KINDS]; /* by number of the map */
  LIST(uint64_t) begins;                /* of each section but the first: the event that showed it */
  struct row_map pids;                  /* of ops */
  uint64_t pid;                         /* of the ops of the last section, where it has any: */
  bool has_pid;
  uint32_t most;                        /* rows of one number */
  uint64_t met, repeated;               /* numbers in sections but the first, and those of them that came before */
  uint64_t in_section, again;           /* numbers in the last section, and those of them that came before */
  uint32_t small, large;                /* sections before that with few, and with more that came before */
  bool is_mixed, no_memory;
};

static int64_t number_in(const struct chunk_table *t, unsigned slot, enum row_table table, uint32_t row) {
  const struct column *column = t->columns[slot - row_first_slots[table]];
  return column_is_null(column, row) ? ROW_NULL : column_integer(column, row);
}

/* ---- whether numbers repeat ---- */

struct extent { int64_t least, most; uint64_t count; };

/* Numbers of calls and ops of a process lie close together, so that a bit for each tells whether one repeats. Where
** they are far apart a hash table does. */
static bool column_repeats(const struct trace *trace, enum row_table table, unsigned slot) {
  struct chunk *const *chunks = trace->chunks.items;
  struct extent all = {INT64_MAX, INT64_MIN, 0};
  bool repeats = false;
  for (unsigned round = 0; round < 2 && !repeats; round++) {
    if (round && all.count < 2) break;
    uint64_t range = round ? (uint64_t)all.most - (uint64_t)all.least + 1 : 0;
    bool is_dense = range && range / 64 <= all.count;
    uint64_t *bits = round && is_dense ? calloc(range / 64 + 1, sizeof *bits) : NULL;
    struct row_map map = {0};
    if (is_dense && !bits) break;
    for (size_t c = 0; c < trace->chunks.count && !repeats; c++) {
      const struct chunk_table *t = &chunks[c]->tables[table];
      for (uint32_t row = 0; row < t->rows && !repeats; row++) {
        int64_t number = number_in(t, slot, table, row);
        if (number == ROW_NULL || number <= 0) continue;
        if (!round) {
          if (number < all.least) all.least = number;
          if (number > all.most) all.most = number;
          all.count++;
        } else if (bits) {
          uint64_t at = (uint64_t)number - (uint64_t)all.least, bit = UINT64_C(1) << (at & 63);
          repeats = bits[at / 64] & bit;
          bits[at / 64] |= bit;
        } else {
          uint32_t before = map.count;
          uint32_t place = row_map_number(&map, (struct row_key){{(uint64_t)number, 0, 0}});
          repeats = place != ROW_MAP_NONE && place != before;
        }
      }
    }
    row_map_free(&map);
    free(bits);
  }
  return repeats;
}

bool sections_repeat(const struct trace *trace) {
  return column_repeats(trace, ROWS_api_calls, ROW_api_calls_correlation) ||
         column_repeats(trace, ROWS_ops, ROW_ops_correlation);
}

bool sections_repeat_work(const struct trace *trace) {
  return column_repeats(trace, ROWS_kernels, ROW_kernels_correlation) ||
         column_repeats(trace, ROWS_transfers, ROW_transfers_correlation);
}

/* ---- where they begin ---- */

static void end_section(struct sections *s) {
  s->small += s->in_section <= FEW_NUMBERS;
  s->large += s->again > FEW_NUMBERS;
  s->in_section = s->again = 0;
}

/* An event at an offset of the file shows that a section begins. */
static void begin_section(struct sections *s, uint64_t offset) {
  if (s->begins.count + 1 >= MAXIMUM_PARTS) {
    s->is_mixed = true;
    return;
  }
  uint64_t *begin = list_add(&s->begins);
  if (begin) *begin = offset;
  else s->no_memory = true;
  s->has_pid = false;
  end_section(s);
}

/* A number of a row. */
static void meet(struct sections *s, enum number_kind kind, int64_t number, uint64_t offset) {
  uint32_t before = s->numbers[kind].count;
  uint32_t at = row_map_number(&s->numbers[kind], (struct row_key){{(uint64_t)number, 0, 0}});
  if (at == ROW_MAP_NONE || (at == before && !list_add(&s->seen[kind]))) {
    s->no_memory = true;
    return;
  }
  struct seen *seen = s->seen[kind].items + at;
  if (seen->section == s->begins.count + 1) begin_section(s, offset);
  s->in_section++;
  s->met += s->begins.count > 0;
  s->repeated += s->begins.count > 0 && seen->times;
  s->again += s->begins.count > 0 && seen->times;
  seen->section = (uint32_t)s->begins.count + 1;
  if (++seen->times > s->most) s->most = seen->times;
}

/* The pid of an op; marks that tools add may have any. */
static void meet_pid(struct sections *s, uint64_t pid, uint64_t offset) {
  if (s->has_pid && pid != s->pid) begin_section(s, offset);
  s->has_pid = true;
  s->pid = pid;
  if (row_map_number(&s->pids, (struct row_key){{pid, 0, 0}}) == ROW_MAP_NONE) s->no_memory = true;
}

static void meet_call(struct sections *s, const struct chunk *chunk, uint32_t row) {
  const struct chunk_table *t = &chunk->tables[ROWS_api_calls];
  int64_t number = number_in(t, ROW_api_calls_correlation, ROWS_api_calls, row);
  if (number > 0) meet(s, NUMBER_CALL, number, chunk->offset + t->offsets[row]);
}

static void meet_op(struct sections *s, const struct chunk *chunk, uint32_t row) {
  const struct chunk_table *t = &chunk->tables[ROWS_ops];
  uint64_t offset = chunk->offset + t->offsets[row];
  int64_t number = number_in(t, ROW_ops_correlation, ROWS_ops, row);
  int64_t lane = number_in(t, ROW_ops_thread_id, ROWS_ops, row);
  int64_t category = number_in(t, ROW_ops_category, ROWS_ops, row);
  bool is_mark = category > 0 && strcmp(pool_text(s->trace->pool, (string_id)category), "user") == 0;
  bool is_numbered = number != ROW_NULL && number > 0;
  if (is_numbered && !is_mark && lane >= 0 && (uint64_t)lane < s->trace->lanes.count) {
    const struct row_key *key = &s->trace->lanes.keys[lane];
    bool has_pid = (key->words[0] & ~(uint64_t)LANE_TID_IS_TEXT) == LANE_HOST && (int64_t)key->words[1] > 0;
    if (has_pid) meet_pid(s, key->words[1], offset);
  }
  if (is_numbered) meet(s, NUMBER_OP, number, offset);
  int64_t name = number_in(t, ROW_ops_name, ROWS_ops, row);
  const char *text = name > 0 ? pool_text(s->trace->pool, (string_id)name) : "";
  if (strncmp(text, "ProfilerStep#", 13) == 0) meet(s, NUMBER_STEP, name, offset);
}

static void find_begins(struct sections *s) {
  struct chunk *const *chunks = s->trace->chunks.items;
  for (size_t c = 0; c < s->trace->chunks.count && !s->is_mixed && !s->no_memory; c++) {
    const struct chunk_table *calls = &chunks[c]->tables[ROWS_api_calls], *ops = &chunks[c]->tables[ROWS_ops];
    for (uint32_t call = 0, op = 0; call < calls->rows || op < ops->rows;) {
      bool is_call = op == ops->rows || (call < calls->rows && calls->offsets[call] < ops->offsets[op]);
      if (is_call) meet_call(s, chunks[c], call++);
      else meet_op(s, chunks[c], op++);
    }
  }
}

/* Metadata between the event that showed a section and the last row before it is of the section: traces of profilers
** begin with it. */
static void move_to_metadata(struct sections *s) {
  struct chunk *const *chunks = s->trace->chunks.items;
  const struct lane_name *names = s->trace->lane_names.items;
  uint64_t last = 0;
  size_t begin = 0, name = 0;
  for (size_t c = 0; c < s->trace->chunks.count && begin < s->begins.count; c++) {
    uint32_t places[ROWS_COUNT] = {0};
    for (; begin < s->begins.count && s->begins.items[begin] < chunks[c]->offset + chunks[c]->length; begin++) {
      uint64_t until = s->begins.items[begin];
      for (unsigned i = 0; i < ROWS_COUNT; i++) {
        const struct chunk_table *t = &chunks[c]->tables[i];
        uint32_t at = places[i];
        while (at < t->rows && chunks[c]->offset + t->offsets[at] < until) at++;
        if (at && chunks[c]->offset + t->offsets[at - 1] > last) last = chunks[c]->offset + t->offsets[at - 1];
        places[i] = at;
      }
      while (name < s->trace->lane_names.count && names[name].offset <= last) name++;
      if (name < s->trace->lane_names.count && names[name].offset < until) s->begins.items[begin] = names[name].offset;
    }
    for (unsigned i = 0; i < ROWS_COUNT; i++) {
      const struct chunk_table *t = &chunks[c]->tables[i];
      if (t->rows && chunks[c]->offset + t->offsets[t->rows - 1] > last)
        last = chunks[c]->offset + t->offsets[t->rows - 1];
    }
  }
}

/* ---- whether they are processes ---- */

static uint32_t section_at(const struct sections *s, uint64_t offset) {
  uint32_t section = 0;
  while (section < s->begins.count && s->begins.items[section] <= offset) section++;
  return section;
}

/* Whether hardly any row of devices is of a call in another section: 1 of 100. */
static bool keeps_links(struct sections *s) {
  struct chunk *const *chunks = s->trace->chunks.items;
  static const struct { enum row_table table; unsigned slot;
  } devices[] = {{ROWS_kernels, ROW_kernels_correlation}, {ROWS_transfers, ROW_transfers_correlation}};
  struct row_map calls = {0}; /* of number and section; and of the number in any: section UINT64_MAX */
  uint64_t kept = 0, crossing = 0;
  for (size_t c = 0; c < s->trace->chunks.count && !s->no_memory; c++) {
    const struct chunk_table *t = &chunks[c]->tables[ROWS_api_calls];
    for (uint32_t row = 0; row < t->rows; row++) {
      int64_t number = number_in(t, ROW_api_calls_correlation, ROWS_api_calls, row);
      if (number == ROW_NULL || number <= 0) continue;
      uint64_t section = section_at(s, chunks[c]->offset + t->offsets[row]);
      bool ok = row_map_number(&calls, (struct row_key){{(uint64_t)number, section, 0}}) != ROW_MAP_NONE &&
                row_map_number(&calls, (struct row_key){{(uint64_t)number, UINT64_MAX, 0}}) != ROW_MAP_NONE;
      s->no_memory |= !ok;
    }
  }
  for (size_t c = 0; c < s->trace->chunks.count; c++) {
    for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
      const struct chunk_table *t = &chunks[c]->tables[devices[d].table];
      for (uint32_t row = 0; row < t->rows; row++) {
        int64_t number = number_in(t, devices[d].slot, devices[d].table, row);
        if (number == ROW_NULL || number <= 0) continue;
        uint64_t section = section_at(s, chunks[c]->offset + t->offsets[row]);
        if (row_map_find(&calls, (struct row_key){{(uint64_t)number, UINT64_MAX, 0}}) == ROW_MAP_NONE) continue;
        bool is_own = row_map_find(&calls, (struct row_key){{(uint64_t)number, section, 0}}) != ROW_MAP_NONE;
        kept += is_own;
        crossing += !is_own;
      }
    }
  }
  row_map_free(&calls);
  return crossing * 100 <= kept;
}

static enum tfprof_status make_parts(const struct sections *s, struct trace_part **parts, uint32_t *count) {
  size_t sections = s->begins.count + 1;
  *parts = calloc(sections, sizeof **parts);
  if (!*parts) return TFPROF_NO_MEMORY;
  for (size_t i = 0; i < sections; i++) {
    (*parts)[i] = (struct trace_part){.is_section = true,
                                      .number = (uint32_t)i,
                                      .count = (uint32_t)sections,
                                      .is_first = i == 0,
                                      .rank = -1,
                                      .from = i ? s->begins.items[i - 1] : 0,
                                      .until = i < s->begins.count ? s->begins.items[i] : UINT64_MAX};
  }
  *count = (uint32_t)sections;
  return TFPROF_OK;
}

enum tfprof_status sections_find(const struct trace *trace, struct trace_part **parts, uint32_t *count) {
  struct sections s = {.trace = trace};
  *parts = NULL;
  *count = 0;
  find_begins(&s);
  bool has_sections = !s.is_mixed && !s.no_memory && s.begins.count;
  end_section(&s);
  bool are_large = s.small <= (s.begins.count + 1) / 2 || s.large;
  uint32_t most = s.pids.count > s.most ? s.pids.count : s.most;
  bool is_by_pids = s.pids.count == s.begins.count + 1;
  has_sections = has_sections && s.begins.count + 1 == most &&
                 (is_by_pids || (s.repeated >= s.met / 4 && are_large));
  if (has_sections) {
    move_to_metadata(&s);
    has_sections = keeps_links(&s);
  }
  enum tfprof_status status = s.no_memory ? TFPROF_NO_MEMORY : TFPROF_OK;
  if (!status && has_sections) status = make_parts(&s, parts, count);
  for (unsigned i = 0; i < NUMBER_KINDS; i++) {
    row_map_free(&s.numbers[i]);
    list_free(&s.seen[i]);
  }
  list_free(&s.begins);
  row_map_free(&s.pids);
  return status;
}

/* Which process of a job a section is: the members of the top-level object are of the first file, or of the last. */
static int64_t rank_of_section(const struct trace *trace) {
  const struct trace_part *part = trace->part;
  bool is_all = trace->world_size == (int64_t)part->count;
  bool is_in_order = trace->rank == 0 || trace->rank == trace->world_size - 1;
  return is_all && is_in_order ? (int64_t)part->number : -1;
}

void sections_tell(const struct trace *trace, struct profile *profile) {
  const struct trace_part *part = trace->part;
  if (part && part->owners) {
    profile_diagnose(profile, "info", "merged_processes", (int64_t)part->count, -1, -1,
                     "process %u of the %u whose events are sorted together in this file, by the pids of ops; what ran "
                     "on devices is of the process that launched it", part->number + 1, part->count);
  }
  if (!part || !part->is_section) return;
  profile->rank = rank_of_section(trace);
  profile_diagnose(profile, "info", "merged_processes", (int64_t)part->count, (int64_t)part->from, -1,
                   "process %u of the %u whose events were appended to one another in this file, by numbers of calls, "
                   "ops and steps that come again; %s", part->number + 1, part->count,
                   profile->rank < 0 ? "the file does not say which rank it is" : "its rank is its place among them");
}
