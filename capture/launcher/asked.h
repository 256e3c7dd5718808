/* asked.h: the programs of this user that can be asked (library/control.h), and talking to many of them at once. */
#ifndef TFPROF_LAUNCHER_ASKED_H
#define TFPROF_LAUNCHER_ASKED_H

#include "common/control_message.h"
#include "common/control_place.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct asked {
  pid_t process;
  char place[4096], name[CONTROL_NAME_SIZE]; /* of its socket */
  int socket;                                /* -1: none is open */
  size_t got;
  uint8_t bytes[CONTROL_MAXIMUM];
  struct control_message facts; /* FACTS; kind 0: it has not told any */
  char problem[2400];           /* why nothing comes of it; empty: it goes well */
};

struct asked_list {
  struct asked **all;
  size_t count, capacity;
};

/* All that have a socket, by their numbers, with what they say of themselves; those that do not answer within some
** seconds have a problem. `process` 0: all; else that one, also of another user where root asks. Sockets of processes
** that are gone are removed. false: no memory. */
bool asked_find(pid_t process, struct asked_list *list);
void asked_free(struct asked_list *list);

/* What WHOM is where it names a run, run:DIR: the directory, as programs have it; a path that leads nowhere as it is.
** To be freed. NULL: it names none, or no memory. */
char *asked_run_of(const char *whom);
/* Whether it has told that it records into that directory. */
bool asked_is_of_run(const struct asked *asked, const char *directory);

/* Connects where it is not. false: it has a problem. */
bool asked_send(struct asked *asked, const struct control_message *message);
/* The same without that: where it is gone, what it had said before is still to be received. */
void asked_tell(struct asked *asked, const struct control_message *message);
enum asked_news { ASKED_NOTHING, ASKED_MESSAGE, ASKED_GONE /* it has hung up, or has a problem */ };
/* What has come by now. */
enum asked_news asked_receive(struct asked *asked, struct control_message *message);
void asked_hang_up(struct asked *asked);
/* Whether the process is stopped, so that it answers nothing. */
bool asked_is_stopped(const struct asked *asked);
/* Waits until something comes from one of them, or for so long, or a signal comes. */
void asked_wait(const struct asked_list *list, int milliseconds);

#endif
