/* process_counters.h: what the process and the host use, measured each second.
**
**   process_cpu                    ratio    processor time per wall time since the row before; 1 is one busy core
**   process_cpu_user_s             s        processor time so far, in the program's own code
**   process_cpu_system_s           s        ... and in the kernel for it
**   process_resident_bytes         bytes    memory of the process that is in RAM
**   process_threads                count    threads of the process
**   process_major_faults           count    pages that had to be read from disk so far
**   process_voluntary_switches     count    times that a thread gave up its processor to wait, so far
**   process_involuntary_switches   count    times that a thread was made to give up its processor, so far
**   host_cpu                       ratio    share of the host's processors that was busy since the row before, 0 to 1
**   host_available_bytes           bytes    memory of the host that programs could still get without swapping
*/
#ifndef TFPROF_CAPTURE_PROCESS_COUNTERS_H
#define TFPROF_CAPTURE_PROCESS_COUNTERS_H

#include "host_processors.h"
#include "recorder/row_buffer.h"

struct process_counters {
  struct row_buffer rows;
  uint64_t last_ns;
  double last_cpu;
};

bool process_counters_begin(struct process_counters *counters);
void process_counters_end(struct process_counters *counters);
/* Adds a row for each counter that can be read; those over a time need a call before. `host` has just been read. */
void process_counters_measure(struct process_counters *counters, const struct host_processors *host,
                              struct dump_writer *writer);
/* One value measured elsewhere. */
void process_counters_add(struct process_counters *counters, struct dump_writer *writer, int64_t time_ns,
                          const char *name, const char *unit, double value);
/* How long ago the process began; 0: this cannot be told. */
double process_age_ns(void);

#endif
