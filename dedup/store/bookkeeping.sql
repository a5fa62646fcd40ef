-- Faults in the data on which later marks depend, and the repairs of the faults.

-- name: settled
-- True if the article `a` (a row of `dedup.marked_article`) is settled, has not failed, and is not archived.
a.status IN ('unique', 'similar', 'duplicate') AND NOT a.stale AND NOT a.archived

-- name: lost_fingerprints
-- Fingerprints that belong to no article.
dedup.fingerprint f WHERE NOT EXISTS (SELECT FROM dedup.article a WHERE a.id = f.article_id)

-- name: lost_marks
-- Marks that belong to no article.
dedup.article_mark k WHERE NOT EXISTS (SELECT FROM dedup.article a WHERE a.id = k.id)

-- name: lost_credits
-- Credits that belong to no article, or to no agency of the list.
dedup.credit c
WHERE NOT EXISTS (SELECT FROM dedup.article a WHERE a.id = c.article_id)
   OR NOT EXISTS (SELECT FROM dedup.agency g WHERE g.id = c.agency_id)

-- name: lost_corrections
-- Corrections that belong to no article, or to no phrase of the list.
dedup.correction c
WHERE NOT EXISTS (SELECT FROM dedup.article a WHERE a.id = c.article_id)
   OR NOT EXISTS (SELECT FROM dedup.correction_phrase p WHERE p.phrase = c.phrase)

-- name: missing_marks
-- Articles without a mark, or with a mark that has a different time or attached table than the article.
dedup.article a LEFT JOIN dedup.article_mark k ON k.id = a.id
WHERE (k.id, k.time, k.attachment_id) IS DISTINCT FROM (a.id, coalesce(a.published_at, a.added_at), a.attachment_id)

-- name: lost_pairs
-- Pairs that belong to no article.
dedup.match m
WHERE NOT EXISTS (SELECT FROM dedup.article a WHERE a.id = m.article_id)
   OR NOT EXISTS (SELECT FROM dedup.article a WHERE a.id = m.other_id)

-- name: crossing_pairs
-- Pairs of an archived article and an article that is not archived. Stale articles are left out.
dedup.match m
JOIN dedup.article_mark a ON a.id = m.article_id
JOIN dedup.article_mark o ON o.id = m.other_id
WHERE a.archived <> o.archived AND NOT a.stale AND NOT o.stale

-- name: add_missing_marks
-- Add missing marks as pending, and correct marks with a wrong time or attached table.
INSERT INTO dedup.article_mark (id, time, attachment_id)
SELECT a.id, coalesce(a.published_at, a.added_at), a.attachment_id FROM ${missing_marks}
ON CONFLICT (id) DO UPDATE SET time = excluded.time, attachment_id = excluded.attachment_id

-- name: add_turn
-- Add the row whose lock is the settle lock.
INSERT INTO dedup.settle_turn DEFAULT VALUES ON CONFLICT DO NOTHING

-- name: archived_with_fingerprint
-- Return archived articles that have a fingerprint.
SELECT a.id, a.source_id FROM dedup.marked_article a
WHERE a.archived AND EXISTS (SELECT FROM dedup.fingerprint f WHERE f.article_id = a.id) ORDER BY a.id

-- name: count_crossing_pairs
-- Count pairs of an archived article and an article that is not archived.
SELECT count(*) FROM ${crossing_pairs}

-- name: count_lost_credits
-- Count credits that belong to no article or no agency.
SELECT count(*) FROM ${lost_credits}

-- name: count_lost_corrections
-- Count corrections that belong to no article or no phrase.
SELECT count(*) FROM ${lost_corrections}

-- name: count_lost_fingerprints
-- Count fingerprints that belong to no article.
SELECT count(*) FROM ${lost_fingerprints}

-- name: count_lost_marks
-- Count marks that belong to no article.
SELECT count(*) FROM ${lost_marks}

-- name: count_missing_marks
-- Count articles without a mark, or with a mark that has a wrong time or attached table.
SELECT count(*) FROM ${missing_marks}

-- name: count_lost_pairs
-- Count pairs that belong to no article.
SELECT count(*) FROM ${lost_pairs}

-- name: count_missing_turn
-- Return 1 if the row whose lock is the settle lock is missing, else 0.
SELECT count(*) FROM (SELECT WHERE NOT EXISTS (SELECT FROM dedup.settle_turn)) AS missing

-- name: count_triggers
-- Count triggers that are not set to ENABLE ALWAYS.
SELECT count(*)
FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
WHERE c.relnamespace = 'dedup'::regnamespace AND NOT t.tgisinternal AND t.tgenabled <> 'A'

-- name: delete_crossing_pairs
-- Delete pairs of an archived article and an article that is not archived.
DELETE FROM dedup.match WHERE ctid IN (SELECT m.ctid FROM ${crossing_pairs})

-- name: delete_lost_credits
-- Delete credits that belong to no article or no agency.
DELETE FROM ${lost_credits}

-- name: delete_lost_corrections
-- Delete corrections that belong to no article or no phrase.
DELETE FROM ${lost_corrections}

-- name: delete_lost_fingerprints
-- Delete fingerprints that belong to no article.
DELETE FROM ${lost_fingerprints}

-- name: delete_lost_marks
-- Delete marks that belong to no article.
DELETE FROM ${lost_marks}

-- name: delete_lost_pairs
-- Delete pairs that belong to no article.
DELETE FROM ${lost_pairs}

-- name: failed_with_credits
-- Return failed articles that have credits or a correction, unless a backfill will read them again.
SELECT a.id, a.source_id FROM dedup.marked_article a
WHERE a.status = 'failed' AND NOT a.archived
  AND (a.correction IS NOT NULL OR EXISTS (SELECT FROM dedup.credit c WHERE c.article_id = a.id))
  AND NOT EXISTS (SELECT FROM dedup.credit_unread u WHERE u.article_id = a.id)
ORDER BY a.id

-- name: failed_with_more
-- Return failed articles that have a fingerprint or pairs.
SELECT a.id, a.source_id FROM dedup.marked_article a
WHERE a.status = 'failed' AND NOT a.archived
  AND (EXISTS (SELECT FROM dedup.fingerprint f WHERE f.article_id = a.id)
       OR EXISTS (SELECT FROM dedup.match m WHERE m.article_id = a.id)
       OR EXISTS (SELECT FROM dedup.match m WHERE m.other_id = a.id))
ORDER BY a.id

-- name: fire_always
-- Set every trigger to ENABLE ALWAYS.
SELECT dedup.fire_always()

-- name: flag_disagrees
-- Return settled articles whose mark contradicts the canonical flag of their fingerprint (true: an original).
SELECT a.id, a.source_id FROM dedup.marked_article a
JOIN dedup.fingerprint f ON f.article_id = a.id
WHERE ${settled} AND f.canonical = (a.status = 'duplicate') ORDER BY a.id

-- name: forget_digests
-- Delete the digests of the settings in force, so that the next backfill applies the settings again.
UPDATE dedup.corpus_state SET rule_digest = NULL, fingerprint_digest = NULL

-- name: forget_place
-- Delete the recorded time up to which articles are settled; the next settling records it again.
UPDATE dedup.corpus_state SET settled_through = NULL

-- name: later_than_noted
-- Return whether a settled article is later than the recorded time up to which articles are settled.
SELECT max(dedup.canonical_time(a.published_at, a.added_at, %(policy)s, %(earliest)s))
       > (SELECT settled_through FROM dedup.corpus_state)
FROM dedup.marked_article a WHERE a.takes_part

-- name: never_settled
-- Return articles that take part in comparisons, but are pending or failed.
SELECT a.id, a.source_id FROM dedup.marked_article a
WHERE a.takes_part AND a.status IN ('pending', 'failed') ORDER BY a.id

-- name: no_fingerprint
-- Return settled articles without a fingerprint.
SELECT a.id, a.source_id FROM dedup.marked_article a
WHERE ${settled} AND NOT EXISTS (SELECT FROM dedup.fingerprint f WHERE f.article_id = a.id) ORDER BY a.id

-- name: original_archived
-- Return duplicates that are not archived, but whose original is archived.
SELECT a.id, a.source_id FROM dedup.marked_article a
JOIN dedup.article_mark o ON o.id = a.duplicate_of
WHERE ${settled} AND o.archived ORDER BY a.id

-- name: other_revision
-- Return settled articles whose fingerprint was made from another revision of the text.
SELECT a.id, a.source_id FROM dedup.marked_article a
JOIN dedup.fingerprint f ON f.article_id = a.id
WHERE ${settled} AND f.revision <> a.revision ORDER BY a.id

-- name: pairs_disagree
-- Return settled articles whose marks do not follow from their pairs.
SELECT a.id, a.source_id FROM dedup.marked_article a
LEFT JOIN LATERAL (
    SELECT m.relation, m.other_id, m.score, m.rule FROM dedup.match m
    WHERE m.article_id = a.id AND (a.duplicate_of IS NULL OR m.other_id = a.duplicate_of)
    UNION ALL
    SELECT m.relation, m.article_id, m.score, m.rule FROM dedup.match m
    WHERE m.other_id = a.id AND m.relation = 'similar'
    ORDER BY score DESC, rule LIMIT 1
) AS best ON true
WHERE ${settled}
  AND (coalesce(best.relation, 'unique'), best.score, best.rule) IS DISTINCT FROM (a.status, a.score, a.reason)
ORDER BY a.id

-- name: takes_no_part
-- Return settled articles that take no part in comparisons.
SELECT a.id, a.source_id FROM dedup.marked_article a WHERE ${settled} AND NOT a.takes_part ORDER BY a.id

-- name: unmark_without_original
-- Make duplicates pending if their original is gone, because a mark cannot point to a missing article.
UPDATE dedup.article_mark a
SET status = 'pending', stale = false, duplicate_of = NULL, score = NULL, reason = NULL, marked_at = NULL
WHERE a.id = ANY (%(ids)s) AND a.duplicate_of IS NOT NULL AND NOT a.archived
  AND NOT EXISTS (SELECT FROM dedup.article o WHERE o.id = a.duplicate_of)
