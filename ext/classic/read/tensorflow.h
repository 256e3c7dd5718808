/* tensorflow.h: reads what TensorFlow and its profiler write: GraphDef, RunMetadata, OpLogProto, ProfileProto,
** checkpoints.  Each is a profile by itself; what belongs to one program can be opened together. */
#ifndef TFPROF_TENSORFLOW_H
#define TFPROF_TENSORFLOW_H

#include "read/read.h"

extern const struct reader classic_reader;

/* The files of one program; NULL: none. A profile holds all but the checkpoint, and cannot be given together with
** graph, run_meta or op_log. */
struct tensorflow_part { /* of a file: bytes [offset, offset + length); length 0: all of it */
  uint64_t offset, length;
};
struct tensorflow_files {
  const char *profile, *graph, *op_log, *checkpoint;
  struct tensorflow_part graph_part, op_log_part;
  unsigned graph_kind; /* an enum tf_kind: what holds the graph; 0: a GraphDef */
  struct tensorflow_run_meta {
    const char *path;
    int64_t step;
    struct tensorflow_part part;
  } *run_meta;
  size_t run_meta_count;
  bool may_lack_files; /* of several: one that cannot be read is a diagnostic */
};

/* Adds one profile made of all files to the unpublished run. */
enum tfprof_status tensorflow_open(struct store *store, uint32_t run_number, const struct tensorflow_files *files,
                                   struct tfprof_error *error);

#endif
