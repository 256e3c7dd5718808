/* memory_snapshot.c: see memory_snapshot.h. */
#include "read/pickle/memory_snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "read/pickle/snapshot_rows.h"
#include "write/json_text.h"

/* Read, not mapped: a file that is cut while it is looked at must not end the process. */
static enum tfprof_status read_whole(const char *path, uint8_t **bytes, uint64_t *length, struct tfprof_error *error) {
  struct stat info;
  enum tfprof_status status = TFPROF_OK;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  *bytes = NULL;
  *length = 0;
  if (fd < 0) return error_io(error, path, "cannot open");
  if (fstat(fd, &info)) {
    status = error_io(error, path, "cannot examine");
  } else if (!(*bytes = malloc((size_t)info.st_size + 1))) {
    status = error_no_memory(error);
  }
  while (!status && *length < (uint64_t)info.st_size) {
    ssize_t count = pread(fd, *bytes + *length, (size_t)((uint64_t)info.st_size - *length), (off_t)*length);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) status = error_io(error, path, "cannot read");
    if (count <= 0) break;
    *length += (uint64_t)count;
  }
  close(fd);
  return status;
}

/* ---- what the snapshot has beside segments and traces ---- */

enum {
  MAXIMUM_VALUES = 1000, /* of a member that becomes an attribute */
  MAXIMUM_DEPTH = 4,
  MAXIMUM_TEXT = 4096,
  MAXIMUM_MEMBER_BYTES = 64 << 10, /* as JSON, in which a byte can be six */
  MAXIMUM_BYTES = 192 << 10        /* of all members: saved dumps hold no more than 256 kB */
};

static void put(void *user, const void *bytes, size_t length) { fwrite(bytes, 1, length, user); }

/* A value as JSON. False: it is larger than attributes should be. A list may stand in it any number of times. */
static bool write_value(FILE *out, const struct pickle_value *value, unsigned depth, unsigned *values) {
  if (depth > MAXIMUM_DEPTH || ++*values > MAXIMUM_VALUES || ftell(out) > MAXIMUM_MEMBER_BYTES) return false;
  switch ((enum pickle_kind)value->kind) {
    case PICKLE_NONE:
    case PICKLE_HUGE: fputs("null", out); return true;
    case PICKLE_BOOL: fputs(value->integer ? "true" : "false", out); return true;
    case PICKLE_INTEGER: fprintf(out, "%lld", (long long)value->integer); return true;
    case PICKLE_REAL: fprintf(out, isfinite(value->real) ? "%.17g" : "null", value->real); return true;
    case PICKLE_TEXT:
      if (value->length > MAXIMUM_TEXT) return false;
      json_text_write(value->text, value->length, put, out);
      return true;
    case PICKLE_LIST:
    case PICKLE_DICT: break;
  }
  bool is_dict = value->kind == PICKLE_DICT;
  const struct pickle_container *container = value->container;
  putc(is_dict ? '{' : '[', out);
  for (uint64_t i = 0; i < container->count; i++) {
    bool is_key = is_dict && i % 2 == 0;
    if (i) putc(is_dict && !is_key ? ':' : ',', out);
    if (is_key && container->items[i].kind != PICKLE_TEXT) return false;
    if (!write_value(out, &container->items[i], depth + 1, values)) return false;
  }
  putc(is_dict ? '}' : ']', out);
  return true;
}

/* Members such as the settings of the allocator become attributes of the profile; those that are too large for that are
** told. */
static enum tfprof_status set_attributes(struct profile *profile, const struct pickle_value *root, struct pool *pool) {
  struct {
    char *bytes;
    size_t length;
  } all = {NULL, 0}, one = {NULL, 0};
  if (root->kind != PICKLE_DICT) return TFPROF_OK;
  FILE *out = open_memstream(&all.bytes, &all.length);
  if (!out) return TFPROF_NO_MEMORY;
  size_t used = 0;
  bool is_first = true, ok = true;
  const struct pickle_container *members = root->container;
  for (uint64_t i = 0; i + 1 < members->count && i / 2 < MAXIMUM_VALUES && ok; i += 2) {
    const struct pickle_value *key = &members->items[i];
    bool is_read = pickle_is_text(key, "segments") || pickle_is_text(key, "device_traces") ||
                   pickle_is_text(key, "external_annotations"); /* snapshot_rows.c */
    if (is_read || key->kind != PICKLE_TEXT) continue;
    unsigned values = 0;
    FILE *member = open_memstream(&one.bytes, &one.length);
    if (!(ok = member != NULL)) break;
    bool is_small = write_value(member, key, 0, &values);
    putc(':', member);
    is_small = is_small && write_value(member, &members->items[i + 1], 0, &values);
    ok = fclose(member) == 0;
    if (ok && is_small && used + one.length <= MAXIMUM_BYTES) {
      putc(is_first ? '{' : ',', out);
      fwrite(one.bytes, 1, one.length, out);
      used += one.length;
      is_first = false;
    } else if (ok) {
      profile_diagnose(profile, "info", "unused_member", 1, -1, -1, "%.*s of the snapshot was left out",
                       (int)(key->length < 100 ? key->length : 100), key->text);
    }
    free(one.bytes);
  }
  if (!is_first) putc('}', out);
  ok = fclose(out) == 0 && ok;
  enum tfprof_status status = ok ? TFPROF_OK : TFPROF_NO_MEMORY;
  if (!status && !is_first) status = pool_intern_mended(pool, all.bytes, all.length, &profile->attributes, NULL);
  free(all.bytes);
  return status;
}

static void diagnose_snapshot(struct profile *profile, const struct snapshot_rows *rows, const struct pickle *pickle) {
  if (pickle->wrong) {
    profile_diagnose(profile, "error", "damaged", 1, (int64_t)pickle->offset, -1, "%s; what is before that is served",
                     pickle->wrong);
  }
  if (rows->is_too_much) {
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
  if (rows->mended_count) {
    profile_diagnose(profile, "warning", "not_utf8", (int64_t)rows->mended_count, -1, -1, NOT_UTF8_MESSAGE);
  }
  if (rows->free_requested_count) {
    profile_diagnose(profile, "info", "free_requested", (int64_t)rows->free_requested_count, -1, TABLE_memory_events,
                     "events of kind free_requested have no row: the release counts when its memory can be used again");
  }
}

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
    if (!status) status = set_attributes(profile, &pickle->root, pool);
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
  enum tfprof_status status = read_whole(path, &bytes, &length, error);
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
