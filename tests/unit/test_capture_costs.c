/* test_capture_costs.c: what the writer thread takes from the program (writer_costs.h), which processors are free for
** it (host_processors.h), told from files that are made up, and when it wakes (pulse.h). */
#include "recorder/pulse.h"
#include "host/host_processors.h"
#include "scratch.h"
#include "stopping_check.h"
#include "governor/writer_costs.h"

#include <math.h>
#include <string.h>

/* ---- What it takes. */

static bool note(struct writer_costs *costs, double always, double ops_ms, uint64_t ops, double idle) {
  const struct writer_use use = {.passed_ns = 1e9, .used_ns = always * 1e9 + ops_ms * 1e6, .full_ns = ops_ms * 1e6,
                                 .records = ops, .idle_processors = idle};
  return writer_costs_note(costs, &use);
}

/* The second in which it is said that it is too much; 0: in none. */
static unsigned too_much(double always, double idle) {
  struct writer_costs costs;
  unsigned when = 0;
  writer_costs_begin(&costs, 0.02);
  for (unsigned second = 1; second <= 1000; second++) {
    if (!note(&costs, always, 0, 0, idle)) continue;
    check(!when, "it is said twice that it is too much");
    when = second;
  }
  return when;
}

static void test_costs(void) {
  struct writer_costs costs;
  writer_costs_begin(&costs, 0.02);
  for (int i = 0; i < 20; i++) note(&costs, 0.01, 3, 10000, 0);
  check(fabs(costs.always - 0.01) < 1e-6 && fabs(costs.of_op.ns - 300) < 1e-3, "none is free: %.4f, %.1f ns",
        costs.always, costs.of_op.ns);
  for (int i = 0; i < 20; i++) note(&costs, 0.01, 3, 10000, 0.75);
  check(fabs(costs.always - 0.0025) < 1e-6 && fabs(costs.of_op.ns - 75) < 1e-3,
        "one is free for three quarters: %.4f, %.1f", costs.always, costs.of_op.ns);
  for (int i = 0; i < 30; i++) note(&costs, 0.01, 3, 10000, 1.5);
  check(costs.always < 1e-8 && costs.of_op.ns < 1e-4, "one is free: %.2g, %.2g", costs.always, costs.of_op.ns);
  for (int i = 0; i < 20; i++) note(&costs, 0.01, 0.3, 100, -1);
  check(costs.of_op.ns > 900 && costs.of_op.ns <= 1000, "ops that are dearer than any: %.1f ns", costs.of_op.ns);
  check(fabs(costs.always - 0.01) < 1e-6, "where it is not known whether one is free: %.4f", costs.always);

  /* What devices told has a price of its own, and is no part of what is always recorded. */
  writer_costs_begin(&costs, 0.02);
  const struct writer_use of_devices = {.passed_ns = 1e9,
                                        .used_ns = 21e7,
                                        .full_ns = 1e7,
                                        .device_ns = 2e8,
                                        .records = 100000,
                                        .device_records = 4000000};
  for (int i = 0; i < 1000; i++) check(!writer_costs_note(&costs, &of_devices), "kernels thin allocations");
  check(costs.always < 1e-6 && fabs(costs.of_device.ns - 50) < 1e-3 && fabs(costs.of_op.ns - 100) < 1e-3,
        "of devices: %.2g, %.1f, %.1f", costs.always, costs.of_device.ns, costs.of_op.ns);

  /* A quarter of 2 % is allowed; what is more must have been for a while. */
  check(!too_much(0.0045, 0), "0.45 %% is too much");
  unsigned when = too_much(0.02, 0);
  check(when >= 5 && when <= 10, "2 %% are too much in second %u", when);
  when = too_much(0.5, 0);
  check(when >= 5 && when <= 10, "half a processor is too much in second %u", when);
  check(!too_much(0.5, 1), "half a processor is too much though one is free");
}

/* ---- Processors. */

enum { SECOND = 1000000000 };

static void write_file(const char *name, const char *text) {
  char path[512];
  snprintf(path, sizeof path, "%s", test_path(name));
  for (char *slash = path + strlen(test_directory) + 1; (slash = strchr(slash, '/')); slash++) {
    *slash = 0;
    mkdir(path, 0700);
    *slash = '/';
  }
  FILE *file = fopen(path, "w");
  check(file && fputs(text, file) >= 0, "%s cannot be written", path);
  fclose(file);
}

static int own, other; /* processors: one that the test may use, and one that it may not, afterwards */

/* So many ticks since the beginning, of each of the two: busy and idle. */
static void write_stat(unsigned own_busy, unsigned own_idle, unsigned other_busy, unsigned other_idle) {
  char text[512];
  snprintf(text, sizeof text,
           "cpu  %u 0 0 %u 0 0 0 0 0 0\ncpu%d %u 0 0 %u 0 0 0 0 0 0\ncpu%d 0 0 %u 0 %u 0 0 0 7 7\nintr 5 5 5\n",
           own_busy + other_busy, own_idle + other_idle, own, own_busy, own_idle, other, other_busy, other_idle);
  write_file("proc/stat", text);
}

static struct host_processors twice(void) {
  struct host_processors host;
  host_processors_begin(&host, test_directory);
  write_stat(1000, 1000, 1000, 1000);
  host_processors_read(&host, SECOND);
  check(host.busy < 0 && host.idle < 0, "the first reading tells of a time");
  write_stat(1080, 1020, 1000, 1100);
  host_processors_read(&host, 2ll * SECOND);
  return host;
}

static void use_one_processor(void) {
  cpu_set_t set;
  check(sched_getaffinity(0, sizeof set, &set) == 0, "the affinity is not told");
  while (!CPU_ISSET(own, &set)) own++;
  other = own + 1;
  CPU_ZERO(&set);
  CPU_SET(own, &set);
  check(sched_setaffinity(0, sizeof set, &set) == 0, "the affinity cannot be set");
}

static void test_processors(void) {
  use_one_processor();
  struct host_processors host = twice();
  check(fabs(host.busy - 0.4) < 1e-9, "the host is busy for %.3f", host.busy);
  check(fabs(host.idle - 0.2) < 1e-9, "of the one processor %.3f are idle", host.idle);
  host_processors_read(&host, 3ll * SECOND);
  check(host.idle < 0 && host.busy < 0, "no tick has passed, and %.3f are idle", host.idle);
}

/* A group may use 1.5 processors, and has used 1.45; one around it may use 8. */
static void test_quota(const char *name, const char *groups, const char *const files[][2], const char *usage,
                       const char *const used[2]) {
  struct host_processors host;
  write_file("proc/self/cgroup", groups);
  for (unsigned i = 0; files[i][0]; i++) write_file(files[i][0], files[i][1]);
  host_processors_begin(&host, test_directory);
  check(host.quota_count > 0, "%s: no quota is found", name);
  write_stat(1000, 1000, 1000, 1000);
  write_file(usage, used[0]);
  host_processors_read(&host, SECOND);
  write_stat(1000, 1100, 1000, 1100);
  write_file(usage, used[1]);
  host_processors_read(&host, 2ll * SECOND);
  check(fabs(host.idle - 0.05) < 1e-9, "%s: %.3f are idle", name, host.idle);
}

static void test_quotas(void) {
  static const char *const second[][2] = {{"sys/fs/cgroup/a/b/cpu.max", "150000 100000\n"},
                                          {"sys/fs/cgroup/a/cpu.max", "800000 100000\n"},
                                          {"sys/fs/cgroup/a/cpu.stat", "usage_usec 0\n"},
                                          {"sys/fs/cgroup/cpu.max", "max 100000\n"},
                                          {NULL, NULL}};
  static const char *const of_second[] = {"usage_usec 5000000\nuser_usec 1\n", "usage_usec 6450000\nuser_usec 1\n"};
  test_quota("second version", "0::/a/b\n", second, "sys/fs/cgroup/a/b/cpu.stat", of_second);
  write_file("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  static const char *const first[][2] = {{"sys/fs/cgroup/cpu/cpu.cfs_quota_us", "75000\n"},
                                         {"sys/fs/cgroup/cpu/cpu.cfs_period_us", "50000\n"},
                                         {NULL, NULL}};
  static const char *const of_first[] = {"5000000000\n", "6450000000\n"};
  /* The container's own path is outside of what it sees. */
  test_quota("first version", "9:cpuset:/\n4:cpuacct,cpu:/docker/5\n0::/\n", first,
             "sys/fs/cgroup/cpuacct/cpuacct.usage", of_first);
  write_file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  struct host_processors host = twice();
  check(!host.quota_count && fabs(host.idle - 0.2) < 1e-9, "a quota of -1: %.3f are idle", host.idle);
}

/* ---- When it wakes. */

/* Once in each slot, whenever it asks, and at each place of a slot as often as at the others. */
static void test_pulse(void) {
  enum { SLOT = 20000000, SLOTS = 1 << 14, PLACES = 16 };
  uint32_t counts[PLACES] = {0};
  uint64_t now = 7ull * SLOT;
  struct pulse pulse = pulse_after(6ull * SLOT + SLOT - 1, SLOT);
  for (unsigned i = 0; i < SLOTS; i++) {
    check(pulse.begin_ns == now && pulse.end_ns == now + SLOT && pulse.at_ns >= now && pulse.at_ns < now + SLOT,
          "slot %u from %llu: its moment is %llu", i, (unsigned long long)now, (unsigned long long)pulse.at_ns);
    counts[(pulse.at_ns - now) * PLACES / SLOT]++;
    struct pulse again = pulse_after(pulse.at_ns - 1, SLOT), next = pulse_after(pulse.at_ns, SLOT);
    check(again.at_ns == pulse.at_ns, "just before its moment it is another one");
    now += SLOT;
    check(next.begin_ns == now, "from its moment on it is not the next");
    pulse = next;
  }
  double expected = (double)SLOTS / PLACES, chi = 0;
  for (unsigned i = 0; i < PLACES; i++) chi += pow(counts[i] - expected, 2) / expected;
  check(chi < 40, "the places are not equally likely (%.0f)", chi);
}

int main(void) {
  make_test_directory();
  test_costs();
  test_processors();
  test_quotas();
  test_pulse();
  return 0;
}
