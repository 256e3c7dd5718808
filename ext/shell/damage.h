/* damage.h: tells that something is torn, cut or cannot be read whole, when it is opened or when that is found. */
#ifndef TFPROF_SHELL_DAMAGE_H
#define TFPROF_SHELL_DAMAGE_H

#include "session.h"

/* One line on stderr for what turned out damaged since the last call, for each profile once; nothing where all is
** well.  To be called after whatever opens or reads. */
void damage_tell(struct session *session);

#endif
