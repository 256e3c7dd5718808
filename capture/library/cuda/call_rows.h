/* call_rows.h: records of what the host did, as rows: calls into CUDA, waits, launches of whole graphs, what compiling
** and CUPTI itself took. On the writer thread only.
*/
#ifndef TFPROF_CAPTURE_CALL_ROWS_H
#define TFPROF_CAPTURE_CALL_ROWS_H

#include "activity_lanes.h"

bool call_rows_open(struct recorder *recorder);
void call_rows_close(void);
/* How many rows there was no memory for. */
void call_rows_losses(struct recorder *recorder);

void call_rows_add(struct activity_lanes *lanes, const struct cupti_api *api, const struct cupti_call *record);
void call_rows_add_sync(struct activity_lanes *lanes, const struct cupti_synchronization *record, size_t bytes);
/* An event was recorded: who waits for it waits for that. */
void call_rows_note_event(struct activity_lanes *lanes, const struct cupti_event *record, size_t bytes);
void call_rows_add_graph(struct activity_lanes *lanes, const struct cupti_graph_trace *record);
void call_rows_add_overhead(struct activity_lanes *lanes, const struct cupti_overhead *record);
void call_rows_add_compilation(struct activity_lanes *lanes, const struct cupti_jit *record, size_t bytes);

#endif
