/* source_text.c: a few whole files are kept in memory while places in them come in (see source_text.h). */
#include "source_text.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dump/utf8.h"

enum {
  FILES_KEPT = 8,
  FILE_MAXIMUM = 4 * 1024 * 1024,
  LINE_MAXIMUM = 200, /* longer lines are cut */
};

static struct source_file {
  char *name, *bytes;
  size_t length;
  uint64_t last_use;
} files[FILES_KEPT];
static uint64_t uses;

/* A file that is not a plain one (a pipe, a device) could block for ever: it is not opened for more than a look. */
static char *read_whole(const char *name, size_t *length) {
  if (name[0] == '<') return NULL;
  int descriptor = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return NULL;
  struct stat status;
  char *bytes = NULL;
  if (!fstat(descriptor, &status) && S_ISREG(status.st_mode) && status.st_size > 0 && status.st_size <= FILE_MAXIMUM) {
    bytes = malloc((size_t)status.st_size);
    size_t done = 0;
    while (bytes && done < (size_t)status.st_size) {
      ssize_t got = read(descriptor, bytes + done, (size_t)status.st_size - done);
      if (got <= 0) break;
      done += (size_t)got;
    }
    *length = done;
  }
  close(descriptor);
  return bytes;
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
  oldest->bytes = read_whole(name, &oldest->length);
  oldest->last_use = ++uses;
  return oldest;
}

static size_t find_line(const char *bytes, size_t size, int32_t line, const char **text) {
  const char *cursor = bytes, *end = bytes + size;
  if (line < 1 || !bytes) return 0;
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
  const struct source_file *file = line < 1 ? NULL : find_file(name);
  return file ? find_line(file->bytes, file->length, line, text) : 0;
}

/* Code of ours and of the interpreter has such a name, too, and so has the text of `python -c`: nobody keeps these. */
static bool is_kept_by_nobody(const char *name) {
  return !strcmp(name, "<string>") || !strncmp(name, "<frozen ", 8) || !strncmp(name, "<_tfprof", 8);
}

const struct typed_source *source_typed(const char *name) {
  const struct source_file *file = is_kept_by_nobody(name) ? NULL : find_file(name);
  return file && !file->bytes ? typed_source(name) : NULL;
}

size_t source_typed_line(const struct typed_source *source, int32_t line, const char **text) {
  size_t length;
  const char *whole = typed_source_text(source, &length);
  return find_line(whole, length, line, text);
}
