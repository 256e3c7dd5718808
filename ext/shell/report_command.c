/* report_command.c: see report_command.h; report/report.c writes the page. */
#include "report_command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/report.h"
#include "ticker.h"
#include "vtab/connection.h"

enum { REPORT_FAILED = 1, REPORT_USAGE = 2, REPORT_NOT_OPENED = 3, MOST_REPORT_RUNS = 4096 };

static const char report_help[] =
    "usage: tfprof report RUN... [options]\n"
    "\n"
    "Writes one HTML file with everything in it. It opens from disk, without network.\n"
    "\n"
    "  -o, --output FILE   where to write it (report.html)\n"
    "      --title TEXT    its title (the runs)\n"
    "      --compare RUN   another run. The page Compare shows what differs: the\n"
    "                      first run is before, this one is after\n"
    "      --steps A-B     only these steps, in panels and timelines by step\n"
    "      --events WHICH  which events the timeline has:\n"
    "                      auto: all if they fit into --max-size, else by stretches\n"
    "                      of time; all; none. --no-events is --events none\n"
    "      --max-size N    24M; K, M and G are understood\n"
    "      --redact        leaves out hosts, paths, command lines, process ids,\n"
    "                      source code, and the names of threads, ranges, marks\n"
    "                      and counters: a range is called range 7. Names of\n"
    "                      functions, modules, ops and source files stay\n"
    "  -h, --help          this text\n"
    "\n"
    "Without --redact the page shows all of that to everybody who has it. Recordings,\n"
    "and what is saved and exported, always hold it.\n";

static int report_usage(const char *what, const char *word) {
  fputs("tfprof report: ", stderr);
  fprintf(stderr, what, word);
  fputs("\nusage: tfprof report RUN... [-o FILE] [options]; `tfprof report --help` explains them\n", stderr);
  return REPORT_USAGE;
}

bool report_is_asked(char **argv) { return argv[1] && strcmp(argv[1], "report") == 0 && access("report", F_OK) != 0; }

static bool take_size(const char *text, uint64_t *size) {
  char *end;
  errno = 0;
  double number = strtod(text, &end);
  double unit = *end == 'K' || *end == 'k' ? 1e3 : *end == 'M' ? 1e6 : *end == 'G' ? 1e9 : *end ? 0 : 1;
  if (end == text || errno || unit == 0 || (*end && end[1]) || !(number > 0) || number * unit > 1e15) return false;
  *size = (uint64_t)(number * unit);
  return true;
}

static bool take_steps(const char *text, struct report_options *options) {
  char *end;
  errno = 0;
  options->first_step = strtoll(text, &end, 10);
  if (end == text || errno) return false;
  options->last_step = options->first_step;
  if (*end == '-') {
    const char *last = end + 1;
    options->last_step = strtoll(last, &end, 10);
    if (end == last || errno) return false;
  }
  options->has_steps = true;
  return *end == 0 && options->first_step <= options->last_step;
}

static bool take_events(const char *word, struct report_options *options) {
  static const char *const words[] = {"auto", "none", "all"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (strcmp(word, words[i]) != 0) continue;
    options->events = (enum report_events)i;
    return true;
  }
  return false;
}

/* The value of `--name VALUE` or `--name=VALUE`, or of the brief form; NULL: another option; "": it is missing. */
static const char *report_value(char **argv, int *i, const char *name, const char *brief) {
  size_t length = strlen(name);
  if (brief && strcmp(argv[*i], brief) == 0) return argv[*i + 1] ? argv[++*i] : "";
  if (strncmp(argv[*i], name, length) != 0) return NULL;
  if (argv[*i][length] == '=') return argv[*i] + length + 1;
  if (argv[*i][length]) return NULL;
  return argv[*i + 1] ? argv[++*i] : "";
}

/* 0, or the exit status plus 1. */
static int take_report_options(char **argv, struct report_options *options, const char **runs, int *run_count,
                               const char **compared) {
  bool has_ended = false;
  for (int i = 2; argv[i]; i++) {
    const char *word = argv[i], *value;
    if (has_ended || word[0] != '-' || !word[1]) {
      if (*run_count == MOST_REPORT_RUNS) return report_usage("more runs than %s can show", "a report") + 1;
      runs[(*run_count)++] = word;
    } else if (strcmp(word, "--") == 0) {
      has_ended = true;
    } else if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0) {
      fputs(report_help, stdout);
      return 1;
    } else if (strcmp(word, "--no-events") == 0) {
      options->events = REPORT_EVENTS_NONE;
    } else if (strcmp(word, "--redact") == 0) {
      options->is_redacted = true;
    } else if ((value = report_value(argv, &i, "--output", "-o"))) {
      if (!*value) return report_usage("%s needs a file", word) + 1;
      options->path = value;
    } else if ((value = report_value(argv, &i, "--title", NULL))) {
      options->title = value;
    } else if ((value = report_value(argv, &i, "--compare", NULL))) {
      if (!*value) return report_usage("%s needs a run", word) + 1;
      if (*compared) return report_usage("--compare is given twice, the second time with '%s'", value) + 1;
      *compared = value;
    } else if ((value = report_value(argv, &i, "--steps", NULL))) {
      if (!take_steps(value, options)) return report_usage("'%s' are no steps; 10-20 would be", value) + 1;
    } else if ((value = report_value(argv, &i, "--events", NULL))) {
      if (!take_events(value, options)) return report_usage("--events is auto, none or all, not '%s'", value) + 1;
    } else if ((value = report_value(argv, &i, "--max-size", NULL))) {
      if (!take_size(value, &options->maximum_bytes)) return report_usage("'%s' is no size; 24M would be", value) + 1;
    } else {
      return report_usage("unknown option '%s'", word) + 1;
    }
  }
  if (*compared && !*run_count) return report_usage("--compare %s: with which run?", *compared) + 1;
  if (*compared && *run_count == MOST_REPORT_RUNS) return report_usage("more runs than %s can show", "a report") + 1;
  if (*compared) runs[(*run_count)++] = *compared;
  return *run_count || getenv("TFPROF_OPEN") ? 0 : report_usage("no run is given%s", "") + 1;
}

/* The last part of a path. */
static const char *base_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash && slash[1] ? slash + 1 : path;
}

/* What they would be named by on a command line, or without their folders; to be freed. */
static char *join_runs(const char *const *runs, int count, bool are_bases) {
  sqlite3_str *text = sqlite3_str_new(NULL);
  for (int i = 0; i < count; i++)
    sqlite3_str_appendf(text, "%s%s", i ? " " : "", are_bases ? base_of(runs[i]) : runs[i]);
  return sqlite3_str_finish(text);
}

static int write_report(struct session *session, const struct report_options *options) {
  bool is_of_other_build;
  struct report_summary summary;
  struct tfprof_error error;
  struct connection *connection = connection_find(session->db, &is_of_other_build);
  if (!connection) return REPORT_FAILED;
  session_make_views(session);
  session_begin_work(session);
  ticker_start("writing the report");
  enum tfprof_status status = report_write(session->db, connection->store, options, &summary, &error);
  ticker_stop();
  session_end_work(session);
  if (status) {
    char text[2200];
    error_text(&error, text, sizeof text);
    fprintf(stderr, "tfprof report: %s\n", text);
    return REPORT_FAILED;
  }
  fprintf(stderr, "%s: %llu panels", options->path, (unsigned long long)summary.panels);
  if (summary.failed_panels) fprintf(stderr, ", %llu of them failed", (unsigned long long)summary.failed_panels);
  if (summary.has_events) fprintf(stderr, ", %llu events", (unsigned long long)summary.events);
  if (summary.bucket_ns) {
    fprintf(stderr, " by stretches of %lld ns; --events all, or a larger --max-size, has each",
            (long long)summary.bucket_ns);
  }
  if (!options->is_redacted)
    fputs("; it shows source, names, commands, paths and hosts: --redact leaves them out", stderr);
  fputs("\n", stderr);
  return summary.failed_panels ? REPORT_FAILED : 0;
}

int report_command(struct session *session, char **argv) {
  struct report_options options = {.path = "report.html", .maximum_bytes = 24000000};
  const char *compared = NULL, **runs = calloc(MOST_REPORT_RUNS, sizeof *runs);
  int run_count = 0;
  if (!runs) return report_usage("not enough memory%s", "");
  int status = take_report_options(argv, &options, runs, &run_count, &compared);
  if (status || !session_begin(session)) {
    free(runs);
    return status ? status - 1 : REPORT_NOT_OPENED;
  }
  for (int i = 0; i < run_count && !status; i++) {
    if (session_open_run(session, runs[i]) != SESSION_OK) status = REPORT_NOT_OPENED;
  }
  char *joined = join_runs(runs, run_count, false), *title = join_runs(runs, run_count, true);
  options.runs = joined ? joined : "";
  if (!options.title && !options.is_redacted) options.title = title;
  if (!status) status = write_report(session, &options);
  sqlite3_free(joined);
  sqlite3_free(title);
  free(runs);
  session_end(session);
  return status;
}
