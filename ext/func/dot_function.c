/* dot_function.c: tfprof_dot(path, name [, hops [, profile]]) writes instructions of XLA as a graph for Graphviz.
**
**   SELECT tfprof_dot('step.dot', 'jit_step');               a module: the computation that it begins in, and all in it
**   SELECT tfprof_dot('step.dot', 'jit_step(24)');           one of several programs of that name
**   SELECT tfprof_dot('near.dot', 'fusion.3', 2);            an instruction, and what is two edges away (3)
**   SELECT tfprof_dot('loop.dot', 'jit_step/region_0.4');    a computation; also without the module, where one has it
**   $ dot -Tsvg step.dot -o step.svg
**
** How it is drawn says write/hlo_dot.h.  The colour is the share of the module's time, of all runs on threads and
** devices, or where nothing ran the share of its floating point operations.
**
** Returns how many instructions were drawn.  An error names what is wrong: a name that nothing or several things have,
** more instructions than any viewer draws, a file that cannot be written.
*/
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "func/functions.h"
#include "vtab/connection.h"
#include "write/hlo_dot.h"
#include "write/scaled_text.h"

SQLITE_EXTENSION_INIT3

enum { DEFAULT_HOPS = 3, MAXIMUM_RESULT = 60 /* characters of what an instruction makes */ };

struct instruction {
  sqlite3_int64 id, caller, part_of;
  double cost; /* ns, or operations; below 0: not known */
};
struct export {
  sqlite3 *db;
  sqlite3_value *profile; /* NULL: all */
  char *module;           /* its name; owned, as all texts here */
  sqlite3_int64 profile_id, program;
  bool has_program;
  char *item;             /* of the module; NULL: the module itself */
  LIST(struct instruction) instructions; /* by id, and beside them: */
  LIST(struct hlo_dot_node) nodes;
  LIST(struct hlo_dot_edge) edges;
  bool is_timed;
  char *error; /* what is told; NULL: SQLite's own */
};

static void free_export(struct export *export) {
  for (size_t i = 0; i < export->nodes.count; i++) {
    sqlite3_free(export->nodes.items[i].label);
    sqlite3_free(export->nodes.items[i].title);
  }
  list_free(&export->instructions);
  list_free(&export->nodes);
  list_free(&export->edges);
  sqlite3_free(export->module);
  sqlite3_free(export->item);
  sqlite3_free(export->error);
}

/* ---- queries ---- */

/* `sql` with the profile argument for each %s. */
static int prepare_query(struct export *export, const char *format, sqlite3_stmt **statement) {
  const char *argument = export->profile ? "(?9)" : "";
  char *sql = sqlite3_mprintf(format, argument, argument, argument);
  int result = sql ? sqlite3_prepare_v2(export->db, sql, -1, statement, NULL) : SQLITE_NOMEM;
  sqlite3_free(sql);
  if (!result && export->profile) result = sqlite3_bind_value(*statement, 9, export->profile);
  return result;
}

static int finish(sqlite3_stmt *statement, int result) {
  sqlite3_finalize(statement);
  return result == SQLITE_DONE ? SQLITE_OK : result;
}

static void bind_module(const struct export *export, sqlite3_stmt *statement) {
  sqlite3_bind_int64(statement, 1, export->profile_id);
  sqlite3_bind_text(statement, 2, export->module, -1, SQLITE_TRANSIENT);
  if (export->has_program) sqlite3_bind_int64(statement, 3, export->program);
}

/* ---- what is meant ---- */

static int keep_name(char **to, const char *text) {
  *to = sqlite3_mprintf("%s", text);
  return *to ? SQLITE_OK : SQLITE_NOMEM;
}

/* The module of the rows of the statement (profile, module, program, how it is named), where these are one. */
static int take_module(struct export *export, sqlite3_stmt *statement, const char *name, size_t *count) {
  int result;
  char *names = NULL;
  *count = 0;
  while ((result = sqlite3_step(statement)) == SQLITE_ROW && *count < 4) {
    const char *its = (const char *)sqlite3_column_text(statement, 3);
    if (!its) continue;
    if (++*count == 1) {
      export->profile_id = sqlite3_column_int64(statement, 0);
      result = keep_name(&export->module, (const char *)sqlite3_column_text(statement, 1));
      export->has_program = sqlite3_column_type(statement, 2) != SQLITE_NULL;
      export->program = sqlite3_column_int64(statement, 2);
      if (result) break;
    }
    char *longer = sqlite3_mprintf("%s%s%s", names ? names : "", names ? ", " : "", *count == 4 ? "..." : its);
    sqlite3_free(names);
    names = longer;
  }
  if (*count > 1)
    export->error = sqlite3_mprintf("tfprof_dot: several are called %.200s; say which: %s (of several profiles: "
                                    "tfprof_dot(path, name, hops, profile))", name, names ? names : "");
  sqlite3_free(names);
  return *count > 1 ? SQLITE_ERROR : result == SQLITE_DONE || result == SQLITE_ROW ? SQLITE_OK : result;
}

#define MODULE_NAME "hlo_module || coalesce('(' || program || ')', '')"

/* A module of that name, with or without its program. */
static int find_module(struct export *export, const char *name, size_t *count) {
  sqlite3_stmt *statement = NULL;
  int result = prepare_query(export,
                             "SELECT DISTINCT profile_id, hlo_module, program, " MODULE_NAME " AS full_name "
                             "FROM tfprof_own.hlo_instructions%s WHERE hlo_module = ?1 OR full_name = ?1 ORDER BY 1, 3",
                             &statement);
  if (!result) result = sqlite3_bind_text(statement, 1, name, -1, SQLITE_TRANSIENT);
  if (!result) result = take_module(export, statement, name, count);
  sqlite3_finalize(statement);
  return result;
}

/* A module that has an instruction or a computation of that name. */
static int find_item(struct export *export, const char *name, size_t *count) {
  sqlite3_stmt *statement = NULL;
  int result = prepare_query(export,
                             "SELECT DISTINCT profile_id, hlo_module, program, " MODULE_NAME " || '/' || ?1 "
                             "FROM tfprof_own.hlo_instructions%s WHERE name = ?1 OR computation = ?1 ORDER BY 1, 3",
                             &statement);
  if (!result) result = sqlite3_bind_text(statement, 1, name, -1, SQLITE_TRANSIENT);
  if (!result) result = take_module(export, statement, name, count);
  sqlite3_finalize(statement);
  return result ? result : *count ? keep_name(&export->item, name) : SQLITE_OK;
}

static int find(struct export *export, const char *name) {
  size_t count;
  int result = find_module(export, name, &count);
  if (!result && !count) result = find_item(export, name, &count);
  const char *slash = strrchr(name, '/');
  if (!result && !count && slash) {
    char *module = sqlite3_mprintf("%.*s", (int)(slash - name), name);
    result = module ? find_module(export, module, &count) : SQLITE_NOMEM;
    if (!result && count) result = keep_name(&export->item, slash + 1);
    sqlite3_free(module);
  }
  if (result || count) return result;
  export->error = sqlite3_mprintf("tfprof_dot: no module, computation or instruction of XLA is called '%.200s'; SELECT "
                                  "DISTINCT hlo_module, computation, name FROM hlo_instructions lists them", name);
  return SQLITE_ERROR;
}

/* ---- reading the module ---- */

static const char *text_or(sqlite3_stmt *statement, int column, const char *otherwise) {
  const char *text = (const char *)sqlite3_column_text(statement, column);
  return text ? text : otherwise;
}

/* The first so many bytes, not in the middle of a character. */
static int shown_length(const char *text, size_t maximum) {
  size_t length = strlen(text);
  if (length > maximum) {
    for (length = maximum; length && (text[length] & 0xc0) == 0x80;) length--;
  }
  return (int)length;
}

enum instruction_column {
  ID,
  NAME,
  OPCODE,
  RESULT,
  COMPUTATION,
  CALLER,
  PART_OF,
  PARAMETER,
  IS_ROOT,
  IS_ENTRY,
  KIND,
  LOCATION,
  FLOPS,
  TIME
};

static int make_texts(struct export *export, sqlite3_stmt *statement, struct hlo_dot_node *node) {
  char cost[SCALED_TEXT_BYTES] = "";
  double time = sqlite3_column_double(statement, TIME), flops = sqlite3_column_double(statement, FLOPS);
  if (sqlite3_column_type(statement, TIME) != SQLITE_NULL) scaled_text_ns(time, cost);
  else if (flops > 0) scaled_text_flops(flops, cost);
  const char *name = text_or(statement, NAME, "(unnamed)"), *opcode = text_or(statement, OPCODE, "?");
  const char *result = text_or(statement, RESULT, ""), *location = text_or(statement, LOCATION, "");
  const char *kind = text_or(statement, KIND, "");
  int length = shown_length(result, MAXIMUM_RESULT);
  const char *more = result[length] ? "…" : "";
  node->label = sqlite3_mprintf("%s\n%s%s%s %.*s%s%s%s%s%s", name, opcode, *kind ? " " : "", kind, length, result, more,
                                *location ? "\n" : "", location, *cost ? "\n" : "", cost);
  node->title = sqlite3_mprintf("%s: %s%s%s%s%s%s%s", name, opcode, *kind ? " " : "", kind, *location ? ", " : "",
                                location, *cost ? ", " : "", cost);
  (void)export;
  return node->label && node->title ? SQLITE_OK : SQLITE_NOMEM;
}

static int take_instruction(struct export *export, sqlite3_stmt *statement, const char **computation) {
  struct instruction *instruction = list_add(&export->instructions);
  struct hlo_dot_node *node = instruction ? list_add(&export->nodes) : NULL;
  if (!node || export->nodes.count >= HLO_DOT_NONE) return SQLITE_NOMEM;
  const char *opcode = text_or(statement, OPCODE, "");
  bool is_timed = sqlite3_column_type(statement, TIME) != SQLITE_NULL;
  bool is_counted = sqlite3_column_type(statement, FLOPS) != SQLITE_NULL;
  *instruction = (struct instruction){.id = sqlite3_column_int64(statement, ID),
                                      .caller = sqlite3_column_int64(statement, CALLER),
                                      .part_of = sqlite3_column_int64(statement, PART_OF),
                                      .cost = is_timed ? sqlite3_column_double(statement, TIME) : -1};
  export->is_timed |= is_timed;
  const struct hlo_dot_node *before = export->nodes.count > 1 ? node - 1 : NULL;
  const char *its = text_or(statement, COMPUTATION, "");
  bool is_new = before && strcmp(its, *computation) != 0;
  if (!before || is_new) {
    sqlite3_free((void *)*computation);
    *computation = sqlite3_mprintf("%s", its);
    if (!*computation) return SQLITE_NOMEM;
  }
  *node = (struct hlo_dot_node){.computation = before ? before->computation + is_new : 0,
                                .parameter = -1,
                                .is_root = sqlite3_column_int(statement, IS_ROOT),
                                .is_entry = sqlite3_column_int(statement, IS_ENTRY),
                                .is_fusion = strcmp(opcode, "fusion") == 0,
                                .runs_others = strcmp(opcode, "while") == 0 || strcmp(opcode, "call") == 0 ||
                                               strcmp(opcode, "conditional") == 0,
                                .heat = is_counted ? sqlite3_column_double(statement, FLOPS) : -1};
  if (sqlite3_column_type(statement, PARAMETER) != SQLITE_NULL)
    node->parameter = sqlite3_column_int64(statement, PARAMETER);
  return make_texts(export, statement, node);
}

/* With what each took, of all its runs. */
static int read_instructions(struct export *export) {
  sqlite3_stmt *statement = NULL;
  const char *computation = NULL;
  int result = prepare_query(export,
                       "WITH runs AS MATERIALIZED ("
                       "SELECT hlo_instruction_id AS id, total(self_ns * sample_weight) AS time FROM tfprof_own.ops "
                       "WHERE profile_id = ?1 AND hlo_instruction_id IS NOT NULL GROUP BY hlo_instruction_id "
                       "UNION ALL SELECT hlo_instruction_id, total(dur_ns) FROM tfprof_own.kernels "
                       "WHERE profile_id = ?1 AND hlo_instruction_id IS NOT NULL GROUP BY hlo_instruction_id), "
                       "times AS MATERIALIZED (SELECT id, sum(time) AS time FROM runs GROUP BY id) "
                       "SELECT instructions.id, name, opcode, result, computation, caller_id, part_of_id, parameter, "
                       "is_root, is_entry, fusion_kind, replace(file, rtrim(file, replace(file, '/', '')), '') || ':' "
                       "|| line, flops, time "
                       "FROM tfprof_own.hlo_instructions AS instructions "
                       "LEFT JOIN times ON times.id = instructions.id "
                       "LEFT JOIN tfprof_own.code_traces AS traces ON traces.id = instructions.code_trace_id "
                       "LEFT JOIN tfprof_own.code_frames AS frames ON frames.id = traces.line_frame_id "
                       "WHERE instructions.profile_id = ?1 AND hlo_module = ?2 AND program IS ?3 "
                       "ORDER BY instructions.id",
                       &statement);
  if (!result) bind_module(export, statement);
  while (!result && (result = sqlite3_step(statement)) == SQLITE_ROW)
    result = take_instruction(export, statement, &computation);
  sqlite3_free((void *)computation);
  return finish(statement, result);
}

static int compare_ids(const void *left, const void *right) {
  sqlite3_int64 a = ((const struct instruction *)left)->id, b = ((const struct instruction *)right)->id;
  return (a > b) - (a < b);
}

static uint32_t node_of(const struct export *export, sqlite3_int64 id) {
  const struct instruction key = {.id = id};
  const struct instruction *first = export->instructions.items;
  const struct instruction *found = bsearch(&key, first, export->instructions.count, sizeof key, compare_ids);
  return found ? (uint32_t)(found - first) : HLO_DOT_NONE;
}

static int read_edges(struct export *export) {
  sqlite3_stmt *statement = NULL;
  int result = prepare_query(export,
                       "SELECT instruction_id, position, operand_id FROM tfprof_own.hlo_operands "
                       "WHERE profile_id = ?1 ORDER BY hlo_operands.id", &statement);
  if (!result) result = sqlite3_bind_int64(statement, 1, export->profile_id);
  while (!result && (result = sqlite3_step(statement)) == SQLITE_ROW) {
    uint32_t to = node_of(export, sqlite3_column_int64(statement, 0));
    result = SQLITE_OK;
    if (to == HLO_DOT_NONE) continue;
    struct hlo_dot_edge *edge = list_add(&export->edges);
    if (!edge) result = SQLITE_NOMEM;
    else
      *edge = (struct hlo_dot_edge){.from = node_of(export, sqlite3_column_int64(statement, 2)),
                                    .to = to,
                                    .position = (uint32_t)sqlite3_column_int64(statement, 1)};
  }
  return finish(statement, result);
}

/* Callers, and what share of the whole each has: of time, else of operations. */
static void link_nodes(struct export *export) {
  double whole = 0;
  for (size_t i = 0; i < export->nodes.count; i++) {
    struct hlo_dot_node *node = &export->nodes.items[i];
    const struct instruction *instruction = &export->instructions.items[i];
    node->caller = instruction->caller ? node_of(export, instruction->caller) : HLO_DOT_NONE;
    if (export->is_timed) node->heat = instruction->cost;
    if (node->heat > 0 && (export->is_timed || !instruction->part_of)) whole += node->heat;
  }
  for (size_t i = 0; i < export->nodes.count; i++) {
    struct hlo_dot_node *node = &export->nodes.items[i];
    if (node->heat >= 0) node->heat = whole > 0 ? node->heat / whole : 0;
  }
}

/* ---- the function ---- */

/* The computation or instruction of the name in the module that was read, else where the module begins. */
static bool choose_item(const struct export *export, struct hlo_dot_choice *choice) {
  const struct hlo_dot_node *nodes = export->nodes.items;
  size_t length = export->item ? strlen(export->item) : 0;
  if (!export->nodes.count) return false;
  choice->computation = nodes[export->nodes.count - 1].computation; /* the last, where none is said to be the entry */
  for (size_t i = 0; i < export->nodes.count; i++) {
    bool is_it = !export->item ? nodes[i].is_entry
                               : strncmp(nodes[i].label, export->item, length) == 0 && nodes[i].label[length] == '\n';
    if (!is_it) continue;
    choice->computation = nodes[i].computation;
    if (export->item) choice->node = (uint32_t)i;
    return true;
  }
  return !export->item;
}

/* A computation of the name: its first instruction tells which. */
static int choose_computation(struct export *export, struct hlo_dot_choice *choice) {
  sqlite3_stmt *statement = NULL;
  int result = prepare_query(export,
                       "SELECT min(id) FROM tfprof_own.hlo_instructions AS instructions WHERE profile_id = ?1 AND "
                       "hlo_module = ?2 AND program IS ?3 AND computation = ?4", &statement);
  if (!result) bind_module(export, statement);
  if (!result) result = sqlite3_bind_text(statement, 4, export->item, -1, SQLITE_TRANSIENT);
  if (!result) result = sqlite3_step(statement);
  if (result == SQLITE_ROW) {
    uint32_t node = node_of(export, sqlite3_column_int64(statement, 0));
    result = node == HLO_DOT_NONE ? SQLITE_ERROR : SQLITE_DONE;
    if (node != HLO_DOT_NONE) choice->computation = export->nodes.items[node].computation;
    else
      export->error = sqlite3_mprintf("tfprof_dot: %.200s has neither a computation nor an instruction '%.200s'",
                                      export->module, export->item);
  }
  return finish(statement, result);
}

static int write_graph(struct export *export, const char *path, int64_t hops, uint64_t *drawn,
                       struct tfprof_error *error, enum tfprof_status *status) {
  struct hlo_dot_choice choice = {.node = HLO_DOT_NONE, .hops = (uint32_t)hops};
  int result = choose_item(export, &choice) ? SQLITE_OK : choose_computation(export, &choice);
  if (result) return result;
  char *program = export->has_program ? sqlite3_mprintf(" (program %lld)", export->program) : sqlite3_mprintf("");
  char *title = sqlite3_mprintf("%s%s%s%s\nred: %s", export->module, program ? program : "", export->item ? ": " : "",
                                export->item ? export->item : "",
                                export->is_timed ? "share of the time" : "share of the floating point operations");
  const struct hlo_dot_graph graph = {.nodes = export->nodes.items,
                                      .node_count = export->nodes.count,
                                      .edges = export->edges.items,
                                      .edge_count = export->edges.count,
                                      .title = title};
  *status = title ? hlo_dot_write(&graph, &choice, path, drawn, error) : error_no_memory(error);
  sqlite3_free(program);
  sqlite3_free(title);
  return SQLITE_OK;
}

static void dot_function(sqlite3_context *context, int count, sqlite3_value **values) {
  struct connection *connection = sqlite3_user_data(context);
  struct tfprof_error error;
  enum tfprof_status status = TFPROF_OK;
  uint64_t drawn = 0;
  struct export export = {.db = connection->db, .profile = count > 3 ? values[3] : NULL};
  if (count < 2 || count > 4) {
    sqlite3_result_error(context, "tfprof_dot takes a path and the name of a module, computation or instruction of "
                                  "XLA, then how many edges around an instruction (3), and a profile", -1);
    return;
  }
  const char *path = path_argument(context, values[0], "tfprof_dot");
  const char *name = path ? (const char *)sqlite3_value_text(values[1]) : NULL;
  int64_t hops = count > 2 && sqlite3_value_type(values[2]) != SQLITE_NULL ? sqlite3_value_int64(values[2])
                                                                           : DEFAULT_HOPS;
  if (!path) return;
  if (!name || hops < 0 || hops > INT32_MAX) {
    sqlite3_result_error(context, name ? "tfprof_dot: how many edges around an instruction is a number from 0 on"
                                       : "tfprof_dot: NULL is no name of a module, computation or instruction", -1);
    return;
  }
  int result = find(&export, name);
  if (!result) result = read_instructions(&export);
  if (!result) result = read_edges(&export);
  if (!result) link_nodes(&export);
  if (!result) result = write_graph(&export, path, hops, &drawn, &error, &status);
  if (result == SQLITE_NOMEM) {
    sqlite3_result_error_nomem(context);
  } else if (result) {
    sqlite3_result_error(context, export.error ? export.error : sqlite3_errmsg(export.db), -1);
  } else if (status) {
    connection_result_error(context, &error);
  } else {
    sqlite3_result_int64(context, (sqlite3_int64)drawn);
  }
  free_export(&export);
}

const struct function_spec dot_functions[] = {
    {.name = "tfprof_dot",
     .argument_count = -1,
     .has_effects = true,
     .function = dot_function,
     .text = {"path, name [, hops [, profile]]",
              "Draws a module or computation of XLA, or what is around an instruction, as a graph for Graphviz.",
              "name is that of a module, of one of several programs with that name, as in 'jit_step(24)', of a "
              "computation, or of an instruction. Around an instruction all is drawn that is so many edges away (3). "
              "profile selects among what is open, as the hidden argument of every table does. Returns the number of "
              "instructions. A name that nothing or several things have, more instructions than any viewer draws, "
              "and a file that cannot be written are errors.",
              "SELECT tfprof_dot('step.dot', 'jit_step')"}},
    {0},
};
