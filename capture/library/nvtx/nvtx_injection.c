/* nvtx_injection.c: see nvtx_injection.h. What a header does not have yet has no place for it: counts are looked at. */
#include "nvtx_injection.h"

#include "nvtx_callbacks.h"

/* Places hold pointers to function pointers. */
static void fill_module(const struct nvtx_callback_table *table, enum nvtx_module module,
                        const struct nvtx_entry *entries) {
  nvtx_function **places = NULL;
  unsigned count = 0;
  if (!table->get_module((int)module, &places, &count) || !places) return;
  for (; entries->number; entries++)
    if (entries->number < count && places[entries->number]) *places[entries->number] = entries->function;
}

bool nvtx_attach(nvtx_get_export_table get_table) {
  const struct nvtx_callback_table *table = get_table ? get_table(NVTX_TABLE_CALLBACKS) : NULL;
  if (!table || table->size < sizeof *table || !table->get_module) return false;
  fill_module(table, NVTX_MODULE_CORE, nvtx_core_entries);
  fill_module(table, NVTX_MODULE_CORE2, nvtx_core2_entries);
  fill_module(table, NVTX_MODULE_CUDA, nvtx_cuda_entries);
  fill_module(table, NVTX_MODULE_CUDART, nvtx_cudart_entries);
  fill_module(table, NVTX_MODULE_SYNC, nvtx_sync_entries);
  return true;
}

bool nvtx_attach_extension(const struct nvtx_extension *extension) {
  if (!extension || extension->size < offsetof(struct nvtx_extension, get_function) ||
      extension->module != NVTX_EXTENSION_PAYLOAD || !extension->segment_count || !extension->segments)
    return false;
  const struct nvtx_segment *segment = &extension->segments[0];
  for (const struct nvtx_entry *entry = nvtx_payload_entries; entry->function; entry++)
    if (entry->number < segment->count && segment->functions)
      segment->functions[entry->number] = (intptr_t)entry->function;
  return true;
}
