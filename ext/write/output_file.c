/* output_file.c: see output_file.h.  What is appended is collected in a buffer, since compressing, writing and the
** guard against SIGPIPE cost more than most pieces do.
**
** Where the bytes go is found out once, on opening (see find_place): the last name of a chain of symbolic links, and
** whether it is one that can be replaced.  The new file is made by mkostemp in the same directory, so that nothing that
** lies there, nor a link that another user laid there, is ever written into, and rename() stays within a file system.
*/
#include "write/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/parallel.h"
#include "write/decimal_text.h"
#include "write/gzip_pieces.h"
#include "write/json_text.h"

struct output_file {
  int descriptor;          /* -1: of one in memory */
  struct gzip_piece *gzip; /* NULL: it is plain */
  struct gzip_sum sum;     /* of what has been compressed */
  char *buffer;            /* BUFFER_BYTES, of which `used` wait for being written */
  size_t used;
  bool has_failed;
  int reason;    /* errno of the first failure */
  char *path;    /* as it was given, for messages */
  char *place;   /* what is replaced: the path without symbolic links; NULL: a stream, nothing is */
  char *partial; /* what is written until then */
  /* Of one in memory. */
  unsigned char *memory;
  size_t memory_length, memory_capacity, maximum_bytes;
};

enum { BUFFER_BYTES = 1 << 18, MOST_LINKS = 40 };

static const char partial_name[] = ".tfprof-XXXXXX"; /* short, so that it fits wherever a name does */

static void output_free(struct output_file *file) {
  if (file) {
    free(file->buffer);
    free(file->path);
    free(file->place);
    free(file->partial);
    free(file->memory);
    gzip_piece_free(file->gzip);
  }
  free(file);
}

/* ---- bytes ---- */

/* A reader that goes away is an error of this file (EPIPE), and must not end the program that we are loaded into: the
** signal of it stays with this thread, and is taken away where it was not pending before. */
struct pipe_guard {
  sigset_t pipe, before;
  bool was_pending;
};

static struct pipe_guard guard_pipe(void) {
  struct pipe_guard guard;
  sigset_t pending;
  sigemptyset(&guard.pipe);
  sigaddset(&guard.pipe, SIGPIPE);
  guard.was_pending = sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &guard.pipe, &guard.before);
  return guard;
}

static void end_guard(const struct pipe_guard *guard) {
  int reason = errno;
  while (!guard->was_pending && sigtimedwait(&guard->pipe, NULL, &(struct timespec){0, 0}) < 0 && errno == EINTR) {
  }
  pthread_sigmask(SIG_SETMASK, &guard->before, NULL);
  errno = reason;
}

/* A signal ends what waits for the reader of a stream. */
static void write_bytes(struct output_file *file, const void *bytes, size_t length) {
  const char *at = bytes;
  while (length && !file->has_failed) {
    ssize_t written = write(file->descriptor, at, length);
    if (written < 0) {
      file->has_failed = true;
      file->reason = errno;
      return;
    }
    at += written;
    length -= (size_t)written;
  }
}

static void write_memory(struct output_file *file, const void *bytes, size_t length) {
  if (file->has_failed || !length) return;
  if (length > file->maximum_bytes - file->memory_length) {
    file->has_failed = true;
    file->reason = EFBIG;
    return;
  }
  size_t needed = file->memory_length + length;
  if (needed > file->memory_capacity) {
    size_t capacity = needed > file->maximum_bytes / 2 ? file->maximum_bytes : needed * 2;
    unsigned char *memory = realloc(file->memory, capacity);
    if (!memory) {
      file->has_failed = true;
      file->reason = ENOMEM;
      return;
    }
    file->memory = memory;
    file->memory_capacity = capacity;
  }
  memcpy(file->memory + file->memory_length, bytes, length);
  file->memory_length = needed;
}

static void write_through(struct output_file *file, const void *bytes, size_t length) {
  if (file->descriptor < 0) {
    write_memory(file, bytes, length);
    return;
  }
  if (file->place) {
    write_bytes(file, bytes, length);
    return;
  }
  struct pipe_guard guard = guard_pipe();
  write_bytes(file, bytes, length);
  end_guard(&guard);
}

/* ---- where to ---- */

/* The directory of `path` without symbolic links, a slash, and the last part of `path`; NULL with errno. */
static char *in_real_directory(const char *path) {
  const char *slash = strrchr(path, '/');
  char *parent = !slash ? strdup(".") : slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
  char *directory = parent ? realpath(parent, NULL) : NULL, *place = NULL;
  const char *name = slash ? slash + 1 : path;
  if (directory && asprintf(&place, "%s/%s", strcmp(directory, "/") ? directory : "", name) < 0) place = NULL;
  free(parent);
  free(directory);
  return place;
}

/* What a symbolic link leads to, without the links on the way there; frees `link`. NULL with errno. */
static char *follow_link(char *link) {
  char *target = malloc(PATH_MAX + 1), *joined = NULL, *place = NULL;
  ssize_t length = target ? readlink(link, target, PATH_MAX) : -1;
  if (length >= 0) {
    target[length] = '\0';
    *(strrchr(link, '/') + 1) = '\0';
    if (*target == '/') place = in_real_directory(target);
    else if (asprintf(&joined, "%s%s", link, target) >= 0) place = in_real_directory(joined);
  }
  free(joined);
  free(target);
  free(link);
  return place;
}

/* Follows the links that end the path. *place is NULL where the last of them is one of the kernel's own (/dev/stdout,
** /dev/fd/3): those are open already, and only ever written into. false with errno. */
static bool find_place(const char *path, char **place) {
  struct stat info;
  *place = in_real_directory(path);
  for (unsigned i = 0; *place && lstat(*place, &info) == 0 && S_ISLNK(info.st_mode); i++) {
    if (strncmp(*place, "/proc/", 6) == 0) {
      free(*place);
      *place = NULL;
      return true;
    }
    if (i == MOST_LINKS) {
      free(*place);
      *place = NULL;
      errno = ELOOP;
      return false;
    }
    *place = follow_link(*place);
  }
  return *place != NULL;
}

/* A file beside file->place, with the mode of the one that is there; a descriptor, or -1 with errno. */
static int open_partial(struct output_file *file, const struct stat *present) {
  const char *name = strrchr(file->place, '/') + 1;
  if (!*name) {
    errno = EISDIR;
    return -1;
  }
  if (present && access(file->place, W_OK)) return -1; /* what its owner has made read-only stays */
  if (asprintf(&file->partial, "%.*s%s", (int)(name - file->place), file->place, partial_name) < 0) {
    file->partial = NULL;
    errno = ENOMEM;
    return -1;
  }
  int descriptor = mkostemp(file->partial, O_CLOEXEC);
  if (descriptor < 0) {
    free(file->partial);
    file->partial = NULL;
    return -1;
  }
  if (present) {
    /* Its owner only where that is allowed; and before the mode, some bits of which a change of owner takes away. */
    if (fchown(descriptor, present->st_uid, present->st_gid)) errno = 0;
    if (fchmod(descriptor, present->st_mode & 07777)) errno = 0;
  }
  return descriptor;
}

/* A descriptor to write to, or -1 with errno, or with 0 in errno where `error` is set already. */
static int open_place(struct output_file *file, enum tfprof_status *status, struct tfprof_error *error) {
  struct stat info;
  errno = 0;
  if (!find_place(file->path, &file->place)) return -1;
  bool is_there = stat(file->place ? file->place : file->path, &info) == 0;
  if (is_there && S_ISDIR(info.st_mode)) {
    *status = error_set(error, TFPROF_IO, "%s: is a directory; name a file in it", file->path);
    return -1;
  }
  if (file->place && (!is_there || S_ISREG(info.st_mode))) return open_partial(file, is_there ? &info : NULL);
  free(file->place);
  file->place = NULL;
  /* Without waiting for a reader, which could be for ever and would not notice an interrupt. */
  int descriptor = open(file->path, O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0 && errno == ENXIO && is_there && S_ISFIFO(info.st_mode)) {
    *status = error_set(error, TFPROF_IO, "%s: nobody reads this FIFO; start what reads it first", file->path);
  } else if (descriptor < 0 && errno == ENXIO && is_there && S_ISSOCK(info.st_mode)) {
    *status = error_set(error, TFPROF_IO, "%s: is a socket, which cannot be written to as a file", file->path);
  } else if (descriptor >= 0) {
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
  }
  return descriptor;
}

static struct output_file *new_file(void) {
  struct output_file *file = calloc(1, sizeof *file);
  if (!file) return NULL;
  file->descriptor = -1;
  file->buffer = malloc(BUFFER_BYTES);
  if (file->buffer) return file;
  output_free(file);
  return NULL;
}

enum tfprof_status output_open(struct output_file **made, const char *path, bool compress, struct tfprof_error *error) {
  struct output_file *file = new_file();
  enum tfprof_status status = TFPROF_OK;
  *made = NULL;
  if (file) file->path = strdup(path);
  if (file && compress) file->gzip = gzip_piece_new();
  if (!file || !file->path || (compress && !file->gzip)) {
    output_free(file);
    return error_no_memory(error);
  }
  file->descriptor = open_place(file, &status, error);
  if (file->descriptor < 0) {
    if (!status) status = errno == ENOMEM ? error_no_memory(error) : error_io(error, path, "cannot be written");
    output_free(file);
    return status;
  }
  if (compress) write_through(file, gzip_begin, sizeof gzip_begin);
  *made = file;
  return TFPROF_OK;
}

enum tfprof_status output_open_memory(struct output_file **made, size_t maximum_bytes, struct tfprof_error *error) {
  *made = new_file();
  if (!*made) return error_no_memory(error);
  (*made)->maximum_bytes = maximum_bytes;
  return TFPROF_OK;
}

/* ---- what ---- */

/* Compressed first, where the file is. */
static void write_whole(struct output_file *file, const void *bytes, size_t length) {
  if (!file->gzip || !length) {
    write_through(file, bytes, length);
    return;
  }
  if (file->has_failed) return;
  if (!gzip_piece_add(file->gzip, bytes, length, true)) {
    file->has_failed = true;
    file->reason = ENOMEM;
    return;
  }
  const unsigned char *compressed = gzip_piece_take(file->gzip, &length, &file->sum);
  write_through(file, compressed, length);
}

static void flush(struct output_file *file) {
  write_whole(file, file->buffer, file->used);
  file->used = 0;
}

/* Where at most `most` bytes, fewer than BUFFER_BYTES, may be written; file->used is to be raised by as many. */
static inline char *room_for(struct output_file *file, size_t most) {
  if (BUFFER_BYTES - file->used < most) flush(file);
  return file->buffer + file->used;
}

void output_bytes(struct output_file *file, const void *bytes, size_t length) {
  if (length > BUFFER_BYTES - file->used) flush(file);
  if (length >= BUFFER_BYTES) {
    write_whole(file, bytes, length);
    return;
  }
  memcpy(file->buffer + file->used, bytes, length);
  file->used += length;
}

void output_format(struct output_file *file, const char *format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (length > 0) output_bytes(file, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

void output_integer(struct output_file *file, int64_t number) {
  file->used += decimal_text(number, room_for(file, DECIMAL_TEXT_BYTES));
}

void output_thousandths(struct output_file *file, int64_t number) {
  file->used += decimal_text_thousandths(number, room_for(file, DECIMAL_TEXT_BYTES));
}

static void take_bytes(void *file, const void *bytes, size_t length) { output_bytes(file, bytes, length); }

void output_json_text(struct output_file *file, const char *text, size_t length) {
  json_text_write(text, length, take_bytes, file);
}

void output_json_part(struct output_file *file, const char *text, size_t length) {
  json_text_write_part(text, length, take_bytes, file);
}

static ssize_t take_stream(void *file, const char *bytes, size_t length) {
  output_bytes(file, bytes, length);
  return (ssize_t)length;
}

FILE *output_stream(struct output_file *file) {
  return fopencookie(file, "w", (cookie_io_functions_t){.write = take_stream});
}

/* ---- in pieces ---- */

struct pieces {
  struct output_file *file;
  enum tfprof_status (*make)(void *context, size_t number, struct output_file *piece);
  void *context;
  struct piece {
    struct output_file *text;
    struct gzip_piece *gzip; /* where the file is compressed */
  } pieces[PARALLEL_MAXIMUM_WORKERS]; /* each thread's own */
  pthread_mutex_t mutex; /* of what follows */
  pthread_cond_t turned;
  size_t turn; /* the piece that is to be written next; whose it is may write */
  enum tfprof_status status;
  bool is_over;
};

static enum tfprof_status compress_piece(struct piece *piece) {
  const struct output_file *text = piece->text;
  if (!piece->gzip) piece->gzip = gzip_piece_new();
  bool is_done = piece->gzip && gzip_piece_add(piece->gzip, text->memory, text->memory_length, false) &&
                 gzip_piece_add(piece->gzip, text->buffer, text->used, true);
  return is_done ? TFPROF_OK : TFPROF_NO_MEMORY;
}

static enum tfprof_status make_text(struct pieces *pieces, size_t number, struct piece *piece) {
  enum tfprof_status status = TFPROF_OK;
  if (!piece->text) status = output_open_memory(&piece->text, SIZE_MAX, NULL);
  if (!status) status = pieces->make(pieces->context, number, piece->text);
  if (!status && piece->text->has_failed) status = TFPROF_NO_MEMORY;
  return !status && pieces->file->gzip ? compress_piece(piece) : status;
}

static void append_piece(struct output_file *file, struct piece *piece) {
  if (file->gzip) {
    size_t length;
    const unsigned char *compressed = gzip_piece_take(piece->gzip, &length, &file->sum);
    write_through(file, compressed, length);
  } else {
    write_through(file, piece->text->memory, piece->text->memory_length);
    write_through(file, piece->text->buffer, piece->text->used);
  }
}

static bool is_over(struct pieces *pieces) {
  pthread_mutex_lock(&pieces->mutex);
  bool result = pieces->is_over;
  pthread_mutex_unlock(&pieces->mutex);
  return result;
}

/* Pieces are handed out in their order, so whoever has the turn is being made. */
static void await_turn(struct pieces *pieces, size_t number) {
  pthread_mutex_lock(&pieces->mutex);
  while (pieces->turn != number) pthread_cond_wait(&pieces->turned, &pieces->mutex);
  pthread_mutex_unlock(&pieces->mutex);
}

static void make_piece(void *context, size_t number, unsigned worker) {
  struct pieces *pieces = context;
  struct piece *piece = &pieces->pieces[worker];
  bool is_wanted = !is_over(pieces);
  enum tfprof_status status = is_wanted ? make_text(pieces, number, piece) : TFPROF_OK;
  await_turn(pieces, number);
  if (is_wanted && !status && !pieces->is_over) append_piece(pieces->file, piece);
  if (piece->text) piece->text->memory_length = piece->text->used = 0;
  pthread_mutex_lock(&pieces->mutex);
  if (!pieces->is_over) pieces->status = status;
  pieces->is_over |= status || pieces->file->has_failed;
  pieces->turn++;
  pthread_cond_broadcast(&pieces->turned);
  pthread_mutex_unlock(&pieces->mutex);
}

enum tfprof_status output_pieces(struct output_file *file, size_t count,
                                 enum tfprof_status (*make)(void *context, size_t number, struct output_file *piece),
                                 void *context) {
  struct pieces pieces = {.file = file, .make = make, .context = context,
                          .mutex = PTHREAD_MUTEX_INITIALIZER, .turned = PTHREAD_COND_INITIALIZER};
  flush(file);
  parallel_for(count, make_piece, &pieces);
  for (unsigned i = 0; i < PARALLEL_MAXIMUM_WORKERS; i++) {
    output_free(pieces.pieces[i].text);
    gzip_piece_free(pieces.pieces[i].gzip);
  }
  return pieces.status;
}

/* ---- the end ---- */

/* Writes what is left, and closes. */
static void close_file(struct output_file *file) {
  unsigned char end[GZIP_END_BYTES];
  flush(file);
  if (file->gzip) {
    gzip_end(&file->sum, end);
    write_through(file, end, sizeof end);
  }
  if (close(file->descriptor) && !file->has_failed) {
    file->has_failed = true;
    file->reason = errno;
  }
}

enum tfprof_status output_commit(struct output_file *file, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  close_file(file);
  if (file->has_failed) {
    errno = file->reason ? file->reason : EIO;
    status = error_io(error, file->path, "cannot be written");
  } else if (file->partial && rename(file->partial, file->place)) {
    status = error_io(error, file->path, "cannot be given its name");
  }
  if (status && file->partial) unlink(file->partial);
  output_free(file);
  return status;
}

bool output_has_failed(const struct output_file *file) { return file->has_failed; }

enum tfprof_status output_take(struct output_file *file, unsigned char **bytes, size_t *length,
                               struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  flush(file);
  *bytes = NULL;
  *length = 0;
  if (file->has_failed) {
    status = file->reason == ENOMEM ? error_no_memory(error)
                                    : error_set(error, TFPROF_LIMIT, "more than %zu bytes", file->maximum_bytes);
  } else {
    *bytes = file->memory;
    *length = file->memory_length;
    file->memory = NULL;
  }
  output_free(file);
  return status;
}

void output_abandon(struct output_file *file) {
  if (!file) return;
  if (file->descriptor >= 0) close_file(file);
  if (file->partial) unlink(file->partial);
  output_free(file);
}
