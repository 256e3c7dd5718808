-- Views
-- What there is to ask, each with its manual; the checks are behind the view advise.
-- page: sql 20
-- chart: views
WITH starts AS (
  SELECT name, title, parameters, sql, instr(sql, char(10) || 'WITH') AS with_at,
    instr(sql, char(10) || 'SELECT') AS select_at
  FROM tfprof_views WHERE section NOT IN ('checks', 'helpers', 'old')
)
SELECT name, iif(parameters IS NULL, 'view', 'function') AS kind, title,
  replace(substr(sql, 4, min(iif(with_at, with_at, select_at), iif(select_at, select_at, with_at)) - 4),
    char(10) || '--', char(10)) AS manual
FROM starts ORDER BY name
