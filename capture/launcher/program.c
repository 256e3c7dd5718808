/* program.c: looks at the program before it is run, for the messages when it cannot be run or records nothing. */
#include "program.h"
#include "common/command_line.h"
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

/* How many of the words behind a Python are its options; they may be written together (-uIS). Those of -c, -m and of
** options with a value (-W, -X) end or skip. *isolation: the first flag that keeps PYTHONPATH out, or 0. */
static size_t count_python_options(char *const *words, char *isolation) {
  size_t count = 0;
  *isolation = 0;
  for (; words[count] && words[count][0] == '-' && words[count][1] && strcmp(words[count], "--") != 0; count++) {
    const char *word = words[count];
    if (word[1] == '-') continue;
    for (const char *flag = word + 1; *flag; flag++) {
      if (*flag == 'c' || *flag == 'm') return count;
      if (strchr("IES", *flag) && !*isolation) *isolation = *flag;
      if (*flag != 'W' && *flag != 'X') continue;
      if (!flag[1] && words[count + 1]) count++;
      break;
    }
  }
  return count;
}

enum { LINE_BYTES = 512, LINE_WORDS = 16 };

/* The words of a script's first line: "#!/usr/bin/env python3", "#!/usr/bin/python3 -I", "#!/usr/bin/env -S python3
** -I". Returns how many; *python: the one that names a Python, or their number. */
static size_t read_first_line(const char *path, char line[LINE_BYTES], char *words[LINE_WORDS + 1], size_t *python) {
  int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return 0;
  ssize_t length = read(descriptor, line, LINE_BYTES - 1);
  close(descriptor);
  if (length < 2 || line[0] != '#' || line[1] != '!') return 0;
  line[length] = '\0';
  line[strcspn(line, "\r\n")] = '\0';
  size_t count = 0;
  for (char *rest, *word = strtok_r(line + 2, " \t", &rest); word && count < LINE_WORDS;
       word = strtok_r(NULL, " \t", &rest))
    words[count++] = word;
  words[count] = NULL;
  *python = 0;
  if (count && strcmp(base_name(words[0]), "env") == 0) {
    *python = 1;
    while (*python < count && words[*python][0] == '-') ++*python;
  }
  if (*python < count && !names_python(words[*python])) *python = count;
  return count;
}

static void find_path(const char *word, char path[PATH_MAX]) {
  struct stat facts;
  path[0] = '\0';
  if (!strchr(word, '/') && !find_on_path(word, path)) path[0] = '\0';
  if (strchr(word, '/') && stat(word, &facts) == 0) snprintf(path, PATH_MAX, "%s", word);
}

void program_examine(char **command, struct program *program) {
  memset(program, 0, sizeof *program);
  find_path(command[0], program->path);
  if (names_python(command[0])) {
    program->is_python = true;
    count_python_options(command + 1, &program->isolation);
  } else if (program->path[0]) {
    char line[LINE_BYTES], *words[LINE_WORDS + 1];
    size_t python, count = read_first_line(program->path, line, words, &python);
    if (count) snprintf(program->interpreter, sizeof program->interpreter, "%s", words[0]);
    program->is_python = python < count;
    if (program->is_python) count_python_options(words + python + 1, &program->isolation);
  }
}

bool program_find_python(char **command, char **found, size_t room) {
  static char line[LINE_BYTES], path[PATH_MAX];
  static char *first_line[LINE_WORDS + 1];
  char isolation, **words = command;
  size_t python = 0, count = 0;
  while (command[count]) count++;
  while (python < count && !names_python(command[python])) python++;
  if (python == count) {
    words = first_line;
    find_path(command[0], path);
    count = path[0] ? read_first_line(path, line, first_line, &python) : 0;
    if (!count || python == count) return false;
  }
  size_t length = python + 1 + count_python_options(words + python + 1, &isolation);
  if (length >= room) return false;
  memcpy(found, words, length * sizeof *found);
  found[length] = NULL;
  return true;
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
