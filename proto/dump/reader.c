/* reader.c: opens, refreshes and closes dump files.
**
** A file is read through its index when it has one that fits (reader_index.c), else by walking through it
** (reader_scan.c).  A file that is still being written, or whose writer was killed, is an ordinary case: its whole
** frames are served, and a refresh goes on after the last of them.
*/
#include "dump/reader_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* O_NONBLOCK: a pipe of that name must not make us wait. */
static enum tfprof_status open_regular(const char *path, int *fd, struct stat *status, struct tfprof_error *error) {
  *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (*fd < 0) {
    int reason = errno;
    enum tfprof_status result = error_io(error, path, "cannot open");
    if (reason == ENOENT || reason == ENOTDIR) result = TFPROF_NOT_FOUND;
    if (reason == EMFILE || reason == ENFILE) result = TFPROF_LIMIT; /* no fault of the file */
    if (error) error->status = result;
    return result;
  }
  if (fstat(*fd, status) != 0) {
    enum tfprof_status result = error_io(error, path, "cannot examine");
    close(*fd);
    return result;
  }
  if (S_ISREG(status->st_mode)) return TFPROF_OK;
  close(*fd);
  *fd = -1;
  return error_at(error, TFPROF_WRONG_KIND, path, 0, "this is not a regular file, so not a tfprof dump");
}

static struct reader_look look_of(const struct stat *status) {
  struct reader_look look = {.device = (uint64_t)status->st_dev,
                             .inode = (uint64_t)status->st_ino,
                             .size = (uint64_t)status->st_size,
                             .modified = status->st_mtim,
                             .changed = status->st_ctim};
  clock_gettime(CLOCK_REALTIME, &look.looked);
  return look;
}

static bool is_same_time(const struct timespec *a, const struct timespec *b) {
  return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* File systems tell times in steps: another file of this size may have come into its place in the same step, so that a
** file that had just been changed when it was read is looked into once more. */
bool dump_file_is_same(const struct dump_file *file) {
  enum { STEP_SECONDS = 2 };
  const struct reader_look *before = &file->private_state->look;
  struct stat status;
  if (before->looked.tv_sec - before->changed.tv_sec < STEP_SECONDS) return false;
  if (stat(file->private_state->location, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  struct reader_look now = look_of(&status);
  return now.device == before->device && now.inode == before->inode && now.size == before->size &&
         is_same_time(&now.modified, &before->modified) && is_same_time(&now.changed, &before->changed);
}

enum tfprof_status reader_reopen(const struct dump_file *file, int *fd, uint64_t *size, struct reader_look *look,
                                 struct tfprof_error *error) {
  const struct dump_reader_private *state = file->private_state;
  struct stat status;
  uint8_t header[DUMP_FILE_HEADER_BYTES];
  enum tfprof_status result = open_regular(state->location, fd, &status, error);
  if (result == TFPROF_WRONG_KIND) result = TFPROF_REPLACED; /* by a directory, a pipe */
  else if (result) return result;
  *size = (uint64_t)status.st_size;
  if (look) *look = look_of(&status);
  /* One that ends within its header was cut, or is being written over: not decided yet. */
  if (!result && *size < sizeof header) return TFPROF_OK;
  if (!result) result = reader_read(*fd, file->path, 0, sizeof header, header, error);
  if (!result && memcmp(header, state->header, sizeof header) == 0) return TFPROF_OK;
  if (*fd >= 0) close(*fd);
  if (result == TFPROF_IO) return result;
  error_at(error, TFPROF_REPLACED, file->path, 0, "another file has taken its place since it was opened");
  if (error) error->has_offset = false;
  return TFPROF_REPLACED;
}

void dump_file_close(struct dump_file *file) {
  if (!file) return;
  struct dump_reader_private *state = file->private_state;
  if (state) {
    reader_free_tables(state);
    free(state->strings);
    free(state->location);
    free(state);
  }
  dump_profile_free_texts(&file->profile);
  free(file->frames);
  free(file->clocks);
  free(file->problems);
  free(file->path);
  free(file);
}

/* As given where the working directory is not known. */
static char *locate(const char *path) {
  char *directory = *path == '/' ? NULL : getcwd(NULL, 0);
  if (!directory) return strdup(path);
  size_t size = strlen(directory) + strlen(path) + 2;
  char *location = malloc(size);
  if (location) snprintf(location, size, "%s/%s", directory, path);
  free(directory);
  return location;
}

static struct dump_file *allocate_file(const char *path) {
  struct dump_file *file = calloc(1, sizeof *file);
  if (!file) return NULL;
  file->path = strdup(path);
  file->private_state = calloc(1, sizeof *file->private_state);
  if (file->private_state) file->private_state->location = locate(path);
  if (!file->path || !file->private_state || !file->private_state->location) {
    dump_file_close(file);
    return NULL;
  }
  file->profile.rank = -1;
  file->private_state->next_string = 1;
  file->private_state->next_given = 1;
  file->private_state->tail_problem = DUMP_NO_PROBLEM;
  return file;
}

/* ---- The file header ---- */

/* Whether the first frame proves itself with this salt. */
static bool salt_fits(struct reader_window *window, uint32_t salt) {
  const uint8_t *bytes;
  struct dump_frame_header header;
  if (reader_window_get(window, DUMP_FILE_HEADER_BYTES, DUMP_FRAME_HEADER_BYTES, &bytes, NULL) || !bytes ||
      !dump_frame_header_is_plausible(bytes)) {
    return false;
  }
  dump_frame_header_read(bytes, &header);
  size_t length = (size_t)DUMP_FRAME_HEADER_BYTES + header.head_length;
  if (reader_window_get(window, DUMP_FILE_HEADER_BYTES, length, &bytes, NULL) || !bytes) return false;
  return dump_frame_checksum_is_right(bytes, &header, bytes + DUMP_FRAME_HEADER_BYTES, salt);
}

/* A damaged header is forgiven when the first frame shows which checksum the writer went on with: either the one that
** is stored, or, if just that was hit, the one of the other bytes. */
static enum tfprof_status forgive_header(struct dump_file *file, struct reader_window *window,
                                         const struct dump_file_header *header, uint32_t computed,
                                         struct tfprof_error *error) {
  if (salt_fits(window, header->crc32)) file->private_state->salt = header->crc32;
  else if (salt_fits(window, computed)) file->private_state->salt = computed;
  else return error_at(error, TFPROF_CORRUPT, file->path, 0, "the file header and the first frame are damaged");
  if (header->version != DUMP_VERSION || header->header_bytes != DUMP_FILE_HEADER_BYTES || header->required_features) {
    return error_at(error, TFPROF_CORRUPT, file->path, 8,
                    "the file header is damaged where it says how to read the file");
  }
  reader_problem(file, "warning", "damaged_header", 0, 1, 0, "the file header is damaged; the rest could be read");
  return TFPROF_OK;
}

static enum tfprof_status read_file_header(struct dump_file *file, struct reader_window *window,
                                           struct tfprof_error *error) {
  struct dump_file_header header;
  struct dump_reader_private *state = file->private_state;
  const uint8_t *bytes;
  enum tfprof_status status = reader_window_get(window, 0, 8, &bytes, error);
  if (status) return status;
  if (!bytes || memcmp(bytes, DUMP_MAGIC, 8) != 0) {
    return error_at(error, TFPROF_WRONG_KIND, file->path, 0, "this is not a tfprof dump");
  }
  status = reader_window_get(window, 0, DUMP_FILE_HEADER_BYTES, &bytes, error);
  if (status) return status;
  if (!bytes) return error_at(error, TFPROF_CORRUPT, file->path, window->size, "the file ends within its header");
  memcpy(state->header, bytes, DUMP_FILE_HEADER_BYTES);
  bool is_right = dump_file_header_read(state->header, &header);
  file->version = header.version;
  state->salt = header.crc32;
  if (!is_right) {
    uint8_t again[DUMP_FILE_HEADER_BYTES];
    struct dump_file_header mended = header;
    dump_file_header_write(again, &mended); /* its reserved bytes are 0, as ours are */
    dump_file_header_read(again, &mended);
    status = forgive_header(file, window, &header, mended.crc32, error);
    if (status) return status;
  } else if (header.version > DUMP_VERSION || header.required_features & ~(uint32_t)DUMP_KNOWN_FEATURES) {
    return error_at(error, TFPROF_VERSION, file->path, 8,
                    "the dump was written by a later version (format %u, features %#x); update tfprof to read it",
                    header.version, header.required_features);
  } else if (header.version == 0 || header.header_bytes < DUMP_FILE_HEADER_BYTES ||
             header.header_bytes % DUMP_FRAME_ALIGNMENT) {
    return error_at(error, TFPROF_CORRUPT, file->path, 10, "the file header contradicts itself");
  }
  file->is_last_part = header.optional_features & DUMP_FEATURE_LAST;
  file->profile.pid = header.pid;
  file->profile.rank = header.rank < 0 ? -1 : header.rank;
  file->profile.world_size = header.world_size;
  file->profile.created_realtime_ns = (int64_t)header.created_realtime_ns;
  memcpy(file->profile.boot_id, header.boot_id, sizeof header.boot_id);
  file->scanned_bytes = state->settled_end = header.header_bytes;
  return TFPROF_OK;
}

static enum tfprof_status read_frames(struct dump_file *file, struct reader_window *window,
                                      struct tfprof_error *error) {
  bool is_done;
  enum tfprof_status status = read_file_header(file, window, error);
  if (status) return status;
  status = reader_read_index(file, window, &is_done, error);
  if (status || is_done) return status;
  status = reader_scan(file, window, error);
  if (!status && file->is_closed && !file->is_last_part) { /* which has none */
    /* Told only when the trailer is there: a file without one never had a whole index. */
    reader_problem(file, "info", "damaged_index", 0, 1, 0,
                   "the file has no index that fits; it was searched for frames instead");
  }
  return status;
}

enum tfprof_status dump_file_open(const char *path, struct dump_file **result, struct tfprof_error *error) {
  struct stat status;
  struct reader_window window = {.path = path};
  *result = NULL;
  enum tfprof_status outcome = open_regular(path, &window.fd, &status, error);
  if (outcome) return outcome;
  struct dump_file *file = allocate_file(path);
  if (!file) {
    close(window.fd);
    return error_no_memory(error);
  }
  file->file_bytes = window.size = (uint64_t)status.st_size;
  file->private_state->look = look_of(&status);
  outcome = read_frames(file, &window, error);
  reader_window_clear(&window);
  close(window.fd);
  if (outcome) {
    dump_file_close(file);
    return outcome;
  }
  *result = file;
  return TFPROF_OK;
}

/* ---- Refresh ---- */

/* The problem of the tail is told anew by every scan. */
static void forget_tail_problem(struct dump_file *file) {
  struct dump_reader_private *state = file->private_state;
  if (state->tail_problem == DUMP_NO_PROBLEM) return;
  for (size_t i = (size_t)state->tail_problem + 1; i < file->problem_count; i++) {
    struct reader_table *table = reader_table_of(file, file->problems[i].table_dump_id);
    if (table && table->dropped_problem == i + 1) table->dropped_problem--;
    file->problems[i - 1] = file->problems[i];
  }
  file->problem_count--;
  state->tail_problem = DUMP_NO_PROBLEM;
}

/* What was read before stays. */
static void tell_cut(struct dump_file *file, uint64_t size) {
  struct dump_reader_private *state = file->private_state;
  state->tail_problem = reader_problem(file, "error", "cut_file", 0, state->settled_end - size, size,
                                       "the file was cut since it was opened; what was read of its end before is still "
                                       "shown, the rest is NULL");
}

enum tfprof_status dump_file_refresh(struct dump_file *file, struct tfprof_error *error) {
  struct dump_reader_private *state = file->private_state;
  struct reader_window window = {.path = file->path};
  struct reader_look look = {.size = 0};
  enum tfprof_status status = reader_reopen(file, &window.fd, &window.size, &look, error);
  if (status) return status;
  if (window.size != file->file_bytes) {
    forget_tail_problem(file);
    file->file_bytes = window.size;
    if (window.size < state->settled_end) tell_cut(file, window.size);
    else if (!file->is_closed) status = reader_scan(file, &window, error);
  }
  if (!status) state->look = look;
  reader_window_clear(&window);
  close(window.fd);
  return status;
}
