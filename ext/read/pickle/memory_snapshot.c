/* memory_snapshot.c: see memory_snapshot.h. */
#include "read/pickle/memory_snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "read/pickle/pickle_file.h"
#include "read/pickle/snapshot_rows.h"

static void diagnose_snapshot(struct profile *profile, const struct snapshot_rows *rows, const struct pickle *pickle) {
  if (pickle->wrong) {
    profile_diagnose(profile, "error", "damaged", 1, (int64_t)pickle->offset, -1, "%s; what is before that is served",
                     pickle->wrong);
  }
  if (rows->pickle.is_too_much) {
    profile_diagnose(profile, "error", "limit", 1, -1, -1,
                     "the pickle uses the same lists or texts over and over, more often than a file of its size can: "
                     "what comes after that was left out");
  }
  if (rows->has_no_times && rows->events.count && !rows->has_no_history) {
    profile_diagnose(
        profile, "info", "no_time", (int64_t)rows->events.count, -1, TABLE_memory_events,
        "the events have no times: the first of a device is at 0 ns, each other one 1 ns after that before it");
  }
  if (rows->unplaced_marks) {
    profile_diagnose(profile, "warning", "no_time", (int64_t)rows->unplaced_marks, -1, TABLE_ranges,
                     "beginnings and ends of annotations have no time here: theirs are of a clock, and the events that "
                     "they lie between have none");
  }
  if (rows->has_no_history) {
    profile_diagnose(profile, "warning", "no_history", 1, -1, -1,
                     "recorded without history: %.1f MiB are held of %.1f MiB that are reserved, and nothing tells by "
                     "whom or since when; call torch.cuda.memory._record_memory_history() first",
                     (double)rows->held / 0x1p20, (double)rows->reserved / 0x1p20);
  }
  if (rows->odd_count) {
    profile_diagnose(profile, "warning", "number_out_of_range", (int64_t)rows->odd_count, -1, TABLE_memory_events,
                     "blocks, segments or events without a size or an address were left out");
  }
  if (rows->unknown_actions) {
    profile_diagnose(profile, "warning", "unknown_action", (int64_t)rows->unknown_actions, -1, TABLE_memory_events,
                     "events of a kind that is not known were left out");
  }
  if (rows->pickle.mended_count) {
    profile_diagnose(profile, "warning", "not_utf8", (int64_t)rows->pickle.mended_count, -1, -1, NOT_UTF8_MESSAGE);
  }
  if (rows->free_requested_count) {
    profile_diagnose(profile, "info", "free_requested", (int64_t)rows->free_requested_count, -1, TABLE_memory_events,
                     "events of kind free_requested have no row: the release counts when its memory can be used again");
  }
}

/* snapshot_rows.c makes rows of them. */
static const char *const read_members[] = {"segments", "device_traces", "external_annotations", NULL};
static const struct profile_source source = {.format = "memory_snapshot", .load = eager_rows_load};

static enum tfprof_status add_profile(struct store *store, uint32_t run_number, const char *path,
                                      const struct pickle *pickle, uint64_t file_bytes, struct tfprof_error *error) {
  struct snapshot_rows rows;
  struct profile *profile = NULL;
  struct pool *pool = store_pool(store);
  enum tfprof_status status = snapshot_collect(&rows, store, &pickle->root, file_bytes, error);
  if (!status) status = store_add_profile(store, run_number, &source, NULL, &profile, error);
  if (!status) status = snapshot_publish(&rows, profile, error);
  if (!status) {
    status = pool_intern_mended(pool, path, strlen(path), &profile->path, NULL);
    if (!status) status = pool_intern(pool, "pytorch", 7, &profile->framework);
    if (!status) status = pool_intern(pool, "realtime", 8, &profile->clock_domain);
    if (!status) status = pickle_set_attributes(profile, &pickle->root, read_members, "the snapshot");
    if (status) error_no_memory(error);
  }
  if (!status) {
    profile->file_bytes = (int64_t)file_bytes;
    profile->complete = !pickle->wrong;
    profile->has_span = true;
    profile->start_ns = rows.first_ns;
    profile->end_ns = rows.last_ns;
    diagnose_snapshot(profile, &rows, pickle);
  } else if (profile) {
    store_drop_profile(store, profile);
  }
  snapshot_rows_free(&rows);
  return status;
}

static enum tfprof_status snapshot_open(struct store *store, uint32_t run_number, const struct read_bundle *bundle,
                                        struct tfprof_error *error) {
  const char *path = bundle->files[0].path;
  struct pickle pickle;
  uint8_t *bytes;
  uint64_t length;
  enum tfprof_status status = pickle_file_read(path, &bytes, &length, error);
  if (!status) status = pickle_read(&pickle, store, bytes, length, error);
  if (status) {
    free(bytes);
    return status;
  }
  bool is_snapshot = pickle.root.kind == PICKLE_LIST || pickle_find(&pickle.root, "segments") ||
                     pickle_find(&pickle.root, "device_traces");
  if (is_snapshot) {
    status = add_profile(store, run_number, path, &pickle, length, error);
  } else if (pickle.wrong) {
    status = error_at(error, TFPROF_CORRUPT, path, pickle.offset, "%s, before any segment", pickle.wrong);
  } else {
    status = error_set(error, TFPROF_WRONG_KIND,
                       "%s is a pickle, but not one of torch.cuda.memory._dump_snapshot(): it has no segments", path);
  }
  pickle_free(&pickle);
  free(bytes);
  return status;
}

/* The first key of the dict stands right at the beginning; torch.cuda.memory_snapshot() gives its list of segments. */
static bool is_snapshot(const uint8_t *head, size_t length) {
  if (length < 2 || head[0] != 0x80 || head[1] < 2 || head[1] > 5) return false;
  bool is_list = memmem(head, length, "segment_type", 12) && memmem(head, length, "total_size", 10);
  return is_list || memmem(head, length, "segments", 8) || memmem(head, length, "device_traces", 13);
}

const struct read_format read_format_memory_snapshot = {
    .name = "memory_snapshot",
    .description = "snapshot of CUDA memory by torch.cuda.memory._dump_snapshot()",
    .open = snapshot_open};

static struct recognised probe_snapshot(const char *path, const uint8_t *head, size_t length) {
  (void)path;
  return (struct recognised){is_snapshot(head, length) ? &read_format_memory_snapshot : NULL, 90};
}

static const struct read_format *const formats[] = {&read_format_memory_snapshot, NULL};
const struct reader memory_snapshot_reader = {.formats = formats, .probe = probe_snapshot};
