/* prompt.c: readline with history, and what Ctrl-C, Ctrl-Z and a change of the terminal's size do.
**
** readline's callback interface is used: we wait with ppoll() and readline only ever sees bytes that are there, so that
** signals are handled here, in plain code, after ppoll() returned.  While a query runs, Ctrl-C stops the query and
** Ctrl-Z stops the shell as usual.
**
** History is kept in $XDG_STATE_HOME/tfprof/history (~/.local/state/tfprof/history), a statement an entry, however many
** lines it has, and written after each statement, so that nothing is lost when the terminal is closed.
*/
#include "prompt.h"
#include "command_part.h"
#include "commands.h"
#include "complete.h"

#include <errno.h>
#include <poll.h>
#include <readline/history.h>
#include <readline/readline.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HISTORY_ENTRIES = 2000 };
static const char first_prompt[] = "tfprof> ", next_prompt[] = "   ...> ";

static struct {
  struct script script;
  char *history_path; /* NULL: none is kept */
  char *entry;        /* the lines typed since the last whole statement */
  bool is_finished;
  volatile bool is_waiting; /* for a line, not for a query */
} prompt;

static volatile sig_atomic_t saw_interrupt, saw_stop, saw_size;
static volatile sig_atomic_t ignored; /* interrupts of the query that runs */

/* ---- history ---- */

/* Makes the directories that lead to the file; others need not see what was asked. */
static bool make_parents(char *path) {
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    int failed = mkdir(path, 0700);
    *slash = '/';
    if (failed && errno != EEXIST && errno != EACCES && errno != EROFS) return false;
  }
  return true;
}

static void history_begin(void) {
  const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
  char *path = NULL;
  int length = -1;
  if (state && *state == '/')
    length = asprintf(&path, "%s/tfprof/history", state);
  else if (home && *home == '/')
    length = asprintf(&path, "%s/.local/state/tfprof/history", home);
  using_history();
  stifle_history(HISTORY_ENTRIES);
  history_comment_char = '#'; /* with the time before each entry, an entry may have several lines */
  history_write_timestamps = 1;
  if (length < 0) return;
  if (make_parents(path)) {
    read_history(path);
    prompt.history_path = path;
  } else {
    free(path);
  }
}

static void history_add(const char *entry) {
  HIST_ENTRY *last = history_length > 0 ? history_get(history_base + history_length - 1) : NULL;
  if (!*entry || (last && strcmp(last->line, entry) == 0)) return;
  add_history(entry);
  if (!prompt.history_path) return;
  mode_t former = umask(0077);
  if (append_history(1, prompt.history_path) != 0) write_history(prompt.history_path);
  umask(former);
}

static void history_end(void) {
  if (prompt.history_path) history_truncate_file(prompt.history_path, HISTORY_ENTRIES);
  free(prompt.history_path);
  prompt.history_path = NULL;
}

/* ---- signals ---- */

/* A query that does not notice, in a function that works on a long text, would hold the terminal for ever. */
static void on_interrupt(int number) {
  static const char told[] = "\nThis query has not noticed Ctrl-C yet. Press it twice more to end tfprof.\n";
  (void)number;
  if (prompt.is_waiting) {
    saw_interrupt = 1;
  } else if (session_interrupt()) {
    ignored++;
    if (ignored > 3) _exit(130);
    if (ignored == 2 && write(STDERR_FILENO, told, sizeof told - 1) < 0) return;
  }
}

static void on_stop(int number) {
  (void)number;
  saw_stop = 1;
}

static void on_size(int number) {
  (void)number;
  saw_size = 1;
}

static void handle(int number, void (*handler)(int)) {
  struct sigaction action = {.sa_handler = handler};
  sigaction(number, &action, NULL);
}

static void fit_terminal(void) {
  struct winsize size;
  if (prompt.script.session->is_width_given) return;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    prompt.script.session->style.width = size.ws_col;
}

/* ---- lines ---- */

static void take_line(char *line);

static void show_prompt(void) {
  rl_callback_handler_install(script_is_pending(&prompt.script) ? next_prompt : first_prompt, take_line);
}

/* The lines of an unfinished statement become one entry. */
static void remember(const char *line) {
  char *longer = NULL;
  if (prompt.entry && asprintf(&longer, "%s\n%s", prompt.entry, line) < 0) longer = NULL;
  if (!prompt.entry) longer = strdup(line);
  free(prompt.entry);
  prompt.entry = longer;
}

static void take_line(char *line) {
  rl_callback_handler_remove(); /* gives the terminal back to what runs now */
  ignored = 0;
  prompt.is_waiting = false;
  if (!line) {
    putchar('\n');
    prompt.is_finished = true;
    return;
  }
  bool is_empty = !script_is_pending(&prompt.script) && !line[strspn(line, " \t")];
  if (is_empty) the_part()->answer_empty_line(prompt.script.session);
  remember(line);
  handle(SIGTSTP, SIG_DFL);
  /* Pasted text may come as one line with line feeds in it. */
  for (char *rest, *part = line; part && !prompt.is_finished; part = rest) {
    rest = strchr(part, '\n');
    if (rest) *rest++ = '\0';
    enum script_result result = script_line(&prompt.script, part);
    if (result == SCRIPT_QUIT)
      prompt.is_finished = true;
    else if (result != SCRIPT_OK)
      break;
  }
  fflush(stdout);
  handle(SIGTSTP, on_stop);
  if (!script_is_pending(&prompt.script) && prompt.entry) {
    if (!prompt.is_finished) history_add(prompt.entry);
    free(prompt.entry);
    prompt.entry = NULL;
  }
  free(line);
  if (!prompt.is_finished) {
    fit_terminal();
    prompt.is_waiting = true;
    show_prompt();
  }
}

/* Ctrl-C at the prompt: the line and the statement that it belongs to are forgotten. */
static void forget_line(void) {
  fputs("^C\n", stdout); /* first: giving the terminal back moves the cursor */
  fflush(stdout);
  rl_callback_sigcleanup();
  rl_callback_handler_remove();
  script_forget(&prompt.script);
  free(prompt.entry);
  prompt.entry = NULL;
  show_prompt();
}

/* Ctrl-Z at the prompt: the terminal is put right before stopping and taken again after. */
static void suspend_prompt(void) {
  rl_deprep_terminal();
  handle(SIGTSTP, SIG_DFL);
  sigset_t only, former;
  sigemptyset(&only);
  sigaddset(&only, SIGTSTP);
  sigprocmask(SIG_UNBLOCK, &only, &former);
  raise(SIGTSTP);
  sigprocmask(SIG_SETMASK, &former, NULL);
  handle(SIGTSTP, on_stop);
  rl_prep_terminal(1);
  fit_terminal();
  rl_forced_update_display();
}

void prompt_run(struct session *session) {
  prompt.script = (struct script){.session = session, .run_command = command_run};
  rl_readline_name = "tfprof";
  rl_catch_signals = 0;
  rl_catch_sigwinch = 0;
  history_begin();
  complete_install(&prompt.script);

  sigset_t blocked, usual;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTSTP);
  sigaddset(&blocked, SIGWINCH);
  sigprocmask(SIG_SETMASK, NULL, &usual);
  handle(SIGINT, on_interrupt);
  handle(SIGTSTP, on_stop);
  handle(SIGWINCH, on_size);
  fit_terminal();
  prompt.is_waiting = true;
  show_prompt();
  while (!prompt.is_finished) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    /* Blocked but inside ppoll(): else one that comes between the tests and the wait would wait for a key. */
    sigset_t all = blocked, former;
    sigaddset(&all, SIGINT);
    sigprocmask(SIG_BLOCK, &all, &former);
    int ready = saw_interrupt || saw_stop || saw_size ? 0 : ppoll(&input, 1, NULL, &usual);
    sigprocmask(SIG_SETMASK, &former, NULL);
    if (saw_interrupt) {
      saw_interrupt = 0;
      forget_line();
    }
    if (saw_stop) {
      saw_stop = 0;
      suspend_prompt();
    }
    if (saw_size) {
      saw_size = 0;
      rl_resize_terminal();
      fit_terminal();
    }
    if (ready > 0 && (input.revents & (POLLIN | POLLHUP | POLLERR))) rl_callback_read_char();
  }
  rl_callback_handler_remove();
  history_end();
  free(prompt.entry);
  script_free(&prompt.script);
}
