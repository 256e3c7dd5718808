/* command_part.h: what a part that a build may leave out (parts.def) adds to the shell: commands, and options of the
** command line. There is one such part at most. In a build without one the_part() has no commands, and takes and says
** nothing.
*/
#ifndef TFPROF_SHELL_COMMAND_PART_H
#define TFPROF_SHELL_COMMAND_PART_H

#include "session.h"
#include "vocabulary.h"

struct advising;

struct command_part {
  const char *const *words; /* its commands; NULL ends */
  const char *help_line;    /* what tfprof --help says of it; a line feed ends it */
  const char *prompt_help;  /* what `help` at the prompt says of it; a line feed ends it */
  const char *usage_line; /* in the place of tfprof's own where a line is about its commands */
  /* Checks that `advise` puts first, and takes alone where the setting compat is 1; NULL ends. A setting that is 1
  ** where checks are chosen; NULL: none. */
  const char *const *first_checks;
  const char *choice_setting;

  /* ---- life ---- */

  bool (*create)(struct session *session); /* session->part_settings; false: no memory */
  void (*destroy)(struct session *session);
  void (*begin)(struct session *session); /* once there is a connection */

  /* ---- the command line ---- */

  /* Looks for what its other options depend on. false: an error, said on stderr. */
  bool (*look_ahead)(struct session *session, char **argv);
  /* Takes argv[*i], and the word after it where that is its value. 1: taken; 0: it is none of its options; -1: an
  ** error, said on stderr. */
  int (*take_argument)(struct session *session, char **argv, int *i);
  /* Calls `take` with the name of each option, without hyphens; with those that name files, too. */
  void (*each_option)(const struct session *session, bool with_files, void (*take)(void *user, const char *name),
                      void *user);
  /* Whether the words are about its commands or files. */
  bool (*is_asked)(const struct session *session, char **argv);
  bool (*has_files)(const struct session *session);
  enum session_result (*open_files)(struct session *session);
  /* Says how it is used where there is nothing to open; false: nobody asks for that. */
  bool (*tell_usage)(const struct session *session);

  /* ---- commands ---- */

  enum session_result (*run)(struct session *session, const char *word, const char *line);
  void (*explain)(const struct session *session); /* `help` on one of its commands */
  void (*explain_more)(const struct session *session); /* at the end of `help`, where there is more to say */
  /* In the place of tfprof's own greeting; false: said nothing. */
  bool (*greet)(struct session *session);
  void (*begin_answer)(struct session *session); /* what stands before the first answer, if anything */
  void (*answer_empty_line)(const struct session *session);
  /* The words that may follow an option. false: any value may, such as a number. */
  bool (*add_values)(const struct session *session, const char *option, struct vocabulary *words);

  /* ---- advise ---- */

  const char *(*advise_words)(const struct session *session); /* options of advise on the command line; never NULL */
  bool (*asks_old_advice)(const struct session *session);     /* the first checks alone, as older documents show them */
  enum session_result (*print_advice)(struct advising *advising); /* the chosen checks; NULL: the part has no layout */
};

const struct command_part *the_part(void); /* never NULL */
/* Whether a word is one of its commands, in any case. */
bool command_part_has(const char *word);

#endif
