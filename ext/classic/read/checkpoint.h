/* checkpoint.h: TensorFlow's checkpoints: what is stored, and its values on demand.
**
** V2 ("tensor bundle", tensorflow/core/util/tensor_bundle): a sorted string table PREFIX.index from tensor names to
** entries, and the bytes in PREFIX.data-00000-of-00001 and so on.  V1 (tensorflow/core/util/saved_tensor_slice.proto):
** one sorted string table that holds the values too.  Partitioned variables are stored in slices, which are put
** together.
*/
#ifndef TFPROF_TENSORFLOW_CHECKPOINT_H
#define TFPROF_TENSORFLOW_CHECKPOINT_H

#include "classic/read/publish.h"

/* `path` is PREFIX, PREFIX.index, the file of a V1 checkpoint, or of a sharded one the prefix before "-00000-of-00002"
** or a pattern for all of its files. */
enum tfprof_status tf_checkpoint_read(struct tf_model *model, const char *path, struct tf_checkpoint **made);
/* The file that `path` stands for, or the first of several; to be freed. */
enum tfprof_status tf_checkpoint_file(const char *path, char **file, struct tfprof_error *error);
void tf_checkpoint_free(struct tf_checkpoint *checkpoint);
/* The type _checkpoint_variables for nodes that it holds. */
bool tf_checkpoint_mark(struct tf_model *model, const struct tf_checkpoint *checkpoint);
bool tf_publish_tensors(struct tf_model *model, struct profile *profile, const struct tf_node_order *order,
                        const struct tf_checkpoint *checkpoint);
/* source->load of every profile of TensorFlow: value, minimum, maximum and mean of tensors. */
enum tfprof_status tf_checkpoint_load(struct profile *profile, struct segment *segment, const uint16_t *columns,
                                      unsigned count, struct column **out, struct tfprof_error *error);
/* source->verify: tells whatever is wrong with values, without writing them. */
enum tfprof_status tf_checkpoint_verify(struct profile *profile, struct tfprof_error *error);
/* As source->adopt: tensors are known by their names' ids. */
void tf_checkpoint_adopt(struct tf_checkpoint *checkpoint, const string_id *map);

/* ---- sorted string tables (table_file.c) ---- */

/* Called with each entry in the order of keys; false stops. */
typedef bool tf_table_entry(void *context, const uint8_t *key, size_t key_length, const uint8_t *value,
                            size_t value_length);
/* Blocks are checked by their checksums and unpacked with Snappy where they are packed. Where keys or blocks are not in
** their order, or the entries are more than a file of its size can honestly hold, it is TFPROF_CORRUPT. The store is
** asked whether to go on. */
enum tfprof_status tf_table_each(const char *path, struct store *store, tf_table_entry *entry, void *context,
                                 struct tfprof_error *error);
uint32_t tf_crc32c(const uint8_t *bytes, size_t length);

#endif
