-- Versions of stories, the differences of each version from the version before, and of each copy from its original.

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

-- name: present_copies
-- Copies and their originals, with the revisions of both.
SELECT k.id, k.duplicate_of, a.revision, o.revision
FROM dedup.article_mark k JOIN dedup.article a ON a.id = k.id JOIN dedup.article o ON o.id = k.duplicate_of
WHERE k.status = 'duplicate'

-- name: compared_copies
-- Copies that were compared with their originals.
SELECT article_id, original_id, revision, original_revision FROM dedup.compared_copy

-- name: to_compare
-- Return pairs of articles that were not compared yet in their present revisions: versions with the version before
-- (`altered`), and copies with their original (`added`). For the second version of a story, one pair serves both.
-- EXCEPT takes time proportional to the number of versions, even if statistics are outdated.
SELECT array_agg(id ORDER BY other_id, id), array_agg(other_id ORDER BY other_id, id),
       array_agg(altered ORDER BY other_id, id), array_agg(added ORDER BY other_id, id)
FROM (
    SELECT id, other_id, bool_or(altered) AS altered, bool_or(NOT altered) AS added
    FROM (
        SELECT id, before_id AS other_id, true AS altered FROM (${present} EXCEPT ${compared}) AS version
        UNION ALL
        SELECT id, duplicate_of, false FROM (${present_copies} EXCEPT ${compared_copies}) AS copy
    ) AS waiting
    GROUP BY id, other_id
) AS pair

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

-- name: keep_copies
-- Store the additions of a copy to its original.
INSERT INTO dedup.compared_copy AS c
    (article_id, original_id, revision, original_revision, words, words_added, grams, grams_in_original,
     sentences, numbers)
VALUES (%(article_id)s, %(original_id)s, %(revision)s, %(original_revision)s, %(words)s, %(words_added)s, %(grams)s,
        %(grams_in_original)s, %(sentences)s, %(numbers)s)
ON CONFLICT (article_id) DO UPDATE
    SET (original_id, revision, original_revision, words, words_added, grams, grams_in_original, sentences, numbers,
         compared_at)
      = (excluded.original_id, excluded.revision, excluded.original_revision, excluded.words, excluded.words_added,
         excluded.grams, excluded.grams_in_original, excluded.sentences, excluded.numbers, excluded.compared_at)

-- name: forget_copies
-- Delete additions of copies that are gone, changed, or have another original now.
DELETE FROM dedup.compared_copy WHERE article_id IN (
    SELECT article_id FROM (${compared_copies} EXCEPT ${present_copies}) AS gone)

-- name: additions
-- Return the additions of every compared copy.
SELECT source_id AS id, original_source_id AS original, publication, original_publication, words, words_added,
       sentences_added, numbers_added, share_in_original, adds_nothing, sentences, numbers, times_known
FROM dedup.addition ORDER BY source_id

-- name: removable
-- Return the copies that add nothing to their originals, if both are settled.
SELECT source_id AS id, original_source_id AS original, publication, original_publication, words, times_known
FROM dedup.addition d
WHERE adds_nothing AND NOT stale AND EXISTS (
    SELECT FROM dedup.article_mark o WHERE o.id = d.original_id AND o.status IN ('unique', 'similar') AND NOT o.stale)
ORDER BY source_id

-- name: count_uncompared_copies
-- Count the copies of which no present comparison is stored.
SELECT (SELECT count(*) FROM dedup.article_mark WHERE status = 'duplicate') - (SELECT count(*) FROM dedup.addition)

-- name: alterations
-- Return every stored alteration, story by story.
SELECT story_source_id AS story, source_id AS id, version, before_source_id AS before, publication, appeared_at,
       position, kind, earlier, later, common, times_known
FROM dedup.alteration ORDER BY story_source_id, version, position
