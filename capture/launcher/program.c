/* program.c: looks at the program before it is run, for the messages when it cannot be run or records nothing. */
#include "program.h"
#include "command_line.h"
#include "status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* python, python3, python3.11, pypy is none (it has other insides) */
static bool names_python(const char *path) {
  const char *name = base_name(path);
  if (strncmp(name, "python", 6) != 0) return false;
  return name[6 + strspn(name + 6, "0123456789.")] == '\0';
}

static bool is_script_name(const char *name) {
  size_t length = strlen(name);
  return length > 3 && strcmp(name + length - 3, ".py") == 0;
}

static bool find_on_path(const char *name, char *path) {
  const char *directories = getenv("PATH");
  if (!directories) directories = "/bin:/usr/bin";
  bool found = false;
  for (const char *start = directories;; start++) {
    size_t length = strcspn(start, ":");
    char candidate[PATH_MAX];
    struct stat facts;
    int needed = snprintf(candidate, sizeof candidate, "%.*s%s%s", (int)length, start, length ? "/" : "./", name);
    if (needed < (int)sizeof candidate && stat(candidate, &facts) == 0 && S_ISREG(facts.st_mode)) {
      bool runs = access(candidate, X_OK) == 0;
      if (runs || !found) strcpy(path, candidate);
      found = true;
      if (runs) return true;
    }
    start += length;
    if (!*start) return found;
  }
}

/* The isolating flag among the words before the script: they may be written together (-uIS). Those of -c, -m and of
** options with a value (-W, -X) end or skip. */
static char find_isolation(const char *const *words) {
  for (; *words && (*words)[0] == '-' && (*words)[1] && strcmp(*words, "--") != 0; words++) {
    const char *word = *words;
    if (word[1] == '-') continue;
    for (const char *flag = word + 1; *flag; flag++) {
      if (strchr("IES", *flag)) return *flag;
      if (*flag == 'c' || *flag == 'm') return 0;
      if (*flag == 'W' || *flag == 'X') {
        if (!flag[1] && words[1]) words++;
        break;
      }
    }
  }
  return 0;
}

/* The first line of a script: "#!/usr/bin/env python3", "#!/usr/bin/python3 -I", "#!/usr/bin/env -S python3 -I". */
static void read_first_line(struct program *program) {
  char line[512];
  int descriptor = open(program->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return;
  ssize_t length = read(descriptor, line, sizeof line - 1);
  close(descriptor);
  if (length < 2 || line[0] != '#' || line[1] != '!') return;
  line[length] = '\0';
  line[strcspn(line, "\r\n")] = '\0';
  const char *words[16] = {0};
  size_t count = 0;
  for (char *rest, *word = strtok_r(line + 2, " \t", &rest); word && count < 15; word = strtok_r(NULL, " \t", &rest))
    words[count++] = word;
  if (!count) return;
  snprintf(program->interpreter, sizeof program->interpreter, "%s", words[0]);
  size_t python = 0;
  if (strcmp(base_name(words[0]), "env") == 0) {
    python = 1;
    while (words[python] && words[python][0] == '-') python++;
  }
  if (!words[python] || !names_python(words[python])) return;
  program->is_python = true;
  program->isolation = find_isolation(words + python + 1);
}

void program_examine(char **command, struct program *program) {
  memset(program, 0, sizeof *program);
  if (strchr(command[0], '/')) {
    struct stat facts;
    if (stat(command[0], &facts) == 0) snprintf(program->path, sizeof program->path, "%s", command[0]);
  } else if (!find_on_path(command[0], program->path)) {
    program->path[0] = '\0';
  }
  if (names_python(command[0])) {
    program->is_python = true;
    program->isolation = find_isolation((const char *const *)command + 1);
  } else if (program->path[0]) {
    read_first_line(program);
  }
}

/* A hint where what was meant is clear: a Python script that is not a program by itself. */
static void hint_at_python(const char *word) {
  struct stat facts;
  if (is_script_name(word) && stat(word, &facts) == 0) {
    char *words[] = {(char *)word, NULL};
    char *quoted = command_line_quote(words);
    fprintf(stderr, "; it is a Python script: say  tfprof-capture … -- python3 %s", quoted ? quoted : word);
    free(quoted);
  }
}

int program_explain_failure(char **command, const struct program *program, int error) {
  const char *word = command[0];
  struct stat facts;
  fprintf(stderr, "tfprof-capture: %s: ", *word ? word : "''");
  int status = STATUS_NOT_EXECUTABLE;
  if (error == ENOENT && program->interpreter[0] && access(program->interpreter, F_OK) != 0) {
    fprintf(stderr, "cannot be run: its first line names %s, which does not exist", program->interpreter);
  } else if (error == ENOENT || error == ENOTDIR) {
    status = STATUS_NOT_FOUND;
    if (strchr(word, '/'))
      fputs("there is no such program", stderr);
    else if (stat(word, &facts) == 0)
      fputs("there is no such program on PATH", stderr);
    else
      fputs("there is no such program on PATH; check the spelling, or activate the environment that it is in",
            stderr);
    hint_at_python(word);
  } else if (stat(program->path[0] ? program->path : word, &facts) == 0 && S_ISDIR(facts.st_mode)) {
    fputs("is a directory", stderr);
  } else if (error == EACCES) {
    fputs("is not executable", stderr);
    hint_at_python(word);
  } else {
    fprintf(stderr, "cannot be run: %s", strerror(error));
  }
  fputs("\n", stderr);
  return status;
}
