/* pickle_file.c: see pickle_file.h. */
#include "read/pickle/pickle_file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "write/json_text.h"

/* Read, not mapped: a file that is cut while it is looked at must not end the process. */
enum tfprof_status pickle_file_read(const char *path, uint8_t **bytes, uint64_t *length, struct tfprof_error *error) {
  struct stat info;
  enum tfprof_status status = TFPROF_OK;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  *bytes = NULL;
  *length = 0;
  if (fd < 0) return error_io(error, path, "cannot open");
  if (fstat(fd, &info)) {
    status = error_io(error, path, "cannot examine");
  } else if (!(*bytes = calloc((size_t)info.st_size + PICKLE_FILE_PADDING, 1))) {
    status = error_no_memory(error);
  }
  while (!status && *length < (uint64_t)info.st_size) {
    ssize_t count = pread(fd, *bytes + *length, (size_t)((uint64_t)info.st_size - *length), (off_t)*length);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) status = error_io(error, path, "cannot read");
    if (count <= 0) break;
    *length += (uint64_t)count;
  }
  close(fd);
  return status;
}

/* ---- members that become attributes ---- */

enum {
  MAXIMUM_VALUES = 1000, /* of a member that becomes an attribute */
  MAXIMUM_DEPTH = 4,
  MAXIMUM_TEXT = 4096,
  MAXIMUM_MEMBER_BYTES = 64 << 10, /* as JSON, in which a byte can be six */
  MAXIMUM_BYTES = 192 << 10        /* of all members: saved dumps hold no more than 256 kB */
};

static void append_member(void *user, const void *bytes, size_t length) { fwrite(bytes, 1, length, user); }

/* A value as JSON. False: it is larger than attributes should be. A list may stand in it any number of times. */
static bool write_value(FILE *out, const struct pickle_value *value, unsigned depth, unsigned *values) {
  if (depth > MAXIMUM_DEPTH || ++*values > MAXIMUM_VALUES || ftell(out) > MAXIMUM_MEMBER_BYTES) return false;
  switch ((enum pickle_kind)value->kind) {
    case PICKLE_NONE:
    case PICKLE_HUGE: fputs("null", out); return true;
    case PICKLE_BOOL: fputs(value->integer ? "true" : "false", out); return true;
    case PICKLE_INTEGER: fprintf(out, "%lld", (long long)value->integer); return true;
    case PICKLE_REAL: fprintf(out, isfinite(value->real) ? "%.17g" : "null", value->real); return true;
    case PICKLE_TEXT:
      if (value->length > MAXIMUM_TEXT) return false;
      json_text_write(value->text, value->length, append_member, out);
      return true;
    case PICKLE_LIST:
    case PICKLE_DICT: break;
  }
  bool is_dict = value->kind == PICKLE_DICT;
  const struct pickle_container *container = value->container;
  putc(is_dict ? '{' : '[', out);
  for (uint64_t i = 0; i < container->count; i++) {
    bool is_key = is_dict && i % 2 == 0;
    if (i) putc(is_dict && !is_key ? ':' : ',', out);
    if (is_key && container->items[i].kind != PICKLE_TEXT) return false;
    if (!write_value(out, &container->items[i], depth + 1, values)) return false;
  }
  putc(is_dict ? '}' : ']', out);
  return true;
}

static bool is_excepted(const struct pickle_value *key, const char *const *names) {
  while (*names && !pickle_is_text(key, *names)) names++;
  return *names != NULL;
}

enum tfprof_status pickle_set_attributes(struct profile *profile, const struct pickle_value *root,
                                         const char *const *but, const char *whole) {
  struct pool *pool = store_pool(profile->store);
  struct {
    char *bytes;
    size_t length;
  } all = {NULL, 0}, one = {NULL, 0};
  if (root->kind != PICKLE_DICT) return TFPROF_OK;
  FILE *out = open_memstream(&all.bytes, &all.length);
  if (!out) return TFPROF_NO_MEMORY;
  size_t used = 0;
  bool is_first = true, ok = true;
  const struct pickle_container *members = root->container;
  for (uint64_t i = 0; i + 1 < members->count && i / 2 < MAXIMUM_VALUES && ok; i += 2) {
    const struct pickle_value *key = &members->items[i];
    if (key->kind != PICKLE_TEXT || is_excepted(key, but)) continue;
    unsigned values = 0;
    FILE *member = open_memstream(&one.bytes, &one.length);
    if (!(ok = member != NULL)) break;
    bool is_small = write_value(member, key, 0, &values);
    putc(':', member);
    is_small = is_small && write_value(member, &members->items[i + 1], 0, &values);
    ok = fclose(member) == 0;
    if (ok && is_small && used + one.length <= MAXIMUM_BYTES) {
      putc(is_first ? '{' : ',', out);
      fwrite(one.bytes, 1, one.length, out);
      used += one.length;
      is_first = false;
    } else if (ok) {
      profile_diagnose(profile, "info", "unused_member", 1, -1, -1, "%.*s of %s was left out",
                       (int)(key->length < 100 ? key->length : 100), key->text, whole);
    }
    free(one.bytes);
  }
  if (!is_first) putc('}', out);
  ok = fclose(out) == 0 && ok;
  enum tfprof_status status = ok ? TFPROF_OK : TFPROF_NO_MEMORY;
  if (!status && !is_first) status = pool_intern_mended(pool, all.bytes, all.length, &profile->attributes, NULL);
  free(all.bytes);
  return status;
}
