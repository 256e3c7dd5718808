/* listing.c: see listing.h. */
#include "listing.h"

#include "asked.h"
#include "run_link.h"
#include "status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROGRAM_CHARACTERS = 80 };

/* A command line in one line, of which what is beyond the bound is left out. */
static void show_program(const char *program) {
  int characters = 0;
  for (; *program; program++) {
    bool is_inside = ((unsigned char)*program & 0xc0) == 0x80; /* a character of UTF-8 */
    if (!is_inside && characters++ == PROGRAM_CHARACTERS) break;
    putchar((unsigned char)*program < ' ' || *program == 0x7f ? ' ' : *program);
  }
  puts(*program ? "…" : "");
}

static void show_row(long process, int rank, unsigned world, const char *steps, const char *state,
                     const char *framework, const char *program) {
  char rank_text[32] = "-";
  if (rank >= 0 && world) snprintf(rank_text, sizeof rank_text, "%d of %u", rank, world);
  else if (rank >= 0) snprintf(rank_text, sizeof rank_text, "%d", rank);
  printf("%-9ld %-10s %-10s %-10s %-22s ", process, rank_text, steps, state, framework && *framework ? framework : "-");
  show_program(program ? program : "");
}

static void show_head(bool *has_head) {
  if (!*has_head)
    printf("%-9s %-10s %-10s %-10s %-22s %s\n", "PROCESS", "RANK", "STEPS", "STATE", "FRAMEWORK", "PROGRAM");
  *has_head = true;
}

static void show_recorded(void *context, const char *directory, const struct process_recording *process) {
  char steps[32];
  (void)directory;
  show_head(context);
  snprintf(steps, sizeof steps, "%llu", (unsigned long long)process->steps.steps);
  show_row((long)process->pid, process->rank, 0, steps, "recorded", process->framework, process->command);
}

static void say_nothing(const char *whom) {
  if (whom) {
    fprintf(stderr, "tfprof-capture: %s: no program of that run can be asked\n", whom);
    return;
  }
  fputs("tfprof-capture: there is nothing to attach to: no program of yours that was started with\n"
        "  tfprof-capture --dormant -o run -- python train.py\n"
        "or with --keep has imported PyTorch, TensorFlow or JAX, initialised CUDA or called NVTX, and still runs\n",
        stderr);
}

int listing_show(const char *whom) {
  static const char *const states[] = {"dormant", "waiting", "recording", "keeping"};
  struct asked_list list;
  bool has_head = false;
  char *directory = asked_run_of(whom);
  if (!asked_find(0, &list)) fputs("tfprof-capture: not enough memory: some are missing\n", stderr);
  for (size_t i = 0; i < list.count; i++) {
    const struct asked *asked = list.all[i];
    const uint64_t *numbers = asked->facts.numbers;
    if (asked->facts.kind != CONTROL_FACTS || (directory && !asked_is_of_run(asked, directory))) continue;
    char steps[32];
    snprintf(steps, sizeof steps, "%llu", (unsigned long long)numbers[CONTROL_STEPS]);
    show_head(&has_head);
    show_row((long)asked->process, (int)numbers[CONTROL_RANK] - 1, (unsigned)numbers[CONTROL_WORLD], steps,
             numbers[CONTROL_STATE] < sizeof states / sizeof *states ? states[numbers[CONTROL_STATE]] : "?",
             control_text(&asked->facts, CONTROL_FRAMEWORK), control_text(&asked->facts, CONTROL_PROGRAM));
  }
  if (!directory) run_links_tell(show_recorded, &has_head);
  for (size_t i = 0; i < list.count && !directory; i++) {
    const struct asked *asked = list.all[i];
    if (asked->facts.kind != CONTROL_FACTS && strcmp(asked->problem, "it has ended") != 0)
      fprintf(stderr, "tfprof-capture: process %ld: %s\n", (long)asked->process, asked->problem);
  }
  if (!has_head) say_nothing(directory ? whom : NULL);
  asked_free(&list);
  free(directory);
  return whom && !has_head;
}
