-- Queries for the pages of `dedup browse`, which read through indexes only. A lateral subquery with OFFSET 0 makes one
-- index lookup per row. Without OFFSET 0, Postgres could replace the lookups by a join that reads a whole table,
-- because its statistics of a growing table may be out of date.

-- name: pin_columns
-- The columns of a pin of a pair.
source_id, other_source_id, relation, pinned_by, reason, pinned_at

-- name: judgement_columns
-- The columns of a judgement.
source_id, other_source_id, judged_by, label, note, judged_at, stale IS NOT FALSE

-- name: any_before
-- Return whether a range of days (of an outlet, if given) has an article that is older than a given article.
SELECT EXISTS (
    SELECT FROM dedup.article
    WHERE ${of_outlet} AND coalesce(published_at, added_at) >= %(since)s
      AND (coalesce(published_at, added_at), id) < (%(time)s, %(id)s))

-- name: article
-- Read the details of an article that the type `Mark` lacks: language, scope, times, attached table, safety limit.
SELECT a.language, a.scope, a.published_at, a.added_at, k.marked_at, t.name, k.limit_fired FROM dedup.article a
CROSS JOIN LATERAL (SELECT * FROM dedup.article_mark WHERE id = a.id OFFSET 0) AS k
LEFT JOIN LATERAL (SELECT name FROM dedup.attachment WHERE id = a.attachment_id OFFSET 0) AS t ON true
WHERE a.source_id = %(source_id)s

-- name: beginnings
-- Read the beginnings of texts.
SELECT id, left(text, %(characters)s) FROM dedup.article WHERE id = ANY (%(ids)s) AND text IS NOT NULL

-- name: canonical_carriers
-- Find originals that contain a sentence. Unlike the view dedup.carrier, stop when the page is full.
SELECT h.article_id
FROM dedup.holding('{true}', ARRAY[%(hash)s::bigint]) AS h
CROSS JOIN LATERAL (
    SELECT FROM dedup.fingerprint f
    WHERE f.article_id = h.article_id AND %(hash)s = ANY (f.sentence_hashes) AND f.canonical OFFSET 0) AS f
LIMIT %(limit)s

-- name: copied
-- Find the copies that one outlet made of the articles of another outlet and that are known to be later.
SELECT c.id, c.duplicate_of, p.sentence_jaccard, p.signature_jaccard, p.containment
FROM (SELECT c.id, c.duplicate_of FROM (${scanned}) AS c
      CROSS JOIN LATERAL (
          SELECT publication AS original, known_at FROM dedup.marked_article WHERE id = c.duplicate_of OFFSET 0) AS o
      WHERE original = %(original)s AND ${only} AND ${delay_copied} > interval '0' LIMIT %(page)s) AS c
LEFT JOIN LATERAL (
    SELECT * FROM dedup.match WHERE article_id = c.id AND other_id = c.duplicate_of OFFSET 0) AS p ON true

-- name: copies
-- Read a page of the copies of a story.
SELECT a.id, p.sentence_jaccard, p.signature_jaccard, p.containment
FROM (SELECT id FROM dedup.article_mark
      WHERE duplicate_of = %(story)s AND (time, id) > (%(time)s, %(id)s) ORDER BY time, id LIMIT %(limit)s) AS a
LEFT JOIN LATERAL (
    SELECT * FROM dedup.match WHERE article_id = a.id AND other_id = %(story)s OFFSET 0) AS p ON true

-- name: count_words
-- Count the words of a search text; 0 means that nothing can be searched.
SELECT numnode(plainto_tsquery('simple', ${words}))

-- name: read
-- Read the newest articles of a range, or of an outlet in a range, with their marks.
SELECT a.id, coalesce(published_at, added_at) AS at, ${known} AS known_at, publication, language, status, stale,
       duplicate_of, reason, limit_fired
FROM dedup.article a
CROSS JOIN LATERAL (SELECT * FROM dedup.article_mark WHERE id = a.id OFFSET 0) AS k
WHERE ${of_outlet} AND coalesce(published_at, added_at) >= %(since)s AND coalesce(published_at, added_at) < %(until)s
ORDER BY coalesce(published_at, added_at) DESC, a.id DESC LIMIT %(limit)s

-- name: read_and_earliest
-- Two columns: the number of rows of the query `read`; and an array of time (microseconds) and id of the earliest row.
(SELECT count(*) FROM read),
(SELECT jsonb_build_array((extract(epoch FROM at) * 1000000)::bigint, id)
 FROM (SELECT at, id FROM read ORDER BY at, id LIMIT 1) AS earliest)

-- name: shared
-- Read all articles of each story that has several articles, if one of them is counted.
SELECT * FROM dedup.shared_article WHERE story_id = ANY (ARRAY(
    SELECT DISTINCT coalesce(duplicate_of, id) FROM counted WHERE ${settled}))

-- name: tally
-- Count articles by day, outlet, language and mark. Days are numbered from 2000 on; undated articles have NULL. Articles
-- that may have been the first of several articles of a story count as `shared`, whatever their mark.
SELECT (known_at AT TIME ZONE 'UTC')::date - date '2000-01-01' AS day, c.publication, language,
       CASE WHEN s.id IS NOT NULL AND s.was_first IS NULL AND ${settled} THEN 'shared' ELSE status END AS status, stale,
       count(*) AS articles
FROM counted c LEFT JOIN shared s ON s.id = c.id GROUP BY 1, 2, 3, 4, 5

-- name: settled
-- A condition: the mark is neither pending nor failed.
status IN ('unique', 'similar', 'duplicate')

-- name: credited
-- Read which agency each counted article credits as its source.
SELECT c.id, g.name AS agency FROM counted c
CROSS JOIN LATERAL (
    SELECT agency_id FROM dedup.credit WHERE article_id = c.id AND kind = 'text' OFFSET 0) AS k
CROSS JOIN LATERAL (SELECT name FROM dedup.agency WHERE id = k.agency_id OFFSET 0) AS g

-- name: by_credit
-- Count the articles with a credit, and the articles of each agency.
(SELECT jsonb_build_array((SELECT count(DISTINCT id) FROM credited),
                          jsonb_agg(jsonb_build_array(agency, articles) ORDER BY articles DESC, agency))
 FROM (SELECT agency, count(*) AS articles FROM credited GROUP BY agency
       ORDER BY count(*) DESC, agency LIMIT %(outlets)s) AS by_agency)

-- name: by_day
-- Sum up the counts by mark for each day.
(SELECT jsonb_agg(jsonb_build_array(day) || to_jsonb(counts)) FROM (
    SELECT day, ARRAY[${counts}] AS counts FROM tally GROUP BY day) AS d)

-- name: day
-- Compute the page of a range of days from its newest articles, in one row. Times are in microseconds since 1970.
WITH read AS MATERIALIZED (${read}), counted AS MATERIALIZED (
    SELECT *,
           -- An article without an outlet counts as a separate outlet. No outlet has a name that begins with chr(1).
           coalesce(publication, chr(1) || id) AS outlet,
           CASE WHEN status = 'failed' THEN split_part(reason, ':', 1)
                WHEN status = 'pending' OR stale THEN limit_fired END AS why
    FROM read WHERE ${only} AND ${dated}
), shared AS MATERIALIZED (${shared}), tally AS MATERIALIZED (${tally}), credited AS MATERIALIZED (${credited}), story AS (
    SELECT c.duplicate_of AS id, count(*) AS copies,
           count(DISTINCT c.outlet) FILTER (WHERE c.outlet IS DISTINCT FROM o.publication) AS outlets,
           CASE WHEN bool_and(c.known_at IS NOT NULL) THEN max(c.known_at) END AS last_at
    FROM counted c
    CROSS JOIN LATERAL (SELECT publication FROM dedup.article WHERE id = c.duplicate_of OFFSET 0) AS o
    GROUP BY c.duplicate_of
), print AS (  -- the first copy in each other outlet
    SELECT o.id, o.known_at AS began, c.outlet, min(c.known_at) AS at
    FROM counted c JOIN counted o ON o.id = c.duplicate_of
    WHERE c.outlet <> o.outlet AND ${delay} > interval '0'
    GROUP BY o.id, o.known_at, c.outlet
), reached AS (
    SELECT id, at - began AS reached
    FROM (SELECT *, row_number() OVER (PARTITION BY id ORDER BY at, outlet) AS place FROM print) AS p
    WHERE place = %(spread)s
), told AS MATERIALIZED (
    SELECT s.id, s.copies, s.outlets, (extract(epoch FROM s.last_at) * 1000000)::bigint AS last_at,
           (extract(epoch FROM r.reached) * 1000000)::bigint AS reached
    FROM story s LEFT JOIN reached r ON r.id = s.id
)
SELECT ${read_and_earliest},
    ${by_day},
    ${by_credit},
    (SELECT jsonb_agg(jsonb_build_array(hour, articles)) FROM (
        SELECT CASE WHEN known_at <> date_trunc('day', known_at, 'UTC')
                    THEN extract(hour FROM known_at AT TIME ZONE 'UTC')::integer END AS hour, count(*) AS articles
        FROM counted WHERE known_at IS NOT NULL GROUP BY 1) AS h),
    (SELECT jsonb_agg(jsonb_build_array(name, outlets) || to_jsonb(counts) ORDER BY counts[1] DESC, place) FROM (
        SELECT ${publication} AS name, count(*) OVER () AS outlets, ARRAY[${counts}] AS counts,
               row_number() OVER (ORDER BY sum(articles) DESC, publication COLLATE "C") AS place
        FROM tally GROUP BY publication ORDER BY place LIMIT %(outlets)s) AS o),
    (SELECT jsonb_agg(jsonb_build_array(name) || to_jsonb(counts) ORDER BY counts[1] DESC, name) FROM (
        SELECT ${language} AS name, ARRAY[${counts}] AS counts
        FROM tally GROUP BY language ORDER BY sum(articles) DESC, language COLLATE "C" LIMIT %(outlets)s) AS l),
    (SELECT jsonb_agg(jsonb_build_array(id, copies, outlets, last_at, reached)
                      ORDER BY copies DESC, outlets DESC, id) FROM (
        SELECT * FROM told ORDER BY copies DESC, outlets DESC, id LIMIT %(listed)s) AS b),
    (SELECT jsonb_agg(jsonb_build_array(id, copies, outlets, last_at, reached)
                      ORDER BY reached, copies DESC, id) FROM (
        SELECT * FROM told WHERE reached IS NOT NULL ORDER BY reached, copies DESC, id
        LIMIT %(listed)s) AS f),
    (SELECT jsonb_agg(jsonb_build_array(kind, why, articles, examples) ORDER BY kind, articles DESC, why) FROM (
        SELECT CASE WHEN stale THEN 'stale' ELSE status END AS kind, why, count(*) AS articles,
               (array_agg(id ORDER BY at DESC, id DESC))[1:%(examples)s::integer] AS examples
        FROM counted WHERE status IN ('pending', 'failed') OR stale GROUP BY 1, 2
        ORDER BY articles DESC LIMIT %(troubles)s) AS t)

-- name: duplicate_carriers
-- Find duplicates that contain a sentence, in the same way as `canonical_carriers` finds originals.
SELECT h.article_id
FROM dedup.holding('{false}', ARRAY[%(hash)s::bigint]) AS h
CROSS JOIN LATERAL (
    SELECT FROM dedup.fingerprint f
    WHERE f.article_id = h.article_id AND %(hash)s = ANY (f.sentence_hashes) AND NOT f.canonical OFFSET 0) AS f
LIMIT %(limit)s

-- name: figures
-- Read the counts of a fingerprint.
SELECT word_count, cardinality(sentence_hashes),
       (SELECT count((SELECT true FROM dedup.common_sentence WHERE sentence_hash = s.hash OFFSET 0))
        FROM unnest(sentence_hashes) AS s (hash)),
       shingle_count, buckets = '{}'
FROM dedup.fingerprint WHERE article_id = %(id)s

-- name: free
-- A condition: nobody has pinned or judged the pair of the articles with the table aliases a and o.
NOT EXISTS (SELECT FROM dedup.pair_pin p WHERE p.source_id = least(a.source_id, o.source_id)
            AND p.other_source_id = greatest(a.source_id, o.source_id))
AND NOT EXISTS (SELECT FROM dedup.judgement j WHERE j.source_id = least(a.source_id, o.source_id)
                AND j.other_source_id = greatest(a.source_id, o.source_id))

-- name: health
-- Read the time before which articles are archived, the size of the database, and the attached tables.
SELECT horizon, pg_database_size(current_database()), ARRAY(SELECT name FROM dedup.attachment ORDER BY id)
FROM dedup.corpus_state

-- name: hits
-- Count articles by outlet, language, credited agency, family and day. Names are cut to 1,000 characters.
WITH hit AS MATERIALIZED (
    SELECT a.* FROM unnest(%(ids)s::bigint[]) AS given (id)
    CROSS JOIN LATERAL (
        SELECT id, publication, language, known_at FROM dedup.marked_article WHERE id = given.id OFFSET 0) AS a
), credited AS (
    SELECT DISTINCT h.id, g.name FROM hit h
    CROSS JOIN LATERAL (
        SELECT agency_id FROM dedup.credit WHERE article_id = h.id AND kind = 'text' OFFSET 0) AS k
    CROSS JOIN LATERAL (SELECT name FROM dedup.agency WHERE id = k.agency_id OFFSET 0) AS g
)
SELECT kind, value, count(*) FROM (
    SELECT 'publication' AS kind, left(publication, 1000) AS value FROM hit
    UNION ALL SELECT 'language', left(language, 1000) FROM hit
    UNION ALL SELECT 'credit', name FROM credited
    UNION ALL SELECT 'family', family FROM hit JOIN (${owned}) AS owned ON name = publication COLLATE "C"
    UNION ALL SELECT 'day', (known_at AT TIME ZONE 'UTC')::date::text FROM hit) AS found
WHERE value IS NOT NULL GROUP BY kind, value ORDER BY count(*) DESC, value COLLATE "C"

-- name: in_order
-- Read the newest articles that fulfil a condition. If the maximum number of articles was read, also return the last article
-- read, even if it does not fulfil the condition; the last column is true for this article.
SELECT at, id, (${condition}) IS TRUE, place = %(limit)s
FROM (SELECT *, row_number() OVER () AS place FROM (${scanned}) AS scanned) AS found
WHERE (${condition}) OR place = %(limit)s LIMIT %(page)s

-- name: in_order_until
-- Return the oldest article read for a page, if the maximum number was read: the next page continues after it.
SELECT at, id FROM (SELECT at, id, row_number() OVER () AS place FROM (${scanned}) AS scanned) AS s
WHERE place = %(limit)s

-- name: judgements_of_article
-- Read the newest judgements of pairs with an article.
SELECT * FROM (SELECT ${judgement_columns} FROM dedup.judged_pair WHERE source_id = %(id)s
               UNION ALL
               SELECT ${judgement_columns} FROM dedup.judged_pair WHERE other_source_id = %(id)s) AS j
ORDER BY judged_at DESC, source_id, other_source_id, judged_by LIMIT %(limit)s

-- name: judgements_of_pair
-- Read the newest judgements of a pair.
SELECT ${judgement_columns} FROM dedup.judged_pair WHERE source_id = %(a)s AND other_source_id = %(b)s
ORDER BY judged_at DESC, judged_by LIMIT %(limit)s

-- name: lines
-- Read articles for a list, with long labels cut. Of articles without a title, also read the common sentences and the
-- beginning.
SELECT a.id, a.source_id, left(a.title, %(characters)s), left(a.publication, %(characters)s),
       coalesce(published_at, added_at), a.known_at IS NOT NULL, a.status, a.stale, a.archived, o.source_id, a.score,
       left(a.reason, %(characters)s),
       (SELECT count(*) FROM (SELECT FROM dedup.article_mark WHERE duplicate_of = a.id LIMIT %(copies)s) AS copy),
       CASE WHEN length(a.url) <= %(longest)s THEN a.url END, a.correction,
       CASE WHEN btrim(coalesce(a.title, '')) = '' THEN ARRAY(
           SELECT example FROM (SELECT unnest(sentence_hashes[1:%(sentences)s::integer]) AS hash
                                FROM dedup.fingerprint WHERE article_id = a.id OFFSET 0) AS s
           CROSS JOIN LATERAL (SELECT example FROM dedup.common_sentence WHERE sentence_hash = hash OFFSET 0) AS c
           WHERE example IS NOT NULL) END,
       CASE WHEN btrim(coalesce(a.title, '')) = '' THEN left(a.text, %(beginning)s) END
FROM unnest(%(ids)s::bigint[]) AS given (id)
CROSS JOIN LATERAL (SELECT * FROM dedup.marked_article WHERE id = given.id OFFSET 0) AS a
LEFT JOIN LATERAL (SELECT source_id FROM dedup.article WHERE id = a.duplicate_of OFFSET 0) AS o ON true

-- name: matching
-- Find articles by the index of words, days and outlets. The last column tells whether the other conditions hold.
SELECT dated, at, id,
       at >= %(since)s AND at < %(end)s AND (dated, at, id) < (%(dated)s, %(until)s, %(before)s) AND ${condition}
FROM (SELECT *, coalesce(published_at, added_at) AS at, (known_at IS NOT NULL)::integer AS dated
      FROM dedup.marked_article
      WHERE ${indexed} @@ (plainto_tsquery('simple', ${words}) && %(marks)s::text::tsquery)
      LIMIT %(limit)s) AS found

-- name: named
-- Find the articles with an address or a source_id, the newest first. OFFSET 0 stops the planner from walking the
-- index of times instead.
SELECT %(dated)s::integer, at, id
FROM (SELECT *, coalesce(published_at, added_at) AS at FROM dedup.marked_article
      WHERE ${column} = %(value)s LIMIT %(limit)s OFFSET 0) AS found
WHERE at >= %(since)s AND (at, id) < (%(until)s, %(before)s) AND ${condition} ORDER BY at DESC, id DESC LIMIT %(page)s

-- name: newest
-- Read the time of the newest article of a range.
SELECT coalesce(published_at, added_at) FROM dedup.article
WHERE (coalesce(published_at, added_at), id) < (%(until)s, %(before)s)
  AND coalesce(published_at, added_at) >= %(since)s
ORDER BY coalesce(published_at, added_at) DESC, id DESC LIMIT 1

-- name: nearest_day
-- Read the time of the nearest dated article on one side of a time, among a limited number of articles. `side`: `<`
-- or `>=`. `direction`: DESC or ASC.
SELECT at FROM (
    SELECT ${known} AS at, a.id, publication, language FROM dedup.article a
    WHERE ${of_outlet} AND coalesce(published_at, added_at) ${side} %(time)s
    ORDER BY coalesce(published_at, added_at) ${direction}, a.id ${direction} LIMIT %(limit)s) AS beside
WHERE at IS NOT NULL AND ${only} LIMIT 1

-- name: of_outlet
-- Keep the articles of an outlet. The index of outlets has the same expression, so that Postgres can use the index.
left(publication, 100) COLLATE "C" = left(%(publication)s, 100) AND publication IS NOT NULL

-- name: outlets
-- Count who copied whom among the newest articles of a range: totals, and the pairs of outlets with the most copies.
WITH read AS MATERIALIZED (${read}), counted AS MATERIALIZED (
    SELECT id, status, publication, known_at, duplicate_of FROM read
    WHERE duplicate_of IS NOT NULL AND ${only} AND ${dated}
), shared AS MATERIALIZED (${shared}), maybe AS MATERIALIZED (  -- for each story the outlets that may be its first
    SELECT DISTINCT story_id, publication AS name FROM shared WHERE was_first IS NULL AND publication IS NOT NULL
), copy AS MATERIALIZED (
    SELECT c.publication AS copier, o.publication AS original, ${delay} AS delay
    FROM counted c
    CROSS JOIN LATERAL (
        SELECT publication, known_at FROM dedup.marked_article WHERE id = c.duplicate_of OFFSET 0) AS o
), cell AS MATERIALIZED (
    SELECT copier, original, count(*) AS copies,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM delay)::double precision) AS median_delay
    FROM copy WHERE copier IS NOT NULL AND original IS NOT NULL AND delay > interval '0' GROUP BY copier, original
), tied AS MATERIALIZED (  -- the outlets that may be the first outlet of the most stories
    SELECT name FROM maybe GROUP BY name ORDER BY count(*) DESC, name COLLATE "C" LIMIT %(tied)s
), tie AS MATERIALIZED (
    SELECT a.name AS one, b.name AS other, count(*) AS stories
    FROM maybe a JOIN maybe b ON b.story_id = a.story_id AND b.name COLLATE "C" > a.name COLLATE "C"
    WHERE a.name = ANY (ARRAY(SELECT name FROM tied)) AND b.name = ANY (ARRAY(SELECT name FROM tied))
    GROUP BY a.name, b.name
    ORDER BY count(*) DESC, a.name COLLATE "C", b.name COLLATE "C" LIMIT %(pairs)s
), shown AS MATERIALIZED (
    SELECT * FROM cell WHERE copier <> original
    ORDER BY copies DESC, copier COLLATE "C", original COLLATE "C" LIMIT %(pairs)s
)
SELECT ${read_and_earliest},
    (SELECT count(*) FROM copy),
    (SELECT count(*) FROM copy WHERE (copier IS NULL OR original IS NULL) AND delay > interval '0'),
    (SELECT count(*) FROM copy WHERE (delay > interval '0') IS NOT TRUE),
    (SELECT coalesce(sum(copies), 0)::bigint FROM cell WHERE copier = original),
    (SELECT count(*) FROM cell WHERE copier <> original),
    (SELECT jsonb_agg(jsonb_build_array(copier, original, copies, median_delay)
                      ORDER BY copies DESC, copier COLLATE "C", original COLLATE "C") FROM shown),
    (SELECT jsonb_agg(jsonb_build_array(one, other, stories)
                      ORDER BY stories DESC, one COLLATE "C", other COLLATE "C") FROM tie)

-- name: outlet
-- Compute the page of an outlet in one row: marks, outlets that it copies, outlets that copy it, stories it began.
WITH read AS MATERIALIZED (${read}), counted AS MATERIALIZED (SELECT * FROM read WHERE ${only} AND ${dated}),
shared AS MATERIALIZED (${shared}), tally AS MATERIALIZED (${tally}), maybe AS MATERIALIZED (
    -- Stories of which this outlet may be the first outlet: the other outlets that may be the first.
    SELECT publication AS other, count(DISTINCT story_id) AS stories FROM shared
    WHERE was_first IS NULL AND publication IS DISTINCT FROM %(publication)s AND story_id IN (
        SELECT story_id FROM shared WHERE was_first IS NULL AND publication = %(publication)s)
    GROUP BY publication
), credited AS MATERIALIZED (${credited}
), copy AS MATERIALIZED (
    SELECT o.publication AS other, ${delay} AS delay
    FROM counted c
    CROSS JOIN LATERAL (
        SELECT publication, known_at FROM dedup.marked_article o WHERE o.id = c.duplicate_of OFFSET 0) AS o
    WHERE c.duplicate_of IS NOT NULL
), copied AS MATERIALIZED (
    SELECT c.id, o.publication AS other, o.known_at, ${delay_by} AS delay
    FROM counted c
    CROSS JOIN LATERAL (SELECT id FROM dedup.article_mark WHERE duplicate_of = c.id OFFSET 0) AS k
    CROSS JOIN LATERAL (
        SELECT publication, known_at FROM dedup.marked_article o WHERE o.id = k.id OFFSET 0) AS o
    WHERE c.status IN ('unique', 'similar') LIMIT %(copied)s
), pair AS MATERIALIZED (
    SELECT 'from' AS side, other, delay, 0 AS stories FROM copy WHERE delay > interval '0'
    UNION ALL SELECT 'by', other, delay, 0 FROM copied WHERE delay > interval '0'
    UNION ALL SELECT side, other, NULL, stories FROM maybe CROSS JOIN (VALUES ('from'), ('by')) AS s (side)
), partner AS MATERIALIZED (
    SELECT side, ${label} AS name, count(delay) AS copies, sum(stories)::bigint AS undated,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM delay)::double precision) AS median,
           count(*) OVER (PARTITION BY side) AS partners,
           row_number() OVER (PARTITION BY side ORDER BY count(delay) DESC, sum(stories) DESC, other COLLATE "C") AS place
    FROM pair GROUP BY side, other
), every AS MATERIALIZED (
    SELECT side, percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM delay)::double precision) AS median
    FROM pair WHERE other IS DISTINCT FROM %(publication)s GROUP BY side
), story AS (
    SELECT id, count(*) AS copies,
           count(DISTINCT coalesce(other, '')) FILTER (WHERE other IS DISTINCT FROM %(publication)s) AS outlets,
           max(known_at) AS last_at
    FROM copied WHERE delay > interval '0' GROUP BY id ORDER BY count(*) DESC, id LIMIT %(listed)s
)
SELECT ${read_and_earliest},
    ${by_day},
    ${by_credit},
    (SELECT count(*) FROM copied),
    (SELECT count(*) FROM copied WHERE delay > interval '0'),
    (SELECT jsonb_agg(jsonb_build_array(side, name, copies, undated, partner.median, partners, every.median)
                      ORDER BY side, place)
     FROM partner LEFT JOIN every USING (side) WHERE place <= %(partners)s),
    (SELECT jsonb_agg(jsonb_build_array(id, copies, outlets, (extract(epoch FROM last_at) * 1000000)::bigint, null)
                      ORDER BY copies DESC, id) FROM story)

-- name: outlet_names
-- List the outlets with one index lookup per outlet. Names longer than the indexed part are left out.
WITH RECURSIVE outlet AS (
    (SELECT left(publication, 100) COLLATE "C" AS name FROM dedup.article
     WHERE publication IS NOT NULL ORDER BY left(publication, 100) COLLATE "C" LIMIT 1)
    UNION ALL
    SELECT (SELECT left(publication, 100) COLLATE "C" FROM dedup.article
            WHERE publication IS NOT NULL AND left(publication, 100) COLLATE "C" > outlet.name
            ORDER BY left(publication, 100) COLLATE "C" LIMIT 1)
    FROM outlet WHERE name IS NOT NULL
)
SELECT name FROM outlet WHERE length(name) < 100 LIMIT %(limit)s

-- name: agency_names
-- List the agencies that articles can credit.
SELECT name FROM dedup.agency ORDER BY name LIMIT %(limit)s

-- name: family_names
-- List the families of outlets.
SELECT DISTINCT family FROM dedup.outlet WHERE family IS NOT NULL ORDER BY family LIMIT %(limit)s

-- name: families
-- Read the families of outlets.
SELECT name, family FROM (${owned}) AS owned WHERE name = ANY (%(names)s::text[])

-- name: owned
-- Outlets with their family: an alias has the family of its outlet.
SELECT o.name, coalesce(t.family, o.family) AS family FROM dedup.outlet o LEFT JOIN dedup.outlet t ON t.name = o.alias_of

-- name: language_names
-- List the languages of the newest articles.
SELECT language FROM (SELECT left(language, 100) AS language FROM dedup.article
    ORDER BY coalesce(published_at, added_at) DESC, id DESC LIMIT %(recent)s) AS recent
WHERE language IS NOT NULL GROUP BY language ORDER BY language COLLATE "C" LIMIT %(limit)s

-- name: pair
-- Read the stored match of a pair.
SELECT o.source_id, m.relation, m.rule, m.score, m.sentence_jaccard, m.signature_jaccard, m.containment
FROM dedup.match m JOIN dedup.article o ON o.id = m.other_id
WHERE m.article_id = %(later)s AND m.other_id = %(earlier)s

-- name: pair_columns
-- The columns of the stored match of a pair.
m.article_id, m.other_id, o.source_id, m.relation, m.rule, m.score, m.sentence_jaccard, m.signature_jaccard,
m.containment

-- name: picked
-- Read the pairs picked by `dedup judge pairs` that nobody has pinned or judged, in the order of the selection.
SELECT a.id, o.id, r.scores FROM dedup.review_pair r
CROSS JOIN LATERAL (SELECT id, source_id FROM dedup.article WHERE source_id = r.source_id OFFSET 0) AS a
CROSS JOIN LATERAL (SELECT id, source_id FROM dedup.article WHERE source_id = r.other_source_id OFFSET 0) AS o
WHERE ${free} ORDER BY r.place LIMIT %(limit)s

-- name: pin_of_pair
-- Read the pin of a pair.
SELECT ${pin_columns} FROM dedup.pair_pin WHERE source_id = %(a)s AND other_source_id = %(b)s

-- name: pinned
-- Read the pinned sentences, the newest first.
SELECT ${pinned_sentence} ORDER BY p.pinned_at DESC, p.sentence_hash DESC LIMIT %(limit)s

-- name: pins_of_article
-- Read the newest pins of pairs with an article.
SELECT * FROM (SELECT ${pin_columns} FROM dedup.pair_pin WHERE source_id = %(id)s
               UNION ALL
               SELECT ${pin_columns} FROM dedup.pair_pin WHERE other_source_id = %(id)s) AS p
ORDER BY pinned_at DESC, source_id, other_source_id LIMIT %(limit)s

-- name: pins_page
-- Read a page of pins of pairs, the newest first.
SELECT ${pin_columns} FROM dedup.pair_pin
WHERE (pinned_at, source_id, other_source_id) < (%(time)s, %(a)s, %(b)s)
ORDER BY pinned_at DESC, source_id DESC, other_source_id DESC LIMIT %(limit)s

-- name: scanned
-- Read the newest articles of a range, or of an outlet in a range.
SELECT coalesce(published_at, added_at) AS at, a.id, publication, language, published_at, added_at, status,
       duplicate_of, scope
FROM dedup.article a
CROSS JOIN LATERAL (SELECT * FROM dedup.article_mark WHERE id = a.id OFFSET 0) AS k
WHERE ${of_outlet} AND coalesce(published_at, added_at) >= %(since)s
  AND (coalesce(published_at, added_at), a.id) < (%(until)s, %(before)s)
ORDER BY coalesce(published_at, added_at) DESC, a.id DESC LIMIT %(limit)s

-- name: near
-- Read the unpinned and unjudged pairs that are nearest to a threshold. `rules`: a condition on `rule`, such as
-- `= 'containment'`. `measure`: the column compared with the threshold. `side`: `>=` or `<`. `direction`: ASC or DESC.
SELECT ${pair_columns}
FROM (SELECT * FROM dedup.match WHERE rule ${rules} AND ${measure} ${side} %(threshold)s
      ORDER BY ${measure} ${direction} LIMIT %(nearest)s) AS m
${unsaid}

-- name: common_sentence
-- The columns and the FROM clause of common sentences.
c.sentence_hash, c.carriers, c.effective_stories, true, ${said}, coalesce(c.example, p.example), c.since
FROM dedup.common_sentence c LEFT JOIN dedup.sentence_pin p ON p.sentence_hash = c.sentence_hash

-- name: pinned_sentence
-- The columns and the FROM clause of pinned sentences.
p.sentence_hash, c.carriers, c.effective_stories, c.sentence_hash IS NOT NULL, ${said},
coalesce(c.example, p.example), c.since
FROM dedup.sentence_pin p LEFT JOIN dedup.common_sentence c ON c.sentence_hash = p.sentence_hash

-- name: said
-- Return the pin of a sentence as `always` or `never`.
CASE p.common WHEN true THEN 'always' WHEN false THEN 'never' END

-- name: sentence
-- Read a common or pinned sentence.
SELECT ${common_sentence} WHERE c.sentence_hash = %(hash)s
UNION ALL
SELECT ${pinned_sentence} WHERE p.sentence_hash = %(hash)s AND c.sentence_hash IS NULL

-- name: sentences
-- Read a page of common sentences.
SELECT ${common_sentence}
WHERE (c.${order}, ~c.sentence_hash) < (%(place)s, ~%(hash)s::bigint)
ORDER BY c.${order} DESC, ~c.sentence_hash DESC LIMIT %(limit)s

-- name: origin
-- Read the agency or outlet that the text of a story is from. Count the outlets of the story, up to a number of copies.
SELECT o.kind, o.name, (
    SELECT count(DISTINCT p.outlet)
    FROM (SELECT o.story_id AS id UNION ALL
          (SELECT id FROM dedup.article_mark WHERE duplicate_of = o.story_id LIMIT %(counted)s)) AS v
    CROSS JOIN LATERAL (SELECT outlet FROM dedup.outlet_article WHERE id = v.id OFFSET 0) AS p)
FROM dedup.story_origin o
WHERE o.story_id = (SELECT coalesce(duplicate_of, id) FROM dedup.article_mark WHERE id = %(id)s)

-- name: story
-- Read the original of an article's story, with the original's number of words, its number of copies (up to a limit)
-- and its earliest copies.
SELECT c.id, (SELECT word_count FROM dedup.fingerprint WHERE article_id = c.id),
       (SELECT count(*) FROM (SELECT FROM dedup.article_mark WHERE duplicate_of = c.id LIMIT %(counted)s) AS copies),
       ARRAY(SELECT id FROM dedup.article_mark WHERE duplicate_of = c.id ORDER BY time, id LIMIT %(prints)s)
FROM (SELECT coalesce(k.duplicate_of, k.id) AS id
      FROM dedup.article a CROSS JOIN LATERAL (SELECT * FROM dedup.article_mark WHERE id = a.id OFFSET 0) AS k
      WHERE a.source_id = %(source_id)s OFFSET 0) AS c

-- name: text
-- Read the beginning of a text and the length of the text. HTML is read whole, since cut markup could not be parsed.
SELECT CASE WHEN html THEN text ELSE left(text, %(characters)s) END, length(text), html
FROM dedup.article_text WHERE article_id = %(id)s

-- name: unsaid
-- Keep pairs m that nobody has pinned or judged, and whose later article is not archived. The articles are looked up
-- one by one, so that Postgres stops as soon as the limit is reached.
CROSS JOIN LATERAL (SELECT source_id, archived FROM dedup.marked_article WHERE id = m.article_id OFFSET 0) AS a
CROSS JOIN LATERAL (SELECT source_id FROM dedup.article WHERE id = m.other_id OFFSET 0) AS o
WHERE NOT a.archived AND ${free} LIMIT %(limit)s

-- name: word_counts
-- Read how many words each article has.
SELECT article_id, word_count FROM dedup.fingerprint WHERE article_id = ANY (%(ids)s)
