/* json_tree.h: a JSON document as the tree that a pickle of the same data would be. */
#ifndef TFPROF_JSON_TREE_H
#define TFPROF_JSON_TREE_H

#include "read/pickle/pickle.h"

/* Reads the bytes, of which texts are decoded in place, and which outlive the tree; PICKLE_FILE_PADDING bytes behind
** them are the function's. Total, as pickle_read() is: what was whole before it went wrong is in the tree. Free it by
** pickle_free(). TFPROF_NO_MEMORY, or TFPROF_INTERRUPTED when the store is. */
enum tfprof_status json_tree_read(struct pickle *tree, struct store *store, char *bytes, uint64_t length,
                                  struct tfprof_error *error);

#endif
