/* attach.c: see attach.h.
**
** All targets are asked what they are, then told one moment to begin at, and each begins with its first step from then
** on.  Who cannot be recorded is named, and the others are.  SIGINT, SIGTERM and SIGHUP end the recordings in order, a
** second one leaves at once: the targets then see that nobody is there any more, and end theirs.
*/
#include "attach.h"

#include "asked.h"
#include "common/command_line.h"
#include "common/option_words.h"
#include "late_attach.h"
#include "profiler_servers.h"
#include "report.h"
#include "run_directory.h"
#include "run_link.h"
#include "status.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
  TOGETHER_MS = 100,  /* from now on, until all of several begin */
  NOTE_MS = 5000,     /* without a step: it is said that one is waited for */
  END_MS = 10000,     /* that a target may take to close its file */
  LOOK_MS = 500,
  USUAL_STEPS = 5,
  USUAL_MS = 2000, /* of profiler servers, which know no steps */
  USUAL_HOST_LEVEL = 2,
  USUAL_DEVICE_LEVEL = 1,
  USUAL_RETRIES = 3,
  STATUS_SOME = 1,
};

/* Who was named: who can be recorded, and how many cannot. */
struct wanted {
  struct asked_list processes;
  struct profiler_servers *servers; /* NULL: none was named */
  struct late *late;
  size_t failed;
};

/* One of the targets that are recorded. */
struct target {
  struct asked *asked;
  char file[CONTROL_TEXT_MAXIMUM + 1];
  uint64_t begin_ns, end_ns, steps; /* of CLOCK_MONOTONIC; 0: not yet */
  bool is_written, is_over, is_noted;
};

static bool is_write; /* what is kept is asked for (--write) */
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

/* Whether one of the words is the address of a server. */
static bool names_servers(const char *words) {
  char *text = strdup(words), *rest;
  bool is_any = false;
  for (char *word = text ? strtok_r(text, ",", &rest) : NULL; word; word = strtok_r(NULL, ",", &rest))
    is_any |= profiler_address_is_meant(word);
  free(text);
  return is_any;
}

/* false: said what is wrong. */
static bool read_wish(const struct capture_options *options, bool has_servers, struct control_message *wish) {
  const char *steps = options_text(options, OPTION_STEPS), *time = options_text(options, OPTION_FOR);
  *wish = (struct control_message){.kind = CONTROL_RECORD};
  is_write = options_is_on(options, OPTION_WRITE);
  if (is_write) {
    wish->kind = CONTROL_WRITE;
    if (!steps && !time && !has_servers && !options_text(options, OPTION_OUTPUT)) return true;
    fputs("tfprof-capture: --write writes what processes keep, into their run: without --steps, --for, -o, servers\n",
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
  if (!time && has_servers) wish->numbers[CONTROL_DURATION] = USUAL_MS * UINT64_C(1000000);
  else if (!time) wish->numbers[CONTROL_STEPS] = steps ? strtoull(steps, NULL, 10) : USUAL_STEPS;
  return true;
}

static unsigned level_of(const struct capture_options *options, enum option option, unsigned otherwise) {
  const char *text = options_text(options, option);
  return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

/* What servers are asked for. */
static struct profiler_plan read_plan(const struct capture_options *options, const struct control_message *wish) {
  const char *most = options_text(options, OPTION_MAX_SIZE);
  return (struct profiler_plan){
      .wish = {.duration_ms = wish->numbers[CONTROL_DURATION] / 1000000,
               .host_level = level_of(options, OPTION_HOST_TRACER_LEVEL, USUAL_HOST_LEVEL),
               .device_level = level_of(options, OPTION_DEVICE_TRACER_LEVEL, USUAL_DEVICE_LEVEL),
               .python_level = level_of(options, OPTION_PYTHON_TRACER_LEVEL, 0)},
      .retries = level_of(options, OPTION_RETRIES, USUAL_RETRIES),
      .most_bytes = most ? strtoull(most, NULL, 10) : 0};
}

/* false: said that these options are for servers. */
static bool may_have_levels(const struct capture_options *options, bool has_servers) {
  for (int option = OPTION_HOST_TRACER_LEVEL; option <= OPTION_RETRIES && !has_servers; option++) {
    if (!options_text(options, (enum option)option)) continue;
    fputs("tfprof-capture: tracer levels and --retries are for profiler servers, such as --attach host:6009\n", stderr);
    return false;
  }
  return true;
}

/* ---- Whom. */

struct sought {
  pid_t process;
  char directory[PATH_MAX]; /* of the run that records it; empty: none does */
};

static void note_run(void *context, const char *directory, const struct process_recording *process) {
  struct sought *sought = context;
  if ((pid_t)process->pid == sought->process) snprintf(sought->directory, sizeof sought->directory, "%s", directory);
}

/* What lies in a file of /proc/PID; NULL: it cannot be read. Caller frees. */
static char *read_of_process(pid_t process, const char *file, size_t *length) {
  enum { MOST = 1 << 20 };
  char path[64], *bytes = malloc(MOST + 1);
  snprintf(path, sizeof path, "/proc/%ld/%s", (long)process, file);
  FILE *stream = bytes ? fopen(path, "re") : NULL;
  *length = stream ? fread(bytes, 1, MOST, stream) : 0;
  if (stream) fclose(stream);
  if (*length) {
    bytes[*length] = 0;
    return bytes;
  }
  free(bytes);
  return NULL;
}

static bool has_variable(const char *environment, size_t length, const char *wanted) {
  for (size_t at = 0; at < length; at += strlen(environment + at) + 1)
    if (!strcmp(environment + at, wanted)) return true;
  return false;
}

static void say_how_to_start(pid_t process, const char *problem) {
  size_t length;
  char *words = read_of_process(process, "cmdline", &length);
  char *command = words ? command_line_of_words(words, length, false) : NULL;
  fprintf(stderr,
          "it was not started to be asked%s%s; start it with\n  tfprof-capture --dormant -o run -- %s\n",
          *problem ? ", and " : "", problem, command ? command : "PROGRAM");
  free(words);
  free(command);
}

/* Where targets are recorded into that have no run of their own, and what makes them listen. */
struct late {
  const struct capture_options *options;
  struct late_parts parts;
  struct run_directory directory; /* opened: its path is not empty */
  int status;                     /* of opening it */
  bool is_told;                   /* a program has been told of it, and may record there later */
};

/* What becomes of a recording that is there. */
static enum run_directory_former what_is_there(const struct capture_options *options) {
  if (options_is_on(options, OPTION_ADD)) return RUN_DIRECTORY_KEEP;
  return options_is_on(options, OPTION_FORCE) ? RUN_DIRECTORY_REPLACE : RUN_DIRECTORY_REFUSE;
}

static bool open_output(struct late *late) {
  const struct capture_options *options = late->options;
  if (!late->directory.path[0] && !late->status)
    late->status = run_directory_open(options_text(options, OPTION_OUTPUT), what_is_there(options),
                                      options_is_on(options, OPTION_QUIET), &late->directory);
  late->parts.directory = late->directory.absolute;
  return !late->status;
}

/* Of a process that has no socket: why. true: it listens now. */
static bool prepare_absent(pid_t process, struct late *late) {
  char path[64], problem[1200] = "";
  struct stat facts;
  struct sought sought = {.process = process};
  snprintf(path, sizeof path, "/proc/%ld", (long)process);
  bool is_there = stat(path, &facts) == 0, is_ours = is_there && (facts.st_uid == geteuid() || geteuid() == 0);
  if (is_ours) run_links_tell(note_run, &sought);
  size_t length;
  char *environment = is_ours ? read_of_process(process, "environ", &length) : NULL;
  bool is_dormant = environment && has_variable(environment, length, "TFPROF_DORMANT=1");
  free(environment);
  bool is_unprepared = is_ours && !sought.directory[0] && !is_dormant;
  if (is_unprepared && late_attach_is_possible(process)) {
    if (!open_output(late)) return false;
    late->is_told = true;
    if (late_attach(process, late->options, &late->parts, problem, sizeof problem)) return true;
  }
  fprintf(stderr, "tfprof-capture: process %ld: ", (long)process);
  if (!is_there) fputs("there is no such process\n", stderr);
  else if (!is_ours) fputs("it is another user's: only that user, or root, can record it\n", stderr);
  else if (sought.directory[0])
    fprintf(stderr, "it is recorded already, into %s: look at that with  tfprof %s\n", sought.directory,
            sought.directory);
  else if (is_dormant)
    fputs("it has not imported PyTorch, TensorFlow or JAX, initialised CUDA or called NVTX yet: there is nothing to "
          "record\n",
          stderr);
  else say_how_to_start(process, problem);
  return false;
}

/* The one of the list is handed over to `chosen`, once. */
static bool choose_target(struct asked_list *list, size_t place, struct asked_list *chosen) {
  struct asked *asked = list->all[place];
  for (size_t i = 0; i < chosen->count; i++)
    if (chosen->all[i]->process == asked->process) return true;
  struct asked **all = realloc(chosen->all, (chosen->count + 1) * sizeof *all);
  if (!all) return false;
  chosen->all = all;
  all[chosen->count++] = asked;
  list->all[place] = list->all[--list->count];
  return true;
}

/* How many there are; all of one job, or nobody knows which is meant. */
static int choose_ranks(struct asked_list *list, const char *which, struct asked_list *chosen) {
  int count = 0;
  const char *directory = NULL;
  for (size_t i = list->count; i--;) {
    const struct asked *asked = list->all[i];
    const uint64_t *numbers = asked->facts.numbers;
    if (asked->facts.kind != CONTROL_FACTS) {
      fprintf(stderr, "tfprof-capture: process %ld: %s\n", (long)asked->process, asked->problem);
      continue;
    }
    uint64_t rank = numbers[CONTROL_RANK]; /* and one more */
    if (!rank || (strcmp(which, "*") != 0 && strtoull(which, NULL, 10) + 1 != rank)) continue;
    const char *its = control_text(&asked->facts, CONTROL_DIRECTORY);
    if (directory && its && strcmp(directory, its) != 0) {
      fprintf(stderr,
              "tfprof-capture: rank:%s: there are ranks of several jobs (%s, %s): say which processes, as --list has "
              "them\n",
              which, directory, its);
      return -1;
    }
    directory = its;
    if (!choose_target(list, i, chosen)) return -1;
    count++;
  }
  return count;
}

static void find_server(const char *word, struct wanted *wanted) {
  char problem[400];
  const char *wrong = problem;
  if (!wanted->servers) wanted->servers = profiler_servers_make(problem, sizeof problem);
  if (wanted->servers) wrong = profiler_servers_add(wanted->servers, word);
  if (!wrong) return;
  fprintf(stderr, "tfprof-capture: %s: %s\n", word, wrong);
  wanted->failed++;
}

/* What is neither rank nor number is said to be none. */
static void find_processes(const char *word, struct wanted *wanted) {
  char *end;
  bool is_rank = !strncmp(word, "rank:", 5);
  long number = strtol(is_rank ? word + 5 : word, &end, 10);
  bool is_number = !*end && number >= 0 && number <= INT_MAX && end != word + (is_rank ? 5 : 0);
  if (!is_number && (!is_rank || strcmp(word + 5, "*") != 0)) {
    fprintf(stderr,
            "tfprof-capture: '%s' is neither the number of a process nor rank:N nor 'rank:*' nor HOST:PORT (run:DIR "
            "stands alone)\n",
            word);
    wanted->failed++;
    return;
  }
  struct asked_list list;
  struct asked_list *chosen = &wanted->processes;
  if (!asked_find(is_rank ? 0 : (pid_t)number, &list)) fputs("tfprof-capture: not enough memory\n", stderr);
  int count = 0;
  bool is_absent = !is_rank && (!list.count || !control_start_time((pid_t)number));
  if (is_absent && prepare_absent((pid_t)number, wanted->late)) {
    asked_free(&list);
    asked_find((pid_t)number, &list);
  }
  if (is_rank) count = choose_ranks(&list, word + 5, chosen);
  else if (list.count && list.all[0]->facts.kind == CONTROL_FACTS) count = choose_target(&list, 0, chosen);
  else if (list.count && control_start_time((pid_t)number))
    fprintf(stderr, "tfprof-capture: process %ld: %s\n", number, list.all[0]->problem);
  if (is_rank && !count)
    fprintf(stderr, "tfprof-capture: %s: there is none that can be asked; --list shows what there is\n", word);
  wanted->failed += count <= 0;
  asked_free(&list);
}

/* All programs of a run; NULL: there is no memory for its name. */
static void find_programs_of_run(const char *directory, const char *words, struct wanted *wanted) {
  struct asked_list list;
  size_t count = 0;
  if (!directory || !asked_find(0, &list)) {
    fputs("tfprof-capture: not enough memory\n", stderr);
    wanted->failed++;
    return;
  }
  for (size_t i = list.count; i--;)
    if (asked_is_of_run(list.all[i], directory)) count += choose_target(&list, i, &wanted->processes);
  if (!count) {
    fprintf(stderr, "tfprof-capture: %s: no program of that run can be asked; --list shows what there is\n", words);
    wanted->failed++;
  }
  asked_free(&list);
}

static void find_targets(const char *words, struct wanted *wanted) {
  if (strncmp(words, "run:", 4) == 0) {
    char *directory = asked_run_of(words);
    find_programs_of_run(directory, words, wanted);
    free(directory);
    return;
  }
  char *text = strdup(words), *rest;
  for (char *word = text ? strtok_r(text, ",", &rest) : NULL; word; word = strtok_r(NULL, ",", &rest)) {
    if (profiler_address_is_meant(word)) find_server(word, wanted);
    else find_processes(word, wanted);
  }
  free(text);
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
  if (target->is_over || target->begin_ns || target->is_noted) return;
  target->is_noted = true;
  if (asked_is_stopped(target->asked)) fail(target, "it does not answer: it is stopped (kill -CONT lets it go on)");
  if (target->is_over || is_quiet) return;
  fprintf(stderr, "tfprof: process %ld has ended no step for %d s, and recording begins with one; Ctrl-C gives it up\n",
          (long)target->asked->process, NOTE_MS / 1000);
}

/* Says what has failed since it was said last. */
static void tell_failures(const struct profiler_servers *servers) {
  for (size_t i = 0; i < profiler_servers_count(servers); i++) {
    struct profiler_server *server = profiler_servers_at(servers, i);
    if (!server->is_over || server->bytes || server->is_told) continue;
    server->is_told = true;
    fprintf(stderr, "tfprof-capture: %s: %s\n", server->address.text, server->problem);
  }
}

/* Until something comes of any of them. */
static void wait_for_news(const struct wanted *wanted) {
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
  tell_failures(wanted->servers);
}

static void end_all(struct target *targets, size_t count, struct profiler_servers *servers) {
  static const struct control_message end = {.kind = CONTROL_END};
  for (size_t i = 0; i < count; i++)
    if (!targets[i].is_over && !asked_send(targets[i].asked, &end)) fail(&targets[i], targets[i].asked->problem);
  profiler_servers_end(servers);
}

static void record(struct target *targets, size_t count, const struct wanted *wanted, bool is_quiet) {
  uint64_t asked_ns = now_ns(), end_ns = 0;
  int seen = 0;
  while (count_open(targets, count) || profiler_servers_count_open(wanted->servers)) {
    wait_for_news(wanted);
    for (size_t i = 0; i < count; i++) look_at_target(&targets[i], seen > 0);
    uint64_t now = now_ns();
    bool is_long = now - asked_ns > NOTE_MS * UINT64_C(1000000);
    for (size_t i = 0; i < count && is_long && !is_write; i++) note_waiting(&targets[i], is_quiet);
    if (signals && !seen) {
      seen = signals;
      end_ns = now + END_MS * UINT64_C(1000000);
      end_all(targets, count, wanted->servers);
    }
    if (signals > seen && seen) break;
    if (!end_ns || now <= end_ns) continue;
    for (size_t i = 0; i < count; i++)
      if (!targets[i].is_over) fail(&targets[i], "it does not answer; its file ends where it stands");
    profiler_servers_give_up(wanted->servers, "it does not answer");
  }
  profiler_servers_give_up(wanted->servers, "it was given up");
  tell_failures(wanted->servers);
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

/* As one would type it here. */
static const char *short_path(const char *path) {
  char here[PATH_MAX];
  size_t length = getcwd(here, sizeof here) ? strlen(here) : 0;
  bool is_below = length > 1 && !strncmp(path, here, length) && path[length] == '/';
  return is_below ? path + length + 1 : path;
}

/* How many of the servers sent a profile. */
static size_t count_sent(const struct profiler_servers *servers) {
  size_t sent = 0;
  for (size_t i = 0; i < profiler_servers_count(servers); i++) sent += profiler_servers_at(servers, i)->bytes > 0;
  return sent;
}

/* `output` NULL: where the programs write. */
static int conclude(const struct target *targets, size_t count, const struct wanted *wanted, const char *output,
                    bool is_quiet, const char *tools, const char *extension) {
  const char **files = calloc(count + 1, sizeof *files);
  char directory[CONTROL_TEXT_MAXIMUM + 1] = "";
  size_t recorded = 0, sent = count_sent(wanted->servers);
  for (size_t i = 0; i < count && files; i++)
    if ((targets[i].begin_ns || targets[i].is_written) && access(targets[i].file, R_OK) == 0)
      files[recorded++] = targets[i].file;
  if (recorded) snprintf(directory, sizeof directory, "%s", short_path(files[0]));
  if (recorded > 1 && strrchr(directory, '/')) *strrchr(directory, '/') = 0;
  if (recorded + sent) {
    const struct attached attached = {files, recorded, wanted->servers, output ? output : directory};
    report_attached(&attached, is_quiet, tools, extension);
    if (!is_quiet) say_overlap(targets, count);
  }
  free(files);
  size_t failed = wanted->failed + (count - recorded) + (profiler_servers_count(wanted->servers) - sent);
  return !failed ? 0 : recorded + sent ? STATUS_SOME : STATUS_CANNOT_RECORD;
}

static void free_wanted(struct wanted *wanted) {
  asked_free(&wanted->processes);
  profiler_servers_free(wanted->servers);
}

/* Asks all, waits for all. `directory` NULL: of each the run that it has. */
static int record_wanted(const struct capture_options *options, struct wanted *wanted, struct control_message *wish,
                         const struct run_directory *directory, const char *tools, const char *extension) {
  bool is_quiet = options_is_on(options, OPTION_QUIET);
  struct profiler_plan plan = read_plan(options, wish);
  const struct asked_list *processes = &wanted->processes;
  struct target *targets = calloc(processes->count + 1, sizeof *targets);
  size_t count = 0;
  plan.directory = directory ? directory->absolute : NULL;
  if (directory) control_set_text(wish, CONTROL_DIRECTORY, directory->absolute);
  watch_signals();
  if (processes->count > 1) wish->numbers[CONTROL_START] = now_ns() + TOGETHER_MS * UINT64_C(1000000);
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
  static struct late late;
  const char *output = options_text(options, OPTION_OUTPUT), *words = options_text(options, OPTION_ATTACH);
  bool has_servers = names_servers(words);
  struct wanted wanted = {.late = &late};
  late = (struct late){.options = options, .parts = {.library = library, .hooks = hooks}};
  if (!read_wish(options, has_servers, &wish) || !may_have_levels(options, has_servers)) return STATUS_USAGE;
  find_targets(words, &wanted);
  bool has_any = wanted.processes.count + profiler_servers_count(wanted.servers) > 0;
  bool is_into_one = output || wanted.servers; /* and not each into the run that it has */
  int status = has_any && (!is_into_one || open_output(&late)) ? 0 : STATUS_CANNOT_RECORD;
  if (late.status) status = late.status;
  if (!status)
    status = record_wanted(options, &wanted, &wish, is_into_one ? &late.directory : NULL, tools, extension);
  if (late.directory.path[0] && !late.is_told && status) run_directory_discard(&late.directory);
  free_wanted(&wanted);
  return status;
}
