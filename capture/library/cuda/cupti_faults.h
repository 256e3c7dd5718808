/* cupti_faults.h: what is wrong with some versions of CUPTI, and what is not done with them therefore.
**
** Of NVIDIA's release notes of CUPTI (13.0 Update 1, 13.1 Update 1, 13.4 Update 1), what NVIDIA has confirmed in
** public, and what others have seen and no version is known to mend (pytorch#192021, parcagpu#23).
**
** Versions are as cuptiGetVersion tells them (<cupti_version.h> of the wheels on PyPI): 22 is of CUDA 12.4, 23 of 12.5
** and its update, 130000 of 13.0, 130001 of 13.0 Update 1.
*/
#ifndef TFPROF_CAPTURE_CUPTI_FAULTS_H
#define TFPROF_CAPTURE_CUPTI_FAULTS_H

#include <stdint.h>

enum cupti_fault_effect {
  FAULT_OF_SWITCHING = 1, /* switching kinds off may hang the program: it is not done in mid-job */
  FAULT_OF_GRAPHS = 2,    /* work of CUDA graphs may have the numbers of other launches once it was switched on again */
  FAULT_OF_GROWTH = 4,    /* CUPTI's own thread takes more and more of the processor */
};

/* All effects of a version, or-ed. */
unsigned cupti_faults_of(uint32_t version);
/* What is wrong with it, one after the other from 0 on; NULL: no more. */
const char *cupti_fault_text(uint32_t version, unsigned number);

#endif
