/* pprof.h: writes the profile format of pprof: a tree of call stacks with values at its nodes.
**
** The format is profile.proto of github.com/google/pprof, gzip-compressed; `go tool pprof`, Speedscope and others open
** it.  A stack is a node: its innermost location below the node of its caller.  Values are added to nodes; each node
** with a value other than 0 becomes one sample.  Texts, functions, locations and nodes are kept once each.
**
** Stacks lose their outermost frames where all together would have far more than there are samples.
**
**   pprof_create(&p, types, 2, error);
**   pprof_location(p, "train", "train.py", 12, 40, &location);
**   pprof_node(p, 0, location, &node);
**   pprof_add(p, node, 1, 1500);
**   pprof_write(p, "out.pb.gz", start, duration, error);
*/
#ifndef TFPROF_PPROF_H
#define TFPROF_PPROF_H

#include "base/error.h"

enum { PPROF_MAXIMUM_TYPES = 8, PPROF_ROOT = 0 };

struct pprof_type {
  const char *name, *unit; /* unit: count, bytes or nanoseconds */
};

struct pprof;

/* The last type is not more than the others: the viewer begins with `types[preferred]`. */
enum tfprof_status pprof_create(struct pprof **made, const struct pprof_type *types, unsigned type_count,
                                unsigned preferred, struct tfprof_error *error);
void pprof_free(struct pprof *profile);

/* The function `name` at the line that it was running; file may be NULL, lines 0 where unknown. *number counts from 1.
** TFPROF_NO_MEMORY, TFPROF_LIMIT past 2^32-2 of a kind. */
enum tfprof_status pprof_location(struct pprof *profile, const char *name, const char *file, int64_t first_line,
                                  int64_t line, uint32_t *number);
/* The stack that has `location` innermost and `caller` (PPROF_ROOT: nothing) around it. Errors as above. */
enum tfprof_status pprof_node(struct pprof *profile, uint32_t caller, uint32_t location, uint32_t *node);
/* Adds to a value of a node; stays at the highest number rather than to wrap. Nothing is added to the root. */
void pprof_add(struct pprof *profile, uint32_t node, unsigned type, int64_t value);
/* A sample of its own at a node, with a label and all its values, zeros too: `values` has one for each type. Errors as
** above. */
enum tfprof_status pprof_labelled_sample(struct pprof *profile, uint32_t node, const char *key, const char *text,
                                         const int64_t *values);
/* A line about the whole, which viewers show with it; the last one counts. TFPROF_NO_MEMORY. */
enum tfprof_status pprof_comment(struct pprof *profile, const char *text);
/* Samples that there are: nodes with a value, and labelled ones. */
uint64_t pprof_sample_count(const struct pprof *profile);
/* Writes the file. Times in ns, since 1970 and long; 0 where unknown. TFPROF_IO, TFPROF_NO_MEMORY. */
enum tfprof_status pprof_write(const struct pprof *profile, const char *path, int64_t start_ns, int64_t duration_ns,
                               struct tfprof_error *error);

#endif
