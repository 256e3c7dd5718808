/* cpu_facts.h: what the host's processors are, for its row of devices. */
#ifndef TFPROF_CAPTURE_CPU_FACTS_H
#define TFPROF_CAPTURE_CPU_FACTS_H

#include "recorder/device_rows.h"

/* A device_teller. */
void cpu_facts_tell(int ordinal, struct device_facts *facts);

#endif
