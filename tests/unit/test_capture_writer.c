/* test_capture_writer.c: the writer thread beside a program that goes on: it never looks into the environment, a disk
** that takes nothing lets no queue grow without bound, and what it is told at the end it still has when the program
** did not wait for it.
*/
#include "fake_torch.h"

#include "host/process_identity.h"
#include "recorder/recording.h"
#include "torch/module_rows.h"

#include <sys/prctl.h>

enum { TOLD_MAXIMUM = 200000, TIMEOUT_MS = 50, CLOSED_SECONDS = 60, RANK = 5, WORLD_SIZE = 8 };

/* ---- The environment, which other threads may be changing: only the program's own look at it. */

static _Atomic unsigned looks_of_writer;
extern char **environ;

char *getenv(const char *name) {
  char thread[16] = "";
  prctl(PR_GET_NAME, thread);
  if (!strcmp(thread, "tfprof-writer")) looks_of_writer++;
  size_t length = strlen(name);
  for (char **variable = environ; *variable; variable++)
    if (!strncmp(*variable, name, length) && (*variable)[length] == '=') return *variable + length + 1;
  return NULL;
}

/* ---- A queue that nobody empties. */

static bool tell_parameter(void) {
  return module_tell(&(struct module_node){.parent = -1, .depth = 1, .name = "weight", .type = "Parameter"});
}

static uint64_t test_full_queue(void) {
  uint64_t taken = 0;
  recording_before_fork(); /* the writer waits as it would for a disk */
  while (taken < TOLD_MAXIMUM && tell_parameter()) taken++;
  check(taken > 1000 && taken < TOLD_MAXIMUM, "%llu modules wait in the queue", (unsigned long long)taken);
  check(!module_tell_change(&(struct module_change){.row = 0, .kind = "seen", .parameters = -1}), "a change is taken");
  check(module_queue_refused() == 2, "%llu are refused", (unsigned long long)module_queue_refused());
  recording_after_fork_in_parent();
  tfprof_capture_flush();
  check(tell_parameter(), "nothing is taken any more");
  return taken + 1;
}

/* ---- The end, for which nobody waits. */

static __attribute__((noinline)) void finish_without_waiting(void) {
  struct process_identity identity;
  process_identity_get(&identity);
  snprintf(identity.host, sizeof identity.host, "the last host");
  recording_before_fork();
  recording_finish(&identity.profile, TIMEOUT_MS);
  memset(&identity, 'x', sizeof identity); /* as whatever is called next does with this stack */
  __asm__ volatile("" : : "r"(&identity) : "memory");
}

int main(void) {
  char path[4352];
  struct dump_file *file = NULL;
  setenv("RANK", "3", 1);
  setenv("WORLD_SIZE", "4", 1);
  fake_torch_begin();
  check(tfprof_capture_arm(), "the library does not arm");
  uint64_t told = test_full_queue();
  process_identity_set_rank(RANK, WORLD_SIZE); /* which the writer sees in the last second, at the latest */
  snprintf(path, sizeof path, "%s", tfprof_capture_path());
  finish_without_waiting();
  recording_after_fork_in_parent();
  for (int i = 0; i < CLOSED_SECONDS * 100; i++) {
    check(dump_file_open(path, &file, NULL) == TFPROF_OK, "the file cannot be opened");
    if (file->is_closed) break;
    dump_file_close(file);
    file = NULL;
    usleep(10000);
  }
  check(file, "the writer does not come to an end");
  check(!strcmp(file->profile.host, "the last host"), "the host is %s", file->profile.host);
  check(file->profile.rank == RANK && file->profile.world_size == WORLD_SIZE, "rank %d of %u", file->profile.rank,
        file->profile.world_size);
  check(rows_of(file, DUMP_TABLE_nodes) == told, "%llu rows of %llu",
        (unsigned long long)rows_of(file, DUMP_TABLE_nodes), (unsigned long long)told);
  check(!looks_of_writer, "the writer has looked into the environment %u times", looks_of_writer);
  dump_file_close(file);
  return 0;
}
