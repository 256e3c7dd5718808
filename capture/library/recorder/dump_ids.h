/* dump_ids.h: the stable numbers of tables and columns in a dump, from tables.def: DUMP_TABLE_ops, DUMP_ops_name, ...
*/
#ifndef TFPROF_CAPTURE_DUMP_IDS_H
#define TFPROF_CAPTURE_DUMP_IDS_H

enum dump_table_number {
#define TABLE(table, dump_id, title) DUMP_TABLE_##table = dump_id,
#include "schema/tables.def"
};

enum dump_column_number {
  DUMP_attributes = 3, /* of every table */
#define COLUMN(table, name, dump_id, type, unit, doc) DUMP_##table##_##name = dump_id,
#define REFERENCE(table, name, dump_id, target, doc) DUMP_##table##_##name = dump_id,
#define INTERNAL(table, name, dump_id, type, doc) DUMP_##table##_##name = dump_id,
#define INTERNAL_REFERENCE(table, name, dump_id, target, doc) DUMP_##table##_##name = dump_id,
#define SPAN(table, start_id, end_id, dur_id) \
  DUMP_##table##_start_ns = start_id, DUMP_##table##_end_ns = end_id, DUMP_##table##_dur_ns = dur_id,
#include "schema/tables.def"
};

#endif
