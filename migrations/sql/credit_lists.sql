-- An agency amid a long list of names in a byline is no credit any more: the bylines that gave a credit are read again.

INSERT INTO dedup.credit_unread (article_id)
SELECT DISTINCT article_id FROM dedup.credit WHERE place = 'byline'
ON CONFLICT DO NOTHING;
