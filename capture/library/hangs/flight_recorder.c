/* flight_recorder.c: see flight_recorder.h. */
#include "flight_recorder.h"

#include "host/thread_looks.h"
#include "recorder/own_threads.h"
#include "recorder/small_file.h"
#include "torch/torch_api.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

enum { STACK_BYTES = 512 << 10, SETTLED_NS = 500000000, NAMED_THREADS = 4096 };

enum { UNASKED, ASKED, ANSWERED };
static _Atomic int state;
static struct flight_group answer[FLIGHT_GROUPS];
static unsigned answer_count;

/* std::string of libstdc++. */
struct cxx_string {
  char *text;
  size_t length;
  char within[16];
};

/* An entry has the name of its thread, and PyTorch throws where one is not UTF-8, which nobody would catch here. */
static bool are_names_plain(void) {
  static uint32_t tids[NAMED_THREADS]; /* there is one such thread at a time */
  unsigned all, count = thread_list(tids, NAMED_THREADS, &all);
  for (unsigned i = 0; i < count; i++) {
    char path[64], name[32];
    snprintf(path, sizeof path, "/proc/self/task/%u/comm", tids[i]);
    if (!small_file_read(path, name, sizeof name)) continue;
    for (const char *letter = name; *letter; letter++)
      if ((unsigned char)*letter >= 128) return false;
  }
  return all == count;
}

static int64_t now_since_1970(void) {
  struct timespec now;
  return clock_gettime(CLOCK_REALTIME, &now) ? 0 : (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Symbols are looked for here, too: the loader's lock may be held by who hangs. */
static void ask_torch(void) {
  struct cxx_string json;
  void (*dump)(struct cxx_string *, bool with_collectives, bool only_active);
  void (*give_back)(void *);
  void *library = are_names_plain() ? torch_open_loaded("/libtorch_cpu.so", NULL, NULL) : NULL;
  void *function = library ? dlsym(library, "_ZN4c10d18dump_fr_trace_jsonB5cxx11Ebb") : NULL;
  void *release = function ? dlsym(library, "_ZdlPv") : NULL;
  if (!release) return;
  memcpy(&dump, &function, sizeof dump);
  memcpy(&give_back, &release, sizeof give_back);
  dump(&json, true, false);
  answer_count =
      flight_groups_of(json.text, json.length, now_since_1970(), SETTLED_NS, answer, FLIGHT_GROUPS);
  if (json.text != json.within) give_back(json.text);
}

static void *run_question(void *argument) {
  (void)argument;
  prctl(PR_SET_NAME, "tfprof-flight");
  ask_torch();
  atomic_store(&state, ANSWERED);
  return NULL;
}

void flight_recorder_ask(void) {
  if (atomic_load(&state) == ASKED) return;
  answer_count = 0;
  atomic_store(&state, ASKED);
  if (!own_thread_start_small(STACK_BYTES, run_question, NULL)) atomic_store(&state, ANSWERED);
}

bool flight_recorder_has_answered(void) { return atomic_load(&state) != ASKED; }

unsigned flight_recorder_groups(const struct flight_group **groups) {
  *groups = answer;
  return atomic_load(&state) == ANSWERED ? answer_count : 0;
}

void flight_recorder_reset(void) { atomic_store(&state, UNASKED); }
