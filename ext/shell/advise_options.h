/* advise_options.h: the options of `advise`: -checkers, and one for each setting of a check. */
#ifndef TFPROF_SHELL_ADVISE_OPTIONS_H
#define TFPROF_SHELL_ADVISE_OPTIONS_H

#include "vocabulary.h"

/* Calls `take` with each option, as -low_ratio, and what holds without it: for help, completion and arguments. */
void advise_each_option(void (*take)(void *user, const char *name, const char *standard), void *user);
/* Their names without hyphens, in full and without the name of the check before them. */
void advise_add_options(struct vocabulary *vocabulary);

#endif
