/* op_table.h: the table ops, for the sources whose threads run what becomes a row of it: ops of a framework, and
** ranges. On the writer thread only.
*/
#ifndef TFPROF_CAPTURE_OP_TABLE_H
#define TFPROF_CAPTURE_OP_TABLE_H

#include "recorder/recorder.h"

enum {
  OP_NAME, /* these five are never NULL, but for the thread of ranges that may end on another one (row_set_null) */
  OP_CATEGORY,
  OP_THREAD,
  OP_END,
  OP_DURATION,
  OP_SEQUENCE,
  OP_FORWARD_THREAD,
  OP_SHAPES,
  OP_TYPES,
  OP_VALUES,
  OP_TRACE,
  OP_MODULE,
  OP_ERROR,
  OP_OPTIMIZER,
  OP_RANGE_KIND,
  OP_RANGE_DOMAIN,
  OP_RANGE_CATEGORY,
  OP_RANGE_COLOR,
  OP_RANGE_PAYLOAD,
  OP_RANGE_THREAD,
  OP_COLUMNS
};

extern struct row_buffer op_table;
/* Adds it to a new file. */
bool op_table_open(struct recorder *recorder);

#endif
