/* cupti_refusals.h: what CUPTI does not allow a process by the machine that it runs on, in plain words, and what helps.
*/
#ifndef TFPROF_CAPTURE_CUPTI_REFUSALS_H
#define TFPROF_CAPTURE_CUPTI_REFUSALS_H

/* Why it is refused, and what allows it; NULL: this result is nothing of the machine. */
const char *cupti_refusal_text(int result);

#endif
