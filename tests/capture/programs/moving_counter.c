/* Loaded before a program: lets the counter that the recorder reads jump (tests/unit/moving_counter.h). */
#include "../../unit/moving_counter.h"

int watch(void) { return counter_watch(); }
int move(long ticks) { return counter_move("libtfprof_capture", ticks); }
