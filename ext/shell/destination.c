/* destination.c: see destination.h.
**
** The pager is what TFPROF_PAGER or PAGER name, else less, else more; `cat`, or an empty text, is none.  It begins when
** a result has become longer than the screen, so that short ones stay where they are typed.  less is told, unless LESS
** says otherwise, to leave the text on the screen (X), to show colours (R), and to end at once where all fits (F).
** When its reader leaves before all has come, what is left is not made: destination_is_gone().
**
** The file of `output` is written like one behind > in a shell: in place, as the results come.
*/
#include "destination.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HELD_BYTES = 1 << 20 };

/* ---- the pager ---- */

static bool is_in_path(const char *program) {
  const char *path = getenv("PATH");
  char name[4096];
  for (const char *at = path; at && *at;) {
    size_t length = strcspn(at, ":");
    snprintf(name, sizeof name, "%.*s/%s", (int)length, at, program);
    if (access(name, X_OK) == 0) return true;
    at += length + (at[length] == ':');
  }
  return false;
}

/* The command, for a shell; NULL: none is wanted, or there. */
static const char *pager_command(void) {
  const char *named = getenv("TFPROF_PAGER");
  if (!named) named = getenv("PAGER");
  if (named) return *named && strcmp(named, "cat") != 0 ? named : NULL;
  return is_in_path("less") ? "less" : is_in_path("more") ? "more" : NULL;
}

/* Where none can be started, the terminal takes it all. */
static void start_pager(struct destination *destination) {
  const char *command = pager_command();
  int ends[2];
  if (!command || pipe(ends)) return;
  fflush(destination->terminal);
  pid_t process = fork();
  if (process == 0) {
    setenv("LESS", "FRX", 0);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    close(ends[1]);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
  }
  close(ends[0]);
  destination->pager = process > 0 ? fdopen(ends[1], "w") : NULL;
  if (!destination->pager) {
    close(ends[1]);
    return;
  }
  destination->pager_process = process;
  destination->former_pipe = signal(SIGPIPE, SIG_IGN);
}

static void write_on(struct destination *destination, const char *bytes, size_t length) {
  FILE *to = destination->pager ? destination->pager : destination->terminal;
  if (destination->is_gone) return;
  bool is_written = fwrite(bytes, 1, length, to) == length && fflush(to) == 0;
  if (!is_written && destination->pager) destination->is_gone = true;
}

/* ---- what is held back ---- */

static bool fits_screen(const struct destination *destination) {
  int lines = 2; /* the statement above, and the next prompt */
  int column = 0;
  for (size_t i = 0; i < destination->held_bytes && lines <= destination->screen_lines; i++) {
    char c = destination->held[i];
    bool is_end = c == '\n', is_character = !is_end && ((unsigned char)c & 0xc0) != 0x80;
    if (is_end || (is_character && column == destination->screen_columns)) {
      lines++;
      column = 0;
    }
    column += is_character;
  }
  return lines <= destination->screen_lines;
}

/* false: there is more than the screen shows, and this was not kept. */
static bool hold(struct destination *destination, const char *bytes, size_t length) {
  if (length > HELD_BYTES - destination->held_bytes) return false;
  memcpy(destination->held + destination->held_bytes, bytes, length);
  destination->held_bytes += length;
  if (fits_screen(destination)) return true;
  destination->held_bytes -= length;
  return false;
}

static void release(struct destination *destination) {
  write_on(destination, destination->held, destination->held_bytes);
  free(destination->held);
  destination->held = NULL;
  destination->held_bytes = 0;
}

/* The stream's write function. Tells of no failure: the terminal's is stdout's own, and a pager may be left. */
static ssize_t take_output(void *cookie, const char *bytes, size_t length) {
  struct destination *destination = cookie;
  if (destination->held) {
    if (hold(destination, bytes, length)) return (ssize_t)length;
    start_pager(destination);
    release(destination);
  }
  write_on(destination, bytes, length);
  return (ssize_t)length;
}

/* A stream that holds back; NULL: results go straight to the terminal. */
static FILE *begin_holding(struct destination *destination) {
  struct winsize size;
  if (!destination->may_page || ioctl(fileno(destination->terminal), TIOCGWINSZ, &size) || !size.ws_row) return NULL;
  destination->held = malloc(HELD_BYTES);
  destination->held_bytes = 0;
  destination->screen_lines = size.ws_row;
  destination->screen_columns = size.ws_col ? size.ws_col : 80;
  if (!destination->held) return NULL;
  FILE *stream = fopencookie(destination, "w", (cookie_io_functions_t){.write = take_output});
  if (stream) return stream;
  free(destination->held);
  destination->held = NULL;
  return NULL;
}

/* ---- a result ---- */

void destination_begin(struct destination *destination) {
  if (destination->terminal) return;
  destination->terminal = stdout;
  destination->is_gone = false;
  FILE *stream = destination->file ? destination->file : begin_holding(destination);
  if (stream) stdout = stream;
}

void destination_end(struct destination *destination) {
  FILE *terminal = destination->terminal;
  if (!terminal) return;
  if (stdout != terminal && stdout != destination->file) fclose(stdout); /* hands over what its buffer has */
  else fflush(stdout);
  stdout = terminal;
  if (destination->held) release(destination);
  if (destination->pager) {
    fclose(destination->pager); /* may fail where the reader left, which is no trouble */
    while (waitpid(destination->pager_process, NULL, 0) < 0 && errno == EINTR) continue;
    signal(SIGPIPE, destination->former_pipe);
  }
  destination->pager = NULL;
  destination->terminal = NULL;
}

bool destination_is_gone(const struct destination *destination) { return destination->is_gone; }

bool destination_set(struct destination *destination, const char *path) {
  FILE *file = NULL;
  char *copy = NULL;
  if (*path) {
    copy = strdup(path);
    file = copy ? fopen(path, "we") : NULL;
    if (!file) {
      free(copy);
      return false;
    }
  }
  bool is_whole = !destination->file || fclose(destination->file) == 0;
  free(destination->path);
  destination->file = file;
  destination->path = copy;
  return is_whole;
}

void destination_free(struct destination *destination) {
  destination_end(destination);
  if (destination->file) fclose(destination->file);
  free(destination->path);
  *destination = (struct destination){0};
}
