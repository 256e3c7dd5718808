/* thread_looks.c: /proc/self/task (see thread_looks.h). */
#include "thread_looks.h"

#include "recorder/file_threads.h"
#include "recorder/small_file.h"
#include "thread_waits.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct listing {
  uint32_t *tids;
  unsigned room, filled, count;
};

/* On a thread for files: what is open meanwhile has no number in the program. */
static void read_list(void *argument) {
  struct listing *listing = argument;
  int number = file_open("/proc/self/task", O_RDONLY | O_DIRECTORY, 0);
  DIR *directory = number >= 0 ? fdopendir(number) : NULL;
  if (!directory) {
    if (number >= 0) close(number);
    return;
  }
  for (const struct dirent *entry; (entry = readdir(directory));) {
    unsigned long tid = strtoul(entry->d_name, NULL, 10);
    if (!tid || tid > INT32_MAX) continue;
    if (listing->filled < listing->room) listing->tids[listing->filled++] = (uint32_t)tid;
    listing->count++;
  }
  closedir(directory);
}

unsigned thread_list(uint32_t *tids, unsigned room, unsigned *count) {
  struct listing listing = {.tids = tids, .room = room};
  bool is_read = file_thread_run(FILE_THREAD_QUICK, read_list, &listing);
  *count = is_read ? listing.count : 0;
  return is_read ? listing.filled : 0;
}

static const char *word_for(char state) {
  switch (state) {
    case 'R': return "running";
    case 'S':
    case 'I': return "sleeping";
    case 'D': return "uninterruptible";
    case 'T':
    case 't': return "stopped";
    default: return NULL; /* Z, X: it has ended */
  }
}

/* proc(5): "4711 (name) S ...", the name may hold anything. */
bool thread_look(uint32_t tid, struct thread_look *look) {
  char path[64], text[256];
  *look = (struct thread_look){0};
  snprintf(path, sizeof path, "/proc/self/task/%u/stat", tid);
  if (!small_file_read(path, text, sizeof text)) return false;
  const char *begin = strchr(text, '('), *end = strrchr(text, ')');
  if (!begin || !end || end < begin || end[1] != ' ') return false;
  snprintf(look->name, sizeof look->name, "%.*s", (int)(end - begin - 1), begin + 1);
  look->state = word_for(end[2]);
  look->waits_for = thread_waits_in(tid, &look->system_call);
  snprintf(path, sizeof path, "/proc/self/task/%u/wchan", tid);
  bool is_told = small_file_read(path, text, sizeof text) && strcmp(text, "0") != 0;
  if (is_told) snprintf(look->kernel_function, sizeof look->kernel_function, "%.47s", text);
  return look->state != NULL;
}
