-- Outlets and months.

-- name: panel
-- Return the articles of each outlet by month; undated articles of an outlet are in a row without a month.
SELECT month, outlet, family, articles, own, copied, agency, first_unknown, not_compared, diversity, times_known
FROM dedup.outlet_month ORDER BY month, outlet
