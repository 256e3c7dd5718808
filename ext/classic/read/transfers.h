/* transfers.h: what TensorFlow's runtime moves by itself: RecvTensor, a tensor that comes from another process, and
** MEMCPY..., copies by a device.  Neither is a node of the graph.
*/
#ifndef TFPROF_TENSORFLOW_TRANSFERS_H
#define TFPROF_TENSORFLOW_TRANSFERS_H

#include "classic/read/model.h"

/* An execution as RunMetadata tells it. */
struct tf_moved {
  const char *name;
  size_t name_length;
  const char *label; /* timeline_label: "[1.2MB] [800.0Mb/s] edge_5_w from /job:ps/... to /job:worker/..." */
  size_t label_length;
  string_id device, device_lower;
  int64_t start_micros, micros, output_bytes;
};

bool tf_is_transfer(const struct tf_moved *moved);
/* Adds it to model->step. */
bool tf_add_transfer(struct tf_model *model, const struct tf_moved *moved);

#endif
