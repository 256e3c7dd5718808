/* program.h: what kind of program the command line names, as far as messages need to know. */
#ifndef TFPROF_LAUNCHER_PROGRAM_H
#define TFPROF_LAUNCHER_PROGRAM_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct program {
  char path[PATH_MAX];        /* where PATH leads, or the word itself when it has a slash; empty: not found */
  char interpreter[PATH_MAX]; /* from its first line (#!); empty: none */
  bool is_python;             /* a Python interpreter, or a script that names one */
  char isolation; /* 'I', 'E' or 'S' when Python is started with this flag, which keeps PYTHONPATH out; or 0 */
};

void program_examine(char **command, struct program *program);

/* The words that start the Python which the command line leads to, without its script: python3 -I of python3 -I
** train.py, uv run python of uv run python -m pytest, the first line's of a script that has one. Up to `room` of them,
** NULL included, are filled in; false: no Python is named. */
bool program_find_python(char **command, char **words, size_t room);

/* Says why exec failed with `error` and what to type instead; returns 126 or 127, as shells do. */
int program_explain_failure(char **command, const struct program *program, int error);

#endif
