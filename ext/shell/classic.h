/* classic.h: the commands of the classic tfprof: scope, graph, code, op and set, and the options of its
** command line. */
#ifndef TFPROF_SHELL_CLASSIC_H
#define TFPROF_SHELL_CLASSIC_H

#include "classic/classic.h"
#include "session.h"

struct classic_settings {
  struct classic_options options; /* what a command does not say */
  const char *keys[64], *values[64]; /* of tfprof_open: the files of the command line */
  int file_count;
  char *advise_words; /* options of advise on the command line, as one line; NULL: none */
  bool tells_reading; /* --generation asks for an older one, and classic_tell_reading() has not been called */
};

/* NULL: no memory. */
struct classic_settings *classic_settings_create(void);
void classic_settings_free(struct classic_settings *settings);

/* Takes argv[*i], and the word after it where that is its value, if it is an option of the classic command line
** (--graph_path=..., --max_depth 3, -select params). 1: taken; 0: it is another one; -1: an error, said on stderr. */
int classic_take_argument(struct session *session, char **argv, int *i);
/* Calls `take` with the name of each option that the generation has, without hyphens; with those that name files,
** too. */
void classic_each_option(const struct session *session, bool with_files, void (*take)(void *user, const char *name),
                         void *user);
/* Opens the files of the command line together, if there are any. */
enum session_result classic_open_files(struct session *session);

/* Looks for --generation, which the other options depend on; before them. -1: an error, said on stderr. */
int classic_take_generation(struct session *session, char **argv);
/* What programs of older generations say before anything else, once, where --generation asks for one: which of their
** files they read. */
void classic_tell_reading(struct session *session);
/* What these say where there is nothing to read; false: --generation asks for none of them. */
bool classic_tell_usage(const struct session *session);
extern const char classic_usage_line[];
/* Whether the words of a command line are about the views or files of the classic tfprof. */
bool classic_is_asked(const struct session *session, char **argv);
/* Once there is a connection. */
void classic_begin(struct session *session);
/* The options of advise that the command line has. */
const char *classic_advise_words(const struct session *session);

/* The options as they are set, where somebody uses the views. */
void classic_answer_empty_line(const struct session *session);
/* The options of a view, each with its default and what it is for; and all that there is to say of the views. */
void classic_explain_options(const struct session *session);
void classic_help(const struct session *session);

/* `command` is scope, graph, code, op or set, `line` the rest. */
enum session_result classic_run(struct session *session, const char *command, const char *line);

#endif
