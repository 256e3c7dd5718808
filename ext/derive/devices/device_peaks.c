/* device_peaks.c: the table device_peaks, of NVIDIA's GPUs whose capability, multiprocessors and clock are known, where
** the source has no such rates: multiprocessors times clock times what one multiprocessor does in a clock.
**
** Traces of PyTorch have no clock: there that counts which the data sheet of the model says.
**
** That is said by the CUDA C++ Programming Guide ("Throughput of Native Arithmetic Instructions") for float32 and
** float64, and for tensor cores by the white papers of the architectures: V100, Turing, A100, GA102, Ada, H100 and
** Blackwell, dense, and sums in float32 at their full rate.  The clock is the highest that the device may have: what
** a data sheet says rests on a lower one, and less is to be had for long.
*/
#include "derive/passes.h"
#include "derive/rows.h"

#include <string.h>

static const char *const dtypes[] = {"float64", "float32", "tf32", "float16", "bfloat16", "float8", "int8"};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

/* Operations in a clock of a multiprocessor, two for a multiplication that is added; 0: not in hardware. */
static const struct {
  const char *capability;
  uint16_t rates[DTYPES];
} known_rates[] = {
    {"7.0", {64, 128, 0, 1024, 0, 0, 0}},
    {"7.5", {4, 128, 0, 1024, 0, 0, 2048}},
    {"8.0", {128, 128, 1024, 2048, 2048, 0, 4096}},
    {"8.6", {4, 256, 512, 1024, 1024, 0, 2048}},
    {"8.9", {4, 256, 512, 1024, 1024, 2048, 2048}},
    {"9.0", {256, 256, 2048, 4096, 4096, 8192, 8192}},
    {"10.0", {128, 256, 4096, 8192, 8192, 16384, 16384}},
};

/* Boost clocks that data sheets rest on, by what is in the name of the model; the first that fits counts. */
static const struct {
  const char *model;
  uint32_t megahertz;
} known_clocks[] = {
    {"V100-PCIE", 1380}, {"V100-SXM3", 1597}, {"V100", 1530}, {"Tesla T4", 1590},
    {"A100", 1410},      {"A800", 1410},      {"A40", 1740},  {"H100 PCIe", 1755},
    {"H100 NVL", 1785},  {"H100", 1830},      {"H200", 1830}, {"NVIDIA L4", 2040},
};

struct peaks {
  uint32_t *devices;
  string_id *dtypes, *origins;
  double *rates;
  uint32_t count;
};

static const uint16_t *rates_of(const struct pool *pool, string_id capability) {
  for (size_t i = 0; i < sizeof known_rates / sizeof *known_rates; i++)
    if (!strcmp(pool_text(pool, capability), known_rates[i].capability)) return known_rates[i].rates;
  return NULL;
}

struct device_facts {
  int64_t *capabilities, *multiprocessors, *clocks, *models; /* by row of devices */
};

static int64_t clock_of_model(const struct pool *pool, int64_t model) {
  const char *name = model == NO_VALUE ? "" : pool_text(pool, (string_id)model);
  for (size_t i = 0; i < sizeof known_clocks / sizeof *known_clocks; i++) {
    const char *found = strstr(name, known_clocks[i].model);
    /* L4 is no L40. */
    if (found && !(found[strlen(known_clocks[i].model)] >= '0' && found[strlen(known_clocks[i].model)] <= '9'))
      return known_clocks[i].megahertz * INT64_C(1000000);
  }
  return NO_VALUE;
}

static void add_peaks(struct profile *profile, const struct device_facts *facts, uint32_t device, struct peaks *peaks) {
  int64_t count = facts->multiprocessors[device], clock = facts->clocks[device];
  if (clock == NO_VALUE) clock = clock_of_model(store_pool(profile->store), facts->models[device]);
  const uint16_t *rates = facts->capabilities[device] == NO_VALUE || count <= 0 || clock <= 0
                              ? NULL
                              : rates_of(store_pool(profile->store), (string_id)facts->capabilities[device]);
  for (unsigned i = 0; rates && i < DTYPES; i++) {
    if (!rates[i]) continue;
    peaks->devices[peaks->count] = device;
    peaks->dtypes[peaks->count] = derive_known_text(profile, dtypes[i]);
    peaks->origins[peaks->count] = derive_known_text(profile, "a table of known devices");
    peaks->rates[peaks->count++] = (double)count * (double)clock * rates[i];
  }
}

static enum tfprof_status run_device_peaks(struct profile *profile, struct tfprof_error *error) {
  struct device_facts facts = {0};
  struct peaks peaks = {0};
  uint32_t devices;
  enum tfprof_status status = derive_row_count(profile, TABLE_devices, &devices, error);
  if (status || !devices) return status;
  status = derive_all_integers(profile, TABLE_devices, COLUMN_devices_compute_capability, &facts.capabilities, error);
  if (!status)
    status =
        derive_all_integers(profile, TABLE_devices, COLUMN_devices_multiprocessor_count, &facts.multiprocessors, error);
  if (!status) status = derive_all_integers(profile, TABLE_devices, COLUMN_devices_clock_hz, &facts.clocks, error);
  if (!status) status = derive_all_integers(profile, TABLE_devices, COLUMN_devices_model, &facts.models, error);
  size_t room = (size_t)devices * DTYPES;
  peaks.devices = scratch_allocate(room * sizeof *peaks.devices);
  peaks.dtypes = scratch_allocate(room * sizeof *peaks.dtypes);
  peaks.origins = scratch_allocate(room * sizeof *peaks.origins);
  peaks.rates = scratch_allocate(room * sizeof *peaks.rates);
  if (!status && (!peaks.devices || !peaks.dtypes || !peaks.origins || !peaks.rates)) status = error_no_memory(error);
  for (uint32_t device = 0; device < devices && !status; device++) add_peaks(profile, &facts, device, &peaks);
#define SET(kind, column, values) \
  if (!status && peaks.count) \
  status = derive_set_##kind(profile, TABLE_device_peaks, COLUMN_device_peaks_##column, values, error)
  if (!status && peaks.count) status = derive_make_table(profile, TABLE_device_peaks, peaks.count, error);
  SET(references, device_id, peaks.devices);
  SET(texts, dtype, peaks.dtypes);
  SET(texts, origin, peaks.origins);
  SET(reals, flops_per_second, peaks.rates);
#undef SET
  scratch_free(peaks.devices);
  scratch_free(peaks.dtypes);
  scratch_free(peaks.origins);
  scratch_free(peaks.rates);
  scratch_free(facts.capabilities);
  scratch_free(facts.multiprocessors);
  scratch_free(facts.clocks);
  scratch_free(facts.models);
  return status;
}

const struct derive_pass derive_device_peaks = {
    .name = "peaks of devices",
    .summary = "Multiprocessors times clock times what one does in a clock, by compute capability.",
    .makes_table = TABLE_device_peaks,
    .reads = {{TABLE_devices, COLUMN_devices_compute_capability},
              {TABLE_devices, COLUMN_devices_multiprocessor_count},
              {TABLE_devices, COLUMN_devices_clock_hz},
              {TABLE_devices, COLUMN_devices_model}},
    .run = run_device_peaks,
    .texts = (const char *const[]){"float64", "float32", "tf32", "float16", "bfloat16", "float8", "int8",
                                   "a table of known devices", NULL},
};
