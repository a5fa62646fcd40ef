-- Outlets over time, and ties of outlets, for research (docs/semantics.md, section 12). Outlets are those of
-- outlet_article: an alias is its outlet.

CREATE VIEW dedup.origin_month AS
SELECT month, outlet, min(family) AS family, origin_kind, origin, count(*) AS articles,
       count(*) FILTER (WHERE class = 'own') AS own, count(*) FILTER (WHERE class = 'copied') AS copied,
       count(*) FILTER (WHERE class = 'agency') AS agency, count(*) FILTER (WHERE class = 'first unknown') AS first_unknown
FROM (
    SELECT date_trunc('month', a.known_at, 'UTC')::date AS month, p.outlet, p.family,
           coalesce(o.kind, 'not compared') AS origin_kind, o.name AS origin,
           CASE WHEN o.kind IS NULL THEN 'not compared'
                WHEN o.kind = 'agency' AND o.name IS DISTINCT FROM p.agency THEN 'agency'
                WHEN s.id IS NULL OR s.was_first THEN 'own'
                WHEN NOT s.was_first THEN 'copied' ELSE 'first unknown' END AS class
    FROM dedup.marked_article a
    JOIN dedup.outlet_article p ON p.id = a.id
    LEFT JOIN dedup.shared_article s ON s.id = a.id
    LEFT JOIN dedup.story_origin o
           ON o.story_id = CASE WHEN a.status IN ('unique', 'similar', 'duplicate') THEN coalesce(a.duplicate_of, a.id) END
) AS classed
GROUP BY month, outlet, origin_kind, origin;
COMMENT ON VIEW dedup.origin_month IS 'Articles by month of publication (UTC), outlet and origin. Each settled article is one of own, copied, agency and first_unknown.';
COMMENT ON COLUMN dedup.origin_month.month IS 'First day of the month; null: articles without a known time of publication.';
COMMENT ON COLUMN dedup.origin_month.outlet IS 'The outlet; null where unknown.';
COMMENT ON COLUMN dedup.origin_month.family IS 'Its owner; null where unknown.';
COMMENT ON COLUMN dedup.origin_month.origin_kind IS 'agency, family, outlet or unknown, as in story_origin; `not compared`: pending and failed articles.';
COMMENT ON COLUMN dedup.origin_month.origin IS 'Name of the agency, the family or the outlet that stands behind the texts; null if unknown.';
COMMENT ON COLUMN dedup.origin_month.articles IS 'Number of articles.';
COMMENT ON COLUMN dedup.origin_month.own IS 'Articles that were the first of their story, or have it for themselves, and are no text of another agency.';
COMMENT ON COLUMN dedup.origin_month.copied IS 'Articles that were not the first of their story, and are no text of another agency.';
COMMENT ON COLUMN dedup.origin_month.agency IS 'Articles with the text of an agency that the outlet is not.';
COMMENT ON COLUMN dedup.origin_month.first_unknown IS 'Articles that share their story, and of which times do not tell whether they were first; no text of another agency.';

CREATE VIEW dedup.outlet_month AS
SELECT month, outlet, min(family) AS family, sum(articles)::bigint AS articles, sum(own)::bigint AS own,
       sum(copied)::bigint AS copied, sum(agency)::bigint AS agency, sum(first_unknown)::bigint AS first_unknown,
       coalesce(sum(articles) FILTER (WHERE origin_kind = 'not compared'), 0)::bigint AS not_compared,
       (sum(articles) FILTER (WHERE origin_kind <> 'not compared') ^ 2
        / sum(articles ^ 2) FILTER (WHERE origin_kind <> 'not compared'))::double precision AS diversity,
       month IS NOT NULL AND sum(first_unknown) = 0 AS times_known
FROM dedup.origin_month
GROUP BY month, outlet;
COMMENT ON VIEW dedup.outlet_month IS 'A panel: each outlet in each month of publication (UTC), and its undated articles.';
COMMENT ON COLUMN dedup.outlet_month.month IS 'First day of the month; null: articles without a known time of publication.';
COMMENT ON COLUMN dedup.outlet_month.outlet IS 'The outlet; null where unknown.';
COMMENT ON COLUMN dedup.outlet_month.family IS 'Its owner; null where unknown.';
COMMENT ON COLUMN dedup.outlet_month.articles IS 'Number of articles: the sum of the next five columns.';
COMMENT ON COLUMN dedup.outlet_month.own IS 'Articles that were the first of their story, or have it for themselves, and are no text of another agency.';
COMMENT ON COLUMN dedup.outlet_month.copied IS 'Articles that were not the first of their story, and are no text of another agency.';
COMMENT ON COLUMN dedup.outlet_month.agency IS 'Articles with the text of an agency that the outlet is not.';
COMMENT ON COLUMN dedup.outlet_month.first_unknown IS 'Articles that share their story, and of which times do not tell whether they were first; no text of another agency.';
COMMENT ON COLUMN dedup.outlet_month.not_compared IS 'Pending and failed articles.';
COMMENT ON COLUMN dedup.outlet_month.diversity IS 'Effective number of origins of the compared articles: inverse Simpson index (Simpson 1949; Hill 1973, order 2). 1: all have one origin; null: none is compared.';
COMMENT ON COLUMN dedup.outlet_month.times_known IS 'Whether times tell the month, and of each shared story whether the outlet was first.';

-- Without known times a row has no direction: it counts the stories of which either outlet may have been first.
CREATE VIEW dedup.outlet_overlap AS
SELECT CASE WHEN later THEN copier ELSE original END AS outlet,
       CASE WHEN later THEN original ELSE copier END AS original_outlet,
       count(*) AS copies, count(*) FILTER (WHERE agency) AS agency_copies,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY abs(extract(epoch FROM delay))) * interval '1 second' AS median_delay,
       true AS times_known
FROM (
    SELECT c.outlet AS copier, o.outlet AS original, d.delay, d.delay > interval '0' AS later,
           (SELECT kind = 'agency' FROM dedup.story_origin WHERE story_id = d.original_id OFFSET 0) AS agency
    FROM dedup.duplicate d
    JOIN dedup.outlet_article c ON c.id = d.id
    JOIN dedup.outlet_article o ON o.id = d.original_id
    WHERE d.times_known AND c.outlet <> o.outlet
) AS pair
GROUP BY 1, 2
UNION ALL
SELECT a.outlet, b.outlet, count(*),
       count(*) FILTER (WHERE (SELECT kind = 'agency' FROM dedup.story_origin WHERE story_id = a.story_id OFFSET 0)),
       NULL, false
FROM (SELECT DISTINCT s.story_id, p.outlet FROM dedup.shared_article s JOIN dedup.outlet_article p ON p.id = s.id
      WHERE s.was_first IS NULL) AS a
JOIN (SELECT DISTINCT s.story_id, p.outlet FROM dedup.shared_article s JOIN dedup.outlet_article p ON p.id = s.id
      WHERE s.was_first IS NULL) AS b ON b.story_id = a.story_id AND b.outlet > a.outlet
GROUP BY 1, 2;
COMMENT ON VIEW dedup.outlet_overlap IS 'Who reprints whom, by pair of different known outlets, aliases resolved; and the stories of two outlets whose first one is unknown.';
COMMENT ON COLUMN dedup.outlet_overlap.outlet IS 'The outlet with the copies. Without known times the first of both in the alphabet.';
COMMENT ON COLUMN dedup.outlet_overlap.original_outlet IS 'The outlet that was first. Without known times the other one.';
COMMENT ON COLUMN dedup.outlet_overlap.copies IS 'How many copies. Without known times: how many stories, of which either outlet may have been first.';
COMMENT ON COLUMN dedup.outlet_overlap.agency_copies IS 'How many of these have the text of an agency, so that both outlets may have it from there.';
COMMENT ON COLUMN dedup.outlet_overlap.median_delay IS 'Median delay between the two articles; null without known times.';
COMMENT ON COLUMN dedup.outlet_overlap.times_known IS 'Whether times tell which outlet was first.';
