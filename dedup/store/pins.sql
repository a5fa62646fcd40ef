-- Pins of sentences and of pairs.

-- name: carrier
-- Return an article that has one of the given sentences.
SELECT article_id FROM dedup.carrier(%(sentences)s) LIMIT 1

-- name: examples
-- Return the hashes of the pinned sentences, and their stored texts and scopes.
SELECT sentence_hash, example, scope FROM dedup.sentence_pin

-- name: rehash
-- Replace the hashes, the stored texts and the scopes of pinned sentences.
UPDATE dedup.sentence_pin SET sentence_hash = n.hash, example = n.example, scope = n.scope
FROM unnest(%(old)s::bigint[], %(new)s::bigint[], %(examples)s::text[], %(scopes)s::text[])
    AS n (old_hash, hash, example, scope)
WHERE sentence_hash = n.old_hash

-- name: pair_pins
-- Return the pinned pairs, the newest first.
SELECT source_id, other_source_id, relation, pinned_by, reason, pinned_at FROM dedup.pinned_pair
ORDER BY pinned_at DESC, source_id, other_source_id

-- name: pin_pair
-- Pin the relation of two articles, in place of an earlier pin.
INSERT INTO dedup.pair_pin (source_id, other_source_id, relation, pinned_by, reason)
VALUES (%(a)s, %(b)s, %(relation)s, coalesce(%(by)s, current_user), %(reason)s)
ON CONFLICT (source_id, other_source_id) DO UPDATE SET relation = excluded.relation,
    pinned_by = excluded.pinned_by, reason = excluded.reason, pinned_at = now()

-- name: pin_sentence
-- Pin a sentence as always or never common, with its words from the caller or from the table of common sentences.
INSERT INTO dedup.sentence_pin (sentence_hash, common, example, scope)
VALUES (%(hash)s, %(common)s, coalesce(%(example)s::text,
    (SELECT example FROM dedup.common_sentence WHERE sentence_hash = %(hash)s)), %(scope)s)
ON CONFLICT (sentence_hash) DO UPDATE SET common = excluded.common, pinned_at = now(),
    example = coalesce(excluded.example, sentence_pin.example), scope = coalesce(excluded.scope, sentence_pin.scope)

-- name: relation_of
-- Return the pinned relation of two articles.
SELECT relation FROM dedup.pair_pin WHERE (source_id, other_source_id) = (%(a)s, %(b)s)

-- name: unpin_pair
-- Delete the pin of a pair.
DELETE FROM dedup.pair_pin WHERE (source_id, other_source_id) = (%(a)s, %(b)s)

-- name: unpin_sentences
-- Delete pins of sentences.
DELETE FROM dedup.sentence_pin WHERE sentence_hash = ANY (%(sentences)s)

-- name: write_examples
-- Store the full texts and the scopes of pinned sentences.
UPDATE dedup.sentence_pin p SET example = n.example, scope = n.scope
FROM unnest(%(hashes)s::bigint[], %(examples)s::text[], %(scopes)s::text[]) AS n (hash, example, scope)
WHERE p.sentence_hash = n.hash AND (p.example, p.scope) IS DISTINCT FROM (n.example, n.scope)
