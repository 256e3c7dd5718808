/* nested_calls.h: what the runtime calls of the driver within a call of the program's is a part of that one. Of a
** launch there is one row, however many records CUPTI makes of it.
**
** Both records have one number and one thread, and the one lies within the other. The records of a thread come in the
** order in which its calls end, so that the inner one is followed by the outer one, which may be in the next buffer: a
** call of the driver waits until another call of its thread has come, or for a second or two.  Where the outer one
** comes first it is known by its number.  A program that calls the driver itself has its calls as they are.
**
** On the writer thread only.
*/
#ifndef TFPROF_CAPTURE_NESTED_CALLS_H
#define TFPROF_CAPTURE_NESTED_CALLS_H

#include "cupti_layout.h"

/* A new file. */
void nested_calls_begin(void);
enum offered_call {
  CALL_IS_READ, /* it is to be read now */
  CALL_WAITS,
  CALL_IS_A_PART, /* of another one */
};
/* The next record. `due` has waited until now, and is to be read before it; of kind 0: none has. `part` has waited,
** too, and is a part of this one; of kind 0: there is none. */
enum offered_call nested_calls_offer(const struct cupti_call *record, struct cupti_call *due, struct cupti_call *part);
/* Takes one that waits from place *at on (0 at first); `is_all`: else only those which waited when it was asked for the
** last time. false: there is none. */
bool nested_calls_take(unsigned *at, bool is_all, struct cupti_call *due);

#endif
