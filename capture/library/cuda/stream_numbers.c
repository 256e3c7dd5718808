/* stream_numbers.c: see stream_numbers.h. */
#include "stream_numbers.h"

#include "channel/resource_names.h"
#include "host/cuda_driver.h"

static const struct cupti_api *api;
static struct cuda_driver driver; /* written before the first stream can be asked for */

/* A handle is an address or one of the small numbers that stand for the streams that each context has. */
static bool number_of(enum resource_kind kind, uint64_t handle, uint64_t *number) {
  void *named = (void *)(uintptr_t)handle, *context = named;
  uint32_t context_id = 0, stream_id = 0;
  if (kind == RESOURCE_STREAM && (!driver.StreamGetCtx || driver.StreamGetCtx(named, &context))) return false;
  if (api->GetContextId(context, &context_id)) return false;
  if (kind == RESOURCE_STREAM && api->GetStreamIdEx(context, named, 0, &stream_id)) return false;
  *number = stream_number(context_id, stream_id);
  return true;
}

void stream_numbers_begin(const struct cupti_api *its_api) {
  api = its_api;
  if (!api->GetStreamIdEx || !api->GetContextId || !cuda_driver_find(&driver)) return;
  resource_names_translate(number_of);
}
