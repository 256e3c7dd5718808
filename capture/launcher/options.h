/* options.h: the command line of tfprof-capture. */
#ifndef TFPROF_LAUNCHER_OPTIONS_H
#define TFPROF_LAUNCHER_OPTIONS_H

#include <stdbool.h>

struct capture_options {
  const char *output; /* NULL: none was given */
  bool force, quiet, stacks, shapes;
  char **command; /* the program and its arguments, NULL-terminated; inside argv */
};

enum options_result {
  OPTIONS_RUN,   /* options->command is to be run */
  OPTIONS_SHOWN, /* --help or --version was all that was asked for */
  OPTIONS_WRONG, /* said on stderr what is wrong */
};

enum options_result options_parse(int argc, char **argv, struct capture_options *options);

#endif
