/* pulse.h: when the writer thread wakes.
**
** Time is cut into slots, and there is one moment in each, drawn by the slot's number: so no rhythm of the program
** hides from who looks at it at these moments, and each stands for its slot.  The slots are those of the machine's
** clock: the writer threads of all processes wake together.  Where the ranks of a job fill all processors and wait for
** each other in every step, what their writers take then costs them once, not one after the other.
**
** Nothing here reads a clock, takes a lock or depends on anything but what it is told.
*/
#ifndef TFPROF_CAPTURE_PULSE_H
#define TFPROF_CAPTURE_PULSE_H

#include <stdint.h>

struct pulse {
  uint64_t begin_ns, end_ns; /* the slot, and */
  uint64_t at_ns;            /* its moment */
};

/* The first one after `now_ns`, of slots of that length. */
struct pulse pulse_after(uint64_t now_ns, uint64_t slot_ns);

#endif
