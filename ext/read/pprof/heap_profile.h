/* heap_profile.h: the rows that a profile of memory in pprof's format becomes.
**
** profile.proto of github.com/google/pprof, of which this is read:
**
**   Profile    sample_type=1 sample=2 mapping=3 location=4 function=5 string_table=6 time_nanos=9 comment=13
**   ValueType  type=1 unit=2
**   Sample     location_id=1, the innermost first  value=2, one for each type  label=3
**   Label      key=1 str=2 num=3 num_unit=4
**   Mapping    id=1 filename=5
**   Location   id=1 mapping_id=2 address=3 line=4, of inlined functions the innermost first
**   Line       function_id=1 line=2
**   Function   id=1 name=2 filename=4 start_line=5
**
** Texts are places in string_table, which may come behind what names them: so the message is gone through twice.
*/
#ifndef TFPROF_HEAP_PROFILE_H
#define TFPROF_HEAP_PROFILE_H

#include "base/list.h"
#include "base/wire.h"
#include "read/rows/stacks.h"

struct heap_text {
  const char *bytes;
  size_t length;
  string_id id; /* 0: not in the pool yet */
};
struct heap_function {
  uint64_t name, file; /* places in the string table */
  int64_t first_line;
};
struct heap_line {
  uint64_t function; /* its id */
  int64_t line;
};
struct heap_location {
  uint64_t mapping, address;
  size_t first_line, line_count; /* of `lines` */
};
struct heap_frame {
  string_id name, file;
  int64_t line, first_line;
};
struct heap_allocation {
  int64_t bytes, count, device, trace;
  string_id region, attributes;
};
struct heap_device {
  string_id name, kind;
  int64_t ordinal;
};

struct heap_profile {
  struct store *store;
  struct pool *pool;
  LIST(struct heap_text) texts;
  LIST(struct heap_function) functions;
  LIST(struct heap_location) locations;
  LIST(struct heap_line) lines;
  LIST(uint64_t) mappings;                                /* file names, as places in the string table */
  struct row_map function_ids, location_ids, mapping_ids; /* numbers of the above by id */
  LIST(struct heap_frame) frames;
  LIST(struct heap_allocation) allocations;
  LIST(struct heap_device) devices;
  struct row_map frame_index, stacks, device_index;
  size_t type_count, bytes_type, count_type; /* places of the two among a sample's values */
  int64_t time_ns;                           /* 0: not told */
  string_id comments;                        /* as JSON; 0: none */
  uint64_t budget;                           /* frames that may still be looked at */
  uint64_t odd_count, mended_count;          /* samples that are left out; texts that are not UTF-8 */
  bool is_of_jax, is_too_much;
  const char *wrong; /* NULL, or what is damaged, at: */
  uint64_t wrong_offset;
};

/* Collects everything. TFPROF_WRONG_KIND: it is no profile of memory. TFPROF_NO_MEMORY, TFPROF_LIMIT,
** TFPROF_INTERRUPTED. `bytes` outlive the profile; free in any case. */
enum tfprof_status heap_profile_read(struct heap_profile *heap, struct store *store, const uint8_t *bytes,
                                     size_t length, struct tfprof_error *error);
void heap_profile_free(struct heap_profile *heap);
/* Makes the tables of a profile from it. */
enum tfprof_status heap_profile_publish(const struct heap_profile *heap, struct profile *profile,
                                        struct tfprof_error *error);

#endif
