/* recognise.c: see recognise.h. */
#include "read/open/recognise.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "read/file/source.h"

static bool begins_with(const struct file_head *head, const char *bytes, size_t length) {
  return head->length >= length && memcmp(head->bytes, bytes, length) == 0;
}

/* Puts the decompressed beginning in the place of a gzip file's own. A file that only looks like gzip stays as it
** is. */
static void unzip(const char *path, struct file_head *head) {
  char bytes[RECOGNISE_HEAD_BYTES];
  size_t length;
  if (!begins_with(head, "\x1f\x8b\x08", 3) || source_head(path, sizeof bytes, bytes, &length) || !length) return;
  memcpy(head->bytes, bytes, length);
  head->length = length;
  head->is_gzip = true;
}

static enum tfprof_status read_head(int fd, const char *path, struct file_head *head, struct tfprof_error *error) {
  while (head->length < sizeof head->bytes) {
    ssize_t count = pread(fd, head->bytes + head->length, sizeof head->bytes - head->length, (off_t)head->length);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return error_io(error, path, "cannot read");
    if (count == 0) break;
    head->length += (size_t)count;
  }
  return TFPROF_OK;
}

enum tfprof_status recognise_read(const char *path, struct file_head *head, struct tfprof_error *error) {
  struct stat info;
  memset(head, 0, sizeof *head);
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe of that name must not make us wait */
  if (fd < 0) return error_io(error, path, "cannot open");
  enum tfprof_status status = TFPROF_OK;
  if (fstat(fd, &info) != 0) {
    status = error_io(error, path, "cannot examine");
  } else if (!S_ISREG(info.st_mode)) {
    status = error_at(error, TFPROF_WRONG_KIND, path, 0, "this is not a regular file");
    if (error) error->has_offset = false;
  } else {
    head->file_bytes = (uint64_t)info.st_size;
    status = read_head(fd, path, head, error);
  }
  close(fd);
  if (!status) unzip(path, head);
  return status;
}

/* The surest of those that take the file as it is, or, `when_unpacked`, would take what the gzip file holds. */
static const struct read_format *find_format(const char *path, const struct file_head *head, bool when_unpacked) {
  struct recognised best = {NULL, 0};
  for (const struct reader *const *reader = readers; *reader; reader++) {
    struct recognised found = (*reader)->probe(path, head->bytes, head->length);
    assert(!found.format || (found.certainty >= 1 && found.certainty <= 100));
    if (!found.format || found.certainty <= best.certainty) continue;
    if (!head->is_gzip || found.format->may_be_gzip != when_unpacked) best = found;
  }
  return best.format;
}

const struct read_format *recognise_format(const char *path, const struct file_head *head) {
  return find_format(path, head, false);
}

/* ---- what it is instead ---- */

static const struct {
  const char *bytes;
  size_t length;
  const char *name;
} signatures[] = {
    {"\x7f"
     "ELF",
     4, "a program or library (ELF)"},
    {"SQLite format 3", 16, "an SQLite database"},
    {"PK\x03\x04", 4, "a zip archive; unpack it first"},
    {"\x1f\x8b", 2, "a gzip file that is damaged, or holds nothing in its first 16 MB"},
    {"\x28\xb5\x2f\xfd", 4, "a file compressed with zstd; unpack it first"},
    {"\xfd"
     "7zXZ",
     5, "a file compressed with xz; unpack it first"},
    {"BZh", 3, "a file compressed with bzip2; unpack it first"},
    {"\x04\x22\x4d\x18", 4, "a file compressed with lz4; unpack it first"},
    {"\x89PNG", 4, "a picture (PNG)"},
    {"%PDF", 4, "a PDF document"},
    {"\x89HDF", 4, "an HDF5 file"},
    {"\xff\xfe", 2, "text in UTF-16"},
    {"#!", 2, "a script"},
    {"\x80\x02", 2, "a Python pickle"},
    {"\x80\x03", 2, "a Python pickle"},
    {"\x80\x04", 2, "a Python pickle"},
    {"\x80\x05", 2, "a Python pickle"},
    {"QDSTRM", 6, "a raw recording of Nsight Systems; export it to SQLite first"},
    {"PERFILE2", 8, "a recording of perf"},
};

/* POSIX tar has its mark behind the first member's name, mode, size and the like. */
static bool is_tar(const struct file_head *head) {
  enum { MARK = 257 };
  return head->length >= MARK + 5 && memcmp(head->bytes + MARK, "ustar", 5) == 0;
}

static bool looks_like_text(const struct file_head *head) {
  for (size_t i = 0; i < head->length; i++) {
    uint8_t byte = head->bytes[i];
    bool is_space = byte == '\t' || byte == '\n' || byte == '\r' || byte == '\f';
    if ((byte < ' ' && !is_space) || byte == 0x7f) return false;
  }
  return head->length > 0;
}

static bool is_zero(const struct file_head *head) {
  for (size_t i = 0; i < head->length; i++) {
    if (head->bytes[i]) return false;
  }
  return true;
}

/* The first line, short enough for a message. */
static void quote(const struct file_head *head, char *to, size_t size) {
  size_t length = 0, at = 0;
  while (at < head->length && strchr(" \t\r\n", head->bytes[at])) at++;
  while (at < head->length && length + 4 < size && head->bytes[at] >= ' ') to[length++] = (char)head->bytes[at++];
  /* Not in the middle of a character. */
  while (length > 0 && at < head->length && (head->bytes[at] & 0xc0) == 0x80) {
    length--;
    at--;
  }
  strcpy(to + length, at < head->length && head->bytes[at] >= ' ' ? "..." : "");
}

static void describe_beginning(const struct file_head *head, char *to, size_t size) {
  char line[48];
  size_t first = 0;
  while (first < head->length && strchr(" \t\r\n", head->bytes[first])) first++;
  for (size_t i = 0; i < sizeof signatures / sizeof signatures[0]; i++) {
    if (begins_with(head, signatures[i].bytes, signatures[i].length)) {
      snprintf(to, size, "%s", signatures[i].name);
      return;
    }
  }
  if (is_zero(head)) {
    snprintf(to, size, "a file of zeros");
  } else if (looks_like_text(head)) {
    bool is_json = first < head->length && (head->bytes[first] == '{' || head->bytes[first] == '[');
    quote(head, line, sizeof line);
    snprintf(to, size, "%s that begins with '%s'", is_json ? "JSON" : "text", line);
  } else {
    size_t length = (size_t)snprintf(to, size, "a file that begins with the bytes");
    for (size_t i = 0; i < 8 && i < head->length; i++) {
      length += (size_t)snprintf(to + length, size - length, " %02x", head->bytes[i]);
    }
  }
}

/* With what to do about it, where something can be done. */
static void describe_packed(const char *path, const struct file_head *head, char *to, size_t size) {
  const struct read_format *inside = head->is_gzip ? find_format(path, head, true) : NULL;
  if (is_tar(head)) {
    snprintf(to, size, "a%s tar archive; unpack it (tar xf) and open what was in it", head->is_gzip ? " gzipped" : "");
  } else if (inside) {
    snprintf(to, size, "a gzipped one (%s); unpack it first (gunzip)", inside->description);
  } else {
    size_t length = (size_t)snprintf(to, size, "%s", head->is_gzip ? "(within gzip) " : "");
    describe_beginning(head, to + length, size - length);
  }
}

enum tfprof_status recognise_refuse(const char *path, const struct file_head *head, struct tfprof_error *error) {
  char description[256];
  if (head->length == 0) {
    error_at(error, TFPROF_WRONG_KIND, path, 0,
             "the file is empty; the program that should write it may not have begun");
  } else {
    describe_packed(path, head, description, sizeof description);
    error_at(error, TFPROF_WRONG_KIND, path, 0,
             "this is no profile but %s; SELECT * FROM tfprof_formats lists what can be opened", description);
  }
  if (error) error->has_offset = false;
  return TFPROF_WRONG_KIND;
}
