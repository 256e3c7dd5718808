/* complete.h: completion of names at the prompt, by readline's Tab. */
#ifndef TFPROF_SHELL_COMPLETE_H
#define TFPROF_SHELL_COMPLETE_H

#include "script.h"

/* Completion then looks at the line being typed and at what `script` holds of the statement before it. */
void complete_install(struct script *script);

#endif
