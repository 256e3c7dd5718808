/* recorder.c: see recorder.h.
**
**   recordable   {"count":N, "error":null}: so many programs of the run can be asked; error: why nothing can be
**   record       {"status":N, "said":"…"}: the exit status of tfprof-capture, and what it said
**
** Each job has a thread that waits for its tfprof-capture.  The words of its command line are ours but for addresses
** and numbers, which request_values.c has looked at; no shell reads them.
*/
#include "serve/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "report/page_data.h"
#include "serve/answers.h"

enum { MOST_SAID = 16 << 10, MOST_WORDS = 20, MOST_ANSWER_BYTES = 1 << 20, ENDING_SECONDS = 12 };

struct recording { /* or the question whether there may be one */
  struct recorder *recorder;
  struct job *job;
  const char *path;
  char *words[MOST_WORDS];
  size_t word_count;
  char said[MOST_SAID + 1];
  size_t length;
};

void recorder_prepare(struct recorder *recorder) {
  static const char name[] = "tfprof-capture";
  char *program = recorder->program;
  ssize_t length = readlink("/proc/self/exe", program, sizeof recorder->program - sizeof name);
  pthread_mutex_init(&recorder->lock, NULL);
  pthread_cond_init(&recorder->changed, NULL);
  program[length > 0 ? length : 0] = 0;
  char *slash = strrchr(program, '/');
  if (!slash) return;
  strcpy(slash + 1, name);
  if (access(program, X_OK) != 0) *program = 0;
}

/* ---- the command ---- */

static bool add_word(struct recording *recording, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool add_word(struct recording *recording, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *word = NULL;
  bool is_made = recording->word_count + 1 < MOST_WORDS && vasprintf(&word, format, arguments) >= 0;
  va_end(arguments);
  if (is_made) recording->words[recording->word_count++] = word;
  return is_made;
}

static bool add_command(struct recording *recording) {
  const struct request_values *values = &recording->job->values;
  bool is_question = recording->job->kind == JOB_RECORDABLE;
  bool is_well = add_word(recording, "%s", recording->recorder->program) && add_word(recording, "--attach");
  if (is_question) return is_well && add_word(recording, "run:%s", recording->path) && add_word(recording, "--list");
  if (!*values->addresses)
    return is_well && add_word(recording, "run:%s", recording->path) &&
           add_word(recording, "--steps=%lld", (long long)values->count);
  return is_well && add_word(recording, "%s", values->addresses) &&
         add_word(recording, "--for=%lldms", (long long)values->duration_ms) &&
         add_word(recording, "--host-tracer-level=%d", (int)values->host_level) &&
         add_word(recording, "--device-tracer-level=%d", (int)values->device_level) &&
         add_word(recording, "--python-tracer-level=%d", (int)values->python_level) &&
         add_word(recording, "--retries=%d", (int)values->retries) &&
         add_word(recording, "--output=%s", recording->path) && add_word(recording, "--add");
}

/* ---- the child ---- */

/* It has its signals as programs begin with, and of our descriptors none. Its process, or 0. */
static pid_t start_child(const struct recording *recording, int output) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  sigset_t none, pipe_alone;
  pid_t child = 0;
  sigemptyset(&none);
  sigemptyset(&pipe_alone);
  sigaddset(&pipe_alone, SIGPIPE);
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &pipe_alone);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
  if (posix_spawn(&child, recording->words[0], &files, &attributes, recording->words, environ) != 0) child = 0;
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return child;
}

/* What is beyond the bound is read and left out. */
static void read_said(struct recording *recording, int input) {
  char rest[4096];
  for (;;) {
    size_t room = MOST_SAID - recording->length;
    ssize_t got = room ? read(input, recording->said + recording->length, room) : read(input, rest, sizeof rest);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    if (room) recording->length += (size_t)got;
  }
  recording->said[recording->length] = 0;
}

/* A place for a child, which recorder_end() looks at; NULL: the server ends, or there are too many. */
static pid_t *take_place(struct recorder *recorder) {
  for (unsigned i = 0; i < MOST_RECORDINGS && !recorder->is_ending; i++)
    if (!recorder->children[i]) return &recorder->children[i];
  return NULL;
}

/* The exit status, or -1: it could not be run. */
static int run_child(struct recording *recording) {
  struct recorder *recorder = recording->recorder;
  int ends[2], status = -1;
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  pthread_mutex_lock(&recorder->lock);
  pid_t *place = take_place(recorder), child = place ? start_child(recording, ends[1]) : 0;
  if (child) *place = child;
  pthread_mutex_unlock(&recorder->lock);
  close(ends[1]);
  if (child) {
    siginfo_t info;
    read_said(recording, ends[0]);
    while (waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) continue;
    pthread_mutex_lock(&recorder->lock); /* so that no signal goes to another of that number */
    if (waitpid(child, &status, 0) == child) status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    *place = 0;
    pthread_mutex_unlock(&recorder->lock);
  }
  close(ends[0]);
  return status;
}

/* ---- answers ---- */

static void answer_json(struct job *job, struct output_file *file) {
  struct tfprof_error error;
  job->status = 200;
  job->type = "application/json";
  if (output_take(file, &job->bytes, &job->length, &error)) answer_text(job, 500, "%s\n", error.message);
}

/* Rows behind the head. */
static unsigned count_rows(const char *table) {
  unsigned lines = 0;
  for (const char *at = table; (at = strchr(at, '\n')); at++) lines++;
  return lines ? lines - 1 : 0;
}

static void answer_recording(struct recording *recording, int status, const char *problem) {
  struct job *job = recording->job;
  struct output_file *file;
  struct tfprof_error error;
  if (output_open_memory(&file, MOST_ANSWER_BYTES, &error)) {
    answer_text(job, 500, "%s\n", error.message);
    return;
  }
  const struct page_texts texts = {.file = file};
  if (job->kind == JOB_RECORDABLE) {
    output_format(file, "{\"count\":%u,\"error\":", status == 0 ? count_rows(recording->said) : 0);
    page_text(&texts, problem);
  } else {
    output_format(file, "{\"status\":%d,\"said\":", status);
    page_text(&texts, problem ? problem : recording->said);
  }
  output_text(file, "}");
  answer_json(job, file);
}

/* NULL: it can be tried. */
static const char *problem_of(const struct recording *recording) {
  struct stat facts;
  if (!*recording->recorder->program) return "there is no tfprof-capture beside the tfprof that serves";
  if (stat(recording->path, &facts) != 0 || !S_ISDIR(facts.st_mode))
    return "what is served is no run directory, into which could be recorded";
  return NULL;
}

static void *record(void *pointer) {
  struct recording *recording = pointer;
  struct recorder *recorder = recording->recorder;
  struct job *job = recording->job;
  const char *problem = problem_of(recording);
  if (!problem && !add_command(recording)) problem = "there is no memory to begin";
  int status = problem ? -1 : run_child(recording);
  if (!problem && status < 0)
    problem = "tfprof-capture cannot be started now: the server ends, or does too much at a time";
  answer_recording(recording, status, problem);
  for (size_t i = 0; i < recording->word_count; i++) free(recording->words[i]);
  free(recording);
  job->done(job);
  pthread_mutex_lock(&recorder->lock);
  recorder->under_way--;
  pthread_cond_broadcast(&recorder->changed);
  pthread_mutex_unlock(&recorder->lock);
  return NULL;
}

/* ---- from other threads ---- */

void recorder_submit(struct recorder *recorder, struct job *job, const char *path) {
  struct recording *recording = calloc(1, sizeof *recording);
  pthread_t thread;
  if (recording) *recording = (struct recording){.recorder = recorder, .job = job, .path = path};
  pthread_mutex_lock(&recorder->lock);
  bool is_begun = recording && !recorder->is_ending && pthread_create(&thread, NULL, record, recording) == 0;
  recorder->under_way += is_begun;
  pthread_mutex_unlock(&recorder->lock);
  if (is_begun) {
    pthread_detach(thread);
    return;
  }
  free(recording);
  answer_text(job, 503, "the server ends, or the system has no thread for it\n");
  job->done(job);
}

void recorder_end(struct recorder *recorder) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  pthread_mutex_lock(&recorder->lock);
  recorder->is_ending = true;
  for (unsigned tries = 0; recorder->under_way && tries < 3; tries++) { /* the second one does not wait either */
    for (unsigned i = 0; i < MOST_RECORDINGS; i++)
      if (recorder->children[i]) kill(recorder->children[i], tries < 2 ? SIGINT : SIGKILL);
    until.tv_sec += ENDING_SECONDS;
    while (recorder->under_way && pthread_cond_timedwait(&recorder->changed, &recorder->lock, &until) == 0) continue;
  }
  while (recorder->under_way) pthread_cond_wait(&recorder->changed, &recorder->lock);
  pthread_mutex_unlock(&recorder->lock);
}
