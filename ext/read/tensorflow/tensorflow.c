/* tensorflow.c: see tensorflow.h. */
#include "read/tensorflow/tensorflow.h"

#include <stdio.h>

#include "read/tensorflow/checkpoint.h"
#include "read/tensorflow/files.h"
#include "read/tensorflow/publish.h"

/* ---- sources: everything is read when the file is opened, but for the values of a checkpoint ---- */

static void free_profile(struct profile *profile) {
  struct tf_source *source = profile->source_data;
  tf_checkpoint_free(source->checkpoint);
  tf_packed_free(&source->runs);
  tf_packed_free(&source->memory_points);
  free(source->devices);
  free(source->is_accelerator);
  free(source);
}

static enum tfprof_status load(struct profile *profile, struct segment *segment, const uint16_t *columns,
                               unsigned count, struct column **out, struct tfprof_error *error) {
  switch (segment->table) {
    case TABLE_tensors: return tf_checkpoint_load(profile, segment, columns, count, out, error);
    case TABLE_ops: case TABLE_kernels: return tf_load_runs(segment, columns, count, out, error);
    case TABLE_counters: return tf_load_counters(segment, columns, count, out, error);
  }
  return TFPROF_OK;
}

static void adopt(struct profile *profile, const string_id *map) {
  const struct tf_source *source = profile->source_data;
  if (source->checkpoint) tf_checkpoint_adopt(source->checkpoint, map);
}

#define SOURCE(name) \
  {.format = name, .load = load, .verify = tf_checkpoint_verify, .adopt = adopt, .free_profile = free_profile}
static const struct profile_source sources[TF_KIND_count] = {
    [TF_KIND_PROFILE] = SOURCE("tf_profile"),
    [TF_KIND_GRAPH] = SOURCE("tf_graph"),
    [TF_KIND_RUN_METADATA] = SOURCE("tf_run_metadata"),
    [TF_KIND_OP_LOG] = SOURCE("tf_op_log"),
    [TF_KIND_CHECKPOINT] = SOURCE("tf_checkpoint"),
};

/* ---- opening ---- */

struct opening {
  struct tf_model model;
  struct tf_checkpoint *checkpoint;
  bool is_complete;
};

static enum tfprof_status take(struct opening *opening, const char *path, enum tf_kind kind, tf_take_field *field) {
  bool is_complete;
  enum tfprof_status status = tf_file_fields(&opening->model, path, kind, field, &is_complete);
  if (!status) opening->is_complete &= is_complete;
  return status;
}

static enum tfprof_status take_step(struct opening *opening, const char *path, int64_t number) {
  enum tfprof_status status = TFPROF_OK;
  if (!opening->model.has_graph)
    status = take(opening, path, TF_KIND_RUN_METADATA, tf_take_partition_graphs);
  if (!status && !tf_begin_step(&opening->model, number)) status = opening->model.status;
  if (!status) status = take(opening, path, TF_KIND_RUN_METADATA, tf_take_run_metadata);
  return status;
}

struct step_file {
  char *path;
  int64_t number;
  bool is_taken;
};
LIST_NAMED(step_files, struct step_file);

static bool list_step_files(const struct tensorflow_files *files, struct step_files *list) {
  for (size_t i = 0; i < files->run_meta_count; i++) {
    int64_t number = files->run_meta[i].first_step;
    for (const char *at = files->run_meta[i].paths; at && *at;) {
      size_t length = strcspn(at, ",");
      struct step_file *file = length ? list_add(list) : NULL;
      if (length && (!file || !(file->path = strndup(at, length)))) return false;
      if (file) file->number = number++;
      at += length + (at[length] == ',');
    }
  }
  return true;
}

/* The files of one step after each other, as what a node costs in a step is one row: else in the order given. */
static enum tfprof_status take_steps(struct opening *opening, const struct tensorflow_files *files,
                                     struct tfprof_error *error) {
  struct step_files list = {0};
  enum tfprof_status status = list_step_files(files, &list) ? TFPROF_OK : error_no_memory(error);
  for (size_t i = 0; i < list.count; i++) {
    for (size_t k = i; k < list.count && !status; k++) {
      struct step_file *file = &list.items[k];
      if (file->is_taken || file->number != list.items[i].number) continue;
      file->is_taken = true;
      status = take_step(opening, file->path, file->number);
    }
  }
  for (size_t i = 0; i < list.count; i++) free(list.items[i].path);
  list_free(&list);
  return status;
}

static enum tfprof_status collect(struct opening *opening, const struct tensorflow_files *files,
                                  struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  if (files->profile) {
    status = take(opening, files->profile, TF_KIND_PROFILE, tf_take_profile);
    opening->model.has_graph = true;
  }
  if (!status && files->graph) {
    status = take(opening, files->graph, TF_KIND_GRAPH, tf_take_graph);
    opening->model.has_graph = true;
  }
  if (!status) status = take_steps(opening, files, error);
  if (!status && files->op_log) status = take(opening, files->op_log, TF_KIND_OP_LOG, tf_take_op_log);
  if (!status && files->checkpoint) {
    status = tf_checkpoint_read(&opening->model, files->checkpoint, &opening->checkpoint);
    /* A profile's own types are what it was written with. */
    if (!status && !files->profile && !tf_checkpoint_mark(&opening->model, opening->checkpoint))
      status = opening->model.status;
  }
  return status;
}

static enum tfprof_status publish(struct opening *opening, uint32_t run_number, enum tf_kind kind, const char *path,
                                  struct profile **profile) {
  struct tf_checkpoint *checkpoint = opening->checkpoint;
  opening->checkpoint = NULL; /* the store frees it from now on */
  return tf_publish(&opening->model, run_number, &sources[kind], checkpoint, path, opening->is_complete, profile);
}

enum tfprof_status tensorflow_open(struct store *store, uint32_t run_number, const struct tensorflow_files *files,
                                   struct tfprof_error *error) {
  struct opening opening = {.is_complete = true};
  struct profile *profile = NULL;
  tf_model_init(&opening.model, store, error);
  enum tf_kind kind = files->profile          ? TF_KIND_PROFILE
                      : files->run_meta_count ? TF_KIND_RUN_METADATA
                      : files->graph          ? TF_KIND_GRAPH
                      : files->op_log         ? TF_KIND_OP_LOG
                                              : TF_KIND_CHECKPOINT;
  const char *path = files->profile          ? files->profile
                     : files->graph          ? files->graph
                     : files->run_meta_count ? files->run_meta[0].paths
                     : files->op_log         ? files->op_log
                                             : files->checkpoint;
  enum tfprof_status status = collect(&opening, files, error);
  if (!status) status = publish(&opening, run_number, kind, path, &profile);
  if (status && profile) store_drop_profile(store, profile);
  tf_checkpoint_free(opening.checkpoint);
  tf_model_free(&opening.model);
  return status;
}

/* ---- one file by itself ---- */

static enum tfprof_status open_profile(struct store *store, uint32_t run, const char *path,
                                       struct tfprof_error *error) {
  return tensorflow_open(store, run, &(struct tensorflow_files){.profile = path}, error);
}
static enum tfprof_status open_graph(struct store *store, uint32_t run, const char *path, struct tfprof_error *error) {
  return tensorflow_open(store, run, &(struct tensorflow_files){.graph = path}, error);
}
static enum tfprof_status open_op_log(struct store *store, uint32_t run, const char *path, struct tfprof_error *error) {
  return tensorflow_open(store, run, &(struct tensorflow_files){.op_log = path}, error);
}

static enum tfprof_status open_checkpoint(struct store *store, uint32_t run, const char *path,
                                          struct tfprof_error *error) {
  return tensorflow_open(store, run, &(struct tensorflow_files){.checkpoint = path}, error);
}

/* "run_meta_5" is step 5. */
static int64_t step_in_name(const char *path) {
  size_t length = strlen(path), dot = length;
  if (length > 6 && strcmp(path + length - 6, ".pbtxt") == 0) dot = length - 6;
  size_t at = dot;
  while (at > 0 && path[at - 1] >= '0' && path[at - 1] <= '9') at--;
  return at < dot && dot - at < 10 && at > 0 && path[at - 1] == '_' ? strtoll(path + at, NULL, 10) : 0;
}

static enum tfprof_status open_run_metadata(struct store *store, uint32_t run, const char *path,
                                            struct tfprof_error *error) {
  struct opening opening = {.is_complete = true};
  struct profile *profile = NULL;
  tf_model_init(&opening.model, store, error);
  enum tfprof_status status = take_step(&opening, path, step_in_name(path));
  if (!status)
    status = publish(&opening, run, TF_KIND_RUN_METADATA, path, &profile);
  if (status && profile) store_drop_profile(store, profile);
  tf_checkpoint_free(opening.checkpoint);
  tf_model_free(&opening.model);
  return status;
}

static const struct read_format formats_of_kinds[TF_KIND_count] = {
    [TF_KIND_PROFILE] = {.name = "tf_profile",
                         .description = "profile of TensorFlow's ProfileContext (ProfileProto)",
                         .open = open_profile},
    [TF_KIND_GRAPH] = {.name = "tf_graph",
                       .description = "TensorFlow graph (GraphDef), binary or text",
                       .open = open_graph},
    [TF_KIND_RUN_METADATA] = {.name = "tf_run_metadata",
                              .description = "TensorFlow RunMetadata, binary or text",
                              .open = open_run_metadata},
    [TF_KIND_OP_LOG] = {.name = "tf_op_log",
                        .description = "OpLogProto of the TensorFlow profiler",
                        .open = open_op_log},
    [TF_KIND_CHECKPOINT] = {.name = "tf_checkpoint",
                            .description = "TensorFlow checkpoint (the .index of V2, or V1)",
                            .open = open_checkpoint},
};

static struct recognised probe_tensorflow(const char *path, const uint8_t *head, size_t length) {
  enum tf_kind kind = tf_kind_of(path, head, length);
  return (struct recognised){kind ? &formats_of_kinds[kind] : NULL, 60};
}

static const struct read_format *const formats[] = {
    &formats_of_kinds[TF_KIND_PROFILE], &formats_of_kinds[TF_KIND_GRAPH],      &formats_of_kinds[TF_KIND_RUN_METADATA],
    &formats_of_kinds[TF_KIND_OP_LOG],  &formats_of_kinds[TF_KIND_CHECKPOINT], NULL};
const struct reader tensorflow_reader = {.formats = formats, .probe = probe_tensorflow};

enum tf_kind tf_kind_of_format(const struct read_format *format) {
  for (unsigned kind = TF_KIND_NONE + 1; kind < TF_KIND_count; kind++) {
    if (format == &formats_of_kinds[kind]) return (enum tf_kind)kind;
  }
  return TF_KIND_NONE;
}
