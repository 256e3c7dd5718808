/* check.c: runs _tfprof_check.py as the recorded program, so that what it says has been tried, not guessed. */
#include "check.h"
#include "program.h"
#include "status.h"
#include "supervise.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAXIMUM_WORDS = 64 };

bool check_begin(char directory[PATH_MAX]) {
  const char *parent = getenv("TMPDIR");
  if (!parent || parent[0] != '/') parent = "/tmp";
  if (snprintf(directory, PATH_MAX, "%s/tfprof-check-XXXXXX", parent) < PATH_MAX && mkdtemp(directory)) return true;
  fprintf(stderr, "tfprof-capture: %s: cannot make a folder for the check: %s\n", parent, strerror(errno));
  return false;
}

static void remove_folder(const char *path) {
  DIR *stream = opendir(path);
  if (!stream) return;
  for (struct dirent *entry; (entry = readdir(stream));) unlinkat(dirfd(stream), entry->d_name, 0);
  closedir(stream);
  rmdir(path);
}

int check_run(char **python, const char *hooks, const char *directory) {
  static char script[PATH_MAX];
  static struct program program;
  char *usual[] = {(char *)"python3", NULL}, *words[MAXIMUM_WORDS + 2];
  size_t count = 0;
  if (!python) python = usual;
  while (python[count] && count < MAXIMUM_WORDS) {
    words[count] = python[count];
    count++;
  }
  words[count] = script;
  words[count + 1] = NULL;
  snprintf(script, sizeof script, "%s/_tfprof_check.py", hooks);
  program_examine(words, &program);
  struct outcome outcome;
  supervise(words, &outcome);
  remove_folder(directory);
  if (outcome.start_error) return program_explain_failure(words, &program, outcome.start_error);
  return WIFEXITED(outcome.wait_status) ? WEXITSTATUS(outcome.wait_status) : STATUS_CANNOT_RECORD;
}
