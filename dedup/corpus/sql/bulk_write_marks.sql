-- New marks. Values are taken from arrays by the place of the id, which are ascending: width_bucket searches them
-- by halves. In a join the planner would choose where to begin: with the whole table, if its statistics say that
-- it is empty.
UPDATE dedup.article a
SET status = (%(status_names)s::text[])[(%(statuses)s::bigint[])[${place}]],
    duplicate_of = nullif((%(originals)s::bigint[])[${place}], 0),
    score = nullif((%(scores)s::double precision[])[${place}], -1),
    reason = (%(names)s::text[])[nullif((%(reasons)s::bigint[])[${place}], 0)],
    stale = %(stale)s, takes_part = true, limit_fired = NULL, marked_at = now()
WHERE a.id = ANY (%(ids)s::bigint[])
