/* classic.h: what the files of the classic tfprof in the shell share: settings, its command line, its commands. */
#ifndef TFPROF_CLASSIC_SHELL_H
#define TFPROF_CLASSIC_SHELL_H

#include "classic/views/classic.h"
#include "shell/session.h"

struct advising;

struct classic_settings {
  struct classic_options options; /* what a command does not say */
  const char *keys[64], *values[64]; /* of tfprof_open: the files of the command line */
  int file_count;
  char *advise_words; /* options of advise on the command line, as one line; NULL: none */
  bool tells_reading; /* --generation asks for an older one, and classic_tell_reading() has not been called */
};

static inline struct classic_settings *settings_of(const struct session *session) { return session->part_settings; }

/* ---- command_line.c: as struct command_part has them ---- */

/* Looks for --generation, which the other options depend on; before them. false: an error, said on stderr. */
bool classic_take_generation(struct session *session, char **argv);
/* An option of the classic command line: --graph_path=..., --max_depth 3, -select params. */
int classic_take_argument(struct session *session, char **argv, int *i);
/* Of the generation. */
void classic_each_option(const struct session *session, bool with_files, void (*take)(void *user, const char *name),
                         void *user);
bool classic_is_asked(const struct session *session, char **argv);
/* Opens the files of the command line together, if there are any. */
enum session_result classic_open_files(struct session *session);
/* What programs of older generations say before anything else, once, where --generation asks for one: which of their
** files they read. */
void classic_tell_reading(struct session *session);
/* What these say where there is nothing to read; false: --generation asks for none of them. */
bool classic_tell_usage(const struct session *session);
/* What the options say is what the checks of advise go by, too: the setting compat. */
void classic_share_compat(struct session *session);
/* The options of advise that the command line has. */
const char *classic_advise_words(const struct session *session);

/* ---- classic.c, advise_layout.c ---- */

/* `command` is scope, graph, code, op or set, `line` the rest. */
enum session_result classic_run(struct session *session, const char *command, const char *line);

extern const char *const classic_first_checks[]; /* the checkers of TensorFlow; NULL ends */
enum session_result classic_print_advice(struct advising *advising);

#endif
