/* classic_views.c: see classic_views.h.
**
**   SELECT depth, name, total_micros FROM scope_view WHERE max_depth = 4 AND order_by = 'micros';
**   SELECT displayed_text FROM op_view('*run_meta*') WHERE selected = 'micros,occurrence';
**
** A row is a line of the classic output.  Hidden columns are the options without their hyphen, each to be given by =
** only; the first, `profile`, selects among what is open as in every table.  With several profiles open there is a tree
** for each.  What cannot be honoured - `max_depth < 5`, an option that depends on a table which comes later - is an
** error.
*/
#include "classic/vtab/classic_views.h"

#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

#include "classic/vtab/classic_cache.h"
#include "vtab/profile_argument.h"
#include "vtab/settings.h"

SQLITE_EXTENSION_INIT3

enum visible {
  PROFILE_ID,
  POSITION,
  DEPTH,
  PARENT_POSITION,
  NAME,
  NODE_ID,
  IS_ACCOUNTED,
  DEVICE,
  OP_TYPES,
  SHAPE,
  INPUT_SHAPES,
  TENSOR_VALUE,
  DISPLAYED_TEXT,
  GRAPH_NODES,
  FIRST_METRIC,
  PROFILE = FIRST_METRIC + 2 * METRIC_count, /* hidden from here on */
  FIRST_OPTION,
  COLUMN_COUNT = FIRST_OPTION + OPTION_output
};

static const char *const visible_names[FIRST_METRIC] = {
    "profile_id INTEGER", "position INTEGER",     "depth INTEGER",      "parent_position INTEGER", "name TEXT",
    "node_id INTEGER",    "is_accounted INTEGER", "device TEXT",        "op_types TEXT",           "shape TEXT",
    "input_shapes TEXT",  "tensor_value TEXT",    "displayed_text TEXT",
    "graph_nodes TEXT"};

static const char *option_column(int option) {
  return option == OPTION_select ? "selected" : classic_option_specs[option].name;
}

struct module {
  struct connection *connection;
  enum classic_view view;
};

struct table {
  sqlite3_vtab base;
  struct connection *connection;
  enum classic_view view;
  char name[16];
};

struct cursor {
  sqlite3_vtab_cursor base;
  struct classic_cached **models;
  struct classic_result **results;
  size_t model_count, result;
  size_t row;
  sqlite3_int64 rowid;
  sqlite3_value *hidden[1 + OPTION_output]; /* as they were given */
  FILE *memory;                             /* where texts are written, one after the other; NULL: none yet */
  char *text;
  size_t size;
};

static int table_connect(sqlite3 *db, void *data, int count, const char *const *arguments, sqlite3_vtab **made,
                         char **message) {
  const struct module *module = data;
  (void)count;
  (void)arguments;
  sqlite3_str *text = sqlite3_str_new(db);
  sqlite3_str_appendall(text, "CREATE TABLE x(");
  for (int i = 0; i < FIRST_METRIC; i++) sqlite3_str_appendf(text, "%s, ", visible_names[i]);
  for (int i = 0; i < METRIC_count; i++)
    sqlite3_str_appendf(text, "%s INTEGER, total_%s INTEGER, ", classic_metric_names[i], classic_metric_names[i]);
  sqlite3_str_appendall(text, "profile HIDDEN");
  for (int i = 0; i < OPTION_output; i++) sqlite3_str_appendf(text, ", %s HIDDEN", option_column(i));
  sqlite3_str_appendall(text, ")");
  char *sql = sqlite3_str_finish(text);
  int result = sql ? sqlite3_declare_vtab(db, sql) : SQLITE_NOMEM;
  sqlite3_free(sql);
  if (!result) result = sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
  struct table *table = result ? NULL : calloc(1, sizeof *table);
  if (!table) {
    if (result) *message = sqlite3_mprintf("%s", sqlite3_errmsg(db));
    return result ? result : SQLITE_NOMEM;
  }
  table->connection = connection_retain(module->connection);
  table->view = module->view;
  sqlite3_snprintf(sizeof table->name, table->name, "%s_view", classic_view_names[module->view]);
  *made = &table->base;
  return SQLITE_OK;
}

static int table_disconnect(sqlite3_vtab *base) {
  connection_release(((struct table *)base)->connection);
  free(base);
  return SQLITE_OK;
}

/* idxStr: the hidden column of each argument, as letters from 'A' on. */
static int table_best_index(sqlite3_vtab *base, sqlite3_index_info *info) {
  const struct table *table = (const struct table *)base;
  char columns[COLUMN_COUNT - PROFILE + 1];
  int count = 0;
  bool is_given[COLUMN_COUNT - PROFILE] = {false};
  for (int i = 0; i < info->nConstraint; i++) {
    const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
    int hidden = constraint->iColumn - PROFILE;
    if (hidden < 0) continue;
    if (constraint->op != SQLITE_INDEX_CONSTRAINT_EQ) {
      /* LIMIT and OFFSET come with column 0, which is visible. */
      return connection_table_message(base, table->name,
                                      "options take = only, as in %s = 5; use the visible columns otherwise",
                                      hidden ? option_column(hidden - 1) : "profile");
    }
    if (!constraint->usable) return SQLITE_CONSTRAINT;
    if (is_given[hidden])
      return connection_table_message(base, table->name, "%s is given twice",
                                      hidden ? option_column(hidden - 1) : "profile");
    is_given[hidden] = true;
    info->aConstraintUsage[i].argvIndex = count + 1;
    info->aConstraintUsage[i].omit = 1;
    columns[count++] = (char)('A' + hidden);
  }
  columns[count] = '\0';
  info->idxStr = sqlite3_mprintf("%s", columns);
  if (!info->idxStr) return SQLITE_NOMEM;
  info->needToFreeIdxStr = 1;
  info->estimatedCost = 100000;
  info->estimatedRows = 1000;
  return SQLITE_OK;
}

static int cursor_open(sqlite3_vtab *base, sqlite3_vtab_cursor **made) {
  struct cursor *cursor = calloc(1, sizeof *cursor);
  (void)base;
  if (!cursor) return SQLITE_NOMEM;
  *made = &cursor->base;
  return SQLITE_OK;
}

static void reset(struct cursor *cursor) {
  for (size_t i = 0; i < cursor->model_count; i++) {
    classic_result_free(cursor->results ? cursor->results[i] : NULL);
    classic_cache_put_back(cursor->models[i]);
  }
  free(cursor->models);
  free(cursor->results);
  cursor->models = NULL;
  cursor->results = NULL;
  cursor->model_count = cursor->result = cursor->row = 0;
  for (int i = 0; i <= OPTION_output; i++) {
    sqlite3_value_free(cursor->hidden[i]);
    cursor->hidden[i] = NULL;
  }
}

static int cursor_close(sqlite3_vtab_cursor *base) {
  struct cursor *cursor = (struct cursor *)base;
  reset(cursor);
  if (cursor->memory) fclose(cursor->memory);
  free(cursor->text);
  free(cursor);
  return SQLITE_OK;
}

/* Past profiles without rows. */
static void settle(struct cursor *cursor) {
  while (cursor->result < cursor->model_count && cursor->row >= cursor->results[cursor->result]->row_count) {
    cursor->result++;
    cursor->row = 0;
  }
}

/* The option of a hidden column, as text. */
static enum tfprof_status take_option(struct classic_options *options, int option, sqlite3_value *value,
                                      struct tfprof_error *error) {
  const char *text = (const char *)sqlite3_value_text(value);
  if (!text) return error_set(error, TFPROF_USAGE, "%s is NULL", option_column(option));
  return classic_option_set(options, option, text, error);
}

static enum tfprof_status take_options(struct cursor *cursor, const struct table *table, const char *columns,
                                       sqlite3_value **values, struct classic_options *options,
                                       struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  if (!classic_options_init(options)) return error_no_memory(error);
  options->integers[OPTION_compat] = settings_get(table->connection, "compat", 0) != 0;
  for (int i = 0; columns[i]; i++) {
    int hidden = columns[i] - 'A';
    cursor->hidden[hidden] = sqlite3_value_dup(values[i]);
    if (!cursor->hidden[hidden]) return error_no_memory(error);
  }
  /* The defaults of the others depend on it. */
  sqlite3_value *generation = cursor->hidden[1 + OPTION_generation];
  if (generation) status = take_option(options, OPTION_generation, generation, error);
  for (int i = 0; columns[i] && !status; i++) {
    int hidden = columns[i] - 'A';
    if (hidden > 0) status = take_option(options, hidden - 1, values[i], error);
  }
  return status;
}

static enum tfprof_status compute(struct cursor *cursor, const struct table *table,
                                  const struct classic_options *options, struct tfprof_error *error) {
  struct profile_argument argument = {.text = NULL}; /* all */
  enum tfprof_status status = TFPROF_OK;
  if (cursor->hidden[0]) status = profile_argument_take(&argument, cursor->hidden[0], error);
  if (!status)
    status = classic_cache_get(table->connection, argument.text, options->integers[OPTION_compat] != 0, &cursor->models,
                               &cursor->model_count, error);
  if (!status) status = classic_cache_keep_answering(cursor->models, &cursor->model_count, table->view, options, error);
  if (status) return status;
  cursor->results = calloc(cursor->model_count + 1, sizeof *cursor->results);
  if (!cursor->results) return error_no_memory(error);
  for (size_t i = 0; i < cursor->model_count && !status; i++)
    status = classic_compute(cursor->models[i]->model, table->view, options, &cursor->results[i], error);
  return status;
}

static int cursor_filter(sqlite3_vtab_cursor *base, int number, const char *columns, int count,
                         sqlite3_value **values) {
  struct cursor *cursor = (struct cursor *)base;
  struct table *table = (struct table *)base->pVtab;
  struct classic_options options = {0};
  struct tfprof_error error;
  (void)number;
  (void)count;
  reset(cursor);
  cursor->rowid = 0;
  enum tfprof_status status = take_options(cursor, table, columns, values, &options, &error);
  if (!status) {
    connection_begin(table->connection);
    status = compute(cursor, table, &options, &error);
    connection_end(table->connection);
  }
  classic_options_free(&options);
  if (status) {
    reset(cursor);
    return connection_table_error(base->pVtab, table->name, &error);
  }
  settle(cursor);
  return SQLITE_OK;
}

static int cursor_next(sqlite3_vtab_cursor *base) {
  struct cursor *cursor = (struct cursor *)base;
  cursor->row++;
  cursor->rowid++;
  settle(cursor);
  return SQLITE_OK;
}

static int cursor_eof(sqlite3_vtab_cursor *base) {
  const struct cursor *cursor = (const struct cursor *)base;
  return cursor->result >= cursor->model_count;
}

enum { LARGE_TEXT = 100000 }; /* of fewer bytes a writer does not look at interrupts (classic_write_members) */

/* What a writer writes, as a text; NULL stands for the line of the row. Where it writes nothing it is NULL. */
static void result_text(struct cursor *cursor, sqlite3_context *context, uint32_t item,
                        void (*write)(const struct classic_result *, uint32_t, FILE *)) {
  const struct classic_result *result = cursor->results[cursor->result];
  if (!cursor->memory) {
    cursor->memory = open_memstream(&cursor->text, &cursor->size);
    if (cursor->memory) __fsetlocking(cursor->memory, FSETLOCKING_BYCALLER);
  }
  bool is_written = cursor->memory && fseeko(cursor->memory, 0, SEEK_SET) == 0;
  struct connection *connection = ((struct table *)cursor->base.pVtab)->connection;
  connection_begin(connection);
  if (is_written && write) write(result, item, cursor->memory);
  else if (is_written) classic_write_line(result, cursor->row, cursor->memory);
  bool is_part = write && is_written && ftello(cursor->memory) > LARGE_TEXT && store_interrupted(connection->store);
  connection_end(connection);
  if (is_part) {
    connection_result_error(context, &(struct tfprof_error){.status = TFPROF_INTERRUPTED, .message = "interrupted"});
    return;
  }
  if (!is_written || fflush(cursor->memory) != 0 || ferror(cursor->memory)) {
    sqlite3_result_error_nomem(context);
    return;
  }
  size_t size = cursor->size;
  if (!write && size && cursor->text[size - 1] == '\n') size--;
  if (size || !write) sqlite3_result_text64(context, cursor->text, size, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static int cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column) {
  struct cursor *cursor = (struct cursor *)base;
  const struct classic_result *result = cursor->results[cursor->result];
  const struct classic_row *row = &result->rows[cursor->row];
  bool is_root = row->item == result->item_count;
  size_t length;
  const char *name;
  switch (column) {
    case PROFILE_ID: sqlite3_result_int64(context, result->model->profile_number); break;
    case POSITION: sqlite3_result_int64(context, (sqlite3_int64)cursor->row); break;
    case DEPTH: sqlite3_result_int(context, row->depth); break;
    case PARENT_POSITION:
      if (row->parent >= 0 && result->view != CLASSIC_OP) sqlite3_result_int64(context, row->parent);
      break;
    case NAME:
      name = classic_item_name(result, row->item, &length);
      sqlite3_result_text64(context, name, length, SQLITE_TRANSIENT, SQLITE_UTF8);
      break;
    case NODE_ID:
      if (!is_root && result->nodes && result->model->nodes[result->nodes[row->item]].row >= 0)
        sqlite3_result_int64(context, id_make(result->model->profile_number,
                                              (uint64_t)result->model->nodes[result->nodes[row->item]].row));
      break;
    case IS_ACCOUNTED: sqlite3_result_int(context, !is_root && result->accounted[row->item]); break;
    case DEVICE: result_text(cursor, context, row->item, classic_write_device); break;
    case OP_TYPES: result_text(cursor, context, row->item, classic_write_op_types); break;
    case SHAPE: result_text(cursor, context, row->item, classic_write_shape); break;
    case INPUT_SHAPES: result_text(cursor, context, row->item, classic_write_input_shapes); break;
    case TENSOR_VALUE: {
      const struct classic_tensor *tensor = classic_find_tensor(result, row->item);
      if (tensor && tensor->value)
        sqlite3_result_text(context, pool_text(result->model->pool, tensor->value), -1, SQLITE_STATIC);
      break;
    }
    case GRAPH_NODES: result_text(cursor, context, row->item, classic_write_members); break;
    case DISPLAYED_TEXT: result_text(cursor, context, row->item, NULL); break;
    default:
      if (column < PROFILE) {
        int metric = (column - FIRST_METRIC) / 2;
        bool is_total = (column - FIRST_METRIC) % 2;
        if (is_total) sqlite3_result_int64(context, result->total[row->item].of[metric]);
        else if (!is_root) sqlite3_result_int64(context, result->own[row->item].of[metric]);
      } else if (cursor->hidden[column - PROFILE]) {
        sqlite3_result_value(context, cursor->hidden[column - PROFILE]);
      } else if (column > PROFILE) {
        sqlite3_result_text(context, classic_option_specs[column - FIRST_OPTION].standard, -1, SQLITE_STATIC);
      }
  }
  return SQLITE_OK;
}

static int cursor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid) {
  *rowid = ((struct cursor *)base)->rowid;
  return SQLITE_OK;
}

static const sqlite3_module classic_module = {
    .iVersion = 0,
    .xConnect = table_connect,
    .xBestIndex = table_best_index,
    .xDisconnect = table_disconnect,
    .xOpen = cursor_open,
    .xClose = cursor_close,
    .xFilter = cursor_filter,
    .xNext = cursor_next,
    .xEof = cursor_eof,
    .xColumn = cursor_column,
    .xRowid = cursor_rowid,
};

static void free_module(void *data) {
  struct module *module = data;
  connection_release(module->connection);
  free(module);
}

int classic_views_register(struct connection *connection) {
  for (int view = 0; view < CLASSIC_VIEW_count; view++) {
    char name[16];
    struct module *module = malloc(sizeof *module);
    if (!module) return SQLITE_NOMEM;
    *module = (struct module){connection_retain(connection), (enum classic_view)view};
    sqlite3_snprintf(sizeof name, name, "%s_view", classic_view_names[view]);
    int result = sqlite3_create_module_v2(connection->db, name, &classic_module, module, free_module);
    if (result) return result;
  }
  return SQLITE_OK;
}
