-- What to do first
-- What the checks found, the most severe first; each says what it rests on.
-- page: overview 10
-- chart: findings
-- empty: No check had anything to say.
SELECT check_name, severity, subject, message, value, threshold, saves_ns, suggestion, evidence FROM temp.advise
