-- Of some articles that still wait, those whose text in an attached table is another one by now, or gone: noted, so
-- that the row is looked at again. Triggers have noted them before, unless there are none.
INSERT INTO dedup.outbox (attachment_id, amount, source_ids)
SELECT a.attachment_id, count(*), array_agg(a.source_id)
FROM unnest(%(ids)s::bigint[], %(revisions)s::bigint[]) AS given (id, revision)
CROSS JOIN LATERAL (SELECT * FROM dedup.article WHERE id = given.id OFFSET 0) AS a
WHERE a.revision = given.revision AND (a.status = 'pending' OR a.stale)
  AND a.attachment_id IS NOT NULL AND a.id <> ALL (%(read)s)
GROUP BY a.attachment_id
