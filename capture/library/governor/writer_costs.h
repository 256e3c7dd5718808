/* writer_costs.h: what the writer thread takes from the program, of the processor time that it uses.
**
** While a processor is free for it, it slows nobody.  Where the program's threads, those of other ranks, or other
** programs fill all that it may use (host_processors.h), it runs in their place, and counts: by 1 less the processors
** that stood idle, and not below 0.
**
** Its time is told in three parts.  What it takes for ops and what belongs to them is a price of the op, what it takes
** for what devices did a price of such a record, which their source adds to its own.  All else, which is there in every
** step - allocations, counters, waking up -, is a share of the time that passes, of which the larger part are the rows
** of allocations and releases.  So where it is more than ALLOWED_PART of the overhead that is allowed, and has been for
** some seconds, they are to follow the steps whose ops are recorded (memory_rows.h).
**
** Nothing here reads a clock, takes a lock or depends on anything but what it is told.
*/
#ifndef TFPROF_CAPTURE_WRITER_COSTS_H
#define TFPROF_CAPTURE_WRITER_COSTS_H

#include <stdbool.h>
#include <stdint.h>

/* Since it was told last. */
struct writer_use {
  double passed_ns;
  double used_ns, full_ns, device_ns; /* processor time of the thread; of that for ops, and for devices */
  uint64_t records, device_records;   /* of either */
  double idle_processors; /* below 0: not known */
};

struct record_price {
  double ns;                  /* what it takes from the program for a record */
  double records_ns, records; /* that are too few yet to tell what one takes */
};

struct writer_costs {
  double always; /* of the time that passes, the share that it takes from the program for what is always recorded */
  struct record_price of_op, of_device;
  double allowed, credit; /* share of `always` that is; seconds of it until it is too much */
  bool is_too_much;
};

/* `overhead`: what is allowed, 0.02. */
void writer_costs_begin(struct writer_costs *costs, double overhead);
/* About each second. true, once: what it takes always is too much. */
bool writer_costs_note(struct writer_costs *costs, const struct writer_use *use);

#endif
