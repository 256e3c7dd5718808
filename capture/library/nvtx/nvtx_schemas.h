/* nvtx_schemas.h: the layouts of payloads that the program has registered: schemas and enums, kept as copies.
**
** Registering is rare and under a lock; what is registered never changes, and is read without one.
*/
#ifndef TFPROF_CAPTURE_NVTX_SCHEMAS_H
#define TFPROF_CAPTURE_NVTX_SCHEMAS_H

#include "nvtx_abi.h"

#include <pthread.h>
#include <stdbool.h>

enum { NVTX_SCHEMAS = 4096, NVTX_SCHEMA_ENTRIES = 65536 /* of all schemas and enums together */ };

struct nvtx_layout_entry {
  uint32_t name; /* nvtx_texts.h; 0: it has none */
  uint32_t flags;
  uint64_t type, detail, offset;
};
struct nvtx_layout_value {
  uint32_t name;
  bool is_flag;
  uint64_t value;
};

struct nvtx_layout {
  uint64_t id;
  unsigned domain;
  bool is_enum, is_known; /* of a kind that can be read */
  uint32_t size;          /* bytes; of a schema 0: as its entries need */
  uint32_t alignment;     /* no entry has more; 0: as it is natural */
  uint32_t count;
  const struct nvtx_layout_entry *entries;
  const struct nvtx_layout_value *values;
};

/* Taken around forks. */
extern pthread_mutex_t nvtx_schemas_lock;
extern _Atomic uint64_t nvtx_schemas_refused;

/* The id, which is given where the program gives none; 0: refused. */
uint64_t nvtx_schema_register(unsigned domain, const struct nvtx_schema *schema);
uint64_t nvtx_enum_register(unsigned domain, const struct nvtx_enum *given);
/* NULL: there is none of that id in the domain. */
const struct nvtx_layout *nvtx_layout_find(unsigned domain, uint64_t id);

#endif
