/* typed_sources.c: see typed_sources.h. */
#include "typed_sources.h"

#include "python_worker.h"
#include "recorder/clock.h"

#include <stdlib.h>
#include <string.h>

enum {
  SOURCES_MAXIMUM = 4096,
  TEXT_MAXIMUM = 1 << 20,   /* of one source */
  TEXTS_MAXIMUM = 16 << 20, /* of all of them */
  SOURCE_NAME_MAXIMUM = 1024,
  AWAITED_MS = 400, /* how long rows wait for an answer: far longer than it takes unless the main thread does not run
                    ** any Python */
};

struct typed_source {
  char *name, *text;
  size_t length;
  uint64_t wanted_ms;
  int32_t cell;
  enum { WANTED, ASKED, TOLD } state;
};

static bool is_ready; /* somebody can be asked */
pthread_mutex_t typed_sources_lock = PTHREAD_MUTEX_INITIALIZER;
static struct typed_source *sources[SOURCES_MAXIMUM];
static unsigned source_count;
static size_t text_bytes;

static uint64_t now_ms(void) { return clock_monotonic_ns() / 1000000; }

/* The lock is held. A new one is wanted; NULL: there are too many. */
static struct typed_source *find_source(const char *name) {
  for (unsigned i = 0; i < source_count; i++)
    if (!strcmp(sources[i]->name, name)) return sources[i];
  if (source_count == SOURCES_MAXIMUM || strlen(name) >= SOURCE_NAME_MAXIMUM) return NULL;
  struct typed_source *source = calloc(1, sizeof *source);
  if (source && !(source->name = strdup(name))) {
    free(source);
    source = NULL;
  }
  if (!source) return NULL;
  source->wanted_ms = now_ms();
  return sources[source_count++] = source;
}

const struct typed_source *typed_source(const char *name) {
  pthread_mutex_lock(&typed_sources_lock);
  const struct typed_source *source = is_ready ? find_source(name) : NULL;
  pthread_mutex_unlock(&typed_sources_lock);
  return source;
}

bool typed_source_is_told(const struct typed_source *source) {
  pthread_mutex_lock(&typed_sources_lock);
  bool is_told = source->state == TOLD;
  pthread_mutex_unlock(&typed_sources_lock);
  return is_told;
}

bool typed_source_is_awaited(const struct typed_source *source) {
  pthread_mutex_lock(&typed_sources_lock);
  bool is_awaited = source->state != TOLD && now_ms() - source->wanted_ms < AWAITED_MS;
  pthread_mutex_unlock(&typed_sources_lock);
  return is_awaited;
}

const char *typed_source_text(const struct typed_source *source, size_t *length) {
  pthread_mutex_lock(&typed_sources_lock);
  const char *text = source->text;
  *length = source->length;
  pthread_mutex_unlock(&typed_sources_lock);
  return text;
}

int32_t typed_source_cell(const struct typed_source *source) {
  pthread_mutex_lock(&typed_sources_lock);
  int32_t cell = source->cell;
  pthread_mutex_unlock(&typed_sources_lock);
  return cell;
}

/* ---- Asking. */

void typed_sources_tick(void) {
  bool is_wanted = false;
  pthread_mutex_lock(&typed_sources_lock);
  for (unsigned i = source_count; i-- && !is_wanted;) is_wanted = is_ready && sources[i]->state == WANTED;
  pthread_mutex_unlock(&typed_sources_lock);
  if (is_wanted) python_worker_ask(WORK_SOURCES);
}

void typed_sources_begin(void *work) {
  python_worker_give(WORK_SOURCES, work);
  pthread_mutex_lock(&typed_sources_lock);
  is_ready = true;
  pthread_mutex_unlock(&typed_sources_lock);
}

size_t typed_sources_wanted(char *name, size_t size) {
  size_t length = 0;
  pthread_mutex_lock(&typed_sources_lock);
  for (unsigned i = 0; i < source_count && !length; i++) {
    if (sources[i]->state != WANTED || strlen(sources[i]->name) >= size) continue;
    sources[i]->state = ASKED;
    length = strlen(strcpy(name, sources[i]->name));
  }
  pthread_mutex_unlock(&typed_sources_lock);
  return length;
}

void typed_sources_tell(const char *name, const char *text, int32_t cell) {
  size_t length = text ? strlen(text) : 0;
  pthread_mutex_lock(&typed_sources_lock);
  struct typed_source *source = find_source(name);
  if (source && source->state != TOLD) {
    bool has_room = length && length <= TEXT_MAXIMUM && text_bytes + length <= TEXTS_MAXIMUM;
    if (has_room && (source->text = strdup(text))) {
      source->length = length;
      text_bytes += length;
    }
    source->cell = cell;
    source->state = TOLD;
  }
  pthread_mutex_unlock(&typed_sources_lock);
}

void typed_sources_stop(void) {
  pthread_mutex_lock(&typed_sources_lock);
  is_ready = false;
  pthread_mutex_unlock(&typed_sources_lock);
}

void typed_sources_reset(void) {
  for (unsigned i = 0; i < source_count; i++)
    if (sources[i]->state == ASKED) sources[i]->state = WANTED;
}
