/* options.c: the options of tfprof-capture: one table, from which the command line, the variables and --help are made.
**
** Options end at `--` or at the first word that is none: from there on everything belongs to the program.
*/
#include "options.h"

#include "common/option_words.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest_name.h"

enum option_kind {
  KIND_ON,   /* turns something on:  --quiet */
  KIND_OFF,  /* turns something off: --no-shapes */
  KIND_SAME, /* the same as another option with a value: --no-stacks is --python=none */
  KIND_TEXT,
  KIND_WORD,  /* one of `words` */
  KIND_WORDS, /* some of them, separated by commas, or none */
  KIND_SIZE,  /* bytes, with k, M or G behind them: powers of 1024 */
  KIND_LIMIT, /* the same, or 0: none */
  KIND_PERCENT,
  KIND_STEPS, /* 10-20, 10,20 or 10 */
  KIND_SECONDS, /* 20 or 0.5 */
  KIND_NUMBER,  /* between the two that `value` names: 0-3 */
  KIND_TIME,    /* 30s, 500ms, 2m; or nothing */
  KIND_DELAY,   /* the same, or 0 */
  KIND_FACTOR,  /* more than 1, or 0 */
  KIND_SIGNAL,  /* USR2; or nothing */
  KIND_SHOW,  /* ends here: --help */
};

struct option_spec {
  const char *name; /* without the dashes */
  char letter;      /* 0: none */
  enum option_kind kind;
  const char *value;    /* what --help calls the value; KIND_WORD, KIND_WORDS: the words,
                        ** between bars; KIND_SAME: the value */
  const char *variable; /* NULL: none */
  bool is_exported;     /* the program gets the variable too */
  const char *otherwise; /* when neither the option nor the variable is given */
  const char *help;
};

static const struct option_spec specs[OPTION_COUNT] = {
    [OPTION_OUTPUT] =
        {"output", 'o', KIND_TEXT, "DIR", "TFPROF_OUTPUT", false, "",
         "The run directory. It is made for you alone where it is missing. It is refused where it holds a "
         "recording, is a symbolic link or another user's. Without -o: tfprof-run, tfprof-run-2 ..."},
    [OPTION_FORCE] = {"force", 0, KIND_ON, NULL, "TFPROF_FORCE", false, "0",
                      "Remove the recording that DIR holds (its files and nothing else) and record anew."},
    [OPTION_OPS] = {"ops", 0, KIND_WORD, "sampled|all|none", "TFPROF_OPS", true, "sampled",
                    "sampled: the ops of the first steps, then of one step in as many as the overhead allows. all: of "
                    "every step. none: only steps, ranges, counters and memory. A program without steps is recorded "
                    "whole."},
    [OPTION_OVERHEAD] = {"overhead", 0, KIND_PERCENT, "PERCENT", "TFPROF_OVERHEAD", true, "2",
                         "By how much the run may become slower with --ops=sampled."},
    [OPTION_STEPS] = {"steps", 0, KIND_STEPS, "FIRST-LAST", "TFPROF_STEPS", true, "",
                      "Record the ops of these steps, all of them, and of no others. The first step is 0, both are "
                      "included. 5 is step 5 alone; 10,15 is 10-15. With --attach: how many steps, 5 without it."},
    [OPTION_PYTHON] = {"python", 0, KIND_WORD, "stacks|calls|none", "TFPROF_PYTHON_MODE", true, "stacks",
                       "stacks: from which line of Python each op was called. calls: each call of a Python function, "
                       "too. none: neither."},
    [OPTION_NO_STACKS] = {"no-stacks", 0, KIND_SAME, "none", NULL, false, NULL, "The same as --python=none."},
    [OPTION_SOURCE] =
        {"no-source", 0, KIND_OFF, NULL, "TFPROF_SOURCE", true, "1",
         "Do not record the text of the lines that ops were called from, of files and of notebooks' cells. "
         "The numbers of the lines are still recorded."},
    [OPTION_COMMAND] =
        {"no-command", 0, KIND_OFF, NULL, "TFPROF_COMMAND", true, "1",
         "Do not record command lines. Without this option, words in them that look like keys or passwords "
         "are recorded as *** (--token ***), and with --no-source the code behind python -c is, too."},
    [OPTION_SHAPES] = {"no-shapes", 0, KIND_OFF, NULL, "TFPROF_SHAPES", true, "1",
                       "Do not record the shapes and types of the ops' inputs."},
    [OPTION_MEMORY] = {"no-memory", 0, KIND_OFF, NULL, "TFPROF_MEMORY", true, "1",
                       "Do not record allocations and releases. Without this option, allocations below 1 MiB have no "
                       "Python line while ops are not recorded."},
    [OPTION_TRACE] =
        {"trace", 0, KIND_WORDS, "kernels|memory|api|sync|graphs|unified|overhead|environment|latency", "TFPROF_TRACE",
         true, "kernels,memory,api,sync,graphs,overhead",
         "What is recorded of GPUs: none, or words separated by commas. kernels. memory: copies, fills and "
         "allocations of the driver. api: calls that launch, copy, wait or fail. sync: waits and events. "
         "graphs: each kernel of a CUDA graph, or without kernels each launch of one. unified: unified "
         "memory that moves. overhead: what recording takes, and compilations. environment: clocks and "
         "power as CUPTI has them. latency: when kernels were queued and submitted."},
    [OPTION_BUFFER_SIZE] =
        {"buffer-size", 0, KIND_SIZE, "SIZE", "TFPROF_BUFFER_SIZE", true, "48M",
         "How much a process may hold in memory before it is written, from 1M on, beside 64k for each "
         "thread. What comes when it is full is lost, and counted. What CUPTI hands over of a GPU has as "
         "much room again."},
    [OPTION_MAX_SIZE] = {"max-size", 0, KIND_LIMIT, "SIZE", "TFPROF_MAX_SIZE", true, "4G",
                         "How large the file of a process may become with ops and allocations. Beyond it only steps, "
                         "ranges and counters are recorded, and of memory what is live, peaks and sums. 0: no limit."},
    [OPTION_MAX_RATE] =
        {"max-rate", 0, KIND_LIMIT, "SIZE", "TFPROF_MAX_RATE", true, "20M",
         "By how much the file of a process may grow in an hour. The first minutes may take as much again. "
         "Beyond it ops are recorded in fewer steps. Allocations and releases are recorded in these steps "
         "only. Other steps have what is held, peaks and sums by line. With --ops=all, and in a program "
         "without steps, nothing is left out. 0: no limit."},
    [OPTION_MAX_GPU_RATE] =
        {"max-gpu-rate", 0, KIND_LIMIT, "SIZE", "TFPROF_MAX_GPU_RATE", true, "256M",
         "The same for what GPUs did, beside --max-rate. Beyond it kernels, copies, waits and the calls "
         "into CUDA are recorded only in the steps that have their ops. A launch takes some 6 bytes, so a "
         "job of 5,000 launches a second takes less than half of the default. 0: no limit."},
    [OPTION_HANG_AFTER] =
        {"hang-after", 0, KIND_SECONDS, "SECONDS", "TFPROF_HANG_AFTER", true, "20",
         "Record once what all threads of a process do when no step has ended for so long, and for five "
         "times as long as its steps take: where they wait, their Python stacks, the ops and ranges around "
         "them (hang_summary). A program without steps is not watched. 0: nothing is."},
    [OPTION_KEEP] = {"keep", 0, KIND_TIME, "TIME", "TFPROF_KEEP", true, "",
                     "Write nothing, but keep the last 30s, say, in memory (/dev/shm). They are written as a file of "
                     "their own when something happens: a step takes too long (--slow-step), an exception ends the "
                     "program or a thread, an allocation fails, the program hangs, crashes or is killed, or somebody "
                     "asks (--signal, --attach PID --write). What one process meets by itself makes all processes of "
                     "the run on this machine write. Kept are all steps, ranges, counters and collectives, and the ops "
                     "of the steps that --ops says. --ops=all keeps more, at its cost."},
    [OPTION_KEEP_AFTER] =
        {"keep-after", 0, KIND_DELAY, "TIME", "TFPROF_KEEP_AFTER", true, "2s",
         "With --keep: how long recording goes on before it is written, so that what follows is there, "
         "too. That takes memory for as long. At the end of the program, and when somebody asks (--signal, "
         "--write), it is written at once. 0: always at once."},
    [OPTION_SLOW_STEP] =
        {"slow-step", 0, KIND_FACTOR, "TIMES", "TFPROF_SLOW_STEP", true, "1.5",
         "With --keep: a step takes too long when it takes more than so many times the median of the 31 "
         "before it. Steps that do so regularly, such as evaluations and checkpoints, do not count. 0: "
         "none does."},
    [OPTION_KEEP_SIZE] =
        {"keep-size", 0, KIND_SIZE, "SIZE", "TFPROF_KEEP_SIZE", true, "256M",
         "How much memory a process may have for what --keep keeps. Where more comes, a shorter time is "
         "kept, and diagnostics say so."},
    [OPTION_SIGNAL] = {"signal", 0, KIND_SIGNAL, "NAME", "TFPROF_SIGNAL", true, "",
                       "With --keep: a signal at which what is kept is written, such as USR2 (kill -USR2 PID). The "
                       "program goes on, and its own handler is called, too."},
    [OPTION_HANG_C_STACKS] =
        {"hang-c-stacks", 0, KIND_ON, NULL, "TFPROF_HANG_C_STACKS", true, "0",
         "When a process hangs, record the stacks of C and C++ of its threads, too (hang_threads.c_stack). "
         "A signal to each does that: one of the last real-time signals, which the program does not use. "
         "Threads in a call that the signal would end with EINTR, such as poll, are left out."},
    [OPTION_PRELOAD] =
        {"preload", 0, KIND_ON, NULL, "TFPROF_PRELOAD", false, "0",
         "Reach a Python that another program starts with -I, -E or -S, too, through LD_PRELOAD. That is "
         "done without this option where the command line or the script's first line has such an option."},
    [OPTION_QUIET] = {"quiet", 'q', KIND_ON, NULL, "TFPROF_QUIET", true, "0",
                      "Print nothing unless something is wrong."},
    [OPTION_DORMANT] = {"dormant", 0, KIND_ON, NULL, "TFPROF_DORMANT", true, "0",
                        "Record nothing until somebody asks for it by --attach. Until then the program runs as without "
                        "tfprof-capture."},
    [OPTION_LIST] = {"list", 0, KIND_ON, NULL, NULL, false, "0",
                     "Show what can be attached to, and what is being recorded: process, rank, steps so far, state, "
                     "framework and program. With --attach run:DIR only the processes of that run; exit status 1 where "
                     "there is none."},
    [OPTION_ATTACH] =
        {"attach", 0, KIND_TEXT, "WHOM", NULL, false, "",
         "Record some steps (--steps 5) or some time (--for 2s) of a program that runs. It was started "
         "with --dormant, or Python 3.14 or later runs it, however it was started. WHOM is the number of a "
         "process, several separated by commas, rank:N, 'rank:*' for all ranks of a job at the same "
         "moment, or run:DIR for all of a run. They are recorded into their own run, or with -o into "
         "another. HOST:PORT is a profiler server that a TensorFlow or JAX program has started itself; "
         "without -o it has a run of its own. Ctrl-C ends it in order. The exit status is 0, 1 when some "
         "failed, 125 when all did."},
    [OPTION_FOR] = {"for", 0, KIND_TEXT, "TIME", NULL, false, "",
                    "With --attach: how long, from the next step on: 2s, 500ms, 1m. Profiler servers: 2s without it."},
    [OPTION_HOST_TRACER_LEVEL] =
        {"host-tracer-level", 0, KIND_NUMBER, "0-3", NULL, false, "",
         "With --attach HOST:PORT: what is recorded of the host. 0: nothing. 1: what the program marks. 2: "
         "and what the framework does. 3: and what is cheap, too. 2 without it."},
    [OPTION_DEVICE_TRACER_LEVEL] =
        {"device-tracer-level", 0, KIND_NUMBER, "0-1", NULL, false, "",
         "With --attach HOST:PORT: what is recorded of devices. 0: nothing. 1: what they do. 1 without it."},
    [OPTION_PYTHON_TRACER_LEVEL] =
        {"python-tracer-level", 0, KIND_NUMBER, "0-1", NULL, false, "",
         "With --attach HOST:PORT: what is recorded of Python. 0: nothing. 1: each call of a function. 0 "
         "without it."},
    [OPTION_RETRIES] =
        {"retries", 0, KIND_NUMBER, "0-100", NULL, false, "",
         "With --attach HOST:PORT: how often the server is asked once more where nothing happened while it "
         "recorded. 3 without it."},
    [OPTION_ADD] = {"add", 0, KIND_ON, NULL, NULL, false, "0",
                    "With --attach -o DIR: add a file to the recording that DIR holds."},
    [OPTION_WRITE] = {"write", 0, KIND_ON, NULL, NULL, false, "0",
                      "With --attach, of a program that was started with --keep: write now what it keeps."},
    [OPTION_CHECK] = {"check", 0, KIND_ON, NULL, "TFPROF_CHECK", false, "0",
                      "Record nothing and run no program. Try what can be recorded with python3, or with the Python "
                      "that PROGRAM is or names, and what CUPTI allows on this machine (driver, libraries, permission, "
                      "container). Say how to get the rest. The exit status is 0 when ops can be recorded, else 125."},
    [OPTION_HELP] = {"help", 'h', KIND_SHOW, NULL, NULL, false, NULL, "This text."},
    [OPTION_VERSION] = {"version", 0, KIND_SHOW, NULL, NULL, false, NULL, "The version."},
};

/* ---- Help. */

static const char help_begin[] =
    "Records what a training program does, without any change to it, so that you can\n"
    "ask about it in SQL. The program uses PyTorch, CUDA or NVTX. The ops of\n"
    "TensorFlow, Keras and JAX are recorded in some of the steps, by their own\n"
    "profilers.\n"
    "\n"
    "  tfprof-capture -- python train.py             record into tfprof-run\n"
    "  tfprof-capture -o run -- python train.py      record into the directory run\n"
    "  tfprof-capture -o run --force -- python ...   once more, in its place\n"
    "  tfprof-capture -o run -- torchrun --nproc-per-node 4 train.py\n"
    "                                                every process, a file for each\n"
    "  tfprof-capture --dormant -o run -- python ... record when asked to: --attach\n"
    "  tfprof-capture --attach host:6009 --for 2s -o run\n"
    "                                                a TensorFlow or JAX job that has\n"
    "                                                started a profiler server\n"
    "  tfprof-capture --keep 30s -o run -- python ...\n"
    "                                                the last seconds, if need be\n"
    "\n"
    "Then, at once or while it still runs:\n"
    "\n"
    "  tfprof run                                    an SQL prompt on the recording\n"
    "  tfprof run \"SELECT * FROM step_summary\"       one answer\n"
    "  tfprof run advise                             what to improve first\n"
    "  tfprof report run                             a page: charts, the timeline\n"
    "\n"
    "usage: tfprof-capture [options] [--] PROGRAM [ARGUMENT...]\n"
    "       tfprof-capture --list\n"
    "       tfprof-capture --attach WHOM [--steps N | --for TIME] [-o DIR]\n"
    "       tfprof-capture --attach WHOM --write\n"
    "\n";

static const char help_end[] =
    "\n"
    "A variable in brackets sets its option, too. The command line wins. A value in\n"
    "brackets is the default, or what the option sets the variable to. Sizes are\n"
    "bytes; k, M, G behind them are powers of 1024.\n"
    "\n"
    "While it records, tfprof-capture prints to stderr only. It hands signals on to\n"
    "the program. It ends as the program does: with its exit status, or by its\n"
    "signal.\n"
    "\n"
    "Each process that imports PyTorch, TensorFlow or JAX, initialises CUDA or calls\n"
    "NVTX writes DIR/HOST-PID.tfprof as it goes. However the program ends, all but\n"
    "the last second is there.\n"
    "\n"
    "Such a file is for people who may see the program. It holds command lines, host\n"
    "and job, paths, source lines, and the names of threads, ranges and modules.\n"
    "\n"
    "Exit statuses of its own are those of env(1). With each of them the program was\n"
    "not run:\n"
    "\n"
    "    2  the command line is wrong\n"
    "  125  it cannot record: the run directory cannot be used or holds a recording\n"
    "  126  the program cannot be run\n"
    "  127  there is no such program\n";

/* What help says of the sizes. */
enum { MINIMUM_BYTES = 1 << 20 };

enum { HELP_INDENT = 20, HELP_WIDTH = 79 };

/* Words with single blanks between them, in lines of at most HELP_WIDTH columns that begin at HELP_INDENT. */
static void show_wrapped(const char *text, size_t *column) {
  while (*text) {
    size_t length = strcspn(text, " ");
    if (*column > HELP_INDENT && *column + 1 + length > HELP_WIDTH) {
      printf("\n%*s", HELP_INDENT, "");
      *column = HELP_INDENT;
    }
    if (*column > HELP_INDENT) *column += (size_t)printf(" ");
    *column += (size_t)printf("%.*s", (int)length, text);
    text += length + (text[length] != '\0');
  }
}

/* One that is shown by a word for it, behind a blank. */
static bool has_plain_value(const struct option_spec *spec) {
  return spec->kind == KIND_TEXT || spec->kind == KIND_SIZE || spec->kind == KIND_LIMIT || spec->kind == KIND_PERCENT ||
         spec->kind == KIND_STEPS || spec->kind == KIND_SECONDS || spec->kind == KIND_TIME ||
         spec->kind == KIND_DELAY || spec->kind == KIND_FACTOR || spec->kind == KIND_SIGNAL ||
         spec->kind == KIND_NUMBER;
}

static void show_option(const struct option_spec *spec) {
  char head[64], letter[8] = "    ";
  if (spec->letter) snprintf(letter, sizeof letter, "-%c, ", spec->letter);
  bool has_value = has_plain_value(spec);
  snprintf(head, sizeof head, "  %s--%s%s%s%s", letter, spec->name, has_value ? " " : "", has_value ? spec->value : "",
           spec->kind == KIND_WORD ? "=WORD" : spec->kind == KIND_WORDS ? "=WORDS" : "");
  size_t column = (size_t)printf("%s", head);
  if (column > HELP_INDENT - 2) column = (size_t)printf("\n") - 1;
  printf("%*s", (int)(HELP_INDENT - column), "");
  column = HELP_INDENT;
  show_wrapped(spec->help, &column);
  if (spec->variable) {
    char end[128];
    const char *value = spec->kind == KIND_ON ? "1" : spec->kind == KIND_OFF ? "0" : spec->otherwise;
    snprintf(end, sizeof end, "[%s%s%s]", spec->variable, *value ? "=" : "", value);
    show_wrapped(end, &column);
  }
  fputs("\n", stdout);
}

static void show_help(void) {
  fputs(help_begin, stdout);
  for (size_t i = 0; i < OPTION_COUNT; i++) show_option(&specs[i]);
  fputs(help_end, stdout);
}

/* ---- Values. */

static enum options_result usage(void) {
  fputs("\nusage: tfprof-capture [options] [--] PROGRAM [ARGUMENT...]; --help explains the options\n", stderr);
  return OPTIONS_WRONG;
}

/* "64M" -> "67108864". false: no size. */
static bool parse_size(const char *text, char *plain, size_t size) {
  char *end;
  errno = 0;
  if (*text < '0' || *text > '9') return false;
  unsigned long long number = strtoull(text, &end, 10);
  unsigned shift = 0;
  if (*end) {
    const char *units = "kKmMgGtT", *unit = strchr(units, *end);
    if (!unit) return false;
    shift = 10 * (unsigned)((unit - units) / 2 + 1);
    end++;
    if (*end == 'i') end++;
    if (*end == 'B') end++;
  }
  if (*end || errno || number > (uint64_t)INT64_MAX >> shift) return false;
  snprintf(plain, size, "%llu", number << shift);
  return true;
}

static bool is_percent(const char *text) {
  char *end;
  if (*text < '0' || *text > '9') return false;
  double value = strtod(text, &end);
  return (!*end || strcmp(end, "%") == 0) && value >= 0.1 && value <= 100;
}

static bool is_seconds(const char *text) {
  enum { MOST = 1000000 };
  char *end;
  if (*text < '0' || *text > '9') return false;
  double value = strtod(text, &end);
  return !*end && (value == 0 || value >= 0.1) && value <= MOST;
}

static bool is_factor(const char *text) {
  enum { MOST = 1000000 };
  char *end;
  if (*text < '0' || *text > '9') return false;
  double value = strtod(text, &end);
  return !*end && (value == 0 || value > 1) && value <= MOST;
}

/* Of what option_time_ns() knows, and none. */
static bool is_no_time(const char *text) {
  static const char *const none[] = {"0", "0s", "0ms", NULL};
  for (size_t i = 0; none[i]; i++)
    if (strcmp(text, none[i]) == 0) return true;
  return false;
}

/* Whether it is a number of those that the bounds, "0-3", are of. */
static bool is_within(const char *text, const char *bounds) {
  enum { MOST_DIGITS = 4 };
  size_t length = strlen(text);
  if (!length || length > MOST_DIGITS || strspn(text, "0123456789") != length) return false;
  long number = strtol(text, NULL, 10);
  return number >= strtol(bounds, NULL, 10) && number <= strtol(strchr(bounds, '-') + 1, NULL, 10);
}

static bool is_steps(const char *text) {
  char *end;
  if (*text < '0' || *text > '9') return false;
  errno = 0;
  long long first = strtoll(text, &end, 10), last = first;
  if (*end == '-' || *end == ',') {
    text = end + 1;
    if (*text < '0' || *text > '9') return false;
    last = strtoll(text, &end, 10);
  }
  return !*end && !errno && last >= first;
}

static bool is_one_of(const char *words, const char *word, size_t length) {
  for (const char *at = words; length; at++) {
    size_t next = strcspn(at, "|");
    if (next == length && strncmp(at, word, length) == 0) return true;
    at += next;
    if (!*at) return false;
  }
  return false;
}

static bool are_all_of(const char *words, const char *list) {
  if (strcmp(list, "none") == 0) return true;
  for (;;) {
    size_t length = strcspn(list, ",");
    if (!is_one_of(words, list, length)) return false;
    if (!list[length]) return true;
    list += length + 1;
  }
}

/* `from` is the option or the variable as it was written, for the message. */
static bool set_value(struct capture_options *options, enum option option, const char *value, const char *from) {
  const struct option_spec *spec = &specs[option];
  char *text = options->texts[option];
  if (strlen(value) >= OPTION_TEXT_SIZE) {
    fprintf(stderr, "tfprof-capture: the value of %s is too long", from);
    return false;
  }
  switch (spec->kind) {
    case KIND_ON:
    case KIND_OFF:
      if (strcmp(value, "0") == 0 || strcmp(value, "1") == 0) break;
      fprintf(stderr, "tfprof-capture: %s must be 0 or 1, not '%s'", from, value);
      return false;
    case KIND_WORD:
      if (is_one_of(spec->value, value, strlen(value))) break;
      fprintf(stderr, "tfprof-capture: %s must be one of %s, not '%s'", from, spec->value, value);
      return false;
    case KIND_WORDS:
      if (are_all_of(spec->value, value)) break;
      fprintf(stderr, "tfprof-capture: %s must be some of %s, separated by commas, or none, not '%s'", from,
              spec->value, value);
      return false;
    case KIND_SIZE:
    case KIND_LIMIT:
      if (parse_size(value, text, OPTION_TEXT_SIZE)) {
        unsigned long long bytes = strtoull(text, NULL, 10);
        bool may_be_zero = spec->kind == KIND_LIMIT;
        if (bytes >= MINIMUM_BYTES || (may_be_zero && !bytes)) return true;
      }
      fprintf(stderr, "tfprof-capture: %s must be a size such as 64M, and 1M at least%s, not '%s'", from,
              spec->kind == KIND_LIMIT ? ", or 0" : "", value);
      return false;
    case KIND_PERCENT:
      if (is_percent(value)) break;
      fprintf(stderr, "tfprof-capture: %s must be a percentage from 0.1 to 100, not '%s'", from, value);
      return false;
    case KIND_SECONDS:
      if (is_seconds(value)) break;
      fprintf(stderr, "tfprof-capture: %s must be seconds, 0.1 to 1000000, or 0, not '%s'", from, value);
      return false;
    case KIND_NUMBER:
      if (!*value || is_within(value, spec->value)) break;
      fprintf(stderr, "tfprof-capture: %s must be a number, %s, not '%s'", from, spec->value, value);
      return false;
    case KIND_TIME:
      if (!*value || option_time_ns(value)) break;
      fprintf(stderr, "tfprof-capture: %s must be a time such as 30s, 500ms or 2m, not '%s'", from, value);
      return false;
    case KIND_DELAY:
      if (is_no_time(value) || option_time_ns(value)) break;
      fprintf(stderr, "tfprof-capture: %s must be a time such as 2s, 500ms or 1m, or 0, not '%s'", from, value);
      return false;
    case KIND_FACTOR:
      if (is_factor(value)) break;
      fprintf(stderr, "tfprof-capture: %s must be how many times, more than 1 such as 1.5, or 0, not '%s'", from,
              value);
      return false;
    case KIND_SIGNAL:
      if (!*value || option_signal(value)) break;
      fprintf(stderr, "tfprof-capture: %s must be a signal that programs may use, such as USR2 or USR1, not '%s'", from,
              value);
      return false;
    case KIND_STEPS:
      if (!*value || is_steps(value)) break;
      fprintf(stderr, "tfprof-capture: %s must be steps such as 10-20 or 5, not '%s'", from, value);
      return false;
    default: break;
  }
  strcpy(text, value);
  char *comma = spec->kind == KIND_STEPS ? strchr(text, ',') : NULL;
  if (comma) *comma = '-';
  return true;
}

static bool set_from_variables(struct capture_options *options) {
  for (size_t i = 0; i < OPTION_COUNT; i++) {
    const struct option_spec *spec = &specs[i];
    const char *value = spec->variable ? getenv(spec->variable) : NULL;
    bool is_given = value && *value;
    if (!is_given) value = spec->otherwise ? spec->otherwise : "";
    char from[80];
    snprintf(from, sizeof from, "the variable %s", spec->variable ? spec->variable : "");
    if (spec->otherwise && !set_value(options, (enum option)i, value, from)) return false;
  }
  return true;
}

/* ---- The command line. */

static enum options_result unknown(const char *word) {
  char name[64];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
  struct nearest_name nearest = nearest_name_begin(name + strspn(name, "-"));
  for (size_t i = 0; i < OPTION_COUNT && strncmp(word, "--", 2) == 0; i++) nearest_name_try(&nearest, specs[i].name);
  fprintf(stderr, "tfprof-capture: unknown option '%s'", word);
  if (nearest.name) fprintf(stderr, "; did you mean --%s?", nearest.name);
  return usage();
}

/* The option that a word names. *value: what is written behind it in the same word, or NULL. */
static enum option find_option(const char *word, const char **value) {
  *value = NULL;
  for (size_t i = 0; i < OPTION_COUNT; i++) {
    const struct option_spec *spec = &specs[i];
    size_t length = strlen(spec->name);
    if (word[1] == '-' && strncmp(word + 2, spec->name, length) == 0 &&
        (!word[2 + length] || word[2 + length] == '=')) {
      if (word[2 + length]) *value = word + 2 + length + 1;
      return (enum option)i;
    }
    if (spec->letter && word[1] == spec->letter && (!word[2] || spec->kind == KIND_TEXT)) {
      if (word[2]) *value = word + 2;
      return (enum option)i;
    }
  }
  return OPTION_COUNT;
}

static enum options_result show(enum option option) {
  if (option == OPTION_VERSION)
    fputs("tfprof-capture " TFPROF_RELEASE "\n", stdout);
  else
    show_help();
  return OPTIONS_SHOWN;
}

/* Options that make no sense together. */
static bool fit_together(const struct capture_options *options) {
  const char *wrong = NULL;
  bool keeps = options_text(options, OPTION_KEEP);
  if (keeps && options_is_on(options, OPTION_DORMANT))
    wrong = "--keep records always, and --dormant nothing: only one of them can be";
  else if (!keeps && options_text(options, OPTION_SIGNAL))
    wrong = "--signal says when what --keep keeps is written: it needs --keep";
  else if (options_is_on(options, OPTION_WRITE) && !options_text(options, OPTION_ATTACH))
    wrong = "--write needs --attach, which says of whom";
  else if (options_text(options, OPTION_FOR) && !options_text(options, OPTION_ATTACH))
    wrong = "--for goes with --attach; --steps says what is recorded of a program that is started here";
  if (wrong) fprintf(stderr, "tfprof-capture: %s", wrong);
  return !wrong;
}

enum options_result options_parse(int argc, char **argv, struct capture_options *options) {
  memset(options, 0, sizeof *options);
  if (!set_from_variables(options)) return usage();
  int i = 1;
  for (; i < argc && argv[i][0] == '-'; i++) {
    const char *word = argv[i], *value;
    if (strcmp(word, "--") == 0) {
      i++;
      break;
    }
    enum option option = find_option(word, &value);
    if (option == OPTION_COUNT) return unknown(word);
    const struct option_spec *spec = &specs[option];
    bool takes_value = has_plain_value(spec) || spec->kind == KIND_WORD || spec->kind == KIND_WORDS;
    if (!takes_value && value) {
      fprintf(stderr, "tfprof-capture: --%s takes no value, '%s' has one", spec->name, word);
      return usage();
    }
    if (takes_value && !value && argv[i + 1]) value = argv[++i];
    if (takes_value && (!value || !*value)) {
      fprintf(stderr, "tfprof-capture: %s needs a value: %s", word, spec->value);
      return usage();
    }
    if (spec->kind == KIND_SHOW) return show(option);
    if (spec->kind == KIND_SAME) {
      option = OPTION_PYTHON;
      value = spec->value;
    }
    if (spec->kind == KIND_ON) value = "1";
    if (spec->kind == KIND_OFF) value = "0";
    char from[80];
    snprintf(from, sizeof from, "--%s", spec->name);
    if (!set_value(options, option, value, from)) return usage();
  }
  bool is_asking = options_is_on(options, OPTION_LIST) || options_text(options, OPTION_ATTACH);
  if (is_asking && i < argc) {
    fprintf(stderr, "tfprof-capture: --list and --attach run no program, '%s' is one", argv[i]);
    return usage();
  }
  if (!fit_together(options)) return usage();
  for (int o = OPTION_HOST_TRACER_LEVEL; o <= OPTION_RETRIES && !is_asking; o++) {
    if (!options_text(options, (enum option)o)) continue;
    fprintf(stderr, "tfprof-capture: --%s is for --attach, which is not there", specs[o].name);
    return usage();
  }
  const char *whom = options_text(options, OPTION_ATTACH);
  if (options_is_on(options, OPTION_LIST) && whom && strncmp(whom, "run:", 4) != 0) {
    fputs("tfprof-capture: --list shows all, or with --attach run:DIR those of a run", stderr);
    return usage();
  }
  if (options_is_on(options, OPTION_ADD) && (!whom || !options_text(options, OPTION_OUTPUT))) {
    fputs("tfprof-capture: --add is for --attach with -o DIR", stderr);
    return usage();
  }
  bool is_calls = !strcmp(options->texts[OPTION_PYTHON], "calls");
  if (options_is_on(options, OPTION_DORMANT) && is_calls) {
    fputs("tfprof-capture: --python=calls costs something at each call, and cannot be --dormant", stderr);
    return usage();
  }
  if (is_asking || (i >= argc && options_check_only(options))) return OPTIONS_RUN;
  if (i >= argc) {
    fputs(
        "tfprof-capture: no program is given; say what to record, such as\n"
        "  tfprof-capture -o run -- python train.py\n"
        "--help explains the options\n",
        stderr);
    return OPTIONS_WRONG;
  }
  options->command = argv + i;
  return OPTIONS_RUN;
}

bool options_is_on(const struct capture_options *options, enum option option) {
  return options->texts[option][0] == '1';
}

bool options_check_only(const struct capture_options *options) { return options_is_on(options, OPTION_CHECK); }

const char *options_text(const struct capture_options *options, enum option option) {
  return options->texts[option][0] ? options->texts[option] : NULL;
}

bool options_tell(const struct capture_options *options, bool (*tell)(void *, const char *, const char *),
                  void *context) {
  for (size_t i = 0; i < OPTION_COUNT; i++)
    if (specs[i].is_exported && !tell(context, specs[i].variable, options->texts[i])) return false;
  return true;
}

static bool set_variable(void *context, const char *name, const char *value) {
  (void)context;
  return setenv(name, value, 1) == 0;
}

bool options_export(const struct capture_options *options) { return options_tell(options, set_variable, NULL); }
