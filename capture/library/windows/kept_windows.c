/* kept_windows.c: see kept_windows.h. */
#include "kept_windows.h"

#include "recorder/file_threads.h"
#include "recorder/recording.h"
#include "recorder/triggers.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FILES = 512 };
static const int64_t MARGIN_NS = 5000000000, /* what is kept goes by whole slots, and writing it takes a moment */
    ROW_NS = 2000000000;                     /* after its file a window may become a row */

/* The oldest first, in a ring. */
static struct {
  char path[4608];
  int64_t made_ns;
  bool is_named; /* in what was written */
} files[FILES];
static unsigned first, count;

void kept_windows_begin(void) { first = count = 0; }

static void remove_file(void *path) { unlink(path); }

/* Looked at more often than something is written. */
static void find_named(void) {
  int64_t from_ns, to_ns;
  if (!triggers_written(&from_ns, &to_ns)) return;
  for (unsigned i = 0; i < count; i++) {
    unsigned place = (first + i) % FILES;
    files[place].is_named |= files[place].made_ns >= from_ns - ROW_NS && files[place].made_ns <= to_ns;
  }
}

/* The oldest one is what it is from now on: gone, or there for good. */
static void let_oldest_go(void) {
  if (!files[first].is_named) file_thread_run(FILE_THREAD_DISK, remove_file, files[first].path);
  first = (first + 1) % FILES;
  count--;
}

void kept_windows_add(const char *dump, const char *name, int64_t now_ns) {
  if (!recording_held_ns()) return;
  if (count == FILES) let_oldest_go();
  unsigned place = (first + count++) % FILES;
  const char *slash = strrchr(dump, '/');
  snprintf(files[place].path, sizeof files[place].path, "%.*s%s", slash ? (int)(slash + 1 - dump) : 0, dump, name);
  files[place].made_ns = now_ns;
  files[place].is_named = false;
}

void kept_windows_look(int64_t now_ns, bool is_end) {
  find_named();
  int64_t held_ns = recording_held_ns(), longest_ns = held_ns + held_ns / 4 + MARGIN_NS;
  while (count && (is_end || now_ns - files[first].made_ns > longest_ns)) let_oldest_go();
}
