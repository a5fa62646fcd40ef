-- Settings, sentence parameters, and the versions with which stored results were made.

-- name: adopt_models
-- Put wanted sentence parameters in force.
UPDATE dedup.sentence_model SET adopted = true WHERE NOT adopted

-- name: adopt_settings
-- Put the wanted settings in force.
UPDATE dedup.setting SET adopted = value WHERE adopted IS DISTINCT FROM value

-- name: adopt_settings_among
-- Put the wanted settings among `names` in force.
UPDATE dedup.setting SET adopted = value WHERE name = ANY (%(names)s)

-- name: any_article
-- Return whether the corpus has any article.
SELECT EXISTS (SELECT FROM dedup.article)

-- name: memory_run
-- Return the id of the present run of the memory engine, or null.
SELECT bulk_run FROM dedup.corpus_state

-- name: checksums
-- Return the checksums of the sentence parameters in force, by language.
SELECT language, checksum FROM dedup.sentence_model WHERE adopted ORDER BY language

-- name: delete_replaced_models
-- Delete sentence parameters in force if wanted parameters of the same language replace them.
DELETE FROM dedup.sentence_model old USING dedup.sentence_model new
WHERE old.adopted AND new.language = old.language AND NOT new.adopted

-- name: delete_reset_settings
-- Delete the settings that were reset, so that their defaults are in force.
DELETE FROM dedup.setting WHERE value IS NULL

-- name: delete_reset_settings_among
-- Delete the settings among `names` that were reset, so that their defaults are in force.
DELETE FROM dedup.setting WHERE value IS NULL AND name = ANY (%(names)s)

-- name: delete_unadopted_setting
-- Delete the wanted value of a setting that has no adopted value: its default is in force, so a reset changes nothing.
DELETE FROM dedup.setting WHERE name = %(name)s AND adopted IS NULL

-- name: delete_wanted_model
-- Delete sentence parameters of a language that are not in force.
DELETE FROM dedup.sentence_model WHERE language = %(language)s AND NOT adopted

-- name: fingerprint_versions
-- Return the version of each fingerprint (in use or waiting) of these articles, and the article's language.
SELECT f.article_id, f.version, a.language FROM dedup.article a
JOIN (
    SELECT article_id, version FROM dedup.fingerprint
    UNION ALL
    SELECT article_id, version FROM dedup.fingerprint_bulk
) AS f ON f.article_id = a.id
WHERE a.id = ANY (%(ids)s)

-- name: marked_since
-- Return a time so long ago that all marks with an earlier `marked_at` are committed.
SELECT now() - %(late)s::interval

-- name: models
-- Return the sentence parameters in force, by language; if `wanted`, the parameters after the next backfill.
SELECT DISTINCT ON (language) language, abbrev_types, collocations, sent_starters, ortho_context
FROM dedup.sentence_model WHERE adopted OR %(wanted)s ORDER BY language, adopted

-- name: not_withdrawn
-- Return articles to withdraw: ids after `through`, and articles marked at `since` or later; all if `since` is null.
SELECT id FROM dedup.article_mark WHERE id > %(through)s OR %(since)s::timestamptz IS NULL OR marked_at >= %(since)s

-- name: nothing_unsettled
-- Return whether no article is pending and no mark is stale.
SELECT NOT EXISTS (SELECT FROM dedup.article_mark WHERE status = 'pending' OR stale)

-- name: page_of_articles
-- Return at most `limit` articles with ids after `after`.
SELECT id FROM dedup.article WHERE id > %(after)s ORDER BY id LIMIT %(limit)s

-- name: reset_setting
-- Reset a setting; the next backfill puts the default in force.
UPDATE dedup.setting SET value = NULL, changed_at = now() WHERE name = %(name)s

-- name: settings_in_force
-- Return the settings in force.
SELECT name, adopted FROM dedup.setting WHERE adopted IS NOT NULL

-- name: settings_wanted
-- Return the settings that the next backfill adopts.
SELECT name, value FROM dedup.setting WHERE value IS NOT NULL

-- name: state
-- Return the versions with which the stored results were made.
SELECT fingerprint_digest, rule_digest, algorithm_revision, unicode_version FROM dedup.corpus_state

-- name: wanted_checksums
-- Return the checksums of the sentence parameters that the next backfill adopts, by language.
SELECT DISTINCT ON (language) language, checksum FROM dedup.sentence_model ORDER BY language, adopted

-- name: write_model
-- Store sentence parameters of a language: in force if `adopted`, else for the next backfill to adopt.
INSERT INTO dedup.sentence_model
    (language, adopted, abbrev_types, collocations, sent_starters, ortho_context, checksum, articles)
VALUES (%(language)s, %(adopted)s, %(abbrev_types)s, %(collocations)s, %(sent_starters)s, %(ortho_context)s,
        %(checksum)s, %(articles)s)
ON CONFLICT (language, adopted) DO UPDATE SET
    abbrev_types = excluded.abbrev_types, collocations = excluded.collocations,
    sent_starters = excluded.sent_starters, ortho_context = excluded.ortho_context,
    checksum = excluded.checksum, articles = excluded.articles, trained_at = now()

-- name: write_setting
-- Store a setting, for the next backfill to adopt.
INSERT INTO dedup.setting (name, value) VALUES (%(name)s, %(value)s)
ON CONFLICT (name) DO UPDATE SET value = excluded.value, changed_at = now()

-- name: write_state
-- Write the versions with which results are made from now on.
UPDATE dedup.corpus_state
SET fingerprint_digest = %(fingerprints)s, rule_digest = %(rules)s, algorithm_revision = %(algorithm)s,
    unicode_version = %(unicode)s
