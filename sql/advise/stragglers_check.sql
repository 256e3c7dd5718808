-- Advice: a rank that the others wait for, on which host it runs, and what it does while they wait.
--
-- For each rank of a run of several the mean share of a step for which the others waited for it in collectives, as the
-- view late_ranks has it: none of their clocks is needed for that.  Only ranks are told that are at least half as late
-- as the latest of their run, and that are the latest in more steps than chance would have it (of n ranks one in n, and
-- two and a half standard deviations more).  Where none is, but steps wait for one rank after the other for a tenth of
-- their time, that is told of the run, as information: nobody is to blame.  What a late rank does meanwhile is what it
-- takes longer for than the others do on average, in measured steps whose ops were recorded, weighed by
-- steps.sample_weight: computing on its device, ops (and which of them most), its input, or what is outside of these,
-- such as Python.  Where none of that explains a tenth of the delay, something beside the program does: other load, a
-- slower clock, its network.
-- Thresholds: 5 % of the step time, from which on it is worth to look at, 20 % is critical when that is a millisecond
-- per step or more and ten steps were compared.
-- What it would save: its delay beyond that of the ranks that are not told; where it has more ops to run or more to
-- compute, what is gained when that is spread over all ranks, which is less; in steps that were not compared as in
-- those that were.
-- Columns: those of every check, see docs/checks.md.  Cost: those of late_ranks and step_op_time; where a rank is late
-- because of its ops one pass over ops, and where there are devices that of tb_distributed_summary.
-- Example: SELECT subject, message FROM advise WHERE check_name = 'stragglers';
WITH parts AS ( -- of a step, on average
  SELECT profile_id, sum(sample_weight) AS weight, sum(op_ns * sample_weight) / sum(sample_weight) AS op_ns,
    sum(loading_ns * sample_weight) / sum(sample_weight) AS input_ns,
    sum(outside_ns * sample_weight) / sum(sample_weight) AS outside_ns
  FROM temp.step_op_time GROUP BY profile_id
), ranks AS MATERIALIZED (
  SELECT late.profile_id AS profile_id, processes.run_id AS run_id,
    processes.name || coalesce(' on ' || processes.host, '') AS name, late.count AS count, late.metric AS share,
    late.late_ns AS late_ns, late.step_count AS step_count, late.even_ns AS even_ns,
    max(late.late_ns) OVER of_run AS most_ns,
    count(*) OVER of_run - 1 AS others, parts.weight AS weight, parts.op_ns AS op_ns, parts.input_ns AS input_ns,
    parts.outside_ns AS outside_ns, 1.0 * summary.computation_ns AS device_ns,
    sum(parts.op_ns) OVER of_run AS all_op_ns, sum(parts.input_ns) OVER of_run AS all_input_ns,
    sum(parts.outside_ns) OVER of_run AS all_outside_ns, sum(1.0 * summary.computation_ns) OVER of_run AS all_device_ns
  FROM temp.late_ranks AS late
  JOIN temp._process_names AS processes ON processes.profile_id = late.profile_id
  LEFT JOIN parts ON parts.profile_id = late.profile_id
  LEFT JOIN temp.tb_distributed_summary AS summary ON summary.profile_id = late.profile_id
    AND late.profile_id IN (SELECT profile_id FROM temp.device_steps)
  WINDOW of_run AS (PARTITION BY processes.run_id)
), excesses AS ( -- of each rank over the mean of the others of its run
  SELECT ranks.*, coalesce(op_ns - (all_op_ns - op_ns) / others, 0) AS op_excess_ns,
    coalesce(input_ns - (all_input_ns - input_ns) / others, 0) AS input_excess_ns,
    coalesce(outside_ns - (all_outside_ns - outside_ns) / others, 0) AS outside_excess_ns,
    coalesce(device_ns - (all_device_ns - device_ns) / others, 0) AS device_excess_ns,
    min(CASE WHEN 2 * late_ns >= most_ns THEN late_ns END) OVER of_run
      - coalesce(max(CASE WHEN 2 * late_ns < most_ns THEN late_ns END) OVER of_run, 0) AS beyond_ns
  FROM ranks WHERE others > 0 WINDOW of_run AS (PARTITION BY run_id)
), odd AS ( -- more often the latest than by chance
  SELECT excesses.*, share >= 0.05 AND 2 * late_ns >= most_ns
    AND count >= min(step_count, (1.0 * step_count + 2.5 * sqrt(1.0 * step_count * others)) / (others + 1)) AS is_told
  FROM excesses
), told AS (
  SELECT odd.*, CASE
      WHEN max(device_excess_ns, op_excess_ns, input_excess_ns, outside_excess_ns) < 0.10 * late_ns / step_count THEN ''
      WHEN device_excess_ns >= max(op_excess_ns, input_excess_ns, outside_excess_ns) THEN 'device'
      WHEN op_excess_ns >= max(input_excess_ns, outside_excess_ns) THEN 'ops'
      WHEN input_excess_ns >= outside_excess_ns THEN 'input'
      ELSE 'outside' END AS part
  FROM odd WHERE is_told
), explained AS (
  SELECT told.*, CASE part WHEN 'device' THEN device_ns WHEN 'ops' THEN op_ns WHEN 'input' THEN input_ns
      ELSE outside_ns END AS part_ns,
    CASE part WHEN 'device' THEN device_excess_ns WHEN 'ops' THEN op_excess_ns WHEN 'input' THEN input_excess_ns
      ELSE outside_excess_ns END AS excess_ns,
    CASE WHEN part = 'ops' THEN ( -- the op that took most longer than on the others, in a step
      SELECT format(', most of it in %s, %s longer', name, format_ns(CAST(max(more_ns) AS INTEGER))) FROM (
        SELECT ops.name AS name, total(ops.self_ns * ops.sample_weight / parts.weight
          * CASE WHEN ops.profile_id = told.profile_id THEN 1.0 ELSE -1.0 / told.others END) AS more_ns
        -- not of ranks: SQLite gives up on ALTER TABLE of any table where a view stands for that many others
        FROM parts JOIN temp.profiles AS profiles ON profiles.id = parts.profile_id
        CROSS JOIN temp.ops AS ops ON ops.profile_id = parts.profile_id
        WHERE profiles.run_id = told.run_id AND parts.profile_id IN (SELECT profile_id FROM temp.late_ranks)
          AND ops.is_measured = 1 AND ops.category IN ('op', 'autograd')
        GROUP BY ops.name)
      ) ELSE '' END AS worst_op
  FROM told
), step_time AS (
  SELECT profile_id, count(*) AS step_count, sum(1.0 * net_ns) AS all_ns FROM temp.steps
  WHERE is_warmup = 0 AND is_hung IS NOT 1
  GROUP BY profile_id
), turns AS ( -- runs in which they take turns
  SELECT odd.run_id AS run_id, max(odd.step_count) AS compared, max(others) AS others,
    max(1.0 * odd.even_ns) / max(odd.step_count) AS even_ns, max(step_time.step_count) AS step_count,
    max(step_time.all_ns) AS all_ns
  FROM odd JOIN step_time ON step_time.profile_id = odd.profile_id
  GROUP BY odd.run_id HAVING NOT coalesce(max(is_told), 0)
)
SELECT
  'stragglers' AS check_name,
  CASE WHEN late.share >= 0.20 AND late.step_count >= 10 AND late.late_ns >= 1000000 * late.step_count THEN 'critical'
    ELSE 'warning' END AS severity,
  late.name AS subject,
  late.name
    || format(': the others wait for it %s a step, %.0f %% of its time, in %d of %d steps longer than for any other; ',
      format_ns(CAST(late.late_ns / late.step_count AS INTEGER)), 100 * late.share, late.count, late.step_count)
    || CASE late.part
      WHEN 'outside' THEN 'meanwhile it runs Python, or waits for locks or files, outside any op'
      WHEN 'input' THEN 'meanwhile it waits for its input'
      WHEN 'ops' THEN 'meanwhile it runs ops'
      WHEN 'device' THEN 'meanwhile its device computes'
      ELSE 'nothing that was recorded of it takes that much longer than on the others' END
    || CASE WHEN late.part <> '' THEN format(', for %s a step against %s on the others',
      format_ns(CAST(late.part_ns AS INTEGER)), format_ns(CAST(late.part_ns - late.excess_ns AS INTEGER))) ELSE '' END
    || coalesce(late.worst_op, '') AS message,
  late.share AS value,
  0.05 AS threshold,
  CAST(CASE WHEN late.part IN ('ops', 'device') THEN min(late.beyond_ns, late.even_ns) ELSE late.beyond_ns END * 1.0
    / late.step_count * step_time.step_count AS INTEGER) AS saves_ns,
  CASE late.part
    WHEN 'outside' THEN 'Look at what this rank does that the others do not, such as logging, evaluation, saving on '
      || 'rank 0, or a slower disk: do it rarely, in another process, or share it among the ranks.'
    WHEN 'input' THEN 'Give this rank as much as the others to load: shards of one size, the same number of workers, '
      || 'its data on a disk that is as fast.'
    WHEN 'ops' THEN 'Give every rank the same work: batches of one length, experts and stages of one size; where it '
      || 'has the same, look for other load on its host.'
    WHEN 'device' THEN 'Give every device the same work: batches of one length, experts and stages of one size; where '
      || 'it has the same, look at its clock and temperature.'
    ELSE 'Look for other load on its host, a slower clock, or its network.' END AS suggestion,
  'SELECT rank, number, op_ns, loading_ns, wait_ns, outside_ns FROM temp.step_op_time ORDER BY number, rank LIMIT 50'
    AS evidence
FROM explained AS late
JOIN step_time ON step_time.profile_id = late.profile_id
UNION ALL
SELECT
  'stragglers' AS check_name,
  'info' AS severity,
  'the ranks' AS subject,
  format('The %d ranks take turns in being late: in %d steps they wait %s each for the last one, which is none of them '
    || 'more often than chance has it', others + 1, compared, format_ns(CAST(even_ns AS INTEGER))) AS message,
  even_ns * step_count / all_ns AS value,
  0.10 AS threshold,
  CAST(even_ns * step_count AS INTEGER) AS saves_ns,
  'Give all ranks the same work in each step: batches of one length or number of tokens, sorted into buckets; where '
    || 'they have that, other load on their hosts makes now one late, now another.' AS suggestion,
  'SELECT rank, number, op_ns, loading_ns, wait_ns, outside_ns FROM temp.step_op_time ORDER BY number, rank LIMIT 50'
    AS evidence
FROM turns WHERE even_ns * step_count >= 0.10 * all_ns
ORDER BY saves_ns DESC, subject
