/* c_symbols.h: what stands at an address of code: module, offset, function.
**
** Takes no lock, so that it tells of a process that hangs in the loader, too: where others use dladdr(), this reads the
** tables of the modules itself.
*/
#ifndef TFPROF_CAPTURE_C_SYMBOLS_H
#define TFPROF_CAPTURE_C_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* false: this glibc (before 2.35) has no way to find modules without a lock. */
bool c_symbols_prepare(void);
/* "libc.so.6+0x89e8a pthread_cond_wait+0x1ea"; without a function that the module exports, the first word; without a
** module the address. Its length, cut where there is no room. */
size_t c_symbols_name(uintptr_t address, char *text, size_t room);
/* Whether the module that `address` lies in asks others for this symbol. */
bool c_symbols_refers(uintptr_t address, const char *symbol);

#endif
