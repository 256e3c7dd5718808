/* serve_command.c: see serve_command.h; serve/serve.c does it. */
#include "serve_command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve/serve.h"

enum { SERVE_COMMAND_FAILED = 1, SERVE_COMMAND_USAGE = 2, SERVE_COMMAND_OPEN = 3 };

static const char serve_help[] =
    "usage: tfprof serve RUN... [options]\n"
    "\n"
    "Serves the page of `tfprof report` to browsers on this computer, live while a\n"
    "job is recorded. It prints one address, with a token that nobody else knows:\n"
    "\n"
    "  $ tfprof serve run\n"
    "  http://127.0.0.1:41234/#token=8c0f...\n"
    "\n"
    "From another computer, forward the port first and open the same address there:\n"
    "\n"
    "  $ ssh -N -L 41234:127.0.0.1:41234 the-host\n"
    "\n"
    "The page shows one of several runs, and compares them. It can record more into a\n"
    "run, from two kinds of programs: those that tfprof-capture --dormant has\n"
    "started, and those of TensorFlow and JAX that have started a profiler server.\n"
    "\n"
    "      --port N          that port instead of a free one\n"
    "      --socket PATH     a socket in the file system that only its owner can\n"
    "                        open, for hosts with other users:\n"
    "                        ssh -N -L 8888:PATH the-host\n"
    "      --listen ADDRESS  an address of this computer that others can reach.\n"
    "                        Nothing is encrypted, so ssh -L is better\n"
    "      --host-name NAME  another name that browsers may use for it. It may come\n"
    "                        several times\n"
    "      --token-file FILE a file with the token, 32 hexadecimal digits, instead of\n"
    "                        a new one each time. Nobody else may read that file\n"
    "      --stay            goes on when nobody has asked for half an hour\n"
    "  -h, --help            this text\n"
    "\n"
    "TFPROF_OPEN names the runs when none is given, separated by colons. Ctrl-C ends\n"
    "it. Exit status: 0 it was ended, 1 it cannot listen, 2 wrong usage, 3 a run\n"
    "cannot be opened.\n";

static int serve_usage(const char *what, const char *word) {
  fputs("tfprof serve: ", stderr);
  fprintf(stderr, what, word);
  fputs("\nusage: tfprof serve RUN... [options]; `tfprof serve --help` explains them\n", stderr);
  return SERVE_COMMAND_USAGE;
}

bool serve_is_asked(char **argv) { return argv[1] && strcmp(argv[1], "serve") == 0 && access("serve", F_OK) != 0; }

/* The value of `--name VALUE` or `--name=VALUE`; NULL: another option; "": it is missing. */
static const char *serve_value(char **argv, int *i, const char *name) {
  size_t length = strlen(name);
  if (strncmp(argv[*i], name, length) != 0) return NULL;
  if (argv[*i][length] == '=') return argv[*i] + length + 1;
  if (argv[*i][length]) return NULL;
  return argv[*i + 1] ? argv[++*i] : "";
}

static bool take_port(const char *text, unsigned *port) {
  char *end;
  errno = 0;
  unsigned long number = strtoul(text, &end, 10);
  if (!*text || strspn(text, "0123456789") != strlen(text) || errno || number > 65535) return false;
  *port = (unsigned)number;
  return true;
}

/* The first word of the file. NULL, or what is wrong, with a place for the path: who can read the file can ask. */
static const char *read_token(const char *path, char token[TOKEN_LENGTH + 1]) {
  struct stat info;
  FILE *file = fopen(path, "re");
  bool is_read = file && fscanf(file, "%32s", token) == 1;
  int next = file ? getc(file) : EOF;
  bool is_known = file && fstat(fileno(file), &info) == 0 && S_ISREG(info.st_mode) &&
                  (info.st_mode & (S_IRGRP | S_IROTH)) != 0;
  if (file) fclose(file);
  if (!is_read || (next != EOF && next != '\n' && next != '\r' && next != ' ') || !request_is_token(token))
    return "'%s' has no token: 32 digits of hexadecimal, such as `openssl rand -hex 16` prints";
  return is_known ? "'%s' can be read by others, and so the token is no secret: chmod 600 that file" : NULL;
}

struct serve_words {
  struct serve_options options;
  const char *runs[MOST_SERVED_RUNS];
  char token[TOKEN_LENGTH + 1];
};

static int take_serve_value(char **argv, int *i, struct serve_words *words) {
  struct serve_options *options = &words->options;
  const char *word = argv[*i], *value;
  if ((value = serve_value(argv, i, "--port"))) {
    if (!take_port(value, &options->port)) return serve_usage("'%s' is no port", value) + 1;
  } else if ((value = serve_value(argv, i, "--socket"))) {
    if (!*value) return serve_usage("%s needs a path", word) + 1;
    options->socket = value;
  } else if ((value = serve_value(argv, i, "--listen"))) {
    if (!*value) return serve_usage("%s needs an address", word) + 1;
    options->address = value;
  } else if ((value = serve_value(argv, i, "--host-name"))) {
    if (!*value) return serve_usage("%s needs a name", word) + 1;
    if (options->host_name_count == MOST_HOST_NAMES) return serve_usage("%s: there are too many", word) + 1;
    options->host_names[options->host_name_count++] = value;
  } else if ((value = serve_value(argv, i, "--token-file"))) {
    const char *wrong = read_token(value, words->token);
    if (wrong) return serve_usage(wrong, value) + 1;
    options->token = words->token;
  } else {
    return serve_usage("unknown option '%s'", word) + 1;
  }
  return 0;
}

/* 0, or the exit status plus 1. */
static int take_serve_words(char **argv, struct serve_words *words) {
  bool has_ended = false;
  for (int i = 2; argv[i]; i++) {
    const char *word = argv[i];
    int status = 0;
    if (has_ended || word[0] != '-' || !word[1]) {
      if (words->options.path_count == MOST_SERVED_RUNS) return serve_usage("%s runs are the most", "64") + 1;
      words->runs[words->options.path_count++] = word;
    } else if (strcmp(word, "--") == 0) {
      has_ended = true;
    } else if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0) {
      fputs(serve_help, stdout);
      return 1;
    } else if (strcmp(word, "--stay") == 0) {
      words->options.stays = true;
    } else {
      status = take_serve_value(argv, &i, words);
    }
    if (status) return status;
  }
  if (words->options.socket && (words->options.address || words->options.port))
    return serve_usage("%s stands alone, without --listen and --port", "--socket") + 1;
  return 0;
}

int serve_command(char **argv) {
  struct serve_words words = {.options = {.path_count = 0}};
  const char *environment = getenv("TFPROF_OPEN");
  char *paths = environment ? strdup(environment) : NULL, *rest = paths;
  int status = take_serve_words(argv, &words);
  /* Each connection would open what it names, as if it were of every run. */
  unsetenv("TFPROF_OPEN");
  if (!status && !words.options.path_count) {
    for (char *path; rest && (path = strsep(&rest, ":"));) {
      if (*path && words.options.path_count < MOST_SERVED_RUNS) words.runs[words.options.path_count++] = path;
    }
    if (!words.options.path_count) status = serve_usage("no run is given%s", "") + 1;
  }
  if (status) {
    free(paths);
    return status - 1;
  }
  words.options.paths = words.runs;
  enum serve_result result = serve_run(&words.options);
  free(paths);
  return result == SERVE_ENDED ? 0 : result == SERVE_FAILED ? SERVE_COMMAND_FAILED : SERVE_COMMAND_OPEN;
}
