-- Advice: a process whose memory keeps growing.
--
-- For each profile the counter process_resident_bytes while measured steps go on (no warm-up, in which memory is taken
-- for good; without steps all the time): its mean over the second quarter of the readings against its mean over the
-- last quarter, so that start-up and single peaks do not count.  In each quarter in between it has to grow by a tenth
-- of that, since what is taken once is kept, but does not keep growing.  The check speaks when there are at least 20
-- readings (about as many seconds) and the growth is above 10 % and 64 MiB.
-- Columns: those of every check, see docs/checks.md; saves_ns is NULL.  Cost: linear in counters.
-- Needs: counters.
-- Example: SELECT message FROM advise WHERE check_name = 'memory_growth';
WITH trained AS MATERIALIZED (
  SELECT profile_id, min(start_ns) AS start_ns, max(end_ns) AS end_ns FROM temp.steps WHERE is_warmup = 0
  GROUP BY profile_id
), readings AS (
  SELECT counters.profile_id AS profile_id, time_ns, value,
    ntile(4) OVER (PARTITION BY counters.profile_id ORDER BY time_ns, id) AS quarter
  FROM temp.counters AS counters LEFT JOIN trained ON trained.profile_id = counters.profile_id
  WHERE name = 'process_resident_bytes' AND coalesce(time_ns >= start_ns AND time_ns <= end_ns, 1)
), growth AS (
  SELECT profile_id, count(*) AS reading_count,
    avg(CASE WHEN quarter = 2 THEN value END) AS early_bytes,
    avg(CASE WHEN quarter = 3 THEN value END) AS later_bytes,
    avg(CASE WHEN quarter = 4 THEN value END) AS late_bytes,
    avg(CASE WHEN quarter = 4 THEN time_ns / 1000000000 END) - avg(CASE WHEN quarter = 2 THEN time_ns / 1000000000 END)
      AS between_s
  FROM readings GROUP BY profile_id
)
SELECT
  'memory_growth' AS check_name,
  'warning' AS severity,
  processes.name AS subject,
  processes.prefix || format('Resident memory grew by %s within %.0f s, to %s',
    format_bytes(CAST(late_bytes - early_bytes AS INTEGER)), between_s, format_bytes(CAST(late_bytes AS INTEGER)))
    AS message,
  (late_bytes - early_bytes) / early_bytes AS value,
  0.10 AS threshold,
  NULL AS saves_ns,
  advice_words('memory_growth', processes.framework) AS suggestion,
  'SELECT count, first, last, max FROM temp.counter_summary WHERE name = ''process_resident_bytes'' '
    || 'AND profile_id = ' || growth.profile_id AS evidence
FROM growth JOIN temp._process_names AS processes ON processes.profile_id = growth.profile_id
WHERE reading_count >= 20 AND late_bytes - early_bytes > 0.10 * early_bytes AND late_bytes - early_bytes > 67108864
  AND min(later_bytes - early_bytes, late_bytes - later_bytes) >= 0.1 * (late_bytes - early_bytes)
ORDER BY value DESC, growth.profile_id
