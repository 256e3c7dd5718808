/* rank_of_name.c: see rank_of_name.h.
**
**   rank-0.json.gz, rank3.pt.trace.json, rank0_trace.json   by hand, torchtitan
**   exp-rank[3].1700000000.pt.trace.json                    Primus
**   r0-2026-11-28_01-42-29.1700000000.pt.trace.json         torchtune
**   rank0/host_17.1700000000.pt.trace.json                  a directory for each rank
**   1700000000.1-TP-0.trace.json.gz, ...-TP-0-DP-1-PP-0-EP-2.trace.json.gz
**                                                           sglang: tensor, data, pipeline and expert parallel ranks
**   dp0_pp0_tp1.1700000000.pt.trace.json                    vLLM: the same
**   x-TP0-DP1.json, x_tp_0.json, x.TP0DP1.json              by hand
**
** Where of these numbers only TP differs, it is the rank.  Else the rank is the place among the files of the same
** profile, ordered by the pipeline's, the data's and the tensor's number, as sglang numbers its processes.
*/
#include "read/file/rank_of_name.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The number at `text`, of which the text is nothing but that up to *end; -1: there is none. */
static int64_t number_at(const char *text, const char **end) {
  int64_t number = -1;
  for (; isdigit((unsigned char)*text) && number < 100000000; text++)
    number = (number < 0 ? 0 : number * 10) + (*text - '0');
  *end = text;
  return number;
}

/* Behind the word "rank" and what may stand before its number. */
static int64_t rank_of_word(const char *name) {
  for (const char *at = name; (at = strcasestr(at, "rank")); at++) {
    const char *digits = at + 4, *end;
    if (*digits && strchr("-_[=", *digits)) digits++;
    int64_t rank = number_at(digits, &end);
    if (rank >= 0) return rank;
  }
  return -1;
}

/* "r0-2026-11-28..." */
static int64_t rank_of_torchtune(const char *name) {
  const char *end;
  int64_t rank = *name == 'r' ? number_at(name + 1, &end) : -1;
  bool has_date = rank >= 0 && *end == '-' && isdigit((unsigned char)end[1]) && isdigit((unsigned char)end[2]) &&
                  isdigit((unsigned char)end[3]) && isdigit((unsigned char)end[4]) && end[5] == '-';
  return has_date ? rank : -1;
}

/* ---- sglang, vLLM ---- */

enum { PP, DP, TP, EP, DIMENSIONS }; /* in the order by which processes are numbered; EP follows from TP */
struct place {
  int64_t numbers[DIMENSIONS]; /* 0 where it is not told */
  size_t stem;                 /* bytes before the first of them: files of one profile have the same */
};

/* Where the number of a dimension stands: behind its letters, of either case, at the beginning of a word or behind a
** number, as in -TP-0, dp0_pp0_tp1, TP0DP1. NULL: nowhere. */
static const char *find_number(const char *name, const char *letters, const char **begin) {
  for (const char *at = name; (at = strcasestr(at, letters)); at++) {
    bool begins_word = at == name || strchr("_-.", at[-1]) || isdigit((unsigned char)at[-1]);
    const char *digits = at + strlen(letters);
    if (*digits && strchr("-_=", *digits)) digits++;
    *begin = at;
    if (begins_word && isdigit((unsigned char)*digits)) return digits;
  }
  return NULL;
}

static bool find_place(const char *name, struct place *place) {
  static const char *const letters[DIMENSIONS] = {[PP] = "pp", [DP] = "dp", [TP] = "tp", [EP] = "ep"};
  const char *begin, *end;
  if (!find_number(name, letters[TP], &begin)) return false;
  *place = (struct place){.stem = (size_t)(begin - name)};
  for (unsigned i = 0; i < DIMENSIONS; i++) {
    const char *digits = find_number(name, letters[i], &begin);
    int64_t number = digits ? number_at(digits, &end) : -1;
    if (number >= 0) place->numbers[i] = number;
    if (number >= 0 && (size_t)(begin - name) < place->stem) place->stem = (size_t)(begin - name);
    if (i == TP && number < 0) return false;
  }
  return true;
}

static int compare_places(const struct place *left, const struct place *right) {
  for (unsigned i = 0; i < EP; i++) {
    if (left->numbers[i] != right->numbers[i]) return left->numbers[i] < right->numbers[i] ? -1 : 1;
  }
  return 0;
}

static int64_t rank_of_place(const char *path, const char *name) {
  struct place own, other;
  if (!find_place(name, &own)) return -1;
  bool has_more = own.numbers[PP] || own.numbers[DP];
  int64_t before = 0;
  char *directory = name > path ? strndup(path, (size_t)(name - path)) : strdup(".");
  DIR *stream = directory ? opendir(directory) : NULL;
  struct dirent *entry;
  while (stream && (entry = readdir(stream))) {
    bool is_beside = find_place(entry->d_name, &other) && other.stem == own.stem &&
                     strncmp(entry->d_name, name, own.stem) == 0;
    if (!is_beside) continue;
    has_more |= other.numbers[PP] || other.numbers[DP];
    before += compare_places(&other, &own) < 0;
  }
  if (stream) closedir(stream);
  free(directory);
  return has_more ? before : own.numbers[TP];
}

int64_t rank_of_name(const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  int64_t rank = rank_of_word(name);
  if (rank < 0) rank = rank_of_torchtune(name);
  if (rank < 0) rank = rank_of_place(path, name);
  if (rank < 0 && slash) {
    const char *parent = slash;
    while (parent > path && parent[-1] != '/') parent--;
    char *directory = strndup(parent, (size_t)(slash - parent));
    rank = directory ? rank_of_word(directory) : -1;
    free(directory);
  }
  return rank;
}
