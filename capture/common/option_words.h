/* option_words.h: words of options that the launcher and the library read alike. */
#ifndef TFPROF_CAPTURE_OPTION_WORDS_H
#define TFPROF_CAPTURE_OPTION_WORDS_H

#include <stdint.h>

/* Nanoseconds of a time: "2s", "500ms", "1.5m", "1h"; a number alone is seconds. 0: it is none, or is less than a
** millisecond or more than eleven days. */
uint64_t option_time_ns(const char *text);
/* The number of a signal that a program may be sent for whatever it likes: "USR2", "SIGUSR2", "12". 0: it is none, or
** one with a meaning of its own. */
int option_signal(const char *text);

#endif
