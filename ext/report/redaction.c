/* redaction.c: see redaction.h.
**
** The texts are sorted, and each knows the longest other one that it begins with.  What stands at a place of a text is
** looked for among them: the last one that does not come after it begins with each of them that stands there. So the
** longest is found by one search, and by going back along the beginnings.
*/
#include "report/redaction.h"

#include <ctype.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "vtab/stored_select.h"

enum {
  MOST_TEXTS = 4 << 20,
  SHORTEST_TEXT = 2,
  SHORTEST_LINE = 8,
  VOCABULARY_SLOTS = 1 << 15,
  WORD_MAXIMUM = 40,
  LONG_NUMBER = 8, /* digits */
};

const char page_redacted[] = "(redacted)";

struct hidden_text {
  char *text;
  const char *kind; /* range; NULL: page_redacted stands for it */
  uint32_t number;  /* of its kind, from 1 */
  uint32_t length, beginning; /* place + 1 of the longest text that this one begins with; 0: there is none */
};

struct redaction {
  struct hidden_text *texts;
  size_t count, capacity;
  size_t first[UCHAR_MAX + 2]; /* by first byte: where texts with it begin */
};

bool redaction_hides_column(const char *column) {
  static const char *const names[] = {"host", "path", "command", "pid", "parent_pid", "tid",
                                      "text", "file", "run",     "job", "payload"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (strcmp(column, names[i]) == 0) return true;
  }
  return false;
}

/* ---- The words that tfprof uses. */

struct vocabulary {
  char words[VOCABULARY_SLOTS][WORD_MAXIMUM];
  size_t count;
};

static uint32_t hash_word(const char *word) {
  uint32_t hash = 2166136261u;
  for (; *word; word++) hash = (hash ^ (unsigned char)*word) * 16777619u;
  return hash ^ hash >> 15;
}

static bool vocabulary_has(const struct vocabulary *vocabulary, const char *word) {
  uint32_t slot = hash_word(word) % VOCABULARY_SLOTS;
  for (; vocabulary->words[slot][0]; slot = (slot + 1) % VOCABULARY_SLOTS)
    if (strcmp(vocabulary->words[slot], word) == 0) return true;
  return false;
}

static void vocabulary_add(struct vocabulary *vocabulary, const char *word) {
  if (vocabulary->count > VOCABULARY_SLOTS / 2 || vocabulary_has(vocabulary, word)) return;
  uint32_t slot = hash_word(word) % VOCABULARY_SLOTS;
  while (vocabulary->words[slot][0]) slot = (slot + 1) % VOCABULARY_SLOTS;
  strcpy(vocabulary->words[slot], word);
  vocabulary->count++;
}

/* The next word of letters in lower case, which ends where an upper-case letter follows a lower-case one; NULL: there
** is none. A word that is too long, or has letters other than ASCII's, is "?". */
static const char *next_word(const char *text, char word[WORD_MAXIMUM]) {
  while (*text && !isalpha((unsigned char)*text) && !((unsigned char)*text & 0x80)) text++;
  if (!*text) return NULL;
  size_t length = 0;
  bool is_known = true;
  for (const char *begin = text; isalpha((unsigned char)*text) || (unsigned char)*text & 0x80; text++) {
    if (text > begin && isupper((unsigned char)*text) && islower((unsigned char)text[-1])) break;
    if ((unsigned char)*text & 0x80 || length == WORD_MAXIMUM - 1) is_known = false;
    else word[length++] = (char)tolower((unsigned char)*text);
  }
  word[length] = '\0';
  if (!is_known) strcpy(word, "?");
  return text;
}

/* What frameworks call their ranges and threads, and programs their own, beyond what stands in views and panels. */
static const char framework_words[] =
    "Optimizer zero grad SGD Adam AdamW Adagrad Adamax RMSprop LBFGS Lion ProfilerStep DataLoader enumerate Iter next "
    "DistributedDataParallel FullyShardedDataParallel FSDP DDP pre post forward backward reduce scatter gather all to "
    "broadcast send recv nccl gloo mpi ucc autograd torch save load Torch Compiled Region Dynamo Inductor AOT Cached "
    "run main train training trainer eval evaluation validation validate test testing predict inference epoch batch "
    "loss model encode encoder decode decoder attention mlp embedding layer block head norm conv linear transformer "
    "checkpoint log logging metric metrics sync copy prefetch preprocess augment transform collate fetch loop init "
    "setup update scheduler clip pass stage generate sample warmup pl Strategy Lightning Callback Module python Thread "
    "MainThread Pool Executor worker QueueFeederThread asyncio Dummy pt cuda EvtHandlr default user "
    "involuntary voluntary switches major minor faults system";

static struct vocabulary *read_vocabulary(void) {
  struct vocabulary *vocabulary = calloc(1, sizeof *vocabulary);
  const struct stored_select *const lists[] = {stored_selects, stored_panels};
  char word[WORD_MAXIMUM];
  if (!vocabulary) return NULL;
  for (const char *at = framework_words; (at = next_word(at, word));) vocabulary_add(vocabulary, word);
  for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
    for (const struct stored_select *select = lists[i]; select->name; select++)
      for (const char *at = select->sql; (at = next_word(at, word));)
        if (strcmp(word, "?") != 0) vocabulary_add(vocabulary, word);
  }
  return vocabulary;
}

/* Numbers count something, unless they are long. */
static bool says_nothing(const struct vocabulary *vocabulary, const char *name) {
  char word[WORD_MAXIMUM];
  for (size_t i = 0, digits = 0; name[i]; i++) {
    digits = isdigit((unsigned char)name[i]) ? digits + 1 : 0;
    if (digits == LONG_NUMBER) return false;
  }
  while ((name = next_word(name, word)))
    if (!vocabulary_has(vocabulary, word)) return false;
  return true;
}

/* ---- Finding them. */

static enum tfprof_status take_text(struct redaction *redaction, const char *text, const char *kind, uint32_t number,
                                    struct tfprof_error *error) {
  if (redaction->count == MOST_TEXTS)
    return error_set(error, TFPROF_LIMIT, "more than %d hosts, paths, commands, lines and names are open: too many to "
                     "redact", MOST_TEXTS);
  if (!array_room(redaction->texts, redaction->count, redaction->capacity)) return error_no_memory(error);
  char *copy = strdup(text);
  if (!copy) return error_no_memory(error);
  redaction->texts[redaction->count++] =
      (struct hidden_text){.text = copy, .kind = kind, .number = number, .length = (uint32_t)strlen(text)};
  return TFPROF_OK;
}

static enum tfprof_status query_failed(sqlite3 *db, struct tfprof_error *error) {
  if (sqlite3_errcode(db) == SQLITE_INTERRUPT) return error_set(error, TFPROF_INTERRUPTED, "interrupted");
  return error_set(error, TFPROF_IO, "what to redact: %s", sqlite3_errmsg(db));
}

static enum tfprof_status find_places(sqlite3 *db, struct redaction *redaction, struct tfprof_error *error) {
  /* Of files of source the folders: their own names stand beside their lines in every panel. */
  static const char sql[] =
      "WITH files(path, is_source) AS (SELECT path, 0 FROM tfprof_own.profiles"
      " UNION SELECT path, 0 FROM tfprof_own.runs"
      " UNION SELECT file, 0 FROM tfprof_own.diagnostics UNION SELECT job, 0 FROM tfprof_own.profiles"
      " UNION SELECT file, 1 FROM tfprof_own.code_frames),"
      " paths(path) AS (SELECT path FROM files WHERE NOT is_source"
      " UNION SELECT rtrim(rtrim(path, replace(path, '/', '')), '/') FROM files"
      " UNION SELECT rtrim(path, replace(path, '/', '')) FROM files"
      " WHERE path GLOB '[^/]*/*' AND path NOT GLOB '*/*/*')"
      " SELECT DISTINCT secret FROM (SELECT host AS secret FROM tfprof_own.profiles"
      " UNION ALL SELECT path FROM paths WHERE path GLOB '*/*'"
      " UNION ALL SELECT command FROM tfprof_own.profiles UNION ALL SELECT command FROM tfprof_own.runs"
      " UNION ALL SELECT trim(text) FROM tfprof_own.code_frames WHERE length(trim(text)) >= ?2"
      " UNION ALL SELECT 'process ' || pid FROM tfprof_own.profiles)"
      " WHERE length(secret) >= ?1";
  sqlite3_stmt *statement = NULL;
  if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL)) return query_failed(db, error);
  sqlite3_bind_int(statement, 1, SHORTEST_TEXT);
  sqlite3_bind_int(statement, 2, SHORTEST_LINE);
  int result = SQLITE_DONE;
  enum tfprof_status status = TFPROF_OK;
  while (!status && (result = sqlite3_step(statement)) == SQLITE_ROW)
    status = take_text(redaction, (const char *)sqlite3_column_text(statement, 0), NULL, 0, error);
  if (!status && result != SQLITE_DONE) status = query_failed(db, error);
  sqlite3_finalize(statement);
  return status;
}

/* What the program gave names to, in the order of the tables. */
static const struct {
  const char *kind, *sql;
} named[] = {
    {"range", "SELECT name FROM tfprof_own.ranges UNION SELECT name FROM tfprof_own.ops WHERE category = 'user'"},
    {"mark", "SELECT name FROM tfprof_own.instants"},
    {"step", "SELECT name FROM tfprof_own.steps"},
    {"thread", "SELECT name FROM tfprof_own.threads UNION SELECT name FROM tfprof_own.given_names"},
    {"domain", "SELECT domain FROM tfprof_own.ranges UNION SELECT domain FROM tfprof_own.instants"},
    {"category", "SELECT category FROM tfprof_own.ranges"},
    {"counter", "SELECT name FROM tfprof_own.counters"},
    {"group", "SELECT process_group FROM tfprof_own.collectives"},
};

static enum tfprof_status find_names(sqlite3 *db, struct redaction *redaction, const struct vocabulary *vocabulary,
                                     size_t kind, struct tfprof_error *error) {
  sqlite3_stmt *statement = NULL;
  if (sqlite3_prepare_v2(db, named[kind].sql, -1, &statement, NULL)) return query_failed(db, error);
  int result = SQLITE_DONE;
  enum tfprof_status status = TFPROF_OK;
  for (uint32_t number = 1; !status && (result = sqlite3_step(statement)) == SQLITE_ROW;) {
    const char *name = (const char *)sqlite3_column_text(statement, 0);
    if (!name || strlen(name) < SHORTEST_TEXT || says_nothing(vocabulary, name)) continue;
    status = take_text(redaction, name, named[kind].kind, number++, error);
  }
  if (!status && result != SQLITE_DONE) status = query_failed(db, error);
  sqlite3_finalize(statement);
  return status;
}

static int compare_texts(const void *a, const void *b) {
  const struct hidden_text *one = a, *other = b;
  int order = strcmp(one->text, other->text);
  return order ? order : (one->kind != NULL) - (other->kind != NULL); /* what has no kind goes first, and is kept */
}

static bool text_begins_with(const struct hidden_text *text, const struct hidden_text *beginning) {
  return text->length > beginning->length && memcmp(text->text, beginning->text, beginning->length) == 0;
}

static void put_in_order(struct redaction *redaction) {
  size_t kept = 0;
  struct hidden_text *texts = redaction->texts;
  if (redaction->count) qsort(texts, redaction->count, sizeof *texts, compare_texts);
  for (size_t i = 0; i < redaction->count; i++) {
    if (kept && strcmp(texts[kept - 1].text, texts[i].text) == 0) {
      free(texts[i].text);
      continue;
    }
    texts[kept] = texts[i];
    uint32_t before = (uint32_t)kept;
    while (before && !text_begins_with(&texts[kept], &texts[before - 1])) before = texts[before - 1].beginning;
    texts[kept++].beginning = before;
  }
  redaction->count = kept;
  for (size_t i = 0, byte = 0; byte <= UCHAR_MAX + 1; byte++) {
    while (i < kept && (unsigned char)texts[i].text[0] < byte) i++;
    redaction->first[byte] = i;
  }
}

enum tfprof_status redaction_find(sqlite3 *db, struct redaction **found, struct tfprof_error *error) {
  struct redaction *redaction = calloc(1, sizeof *redaction);
  struct vocabulary *vocabulary = read_vocabulary();
  enum tfprof_status status = redaction && vocabulary ? TFPROF_OK : error_no_memory(error);
  if (!status) status = find_places(db, redaction, error);
  for (size_t kind = 0; kind < sizeof named / sizeof named[0] && !status; kind++)
    status = find_names(db, redaction, vocabulary, kind, error);
  free(vocabulary);
  if (status) {
    redaction_free(redaction);
    return status;
  }
  put_in_order(redaction);
  *found = redaction;
  return TFPROF_OK;
}

void redaction_free(struct redaction *redaction) {
  for (size_t i = 0; redaction && i < redaction->count; i++) free(redaction->texts[i].text);
  if (redaction) free(redaction->texts);
  free(redaction);
}

/* ---- Texts without them. */

static bool is_word_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
         letter == '_';
}

/* As a word of its own: not within a longer one. */
static bool stands_at(const struct hidden_text *hidden, const char *text, const char *at) {
  if (strncmp(hidden->text, at, hidden->length) != 0) return false;
  return !(is_word_letter(hidden->text[0]) && at > text && is_word_letter(at[-1])) &&
         !(is_word_letter(hidden->text[hidden->length - 1]) && is_word_letter(at[hidden->length]));
}

/* The longest that begins there; NULL: none does. */
static const struct hidden_text *find_at(const struct redaction *redaction, const char *text, const char *at) {
  unsigned char byte = (unsigned char)*at;
  size_t low = redaction->first[byte], high = redaction->first[byte + 1];
  size_t first = low;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (strcmp(redaction->texts[middle].text, at) <= 0) low = middle + 1;
    else high = middle;
  }
  if (low == first) return NULL;
  for (size_t place = low; place; place = redaction->texts[place - 1].beginning)
    if (stands_at(&redaction->texts[place - 1], text, at)) return &redaction->texts[place - 1];
  return NULL;
}

char *redaction_clean(const struct redaction *redaction, const char *text) {
  sqlite3_str *made = NULL;
  const char *from = text;
  for (const char *at = text; *at;) {
    const struct hidden_text *hidden = find_at(redaction, text, at);
    if (!hidden) {
      at++;
      continue;
    }
    const char *kind = hidden->kind, *end = at + hidden->length;
    /* What begins within it and goes on behind it goes, too. */
    for (const char *within = at + 1; within < end; within++) {
      const struct hidden_text *next = find_at(redaction, text, within);
      if (!next || within + next->length <= end) continue;
      end = within + next->length;
      kind = NULL;
    }
    if (!made) made = sqlite3_str_new(NULL);
    sqlite3_str_append(made, from, (int)(at - from));
    if (kind) sqlite3_str_appendf(made, "%s %u", kind, (unsigned)hidden->number);
    else sqlite3_str_appendall(made, page_redacted);
    from = at = end;
  }
  if (!made) return NULL;
  sqlite3_str_appendall(made, from);
  char *clean = sqlite3_str_finish(made);
  return clean ? clean : sqlite3_mprintf("%s", page_redacted);
}
