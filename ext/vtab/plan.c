/* plan.c: see plan.h.
**
** What is pushed down, by the type of the column:
**
**   numbers   = IS <> IS NOT < <= > >= IN, IS [NOT] NULL: always exact, because the comparison turns the other side
**             into a number whatever it is, and collations do not matter
**   text      = IS <> IS NOT IN: SQLite checks again unless the other side is known to be text, because a number there
**             is compared in a way that depends on where it comes from
**             < <= > >=: only with a text that is known when the query is prepared
**             LIKE GLOB REGEXP: by calling the connection's own function, once for each distinct string
**
** Before SQLite 3.51, <> IS NOT LIKE GLOB REGEXP and IS NOT NULL are checked by SQLite too: see outer_join.h.
**
** One constraint becomes the access path, the rest filter its rows.  An order is made by the table unless the access
** path leaves so few rows that SQLite sorts them faster than a permutation of the whole table is built, or the table
** has more rows than a permutation holds.
*/
#include "vtab/plan.h"

#include <string.h>

#include "vtab/outer_join.h"

SQLITE_EXTENSION_INIT3

/* Below this part of the table, the rows found through a column are left to SQLite to sort. */
static const double ORDER_THRESHOLD = 0.1;
/* The same where the order is that in which they lie. */
static const double NATURAL_THRESHOLD = 0.05;

static const char *const operator_words[TERM_OPERATORS] = {
    [TERM_EQUAL] = "=?",
    [TERM_IS] = ":is?",
    [TERM_IN] = ":in?",
    [TERM_NULL] = ":null",
    [TERM_NOT_NULL] = ":notnull",
    [TERM_LESS] = "<?",
    [TERM_LESS_EQUAL] = "<=?",
    [TERM_GREATER] = ">?",
    [TERM_GREATER_EQUAL] = ">=?",
    [TERM_NOT_EQUAL] = "<>?",
    [TERM_IS_NOT] = ":isnot?",
    [TERM_LIKE] = ":like?",
    [TERM_GLOB] = ":glob?",
    [TERM_REGEXP] = ":regexp?",
};

static bool takes_value(enum term_operator operator) { return operator != TERM_NULL && operator != TERM_NOT_NULL; }
static bool is_equality(enum term_operator operator) { return operator == TERM_EQUAL || operator == TERM_IS; }
static bool is_range(enum term_operator operator) { return operator >= TERM_LESS && operator <= TERM_GREATER_EQUAL; }
static bool is_pattern(enum term_operator operator) { return operator >= TERM_LIKE && operator <= TERM_REGEXP; }

/* TERM_OPERATORS: one that is left to SQLite. */
static enum term_operator operator_of(unsigned char constraint) {
  switch (constraint) {
    case SQLITE_INDEX_CONSTRAINT_EQ: return TERM_EQUAL;
    case SQLITE_INDEX_CONSTRAINT_IS: return TERM_IS;
    case SQLITE_INDEX_CONSTRAINT_NE: return TERM_NOT_EQUAL;
    case SQLITE_INDEX_CONSTRAINT_ISNOT: return TERM_IS_NOT;
    case SQLITE_INDEX_CONSTRAINT_ISNULL: return TERM_NULL;
    case SQLITE_INDEX_CONSTRAINT_ISNOTNULL: return TERM_NOT_NULL;
    case SQLITE_INDEX_CONSTRAINT_LT: return TERM_LESS;
    case SQLITE_INDEX_CONSTRAINT_LE: return TERM_LESS_EQUAL;
    case SQLITE_INDEX_CONSTRAINT_GT: return TERM_GREATER;
    case SQLITE_INDEX_CONSTRAINT_GE: return TERM_GREATER_EQUAL;
    case SQLITE_INDEX_CONSTRAINT_LIKE: return TERM_LIKE;
    case SQLITE_INDEX_CONSTRAINT_GLOB: return TERM_GLOB;
    case SQLITE_INDEX_CONSTRAINT_REGEXP: return TERM_REGEXP;
    default: return TERM_OPERATORS;
  }
}

/* ---- xBestIndex ---- */

struct choice {
  const struct plan_table *table;
  sqlite3_index_info *info;
  struct plan *plan;
  int argument_count;
  bool is_complete;       /* every constraint is enforced here, exactly */
  double rows;            /* of the profiles selected */
  double part;            /* of them that the query gets */
  double access_part;     /* of them that the access path visits */
};

static unsigned table_of(const struct choice *choice) { return (unsigned)(choice->table->spec - schema_tables); }

static int column_of(const struct choice *choice, int sql_column) {
  return sql_column < 0 ? 0 : choice->table->sql_columns[sql_column]; /* the rowid is the id */
}

/* A guess at the number of different values, from what the column means: counting them is a pass over the table. */
static double distinct_values(const struct choice *choice, unsigned column) {
  const struct column_spec *spec = &choice->table->spec->columns[column];
  double rows = choice->rows < 1 ? 1 : choice->rows, distinct = rows;
  if (column == 0) return rows;
  switch ((enum column_type)spec->type) {
    case TYPE_BOOLEAN: distinct = 2; break;
    case TYPE_REFERENCE: distinct = (double)store_estimate_rows(choice->table->store, spec->target); break;
    case TYPE_TEXT: distinct = 200; break;
    case TYPE_INTEGER:
    case TYPE_DURATION: distinct = rows / 10; break;
    case TYPE_JSON:
    case TYPE_REAL:
    case TYPE_TIME: distinct = rows / 2; break;
  }
  if (distinct > rows) distinct = rows;
  return distinct < 1 ? 1 : distinct;
}

static double term_part(const struct choice *choice, enum term_operator operator, unsigned column) {
  double part = 1;
  switch (operator) {
    case TERM_EQUAL:
    case TERM_IS: return 1 / distinct_values(choice, column);
    case TERM_IN: part = 10 / distinct_values(choice, column); break;
    case TERM_NULL:
    case TERM_LIKE:
    case TERM_GLOB:
    case TERM_REGEXP: return 0.1;
    case TERM_LESS:
    case TERM_LESS_EQUAL:
    case TERM_GREATER:
    case TERM_GREATER_EQUAL: return 0.3;
    case TERM_NOT_NULL:
    case TERM_NOT_EQUAL:
    case TERM_IS_NOT:
    case TERM_OPERATORS: return 0.9;
  }
  return part > 0.5 ? 0.5 : part;
}

static bool starts_with_wildcard(sqlite3_index_info *info, int index) {
  sqlite3_value *pattern;
  if (sqlite3_vtab_rhs_value(info, index, &pattern) || sqlite3_value_type(pattern) != SQLITE_TEXT) return false;
  const char *text = (const char *)sqlite3_value_text(pattern);
  return text && (*text == '%' || *text == '_');
}

/* Whether the operator can be evaluated here for this column, and so exactly that SQLite need not check again. */
static bool can_push(const struct choice *choice, int index, enum term_operator operator, unsigned column,
                     bool *is_exact) {
  sqlite3_value *constant = NULL;
  *is_exact = !(outer_join_is_mistaken() && outer_join_concerns(operator));
  if (operator == TERM_OPERATORS) return false;
  if (!takes_value(operator)) return true;
  if (!column_is_text(choice->table->spec, column)) return !is_pattern(operator);
  if (is_pattern(operator)) {
    /* Where SQLite could turn a LIKE into a range it takes half notice of omit, and checks rows of an outer join too
    ** late. */
    if (operator == TERM_LIKE && !starts_with_wildcard(choice->info, index)) *is_exact = false;
    return true;
  }
  if (strcmp(sqlite3_vtab_collation(choice->info, index), "BINARY") != 0) return false;
  if (operator == TERM_IN || sqlite3_vtab_rhs_value(choice->info, index, &constant)) constant = NULL;
  bool is_text = constant && sqlite3_value_type(constant) == SQLITE_TEXT;
  if (is_range(operator)) return is_text && choice->table->has_utf8_order;
  *is_exact &= is_text;
  return is_text || !constant;
}

static void add_term(struct choice *choice, int index, enum term_operator operator, unsigned column, bool is_exact) {
  struct plan *plan = choice->plan;
  struct plan_term *term = &plan->terms[plan->term_count++];
  struct sqlite3_index_constraint_usage *usage = &choice->info->aConstraintUsage[index];
  term->operator = (uint8_t)operator;
  term->column = (uint16_t)column;
  /* IS NULL too gets a place among the values, a NULL: without one SQLite takes no notice of omit. */
  usage->argvIndex = ++choice->argument_count;
  usage->omit = is_exact && !choice->table->verify_constraints;
  term->argument = (int8_t)(choice->argument_count - 1);
  if (!usage->omit) choice->is_complete = false;
  column_set_add(&plan->reads, column);
}

/* The hidden argument: SQLITE_OK, or the result of xBestIndex. */
static int choose_profile(struct choice *choice, char **message) {
  sqlite3_index_info *info = choice->info;
  int profile = choice->table->sql_column_count - 1;
  bool is_offered = false;
  for (int i = 0; i < info->nConstraint; i++) {
    if (info->aConstraint[i].iColumn != profile || info->aConstraint[i].op >= SQLITE_INDEX_CONSTRAINT_LIMIT) continue;
    if (info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ) {
      *message = sqlite3_mprintf("profile takes = only, as in %s('path') or profile = 3", choice->table->spec->name);
      return SQLITE_ERROR;
    }
    is_offered = true;
    /* Another order of the joined tables can supply the value. */
    if (!info->aConstraint[i].usable) return SQLITE_CONSTRAINT;
    if (choice->plan->profile_argument >= 0) {
      choice->is_complete = false; /* a second one is checked by SQLite, against the first */
      continue;
    }
    choice->plan->profile_argument = (int8_t)choice->argument_count;
    info->aConstraintUsage[i].argvIndex = ++choice->argument_count;
    info->aConstraintUsage[i].omit = 1;
  }
  /* `+profile = 3`, `profile = 3 OR ...` and the like are not offered, and would silently select everything. Not an
  ** error yet: when SQLite weighs up the parts of an OR it offers only them, and adds the rest when it comes to the
  ** final plan. Bit 63 of colUsed stands for all columns from 63 on, so wider tables cannot tell. */
  choice->plan->lacks_profile = !is_offered && profile < 63 && info->colUsed >> profile & 1;
  size_t profiles = store_profile_count(choice->table->store);
  if (is_offered && profiles > 1) choice->rows /= (double)profiles;
  return SQLITE_OK;
}

/* The part of the rows that equality with a column of an outer loop leaves, of several the smallest; 1: this is the
** inner side of no join. */
static double joined_part(const struct choice *choice) {
  sqlite3_index_info *info = choice->info;
  double least = 1;
  for (int i = 0; i < info->nConstraint; i++) {
    const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
    sqlite3_value *constant;
    if (constraint->op != SQLITE_INDEX_CONSTRAINT_EQ || !constraint->usable || sqlite3_vtab_in(info, i, -1)) continue;
    if (constraint->iColumn == choice->table->sql_column_count - 1) continue;
    if (sqlite3_vtab_rhs_value(info, i, &constant) == SQLITE_OK) continue;
    double part = term_part(choice, TERM_EQUAL, (unsigned)column_of(choice, constraint->iColumn));
    if (part < least) least = part;
  }
  return least;
}

static void choose_terms(struct choice *choice) {
  sqlite3_index_info *info = choice->info;
  double joined = joined_part(choice);
  struct plan *plan = choice->plan;
  int profile = choice->table->sql_column_count - 1;
  for (int i = 0; i < info->nConstraint; i++) {
    const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
    if (constraint->op == SQLITE_INDEX_CONSTRAINT_LIMIT || constraint->op == SQLITE_INDEX_CONSTRAINT_OFFSET) continue;
    if (constraint->iColumn == profile) continue;
    enum term_operator operator = operator_of(constraint->op);
    bool is_exact;
    if (!constraint->usable || plan->term_count == PLAN_MAXIMUM_TERMS || operator == TERM_OPERATORS) {
      choice->is_complete = false;
      continue;
    }
    unsigned column = (unsigned)column_of(choice, constraint->iColumn);
    if (operator == TERM_EQUAL && sqlite3_vtab_in(info, i, -1)) operator = TERM_IN;
    if (column == 0 && operator == TERM_IS) operator = TERM_EQUAL; /* no id is NULL */
    /* The set of an IN is made anew for each call of xFilter, of which a join has one for each row of the outer loop.
    ** For the few rows that those find SQLite looks into its own set, which it makes once. */
    bool is_dear = operator == TERM_IN && joined < term_part(choice, operator, column);
    if (is_dear || !can_push(choice, i, operator, column, &is_exact)) {
      choice->is_complete = false;
      continue;
    }
    if (operator == TERM_IN) sqlite3_vtab_in(info, i, 1); /* all values at once, not one call of xFilter for each */
    add_term(choice, i, operator, column, is_exact);
  }
  /* Constraints seldom are independent of each other: the most selective counts in full, the others half. */
  double best = 1, others = 1;
  for (unsigned i = 0; i < plan->term_count; i++) {
    double part = term_part(choice, (enum term_operator)plan->terms[i].operator, plan->terms[i].column);
    double larger = part < best ? best : part;
    if (part < best) best = part;
    others *= larger < 0.5 ? 0.5 : larger;
  }
  choice->part = best * others;
}

static void choose_access(struct choice *choice) {
  struct plan *plan = choice->plan;
  choice->access_part = 1;
  for (unsigned i = 0; i < plan->term_count; i++) {
    enum term_operator operator = (enum term_operator)plan->terms[i].operator;
    unsigned column = plan->terms[i].column;
    double part = term_part(choice, operator, column);
    enum access access = ACCESS_SCAN;
    if (column_is_real(choice->table->spec, column)) continue;
    /* Half of the rows are found faster by a scan than one by one. */
    if (is_equality(operator) && part >= 0.5 && column > 1) continue;
    if (is_equality(operator)) access = column == 0 ? ACCESS_ID : ACCESS_EQUAL;
    if (operator == TERM_IN) access = ACCESS_IN;
    if (is_range(operator) && !column_is_text(choice->table->spec, column)) {
      access = ACCESS_RANGE;
      for (unsigned j = 0; j < plan->term_count; j++) { /* the other bound of a BETWEEN */
        if (j != i && plan->terms[j].column == column && is_range((enum term_operator)plan->terms[j].operator))
          part *= 0.3;
      }
    }
    /* Rows lie in the order of ids and profiles, so bounds on these cut the scan itself short. */
    if (access != ACCESS_ID && column <= 1 && operator != TERM_IN) access = ACCESS_SCAN;
    if (access == ACCESS_SCAN && column > 1) continue;
    if (part < choice->access_part) {
      choice->access_part = part;
      plan->access = (uint8_t)access;
      plan->column = (uint16_t)column;
    }
  }
}

/* The columns to sort by for what SQLite asks, natural order being {id}. False: this cannot be served.
**
** GROUP BY and DISTINCT need equal values together and no order, but SQLite does not tell when it counts on the order
** as well, for an ORDER BY of the same columns. So all are served alike, to the letter. */
static bool order_columns(const struct choice *choice, struct plan *plan) {
  const sqlite3_index_info *info = choice->info;
  for (int i = 0; i < info->nOrderBy; i++) {
    int column = column_of(choice, info->aOrderBy[i].iColumn);
    if (column < 0) return false;
    if (column_is_text(choice->table->spec, (unsigned)column) && !choice->table->has_utf8_order) return false;
    bool is_repeated = false;
    for (unsigned j = 0; j < plan->order_count; j++) is_repeated |= plan->order[j] == column;
    if (is_repeated) continue;
    if (plan->order_count == PLAN_MAXIMUM_ORDER) return false;
    plan->is_descending[plan->order_count] = info->aOrderBy[i].desc;
    plan->order[plan->order_count++] = (uint16_t)column;
    if (column == 0) break; /* ids differ in all rows, so what follows does not matter */
  }
  unsigned last = plan->order_count - 1u;
  /* Equal values lie in the order of ids anyway. */
  if (last > 0 && plan->order[last] == 0 && plan->is_descending[last] == plan->is_descending[last - 1])
    plan->order_count--;
  if (plan->order_count == 1 && plan->order[0] == 1) plan->order[0] = 0; /* profiles lie one after the other */
  return true;
}

static void choose_order(struct choice *choice) {
  sqlite3_index_info *info = choice->info;
  struct plan *plan = choice->plan;
  struct plan ordered = *plan;
  if (info->nOrderBy == 0 || !order_columns(choice, &ordered)) return;
  bool is_natural = ordered.order[0] == 0;
  bool is_of_access = ordered.order_count == 1 && ordered.order[0] == plan->column &&
                      (plan->access == ACCESS_RANGE || plan->access == ACCESS_EQUAL);
  if (is_natural) {
    /* What is found through an index of equal values comes in the order of ids too; bounds give the order of their
    ** column, and to sort many rows takes longer than to look at all. */
    if (plan->access == ACCESS_RANGE && choice->access_part < NATURAL_THRESHOLD) return;
    if (plan->access == ACCESS_RANGE) {
      ordered.access = ACCESS_SCAN;
      choice->access_part = 1;
    }
  } else if (store_estimate_rows(choice->table->store, table_of(choice)) > SNAPSHOT_MAXIMUM_INDEXED_ROWS) {
    return;
  } else if (!is_of_access) {
    if (plan->access != ACCESS_SCAN && choice->access_part < ORDER_THRESHOLD) return;
    ordered.access = ACCESS_ORDER;
    ordered.column = ordered.order[0];
    choice->access_part = 1;
  }
  *plan = ordered;
  info->orderByConsumed = 1;
  for (unsigned i = 0; i < plan->order_count; i++) column_set_add(&plan->reads, plan->order[i]);

  /* DISTINCT: duplicates need not be shown to SQLite at all, if nothing that it still checks could tell them apart. */
  if (sqlite3_vtab_distinct(info) < 2 || !choice->is_complete || plan->access != ACCESS_ORDER) return;
  int profile = choice->table->sql_column_count - 1;
  plan->skips_duplicates = true;
  for (int i = 0; i < profile; i++) {
    if (!(info->colUsed >> (i < 63 ? i : 63) & 1)) continue;
    bool is_key = false;
    for (unsigned j = 0; j < plan->order_count; j++) is_key |= plan->order[j] == column_of(choice, i);
    plan->skips_duplicates &= is_key;
  }
}

/* OFFSET is ours only if nothing that SQLite does can drop a row afterwards. */
static void choose_offset(struct choice *choice) {
  sqlite3_index_info *info = choice->info;
  if (!choice->is_complete || (info->nOrderBy && !info->orderByConsumed)) return;
  if (sqlite3_libversion_number() < 3041000) return; /* in a UNION ALL these let each arm skip anew */
  for (int i = 0; i < info->nConstraint; i++) {
    if (info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_OFFSET || !info->aConstraint[i].usable) continue;
    if (choice->table->verify_constraints) continue;
    choice->plan->skip_argument = (int8_t)choice->argument_count;
    info->aConstraintUsage[i].argvIndex = ++choice->argument_count;
    info->aConstraintUsage[i].omit = 1;
    return;
  }
}

/* In units of what handing one row to SQLite costs. */
static void set_costs(struct choice *choice) {
  sqlite3_index_info *info = choice->info;
  double visited = choice->rows * choice->access_part, found = choice->rows * choice->part;
  if (choice->plan->access == ACCESS_ID && !choice->plan->lacks_profile) {
    info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
    info->estimatedRows = 1;
    info->estimatedCost = 1;
    return;
  }
  if (found > visited) found = visited;
  if (found < 1) found = 1;
  double cost_of_visit = choice->plan->access == ACCESS_SCAN ? 0.05 : 0.1;
  info->estimatedRows = (sqlite3_int64)found;
  info->estimatedCost = (choice->plan->access == ACCESS_SCAN ? 10 : 2) + visited * cost_of_visit + found;
  if (choice->plan->lacks_profile) info->estimatedCost += 1e12;
}

static void read_columns(const struct choice *choice) {
  int profile = choice->table->sql_column_count - 1;
  for (int i = 0; i < profile; i++) {
    if (choice->info->colUsed >> (i < 63 ? i : 63) & 1) {
      column_set_add(&choice->plan->reads, (unsigned)choice->table->sql_columns[i]);
    }
  }
}

/* ---- the plan as text ---- */

/* is_descending may be NULL. */
static void write_columns(sqlite3_str *text, const struct table_spec *spec, const char *word, const uint16_t *columns,
                          const bool *is_descending, unsigned count) {
  sqlite3_str_appendf(text, " %s:", word);
  for (unsigned i = 0; i < count; i++) {
    const char *sign = is_descending && is_descending[i] ? "-" : "";
    sqlite3_str_appendf(text, "%s%s%s", i ? "," : "", sign, spec->columns[columns[i]].name);
  }
}

static void write_reads(sqlite3_str *text, const struct table_spec *spec, const struct column_set *reads) {
  uint16_t columns[SCHEMA_MAXIMUM_COLUMNS];
  unsigned count = 0, all = 0;
  for (uint16_t i = 0; i < spec->column_count; i++) {
    if (spec->columns[i].visibility == INTERNAL_COLUMN) continue;
    all++;
    if (column_set_has(reads, i)) columns[count++] = i;
  }
  if (count == all) {
    sqlite3_str_appendall(text, " reads:*");
  } else if (count) {
    write_columns(text, spec, "reads", columns, NULL, count);
  }
}

static char *plan_text(const struct plan *plan, const struct table_spec *spec, int argument_count, int distinct) {
  sqlite3_str *text = sqlite3_str_new(NULL);
  if (plan->lacks_profile) sqlite3_str_appendall(text, " profile:missing");
  for (int argument = 0; argument < argument_count; argument++) {
    if (argument == plan->profile_argument) sqlite3_str_appendall(text, " profile=?");
    if (argument == plan->skip_argument) sqlite3_str_appendall(text, " skip:?");
    for (unsigned i = 0; i < plan->term_count; i++) {
      const struct plan_term *term = &plan->terms[i];
      if (term->argument != argument) continue;
      sqlite3_str_appendf(text, " %s%s", spec->columns[term->column].name, operator_words[term->operator]);
    }
  }
  if (plan->access != ACCESS_SCAN && plan->access != ACCESS_ORDER)
    write_columns(text, spec, "by", &plan->column, NULL, 1);
  if (plan->order_count) {
    const char *word = plan->skips_duplicates ? "distinct" : distinct == 1 || distinct == 2 ? "group" : "order";
    write_columns(text, spec, word, plan->order, plan->is_descending, plan->order_count);
  }
  write_reads(text, spec, &plan->reads);
  if (sqlite3_str_length(text) == 0) sqlite3_str_appendchar(text, 1, ' ');
  char *result = sqlite3_str_finish(text);
  if (result) memmove(result, result + 1, strlen(result)); /* the first space */
  return result;
}

int plan_choose(const struct plan_table *table, sqlite3_index_info *info, char **message) {
  struct plan plan = {.profile_argument = -1, .skip_argument = -1};
  struct choice choice = {
      .table = table, .info = info, .plan = &plan, .is_complete = true, .part = 1, .access_part = 1};
  choice.rows = (double)store_estimate_rows(table->store, table_of(&choice));
  int result = choose_profile(&choice, message);
  if (result) return result;
  choose_terms(&choice);
  choose_access(&choice);
  choose_order(&choice);
  choose_offset(&choice);
  set_costs(&choice);
  read_columns(&choice);
  info->idxNum = plan.access;
  info->idxStr = plan_text(&plan, table->spec, choice.argument_count, info->nOrderBy ? sqlite3_vtab_distinct(info) : 0);
  info->needToFreeIdxStr = 1;
  return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

/* The column whose name the first `length` bytes are, or -1. */
static int find_column(const struct table_spec *spec, const char *name, size_t length) {
  for (int i = 0; i < spec->column_count; i++) {
    if (strncmp(spec->columns[i].name, name, length) == 0 && spec->columns[i].name[length] == 0) return i;
  }
  return -1;
}

/* Reads "name,-name" into columns; the number of them, or -1. */
static int parse_columns(const struct table_spec *spec, const char *text, size_t length, uint16_t *columns,
                         bool *is_descending, int room) {
  int count = 0;
  while (length) {
    bool has_sign = is_descending && *text == '-';
    text += has_sign;
    length -= has_sign;
    const char *comma = memchr(text, ',', length);
    size_t name = comma ? (size_t)(comma - text) : length;
    int column = find_column(spec, text, name);
    if (column < 0 || count == room) return -1;
    if (is_descending) is_descending[count] = has_sign;
    columns[count++] = (uint16_t)column;
    if (comma) name++;
    text += name;
    length -= name;
  }
  return count;
}

static bool parse_word(const struct table_spec *spec, const char *word, size_t length, int *argument,
                       struct plan *plan) {
  uint16_t columns[SCHEMA_MAXIMUM_COLUMNS];
  size_t name = strcspn(word, "=<>: ");
  if (name >= length) return false;
  const char *rest = word + name + 1;
  size_t rest_length = length - name - 1;
#define WORD_IS(literal) (length == sizeof literal - 1 && memcmp(word, literal, length) == 0)
#define NAME_IS(literal) (word[name] == ':' && name == sizeof literal - 1 && memcmp(word, literal, name) == 0)
  if (WORD_IS("profile=?")) {
    plan->profile_argument = (int8_t)(*argument)++;
    return true;
  }
  if (WORD_IS("profile:missing")) {
    plan->lacks_profile = true;
    return true;
  }
  if (WORD_IS("skip:?")) {
    plan->skip_argument = (int8_t)(*argument)++;
    return true;
  }
  if (NAME_IS("by")) {
    return parse_columns(spec, rest, rest_length, &plan->column, NULL, 1) == 1;
  }
  if (NAME_IS("order") || NAME_IS("group") || NAME_IS("distinct")) {
    plan->skips_duplicates = NAME_IS("distinct");
    int count = parse_columns(spec, rest, rest_length, plan->order, plan->is_descending, PLAN_MAXIMUM_ORDER);
    if (count < 1) return false;
    plan->order_count = (uint16_t)count;
    return true;
  }
  if (WORD_IS("reads:*")) {
    for (unsigned i = 0; i < spec->column_count; i++) {
      if (spec->columns[i].visibility != INTERNAL_COLUMN) column_set_add(&plan->reads, i);
    }
    return true;
  }
  if (NAME_IS("reads")) {
    int count = parse_columns(spec, rest, rest_length, columns, NULL, SCHEMA_MAXIMUM_COLUMNS);
    for (int i = 0; i < count; i++) column_set_add(&plan->reads, columns[i]);
    return count >= 0;
  }
#undef WORD_IS
#undef NAME_IS
  int column = find_column(spec, word, name);
  if (column < 0 || plan->term_count == PLAN_MAXIMUM_TERMS) return false;
  for (int operator = 0; operator < TERM_OPERATORS; operator++) {
    const char *operator_word = operator_words[operator];
    if (strlen(operator_word) != length - name || memcmp(operator_word, word + name, length - name) != 0) continue;
    plan->terms[plan->term_count++] = (struct plan_term){
        .operator = (uint8_t)operator, .column = (uint16_t)column, .argument = (int8_t)(*argument)++};
    return true;
  }
  return false;
}

bool plan_parse(const struct table_spec *spec, int access, const char *text, struct plan *plan) {
  int argument = 0;
  *plan = (struct plan){.access = (uint8_t)access, .profile_argument = -1, .skip_argument = -1};
  for (const char *word = text; word && *word;) {
    size_t length = strcspn(word, " ");
    if (!parse_word(spec, word, length, &argument, plan)) return false;
    word += length;
    if (*word == ' ') word++;
  }
  if (plan->access == ACCESS_ORDER) plan->column = plan->order[0];
  return true;
}
