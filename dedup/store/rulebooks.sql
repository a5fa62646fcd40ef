-- Settings, sentence parameters and the state row.

-- name: adopt_models
-- Put sentence parameters in force that wait.
UPDATE dedup.sentence_model SET adopted = true WHERE NOT adopted

-- name: adopt_settings
-- Put the wanted settings in force.
UPDATE dedup.setting SET adopted = value WHERE adopted IS DISTINCT FROM value

-- name: adopt_settings_among
-- Put some settings in force that nothing stored was made with.
UPDATE dedup.setting SET adopted = value WHERE name = ANY (%(names)s)

-- name: any_article
-- Whether there is an article.
SELECT EXISTS (SELECT FROM dedup.article)

-- name: bulk_run
-- The run that settles the whole corpus at once.
SELECT bulk_run FROM dedup.corpus_state

-- name: checksums
-- The checksums of the sentence parameters in force, by language.
SELECT language, checksum FROM dedup.sentence_model WHERE adopted ORDER BY language

-- name: delete_replaced_models
-- Sentence parameters in force for which others wait.
DELETE FROM dedup.sentence_model old USING dedup.sentence_model new
WHERE old.adopted AND new.language = old.language AND NOT new.adopted

-- name: delete_reset_settings
-- Settings that go back to their defaults.
DELETE FROM dedup.setting WHERE value IS NULL

-- name: delete_reset_settings_among
-- Those of some settings that go back to their defaults.
DELETE FROM dedup.setting WHERE value IS NULL AND name = ANY (%(names)s)

-- name: delete_unadopted_setting
-- A setting that never was in force.
DELETE FROM dedup.setting WHERE name = %(name)s AND adopted IS NULL

-- name: fingerprint_versions
-- The versions of the fingerprints of some articles, in use or waiting, with the languages.
SELECT f.article_id, f.version, a.language FROM dedup.article a
JOIN (
    SELECT article_id, version FROM dedup.fingerprint
    UNION ALL
    SELECT article_id, version FROM dedup.fingerprint_bulk
) AS f ON f.article_id = a.id
WHERE a.id = ANY (%(ids)s)

-- name: marked_since
-- Whatever is marked by a transaction that begins now or later is marked after this time.
SELECT now() - %(late)s::interval

-- name: models
-- Sentence parameters by language: those in force, or those that wait in their place.
SELECT DISTINCT ON (language) language, abbrev_types, collocations, sent_starters, ortho_context
FROM dedup.sentence_model WHERE adopted OR %(wanted)s ORDER BY language, adopted

-- name: not_withdrawn
-- Articles that were not withdrawn for a plan: those after its last one, and those marked since.
SELECT id FROM dedup.article_mark WHERE id > %(through)s OR %(since)s::timestamptz IS NULL OR marked_at >= %(since)s

-- name: nothing_unsettled
-- Whether every article has its mark and none is stale.
SELECT NOT EXISTS (SELECT FROM dedup.article_mark WHERE status = 'pending' OR stale)

-- name: page_of_articles
-- The next articles by id.
SELECT id FROM dedup.article WHERE id > %(after)s ORDER BY id LIMIT %(limit)s

-- name: reset_setting
-- Have a setting go back to its default.
UPDATE dedup.setting SET value = NULL, changed_at = now() WHERE name = %(name)s

-- name: settings_in_force
-- The settings that articles are judged by.
SELECT name, adopted FROM dedup.setting WHERE adopted IS NOT NULL

-- name: settings_wanted
-- The settings that the next backfill adopts.
SELECT name, value FROM dedup.setting WHERE value IS NOT NULL

-- name: state
-- What the stored results are made with.
SELECT fingerprint_digest, rule_digest, algorithm_revision, unicode_version FROM dedup.corpus_state

-- name: wanted_checksums
-- The checksums of the sentence parameters that the next backfill adopts, by language.
SELECT DISTINCT ON (language) language, checksum FROM dedup.sentence_model ORDER BY language, adopted

-- name: write_model
-- Sentence parameters of a language, for the next backfill to adopt.
INSERT INTO dedup.sentence_model
    (language, abbrev_types, collocations, sent_starters, ortho_context, checksum, articles)
VALUES (%(language)s, %(abbrev_types)s, %(collocations)s, %(sent_starters)s, %(ortho_context)s, %(checksum)s,
        %(articles)s)
ON CONFLICT (language, adopted) DO UPDATE SET
    abbrev_types = excluded.abbrev_types, collocations = excluded.collocations,
    sent_starters = excluded.sent_starters, ortho_context = excluded.ortho_context,
    checksum = excluded.checksum, articles = excluded.articles, trained_at = now()

-- name: write_setting
-- What a setting is to be from the next backfill on.
INSERT INTO dedup.setting (name, value) VALUES (%(name)s, %(value)s)
ON CONFLICT (name) DO UPDATE SET value = excluded.value, changed_at = now()

-- name: write_state
-- What the results are made with from now on.
UPDATE dedup.corpus_state
SET fingerprint_digest = %(fingerprints)s, rule_digest = %(rules)s, algorithm_revision = %(algorithm)s,
    unicode_version = %(unicode)s
