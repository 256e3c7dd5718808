/* source_text.c: a few whole files are kept in memory while places in them come in (see source_text.h).
**
** What is read is what the program runs only if the file has not changed since it was compiled. Nobody tells when that
** was, but it was not before the interpreter began. So neither mtime nor ctime may be later than that moment. Users can
** set mtime (rsync -t, git, touch) but not ctime, which a rename brings up to date, too. The same holds for what the
** name leads through: a symbolic link may be made anew, and a directory renamed.  A file that was written later, and
** imported only then, cannot be told from one that was edited: it has no text either.
**
** Files are stamped by CLOCK_REALTIME. It may be set back, and then a later change has an earlier stamp. So the moment
** is kept by CLOCK_MONOTONIC, and taken for as early as the lowest offset makes it that was seen between the two.
*/
#include "source_text.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/utf8.h"
#include "dump/descriptor.h"
#include "recorder/file_threads.h"

enum {
  FILES_KEPT = 8,
  FILE_MAXIMUM = 4 * 1024 * 1024,
  LINE_MAXIMUM = 200, /* longer lines are cut */
};

static struct source_file {
  char *name, *bytes;
  size_t length;
  uint64_t last_use;
  bool may_have_changed;
} files[FILES_KEPT];
static uint64_t uses;

static bool is_unwanted;
static uint64_t lines_left_out;
static char *first_left_out;

/* ---- Whether a file is as it was when the program began. */

enum {
  REMOTE_MARGIN_S = 10, /* by which another machine's clock, which stamps its files, may be behind ours */
  WRONG_CLOCK_S = 1,
};
static const int64_t second_ns = 1000000000;

static struct {
  int64_t monotonic_ns, lowest_offset_ns;
  dev_t device; /* the working directory then: names may be relative to it */
  ino_t directory;
  bool has_directory;
  _Atomic bool is_known; /* the rest is, and from then on the writer thread's, which may have begun long before */
} beginning;

static int64_t nanoseconds(struct timespec time) { return (int64_t)time.tv_sec * second_ns + time.tv_nsec; }

/* A library may have been put in front of the C library's clock (faketime); files are stamped by the kernel's. */
static bool is_clock_of_kernel(void) {
  struct timespec told, of_kernel;
  if (clock_gettime(CLOCK_REALTIME, &told) || syscall(SYS_clock_gettime, CLOCK_REALTIME, &of_kernel)) return false;
  int64_t difference = nanoseconds(of_kernel) - nanoseconds(told);
  return difference > -WRONG_CLOCK_S * second_ns && difference < WRONG_CLOCK_S * second_ns;
}

void source_text_begin(int64_t realtime_ns, int64_t monotonic_ns) {
  struct stat status;
  beginning.monotonic_ns = monotonic_ns;
  beginning.lowest_offset_ns = realtime_ns - monotonic_ns;
  beginning.has_directory = stat(".", &status) == 0;
  if (beginning.has_directory) {
    beginning.device = status.st_dev;
    beginning.directory = status.st_ino;
  }
  beginning.is_known = is_clock_of_kernel();
}

void source_text_want(bool is_wanted) { is_unwanted = !is_wanted; }

void source_text_tick(int64_t realtime_ns, int64_t monotonic_ns) {
  int64_t offset_ns = realtime_ns - monotonic_ns;
  if (beginning.is_known && offset_ns < beginning.lowest_offset_ns) beginning.lowest_offset_ns = offset_ns;
}

static bool is_before(struct timespec time, int64_t margin_ns) {
  return nanoseconds(time) < beginning.monotonic_ns + beginning.lowest_offset_ns - margin_ns;
}

/* Whether its files are stamped by this machine's clock. */
static bool is_local(int descriptor) {
  static const unsigned long local[] = {
      0xef53 /* ext */,         0x58465342 /* xfs */,      0x9123683e /* btrfs */, 0x01021994 /* tmpfs */,
      0x794c7630 /* overlay */, 0x2fc12fc1 /* zfs */,      0xf2f52010 /* f2fs */,  0xca451a4e /* bcachefs */,
      0x858458f6 /* ramfs */,   0x73717368 /* squashfs */, 0xe0f5e1e2 /* erofs */, 0x9660 /* iso9660 */};
  struct statfs status;
  if (fstatfs(descriptor, &status)) return false;
  for (size_t i = 0; i < sizeof local / sizeof *local; i++)
    if ((unsigned long)status.f_type == local[i]) return true;
  return false;
}

/* Each part of the path as it stands there: a link of now may be another one than that of then. */
static bool leads_where_it_led(const char *name, int64_t margin_ns) {
  char path[4096];
  size_t length = strlen(name);
  struct stat status;
  if (length >= sizeof path) return false;
  if (name[0] != '/' && (!beginning.has_directory || stat(".", &status) || status.st_dev != beginning.device ||
                         status.st_ino != beginning.directory))
    return false;
  memcpy(path, name, length + 1);
  for (size_t i = 1; i <= length; i++) {
    if (path[i] && path[i] != '/') continue;
    char parted = path[i];
    path[i] = '\0';
    if (lstat(path, &status)) return false;
    path[i] = parted;
    if (is_before(status.st_ctim, margin_ns)) continue;
    /* A directory in which something was made or removed has both times anew, and is none the less the same. */
    bool is_used = S_ISDIR(status.st_mode) && !is_before(status.st_mtim, margin_ns);
    if (!is_used) return false;
  }
  return true;
}

static bool is_unchanged(const char *name, int descriptor) {
  struct timespec realtime, monotonic;
  struct stat status;
  if (!beginning.is_known || clock_gettime(CLOCK_MONOTONIC, &monotonic) || clock_gettime(CLOCK_REALTIME, &realtime) ||
      fstat(descriptor, &status))
    return false;
  source_text_tick(nanoseconds(realtime), nanoseconds(monotonic));
  int64_t margin_ns = is_local(descriptor) ? 0 : REMOTE_MARGIN_S * second_ns;
  return is_before(status.st_mtim, margin_ns) && is_before(status.st_ctim, margin_ns) &&
         leads_where_it_led(name, margin_ns);
}

/* ---- Files. */

/* A file that is not a plain one (a pipe, a device) could block for ever: it is not opened for more than a look. */
static void read_whole(void *argument) {
  struct source_file *wanted = argument;
  struct descriptor file;
  struct stat status;
  if (!descriptor_take(&file, file_open(wanted->name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0))) return;
  if (!fstat(file.number, &status) && S_ISREG(status.st_mode) && status.st_size > 0 && status.st_size <= FILE_MAXIMUM) {
    wanted->bytes = malloc((size_t)status.st_size);
    while (wanted->bytes && wanted->length < (size_t)status.st_size && descriptor_is_ours(&file)) {
      ssize_t got = read(file.number, wanted->bytes + wanted->length, (size_t)status.st_size - wanted->length);
      if (got <= 0) break;
      wanted->length += (size_t)got;
    }
    /* After it was read, so that nobody has changed it meanwhile. */
    wanted->may_have_changed = !is_unchanged(wanted->name, file.number);
    if (wanted->may_have_changed) {
      free(wanted->bytes);
      wanted->bytes = NULL;
      wanted->length = 0;
    }
  }
  descriptor_close(&file);
}

static struct source_file *find_file(const char *name) {
  struct source_file *oldest = &files[0];
  for (int i = 0; i < FILES_KEPT; i++) {
    if (files[i].name && !strcmp(files[i].name, name)) {
      files[i].last_use = ++uses;
      return &files[i];
    }
    if (files[i].last_use < oldest->last_use) oldest = &files[i];
  }
  free(oldest->name);
  free(oldest->bytes);
  memset(oldest, 0, sizeof *oldest);
  oldest->name = strdup(name);
  if (!oldest->name) return NULL;
  if (name[0] != '<') file_thread_run(FILE_THREAD_DISK, read_whole, oldest);
  oldest->last_use = ++uses;
  return oldest;
}

static size_t find_line(const char *bytes, size_t size, int32_t line, const char **text) {
  if (line < 1 || !bytes) return 0;
  const char *cursor = bytes, *end = bytes + size;
  for (int32_t i = 1; i < line && cursor < end; i++) {
    cursor = memchr(cursor, '\n', (size_t)(end - cursor));
    if (!cursor) return 0;
    cursor++;
  }
  if (cursor >= end) return 0;
  while (cursor < end && (*cursor == ' ' || *cursor == '\t')) cursor++;
  const char *stop = memchr(cursor, '\n', (size_t)(end - cursor));
  if (!stop) stop = end;
  while (stop > cursor && (stop[-1] == ' ' || stop[-1] == '\t' || stop[-1] == '\r')) stop--;
  size_t length = (size_t)(stop - cursor);
  if (length > LINE_MAXIMUM) {
    length = LINE_MAXIMUM;
    while (length && ((unsigned char)cursor[length] & 0xc0) == 0x80) length--; /* not within a character */
  }
  if (utf8_valid(cursor, length) != length) return 0;
  *text = cursor;
  return length;
}

size_t source_line(const char *name, int32_t line, const char **text) {
  const struct source_file *file = line < 1 || is_unwanted ? NULL : find_file(name);
  if (!file) return 0;
  if (!file->may_have_changed) return find_line(file->bytes, file->length, line, text);
  lines_left_out++;
  if (!first_left_out) first_left_out = strdup(name);
  return 0;
}

static bool find_statement(const char *bytes, size_t size, int32_t function_line, int32_t line,
                           struct statement *statement) {
  statement_find(bytes, size, function_line, line, statement);
  size_t valid = utf8_valid(statement->text, statement->length);
  bool is_cut = statement->length == STATEMENT_TEXT && valid + 4 > STATEMENT_TEXT; /* within a character */
  if (valid != statement->length && !is_cut) return false;
  statement->length = valid;
  return valid > 0;
}

bool source_statement(const char *name, int32_t line, int32_t function_line, struct statement *statement) {
  const struct source_file *file = line < 1 || is_unwanted ? NULL : find_file(name);
  return file && find_statement(file->bytes, file->length, function_line, line, statement);
}

uint64_t source_lines_left_out(const char **file) {
  *file = first_left_out;
  return lines_left_out;
}

/* Code of ours and of the interpreter has such a name, too, and so has the text of `python -c`: nobody keeps these. */
static bool is_kept_by_nobody(const char *name) {
  return !strcmp(name, "<string>") || !strncmp(name, "<frozen ", 8) || !strncmp(name, "<_tfprof", 8);
}

const struct typed_source *source_typed(const char *name) {
  const struct source_file *file = is_kept_by_nobody(name) ? NULL : find_file(name);
  return file && !file->bytes && !file->may_have_changed ? typed_source(name) : NULL;
}

size_t source_typed_line(const struct typed_source *source, int32_t line, const char **text) {
  size_t length;
  if (is_unwanted) return 0;
  const char *whole = typed_source_text(source, &length);
  return find_line(whole, length, line, text);
}

bool source_typed_statement(const struct typed_source *source, int32_t line, int32_t function_line,
                            struct statement *statement) {
  size_t length;
  if (line < 1 || is_unwanted) return false;
  const char *whole = typed_source_text(source, &length);
  return find_statement(whole, whole ? length : 0, function_line, line, statement);
}
