/* settings.h: what tfprof-capture asks for, by the names of the variables that main.c of the launcher lists. */
#ifndef TFPROF_CAPTURE_SETTINGS_H
#define TFPROF_CAPTURE_SETTINGS_H

#include <stdbool.h>

enum { SETTING_MAXIMUM = 32 };

/* Of the environment, unless it has been told: a text that stays, or NULL. */
const char *setting(const char *name);
/* Before the library is loaded (session.h), on one thread: of a program that was started without tfprof-capture, whose
** environment stays as it is.  From the first one on the environment counts for nothing.  false: no memory, or more
** than SETTING_MAXIMUM. */
bool setting_tell(const char *name, const char *value);
bool settings_were_told(void);

#endif
