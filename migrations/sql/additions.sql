-- What a copy adds to its original (docs/semantics.md, section 7). `dedup sentences` fills the table, as it fills
-- compared_version; neither a hook nor a backfill reads or writes it. No mark depends on it.

CREATE TABLE dedup.compared_copy (
    article_id bigint NOT NULL,
    original_id bigint NOT NULL,
    revision integer NOT NULL,
    original_revision integer NOT NULL,
    words integer NOT NULL,
    words_added integer NOT NULL,
    grams integer NOT NULL,
    grams_in_original integer NOT NULL,
    sentences text[] NOT NULL,
    numbers text[] NOT NULL,
    compared_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT compared_copy_pkey PRIMARY KEY (article_id),
    CONSTRAINT compared_copy_words_check CHECK (words_added BETWEEN 0 AND words),
    CONSTRAINT compared_copy_grams_check CHECK (grams > 0 AND grams_in_original BETWEEN 0 AND grams)
);
CREATE INDEX compared_copy_original ON dedup.compared_copy (original_id);
COMMENT ON TABLE dedup.compared_copy IS 'Copies compared with their originals by `dedup sentences`. Read it as dedup.addition.';
COMMENT ON COLUMN dedup.compared_copy.article_id IS 'The copy (article.id).';
COMMENT ON COLUMN dedup.compared_copy.original_id IS 'Its original (article.id).';
COMMENT ON COLUMN dedup.compared_copy.revision IS 'article.revision of the copy when it was compared.';
COMMENT ON COLUMN dedup.compared_copy.original_revision IS 'article.revision of the original.';
COMMENT ON COLUMN dedup.compared_copy.words IS 'Number of words of the copy.';
COMMENT ON COLUMN dedup.compared_copy.words_added IS 'Number of these that are in no gram of the original.';
COMMENT ON COLUMN dedup.compared_copy.grams IS 'Number of different grams (three consecutive words) of the copy.';
COMMENT ON COLUMN dedup.compared_copy.grams_in_original IS 'Number of these that the original has.';
COMMENT ON COLUMN dedup.compared_copy.sentences IS 'Sentences of the copy that the original lacks.';
COMMENT ON COLUMN dedup.compared_copy.numbers IS 'Numbers in digits that the original lacks, as the copy prints them.';
COMMENT ON COLUMN dedup.compared_copy.compared_at IS 'Time of the comparison.';

-- The words of a text are removed with the text.
CREATE OR REPLACE FUNCTION dedup.sentences_went() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        DELETE FROM compared_version;
        DELETE FROM compared_copy;
        DELETE FROM quoted_sentence;
    ELSE
        DELETE FROM compared_version WHERE article_id = OLD.id;
        DELETE FROM compared_version WHERE before_id = OLD.id;
        DELETE FROM compared_copy WHERE article_id = OLD.id;
        DELETE FROM compared_copy WHERE original_id = OLD.id;
        DELETE FROM quoted_sentence WHERE article_id = OLD.id;
    END IF;
    RETURN NULL;
END $$;

CREATE VIEW dedup.addition AS
SELECT d.id, d.source_id, d.title, d.publication, d.published_at, d.original_id, d.original_source_id,
       d.original_publication, c.words, c.words_added, cardinality(c.sentences) AS sentences_added,
       cardinality(c.numbers) AS numbers_added,
       c.grams_in_original::double precision / c.grams AS share_in_original,
       c.grams_in_original = c.grams AS adds_nothing,
       c.sentences, c.numbers, d.times_known, d.stale, d.archived, c.compared_at
FROM dedup.compared_copy c
JOIN dedup.duplicate d ON d.id = c.article_id AND d.original_id = c.original_id
JOIN dedup.article a ON a.id = c.article_id AND a.revision = c.revision
JOIN dedup.article o ON o.id = c.original_id AND o.revision = c.original_revision;
COMMENT ON VIEW dedup.addition IS 'What each copy adds to its original: words, sentences and numbers that the original lacks. `dedup sentences` fills it.';
COMMENT ON COLUMN dedup.addition.id IS 'article.id of the copy.';
COMMENT ON COLUMN dedup.addition.source_id IS 'The caller''s key of the copy.';
COMMENT ON COLUMN dedup.addition.title IS 'Headline of the copy.';
COMMENT ON COLUMN dedup.addition.publication IS 'Who published the copy.';
COMMENT ON COLUMN dedup.addition.published_at IS 'When the copy was published.';
COMMENT ON COLUMN dedup.addition.original_id IS 'article.id of the original.';
COMMENT ON COLUMN dedup.addition.original_source_id IS 'The caller''s key of the original.';
COMMENT ON COLUMN dedup.addition.original_publication IS 'Who published the original.';
COMMENT ON COLUMN dedup.addition.words IS 'Number of words of the copy.';
COMMENT ON COLUMN dedup.addition.words_added IS 'Number of these that are in no gram (three consecutive words) of the original.';
COMMENT ON COLUMN dedup.addition.sentences_added IS 'Number of sentences that count and that the original lacks.';
COMMENT ON COLUMN dedup.addition.numbers_added IS 'Number of numbers in digits that the original lacks.';
COMMENT ON COLUMN dedup.addition.share_in_original IS 'Share of the copy''s different grams that the original has, from 0 to 1.';
COMMENT ON COLUMN dedup.addition.adds_nothing IS 'Whether the original has every gram of the copy.';
COMMENT ON COLUMN dedup.addition.sentences IS 'The added sentences, in the order of the copy.';
COMMENT ON COLUMN dedup.addition.numbers IS 'The added numbers, in the order of the copy.';
COMMENT ON COLUMN dedup.addition.times_known IS 'Whether times tell which of both was first. Where not, the original may have left out what the copy has.';
COMMENT ON COLUMN dedup.addition.stale IS 'The copy must be settled again, and may get another original.';
COMMENT ON COLUMN dedup.addition.archived IS 'The copy is before the horizon.';
COMMENT ON COLUMN dedup.addition.compared_at IS 'Time of the comparison.';
