/* memory_rates.c: devices.memory_bytes_per_second, of NVIDIA's GPUs that are known by their names, where the source
** does not tell it, as traces of PyTorch do not.
**
** The rates are those of NVIDIA's data sheets.  Of models that were sold with memories of two kinds the size tells
** which it is.
*/
#include "derive/passes.h"
#include "derive/rows.h"

#include <string.h>

/* By what is in the name of the model; the first that fits counts. */
static const struct {
  const char *model;
  int64_t at_least; /* gigabytes of memory; 0: any */
  double gigabytes_per_second;
} known_rates[] = {
    {"P100", 0, 732},
    {"V100", 0, 900},
    {"Tesla T4", 0, 320},
    {"A100-PCIE", 0, 1555},
    {"A100 80GB PCIe", 0, 1935},
    {"A100", 60, 2039},
    {"A100", 0, 1555},
    {"A800 80GB PCIe", 0, 1935},
    {"A800", 0, 2039},
    {"A10G", 0, 600},
    {"A10", 0, 600},
    {"A30", 0, 933},
    {"A40", 0, 696},
    {"L40S", 0, 864},
    {"L40", 0, 864},
    {"NVIDIA L4", 0, 300},
    {"GH200", 120, 4900},
    {"GH200", 0, 4000},
    {"H100 PCIe", 0, 2039},
    {"H100 NVL", 0, 3938},
    {"H100", 0, 3352},
    {"H200", 0, 4800},
    {"B200", 0, 8000},
    {"RTX 3090", 0, 936},
    {"RTX 4090", 0, 1008},
    {"RTX A6000", 0, 768},
    {"RTX 6000 Ada", 0, 960},
};

static int64_t rate_of_model(const char *name, int64_t memory_bytes) {
  for (size_t i = 0; i < sizeof known_rates / sizeof *known_rates; i++) {
    const char *found = strstr(name, known_rates[i].model);
    if (!found) continue;
    char behind = found[strlen(known_rates[i].model)];
    if (behind >= '0' && behind <= '9') continue; /* L4 is no L40 */
    if (known_rates[i].at_least && memory_bytes < known_rates[i].at_least * 1000000000) continue;
    return (int64_t)(known_rates[i].gigabytes_per_second * 1e9);
  }
  return NO_VALUE;
}

static enum tfprof_status run_memory_rates(struct profile *profile, struct tfprof_error *error) {
  const struct pool *pool = store_pool(profile->store);
  int64_t *models = NULL, *sizes = NULL;
  uint32_t rows;
  enum tfprof_status status = derive_row_count(profile, TABLE_devices, &rows, error);
  if (status || !rows) return status;
  status = derive_all_integers(profile, TABLE_devices, COLUMN_devices_model, &models, error);
  if (!status) status = derive_all_integers(profile, TABLE_devices, COLUMN_devices_memory_bytes, &sizes, error);
  for (uint32_t row = 0; row < rows && !status; row++)
    models[row] =
        models[row] == NO_VALUE ? NO_VALUE : rate_of_model(pool_text(pool, (string_id)models[row]), sizes[row]);
  if (!status)
    status = derive_set_integers(profile, TABLE_devices, COLUMN_devices_memory_bytes_per_second, models, error);
  scratch_free(models);
  scratch_free(sizes);
  return status;
}

const struct derive_pass derive_memory_rates = {
    .name = "memory rates of devices",
    .summary = "What data sheets say of the models that are known by their names.",
    .makes_table = -1,
    .reads = {{TABLE_devices, COLUMN_devices_model}, {TABLE_devices, COLUMN_devices_memory_bytes}},
    .writes = {{TABLE_devices, COLUMN_devices_memory_bytes_per_second}},
    .run = run_memory_rates,
};
