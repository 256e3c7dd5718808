/* host_processors.h: how busy the host is, and how many of the processors that this process may use stood idle.
**
** It may use those of its affinity (taskset, a batch system), and where its control group, or one around it, has a
** quota of processor time (a container), no more than what is left of that. All are read from /proc and /sys/fs/cgroup
** (of the second version of control groups, and of the first); what cannot be read sets no limit.
*/
#ifndef TFPROF_CAPTURE_HOST_PROCESSORS_H
#define TFPROF_CAPTURE_HOST_PROCESSORS_H

#include <sched.h>
#include <stdint.h>

enum { QUOTAS_MAXIMUM = 4, QUOTA_PATH_BYTES = 512, AFFINITY_SETS = 8 /* of CPU_SETSIZE processors */ };

/* Of one control group. */
struct processor_quota {
  char usage_path[QUOTA_PATH_BYTES];
  double processors; /* so many at once, on average */
  double used_ns;    /* by all of the group, as read last; below 0: not yet */
};

struct host_processors {
  double busy; /* share of all processors, 0 to 1, between the last two readings; below 0: not known */
  double idle; /* how many of those that the calling thread may use stood idle meanwhile; below 0: not known */
  const char *root;
  uint64_t read_ns;
  double total, total_idle; /* ticks of all processors, as read last */
  double own_total, own_idle; /* of those of the affinity */
  cpu_set_t affinity[AFFINITY_SETS];
  struct processor_quota quotas[QUOTAS_MAXIMUM];
  unsigned quota_count;
};

/* `root`, which is kept, stands before the paths of all files: "" but in tests. */
void host_processors_begin(struct host_processors *host, const char *root);
/* On one thread at a time; what is said of a time needs a call before. */
void host_processors_read(struct host_processors *host, uint64_t now_ns);

#endif
