-- Columns
-- Of all tables and views, with their units.
-- page: sql 30
-- chart: table
SELECT table_name, column_name, type, unit, description FROM tfprof_columns ORDER BY table_name, rowid
