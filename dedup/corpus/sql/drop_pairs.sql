-- Drop those of some similar pairs that are not among the best of their later article. They were kept because the
-- later one was most like the earlier. The rank is that of `kept_similar` in dedup/rules/marks.py.
DELETE FROM dedup.match
WHERE ctid = ANY (ARRAY(
    SELECT kept.place_on_disk
    FROM unnest(%(articles)s::bigint[], %(others)s::bigint[]) AS given (article_id, other_id)
    CROSS JOIN LATERAL (
        SELECT m.ctid, m.other_id, m.likest, m.rule,
               row_number() OVER (ORDER BY m.score DESC, m.rule COLLATE "C", o.time, o.source_id)
        FROM (SELECT ctid, * FROM dedup.match
              WHERE article_id = given.article_id AND relation = 'similar' OFFSET 0) AS m
        CROSS JOIN LATERAL (
            SELECT dedup.canonical_time(a.published_at, a.added_at, %(policy)s, %(earliest)s), a.source_id
            FROM dedup.article a WHERE a.id = m.other_id OFFSET 0) AS o (time, source_id)
        OFFSET 0
    ) AS kept (place_on_disk, other_id, likest, rule, rank)
    WHERE kept.other_id = given.other_id AND NOT kept.likest AND kept.rule <> 'pinned' AND kept.rank > %(pairs)s))
