/* transfers.c: see transfers.h.
**
** The label of RecvTensor holds, as TensorFlow's worker writes it, the size and the rate in brackets, the tensor, and
** the two devices after " from " and " to "; that of a copy ends in "N bytes".  What the allocation of the received
** tensor says goes before the label's rounded size.
*/
#include "classic/read/transfers.h"

#include <ctype.h>
#include <stdio.h>

#include "classic/read/values.h"

static bool is_receive(const struct tf_moved *moved) {
  return moved->name_length == 10 && memcmp(moved->name, "RecvTensor", 10) == 0;
}

bool tf_is_transfer(const struct tf_moved *moved) {
  return moved->start_micros > 0 && (is_receive(moved) || memmem(moved->name, moved->name_length, "MEMCPY", 6));
}

/* "[4096B]" and "[1.5MB]" at the beginning, or "4096 bytes" anywhere; TF_NONE: no size. */
static int64_t label_bytes(const struct tf_moved *moved) {
  char text[64];
  size_t length = moved->label_length;
  if (length && moved->label[0] == '[') {
    snprintf(text, sizeof text, "%.*s", (int)(length - 1 < 63 ? length - 1 : 63), moved->label + 1);
    char *end;
    double size = strtod(text, &end);
    if (end == text || !(size >= 0 && size < 1e15)) return TF_NONE;
    if (strncmp(end, "MB]", 3) == 0) return (int64_t)(size * 1048576.0);
    return strncmp(end, "B]", 2) == 0 ? (int64_t)size : TF_NONE;
  }
  const char *bytes = memmem(moved->label, length, " bytes", 6);
  if (!bytes) return TF_NONE;
  const char *at = bytes;
  while (at > moved->label && isdigit((unsigned char)at[-1]) && bytes - at < 18) at--;
  if (at == bytes) return TF_NONE;
  snprintf(text, sizeof text, "%.*s", (int)(bytes - at), at);
  return strtoll(text, NULL, 10);
}

bool tf_add_transfer(struct tf_model *model, const struct tf_moved *moved) {
  struct tf_transfer *transfer = list_add(&model->transfers);
  if (!transfer) return tf_no_memory(model);
  transfer->step = model->step;
  transfer->lane = UINT32_MAX;
  transfer->is_receive = is_receive(moved);
  transfer->start_micros = moved->start_micros;
  transfer->micros = moved->micros;
  transfer->bytes = moved->output_bytes > 0 ? moved->output_bytes : label_bytes(moved);
  if (!tf_intern(model, moved->name, moved->name_length, &transfer->name)) return false;
  if (moved->label_length) {
    struct text_buffer text = {0};
    text_buffer_add(&text, "{\"timeline_label\":", 18);
    tf_text_quote(&text, moved->label, moved->label_length);
    text_buffer_add(&text, "}", 1);
    bool ok = text.failed ? tf_no_memory(model) : tf_intern(model, text.bytes, text.length, &transfer->attributes);
    text_buffer_free(&text);
    if (!ok) return false;
  }
  /* A tensor that comes over the network keeps no lane of a device busy. A copy does; where it is said of the device
  ** itself, the lane is that of the ops which are scheduled there, else a stream. */
  const char *device = pool_text(model->pool, moved->device_lower);
  bool is_stream = !device || !tf_is_canonical_device(device, pool_length(model->pool, moved->device_lower));
  return transfer->is_receive ||
         tf_get_lane(model, moved->device, moved->device_lower, TF_NONE, is_stream, &transfer->lane);
}
