/* ticker.h: a line on stderr that says what is being waited for, once it takes longer than a second. */
#ifndef TFPROF_SHELL_TICKER_H
#define TFPROF_SHELL_TICKER_H

/* Nothing appears when stderr is not a terminal. `what` must live until ticker_stop(). One at a time. */
void ticker_start(const char *what);
/* Removes the line. Harmless when none was started. */
void ticker_stop(void);

#endif
