/* tensorflow.c: see tensorflow.h. */
#include "classic/read/tensorflow.h"

#include <stdio.h>
#include <unistd.h>
#include <sys/stat.h>

#include "read/open/path_list.h"
#include "classic/read/checkpoint.h"
#include "classic/read/checkpoint_state.h"
#include "classic/read/files.h"
#include "classic/read/publish.h"
#include "classic/read/step_files.h"

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
  bool may_lack_files;       /* one that cannot be read is told, and the others are shown */
  struct path_list failures; /* path, message, path, message, ... */
  size_t taken;              /* so many could be read */
};

/* What becomes of a file that was read with this status. */
static enum tfprof_status settle(struct opening *opening, const char *path, enum tfprof_status status) {
  if (!status) opening->taken++;
  if (!status || !opening->may_lack_files || status == TFPROF_NO_MEMORY || status == TFPROF_INTERRUPTED) return status;
  status = paths_add(&opening->failures, path, "", opening->model.error);
  return status ? status : paths_add(&opening->failures, opening->model.error->message, "", opening->model.error);
}

static enum tfprof_status take_file(struct opening *opening, const char *path, const struct tensorflow_part *part,
                                    enum tf_kind kind, tf_take_field *field) {
  bool is_complete;
  enum tfprof_status status = tf_file_fields(&opening->model, path, part, kind, field, &is_complete);
  if (!status) opening->is_complete &= is_complete;
  return status;
}

static enum tfprof_status take_whole(struct opening *opening, const char *path, const struct tensorflow_part *part,
                                     enum tf_kind kind, tf_take_field *field) {
  return settle(opening, path, take_file(opening, path, part, kind, field));
}

static enum tfprof_status take_step(struct opening *opening, const struct tensorflow_run_meta *file) {
  enum tfprof_status status = TFPROF_OK;
  if (!opening->model.has_graph)
    status = take_file(opening, file->path, &file->part, TF_KIND_RUN_METADATA, tf_take_partition_graphs);
  if (!status && !tf_begin_step(&opening->model, file->step)) status = opening->model.status;
  if (!status) status = take_file(opening, file->path, &file->part, TF_KIND_RUN_METADATA, tf_take_run_metadata);
  return status;
}

/* The files of one step after each other, as what a node costs in a step is one row: else in the order given. */
static enum tfprof_status take_steps(struct opening *opening, const struct tensorflow_files *files,
                                     struct tfprof_error *error) {
  bool *is_taken = calloc(files->run_meta_count + 1, sizeof *is_taken);
  enum tfprof_status status = is_taken ? TFPROF_OK : error_no_memory(error);
  for (size_t i = 0; i < files->run_meta_count && !status; i++) {
    for (size_t k = i; k < files->run_meta_count && !status; k++) {
      const struct tensorflow_run_meta *file = &files->run_meta[k];
      if (is_taken[k] || file->step != files->run_meta[i].step) continue;
      is_taken[k] = true;
      status = settle(opening, file->path, take_step(opening, file));
    }
  }
  free(is_taken);
  return status;
}

static enum tfprof_status collect_files(struct opening *opening, const struct tensorflow_files *files,
                                        struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  if (files->profile) {
    status = take_whole(opening, files->profile, &(struct tensorflow_part){0}, TF_KIND_PROFILE, tf_take_profile);
    opening->model.has_graph = true;
  }
  if (!status && files->graph) {
    enum tf_kind kind = files->graph_kind ? (enum tf_kind)files->graph_kind : TF_KIND_GRAPH;
    status = take_whole(opening, files->graph, &files->graph_part, kind,
                        kind == TF_KIND_META_GRAPH    ? tf_take_meta_graph
                        : kind == TF_KIND_SAVED_MODEL ? tf_take_saved_model
                                                      : tf_take_graph);
    opening->model.has_graph = opening->taken; /* else steps bring theirs */
  }
  if (!status) status = take_steps(opening, files, error);
  if (!status && files->op_log)
    status = take_whole(opening, files->op_log, &files->op_log_part, TF_KIND_OP_LOG, tf_take_op_log);
  if (!status && files->checkpoint) {
    status = settle(opening, files->checkpoint,
                    tf_checkpoint_read(&opening->model, files->checkpoint, &opening->checkpoint));
    /* A profile's own types are what it was written with. */
    if (!status && opening->checkpoint && !files->profile && !tf_checkpoint_mark(&opening->model, opening->checkpoint))
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
  struct opening opening = {.is_complete = true, .may_lack_files = files->may_lack_files};
  struct profile *profile = NULL;
  struct tfprof_error reason;
  tf_model_init(&opening.model, store, error ? error : &reason);
  enum tf_kind kind = files->profile          ? TF_KIND_PROFILE
                      : files->run_meta_count ? TF_KIND_RUN_METADATA
                      : files->graph          ? TF_KIND_GRAPH
                      : files->op_log         ? TF_KIND_OP_LOG
                                              : TF_KIND_CHECKPOINT;
  const char *path = files->profile          ? files->profile
                     : files->graph          ? files->graph
                     : files->run_meta_count ? files->run_meta[0].path
                     : files->op_log         ? files->op_log
                                             : files->checkpoint;
  enum tfprof_status status = collect_files(&opening, files, error);
  if (!status && opening.taken == 0) {
    status = error_set(error, TFPROF_CORRUPT, "%s", opening.failures.paths[1]);
  }
  if (!status) status = publish(&opening, run_number, kind, path, &profile);
  for (size_t i = 0; i + 1 < opening.failures.count && !status; i += 2) {
    profile_diagnose_once(profile, "error", "unopened_file", "%s could not be opened: %s", opening.failures.paths[i],
                          opening.failures.paths[i + 1]);
  }
  if (status && profile) store_drop_profile(store, profile);
  paths_clear(&opening.failures);
  tf_checkpoint_free(opening.checkpoint);
  tf_model_free(&opening.model);
  return status;
}

/* ---- files that are found ---- */

static const struct read_format formats_of_kinds[TF_KIND_count];

static enum tf_kind kind_of(const struct read_file *file) {
  return (enum tf_kind)(file->format - formats_of_kinds);
}

/* One whose name has no number is step 0. */
static int64_t step_in_name(const char *path) {
  int64_t number = tf_step_number(path);
  return number == TF_NO_STEP ? 0 : number;
}

/* Adds a file to those of its kind; a second one takes the place of the first, but for steps. */
static void add_file(struct tensorflow_files *files, enum tf_kind kind, const char *path, int64_t step) {
  switch (kind) {
    case TF_KIND_PROFILE: files->profile = path; break;
    case TF_KIND_GRAPH:
    case TF_KIND_META_GRAPH:
    case TF_KIND_SAVED_MODEL:
      files->graph = path;
      files->graph_kind = kind;
      break;
    case TF_KIND_RUN_METADATA:
      files->run_meta[files->run_meta_count++] = (struct tensorflow_run_meta){.path = path, .step = step};
      break;
    case TF_KIND_OP_LOG: files->op_log = path; break;
    case TF_KIND_CHECKPOINT: files->checkpoint = path; break;
    case TF_KIND_CHECKPOINT_STATE: /* names another file of the bundle, or by itself the one that is opened for it */
    case TF_KIND_NONE:
    case TF_KIND_count: break;
  }
}

static enum tfprof_status open_found(struct store *store, uint32_t run_number, const struct read_bundle *bundle,
                                     struct tfprof_error *error) {
  struct tensorflow_files files = {.run_meta = calloc(bundle->count, sizeof *files.run_meta),
                                   .may_lack_files = bundle->count > 1};
  enum tfprof_status status = files.run_meta ? TFPROF_OK : error_no_memory(error);
  char *named = NULL;
  for (size_t i = 0; i < bundle->count && !status; i++) {
    const char *path = bundle->files[i].path;
    add_file(&files, kind_of(&bundle->files[i]), path, step_in_name(path));
  }
  if (!status && bundle->count == 1 && kind_of(bundle->files) == TF_KIND_CHECKPOINT_STATE) {
    files.checkpoint = named = tf_checkpoint_of_state(bundle->files->path);
    if (!named) status = error_set(error, TFPROF_CORRUPT, "%s names no checkpoint", bundle->files->path);
  }
  if (!status) status = tensorflow_open(store, run_number, &files, error);
  free(named);
  free(files.run_meta);
  return status;
}

static const struct read_format formats_of_kinds[TF_KIND_count] = {
    [TF_KIND_PROFILE] = {.name = "tf_profile",
                         .description = "profile of TensorFlow's ProfileContext (ProfileProto)",
                         .open = open_found},
    [TF_KIND_GRAPH] = {.name = "tf_graph",
                       .description = "TensorFlow graph (GraphDef), binary or text",
                       .is_no_run = true,
                       .open = open_found},
    [TF_KIND_RUN_METADATA] = {.name = "tf_run_metadata",
                              .description = "TensorFlow RunMetadata, binary or text",
                              .open = open_found},
    [TF_KIND_OP_LOG] = {.name = "tf_op_log",
                        .description = "OpLogProto of the TensorFlow profiler",
                        .is_no_run = true,
                        .open = open_found},
    [TF_KIND_CHECKPOINT] = {.name = "tf_checkpoint",
                            .description = "TensorFlow checkpoint (the .index of V2, or V1)",
                            .is_no_run = true,
                            .open = open_found},
    [TF_KIND_META_GRAPH] = {.name = "tf_meta_graph",
                            .description = "TensorFlow MetaGraphDef (the .meta of a Saver): its graph",
                            .is_no_run = true,
                            .open = open_found},
    [TF_KIND_SAVED_MODEL] = {.name = "tf_saved_model",
                             .description = "TensorFlow SavedModel (saved_model.pb): its graph",
                             .is_no_run = true,
                             .open = open_found},
    [TF_KIND_CHECKPOINT_STATE] = {.name = "tf_checkpoint_state",
                                  .description = "the file `checkpoint` of a Saver, which names the newest one",
                                  .is_no_run = true,
                                  .open = open_found},
};

/* ---- what belongs together ---- */

/* Behind the directory, of which all files are the same. */
static const char *last_part(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* How long the name is without the ending; 0: it does not end so. */
static size_t stem_length(const char *name, const char *ending) {
  size_t length = strlen(name), size = strlen(ending);
  return length > size && strcmp(name + length - size, ending) == 0 ? length - size : 0;
}

static bool is_of_prefix(const char *path, const char *ending, const char *prefix) {
  size_t length = stem_length(path, ending);
  return length && strlen(prefix) == length && strncmp(path, prefix, length) == 0;
}

/* Whether another file of steps is of the same one by its name. */
static bool is_step_repeated(const struct read_file *files, size_t count, size_t step) {
  for (size_t i = 0; i < count; i++) {
    bool is_other = i != step && kind_of(&files[i]) == TF_KIND_RUN_METADATA;
    if (is_other && step_in_name(files[i].path) == step_in_name(files[step].path)) return true;
  }
  return false;
}

/* The only file of the kind, of a graph also the binary one of two that are called the same; `count`: there is none, or
** more. */
static size_t find_only(const struct read_file *files, size_t count, enum tf_kind kind) {
  size_t found = count;
  for (size_t i = 0; i < count; i++) {
    if (kind_of(&files[i]) != kind) continue;
    if (found == count) {
      found = i; /* graph.pb comes before graph.pbtxt */
    } else {
      const char *name = last_part(files[i].path), *first = last_part(files[found].path);
      size_t stem = stem_length(name, ".pbtxt");
      if (kind != TF_KIND_GRAPH || !stem || stem_length(first, ".pb") != stem || strncmp(name, first, stem) != 0)
        return count;
    }
  }
  return found;
}

/* The checkpoint that the Saver's own file names, else the last by number; `count`: there is none. */
static size_t find_checkpoint(const struct read_file *files, size_t count) {
  size_t newest = count, state = find_only(files, count, TF_KIND_CHECKPOINT_STATE);
  char *named = state < count ? tf_checkpoint_of_state(files[state].path) : NULL;
  for (size_t i = 0; i < count; i++) {
    if (kind_of(&files[i]) != TF_KIND_CHECKPOINT) continue;
    newest = i; /* files come by the numbers in their names */
    if (named && (is_of_prefix(files[i].path, ".index", named) || strcmp(files[i].path, named) == 0)) break;
  }
  free(named);
  return newest;
}

/* The only graph of a directory, else the one that a Saver wrote with the checkpoint. */
static size_t find_graph(const struct read_file *files, size_t count, size_t checkpoint) {
  size_t graph = find_only(files, count, TF_KIND_GRAPH);
  for (size_t i = 0; i < count; i++) {
    if (kind_of(&files[i]) == TF_KIND_GRAPH) return graph; /* also where there are several, none of which is known */
  }
  for (size_t i = 0; i < count && checkpoint < count; i++) {
    size_t length = stem_length(files[checkpoint].path, ".index");
    if (kind_of(&files[i]) == TF_KIND_META_GRAPH && length && stem_length(files[i].path, ".meta") == length &&
        strncmp(files[i].path, files[checkpoint].path, length) == 0)
      return i;
  }
  return find_only(files, count, TF_KIND_META_GRAPH);
}

/* What lies beside the only graph of a directory is about it: its steps, op log and newest checkpoint, where there are
** not several that would be the same part of it. A ProfileProto has all of them. Older checkpoints, and files of the
** same graph (a Saver writes it with each checkpoint), are left out. */
static void claim(const struct read_file *files, size_t count, size_t *owners) {
  size_t checkpoint = find_checkpoint(files, count), graph = find_graph(files, count, checkpoint), first = count;
  bool *belongs = calloc(count, sizeof *belongs);
  bool has_state = find_only(files, count, TF_KIND_CHECKPOINT_STATE) < count, has_graph = graph < count;
  for (size_t i = 0; i < count; i++) has_graph &= kind_of(&files[i]) != TF_KIND_PROFILE;
  for (size_t i = 0; i < count && belongs; i++) {
    enum tf_kind kind = kind_of(&files[i]);
    bool is_sure = kind == TF_KIND_CHECKPOINT || kind == TF_KIND_CHECKPOINT_STATE;
    switch (kind) {
      case TF_KIND_RUN_METADATA: belongs[i] = has_graph && !is_step_repeated(files, count, i); break;
      case TF_KIND_GRAPH: case TF_KIND_META_GRAPH: belongs[i] = has_graph && i == graph; break;
      case TF_KIND_CHECKPOINT: belongs[i] = (has_graph || has_state) && i == checkpoint; break;
      case TF_KIND_CHECKPOINT_STATE: belongs[i] = checkpoint < count; break;
      case TF_KIND_OP_LOG: belongs[i] = has_graph && find_only(files, count, kind) == i; break;
      default: break;
    }
    bool is_repeated = is_sure ? has_graph || has_state
                               : has_graph && (kind == TF_KIND_META_GRAPH ||
                                               (kind == TF_KIND_GRAPH && stem_length(files[i].path, ".pbtxt")));
    if (belongs[i] && first == count) first = i;
    owners[i] = belongs[i] ? first : is_repeated && kind != TF_KIND_CHECKPOINT_STATE ? READ_LEFT_OUT : i;
  }
  free(belongs);
}

/* The prefix of a checkpoint is no file, but people know it by that. */
static char *stand_in(const char *path) {
  char *file = NULL;
  if (strpbrk(path, "*?[")) return NULL; /* a pattern names files of any kind */
  if (tf_checkpoint_file(path, &file, NULL) == TFPROF_OK && access(file, F_OK) == 0) return file;
  free(file);
  return NULL;
}

static struct recognised probe_tensorflow(const char *path, const uint8_t *head, size_t length) {
  enum tf_kind kind = tf_kind_of(path, head, length);
  return (struct recognised){kind ? &formats_of_kinds[kind] : NULL, 60};
}

/* ---- files that are named ---- */

static bool may_be_profile(const uint8_t *head, size_t length) {
  return length == 0 || tf_may_be(TF_KIND_PROFILE, head, length);
}
static bool may_be_graph(const uint8_t *head, size_t length) { return tf_may_be(TF_KIND_GRAPH, head, length); }
static bool may_be_run_metadata(const uint8_t *head, size_t length) {
  return length == 0 || tf_may_be(TF_KIND_RUN_METADATA, head, length);
}
static bool may_be_op_log(const uint8_t *head, size_t length) {
  return length == 0 || tf_may_be(TF_KIND_OP_LOG, head, length);
}
static bool may_be_checkpoint(const uint8_t *head, size_t length) {
  (void)head;
  return length == 0;
}

static const struct read_format *const of_graphs[] = {&formats_of_kinds[TF_KIND_META_GRAPH],
                                                      &formats_of_kinds[TF_KIND_SAVED_MODEL], NULL};

/* Of a directory of a SavedModel the file with the graph. */
static enum tfprof_status find_named_graph(const char *path, char **file, struct tfprof_error *error) {
  char *inside = NULL;
  if (asprintf(&inside, "%s/saved_model.pb", path) < 0) return error_no_memory(error);
  if (access(inside, F_OK) == 0) *file = inside;
  else free(inside);
  return TFPROF_OK;
}

/* What holds the graph. */
static enum tfprof_status kind_of_named_graph(const char *path, enum tf_kind *kind, struct tfprof_error *error) {
  uint8_t head[4096];
  FILE *file = fopen(path, "rbe");
  if (!file) return error_io(error, path, "cannot open");
  size_t length = fread(head, 1, sizeof head, file);
  fclose(file);
  enum tf_kind shown = tf_kind_of(path, head, length);
  *kind = shown == TF_KIND_META_GRAPH || shown == TF_KIND_SAVED_MODEL ? shown : TF_KIND_GRAPH;
  return TFPROF_OK;
}

/* The options of the classic tfprof. run_meta_path has files parted by commas, one a step, and may come several times;
** step is the number of the first of them, 0 where it is not given, and goes with the run_meta_path before it or, at
** the beginning, after it. */
enum { KEY_PROFILE, KEY_GRAPH, KEY_RUN_META, KEY_STEP, KEY_OP_LOG, KEY_CHECKPOINT, KEY_count };
#define FILE_KEY(key, kind_of_file, what) \
  .name = key, .format = &formats_of_kinds[kind_of_file], .content = what
static const struct read_key keys[KEY_count + 1] = {
    [KEY_PROFILE] = {FILE_KEY("profile_path", TF_KIND_PROFILE, "a ProfileProto"),
                     .kind = READ_PATH,
                     .is_any_alone = true, /* tfprof-capture's profiler writes a trace of a program without a graph */
                     .may_be = may_be_profile},
    [KEY_GRAPH] = {FILE_KEY("graph_path", TF_KIND_GRAPH, "a GraphDef"),
                   .others = of_graphs,
                   .kind = READ_PATH,
                   .may_be = may_be_graph,
                   .find = find_named_graph},
    [KEY_RUN_META] = {FILE_KEY("run_meta_path", TF_KIND_RUN_METADATA, "a RunMetadata"),
                      .kind = READ_PATHS,
                      .may_be = may_be_run_metadata,
                      .list = tf_list_step_files},
    [KEY_STEP] = {.name = "step", .kind = READ_NUMBER},
    [KEY_OP_LOG] = {FILE_KEY("op_log_path", TF_KIND_OP_LOG, "an OpLogProto"),
                    .kind = READ_PATH,
                    .may_be = may_be_op_log},
    [KEY_CHECKPOINT] = {FILE_KEY("checkpoint_path", TF_KIND_CHECKPOINT, "a checkpoint"),
                        .kind = READ_PATH,
                        .may_be = may_be_checkpoint,
                        .find = tf_checkpoint_file},
};

static bool is_directory(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Paths parted by commas, one a step: the first has the number `step`. Those of a directory have the numbers of their
** names. */
static enum tfprof_status add_steps(struct tensorflow_files *files, struct path_list *paths, const char *text,
                                    int64_t step, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (const char *at = text; *at && !status;) {
    size_t length = strcspn(at, ","), first = paths->count;
    char *path = strndup(at, length);
    if (!path) return error_no_memory(error);
    bool is_numbered = is_directory(path);
    if (length) status = tf_list_step_files(path, paths, error);
    free(path);
    size_t count = files->run_meta_count + paths->count - first;
    struct tensorflow_run_meta *run_meta = realloc(files->run_meta, (count + 1) * sizeof *run_meta);
    if (!run_meta) return error_no_memory(error);
    files->run_meta = run_meta;
    for (size_t i = first; i < paths->count; i++)
      add_file(files, TF_KIND_RUN_METADATA, paths->paths[i], is_numbered ? step_in_name(paths->paths[i]) : step++);
    at += length + (at[length] == ',');
  }
  return status;
}

/* The number of the first step of the paths of option `place`: `step` behind them or, at the beginning, before them. */
static int64_t first_step(const struct read_option *options, size_t count, size_t place) {
  int64_t step = 0;
  for (size_t i = 0; i < count && options[i].key != &keys[KEY_RUN_META]; i++) {
    if (options[i].key == &keys[KEY_STEP]) step = options[i].number;
  }
  for (size_t i = place + 1; i < count && options[i].key != &keys[KEY_RUN_META]; i++) {
    if (options[i].key == &keys[KEY_STEP]) step = options[i].number;
  }
  return step;
}

static enum tfprof_status open_named(struct store *store, uint32_t run_number, const struct read_option *options,
                                     size_t count, struct tfprof_error *error) {
  struct tensorflow_files files = {.run_meta = NULL};
  struct path_list paths = {0};
  enum tfprof_status status = TFPROF_OK;
  for (size_t i = 0; i < count && !status; i++) {
    const struct read_key *key = options[i].key;
    if (key == &keys[KEY_RUN_META]) {
      status = add_steps(&files, &paths, options[i].text, first_step(options, count, i), error);
    } else if (key == &keys[KEY_GRAPH]) {
      enum tf_kind kind;
      char *inside = NULL;
      status = find_named_graph(options[i].text, &inside, error);
      if (!status && inside) status = paths_add(&paths, inside, "", error);
      const char *path = inside && !status ? paths.paths[paths.count - 1] : options[i].text;
      free(inside);
      if (!status) status = kind_of_named_graph(path, &kind, error);
      if (!status) add_file(&files, kind, path, 0);
    } else if (key != &keys[KEY_STEP]) {
      add_file(&files, kind_of(&(struct read_file){.format = key->format}), options[i].text, 0);
    }
  }
  bool is_whole = files.graph || files.op_log || files.run_meta_count;
  if (!status && files.profile && is_whole) {
    status = error_set(error, TFPROF_USAGE,
                       "profile_path holds graph, steps and op log: it goes with checkpoint_path only");
  }
  if (!status) status = tensorflow_open(store, run_number, &files, error);
  paths_clear(&paths);
  free(files.run_meta);
  return status;
}

static const struct read_format *const formats[] = {
    &formats_of_kinds[TF_KIND_PROFILE], &formats_of_kinds[TF_KIND_GRAPH],      &formats_of_kinds[TF_KIND_RUN_METADATA],
    &formats_of_kinds[TF_KIND_OP_LOG], &formats_of_kinds[TF_KIND_CHECKPOINT], &formats_of_kinds[TF_KIND_META_GRAPH],
    &formats_of_kinds[TF_KIND_SAVED_MODEL], &formats_of_kinds[TF_KIND_CHECKPOINT_STATE], NULL};
const struct reader classic_reader = {
    .formats = formats, .probe = probe_tensorflow, .claim = claim, .stand_in = stand_in, .keys = keys,
    .open_named = open_named};
