/* options.c: parses the command line of tfprof-capture, and teaches it (--help).
**
** Options end at `--` or at the first word that is none: from there on everything belongs to the program.
*/
#include "options.h"

#include <stdio.h>
#include <string.h>

static const char help_text[] =
    "Records what a PyTorch training program does, without any change to it, so that\n"
    "it can be asked about in SQL.\n"
    "\n"
    "  tfprof-capture -- python train.py             record into tfprof-run\n"
    "  tfprof-capture -o run -- python train.py      record into the directory run\n"
    "  tfprof-capture -o run --force -- python ...   once more, in its place\n"
    "  tfprof-capture -o run -- torchrun --nproc-per-node 4 train.py\n"
    "                                                every process, a file for each\n"
    "and then, at once or while it still runs,\n"
    "\n"
    "  tfprof run                                    an SQL prompt on the recording\n"
    "  tfprof run \"SELECT * FROM step_summary\"       one answer\n"
    "  tfprof run advise                             what to improve first\n"
    "\n"
    "usage: tfprof-capture [options] [--] PROGRAM [ARGUMENT...]\n"
    "\n"
    "  -o, --output DIR  the run directory; made when it is missing, refused when it\n"
    "                    holds a recording. Without -o: tfprof-run, tfprof-run-2 ...\n"
    "      --force       remove the recording that DIR holds (its *.tfprof files and\n"
    "                    nothing else) and record anew\n"
    "      --ops=all     record every op of every step; so far the only mode\n"
    "      --no-stacks   do not record from which line of Python an op was called\n"
    "      --no-shapes   do not record the shapes and types of the ops' inputs\n"
    "      --quiet       print nothing unless something is wrong\n"
    "      --help        this text\n"
    "      --version     the version\n"
    "\n"
    "While it records, tfprof-capture prints to stderr only. Signals sent to it go on\n"
    "to the program, and it ends as the program does: with its exit status, or by its\n"
    "signal. Exit statuses of its own: 2 wrong usage, 125 it cannot record (then the\n"
    "program is not started), 126 the program cannot be run, 127 there is none such.\n"
    "\n"
    "Each process that imports PyTorch writes DIR/HOST-PID.tfprof as it goes: however\n"
    "the program ends, all but the last second is there. A Python that is started\n"
    "with -I, -E or -S is not recorded.\n";

static const char *const option_names[] = {"--output",    "--force", "--ops",  "--no-stacks",
                                           "--no-shapes", "--quiet", "--help", "--version"};

/* Letters that two words share at their beginnings; enough to guess what a mistyped option was meant to be. */
static size_t common_prefix(const char *a, const char *b) {
  size_t length = 0;
  while (a[length] && a[length] == b[length]) length++;
  return length;
}

static enum options_result wrong(const char *what, const char *word) {
  fprintf(stderr, "tfprof-capture: %s '%s'", what, word);
  const char *nearest = NULL;
  size_t best = 3; /* "--" and one letter more */
  for (size_t i = 0; i < sizeof option_names / sizeof option_names[0]; i++) {
    size_t length = common_prefix(option_names[i], word);
    if (length >= best && strcmp(option_names[i], word) != 0) {
      best = length + 1;
      nearest = option_names[i];
    }
  }
  if (nearest) fprintf(stderr, "; did you mean %s?", nearest);
  fprintf(stderr, "\nusage: tfprof-capture [options] [--] PROGRAM [ARGUMENT...]; --help explains the options\n");
  return OPTIONS_WRONG;
}

/* The value of an option written as `--name VALUE`, `--name=VALUE`, `-n VALUE` or `-nVALUE`. NULL: it has none. */
static const char *value_of(char **argv, int *i, size_t name_length) {
  const char *rest = argv[*i] + name_length;
  if (*rest == '=' && name_length > 2) return rest + 1;
  if (*rest) return rest;
  return argv[*i + 1] ? argv[++*i] : NULL;
}

enum options_result options_parse(int argc, char **argv, struct capture_options *options) {
  *options = (struct capture_options){.stacks = true, .shapes = true};
  int i = 1;
  for (; i < argc && argv[i][0] == '-'; i++) {
    const char *word = argv[i];
    if (strcmp(word, "--") == 0) {
      i++;
      break;
    } else if (strcmp(word, "--output") == 0 || strncmp(word, "--output=", 9) == 0 || strncmp(word, "-o", 2) == 0) {
      options->output = value_of(argv, &i, word[1] == '-' ? 8 : 2);
      if (!options->output || !*options->output) return wrong("no directory is given with", word);
    } else if (strcmp(word, "--force") == 0) {
      options->force = true;
    } else if (strcmp(word, "--ops") == 0 || strncmp(word, "--ops=", 6) == 0) {
      const char *mode = value_of(argv, &i, 5);
      if (!mode || strcmp(mode, "all") != 0)
        return wrong("--ops=all is the only mode in this version, not", mode ? mode : "");
    } else if (strcmp(word, "--no-stacks") == 0) {
      options->stacks = false;
    } else if (strcmp(word, "--no-shapes") == 0) {
      options->shapes = false;
    } else if (strcmp(word, "--quiet") == 0 || strcmp(word, "-q") == 0) {
      options->quiet = true;
    } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
      fputs(help_text, stdout);
      return OPTIONS_SHOWN;
    } else if (strcmp(word, "--version") == 0) {
      fputs("tfprof-capture " TFPROF_RELEASE "\n", stdout);
      return OPTIONS_SHOWN;
    } else {
      return wrong("unknown option", word);
    }
  }
  if (i >= argc) {
    fputs(
        "tfprof-capture: no program is given; say what to record, such as\n"
        "  tfprof-capture -o run -- python train.py\n"
        "--help explains the options\n",
        stderr);
    return OPTIONS_WRONG;
  }
  options->command = argv + i;
  return OPTIONS_RUN;
}
