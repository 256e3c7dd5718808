/* pprof_fields.h: the numbers of fields by name, Profile_sample and so on (pprof.def). */
#ifndef TFPROF_PPROF_FIELDS_H
#define TFPROF_PPROF_FIELDS_H

#define FIELD(message, field, number, type) message##_##field = number,
enum pprof_field {
#include "write/pprof.def"
};
#undef FIELD

#endif
