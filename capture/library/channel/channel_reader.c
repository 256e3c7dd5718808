/* channel_reader.c: see channel_reader.h. */
#include "channel_reader.h"

#include "base/list.h"
#include "op_table.h"
#include "recorder/clock_watch.h"
#include "recorder/parts.h"
#include "recorder/recorder.h"
#include "recorder/recording.h"
#include "thread_rows.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
  LATE_MAXIMUM = 65536,
  AHEAD = 512, /* bytes of a chunk that are on their way while those before are read */
  TAKERS_MAXIMUM = 4, /* of items of a kind */
  KEPT_CHUNKS = 64,   /* of threads that do nothing: as many keep their pages */
  ITEMS_IN_A_ROW = 128, /* some ten microseconds of the writer thread's time, for which a fork waits */
};

struct channel_reader { /* what is looked at of each thread comes first: one cache line */
  _Alignas(64) struct capture_thread *thread;
  struct chunk *chunk;
  uint32_t position, used;    /* used: as last seen */
  uint32_t state;             /* of the thread when the drain began */
  bool is_stale;              /* what is there is of a recording that is over, up to an ITEM_RENEWED */
  unsigned ended_drains;      /* drains since the thread was seen to have ended */
  const struct item *doubted; /* an item whose time cannot be, unless the counter has jumped since the drain began */
  uint32_t position_before;   /* a second ago, */
  uint32_t trimmed;           /* and when pages were given back */
  uint64_t written[WRITTEN_KINDS]; /* as last seen, of a thread beyond NEAR_THREADS */
  const struct item *next;    /* the item with a time to come, or NULL; */
  uint64_t ticks;             /* and when that was, */
  uint32_t later;             /* so many brief ones before it, each a nanosecond: their order is that of their times */
};

static struct channel_reader readers[THREAD_MAXIMUM]; /* by number of the thread, from 1 on */
static unsigned reader_count;                         /* that were ever used */
static const struct capture_source *takers[ITEM_KINDS][TAKERS_MAXIMUM];
static uint32_t recording_read;                       /* capture_recording as the file began */
static uint64_t horizon; /* ticks of the map: when the drain began */
static bool has_doubts; /* about the time of an item, which is still to be read */
static struct op_item *late; /* what ended on another thread than the one that began it: next time */
static uint32_t late_count, late_capacity;
static uint64_t late_lost;

/* ---- Items of one thread. */

static inline void hand_out(struct recorder *recorder, const struct channel_item *item) {
  const struct capture_source *const *taker = takers[item->item->kind];
  for (unsigned i = 0; i < TAKERS_MAXIMUM && taker[i]; i++) taker[i]->item(recorder, item);
}

/* The item at the reader's place, or NULL when the thread has written no more yet. Chunks that are read to the end are
** given back. */
static const struct item *current_item(struct channel_reader *reader) {
  for (;;) {
    if (!reader->chunk) {
      reader->chunk = atomic_load_explicit(&reader->thread->first_chunk, memory_order_acquire);
      reader->position = reader->used = 0;
      if (!reader->chunk) return NULL;
    }
    if (reader->position < reader->used)
      return (const struct item *)(const void *)(reader->chunk->bytes + reader->position);
    /* Once `next` is set nothing is added to the chunk, so it is read before `used`. */
    struct chunk *next = atomic_load_explicit(&reader->chunk->next, memory_order_acquire);
    reader->used = atomic_load_explicit(&reader->chunk->used, memory_order_acquire);
    if (reader->position < reader->used) continue;
    if (!next) return NULL;
    chunk_release(reader->chunk, false);
    reader->chunk = next;
    reader->position = reader->used = 0;
  }
}

static bool has_time(const struct item *item) { return ITEMS_WITH_TIME >> item->kind & 1; }

/* ---- Times. Threads write what they read of the counter, which becomes a time of the map (recorder/clock.h) where the
** item is handed out. When the op ended or the memory changed is at the same place in all; what is brief has no time of
** its own. */

static bool has_start(const struct item *item) { return item->kind == ITEM_OP || item->kind == ITEM_RANGE; }

/* Whether it may be that the counter has gone back since the drain began: a thread does not write what is earlier than
** what it wrote before, nor what ends before it begins. When the clocks are looked at again it is known. */
static bool is_doubtful(const struct channel_reader *reader, const struct op_item *item, uint64_t ticks) {
  return ticks + CLOCK_SKEW_TICKS < reader->ticks ||
         (has_start(&item->head) && item->end_ticks + CLOCK_SKEW_TICKS < item->start_ticks);
}

/* Where the counter has jumped. */
static __attribute__((noinline)) void place_times(const struct clock_map *map, struct op_item *item) {
  if (has_start(&item->head)) item->start_ticks = clock_map_search_start(map, item->start_ticks, item->end_ticks);
  item->end_ticks = clock_map_search_place(map, item->end_ticks);
}

/* An op that ended before it began, and no jump is known. */
static bool has_jumped(const struct recorder *recorder, const struct op_item *item) {
  return recorder->clock.era_count > 1 ||
         (has_start(&item->head) && item->end_ticks + CLOCK_SKEW_TICKS < item->start_ticks);
}

static __attribute__((noinline, cold)) void pass_over(struct channel_reader *reader) {
  const struct item *item;
  while (reader->is_stale && (item = current_item(reader))) {
    reader->is_stale = item->kind != ITEM_RENEWED || item->id != recording_read;
    reader->position += item->units * 16u;
  }
}

/* Hands out what has no time up to the next item that has, of those until the horizon: what has happened before the
** drain began has been written by then, and with it all that it came after on other threads. So an address is given
** back before it is given out again. */
static const struct item *next_item(struct recorder *recorder, struct channel_reader *reader) {
  const struct item *item;
  if (__builtin_expect(reader->is_stale, 0)) pass_over(reader);
  while ((item = current_item(reader)) && !has_time(item)) {
    if (item->kind == ITEM_CALL) {
      struct call_item *call = (struct call_item *)(void *)(reader->chunk->bytes + reader->position);
      call->ticks = clock_map_place(&recorder->clock, call->ticks);
    }
    const struct channel_item definition = {item, reader->thread, reader->ticks, reader->later};
    hand_out(recorder, &definition);
    reader->position += item->units * 16u;
  }
  if (item && item->kind != ITEM_MEMORY_BRIEF) {
    const struct op_item *timed = (const struct op_item *)item;
    uint64_t ticks = clock_map_place(&recorder->clock, timed->end_ticks);
    if (__builtin_expect(is_doubtful(reader, timed, ticks), 0) && reader->doubted != item) {
      reader->doubted = item;
      has_doubts = true;
      return NULL;
    }
    reader->ticks = ticks;
    reader->later = 0;
  }
  return item && reader->ticks <= horizon ? item : NULL;
}

static struct channel_reader *reader_of(unsigned number) {
  struct channel_reader *reader = &readers[number - 1];
  if (__builtin_expect(!reader->thread, 0)) {
    reader->thread = thread_of_number(number);
    if (!reader->thread) return NULL;
    if (number > reader_count) reader_count = number;
  }
  return reader;
}

static void thread_is_over(struct recorder *recorder, const struct capture_thread *thread) {
  for EACH_SOURCE(source, recorder->sources)
    if (source->thread_over) source->thread_over(recorder, thread);
}

/* An ended thread whose chunks are read: its last chunk and its structure can serve another one, and must soon, where
** many short threads follow each other. The state was read before the chunks. If another thread has ended a range of
** it, that may have been a moment ago: it is seen, too, when a whole drain has passed. */
static void recycle_if_done(struct recorder *recorder, struct channel_reader *reader) {
  struct capture_thread *thread = reader->thread;
  if (reader->state != THREAD_ENDED || current_item(reader)) return;
  if (reader->chunk) {
    atomic_store_explicit(&thread->first_chunk, NULL, memory_order_relaxed);
    chunk_release(reader->chunk, true);
    reader->chunk = NULL;
    reader->position = reader->used = 0;
  }
  if (thread_has_open_ranges(thread)) return;
  bool is_shared = atomic_load_explicit(&thread->is_shared, memory_order_relaxed);
  if (is_shared && (reader->ended_drains++ < 2 || late_count)) return;
  thread_is_over(recorder, thread);
  struct channel_reader next = {.thread = thread};
  memcpy(next.written, reader->written, sizeof next.written);
  *reader = next;
  thread_row_forget(thread);
  thread_recycle(thread);
}

/* ---- All threads. */

static void give(struct recorder *recorder, const struct channel_item *item) {
  hand_out(recorder, item);
  if (__builtin_expect(recorder->tables.has_full, 0)) recorder_write_full(recorder);
}

/* The names of an op that another thread ended may still lie unread in the chunks of the one that began it. */
static void keep_for_later(const struct op_item *item) {
  if (late_count >= LATE_MAXIMUM || !array_room(late, late_count, late_capacity)) {
    late_lost++;
    return;
  }
  late[late_count++] = *item;
}

static void give_late(struct recorder *recorder, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    const struct capture_thread *owner = thread_of_number(late[i].owner);
    const struct channel_item item = {&late[i].head, owner, late[i].end_ticks, 0};
    if (owner) give(recorder, &item);
    else late_lost++;
  }
  late_count -= count;
  if (late_count) memmove(late, late + count, late_count * sizeof *late);
}

/* Hands out the next item of a reader that has one. */
static void give_next(struct recorder *recorder, struct channel_reader *reader) {
  const struct item *item = reader->next;
  struct op_item *op = (struct op_item *)(void *)(reader->chunk->bytes + reader->position);
  __builtin_prefetch((const uint8_t *)item + AHEAD); /* the thread that wrote it has it in its own cache */
  if (item->kind == ITEM_MEMORY_BRIEF) reader->later++;
  else if (__builtin_expect(has_jumped(recorder, op), 0)) place_times(&recorder->clock, op);
  if (item->kind == ITEM_OP && op->owner != reader->thread->number) {
    keep_for_later(op);
  } else {
    const struct channel_item next = {item, reader->thread, reader->ticks, reader->later};
    give(recorder, &next);
  }
  reader->position += item->units * 16u;
  reader->next = next_item(recorder, reader);
}

/* Readers that have an item, the one with the earliest first: a heap, each no later than the two at twice its place. */
static struct channel_reader *active[THREAD_MAXIMUM];
static unsigned active_count;

/* The reader belongs at this place or further down. */
static void sink(struct channel_reader *reader, unsigned place) {
  for (unsigned child; (child = 2 * place + 1) < active_count; place = child) {
    child += child + 1 < active_count && active[child + 1]->ticks < active[child]->ticks;
    if (active[child]->ticks >= reader->ticks) break;
    active[place] = active[child];
  }
  active[place] = reader;
}

/* Of threads that are not looked at one by one when a step ends. */
static void note_written(struct channel_reader *reader) {
  for (unsigned what = 0; what < WRITTEN_KINDS; what++) {
    uint64_t written = atomic_load_explicit(&reader->thread->written[what], memory_order_relaxed);
    if (written != reader->written[what]) thread_note_written(what, written - reader->written[what]);
    reader->written[what] = written;
  }
}

static void find_active(struct recorder *recorder) {
  unsigned count = thread_count();
  active_count = 0;
  for (unsigned number = 1; number <= count; number++) {
    struct channel_reader *reader = reader_of(number);
    if (!reader) continue;
    reader->state = atomic_load_explicit(&capture_thread_states[number - 1], memory_order_acquire);
    if (reader->state == THREAD_FREE) continue;
    reader->next = next_item(recorder, reader);
    if (reader->next && number > NEAR_THREADS) note_written(reader);
    if (reader->next)
      active[active_count++] = reader;
    else
      recycle_if_done(recorder, reader);
  }
  for (unsigned place = active_count / 2; place--;) sink(active[place], place);
}

/* When the earliest item is but for those of the first reader. */
static uint64_t second_ticks(void) {
  uint64_t second = active_count > 1 ? active[1]->ticks : UINT64_MAX;
  return active_count > 2 && active[2]->ticks < second ? active[2]->ticks : second;
}

/* What has been written until now, about `limit` items at most; how many. */
static uint64_t read_all(struct recorder *recorder, uint64_t limit) {
  uint64_t done = 0;
  uint32_t late_before = late_count;
  has_doubts = false;
  memory_turn_ends(); /* so that a brief one is no later than the time between two drains */
  horizon = clock_watch_look(recorder);
  find_active(recorder);
  while (active_count && done < limit) {
    struct channel_reader *first = active[0];
    uint64_t second = second_ticks();
    for (; first->next && first->ticks <= second && done < limit; done++) {
      give_next(recorder, first);
      if (done % ITEMS_IN_A_ROW == 0) recording_let_fork();
    }
    if (first->next) {
      sink(first, 0);
      continue;
    }
    active_count--;
    if (active_count) sink(active[active_count], 0);
    recycle_if_done(recorder, first);
  }
  /* Those of an earlier drain: everything that they refer to has been read since. */
  if (!active_count) give_late(recorder, late_before);
  return done;
}

static uint64_t channels_drain(struct recorder *recorder, uint64_t limit) {
  enum { ROUNDS = 64 };
  uint64_t done = read_all(recorder, limit);
  for (unsigned round = 1; has_doubts && done < limit && round < ROUNDS; round++)
    done += read_all(recorder, limit - done);
  return done;
}

/* ---- The source. */

static struct capture_part clock_part = {.name = "clock"};

static bool channels_arm(const struct source_wishes *wishes) {
  (void)wishes;
  part_set(&clock_part, PART_OK, clock_is_counter ? clock_source() : "clock_gettime");
  return true;
}

/* Where the process has recorded before, threads are read on from where that ended. */
static void open_readers(void) {
  unsigned count = thread_count();
  recording_read = atomic_load(&capture_recording);
  memset(active, 0, active_count * sizeof *active);
  active_count = 0;
  for (unsigned number = 1; number <= count; number++) {
    struct channel_reader *reader = reader_of(number);
    if (!reader) continue;
    struct channel_reader next = {.thread = reader->thread, .chunk = reader->chunk, .position = reader->position};
    next.used = reader->used;
    memcpy(next.written, reader->written, sizeof next.written);
    next.is_stale = thread_state_of(next.thread) != THREAD_FREE && !thread_is_of_recording(next.thread);
    *reader = next;
  }
}

static bool channels_open(struct recorder *recorder) {
  memset(takers, 0, sizeof takers);
  open_readers();
  late = NULL;
  late_count = late_capacity = 0;
  late_lost = 0;
  for EACH_SOURCE(source, recorder->sources) {
    for (unsigned kind = 0; source->item && kind < ITEM_KINDS; kind++) {
      if (!(source->items >> kind & 1)) continue;
      unsigned place = 0;
      while (place < TAKERS_MAXIMUM && takers[kind][place]) place++;
      assert(place < TAKERS_MAXIMUM);
      takers[kind][place] = source;
    }
  }
  return thread_rows_open(recorder) && op_table_open(recorder);
}

/* Where many threads have done nothing for a second, their chunks keep little of what was read. */
static void trim_chunks(void) {
  for (unsigned i = 0, kept = 0; i < reader_count; i++) {
    struct channel_reader *reader = &readers[i];
    if (!reader->chunk || kept++ < KEPT_CHUNKS) continue;
    if (reader->position == reader->position_before && reader->trimmed != reader->position) {
      chunk_trim(reader->chunk, reader->position);
      reader->trimmed = reader->position;
    }
    reader->position_before = reader->position;
  }
}

static void channels_pulse(struct recorder *recorder, const struct pulse *pulse) {
  (void)recorder, (void)pulse;
  thread_records_pulse();
}

static void channels_tick(struct recorder *recorder, const struct clock_reading *now, bool is_end) {
  (void)now;
  if (is_end) {
    give_late(recorder, late_count);
    for (unsigned i = 0; i < reader_count; i++)
      if (readers[i].thread) thread_is_over(recorder, readers[i].thread);
  }
  thread_records_tick();
  trim_chunks();
  chunk_pool_trim();
}

static void channels_losses(struct recorder *recorder) {
  static const char message[] =
      "threads were left out, wholly or for a time, because memory was short or too many others were recorded (4,096 "
      "are at the same time): what is known of what they did is counted as lost";
  recorder_lost(recorder, (struct loss){threads_left_out(), "warning", message, "threads", NULL});
}

uint64_t late_items_lost(void) { return late_lost; }

static void channels_close(bool in_child) {
  (void)in_child;
  free(late);
  thread_rows_close();
}

static const char * channels_reset(bool is_whole) {
  (void)is_whole;
  capture_session++;
  memset(readers, 0, reader_count * sizeof *readers);
  reader_count = 0;
  thread_records_reset();
  return NULL;
}

const struct capture_source channels_source = {
    .name = "channels",
    .parts = (struct capture_part *const[]){&clock_part, NULL},
    .arm = channels_arm,
    .reset = channels_reset,
    .open = channels_open,
    .drain = channels_drain,
    .pulse = channels_pulse,
    .tick = channels_tick,
    .losses = channels_losses,
    .close = channels_close,
};
