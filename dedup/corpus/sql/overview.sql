-- The state of a corpus in one row, for `dedup status`.
SELECT (SELECT count(*) FROM dedup.article a WHERE (a.status = 'pending' OR a.stale) AND NOT EXISTS (
            SELECT FROM dedup.fingerprint f WHERE f.article_id = a.id AND f.revision = a.revision)),
       (SELECT count(*) FROM dedup.article WHERE stale),
       (SELECT count(DISTINCT duplicate_of) FROM dedup.article WHERE duplicate_of IS NOT NULL),
       (SELECT count(*) FROM dedup.match WHERE relation = 'similar'),
       (SELECT count(*) FROM dedup.common_sentence),
       (SELECT count(*) FROM dedup.sentence_pin),
       (SELECT count(*) FROM dedup.pair_pin),
       (SELECT horizon FROM dedup.corpus_state),
       (SELECT count(*) FROM dedup.article WHERE archived),
       (SELECT recount_all OR EXISTS (SELECT FROM dedup.sentence_change) FROM dedup.corpus_state),
       (SELECT max(marked_at) FROM dedup.article),
       pg_database_size(current_database()),
       -- As they are stored: compressed, without the pages around them.
       (SELECT coalesce(sum(pg_column_size(text)), 0)::bigint FROM dedup.article)
