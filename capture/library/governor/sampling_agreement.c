/* sampling_agreement.c: see sampling_agreement.h. */
#include "sampling_agreement.h"

#include "sampling_levels.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIRECTORY "/dev/shm"
#define MAGIC 0x316c657661667074u /* "tpfavel1": also tells a table of another byte order or form */

/* Whoever has the lock has it for microseconds, but may be kept from running. */
enum { PATIENCE_US = 1000000, LOOK_US = 50, OPENINGS = 8, WISH_MAXIMUM = 64 };
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
  int descriptor;
  int place; /* -1: none */
  bool is_given_up;
  char path[64];
  struct table table; /* as it was read last */
} agreement = {.descriptor = -1, .place = -1};

/* ---- Locks and files. */

static bool set_lock(int descriptor, short type, off_t first, off_t length) {
  return fcntl(descriptor, F_SETLK, &(struct flock){.l_type = type, .l_start = first, .l_len = length}) == 0;
}

static bool is_locked_by_others(int descriptor, off_t first, off_t length) {
  struct flock lock = {.l_type = F_WRLCK, .l_start = first, .l_len = length};
  return fcntl(descriptor, F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

static bool lock_table(int descriptor) {
  for (int waited = 0; !set_lock(descriptor, F_WRLCK, TABLE_BYTE, 1); waited += LOOK_US) {
    if ((errno != EAGAIN && errno != EACCES && errno != EINTR) || waited >= PATIENCE_US) return false;
    usleep(LOOK_US);
  }
  return true;
}

static void unlock_table(int descriptor) { set_lock(descriptor, F_UNLCK, TABLE_BYTE, 1); }

/* A file of this user, and still the one of that name. */
static bool is_ours(int descriptor) {
  struct stat facts;
  return fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_uid == geteuid();
}

static bool is_named(int descriptor, const char *path) {
  struct stat facts, named;
  return fstat(descriptor, &facts) == 0 && lstat(path, &named) == 0 && facts.st_ino == named.st_ino &&
         facts.st_dev == named.st_dev;
}

/* Nobody may be in the table, nor come into it meanwhile. */
static void remove_if_unused(int descriptor, const char *path) {
  if (set_lock(descriptor, F_WRLCK, 0, 0) && is_named(descriptor, path)) unlink(path);
}

static bool read_table(void) {
  struct table *table = &agreement.table;
  return pread(agreement.descriptor, table, sizeof *table, 0) == (ssize_t)sizeof *table && table->magic == MAGIC;
}

static bool write_part(const void *part, size_t size) {
  off_t at = (const char *)part - (const char *)&agreement.table;
  return pwrite(agreement.descriptor, part, size, at) == (ssize_t)size;
}

static void close_table(void) {
  if (agreement.descriptor >= 0) close(agreement.descriptor);
  agreement.descriptor = agreement.place = -1;
}

static void give_up(void) {
  close_table();
  agreement.is_given_up = true;
}

/* ---- Places. */

static bool is_alive(unsigned place) {
  return agreement.table.places[place].next && is_locked_by_others(agreement.descriptor, PLACES_BYTE + place, 1);
}

/* The table is locked. false: there is none to be had. */
static bool take_place(uint64_t seed, int rank) {
  struct table *table = &agreement.table;
  bool is_valid = read_table() && table->seed == seed;
  if (!is_locked_by_others(agreement.descriptor, PLACES_BYTE, AGREEMENT_PLACES)) {
    *table = (struct table){.magic = MAGIC, .seed = seed};
    if (!write_part(table, sizeof *table)) return false;
  } else if (!is_valid) {
    return false;
  }
  for (unsigned i = 0; i < AGREEMENT_PLACES; i++)
    if (table->places[i].rank == rank && is_alive(i)) return false;
  for (unsigned i = 0; i < AGREEMENT_PLACES; i++) {
    if (!set_lock(agreement.descriptor, F_WRLCK, PLACES_BYTE + i, 1)) continue;
    agreement.place = (int)i;
    return true;
  }
  return false;
}

/* Comes into the table. false: not now. */
static bool join(uint64_t seed, int rank) {
  snprintf(agreement.path, sizeof agreement.path, DIRECTORY "/tfprof-%lu-%016llx", (unsigned long)geteuid(),
           (unsigned long long)seed);
  for (unsigned i = 0; i < OPENINGS; i++) {
    agreement.descriptor = open(agreement.path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (agreement.descriptor < 0 || !is_ours(agreement.descriptor) || !lock_table(agreement.descriptor)) {
      give_up();
      return false;
    }
    if (!is_named(agreement.descriptor, agreement.path)) { /* it was removed since */
      close_table();
      continue;
    }
    bool has_place = take_place(seed, rank);
    unlock_table(agreement.descriptor);
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

unsigned sampling_agreement_level(uint64_t seed, int rank, uint64_t step, struct level_wish wish) {
  int before = errno;
  unsigned level = lower(wish.level, sampling_block_level(step));
  if (!agreement.is_given_up && (agreement.place >= 0 || join(seed, rank))) {
    bool is_whole = lock_table(agreement.descriptor);
    if (is_whole && read_table() && agreement.table.seed == seed) level = decide(rank, step, wish, &is_whole);
    else is_whole = false;
    if (is_whole) unlock_table(agreement.descriptor);
    else give_up(); /* closing it unlocks */
  }
  errno = before;
  return level;
}

void sampling_agreement_tell(struct level_wish wish) {
  if (agreement.place < 0) return;
  int before = errno;
  struct place *place = &agreement.table.places[agreement.place]; /* nobody else writes it */
  place->level = (uint8_t)lower(wish.level, WISH_MAXIMUM);
  place->is_learning = wish.is_learning;
  if (lock_table(agreement.descriptor) && write_part(place, sizeof *place)) unlock_table(agreement.descriptor);
  else give_up();
  errno = before;
}

/* ---- The end. */

void sampling_agreement_after_fork_in_child(void) {
  close_table();
  agreement.is_given_up = false;
}

void sampling_agreement_leave(void) {
  if (agreement.descriptor >= 0 && set_lock(agreement.descriptor, F_UNLCK, 0, 0))
    remove_if_unused(agreement.descriptor, agreement.path);
  close_table();
}

void sampling_agreement_remove_unused(void) {
  char prefix[32];
  int length = snprintf(prefix, sizeof prefix, "tfprof-%lu-", (unsigned long)geteuid());
  DIR *directory = opendir(DIRECTORY);
  if (!directory) return;
  for (struct dirent *entry; (entry = readdir(directory));) {
    if (strncmp(entry->d_name, prefix, (size_t)length) != 0 || strlen(entry->d_name) != (size_t)length + 16) continue;
    char path[sizeof DIRECTORY + 1 + sizeof entry->d_name];
    snprintf(path, sizeof path, DIRECTORY "/%s", entry->d_name);
    int descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0) continue;
    if (is_ours(descriptor)) remove_if_unused(descriptor, path);
    close(descriptor);
  }
  closedir(directory);
}
