/* control_message.h: what a program that can be asked (library/control.h) and who asks it (tfprof-capture --list,
** --attach) say to each other over a socket.
**
** A message is a head of 8 bytes ("tfpc", version, kind, bytes that follow in two) and fields: a tag of one byte, then
** of a tag below 64 a number of 8 bytes, of others a text, its length in two bytes before it. All numbers are little
** endian. A tag that is not known is passed over, so that a later version may add some. One of each tag at most.
**
**   who asks    ASK                                    answered by FACTS
**               RECORD  steps or duration, directory   answered by BEGUN when recording begins, then ENDED; or REFUSED
**                       together: steps                between these by ENOUGH, when it has them: recording goes on to
**                                                      END, but not for much longer than it took
**               WRITE                          of a program that keeps its last seconds: they are written; ENDED with
**                                              the file, or REFUSED
**               END, or it hangs up                    the recording that it asked for ends, and ENDED comes
**               MET     what it has met, directory     not answered: another process of that run, which keeps its last
**                                                      seconds too, asks for those of this one (library/run_peers.h)
**
** The bytes come from anybody who may connect: the parser is total, and what it accepts is bounded.
*/
#ifndef TFPROF_CAPTURE_CONTROL_MESSAGE_H
#define TFPROF_CAPTURE_CONTROL_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CONTROL_VERSION = 1, CONTROL_HEAD = 8, CONTROL_MAXIMUM = 16384 };

enum control_kind {
  CONTROL_ASK = 1,
  CONTROL_RECORD,
  CONTROL_END,
  CONTROL_FACTS,
  CONTROL_BEGUN,
  CONTROL_ENDED,
  CONTROL_REFUSED,
  CONTROL_WRITE,
  CONTROL_MET,
  CONTROL_ENOUGH,
  CONTROL_KINDS
};

enum control_number {
  CONTROL_PROCESS = 1, /* FACTS: its own; MET: who asks, as is its rank */
  CONTROL_RANK, /* 1 + the rank; 0: none */
  CONTROL_WORLD,
  CONTROL_STEPS,    /* FACTS: that have ended so far; RECORD: how many are wanted, 0: by time; ENDED: so many were */
  CONTROL_DURATION, /* nanoseconds */
  CONTROL_START,    /* CLOCK_MONOTONIC: RECORD: not before; BEGUN, ENDED: when recording began; MET: when it was */
  CONTROL_STOP,     /* the same: when it ended */
  CONTROL_STATE,    /* enum control_state */
  CONTROL_TOGETHER, /* RECORD: 1: others begin and end with it, so it does at START, within a step if need be, which
                     * then counts not */
  CONTROL_NUMBERS
};

enum control_state {
  CONTROL_DORMANT,
  CONTROL_WAITING, /* for the step that it begins with */
  CONTROL_RECORDING,
  CONTROL_KEEPING, /* its last seconds */
};

enum control_text {
  CONTROL_PROGRAM = 64,
  CONTROL_FRAMEWORK,
  CONTROL_DIRECTORY, /* FACTS, MET: of its run; RECORD: where the recording is to go, else there */
  CONTROL_FILE,      /* of the recording */
  CONTROL_PROBLEM,
  CONTROL_TRIGGER,         /* MET: as triggers.kind has it, */
  CONTROL_TRIGGER_MESSAGE, /* and what it was */
  CONTROL_TEXTS_END
};
enum { CONTROL_TEXTS = CONTROL_TEXTS_END - CONTROL_PROGRAM, CONTROL_TEXT_MAXIMUM = 4400 };

/* What a message has not is 0 or NULL. */
struct control_message {
  enum control_kind kind;
  uint64_t numbers[CONTROL_NUMBERS];
  const char *texts[CONTROL_TEXTS]; /* NUL-terminated; of a message that was read they lie in `storage` */
  char storage[CONTROL_MAXIMUM];
};

static inline const char *control_text(const struct control_message *message, enum control_text which) {
  return message->texts[which - CONTROL_PROGRAM];
}
static inline void control_set_text(struct control_message *message, enum control_text which, const char *text) {
  message->texts[which - CONTROL_PROGRAM] = text;
}

enum control_reading {
  CONTROL_WHOLE,
  CONTROL_MORE,          /* it is not all there yet */
  CONTROL_WRONG,         /* it is no message */
  CONTROL_OTHER_VERSION, /* of this program */
};
/* The message that the bytes begin with. */
enum control_reading control_message_read(const uint8_t *bytes, size_t size, struct control_message *message);

/* Its bytes; 0: a text is too long, or there is no room. Texts that are NULL or empty and numbers that are 0 are left
** out. */
size_t control_message_write(const struct control_message *message, uint8_t *bytes, size_t room);

#endif
