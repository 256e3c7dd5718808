/* watch.c: see watch.h.
**
** An answer is printed into memory first.  What is drawn is then one write: the cursor goes to the corner of the
** terminal's other screen, each line is followed by what clears the rest of it, the last by what clears what is below,
** so that nothing flickers.  The last answer stays on the usual screen, whole.  What goes to stderr meanwhile is kept
** apart and written below the answer.
**
** Signals are blocked but where we wait, and while an answer is made, which Ctrl-C and a signal to end interrupt.
*/
#include "watch.h"

#include "base/list.h"
#include "damage.h"
#include "read/dump/growth.h"
#include "read/open/paths.h"
#include "vtab/connection.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { USUAL_LINES = 24, SHORTEST_PAUSE_MS = 50, FIRST_LOOK_MS = 200 };

static const char enter_screen[] = "\033[?1049h\033[?25l", leave_screen[] = "\033[?25h\033[?1049l";

static volatile sig_atomic_t ending, has_size, is_stopping; /* `ending`: the signal that asks for the end */

struct watch {
  struct session *session;
  FILE *out, *errors; /* as they were */
  bool is_drawn, is_on_screen, has_keys;
  struct termios usual;
  int lines;
  char *text, *told; /* the last answer, and what came on stderr with it */
  size_t length, told_length;
  char *notes; /* what came on stderr while the recording was read, since the beginning */
  size_t notes_length, notes_capacity;
  bool is_first, has_ended;
  uint64_t added;
  struct growth growth;
};

double watch_seconds(const char *text) {
  static const struct {
    const char *unit;
    double seconds;
  } units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"m", 60}, {"min", 60}};
  char *end;
  if ((*text < '0' || *text > '9') && *text != '.') return 0;
  double number = strtod(text, &end);
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
    double seconds = number * units[i].seconds;
    if (strcmp(end, units[i].unit) == 0 && seconds >= WATCH_FEWEST_SECONDS && seconds <= WATCH_MOST_SECONDS)
      return seconds;
  }
  return 0;
}

static int64_t milliseconds_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* ---- the terminal ---- */

static void look_at_size(struct watch *watch) {
  struct winsize size;
  bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  watch->lines = is_known && size.ws_row > 2 ? size.ws_row : USUAL_LINES;
  if (is_known && size.ws_col && watch->session->style.is_terminal && !watch->session->is_width_given)
    watch->session->style.width = size.ws_col;
}

static void enter(struct watch *watch) {
  if (!watch->is_drawn || watch->is_on_screen) return;
  watch->is_on_screen = true;
  watch->has_keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &watch->usual) == 0;
  if (watch->has_keys) {
    struct termios silent = watch->usual;
    silent.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &silent);
  }
  fputs(enter_screen, watch->out);
}

static void leave(struct watch *watch) {
  if (!watch->is_on_screen) return;
  watch->is_on_screen = false;
  if (watch->has_keys) tcsetattr(STDIN_FILENO, TCSADRAIN, &watch->usual);
  watch->has_keys = false;
  fputs(leave_screen, watch->out);
  fflush(watch->out);
}

static int count_lines(const char *text, size_t length) {
  int lines = 0;
  for (size_t i = 0; i < length; i++) lines += text[i] == '\n';
  return lines;
}

/* The lines that it takes on a terminal, or some more. */
static int count_rows(const char *text, size_t length, int columns) {
  return count_lines(text, length) + (int)(length / (size_t)(columns > 0 ? columns : 80));
}

/* ---- what is said with an answer ---- */

static void say_state(const struct watch *watch, FILE *file) {
  if (!watch->is_first && watch->added) {
    char *rows = sqlite3_mprintf("%,llu row%s more", (unsigned long long)watch->added, watch->added == 1 ? "" : "s");
    fprintf(file, ", %s", rows ? rows : "more");
    sqlite3_free(rows);
  } else if (!watch->is_first) {
    fputs(", nothing new", file);
  }
  if (watch->has_ended) fputs("; the recording has ended", file);
  else if (watch->growth.writing)
    fprintf(file, "; %u process%s being recorded", watch->growth.writing,
            watch->growth.writing == 1 ? " is" : "es are");
  else if (watch->growth.is_known) fputs("; nothing is being recorded now", file);
}

static void say_time(FILE *file, const char *format) {
  char text[64];
  struct tm parts;
  time_t now = time(NULL);
  if (localtime_r(&now, &parts) && strftime(text, sizeof text, format, &parts)) fputs(text, file);
}

/* ---- drawing ---- */

/* As many lines as there is room for; how many were left out. */
static int put_lines(FILE *file, const char *text, size_t length, int room) {
  int lines = count_lines(text, length), shown = lines > room ? room - 1 : lines;
  for (int i = 0; i < shown; i++) {
    const char *end = memchr(text, '\n', length);
    size_t size = (size_t)(end - text);
    fwrite(text, 1, size, file);
    fputs("\033[K\n", file);
    length -= size + 1;
    text = end + 1;
  }
  return lines - shown;
}

static void draw(struct watch *watch, double seconds) {
  char *frame = NULL;
  size_t length = 0;
  FILE *file = open_memstream(&frame, &length);
  bool tells = isatty(STDERR_FILENO);
  int columns = watch->session->style.width;
  int told = count_rows(watch->notes, watch->notes_length, columns) +
             count_rows(watch->told, watch->told_length, columns);
  int room = watch->lines - 2 - (tells ? told : 0);
  if (!file) return;
  const char *dim = watch->session->style.colour ? "\033[2m" : "", *usual = *dim ? "\033[0m" : "";
  fprintf(file, "\033[?7l\033[H%sread at ", dim); /* what is too wide is cut */
  say_time(file, "%H:%M:%S");
  say_state(watch, file);
  fprintf(file, " (every %g s; q or Ctrl-C ends)%s\033[K\n", seconds, usual);
  int left = put_lines(file, watch->text, watch->length, room > 1 ? room : 1);
  if (left) fprintf(file, "%s… %d more line%s%s\033[K", dim, left, left == 1 ? "" : "s", usual);
  fputs(left && told ? "\n\033[J\033[?7h" : "\033[J\033[?7h", file);
  fclose(file);
  fwrite(frame, 1, length, watch->out);
  fflush(watch->out);
  free(frame);
  if (!tells) return; /* they are, at the end */
  if (watch->notes) fwrite(watch->notes, 1, watch->notes_length, watch->errors);
  if (watch->told) fwrite(watch->told, 1, watch->told_length, watch->errors);
}

/* Where answers follow one after the other. */
static void print_mark(const struct watch *watch) {
  enum output_format format = watch->session->style.format;
  if (format == OUTPUT_JSON || format == OUTPUT_JSONL) return;
  FILE *file = watch->session->destination.file ? watch->session->destination.file : stdout;
  if (!watch->is_first) fputc('\n', file);
  if (format == OUTPUT_CSV || format == OUTPUT_TSV) return;
  fputs("-- read at ", file);
  say_time(file, "%Y-%m-%d %H:%M:%S");
  say_state(watch, file);
  fputs("\n", file);
}

/* ---- one answer ---- */

static void forget_answer(struct watch *watch) {
  free(watch->text);
  free(watch->told);
  watch->text = watch->told = NULL;
  watch->length = watch->told_length = 0;
}

/* What is printed from now on goes to memory; false: there is none. */
static bool begin_keeping(struct watch *watch) {
  FILE *text = open_memstream(&watch->text, &watch->length);
  FILE *told = text ? open_memstream(&watch->told, &watch->told_length) : NULL;
  if (told) {
    stdout = text;
    stderr = told;
    return true;
  }
  if (text) fclose(text);
  forget_answer(watch);
  return false;
}

static void end_keeping(struct watch *watch) {
  fclose(stdout);
  fclose(stderr);
  stdout = watch->out;
  stderr = watch->errors;
}


/* Whether more may come is asked before what is there is read, so that nothing is missed at the end. */
static enum session_result read_news(struct watch *watch) {
  bool is_of_other_build;
  struct connection *connection = connection_find(watch->session->db, &is_of_other_build);
  if (connection) growth_look(connection->store, &watch->growth);
  watch->has_ended = watch->growth.is_known && !watch->growth.may_go_on;
  watch->added = 0;
  enum session_result result = session_refresh(watch->session, &watch->added);
  damage_tell(watch->session);
  return result;
}

static enum session_result read_news_and_notes(struct watch *watch) {
  char *text = NULL;
  size_t length = 0;
  FILE *file = open_memstream(&text, &length);
  if (file) stderr = file;
  enum session_result result = read_news(watch);
  stderr = watch->errors;
  if (file) fclose(file);
  if (length && array_reserve(watch->notes, watch->notes_capacity, watch->notes_length + length)) {
    memcpy(watch->notes + watch->notes_length, text, length);
    watch->notes_length += length;
  }
  free(text);
  return result;
}

static enum script_result make_answer(struct watch *watch, watch_answer *answer, const void *question) {
  look_at_size(watch);
  forget_answer(watch);
  enum session_result refreshed = watch->is_drawn ? read_news_and_notes(watch) : read_news(watch);
  if (refreshed != SESSION_OK) return refreshed == SESSION_ERROR ? SCRIPT_ERROR : SCRIPT_INTERRUPTED;
  if (watch->is_drawn && !begin_keeping(watch)) {
    fputs("error: not enough memory\n", stderr);
    return SCRIPT_ERROR;
  }
  if (!watch->is_drawn) print_mark(watch);
  enum script_result result = answer(watch->session, question);
  fflush(stdout);
  if (watch->is_drawn) end_keeping(watch);
  return result;
}

/* ---- signals ---- */

static void on_ending(int number) {
  ending = number;
  session_interrupt();
}
static void on_size(int number) {
  (void)number;
  has_size = 1;
}
static void on_stop(int number) {
  (void)number;
  is_stopping = 1;
}

static const struct {
  int number;
  void (*handler)(int);
} handled[] = {{SIGINT, on_ending}, {SIGTERM, on_ending}, {SIGHUP, on_ending}, {SIGWINCH, on_size}, {SIGTSTP, on_stop}};
enum { HANDLED = sizeof handled / sizeof handled[0] };

static void begin_handling(const struct watch *watch, struct sigaction former[HANDLED]) {
  ending = has_size = is_stopping = 0;
  for (size_t i = 0; i < HANDLED; i++) {
    struct sigaction action = {.sa_handler = handled[i].handler, .sa_flags = SA_RESTART};
    sigaction(handled[i].number, NULL, &former[i]);
    bool is_usual = handled[i].number == SIGTSTP && !watch->is_drawn; /* nothing is to be put right before */
    if (former[i].sa_handler != SIG_IGN && !is_usual) sigaction(handled[i].number, &action, NULL);
  }
}

static void end_handling(const struct sigaction former[HANDLED]) {
  for (size_t i = 0; i < HANDLED; i++) sigaction(handled[i].number, &former[i], NULL);
}

/* Ctrl-Z: the terminal is left as it was, and taken again when we go on. */
static void suspend_watch(struct watch *watch) {
  struct sigaction usual = {.sa_handler = SIG_DFL}, ours;
  is_stopping = 0;
  leave(watch);
  sigaction(SIGTSTP, &usual, &ours);
  raise(SIGTSTP);
  sigset_t only, former; /* it is blocked here, so that it stops us now */
  sigemptyset(&only);
  sigaddset(&only, SIGTSTP);
  sigprocmask(SIG_UNBLOCK, &only, &former);
  sigprocmask(SIG_SETMASK, &former, NULL);
  sigaction(SIGTSTP, &ours, NULL);
  enter(watch);
  has_size = 1;
}

/* A key: q ends, any other asks at once. */
static void take_key(struct watch *watch, bool *is_over, bool *is_asked) {
  char key;
  ssize_t count = read(STDIN_FILENO, &key, 1);
  if (count <= 0 && errno != EINTR) watch->has_keys = false;
  *is_over |= count == 1 && (key == 'q' || key == 'Q' || key == 4 /* Ctrl-D */);
  *is_asked |= count == 1;
}

/* Until the next answer is due, or asked for. true: there is to be none. */
static bool wait_for_next(struct watch *watch, int64_t due_ms) {
  bool is_over = false, is_asked = false;
  sigset_t blocked, usual;
  sigemptyset(&blocked);
  for (size_t i = 0; i < HANDLED; i++) sigaddset(&blocked, handled[i].number);
  sigprocmask(SIG_BLOCK, &blocked, &usual);
  while (!ending && !has_size && !is_over && !is_asked) {
    if (is_stopping) {
      suspend_watch(watch);
      continue;
    }
    int64_t left_ms = due_ms - milliseconds_now();
    if (left_ms <= 0) break;
    struct timespec left = {.tv_sec = left_ms / 1000, .tv_nsec = left_ms % 1000 * 1000000};
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    int ready = ppoll(&input, watch->has_keys ? 1 : 0, &left, &usual);
    if (ready > 0) take_key(watch, &is_over, &is_asked);
  }
  has_size = 0;
  sigprocmask(SIG_SETMASK, &usual, NULL);
  return is_over || ending;
}

/* ---- all of it ---- */

/* The last answer, unless it was interrupted, is left where one looks for it, and the program ends by the signal that
** asked for it. */
static void conclude(struct watch *watch, bool is_cut, const struct sigaction former[HANDLED]) {
  leave(watch);
  if (watch->text && !is_cut) fwrite(watch->text, 1, watch->length, watch->out);
  fflush(watch->out);
  if (watch->notes) fwrite(watch->notes, 1, watch->notes_length, watch->errors);
  if (watch->told && !is_cut) fwrite(watch->told, 1, watch->told_length, watch->errors);
  if (watch->is_drawn && watch->has_ended && !is_cut) fputs("tfprof: the recording has ended\n", watch->errors);
  forget_answer(watch);
  free(watch->notes);
  end_handling(former);
  if (ending && ending != SIGINT) raise(ending);
}

enum script_result watch_run(struct session *session, double seconds, watch_answer *answer, const void *question) {
  const char *term = getenv("TERM");
  struct watch watch = {.session = session, .out = stdout, .errors = stderr, .is_first = true};
  struct sigaction former[HANDLED];
  bool may_page = session->destination.may_page, is_interactive = session->is_interactive;
  enum script_result result;
  if (session->is_watching) {
    fputs("error: what is watched cannot watch\n", stderr);
    return SCRIPT_ERROR;
  }
  watch.is_drawn =
      session->style.is_terminal && !session->destination.file && term && *term && strcmp(term, "dumb") != 0;
  session->is_watching = true;
  session->destination.may_page = session->is_interactive = false;
  begin_handling(&watch, former);
  for (;;) {
    int64_t start_ms = milliseconds_now();
    result = make_answer(&watch, answer, question);
    if (result != SCRIPT_OK) break;
    if (watch.has_ended || ferror(watch.out)) break;
    enter(&watch);
    if (watch.is_drawn) draw(&watch, seconds);
    int64_t end_ms = milliseconds_now(), took_ms = end_ms - start_ms, due_ms = start_ms + (int64_t)(seconds * 1000);
    /* One that takes long leaves half of the processor to others. */
    int64_t pause_ms = took_ms > SHORTEST_PAUSE_MS ? took_ms : SHORTEST_PAUSE_MS;
    if (due_ms < end_ms + SHORTEST_PAUSE_MS) due_ms = end_ms + pause_ms;
    if (wait_for_next(&watch, due_ms)) break;
    watch.is_first = false;
  }
  conclude(&watch, result == SCRIPT_INTERRUPTED, former);
  if (result == SCRIPT_INTERRUPTED && ending) result = SCRIPT_OK;
  session->is_watching = false;
  session->destination.may_page = may_page;
  session->is_interactive = is_interactive;
  return result;
}

void watch_wait_for_first(const char *path) {
  if (!paths_is_empty_directory(path)) return;
  fprintf(stderr, "tfprof: %s is empty; waiting for the first recording in it, Ctrl-C gives up\n", path);
  while (paths_is_empty_directory(path)) poll(NULL, 0, FIRST_LOOK_MS);
}
