/* growth.h: whether what is open is still being recorded. */
#ifndef TFPROF_READ_GROWTH_H
#define TFPROF_READ_GROWTH_H

#include "store/store.h"

struct growth {
  bool is_known;    /* there are recordings of ours: of files of other profilers nobody can tell */
  unsigned writing; /* recordings that a process may still write to */
  bool may_go_on;   /* some are, or more may come: a process whose file is closed still runs (it may be asked for
                    ** another recording), or the tfprof-capture that started it does (it may start others) */
  int64_t age_ns;   /* since the last of the files was written; -1: not known */
};

/* Looks at the files, and at the processes of this machine. */
void growth_look(const struct store *store, struct growth *growth);

#endif
