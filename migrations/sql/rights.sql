-- Rights: what roles read in place of tables, and functions, which nobody may call by default. The rights of
-- each kind of role are in dedup/db/roles.py.
--
-- The views are what `dedup marks`, `matches`, `stories`, `common` and `pin list` read: with them an analyst
-- needs no right to a table. None of them shows a text, the hash key, or what the program keeps for itself.

CREATE VIEW dedup.mark AS
SELECT a.id, a.source_id, a.url, a.title, a.publication, a.published_at, a.added_at, a.language,
       a.status, a.stale, a.duplicate_of, o.source_id AS original_source_id, a.score, a.reason, a.limit_fired,
       a.marked_at, a.archived
FROM dedup.marked_article a LEFT JOIN dedup.article o ON o.id = a.duplicate_of;
COMMENT ON VIEW dedup.mark IS 'Every article with its mark, without its text.';
COMMENT ON COLUMN dedup.mark.id IS 'article.id.';
COMMENT ON COLUMN dedup.mark.source_id IS 'The caller''s own key.';
COMMENT ON COLUMN dedup.mark.url IS 'Where it was published.';
COMMENT ON COLUMN dedup.mark.title IS 'Headline.';
COMMENT ON COLUMN dedup.mark.publication IS 'Who published it.';
COMMENT ON COLUMN dedup.mark.published_at IS 'When it was published.';
COMMENT ON COLUMN dedup.mark.added_at IS 'When the corpus first stored it.';
COMMENT ON COLUMN dedup.mark.language IS 'ISO 639 code, or null.';
COMMENT ON COLUMN dedup.mark.status IS 'pending, unique, similar, duplicate or failed.';
COMMENT ON COLUMN dedup.mark.stale IS 'The mark is the last one and must be settled again.';
COMMENT ON COLUMN dedup.mark.duplicate_of IS 'article.id of the article that it duplicates, or null.';
COMMENT ON COLUMN dedup.mark.original_source_id IS 'The caller''s key of that article.';
COMMENT ON COLUMN dedup.mark.score IS 'Duplicate: its score with that article. Similar: its highest score.';
COMMENT ON COLUMN dedup.mark.reason IS 'The rule that decided, or why it failed; null if unique.';
COMMENT ON COLUMN dedup.mark.limit_fired IS 'The safety limit that left the article to the next backfill, or null.';
COMMENT ON COLUMN dedup.mark.marked_at IS 'When the mark was written.';
COMMENT ON COLUMN dedup.mark.archived IS 'Before the horizon: compared with nothing any more.';

CREATE VIEW dedup.scored_pair AS
SELECT m.article_id, a.source_id, m.other_id, o.source_id AS other_source_id, m.relation, m.rule, m.score,
       m.sentence_jaccard, m.signature_jaccard, m.containment
FROM dedup.match m
JOIN dedup.article a ON a.id = m.article_id
JOIN dedup.article o ON o.id = m.other_id;
COMMENT ON VIEW dedup.scored_pair IS 'Every scored pair, once: the later article beside the earlier one.';
COMMENT ON COLUMN dedup.scored_pair.article_id IS 'article.id of the later article.';
COMMENT ON COLUMN dedup.scored_pair.source_id IS 'The caller''s key of the later article.';
COMMENT ON COLUMN dedup.scored_pair.other_id IS 'article.id of the earlier one, which is canonical.';
COMMENT ON COLUMN dedup.scored_pair.other_source_id IS 'The caller''s key of the earlier one.';
COMMENT ON COLUMN dedup.scored_pair.relation IS 'duplicate or similar.';
COMMENT ON COLUMN dedup.scored_pair.rule IS 'What decided: pinned, content, sentences, signature or containment.';
COMMENT ON COLUMN dedup.scored_pair.score IS 'The larger of the two Jaccards; 1 for equal content.';
COMMENT ON COLUMN dedup.scored_pair.sentence_jaccard IS 'Shared sentences over all sentences of both.';
COMMENT ON COLUMN dedup.scored_pair.signature_jaccard IS 'Estimated Jaccard of the shingles of both.';
COMMENT ON COLUMN dedup.scored_pair.containment IS 'How much of the shorter article is in the longer one.';

CREATE VIEW dedup.sentence AS
SELECT sentence_hash, c.carriers, c.effective_stories, c.sentence_hash IS NOT NULL AS common,
       CASE p.common WHEN true THEN 'always' WHEN false THEN 'never' END AS pin,
       coalesce(c.example, p.example) AS example, c.since
FROM dedup.common_sentence c FULL JOIN dedup.sentence_pin p USING (sentence_hash);
COMMENT ON VIEW dedup.sentence IS 'The sentences that are common, and those that are pinned.';
COMMENT ON COLUMN dedup.sentence.sentence_hash IS 'Hash of the normalised sentence.';
COMMENT ON COLUMN dedup.sentence.carriers IS 'Articles that carry it; null where it is not common.';
COMMENT ON COLUMN dedup.sentence.effective_stories IS 'How many equally large stories these articles amount to.';
COMMENT ON COLUMN dedup.sentence.common IS 'Whether it is ignored now.';
COMMENT ON COLUMN dedup.sentence.pin IS 'always or never, or null; a new pin acts with the next backfill.';
COMMENT ON COLUMN dedup.sentence.example IS 'The sentence as one of its articles prints it.';
COMMENT ON COLUMN dedup.sentence.since IS 'When it became common.';

CREATE VIEW dedup.pinned_pair AS
SELECT source_id, other_source_id, relation, pinned_by, reason, pinned_at FROM dedup.pair_pin;
COMMENT ON VIEW dedup.pinned_pair IS 'What people have said two articles are to each other.';
COMMENT ON COLUMN dedup.pinned_pair.source_id IS 'The caller''s key of one article.';
COMMENT ON COLUMN dedup.pinned_pair.other_source_id IS 'The caller''s key of the other.';
COMMENT ON COLUMN dedup.pinned_pair.relation IS 'duplicate, similar or unrelated.';
COMMENT ON COLUMN dedup.pinned_pair.pinned_by IS 'Who said so.';
COMMENT ON COLUMN dedup.pinned_pair.reason IS 'Why, or null.';
COMMENT ON COLUMN dedup.pinned_pair.pinned_at IS 'When.';

CREATE VIEW dedup.schema_version AS SELECT version_num FROM dedup.alembic_version;
COMMENT ON VIEW dedup.schema_version IS 'The revision of this schema, for programs that may read views only.';
COMMENT ON COLUMN dedup.schema_version.version_num IS 'Number of the last migration.';

-- In replica mode too: whoever applies changes that way, the marks must follow them. A restore with
-- `--disable-triggers` switches them on in the plain way only, so `dedup verify --repair` calls this again.
CREATE FUNCTION dedup.fire_always() RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp AS $$
DECLARE
    found record;
BEGIN
    FOR found IN SELECT t.tgname, t.tgrelid::regclass AS owner FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
                 WHERE c.relnamespace = 'dedup'::regnamespace AND NOT t.tgisinternal AND t.tgenabled <> 'A' LOOP
        EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER %I', found.owner, found.tgname);
    END LOOP;
END $$;
COMMENT ON FUNCTION dedup.fire_always() IS 'Let every trigger of the schema fire, in replica mode too.';
