/* cuda_kinds.h: which records CUPTI makes: kinds and calls are switched on and off, and what it refuses is kept for
** who tells it.
**
** What switches is called with the listener's lock: nobody else does at that moment.  Results are noted and asked for
** on any thread, and the writer thread notes which calls the program makes.
*/
#ifndef TFPROF_CAPTURE_CUDA_KINDS_H
#define TFPROF_CAPTURE_CUDA_KINDS_H

#include "cupti_api.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* What may be asked for; TFPROF_TRACE names them, parted by commas, or is "none". */
enum cuda_trace {
  TRACE_KERNELS = 1,
  TRACE_MEMORY = 2, /* copies, fills, what is allocated from the driver */
  TRACE_API = 4,
  TRACE_SYNC = 8,
  TRACE_GRAPHS = 16, /* the kernels of each launch; where kernels are not asked for, each launch as a whole */
  TRACE_UNIFIED = 32,
  TRACE_OVERHEAD = 64, /* what CUPTI takes, and compilations */
  TRACE_ENVIRONMENT = 128,
  TRACE_LATENCY = 256, /* of kernels when they were queued and submitted */
  TRACE_DEFAULT = TRACE_KERNELS | TRACE_MEMORY | TRACE_API | TRACE_SYNC | TRACE_GRAPHS | TRACE_OVERHEAD
};
/* What a list of words asks for; 0: none of them. `unknown` (or NULL): the first one that is not known, or "". */
unsigned cuda_trace_of(const char *list, char *unknown, size_t size);

/* Once, before all others; `api` is kept. */
void cuda_kinds_begin(const struct cupti_api *api, unsigned traces);
/* We listen from now on: what was refused before no longer counts. */
void cuda_kinds_renew(void);
/* In a forked child. */
void cuda_kinds_reset(void);
/* All kinds that were asked for; `with_lasting`: also those that stay on while work is not recorded, for they say what
** later work belongs to. */
void cuda_kinds_switch(bool to_on, bool with_lasting);
/* Calls into the runtime and the driver that are worth a row; where CUPTI cannot be told which, all. Unless `is_all`,
** those that the program has not called so far stay on: they are hundreds, and are switched at the ends of steps. */
void cuda_calls_switch(bool to_on, bool is_all);
/* The program has called that function. On the writer thread. */
void cuda_calls_note(enum cupti_domain domain, uint32_t number);
/* When kernels were queued and submitted: nobody else's profiler finds it switched on. */
void cuda_latency_switch(bool to_on);
/* What connects devices, and unified memory: once the driver is initialised. `is_recorded`: work is, now. */
void cuda_kinds_ask_of_devices(bool is_recorded);
/* What connects devices is told when it is asked for, and need not be asked for any longer. */
void cuda_kinds_end_topology(void);
/* The one call whose record tells that we still listen (listening_check.h), alone of all. false: CUPTI cannot. */
bool cuda_driver_call_switch(const char *name, bool to_on);

/* What is not recorded for CUPTI refused it, with why; "": nothing. */
const char *cuda_kinds_without(void);
/* What of the machine refuses it, and what helps; NULL: nothing of that is known. */
const char *cuda_kinds_remedy(void);
void cuda_kinds_add_refused(const char *name, const char *why);

/* How many calls CUPTI has refused since it began to be told, other than kinds at the beginning, and what of the first
** one. On any thread. */
struct cuda_refusals {
  uint64_t count;
  char first[120];
};
struct cuda_refusals cuda_kinds_refusals(void);
/* A call of this function had this result; 0 is none. */
void cuda_note_result(const struct cupti_api *api, const char *function, int result);
extern pthread_mutex_t cuda_refusals_lock;

#endif
