/* kernel_names.c: what the name of a kernel tells: its short form, its kind, and whether it computes on tensor cores.
**
** Each distinct name is looked at once.  The kind has a pass of its own, which asks for collectives and so for what the
** host did: of an XPlane file the rest needs the planes of devices alone.
**
**   short_name              without return type, namespaces' template arguments, template arguments and parameters:
**                           "void at::native::vectorized_elementwise_kernel<4, F, A>(int, F, A)" is
**                           at::native::vectorized_elementwise_kernel
**   kind                    communication for kernels of libraries that exchange data (communication_names.h), and for
**                           those that a row of collectives names; else compute, where the source does not tell
**   uses_tensor_core        by the family, template or product that the name tells (tensor_core_kernels.h); NULL of
**                           kernels of Triton
**   tensor_core_eligible    the op that launched it, by its name, is one that tensor cores can compute
**                           (tensor_core_ops.h), and the kernel does not only change the layout of what such an op
**                           reads or writes; or the kernel uses them; NULL without an op
*/
#include "derive/names/communication_names.h"
#include "derive/names/tensor_core_kernels.h"
#include "derive/names/tensor_core_ops.h"
#include "derive/passes.h"
#include "derive/rows.h"

#include <string.h>

/* These compute nothing that tensor cores could, and neither do kernels that communicate. Only names are asked: kinds
** of kernels need collectives, and so the ops of the host, which nobody has to read for this. */
static const char *const layout_parts[] = {"nchwToNhwc", "nhwcToNchw"};

static bool is_among(const char *text, const char *const *parts, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (strstr(text, parts[i])) return true;
  }
  return false;
}
#define AMONG(text, parts) is_among(text, parts, sizeof parts / sizeof *parts)

/* Writes the short form, which is never longer than the name; returns its length. */
static size_t shorten(const char *name, char *to) {
  static const char anonymous[] = "(anonymous namespace)";
  size_t length = 0, depth = 0;
  if (strncmp(name, "void ", 5) == 0) name += 5;
  for (const char *p = name; *p; p++) {
    if (strncmp(p, anonymous, sizeof anonymous - 1) == 0) {
      if (!depth) {
        memcpy(to + length, anonymous, sizeof anonymous - 1);
        length += sizeof anonymous - 1;
      }
      p += sizeof anonymous - 2;
    } else if (*p == '<') {
      depth++;
    } else if (*p == '>') {
      depth -= depth > 0;
    } else if (*p == '(' && !depth && length) {
      break;
    } else if (!depth) {
      to[length++] = *p;
    }
  }
  while (length && to[length - 1] == ' ') length--;
  return length;
}

enum { IS_KNOWN = 1, USES_TENSOR_CORE = 2, COMPUTES_NOTHING = 4, MAY_USE_TENSOR_CORE = 8 };
enum { IS_OP_KNOWN = 16, IS_OP_ELIGIBLE = 32 }; /* of names of ops */

struct names {
  uint8_t *facts;    /* by string */
  string_id *shorts; /* by string, where IS_KNOWN */
  size_t count;
};

static enum tfprof_status look_at(struct profile *profile, struct names *names, string_id id,
                                  struct tfprof_error *error) {
  struct pool *pool = store_pool(profile->store);
  const char *name = pool_text(pool, id);
  char *shortened = scratch_allocate(pool_length(pool, id) + 1);
  if (!shortened) return error_no_memory(error);
  size_t length = shorten(name, shortened);
  static const uint8_t uses[] = {[WITHOUT_TENSOR_CORES] = 0, [WITH_TENSOR_CORES] = USES_TENSOR_CORE,
                                 [TENSOR_CORES_UNKNOWN] = MAY_USE_TENSOR_CORE};
  names->facts[id] |= IS_KNOWN | uses[tensor_core_use_of(name)] |
                      (AMONG(name, layout_parts) || communication_kernel(name) ? COMPUTES_NOTHING : 0);
  names->shorts[id] = id;
  enum tfprof_status status = length ? pool_intern(pool, shortened, length, &names->shorts[id]) : TFPROF_OK;
  scratch_free(shortened);
  if (status == TFPROF_NO_MEMORY) return error_no_memory(error);
  return status ? error_set(error, status, "too many different texts are open") : TFPROF_OK;
}

struct results {
  string_id *shorts;
  int64_t *uses, *eligible;
};

/* 1 where tensor cores can compute what the op does; NO_VALUE without an op. */
static int64_t eligibility(const struct profile *profile, struct names *names, string_id op, string_id equation) {
  const struct pool *pool = store_pool(profile->store);
  if (!op) return NO_VALUE;
  if (!(names->facts[op] & IS_OP_KNOWN))
    names->facts[op] |= IS_OP_KNOWN | (tensor_core_can_run(pool_text(pool, op)) ? IS_OP_ELIGIBLE : 0);
  return names->facts[op] & IS_OP_ELIGIBLE || (equation && tensor_core_can_contract(pool_text(pool, equation)));
}

static enum tfprof_status fill(struct profile *profile, struct names *names, struct results *r,
                               struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_kernels, &block, &status, error);) {
    string_id ids[ROWS_BLOCK], ops[ROWS_BLOCK], equations[ROWS_BLOCK];
    block_texts(&block, COLUMN_kernels_name, ids);
    block_texts(&block, COLUMN_kernels_op_name, ops);
    block_texts(&block, COLUMN_kernels_equation, equations);
    for (uint32_t i = 0; i < block.count && !status; i++) {
      uint64_t row = block.row + i;
      r->eligible[row] = eligibility(profile, names, ops[i], equations[i]);
      if (!ids[i]) continue;
      if (!(names->facts[ids[i]] & IS_KNOWN)) status = look_at(profile, names, ids[i], error);
      r->shorts[row] = names->shorts[ids[i]];
      if (column_set_has(&block.segment->is_raw, COLUMN_kernels_kind)) { /* of a TPU: names tell nothing of its units */
        r->eligible[row] = NO_VALUE;
        continue;
      }
      bool is_unknown = names->facts[ids[i]] & MAY_USE_TENSOR_CORE;
      r->uses[row] = is_unknown ? NO_VALUE : (names->facts[ids[i]] & USES_TENSOR_CORE) != 0;
      if (r->uses[row] == 1 && ops[i]) r->eligible[row] = 1;
      if (names->facts[ids[i]] & COMPUTES_NOTHING && r->eligible[row] == 1) r->eligible[row] = 0;
    }
  }
  return status;
}

static enum tfprof_status run_kernel_names(struct profile *profile, struct tfprof_error *error) {
  uint32_t rows;
  enum tfprof_status status = derive_row_count(profile, TABLE_kernels, &rows, error);
  if (status || !rows) return status;
  size_t texts = (size_t)pool_count(store_pool(profile->store)) + 1;
  struct names names = {.facts = scratch_allocate_zeroed(texts, 1),
                        .shorts = scratch_allocate_zeroed(texts, sizeof *names.shorts),
                        .count = texts};
  struct results r = {scratch_allocate_zeroed(rows, sizeof *r.shorts), scratch_allocate(rows * sizeof *r.uses),
                      scratch_allocate(rows * sizeof *r.eligible)};
  if (!names.facts || !names.shorts || !r.shorts || !r.uses || !r.eligible) status = error_no_memory(error);
  for (uint32_t i = 0; i < rows && !status; i++) r.uses[i] = r.eligible[i] = NO_VALUE;
  if (!status) status = fill(profile, &names, &r, error);
  if (!status) status = derive_set_texts(profile, TABLE_kernels, COLUMN_kernels_short_name, r.shorts, error);
  if (!status) status = derive_set_integers(profile, TABLE_kernels, COLUMN_kernels_uses_tensor_core, r.uses, error);
  if (!status) {
    status = derive_set_integers(profile, TABLE_kernels, COLUMN_kernels_tensor_core_eligible, r.eligible, error);
  }
  scratch_free(names.facts);
  scratch_free(names.shorts);
  scratch_free(r.shorts);
  scratch_free(r.uses);
  scratch_free(r.eligible);
  return status;
}

/* ---- kinds ---- */

static enum tfprof_status fill_kinds(struct profile *profile, uint8_t *facts, string_id *kinds,
                                     struct tfprof_error *error) {
  enum { KNOWN = 1, COMMUNICATION = 2 };
  const struct pool *pool = store_pool(profile->store);
  string_id compute = derive_known_text(profile, "compute");
  string_id communication = derive_known_text(profile, "communication");
  uint32_t *named = NULL, collective_count = 0;
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_kernels, &block, &status, error);) {
    string_id ids[ROWS_BLOCK];
    block_texts(&block, COLUMN_kernels_name, ids);
    for (uint32_t i = 0; i < block.count; i++) {
      if (!ids[i]) continue;
      if (!facts[ids[i]]) facts[ids[i]] = KNOWN | (communication_kernel(pool_text(pool, ids[i])) ? COMMUNICATION : 0);
      kinds[block.row + i] = facts[ids[i]] & COMMUNICATION ? communication : compute;
    }
  }
  if (!status) status = derive_row_count(profile, TABLE_collectives, &collective_count, error);
  if (!status) status = derive_all_references(profile, TABLE_collectives, COLUMN_collectives_kernel_id, &named, error);
  for (uint32_t i = 0; i < collective_count && !status; i++) {
    if (named[i] != NO_ROW) kinds[named[i]] = communication;
  }
  scratch_free(named);
  return status;
}

static enum tfprof_status run_kernel_kinds(struct profile *profile, struct tfprof_error *error) {
  uint32_t rows;
  enum tfprof_status status = derive_row_count(profile, TABLE_kernels, &rows, error);
  if (status || !rows) return status;
  uint8_t *facts = scratch_allocate_zeroed((size_t)pool_count(store_pool(profile->store)) + 1, 1); /* by string */
  string_id *kinds = scratch_allocate_zeroed(rows, sizeof *kinds);
  status = facts && kinds ? fill_kinds(profile, facts, kinds, error) : error_no_memory(error);
  if (!status) status = derive_set_texts(profile, TABLE_kernels, COLUMN_kernels_kind, kinds, error);
  scratch_free(facts);
  scratch_free(kinds);
  return status;
}

static const char *const kind_texts[] = {"compute", "communication", NULL};

const struct derive_pass derive_kernel_kinds = {
    .name = "kinds of kernels",
    .summary = "Whether kernels compute or communicate, from their names, each looked at once, and from collectives.",
    .makes_table = -1,
    .reads = {{TABLE_kernels, COLUMN_kernels_name}, {TABLE_collectives, COLUMN_collectives_kernel_id}},
    .writes = {{TABLE_kernels, COLUMN_kernels_kind}},
    .run = run_kernel_kinds,
    .texts = kind_texts,
};

const struct derive_pass derive_kernel_names = {
    .name = "kernel names",
    .summary = "Short name and use of tensor cores from the names of kernels and ops, each looked at once.",
    .makes_table = -1,
    .reads = {{TABLE_kernels, COLUMN_kernels_name},
              {TABLE_kernels, COLUMN_kernels_op_name},
              {TABLE_kernels, COLUMN_kernels_equation}},
    .writes = {{TABLE_kernels, COLUMN_kernels_short_name},
               {TABLE_kernels, COLUMN_kernels_uses_tensor_core},
               {TABLE_kernels, COLUMN_kernels_tensor_core_eligible}},
    .run = run_kernel_names,
    .is_alone = true,
};
