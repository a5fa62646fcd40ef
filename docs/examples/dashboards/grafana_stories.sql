-- Grafana: the most printed stories that began in the time of the dashboard; table.
SELECT first_at AS "time", title, publication, copies, array_to_string(copied_by, ', ') AS copied_by
FROM dedup.story
WHERE $__timeFilter(first_at) AND copies > 0
ORDER BY copies DESC, first_at
LIMIT 20
