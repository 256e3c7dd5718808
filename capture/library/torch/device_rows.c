/* device_rows.c: see device_rows.h. */
#include "device_rows.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { DEVICE_NAME, DEVICE_KIND, DEVICE_ORDINAL, DEVICE_CORES, DEVICE_MEMORY, DEVICE_COLUMNS };
static const struct row_column device_columns[DEVICE_COLUMNS] = {
    {DUMP_devices_name, DUMP_UNORDERED, false, false},
    {DUMP_devices_kind, DUMP_UNORDERED, false, false},
    {DUMP_devices_ordinal, DUMP_UNORDERED, false, false},
    {DUMP_devices_multiprocessor_count, DUMP_UNORDERED, false, false},
    {DUMP_devices_memory_bytes, DUMP_UNORDERED, false, false},
};

static const struct table_form form = TABLE_FORM(devices, TABLE_DEFINITION, "devices", device_columns, 64);

/* c10/core/DeviceType.h: by its number the name that PyTorch shows, and our kind. */
static const struct {
  const char *name, *kind;
} device_types[] = {
    [0] = {"cpu", "cpu"},   [1] = {"cuda", "gpu"}, [6] = {"cuda", "gpu"}, [9] = {"xla", "tpu"},
    [12] = {"xpu", "gpu"},  [13] = {"mps", "gpu"}, [17] = {"mtia", NULL}, [20] = {"privateuseone", NULL},
};

static struct row_buffer rows;
enum { KNOWN_MAXIMUM = 64 };
static struct torch_device known[KNOWN_MAXIMUM]; /* the device of each row */

bool device_rows_open(struct recorder *recorder) { return row_tables_add(&recorder->tables, &rows, &form); }

/* Of the processors that are threads of one core the first counts. 0: the system does not tell. */
static int64_t count_cores(void) {
  static int64_t cores = -1; /* asked once, for all processes that are forked; the writer thread is one */
  if (cores >= 0) return cores;
  cores = 0;
  long processors = sysconf(_SC_NPROCESSORS_CONF);
  for (long number = 0; number < processors; number++) {
    char path[80];
    long first = -1;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%ld/topology/thread_siblings_list", number);
    FILE *file = fopen(path, "re");
    if (!file) continue; /* not in use */
    cores += fscanf(file, "%ld", &first) == 1 && first == number;
    fclose(file);
  }
  return cores;
}

static void set_text(struct recorder *recorder, uint32_t row, unsigned column, const char *text) {
  row_set(&rows, row, column, dump_writer_string(recorder->writer, text, strlen(text)));
}

static void describe(struct recorder *recorder, uint32_t row, struct torch_device device) {
  size_t type = (size_t)(uint8_t)device.type, count = sizeof device_types / sizeof device_types[0];
  const char *type_name = type < count ? device_types[type].name : NULL;
  const char *kind = type < count ? device_types[type].kind : NULL;
  char name[48];
  if (!type_name)
    snprintf(name, sizeof name, "device type %zu:%d", type, device.index);
  else if (device.type == DEVICE_TYPE_CPU)
    snprintf(name, sizeof name, "%s", type_name);
  else
    snprintf(name, sizeof name, "%s:%d", type_name, device.index);
  set_text(recorder, row, DEVICE_NAME, name);
  if (kind) set_text(recorder, row, DEVICE_KIND, kind);
  row_set(&rows, row, DEVICE_ORDINAL, device.index < 0 ? 0 : device.index);
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (device.type != DEVICE_TYPE_CPU) return;
  if (pages > 0 && page > 0) row_set(&rows, row, DEVICE_MEMORY, (int64_t)pages * page);
  if (count_cores() > 0) row_set(&rows, row, DEVICE_CORES, count_cores());
}

int64_t device_row(struct recorder *recorder, struct torch_device device) {
  uint64_t count = rows.first_row + rows.rows;
  for (uint64_t row = 0; row < count; row++)
    if (known[row].type == device.type && known[row].index == device.index) return (int64_t)row;
  uint32_t row = count < KNOWN_MAXIMUM ? row_add(&rows) : UINT32_MAX;
  if (row == UINT32_MAX) return -1;
  known[count] = device;
  describe(recorder, row, device);
  return (int64_t)count;
}
