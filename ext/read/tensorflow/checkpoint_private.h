/* checkpoint_private.h: what the files of the checkpoint reader share.
**
**   checkpoint.c         which tensors there are, where their bytes lie; the rows of the table tensors
**   checkpoint_values.c  reads those bytes when values are asked for, and puts slices together
**   tensor_text.c        writes them as text, and sums them up
*/
#ifndef TFPROF_TENSORFLOW_CHECKPOINT_PRIVATE_H
#define TFPROF_TENSORFLOW_CHECKPOINT_PRIVATE_H

#include "read/tensorflow/checkpoint.h"
#include "read/tensorflow/messages.h"

enum { MAXIMUM_DIMENSIONS = 64 };

struct extent {
  unsigned rank;
  int64_t start[MAXIMUM_DIMENSIONS], length[MAXIMUM_DIMENSIONS]; /* length -1: all */
};

struct tensor {
  string_id name;
  int dtype;
  struct tf_shape *shape;
  int64_t elements;
  uint32_t shard;
  uint64_t offset, size;
  uint32_t crc;
  bool has_crc;
  struct extent *slices;
  size_t slice_count;
};
TF_LIST(tensor_list, struct tensor)

/* V2: the entry of a slice. */
struct slice_entry {
  uint8_t *key;
  size_t key_length;
  uint32_t shard;
  uint64_t offset, size;
};
TF_LIST(slice_list, struct slice_entry)

struct tf_checkpoint {
  char *prefix;
  char **files; /* that were read: the index, or the file or files of V1 */
  size_t file_count;
  bool is_v1;
  uint32_t shards;
  struct tensor_list tensors;
  struct slice_list slices;
};

/* A TensorSliceProto. Dimensions after MAXIMUM_DIMENSIONS are left out. */
void tf_read_extent(struct wire_reader *message, struct extent *extent);

/* The bytes of one tensor, elements in row-major order; of strings their lengths and texts as V2 stores them. */
struct content {
  uint8_t *bytes;
  size_t length;
  int64_t filled; /* elements that slices have brought; overlapping ones count twice */
};

struct summary {
  double minimum, maximum, mean;
  bool is_known;
};

/* JSON: nested lists as deep as the tensor's rank; null for texts whose lengths cannot be read. `content` is as long as
** the tensor's shape asks for. */
void tf_tensor_write(const struct tensor *tensor, const struct content *content, struct tf_text *text);
/* Of the finite numbers; not known without any, and of texts and complex numbers. */
struct summary tf_tensor_summarise(const struct tensor *tensor, const struct content *content);

#endif
