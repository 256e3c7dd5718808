/* fields.h: the numbers of fields by name, XPlane_name and so on (xplane.def). */
#ifndef TFPROF_XPLANE_FIELDS_H
#define TFPROF_XPLANE_FIELDS_H

#define FIELD(message, field, number, type) message##_##field = number,
enum xplane_field {
#include "read/xplane/xplane.def"
};
#undef FIELD

#endif
