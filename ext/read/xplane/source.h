/* source.h: what a profile of an XSpace is loaded from after it was opened: its source_data. */
#ifndef TFPROF_XPLANE_SOURCE_H
#define TFPROF_XPLANE_SOURCE_H

#include "read/xplane/batch.h"

struct xplane_source {
  struct xplane_index index;
  struct plane_names *names; /* by plane */
  bool *has_names;           /* by plane: they are read */
  struct hlo_programs programs;
  bool has_programs;         /* they are read */
  bool are_programs_told;    /* what is wrong with them */
  bool are_instructions_listed;
  int64_t host_device;       /* row in devices, ROW_NULL */
  int64_t *devices;          /* rows of GPU or TPU 0 ..., ROW_NULL where there is none */
  size_t device_count, device_capacity;
  int64_t process_number;            /* among those of its job, as its devices tell it; -1: they do not */
  bool is_listed[GROUP_COUNT];       /* the rows of a group */
  const struct hlo_programs *lent; /* of another profile (xplane_lend_programs), NULL */
  bool are_names_told[PLANE_OTHER];  /* what is wrong with names of that kind of planes */
  bool are_lines_told[GROUP_COUNT];  /* what is wrong with lines of a group; memory shares those of threads */
};

/* A stretch of a line in a piece. */
struct piece_part {
  uint32_t line, place; /* `place`: where it begins in the piece */
  uint64_t offset;      /* where it begins in the file */
  uint32_t length;
};
/* What a segment's rows are read from again. */
struct segment_places {
  uint32_t *places; /* of events in the piece, by row */
  struct piece_part *parts;
  size_t part_count;
  enum row_table table;
};
void segment_places_free(void *source_data);

/* names of a plane, read once. */
enum tfprof_status xplane_names(struct profile *profile, uint32_t plane, struct tfprof_error *error);
/* The line's name in `names`, and the batch made ready for its events. */
void batch_take_line(struct batch *batch, const struct xplane_source *source, uint32_t line);
enum tfprof_status listing_init(struct listing *listing, struct profile *profile, struct tfprof_error *error);

/* facts.c: devices, threads, and what the profile is; assigns the lines to both. */
enum tfprof_status xplane_publish_facts(struct profile *profile, struct tfprof_error *error);
enum { XPLANE_MOST_PROCESSES = 1 << 16 };
/* process_numbers.c: which process of its job a program of JAX is, by the first events; -1: they do not tell. */
int64_t xplane_find_process_number(const struct xplane_index *index);
/* list.c, as profile_source.list */
enum tfprof_status xplane_list(struct profile *profile, unsigned table, struct tfprof_error *error);
/* The group that a table is listed with; GROUP_COUNT: it is none of the reader's. */
enum row_group xplane_group_of_table(unsigned table);
/* Which group has the same lines. */
static inline enum row_group xplane_lines_of_group(enum row_group group) {
  return group == GROUP_MEMORY ? GROUP_THREADS : group;
}
/* Where its events lie. */
static inline enum plane_kind xplane_kind_of_group(enum row_group group) {
  return group == GROUP_COUNT ? PLANE_OTHER : group >= GROUP_DEVICES ? PLANE_DEVICE : PLANE_HOST;
}
/* attributes.c, as profile_source.load */
enum tfprof_status xplane_load(struct profile *profile, struct segment *segment, const uint16_t *columns,
                               unsigned count, struct column **out, struct tfprof_error *error);
/* A stat as a member of a JSON object, which is begun where it is empty. */
struct text_buffer;
void xplane_put_stat(struct text_buffer *json, const struct plane_names *names, const struct pool *pool,
                     const struct event_field *value);

#endif
