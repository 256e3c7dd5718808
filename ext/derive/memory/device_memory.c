/* device_memory.c: devices.peak_bytes, the most of a device's memory that an allocator held at any moment.
**
** One pass over memory_events.  What counts is what the allocator held from the device, in use or not, and where the
** source does not tell that, what was in use.
*/
#include "derive/passes.h"
#include "derive/rows.h"

static enum tfprof_status run_device_memory(struct profile *profile, struct tfprof_error *error) {
  uint32_t device_count;
  enum tfprof_status status = derive_row_count(profile, TABLE_devices, &device_count, error);
  if (status || !device_count) return status;
  int64_t *peaks = scratch_allocate((size_t)device_count * sizeof *peaks);
  if (!peaks) return error_no_memory(error);
  for (uint32_t i = 0; i < device_count; i++) peaks[i] = NO_VALUE;
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_memory_events, &block, &status, error);) {
    uint32_t devices[ROWS_BLOCK];
    int64_t reserved[ROWS_BLOCK], in_use[ROWS_BLOCK];
    block_references(&block, COLUMN_memory_events_device_id, device_count, devices);
    block_integers(&block, COLUMN_memory_events_reserved_bytes, reserved);
    block_integers(&block, COLUMN_memory_events_in_use_bytes, in_use);
    for (uint32_t i = 0; i < block.count; i++) {
      int64_t bytes = reserved[i] != NO_VALUE ? reserved[i] : in_use[i];
      if (devices[i] != NO_ROW && bytes > peaks[devices[i]]) peaks[devices[i]] = bytes; /* NO_VALUE is the least */
    }
  }
  if (!status) status = derive_set_integers(profile, TABLE_devices, COLUMN_devices_peak_bytes, peaks, error);
  scratch_free(peaks);
  return status;
}

const struct derive_pass derive_device_memory = {
    .name = "memory of devices",
    .summary = "The largest reserve, or use, of each device's memory among the memory events.",
    .makes_table = -1,
    .reads = {{TABLE_memory_events, COLUMN_memory_events_device_id},
              {TABLE_memory_events, COLUMN_memory_events_reserved_bytes},
              {TABLE_memory_events, COLUMN_memory_events_in_use_bytes}},
    .writes = {{TABLE_devices, COLUMN_devices_peak_bytes}},
    .run = run_device_memory,
};
