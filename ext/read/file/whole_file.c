/* whole_file.c: see whole_file.h. */
#include "read/file/whole_file.h"

#include "base/list.h"

enum { FIRST_BYTES = 1 << 20 };

enum tfprof_status whole_file_read(struct source *source, const char *path, size_t maximum, const char *kind,
                                   char **bytes, size_t *length, struct tfprof_error *error) {
  size_t capacity = 0;
  *bytes = NULL;
  *length = 0;
  for (size_t wanted = FIRST_BYTES;; wanted *= 2) {
    if (!array_reserve(*bytes, capacity, wanted)) return error_no_memory(error);
    size_t got = source_read(source, *bytes + *length, wanted - *length);
    *length += got;
    if (*length < wanted) return TFPROF_OK;
    if (wanted >= maximum)
      return error_set(error, TFPROF_LIMIT, "%s holds more than %zu MB, as no %s does", path, maximum >> 20, kind);
  }
}
