/* devices.c: what of accelerators is not understood, and that nothing was recorded of them.
**
** A row is of an accelerator where its lane is a stream, or where its process is labelled as one (process_labels:
** GPU 0, NPU; process_name: Ascend Hardware).  Rows of work become kernels, copies or waits (emit_device.c); marks,
** events, counters and what a tool computed of other rows (Ascend's Overlap Analysis) are none.  What is left became
** ranges, and no time of a device counts it: that is told, for the device was busy meanwhile.
*/
#include <string.h>
#include <strings.h>

#include "read/json/trace.h"

static bool label_begins(const char *text, const char *head) { return strncasecmp(text, head, strlen(head)) == 0; }

static bool is_of_accelerator(const struct trace *trace, uint32_t lane) {
  static const char *const labels[] = {"GPU", "NPU", "HPU", "XPU", "MTIA", "TPU", "PrivateUse"};
  const struct lane_info *info = (const struct lane_info *)trace->lane_infos.items + lane;
  const char *label = pool_text(trace->pool, info->facts[PROCESS_LABELS]);
  const char *process = pool_text(trace->pool, info->facts[PROCESS_NAME]);
  if (process && strcasestr(process, "overlap analysis")) return false;
  if ((trace->lanes.keys[lane].words[0] & 3) == LANE_STREAM) return true;
  for (size_t i = 0; label && i < sizeof labels / sizeof *labels; i++) {
    if (label_begins(label, labels[i])) return true;
  }
  return process && strcasestr(process, "Hardware") != NULL;
}

static bool is_known_category(const char *category) {
  static const char *const known[] = {"gpu_user_annotation", "cuda_event", "xpu_event", "cuda_profiler_range",
                                      "gpu_pm_counter", "mtia_insight", "mtia_counters", "collective_comm"};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (strcmp(category, known[i]) == 0) return true;
  }
  return strcasestr(category, "annotation") || strcasestr(category, "sync");
}

struct unknown_rows {
  uint64_t count;
  string_id name, category;
};

static void count_unknown(const struct trace *trace, const struct segment *segment, struct unknown_rows *unknown) {
  const struct column *lanes = segment->columns[COLUMN_ranges_thread_id];
  const struct column *categories = segment->columns[COLUMN_ranges_category];
  const struct column *names = segment->columns[COLUMN_ranges_name];
  string_id user = trace->literals[LITERAL_user];
  for (uint32_t row = 0; row < segment->rows && lanes; row++) {
    if (column_is_null(lanes, row)) continue;
    int64_t lane = column_integer(lanes, row);
    if (lane < 0 || (uint64_t)lane >= trace->lane_infos.count) continue;
    string_id category =
        categories && !column_is_null(categories, row) ? (string_id)column_integer(categories, row) : 0;
    if (category && (category == user || is_known_category(pool_text(trace->pool, category)))) continue;
    if (!is_of_accelerator(trace, (uint32_t)lane)) continue;
    if (!unknown->count++) {
      unknown->category = category;
      unknown->name = names && !column_is_null(names, row) ? (string_id)column_integer(names, row) : 0;
    }
  }
}

/* The profiler of a kind of devices leaves a span of its own in the file: __xpu_profiler__. */
static string_id find_profiler(const struct trace *trace, const struct profile *profile) {
  const struct profile_table *ranges = &profile->tables[TABLE_ranges];
  for (size_t s = 0; s < ranges->segment_count; s++) {
    const struct column *names = ranges->segments[s]->columns[COLUMN_ranges_name];
    for (uint32_t row = 0; names && row < ranges->segments[s]->rows; row++) {
      string_id name = column_is_null(names, row) ? 0 : (string_id)column_integer(names, row);
      const char *text = name ? pool_text(trace->pool, name) : "";
      size_t length = strlen(text), tail = strlen("_profiler__");
      bool is_profiler = length > tail + 2 && strcmp(text + length - tail, "_profiler__") == 0;
      if (is_profiler && label_begins(text, "__")) return name;
    }
  }
  return 0;
}

void devices_tell(struct trace *trace, struct profile *profile) {
  if (!trace->lanes.count) return;
  struct unknown_rows unknown = {0, 0, 0};
  const struct profile_table *ranges = &profile->tables[TABLE_ranges];
  for (size_t s = 0; s < ranges->segment_count; s++) count_unknown(trace, ranges->segments[s], &unknown);
  if (unknown.count) {
    const char *name = unknown.name ? pool_text(trace->pool, unknown.name) : "without a name";
    const char *category = unknown.category ? pool_text(trace->pool, unknown.category) : "none";
    profile_diagnose(profile, "warning", "unknown_device_rows", (int64_t)unknown.count, -1, -1,
                     "rows of accelerators that are no known kind of work (the first: %.200s, category %.100s) are "
                     "ranges: no time of devices counts them",
                     name, category);
  }
  uint64_t work = trace->rows[ROWS_kernels] + trace->rows[ROWS_transfers];
  bool is_empty = !work && !trace->rows[ROWS_ops] && !trace->rows[ROWS_api_calls] && !unknown.count;
  string_id profiler = work ? 0 : find_profiler(trace, profile);
  if (is_empty && (profiler || trace->device_infos.count)) {
    profile_diagnose(profile, "warning", "nothing_recorded", 1, -1, -1,
                     "the profiler was on, and recorded no op, no call and no work of a device: begin it before what "
                     "is to be seen, and end it once the device is done");
  } else if (profiler && !unknown.count) {
    profile_diagnose(profile, "warning", "no_device_work", 1, -1, -1,
                     "%.100s took part, and recorded no work of a device: how busy devices were is not known",
                     pool_text(trace->pool, profiler));
  }
}
