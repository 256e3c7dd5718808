/* publish_devices.c: the table of devices, from the lanes and the nodes. */
#include "classic/read/publish.h"

#include <ctype.h>

/* "/device:GPU:0/stream:all" is a lane of "/device:GPU:0". */
static size_t device_length(const char *name) {
  const char *device = NULL;
  static const char *const kinds[] = {"cpu:", "gpu:", "tpu:"};
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && !device; i++) device = strcasestr(name, kinds[i]);
  if (!device) return strlen(name);
  size_t digits = strspn(device + 4, "0123456789");
  return (size_t)(device - name) + 4 + digits;
}

struct devices {
  string_id *names; /* as the source writes them */
  string_id *lower;
  size_t count, name_capacity, lower_capacity;
};

/* A lane may leave out the job: "/device:gpu:0" is the device that ends in it. */
static int64_t find_device(const struct pool *pool, const struct devices *devices, const char *lower, size_t length) {
  for (size_t i = 0; i < devices->count; i++) {
    const char *other = pool_text(pool, devices->lower[i]);
    size_t other_length = pool_length(pool, devices->lower[i]);
    if (other_length >= length && memcmp(other + other_length - length, lower, length) == 0) return (int64_t)i;
  }
  return -1;
}

static bool add_device(struct tf_model *model, struct devices *devices, string_id name, string_id lower) {
  const char *text = pool_text(model->pool, lower);
  size_t length = text ? device_length(text) : 0;
  if (!length) return true; /* a name may begin with NUL */
  if (find_device(model->pool, devices, text, length) >= 0) return true;
  if (!array_reserve(devices->names, devices->name_capacity, devices->count + 1) ||
      !array_reserve(devices->lower, devices->lower_capacity, devices->count + 1))
    return tf_no_memory(model);
  const char *full = pool_text(model->pool, name);
  bool ok = tf_intern(model, full, device_length(full), &devices->names[devices->count]) &&
            tf_intern(model, text, length, &devices->lower[devices->count]);
  devices->count += ok;
  return ok;
}

/* All devices: those of lanes with a job first, so that those without one find them. */
static bool collect_devices(struct tf_model *model, struct devices *devices) {
  *devices = (struct devices){0};
  for (int pass = 0; pass < 2; pass++) {
    for (size_t i = 0; i < model->lanes.count; i++) {
      const struct tf_lane *lane = &model->lanes.items[i];
      if (lane->is_accelerator == (pass == 1) && !add_device(model, devices, lane->device, lane->device_lower))
        return false;
    }
    string_id last = 0;
    for (size_t i = 0; pass == 0 && i < model->nodes.count; i++) {
      string_id device = model->nodes.items[i].device;
      if (device == last) continue;
      last = device;
      if (!add_device(model, devices, device, device)) return false;
    }
  }
  return true;
}

static const char *device_kind(const char *lower) {
  return strstr(lower, "gpu:") ? "gpu" : strstr(lower, "tpu:") ? "tpu" : "cpu";
}

static int64_t device_ordinal(const char *lower) {
  size_t length = strlen(lower), at = length;
  while (at > 0 && isdigit((unsigned char)lower[at - 1])) at--;
  return at == length || length - at > 9 ? ROW_NULL : strtoll(lower + at, NULL, 10);
}

int64_t tf_device_row(const struct tf_model *model, string_id lower) {
  const char *text = pool_text(model->pool, lower);
  if (!text || !model->device_names) return -1;
  struct devices devices = {.lower = model->device_names, .count = model->device_count};
  size_t length = device_length(text);
  return length ? find_device(model->pool, &devices, text, length) : -1;
}

bool tf_publish_devices(struct tf_model *model, struct profile *profile) {
  struct devices devices;
  struct eager_rows rows = {0};
  bool ok = collect_devices(model, &devices) &&
            eager_rows_begin(&rows, profile, TABLE_devices, devices.count, &model->status, model->error);
  for (uint32_t i = 0; ok && i < rows.count; i++) rows.values[i] = devices.names[i];
  ok = ok && eager_rows_set_known(&rows, COLUMN_devices_name);
  for (uint32_t i = 0; ok && i < rows.count; i++) {
    const char *kind = device_kind(pool_text(model->pool, devices.lower[i]));
    string_id id;
    ok = tf_intern(model, kind, 3, &id);
    rows.values[i] = id;
  }
  ok = ok && eager_rows_set_known(&rows, COLUMN_devices_kind);
  for (uint32_t i = 0; ok && i < rows.count; i++)
    rows.values[i] = device_ordinal(pool_text(model->pool, devices.lower[i]));
  ok = ok && eager_rows_set_known(&rows, COLUMN_devices_ordinal);
  eager_rows_end(&rows);
  free(devices.names);
  model->device_names = devices.lower;
  model->device_count = devices.count;

  size_t lanes = model->lanes.count;
  string_id host = 0, stream = 0;
  ok = ok && tf_intern(model, "host", 4, &host) && tf_intern(model, "stream", 6, &stream) &&
       eager_rows_begin(&rows, profile, TABLE_threads, lanes, &model->status, model->error);
#define SET(column, expression)                          \
  for (uint32_t i = 0; ok && i < rows.count; i++) {      \
    const struct tf_lane *lane = &model->lanes.items[i]; \
    (void)lane;                                          \
    rows.values[i] = (expression);                       \
  }                                                      \
  ok = ok && eager_rows_set_known(&rows, COLUMN_threads_##column);
  if (!ok) return false;
  model->lane_devices = malloc((lanes + 1) * sizeof *model->lane_devices);
  if (!model->lane_devices) ok = tf_no_memory(model);
  for (size_t i = 0; ok && i < lanes; i++) {
    int64_t row = tf_device_row(model, model->lanes.items[i].device_lower);
    model->lane_devices[i] = row < 0 ? ROW_NULL : row;
  }
  SET(device_id, model->lane_devices[i])
  SET(kind, lane->is_accelerator ? stream : host)
  SET(name, lane->device)
  SET(tid, lane->thread == TF_NONE || lane->is_accelerator ? ROW_NULL : lane->thread)
#undef SET
  eager_rows_end(&rows);
  return ok;
}
