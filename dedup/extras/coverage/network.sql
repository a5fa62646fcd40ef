-- Outlets, and who reprints whom.

-- name: nodes
-- Return the known outlets with their owners and numbers of articles.
SELECT outlet, min(family), count(*) FROM dedup.outlet_article WHERE outlet IS NOT NULL GROUP BY outlet ORDER BY outlet

-- name: ties
-- Return each pair of outlets that share stories, with the number of copies and the median delay.
SELECT original_outlet, outlet, copies, agency_copies, extract(epoch FROM median_delay)::double precision AS median_delay,
       times_known
FROM dedup.outlet_overlap ORDER BY original_outlet, outlet, times_known DESC
