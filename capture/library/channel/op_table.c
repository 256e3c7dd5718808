/* op_table.c: see op_table.h. */
#include "op_table.h"

static const struct row_column op_columns[OP_COLUMNS] = {
    {DUMP_ops_name, DUMP_UNORDERED, false, true},
    {DUMP_ops_category, DUMP_UNORDERED, false, true},
    {DUMP_ops_thread_id, DUMP_UNORDERED, false, true},
    {DUMP_ops_end_ns, DUMP_ASCENDING, false, true},
    {DUMP_ops_dur_ns, DUMP_UNORDERED, false, true},
    {DUMP_ops_sequence_number, DUMP_ASCENDING, false, false},
    {DUMP_ops_forward_thread, DUMP_UNORDERED, false, false},
    {DUMP_ops_input_shapes, DUMP_UNORDERED, false, false},
    {DUMP_ops_input_types, DUMP_UNORDERED, false, false},
    {DUMP_ops_input_values, DUMP_UNORDERED, false, false},
    {DUMP_ops_recorded_code_trace, DUMP_UNORDERED, false, false},
    {DUMP_ops_recorded_module, DUMP_UNORDERED, false, false},
    {DUMP_ops_error, DUMP_UNORDERED, false, false},
    {DUMP_ops_optimizer, DUMP_UNORDERED, false, false},
    {DUMP_ops_range_kind, DUMP_UNORDERED, false, false},
    {DUMP_ops_range_domain, DUMP_UNORDERED, false, false},
    {DUMP_ops_range_category, DUMP_UNORDERED, false, false},
    {DUMP_ops_range_color, DUMP_UNORDERED, false, false},
    {DUMP_ops_range_payload, DUMP_UNORDERED, false, false},
    {DUMP_ops_range_thread, DUMP_UNORDERED, false, false},
};

static const struct table_form form = TABLE_FORM(ops, TABLE_ROWS, "ops", op_columns, DUMP_FRAME_ROWS);

struct row_buffer op_table;

bool op_table_open(struct recorder *recorder) { return row_tables_add(&recorder->tables, &op_table, &form); }
