/* nearest_name.c: see nearest_name.h. */
#include "base/nearest_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { LONGEST_WORD = 63, MOST_WRONG = 3 };

/* How many letters must be put in, left out, replaced or exchanged with their neighbour. */
static size_t edit_distance(const char *a, const char *b) {
  size_t rows[3][LONGEST_WORD + 1], n = strlen(a), m = strlen(b);
  if (n > LONGEST_WORD || m > LONGEST_WORD) return LONGEST_WORD;
  size_t *older = rows[0], *last = rows[1], *now = rows[2];
  for (size_t j = 0; j <= m; j++) last[j] = older[j] = j;
  for (size_t i = 1; i <= n; i++) {
    now[0] = i;
    for (size_t j = 1; j <= m; j++) {
      bool same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);
      size_t best = last[j - 1] + !same;
      if (last[j] + 1 < best) best = last[j] + 1;
      if (now[j - 1] + 1 < best) best = now[j - 1] + 1;
      bool is_swap = i > 1 && j > 1 && tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 2]) &&
                     tolower((unsigned char)a[i - 2]) == tolower((unsigned char)b[j - 1]);
      if (is_swap && older[j - 2] + 1 < best) best = older[j - 2] + 1;
      now[j] = best;
    }
    size_t *spare = older;
    older = last;
    last = now;
    now = spare;
  }
  return last[m];
}

struct nearest_name nearest_name_begin(const char *word) {
  size_t wrong = strlen(word) / 3 + 1; /* one letter in three may be wrong, at least one */
  return (struct nearest_name){.word = word, .distance = wrong < MOST_WRONG ? wrong : MOST_WRONG};
}

void nearest_name_try(struct nearest_name *nearest, const char *name) {
  size_t distance = edit_distance(nearest->word, name);
  bool is_like = distance > 0 && distance < strlen(nearest->word) && distance <= nearest->distance;
  if (!is_like || (nearest->name && distance == nearest->distance)) return;
  nearest->distance = distance;
  nearest->name = name;
}
