/* format.h: what is on disk, as numbers: the file header, frame headers and column directories.
**
** Private to the dump codec.  FORMAT.md is the specification; here are its constants and the functions that turn the
** structures into bytes and, checking everything, back.  Nothing here reads files or allocates.
*/
#ifndef TFPROF_DUMP_FORMAT_H
#define TFPROF_DUMP_FORMAT_H

#include "dump/reader.h"

#define DUMP_MAGIC       "\x89TFPROF\n"
#define DUMP_FRAME_MAGIC 0x9a5054f5u /* bytes f5 54 50 9a: neither text nor small numbers */

enum {
  DUMP_VERSION = 1,
  DUMP_KNOWN_FEATURES = 0, /* required feature bits that this reader understands */
  DUMP_FEATURE_LAST = 1,   /* optional: the last part of a recording; what is missing before was let go */
  DUMP_FILE_HEADER_BYTES = 64,
  DUMP_FRAME_HEADER_BYTES = 40,
  DUMP_FRAME_CHECKED_BYTES = 36, /* of the header, before its checksum */
  DUMP_TRAILER_HEAD_BYTES = 40,
  DUMP_TRAILER_BYTES = DUMP_FRAME_HEADER_BYTES + DUMP_TRAILER_HEAD_BYTES,
  DUMP_FRAME_ALIGNMENT = 8,
};

/* Limits of the format: a writer keeps them, a reader refuses what breaks them. */
enum {
  DUMP_MAXIMUM_RAW_BYTES = 16 << 20, /* of one uncompressed block, and so of one string */
  DUMP_MAXIMUM_HEAD_BYTES = 1 << 20,
  DUMP_MAXIMUM_COLUMNS = 256, /* in one frame */
  DUMP_MAXIMUM_STRINGS = (1 << 24) - 1,
  DUMP_MAXIMUM_PROFILE_TEXT = 64 << 10,
  DUMP_MAXIMUM_ATTRIBUTES = 256 << 10,
  DUMP_DIRECTORY_ENTRY_BYTES = 64, /* the longest that we write; entries of later versions may be longer */
};
#define DUMP_MAXIMUM_ROW      ((uint64_t)1 << 36) /* row numbers fit in 36 bits */
#define DUMP_MAXIMUM_ROW_JUMP ((uint64_t)1 << 32) /* more rows than this are not lost at once */

/* How many rows all tables together may have in the first `bytes` of a file, and how many bytes its texts with
** DUMP_TEXT_BYTES for each: what they cost a reader is bounded by what they cost the writer, who makes frames longer
** whose rows or texts take next to nothing. */
enum {
  DUMP_FREE_ROWS = 1 << 18,
  DUMP_ROWS_PER_BYTE = 2,
  DUMP_TEXT_BYTES = 32,
  DUMP_FREE_TEXT_BYTES = 64 << 20,
  DUMP_TEXT_BYTES_PER_BYTE = 32
};
static inline uint64_t dump_rows_of_bytes(uint64_t bytes) { return DUMP_FREE_ROWS + DUMP_ROWS_PER_BYTE * bytes; }
static inline uint64_t dump_texts_of_bytes(uint64_t bytes) {
  return DUMP_FREE_TEXT_BYTES + DUMP_TEXT_BYTES_PER_BYTE * bytes;
}

enum dump_frame_type {
  DUMP_TYPE_PROFILE = 1,
  DUMP_TYPE_STRINGS = 2,
  DUMP_TYPE_ROWS = 3,
  DUMP_TYPE_CLOCK = 4,
  DUMP_TYPE_DROPPED = 5,
  DUMP_TYPE_INDEX = 6,
  DUMP_TYPE_TRAILER = 7,
  DUMP_TYPE_MAY_SKIP = 0x8000, /* set in the type of a frame that loses nothing when it is not understood */
};

/* The "columns" of STRINGS and INDEX frames. */
enum { DUMP_STRING_LENGTHS = 1, DUMP_STRING_BYTES = 2, DUMP_INDEX_ENTRIES = 1 };

struct dump_frame_header {
  uint16_t type, table;
  uint64_t sequence, first_row;
  uint32_t row_count, head_length, body_length, crc32;
};

struct dump_file_header {
  uint16_t version, header_bytes;
  uint32_t required_features, optional_features;
  uint32_t pid, world_size;
  int32_t rank;
  uint8_t boot_id[16];
  uint64_t created_realtime_ns;
  uint32_t crc32;
};

struct dump_trailer {
  uint64_t index_offset; /* of the last INDEX frame; 0: there is none */
  uint64_t frame_count;  /* of all kinds, with the trailer */
  uint64_t row_count;    /* of all tables */
  uint64_t string_count;
  uint64_t file_bytes; /* with the trailer, which is the last thing in the file */
};

void dump_file_header_write(uint8_t *to, const struct dump_file_header *header); /* computes the checksum */
/* False when the checksum is wrong; the fields are filled all the same. The magic is the caller's. */
bool dump_file_header_read(const uint8_t *from, struct dump_file_header *header);

/* The checksum of every frame continues that of the file header (`salt`), so that a frame which strayed here from
** another file is not taken for one of ours. */
void dump_frame_header_write(uint8_t *to, const struct dump_frame_header *header, const uint8_t *head, uint32_t salt);
void dump_frame_header_read(const uint8_t *from, struct dump_frame_header *header);
/* Whether magic and lengths can be those of a frame; its checksum is another matter. */
bool dump_frame_header_is_plausible(const uint8_t *from);
bool dump_frame_checksum_is_right(const uint8_t *from, const struct dump_frame_header *header, const uint8_t *head,
                                  uint32_t salt);

void dump_trailer_write(uint8_t *to, const struct dump_trailer *trailer);
void dump_trailer_read(const uint8_t *from, struct dump_trailer *trailer);

/* Bytes from the start of a frame to the start of the next one. */
static inline uint64_t dump_frame_span(const struct dump_frame_header *header) {
  uint64_t bytes = (uint64_t)DUMP_FRAME_HEADER_BYTES + header->head_length + header->body_length;
  return (bytes + DUMP_FRAME_ALIGNMENT - 1) & ~(uint64_t)(DUMP_FRAME_ALIGNMENT - 1);
}

/* Writes the directory of `count` blocks (sorted by dump_id); `to` has room for count * DUMP_DIRECTORY_ENTRY_BYTES +
** 10. */
size_t dump_directory_write(uint8_t *to, const struct dump_block *blocks, unsigned count);

/* How many blocks the directory claims, or -1 when it cannot hold that many. */
int dump_directory_count(const uint8_t *head, size_t length);
/* Fills `count` blocks (as dump_directory_count said), whose bytes lie in `body_length` bytes at `body_offset` of the
** file. An entry of a kind that is not known gets encoding DUMP_ENCODING_COUNT. Returns NULL, or what is wrong. */
const char *dump_directory_read(const uint8_t *head, size_t length, uint32_t rows, uint64_t body_offset,
                                uint32_t body_length, struct dump_block *blocks, unsigned count);

/* Profile messages. `size` must be at least dump_profile_packed_bytes. */
size_t dump_profile_packed_bytes(const struct dump_profile *profile);
size_t dump_profile_pack(const struct dump_profile *profile, uint8_t *to);
/* Merges a message into `profile`, whose texts are malloc'ed. */
enum tfprof_status dump_profile_merge(struct dump_profile *profile, const uint8_t *bytes, size_t length,
                                      struct tfprof_error *error);
void dump_profile_free_texts(struct dump_profile *profile);

#endif
