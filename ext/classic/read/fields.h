/* fields.h: the numbers of fields by name, NodeDef_op and so on (tensorflow.def). */
#ifndef TFPROF_TENSORFLOW_FIELDS_H
#define TFPROF_TENSORFLOW_FIELDS_H

#define FIELD(message, field, number, type) message##_##field = number,
enum tensorflow_field {
#include "classic/read/tensorflow.def"
};
#undef FIELD

#endif
