/* checkpoint_private.h: what the files of the checkpoint reader share.
**
**   checkpoint.c         which tensors there are, where their bytes lie; the rows of the table tensors
**   checkpoint_values.c  reads those bytes when values are asked for, and puts slices together
**   tensor_text.c        writes them as text, and sums them up
*/
#ifndef TFPROF_TENSORFLOW_CHECKPOINT_PRIVATE_H
#define TFPROF_TENSORFLOW_CHECKPOINT_PRIVATE_H

#include "classic/read/checkpoint.h"
#include "classic/read/messages.h"

enum { MAXIMUM_DIMENSIONS = 64 };

struct extent {
  unsigned rank; /* at most MAXIMUM_DIMENSIONS */
  struct extent_part {
    int64_t start, length; /* length -1: all */
  } *parts;
};

struct tensor {
  string_id name;
  int dtype;
  bool has_shape;
  unsigned rank;
  int64_t *sizes;
  int64_t elements;
  uint32_t shard;
  uint64_t offset, size;
  uint32_t crc;
  bool has_crc;
  struct extent *slices;
  size_t slice_count, slice_capacity;
};
LIST_NAMED(tensor_list, struct tensor);

/* V2: the entry of a slice. */
struct slice_entry {
  uint8_t *key;
  size_t key_length;
  uint32_t shard;
  uint64_t offset, size;
};
LIST_NAMED(slice_list, struct slice_entry);

struct tf_checkpoint {
  char *prefix;
  LIST(char *) files; /* that were read: the index, or the file or files of V1 */
  bool is_v1;
  uint32_t shards;
  uint64_t file_bytes; /* of those files */
  struct tensor_list tensors;
  uint32_t *by_name; /* numbers of tensors, by their names' ids, then as they come */
  struct slice_list slices; /* V2: in the order of their keys */
};

/* A TensorSliceProto. Dimensions after MAXIMUM_DIMENSIONS are left out. False: no memory. The caller frees the parts.
*/
bool tf_read_extent(struct wire_reader message, struct extent *extent);

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
** the tensor's shape asks for. False: it would be more than `most_bytes`. */
bool tf_tensor_write(const struct tensor *tensor, const struct content *content, uint64_t most_bytes,
                     struct text_buffer *text);
/* The most bytes that may take, whatever the elements are; of texts, whatever their bytes are. */
double tf_tensor_text_bytes(const struct tensor *tensor);
/* Of the finite numbers; not known without any, and of texts and complex numbers. */
struct summary tf_tensor_summarise(const struct tensor *tensor, const struct content *content);

#endif
