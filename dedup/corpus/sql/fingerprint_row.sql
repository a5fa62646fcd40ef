-- The columns in which settling reads an article, of `dedup.article a` and `dedup.fingerprint f`.
a.id, dedup.canonical_time(a.published_at, a.added_at, %(policy)s, %(earliest)s), a.source_id,
f.canonical, a.takes_part, a.status <> 'pending' AND NOT a.stale AS settled,
EXISTS (SELECT FROM dedup.pair_pin p WHERE p.source_id = a.source_id)
    OR EXISTS (SELECT FROM dedup.pair_pin p WHERE p.other_source_id = a.source_id) AS pinned,
f.content_hash, f.sentence_hashes, f.signature, f.buckets, f.shingle_count, a.score, a.reason
