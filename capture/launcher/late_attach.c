/* late_attach.c: see late_attach.h.
**
** A script is written where the sockets of this user lie (control_place.h); the program's own interpreter, for it must
** be of the same version, tells the program to run it.  It loads the hooks (_tfprof_hooks.start_late), which watch what
** has been imported by then, make the program one that is dormant, and then empty the script.
**
** Where the program's main thread waits for something, Python runs the script only when that goes on.  So the script
** stays until then: of a script that is gone Python would complain on the program's stderr.
**
** Nothing of the program's own is changed: neither its environment nor sys.path.
*/
#include "late_attach.h"

#include "asked.h"
#include "common/control_place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
  FIRST_MINOR = 14, /* of CPython 3, that has sys.remote_exec */
  TELL_MS = 10000,  /* that an interpreter may take to start and tell */
  LISTEN_MS = 20000, /* that the program may take until it listens: it loads the hooks beside its own work */
  THREAD_MS = 3000,  /* that its thread at the socket may take to start */
  AGAIN_MS = 2000,   /* until it is told again, as CPython may miss it: it sets a bit that the program sets others of */
  LOOK_US = 20000,
};

static int64_t milliseconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The program file of a process: false where it is no Python that knows how. Others are never started: they may be
** programs with a Python inside. */
static bool find_interpreter(pid_t process, char path[PATH_MAX]) {
  char link[64], *end;
  snprintf(link, sizeof link, "/proc/%ld/exe", (long)process);
  ssize_t length = readlink(link, path, PATH_MAX - 1);
  if (length <= 0) return false;
  path[length] = '\0';
  const char *name = strrchr(path, '/');
  if (!name || strncmp(name, "/python3.", 9) != 0) return false;
  long minor = strtol(name + 9, &end, 10);
  return !*end && minor >= FIRST_MINOR && access(path, X_OK) == 0;
}

bool late_attach_is_possible(pid_t process) {
  char path[PATH_MAX], own[64];
  struct stat facts;
  snprintf(own, sizeof own, "/proc/%ld", (long)process);
  return stat(own, &facts) == 0 && facts.st_uid == geteuid() && find_interpreter(process, path);
}

/* Whether paths lead to the same files there as here. */
static bool sees_our_files(pid_t process) {
  char path[64];
  struct stat its, ours;
  snprintf(path, sizeof path, "/proc/%ld/ns/mnt", (long)process);
  return stat(path, &its) == 0 && stat("/proc/self/ns/mnt", &ours) == 0 && its.st_ino == ours.st_ino;
}

/* ---- The script. */

static const char script_begin[] = "def begin():\n"
                                   "    import os, sys\n"
                                   "    if '_tfprof_hooks' in sys.modules:\n"
                                   "        return\n"
                                   "    from _imp import _fix_co_filename\n"
                                   "    from importlib.machinery import SourceFileLoader\n"
                                   "    path = os.path.join(os.fsdecode(hooks), '_tfprof_hooks.py')\n"
                                   "    code = SourceFileLoader('_tfprof_hooks', path).get_code('_tfprof_hooks')\n"
                                   "    _fix_co_filename(code, '<_tfprof_hooks>')\n"
                                   "    module = type(sys)('_tfprof_hooks')\n"
                                   "    module.__file__ = path\n"
                                   "    sys.modules['_tfprof_hooks'] = module\n"
                                   "    exec(code, module.__dict__)\n"
                                   "    module.start_late({name: os.fsdecode(told[name]) for name in told}, script)\n"
                                   "\n\n";
static const char script_end[] = "try:\n"
                                 "    begin()\n"
                                 "except KeyboardInterrupt:\n" /* of the program: it is to have it */
                                 "    import _thread\n"
                                 "    _thread.interrupt_main()\n"
                                 "except Exception:\n"
                                 "    pass\n";

/* As a literal of bytes. */
static void write_literal(FILE *file, const char *text) {
  fputs("b'", file);
  for (; *text; text++) fprintf(file, "\\x%02x", (unsigned char)*text);
  fputs("'", file);
}

static bool write_setting(void *context, const char *name, const char *value) {
  FILE *file = context;
  fprintf(file, "    '%s': ", name);
  write_literal(file, value);
  return fputs(",\n", file) >= 0;
}

static bool write_script(FILE *file, const char *path, const struct capture_options *options,
                         const struct late_parts *parts) {
  fputs("script = ", file);
  write_literal(file, path);
  fputs("\nhooks = ", file);
  write_literal(file, parts->hooks);
  fputs("\ntold = {\n", file);
  options_tell(options, write_setting, file);
  write_setting(file, "TFPROF_DORMANT", "1");
  write_setting(file, "TFPROF_QUIET", "1"); /* what is said is said here */
  write_setting(file, "TFPROF_STEPS", "");  /* how many to record is told when it is asked */
  write_setting(file, "TFPROF_RUN_DIRECTORY", parts->directory);
  write_setting(file, "TFPROF_LIBRARY", parts->library);
  fprintf(file, "}\n\n\n%s%s", script_begin, script_end);
  bool is_written = fflush(file) == 0;
  return fclose(file) == 0 && is_written;
}

/* Of processes that have ended. */
static void remove_old_scripts(const char *place, int directory) {
  DIR *listing = opendir(place);
  for (struct dirent *entry; listing && (entry = readdir(listing));) {
    char name[CONTROL_NAME_SIZE];
    size_t length = strlen(entry->d_name);
    uint64_t start_time;
    pid_t process;
    if (length < 4 || length - 3 >= sizeof name || strcmp(entry->d_name + length - 3, ".py") != 0) continue;
    memcpy(name, entry->d_name, length - 3);
    name[length - 3] = '\0';
    if (control_name_read(name, &process, &start_time) && control_start_time(process) != start_time)
      unlinkat(directory, entry->d_name, 0);
  }
  if (listing) closedir(listing);
}

/* The place that the process itself would take for its socket. */
static bool make_script(pid_t process, const struct capture_options *options, const struct late_parts *parts,
                        char path[PATH_MAX], char *problem, size_t size) {
  static char places[CONTROL_PLACES][4096];
  char name[CONTROL_NAME_SIZE + 8], part[sizeof name + 8];
  unsigned count = control_places(geteuid(), getenv("XDG_RUNTIME_DIR"), places), i = 0;
  int directory = -1;
  for (; i < count && directory < 0; i++) directory = control_place_open(places[i], geteuid(), true, problem, size);
  if (directory < 0) return false;
  remove_old_scripts(places[i - 1], directory);
  control_name(name, process, control_start_time(process));
  strcat(name, ".py");
  snprintf(part, sizeof part, "%s.part", name);
  bool is_made = (size_t)snprintf(path, PATH_MAX, "%s/%s", places[i - 1], name) < PATH_MAX;
  int descriptor = is_made ? openat(directory, part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
  FILE *file = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
  is_made = file && write_script(file, path, options, parts) && renameat(directory, part, directory, name) == 0;
  if (!is_made) snprintf(problem, size, "%.1000s/%s cannot be written: %s", places[i - 1], name, strerror(errno));
  close(directory);
  return is_made;
}

/* ---- Telling. */

/* What the interpreter said on its stderr, at most `size` bytes of its end. Whether it ended well. */
static bool run_interpreter(const char *interpreter, pid_t process, const char *script, char *said, size_t size) {
  static const char code[] = "import sys; sys.remote_exec(int(sys.argv[1]), sys.argv[2])";
  char number[24];
  int ends[2];
  snprintf(number, sizeof number, "%ld", (long)process);
  said[0] = '\0';
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  pid_t child = fork();
  if (child == 0) {
    int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, 0);
    dup2(nothing, 1);
    dup2(ends[1], 2);
    execl(interpreter, interpreter, "-I", "-c", code, number, script, (char *)NULL);
    _exit(127);
  }
  close(ends[1]);
  int64_t end = milliseconds_now() + TELL_MS;
  size_t length = 0;
  for (;;) {
    struct pollfd look = {.fd = ends[0], .events = POLLIN};
    int64_t left = end - milliseconds_now();
    if (left <= 0 || child < 0) break;
    if (poll(&look, 1, (int)left) < 0 && errno != EINTR) break;
    if (length == size - 1) memmove(said, said + size / 2, length -= size / 2);
    ssize_t got = look.revents ? read(ends[0], said + length, size - 1 - length) : 0;
    if (got <= 0 && look.revents) break;
    length += (size_t)(got > 0 ? got : 0);
  }
  said[length] = '\0';
  close(ends[0]);
  int status = -1;
  if (child > 0 && milliseconds_now() >= end) kill(child, SIGKILL);
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status);
}

/* Of what CPython says, the last line is the exception. */
static void explain(char *said, char *problem, size_t size) {
  static const struct {
    const char *word, *meaning;
  } known[] = {
      {"PermissionError",
       "this system does not let one process look into another (kernel.yama.ptrace_scope, seccomp of a container): "
       "root may, or who has CAP_SYS_PTRACE"},
      {"not enabled in the remote process",
       "it was started with remote debugging switched off (PYTHON_DISABLE_REMOTE_DEBUG, -X disable-remote-debug)"},
      {"not enabled", "its Python was built without remote debugging"},
  };
  size_t length = strlen(said);
  while (length && said[length - 1] == '\n') said[--length] = '\0';
  const char *line = strrchr(said, '\n');
  line = line ? line + 1 : said;
  for (size_t i = sizeof known / sizeof known[0]; i--;)
    if (strstr(said, known[i].word)) line = known[i].meaning;
  snprintf(problem, size, "%s", *line ? line : "its interpreter cannot be started once more");
}

static bool does_listen(pid_t process) {
  struct asked_list list;
  bool does = asked_find(process, &list) && list.count && list.all[0]->facts.kind == CONTROL_FACTS;
  asked_free(&list);
  return does;
}

/* How far the program is. */
enum progress { NOT_RUN, HAS_RUN /* the script */, LISTENS };

/* Until it is further than `known`, or for so long. */
static enum progress look_for(pid_t process, const char *script, int milliseconds, enum progress known) {
  int64_t end = milliseconds_now() + milliseconds;
  for (;; usleep(LOOK_US)) {
    struct stat facts;
    if (does_listen(process)) return LISTENS;
    bool has_run = known == HAS_RUN || (stat(script, &facts) == 0 && !facts.st_size);
    if (has_run && known == NOT_RUN) return HAS_RUN;
    if (milliseconds_now() >= end) return known;
  }
}

bool late_attach(pid_t process, const struct capture_options *options, const struct late_parts *parts, char *problem,
                 size_t size) {
  char interpreter[PATH_MAX], script[PATH_MAX], said[4096];
  if (!sees_our_files(process)) {
    snprintf(problem, size, "it has files of its own, as in a container: call tfprof-capture there (nsenter, docker "
                            "exec), with this directory mounted");
    return false;
  }
  if (!find_interpreter(process, interpreter) || !make_script(process, options, parts, script, problem, size))
    return false;
  int64_t end = milliseconds_now() + LISTEN_MS;
  enum progress progress = NOT_RUN;
  unsigned tries = 0;
  for (; progress == NOT_RUN && milliseconds_now() < end; progress = look_for(process, script, AGAIN_MS, NOT_RUN)) {
    tries++;
    if (run_interpreter(interpreter, process, script, said, sizeof said)) continue;
    explain(said, problem, size);
    unlink(script);
    return false;
  }
  if (progress == HAS_RUN) progress = look_for(process, script, THREAD_MS, HAS_RUN);
  if (progress != NOT_RUN) (void)!(tries > 1 ? truncate(script, 0) : unlink(script)); /* it may be run once more */
  if (progress == NOT_RUN)
    snprintf(problem, size,
             "its main thread has run no Python for %d s; it is asked to listen as soon as it does: try again then",
             LISTEN_MS / 1000);
  if (progress == HAS_RUN)
    snprintf(problem, size, "it has imported none of PyTorch, TensorFlow and JAX yet; it listens once it has");
  return progress == LISTENS;
}
