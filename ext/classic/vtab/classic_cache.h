/* classic_cache.h: the models that the classic views build on, kept from one query to the next. */
#ifndef TFPROF_CLASSIC_CACHE_H
#define TFPROF_CLASSIC_CACHE_H

#include "classic/views/classic.h"
#include "vtab/connection.h"

struct classic_cached {
  unsigned references; /* users'; the cache has one of its own while `is_kept` */
  bool is_kept;
  uint64_t generation; /* of the store */
  uint64_t types;      /* tells what was in node_type_patterns, and -compat */
  struct classic_model *model;
  struct classic_cached *next;
};

/* With or without -compat, the models of all profiles that have nodes or ops and that `selection` names (NULL: all), as
** an array to be freed, each retained. */
enum tfprof_status classic_cache_get(struct connection *connection, const char *selection, bool is_compat,
                                     struct classic_cached ***models, size_t *count, struct tfprof_error *error);
void classic_cache_put_back(struct classic_cached *cached);
/* Of several profiles only some may have the step, or code traces: the processes that load data have none of the
** training loop's steps.  The others are put back and taken out of the array.  Fails, and leaves the array as it is,
** where all are others; else `error` says why the first one is, if its status is not TFPROF_OK. */
enum tfprof_status classic_cache_keep_answering(struct classic_cached **models, size_t *count, enum classic_view view,
                                                const struct classic_options *options, struct tfprof_error *error);
/* What a connection keeps: the models, of which those that nobody uses go with it. */
struct classic_cache *classic_cache_create(void); /* NULL: no memory */
void classic_cache_free(void *cache);

#endif
