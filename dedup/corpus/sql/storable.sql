-- Of some articles and revisions, as places in the given order: which have changed, are gone or no longer wait;
-- which have a fingerprint of that revision already; and the ids of those that have one of another revision.
SELECT array_agg(given.place - 1) FILTER (WHERE a.waits IS NOT TRUE),
       array_agg(given.place - 1) FILTER (WHERE f.revision = given.revision),
       array_agg(DISTINCT given.id) FILTER (WHERE a.waits AND f.revision <> given.revision)
FROM unnest(%(ids)s::bigint[], %(revisions)s::bigint[]) WITH ORDINALITY AS given (id, revision, place)
LEFT JOIN LATERAL (
    SELECT revision = given.revision AND (status = 'pending' OR stale) AS waits
    FROM dedup.article WHERE id = given.id OFFSET 0) AS a ON true
LEFT JOIN LATERAL (SELECT revision FROM dedup.fingerprint WHERE article_id = given.id OFFSET 0) AS f ON true
