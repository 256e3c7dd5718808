/* reasons.c: see reasons.h. */
#include "schema/reasons.h"

#include <stddef.h>

const struct reason_spec schema_reasons[] = {
#define REASON(code, severities, happened, remedy) {code, severities, happened, remedy},
#include "schema/reasons.def"
#undef REASON
    {NULL, NULL, NULL, NULL},
};
