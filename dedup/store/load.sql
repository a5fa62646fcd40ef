-- Loads, and the ids of the articles that each load had.

-- name: begin
-- Store a new load, and return its number.
INSERT INTO dedup.load (source) VALUES (%(source)s) RETURNING id

-- name: note
-- Store the ids of the articles that a transaction of a load had.
INSERT INTO dedup.load_part (load_id, kind, ids)
SELECT %(load)s, i.kind, range_agg(int8range(i.id, i.id, '[]'))
FROM (
    SELECT 'new', unnest(%(new)s::bigint[])
    UNION ALL SELECT 'known', unnest(%(known)s::bigint[])
    UNION ALL SELECT 'edited', unnest(%(edited)s::bigint[])
) AS i (kind, id)
GROUP BY i.kind
