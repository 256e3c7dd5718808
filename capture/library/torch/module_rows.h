/* module_rows.h: modules of the program's models become rows of nodes.
**
** The callbacks see a module on the Python stack of an op and give it a number (known_modules.h); the Python hook tells
** what it is, where it lies in its model, and which parameters it has.  Ops and nodes carry the number
** (recorded_module), so that ops may be written long before it is known what their module is.  One that the program has
** made again after the first was gone is the same node, and its number is told as a change of that.
**
** What the hook tells waits in a queue for the writer thread.  Rows of nodes have the numbers 0, 1, 2, ... in the order
** in which they were told, so that the hook can refer to them.
*/
#ifndef TFPROF_CAPTURE_MODULE_ROWS_H
#define TFPROF_CAPTURE_MODULE_ROWS_H

#include "recorder/recorder.h"

#include <pthread.h>

bool module_rows_open(struct recorder *recorder);
/* Takes in what the hook has told. */
void module_rows_drain(struct recorder *recorder);
void module_rows_losses(struct recorder *recorder);

/* ---- For the hook, on any thread. NULL and -1: not known. */

struct module_node {
  uint32_t module; /* its number; 0: a parameter */
  int64_t parent;  /* row of the module around it; -1: none */
  int64_t depth;
  const char *name, *type;
};
/* false: no memory, or too much waits for a disk that takes nothing; it has no row, and the next one gets its
** number. */
bool module_tell(const struct module_node *node);
/* What was seen of a node that was told: a row of node_changes. */
struct module_change {
  int64_t row; /* of the node */
  const char *kind, *shape, *dtype, *device, *attributes;
  int64_t parameters, bytes, trainable;
  int64_t address; /* where the memory of a parameter begins; 0: none, or not known */
  uint32_t module; /* another number under which the module was seen; 0: none */
};
bool module_tell_change(const struct module_change *change);
/* How many were not taken because too much waited. */
uint64_t module_queue_refused(void);
/* In a forked child: nothing has been told. */
void module_queue_reset(void);
/* What is told stays, for each later file to begin with it. */
void module_queue_keep(void);
/* Of what was told and is not a row yet. For forks.c. */
extern pthread_mutex_t module_queue_lock;

#endif
