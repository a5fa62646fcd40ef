-- Of some articles and revisions, as places in the given order: which have changed, are gone or no longer wait;
-- which have a fingerprint of that revision already, in use or not yet; and the ids of those that have one of
-- another revision. And whether anything waits for another attempt.
SELECT array_agg(given.place - 1) FILTER (WHERE a.waits IS NOT TRUE),
       array_agg(given.place - 1) FILTER (WHERE f.present),
       array_agg(given.id) FILTER (WHERE a.waits AND f.outdated),
       EXISTS (SELECT FROM dedup.attempt)
FROM unnest(%(ids)s::bigint[], %(revisions)s::bigint[]) WITH ORDINALITY AS given (id, revision, place)
LEFT JOIN LATERAL (
    SELECT revision = given.revision AND (status = 'pending' OR stale) AS waits
    FROM dedup.article WHERE id = given.id OFFSET 0) AS a ON true
LEFT JOIN LATERAL (
    SELECT bool_or(revision = given.revision) AS present, bool_or(revision <> given.revision) AS outdated
    FROM (SELECT revision FROM dedup.fingerprint WHERE article_id = given.id
          UNION ALL SELECT revision FROM dedup.fingerprint_bulk WHERE article_id = given.id) AS stored
    OFFSET 0) AS f ON true
