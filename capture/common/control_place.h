/* control_place.h: where the sockets of programs that can be asked lie: in a directory of the user, which nobody else
** may look into, one socket for each process.
**
** The directory is tfprof in the user's runtime directory, else /tmp/tfprof-UID.  It is used only where it is what it
** should be: a directory, no link, of that user, with mode 0700.  A socket's name is PID-STARTTIME, as proc(5) has
** them, so that it is not taken for that of a later process of the same number.  Paths of sockets are short (107
** bytes): they are reached through the directory's descriptor.
*/
#ifndef TFPROF_CAPTURE_CONTROL_PLACE_H
#define TFPROF_CAPTURE_CONTROL_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sockaddr_un;

enum { CONTROL_NAME_SIZE = 48, CONTROL_PLACES = 3 };

/* The directories in which sockets of the user may lie; `runtime` is what XDG_RUNTIME_DIR is, or NULL. How many. A
** process takes the first that it can use; who looks for one looks in all, for its XDG_RUNTIME_DIR may be another. */
unsigned control_places(uid_t user, const char *runtime, char places[CONTROL_PLACES][4096]);
/* Opens one; with `make` it is made where it is missing. -1, and what is wrong: `problem`. */
int control_place_open(const char *place, uid_t user, bool make, char *problem, size_t size);

/* proc(5): when it was started, in ticks since the machine was; 0: there is none, or it has ended. */
uint64_t control_start_time(pid_t process);
/* The same in the text of its file stat. */
uint64_t control_read_start_time(const char *text);
void control_name(char name[CONTROL_NAME_SIZE], pid_t process, uint64_t start_time);
/* false: it is no name of a socket. */
bool control_name_read(const char *name, pid_t *process, uint64_t *start_time);
/* The address of a socket in the directory, on this thread. */
void control_address(int directory, const char *name, struct sockaddr_un *address);

#endif
