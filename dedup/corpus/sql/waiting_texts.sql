-- Of some articles the texts to be fingerprinted: of those that have not changed and still wait, wherever their
-- texts are. A text that is too long stays here, and comes as its length. OFFSET 0: looked up one by one, whatever
-- the statistics say.
SELECT a.id, a.revision, a.language, a.title, CASE WHEN size.too_long THEN '' ELSE body.text END,
       CASE WHEN size.too_long THEN char_length(body.text) END
FROM unnest(%(ids)s::bigint[], %(revisions)s::bigint[]) AS given (id, revision)
CROSS JOIN LATERAL (SELECT * FROM dedup.article WHERE id = given.id OFFSET 0) AS a
CROSS JOIN LATERAL (
    SELECT coalesce(a.text, (SELECT t.text FROM dedup.article_text t WHERE t.article_id = a.id)) AS text
    OFFSET 0) AS body
CROSS JOIN LATERAL (SELECT octet_length(body.text) > 4 * %(too_long)s::bigint AS too_long) AS size
WHERE a.revision = given.revision AND (a.status = 'pending' OR a.stale)
  AND (a.text_hash IS NULL OR a.text_hash = sha256(convert_to(body.text, 'UTF8')))
