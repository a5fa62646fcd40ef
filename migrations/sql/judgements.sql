-- What people say: pins, which hold whatever the scores say, and judgements, with the pairs that people are
-- asked about.
--
-- Human labour is dear: what is said of pairs is keyed by the callers' own ids and has no foreign key, so it
-- outlives a delete, a fresh load and new settings. What ties a judgement to what was read is a hash of both
-- texts.

CREATE TABLE dedup.pair_pin (
    source_id text COLLATE "C" NOT NULL,
    other_source_id text COLLATE "C" NOT NULL,
    relation text NOT NULL,
    pinned_by text NOT NULL DEFAULT current_user,
    reason text,
    pinned_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT pair_pin_pkey PRIMARY KEY (source_id, other_source_id),
    CONSTRAINT pair_pin_order_check CHECK (source_id < other_source_id),
    CONSTRAINT pair_pin_relation_check CHECK (relation IN ('duplicate', 'similar', 'unrelated'))
);
CREATE INDEX pair_pin_other ON dedup.pair_pin (other_source_id);
CREATE INDEX pair_pin_pinned_at ON dedup.pair_pin (pinned_at);
COMMENT ON TABLE dedup.pair_pin IS
    'What people have said two articles are to each other; it holds whatever the scores say. Keyed by the callers'' own ids, so it outlives a delete and a fresh load.';
COMMENT ON COLUMN dedup.pair_pin.source_id IS 'The caller''s key of one article, the smaller of both byte by byte.';
COMMENT ON COLUMN dedup.pair_pin.other_source_id IS 'The caller''s key of the other.';
COMMENT ON COLUMN dedup.pair_pin.relation IS 'duplicate, similar or unrelated.';
COMMENT ON COLUMN dedup.pair_pin.pinned_by IS 'Who said so.';
COMMENT ON COLUMN dedup.pair_pin.reason IS 'Why, or null.';
COMMENT ON COLUMN dedup.pair_pin.pinned_at IS 'When.';

CREATE TABLE dedup.sentence_pin (
    sentence_hash bigint NOT NULL,
    common boolean NOT NULL,
    example text,
    pinned_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT sentence_pin_pkey PRIMARY KEY (sentence_hash)
);
CREATE INDEX sentence_pin_pinned_at ON dedup.sentence_pin (pinned_at);
COMMENT ON TABLE dedup.sentence_pin IS 'Sentences an analyst has declared always or never common; the next backfill acts on it.';
COMMENT ON COLUMN dedup.sentence_pin.sentence_hash IS 'Hash of the normalised sentence.';
COMMENT ON COLUMN dedup.sentence_pin.common IS 'true: always common; false: never.';
COMMENT ON COLUMN dedup.sentence_pin.example IS 'The sentence as it was pinned.';
COMMENT ON COLUMN dedup.sentence_pin.pinned_at IS 'When it was pinned.';

CREATE TABLE dedup.review_pair (
    source_id text COLLATE "C" NOT NULL,
    other_source_id text COLLATE "C" NOT NULL,
    place integer NOT NULL,
    stratum text NOT NULL,
    stratum_size bigint NOT NULL,
    stratum_picked bigint NOT NULL,
    scores jsonb NOT NULL DEFAULT '{}',
    picked_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT review_pair_pkey PRIMARY KEY (source_id, other_source_id),
    CONSTRAINT review_pair_order_check CHECK (source_id < other_source_id),
    CONSTRAINT review_pair_picked_check CHECK (stratum_picked >= 1 AND stratum_picked <= stratum_size)
);
CREATE INDEX review_pair_place ON dedup.review_pair (place);
COMMENT ON TABLE dedup.review_pair IS 'The pairs picked for people to judge: a random sample of each stratum, replaced by the next `dedup judge pairs`.';
COMMENT ON COLUMN dedup.review_pair.source_id IS 'The caller''s key of one article, the smaller of both byte by byte.';
COMMENT ON COLUMN dedup.review_pair.other_source_id IS 'The caller''s key of the other.';
COMMENT ON COLUMN dedup.review_pair.place IS 'When it is asked, from 1: the strata by turns, random within each.';
COMMENT ON COLUMN dedup.review_pair.stratum IS 'The stratum it was drawn from: a band of the score, and whether the methods agree.';
COMMENT ON COLUMN dedup.review_pair.stratum_size IS 'Pairs in the stratum.';
COMMENT ON COLUMN dedup.review_pair.stratum_picked IS 'Pairs picked from it; each stands for stratum_size / stratum_picked pairs.';
COMMENT ON COLUMN dedup.review_pair.scores IS 'Method to its score when the pair was picked; null where it did not see the pair.';
COMMENT ON COLUMN dedup.review_pair.picked_at IS 'When it was picked.';

CREATE TABLE dedup.judgement (
    source_id text COLLATE "C" NOT NULL,
    other_source_id text COLLATE "C" NOT NULL,
    judged_by text NOT NULL,
    label text NOT NULL,
    note text,
    judged_at timestamptz NOT NULL DEFAULT now(),
    text_hash bytea NOT NULL,
    other_text_hash bytea NOT NULL,
    CONSTRAINT judgement_pkey PRIMARY KEY (source_id, other_source_id, judged_by),
    CONSTRAINT judgement_order_check CHECK (source_id < other_source_id),
    CONSTRAINT judgement_label_check CHECK (label IN ('duplicate', 'similar', 'different', 'unsure')),
    -- Three keys in one index entry, of which Postgres takes 2,704 bytes.
    CONSTRAINT judgement_judged_by_check CHECK (length(judged_by) BETWEEN 1 AND 100)
);
CREATE INDEX judgement_other ON dedup.judgement (other_source_id);
COMMENT ON TABLE dedup.judgement IS 'What people say about pairs, one row per pair and judge. Kept when an article is deleted: it counts again when the same text is loaded again.';
COMMENT ON COLUMN dedup.judgement.source_id IS 'The caller''s key of one article, the smaller of both byte by byte.';
COMMENT ON COLUMN dedup.judgement.other_source_id IS 'The caller''s key of the other.';
COMMENT ON COLUMN dedup.judgement.judged_by IS 'Who judged.';
COMMENT ON COLUMN dedup.judgement.label IS 'duplicate, similar, different or unsure.';
COMMENT ON COLUMN dedup.judgement.note IS 'What the judge had to say about it, or null.';
COMMENT ON COLUMN dedup.judgement.judged_at IS 'When; of a changed mind, the last time.';
COMMENT ON COLUMN dedup.judgement.text_hash IS 'dedup.text_hash of the text that was read.';
COMMENT ON COLUMN dedup.judgement.other_text_hash IS 'The same of the other article.';

CREATE FUNCTION dedup.text_hash(body text) RETURNS bytea
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT sha256(convert_to(translate(body, E' \t\r\n', ''), 'UTF8'))
$$;
COMMENT ON FUNCTION dedup.text_hash(text) IS 'SHA-256 of a text, however its lines are wrapped: tells whether a judgement is about the present text.';

-- A change of a pair's pin: both articles are settled again. The lock first, as for articles.
CREATE TRIGGER pair_pin_lock BEFORE INSERT OR UPDATE OR DELETE ON dedup.pair_pin
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.article_lock();
CREATE FUNCTION dedup.pair_pin_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
DECLARE
    touched bigint[] := '{}';
BEGIN
    IF TG_OP <> 'INSERT' THEN
        touched := ARRAY(SELECT id FROM article WHERE source_id IN (OLD.source_id, OLD.other_source_id));
    END IF;
    IF TG_OP <> 'DELETE' THEN
        touched := touched || ARRAY(SELECT id FROM article WHERE source_id IN (NEW.source_id, NEW.other_source_id));
    END IF;
    PERFORM note_bulk_change(touched);
    PERFORM make_stale(touched);
    RETURN NULL;
END $$;
CREATE TRIGGER pair_pin_changed AFTER INSERT OR UPDATE OR DELETE ON dedup.pair_pin
    FOR EACH ROW EXECUTE FUNCTION dedup.pair_pin_changed();
CREATE TRIGGER pair_pin_emptied AFTER TRUNCATE ON dedup.pair_pin
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.emptied();
CREATE TRIGGER pair_pin_waits AFTER INSERT OR UPDATE OR DELETE ON dedup.pair_pin
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.article_waits();

-- A change of a sentence's pin is a change of the common sentences.
CREATE FUNCTION dedup.sentence_pin_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        INSERT INTO sentence_change (sentence_hashes) VALUES (ARRAY[OLD.sentence_hash]);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO sentence_change (sentence_hashes) VALUES (ARRAY[NEW.sentence_hash]);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER sentence_pin_changed AFTER INSERT OR UPDATE OR DELETE ON dedup.sentence_pin
    FOR EACH ROW EXECUTE FUNCTION dedup.sentence_pin_changed();
CREATE TRIGGER sentence_pin_emptied AFTER TRUNCATE ON dedup.sentence_pin
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.emptied();

CREATE VIEW dedup.judged_pair AS
SELECT j.source_id, j.other_source_id, j.label, j.judged_by, j.judged_at, j.note,
       (dedup.text_hash(a.text), dedup.text_hash(o.text)) <> (j.text_hash, j.other_text_hash) AS stale,
       a.title, o.title AS other_title, a.publication, o.publication AS other_publication,
       a.status, o.status AS other_status,
       coalesce(a.duplicate_of, a.id) = coalesce(o.duplicate_of, o.id) AS same_story,
       m.sentence_jaccard, m.signature_jaccard,
       p.stratum, p.stratum_size::double precision / p.stratum_picked AS weight
FROM dedup.judgement j
LEFT JOIN dedup.marked_article a ON a.source_id = j.source_id
LEFT JOIN dedup.marked_article o ON o.source_id = j.other_source_id
LEFT JOIN LATERAL (
    SELECT sentence_jaccard, signature_jaccard FROM dedup.match WHERE article_id = a.id AND other_id = o.id
    UNION ALL
    SELECT sentence_jaccard, signature_jaccard FROM dedup.match WHERE article_id = o.id AND other_id = a.id
) m ON true
LEFT JOIN dedup.review_pair p ON (p.source_id, p.other_source_id) = (j.source_id, j.other_source_id);
COMMENT ON VIEW dedup.judged_pair IS 'Every judgement beside what the program says now: same_story against label shows where they differ.';
COMMENT ON COLUMN dedup.judged_pair.source_id IS 'The caller''s key of one article.';
COMMENT ON COLUMN dedup.judged_pair.other_source_id IS 'The caller''s key of the other.';
COMMENT ON COLUMN dedup.judged_pair.label IS 'duplicate, similar, different or unsure.';
COMMENT ON COLUMN dedup.judged_pair.judged_by IS 'Who judged.';
COMMENT ON COLUMN dedup.judged_pair.judged_at IS 'When.';
COMMENT ON COLUMN dedup.judged_pair.note IS 'What the judge had to say about it, or null.';
COMMENT ON COLUMN dedup.judged_pair.stale IS 'true: a text was edited since, and the judgement no longer counts; null: an article is not stored.';
COMMENT ON COLUMN dedup.judged_pair.title IS 'Headline of the one.';
COMMENT ON COLUMN dedup.judged_pair.other_title IS 'Headline of the other.';
COMMENT ON COLUMN dedup.judged_pair.publication IS 'Who published the one.';
COMMENT ON COLUMN dedup.judged_pair.other_publication IS 'Who published the other.';
COMMENT ON COLUMN dedup.judged_pair.status IS 'Present mark of the one; null where it is not stored.';
COMMENT ON COLUMN dedup.judged_pair.other_status IS 'Present mark of the other.';
COMMENT ON COLUMN dedup.judged_pair.same_story IS 'Whether the marks put both into one story; null where an article is not stored.';
COMMENT ON COLUMN dedup.judged_pair.sentence_jaccard IS 'Shared sentences over all sentences of both, where the pair is in dedup.match.';
COMMENT ON COLUMN dedup.judged_pair.signature_jaccard IS 'Share of equal MinHash positions, where the pair is in dedup.match.';
COMMENT ON COLUMN dedup.judged_pair.stratum IS 'The stratum it was picked from; null where the present selection does not hold it.';
COMMENT ON COLUMN dedup.judged_pair.weight IS 'How many pairs it stands for when all picked pairs are judged; null without stratum.';
