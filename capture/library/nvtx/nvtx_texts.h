/* nvtx_texts.h: names that NVTX was given: each text once for the whole process, found without a lock.
**
** Ranges begin and end on different threads and last for hours, so a name's number must hold for as long as the process
** does.  Texts lie in one region that only grows; a thread that meets a new one copies it there and then enters it into
** a table of hashes.  When the region is full all further ones are one text.
*/
#ifndef TFPROF_CAPTURE_NVTX_TEXTS_H
#define TFPROF_CAPTURE_NVTX_TEXTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nvtx_text {
  uint32_t magic, length;
  uint32_t step; /* which word for steps it is called by (steps/step_words.h); 0: it marks none */
  uint32_t hash;
  char bytes[];
};

enum {
  NVTX_TEXT_MAXIMUM = 4000, /* bytes kept of a text */
  NVTX_TEXT_BYTES = 16 * 1024 * 1024,
  NVTX_TEXT_NUMBERS = NVTX_TEXT_BYTES / 8, /* numbers are below */
};

/* Before any other, once in the life of the process. false: no memory. */
bool nvtx_texts_begin(void);
/* The number of a text, from 1 on. NULL is one of its own, "(unnamed)". What is too long is cut. */
uint32_t nvtx_text_number(const char *text);
uint32_t nvtx_text_number_wide(const void *text); /* of wchar_t */
uint32_t nvtx_text_number_of_bytes(const char *bytes, size_t length);
const struct nvtx_text *nvtx_text(uint32_t number);
/* The number of what nvtx_text() returned for some number; 0: it is no text of ours. */
uint32_t nvtx_text_number_of_handle(const void *handle);

extern _Atomic uint64_t nvtx_texts_cut, nvtx_texts_refused;

#endif
