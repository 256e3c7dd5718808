/* inflate.c: see inflate.h. */
#include "read/file/inflate.h"

#include <stdlib.h>
#include <string.h>

enum { STEP_MAXIMUM = 1 << 30 }; /* both libraries count in 32 bits */

static size_t at_most(size_t n) { return n < STEP_MAXIMUM ? n : STEP_MAXIMUM; }

#ifdef TFPROF_HAVE_ISAL

#include <isa-l/igzip_lib.h>

/* The state holds the whole history window itself (tmp_out_buffer) and no pointers but those to the caller's buffers,
** which are set anew in every step: a copy of the bytes is a copy of the state. */
struct inflater {
  struct inflate_state state;
};

struct inflater *inflater_create(void) {
  struct inflater *inflater = calloc(1, sizeof *inflater);
  if (!inflater) return NULL;
  isal_inflate_init(&inflater->state);
  inflater->state.crc_flag = ISAL_GZIP;
  return inflater;
}

struct inflater *inflater_copy(const struct inflater *inflater) {
  struct inflater *copy = malloc(sizeof *copy);
  if (copy) memcpy(copy, inflater, sizeof *copy);
  return copy;
}

void inflater_free(struct inflater *inflater) { free(inflater); }

void inflater_reset(struct inflater *inflater) {
  isal_inflate_reset(&inflater->state);
  inflater->state.crc_flag = ISAL_GZIP;
}

enum inflater_status inflater_step(struct inflater *inflater, const uint8_t **in, size_t *in_length, uint8_t **out,
                                   size_t *out_length) {
  struct inflate_state *state = &inflater->state;
  size_t in_step = at_most(*in_length), out_step = at_most(*out_length);
  state->next_in = (uint8_t *)(uintptr_t)*in; /* never written through */
  state->avail_in = (uint32_t)in_step;
  state->next_out = *out;
  state->avail_out = (uint32_t)out_step;
  int status = isal_inflate(state);
  /* Bits that it had read ahead are given back at the end of a member, also those of an earlier call. */
  ptrdiff_t used = (ptrdiff_t)in_step - (ptrdiff_t)state->avail_in;
  size_t made = out_step - state->avail_out;
  if (used < -INFLATER_GIVES_BACK) return INFLATER_DAMAGED;
  *in += used;
  *in_length = (size_t)((ptrdiff_t)*in_length - used);
  *out += made;
  *out_length -= made;
  if (status != ISAL_DECOMP_OK && status != ISAL_END_INPUT && status != ISAL_OUT_OVERFLOW) return INFLATER_DAMAGED;
  return state->block_state == ISAL_BLOCK_FINISH ? INFLATER_END : INFLATER_MORE;
}

#else

#include <zlib.h>

struct inflater {
  z_stream stream;
};

struct inflater *inflater_create(void) {
  struct inflater *inflater = calloc(1, sizeof *inflater);
  if (inflater && inflateInit2(&inflater->stream, 15 + 16) != Z_OK) { /* +16: a gzip wrapper, nothing else */
    free(inflater);
    return NULL;
  }
  return inflater;
}

struct inflater *inflater_copy(const struct inflater *inflater) {
  struct inflater *copy = calloc(1, sizeof *copy);
  /* inflateCopy wants its source without const but does not change it. */
  if (copy && inflateCopy(&copy->stream, (z_stream *)(uintptr_t)&inflater->stream) != Z_OK) {
    free(copy);
    return NULL;
  }
  return copy;
}

void inflater_free(struct inflater *inflater) {
  if (!inflater) return;
  inflateEnd(&inflater->stream);
  free(inflater);
}

void inflater_reset(struct inflater *inflater) { inflateReset(&inflater->stream); }

enum inflater_status inflater_step(struct inflater *inflater, const uint8_t **in, size_t *in_length, uint8_t **out,
                                   size_t *out_length) {
  z_stream *stream = &inflater->stream;
  size_t in_step = at_most(*in_length), out_step = at_most(*out_length);
  stream->next_in = (uint8_t *)(uintptr_t)*in;
  stream->avail_in = (uInt)in_step;
  stream->next_out = *out;
  stream->avail_out = (uInt)out_step;
  int status = inflate(stream, Z_NO_FLUSH);
  size_t used = in_step - stream->avail_in, made = out_step - stream->avail_out;
  *in += used;
  *in_length -= used;
  *out += made;
  *out_length -= made;
  if (status == Z_STREAM_END) return INFLATER_END;
  return status == Z_OK || status == Z_BUF_ERROR ? INFLATER_MORE : INFLATER_DAMAGED;
}

#endif
