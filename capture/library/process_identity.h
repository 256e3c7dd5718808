/* process_identity.h: which process a dump is of: host, command, pids, rank, versions.
**
** The rank is that of the process group that the program made last, else what the launcher says in the environment:
** RANK and WORLD_SIZE (torchrun, accelerate, deepspeed), or the variables of Open MPI, MPICH and Slurm.
*/
#ifndef TFPROF_CAPTURE_PROCESS_IDENTITY_H
#define TFPROF_CAPTURE_PROCESS_IDENTITY_H

#include "dump/writer.h"

#include <stdbool.h>

struct process_identity {
  char host[128];
  struct dump_profile profile;
};

/* Once, while the library is loaded: the command line. */
void process_identity_begin(void);
/* PyTorch's version, which it keeps. */
void process_identity_set_framework(const char *version);
const char *process_identity_framework(void);
/* What torch.distributed says. */
void process_identity_set_rank(int rank, int world_size);
/* Whether the rank was told since the last call. */
bool process_identity_has_changed(void);
void process_identity_get(struct process_identity *identity);

#endif
