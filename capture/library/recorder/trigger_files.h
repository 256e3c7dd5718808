/* trigger_files.h: for which triggers what is kept is written, and when. On the thread of triggers.c alone.
**
** What comes by itself (a slow step, a failed allocation, what another process has met) is written some time after it,
** so that what follows is there, too (--keep-after); others that come meanwhile are rows of the same file.  An
** exception or a signal that ends the process is written at once, with those that wait.  Of each kind that comes by
** itself one is written in the time that is kept, be it met here or by another process of the run, and
** WRITTEN_MAXIMUM of all kinds together: the others are counted.
**
** The other processes of the run on this machine are asked for theirs by the one that meets a trigger, not by those
** that it asks, and not where somebody else ends the job (SIGTERM, Ctrl-C) or has chosen the process (--signal,
** --attach).
*/
#ifndef TFPROF_CAPTURE_TRIGGER_FILES_H
#define TFPROF_CAPTURE_TRIGGER_FILES_H

#include "triggers.h"

enum { WRITTEN_MAXIMUM = 100, TRIGGER_FILE_PATH = 4400 };

enum trigger_answer {
  TRIGGER_IS_LEFT_OUT, /* and counted */
  TRIGGER_WAITS,       /* it is written later */
  TRIGGER_IS_DUE,      /* trigger_files_write() writes it */
};

void trigger_files_begin(struct frame_ring *ring, const struct trigger_wishes *wishes);
void trigger_files_forget(void);
/* One is counted that was not even met. On any thread. */
void trigger_files_leave_out(void);
/* One has come. What is not known of it is completed. */
enum trigger_answer trigger_files_meet(enum trigger_kind kind, struct kept_trigger *facts);
/* Writes a file for one that is due. 0, or an errno; `path` gets the file. */
int trigger_files_write(enum trigger_kind kind, struct kept_trigger *facts, int flush_ms, char *path);
/* When those that wait are to be written; 0: none does. */
int64_t trigger_files_due_ns(void);
/* Writes them. `first`: the one that the file is for. */
int trigger_files_write_waiting(int flush_ms, struct kept_trigger *first, char *path);
#endif
