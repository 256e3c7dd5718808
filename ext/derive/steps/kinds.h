/* kinds.h: things of several kinds that come again and again in one order. */
#ifndef TFPROF_DERIVE_STEPS_KINDS_H
#define TFPROF_DERIVE_STEPS_KINDS_H

#include <stdint.h>

enum { LONGEST_PERIOD = 16 };

/* After how many the kinds come again, at most `longest`: in two such periods at least and at nine tenths of the
** places; 1: all are of one kind, 0: they come in no order. Kinds are not 0, which is one that is not known. Where the
** result is more than 1, each that is not known, or none of the period, becomes the one that belongs in its place. */
uint32_t kinds_period(uint64_t *kinds, uint32_t count, uint32_t longest);

#endif
