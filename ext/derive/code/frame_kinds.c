/* frame_kinds.c: code_frames.source_kind: whose code a frame is.
**
** Mostly the path of its file tells that (source_kinds.h), but a program may lie anywhere: in torch/optim/ of a copy of
** somebody's project, or below a lib/python3.11/ that is not Python's.  So what lies in the folder of a main script is
** judged by its path below that folder.
**
** A main script is the file of a <module> that is the outermost frame of a stack, or that Python's runpy calls, as for
** python -m.  A stack that was cut may begin in a module that is imported.  A file that its path does not take for the
** program's is therefore a main script only where the command line names it, or where there is no command line; and
** never in a folder of packages, where programs that start others lie, too.
**
** Processes that multiprocessing spawns run a text (python -c), and import the main script only for what they are to
** call.  Of these the file of what they call stands for the main script, unless it is a worker of a DataLoader or the
** launcher of a package (Lightning's).  The text is multiprocessing's, not the program's.
*/
#include "derive/code/source_kinds.h"
#include "derive/passes.h"
#include "derive/rows.h"

#include <string.h>

enum { MOST_FOLDERS = 16 }; /* a process has one main script, and what starts it another */

struct frames {
  uint32_t count;
  string_id *files, *kinds;
  bool *is_module, *is_runpy;
  bool *is_starter; /* calls what a process is started for */
  bool is_child;    /* of a process that multiprocessing spawned */
};

struct main_folders {
  uint32_t count;
  string_id scripts[MOST_FOLDERS];
};

static const char *name_of(const char *path) {
  const char *slash = strrchr(path, '/'), *backslash = strrchr(path, '\\');
  const char *last = backslash && (!slash || backslash > slash) ? backslash : slash;
  return last ? last + 1 : path;
}

static bool is_runpy(const char *file) {
  return strcmp(file, "<frozen runpy>") == 0 ||
         (strcmp(name_of(file), "runpy.py") == 0 && source_kind_of(file) == SOURCE_PYTHON);
}

/* Whether the last parts of a path are these; paths of Windows count as with slashes. */
static bool ends_in(const char *path, const char *parts) {
  size_t length = strlen(path), wanted = strlen(parts);
  if (length < wanted || (length > wanted && !strchr("/\\", path[length - wanted - 1]))) return false;
  for (path += length - wanted; *parts; path++, parts++) {
    if (*path != *parts && !(*path == '\\' && *parts == '/')) return false;
  }
  return true;
}

/* multiprocessing itself, and what PyTorch puts between it and the program: torch.multiprocessing, torchrun. */
static bool is_starter(const char *file) {
  return ends_in(file, "multiprocessing/process.py") || ends_in(file, "torch/multiprocessing/spawn.py") ||
         ends_in(file, "torch/distributed/elastic/multiprocessing/api.py");
}

/* Where a process begins that multiprocessing does not fork from the program. */
static bool begins_child(const char *file, const char *function) {
  return (strcmp(function, "spawn_main") == 0 && ends_in(file, "multiprocessing/spawn.py")) ||
         (strcmp(function, "main") == 0 && ends_in(file, "multiprocessing/forkserver.py"));
}

static enum tfprof_status read_files(struct frames *frames, const struct profile *profile,
                                      struct tfprof_error *error) {
  const struct pool *pool = store_pool(profile->store);
  string_id module = derive_known_text(profile, "<module>");
  enum tfprof_status status = derive_row_count(profile, TABLE_code_frames, &frames->count, error);
  if (status) return status;
  size_t room = (size_t)frames->count + 1;
  frames->files = scratch_allocate_zeroed(room, sizeof *frames->files);
  frames->kinds = scratch_allocate_zeroed(room, sizeof *frames->kinds);
  frames->is_module = scratch_allocate_zeroed(room, sizeof *frames->is_module);
  frames->is_runpy = scratch_allocate_zeroed(room, sizeof *frames->is_runpy);
  frames->is_starter = scratch_allocate_zeroed(room, sizeof *frames->is_starter);
  if (!frames->files || !frames->kinds || !frames->is_module || !frames->is_runpy || !frames->is_starter)
    return error_no_memory(error);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_code_frames, &block, &status, error);) {
    string_id files[ROWS_BLOCK], functions[ROWS_BLOCK];
    block_texts(&block, COLUMN_code_frames_file, files);
    block_texts(&block, COLUMN_code_frames_function, functions);
    for (uint32_t i = 0; i < block.count && block.row + i < frames->count; i++) {
      frames->files[block.row + i] = files[i];
      frames->is_module[block.row + i] = module && files[i] && functions[i] == module;
      frames->is_runpy[block.row + i] = files[i] && is_runpy(pool_text(pool, files[i]));
      frames->is_starter[block.row + i] = files[i] && is_starter(pool_text(pool, files[i]));
      if (files[i] && functions[i])
        frames->is_child |= begins_child(pool_text(pool, files[i]), pool_text(pool, functions[i]));
    }
  }
  return status;
}

/* ---- main scripts ---- */

/* python train.py, python -m train, and python FOLDER, which runs FOLDER/__main__.py. */
static bool is_named(const char *path, const char *command) {
  char stem[256];
  const char *name = name_of(path);
  size_t length = strcspn(name, ".");
  if (strcmp(name, "__main__.py") == 0) return true;
  if (!length || length >= sizeof stem) return false;
  memcpy(stem, name, length);
  stem[length] = 0;
  return strstr(command, stem) != NULL;
}

static bool may_be_main(const struct profile *profile, const char *path, bool is_called_by_runpy) {
  const struct pool *pool = store_pool(profile->store);
  enum source_kind kind = source_kind_of(path);
  if (path[0] == '<' || kind == SOURCE_GENERATED) return false;
  if (kind == SOURCE_PROGRAM) return true;
  /* python -m unittest or cProfile: a module of Python itself that runs others. */
  if (source_is_installed(path) || (kind == SOURCE_PYTHON && is_called_by_runpy)) return false;
  return !profile->command || is_named(path, pool_text(pool, profile->command));
}

/* What a process that multiprocessing spawned was started for. Of a path without a root the first part is a package. */
static bool may_be_started(const char *path) {
  enum source_kind kind = source_kind_of(path);
  bool has_root = path[0] == '/' || path[0] == '\\' || (path[0] && path[1] == ':');
  if (!has_root && kind != SOURCE_PROGRAM) return false;
  bool is_made = path[0] == '<' || kind == SOURCE_GENERATED || kind == SOURCE_PYTHON;
  return !is_made && !source_is_installed(path) && !ends_in(path, "torch/utils/data/_utils/worker.py");
}

/* Whether the file of a frame is that of a main script; `caller`: the frame that called it, NO_ROW: none. */
static bool is_of_main(const struct profile *profile, const struct frames *frames, uint32_t frame, uint32_t caller,
                       bool is_outermost) {
  if (!frames->files[frame]) return false;
  const char *path = pool_text(store_pool(profile->store), frames->files[frame]);
  bool has_caller = caller < frames->count;
  bool is_started = frames->is_child && has_caller && frames->is_starter[caller] && !frames->is_starter[frame];
  if (is_started) return may_be_started(path);
  if (!frames->is_module[frame] || !(is_outermost || (has_caller && frames->is_runpy[caller]))) return false;
  return may_be_main(profile, path, !is_outermost);
}

static enum tfprof_status find_main_folders(struct main_folders *mains, const struct frames *frames,
                                            const struct profile *profile, struct tfprof_error *error) {
  uint32_t traces = 0, *leaves = NULL, *parents = NULL;
  enum tfprof_status status = derive_row_count(profile, TABLE_code_traces, &traces, error);
  if (!status)
    status = derive_all_references(profile, TABLE_code_traces, COLUMN_code_traces_leaf_frame_id, &leaves, error);
  if (!status)
    status = derive_all_references(profile, TABLE_code_traces, COLUMN_code_traces_parent_id, &parents, error);
  for (uint32_t trace = 0; trace < traces && mains->count < MOST_FOLDERS && !status; trace++) {
    uint32_t frame = leaves[trace], around = parents[trace], known = 0;
    uint32_t caller = around < traces ? leaves[around] : NO_ROW;
    if (frame >= frames->count || !is_of_main(profile, frames, frame, caller, around == NO_ROW)) continue;
    while (known < mains->count && mains->scripts[known] != frames->files[frame]) known++;
    if (known == mains->count) mains->scripts[mains->count++] = frames->files[frame];
  }
  scratch_free(leaves);
  scratch_free(parents);
  return status;
}

/* How much of the path is the longest folder of a main script; 0: it lies in none. */
static size_t main_folder_of(const char *path, string_id file, const struct main_folders *mains,
                             const struct pool *pool, bool *is_main) {
  size_t longest = 0;
  *is_main = false;
  for (uint32_t i = 0; i < mains->count; i++) {
    const char *script = pool_text(pool, mains->scripts[i]);
    size_t folder = (size_t)(name_of(script) - script);
    *is_main |= mains->scripts[i] == file;
    if (folder > longest && strncmp(path, script, folder) == 0) longest = folder;
  }
  return longest;
}

/* ---- the pass ---- */

static enum tfprof_status run_frame_kinds(struct profile *profile, struct tfprof_error *error) {
  struct pool *pool = store_pool(profile->store);
  struct frames frames = {0};
  struct main_folders mains = {0};
  string_id names[SOURCE_KINDS];
  enum tfprof_status status = read_files(&frames, profile, error);
  for (unsigned kind = 0; kind < SOURCE_KINDS && !status; kind++)
    status = derive_text(profile, source_kind_names[kind], &names[kind], error);
  if (!status) status = find_main_folders(&mains, &frames, profile, error);
  for (uint32_t frame = 0; frame < frames.count && !status; frame++) {
    if (!frames.files[frame]) continue;
    bool is_main = false;
    const char *path = pool_text(pool, frames.files[frame]);
    size_t folder = main_folder_of(path, frames.files[frame], &mains, pool, &is_main);
    bool is_text = frames.is_child && frames.is_module[frame] && strcmp(path, "<string>") == 0;
    enum source_kind kind = is_text ? SOURCE_PYTHON : source_kind_below(path, folder);
    frames.kinds[frame] = names[is_main ? SOURCE_PROGRAM : kind];
  }
  if (!status)
    status = derive_set_texts(profile, TABLE_code_frames, COLUMN_code_frames_source_kind, frames.kinds, error);
  scratch_free(frames.files);
  scratch_free(frames.kinds);
  scratch_free(frames.is_module);
  scratch_free(frames.is_runpy);
  scratch_free(frames.is_starter);
  return status;
}

const struct derive_pass derive_frame_kinds = {
    .name = "kinds of frames",
    .summary = "Whose code a frame is, by the path of its file below the folder of the main script, elsewhere by the "
               "whole path.",
    .makes_table = -1,
    .reads = {{TABLE_code_frames, COLUMN_code_frames_file},
              {TABLE_code_frames, COLUMN_code_frames_function},
              {TABLE_code_traces, COLUMN_code_traces_leaf_frame_id},
              {TABLE_code_traces, COLUMN_code_traces_parent_id}},
    .writes = {{TABLE_code_frames, COLUMN_code_frames_source_kind}},
    .run = run_frame_kinds,
};
