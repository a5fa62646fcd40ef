-- The marks of a range of articles as one row of arrays.
SELECT array_agg(id), array_agg(takes_part::integer::bigint),
       array_agg((array_position(%(statuses)s::text[], status) - 1)::bigint),
       array_agg(coalesce(duplicate_of, 0)), array_agg(coalesce(score, -1)),
       array_agg(coalesce(array_position(%(names)s::text[], reason), 0)::bigint - 1)
FROM dedup.article WHERE id BETWEEN %(first)s AND %(last)s
