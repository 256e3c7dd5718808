/* fields.h: the numbers of fields by name, HloModuleProto_name and so on (hlo.def). */
#ifndef TFPROF_HLO_FIELDS_H
#define TFPROF_HLO_FIELDS_H

#define FIELD(message, field, number, type) message##_##field = number,
enum hlo_field {
#include "read/hlo/hlo.def"
};
#undef FIELD

#endif
