/* agreement_table.h: the files in /dev/shm in which the ranks of a job agree (sampling_agreement.h): names, locks, and
** how one that nobody uses is removed. The launcher is built with this, too.
**
** The locks are those of open file descriptions (F_OFD_SETLK, Linux 3.15), not of processes (F_SETLK).  A process loses
** all locks that it has on a file by F_SETLK as soon as any descriptor of that file is closed in it: ours, when the
** program closes whatever it knows nothing of or reads the table, and those of the program, should we ever close what
** has become its file.  Ours end when the last copy of the one descriptor is closed, by whomever, and so with the
** process.
*/
#ifndef TFPROF_CAPTURE_AGREEMENT_TABLE_H
#define TFPROF_CAPTURE_AGREEMENT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

void agreement_table_path(uint64_t seed, char *path, size_t size);
/* A lock for writing on some bytes (all: 0, 0), or (F_UNLCK) none; without waiting. */
bool agreement_table_lock(int descriptor, short type, off_t first, off_t length);
bool agreement_table_is_locked_by_others(int descriptor, off_t first, off_t length);
/* A file of this user. */
bool agreement_table_is_ours(int descriptor);
/* Still the file of that name. */
bool agreement_table_is_named(int descriptor, const char *path);
/* Nobody may be in the table, nor come into it meanwhile. */
void agreement_table_remove_if_unused(int descriptor, const char *path);
/* Removes the tables of this user that nobody is in: ranks that were killed could not. */
void agreement_table_remove_unused(void);

#endif
