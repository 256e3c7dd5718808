/* classic_tables.c: see classic_tables.h. */
#include "classic/vtab/classic_tables.h"

#include "classic/vtab/classic_cache.h"
#include "classic/vtab/classic_views.h"

SQLITE_EXTENSION_INIT3

/* ---- the user's types ---- */

/* An expression that is none is refused with its mistake by regexp_full_match. */
static const char types_sql[] =
    "CREATE TEMP TABLE IF NOT EXISTS node_type_patterns("
    "pattern TEXT NOT NULL CHECK (regexp_full_match(pattern, '') IS NOT NULL), type TEXT NOT NULL CHECK (type <> ''), "
    "UNIQUE (pattern, type))";

static const struct column_spec types_columns[] = {
    {.name = "pattern", .type = TYPE_TEXT, .unit = "", .doc = "A regular expression for the whole names of nodes."},
    {.name = "type", .type = TYPE_TEXT, .unit = "", .doc = "The type that these nodes have in the classic views."},
};

static const struct table_spec types_table = {
    .name = "node_type_patterns",
    .column_count = sizeof types_columns / sizeof types_columns[0],
    .title = "Node type patterns: types of your own for nodes. You fill this table, which starts empty.",
    .columns = types_columns,
};

/* ---- functions ---- */

#define VIEW_TEXT                                                                                                   \
  "A row is a line of its output, which displayed_text has. The own and total value of every metric stands beside " \
  "it. profile selects among what is open, as the hidden argument of every table does. The options of the "         \
  "profiler are hidden columns, given by =. The option -select, which is a keyword, is called selected. What "      \
  "cannot be honoured, such as max_depth < 5, is an error."

static const struct part_function functions[] = {
    {"scope_view",
     {"profile, option = value …", "The scope view of the TensorFlow profiler: nodes by the scopes of their names.",
      VIEW_TEXT,
      "SELECT name, displayed_text FROM scope_view WHERE max_depth = 4"}},
    {"graph_view",
     {"profile, option = value …", "The graph view of the TensorFlow profiler: nodes by what their inputs are.",
      VIEW_TEXT,
      "SELECT name, displayed_text FROM graph_view WHERE max_depth = 4"}},
    {"code_view",
     {"profile, option = value …", "The code view of the TensorFlow profiler: nodes by the call stacks that made them.",
      VIEW_TEXT,
      "SELECT name, displayed_text FROM code_view WHERE max_depth = 4"}},
    {"op_view",
     {"profile, option = value …", "The op view of the TensorFlow profiler: nodes by their types.",
      VIEW_TEXT,
      "SELECT name, displayed_text FROM op_view WHERE max_depth = 4"}},
    {NULL, {NULL, NULL, NULL, NULL}}};

/* ---- */

static int begin_classic(struct connection *connection, void **data) {
  *data = classic_cache_create();
  return *data ? classic_views_register(connection) : SQLITE_NOMEM;
}

const struct table_part classic_tables = {.name = "classic",
                                          .begin = begin_classic,
                                          .end = classic_cache_free,
                                          .functions = functions,
                                          .user_table = &types_table,
                                          .user_table_sql = types_sql};
