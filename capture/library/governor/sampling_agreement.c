/* sampling_agreement.c: see sampling_agreement.h. */
#include "sampling_agreement.h"

#include "agreement_table.h"
#include "dump/descriptor.h"
#include "recorder/file_threads.h"
#include "sampling_levels.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

#define MAGIC 0x316c657661667074u /* "tpfavel1": also tells a table of another byte order or form */

/* Whoever has the lock has it for microseconds, but may be kept from running. */
enum { PATIENCE_US = 1000000, ANSWER_MS = 2000, LOOK_US = 50, OPENINGS = 8, WISH_MAXIMUM = 64 };
enum { TABLE_BYTE = 0, PLACES_BYTE = 1 }; /* that are locked */

struct place {
  uint64_t next; /* the step at which its next block begins; 0: nobody has this place */
  int32_t rank;
  uint8_t level, is_learning, spare[2];
};

struct table {
  uint64_t magic, seed;
  uint64_t decisions[AGREEMENT_STEPS]; /* at step modulo their number: step * 256 + level + 1; 0: none */
  struct place places[AGREEMENT_PLACES];
};

static struct {
  struct descriptor file;
  int place; /* -1: none */
  bool is_given_up, is_unanswered;
  char path[64];
  struct table table; /* as it was read last */
} agreement = {.file = {.number = -1}, .place = -1};

static _Atomic unsigned strays;

unsigned sampling_agreement_strays(void) { return atomic_load(&strays); }

/* ---- Locks and reads. */

/* Before and after each use. */
static bool has_table(void) { return descriptor_is_ours(&agreement.file); }

static bool lock_table(void) {
  for (int waited = 0;; waited += LOOK_US) {
    if (!has_table()) return false;
    if (agreement_table_lock(agreement.file.number, F_WRLCK, TABLE_BYTE, 1)) return true;
    if ((errno != EAGAIN && errno != EACCES && errno != EINTR) || waited >= PATIENCE_US) return false;
    usleep(LOOK_US);
  }
}

static void unlock_table(void) {
  if (has_table()) agreement_table_lock(agreement.file.number, F_UNLCK, TABLE_BYTE, 1);
}

static bool read_table(void) {
  struct table *table = &agreement.table;
  return has_table() && pread(agreement.file.number, table, sizeof *table, 0) == (ssize_t)sizeof *table &&
         table->magic == MAGIC;
}

static bool write_part(const void *part, size_t size) {
  off_t at = (const char *)part - (const char *)&agreement.table;
  if (!has_table() || pwrite(agreement.file.number, part, size, at) != (ssize_t)size) return false;
  if (has_table()) return true;
  atomic_fetch_add(&strays, 1);
  return false;
}

static void close_table(void) {
  descriptor_close(&agreement.file);
  agreement.place = -1;
}

static void give_up(void) {
  close_table();
  agreement.is_given_up = true;
}

/* ---- Places. */

static bool is_alive(unsigned place) {
  return agreement.table.places[place].next &&
         agreement_table_is_locked_by_others(agreement.file.number, PLACES_BYTE + place, 1);
}

/* The table is locked. false: there is none to be had. */
static bool take_place(uint64_t seed, int rank) {
  struct table *table = &agreement.table;
  bool is_valid = read_table() && table->seed == seed;
  if (!agreement_table_is_locked_by_others(agreement.file.number, PLACES_BYTE, AGREEMENT_PLACES)) {
    *table = (struct table){.magic = MAGIC, .seed = seed};
    if (!write_part(table, sizeof *table)) return false;
  } else if (!is_valid) {
    return false;
  }
  for (unsigned i = 0; i < AGREEMENT_PLACES; i++)
    if (table->places[i].rank == rank && is_alive(i)) return false;
  for (unsigned i = 0; i < AGREEMENT_PLACES; i++) {
    if (!agreement_table_lock(agreement.file.number, F_WRLCK, PLACES_BYTE + i, 1)) continue;
    agreement.place = (int)i;
    return true;
  }
  return false;
}

/* Comes into the table. false: not now. */
static bool join(uint64_t seed, int rank) {
  agreement_table_path(seed, agreement.path, sizeof agreement.path);
  for (unsigned i = 0; i < OPENINGS; i++) {
    int opened = file_open(agreement.path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
    if (!descriptor_take(&agreement.file, opened) || !agreement_table_is_ours(opened) || !lock_table()) {
      give_up();
      return false;
    }
    if (!agreement_table_is_named(opened, agreement.path)) { /* it was removed since */
      close_table();
      continue;
    }
    bool has_place = take_place(seed, rank);
    unlock_table();
    if (!has_place) close_table();
    return has_place;
  }
  return false;
}

/* ---- Levels. */

static unsigned lower(unsigned level, unsigned highest) { return level < highest ? level : highest; }

/* What all want that are not too far away. */
static unsigned highest_wish(uint64_t step, struct level_wish wish) {
  unsigned level = wish.level;
  bool is_learning = wish.is_learning;
  for (unsigned i = 0; i < AGREEMENT_PLACES; i++) {
    const struct place *place = &agreement.table.places[i];
    uint64_t furthest = step + (1u << LEVEL_MAXIMUM) + AGREEMENT_STEPS;
    bool is_near = place->next && place->next < furthest && place->next + AGREEMENT_STEPS >= step;
    if ((int)i == agreement.place || !is_near || place->level > WISH_MAXIMUM || !is_alive(i)) continue;
    if (place->level > level) level = place->level;
    is_learning |= place->is_learning == 1;
  }
  return is_learning ? 0 : level;
}

/* The table is locked and has been read. */
static unsigned decide(int rank, uint64_t step, struct level_wish wish, bool *is_written) {
  uint64_t *decision = &agreement.table.decisions[step % AGREEMENT_STEPS];
  unsigned highest = sampling_block_level(step), level = (unsigned)(*decision & 0xff) - 1;
  bool is_decided = *decision >> 8 == step && level <= highest, is_behind = *decision && *decision >> 8 > step;
  *is_written = true;
  if (is_behind) {
    level = lower(wish.level, highest); /* what was decided for this step is no longer there */
  } else if (!is_decided) {
    level = lower(highest_wish(step, wish), highest);
    *decision = step << 8 | (level + 1);
    *is_written = write_part(decision, sizeof *decision);
  }
  struct place *place = &agreement.table.places[agreement.place];
  *place = (struct place){.next = step + (1u << level),
                          .rank = rank,
                          .level = (uint8_t)lower(wish.level, WISH_MAXIMUM),
                          .is_learning = wish.is_learning};
  if (!write_part(place, sizeof *place)) *is_written = false;
  return level;
}

/* ---- What is asked for, on a thread for files. */

static struct request {
  enum { BEGIN_BLOCK, TELL, REST, LEAVE } what;
  uint64_t seed, step;
  int rank;
  struct level_wish wish;
  unsigned level;
} request; /* stays where it is: whoever asked may have gone on without an answer */

static void begin_block(void) {
  if (agreement.place < 0 && !join(request.seed, request.rank)) return;
  bool is_whole = lock_table();
  if (is_whole && read_table() && agreement.table.seed == request.seed)
    request.level = decide(request.rank, request.step, request.wish, &is_whole);
  else is_whole = false;
  if (is_whole) unlock_table();
  else give_up(); /* closing it unlocks */
}

static void tell_wish(void) {
  struct place *place = &agreement.table.places[agreement.place]; /* nobody else writes it */
  place->level = (uint8_t)lower(request.wish.level, WISH_MAXIMUM);
  place->is_learning = request.wish.is_learning;
  if (lock_table() && write_part(place, sizeof *place)) unlock_table();
  else give_up();
}

static void leave_table(void) {
  int number = agreement.file.number;
  if (has_table() && agreement_table_lock(number, F_UNLCK, 0, 0))
    agreement_table_remove_if_unused(number, agreement.path);
  close_table();
}

static void serve(void *argument) {
  (void)argument;
  if (request.what == BEGIN_BLOCK) begin_block();
  else if (request.what == TELL) tell_wish();
  else if (request.what == REST) close_table(); /* the next block comes into the table again */
  else leave_table();
}

/* ---- From the threads that end steps. */

/* One that is not answered is the last: the thread may still be at it. */
static void ask(struct request wanted) {
  if (agreement.is_unanswered || agreement.is_given_up) return;
  if (wanted.what != BEGIN_BLOCK && agreement.place < 0) return;
  request = wanted;
  agreement.is_unanswered = !file_thread_run_within(FILE_THREAD_QUICK, serve, NULL, ANSWER_MS);
}

unsigned sampling_agreement_level(uint64_t seed, int rank, uint64_t step, struct level_wish wish) {
  unsigned level = lower(wish.level, sampling_block_level(step));
  ask((struct request){.what = BEGIN_BLOCK, .seed = seed, .step = step, .rank = rank, .wish = wish, .level = level});
  return agreement.is_unanswered || agreement.is_given_up ? level : request.level;
}

void sampling_agreement_tell(struct level_wish wish) {
  ask((struct request){.what = TELL, .wish = wish});
}

void sampling_agreement_rest(void) { ask((struct request){.what = REST}); }

void sampling_agreement_leave(void) {
  ask((struct request){.what = LEAVE});
}

/* A descriptor that the child has inherited holds the place of its parent. */
void sampling_agreement_after_fork_in_child(void) {
  if (!file_threads_are_apart()) descriptor_close(&agreement.file);
  agreement.file.number = agreement.place = -1;
  agreement.is_given_up = agreement.is_unanswered = false;
  atomic_store(&strays, 0);
}
