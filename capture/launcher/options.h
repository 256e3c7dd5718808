/* options.h: the command line of tfprof-capture. */
#ifndef TFPROF_LAUNCHER_OPTIONS_H
#define TFPROF_LAUNCHER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/* In the order of --help. A new option is a line here and one in the table of options.c; what it is set to is handed to
** the program in the variable that the table names, and the capture library reads it there. */
enum option {
  OPTION_OUTPUT,
  OPTION_FORCE,
  OPTION_OPS,
  OPTION_OVERHEAD,
  OPTION_STEPS,
  OPTION_PYTHON,
  OPTION_NO_STACKS,
  OPTION_SOURCE,
  OPTION_COMMAND,
  OPTION_SHAPES,
  OPTION_MEMORY,
  OPTION_TRACE,
  OPTION_BUFFER_SIZE,
  OPTION_MAX_SIZE,
  OPTION_MAX_RATE,
  OPTION_MAX_GPU_RATE,
  OPTION_HANG_AFTER,
  OPTION_KEEP,
  OPTION_KEEP_AFTER,
  OPTION_SLOW_STEP,
  OPTION_KEEP_SIZE,
  OPTION_SIGNAL,
  OPTION_HANG_C_STACKS,
  OPTION_PRELOAD,
  OPTION_QUIET,
  OPTION_DORMANT,
  OPTION_LIST,
  OPTION_ATTACH,
  OPTION_FOR,
  OPTION_HOST_TRACER_LEVEL,
  OPTION_DEVICE_TRACER_LEVEL,
  OPTION_PYTHON_TRACER_LEVEL,
  OPTION_RETRIES,
  OPTION_ADD,
  OPTION_WRITE,
  OPTION_CHECK,
  OPTION_HELP,
  OPTION_VERSION,
  OPTION_COUNT
};

enum { OPTION_TEXT_SIZE = 4096 };

struct capture_options {
  /* What each option is set to, in the form that its variable has: 0 or 1, one of the words, bytes as a
  ** plain number. */
  char texts[OPTION_COUNT][OPTION_TEXT_SIZE];
  char **command; /* the program and its arguments, NULL-terminated; inside argv */
};

enum options_result {
  OPTIONS_RUN,   /* options->command is to be run */
  OPTIONS_SHOWN, /* --help or --version was all that was asked for */
  OPTIONS_WRONG, /* said on stderr what is wrong */
};

/* From the command line, else from the variable, else as the table says. */
enum options_result options_parse(int argc, char **argv, struct capture_options *options);
/* Whether an option of the kind that is on or off is on. */
bool options_is_on(const struct capture_options *options, enum option option);
/* Whether --check is asked for; the command may then be NULL. With --list or --attach there is none. */
bool options_check_only(const struct capture_options *options);
/* The text, or NULL when it is empty. */
const char *options_text(const struct capture_options *options, enum option option);
/* Each variable that the program and its children read, until `tell` says false, which is then returned. */
bool options_tell(const struct capture_options *options, bool (*tell)(void *, const char *name, const char *value),
                  void *context);
/* Sets them. false: no memory. */
bool options_export(const struct capture_options *options);

#endif
