/* report.c: says what was recorded and what to type next; or, when nothing was, why that may be and what to do.
**
** With --quiet only what is wrong is said.  Everything goes to stderr: stdout belongs to the program.
*/
#include "common/command_line.h"
#include "recording.h"
#include "report.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

enum { MAXIMUM_PROCESSES = 8, MAXIMUM_COMMAND = 60, LEAST_SAID_NS = 100000000 };

struct text {
  char bytes[64];
};

/* 1234567 -> "1,234,567" */
static struct text count_text(uint64_t count) {
  char digits[32];
  struct text text;
  int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
  size_t to = 0;
  for (int i = 0; i < length; i++) {
    if (i > 0 && (length - i) % 3 == 0) text.bytes[to++] = ',';
    text.bytes[to++] = digits[i];
  }
  text.bytes[to] = '\0';
  return text;
}

static struct text bytes_text(uint64_t bytes) {
  struct text text;
  if (bytes < 1000)
    snprintf(text.bytes, sizeof text.bytes, "%llu bytes", (unsigned long long)bytes);
  else if (bytes < 1000000)
    snprintf(text.bytes, sizeof text.bytes, "%.1f kB", (double)bytes / 1e3);
  else if (bytes < 1000000000)
    snprintf(text.bytes, sizeof text.bytes, "%.1f MB", (double)bytes / 1e6);
  else
    snprintf(text.bytes, sizeof text.bytes, "%.2f GB", (double)bytes / 1e9);
  return text;
}

static const char *plural(uint64_t count) {
  return count == 1 ? "" : "s";
}

static void say_before_end(int64_t ns) {
  double seconds = (double)ns / 1e9;
  bool is_short = seconds < 0.1;
  fprintf(stderr, "%.1f %s before its end", is_short ? seconds * 1e3 : seconds, is_short ? "ms" : "s");
}

/* Of the processes that used GPUs and were not ended in order. */
struct arrears {
  bool is_known;
  int64_t behind_ns; /* the most that what is there of GPUs lies behind the rest */
  uint64_t held;     /* buffers that are lost, but for those that were lent last */
};

static struct arrears arrears_of_gpus(const struct recording *recording) {
  struct arrears all = {.is_known = true};
  for (size_t i = 0; i < recording->process_count; i++) {
    const struct process_recording *process = &recording->processes[i];
    if (process->is_alive || process->is_closed || (!process->kernels && !process->gpu_ns)) continue;
    int64_t behind_ns = (int64_t)((uint64_t)process->last_ns - (uint64_t)process->gpu_ns);
    if (!process->gpu_ns) all.is_known = false;
    else if (behind_ns > all.behind_ns) all.behind_ns = behind_ns;
    all.held += process->gpu_held;
  }
  return all;
}

/* What the program's end means for the recording; only said when it was not a plain exit 0. */
static void say_how_it_ended(const struct recording *recording, const struct outcome *outcome) {
  int status = outcome->wait_status;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  if (WIFEXITED(status)) {
    fprintf(stderr, "tfprof: the program ended with exit status %d", WEXITSTATUS(status));
  } else {
    fprintf(stderr, "tfprof: the program was ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
  }
  int64_t last_ns = 0;
  bool is_closed = true;
  for (size_t i = 0; i < recording->process_count; i++) {
    if (recording->processes[i].is_alive) continue;
    if (recording->processes[i].last_ns > last_ns) last_ns = recording->processes[i].last_ns;
    if (!recording->processes[i].is_closed) is_closed = false;
  }
  struct arrears arrears = arrears_of_gpus(recording);
  if (recording->dropped) /* said below */
    fputs("\n", stderr);
  else if (is_closed)
    fputs("; what was recorded is complete\n", stderr);
  else if (last_ns > outcome->started_ns && last_ns <= outcome->ended_ns && arrears.is_known) {
    fputs("; what was recorded is complete up to ", stderr);
    say_before_end(outcome->ended_ns - last_ns);
    if (arrears.behind_ns > 0 && arrears.behind_ns < outcome->ended_ns) {
      fputs(", of GPUs up to ", stderr);
      say_before_end(outcome->ended_ns - last_ns + arrears.behind_ns);
    }
    if (arrears.held)
      fprintf(stderr, ": %s buffer%s of CUPTI's never came back, with what was launched since then",
              count_text(arrears.held).bytes, plural(arrears.held));
    fputs("\n", stderr);
  } else
    fputs("; what was recorded is complete but for its last second\n", stderr);
}

/* "48,331 ops in 60 optimizer steps", as the views count them, or in 12 of 60 where they were recorded only in these;
** of a program without PyTorch "120 ranges", or "60 steps and 120 ranges"; before these "12,345 kernels and", or
** kernels alone. */
static void say_counts(uint64_t ops, uint64_t kernels, uint64_t ranges, struct step_counts steps) {
  bool has_only_ranges = ops && ops == ranges;
  if (kernels) fprintf(stderr, "%s kernel%s", count_text(kernels).bytes, plural(kernels));
  bool has_only_steps = has_only_ranges && steps.steps && (!steps.of_optimizer || !steps.with_ops);
  const char *kind = steps.of_optimizer ? "optimizer " : "";
  if (kernels && ops) fputs(has_only_steps ? ", " : " and ", stderr);
  if (has_only_steps) fprintf(stderr, "%s %sstep%s and ", count_text(steps.steps).bytes, kind, plural(steps.steps));
  if (ops || !kernels) fprintf(stderr, "%s %s%s", count_text(ops).bytes, has_only_ranges ? "range" : "op", plural(ops));
  if (!steps.steps || has_only_steps) return;
  fputs(" in ", stderr);
  if (steps.with_ops < steps.steps) fprintf(stderr, "%s of ", count_text(steps.with_ops).bytes);
  fprintf(stderr, "%s %sstep%s", count_text(steps.steps).bytes, kind, plural(steps.steps));
}

/* What the framework's own profiler tells, behind that. */
static void say_told(uint64_t steps, uint64_t runs) {
  if (steps) fprintf(stderr, ", and the ops of %s step%s", count_text(steps).bytes, plural(steps));
  if (runs) fprintf(stderr, ", and the ops of %s session run%s", count_text(runs).bytes, plural(runs));
}

/* The beginning of a command line, which may hold a program of several lines (python -c). */
static void say_command(const char *command) {
  const char *at = command;
  for (int characters = 0; *at; at++) {
    bool is_inside = ((unsigned char)*at & 0xc0) == 0x80; /* a character of UTF-8 */
    if (!is_inside && characters++ == MAXIMUM_COMMAND) break;
    fputc((unsigned char)*at < ' ' ? ' ' : *at, stderr);
  }
  if (*at) fputs("…", stderr);
}

static void say_process(const struct process_recording *process) {
  if (process->problem) return;
  fprintf(stderr, "  pid %-7u ", process->pid);
  if (process->rank >= 0) fprintf(stderr, "rank %d: ", process->rank);
  say_counts(process->ops, process->kernels, process->ranges, process->steps);
  say_told(process->window_steps, process->session_runs);
  fprintf(stderr, ", %s  ", bytes_text(process->bytes).bytes);
  say_command(process->command ? process->command : "");
  fputs(process->is_alive ? "  (still running and recording)\n" : "\n", stderr);
}

/* The same note of many processes is told once. */
static void say_notes(const struct recording *recording) {
  for (size_t i = 0; i < recording->process_count; i++) {
    for (size_t n = 0; n < recording->processes[i].note_count; n++) {
      const struct recording_note *note = &recording->processes[i].notes[n];
      size_t same = 0;
      bool is_first = true;
      for (size_t j = 0; j < recording->process_count; j++) {
        for (size_t m = 0; m < recording->processes[j].note_count; m++) {
          const struct recording_note *other = &recording->processes[j].notes[m];
          if (strcmp(other->reason, note->reason) != 0 || strcmp(other->message, note->message) != 0) continue;
          if (j < i || (j == i && m < n)) is_first = false;
          same++;
        }
      }
      if (!is_first) continue;
      fprintf(stderr, "tfprof: note: %s%s%s", note->reason, *note->reason && *note->message ? ": " : "",
              note->message);
      if (same > 1) fprintf(stderr, " (%zu times)", same);
      fputs("\n", stderr);
    }
  }
}

/* The text as a string of SQL, with something before and after it. Caller frees; NULL: no memory. */
static char *quote_for_sql(const char *before, const char *text, const char *after) {
  char *quoted = malloc(2 * strlen(text) + strlen(before) + strlen(after) + 3);
  if (!quoted) return NULL;
  char *end = stpcpy(quoted, before);
  *end++ = '\'';
  for (; *text; text++) {
    if (*text == '\'') *end++ = '\'';
    *end++ = *text;
  }
  *end++ = '\'';
  stpcpy(end, after);
  return quoted;
}

/* sqlite3's own commands read words between double quotes as C strings. */
static char *load_command(const char *extension) {
  char *command = malloc(2 * strlen(extension) + sizeof ".load \"\"");
  if (!command) return NULL;
  if (!strpbrk(extension, " \t\"'\\;")) {
    sprintf(command, ".load %s", extension);
    return command;
  }
  char *end = stpcpy(command, ".load \"");
  for (const char *c = extension; *c; c++) {
    if (*c == '"' || *c == '\\') *end++ = '\\';
    *end++ = *c;
  }
  stpcpy(end, "\"");
  return command;
}

/* A word for the shell: between double quotes where nothing in it has a meaning there, else as command_line_quote
** does. */
static void say_word(const char *word) {
  if (!strpbrk(word, "\"$`\\!\n")) {
    fprintf(stderr, strchr(word, '\'') ? "\"%s\"" : "'%s'", word);
    return;
  }
  char *words[] = {(char *)word, NULL};
  char *quoted = command_line_quote(words);
  fputs(quoted ? quoted : word, stderr);
  free(quoted);
}

static void say_sqlite(const char *directory, const char *extension) {
  char *load = load_command(extension), *open = quote_for_sql("SELECT tfprof_open(", directory, ")");
  if (load && open) {
    fputs("  sqlite3 -box -cmd ", stderr);
    say_word(load);
    fputs(" -cmd ", stderr);
    say_word(open);
    fputs("\n", stderr);
  }
  free(load);
  free(open);
}

static void say_next(const char *directory, const char *tools, const char *extension) {
  char *words[] = {(char *)directory, NULL};
  char *quoted = command_line_quote(words);
  const char *run = quoted ? quoted : directory;
  int width = (int)(strlen(run) + strlen(" advise"));
  fputs("tfprof: look at it with\n", stderr);
  fprintf(stderr, "  %stfprof %-*s    an SQL prompt; try  SELECT * FROM step_summary;\n", tools, width, run);
  fprintf(stderr, "  %stfprof %s advise    what to improve first\n", tools, run);
  fprintf(stderr, "  %stfprof report %s    report.html: a page with charts and the timeline\n", tools, run);
  say_sqlite(directory, extension);
  free(quoted);
}

/* A dump begins with more than that. */
static bool is_disk_full(const struct run_directory *directory) {
  enum { LEAST_ROOM = 16384 };
  struct statvfs facts;
  if (statvfs(directory->absolute, &facts) != 0 || facts.f_blocks == 0) return false;
  return (double)facts.f_bavail * (double)facts.f_frsize < LEAST_ROOM;
}

/* Of a program that was to be asked for. */
static void say_nobody_asked(const struct run_directory *directory) {
  fprintf(stderr,
          "tfprof: nothing was recorded in %s: nobody asked for it while the program ran (tfprof-capture --list shows "
          "what can be asked, --attach records it there, or elsewhere with -o)\n",
          directory->path);
}

static void say_nothing_recorded(const struct run_directory *directory, const struct program *program,
                                 const struct outcome *outcome, char **command) {
  fprintf(stderr, "tfprof: nothing was recorded in %s", directory->path);
  bool failed = !WIFEXITED(outcome->wait_status) || WEXITSTATUS(outcome->wait_status) != 0;
  if (is_disk_full(directory)) {
    fputs(": its disk is full; free some space, or record to another disk with -o DIR\n", stderr);
    return;
  }
  if (program->is_python && failed) {
    fputs(": the program ended before it imported PyTorch, TensorFlow or JAX; its own message stands above\n", stderr);
    return;
  }
  if (program->is_python) {
    fputs(": the program imported none of PyTorch, TensorFlow and JAX, and neither initialised CUDA nor called NVTX\n",
          stderr);
  } else {
    fprintf(stderr,
            ": neither %s nor what it started imported PyTorch, TensorFlow or JAX, initialised CUDA or called NVTX\n",
            command[0]);
  }
  fputs(
      "tfprof: if it did import one of them, PYTHONPATH does not reach the Python that imports it: sudo, env -i and "
      "containers clear it. A Python that is started with -I, -E or -S must be CPython 3.8 or newer, linked "
      "dynamically",
      stderr);
  fputs(program->isolation ? "\n" : ", and tfprof-capture needs --preload\n", stderr);
}

static void say_what_was_recorded(const struct recording *recording, const char *path) {
  fputs("tfprof: recorded ", stderr);
  say_counts(recording->ops, recording->kernels, recording->ranges, recording->steps);
  say_told(recording->window_steps, recording->session_runs);
  size_t processes = recording->distinct_count, files = recording->process_count;
  if (processes > 1) fprintf(stderr, " of %zu processes", processes);
  if (files > processes) fprintf(stderr, " in %zu recordings%s", files, processes == 1 ? " of one process" : "");
  fprintf(stderr, " into %s (%s)\n", path, bytes_text(recording->bytes).bytes);
  for (size_t i = 0; i < recording->process_count && recording->process_count > 1; i++) {
    if (i == MAXIMUM_PROCESSES) {
      fprintf(stderr, "  … and %zu more\n", recording->process_count - i);
      break;
    }
    say_process(&recording->processes[i]);
  }
}

/* Of a program whose last seconds were to be written when something happens. */
static void say_nothing_happened(const struct run_directory *directory, const struct capture_options *options) {
  const char *signal_name = options_text(options, OPTION_SIGNAL);
  fprintf(stderr,
          "tfprof: nothing was written into %s: nothing happened for which --keep %s writes what it keeps, or there "
          "was nothing to keep (no PyTorch, TensorFlow, JAX, CUDA, NVTX). While the program runs, tfprof-capture "
          "--attach PID --write writes it",
          directory->path, options_text(options, OPTION_KEEP));
  if (signal_name) fprintf(stderr, ", and so does kill -%s PID", signal_name);
  fputs("; without --keep all is recorded\n", stderr);
}

static int by_trigger(const void *left, const void *right) {
  const struct process_recording *a = left, *b = right;
  return a->trigger_ns < b->trigger_ns ? -1 : a->trigger_ns > b->trigger_ns;
}

/* What was kept and is written, a line for each file. */
static void say_what_was_kept(const struct recording *recording) {
  size_t said = 0, all = 0;
  qsort(recording->processes, recording->process_count, sizeof *recording->processes, by_trigger);
  for (size_t i = 0; i < recording->process_count; i++) all += recording->processes[i].trigger != NULL;
  for (size_t i = 0; i < recording->process_count && said < MAXIMUM_PROCESSES; i++) {
    const struct process_recording *process = &recording->processes[i];
    if (!process->trigger) continue;
    said++;
    fprintf(stderr, "tfprof: wrote %s (", process->path);
    say_counts(process->ops, process->kernels, process->ranges, process->steps);
    fprintf(stderr, ", %s): %s", bytes_text(process->bytes).bytes, process->trigger);
    if (process->kept_ns) fprintf(stderr, "; with the %.1f s before it", (double)process->kept_ns / 1e9);
    if (process->kept_after_ns >= LEAST_SAID_NS)
      fprintf(stderr, " and %.1f s after", (double)process->kept_after_ns / 1e9);
    fputs("\n", stderr);
  }
  if (all > said) fprintf(stderr, "  … and %zu more\n", all - said);
}

static bool is_all_kept(const struct recording *recording) {
  for (size_t i = 0; i < recording->process_count; i++)
    if (!recording->processes[i].trigger) return false;
  return recording->process_count > 0;
}

/* Files of processes that are gone without having ended them, where the program itself ended well: of one that did not
** say_how_it_ended tells. */
static void say_unended(const struct recording *recording, const struct outcome *outcome) {
  const struct process_recording *first = NULL;
  size_t count = 0;
  if (!WIFEXITED(outcome->wait_status) || WEXITSTATUS(outcome->wait_status) != 0) return;
  for (size_t i = 0; i < recording->process_count; i++) {
    const struct process_recording *process = &recording->processes[i];
    if (process->problem || process->is_closed || process->is_alive) continue;
    if (!count++) first = process;
  }
  if (!count) return;
  fprintf(stderr, "tfprof: process %lu", (unsigned long)first->pid);
  if (count > 1) fprintf(stderr, " and %zu more were", count - 1);
  else fputs(" was", stderr);
  fputs(" ended before what was recorded last could be written (terminated, killed): up to a second of it is missing\n",
        stderr);
}

/* All that --quiet does not silence. */
static void say_problems(const struct recording *recording) {
  for (size_t i = 0; i < recording->process_count; i++) {
    const struct process_recording *process = &recording->processes[i];
    if (process->problem) fprintf(stderr, "tfprof: %s cannot be read: %s\n", process->path, process->problem);
  }
  if (recording->dropped) {
    fprintf(stderr, "tfprof: %s row%s lost; the table diagnostics says which and why\n",
            count_text(recording->dropped).bytes, recording->dropped == 1 ? " was" : "s were");
  }
}

void report(const struct capture_options *options, const struct run_directory *directory,
            const struct program *program, const struct outcome *outcome, const char *tools, const char *extension) {
  struct recording recording;
  bool is_readable = recording_read(directory->absolute, &recording);
  if (!is_readable && recording.process_count == 0) {
    fprintf(stderr, "tfprof: the run directory %s cannot be read any more; was it removed?\n", directory->absolute);
    return;
  }
  if (recording.process_count == 0) {
    if (options_is_on(options, OPTION_DORMANT)) say_nobody_asked(directory);
    else if (options_text(options, OPTION_KEEP)) say_nothing_happened(directory, options);
    else say_nothing_recorded(directory, program, outcome, options->command);
    recording_free(&recording);
    return;
  }
  bool is_quiet = options_is_on(options, OPTION_QUIET);
  bool is_kept = is_all_kept(&recording);
  if (!is_quiet && is_kept) say_what_was_kept(&recording);
  else if (!is_quiet) {
    say_how_it_ended(&recording, outcome);
    say_what_was_recorded(&recording, directory->path);
  }
  say_problems(&recording);
  say_unended(&recording, outcome);
  say_notes(&recording);
  if (!is_quiet) {
    bool is_alive = false;
    for (size_t i = 0; i < recording.process_count; i++) is_alive |= recording.processes[i].is_alive;
    if (is_alive) {
      fputs("tfprof: processes that the program left behind still record; SELECT tfprof_refresh() shows their news\n",
            stderr);
    }
    say_next(directory->path, tools, extension);
  }
  recording_free(&recording);
}

/* What servers sent; of several, of which how much. */
static void say_servers(const struct profiler_servers *servers, const char *path) {
  uint64_t bytes = 0;
  size_t count = 0, shown = 0;
  for (size_t i = 0; i < profiler_servers_count(servers); i++) {
    bytes += profiler_servers_at(servers, i)->bytes;
    count += profiler_servers_at(servers, i)->bytes > 0;
  }
  if (!count) return;
  if (count == 1) fputs("tfprof: recorded the profile of a server", stderr);
  else fprintf(stderr, "tfprof: recorded the profiles of %zu servers", count);
  fprintf(stderr, " into %s (%s)\n", path, bytes_text(bytes).bytes);
  for (size_t i = 0; i < profiler_servers_count(servers) && count > 1; i++) {
    const struct profiler_server *server = profiler_servers_at(servers, i);
    if (!server->bytes) continue;
    if (shown++ == MAXIMUM_PROCESSES) {
      fprintf(stderr, "  … and %zu more\n", count - MAXIMUM_PROCESSES);
      break;
    }
    fprintf(stderr, "  %-28s %s\n", server->address.text, bytes_text(server->bytes).bytes);
  }
}

void report_attached(const struct attached *attached, bool is_quiet, const char *tools, const char *extension) {
  struct recording recording;
  if (!recording_read_files(attached->dumps, attached->dump_count, &recording))
    fputs("tfprof: not enough memory to read all of it\n", stderr);
  if (!is_quiet && is_all_kept(&recording)) say_what_was_kept(&recording);
  else if (!is_quiet && attached->dump_count) say_what_was_recorded(&recording, attached->path);
  if (!is_quiet) say_servers(attached->servers, attached->path);
  say_problems(&recording);
  say_notes(&recording);
  if (!is_quiet) say_next(attached->path, tools, extension);
  recording_free(&recording);
}
