/* control.h: the socket of a dormant program, or of one that keeps its last seconds, and the thread that answers there
** (common/control_message.h).
**
** The thread sleeps in poll() and costs nothing until somebody asks: what the process is, or that it be recorded (a
** visit, session.h). Its descriptors lie in a table of its own, as those of file_threads.h do; where the system does
** not grant that, there is no socket, which is said. The peer must be the same user or root. A recording ends with its
** steps or its time, or when who asked for it hangs up.  One of several that are recorded together ends when it is told
** to, at the latest some time after its steps have come: nobody holds it for longer.  Nothing in here ever waits for
** the other side: what does not come in time or cannot be sent at once ends the connection.
*/
#ifndef TFPROF_CAPTURE_CONTROL_H
#define TFPROF_CAPTURE_CONTROL_H

#include "common/control_place.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct control_message;

/* Held for a moment. For forks.c. */
extern pthread_mutex_t control_lock;

/* What is asked of the session (session.h), whose files need this one. */
struct control_session {
  bool (*begin_visit)(const char *directory, uint64_t begin_ns, uint64_t steps, char *problem, size_t size);
  void (*end_visit)(void);
  const char *run_directory;
  /* Whether it keeps its last seconds, which are written when asked for: the new file, or why there is none. */
  bool (*keeps)(void);
  bool (*write_kept)(char *path, size_t path_size, char *problem, size_t problem_size);
  /* Another process of the run has met something and asks for them. */
  void (*note_met)(const struct control_message *met);
};
/* It is kept. Before the first thread is started. */
void control_set_session(const struct control_session *session);

/* Starts the thread, if there is none in this process. */
void control_begin(void);
/* Around a fork after which threads are counted: the thread ends, and begins anew. false: it has something to do. */
bool control_rest(int milliseconds);
void control_go_on(void);
/* The process ends: the socket goes. */
void control_end(void);
/* The thread is the parent's. */
void control_after_fork_in_child(void);
/* The directories in which sockets of the user's programs may lie. How many. */
unsigned control_own_places(char places[CONTROL_PLACES][4096]);

#endif
