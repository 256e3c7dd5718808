/* copy_rows.h: records of copies, fills, unified memory that moved, and the driver's own memory, as rows. On the writer
** thread only.
**
** What cudaMalloc and its like give are segments of memory_events: an allocator such as PyTorch's deals them out in
** pieces, which begin at the same addresses.
*/
#ifndef TFPROF_CAPTURE_COPY_ROWS_H
#define TFPROF_CAPTURE_COPY_ROWS_H

#include "activity_lanes.h"

bool copy_rows_open(struct recorder *recorder);
void copy_rows_losses(struct recorder *recorder);

void copy_rows_add_memcpy(struct activity_lanes *lanes, const struct cupti_memcpy *record);
void copy_rows_add_peers(struct activity_lanes *lanes, const struct cupti_memcpy_peers *record);
void copy_rows_add_memset(struct activity_lanes *lanes, const struct cupti_memset *record);
void copy_rows_add_migration(struct activity_lanes *lanes, const struct cupti_unified_memory *record);
void copy_rows_add_memory(struct activity_lanes *lanes, const struct cupti_memory *record);
void copy_rows_add_pool(struct activity_lanes *lanes, const struct cupti_memory_pool *record);

#endif
