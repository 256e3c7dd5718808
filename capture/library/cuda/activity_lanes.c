/* activity_lanes.c: see activity_lanes.h. */
#include "activity_lanes.h"

#include "channel/resource_names.h"
#include "channel/thread_rows.h"
#include "stream_numbers.h"

#include <string.h>

bool activity_lanes_begin(struct activity_lanes *lanes, struct recorder *recorder) {
  memset(lanes, 0, sizeof *lanes);
  lanes->recorder = recorder;
  return device_clock_begin(&lanes->clock);
}

void activity_lanes_end(struct activity_lanes *lanes) {
  device_clock_end(&lanes->clock);
  key_map_end(&lanes->streams);
  key_map_end(&lanes->contexts);
  key_map_end(&lanes->priorities);
}

void activity_lanes_renumber(struct activity_lanes *lanes) {
  struct correlations *known = &lanes->correlations;
  if (known->last) known->base = (known->last | UINT32_MAX) + 1;
  known->last = 0;
}

int64_t activity_device(struct activity_lanes *lanes, uint32_t device) {
  if (device >= sizeof lanes->devices / sizeof *lanes->devices) return -1;
  if (!lanes->devices[device]) lanes->devices[device] = device_row_cuda(&lanes->recorder->devices, (int)device) + 1;
  return lanes->devices[device] - 1;
}

int64_t activity_thread(struct activity_lanes *lanes, uint32_t tid) {
  if (lanes->last_thread.tid != tid || !lanes->last_thread.row) {
    lanes->last_thread.row = thread_row_of_tid(lanes->recorder, tid) + 1;
    lanes->last_thread.tid = tid;
  }
  return lanes->last_thread.row - 1;
}

static void put_entry(struct key_map *map, uint64_t high, uint64_t low, uint32_t value_plus_one) {
  struct key_map_entry *entry = key_map_entry(map, high, low);
  if (!entry) return;
  if (!entry->row_plus_one) key_map_added(map);
  entry->row_plus_one = value_plus_one;
}

int64_t activity_stream_row(struct activity_lanes *lanes, uint32_t device, uint32_t context, uint32_t stream) {
  struct key_map_entry *known = key_map_entry(&lanes->streams, context, stream);
  if (known && known->row_plus_one) return (int64_t)known->row_plus_one - 1;
  struct stream_lane lane = {.device = activity_device(lanes, device), .context = context, .stream = stream};
  struct key_map_entry *made = key_map_entry(&lanes->priorities, context, stream);
  if (made && made->row_plus_one) {
    lane.has_priority = true;
    lane.priority = (int32_t)(made->row_plus_one - 1);
  }
  char name[RESOURCE_NAME_MAXIMUM];
  if (resource_name_of(RESOURCE_STREAM_NUMBER, stream_number(context, stream), name)) lane.name = name;
  int64_t row = thread_row_add_stream(lanes->recorder, &lane);
  if (row >= 0) put_entry(&lanes->streams, context, stream, (uint32_t)row + 1);
  activity_lanes_note_context(lanes, context, device);
  return row;
}

int64_t activity_device_of_context(struct activity_lanes *lanes, uint32_t context) {
  struct key_map_entry *known = key_map_entry(&lanes->contexts, 0, context);
  return known && known->row_plus_one ? activity_device(lanes, known->row_plus_one - 1) : -1;
}

void activity_lanes_note_context(struct activity_lanes *lanes, uint32_t context, uint32_t device) {
  if (device < UINT32_MAX) put_entry(&lanes->contexts, 0, context, device + 1);
}

/* Its priority, which may be below 0; all but -1 can be kept beside "none". */
void activity_lanes_note_stream(struct activity_lanes *lanes, const struct cupti_stream *record) {
  put_entry(&lanes->priorities, record->context, record->stream, record->priority + 1);
}
