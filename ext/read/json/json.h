/* json.h: what is JSON; traces are read in json.c, memory timelines in memory_timeline.c. */
#ifndef TFPROF_JSON_JSON_H
#define TFPROF_JSON_JSON_H

#include "read/read.h"

/* Adds one profile to the unpublished run. */
enum tfprof_status json_open(struct store *store, uint32_t run_number, const char *path, struct tfprof_error *error);
/* The same with chunks of a given size (0: by the size of the file), so that tests can cut small files anywhere. */
enum tfprof_status json_open_in_chunks(struct store *store, uint32_t run_number, const char *path, size_t chunk_bytes,
                                       struct tfprof_error *error);
extern const struct read_format read_format_json;

/* probe.c: the reader of all that is JSON, traces and memory timelines. */
extern const struct reader json_reader;

#endif
