/* cuda_report.h: what is told of a recording of GPUs beside its rows: at once what is wrong with that version of CUPTI,
** each second how exact the clock is and how far what has been read lies behind, and at the end what was refused, lost
** or cannot be believed.  On the writer thread only.
*/
#ifndef TFPROF_CAPTURE_CUDA_REPORT_H
#define TFPROF_CAPTURE_CUDA_REPORT_H

#include "activity_rows.h"

struct cuda_reported {
  const struct activity_lanes *lanes;
  const struct activity_counts *counts;
  uint32_t version;      /* of CUPTI */
  bool is_clock_assumed; /* one reading is none of CUPTI's */
};

/* A new file. */
void cuda_report_begin(void);
void cuda_report_second(struct recorder *recorder, const struct cuda_reported *of, const struct clock_reading *now);
void cuda_report_end(struct recorder *recorder, const struct cuda_reported *of);

#endif
