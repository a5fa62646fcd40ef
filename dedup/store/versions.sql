-- Versions of stories, and the differences of each version from the version before.

-- name: of_story
-- Return the versions of an article's story, the original first; then the originals whose best earlier match is this
-- original. OFFSET 0 forces index lookups, even with outdated statistics.
WITH story AS MATERIALIZED (
    SELECT coalesce(k.duplicate_of, k.id) AS id
    FROM (SELECT id FROM dedup.article WHERE source_id = %(source_id)s OFFSET 0) AS a
    CROSS JOIN LATERAL (SELECT * FROM dedup.article_mark WHERE id = a.id OFFSET 0) AS k
), near AS MATERIALIZED (
    SELECT m.article_id AS id FROM dedup.match m
    WHERE m.other_id = (SELECT id FROM story) AND m.relation = 'similar' LIMIT %(limit)s
)
SELECT v.id, v.source_id, v.version, v.before_id, v.before_source_id, v.title, v.publication,
       coalesce(a.published_at, a.added_at), v.appeared_at IS NOT NULL,
       (SELECT c.phrase FROM dedup.correction c WHERE c.article_id = v.id)
FROM (SELECT id, true AS own FROM story UNION ALL SELECT id, false FROM near) AS s
CROSS JOIN LATERAL (
    SELECT * FROM dedup.story_version WHERE story_id = s.id AND (s.own OR version = 1)
    ORDER BY version LIMIT %(limit)s) AS v
JOIN dedup.article a ON a.id = v.id
WHERE s.own OR v.before_id = (SELECT id FROM story)
ORDER BY NOT s.own, CASE WHEN s.own THEN v.version ELSE 0 END, v.appeared_at, v.source_id

-- name: present
-- Versions that have a version before them, with the revisions of both.
SELECT v.id, v.before_id, a.revision, b.revision AS before_revision
FROM dedup.story_version v JOIN dedup.article a ON a.id = v.id JOIN dedup.article b ON b.id = v.before_id

-- name: compared
-- Versions that were compared with the version before.
SELECT article_id, before_id, revision, before_revision FROM dedup.compared_version

-- name: to_compare
-- Return the versions whose present revision was not yet compared with the present revision of the version before.
-- EXCEPT takes time proportional to the number of versions, even if statistics are outdated.
SELECT array_agg(id ORDER BY before_id, id), array_agg(before_id ORDER BY before_id, id)
FROM (${present} EXCEPT ${compared}) AS waiting

-- name: keep
-- Store the differences of a version from the version before.
INSERT INTO dedup.compared_version AS c
    (article_id, before_id, revision, before_revision, earlier, later, earlier_hashes, later_hashes)
VALUES (%(article_id)s, %(before_id)s, %(revision)s, %(before_revision)s, %(earlier)s, %(later)s,
        %(earlier_hashes)s::bigint[], %(later_hashes)s::bigint[])
ON CONFLICT (article_id) DO UPDATE
    SET (before_id, revision, before_revision, earlier, later, earlier_hashes, later_hashes, compared_at)
      = (excluded.before_id, excluded.revision, excluded.before_revision, excluded.earlier, excluded.later,
         excluded.earlier_hashes, excluded.later_hashes, excluded.compared_at)

-- name: forget
-- Delete differences of versions that are gone or changed.
DELETE FROM dedup.compared_version WHERE article_id IN (
    SELECT article_id FROM (${compared} EXCEPT ${present}) AS gone)

-- name: alterations
-- Return every stored alteration, story by story.
SELECT story_source_id AS story, source_id AS id, version, before_source_id AS before, publication, appeared_at,
       position, kind, earlier, later, common, times_known
FROM dedup.alteration ORDER BY story_source_id, version, position
