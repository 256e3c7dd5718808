/* fake_nvtx.h: what the header of NVTX has in a binary that was built with it: places for functions, which the library
** fills when it is called, and calls of them.
*/
#ifndef TFPROF_FAKE_NVTX_H
#define TFPROF_FAKE_NVTX_H

#include "nvtx/nvtx_abi.h"

#include <string.h>

int InitializeInjectionNvtx2(nvtx_get_export_table get_table);
int InitializeInjectionNvtxExtension(struct nvtx_extension *extension);

enum { FAKE_PLACES = 16 };
static nvtx_function fake_core[FAKE_PLACES], fake_core2[FAKE_PLACES], fake_cuda[FAKE_PLACES], fake_cudart[FAKE_PLACES],
    fake_sync[FAKE_PLACES];
static intptr_t fake_payload[FAKE_PLACES];

static int fake_module(int module, nvtx_function ***functions, unsigned *count) {
  static nvtx_function *const all[] = {NULL, fake_core, fake_cuda, NULL, fake_cudart, fake_core2, fake_sync};
  static nvtx_function *places[7][FAKE_PLACES];
  if (module < 1 || module > 6 || !all[module]) return 0;
  for (int i = 1; i < FAKE_PLACES; i++) places[module][i] = &all[module][i];
  *functions = places[module];
  *count = FAKE_PLACES;
  return 1;
}

static const void *fake_table(uint32_t table) {
  static const struct nvtx_callback_table callbacks = {sizeof callbacks, fake_module};
  return table == NVTX_TABLE_CALLBACKS ? &callbacks : NULL;
}

static inline int fake_nvtx_begin(void) {
  struct nvtx_segment segment = {0, FAKE_PLACES, fake_payload};
  struct nvtx_extension extension = {3, sizeof extension, NVTX_EXTENSION_PAYLOAD, 0x104, 1, &segment, NULL, NULL};
  return InitializeInjectionNvtx2(fake_table) && InitializeInjectionNvtxExtension(&extension);
}

static inline struct nvtx_attributes fake_attributes(const char *message) {
  return (struct nvtx_attributes){
      .version = 3, .size = sizeof(struct nvtx_attributes), .message_type = NVTX_MESSAGE_ASCII, .message = message};
}

static inline int push_a(const char *message) {
  return ((int (*)(const char *))fake_core[NVTX_RANGE_PUSH_A])(message);
}
static inline int pop(void) { return ((int (*)(void))fake_core[NVTX_RANGE_POP])(); }
static inline void mark_a(const char *message) { ((void (*)(const char *))fake_core[NVTX_MARK_A])(message); }
static inline uint64_t start_a(const char *message) {
  return ((uint64_t(*)(const char *))fake_core[NVTX_RANGE_START_A])(message);
}
static inline void end_range(uint64_t id) { ((void (*)(uint64_t))fake_core[NVTX_RANGE_END])(id); }
static inline void *domain_create(const char *name) {
  return ((void *(*)(const char *))fake_core2[NVTX_DOMAIN_CREATE_A])(name);
}
static inline const void *register_string(void *domain, const char *text) {
  return ((const void *(*)(void *, const char *))fake_core2[NVTX_DOMAIN_REGISTER_STRING_A])(domain, text);
}
static inline int domain_push(void *domain, const struct nvtx_attributes *attributes) {
  return ((int (*)(void *, const struct nvtx_attributes *))fake_core2[NVTX_DOMAIN_RANGE_PUSH_EX])(domain, attributes);
}
static inline int domain_pop(void *domain) {
  return ((int (*)(void *))fake_core2[NVTX_DOMAIN_RANGE_POP])(domain);
}

#endif
