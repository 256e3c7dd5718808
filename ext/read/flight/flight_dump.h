/* flight_dump.h: dumps of PyTorch's Flight Recorder: the last collectives that a process asked for, and how far each
** came.
**
** PyTorch writes one for each rank where a collective takes longer than its timeout (TORCH_NCCL_DUMP_ON_TIMEOUT, into
** <TORCH_NCCL_DEBUG_INFO_TEMP_FILE><rank>), and on request: a pickle (_dump_nccl_trace(), _dump_fr_trace()), or the
** same as JSON, without stacks.  Versions 2.0 to 2.10 of its form; what an older one lacks is NULL.  They become
**
**   flight_records       the entries
**   hangs, hang_threads  that a collective is pending, and which threads asked for those that are
**   hang_collectives     how far each process group came, by the rule of the recorder's own (capture/library/hangs)
**   code_traces          the stacks of the calls
**
** The rank is told by the name of the file only.  Several dumps of one rank in a directory are one: a pickle before
** JSON, then the newest.  Beside a recording of tfprof-capture they are part of its run.
*/
#ifndef TFPROF_FLIGHT_DUMP_H
#define TFPROF_FLIGHT_DUMP_H

#include "read/read.h"

extern const struct read_format read_format_flight, read_format_flight_json;
extern const struct reader flight_reader;

#endif
