/* classic.c: the commands scope, graph, code, op and set.
**
** A view is written as TensorFlow's tfprof writes it: with -output stdout the options first and the report between its
** rulers; with -output file the report alone; timeline and pprof are files for other programs.  With several profiles
** open there is a report for each, headed by its file and rank, and a file FILE.N.
*/
#include "classic/shell/classic.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "classic/vtab/classic_cache.h"
#include "write/output_file.h"

static enum session_result fail_classic(const struct tfprof_error *error) {
  char text[2200];
  error_text(error, text, sizeof text);
  fflush(stdout);
  fprintf(stderr, "error: %s\n", text);
  return error->status == TFPROF_INTERRUPTED ? SESSION_INTERRUPTED : SESSION_ERROR;
}

/* "run/host-12.tfprof" or "run/host-12.tfprof, rank 3". */
static void write_profile(const struct classic_model *model, FILE *file) {
  const struct profile *profile = store_profile_by_number(model->store, model->profile_number);
  if (!profile) return;
  fputs(profile->path ? pool_text(model->pool, profile->path) : "?", file);
  if (profile->rank >= 0) fprintf(file, ", rank %lld", (long long)profile->rank);
}

/* Who asks for a step asks for the profiles that have it. */
static enum tfprof_status keep_answering(struct classic_cached **models, size_t *count, enum classic_view view,
                                         const struct classic_options *options, struct tfprof_error *error) {
  size_t all = *count;
  enum tfprof_status status = classic_cache_keep_answering(models, count, view, options, error);
  if (!status && *count < all)
    fprintf(stderr, "%zu of %zu profiles are left out: %s\n", all - *count, all, error->message);
  return status;
}

static enum session_result write_reports(struct classic_cached **models, size_t count, enum classic_view view,
                                         const struct classic_options *options, FILE *file) {
  for (size_t i = 0; i < count; i++) {
    struct classic_result *result;
    struct tfprof_error error;
    if (classic_compute(models[i]->model, view, options, &result, &error)) return fail_classic(&error);
    if (file && count > 1) {
      fputs(options->integers[OPTION_generation] == GENERATION_2 ? "\n" : i ? "\n" : "", file);
      write_profile(models[i]->model, file);
      fputs(":\n", file);
    }
    bool is_whole = !file || classic_write_report(result, file);
    classic_result_free(result);
    if (!is_whole) {
      error_set(&error, TFPROF_INTERRUPTED, "interrupted");
      return fail_classic(&error);
    }
  }
  return SESSION_OK;
}

/* What TensorFlow's profiler says before a report where a step ran on an accelerator whose streams it knows nothing of;
** with --compat only, since it is a row of diagnostics, too. */
static void tell_missing_streams(struct session *session, struct classic_cached **models, size_t count, FILE *file) {
  for (size_t i = 0; i < count; i++) {
    char *sql = sqlite3_mprintf("SELECT 1 FROM tfprof_own.diagnostics"
                                " WHERE profile_id = %u AND reason = 'missing_streams'",
                                models[i]->model->profile_number);
    sqlite3_stmt *statement = NULL;
    bool is_missing = sql && sqlite3_prepare_v2(session->db, sql, -1, &statement, NULL) == SQLITE_OK &&
                      sqlite3_step(statement) == SQLITE_ROW;
    sqlite3_finalize(statement);
    sqlite3_free(sql);
    if (!is_missing) continue;
    fputs("\n\nFound accelerator operation but misses accelerator stream stats!\n\n"
          "It's likely a gpu tracing issue rather than tf-profiler issue.\n"
          "If you found your operation missing accelerator time, consider to post to discuss@tensorflow.org!\n\n",
          file);
    return;
  }
}

static enum session_result write_file(struct session *session, struct classic_cached **models, size_t count,
                                      enum classic_view view, const struct classic_options *options) {
  struct output_file *file;
  struct tfprof_error error;
  if (output_open(&file, options->output_file, false, &error)) return fail_classic(&error);
  FILE *stream = output_stream(file);
  if (!stream) {
    output_abandon(file);
    error_no_memory(&error);
    return fail_classic(&error);
  }
  bool is_now = options->integers[OPTION_generation] == GENERATION_2;
  if (is_now && options->integers[OPTION_compat]) tell_missing_streams(session, models, count, stream);
  enum session_result result = write_reports(models, count, view, options, stream);
  fclose(stream);
  if (result != SESSION_OK) {
    output_abandon(file);
    return result;
  }
  return output_commit(file, &error) ? fail_classic(&error) : SESSION_OK;
}

static enum session_result write_stdout(struct session *session, struct classic_cached **models, size_t count,
                                        enum classic_view view, const struct classic_options *options) {
  bool is_framed = options->integers[OPTION_generation] == GENERATION_2;
  /* All that -viz did in what was released. */
  if (options->integers[OPTION_viz]) puts("Visualizing feature disabled...");
  if (!is_framed) {
    enum session_result result = write_reports(models, count, view, options, stdout);
    fflush(stdout);
    return result;
  }
  fputs("\n=========================Options=============================\n", stdout);
  classic_options_print(options, stdout);
  fputs("\n==================Model Analysis Report======================\n", stdout);
  if (options->integers[OPTION_compat]) tell_missing_streams(session, models, count, stdout);
  enum session_result result = write_reports(models, count, view, options, stdout);
  fputs("\n======================End of Report==========================\n", stdout);
  fflush(stdout);
  return result;
}

/* FILE, or FILE.N for the one of several profiles that is number N. */
static char *output_path(const char *file, size_t number, size_t count, const char *suffix) {
  char *path;
  int length = count > 1 ? asprintf(&path, "%s.%zu%s", file, number + 1, suffix)
                         : asprintf(&path, "%s%s", file, suffix);
  return length < 0 ? NULL : path;
}

/* One file: FILE_<step>, as in TensorFlow's profiler. */
static enum session_result write_timeline(struct classic_cached *cached, enum classic_view view,
                                          const struct classic_options *options, int64_t step, size_t number,
                                          size_t count) {
  struct classic_result *result;
  struct tfprof_error error;
  char suffix[24];
  snprintf(suffix, sizeof suffix, "_%lld", (long long)step);
  char *path = output_path(options->output_file, number, count, suffix);
  enum tfprof_status status = path ? TFPROF_OK : error_no_memory(&error);
  if (!status) status = classic_compute(cached->model, view, options, &result, &error);
  if (!status) {
    status = classic_write_timeline(result, step, path, stdout, &error);
    classic_result_free(result);
  }
  if (!status) printf("Timeline written to %s; ui.perfetto.dev and chrome://tracing open it.\n", path);
  fflush(stdout);
  free(path);
  return status ? fail_classic(&error) : SESSION_OK;
}

/* Of a capture there may be steps in which nothing was recorded. */
static bool has_runs(const struct classic_model *model, uint32_t step) {
  if (!model->execs) return true;
  for (uint32_t i = 0; i < model->nodes[model->node_count].first_exec; i++) {
    if (model->execs[i].step == step) return true;
  }
  return false;
}

/* graph: a file for each step where none is chosen, since runs belong to steps. */
static enum session_result write_timelines(struct classic_cached **models, size_t count, enum classic_view view,
                                           const struct classic_options *options) {
  enum session_result result = SESSION_OK;
  for (size_t i = 0; i < count && result == SESSION_OK; i++) {
    const struct classic_model *model = models[i]->model;
    int64_t chosen = options->integers[OPTION_step];
    if (view != CLASSIC_GRAPH || chosen >= 0) {
      result = write_timeline(models[i], view, options, chosen, i, count);
      continue;
    }
    struct classic_options of_step;
    if (!classic_options_copy(&of_step, options)) return SESSION_ERROR;
    for (uint32_t k = 0; k < model->step_count && result == SESSION_OK; k++) {
      if (model->steps[k] < 0 || !has_runs(model, k)) continue;
      of_step.integers[OPTION_step] = model->steps[k];
      result = write_timeline(models[i], view, &of_step, model->steps[k], i, count);
    }
    classic_options_free(&of_step);
    if (model->step_count == 0) {
      fputs("error: there are no steps: a timeline of the graph view shows what ran in one\n", stderr);
      result = SESSION_ERROR;
    }
  }
  return result;
}

static enum session_result write_pprofs(struct classic_cached **models, size_t count, enum classic_view view,
                                        const struct classic_options *options) {
  enum tfprof_status status = TFPROF_OK;
  struct tfprof_error error;
  for (size_t i = 0; i < count && !status; i++) {
    struct classic_result *result;
    char *path = output_path(options->output_file, i, count, "");
    status = path ? classic_compute(models[i]->model, view, options, &result, &error) : error_no_memory(&error);
    if (!status) {
      status = classic_write_pprof(result, path, &error);
      classic_result_free(result);
    }
    if (!status) printf("Profile written to %s; go tool pprof -top -sample_index=1 %s opens it.\n", path, path);
    free(path);
  }
  fflush(stdout);
  return status ? fail_classic(&error) : SESSION_OK;
}

static enum session_result run_view(struct session *session, enum classic_view view,
                                    const struct classic_options *options) {
  bool is_of_other_build;
  struct connection *connection = connection_find(session->db, &is_of_other_build);
  struct classic_cached **models;
  struct tfprof_error error;
  size_t count;
  enum session_result result;
  if (!connection) return SESSION_ERROR;
  connection_begin(connection);
  bool is_compat = options->integers[OPTION_compat] != 0;
  enum tfprof_status status = classic_cache_get(connection, NULL, is_compat, &models, &count, &error);
  if (status) {
    connection_end(connection);
    return fail_classic(&error);
  }
  if (keep_answering(models, &count, view, options, &error)) {
    result = fail_classic(&error);
  } else if (count == 0) {
    fputs("error: nothing that is open has nodes, ops or kernels; --profile_path or --graph_path opens a graph\n",
          stderr);
    result = SESSION_ERROR;
  } else if (strcmp(options->output_type, "file") == 0) {
    result = write_file(session, models, count, view, options);
  } else if (strcmp(options->output_type, "none") == 0) {
    result = write_reports(models, count, view, options, NULL);
  } else if (strcmp(options->output_type, "stdout") == 0) {
    result = write_stdout(session, models, count, view, options);
  } else if (strcmp(options->output_type, "timeline") == 0) {
    result = write_timelines(models, count, view, options);
  } else {
    result = write_pprofs(models, count, view, options);
  }
  for (size_t i = 0; i < count; i++) classic_cache_put_back(models[i]);
  free(models);
  connection_end(connection);
  return result;
}

enum session_result classic_run(struct session *session, const char *command, const char *line) {
  struct classic_settings *settings = settings_of(session);
  struct classic_options options;
  struct tfprof_error error;
  if (!classic_options_copy(&options, &settings->options)) {
    error_no_memory(&error);
    return fail_classic(&error);
  }
  enum session_result result = SESSION_OK;
  if (classic_options_parse(&options, line, &error)) {
    result = fail_classic(&error);
  } else if (strcasecmp(command, "set") == 0) {
    struct classic_options former = settings->options;
    settings->options = options;
    options = former;
    classic_share_compat(session);
    classic_options_print(&settings->options, stdout);
  } else {
    classic_tell_reading(session);
    result = run_view(session, (enum classic_view)classic_find_view(command), &options);
  }
  classic_options_free(&options);
  return result;
}
