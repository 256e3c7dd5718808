/* reader.h: finds the frames of a dump file and decodes single columns of them.
**
** Opening reads the file header and every frame's header and column directory (or the index frame, when the file was
** closed in order), never column data.  Total over any bytes: damage is skipped to the next frame that proves itself
** (magic, checksum), counted, and told in `problems`; a torn tail is a problem too.  No descriptor is kept open between
** calls.  Strings are read when asked for. Frames are immutable once published; dump_file_refresh only appends.
*/
#ifndef TFPROF_DUMP_READER_H
#define TFPROF_DUMP_READER_H

#include "base/error.h"
#include "dump/writer.h"

/* How a block's values are stored; FORMAT.md says it exactly. */
enum dump_encoding {
  DUMP_CONSTANT,      /* no values: every row that is not null is `minimum` */
  DUMP_VARINT,        /* unsigned LEB128 of value - minimum */
  DUMP_DELTA,         /* zigzag LEB128 of the difference to the row before; the first to `minimum` */
  DUMP_REAL,          /* little-endian doubles, bytes transposed; one double when all rows have it */
  DUMP_DICTIONARY,    /* at most 256 distinct values, then one byte for each row */
  DUMP_RUNS,          /* pairs of run length and value - minimum */
  DUMP_BYTES,         /* the texts of a string frame; never a column */
  DUMP_ENCODING_COUNT /* given to blocks of an encoding that this version does not know: they cannot be decoded */
};

struct dump_block { /* one column of one frame */
  uint16_t dump_id;
  uint8_t encoding;         /* enum dump_encoding */
  bool is_compressed;       /* zlib format; else stored as is */
  bool has_nulls;           /* a null bitmap of (rows+7)/8 bytes comes first in the uncompressed bytes */
  uint8_t low_width;        /* 0 ... 3: so many low bytes of each value are noise and stored apart, uncompressed */
  uint32_t raw_bytes;       /* of the part that may be compressed */
  uint32_t stored_bytes;    /* in the file, all of it */
  uint32_t low_bytes;       /* of stored_bytes: the low bytes, at the end */
  uint32_t crc32;           /* of what is stored */
  uint64_t offset;          /* in the file */
  int64_t minimum, maximum; /* over the non-null values, of integer columns */
};

struct dump_frame { /* a run of rows of one table */
  uint64_t offset;  /* of the frame header, for messages */
  uint64_t first_row;
  uint32_t rows;
  uint16_t table_dump_id;
  uint16_t block_count;
  const struct dump_block *blocks; /* sorted by dump_id */
};

struct dump_problem {   /* becomes a row of the diagnostics table */
  const char *severity; /* "info", "warning", "error" */
  const char *reason;   /* stable code: "torn_tail", "damaged_frame", "unknown_frame", "dropped_rows", ... */
  char message[256];
  uint64_t count;
  uint64_t offset;
  uint16_t table_dump_id; /* 0: none */
};

struct dump_file {
  char *path;
  struct dump_profile profile; /* merged from all profile frames; strings owned by the file */
  struct dump_clock *clocks;
  size_t clock_count;
  struct dump_frame *frames;
  size_t frame_count; /* table frames in file order */
  struct dump_problem *problems;
  size_t problem_count;
  uint64_t file_bytes;    /* at the last open or refresh */
  uint64_t scanned_bytes; /* everything before this offset is settled; refresh goes on here */
  bool is_closed;         /* a trailer was seen */
  bool is_last_part;      /* of a recording: what is missing before it was let go (FORMAT.md, 2) */
  uint32_t version;
  struct dump_reader_private *private_state;
};

/* TFPROF_WRONG_KIND when the magic is not a dump's, TFPROF_VERSION for a required feature that is not known. */
enum tfprof_status dump_file_open(const char *path, struct dump_file **result, struct tfprof_error *error);
/* Looks for frames appended since. The arrays above may move. A recording is known by its header: a copy that is
** longer may take its place.  Where the file has another header now it is TFPROF_REPLACED, where it is gone
** TFPROF_NOT_FOUND, and everything is left as it was.  A file that was cut is a problem ("cut_file"): the frames stay,
** and decoding those behind the end fails with TFPROF_IO. */
enum tfprof_status dump_file_refresh(struct dump_file *file, struct tfprof_error *error);
/* Whether a refresh would find nothing, by what the file system says of the file. */
bool dump_file_is_same(const struct dump_file *file);
void dump_file_close(struct dump_file *file);

/* Strings first seen since the last call, in id order: calls `add` with consecutive ids (1, 2, ...). An id whose frame
** was damaged is passed as text NULL. Bytes are not NUL-terminated. */
typedef enum tfprof_status (*dump_string_callback)(void *context, uint32_t id, const char *text, uint32_t length);
enum tfprof_status dump_file_strings(struct dump_file *file, dump_string_callback add, void *context,
                                     struct tfprof_error *error);

/* Decoding. A dump_cursor holds a descriptor and buffers; each thread uses its own. Opening one fails as a refresh
** does; too many open files are TFPROF_LIMIT. */
struct dump_cursor;
enum tfprof_status dump_cursor_open(const struct dump_file *file, struct dump_cursor **result,
                                    struct tfprof_error *error);
void dump_cursor_close(struct dump_cursor *cursor);
/* The block of a column in a frame, or NULL: all its rows are NULL. */
const struct dump_block *dump_frame_block(const struct dump_frame *frame, uint16_t dump_id);
/* Decodes into `values` (frame->rows long; int64 or, when block->encoding is DUMP_REAL, double) and `nulls`
** ((rows+63)/64 words, bits past the last row 0; may be NULL if !block->has_nulls). At null rows the value is `minimum`
** (0.0 for reals). A value outside minimum..maximum, a wrong checksum, a short block: TFPROF_CORRUPT with the offset;
** an encoding of a later version: TFPROF_VERSION; what cannot be read, as in a file that was cut: TFPROF_IO; the
** outputs are then undefined. */
enum tfprof_status dump_block_decode(struct dump_cursor *cursor, const struct dump_frame *frame,
                                     const struct dump_block *block, void *values, uint64_t *nulls,
                                     struct tfprof_error *error);

#endif
