/* nvtx_callbacks.c: see nvtx_callbacks.h. */
#include "nvtx_callbacks.h"

#include "channel/resource_names.h"
#include "channel/thread_names.h"
#include "nvtx_domains.h"
#include "nvtx_payload.h"
#include "nvtx_ranges.h"
#include "nvtx_schemas.h"
#include "nvtx_texts.h"
#include "recorder/clock.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

_Atomic uint64_t nvtx_attributes_wrong;

/* ---- What events are given. */

static uint32_t message_text(int32_t type, const void *message) {
  if (type == NVTX_MESSAGE_ASCII) return nvtx_text_number(message);
  if (type == NVTX_MESSAGE_WIDE) return nvtx_text_number_wide(message);
  uint32_t text = type == NVTX_MESSAGE_REGISTERED && message ? nvtx_text_number_of_handle(message) : 0;
  if (type == NVTX_MESSAGE_REGISTERED && message && !text)
    atomic_fetch_add_explicit(&nvtx_domains_unknown, 1, memory_order_relaxed);
  return text ? text : nvtx_text_number(NULL);
}

static void set_payload(struct nvtx_event *event, unsigned domain, const struct nvtx_payload_data *data, size_t count,
                        struct nvtx_payload *payload) {
  nvtx_payload_read(domain, data, count, payload);
  event->json = payload->json;
  event->json_length = payload->length;
  if (payload->text) event->text = payload->text;
  if (payload->category) event->category = payload->category;
  if (payload->has_color) event->color = payload->color;
  event->has_color |= payload->has_color;
}

#define HAS(attributes, member) \
  ((attributes)->size >= offsetof(struct nvtx_attributes, member) + sizeof(attributes)->member)

/* true: there are payloads to be read. A newer structure is longer, and begins as this one does. */
static inline bool read_attributes(struct nvtx_event *event, unsigned domain,
                                   const struct nvtx_attributes *attributes) {
  *event = (struct nvtx_event){.domain = (uint16_t)domain};
  if (__builtin_expect(!attributes || attributes->size < offsetof(struct nvtx_attributes, color_type), 0)) {
    atomic_fetch_add_explicit(&nvtx_attributes_wrong, 1, memory_order_relaxed);
    event->text = nvtx_text_number(NULL);
    return false;
  }
  event->category = attributes->category;
  if (HAS(attributes, color) && attributes->color_type == NVTX_COLOR_KNOWN) {
    event->has_color = true;
    event->color = attributes->color;
  }
  event->text = HAS(attributes, message) ? message_text(attributes->message_type, attributes->message)
                                         : nvtx_text_number(NULL);
  if (!HAS(attributes, value) || attributes->value_type == NVTX_VALUE_NONE) return false;
  if (attributes->value_type == NVTX_VALUE_EXTENDED) return true;
  if (attributes->value_type < 0 || attributes->value_type > NVTX_VALUE_FLOAT) return false;
  event->value_sort = (uint8_t)attributes->value_type;
  event->value = attributes->value;
  return false;
}

/* Calls `act` with what is given; the JSON lies on the stack only where there is some. */
static __attribute__((noinline)) void read_extended(struct nvtx_event *event, unsigned domain,
                                                    const struct nvtx_attributes *attributes,
                                                    struct nvtx_payload *payload) {
  int32_t count = attributes->extended_count;
  set_payload(event, domain, (const struct nvtx_payload_data *)(uintptr_t)attributes->value,
              count > 0 ? (size_t)count : 1, payload);
}

static struct nvtx_event plain_event(uint32_t text) { return (struct nvtx_event){.text = text}; }

/* ---- Core: the default domain. */

static int push_in(unsigned domain, const struct nvtx_attributes *attributes) {
  struct nvtx_event event;
  if (__builtin_expect(!read_attributes(&event, domain, attributes), 1)) return nvtx_push(&event);
  struct nvtx_payload payload;
  read_extended(&event, domain, attributes, &payload);
  return nvtx_push(&event);
}

static uint64_t start_in(unsigned domain, const struct nvtx_attributes *attributes) {
  struct nvtx_event event;
  if (__builtin_expect(!read_attributes(&event, domain, attributes), 1)) return nvtx_start(&event);
  struct nvtx_payload payload;
  read_extended(&event, domain, attributes, &payload);
  return nvtx_start(&event);
}

static void mark_in(unsigned domain, const struct nvtx_attributes *attributes) {
  struct nvtx_event event;
  if (__builtin_expect(!read_attributes(&event, domain, attributes), 1)) {
    nvtx_mark(&event);
    return;
  }
  struct nvtx_payload payload;
  read_extended(&event, domain, attributes, &payload);
  nvtx_mark(&event);
}

static void mark_ex(const struct nvtx_attributes *attributes) { mark_in(0, attributes); }
static void mark_a(const char *message) {
  const struct nvtx_event event = plain_event(nvtx_text_number(message));
  nvtx_mark(&event);
}
static void mark_w(const void *message) {
  const struct nvtx_event event = plain_event(nvtx_text_number_wide(message));
  nvtx_mark(&event);
}
static uint64_t range_start_ex(const struct nvtx_attributes *attributes) { return start_in(0, attributes); }
static uint64_t range_start_a(const char *message) {
  const struct nvtx_event event = plain_event(nvtx_text_number(message));
  return nvtx_start(&event);
}
static uint64_t range_start_w(const void *message) {
  const struct nvtx_event event = plain_event(nvtx_text_number_wide(message));
  return nvtx_start(&event);
}
static void range_end(uint64_t id) { nvtx_end(id, NULL); }
static int range_push_ex(const struct nvtx_attributes *attributes) { return push_in(0, attributes); }
static int range_push_a(const char *message) {
  const struct nvtx_event event = plain_event(nvtx_text_number(message));
  return nvtx_push(&event);
}
static int range_push_w(const void *message) {
  const struct nvtx_event event = plain_event(nvtx_text_number_wide(message));
  return nvtx_push(&event);
}
static int range_pop(void) { return nvtx_pop(0, NULL); }
static void name_category_a(uint32_t category, const char *name) {
  nvtx_category_name(0, category, nvtx_text_number(name));
}
static void name_category_w(uint32_t category, const void *name) {
  nvtx_category_name(0, category, nvtx_text_number_wide(name));
}

static void name_thread(uint32_t tid, uint32_t text) {
  char name[THREAD_NAME_ROOM];
  snprintf(name, sizeof name, "%.*s", (int)nvtx_text(text)->length, nvtx_text(text)->bytes);
  thread_name_note(tid, name);
  resource_name_tell(RESOURCE_THREAD, tid, name, strlen(name));
}
static void name_thread_a(uint32_t tid, const char *name) { name_thread(tid, nvtx_text_number(name)); }
static void name_thread_w(uint32_t tid, const void *name) { name_thread(tid, nvtx_text_number_wide(name)); }

#define ENTRY(number, function) {number, (nvtx_function)(function)}
const struct nvtx_entry nvtx_core_entries[] = {
    ENTRY(NVTX_MARK_EX, mark_ex),
    ENTRY(NVTX_MARK_A, mark_a),
    ENTRY(NVTX_MARK_W, mark_w),
    ENTRY(NVTX_RANGE_START_EX, range_start_ex),
    ENTRY(NVTX_RANGE_START_A, range_start_a),
    ENTRY(NVTX_RANGE_START_W, range_start_w),
    ENTRY(NVTX_RANGE_END, range_end),
    ENTRY(NVTX_RANGE_PUSH_EX, range_push_ex),
    ENTRY(NVTX_RANGE_PUSH_A, range_push_a),
    ENTRY(NVTX_RANGE_PUSH_W, range_push_w),
    ENTRY(NVTX_RANGE_POP, range_pop),
    ENTRY(NVTX_NAME_CATEGORY_A, name_category_a),
    ENTRY(NVTX_NAME_CATEGORY_W, name_category_w),
    ENTRY(NVTX_NAME_OS_THREAD_A, name_thread_a),
    ENTRY(NVTX_NAME_OS_THREAD_W, name_thread_w),
    {0, NULL},
};

/* ---- Domains. */

static void domain_mark_ex(void *domain, const struct nvtx_attributes *attributes) {
  mark_in(nvtx_domain_number(domain), attributes);
}
static uint64_t domain_range_start_ex(void *domain, const struct nvtx_attributes *attributes) {
  return start_in(nvtx_domain_number(domain), attributes);
}
static void domain_range_end(void *domain, uint64_t id) {
  (void)domain; /* ids are of the process */
  nvtx_end(id, NULL);
}
static int domain_range_push_ex(void *domain, const struct nvtx_attributes *attributes) {
  return push_in(nvtx_domain_number(domain), attributes);
}
static int domain_range_pop(void *domain) { return nvtx_pop(nvtx_domain_number(domain), NULL); }

static void name_resource(int32_t type, uint64_t identifier, uint32_t number) {
  static const struct {
    int32_t type;
    enum resource_kind kind;
  } kinds[] = {
      {NVTX_RESOURCE_CU_DEVICE, RESOURCE_DEVICE},   {NVTX_RESOURCE_CUDA_DEVICE, RESOURCE_DEVICE},
      {NVTX_RESOURCE_CU_CONTEXT, RESOURCE_CONTEXT}, {NVTX_RESOURCE_CU_STREAM, RESOURCE_STREAM},
      {NVTX_RESOURCE_CUDA_STREAM, RESOURCE_STREAM}, {NVTX_RESOURCE_CU_EVENT, RESOURCE_EVENT},
      {NVTX_RESOURCE_CUDA_EVENT, RESOURCE_EVENT},
  };
  const struct nvtx_text *text = nvtx_text(number);
  if (type == NVTX_RESOURCE_THREAD) name_thread((uint32_t)identifier, number);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (kinds[i].type == type) resource_name_tell(kinds[i].kind, identifier, text->bytes, text->length);
}

/* Nothing is asked of the handle but to be none of others, and not NULL. */
static void *resource_create(void *domain, const struct nvtx_resource *resource) {
  (void)domain;
  if (!resource || resource->size < sizeof *resource) {
    atomic_fetch_add_explicit(&nvtx_attributes_wrong, 1, memory_order_relaxed);
    return NULL;
  }
  uint32_t text = message_text(resource->message_type, resource->message);
  name_resource(resource->type, resource->identifier, text);
  return (void *)(uintptr_t)nvtx_text(text);
}
static void resource_destroy(void *resource) { (void)resource; }

static void domain_name_category_a(void *domain, uint32_t category, const char *name) {
  nvtx_category_name(nvtx_domain_number(domain), category, nvtx_text_number(name));
}
static void domain_name_category_w(void *domain, uint32_t category, const void *name) {
  nvtx_category_name(nvtx_domain_number(domain), category, nvtx_text_number_wide(name));
}
static const void *register_string_a(void *domain, const char *string) {
  (void)domain; /* the same text is the same everywhere */
  return nvtx_text(nvtx_text_number(string));
}
static const void *register_string_w(void *domain, const void *string) {
  (void)domain;
  return nvtx_text(nvtx_text_number_wide(string));
}
static void *domain_create_a(const char *name) { return nvtx_domain_make(nvtx_text_number(name)); }
static void *domain_create_w(const void *name) { return nvtx_domain_make(nvtx_text_number_wide(name)); }
static void initialize(const void *reserved) { (void)reserved; }

const struct nvtx_entry nvtx_core2_entries[] = {
    ENTRY(NVTX_DOMAIN_MARK_EX, domain_mark_ex),
    ENTRY(NVTX_DOMAIN_RANGE_START_EX, domain_range_start_ex),
    ENTRY(NVTX_DOMAIN_RANGE_END, domain_range_end),
    ENTRY(NVTX_DOMAIN_RANGE_PUSH_EX, domain_range_push_ex),
    ENTRY(NVTX_DOMAIN_RANGE_POP, domain_range_pop),
    ENTRY(NVTX_DOMAIN_RESOURCE_CREATE, resource_create),
    ENTRY(NVTX_DOMAIN_RESOURCE_DESTROY, resource_destroy),
    ENTRY(NVTX_DOMAIN_NAME_CATEGORY_A, domain_name_category_a),
    ENTRY(NVTX_DOMAIN_NAME_CATEGORY_W, domain_name_category_w),
    ENTRY(NVTX_DOMAIN_REGISTER_STRING_A, register_string_a),
    ENTRY(NVTX_DOMAIN_REGISTER_STRING_W, register_string_w),
    ENTRY(NVTX_DOMAIN_CREATE_A, domain_create_a),
    ENTRY(NVTX_DOMAIN_CREATE_W, domain_create_w),
    ENTRY(NVTX_DOMAIN_DESTROY, nvtx_domain_destroy),
    ENTRY(NVTX_INITIALIZE, initialize),
    {0, NULL},
};

/* ---- Names of what CUDA has. Devices are numbers of 32 bits, all else is pointers. */

#define NAME_FUNCTIONS(what, type, resource)                                                             \
  static void name_##what##_a(type handle, const char *name) {                                          \
    name_resource(resource, (uint64_t)(uintptr_t)handle, nvtx_text_number(name));                       \
  }                                                                                                      \
  static void name_##what##_w(type handle, const void *name) {                                          \
    name_resource(resource, (uint64_t)(uintptr_t)handle, nvtx_text_number_wide(name));                  \
  }
NAME_FUNCTIONS(cu_device, unsigned, NVTX_RESOURCE_CU_DEVICE)
NAME_FUNCTIONS(cu_context, const void *, NVTX_RESOURCE_CU_CONTEXT)
NAME_FUNCTIONS(cu_stream, const void *, NVTX_RESOURCE_CU_STREAM)
NAME_FUNCTIONS(cu_event, const void *, NVTX_RESOURCE_CU_EVENT)

const struct nvtx_entry nvtx_cuda_entries[] = {
    ENTRY(NVTX_NAME_CU_DEVICE, name_cu_device_a),   ENTRY(NVTX_NAME_CU_DEVICE + 1, name_cu_device_w),
    ENTRY(NVTX_NAME_CU_CONTEXT, name_cu_context_a), ENTRY(NVTX_NAME_CU_CONTEXT + 1, name_cu_context_w),
    ENTRY(NVTX_NAME_CU_STREAM, name_cu_stream_a),   ENTRY(NVTX_NAME_CU_STREAM + 1, name_cu_stream_w),
    ENTRY(NVTX_NAME_CU_EVENT, name_cu_event_a),     ENTRY(NVTX_NAME_CU_EVENT + 1, name_cu_event_w),
    {0, NULL},
};
/* The runtime's streams and events are the driver's. */
const struct nvtx_entry nvtx_cudart_entries[] = {
    ENTRY(NVTX_NAME_CUDA_DEVICE, name_cu_device_a), ENTRY(NVTX_NAME_CUDA_DEVICE + 1, name_cu_device_w),
    ENTRY(NVTX_NAME_CUDA_STREAM, name_cu_stream_a), ENTRY(NVTX_NAME_CUDA_STREAM + 1, name_cu_stream_w),
    ENTRY(NVTX_NAME_CUDA_EVENT, name_cu_event_a),   ENTRY(NVTX_NAME_CUDA_EVENT + 1, name_cu_event_w),
    {0, NULL},
};

/* ---- Locks of the program: waiting for one is a range, of the domain "sync". */

static unsigned sync_domain(void) { return nvtx_domain_number(nvtx_domain_make(nvtx_text_number("sync"))); }

static const void *sync_create(void *domain, const struct nvtx_sync_attributes *attributes) {
  (void)domain;
  bool has_name = attributes && attributes->size >= sizeof *attributes;
  return nvtx_text(has_name ? message_text(attributes->message_type, attributes->message) : nvtx_text_number(NULL));
}
static void sync_destroy(const void *lock) { (void)lock; }
static void sync_acquire_start(const void *lock) {
  uint32_t text = nvtx_text_number_of_handle(lock);
  const struct nvtx_event event = {.text = text ? text : nvtx_text_number(NULL), .domain = (uint16_t)sync_domain()};
  nvtx_push(&event);
}
static void sync_acquire_ended(const void *lock) {
  (void)lock;
  nvtx_pop(sync_domain(), NULL);
}

const struct nvtx_entry nvtx_sync_entries[] = {
    ENTRY(NVTX_SYNC_CREATE, sync_create),
    ENTRY(NVTX_SYNC_DESTROY, sync_destroy),
    ENTRY(NVTX_SYNC_ACQUIRE_START, sync_acquire_start),
    ENTRY(NVTX_SYNC_ACQUIRE_FAILED, sync_acquire_ended),
    ENTRY(NVTX_SYNC_ACQUIRE_SUCCESS, sync_acquire_ended),
    {0, NULL},
};

/* ---- Payloads. */

static uint64_t schema_register(void *domain, const struct nvtx_schema *schema) {
  return nvtx_schema_register(nvtx_domain_number(domain), schema);
}
static uint64_t enum_register(void *domain, const struct nvtx_enum *values) {
  return nvtx_enum_register(nvtx_domain_number(domain), values);
}

/* An event that payloads alone describe; `otherwise`: its text where they tell none. */
static struct nvtx_event event_of_payloads(const void *domain, const struct nvtx_payload_data *data, size_t count,
                                           uint32_t otherwise, struct nvtx_payload *payload) {
  struct nvtx_event event = {.text = otherwise, .domain = (uint16_t)nvtx_domain_number(domain)};
  set_payload(&event, event.domain, data, count, payload);
  return event;
}

static void mark_payload(void *domain, const struct nvtx_payload_data *data, size_t count) {
  struct nvtx_payload payload;
  const struct nvtx_event event = event_of_payloads(domain, data, count, nvtx_text_number(NULL), &payload);
  nvtx_mark(&event);
}
static int push_payload(void *domain, const struct nvtx_payload_data *data, size_t count) {
  struct nvtx_payload payload;
  const struct nvtx_event event = event_of_payloads(domain, data, count, nvtx_text_number(NULL), &payload);
  return nvtx_push(&event);
}
static int pop_payload(void *domain, const struct nvtx_payload_data *data, size_t count) {
  struct nvtx_payload payload;
  const struct nvtx_event event = event_of_payloads(domain, data, count, 0, &payload);
  return nvtx_pop(event.domain, &event);
}
static uint64_t start_payload(void *domain, const struct nvtx_payload_data *data, size_t count) {
  struct nvtx_payload payload;
  const struct nvtx_event event = event_of_payloads(domain, data, count, nvtx_text_number(NULL), &payload);
  return nvtx_start(&event);
}
static void end_payload(void *domain, uint64_t id, const struct nvtx_payload_data *data, size_t count) {
  struct nvtx_payload payload;
  const struct nvtx_event event = event_of_payloads(domain, data, count, 0, &payload);
  nvtx_end(id, &event);
}
static uint8_t domain_is_enabled(void *domain) {
  (void)domain;
  return 1;
}
static int64_t timestamp_get(void) { return (int64_t)clock_monotonic_ns(); }

const struct nvtx_entry nvtx_payload_entries[] = {
    ENTRY(NVTX_SCHEMA_REGISTER, schema_register),
    ENTRY(NVTX_ENUM_REGISTER, enum_register),
    ENTRY(NVTX_MARK_PAYLOAD, mark_payload),
    ENTRY(NVTX_RANGE_PUSH_PAYLOAD, push_payload),
    ENTRY(NVTX_RANGE_POP_PAYLOAD, pop_payload),
    ENTRY(NVTX_RANGE_START_PAYLOAD, start_payload),
    ENTRY(NVTX_RANGE_END_PAYLOAD, end_payload),
    ENTRY(NVTX_DOMAIN_IS_ENABLED, domain_is_enabled),
    ENTRY(NVTX_TIMESTAMP_GET, timestamp_get),
    {0, NULL},
};
