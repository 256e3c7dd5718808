/* device_rows.c: see device_rows.h. */
#include "device_rows.h"

#include <stdio.h>
#include <string.h>

enum {
  DEVICE_NAME,
  DEVICE_KIND,
  DEVICE_ORDINAL,
  DEVICE_MODEL,
  DEVICE_CAPABILITY,
  DEVICE_MULTIPROCESSORS,
  DEVICE_CLOCK,
  DEVICE_MEMORY,
  DEVICE_RATE,
  DEVICE_ATTRIBUTES,
  DEVICE_COLUMNS
};
static const struct row_column device_columns[DEVICE_COLUMNS] = {
    {DUMP_devices_name, DUMP_UNORDERED, false, false},
    {DUMP_devices_kind, DUMP_UNORDERED, false, false},
    {DUMP_devices_ordinal, DUMP_UNORDERED, false, false},
    {DUMP_devices_model, DUMP_UNORDERED, false, false},
    {DUMP_devices_compute_capability, DUMP_UNORDERED, false, false},
    {DUMP_devices_multiprocessor_count, DUMP_UNORDERED, false, false},
    {DUMP_devices_clock_hz, DUMP_UNORDERED, false, false},
    {DUMP_devices_memory_bytes, DUMP_UNORDERED, false, false},
    {DUMP_devices_memory_bytes_per_second, DUMP_UNORDERED, false, false},
    {DUMP_attributes, DUMP_UNORDERED, false, false},
};

static const struct table_form form = TABLE_FORM(devices, TABLE_DEFINITION, "devices", device_columns, 64);

bool device_rows_open(struct device_rows *devices, struct row_tables *tables) {
  devices->writer = tables->writer;
  return row_tables_add(tables, &devices->rows, &form);
}

static void set_device_text(struct device_rows *devices, uint32_t row, unsigned column, const char *text) {
  if (*text) row_set(&devices->rows, row, column, dump_writer_string(devices->writer, text, strlen(text)));
}

static void set_device_number(struct device_rows *devices, uint32_t row, unsigned column, int64_t value) {
  if (value > 0) row_set(&devices->rows, row, column, value);
}

/* What the program calls it, as a text of JSON. */
static void write_name(char *text, const char *name) {
  for (; *name; name++) {
    if (*name == '"' || *name == '\\') *text++ = '\\';
    *text++ = (unsigned char)*name < ' ' ? ' ' : *name;
  }
  *text = 0;
}

/* The others are digits, letters and signs that JSON takes as they are. */
static void set_device_attributes(struct device_rows *devices, uint32_t row, const struct device_facts *facts) {
  char text[512], name[2 * sizeof facts->given_name];
  int length = snprintf(text, sizeof text, "{");
  if (*facts->uuid) length += snprintf(text + length, sizeof text - (size_t)length, "\"uuid\":\"%s\"", facts->uuid);
  if (*facts->pci_bus)
    length += snprintf(text + length, sizeof text - (size_t)length, "%s\"pci_bus\":\"%s\"", length > 1 ? "," : "",
                       facts->pci_bus);
  write_name(name, facts->given_name);
  if (*name)
    length += snprintf(text + length, sizeof text - (size_t)length, "%s\"name\":\"%s\"", length > 1 ? "," : "", name);
  if (length == 1) return;
  snprintf(text + length, sizeof text - (size_t)length, "}");
  set_device_text(devices, row, DEVICE_ATTRIBUTES, text);
}

static void describe_device(struct device_rows *devices, uint32_t row, const char *name, int ordinal) {
  device_teller tell = !strcmp(name, "cpu")         ? devices->tell_cpu
                       : !strncmp(name, "cuda:", 5) ? devices->tell_cuda
                                                    : NULL;
  struct device_facts facts = {0};
  if (tell) tell(ordinal, &facts);
  set_device_text(devices, row, DEVICE_MODEL, facts.model);
  set_device_text(devices, row, DEVICE_CAPABILITY, facts.compute_capability);
  set_device_number(devices, row, DEVICE_MULTIPROCESSORS, facts.multiprocessors);
  set_device_number(devices, row, DEVICE_CLOCK, facts.clock_hz);
  set_device_number(devices, row, DEVICE_MEMORY, facts.memory_bytes);
  set_device_number(devices, row, DEVICE_RATE, facts.memory_bytes_per_second);
  set_device_attributes(devices, row, &facts);
}

int64_t device_row(struct device_rows *devices, const char *name, const char *kind, int ordinal) {
  uint64_t count = devices->rows.first_row + devices->rows.rows;
  for (uint64_t row = 0; row < count; row++)
    if (!strncmp(devices->names[row], name, sizeof devices->names[row] - 1)) return (int64_t)row;
  uint32_t row = count < DEVICES_MAXIMUM ? row_add(&devices->rows) : UINT32_MAX;
  if (row == UINT32_MAX) return -1;
  snprintf(devices->names[count], sizeof devices->names[count], "%s", name);
  set_device_text(devices, row, DEVICE_NAME, name);
  if (kind) set_device_text(devices, row, DEVICE_KIND, kind);
  row_set(&devices->rows, row, DEVICE_ORDINAL, ordinal);
  describe_device(devices, row, name, ordinal);
  return (int64_t)count;
}

int64_t device_row_cuda(struct device_rows *devices, int ordinal) {
  char name[32];
  snprintf(name, sizeof name, "cuda:%d", ordinal);
  return device_row(devices, name, "gpu", ordinal);
}
