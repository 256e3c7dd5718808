/* plain_totals.c: see plain_totals.h. A block's columns are read one after the other: first those of the keys, then
** each that is added up, as its rows' numbers are known by then. */
#include "derive/totals/plain_totals.h"

#include "derive/totals/grouping.h"

#include <string.h>

union plain_cell {
  double real;
  int64_t whole;
};
/* Cells of PLAIN_DEVIATION: Welford's running mean and squares of the distances from the first value, which are exact
** where values lie close together far from 0. Other sums have one cell. */
enum { CELL_COUNT, CELL_FIRST, CELL_MEAN, CELL_SQUARES, DEVIATION_CELLS };
enum { MAXIMUM_CELLS = PLAIN_MAXIMUM_COLUMNS * DEVIATION_CELLS };

/* Columns that rows have in common. */
struct plain_shared {
  unsigned table, count;
  uint16_t columns[PLAIN_MAXIMUM_COLUMNS];
  uint16_t kinds[PLAIN_MAXIMUM_COLUMNS];    /* enum plain_sum */
  uint16_t others[PLAIN_MAXIMUM_COLUMNS];   /* of PLAIN_REFERRED */
  uint32_t limits[PLAIN_MAXIMUM_COLUMNS];   /* of references: rows of what they refer to */
};

struct plain_run {
  const struct profile *profile;
  const struct plain_totals *totals;
  unsigned sum_count, shared_count;
  unsigned cell_count, first_cells[PLAIN_MAXIMUM_COLUMNS]; /* of an item, and by sum */
  struct plain_column shared[PLAIN_MAXIMUM_COLUMNS], sums[PLAIN_MAXIMUM_COLUMNS];
  struct plain_shared own, others; /* of the table: those of these totals but PLAIN_TOTAL, and those of `via` */
  struct groups totals_via; /* rows of `via` by what they share, numbered as they lie */
  union plain_cell none[MAXIMUM_CELLS];
};

static enum column_type type_of(unsigned table, unsigned column) {
  return (enum column_type)schema_tables[table].columns[column].type;
}

/* ---- blocks ---- */

/* What identifies a value of a row, NO_VALUE for NULL or no row; most rows that are referred to lie near the last. */
static int64_t value_of_referred(const struct profile_table *content, unsigned table, unsigned column, uint32_t row,
                        size_t *hint) {
  const struct segment *segment = row == NO_ROW ? NULL : derive_segment_of(content, row, hint);
  const struct column *values = segment ? segment->columns[column] : NULL;
  enum column_type type = type_of(table, column);
  uint32_t at = segment ? row - (uint32_t)segment->first_row : 0;
  if (!values || column_is_null(values, at)) return NO_VALUE;
  if (type == TYPE_REAL) return key_of_real(column_real(values, at));
  int64_t value = column_integer(values, at);
  return value || (type != TYPE_TEXT && type != TYPE_JSON) ? value : NO_VALUE;
}

/* The column `other` of the rows that a reference of a block's rows refers to. */
static void read_by_reference(const struct profile *profile, unsigned table, const struct row_block *block,
                              unsigned reference, uint32_t limit, unsigned other, int64_t *values) {
  unsigned target = schema_tables[table].columns[reference].target;
  const struct profile_table *content = &profile->tables[target];
  uint32_t references[ROWS_BLOCK];
  size_t hint = 0;
  block_references(block, reference, limit, references);
  for (uint32_t i = 0; i < block->count; i++) {
    bool is_same = i && references[i] == references[i - 1];
    values[i] = is_same ? values[i - 1] : value_of_referred(content, target, other, references[i], &hint);
  }
}

static void read_referred(const struct plain_run *run, unsigned k, const struct row_block *block, int64_t *values) {
  const struct plain_shared *shared = &run->own;
  read_by_reference(run->profile, shared->table, block, shared->columns[k], shared->limits[k], shared->others[k],
                    values);
}

/* What identifies a value of a column, NO_VALUE for NULL. */
static void read_shared(const struct plain_shared *shared, unsigned k, const struct row_block *block, int64_t *values) {
  unsigned column = shared->columns[k];
  enum column_type type = type_of(shared->table, column);
  if (type == TYPE_REFERENCE) {
    uint32_t references[ROWS_BLOCK];
    block_references(block, column, shared->limits[k], references);
    for (uint32_t i = 0; i < block->count; i++) values[i] = references[i] == NO_ROW ? NO_VALUE : (int64_t)references[i];
  } else if (type == TYPE_TEXT || type == TYPE_JSON) {
    string_id texts[ROWS_BLOCK];
    block_texts(block, column, texts);
    for (uint32_t i = 0; i < block->count; i++) values[i] = texts[i] ? (int64_t)texts[i] : NO_VALUE;
  } else if (type == TYPE_REAL) {
    double reals[ROWS_BLOCK];
    block_reals(block, column, reals);
    for (uint32_t i = 0; i < block->count; i++) values[i] = key_of_real(reals[i]);
  } else {
    block_integers(block, column, values);
  }
}

void plain_bins(int64_t bins[PLAIN_BINS]) {
  bins[0] = 0;
  bins[1] = 1;
  bins[2] = 1000;
  for (unsigned i = 3; i < PLAIN_BINS; i++) bins[i] = bins[i - 1] + bins[i - 1] / 4;
}

/* A duration below 0, which damaged files have, is of no bin. */
static void put_into_bins(int64_t *values, uint32_t count) {
  int64_t bins[PLAIN_BINS];
  plain_bins(bins);
  unsigned last = 0; /* durations that follow each other are often alike */
  for (uint32_t i = 0; i < count; i++) {
    if (values[i] < 0) {
      values[i] = NO_VALUE;
      continue;
    }
    if (values[i] < bins[last] || (last + 1 < PLAIN_BINS && values[i] >= bins[last + 1])) {
      unsigned low = 0, high = PLAIN_BINS;
      while (high - low > 1) {
        unsigned middle = low + (high - low) / 2;
        if (bins[middle] <= values[i]) low = middle;
        else high = middle;
      }
      last = low;
    }
    values[i] = bins[last];
  }
}

/* The keys of a block's rows, `count` values each, scratch memory of the caller's; NULL: no memory. */
static int64_t *read_keys_of(const struct plain_run *run, const struct plain_shared *shared,
                             const struct row_block *block) {
  int64_t *keys = scratch_allocate((size_t)block->count * shared->count * sizeof *keys + 1);
  int64_t values[ROWS_BLOCK];
  for (unsigned k = 0; k < shared->count && keys; k++) {
    if (shared->kinds[k] == PLAIN_REFERRED) read_referred(run, k, block, values);
    else read_shared(shared, k, block, values);
    if (shared->kinds[k] == PLAIN_BIN) put_into_bins(values, block->count);
    for (uint32_t i = 0; i < block->count && shared->kinds[k] == PLAIN_IS_KNOWN; i++) values[i] = values[i] != NO_VALUE;
    for (uint32_t i = 0; i < block->count && shared->kinds[k] == PLAIN_IS_POSITIVE; i++) values[i] = values[i] > 0;
    for (uint32_t i = 0; i < block->count; i++) keys[(size_t)i * shared->count + k] = values[i];
  }
  return keys;
}

static bool number_rows(const struct grouping *grouping, struct grouped *to, const struct row_block *block,
                        uint32_t *numbers) {
  const struct plain_run *run = grouping->context;
  unsigned own = run->own.count, others = run->others.count;
  int64_t *keys = read_keys_of(run, &run->own, block), *via = others ? read_keys_of(run, &run->others, block) : NULL;
  bool ok = keys && (via || !others);
  uint32_t last = NO_ROW; /* rows that follow each other often belong together */
  for (uint32_t i = 0; i < block->count && ok; i++) {
    int64_t key[PLAIN_MAXIMUM_COLUMNS + 1];
    memcpy(key, keys + (size_t)i * own, own * sizeof *key);
    if (others) {
      const int64_t *wanted = via + (size_t)i * others;
      if (!i || memcmp(wanted, wanted - others, others * sizeof *wanted) != 0)
        last = groups_find(&run->totals_via, wanted);
      key[own] = last == NO_ROW ? NO_VALUE : (int64_t)last;
    }
    numbers[i] = grouping_number(grouping, to, key, run->none);
    ok = numbers[i] != NO_ROW;
  }
  scratch_free(keys);
  scratch_free(via);
  return ok;
}

static void add_real(union plain_cell *cell, double value) {
  if (!isnan(value)) cell->real = isnan(cell->real) ? value : cell->real + value;
}

/* What is known of a column of numbers, NAN for NULL. */
static void read_numbers(unsigned table, unsigned column, const struct row_block *block, double *numbers) {
  int64_t values[ROWS_BLOCK];
  if (type_of(table, column) == TYPE_REAL) {
    block_reals(block, column, numbers);
    return;
  }
  block_integers(block, column, values);
  for (uint32_t i = 0; i < block->count; i++) numbers[i] = values[i] == NO_VALUE ? (double)NAN : (double)values[i];
}

static void read_differences(const struct plain_run *run, const struct row_block *block,
                             const struct plain_column *column, double *numbers) {
  int64_t values[ROWS_BLOCK], others[ROWS_BLOCK];
  block_integers(block, column->from, values);
  if (column->by) read_by_reference(run->profile, run->totals->of, block, column->by, NO_ROW, column->other, others);
  else block_integers(block, column->other, others);
  for (uint32_t i = 0; i < block->count; i++) {
    bool is_known = values[i] != NO_VALUE && others[i] != NO_VALUE;
    numbers[i] = is_known ? (double)derive_difference(values[i], others[i]) : (double)NAN;
  }
}

static void add_integers(enum plain_sum sum, union plain_cell *cells, unsigned width, const int64_t *values,
                         const uint32_t *numbers, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    union plain_cell *cell = &cells[(size_t)numbers[i] * width];
    if (values[i] == NO_VALUE) continue;
    if (sum == PLAIN_LEAST) {
      if (cell->whole == NO_VALUE || values[i] < cell->whole) cell->whole = values[i];
    } else if (sum == PLAIN_MOST) {
      if (values[i] > cell->whole) cell->whole = values[i]; /* NO_VALUE is below all */
    } else {
      if (!cell[CELL_COUNT].whole++) cell[CELL_FIRST].whole = values[i];
      double value = (double)derive_difference(values[i], cell[CELL_FIRST].whole);
      double difference = value - cell[CELL_MEAN].real;
      cell[CELL_MEAN].real += difference / (double)cell[CELL_COUNT].whole;
      cell[CELL_SQUARES].real += difference * (value - cell[CELL_MEAN].real);
    }
  }
}

static void add_column(const struct plain_run *run, unsigned s, union plain_cell *cells, const struct row_block *block,
                       const uint32_t *numbers) {
  const struct plain_column *column = &run->sums[s];
  unsigned width = run->cell_count;
  double reals[ROWS_BLOCK];
  int64_t integers[ROWS_BLOCK];
  cells += run->first_cells[s];
  switch ((enum plain_sum)column->sum) {
    case PLAIN_ROWS:
      for (uint32_t i = 0; i < block->count; i++) cells[(size_t)numbers[i] * width].whole++;
      break;
    case PLAIN_FIRST:
      for (uint32_t i = 0; i < block->count; i++) {
        union plain_cell *cell = &cells[(size_t)numbers[i] * width];
        if (cell->whole == NO_VALUE) cell->whole = (int64_t)block->row + i;
      }
      break;
    case PLAIN_KNOWN:
      read_numbers(run->totals->of, column->from, block, reals);
      for (uint32_t i = 0; i < block->count; i++) cells[(size_t)numbers[i] * width].whole += !isnan(reals[i]);
      break;
    case PLAIN_LATER:
      read_differences(run, block, column, reals);
      for (uint32_t i = 0; i < block->count; i++) add_real(&cells[(size_t)numbers[i] * width], reals[i]);
      break;
    case PLAIN_SUM:
      read_numbers(run->totals->of, column->from, block, reals);
      for (uint32_t i = 0; i < block->count; i++) add_real(&cells[(size_t)numbers[i] * width], reals[i]);
      break;
    default:
      block_integers(block, column->from, integers);
      add_integers((enum plain_sum)column->sum, cells, width, integers, numbers, block->count);
  }
}

static bool add_alike_rows(const struct grouping *grouping, struct grouped *to, const struct row_block *block) {
  const struct plain_run *run = grouping->context;
  uint32_t numbers[ROWS_BLOCK];
  if (!number_rows(grouping, to, block, numbers)) return false;
  for (unsigned s = 0; s < run->sum_count; s++) add_column(run, s, to->items, block, numbers);
  return true;
}

/* ---- columns ---- */

static double deviation_of(const union plain_cell *cells) {
  int64_t count = cells[CELL_COUNT].whole;
  return count > 1 ? sqrt(cells[CELL_SQUARES].real / (double)(count - 1)) : (double)NAN;
}

static enum tfprof_status set_column(struct profile *profile, const struct plain_run *run, unsigned s,
                                     const struct grouped *grouped, int64_t *integers, double *reals,
                                     struct tfprof_error *error) {
  unsigned table = run->totals->table, column = run->sums[s].column, width = run->cell_count;
  const union plain_cell *cells = (const union plain_cell *)grouped->items + run->first_cells[s];
  uint32_t count = grouped->groups.count;
  enum plain_sum sum = (enum plain_sum)run->sums[s].sum;
  bool is_sum = sum == PLAIN_SUM || sum == PLAIN_LATER;
  if (sum == PLAIN_DEVIATION || (is_sum && type_of(table, column) == TYPE_REAL)) {
    for (uint32_t i = 0; i < count; i++) {
      const union plain_cell *cell = &cells[(size_t)i * width];
      reals[i] = is_sum ? cell->real : deviation_of(cell);
    }
    return derive_set_reals(profile, table, column, reals, error);
  }
  for (uint32_t i = 0; i < count; i++) {
    const union plain_cell *cell = &cells[(size_t)i * width];
    integers[i] = is_sum ? whole_sum(cell->real) : cell->whole;
  }
  return derive_set_integers(profile, table, column, integers, error);
}

static enum tfprof_status set_shared(struct profile *profile, const struct plain_run *run, unsigned k,
                                     const struct grouped *grouped, int64_t *integers, double *reals,
                                     struct tfprof_error *error) {
  unsigned table = run->totals->table, column = run->shared[k].column;
  const int64_t *keys = grouped->groups.keys + k;
  uint32_t count = grouped->groups.count;
  for (uint32_t i = 0; i < count; i++) integers[i] = keys[(size_t)i * run->shared_count];
  if (type_of(table, column) != TYPE_REAL) return derive_set_integers(profile, table, column, integers, error);
  for (uint32_t i = 0; i < count; i++) reals[i] = real_of_key(integers[i]);
  return derive_set_reals(profile, table, column, reals, error);
}

static enum tfprof_status set_totals(struct profile *profile, const struct plain_run *run,
                                     const struct grouped *grouped, struct tfprof_error *error) {
  uint32_t count = grouped->groups.count;
  int64_t *integers = scratch_allocate(((size_t)count + 1) * sizeof *integers);
  double *reals = scratch_allocate(((size_t)count + 1) * sizeof *reals);
  enum tfprof_status status = integers && reals ? TFPROF_OK : error_no_memory(error);
  if (!status) status = derive_make_table(profile, run->totals->table, count, error);
  for (unsigned k = 0; k < run->shared_count && count && !status; k++)
    status = set_shared(profile, run, k, grouped, integers, reals, error);
  for (unsigned s = 0; s < run->sum_count && count && !status; s++)
    status = set_column(profile, run, s, grouped, integers, reals, error);
  scratch_free(integers);
  scratch_free(reals);
  return status;
}

/* Chan's way to put two means and squares together. */
static void join_deviations(union plain_cell *cells, const union plain_cell *more) {
  double count = (double)cells[CELL_COUNT].whole, later = (double)more[CELL_COUNT].whole;
  if (!more[CELL_COUNT].whole) return;
  if (!cells[CELL_COUNT].whole) {
    memcpy(cells, more, DEVIATION_CELLS * sizeof *cells);
    return;
  }
  double apart = (double)derive_difference(more[CELL_FIRST].whole, cells[CELL_FIRST].whole) + more[CELL_MEAN].real -
                 cells[CELL_MEAN].real;
  cells[CELL_COUNT].whole += more[CELL_COUNT].whole;
  cells[CELL_MEAN].real += apart * later / (count + later);
  cells[CELL_SQUARES].real += more[CELL_SQUARES].real + apart * apart * count * later / (count + later);
}

static void join_cells(const struct grouping *grouping, void *item, const void *later) {
  const struct plain_run *run = grouping->context;
  for (unsigned s = 0; s < run->sum_count; s++) {
    union plain_cell *cell = (union plain_cell *)item + run->first_cells[s];
    const union plain_cell *more = (const union plain_cell *)later + run->first_cells[s];
    switch ((enum plain_sum)run->sums[s].sum) {
      case PLAIN_SUM:
      case PLAIN_LATER: add_real(cell, more->real); break;
      case PLAIN_FIRST: break;
      case PLAIN_LEAST:
        if (more->whole != NO_VALUE && (cell->whole == NO_VALUE || more->whole < cell->whole)) *cell = *more;
        break;
      case PLAIN_MOST:
        if (more->whole > cell->whole) *cell = *more;
        break;
      case PLAIN_DEVIATION: join_deviations(cell, more); break;
      default: cell->whole += more->whole;
    }
  }
}

/* Rows of `via` are numbered by what they share, as they lie. */
static enum tfprof_status load_others(struct profile *profile, struct plain_run *run, struct tfprof_error *error) {
  const struct plain_totals *via = run->totals->via;
  struct plain_shared theirs = {.table = via->table};
  enum tfprof_status status = TFPROF_OK;
  run->others.table = via->of;
  for (unsigned c = 0; c < via->column_count && !status; c++) {
    const struct plain_column *column = &via->columns[c];
    const struct column_spec *spec = &schema_tables[via->of].columns[column->from];
    unsigned k = theirs.count;
    if (column->sum != PLAIN_SHARED) continue;
    theirs.columns[theirs.count++] = column->column;
    run->others.columns[run->others.count++] = column->from;
    if (spec->type == TYPE_REFERENCE) status = derive_row_count(profile, spec->target, &run->others.limits[k], error);
    theirs.limits[k] = run->others.limits[k];
  }
  run->totals_via.width = theirs.count;
  for (struct row_block block = {0}; derive_next_block(profile, via->table, &block, &status, error);) {
    int64_t *keys = read_keys_of(run, &theirs, &block);
    for (uint32_t i = 0; i < block.count && keys && !status; i++) {
      if (groups_number(&run->totals_via, keys + (size_t)i * theirs.count) == NO_ROW) status = error_no_memory(error);
    }
    if (!keys) status = error_no_memory(error);
    scratch_free(keys);
  }
  return status;
}

static enum tfprof_status begin_run(struct profile *profile, struct plain_run *run, struct tfprof_error *error) {
  const struct plain_totals *totals = run->totals;
  enum tfprof_status status = TFPROF_OK;
  bool has_total = false;
  run->own.table = totals->of;
  for (unsigned c = 0; c < totals->column_count && !status; c++) {
    const struct plain_column *column = &totals->columns[c];
    const struct column_spec *spec = &schema_tables[totals->of].columns[column->from];
    union plain_cell *none = &run->none[run->cell_count];
    switch ((enum plain_sum)column->sum) {
      case PLAIN_TOTAL: has_total = true; break;
      case PLAIN_SHARED:
      case PLAIN_BIN:
      case PLAIN_IS_KNOWN:
      case PLAIN_IS_POSITIVE:
      case PLAIN_REFERRED:
        run->own.kinds[run->own.count] = column->sum;
        run->own.others[run->own.count] = column->other;
        if (spec->type == TYPE_REFERENCE)
          status = derive_row_count(profile, spec->target, &run->own.limits[run->own.count], error);
        run->own.columns[run->own.count++] = column->from;
        run->shared[run->shared_count++] = *column;
        break;
      default:
        if (column->sum == PLAIN_SUM || column->sum == PLAIN_LATER) none->real = (double)NAN;
        if (column->sum == PLAIN_FIRST || column->sum == PLAIN_LEAST || column->sum == PLAIN_MOST)
          none->whole = NO_VALUE;
        run->first_cells[run->sum_count] = run->cell_count;
        run->cell_count += column->sum == PLAIN_DEVIATION ? DEVIATION_CELLS : 1;
        run->sums[run->sum_count++] = *column;
    }
  }
  for (unsigned c = 0; c < totals->column_count && has_total && !status; c++) { /* behind the others in keys */
    if (totals->columns[c].sum == PLAIN_TOTAL) run->shared[run->shared_count++] = totals->columns[c];
  }
  if (has_total && !status) status = load_others(profile, run, error);
  return status;
}

enum tfprof_status plain_totals_run(struct profile *profile, const struct plain_totals *totals,
                                    struct tfprof_error *error) {
  struct plain_run run = {.profile = profile, .totals = totals};
  struct grouped grouped = {.items = NULL};
  enum tfprof_status status = begin_run(profile, &run, error);
  const struct grouping grouping = {.profile = profile,
                                    .table = totals->of,
                                    .width = run.shared_count,
                                    .item_size = run.cell_count * sizeof(union plain_cell),
                                    .context = &run,
                                    .add = add_alike_rows,
                                    .join = join_cells};
  if (!status) status = grouping_run(&grouping, &grouped, error);
  if (!status) status = set_totals(profile, &run, &grouped, error);
  groups_free(&run.totals_via);
  grouped_free(&grouped);
  return status;
}
