-- functions_page.sql: what tools/update_reference.sh puts into docs/functions.md: a line of Markdown in each row.
WITH groups(part, heading, text) AS (VALUES
  (1, 'Functions with effects', 'They open, close, write or set something. They cannot be used in views and triggers '
      || 'of a database, and are missing where tfprof was loaded without access to files.'),
  (2, 'Aggregates', 'A value for a group of rows. Those marked as window functions may have OVER, too.'),
  (3, 'Functions of a row', 'A value for each row.'),
  (4, 'Functions that are tables', 'Rows, by `SELECT * FROM name(…)`. `columns NAME` at the prompt and '
      || '`tfprof_columns` describe their columns.'),
  (5, 'Tables that describe tfprof', 'They are there as soon as tfprof is loaded. '
      || '[The tables of a recording](tables.md) and [the views](views.md) have pages of their own.')
), functions AS (
  SELECT CASE WHEN has_effects THEN 1 WHEN kind IN ('aggregate', 'window') THEN 2 WHEN kind = 'scalar' THEN 3 ELSE 4 END
      AS part, row_number() OVER () AS place, name, kind, parameters, replace(title, '  ', ' ') AS title,
    replace(description, '  ', ' ') AS description, example
  FROM tfprof_functions
), described AS (
  SELECT row_number() OVER () AS place, table_name, column_name, type, coalesce(unit, '') AS unit,
    replace(description, '|', '\|') AS description
  FROM tfprof_columns WHERE table_name GLOB 'tfprof_*' AND table_name <> 'tfprof_findings'
), lines(part, place, line, text) AS (
  SELECT part, 0, 1, '' FROM groups WHERE part > 1
  UNION ALL SELECT part, 0, 2, '## ' || heading FROM groups
  UNION ALL SELECT part, 0, 3, '' FROM groups
  UNION ALL SELECT part, 0, 4, text FROM groups
  UNION ALL SELECT part, place, 1, '' FROM functions
  UNION ALL SELECT part, place, 2, '### ' || name FROM functions
  UNION ALL SELECT part, place, 3, '' FROM functions
  UNION ALL SELECT part, place, 4, '`' || name || '(' || parameters || ')`'
      || iif(kind = 'window', ', a window function', '')
    FROM functions
  UNION ALL SELECT part, place, 5, '' FROM functions
  UNION ALL SELECT part, place, 6, title || ' ' || description FROM functions
  UNION ALL SELECT part, place, 7, '' FROM functions
  UNION ALL SELECT part, place, 8, '```sql' FROM functions
  UNION ALL SELECT part, place, 9, example || ';' FROM functions
  UNION ALL SELECT part, place, 10, '```' FROM functions
  UNION ALL SELECT 5, min(place), 1, '' FROM described GROUP BY table_name
  UNION ALL SELECT 5, min(place), 2, '### ' || table_name FROM described GROUP BY table_name
  UNION ALL SELECT 5, min(place), 3, '' FROM described GROUP BY table_name
  UNION ALL SELECT 5, min(place), 4, '| column | type | unit | meaning |' FROM described GROUP BY table_name
  UNION ALL SELECT 5, min(place), 5, '|---|---|---|---|' FROM described GROUP BY table_name
  UNION ALL SELECT 5, place, 6, '| `' || column_name || '` | ' || type || ' | ' || unit || ' | ' || description || ' |'
    FROM described
)
SELECT text FROM lines ORDER BY part, place, line;
