/* tfprof-capture: runs a training program with the recorder inside it.
**
**   tfprof-capture [OPTIONS] [--] PROGRAM [ARGUMENT...]
**
** It makes the run directory, tells the injected side through the environment what to do, runs the program, and says on
** stderr what was recorded.  Nothing of the program is changed: the recorder comes in through Python's own start-up
** hook, and where CUDA's driver and NVTX look for a library of tools.
**
** The environment that the program and its children get, on top of ours:
**
**   TFPROF_RUN_DIRECTORY  absolute path of the run directory; each process writes HOST-PID.tfprof in it
**   TFPROF_LIBRARY        absolute path of libtfprof_capture.so
**   TFPROF_STDERR         DEVICE:INODE of our stderr: what the library says goes there or nowhere (recorder/parts.h)
**   TFPROF_LAUNCHER       our number: who writes what is kept of a process that was killed (--keep)
**   TFPROF_RUN_COMMAND    the program's command line as it is recorded of the run; empty with --no-command
**   PYTHONPATH            the hooks' directory, then what it was before
**   CUDA_INJECTION64_PATH the same library, which CUDA's driver loads when a program initialises it; where the user has
**                         set it, it stays
**   NVTX_INJECTION64_PATH the same, which the header of NVTX loads at its first call
**   LD_PRELOAD            libtfprof_preload.so, then what it was before: for a Python with -I, -E or -S
**   and the variables of the options (options.c)
**
** With --check the program is a check of our own (check).
**
** Files: options (command line, help), run_directory (makes, refuses, locks), program (what kind of program it is),
** supervise (start, signals, end), recording (reads what was written), report (says it); asked, listing, attach and
** late_attach (what runs already), profiler_servers, profiler_messages, profiler_address and curl_library (of that,
** profiler servers), run_link (what is recorded).
*/
#include "attach.h"
#include "check.h"
#include "governor/agreement_table.h"
#include "kept.h"
#include "last_call.h"
#include "listing.h"
#include "options.h"
#include "program.h"
#include "common/command_line.h"
#include "report.h"
#include "run_directory.h"
#include "run_link.h"
#include "status.h"
#include "supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct installation {
  char library[PATH_MAX];   /* libtfprof_capture.so */
  char preload[PATH_MAX];   /* libtfprof_preload.so */
  char hooks[PATH_MAX];     /* the directory of sitecustomize.py */
  char extension[PATH_MAX]; /* what .load of sqlite3 takes */
  bool is_built;            /* in a build tree, not installed */
};

static bool join(char *path, const char *directory, const char *name) {
  return (size_t)snprintf(path, PATH_MAX, "%s/%s", directory, name) < PATH_MAX;
}

/* The other parts lie beside this program in a build tree, and in lib/tfprof when it is installed. */
static bool find_installation(struct installation *found) {
  static const char *const places[] = {".", TFPROF_INSTALLED_PARTS};
  char self[PATH_MAX], place[PATH_MAX], hook[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length <= 0) {
    fprintf(stderr, "tfprof-capture: /proc/self/exe cannot be read, which says where the recorder is: %s\n",
            strerror(errno));
    return false;
  }
  self[length] = '\0';
  *strrchr(self, '/') = '\0';
  for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
    char directory[PATH_MAX];
    if (!join(place, self, places[i]) || !realpath(place, directory)) continue;
    if (!join(found->library, directory, "libtfprof_capture.so") ||
        !join(found->preload, directory, "libtfprof_preload.so") || !join(found->hooks, directory, "python"))
      continue;
    if (access(found->library, R_OK) != 0 || !join(hook, found->hooks, "sitecustomize.py") || access(hook, R_OK) != 0)
      continue;
    if (i == 0) {
      found->is_built = true;
      return join(found->extension, directory, "tfprof");
    }
    *strrchr(directory, '/') = '\0'; /* from lib/tfprof to lib */
    if (strncmp(directory, "/usr/lib", strlen("/usr/lib")) != 0 && strncmp(directory, "/lib", strlen("/lib")) != 0) {
      return join(found->extension, directory, "tfprof");
    }
    strcpy(found->extension, "tfprof"); /* where the loader looks by itself */
    return true;
  }
  fprintf(stderr,
          "tfprof-capture: libtfprof_capture.so and python/sitecustomize.py are neither in %s nor in "
          "%s/%s; build or install tfprof again\n",
          self, self, TFPROF_INSTALLED_PARTS);
  return false;
}

/* The directory part of the word that started us ("build/"), so that what is to be typed next looks the same. */
static void find_tools(const char *word, char *tools) {
  const char *slash = strrchr(word, '/');
  size_t length = slash ? (size_t)(slash - word) + 1 : 0;
  if (length >= PATH_MAX) length = 0;
  memcpy(tools, word, length);
  tools[length] = '\0';
}

/* The linker splits LD_PRELOAD at blanks and colons, and knows no quotes. */
static bool set_preload(const struct installation *parts) {
  if (strpbrk(parts->preload, ": ")) {
    fprintf(stderr,
            "tfprof-capture: the path %s has a blank or a colon, which LD_PRELOAD cannot hold: a Python that is "
            "started with -I, -E or -S will not be recorded\n",
            parts->preload);
    return true;
  }
  const char *former = getenv("LD_PRELOAD");
  char *path = NULL;
  bool is_set = asprintf(&path, former && *former ? "%s:%s" : "%s", parts->preload, former) >= 0 &&
                setenv("LD_PRELOAD", path, 1) == 0;
  free(path);
  return is_set;
}

/* What the user has set stays: another tool, which would not work any more. */
static bool set_injection(const char *variable, const char *what, const char *library, bool is_quiet) {
  const char *former = getenv(variable);
  if (!former || !*former || strcmp(former, library) == 0) return setenv(variable, library, 1) == 0;
  if (!is_quiet)
    fprintf(stderr, "tfprof-capture: %s is set to %s and is left so: %s will not be recorded; unset it for that\n",
            variable, former, what);
  return true;
}

/* Descriptors 0 to 2 that we were started without stay closed for the program. Here no file of ours takes their
** numbers, or what we say would go into it. Returns whether there is a stderr. */
static bool hold_standard_descriptors(void) {
  bool has_stderr = fcntl(STDERR_FILENO, F_GETFD) >= 0;
  int held;
  do held = open("/dev/null", O_RDWR | O_CLOEXEC);
  while (held >= 0 && held <= STDERR_FILENO);
  if (held >= 0) close(held);
  return has_stderr;
}

/* Before we add to it; its texts stay. NULL: no memory. */
static char **copy_environment(void) {
  size_t count = 0;
  while (environ[count]) count++;
  char **copy = malloc((count + 1) * sizeof *copy);
  if (copy) memcpy(copy, environ, (count + 1) * sizeof *copy);
  return copy;
}

static bool export_stderr(bool has_stderr) {
  char text[64] = "none";
  struct stat facts;
  if (has_stderr && fstat(STDERR_FILENO, &facts) == 0)
    snprintf(text, sizeof text, "%llu:%llu", (unsigned long long)facts.st_dev, (unsigned long long)facts.st_ino);
  char number[24];
  snprintf(number, sizeof number, "%ld", (long)getpid());
  return setenv("TFPROF_STDERR", text, 1) == 0 && setenv("TFPROF_LAUNCHER", number, 1) == 0;
}

/* False: short of memory, or a path that PYTHONPATH cannot hold. */
static bool set_environment(const struct capture_options *options, const struct installation *parts,
                            const struct program *program, const char *run_directory) {
  if (strchr(parts->hooks, ':')) {
    fprintf(stderr,
            "tfprof-capture: the path of the hooks, %s, has a colon, which PYTHONPATH cannot hold: move tfprof "
            "elsewhere\n",
            parts->hooks);
    return false;
  }
  const char *former = getenv("PYTHONPATH");
  char *path = NULL, *command = options_is_on(options, OPTION_COMMAND) && options->command
                                    ? command_line_recorded(options->command, options_is_on(options, OPTION_SOURCE))
                                    : strdup("");
  bool is_set = asprintf(&path, former && *former ? "%s:%s" : "%s", parts->hooks, former) >= 0 && command &&
                setenv("PYTHONPATH", path, 1) == 0 && setenv("TFPROF_RUN_COMMAND", command, 1) == 0 &&
                setenv("TFPROF_RUN_DIRECTORY", run_directory, 1) == 0 &&
                setenv("TFPROF_LIBRARY", parts->library, 1) == 0 && options_export(options) &&
                set_injection("CUDA_INJECTION64_PATH", "what the GPU does", parts->library,
                              options_is_on(options, OPTION_QUIET)) &&
                set_injection("NVTX_INJECTION64_PATH", "what the program marks by NVTX", parts->library,
                              options_is_on(options, OPTION_QUIET));
  if (is_set && (program->isolation || options_is_on(options, OPTION_PRELOAD))) is_set = set_preload(parts);
  if (!is_set) fputs("tfprof-capture: not enough memory\n", stderr);
  free(path);
  free(command);
  return is_set;
}

int main(int argc, char **argv) {
  static struct run_directory directory;
  static struct installation parts;
  static struct program program;
  static char tools[PATH_MAX];
  static struct capture_options options;
  bool has_stderr = hold_standard_descriptors();
  char **former = copy_environment();

  enum options_result parsed = options_parse(argc, argv, &options);
  if (parsed != OPTIONS_RUN) return parsed == OPTIONS_SHOWN ? 0 : STATUS_USAGE;
  if (!export_stderr(has_stderr)) return STATUS_CANNOT_RECORD;
  if (!find_installation(&parts)) return STATUS_CANNOT_RECORD;
  find_tools(argv[0], tools);
  char short_extension[PATH_MAX]; /* build/tfprof, as short as it was typed */
  bool is_short =
      parts.is_built && *tools &&
      (size_t)snprintf(short_extension, sizeof short_extension, "%stfprof", tools) < sizeof short_extension;
  const char *extension = is_short ? short_extension : parts.extension;
  if (options_is_on(&options, OPTION_LIST)) return listing_show(options_text(&options, OPTION_ATTACH));
  if (options_text(&options, OPTION_ATTACH))
    return attach_run(&options, parts.library, parts.hooks, tools, extension);
  if (options_check_only(&options)) {
    if (options.command) program_examine(options.command, &program);
    if (!check_begin(directory.absolute) || !set_environment(&options, &parts, &program, directory.absolute))
      return STATUS_CANNOT_RECORD;
    return check_run(options.command, parts.hooks, directory.absolute);
  }
  program_examine(options.command, &program);
  bool is_quiet = options_is_on(&options, OPTION_QUIET);
  int status = run_directory_open(options_text(&options, OPTION_OUTPUT),
                                  options_is_on(&options, OPTION_FORCE) ? RUN_DIRECTORY_REPLACE : RUN_DIRECTORY_REFUSE,
                                  is_quiet, &directory);
  if (status) return status;
  if (!set_environment(&options, &parts, &program, directory.absolute)) return STATUS_CANNOT_RECORD;

  struct outcome outcome;
  last_call_prepare();
  kept_collect_left(is_quiet);
  if (!options_is_on(&options, OPTION_DORMANT)) run_link_begin(directory.absolute);
  supervise(options.command, former, directory.lock, &outcome);
  run_link_end();
  agreement_table_remove_unused();
  signal(SIGPIPE, SIG_IGN); /* nobody may be reading stderr; the exit status is still owed */
  if (outcome.start_error) {
    run_directory_discard(&directory);
    return program_explain_failure(options.command, &program, outcome.start_error);
  }
  kept_collect(directory.absolute, &outcome);
  report(&options, &directory, &program, &outcome, tools, extension);
  end_as(outcome.wait_status);
}
