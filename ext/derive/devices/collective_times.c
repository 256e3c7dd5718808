/* collective_times.c: what carried out each collective, and when.
**
** That is the kernel, or the transfer, that its row names.  Without one it is the copies under the op that asked for it
** (copy engines between devices that map each other's memory: NCCL's and symmetric memory's), from the start of the
** first to the end of the last; these copies name the collective.  Else the op itself is the exchange where its backend
** works on the host (Gloo, MPI, UCC: by the name of its mark, or by what the job says of its only backend) and where
** XLA compiled it for CPUs.
**
** Of an op that only asked a device for it nothing is known but when it asked.  A group of one rank has nothing to
** exchange.  Sends and receipts between ncclGroupStart() and ncclGroupEnd(), and what is coalesced, go in one kernel,
** which names one of them: where a kernel or copies of the same kind were recorded the others may have gone with it.
** Where there are none of the kind they were not recorded, and that is told.
*/
#include "derive/links/ancestors.h"
#include "derive/passes.h"

#include <string.h>
#include <strings.h>

enum carrier {
  BY_NOTHING_KNOWN,
  BY_LOST_WORK, /* of a device */
  BY_KERNEL,
  BY_COPIES,
  BY_HOST,
  BY_OP,
  BY_GROUP,
  BY_NONE
};
static const char *const carrier_names[] = {[BY_NOTHING_KNOWN] = NULL, [BY_LOST_WORK] = NULL, [BY_KERNEL] = "kernel",
                                            [BY_COPIES] = "copies",    [BY_HOST] = "host",    [BY_OP] = "op",
                                            [BY_GROUP] = "group",      [BY_NONE] = "none"};
static const char *const carrier_texts[] = {"kernel", "copies", "host", "op", "group", "none", NULL};

struct carried {
  uint32_t *kernels, *ops;          /* by row of collectives */
  int64_t *starts, *ends;
  uint8_t *carriers;                /* enum carrier */
  uint32_t count, without_kernel;
};

enum backend_place { ON_UNKNOWN, ON_HOST, ON_DEVICE };

/* By the backend that the name of a mark begins with. */
static enum backend_place place_named(const char *name) {
  static const struct {
    const char *beginning;
    enum backend_place place;
  } backends[] = {{"gloo:", ON_HOST},   {"mpi:", ON_HOST},    {"ucc:", ON_HOST},
                  {"nccl:", ON_DEVICE}, {"xccl:", ON_DEVICE}, {"hccl:", ON_DEVICE}};
  for (size_t i = 0; i < sizeof backends / sizeof *backends; i++) {
    if (strncmp(name, backends[i].beginning, strlen(backends[i].beginning)) == 0) return backends[i].place;
  }
  return ON_UNKNOWN;
}

/* As distributedInfo says it, else by what was recorded; a quotation mark within a text of the JSON has a backslash. */
static enum backend_place place_of_job(const struct profile *profile) {
  const char *text = profile->attributes ? pool_text(store_pool(profile->store), profile->attributes) : "";
  bool is_on_host = strstr(text, "\"backend\":\"gloo\"") || strstr(text, "\"backend\":\"mpi\"") ||
                    strstr(text, "\"backend\":\"ucc\"");
  bool is_on_device = strstr(text, "\"backend\":\"nccl\"") || strstr(text, "\"backend\":\"xccl\"") ||
                      strstr(text, "\"backend\":\"hccl\"") || profile->tables[TABLE_kernels].rows;
  return is_on_host ? ON_HOST : is_on_device ? ON_DEVICE : ON_UNKNOWN;
}

/* ---- what the rows say themselves ---- */

static enum tfprof_status find_kernels(struct carried *c, const struct profile *profile, struct tfprof_error *error) {
  int64_t *starts = NULL, *ends = NULL;
  uint32_t rows;
  enum tfprof_status status = derive_row_count(profile, TABLE_kernels, &rows, error);
  if (!status && rows) status = derive_all_integers(profile, TABLE_kernels, COLUMN_kernels_start_ns, &starts, error);
  if (!status && rows) status = derive_all_integers(profile, TABLE_kernels, COLUMN_kernels_end_ns, &ends, error);
  for (uint32_t i = 0; i < c->count && !status; i++) {
    if (c->kernels[i] >= rows) {
      c->without_kernel++;
      continue;
    }
    c->carriers[i] = BY_KERNEL;
    c->starts[i] = starts[c->kernels[i]];
    c->ends[i] = ends[c->kernels[i]];
  }
  scratch_free(starts);
  scratch_free(ends);
  return status;
}

/* Transfers that are a collective each; `of_copies`: one for each transfer. */
static enum tfprof_status find_transfers(struct carried *c, const struct profile *profile, uint32_t copies,
                                         uint32_t *of_copies, struct tfprof_error *error) {
  int64_t *starts = NULL, *ends = NULL, *rows = NULL;
  enum tfprof_status status =
      derive_all_integers(profile, TABLE_collectives, COLUMN_collectives_transfer, &rows, error);
  if (!status) status = derive_all_integers(profile, TABLE_transfers, COLUMN_transfers_start_ns, &starts, error);
  if (!status) status = derive_all_integers(profile, TABLE_transfers, COLUMN_transfers_end_ns, &ends, error);
  for (uint32_t i = 0; i < c->count && !status; i++) {
    if (rows[i] < 0 || rows[i] >= copies) continue;
    c->carriers[i] = BY_COPIES;
    c->starts[i] = starts[rows[i]];
    c->ends[i] = ends[rows[i]];
    of_copies[rows[i]] = i;
  }
  scratch_free(starts);
  scratch_free(ends);
  scratch_free(rows);
  return status;
}

/* Of those without a kernel. */
static enum tfprof_status find_asking_ops(struct carried *c, const struct profile *profile,
                                          struct tfprof_error *error) {
  const struct pool *pool = store_pool(profile->store);
  int64_t *starts = NULL, *ends = NULL, *names = NULL, *instructions = NULL;
  uint32_t rows;
  enum backend_place usual = place_of_job(profile);
  enum tfprof_status status = derive_row_count(profile, TABLE_ops, &rows, error);
  if (status || !rows) return status;
  status = derive_all_integers(profile, TABLE_ops, COLUMN_ops_start_ns, &starts, error);
  if (!status) status = derive_all_integers(profile, TABLE_ops, COLUMN_ops_end_ns, &ends, error);
  if (!status) status = derive_all_integers(profile, TABLE_ops, COLUMN_ops_name, &names, error);
  if (!status) status = derive_all_integers(profile, TABLE_ops, COLUMN_ops_collective, &instructions, error);
  for (uint32_t i = 0; i < c->count && !status; i++) {
    uint32_t op = c->ops[i];
    if (c->carriers[i] != BY_NOTHING_KNOWN || op >= rows) continue;
    const char *name = names[op] == NO_VALUE ? "" : pool_text(pool, (string_id)names[op]);
    enum backend_place place = place_named(name);
    if (place == ON_UNKNOWN) place = usual;
    c->carriers[i] = instructions[op] != NO_VALUE ? BY_OP
                     : place == ON_HOST           ? BY_HOST
                     : place == ON_DEVICE         ? BY_LOST_WORK
                                                  : BY_NOTHING_KNOWN;
    c->starts[i] = starts[op];
    c->ends[i] = ends[op];
  }
  scratch_free(starts);
  scratch_free(ends);
  scratch_free(names);
  scratch_free(instructions);
  return status;
}

/* ---- copies ---- */

/* The collective that waits for copies at each op or above it; NO_ROW: none. */
static enum tfprof_status find_collectives_of_ops(const struct carried *c, const struct profile *profile,
                                                  uint32_t **of_ops, struct tfprof_error *error) {
  uint32_t op_count, *parents = NULL;
  enum tfprof_status status = derive_row_count(profile, TABLE_ops, &op_count, error);
  if (!status) status = derive_all_op_parents(profile, &parents, error);
  uint32_t *found = status ? NULL : scratch_allocate(((size_t)op_count + 1) * sizeof *found);
  if (!status && !found) status = error_no_memory(error);
  for (uint32_t i = 0; i < op_count && !status; i++) found[i] = NO_ROW;
  for (uint32_t i = 0; i < c->count && !status; i++) {
    bool is_open = c->carriers[i] == BY_NOTHING_KNOWN || c->carriers[i] == BY_LOST_WORK;
    if (is_open && c->ops[i] < op_count) found[c->ops[i]] = i;
  }
  if (!status) derive_inherit(parents, found, op_count);
  scratch_free(parents);
  *of_ops = found;
  return status;
}

/* Gives collectives the span of their copies, and copies in `of_copies` (one for each transfer) their collective. */
static enum tfprof_status find_copies(struct carried *c, const struct profile *profile, uint32_t *of_copies,
                                      struct tfprof_error *error) {
  uint32_t op_count, *of_ops = NULL;
  string_id copy = derive_known_text(profile, "memcpy");
  enum tfprof_status status = find_collectives_of_ops(c, profile, &of_ops, error);
  if (!status) status = derive_row_count(profile, TABLE_ops, &op_count, error);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_transfers, &block, &status, error);) {
    string_id kinds[ROWS_BLOCK];
    int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK];
    uint32_t ops[ROWS_BLOCK];
    block_texts(&block, COLUMN_transfers_kind, kinds);
    block_integers(&block, COLUMN_transfers_start_ns, starts);
    block_integers(&block, COLUMN_transfers_end_ns, ends);
    block_references(&block, COLUMN_transfers_op_id, op_count, ops);
    for (uint32_t i = 0; i < block.count; i++) {
      uint32_t at = ops[i] == NO_ROW || kinds[i] != copy ? NO_ROW : of_ops[ops[i]];
      if (at == NO_ROW || starts[i] == NO_VALUE || ends[i] == NO_VALUE) continue;
      of_copies[block.row + i] = at;
      bool is_first = c->carriers[at] != BY_COPIES;
      if (is_first || starts[i] < c->starts[at]) c->starts[at] = starts[i];
      if (is_first || ends[i] > c->ends[at]) c->ends[at] = ends[i];
      c->carriers[at] = BY_COPIES;
    }
  }
  scratch_free(of_ops);
  return status;
}

/* ---- what has no work of its own ---- */

/* The kind of kernel that carries out an operation; KIND_ANY: its name does not tell. NCCL sends and receives for what
** has no algorithm of its own, and a barrier is an all_reduce. */
enum kind {
  KIND_ANY,
  KIND_ALL_REDUCE,
  KIND_ALL_GATHER,
  KIND_REDUCE_SCATTER,
  KIND_BROADCAST,
  KIND_REDUCE,
  KIND_SEND,
  KIND_COUNT
};

static enum kind operation_kind(const char *name) {
  static const struct {
    const char *beginning;
    enum kind kind;
  } kinds[] = {{"allreduce", KIND_ALL_REDUCE}, {"barrier", KIND_ALL_REDUCE},
               {"allgather", KIND_ALL_GATHER}, {"reducescatter", KIND_REDUCE_SCATTER},
               {"reduce", KIND_REDUCE},        {"broadcast", KIND_BROADCAST},
               {"send", KIND_SEND},            {"recv", KIND_SEND},
               {"alltoall", KIND_SEND},        {"gather", KIND_SEND},
               {"scatter", KIND_SEND}}; /* the longer of those that begin alike first */
  char letters[16] = "";
  size_t length = 0;
  for (; *name && length + 1 < sizeof letters; name++)
    if (*name != '_') letters[length++] = *name;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strncasecmp(letters, kinds[i].beginning, strlen(kinds[i].beginning)) == 0) return kinds[i].kind;
  return KIND_ANY;
}

/* Which calls launch the kernels of collectives, by their names (texts). An op may launch others for a member of a
** group, and calls that are captured for a graph launch nothing: there the graph's launch has the kernels. */
static enum tfprof_status find_launching(const struct carried *c, const struct profile *profile, const int64_t *names,
                                         bool *are_launching, struct tfprof_error *error) {
  uint32_t call_count, kernel_count, *calls = NULL;
  enum tfprof_status status = derive_row_count(profile, TABLE_api_calls, &call_count, error);
  if (!status) status = derive_row_count(profile, TABLE_kernels, &kernel_count, error);
  if (!status) status = derive_all_references(profile, TABLE_kernels, COLUMN_kernels_api_call_id, &calls, error);
  for (uint32_t i = 0; i < c->count && !status; i++) {
    uint32_t call = c->carriers[i] == BY_KERNEL && c->kernels[i] < kernel_count ? calls[c->kernels[i]] : NO_ROW;
    if (call < call_count && names[call] > 0) are_launching[names[call]] = true;
  }
  scratch_free(calls);
  return status;
}

/* Which collectives launched a kernel that was not recorded: they went with no others. */
static enum tfprof_status find_lost_launches(const struct carried *c, const struct profile *profile, bool *are_lost,
                                             struct tfprof_error *error) {
  uint32_t op_count, *of_ops = NULL;
  int64_t *names = NULL;
  bool *are_launching = scratch_allocate_zeroed((size_t)pool_count(store_pool(profile->store)) + 1, 1);
  enum tfprof_status status = are_launching ? TFPROF_OK : error_no_memory(error);
  if (!status) status = derive_all_integers(profile, TABLE_api_calls, COLUMN_api_calls_name, &names, error);
  if (!status) status = find_launching(c, profile, names, are_launching, error);
  if (!status) status = find_collectives_of_ops(c, profile, &of_ops, error);
  if (!status) status = derive_row_count(profile, TABLE_ops, &op_count, error);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_api_calls, &block, &status, error);) {
    int64_t lacks[ROWS_BLOCK];
    uint32_t ops[ROWS_BLOCK];
    block_integers(&block, COLUMN_api_calls_lacks_kernel, lacks);
    block_references(&block, COLUMN_api_calls_op_id, op_count, ops);
    for (uint32_t i = 0; i < block.count; i++) {
      int64_t name = names[block.row + i];
      bool is_lost = lacks[i] == 1 && name > 0 && are_launching[name];
      if (is_lost && ops[i] != NO_ROW && of_ops[ops[i]] != NO_ROW) are_lost[of_ops[ops[i]]] = true;
    }
  }
  scratch_free(names);
  scratch_free(are_launching);
  scratch_free(of_ops);
  return status;
}

/* A recorder that leaves out the work of devices in some steps loses it otherwise. */
static bool is_recording(const struct profile *profile) { return strcmp(profile_origin(profile), "tfprof") == 0; }

static enum tfprof_status settle_lost_work(struct carried *c, const struct profile *profile,
                                           struct tfprof_error *error) {
  const struct pool *pool = store_pool(profile->store);
  int64_t *names = NULL, *sizes = NULL;
  bool has_work[KIND_COUNT] = {false}, has_any = false;
  bool *are_lost = scratch_allocate_zeroed((size_t)c->count + 1, sizeof *are_lost);
  enum tfprof_status status = are_lost ? TFPROF_OK : error_no_memory(error);
  if (!status) status = derive_all_integers(profile, TABLE_collectives, COLUMN_collectives_name, &names, error);
  if (!status) status = derive_all_integers(profile, TABLE_collectives, COLUMN_collectives_group_size, &sizes, error);
  if (!status) status = find_lost_launches(c, profile, are_lost, error);
  for (uint32_t i = 0; i < c->count && !status; i++) {
    if (c->carriers[i] != BY_KERNEL && c->carriers[i] != BY_COPIES) continue;
    has_work[names[i] > 0 ? operation_kind(pool_text(pool, (string_id)names[i])) : KIND_ANY] = has_any = true;
  }
  for (uint32_t i = 0; i < c->count && !status; i++) {
    if (c->carriers[i] != BY_LOST_WORK || are_lost[i]) continue;
    enum kind kind = names[i] > 0 ? operation_kind(pool_text(pool, (string_id)names[i])) : KIND_ANY;
    bool is_grouped = has_work[KIND_ANY] || (kind == KIND_ANY ? has_any : has_work[kind]);
    if (sizes[i] != 1 && !is_grouped) continue;
    c->carriers[i] = sizes[i] == 1 ? BY_NONE : BY_GROUP;
    c->ends[i] = NO_VALUE;
  }
  scratch_free(names);
  scratch_free(sizes);
  scratch_free(are_lost);
  return status;
}

/* ---- together ---- */

static enum tfprof_status set_carried(struct profile *profile, struct carried *c, struct tfprof_error *error) {
  string_id ids[sizeof carrier_names / sizeof *carrier_names] = {0};
  string_id *texts = scratch_allocate((size_t)c->count * sizeof *texts);
  enum tfprof_status status = texts ? TFPROF_OK : error_no_memory(error);
  for (unsigned i = 0; i < sizeof ids / sizeof *ids && !status; i++) {
    if (carrier_names[i]) status = derive_text(profile, carrier_names[i], &ids[i], error);
  }
  for (uint32_t i = 0; i < c->count && !status; i++) texts[i] = ids[c->carriers[i]];
  if (!status) status = derive_set_texts(profile, TABLE_collectives, COLUMN_collectives_carried_by, texts, error);
  if (!status)
    status = derive_set_integers(profile, TABLE_collectives, COLUMN_collectives_start_ns, c->starts, error);
  if (!status) status = derive_set_integers(profile, TABLE_collectives, COLUMN_collectives_end_ns, c->ends, error);
  for (uint32_t i = 0; i < c->count && !status; i++) {
    bool is_known = c->starts[i] != NO_VALUE && c->ends[i] != NO_VALUE;
    if (!is_known || __builtin_sub_overflow(c->ends[i], c->starts[i], &c->ends[i])) c->ends[i] = NO_VALUE;
  }
  if (!status) status = derive_set_integers(profile, TABLE_collectives, COLUMN_collectives_dur_ns, c->ends, error);
  scratch_free(texts);
  return status;
}

/* The recorder tells itself what it leaves out, and a saved copy has what was told of its source. */
static void tell_lost_work(const struct profile *profile, const struct carried *c) {
  const struct profile_table *content = &profile->tables[TABLE_collectives];
  uint32_t lost = 0;
  for (uint32_t i = 0; i < c->count; i++) lost += c->carriers[i] == BY_LOST_WORK;
  if (!lost || strcmp(profile->source->format, "tfprof") == 0) return;
  segment_diagnose(content->segments[0], COLUMN_collectives_carried_by, "warning", "lost_collectives", lost, -1,
                   "%u of %u collectives have neither a kernel nor copies: how long they took, how fast they were and "
                   "how much of them computation hides is not known, and their rates are NULL "
                   "(collectives.carried_by)", lost, c->count);
  column_set_add(&content->segments[0]->is_told, COLUMN_collectives_carried_by);
}

static enum tfprof_status run_collective_times(struct profile *profile, struct tfprof_error *error) {
  struct carried c = {.kernels = NULL};
  uint32_t copies, *of_copies = NULL;
  enum tfprof_status status = derive_row_count(profile, TABLE_collectives, &c.count, error);
  if (!status) status = derive_row_count(profile, TABLE_transfers, &copies, error);
  if (status || !c.count) return status;
  c.starts = scratch_allocate((size_t)c.count * sizeof *c.starts);
  c.ends = scratch_allocate((size_t)c.count * sizeof *c.ends);
  c.carriers = scratch_allocate_zeroed(c.count, sizeof *c.carriers);
  of_copies = scratch_allocate(((size_t)copies + 1) * sizeof *of_copies);
  if (!c.starts || !c.ends || !c.carriers || !of_copies) status = error_no_memory(error);
  for (uint32_t i = 0; i < c.count && !status; i++) c.starts[i] = c.ends[i] = NO_VALUE;
  for (uint32_t i = 0; i < copies && !status; i++) of_copies[i] = NO_ROW;
  if (!status)
    status = derive_all_references(profile, TABLE_collectives, COLUMN_collectives_kernel_id, &c.kernels, error);
  if (!status) status = derive_all_references(profile, TABLE_collectives, COLUMN_collectives_op_id, &c.ops, error);
  if (!status) status = find_kernels(&c, profile, error);
  if (!status && c.without_kernel && copies) status = find_transfers(&c, profile, copies, of_copies, error);
  if (!status && c.without_kernel) status = find_asking_ops(&c, profile, error);
  if (!status && c.without_kernel && copies) status = find_copies(&c, profile, of_copies, error);
  if (!status && c.without_kernel && !is_recording(profile)) status = settle_lost_work(&c, profile, error);
  if (!status) status = set_carried(profile, &c, error);
  if (!status && copies)
    status = derive_set_references(profile, TABLE_transfers, COLUMN_transfers_collective_id, of_copies, error);
  if (!status) tell_lost_work(profile, &c);
  scratch_free(c.kernels);
  scratch_free(c.ops);
  scratch_free(c.starts);
  scratch_free(c.ends);
  scratch_free(c.carriers);
  scratch_free(of_copies);
  return status;
}

const struct derive_pass derive_collective_times = {
    .name = "times of collectives",
    .summary = "What carried out each collective, and when: its kernel, the copies under its op, or the op itself.",
    .makes_table = -1,
    .reads = {{TABLE_collectives, COLUMN_collectives_name},
              {TABLE_collectives, COLUMN_collectives_group_size},
              {TABLE_api_calls, COLUMN_api_calls_lacks_kernel},
              {TABLE_api_calls, COLUMN_api_calls_op_id},
              {TABLE_api_calls, COLUMN_api_calls_name},
              {TABLE_kernels, COLUMN_kernels_api_call_id},
              {TABLE_collectives, COLUMN_collectives_kernel_id},
              {TABLE_collectives, COLUMN_collectives_transfer},
              {TABLE_collectives, COLUMN_collectives_op_id},
              {TABLE_kernels, COLUMN_kernels_start_ns},
              {TABLE_kernels, COLUMN_kernels_end_ns},
              {TABLE_ops, COLUMN_ops_start_ns},
              {TABLE_ops, COLUMN_ops_end_ns},
              {TABLE_ops, COLUMN_ops_name},
              {TABLE_ops, COLUMN_ops_parent_id},
              {TABLE_ops, COLUMN_ops_collective},
              {TABLE_transfers, COLUMN_transfers_kind},
              {TABLE_transfers, COLUMN_transfers_start_ns},
              {TABLE_transfers, COLUMN_transfers_end_ns},
              {TABLE_transfers, COLUMN_transfers_op_id}},
    .writes = {{TABLE_collectives, COLUMN_collectives_carried_by},
               {TABLE_collectives, COLUMN_collectives_start_ns},
               {TABLE_collectives, COLUMN_collectives_end_ns},
               {TABLE_collectives, COLUMN_collectives_dur_ns},
               {TABLE_transfers, COLUMN_transfers_collective_id}},
    .run = run_collective_times,
    .is_alone = true,
    .has_diagnostics = true,
    .texts = carrier_texts,
};
