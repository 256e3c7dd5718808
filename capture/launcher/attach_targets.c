/* attach_targets.c: see attach_targets.h. */
#include "attach_targets.h"

#include "base/list.h"
#include "common/command_line.h"
#include "run_link.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* What becomes of a recording that is there. */
static enum run_directory_former what_is_there(const struct capture_options *options) {
  if (options_is_on(options, OPTION_ADD)) return RUN_DIRECTORY_KEEP;
  return options_is_on(options, OPTION_FORCE) ? RUN_DIRECTORY_REPLACE : RUN_DIRECTORY_REFUSE;
}

bool attach_late_open(struct attach_late *late) {
  const struct capture_options *options = late->options;
  if (!late->directory.path[0] && !late->status)
    late->status = run_directory_open(options_text(options, OPTION_OUTPUT), what_is_there(options),
                                      options_is_on(options, OPTION_QUIET), &late->directory);
  late->parts.directory = late->directory.absolute;
  return !late->status;
}

/* Of a process that has no socket: why. true: it listens now. */
static bool prepare_absent(pid_t process, struct attach_late *late) {
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
    if (!attach_late_open(late)) return false;
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
  if (!array_room(chosen->all, chosen->count, chosen->capacity)) return false;
  chosen->all[chosen->count++] = asked;
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

static void find_server(const char *word, struct attach_wanted *wanted) {
  char problem[400];
  const char *wrong = problem;
  if (!wanted->servers) wanted->servers = profiler_servers_make(problem, sizeof problem);
  if (wanted->servers) wrong = profiler_servers_add(wanted->servers, word);
  if (!wrong) return;
  fprintf(stderr, "tfprof-capture: %s: %s\n", word, wrong);
  wanted->failed++;
}

/* What is neither rank nor number is said to be none. */
static void find_processes(const char *word, struct attach_wanted *wanted) {
  char *end;
  bool is_rank = !strncmp(word, "rank:", 5);
  long number = strtol(is_rank ? word + 5 : word, &end, 10);
  bool is_number = !*end && number >= !is_rank && number <= INT_MAX && end != word + (is_rank ? 5 : 0);
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
static void find_programs_of_run(const char *directory, const char *words, struct attach_wanted *wanted) {
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

void attach_targets_find(const char *words, struct attach_wanted *wanted) {
  if (strncmp(words, "run:", 4) == 0) {
    char *directory = asked_run_of(words);
    find_programs_of_run(directory, words, wanted);
    free(directory);
    return;
  }
  char *text = strdup(words), *rest;
  if (!words[strspn(words, ",")]) {
    fputs("tfprof-capture: --attach names nobody. It takes a process, rank:N, run:DIR or HOST:PORT; see --list\n",
          stderr);
    wanted->failed++;
  }
  for (char *word = text ? strtok_r(text, ",", &rest) : NULL; word; word = strtok_r(NULL, ",", &rest)) {
    if (profiler_address_is_meant(word)) find_server(word, wanted);
    else find_processes(word, wanted);
  }
  free(text);
}

void attach_targets_free(struct attach_wanted *wanted) {
  asked_free(&wanted->processes);
  profiler_servers_free(wanted->servers);
}
