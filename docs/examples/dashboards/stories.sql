-- Superset, Metabase: the most printed stories, with the hours from the first print to the last; a table.
SELECT title, publication, first_at, copies, array_to_string(copied_by, ', ') AS copied_by,
       round(extract(epoch FROM last_at - first_at) / 3600, 1) AS hours
FROM dedup.story
WHERE copies > 0
ORDER BY copies DESC, first_at
LIMIT 50
