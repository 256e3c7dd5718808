/* device_facts.h: what the CUDA driver tells of its devices, asked on the thread that fetches records, once the driver
** is initialised; and rows of what connects them, and of what they measure of themselves.
*/
#ifndef TFPROF_CAPTURE_DEVICE_FACTS_H
#define TFPROF_CAPTURE_DEVICE_FACTS_H

#include "activity_lanes.h"

/* From now on it is asked every few milliseconds: the first row of a device may wait for the answer. */
void device_facts_expect(void);
/* Asks. Once they are known it is not asked again. */
enum devices_answer {
  DEVICES_LATER, /* the driver is not initialised yet */
  DEVICES_NONE,  /* it gives the program no device */
  DEVICES_KNOWN
};
enum devices_answer device_facts_ask(void);
/* How many devices it told of. */
int device_facts_count(void);
/* In a forked child. */
void device_facts_reset(void);

/* ---- On the writer thread. */

bool device_facts_open(struct recorder *recorder);
void device_facts_add_pcie(struct activity_lanes *lanes, const struct cupti_pcie *record);
void device_facts_add_nvlink(struct activity_lanes *lanes, const struct cupti_nvlink *record, uint32_t version,
                             size_t bytes);
void device_facts_add_environment(struct activity_lanes *lanes, const struct cupti_environment *record);

#endif
