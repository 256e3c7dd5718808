/* complete.c: what may come next, judged by the word before.
**
** After FROM, JOIN and INTO: tables and views.  After `name.`: the columns of that table or alias.  At the beginning of
** a statement: commands and keywords.  Inside quotes: files, for tfprof_open().  Elsewhere: columns of the tables that
** the statement mentions, functions, keywords, tables.  Keywords follow the case that the word was begun in.
*/
#include "complete.h"
#include "advise.h"
#include "advise_options.h"
#include "command_part.h"
#include "commands.h"
#include "vocabulary.h"

#include <ctype.h>
#include <readline/readline.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static struct script *completed;
static struct vocabulary vocabulary; /* of the completion under way */
static bool is_of_sql;               /* the words in it */

static bool is_word_character(char c) {
  return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* The statement up to here: the lines before, then the present one up to `end`. Caller frees. */
static char *text_before(int end) {
  size_t pending = script_is_pending(completed) ? completed->length : 0;
  char *text = malloc(pending + (size_t)end + 1);
  if (!text) return NULL;
  if (pending) memcpy(text, completed->text, pending);
  memcpy(text + pending, rl_line_buffer, (size_t)end);
  text[pending + (size_t)end] = '\0';
  return text;
}

/* The word that ends right before text[*end], spaces skipped; *end becomes where it begins. Empty: none is there. */
static void word_before(const char *text, size_t *end, char *word, size_t size) {
  size_t to = *end;
  while (to > 0 && strchr(" \t\n", text[to - 1])) to--;
  size_t from = to;
  while (from > 0 && is_word_character(text[from - 1])) from--;
  size_t length = to - from < size ? to - from : size - 1;
  memcpy(word, text + from, length);
  word[length] = '\0';
  *end = from;
}

static bool is_inside_quotes(const char *text) {
  bool inside = false;
  for (; *text; text++) {
    if (*text == '\'') inside = !inside;
  }
  return inside;
}

/* The command that the line begins with takes options. */
static bool takes_options(const char *before) {
  char word[32];
  const char *at = before + strspn(before, " \t");
  size_t length = strcspn(at, " \t");
  if (script_is_pending(completed) || length == 0 || length >= sizeof word || !at[length]) return false;
  snprintf(word, sizeof word, "%.*s", (int)length, at);
  return command_part_has(word) || strcasecmp(word, "advise") == 0;
}

static bool takes_file(const char *before) { return !script_is_pending(completed) && command_takes_file(before); }

/* What ends a word: inside quotes only they do, since a path may hold anything else; of a command's file only
** blanks. */
static char *choose_word_breaks(void) {
  char *before = text_before(rl_point);
  bool inside = before && is_inside_quotes(before), has_options = before && takes_options(before);
  bool is_file = before && !inside && takes_file(before);
  free(before);
  if (is_file) return " \t\n";
  if (has_options) return " \t\n,=";
  return inside ? "'" : " \t\n\"'`@$><=;|&{(,)*+-/%!~.";
}

static bool is_one_of(const char *word, const char *const *words) {
  for (; *words; words++) {
    if (strcasecmp(word, *words) == 0) return true;
  }
  return false;
}

/* The words of the vocabulary; SQL keywords in the case that was typed. */
static char *next_match(const char *text, int state) {
  static size_t at, length;
  if (state == 0) {
    at = 0;
    length = strlen(text);
  }
  bool is_lower = is_of_sql && (length == 0 || islower((unsigned char)text[0]));
  while (at < vocabulary.count) {
    const char *word = vocabulary.words[at++];
    if (strncasecmp(word, text, length) != 0) continue;
    char *match = strdup(word);
    if (match && is_lower && strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == strlen(word)) {
      for (char *c = match; *c; c++) *c = (char)tolower((unsigned char)*c);
    }
    return match;
  }
  return NULL;
}

static char *next_command(const char *text, int state) {
  static int at;
  static const char *const beginnings[] = {"select", "with", "explain"};
  if (state == 0) at = 0;
  int commands = 0;
  while (command_name((size_t)commands)) commands++;
  while (at < commands + 3) {
    const char *word = at < commands ? command_name((size_t)at) : beginnings[at - commands];
    at++;
    if (strncasecmp(word, text, strlen(text)) != 0) continue;
    char *match = strdup(word);
    for (char *c = match; c && *c && *text && isupper((unsigned char)*text); c++)
      *c = (char)toupper((unsigned char)*c);
    return match;
  }
  return NULL;
}

/* ---- commands with options ---- */

/* Words that may come next at a command with options. */
static void add_choice(const char *word) { vocabulary_add_word(&vocabulary, word); }

static void add_checker(void *user, const char *name) {
  (void)user;
  add_choice(name);
}

static void add_advise_option(void *user, const char *name, const char *standard) {
  (void)user;
  (void)standard;
  add_choice(name);
}

/* `hyphens`: one or two. */
static void add_option(void *hyphens, const char *name) {
  char option[40];
  snprintf(option, sizeof option, "%s%s", (const char *)hyphens, name);
  add_choice(option);
}

/* As the option was begun. */
static void add_options(const struct session *session, const char *text) {
  char hyphens[] = "--";
  if (strncmp(text, hyphens, 2) != 0) hyphens[1] = 0;
  the_part()->each_option(session, false, add_option, hyphens);
}

/* False: any value may follow, such as a number or an expression. */
static bool add_values(const struct session *session, const char *option) {
  if (strcmp(option + strspn(option, "-"), "checkers") != 0)
    return the_part()->add_values(session, option, &vocabulary);
  advise_each_checker(add_checker, NULL);
  return true;
}

/* What may come behind `before`, a line such as "op -select micros,", for `text`. */
static void add_option_words(const char *before, const char *text) {
  const char *word = before + strlen(before);
  while (word > before && !strchr(" \t", word[-1])) word--;
  const char *end = word;
  while (end > before && strchr(" \t", end[-1])) end--;
  const char *last = end;
  while (last > before && !strchr(" \t", last[-1])) last--;
  bool is_advise = strncasecmp(before + strspn(before, " \t"), "advise", 6) == 0;
  char option[60];
  /* -select=a,b or -select a,b */
  const char *equals = *word == '-' ? strchr(word, '=') : NULL;
  snprintf(option, sizeof option, "%.*s", (int)(equals ? equals - word : end - last), equals ? word : last);
  if (*option == '-' && (equals || *word != '-')) {
    if (add_values(completed->session, option) || equals) return;
    if (*word) return;
  }
  if (is_advise) advise_each_option(add_advise_option, NULL);
  else add_options(completed->session, text);
}

/* Behind a command that has no options. */
static void add_argument(const char *command) {
  if (strcasecmp(command, "help") == 0) {
    for (const char *const *word = the_part()->words; *word; word++) add_choice(*word);
    add_choice("advise");
    add_choice("formats");
    vocabulary_add_query(&vocabulary, completed->session->db,
                         "SELECT name FROM tfprof_functions UNION ALL SELECT reason FROM tfprof_reasons");
  }
  if (strcasecmp(command, "format") == 0) {
    for (int i = 0; i < OUTPUT_FORMAT_COUNT; i++) add_choice(output_format_names[i]);
  }
}

static char **complete(const char *text, int start, int end) {
  static const char *const before_tables[] = {"from", "join", "into", NULL};
  (void)end;
  char *before = text_before(start), word[128];
  if (!before) return NULL;
  size_t at = strlen(before);
  bool wants_file = is_inside_quotes(before);
  bool is_first = before[strspn(before, " \t\n.\\")] == '\0';
  bool is_column_of = at > 0 && before[at - 1] == '.' && at > 1 && is_word_character(before[at - 2]);
  if (is_column_of) at--;
  word_before(before, &at, word, sizeof word);
  bool is_command_argument = !script_is_pending(completed) && before[strspn(before + 0, " \t")] != '\0' &&
                             before[0] != '\0' && command_is(before) && at <= 1;
  if (takes_file(before)) wants_file = true;
  size_t length_before = strlen(before);
  bool is_outfile = length_before >= 8 && strcmp(before + length_before - 8, "outfile=") == 0;
  if (is_outfile && takes_options(before)) wants_file = true;
  if (wants_file) {
    free(before);
    return NULL; /* readline goes on with files */
  }
  rl_attempted_completion_over = 1;
  vocabulary_free(&vocabulary);
  is_of_sql = false;
  if (takes_options(before)) {
    add_option_words(before, text);
    vocabulary_sort(&vocabulary);
    char **matches = rl_completion_matches(text, next_match);
    size_t length = matches ? strlen(matches[0]) : 0;
    bool is_open = matches && !matches[1] && length && matches[0][length - 1] == '=';
    rl_completion_append_character = is_open ? '\0' : ' ';
    free(before);
    return matches;
  }
  rl_compentry_func_t *generator = next_match;
  is_of_sql = !is_command_argument;
  /* The whole line counts, also what stands after the cursor: FROM often comes first. */
  char *whole = text_before(rl_end);
  if (is_first)
    generator = next_command;
  else if (is_column_of)
    vocabulary_add(&vocabulary, completed->session->db, WORD_COLUMN, whole, word);
  else if (is_one_of(word, before_tables) || (is_command_argument && command_takes_table(before)))
    vocabulary_add(&vocabulary, completed->session->db, WORD_TABLE, NULL, NULL);
  else if (is_command_argument)
    add_argument(word);
  else
    vocabulary_add(&vocabulary, completed->session->db, WORD_KEYWORD | WORD_TABLE | WORD_FUNCTION | WORD_COLUMN,
                   whole, NULL);
  vocabulary_sort(&vocabulary);
  char **matches = rl_completion_matches(text, generator);
  /* A function's name ends in its bracket, after which no space is wanted. */
  bool is_call = matches && !matches[1] && matches[0][0] && matches[0][strlen(matches[0]) - 1] == '(';
  rl_completion_append_character = is_call ? '\0' : ' ';
  free(whole);
  free(before);
  return matches;
}

void complete_install(struct script *script) {
  completed = script;
  rl_attempted_completion_function = complete;
  rl_completion_word_break_hook = choose_word_breaks;
  rl_completer_quote_characters = "";
  rl_variable_bind("completion-ignore-case", "on");
  rl_variable_bind("colored-completion-prefix", "off");
}
