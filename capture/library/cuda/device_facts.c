/* device_facts.c: see device_facts.h. */
#include "device_facts.h"

#include "channel/resource_names.h"
#include "host/cuda_driver.h"
#include "host/process_counters.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LINK_DEVICE, LINK_PEER, LINK_KIND, LINK_RATE, LINK_COLUMNS };
static const struct row_column link_columns[LINK_COLUMNS] = {
    {DUMP_links_device_id, DUMP_UNORDERED, false, false},
    {DUMP_links_peer_device_id, DUMP_UNORDERED, false, false},
    {DUMP_links_kind, DUMP_UNORDERED, false, false},
    {DUMP_links_bytes_per_second, DUMP_UNORDERED, false, false},
};
static const struct table_form links_form = TABLE_FORM(links, TABLE_ROWS, "links", link_columns, 64);
static struct row_buffer links;

/* ---- What the driver tells. */

enum { KNOWN_MAXIMUM = 64, PATIENCE_MS = 50 };
static struct {
  struct device_facts facts;
  uint8_t uuid[16];
} known[KNOWN_MAXIMUM];
static _Atomic int known_count;
static _Atomic bool is_expected;  /* they are asked for: what has a device has a driver, which tells very soon */
static device_teller tell_before; /* who else knows something */

static struct cuda_driver driver;

static int64_t attribute_of(int device, enum cuda_attribute attribute) {
  int value = 0;
  return !driver.DeviceGetAttribute || driver.DeviceGetAttribute(&value, attribute, device) ? 0 : value;
}

static void ask_device(int device, struct device_facts *facts, uint8_t *uuid) {
  size_t bytes;
  if (!driver.DeviceGetName || driver.DeviceGetName(facts->model, sizeof facts->model, device)) facts->model[0] = 0;
  int64_t major = attribute_of(device, CUDA_CAPABILITY_MAJOR), minor = attribute_of(device, CUDA_CAPABILITY_MINOR);
  if (major) snprintf(facts->compute_capability, sizeof facts->compute_capability, "%d.%d", (int)major, (int)minor);
  facts->multiprocessors = attribute_of(device, CUDA_MULTIPROCESSORS);
  facts->clock_hz = attribute_of(device, CUDA_CLOCK_KHZ) * 1000;
  if (driver.DeviceTotalMem && !driver.DeviceTotalMem(&bytes, device)) facts->memory_bytes = (int64_t)bytes;
  /* Twice a clock: data is moved at both edges of it. */
  facts->memory_bytes_per_second =
      attribute_of(device, CUDA_MEMORY_CLOCK_KHZ) * 1000 * 2 * (attribute_of(device, CUDA_MEMORY_BUS_BITS) / 8);
  snprintf(facts->pci_bus, sizeof facts->pci_bus, "%08x:%02x:%02x.0", (unsigned)attribute_of(device, CUDA_PCI_DOMAIN),
           (unsigned)attribute_of(device, CUDA_PCI_BUS) & 0xff, (unsigned)attribute_of(device, CUDA_PCI_DEVICE) & 0xff);
  uint8_t instance[16];
  const char *prefix = "GPU";
  if (!driver.DeviceGetUuid || driver.DeviceGetUuid(uuid, device)) return;
  memcpy(instance, uuid, sizeof instance);
  if (driver.DeviceGetInstanceUuid && driver.DeviceGetInstanceUuid(instance, device)) return;
  if (memcmp(instance, uuid, sizeof instance)) prefix = "MIG";
  char *at = facts->uuid;
  at += sprintf(at, "%s-", prefix);
  for (int i = 0; i < 16; i++) at += sprintf(at, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", instance[i]);
}

int device_facts_count(void) { return atomic_load(&known_count); }

/* By the first that it names, none or a number below 0, all are hidden; the driver does not begin then, and tells
** nothing. */
static bool hides_all(void) {
  const char *visible = getenv("CUDA_VISIBLE_DEVICES");
  return visible && (!visible[0] || visible[0] == '-');
}

enum devices_answer device_facts_ask(void) {
  int count = 0, device;
  if (atomic_load(&known_count)) return DEVICES_KNOWN;
  int result = cuda_driver_find(&driver) ? driver.DeviceGetCount(&count) : CUDA_NOT_INITIALIZED;
  if (result == CUDA_NOT_INITIALIZED) return hides_all() ? DEVICES_NONE : DEVICES_LATER;
  if (result || count <= 0) return DEVICES_NONE;
  if (count > KNOWN_MAXIMUM) count = KNOWN_MAXIMUM;
  for (int i = 0; i < count; i++)
    if (!driver.DeviceGet(&device, i)) ask_device(device, &known[i].facts, known[i].uuid);
  atomic_store_explicit(&known_count, count, memory_order_release);
  atomic_store(&is_expected, false);
  return DEVICES_KNOWN;
}

void device_facts_expect(void) { atomic_store(&is_expected, true); }

void device_facts_reset(void) {
  atomic_store(&known_count, 0);
  atomic_store(&is_expected, false);
}

/* A row is written once: the first allocation may come before the thread that asks has looked again. */
static void wait_for_facts(void) {
  const struct timespec moment = {.tv_nsec = 1000000};
  for (int waited = 0; waited < PATIENCE_MS && atomic_load(&is_expected); waited++) nanosleep(&moment, NULL);
  atomic_store(&is_expected, false);
}

static void tell_device(int ordinal, struct device_facts *facts) {
  if (tell_before) tell_before(ordinal, facts);
  char name[RESOURCE_NAME_MAXIMUM];
  if (ordinal >= 0 && resource_name_of(RESOURCE_DEVICE, (uint64_t)ordinal, name))
    snprintf(facts->given_name, sizeof facts->given_name, "%s", name);
  if (!atomic_load(&known_count)) wait_for_facts();
  if (ordinal < 0 || ordinal >= atomic_load_explicit(&known_count, memory_order_acquire)) return;
  const struct device_facts *told = &known[ordinal].facts;
#define FILL_TEXT(member) \
  if (!facts->member[0]) memcpy(facts->member, told->member, sizeof facts->member)
#define FILL_NUMBER(member) \
  if (!facts->member) facts->member = told->member
  FILL_TEXT(model);
  FILL_TEXT(compute_capability);
  FILL_TEXT(uuid);
  FILL_TEXT(pci_bus);
  FILL_NUMBER(multiprocessors);
  FILL_NUMBER(clock_hz);
  FILL_NUMBER(memory_bytes);
  FILL_NUMBER(memory_bytes_per_second);
#undef FILL_TEXT
#undef FILL_NUMBER
}

/* ---- Rows. */

bool device_facts_open(struct recorder *recorder) {
  if (recorder->devices.tell_cuda != tell_device) tell_before = recorder->devices.tell_cuda;
  recorder->devices.tell_cuda = tell_device;
  return row_tables_add(&recorder->tables, &links, &links_form);
}

static uint32_t constant(struct recorder *recorder, const char *text) {
  return dump_writer_string(recorder->writer, text, strlen(text));
}

static int64_t device_of_uuid(struct activity_lanes *lanes, const uint8_t *uuid) {
  for (int i = 0; i < atomic_load_explicit(&known_count, memory_order_acquire); i++)
    if (!memcmp(known[i].uuid, uuid, 16)) return activity_device(lanes, (uint32_t)i);
  return -1;
}

static void add_link(struct activity_lanes *lanes, int64_t device, int64_t peer, const char *kind, uint64_t rate) {
  uint32_t row = device < 0 ? UINT32_MAX : row_add(&links);
  if (row == UINT32_MAX) return;
  row_set(&links, row, LINK_DEVICE, device);
  activity_set_row(&links, row, LINK_PEER, peer);
  row_set(&links, row, LINK_KIND, constant(lanes->recorder, kind));
  if (rate) row_set(&links, row, LINK_RATE, (int64_t)rate);
}

/* Of each ten bits that generations 1 and 2 move, eight are data, of 130 of those since 128. */
void device_facts_add_pcie(struct activity_lanes *lanes, const struct cupti_pcie *record) {
  if (record->type) return; /* a bridge */
  uint64_t bits = (uint64_t)record->rate * 1000000000 * record->width;
  uint64_t rate = record->generation < 3 ? bits / 10 : bits / 130 * 128 / 8;
  add_link(lanes, activity_device(lanes, record->id), -1, "pcie", rate);
}

/* What it can carry in both directions is told in kB/s. */
void device_facts_add_nvlink(struct activity_lanes *lanes, const struct cupti_nvlink *record, uint32_t version,
                             size_t bytes) {
  enum { IS_GPU = 1 };
  if (record->types[0] != IS_GPU) return;
  int64_t peer = record->types[1] == IS_GPU ? device_of_uuid(lanes, record->uuids[1]) : -1;
  add_link(lanes, device_of_uuid(lanes, record->uuids[0]), peer, "nvlink",
           cupti_nvlink_rate(record, version, bytes) * 1000);
}

static void add_measurement(struct activity_lanes *lanes, const struct cupti_environment *record, const char *name,
                            const char *unit, double value) {
  int64_t time_ns = device_clock_ns(&lanes->clock, record->time);
  if (time_ns == DEVICE_CLOCK_UNKNOWN) return;
  process_counters_add_of_device(lanes->recorder, time_ns, activity_device(lanes, record->device), name, unit, value);
}

void device_facts_add_environment(struct activity_lanes *lanes, const struct cupti_environment *record) {
  enum { CLOCKS = 1, TEMPERATURE, POWER, COOLING };
  const uint32_t *read = record->values;
  switch (record->environment) {
    case CLOCKS:
      add_measurement(lanes, record, "cupti_multiprocessor_clock", "Hz", read[0] * 1e6);
      add_measurement(lanes, record, "cupti_memory_clock", "Hz", read[1] * 1e6);
      add_measurement(lanes, record, "cupti_throttle_reasons", "bits", read[4]);
      break;
    case TEMPERATURE: add_measurement(lanes, record, "cupti_temperature", "C", read[0]); break;
    case POWER: add_measurement(lanes, record, "cupti_power", "W", read[0] * 1e-3); break;
    case COOLING: add_measurement(lanes, record, "cupti_fan", "ratio", read[0] * 1e-2); break;
    default: break;
  }
}
