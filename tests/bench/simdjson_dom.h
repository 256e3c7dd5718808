/* simdjson_dom.h: what simdjson's DOM parser makes of a text, behind a C interface; the yardstick of bench_json. */
#ifndef TFPROF_BENCH_SIMDJSON_DOM_H
#define TFPROF_BENCH_SIMDJSON_DOM_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Parses `text` once; 64 readable bytes follow it. Returns the seconds that took, or a negative number when it is no
** JSON. */
double simdjson_dom_seconds(const char *text, size_t length);
/* The implementation that it chose for this processor. */
const char *simdjson_dom_name(void);

#ifdef __cplusplus
}
#endif

#endif
