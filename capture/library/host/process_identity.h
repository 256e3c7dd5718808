/* process_identity.h: which process a dump is of: host, job, command, pids, rank, versions.
**
** The job is what all of its ranks have in common and no other job has: the run of torchrun (TORCHELASTIC_RUN_ID), the
** step of Slurm, the namespace of PMIx, the address and port where the ranks meet (MASTER_ADDR, MASTER_PORT), else the
** run directory; and which attempt at it this is.  On it rests which steps are recorded (sampling_levels.h).
**
** The rank is that of the process group that the program made last, else what the launcher says in the environment:
** RANK and WORLD_SIZE (torchrun, accelerate, deepspeed), or the variables of Open MPI, MPICH and Slurm.
*/
#ifndef TFPROF_CAPTURE_PROCESS_IDENTITY_H
#define TFPROF_CAPTURE_PROCESS_IDENTITY_H

#include "dump/writer.h"
#include "recorder/source.h"

#include <stdbool.h>

struct process_identity {
  char host[128];
  struct dump_profile profile;
};

/* Once, while the library is loaded: the host, what the environment says of job and rank, and the command line where it
** is wanted, with the code behind python -c or without. Later the program may be changing the environment on another
** thread. */
void process_identity_begin(bool with_command, bool with_source);
/* One more, or the same again, as profiles.framework has it: "pytorch". Of several both lists have a comma between two,
** in an order in which none that imports another one by itself, as TensorFlow does JAX, comes behind that one. */
void process_identity_add_framework(const char *name, const char *version);
/* This is the one that runs the program's steps, and comes first. */
void process_identity_lead_framework(const char *name);
const char *process_identity_framework_version(void);
/* Whether there is one by now. On any thread. */
bool process_identity_has_framework(void);
/* What the environment says now, as far as Python knows it; -1, 0: nothing, as before. */
void process_identity_set_environment_rank(int rank, int world_size);
/* What torch.distributed says. */
void process_identity_set_rank(int rank, int world_size);
/* Writes the rank when it has been told: the writer thread must not look into the environment, for the program may be
** changing it. */
extern const struct capture_source identity_source;
/* Whether the process is one of several ranks, as far as was told or found in the environment; and which. */
bool process_identity_is_rank(int *rank);
/* On which it rests which steps are recorded (sampling_levels.h). */
void process_identity_set_seed(uint64_t seed);
/* The job that the process is of, for all its ranks. */
const char *process_identity_job(void);
/* All of it. */
void process_identity_get(struct process_identity *identity);

#endif
