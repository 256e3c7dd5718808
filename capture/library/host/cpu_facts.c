/* cpu_facts.c: see cpu_facts.h. */
#include "cpu_facts.h"

#include "recorder/small_file.h"

#include <stdio.h>
#include <unistd.h>

/* Of the processors that are threads of one core the first counts. 0: the system does not tell. */
static int64_t count_cores(void) {
  static int64_t cores = -1; /* asked once, for all processes that are forked; the writer thread is one */
  if (cores >= 0) return cores;
  cores = 0;
  long processors = sysconf(_SC_NPROCESSORS_CONF);
  for (long number = 0; number < processors; number++) {
    char path[80];
    long first = -1;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%ld/topology/thread_siblings_list", number);
    char text[64];
    if (!small_file_read(path, text, sizeof text)) continue; /* not in use */
    cores += sscanf(text, "%ld", &first) == 1 && first == number;
  }
  return cores;
}

void cpu_facts_tell(int ordinal, struct device_facts *facts) {
  (void)ordinal;
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0) facts->memory_bytes = (int64_t)pages * page;
  facts->multiprocessors = count_cores();
}
