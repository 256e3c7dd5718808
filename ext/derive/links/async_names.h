/* async_names.h: whether ops that cross each other on a thread are asynchronous ones. */
#ifndef TFPROF_ASYNC_NAMES_H
#define TFPROF_ASYNC_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The names of two ops of which one began inside the other and outlived it. */
struct crossing_names { int64_t names[2]; };

/* Whether a few names, which few ops have, are in all pairs. Asynchronous ops, such as calls of other hosts, are so; of
** processes that were merged ops of all kinds cross. names: of all rows. pairs: are in no order afterwards. room: for
** two numbers of each pair. */
bool async_names_explain(struct crossing_names *pairs, size_t count, const int64_t *names, uint32_t rows,
                         int64_t *room);

#endif
