/* resource_names.h: what the program calls its threads, devices, contexts, streams and events, by their handles.
**
** Told by who hears it (NVTX), on the program's threads; asked by who makes their rows, on the writer thread, to which
** names are also told as they come: a row may have been written before.  The last name counts. Handles of events are as
** many as names are kept of all together; further ones are counted.  Who records devices may know contexts and streams
** by other numbers than the program: it translates, while they surely live.
*/
#ifndef TFPROF_CAPTURE_RESOURCE_NAMES_H
#define TFPROF_CAPTURE_RESOURCE_NAMES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum resource_kind {
  RESOURCE_THREAD,
  RESOURCE_DEVICE,
  RESOURCE_CONTEXT,
  RESOURCE_STREAM,
  RESOURCE_EVENT,
  RESOURCE_CONTEXT_NUMBER,
  RESOURCE_STREAM_NUMBER
};
enum { RESOURCE_NAMES = 4096, RESOURCE_NAME_MAXIMUM = 128 /* with the NUL */ };

/* Taken around forks. */
extern pthread_mutex_t resource_names_lock;

/* Called for each context and stream that is named, on the program's thread: its number. false: it has none. */
typedef bool (*resource_translator)(enum resource_kind kind, uint64_t handle, uint64_t *number);
void resource_names_translate(resource_translator translate);

/* In UTF-8; cut to its room. */
void resource_name_tell(enum resource_kind kind, uint64_t handle, const char *name, size_t length);
struct resource_name {
  enum resource_kind kind;
  uint64_t handle; /* that the program named */
  uint64_t number; /* of a ..._NUMBER its translation */
  char name[RESOURCE_NAME_MAXIMUM];
};
/* Names given since the last time, what could be translated only so: `*seen`, 0 at first, counts on. `tell` is called
** with the lock. */
void resource_names_since(uint64_t *seen, void (*tell)(void *context, const struct resource_name *name), void *context);
/* Of a ..._NUMBER `handle` is the number. false: it has none. */
bool resource_name_of(enum resource_kind kind, uint64_t handle, char name[RESOURCE_NAME_MAXIMUM]);
uint64_t resource_names_refused(void);

#endif
