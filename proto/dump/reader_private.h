/* reader_private.h: what the parts of the reader share.
**
** reader.c        opening, refreshing, closing; the list of problems
** reader_scan.c   finds frames by walking through the file, past damage too
** reader_index.c  finds them through the index of a file that was closed in order
** reader_accept.c takes one proven frame into struct dump_file, whichever way it was found
** cursor.c        reads blocks: columns and strings
*/
#ifndef TFPROF_DUMP_READER_PRIVATE_H
#define TFPROF_DUMP_READER_PRIVATE_H

#include "dump/column_codec.h"
#include "dump/format.h"

#include <sys/types.h>
#include <time.h>

enum { DUMP_MAXIMUM_PROBLEMS = 1000, DUMP_NO_PROBLEM = -1 };

struct reader_table { /* of one table_dump_id */
  uint64_t next_row;
  uint32_t dropped_problem; /* index of its problem + 1 */
};

struct reader_strings { /* one STRINGS frame */
  uint32_t first_id, count;
  struct dump_block lengths, bytes;
};

struct reader_chunk { /* of directories, which never move */
  struct reader_chunk *before;
  size_t used, capacity; /* blocks */
  struct dump_block blocks[];
};

struct dump_reader_private {
  char *location;                         /* the path from the root on: the working directory may change */
  uint8_t header[DUMP_FILE_HEADER_BYTES]; /* what the recording is known by: process and time of its beginning */
  uint32_t salt;
  uint64_t settled_end;   /* the end of the last whole frame, without its padding */
  uint64_t next_sequence; /* of the next frame, if none is lost */
  uint32_t next_string;   /* first id of the next STRINGS frame, if none is lost */
  uint64_t row_count, string_count;
  struct reader_table *table_pages[256]; /* of 256 tables each, made when a table of theirs is met */
  struct reader_chunk *chunks;
  struct reader_strings *strings;
  size_t string_frames, string_capacity, frame_capacity, clock_capacity, problem_capacity;
  size_t strings_given; /* frames that dump_file_strings is done with */
  uint32_t next_given;  /* id that it passes next */
  uint64_t string_bytes_given;
  int tail_problem; /* index of the problem of an undecided or a cut tail, replaced by a refresh */
  uint64_t problems_left_out;
  struct reader_look { /* what the file system said of the file when it was last read */
    uint64_t device, inode, size;
    struct timespec modified, changed, looked;
  } look;
};

/* A window on the file that moves forward: serves short reads without a system call for each. */
struct reader_window {
  int fd;
  const char *path;
  uint64_t size;   /* of the file */
  uint64_t offset; /* of buffer[0] */
  size_t length, capacity;
  uint8_t *buffer;
};

/* `length` bytes at `offset`, valid until the next call; NULL with TFPROF_OK when the file ends before that. */
enum tfprof_status reader_window_get(struct reader_window *window, uint64_t offset, size_t length,
                                     const uint8_t **bytes, struct tfprof_error *error);
void reader_window_clear(struct reader_window *window);

/* Opens the file anew and checks that it is still the same recording; *size is what it has now, *look (may be NULL)
** what the file system says of it. */
enum tfprof_status reader_reopen(const struct dump_file *file, int *fd, uint64_t *size, struct reader_look *look,
                                 struct tfprof_error *error);

/* The state of a table; NULL when memory is short. */
struct reader_table *reader_table_of(struct dump_file *file, uint16_t table_dump_id);

/* Adds a problem and returns its index, or DUMP_NO_PROBLEM when there are too many or memory is short. */
int reader_problem(struct dump_file *file, const char *severity, const char *reason, uint16_t table, uint64_t count,
                   uint64_t offset, const char *format, ...) __attribute__((format(printf, 7, 8)));

void reader_free_tables(struct dump_reader_private *state);
/* Forgets all frames and later problems: before another way of finding them is tried. */
void reader_forget_frames(struct dump_file *file, size_t problems_to_keep);

/* Takes in a frame whose header and head are right and whose body lies within the file. A frame that contradicts what
** came before is left out: *refusal says why (else NULL). Fails only for want of memory. */
enum tfprof_status reader_accept(struct dump_file *file, const struct dump_frame_header *header, uint64_t offset,
                                 const uint8_t *head, const char **refusal, struct tfprof_error *error);

/* Walks from file->scanned_bytes to the end. */
enum tfprof_status reader_scan(struct dump_file *file, struct reader_window *window, struct tfprof_error *error);

/* Reads the frames through the index. *is_done: it was there and right; else nothing was taken in. */
enum tfprof_status reader_read_index(struct dump_file *file, struct reader_window *window, bool *is_done,
                                     struct tfprof_error *error);

/* Reads exactly `length` bytes; TFPROF_IO when the file ends before that: it was cut. */
enum tfprof_status reader_read(int fd, const char *path, uint64_t offset, size_t length, uint8_t *to,
                               struct tfprof_error *error);

#endif
