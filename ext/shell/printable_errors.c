/* printable_errors.c: see printable_errors.h.
**
** Messages are put together in many places, by SQLite too, so that they are looked at where all of them pass: stderr
** becomes a stream that writes what it is given to the same descriptor.
*/
#include "printable_errors.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

enum { PIECE_BYTES = 1024, LEAD_OF_C1 = 0xc2 /* U+0080 to U+009F are this and the byte of their number */ };

static bool write_all(const char *bytes, size_t length) {
  while (length) {
    ssize_t written = write(STDERR_FILENO, bytes, length);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes += written;
    length -= (size_t)written;
  }
  return true;
}

static ssize_t write_printable(void *cookie, const char *bytes, size_t length) {
  static unsigned char before;
  char piece[PIECE_BYTES];
  size_t used = 0;
  (void)cookie;
  for (size_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)bytes[i];
    if (used + 3 > sizeof piece) {
      if (!write_all(piece, used)) return 0;
      used = 0;
    }
    if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f) {
      piece[used++] = '\xe2';
      piece[used++] = '\x90';
      piece[used++] = (char)(c == 0x7f ? 0xa1 : 0x80 + c);
    } else {
      piece[used++] = (char)(before == LEAD_OF_C1 && c >= 0x80 && c < 0xa0 ? 0xbf : c); /* U+00BF: an inverted ? */
    }
    before = c;
  }
  return write_all(piece, used) ? (ssize_t)length : 0;
}

void make_errors_printable(void) {
  FILE *made = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_printable});
  if (!made) return;
  setvbuf(made, NULL, _IONBF, 0);
  stderr = made;
}
