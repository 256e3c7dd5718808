/* names.h: what the events and stats of a plane are called: its event_metadata and stat_metadata.
**
** Events name both by numbers, which need not be small, nor positive, nor there.  What a name means is found once for
** each, so that it is there for every event that has it.
**
**   map entry       key=1 value=2: the key counts, the value's own id may be missing
**   XEventMetadata  id=1 name=2 metadata=3 display_name=4 stats=5 child_id=6
**   XStatMetadata   id=1 name=2 description=3
**   XStat           metadata_id=1, and one of double=2 uint64=3 int64=4 str=5 bytes=6 ref=7 compressed_str=8
*/
#ifndef TFPROF_XPLANE_NAMES_H
#define TFPROF_XPLANE_NAMES_H

#include "base/row_map.h"
#include "read/xplane/index.h"
#include "read/xplane/keys.h"
#include "read/xplane/texts.h"
#include "store/pool.h"

enum event_class {
  EVENT_PLAIN,
  EVENT_OP,         /* of TensorFlow or JAX, by its name */
  EVENT_ITERATOR,   /* of tf.data */
  EVENT_ALLOCATION,
  EVENT_RELEASE,
  EVENT_PYTHON,     /* a function, by the tracer of Python */
  EVENT_STEP,       /* train, test and the like: a step of the program */
  EVENT_MARK,       /* any other name that is none of a framework's: what the program marked */
  EVENT_COPY,       /* of memory, on a device */
  EVENT_FILL
};

/* What an iterator of tf.data does. */
enum iterator_stage { STAGE_PREPROCESS, STAGE_READ_IN_ADVANCE, STAGE_READ_ON_DEMAND };

/* How what runs inside an event is run. */
enum called_mode { CALLED_UNKNOWN, CALLED_AS_TOLD /* by the stat is_func */, CALLED_AS_FUNCTION, CALLED_AS_GRAPH };

/* The value of a stat. */
struct event_field {
  enum { FIELD_NONE, FIELD_INTEGER, FIELD_UNSIGNED, FIELD_REAL, FIELD_TEXT, FIELD_BYTES, FIELD_REFERENCE,
         FIELD_COMPRESSED } form;
  uint32_t stat;        /* number among the plane's stats; ROW_MAP_NONE: unknown */
  uint64_t number;      /* integers; of a real its bits; of a reference the number of the stat, ROW_MAP_NONE: unknown */
  const char *bytes;    /* of texts and bytes */
  size_t length;
};

struct event_name {
  string_id name;    /* 0: none */
  string_id display; /* where it is another one, else 0 */
  string_id op_name, op_type; /* of an op */
  string_id module;           /* that an op of TensorFlow lies in; 0: none */
  bool is_backward;           /* such an op computes a gradient */
  uint8_t kind;               /* enum event_class */
  uint8_t stage;              /* enum iterator_stage, of an iterator */
  uint8_t mode;               /* enum called_mode */
  bool is_driver;             /* by its name a function of CUDA's driver, not of its runtime */
  uint32_t first_stat, stat_count; /* of `inherited` */
};
struct stat_name {
  string_id text; /* 0: empty */
  uint8_t key;    /* enum xplane_key */
  uint32_t details; /* number of `details` + 1; 0: it is none */
  int32_t gpu;      /* of an allocator of GPUs, GPU_0_bfc; -1: it is none */
  string_id op_name, op_type; /* where it is the name of an op, or a stack of names of which the outermost is one */
};

/* Numbers from a file to numbers from 0 on. */
struct id_map {
  int64_t base;
  uint32_t *dense; /* number + 1 */
  uint64_t dense_count;
  struct row_map sparse;
};

struct plane_names {
  LIST(struct event_name) events;
  LIST(struct stat_name) stats;
  LIST(int64_t) event_ids, stat_ids;
  struct id_map event_map, stat_map;
  uint8_t *dense_keys; /* enum xplane_key of the stats by id, where stat_map is dense */
  LIST(struct event_field) inherited; /* of events; the bytes are in the pool */
  LIST(struct xplane_details) details;
  uint64_t mended;             /* texts with bytes that are not UTF-8 */
  uint64_t wrong, wrong_offset; /* entries that are damaged, and where the first is */
};

/* The number of an id, ROW_MAP_NONE: there is none. */
static inline uint32_t id_map_find(const struct id_map *map, int64_t id) {
  uint64_t at = (uint64_t)id - (uint64_t)map->base;
  if (at < map->dense_count) return map->dense[at] - 1; /* 0 becomes ROW_MAP_NONE */
  if (!map->sparse.count) return ROW_MAP_NONE;
  uint32_t number = row_map_find(&map->sparse, (struct row_key){{(uint64_t)id, 0, 0}});
  return number == ROW_MAP_NONE ? number : map->sparse.values[number];
}

/* The key of the stat with that id. */
static inline unsigned plane_key_of_stat(const struct plane_names *names, int64_t id) {
  uint64_t at = (uint64_t)id - (uint64_t)names->stat_map.base;
  if (at < names->stat_map.dense_count) return names->dense_keys[at];
  uint32_t stat = id_map_find(&names->stat_map, id);
  return stat == ROW_MAP_NONE ? KEY_UNKNOWN : names->stats.items[stat].key;
}

/* Texts go into the pool. */
enum tfprof_status plane_names_read(struct plane_names *names, const struct xplane_index *index,
                                    const struct xplane_plane *plane, struct pool *pool, struct tfprof_error *error);
void plane_names_free(struct plane_names *names);

/* Reads the XStat in a field; false: it is damaged. */
bool plane_read_stat(const struct plane_names *names, const struct wire_reader *outer, const struct wire_field *field,
                     struct event_field *value);

#endif
