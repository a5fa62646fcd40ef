-- The query that an idle worker runs every second.

-- name: look
-- Return three flags: articles must be settled, sentences must be counted, views must be filled.
SELECT EXISTS (
    -- Articles to settle.
    SELECT FROM dedup.article_mark k WHERE k.status = 'pending' OR k.stale
    UNION ALL
    -- Changes of attached tables, unless a person must repair the table, or workers skip it for a while.
    -- `id > 0` is always true, and makes Postgres read the changes by the primary key, in order.
    SELECT FROM dedup.outbox WHERE id > 0 AND attachment_id NOT IN (
        SELECT id FROM dedup.attachment
        WHERE seen -> 'problems' IS NOT NULL
           OR (seen ->> 'until')::double precision > extract(epoch FROM now()))
      -- Changes of base tables that name no rows wait after a comparison of all rows.
      AND (base IS DISTINCT FROM 0 OR attachment_id NOT IN (SELECT id FROM dedup.attachment WHERE rests_until > now()))
    UNION ALL
    -- Attached views that are due to be compared with their articles.
    SELECT FROM dedup.attachment
    WHERE sync_minutes IS NOT NULL AND NOT leaving AND seen -> 'problems' IS NULL
      AND ((seen ->> 'until')::double precision > extract(epoch FROM now())) IS NOT TRUE
      AND synced_at < now() - make_interval(mins => sync_minutes)
    UNION ALL
    -- Rows of attached tables that were refused before, and can be articles now.
    SELECT FROM dedup.refused_row r
    WHERE octet_length(r.source_id) <= %(longest)s
      AND NOT EXISTS (SELECT FROM dedup.article a WHERE a.source_id = r.source_id)
    UNION ALL
    -- Marks to be written into attached tables.
    SELECT FROM dedup.mark_change WHERE failed IS NULL AND attachment_id NOT IN (
        SELECT id FROM dedup.attachment WHERE seen -> 'problems' IS NOT NULL)
    UNION ALL
    -- Articles that could not be stored at once, because another transaction held them.
    SELECT FROM dedup.deferred_article
    UNION ALL
    -- An interrupted run of the memory engine (which settles the whole corpus).
    SELECT FROM dedup.corpus_state WHERE bulk_run IS NOT NULL
    UNION ALL
    -- Fingerprints that a large backfill made, and that are not yet in use.
    SELECT FROM dedup.fingerprint_bulk
    UNION ALL
    -- The horizon (older articles are archived) must be moved, or articles must be divided by the horizon again.
    SELECT FROM dedup.corpus_state WHERE horizon_wanted IS NOT NULL OR divided IS NULL
    UNION ALL
    -- Changed settings that are not yet applied.
    SELECT FROM dedup.setting WHERE value IS DISTINCT FROM adopted
    UNION ALL
    -- New parameters for sentences that are not yet applied.
    SELECT FROM dedup.sentence_model WHERE NOT adopted
), EXISTS (
    -- Sentences to count. A hook (a call that settles an article at once) adds a row for every article that it settles.
    SELECT FROM dedup.corpus_state WHERE recount_all UNION ALL SELECT FROM dedup.sentence_change
    UNION ALL
    -- Articles whose credits must be read.
    SELECT FROM dedup.credit_unread
), EXISTS (
    -- The views `alteration` and `quote` (words of sentences): the scheduled time to fill them has come.
    SELECT FROM dedup.sentence_schedule WHERE begun_at < now() - make_interval(mins => minutes)
)
