/* json.c: the reader of traces in JSON: PyTorch's (libkineto), TensorFlow's timelines, any Chrome trace; plain or gzip.
**
** The file is cut into chunks that end where an event seems to end.  Each of several workers takes the next chunk
** (reading it, and inflating it, one at a time), parses it as if the cut were right, waits for its turn, and
** publishes.  The turn tells whether it was right: the chunk before must have ended between two events of the array.
** If not - a list of objects among an event's arguments looked like events, a string held braces - the rest of the
** chunk before and this one are parsed again together.  So the outcome is that of reading the file from start to end,
** and a wrong guess costs time only.
**
** Memory: a chunk and its rows per worker, and what is kept.  An element that does not end within OVERSIZED bytes is
** passed over.
*/
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "read/json/json.h"
#include "read/json/repeats.h"
#include "read/json/trace.h"
#include "read/json/xspace_trace.h"
#include "store/parallel.h"

enum { MINIMUM_CHUNK = 256 << 10, CACHED_CHUNK = 1 << 20, MAXIMUM_CHUNK = 4 << 20, OVERSIZED = 64 << 20 };

struct buffer { char *bytes; size_t length, capacity; };

static bool buffer_reserve(struct buffer *b, size_t capacity) {
  return array_reserve(b->bytes, b->capacity, capacity + SCAN_PADDING);
}

struct piece { /* of the file: what one worker has in hand */
  struct buffer bytes;
  uint64_t number, offset;
  bool is_aligned; /* it seems to begin with an event */
  bool is_last, is_array;
};

struct loading {
  struct trace *trace;
  size_t chunk_bytes;
  pthread_t main_thread;
  /* reading: under read_lock */
  pthread_mutex_t read_lock;
  struct buffer carry;        /* behind the last cut */
  uint64_t next_chunk, offset;
  bool at_end, is_array, is_aligned, started;
  /* publishing: under turn_lock */
  pthread_mutex_t turn_lock;
  pthread_cond_t turn_changed;
  uint64_t turn;
  enum parse_state state;
  struct buffer rest;         /* of the chunk before: an element that did not end in it */
  uint64_t rest_offset;
  size_t rest_enough;         /* when it has as many bytes it is parsed again: twice as many as the time before */
  bool is_skipping;           /* over an oversized element: */
  int64_t skip_depth;
  bool skip_in_string, skip_escaped, skip_begun;
  bool stop;
};

static bool is_stopped(struct loading *l) {
  pthread_mutex_lock(&l->turn_lock);
  if (!l->stop && pthread_equal(pthread_self(), l->main_thread) && store_interrupted(l->trace->store)) {
    trace_fail(l->trace, TFPROF_INTERRUPTED);
    l->stop = true;
  }
  bool stop = l->stop;
  pthread_mutex_unlock(&l->turn_lock);
  return stop;
}

/* The next chunk into `piece`, with padding. False: there is none. */
static bool next_chunk(struct loading *l, struct piece *piece) {
  struct buffer *own = &piece->bytes;
  pthread_mutex_lock(&l->read_lock);
  bool ok = !l->at_end;
  if (ok && !buffer_reserve(own, l->carry.length + l->chunk_bytes)) {
    ok = false;
    l->at_end = true;
    pthread_mutex_lock(&l->turn_lock);
    trace_fail(l->trace, TFPROF_NO_MEMORY);
    l->stop = true;
    pthread_mutex_unlock(&l->turn_lock);
  }
  if (ok) {
    if (l->carry.length) memcpy(own->bytes, l->carry.bytes, l->carry.length);
    size_t got = source_read(l->trace->source, own->bytes + l->carry.length, l->chunk_bytes);
    own->length = l->carry.length + got;
    memset(own->bytes + own->length, '"', SCAN_PADDING);
    l->at_end = got < l->chunk_bytes;
    if (!l->started) { /* the document may begin far behind white space */
      const char *p = own->bytes + (own->length >= 3 && memcmp(own->bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
      p = scan_space(p);
      l->is_array = *p == '[';
      l->started = p < own->bytes + own->length;
    }
    piece->number = l->next_chunk++;
    piece->offset = l->offset;
    piece->is_aligned = l->is_aligned;
    piece->is_last = l->at_end;
    piece->is_array = l->is_array;
    size_t cut = l->at_end ? own->length : parse_find_cut(own->bytes, own->length);
    l->is_aligned = cut != 0;
    if (!cut) cut = own->length;
    l->carry.length = 0;
    if (buffer_reserve(&l->carry, own->length - cut)) {
      l->carry.length = own->length - cut;
      if (l->carry.length) memcpy(l->carry.bytes, own->bytes + cut, l->carry.length);
      own->length = cut;
      memset(own->bytes + own->length, '"', SCAN_PADDING);
    } else {
      l->is_aligned = false; /* no room to carry: the whole stays here */
    }
    l->offset += own->length;
  }
  pthread_mutex_unlock(&l->read_lock);
  return ok;
}

/* Passes over the rest of an element: up to the comma or bracket behind it. Returns how many bytes belong to it. */
static size_t skip_element(struct loading *l, const char *data, size_t length) {
  for (size_t i = 0; i < length; i++) {
    char c = data[i];
    if (l->skip_in_string) {
      if (l->skip_escaped) l->skip_escaped = false;
      else if (c == '\\') l->skip_escaped = true;
      else if (c == '"') l->skip_in_string = false;
      continue;
    }
    if (!l->skip_begun && (scan_is_space(c) || c == ',')) continue;
    if (l->skip_depth == 0 && l->skip_begun && (c == ',' || c == ']' || c == '}')) {
      l->is_skipping = false;
      return i;
    }
    l->skip_begun = true;
    if (c == '"') l->skip_in_string = true;
    else if (c == '[' || c == '{') l->skip_depth++;
    else if (c == ']' || c == '}') l->skip_depth--;
  }
  return length;
}

static bool append_buffer(struct buffer *to, const struct buffer *from) {
  if (!buffer_reserve(to, to->length + from->length)) return false;
  memcpy(to->bytes + to->length, from->bytes, from->length);
  to->length += from->length;
  return true;
}

/* The guess was wrong, or there was none: what was left over and this chunk together, from the true state. */
static bool parse_again(struct loading *l, struct worker *w, struct piece *piece) {
  struct buffer *own = &piece->bytes;
  uint64_t offset = piece->offset;
  if (l->rest.length) {
    if (!append_buffer(&l->rest, own)) return false;
    struct buffer swap = *own;
    *own = l->rest;
    l->rest = swap;
    l->rest.length = 0;
    offset = l->rest_offset;
  }
  size_t skipped = l->is_skipping ? skip_element(l, own->bytes, own->length) : 0;
  if (skipped) {
    own->length -= skipped;
    memmove(own->bytes, own->bytes + skipped, own->length);
  }
  memset(own->bytes + own->length, '"', SCAN_PADDING);
  w->is_array = piece->is_array;
  w->is_last = piece->is_last;
  size_t used = parse_chunk(w, own->bytes, own->length, offset + skipped, &l->state);
  l->rest_offset = offset + skipped + used;
  l->rest.length = own->length - used;
  return true;
}

static void begin_skipping(struct loading *l, struct worker *w) {
  if (w->problems[PROBLEM_OVERSIZED].count++ == 0) w->problems[PROBLEM_OVERSIZED].offset = l->rest_offset;
  l->is_skipping = true;
  l->skip_depth = 0;
  l->skip_in_string = l->skip_escaped = l->skip_begun = false;
  skip_element(l, l->rest.bytes, l->rest.length);
  l->is_skipping = true; /* it would have been complete otherwise */
  l->rest_offset += l->rest.length;
  l->rest.length = 0;
}

/* What a worker parsed before it had the turn, as if its chunk began between two events. */
struct guess {
  bool is_made;
  enum parse_state before, after;
  size_t used;
};

/* With the turn: makes the chunk part of the trace. NULL: failed. */
static struct chunk *take_turn(struct loading *l, struct worker *w, struct piece *piece, const struct guess *guess) {
  struct buffer *own = &piece->bytes, *rest = &l->rest;
  if (guess->is_made && rest->length == 0 && !l->is_skipping && l->state == guess->before) {
    l->state = guess->after;
    l->rest_offset = piece->offset + guess->used;
    rest->length = own->length - guess->used;
  } else {
    worker_forget(w);
    if (rest->length + own->length < l->rest_enough && rest->length && !piece->is_last) {
      if (!append_buffer(rest, own)) w->no_memory = true;
      w->file_offset = l->rest_offset;
      return publish_chunk(l->trace, w, 0);
    }
    if (!parse_again(l, w, piece)) w->no_memory = true;
  }
  size_t dealt_with = own->length - rest->length;
  if (rest->length) {
    size_t length = rest->length;
    if (buffer_reserve(rest, length)) memcpy(rest->bytes, own->bytes + dealt_with, length);
    else w->no_memory = true;
    l->rest_enough = length < OVERSIZED / 2 ? 2 * length : OVERSIZED + 1;
    if (length > OVERSIZED && !piece->is_last) begin_skipping(l, w);
  }
  if (piece->is_last &&
      (rest->length || l->is_skipping || (l->state != PARSE_END && !(l->state == PARSE_EVENTS && piece->is_array)))) {
    /* An array of events may end without its bracket (the Trace Event Format says so). */
    if (w->problems[PROBLEM_TRUNCATED].count++ == 0) w->problems[PROBLEM_TRUNCATED].offset = l->rest_offset;
  }
  return publish_chunk(l->trace, w, dealt_with);
}

static void work(void *context, size_t i, unsigned number_of_worker) {
  (void)i;
  (void)number_of_worker;
  struct loading *l = context;
  struct worker w;
  struct piece piece = {0};
  if (!worker_init(&w)) {
    pthread_mutex_lock(&l->turn_lock);
    trace_fail(l->trace, TFPROF_NO_MEMORY);
    l->stop = true;
    pthread_cond_broadcast(&l->turn_changed);
    pthread_mutex_unlock(&l->turn_lock);
    return;
  }
  w.processes = l->trace->processes;
  w.part = l->trace->part;
  while (!is_stopped(l) && next_chunk(l, &piece)) {
    worker_clear(&w);
    struct guess guess = {.is_made = piece.number == 0 || piece.is_aligned,
                          .before = piece.number ? PARSE_EVENTS : PARSE_START};
    guess.after = guess.before;
    if (guess.is_made) {
      w.is_array = piece.is_array;
      w.is_last = piece.is_last;
      guess.used = parse_chunk(&w, piece.bytes.bytes, piece.bytes.length, piece.offset, &guess.after);
    }
    pthread_mutex_lock(&l->turn_lock);
    while (l->turn != piece.number && !l->stop) pthread_cond_wait(&l->turn_changed, &l->turn_lock);
    struct chunk *chunk = NULL;
    if (!l->stop) {
      chunk = take_turn(l, &w, &piece, &guess);
      l->turn++;
      if (!chunk) l->stop = true;
    }
    pthread_cond_broadcast(&l->turn_changed);
    pthread_mutex_unlock(&l->turn_lock);
    if (!chunk) break;
    if (pack_chunk(&w, chunk, false)) {
      pthread_mutex_lock(&l->turn_lock);
      trace_fail(l->trace, TFPROF_NO_MEMORY);
      l->stop = true;
      pthread_cond_broadcast(&l->turn_changed);
      pthread_mutex_unlock(&l->turn_lock);
    }
  }
  worker_free(&w);
  free(piece.bytes.bytes);
}

static size_t chunk_size(const struct source *source) {
  /* Small against the file, so that memory stays below a fraction of it; many, so that all workers have some. Up to
  ** CACHED_CHUNK a chunk that was just read is still in the second-level cache when it is parsed; larger ones, so that
  ** segments do not become too many, only of very large files. */
  uint64_t size = source_file_bytes(source) * (source_is_gzip(source) ? 10 : 1), part = size / 64;
  if (part > CACHED_CHUNK) part = size / 2048 > CACHED_CHUNK ? size / 2048 : CACHED_CHUNK;
  return part < MINIMUM_CHUNK ? MINIMUM_CHUNK : part > MAXIMUM_CHUNK ? MAXIMUM_CHUNK : (size_t)part;
}

/* ---- the profile of a trace ---- */

/* A trace does not grow; but its file may have been replaced. */
static enum tfprof_status refresh(struct profile *profile, bool *changed, struct tfprof_error *error) {
  *changed = false;
  return source_check(profile->source_data, error);
}

static void free_profile(struct profile *profile) { source_index_free(profile->source_data); }

/* Of a plain Chrome trace, and of one that PyTorch wrote. */
#define SOURCE(name)                                                                                 \
  {.format = name,                                                                                   \
   .load = attributes_load,                                                                          \
   .refresh = refresh,                                                                               \
   .verify = attributes_verify,                                                                      \
   .free_segment = segment_text_free,                                                                \
   .free_profile = free_profile}
static const struct profile_source sources[] = {SOURCE("chrome"), SOURCE("kineto")};

enum tfprof_status json_open(struct store *store, uint32_t run_number, const char *path, struct tfprof_error *error) {
  return json_open_in_chunks(store, run_number, path, 0, error);
}

struct found_parts {
  struct trace_part *items;
  uint32_t count;
};

/* A profile of the events of one process, or of all; where these are found to be of several (found->count), none. */
static enum tfprof_status open_part(struct store *store, uint32_t run_number, const char *path, size_t chunk_bytes,
                                    const struct trace_part *part, struct found_parts *found,
                                    struct tfprof_error *error) {
  struct trace trace;
  if (!trace_init(&trace, store, path, error)) return error_no_memory(error);
  trace.part = part;
  enum tfprof_status status = source_open(path, &trace.source, error);
  if (status) {
    trace_free(&trace);
    return status;
  }
  xspace_trace_find_processes(path, &trace.processes);
  struct loading l = {.trace = &trace, .main_thread = pthread_self(), .state = PARSE_START};
  l.chunk_bytes = chunk_bytes ? chunk_bytes : chunk_size(trace.source);
  pthread_mutex_init(&l.read_lock, NULL);
  pthread_mutex_init(&l.turn_lock, NULL);
  pthread_cond_init(&l.turn_changed, NULL);
  parallel_for(parallel_workers(), work, &l);
  pthread_cond_destroy(&l.turn_changed);
  pthread_mutex_destroy(&l.turn_lock);
  pthread_mutex_destroy(&l.read_lock);
  free(l.carry.bytes);
  free(l.rest.bytes);
  status = trace.status;
  if (!status && !trace.event_count) {
    uint64_t offset;
    enum source_problem problem = source_problem(trace.source, &offset);
    const struct problem_tally *level = &trace.problems[PROBLEM_LEVEL];
    if (problem && problem != SOURCE_TRAILING) {
      status = error_at(error, TFPROF_CORRUPT, path, offset, "%s before any event", source_problem_text(problem));
    } else if (level->count) {
      status = error_at(error, TFPROF_CORRUPT, path, level->offset, "is no JSON trace");
    } else if (trace.problems[PROBLEM_TRUNCATED].count) {
      status = error_at(error, TFPROF_CORRUPT, path, trace.problems[PROBLEM_TRUNCATED].offset,
                        "ends before its first event is complete");
    } else if (!trace.has_events) {
      status = error_set(error, TFPROF_WRONG_KIND, "%s is JSON without traceEvents", path);
    }
  }
  struct source_index *index = status ? NULL : source_take_index(trace.source);
  if (!status && (!index || repeats_remove(&trace, index))) status = error_no_memory(error);
  if (!status && !part) {
    status = parts_find(&trace, &found->items, &found->count);
    if (status) status = error_no_memory(error);
  }
  if (!status && !found->count) status = trace_finish(&trace, run_number, index, sources, error);
  else source_index_free(index);
  source_close(trace.source);
  trace_free(&trace);
  return status;
}

enum tfprof_status json_open_in_chunks(struct store *store, uint32_t run_number, const char *path, size_t chunk_bytes,
                                       struct tfprof_error *error) {
  struct found_parts parts = {NULL, 0}, none = {NULL, 0};
  enum tfprof_status status = open_part(store, run_number, path, chunk_bytes, NULL, &parts, error);
  for (uint32_t i = 0; i < parts.count && !status; i++)
    status = open_part(store, run_number, path, chunk_bytes, &parts.items[i], &none, error);
  parts_free(parts.items, parts.count);
  return status;
}

/* ---- what the rest of the program sees ---- */

static enum tfprof_status open_trace(struct store *store, uint32_t run_number, const struct read_bundle *bundle,
                                     struct tfprof_error *error) {
  return json_open(store, run_number, bundle->files[0].path, error);
}

const struct read_format read_format_json = {
    .name = "kineto",
    .description = "trace in JSON, plain or gzip (of PyTorch, of TensorFlow's timeline, any Chrome trace)",
    .may_be_gzip = true,
    .open = open_trace};
