/* test_read_growth.c: whether a recording goes on, by what processes of this machine do and by how old its file is. */
#include "read/dump/growth.h"
#include "read/read.h"

#include "dump_test.h"

#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

static struct tfprof_error error;
static char own_host[256];

struct recorded { /* by a process, on a host, into a file that was written so long ago */
  const char *host;
  uint32_t process, parent;
  bool is_closed;
  time_t age;
};

static struct growth look_at(const char *name, struct recorded recorded) {
  const char *path = test_path(name);
  struct dump_writer *writer;
  struct dump_profile profile = {.host = recorded.host, .clock_domain = "realtime", .rank = -1,
                                 .pid = recorded.process, .parent_pid = recorded.parent, .created_realtime_ns = 1};
  check_ok(dump_writer_create(path, true, &profile, &writer, &error), &error, "create");
  if (recorded.is_closed) check_ok(dump_writer_close(writer, &error), &error, "close");
  else dump_writer_abandon(writer);
  struct timespec then = {.tv_sec = time(NULL) - recorded.age};
  utimensat(AT_FDCWD, path, (struct timespec[]){then, then}, 0);
  struct store *store = store_create(NULL, 0);
  uint32_t run;
  check_ok(read_open(store, path, &run, &error), &error, "open");
  struct growth growth;
  growth_look(store, &growth);
  check(growth.is_known, "%s: not known", name);
  check(growth.age_ns / 1000000000 >= recorded.age && growth.age_ns / 1000000000 < recorded.age + 60, "%s: age %lld",
        name, (long long)growth.age_ns);
  store_release(store);
  return growth;
}

static void expect(const char *name, struct recorded recorded, unsigned writing, bool may_go_on) {
  struct growth growth = look_at(name, recorded);
  check(growth.writing == writing && growth.may_go_on == may_go_on, "%s: %u writing, may go on: %d", name,
        growth.writing, growth.may_go_on);
}

/* A process that has ended, and waits for us. */
static uint32_t end_process(void) {
  siginfo_t info;
  pid_t process = fork();
  if (!process) _exit(0);
  waitid(P_PID, (id_t)process, &info, WEXITED | WNOWAIT);
  return (uint32_t)process;
}

int main(void) {
  uint32_t us = (uint32_t)getpid(), ended = end_process();
  gethostname(own_host, sizeof own_host - 1);
  expect("ours", (struct recorded){own_host, us, 0, false, 0}, 1, true);
  expect("ours, closed", (struct recorded){own_host, us, 0, true, 0}, 0, true);
  expect("another process of our number", (struct recorded){own_host, us, 0, false, 1000000000}, 0, false);
  expect("of a process that ended now", (struct recorded){own_host, ended, 0, false, 0}, 1, true);
  expect("of one that ended", (struct recorded){own_host, ended, 0, true, 0}, 0, false);
  expect("elsewhere", (struct recorded){"elsewhere", us, us, false, 20}, 1, true);
  expect("elsewhere, long ago", (struct recorded){"elsewhere", us, us, false, 200}, 0, false);
  expect("of a shell", (struct recorded){own_host, ended, us, true, 0}, 0, false);
  prctl(PR_SET_NAME, ") S 1 (");
  expect("ours, oddly named", (struct recorded){own_host, us, 0, true, 0}, 0, true);
  prctl(PR_SET_NAME, "tfprof-capture");
  expect("launched", (struct recorded){own_host, ended, us, true, 0}, 0, true);
  pid_t shell = fork();
  if (!shell) {
    prctl(PR_SET_NAME, "sh");
    expect("launched by a shell that was", (struct recorded){own_host, ended, (uint32_t)getpid(), true, 0}, 0, true);
    _exit(check_result());
  }
  int status;
  check(waitpid(shell, &status, 0) == shell && status == 0, "the shell's");
  waitpid((pid_t)ended, NULL, 0);
  return check_result();
}
