/* pickle.h: the plain data in a Python pickle, without running any of it.
**
** Protocols 2 to 5 as pickle.dump writes them (docs.python.org/3/library/pickletools.html has the opcodes): None,
** bools, integers, floats, texts, bytes, lists, tuples and dicts, shared by memo as they are.  An opcode that would
** import or call something is an error, never done.  Total over any bytes: what is cut off or damaged ends the reading,
** and what was whole until then is in the tree, lists and dicts that were still being filled included.
**
** Texts point into the bytes, which must outlive the tree.  A value may stand in several places, and a hostile pickle
** may make a list its own element: who walks the tree must go by the shape that he expects, not to the end.
*/
#ifndef TFPROF_PICKLE_H
#define TFPROF_PICKLE_H

#include "store/store.h"

enum pickle_kind {
  PICKLE_NONE,
  PICKLE_BOOL,
  PICKLE_INTEGER,
  PICKLE_REAL,
  PICKLE_TEXT, /* UTF-8, or bytes */
  PICKLE_LIST, /* or tuple */
  PICKLE_DICT, /* items are keys and values in turn */
  PICKLE_HUGE, /* an integer that 64 bits do not hold */
};

struct pickle_value {
  uint8_t kind;
  uint32_t length; /* of a text */
  union {
    int64_t integer;
    double real;
    const char *text;
    struct pickle_container *container;
  };
};

struct pickle_container {
  struct pickle_value *items;
  uint64_t count, capacity; /* of items: a dict has two for each entry */
  uint32_t note;            /* for the user of the tree, 0 at first */
  struct pickle_container *next;
};

struct pickle {
  struct pickle_value root;
  struct pickle_container *containers; /* all of them */
  const char *wrong;                   /* NULL: read to its end; else what stopped the reading */
  uint64_t offset;                     /* where */
};

/* Reads the bytes. TFPROF_NO_MEMORY, or TFPROF_INTERRUPTED when the store is; everything else that is wrong is told in
** the struct. */
enum tfprof_status pickle_read(struct pickle *pickle, struct store *store, const uint8_t *bytes, uint64_t length,
                               struct tfprof_error *error);
void pickle_free(struct pickle *pickle);

/* The value of a dict's key; NULL when there is none or `value` is no dict. Looks at the first 64 entries only, so that
** going through many dicts stays linear whatever they hold. */
const struct pickle_value *pickle_find(const struct pickle_value *value, const char *key);
/* The same, an integer or `otherwise`. */
int64_t pickle_find_integer(const struct pickle_value *value, const char *key, int64_t otherwise);
/* The same, a list or tuple, else NULL. */
const struct pickle_container *pickle_find_list(const struct pickle_value *value, const char *key);
bool pickle_is_text(const struct pickle_value *value, const char *text);

#endif
