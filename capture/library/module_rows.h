/* module_rows.h: modules of the program's models become rows of nodes.
**
** Two things are known of a module.  The callbacks see its address on the Python stack of an op; the Python hook tells
** what it is, where it lies in its model, and which parameters it has.  An address and the type of the object there
** mean one module until it is told that the module is dead.  Each gets a number when it is seen or told first, which
** ops (recorded_module) and nodes (recorded_module) carry, so that ops may be written long before it is known what
** their module is.
**
** What the hook tells waits in a queue for the writer thread.  Rows of nodes have the numbers 0, 1, 2, ... in the order
** in which they were told, so that the hook can refer to them.
*/
#ifndef TFPROF_CAPTURE_MODULE_ROWS_H
#define TFPROF_CAPTURE_MODULE_ROWS_H

#include "row_buffer.h"
#include "row_map.h"

#include <pthread.h>

struct module_rows {
  struct dump_writer *writer;
  struct row_buffer nodes, changes;
  struct row_map numbers; /* address and type to number */
  uint32_t count;         /* numbers given */
  uint64_t told;          /* rows of nodes given */
};

bool module_rows_begin(struct module_rows *rows, struct dump_writer *writer);
void module_rows_end(struct module_rows *rows);
/* Takes in what the hook has told. */
void module_rows_drain(struct module_rows *rows);
/* The number of the module at this address, which a thread has just seen there; 0: no memory. Asks for its discovery
** when it has not been told. */
uint32_t module_rows_seen(struct module_rows *rows, uint64_t address, uint64_t type);

/* ---- For the hook, on any thread. NULL and -1: not known. */

struct module_node {
  uint64_t address, object_type; /* of a module and of its type; 0: a parameter */
  int64_t parent;                /* row of the module around it; -1: none */
  int64_t depth;
  const char *name, *type;
};
/* false: no memory; it has no row, and the next one gets its number. */
bool module_tell(const struct module_node *node);
/* What was seen of a node that was told: a row of node_changes. */
struct module_change {
  int64_t row; /* of the node */
  const char *kind, *shape, *dtype, *device, *attributes;
  int64_t parameters, bytes, trainable;
};
bool module_tell_change(const struct module_change *change);
/* The class of a module became another one, as that of a lazy module does when it is initialised. */
void module_changed(uint64_t address, uint64_t type, uint64_t new_type);
/* The module at this address is gone. */
void module_died(uint64_t address, uint64_t type);
/* In a forked child: nothing has been told. */
void module_queue_reset(void);
/* Of what was told and is not a row yet. For forks.c. */
extern pthread_mutex_t module_queue_lock;

#endif
