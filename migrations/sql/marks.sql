-- Marks: what was decided of each article, in rows of their own. A mark never rewrites its article, whose row has a
-- text and six indexes. Every article has one, and begins as a pending one, whatever an INSERT claims.
--
-- Articles before the horizon of the window (docs/semantics.md, section 10) are archived. They keep their
-- marks, have no fingerprint and no pair with an article inside, and nothing that looks for work finds them.

CREATE TABLE dedup.article_mark (
    id bigint NOT NULL,
    time timestamptz NOT NULL,
    duplicate_of bigint,
    score double precision,
    marked_at timestamptz,
    attachment_id integer,
    stale boolean NOT NULL DEFAULT false,
    takes_part boolean NOT NULL DEFAULT false,
    archived boolean NOT NULL DEFAULT false,
    status text NOT NULL DEFAULT 'pending',
    reason text,
    limit_fired text,
    -- No foreign keys to the article: to check them takes as long as to write the mark. The triggers of the article
    -- do what they would, and `dedup verify` looks.
    CONSTRAINT article_mark_pkey PRIMARY KEY (id),
    CONSTRAINT article_mark_status_check CHECK (status IN ('pending', 'unique', 'similar', 'duplicate', 'failed')),
    CONSTRAINT article_mark_stale_check CHECK (NOT stale OR status IN ('unique', 'similar', 'duplicate')),
    CONSTRAINT article_mark_duplicate_of_check CHECK ((status = 'duplicate') = (duplicate_of IS NOT NULL)),
    -- Whoever looks for unsettled articles, or for those that others rest on, need not know of the window.
    CONSTRAINT article_mark_archived_check CHECK (NOT archived OR NOT (status = 'pending' OR stale OR takes_part))
);
-- What is to be settled, near enough in canonical order: the exact order depends on settings, and the result
-- does not depend on which articles are settled first. Settled rows are not in this index.
CREATE INDEX article_unsettled ON dedup.article_mark (time, id) WHERE status = 'pending' OR stale;
CREATE INDEX article_failed ON dedup.article_mark (id) WHERE status = 'failed';
-- The copies of a story come by time, so that a page of them reads no more than that.
CREATE INDEX article_duplicate_of ON dedup.article_mark (duplicate_of, time, id) WHERE duplicate_of IS NOT NULL;
COMMENT ON TABLE dedup.article_mark IS 'The mark of every article. With their articles: dedup.marked_article.';
COMMENT ON COLUMN dedup.article_mark.id IS 'article.id.';
COMMENT ON COLUMN dedup.article_mark.time IS 'published_at of the article, or added_at where that is missing.';
COMMENT ON COLUMN dedup.article_mark.duplicate_of IS 'The canonical article this one duplicates (article.id).';
COMMENT ON COLUMN dedup.article_mark.score IS 'Duplicate: its score with duplicate_of. Similar: its highest score. 0 to 1.';
COMMENT ON COLUMN dedup.article_mark.marked_at IS 'When the present mark was written.';
COMMENT ON COLUMN dedup.article_mark.attachment_id IS 'article.attachment_id.';
COMMENT ON COLUMN dedup.article_mark.stale IS 'The mark is the last one and must be settled again, which the next backfill does.';
COMMENT ON COLUMN dedup.article_mark.takes_part IS 'Whether other marks may rest on whether it is canonical: not before it is settled, nor while its place or its scores are about to change.';
COMMENT ON COLUMN dedup.article_mark.archived IS 'It is before the horizon: compared with nothing any more, with the mark that it had when it left.';
COMMENT ON COLUMN dedup.article_mark.status IS 'pending: never settled; unique; similar: canonical, but like another one; duplicate: see duplicate_of; failed: see reason.';
COMMENT ON COLUMN dedup.article_mark.reason IS 'The rule that decided: pinned, content, sentences, signature or containment; for failed articles why.';
COMMENT ON COLUMN dedup.article_mark.limit_fired IS 'The safety limit that left the article to the next backfill, or null.';

CREATE VIEW dedup.marked_article AS
SELECT a.id, a.source_id, a.url, a.title, a.publication, a.published_at, a.added_at, k.time, a.language, a.text,
       a.revision, a.attachment_id, a.text_hash, k.status, k.stale, k.takes_part, k.duplicate_of, k.score, k.reason,
       k.limit_fired, k.marked_at, k.archived
-- LEFT: who asks for no column of the mark does not pay for it.
FROM dedup.article a LEFT JOIN dedup.article_mark k ON k.id = a.id;
COMMENT ON VIEW dedup.marked_article IS 'Every article beside its mark. The text of a row of an attached table is in article_text.';
COMMENT ON COLUMN dedup.marked_article.id IS 'article.id.';
COMMENT ON COLUMN dedup.marked_article.source_id IS 'The caller''s own key.';
COMMENT ON COLUMN dedup.marked_article.url IS 'Where it was published.';
COMMENT ON COLUMN dedup.marked_article.title IS 'Headline.';
COMMENT ON COLUMN dedup.marked_article.publication IS 'Who published it.';
COMMENT ON COLUMN dedup.marked_article.published_at IS 'When it was published.';
COMMENT ON COLUMN dedup.marked_article.added_at IS 'When the corpus first stored it.';
COMMENT ON COLUMN dedup.marked_article.time IS 'published_at, or added_at where that is missing.';
COMMENT ON COLUMN dedup.marked_article.language IS 'ISO 639 code, or null.';
COMMENT ON COLUMN dedup.marked_article.text IS 'The body; null where it is in an attached table.';
COMMENT ON COLUMN dedup.marked_article.revision IS 'How often what a fingerprint is made from has changed.';
COMMENT ON COLUMN dedup.marked_article.attachment_id IS 'The attached table it is a row of (attachment.id), or null.';
COMMENT ON COLUMN dedup.marked_article.text_hash IS 'SHA-256 of the text in the attached table when it was last looked at.';
COMMENT ON COLUMN dedup.marked_article.status IS 'pending, unique, similar, duplicate or failed.';
COMMENT ON COLUMN dedup.marked_article.stale IS 'The mark is the last one and must be settled again.';
COMMENT ON COLUMN dedup.marked_article.takes_part IS 'Whether other marks may rest on whether it is canonical.';
COMMENT ON COLUMN dedup.marked_article.duplicate_of IS 'article.id of the article that it duplicates, or null.';
COMMENT ON COLUMN dedup.marked_article.score IS 'Duplicate: its score with that article. Similar: its highest score.';
COMMENT ON COLUMN dedup.marked_article.reason IS 'The rule that decided, or why it failed; null if unique.';
COMMENT ON COLUMN dedup.marked_article.limit_fired IS 'The safety limit that left the article to the next backfill, or null.';
COMMENT ON COLUMN dedup.marked_article.marked_at IS 'When the mark was written.';
COMMENT ON COLUMN dedup.marked_article.archived IS 'Before the horizon: compared with nothing any more.';

-- An article comes with a pending mark. One that a hook stores comes with its own: see dedup.store_new. The parameter
-- guards against accidents, since everyone may set it; the right to the settle lock says who is a settler.
CREATE FUNCTION dedup.article_came() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    INSERT INTO article_mark (id, time, attachment_id)
    SELECT id, coalesce(published_at, added_at), attachment_id FROM came ON CONFLICT (id) DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER article_came AFTER INSERT ON dedup.article REFERENCING NEW TABLE AS came FOR EACH STATEMENT
    WHEN (current_setting('dedup.storing', true) IS DISTINCT FROM 'on'
          OR NOT has_table_privilege('dedup.settle_turn', 'UPDATE'))
    EXECUTE FUNCTION dedup.article_came();

-- To change a mark is an error, save by this program and by the triggers here.
CREATE FUNCTION dedup.article_marks() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    IF pg_trigger_depth() = 1 AND (
        current_setting('dedup.settling', true) IS DISTINCT FROM 'on'
        OR NOT has_table_privilege('dedup.settle_turn', 'UPDATE')
    ) THEN
        RAISE EXCEPTION 'only dedup writes the marks of articles' USING ERRCODE = 'insufficient_privilege',
            HINT = 'To overrule a mark say what two articles are to each other: `dedup pin set`.';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER article_marks BEFORE UPDATE OR DELETE ON dedup.article_mark
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.article_marks();
CREATE TRIGGER article_revision BEFORE UPDATE OF revision ON dedup.article
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.article_marks();

-- Marks that come from elsewhere, as in a restore of data alone, are those of other settings, or of other articles: its
-- articles have pending ones by then.
CREATE FUNCTION dedup.article_mark_new() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    RETURN NULL;
END $$;
CREATE TRIGGER article_mark_new BEFORE INSERT ON dedup.article_mark FOR EACH ROW
    WHEN (pg_trigger_depth() = 0 AND (
        current_setting('dedup.settling', true) IS DISTINCT FROM 'on'
        OR NOT has_table_privilege('dedup.settle_turn', 'UPDATE')))
    EXECUTE FUNCTION dedup.article_mark_new();
