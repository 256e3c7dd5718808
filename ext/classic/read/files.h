/* files.h: the files of TensorFlow: what kind one is, and its outermost fields one after the other. */
#ifndef TFPROF_TENSORFLOW_FILES_H
#define TFPROF_TENSORFLOW_FILES_H

#include "classic/read/messages.h"

enum tf_kind {
  TF_KIND_NONE,
  TF_KIND_PROFILE,      /* ProfileProto */
  TF_KIND_GRAPH,        /* GraphDef, binary or text */
  TF_KIND_RUN_METADATA, /* RunMetadata, binary or text */
  TF_KIND_OP_LOG,       /* OpLogProto */
  TF_KIND_CHECKPOINT,   /* the index of a V2 checkpoint, or a V1 checkpoint */
  TF_KIND_META_GRAPH,   /* MetaGraphDef, the .meta of a Saver: its graph */
  TF_KIND_SAVED_MODEL,  /* SavedModel: the same */
  TF_KIND_CHECKPOINT_STATE, /* the text `checkpoint` of a Saver, which names its newest checkpoint */
  TF_KIND_count
};

/* What the first bytes of a file show; of a checkpoint its last bytes, which are read from `path`. */
enum tf_kind tf_kind_of(const char *path, const uint8_t *head, size_t length);
/* Whether a file that shows no kind can be of that one: an OpLog without entries, a RunMetadata without statistics, a
** graph without nodes.  TensorFlow takes these; so does an option that names the kind. */
bool tf_may_be(enum tf_kind kind, const uint8_t *head, size_t length);

/* Hands the outermost fields of a file to `take`, a window of the file in memory at a time. Text files are made binary
** first. Where the file is damaged or cut off, what came before counts and *is_complete becomes false; an error when
** there was nothing before. `part`: of a larger file, which must have it whole. */
struct tensorflow_part;
enum tfprof_status tf_file_fields(struct tf_model *model, const char *path, const struct tensorflow_part *part,
                                  enum tf_kind kind, tf_take_field *take, bool *is_complete);

/* text_proto.c: text format to binary. Fields that no reader uses are left out. False: no memory. On a
** syntax error *wrong says what, at *offset, and `binary` holds the outermost fields before. */
bool tf_text_to_binary(struct tf_model *model, enum tf_kind kind, const char *text, size_t length,
                       struct text_buffer *binary, const char **wrong, size_t *offset);

#endif
