-- An entry of a feed edits only an article that a feed of its site brought (dedup/files/identity.py).

ALTER TABLE dedup.feed_entry ADD COLUMN brought boolean;
COMMENT ON COLUMN dedup.feed_entry.brought IS 'Whether a feed brought the article, and may edit it; false where it came another way, NULL until it is submitted.';
COMMENT ON COLUMN dedup.feed_entry.digest IS 'A digest of its title, text, address and date: another one is a new version. Empty while it is being submitted.';

-- Entries that are known keep the ids of their articles, and edit them as before. Not so where the article is a row of an
-- attached table; nor where the id lies outside the domain of the feed and the article was edited since, or another
-- domain's feed has the id too: then a feed may have taken it over. A domain is here the last two names of a host, or
-- three where the last but one is as short as in co.uk; the program has the whole list.
WITH known AS (
    SELECT e.source_id, e.feed_id, a.attachment_id, a.revision,
           substring(lower(f.address) from '^https?://(?:[^/?#@]*@)?([^/?#:]+)') AS feed_host,
           substring(lower(e.source_id) from '^(?:https?://)?(?:[^/?#@]*@)?([^/?#:]+)(?::[0-9]+)?/') AS id_host
    FROM dedup.feed_entry e
    JOIN dedup.feed f ON f.id = e.feed_id
    JOIN dedup.article a ON a.source_id = e.source_id
), placed AS (
    SELECT known.*, coalesce(substring(feed_host from '([^.]+\.[^.]{1,3}\.[^.0-9]+|[^.]+\.[^.0-9]+)$'), feed_host) AS feed_domain,
           coalesce(substring(id_host from '([^.]+\.[^.]{1,3}\.[^.0-9]+|[^.]+\.[^.0-9]+)$'), id_host) AS id_domain
    FROM known
)
UPDATE dedup.feed_entry e
SET brought = p.attachment_id IS NULL
    AND (p.id_domain IS NOT DISTINCT FROM p.feed_domain
         OR (p.revision = 0
             AND NOT EXISTS (
                 SELECT FROM placed o
                 WHERE o.source_id = p.source_id AND o.feed_id <> p.feed_id
                   AND o.feed_domain IS DISTINCT FROM p.feed_domain)))
FROM placed p
WHERE e.source_id = p.source_id AND e.feed_id = p.feed_id;
