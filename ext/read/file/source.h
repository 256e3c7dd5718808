/* source.h: the bytes of a trace file in order, decompressed when they are gzip.
**
** A source is read from start to end by source_read(), each call by one thread at a time but not always the same. While
** it is read it may be asked to leave marks, so that source_range() can later produce any stretch of the decompressed
** bytes again without reading everything before it: for a plain file a mark costs nothing, for gzip it is a copy of the
** inflater's state every SOURCE_MARK_BYTES.  No descriptor is held after the source was closed; what is needed for
** source_range() is a struct source_index, which opens the file anew and refuses it when it is not the file that was
** read.
**
** gzip follows RFC 1952: members one after the other are one stream; zero bytes and foreign bytes after the last member
** are tolerated (gzip(1) does so too) and told; a stream that ends early or whose checksum is wrong gives its good
** prefix.
**
** Hostile input: output stops at SOURCE_MAXIMUM_RATIO bytes per compressed byte beyond SOURCE_FREE_BYTES.  deflate can
** reach 1032; real traces lie between 8 and 40.
*/
#ifndef TFPROF_SOURCE_H
#define TFPROF_SOURCE_H

#include "base/error.h"

enum {
  SOURCE_MARK_BYTES = 16 << 20,     /* decompressed bytes between two marks */
  SOURCE_FREE_BYTES = 64 << 20,     /* always allowed */
  SOURCE_MAXIMUM_RATIO = 200,
  SOURCE_HEAD_BYTES = 16 << 20,     /* of the file, compressed: so many are looked at to recognise it */
};

enum source_problem {
  SOURCE_FINE,
  SOURCE_TRUNCATED,   /* the compressed stream ends early */
  SOURCE_DAMAGED,     /* not deflate, or a wrong checksum or length: what came before may be damaged too */
  SOURCE_TRAILING,    /* bytes after the last member are no gzip */
  SOURCE_BOMB,        /* expands beyond the cap */
  SOURCE_IO,          /* read failed in the middle */
};

struct source;
struct source_index;

/* Opens the file and finds out whether it is gzip. */
enum tfprof_status source_open(const char *path, struct source **out, struct tfprof_error *error);
void source_close(struct source *source);
/* Fills up to `capacity` bytes; fewer only at the end. Never fails: see source_problem(). */
size_t source_read(struct source *source, char *buffer, size_t capacity);
bool source_is_gzip(const struct source *source);
uint64_t source_file_bytes(const struct source *source);
/* What ended the stream, where in the file. SOURCE_FINE: its end. Valid once source_read() gave less than asked for. */
enum source_problem source_problem(const struct source *source, uint64_t *offset);
const char *source_problem_text(enum source_problem problem);

/* The first bytes, decompressed: *got is less than `capacity` when the file has no more, or its first SOURCE_HEAD_BYTES
** give no more. Fails as source_open(). */
enum tfprof_status source_head(const char *path, size_t capacity, char *buffer, size_t *got);

/* What is needed to read again; takes the marks out of `source`. NULL: no memory. */
struct source_index *source_take_index(struct source *source);
void source_index_free(struct source_index *index);
bool source_index_is_gzip(const struct source_index *index);
/* Whether the file can be read again: TFPROF_NOT_FOUND, TFPROF_IO, TFPROF_REPLACED when it was changed since. */
enum tfprof_status source_check(const struct source_index *index, struct tfprof_error *error);
/* The bytes [offset, offset + length) into buffer. Fails as source_check. Any thread. */
enum tfprof_status source_range(const struct source_index *index, uint64_t offset, size_t length, char *buffer,
                                struct tfprof_error *error);
/* The same, but the file may end before: *got bytes. */
enum tfprof_status source_prefix(const struct source_index *index, uint64_t offset, size_t length, char *buffer,
                                 size_t *got, struct tfprof_error *error);
/* Many stretches of a file, which is opened, and seen to be the same, once. By one thread at a time. */
struct source_ranges;
enum tfprof_status source_ranges_open(const struct source_index *index, struct source_ranges **out,
                                      struct tfprof_error *error);
void source_ranges_close(struct source_ranges *ranges); /* NULL is fine */
/* As source_prefix(). Of gzip those that follow each other are decompressed once. */
enum tfprof_status source_ranges_read(struct source_ranges *ranges, uint64_t offset, size_t length, char *buffer,
                                      size_t *got, struct tfprof_error *error);

#endif
