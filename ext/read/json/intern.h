/* intern.h: the strings that one worker has met, numbered from 0.
**
** A worker looks up several texts per event.  It does so by the raw bytes as they stand in the file, without decoding:
** a text that has been seen costs a hash and a comparison.  What is new in a chunk is decoded and entered into the
** store's pool when the chunk is published, once (publish.c); until then its bytes lie in the chunk, and afterwards in
** the pool where they are the same, so that most texts are held only once.
**
** Lanes (threads, streams) and devices are numbered in the same way by three integers (base/row_map.h).
*/
#ifndef TFPROF_JSON_INTERN_H
#define TFPROF_JSON_INTERN_H

#include "base/error.h"
#include "base/row_map.h"
#include "store/pool.h"

enum text_form {
  TEXT_PLAIN,   /* the bytes themselves */
  TEXT_ESCAPED, /* a JSON string with backslashes */
  TEXT_JSON,    /* an array or object, kept without the white space between its parts */
  TEXT_STACK,   /* a call stack: frames parted by ';', the innermost first; becomes a row of code_traces */
  TEXT_STACK_ESCAPED,
};

/* What a name says about its event; found once for each text. */
enum name_class {
  NAME_UNKNOWN, /* not looked at yet */
  NAME_PLAIN,
  NAME_INPUT,     /* enumerate(DataLoader)#..., enumerate(DataPipe)#... */
  NAME_USER,      /* ProfilerStep#7, Optimizer.step#... and others that old traces file under ops */
  NAME_AUTOGRAD,  /* autograd::engine::evaluate_function: ... */
  NAME_MODULE,    /* nn.Module: ... */
  NAME_MEMORY,    /* [memory] */
  NAME_OUT_OF_MEMORY,
};

struct text {
  const char *bytes; /* raw */
  uint32_t length;
  uint8_t form;       /* enum text_form */
  uint8_t name_class; /* enum name_class */
  bool is_owned;      /* bytes are a copy of the table's own */
  uint32_t global;    /* string_id, or for stacks the row of code_traces + 1; valid below `published` */
};

struct text_slot {
  uint32_t hash;
  uint32_t index; /* + 1; 0: free */
};

struct text_table {
  struct text *texts;
  uint32_t count, published;
  size_t capacity;
  uint32_t permanent; /* the first so many have bytes that stay: they are never forgotten */
  struct text_slot *slots;
  uint64_t mask;
};

/* No number, be it of a text or of a lane. */
enum { INTERN_NONE = ROW_MAP_NONE };

bool text_table_init(struct text_table *table);
void text_table_free(struct text_table *table);
/* INTERN_NONE: no memory. `bytes` must stay until the chunk is published; 8 bytes after them are readable. */
uint32_t text_intern(struct text_table *table, const char *bytes, uint32_t length, enum text_form form);
/* The same for bytes that may go at once: the table copies them if they are new. */
uint32_t text_intern_copy(struct text_table *table, const char *bytes, uint32_t length, enum text_form form);

/* Removes what is not published: its bytes are about to go. False: no memory, the table is unusable. */
bool text_forget(struct text_table *table);

uint64_t text_hash(const char *bytes, uint32_t length);

#endif
