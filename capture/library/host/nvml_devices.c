/* nvml_devices.c: see nvml_devices.h. */
#include "nvml_devices.h"

#include "cuda_driver.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct gpu_device {
  nvml_device itself, whole; /* the same, but for an instance of MIG; NULL: not known, or lost */
} devices[NVML_DEVICES];

static struct cuda_driver driver;

int nvml_devices_count(void) {
  int count = 0;
  if (!cuda_driver_find(&driver) || driver.DeviceGetCount(&count)) return -1;
  return count < NVML_DEVICES ? count : NVML_DEVICES;
}

uint32_t nvml_devices_used(int count) {
  uint32_t used = 0;
  for (int i = 0; i < count; i++) {
    unsigned flags;
    int device, is_active = 0;
    if (!driver.PrimaryCtxGetState || driver.DeviceGet(&device, i)) return UINT32_MAX;
    if (driver.PrimaryCtxGetState(device, &flags, &is_active)) return UINT32_MAX;
    if (is_active) used |= UINT32_C(1) << i;
  }
  return used;
}

static void uuid_text(const uint8_t uuid[16], const char *prefix, char *text, size_t size) {
  int length = snprintf(text, size, "%s-", prefix);
  for (int i = 0; i < 16; i++)
    length += snprintf(text + length, size - (size_t)length, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
                       uuid[i]);
}

/* CUDA tells the same 16 bytes of an instance and of a device; which it is, the name says that NVML knows them by. */
static void find_device(struct gpu_device *found, int ordinal) {
  uint8_t uuid[16];
  char text[48];
  int device;
  *found = (struct gpu_device){0};
  if (driver.DeviceGet(&device, ordinal)) return;
  int (*get_uuid)(uint8_t *, int) = driver.DeviceGetInstanceUuid ? driver.DeviceGetInstanceUuid : driver.DeviceGetUuid;
  if (get_uuid && !get_uuid(uuid, device)) {
    uuid_text(uuid, "MIG", text, sizeof text);
    if (nvml.device_by_uuid(text, &found->itself) == NVML_OK && nvml.parent_of_instance &&
        nvml.parent_of_instance(found->itself, &found->whole) == NVML_OK)
      return;
    uuid_text(uuid, "GPU", text, sizeof text);
    if (nvml.device_by_uuid(text, &found->itself) == NVML_OK) {
      found->whole = found->itself;
      return;
    }
  }
  found->itself = NULL;
  if (!driver.DeviceGetPCIBusId || driver.DeviceGetPCIBusId(text, sizeof text, device) ||
      nvml.device_by_bus(text, &found->itself) != NVML_OK)
    found->itself = NULL;
  found->whole = found->itself;
}

int nvml_devices_find(int count) {
  int known = 0;
  for (int i = 0; i < NVML_DEVICES; i++) {
    devices[i] = (struct gpu_device){0};
    if (i < count) find_device(&devices[i], i);
    known += devices[i].itself != NULL;
  }
  return known;
}

/* ---- Readings. */

static void set_value(struct gpu_reading *reading, enum gpu_value value, double number) {
  reading->values[value] = number;
  reading->known |= 1u << value;
}

static int read_memory(nvml_device device, struct gpu_reading *reading) {
  struct nvml_memory memory;
  int result = nvml.memory(device, &memory);
  if (result != NVML_OK) return result;
  set_value(reading, GPU_MEMORY_USED, (double)memory.used);
  set_value(reading, GPU_MEMORY_TOTAL, (double)memory.total);
  return NVML_OK;
}

static bool is_gone(int result) {
  return result == NVML_GPU_IS_LOST || result == NVML_UNINITIALIZED || result == NVML_INVALID_ARGUMENT ||
         result == NVML_NOT_FOUND;
}

/* In a container with process numbers of its own ours is not among them. */
static void read_process(nvml_device device, struct gpu_reading *reading) {
  struct nvml_process processes[256];
  unsigned count = sizeof processes / sizeof *processes;
  if (!nvml.processes || nvml.processes(device, &count, processes) != NVML_OK) return;
  for (unsigned i = 0; i < count && i < sizeof processes / sizeof *processes; i++)
    if (processes[i].pid == (unsigned)getpid() && processes[i].bytes != ~0ull)
      set_value(reading, GPU_PROCESS_MEMORY, (double)processes[i].bytes);
}

static void read_clocks(nvml_device device, struct gpu_reading *reading) {
  enum { IS_IDLE = 1 }; /* a clock that is low because nothing runs is not throttled */
  unsigned value;
  unsigned long long bits;
  if (nvml.clock && nvml.clock(device, NVML_CLOCK_SM, &value) == NVML_OK) set_value(reading, GPU_SM_CLOCK, value * 1e6);
  if (nvml.clock && nvml.clock(device, NVML_CLOCK_MEMORY, &value) == NVML_OK)
    set_value(reading, GPU_MEMORY_CLOCK, value * 1e6);
  if (nvml.temperature && nvml.temperature(device, NVML_TEMPERATURE_GPU, &value) == NVML_OK)
    set_value(reading, GPU_TEMPERATURE, value);
  if (nvml.throttle_reasons && nvml.throttle_reasons(device, &bits) == NVML_OK)
    set_value(reading, GPU_THROTTLE_REASONS, (double)(bits & ~(unsigned long long)IS_IDLE));
}

static void read_links(nvml_device device, struct gpu_reading *reading) {
  struct nvml_field_value fields[] = {{.field = NVML_PCIE_SENT}, {.field = NVML_PCIE_RECEIVED}};
  if (!nvml.fields || nvml.fields(device, 2, fields) != NVML_OK) return;
  for (int i = 0; i < 2; i++) {
    const struct nvml_field_value *field = &fields[i];
    if (field->result != NVML_OK) continue;
    if (field->type == NVML_UNSIGNED) set_value(reading, GPU_PCIE_SENT + (unsigned)i, field->value.number);
    if (field->type == NVML_UNSIGNED_LONG || field->type == NVML_UNSIGNED_LONG_LONG)
      set_value(reading, GPU_PCIE_SENT + (unsigned)i, (double)field->value.large_number);
  }
}

bool nvml_devices_read(int ordinal, struct gpu_reading *reading) {
  struct gpu_device *device = &devices[ordinal];
  struct nvml_utilization utilization;
  unsigned milliwatts;
  if (!device->itself) return false;
  int result = nvml.utilization(device->itself, &utilization), of_memory = read_memory(device->itself, reading);
  if (is_gone(result) || is_gone(of_memory)) device->itself = NULL;
  bool is_told = device->itself && (result == NVML_OK || reading->known || result == NVML_NOT_SUPPORTED);
  reading->failure = is_told ? NVML_OK : is_gone(of_memory) ? of_memory : result;
  if (!is_told) return false;
  if (result == NVML_OK) {
    set_value(reading, GPU_UTILIZATION, utilization.gpu / 100.0);
    set_value(reading, GPU_MEMORY_UTILIZATION, utilization.memory / 100.0);
  }
  read_process(device->itself, reading);
  if (nvml.power(device->whole, &milliwatts) == NVML_OK) set_value(reading, GPU_POWER, milliwatts / 1000.0);
  read_clocks(device->whole, reading);
  read_links(device->whole, reading);
  return true;
}
