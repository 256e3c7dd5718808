/* attach.c: see attach.h.
**
** All targets are asked what they are.  One begins with its next step.  Several are told one moment to begin at, within
** a step if need be.  Where steps are asked for each goes on until all have theirs, and then they are told to end: who
** has its steps waits for the others no longer than a bound of its own (library/control.h), and nobody waits for one
** that is gone.  Who cannot be recorded is named, and the others are.  SIGINT, SIGTERM and SIGHUP end the recordings in
** order, a second one leaves at once: the targets then see that nobody is there any more, and end theirs.
*/
#include "attach.h"

#include "attach_servers.h"
#include "attach_targets.h"
#include "common/option_words.h"
#include "report.h"
#include "status.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
  TOGETHER_MS = 100,  /* from now on, until all of several begin, */
  EACH_MS = 50,       /* and so much for each, which has to get ready: they may share a few processors, */
  LATEST_MS = 3000,   /* but no more than that */
  NOTE_MS = 5000,     /* without a step: it is said that one is waited for */
  END_MS = 10000,     /* that a target may take to close its file */
  LOOK_MS = 500,
  MOST_MESSAGES = 16, /* of a target: it sends three */
  USUAL_STEPS = 5,
  STATUS_SOME = 1,
};

/* One of the targets that are recorded. */
struct target {
  struct asked *asked;
  char file[CONTROL_TEXT_MAXIMUM + 1];
  uint64_t begin_ns, end_ns, steps; /* of CLOCK_MONOTONIC; 0: not yet */
  bool is_written, is_over, is_noted;
  bool has_enough; /* steps, of those that all are asked for */
  unsigned messages;
};

static bool is_write; /* what is kept is asked for (--write) */
static uint64_t steps_of_all; /* that each of several is asked for; 0: not so */
static volatile sig_atomic_t signals;
static void count_signal(int number) {
  (void)number;
  signals++;
}

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- What is asked for. */

/* false: said what is wrong. */
static bool read_wish(const struct capture_options *options, bool has_servers, struct control_message *wish) {
  const char *steps = options_text(options, OPTION_STEPS), *time = options_text(options, OPTION_FOR);
  *wish = (struct control_message){.kind = CONTROL_RECORD};
  is_write = options_is_on(options, OPTION_WRITE);
  if (is_write) {
    wish->kind = CONTROL_WRITE;
    if (!steps && !time && !has_servers && !options_text(options, OPTION_OUTPUT)) return true;
    fputs("tfprof-capture: --write writes what processes keep into their run. It goes with no --steps, --for, -o or "
          "server\n",
          stderr);
    return false;
  }
  if (steps && time) {
    fputs("tfprof-capture: --steps and --for exclude each other\n", stderr);
    return false;
  }
  if (steps && (strspn(steps, "0123456789") != strlen(steps) || strtoull(steps, NULL, 10) == 0)) {
    fprintf(stderr, "tfprof-capture: with --attach, --steps is how many steps to record, such as 5, not '%s'\n", steps);
    return false;
  }
  if (time && !(wish->numbers[CONTROL_DURATION] = option_time_ns(time))) {
    fprintf(stderr, "tfprof-capture: --for must be a time such as 2s or 500ms, not '%s'\n", time);
    return false;
  }
  if (steps && has_servers) {
    fputs("tfprof-capture: a profiler server knows no steps: say --for 2s\n", stderr);
    return false;
  }
  if (!time && has_servers) wish->numbers[CONTROL_DURATION] = ATTACH_SERVERS_USUAL_MS * UINT64_C(1000000);
  else if (!time) wish->numbers[CONTROL_STEPS] = steps ? strtoull(steps, NULL, 10) : USUAL_STEPS;
  return true;
}

/* ---- Recording. */

static void fail(struct target *target, const char *problem) {
  fprintf(stderr, "tfprof-capture: process %ld: %s\n", (long)target->asked->process, problem);
  target->is_over = true;
  asked_hang_up(target->asked);
}

static void take(struct target *target, const struct control_message *message) {
  const char *file = control_text(message, CONTROL_FILE);
  const uint64_t *numbers = message->numbers;
  if (file) snprintf(target->file, sizeof target->file, "%s", file);
  if (message->kind == CONTROL_BEGUN) target->begin_ns = numbers[CONTROL_START];
  if (message->kind == CONTROL_ENOUGH) target->has_enough = true;
  if (message->kind == CONTROL_REFUSED)
    fail(target, control_text(message, CONTROL_PROBLEM) ? control_text(message, CONTROL_PROBLEM) : "it refuses");
  if (message->kind != CONTROL_ENDED) return;
  target->begin_ns = numbers[CONTROL_START];
  target->end_ns = numbers[CONTROL_STOP];
  target->steps = numbers[CONTROL_STEPS];
  target->is_over = true;
  target->is_written = is_write && file;
  asked_hang_up(target->asked);
  if (!target->begin_ns && !target->is_written) fail(target, "nothing was recorded: no step began");
}

static void look_at_target(struct target *target, bool is_ending) {
  struct control_message message;
  enum asked_news news;
  while (!target->is_over && (news = asked_receive(target->asked, &message)) != ASKED_NOTHING) {
    if (news == ASKED_MESSAGE && ++target->messages > MOST_MESSAGES) {
      fail(target, "what it answers is not understood: there is no end of it");
      return;
    }
    if (news == ASKED_MESSAGE) {
      take(target, &message);
      continue;
    }
    if (!target->begin_ns) {
      fail(target, target->asked->problem[0] ? target->asked->problem : "it ended before a step began");
      return;
    }
    target->is_over = true; /* what there was of it is in its file */
    asked_hang_up(target->asked);
    if (!is_ending)
      fprintf(stderr, "tfprof: process %ld ended meanwhile: what it did until then is recorded\n",
              (long)target->asked->process);
  }
}

static size_t count_open(const struct target *targets, size_t count) {
  size_t open = 0;
  for (size_t i = 0; i < count; i++) open += !targets[i].is_over;
  return open;
}

static void note_waiting(struct target *target, bool is_quiet) {
  bool is_late = steps_of_all && !target->has_enough; /* it has begun as the others have, but not its steps */
  if (target->is_over || (target->begin_ns && !is_late) || target->is_noted) return;
  target->is_noted = true;
  if (asked_is_stopped(target->asked)) fail(target, "it does not answer: it is stopped (kill -CONT lets it go on)");
  if (target->is_over || is_quiet) return;
  fprintf(stderr, "tfprof: process %ld has ended %s for %d s, and recording %s; Ctrl-C gives it up\n",
          (long)target->asked->process, target->begin_ns ? "too few steps" : "no step", NOTE_MS / 1000,
          target->begin_ns ? "goes on until it has" : "begins with one");
}

/* Until something comes of any of them. */
static void wait_for_news(const struct attach_wanted *wanted) {
  const struct asked_list *list = &wanted->processes;
  size_t count = 0;
  int *sockets = profiler_servers_count_open(wanted->servers) ? calloc(list->count + 1, sizeof *sockets) : NULL;
  if (!sockets) {
    asked_wait(list, LOOK_MS);
    return;
  }
  for (size_t i = 0; i < list->count; i++)
    if (list->all[i]->socket >= 0) sockets[count++] = list->all[i]->socket;
  profiler_servers_wait(wanted->servers, sockets, count, LOOK_MS);
  free(sockets);
  attach_servers_tell_failures(wanted->servers);
}

static void end_all(struct target *targets, size_t count) {
  static const struct control_message end = {.kind = CONTROL_END};
  for (size_t i = 0; i < count; i++)
    if (!targets[i].is_over) asked_tell(targets[i].asked, &end);
}

/* Of several that are asked for steps: those that still record have theirs. */
static bool have_all_enough(const struct target *targets, size_t count) {
  bool have_any = false;
  for (size_t i = 0; i < count && steps_of_all; i++) {
    if (!targets[i].is_over && !targets[i].has_enough) return false;
    have_any |= !targets[i].is_over;
  }
  return have_any;
}

static void record(struct target *targets, size_t count, const struct attach_wanted *wanted, bool is_quiet) {
  uint64_t asked_ns = now_ns(), end_ns = 0;
  int seen = 0;
  while (count_open(targets, count) || profiler_servers_count_open(wanted->servers)) {
    wait_for_news(wanted);
    for (size_t i = 0; i < count; i++) look_at_target(&targets[i], seen > 0);
    uint64_t now = now_ns();
    bool is_long = now - asked_ns > NOTE_MS * UINT64_C(1000000);
    for (size_t i = 0; i < count && is_long && !is_write; i++) note_waiting(&targets[i], is_quiet);
    if (!end_ns && !signals && have_all_enough(targets, count)) {
      end_ns = now + END_MS * UINT64_C(1000000);
      end_all(targets, count);
    }
    if (signals && !seen) {
      seen = signals;
      end_ns = now + END_MS * UINT64_C(1000000);
      end_all(targets, count);
      profiler_servers_end(wanted->servers);
      if (profiler_servers_count_open(wanted->servers) && !is_quiet)
        fputs("tfprof: waiting for what was recorded until now; Ctrl-C once more gives it up\n", stderr);
    }
    if (signals > seen && seen) break;
    if (!end_ns || now <= end_ns) continue;
    for (size_t i = 0; i < count; i++)
      if (!targets[i].is_over) fail(&targets[i], "it does not answer; its file ends where it stands");
  }
  profiler_servers_give_up(wanted->servers, "it was given up");
  attach_servers_tell_failures(wanted->servers);
}

static void watch_signals(void) {
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction action = {.sa_handler = count_signal};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) sigaction(numbers[i], &action, NULL);
  signal(SIGPIPE, SIG_IGN);
}

/* ---- What came of it. */

/* The time in which all were recorded, as a share of the longest. */
static void say_overlap(const struct target *targets, size_t count) {
  uint64_t begin = 0, end = UINT64_MAX, longest = 0;
  size_t recorded = 0;
  for (size_t i = 0; i < count; i++) {
    const struct target *target = &targets[i];
    if (!target->begin_ns || target->end_ns <= target->begin_ns) continue;
    recorded++;
    if (target->begin_ns > begin) begin = target->begin_ns;
    if (target->end_ns < end) end = target->end_ns;
    if (target->end_ns - target->begin_ns > longest) longest = target->end_ns - target->begin_ns;
  }
  if (recorded < 2) return;
  double both = end > begin ? (double)(end - begin) : 0;
  fprintf(stderr, "tfprof: all %zu were recorded at the same time for %.1f ms, %.0f %% of the longest recording\n",
          recorded, both / 1e6, both / (double)longest * 100);
}

/* Where it was more than was asked for. */
static void say_more_steps(const struct target *targets, size_t count) {
  uint64_t least = UINT64_MAX, most = 0;
  bool had_all = true;
  for (size_t i = 0; i < count; i++) {
    had_all &= targets[i].has_enough;
    if (!targets[i].has_enough || targets[i].steps < steps_of_all) continue;
    if (targets[i].steps < least) least = targets[i].steps;
    if (targets[i].steps > most) most = targets[i].steps;
  }
  if (!steps_of_all || most <= steps_of_all) return;
  fprintf(stderr, "tfprof: %llu step%s asked for; %s ", (unsigned long long)steps_of_all,
          steps_of_all == 1 ? " was" : "s were", had_all ? "until all had theirs" : "not all had theirs in time, and");
  if (least < most) fprintf(stderr, "%llu to ", (unsigned long long)least);
  fprintf(stderr, "%llu were recorded of each\n", (unsigned long long)most);
}

/* As one would type it here. */
static const char *short_path(const char *path) {
  char here[PATH_MAX];
  size_t length = getcwd(here, sizeof here) ? strlen(here) : 0;
  bool is_below = length > 1 && !strncmp(path, here, length) && path[length] == '/';
  return is_below ? path + length + 1 : path;
}

/* `output` NULL: where the programs write. */
static int conclude(const struct target *targets, size_t count, const struct attach_wanted *wanted, const char *output,
                    bool is_quiet, const char *tools, const char *extension) {
  const char **files = calloc(count + 1, sizeof *files);
  char directory[CONTROL_TEXT_MAXIMUM + 1] = "";
  size_t recorded = 0, sent = attach_servers_count_sent(wanted->servers);
  for (size_t i = 0; i < count && files; i++)
    if ((targets[i].begin_ns || targets[i].is_written) && access(targets[i].file, R_OK) == 0)
      files[recorded++] = targets[i].file;
  if (recorded) snprintf(directory, sizeof directory, "%s", short_path(files[0]));
  if (recorded > 1 && strrchr(directory, '/')) *strrchr(directory, '/') = 0;
  if (recorded + sent) {
    const struct attached attached = {files, recorded, wanted->servers, output ? output : directory};
    report_attached(&attached, is_quiet, tools, extension);
    if (!is_quiet) say_overlap(targets, count);
    if (!is_quiet) say_more_steps(targets, count);
  }
  free(files);
  size_t failed = wanted->failed + (count - recorded) + (profiler_servers_count(wanted->servers) - sent);
  return !failed ? 0 : recorded + sent ? STATUS_SOME : STATUS_CANNOT_RECORD;
}

static uint64_t ms_to_get_ready(size_t count) {
  size_t most = (LATEST_MS - TOGETHER_MS) / EACH_MS;
  return TOGETHER_MS + (uint64_t)EACH_MS * (count < most ? count : most);
}

/* Asks all, waits for all. `directory` NULL: of each the run that it has. */
static int record_wanted(const struct capture_options *options, struct attach_wanted *wanted,
                         struct control_message *wish, const struct run_directory *directory, const char *tools,
                         const char *extension) {
  bool is_quiet = options_is_on(options, OPTION_QUIET);
  struct profiler_plan plan = attach_servers_plan(options, wish->numbers[CONTROL_DURATION] / 1000000);
  const struct asked_list *processes = &wanted->processes;
  struct target *targets = calloc(processes->count + 1, sizeof *targets);
  size_t count = 0;
  plan.directory = directory ? directory->absolute : NULL;
  if (directory) control_set_text(wish, CONTROL_DIRECTORY, directory->absolute);
  if (processes->count > 1) {
    wish->numbers[CONTROL_START] = now_ns() + ms_to_get_ready(processes->count) * 1000000;
    wish->numbers[CONTROL_TOGETHER] = 1;
    steps_of_all = wish->numbers[CONTROL_STEPS];
  }
  for (; targets && count < processes->count; count++) {
    targets[count].asked = processes->all[count];
    if (!asked_send(processes->all[count], wish)) fail(&targets[count], processes->all[count]->problem);
  }
  if (wanted->servers) profiler_servers_begin(wanted->servers, &plan);
  if (targets) record(targets, count, wanted, is_quiet);
  int status = conclude(targets, count, wanted, directory ? directory->path : NULL, is_quiet, tools, extension);
  free(targets);
  return status;
}

int attach_run(const struct capture_options *options, const char *library, const char *hooks, const char *tools,
               const char *extension) {
  static struct control_message wish;
  static struct attach_late late;
  const char *output = options_text(options, OPTION_OUTPUT), *words = options_text(options, OPTION_ATTACH);
  bool has_servers = attach_servers_are_named(words);
  struct attach_wanted wanted = {.late = &late};
  late = (struct attach_late){.options = options, .parts = {.library = library, .hooks = hooks}};
  bool is_right = read_wish(options, has_servers, &wish) && attach_servers_options_are_right(options, has_servers);
  if (!is_right) return STATUS_USAGE;
  attach_targets_find(words, &wanted);
  bool has_any = wanted.processes.count + profiler_servers_count(wanted.servers) > 0;
  bool is_into_one = output || wanted.servers; /* and not each into the run that it has */
  watch_signals(); /* before there is a directory, which would be left behind */
  int status = has_any && (!is_into_one || attach_late_open(&late)) ? 0 : STATUS_CANNOT_RECORD;
  if (late.status) status = late.status;
  if (!status)
    status = record_wanted(options, &wanted, &wish, is_into_one ? &late.directory : NULL, tools, extension);
  if (late.directory.path[0] && !late.is_told && status) run_directory_discard(&late.directory);
  attach_targets_free(&wanted);
  return status;
}
