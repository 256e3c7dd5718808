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
#include "recorder/parts.h"
#include "recorder/recorder.h"

extern const struct capture_source counters_source;

/* How busy the host is, as it was measured last. On the writer thread. */
const struct host_processors *process_counters_host(void);
/* One value measured elsewhere. */
void process_counters_add(struct recorder *recorder, int64_t time_ns, const char *name, const char *unit, double value);
/* The same of the device of that row (device_rows.h). */
void process_counters_add_of_device(struct recorder *recorder, int64_t time_ns, int64_t device, const char *name,
                                    const char *unit, double value);
/* How long ago the process began; 0: this cannot be told. */
double process_age_ns(void);

#endif
