/* nvtx_payload.h: payloads with a layout become JSON, on the thread that hands them over, for they are its memory.
**
** A schema is an object, an array an array, text is text, an enum its name; what cannot be read is null, and counted.
** Of several payloads of one event the JSON is an array of theirs.
*/
#ifndef TFPROF_CAPTURE_NVTX_PAYLOAD_H
#define TFPROF_CAPTURE_NVTX_PAYLOAD_H

#include "nvtx_abi.h"

#include <stdbool.h>

enum { NVTX_JSON_MAXIMUM = 4000 };

/* What payloads say beside their values. */
struct nvtx_payload {
  uint32_t text;     /* the event's name; 0: not told */
  uint32_t category; /* 0: not told */
  uint32_t color;
  bool has_color;
  unsigned length; /* of the JSON; 0: there is none */
  char json[NVTX_JSON_MAXIMUM + 1];
};

/* Payloads that are cut, because their JSON would be longer; parts of payloads that cannot be read. */
extern _Atomic uint64_t nvtx_payloads_cut, nvtx_payloads_unknown;

void nvtx_payload_read(unsigned domain, const struct nvtx_payload_data *data, size_t count,
                       struct nvtx_payload *payload);

#endif
