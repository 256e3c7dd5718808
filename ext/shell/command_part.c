/* command_part.c: see command_part.h. What stands here does nothing, for builds without a part. */
#include "command_part.h"

#include <strings.h>

static bool create_nothing(struct session *session) { return session != NULL; }
static void do_nothing(struct session *session) { (void)session; }
static void say_nothing(const struct session *session) { (void)session; }
static bool is_not_so(const struct session *session) { return session == NULL; }
static bool greet_not(struct session *session) { return session == NULL; }
static bool look_at_nothing(struct session *session, char **argv) { return session && argv; }

static int take_nothing(struct session *session, char **argv, int *i) {
  (void)session, (void)argv, (void)i;
  return 0;
}

static void name_nothing(const struct session *session, bool with_files, void (*take)(void *user, const char *name),
                         void *user) {
  (void)session, (void)with_files, (void)take, (void)user;
}

static bool is_not_asked(const struct session *session, char **argv) { return !session || !argv; }

static enum session_result open_nothing(struct session *session) { return session ? SESSION_OK : SESSION_ERROR; }

static enum session_result run_nothing(struct session *session, const char *word, const char *line) {
  (void)session, (void)word, (void)line;
  return SESSION_ERROR;
}

static bool add_nothing(const struct session *session, const char *option, struct vocabulary *words) {
  (void)session, (void)option, (void)words;
  return false;
}

static const char *no_words(const struct session *session) {
  (void)session;
  return "";
}

static const char *const no_names[] = {NULL};

static const struct command_part no_part = {.words = no_names,
                                            .help_line = "",
                                            .prompt_help = "",
                                            .usage_line = "",
                                            .first_checks = no_names,
                                            .create = create_nothing,
                                            .destroy = do_nothing,
                                            .begin = do_nothing,
                                            .look_ahead = look_at_nothing,
                                            .take_argument = take_nothing,
                                            .each_option = name_nothing,
                                            .is_asked = is_not_asked,
                                            .has_files = is_not_so,
                                            .open_files = open_nothing,
                                            .tell_usage = is_not_so,
                                            .run = run_nothing,
                                            .explain = say_nothing,
                                            .explain_more = say_nothing,
                                            .greet = greet_not,
                                            .begin_answer = do_nothing,
                                            .answer_empty_line = say_nothing,
                                            .add_values = add_nothing,
                                            .advise_words = no_words,
                                            .asks_old_advice = is_not_so};

#define PART(name) extern const struct command_part name##_commands;
#include "parts.def"
#undef PART

/* The first is the one that is there. */
static const struct command_part *const parts[] = {
#define PART(name) &name##_commands,
#include "parts.def"
#undef PART
    &no_part};
_Static_assert(sizeof parts / sizeof parts[0] <= 2, "session.part_settings belongs to one part");

const struct command_part *the_part(void) { return parts[0]; }

bool command_part_has(const char *word) {
  for (const char *const *own = the_part()->words; *own; own++) {
    if (strcasecmp(*own, word) == 0) return true;
  }
  return false;
}
