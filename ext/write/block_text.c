/* block_text.c: see block_text.h. */
#include "write/block_text.h"

#include <math.h>
#include <string.h>

size_t block_text_bar(double share, unsigned width, char *text) {
  static const char parts[][4] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  share = share > 0 ? fmin(share, 1) : 0;
  unsigned eighths = (unsigned)lround(share * width * 8);
  if (share > 0 && eighths == 0 && width > 0) eighths = 1;
  char *end = text;
  for (unsigned i = 0; i < eighths / 8; i++) end = mempcpy(end, "█", BLOCK_TEXT_BYTES);
  return (size_t)((char *)mempcpy(end, parts[eighths % 8], strlen(parts[eighths % 8])) - text);
}

const char *block_text_level(double share) {
  static const char levels[][4] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  int level = share > 0 ? (int)(fmin(share, 1) * 8) : 0;
  return levels[level > 7 ? 7 : level];
}
