/* source.c: see source.h. */
#include "read/file/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "read/file/inflate.h"
#include "store/store.h"

enum { INPUT_BYTES = 256 << 10 }; /* of compressed bytes at a time: stays in the second-level cache */

struct mark {
  uint64_t file_offset; /* of the first byte that the inflater has not seen */
  uint64_t offset;      /* of the next byte that it makes */
  struct inflater *inflater;
};

struct source_index {
  char *path;
  char *location; /* the path from the root on: the working directory may change */
  struct stat identity;
  bool is_gzip;
  struct mark *marks; /* ascending; gzip only */
  size_t mark_count, mark_capacity;
};

struct source {
  int fd;
  bool at_end;
  enum source_problem problem;
  uint64_t problem_offset;
  uint64_t file_offset; /* of the next byte to read */
  uint64_t file_end;    /* what begins behind this is not read; gzip only */
  uint64_t offset;      /* decompressed bytes given out */
  uint64_t next_mark;
  struct source_index *index;
  struct inflater *inflater; /* NULL: plain */
  bool in_member;
  const uint8_t *input;
  size_t input_length;
  uint8_t *input_buffer;
};

const char *source_problem_text(enum source_problem problem) {
  switch (problem) {
    case SOURCE_FINE: return "complete";
    case SOURCE_TRUNCATED: return "the gzip stream ends early";
    case SOURCE_DAMAGED: return "the gzip stream is damaged";
    case SOURCE_TRAILING: return "bytes after the gzip stream were ignored";
    case SOURCE_BOMB: return "the gzip stream expands beyond any real trace";
    case SOURCE_IO: return "the file could not be read further";
  }
  return "?";
}

void source_index_free(struct source_index *index) {
  if (!index) return;
  for (size_t i = 0; i < index->mark_count; i++) inflater_free(index->marks[i].inflater);
  free(index->marks);
  free(index->path);
  free(index->location);
  free(index);
}

bool source_index_is_gzip(const struct source_index *index) { return index->is_gzip; }

/* Reads fully, past EINTR. Less: end of file; -1: an error. */
static ssize_t read_fully(int fd, void *buffer, size_t length, uint64_t offset) {
  size_t done = 0;
  while (done < length) {
    ssize_t n = pread(fd, (char *)buffer + done, length - done, (off_t)(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return done ? (ssize_t)done : -1;
    if (n == 0) break;
    done += (size_t)n;
  }
  return (ssize_t)done;
}

enum tfprof_status source_open(const char *path, struct source **out, struct tfprof_error *error) {
  *out = NULL;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe of that name must not make us wait */
  if (fd < 0) {
    int reason = errno;
    enum tfprof_status status = error_io(error, path, "cannot be opened");
    if (reason == ENOENT || reason == ENOTDIR) status = TFPROF_NOT_FOUND;
    if (reason == EMFILE || reason == ENFILE) status = TFPROF_LIMIT; /* no fault of the file */
    if (error) error->status = status;
    return status;
  }
  struct stat identity;
  uint8_t magic[2];
  if (fstat(fd, &identity) != 0) {
    close(fd);
    return error_io(error, path, "cannot be examined");
  }
  if (!S_ISREG(identity.st_mode)) {
    close(fd);
    return error_at(error, TFPROF_WRONG_KIND, path, 0, "is not a regular file");
  }
  struct source *source = calloc(1, sizeof *source);
  struct source_index *index = calloc(1, sizeof *index);
  char *copy = strdup(path), *location = location_of(path);
  if (source && index && copy && location) {
    index->path = copy;
    index->location = location;
    index->identity = identity;
    source->fd = fd;
    source->index = index;
    if (read_fully(fd, magic, 2, 0) == 2 && magic[0] == 0x1f && magic[1] == 0x8b) {
      index->is_gzip = true;
      source->inflater = inflater_create();
      source->input_buffer = malloc(INFLATER_GIVES_BACK + INPUT_BYTES);
      source->next_mark = SOURCE_MARK_BYTES;
      source->file_end = UINT64_MAX;
    }
    if (!index->is_gzip || (source->inflater && source->input_buffer)) {
      *out = source;
      return TFPROF_OK;
    }
    source_close(source);
    return error_no_memory(error);
  }
  free(source);
  free(index);
  free(copy);
  free(location);
  close(fd);
  return error_no_memory(error);
}

void source_close(struct source *source) {
  if (!source) return;
  if (source->fd >= 0) close(source->fd);
  inflater_free(source->inflater);
  free(source->input_buffer);
  source_index_free(source->index);
  free(source);
}

bool source_is_gzip(const struct source *source) { return source->inflater != NULL; }
uint64_t source_file_bytes(const struct source *source) { return (uint64_t)source->index->identity.st_size; }

enum source_problem source_problem(const struct source *source, uint64_t *offset) {
  *offset = source->problem_offset;
  return source->problem;
}

struct source_index *source_take_index(struct source *source) {
  struct source_index *index = source->index, *empty = calloc(1, sizeof *empty);
  if (!empty) return NULL;
  empty->identity = index->identity;
  source->index = empty;
  return index;
}

static size_t stop(struct source *source, enum source_problem problem, uint64_t offset, size_t done) {
  source->at_end = true;
  source->problem = problem;
  source->problem_offset = offset;
  return done;
}

/* A mark that cannot be made for want of memory is left out: reading again then starts further back. */
static void leave_mark(struct source *source) {
  struct source_index *index = source->index;
  if (!array_reserve(index->marks, index->mark_capacity, index->mark_count + 1)) return;
  struct inflater *copy = inflater_copy(source->inflater);
  if (!copy) return;
  index->marks[index->mark_count++] = (struct mark){source->file_offset - source->input_length, source->offset, copy};
}

static size_t read_plain(struct source *source, char *buffer, size_t capacity) {
  ssize_t n = read_fully(source->fd, buffer, capacity, source->file_offset);
  if (n < 0) return stop(source, SOURCE_IO, source->file_offset, 0);
  source->file_offset += (uint64_t)n;
  source->offset += (uint64_t)n;
  if ((size_t)n < capacity) stop(source, SOURCE_FINE, source->file_offset, 0);
  return (size_t)n;
}

/* False at the end of the file or when it cannot be read. */
static bool more_input(struct source *source, bool *failed) {
  if (source->input_length) return true;
  if (source->file_offset >= source->file_end) return false;
  size_t back = source->file_offset < INFLATER_GIVES_BACK ? (size_t)source->file_offset : INFLATER_GIVES_BACK;
  ssize_t n = read_fully(source->fd, source->input_buffer, back + INPUT_BYTES, source->file_offset - back);
  *failed = n < 0;
  if (n <= (ssize_t)back) return false;
  source->input = source->input_buffer + back;
  source->input_length = (size_t)n - back;
  source->file_offset += source->input_length;
  return true;
}

/* Between members: true when another one begins here, else the stream is stopped. Padding of zero bytes is passed over
** (RFC 1952 does not know it, but block devices and tape archives leave it). */
static bool next_member(struct source *source) {
  bool failed = false;
  while (more_input(source, &failed) && *source->input == 0 && source->offset) source->input++, source->input_length--;
  uint64_t here = source->file_offset - source->input_length;
  if (failed) return stop(source, SOURCE_IO, here, 0), false;
  if (!source->input_length) return stop(source, SOURCE_FINE, here, 0), false;
  if (*source->input != 0x1f) return stop(source, SOURCE_TRAILING, here, 0), false;
  inflater_reset(source->inflater);
  source->in_member = true;
  return true;
}

static size_t read_gzip(struct source *source, char *buffer, size_t capacity) {
  uint8_t *out = (uint8_t *)buffer;
  size_t left = capacity;
  while (left) {
    if (!source->in_member && !next_member(source)) return capacity - left;
    bool failed = false, has_input = more_input(source, &failed);
    if (failed) return stop(source, SOURCE_IO, source->file_offset, capacity - left);
    size_t before = left; /* without input the inflater may still hold bytes that it made before */
    enum inflater_status status = inflater_step(source->inflater, &source->input, &source->input_length, &out, &left);
    source->offset += before - left;
    assert(source->input >= source->input_buffer && source->input_length <= source->file_offset);
    uint64_t used = source->file_offset - source->input_length;
    if (status == INFLATER_DAMAGED) return stop(source, SOURCE_DAMAGED, used, capacity - left);
    if (!has_input && left == before && status == INFLATER_MORE)
      return stop(source, SOURCE_TRUNCATED, source->file_offset, capacity - left);
    if (status == INFLATER_END) source->in_member = false;
    if (source->offset > SOURCE_FREE_BYTES && source->offset / SOURCE_MAXIMUM_RATIO > used) {
      return stop(source, SOURCE_BOMB, used, capacity - left);
    }
    if (source->in_member && source->offset >= source->next_mark) {
      leave_mark(source);
      source->next_mark = source->offset + SOURCE_MARK_BYTES;
    }
  }
  return capacity;
}

size_t source_read(struct source *source, char *buffer, size_t capacity) {
  if (source->at_end) return 0;
  return source->inflater ? read_gzip(source, buffer, capacity) : read_plain(source, buffer, capacity);
}

enum tfprof_status source_head(const char *path, size_t capacity, char *buffer, size_t *got) {
  struct source *source;
  *got = 0;
  enum tfprof_status status = source_open(path, &source, NULL);
  if (status) return status;
  source->file_end = SOURCE_HEAD_BYTES;
  source->next_mark = UINT64_MAX;
  *got = source_read(source, buffer, capacity);
  source_close(source);
  return TFPROF_OK;
}

static bool same_file(const struct stat *a, const struct stat *b) {
  return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
         a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

static enum tfprof_status reopen(const struct source_index *index, struct source **source, struct tfprof_error *error) {
  enum tfprof_status status = source_open(index->location, source, error);
  if (status && status != TFPROF_WRONG_KIND) return status;
  if (!status && same_file(&(*source)->index->identity, &index->identity)) return TFPROF_OK;
  source_close(*source);
  *source = NULL;
  error_at(error, TFPROF_REPLACED, index->path, 0, "the file was changed or replaced since it was opened");
  if (error) error->has_offset = false;
  return TFPROF_REPLACED;
}

enum tfprof_status source_check(const struct source_index *index, struct tfprof_error *error) {
  struct source *source;
  enum tfprof_status status = reopen(index, &source, error);
  if (!status) source_close(source);
  return status;
}

struct source_ranges {
  const struct source_index *index;
  struct source *source;
};

void source_ranges_close(struct source_ranges *ranges) {
  if (!ranges) return;
  source_close(ranges->source);
  free(ranges);
}

enum tfprof_status source_ranges_open(const struct source_index *index, struct source_ranges **out,
                                      struct tfprof_error *error) {
  struct source_ranges *ranges = calloc(1, sizeof *ranges);
  *out = NULL;
  if (!ranges) return error_no_memory(error);
  ranges->index = index;
  enum tfprof_status status = reopen(index, &ranges->source, error);
  if (status) {
    free(ranges);
    return status;
  }
  ranges->source->next_mark = UINT64_MAX;
  *out = ranges;
  return TFPROF_OK;
}

/* Goes to the last mark before an offset, unless it is at least as near already. False: no memory. */
static bool go_to_mark(struct source *source, const struct source_index *index, uint64_t offset) {
  size_t best = index->mark_count;
  while (best && index->marks[best - 1].offset > offset) best--;
  uint64_t from = best ? index->marks[best - 1].offset : 0;
  if (!source->at_end && source->offset <= offset && source->offset >= from) return true;
  struct inflater *copy = best ? inflater_copy(index->marks[best - 1].inflater) : inflater_create();
  if (!copy) return false;
  inflater_free(source->inflater);
  source->inflater = copy;
  source->file_offset = best ? index->marks[best - 1].file_offset : 0;
  source->offset = from;
  source->in_member = best > 0;
  source->at_end = false;
  source->input_length = 0;
  return true;
}

enum tfprof_status source_ranges_read(struct source_ranges *ranges, uint64_t offset, size_t length, char *buffer,
                                      size_t *got, struct tfprof_error *error) {
  struct source *source = ranges->source;
  *got = 0;
  if (!ranges->index->is_gzip) {
    source->at_end = false;
    source->file_offset = offset;
  } else {
    char scratch[16384];
    if (!go_to_mark(source, ranges->index, offset)) return error_no_memory(error);
    while (source->offset < offset) {
      uint64_t missing = offset - source->offset;
      if (source_read(source, scratch, missing < sizeof scratch ? (size_t)missing : sizeof scratch) == 0) break;
    }
  }
  *got = source_read(source, buffer, length);
  return TFPROF_OK;
}

enum tfprof_status source_prefix(const struct source_index *index, uint64_t offset, size_t length, char *buffer,
                                 size_t *got, struct tfprof_error *error) {
  struct source_ranges *ranges;
  *got = 0;
  enum tfprof_status status = source_ranges_open(index, &ranges, error);
  if (!status) status = source_ranges_read(ranges, offset, length, buffer, got, error);
  source_ranges_close(ranges);
  return status;
}

enum tfprof_status source_range(const struct source_index *index, uint64_t offset, size_t length, char *buffer,
                                struct tfprof_error *error) {
  size_t got;
  enum tfprof_status status = source_prefix(index, offset, length, buffer, &got, error);
  if (!status && got < length) return error_at(error, TFPROF_IO, index->path, offset, "cannot be read again");
  return status;
}
