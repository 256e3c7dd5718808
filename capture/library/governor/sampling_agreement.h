/* sampling_agreement.h: the ranks of a job that run on one machine record the same steps, whatever each can afford.
**
** Which step of a block is recorded is the same on all ranks of a job (sampling_levels.h).  How long the blocks are,
** the level, each would choose by what its own steps cost; so the level of each block is decided once for all ranks of
** the machine, by the first of them that comes to the block's first step, and the others do as it decided.  It is the
** highest level that any of them wants, and 0 while one of them does not know yet what its steps are.
**
** They tell each other in a table, which is a file of one page in /dev/shm, named after the user and the job.  Each
** rank has a place in it.  The table is read and written under a lock on its first byte; it is not mapped, so that
** whoever cuts it short ends no program.  A rank also has a lock on a byte of its own, which the kernel takes away when
** the process ends, in whatever way: a rank without it counts no more, and a table in which nobody is left is begun
** anew.
**
** Only ranks are in it, and each number once: not the processes that load data, nor those that a rank starts beside
** itself, nor another job of the same name.  Who is not in it, or more than AGREEMENT_STEPS steps away from the others,
** chooses for itself; so do ranks on other machines.  What they record is nested in any case.
**
** What stands in the table may have been written by any process of the user: it is checked at reading, and the worst
** that it can bring about is another level.  One thread at a time calls in here (under sampling_lock); the table is
** open on a thread for files (recorder/file_threads.h), where the program cannot come to it, and is used there.
*/
#ifndef TFPROF_CAPTURE_SAMPLING_AGREEMENT_H
#define TFPROF_CAPTURE_SAMPLING_AGREEMENT_H

#include <stdbool.h>
#include <stdint.h>

enum { AGREEMENT_STEPS = 64, AGREEMENT_PLACES = 128 };

struct level_wish {
  unsigned level;
  bool is_learning; /* what its steps are is not known yet: every step is wanted */
};

/* The level of the block that begins with `step`, for the rank of that number in the job of that seed. */
unsigned sampling_agreement_level(uint64_t seed, int rank, uint64_t step, struct level_wish wish);
/* What this rank wants from the next block on that nobody has decided yet; of no effect where it has no place. */
void sampling_agreement_tell(struct level_wish wish);
/* Gives the place up until the next block begins. */
void sampling_agreement_rest(void);
/* During so many writes the program replaced the descriptor of the table. Any thread. */
unsigned sampling_agreement_strays(void);
/* A child is not the rank that its parent is. */
void sampling_agreement_after_fork_in_child(void);
/* Gives the place up; who is the last removes the table. */
void sampling_agreement_leave(void);

#endif
