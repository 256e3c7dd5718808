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

int check_run(char **command, const char *hooks, const char *directory) {
  static char script[PATH_MAX], proof[PATH_MAX];
  static struct program program;
  char *words[MAXIMUM_WORDS + 2] = {(char *)"python3", NULL};
  size_t count = 0;
  program_examine(command ? command : words, &program);
  bool is_found = program.path[0] || !command;
  if (command && is_found && !program_find_python(command, words, MAXIMUM_WORDS + 1)) {
    remove_folder(directory);
    fprintf(stderr,
            "tfprof-capture: %s is no Python; say which one is to be checked, such as  tfprof-capture --check -- "
            "python3\n",
            command[0]);
    return STATUS_CANNOT_RECORD;
  }
  if (!is_found) words[0] = command[0]; /* for the message */
  while (words[count]) count++;
  snprintf(script, sizeof script, "%s/_tfprof_check.py", hooks);
  words[count] = script;
  words[count + 1] = NULL;
  struct outcome outcome;
  supervise(words, environ, -1, &outcome);
  /* The check leaves a file when it ends well, so that no other program is taken for it. */
  bool is_good = !outcome.start_error && WIFEXITED(outcome.wait_status) && WEXITSTATUS(outcome.wait_status) == 0 &&
                 (size_t)snprintf(proof, sizeof proof, "%s/recordable", directory) < sizeof proof &&
                 access(proof, F_OK) == 0;
  remove_folder(directory);
  if (outcome.start_error) return program_explain_failure(words, &program, outcome.start_error);
  return is_good ? 0 : STATUS_CANNOT_RECORD;
}
