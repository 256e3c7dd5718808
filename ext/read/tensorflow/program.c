/* program.c: files of TensorFlow that belong to one program become one profile.
**
** Unlike a file by itself, which is whatever its bytes say, each file here must be of the kind that its option wants.
*/
#include "read/recognise.h"
#include "read/tensorflow/checkpoint.h"
#include "read/tensorflow/files.h"
#include "read/tensorflow/tensorflow.h"

#include <stdlib.h>
#include <string.h>

/* The file must be of the kind that its option wants. */
static enum tfprof_status check_kind(const char *option, const char *path, enum tf_kind wanted,
                                     struct tfprof_error *error) {
  struct file_head *head = malloc(sizeof *head);
  if (!head) return error_no_memory(error);
  enum tfprof_status status = recognise_read(path, head, error);
  const struct read_format *format = status ? NULL : recognise_format(path, head);
  enum tf_kind kind = tf_kind_of_format(format);
  if (!status && head->is_gzip) {
    status =
        error_at(error, TFPROF_WRONG_KIND, path, 0, "%s must be %s, and this is compressed with gzip; unpack it first",
                 option, tf_kind_names[wanted]);
  } else if (!status && head->file_bytes == 0 && wanted == TF_KIND_GRAPH) {
    status = error_at(error, TFPROF_WRONG_KIND, path, 0, "%s must be %s, and the file is empty", option,
                      tf_kind_names[wanted]);
  } else if (!status && head->file_bytes && kind != wanted &&
             (kind != TF_KIND_NONE || format || !tf_may_be(wanted, head->bytes, head->length))) {
    if (kind != TF_KIND_NONE)
      status = error_at(error, TFPROF_WRONG_KIND, path, 0, "%s must be %s, and this is %s", option,
                        tf_kind_names[wanted], tf_kind_names[kind]);
    else if (format)
      status = error_at(error, TFPROF_WRONG_KIND, path, 0, "%s must be %s, and this is a %s", option,
                        tf_kind_names[wanted], format->description);
    else
      status =
          error_at(error, TFPROF_WRONG_KIND, path, 0, "%s must be %s, and this is none", option, tf_kind_names[wanted]);
  }
  if (status && error) error->has_offset = false;
  free(head);
  return status;
}

static enum tfprof_status check_checkpoint(const char *path, struct tfprof_error *error) {
  char *file;
  enum tfprof_status status = tf_checkpoint_file(path, &file, error);
  if (!status) status = check_kind("checkpoint_path", file, TF_KIND_CHECKPOINT, error);
  free(file);
  return status;
}

static enum tfprof_status check_steps(const char *paths, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (const char *at = paths; at && *at && !status;) {
    size_t length = strcspn(at, ",");
    char *path = length ? strndup(at, length) : NULL;
    if (length && !path) return error_no_memory(error);
    if (path) status = check_kind("run_meta_path", path, TF_KIND_RUN_METADATA, error);
    free(path);
    at += length + (at[length] == ',');
  }
  return status;
}

static enum tfprof_status check(const struct tensorflow_files *files, struct tfprof_error *error) {
  if (!files->profile && !files->graph && !files->op_log && !files->checkpoint && !files->run_meta_count)
    return error_set(error, TFPROF_USAGE,
                     "no file is named; the keys are profile_path, graph_path, run_meta_path, step, op_log_path and "
                     "checkpoint_path");
  if (files->profile && (files->graph || files->op_log || files->run_meta_count))
    return error_set(error, TFPROF_USAGE,
                     "profile_path holds graph, steps and op log: it goes with checkpoint_path only");
  enum tfprof_status status = TFPROF_OK;
  if (files->profile) status = check_kind("profile_path", files->profile, TF_KIND_PROFILE, error);
  if (!status && files->graph) status = check_kind("graph_path", files->graph, TF_KIND_GRAPH, error);
  for (size_t i = 0; i < files->run_meta_count && !status; i++) status = check_steps(files->run_meta[i].paths, error);
  if (!status && files->op_log) status = check_kind("op_log_path", files->op_log, TF_KIND_OP_LOG, error);
  if (!status && files->checkpoint) status = check_checkpoint(files->checkpoint, error);
  return status;
}

enum tfprof_status read_open_tensorflow(struct store *store, const struct tensorflow_files *files, uint32_t *run_number,
                                        struct tfprof_error *error) {
  const char *path = files->profile          ? files->profile
                     : files->graph          ? files->graph
                     : files->run_meta_count ? files->run_meta[0].paths
                     : files->op_log         ? files->op_log
                     : files->checkpoint     ? files->checkpoint
                                             : "";
  enum tfprof_status status = check(files, error);
  if (!status) status = store_add_run(store, path, NULL, run_number, error);
  if (status) return status;
  status = tensorflow_open(store, *run_number, files, error);
  if (status) store_cancel_run(store, *run_number);
  else store_publish_run(store, *run_number);
  return status;
}
