/* values.h: the small messages that the big ones are made of: shapes, types, attributes. */
#ifndef TFPROF_TENSORFLOW_VALUES_H
#define TFPROF_TENSORFLOW_VALUES_H

#include "base/wire.h"
#include "read/rows/text_buffer.h"
#include "classic/read/model.h"

/* As a JSON number of so many digits. JSON has no infinities: 9e999 is one to SQLite and to all who read numbers as
** doubles; what is not a number is null. */
void tf_text_real(struct text_buffer *text, int digits, double value);
/* As a JSON string, with its quotes. Bytes that are no UTF-8 become U+FFFD. */
void tf_text_quote(struct text_buffer *text, const char *bytes, size_t length);

enum { TF_MAXIMUM_RANK = 254 };
struct tf_shape {
  bool is_known;
  unsigned rank;
  int64_t sizes[TF_MAXIMUM_RANK]; /* -1: unknown */
};
/* TensorShapeProto. */
void tf_read_shape(struct wire_reader *message, struct tf_shape *shape);
/* Number of elements; TF_NONE where a size is unknown or the product does not fit. */
int64_t tf_shape_elements(const struct tf_shape *shape);
/* "3x3x16"; a scalar is "1", as the TensorFlow profiler has it. */
void tf_shape_text(const struct tf_shape *shape, struct text_buffer *text);
/* "[3,3,16]" or "null". */
void tf_shape_json(const struct tf_shape *shape, struct text_buffer *text);

/* The name of a number of enum DataType, as NumPy calls it, reference types as what they refer to; NULL: not known. */
const char *tf_dtype_name(int dtype);
/* Bytes of one element; 0: of varying size or not known. */
unsigned tf_dtype_bytes(int dtype);

/* The attribute map of one node. tf_attributes_take() is called with each map entry, tf_attributes_finish() when the
** node is complete, which gives the item what is its own; `text` keeps its memory from node to node. */
struct tf_attributes {
  struct text_buffer text, shapes, value;
  string_id shape, own_shape, dtype, type, data_format;
  int64_t parameters;
  struct tf_constant constant;
  struct tf_function_call *calls; /* functions that they name */
  uint32_t call_count;
  size_t call_capacity;
  bool has_shape, has_output_shapes, has_constant;
};
void tf_attributes_begin(struct tf_attributes *attributes);
bool tf_attributes_take(struct tf_model *model, struct tf_attributes *attributes, struct wire_reader *entry);
bool tf_attributes_finish(struct tf_model *model, struct tf_attributes *attributes, struct tf_node *item);
/* The JSON of what was taken and has no column of its own; 0: nothing was. */
bool tf_attributes_text(struct tf_model *model, struct tf_attributes *attributes, string_id *text);
void tf_attributes_free(struct tf_attributes *attributes);

#endif
