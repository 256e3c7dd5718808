/* host_processors.c: see host_processors.h. */
#include "host_processors.h"

#include "recorder/small_file.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 1 << 16 };

static char text[TEXT_BYTES]; /* one thread at a time */

static bool read_at(const struct host_processors *host, const char *path) {
  char whole[3 * QUOTA_PATH_BYTES];
  int length = snprintf(whole, sizeof whole, "%s%s", host->root, path);
  return length < (int)sizeof whole && small_file_read(whole, text, sizeof text);
}

/* ---- Quotas. */

/* Of the file names of a version of control groups: where a group's quota stands, and how much it has used. */
struct group_form {
  const char *quota_folder, *quota_file, *usage_folder, *usage_file;
};
static const struct group_form first_version = {"/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "/sys/fs/cgroup/cpuacct",
                                                "cpuacct.usage"};
static const struct group_form second_version = {"/sys/fs/cgroup", "cpu.max", "/sys/fs/cgroup", "cpu.stat"};

/* In processors; 0: none. */
static double quota_of(const struct host_processors *host, const struct group_form *form, const char *group) {
  char path[2 * QUOTA_PATH_BYTES];
  snprintf(path, sizeof path, "%s%s/%s", form->quota_folder, group, form->quota_file);
  if (!read_at(host, path)) return 0;
  char *rest = text;
  double quota_us = strtod(text, &rest), period_us; /* "max", and -1: none */
  if (rest == text || quota_us <= 0) return 0;
  if (form == &first_version) {
    snprintf(path, sizeof path, "%s%s/cpu.cfs_period_us", form->quota_folder, group);
    if (!read_at(host, path)) return 0;
    rest = text;
  }
  period_us = strtod(rest, NULL);
  return period_us > 0 ? quota_us / period_us : 0;
}

/* Of the group and of those around it. In a container the path may be that outside: its end is what is seen here. */
static void find_quotas(struct host_processors *host, const struct group_form *form, const char *path) {
  char group[QUOTA_PATH_BYTES];
  if (snprintf(group, sizeof group, "%s", path) >= (int)sizeof group) return;
  for (;;) {
    char *last = strrchr(group, '/');
    if (last && !last[1]) *last = 0; /* of "/" nothing stays */
    double processors = quota_of(host, form, group);
    if (processors > 0 && host->quota_count < QUOTAS_MAXIMUM) {
      struct processor_quota *quota = &host->quotas[host->quota_count];
      int length = snprintf(quota->usage_path, sizeof quota->usage_path, "%s%s/%s", form->usage_folder, group,
                            form->usage_file);
      quota->processors = processors;
      quota->used_ns = -1;
      host->quota_count += length < (int)sizeof quota->usage_path;
    }
    last = strrchr(group, '/');
    if (!last) return;
    *last = 0;
  }
}

static bool has_word(const char *list, const char *word) {
  size_t length = strlen(word);
  for (const char *at = list; (at = strstr(at, word)); at += length)
    if ((at == list || at[-1] == ',') && (!at[length] || at[length] == ',')) return true;
  return false;
}

/* Lines of /proc/self/cgroup: number, controllers (of the second version none), path. */
static void read_groups(struct host_processors *host) {
  if (!read_at(host, "/proc/self/cgroup")) return;
  char *lines = strdup(text);
  for (char *rest = lines, *line; line = strsep(&rest, "\n"), line;) {
    strsep(&line, ":");
    const char *controllers = strsep(&line, ":");
    if (!controllers || !line) continue;
    if (!controllers[0]) find_quotas(host, &second_version, line);
    else if (has_word(controllers, "cpu")) find_quotas(host, &first_version, line);
  }
  free(lines);
}

/* The processors that the group may still use, on average since the reading before; -1: not known. */
static double left_of(const struct host_processors *host, struct processor_quota *quota, double passed_ns) {
  double before = quota->used_ns;
  quota->used_ns = -1;
  if (!read_at(host, quota->usage_path)) return -1;
  const char *microseconds = strstr(text, "usage_usec ");
  quota->used_ns = microseconds ? strtod(microseconds + 11, NULL) * 1e3 : strtod(text, NULL);
  if (before < 0 || passed_ns <= 0) return -1;
  double left = quota->processors - (quota->used_ns - before) / passed_ns;
  return left > 0 ? left : 0;
}

/* ---- Processors. */

/* user nice system idle iowait irq softirq steal: ticks. */
static void read_ticks(const char *cursor, double *total, double *idle) {
  enum { FIELDS = 8, IDLE = 3, WAITS_FOR_DISK = 4 };
  for (int i = 0; i < FIELDS; i++) {
    char *end;
    double ticks = strtod(cursor, &end);
    cursor = end;
    *total += ticks;
    if (i == IDLE || i == WAITS_FOR_DISK) *idle += ticks;
  }
}

/* "cpu ..." for all, then "cpu0 ...", "cpu1 ..." of those that are switched on. */
static void read_processors(struct host_processors *host) {
  cpu_set_t affinity[AFFINITY_SETS];
  double total = 0, idle = 0, own_total = 0, own_idle = 0;
  unsigned own = 0;
  memset(affinity, 0, sizeof affinity);
  bool has_affinity = sched_getaffinity(0, sizeof affinity, affinity) == 0;
  if (!read_at(host, "/proc/stat")) text[0] = 0;
  for (const char *line = text; line && !strncmp(line, "cpu", 3); line = strchr(line, '\n'), line += line != NULL) {
    char *rest;
    if (line[3] == ' ') {
      read_ticks(line + 4, &total, &idle);
      continue;
    }
    unsigned long number = strtoul(line + 3, &rest, 10);
    if (!has_affinity || !CPU_ISSET_S(number, sizeof affinity, affinity)) continue;
    read_ticks(rest, &own_total, &own_idle);
    own++;
  }
  double passed = total - host->total, own_passed = own_total - host->own_total;
  bool is_same = !memcmp(affinity, host->affinity, sizeof affinity);
  host->busy = host->total > 0 && passed > 0 ? 1 - (idle - host->total_idle) / passed : -1;
  host->idle =
      is_same && host->own_total > 0 && own_passed > 0 ? (own_idle - host->own_idle) / own_passed * own : -1;
  host->total = total;
  host->total_idle = idle;
  host->own_total = own_total;
  host->own_idle = own_idle;
  memcpy(host->affinity, affinity, sizeof affinity);
}

void host_processors_begin(struct host_processors *host, const char *root) {
  memset(host, 0, sizeof *host);
  host->root = root;
  host->busy = host->idle = -1;
  read_groups(host);
}

void host_processors_read(struct host_processors *host, uint64_t now_ns) {
  read_processors(host);
  double passed_ns = host->read_ns ? (double)(now_ns - host->read_ns) : 0;
  host->read_ns = now_ns;
  for (unsigned i = 0; i < host->quota_count; i++) {
    double left = left_of(host, &host->quotas[i], passed_ns);
    if (left >= 0 && (host->idle < 0 || left < host->idle)) host->idle = left;
  }
}
