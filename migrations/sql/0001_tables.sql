-- Tables of the corpus. The comments are part of the product: psql shows them with \d+.

CREATE TABLE dedup.article (
    id bigint GENERATED ALWAYS AS IDENTITY,
    source_id text COLLATE "C" NOT NULL,
    url text,
    title text,
    publication text,
    published_at timestamptz,
    added_at timestamptz NOT NULL DEFAULT now(),
    language text,
    text text NOT NULL,
    revision integer NOT NULL DEFAULT 0,
    status text NOT NULL DEFAULT 'pending',
    duplicate_of bigint,
    score double precision,
    marked_at timestamptz,
    reason text,
    CONSTRAINT article_pkey PRIMARY KEY (id),
    CONSTRAINT article_source_id_key UNIQUE (source_id),
    CONSTRAINT article_duplicate_of_fkey FOREIGN KEY (duplicate_of) REFERENCES dedup.article (id),
    CONSTRAINT article_status_check
        CHECK (status IN ('pending', 'unique', 'similar', 'duplicate', 'failed')),
    CONSTRAINT article_duplicate_of_check CHECK ((status = 'duplicate') = (duplicate_of IS NOT NULL)),
    -- The times that every client can read: 'infinity' in one row would stop all settling.
    CONSTRAINT article_published_at_check
        CHECK (published_at >= '0001-01-01 00:00:00+00' AND published_at < '10000-01-01 00:00:00+00'),
    CONSTRAINT article_added_at_check
        CHECK (added_at >= '0001-01-01 00:00:00+00' AND added_at < '10000-01-01 00:00:00+00')
);
-- Texts go out of line early, so that marking an article rewrites 100 bytes and not its text.
ALTER TABLE dedup.article SET (toast_tuple_target = 256);
-- What is pending, in both canonical orders: only pending rows are in these indexes.
CREATE INDEX article_pending_published ON dedup.article
    (coalesce(published_at, added_at), source_id) WHERE status = 'pending';
CREATE INDEX article_pending_added ON dedup.article (added_at, source_id) WHERE status = 'pending';
CREATE INDEX article_duplicate_of ON dedup.article (duplicate_of) WHERE duplicate_of IS NOT NULL;
CREATE INDEX article_failed ON dedup.article (id) WHERE status = 'failed';

COMMENT ON TABLE dedup.article IS
    'Every article with its mark. Nothing is ever removed by deduplication.';
COMMENT ON COLUMN dedup.article.id IS 'Internal number; says nothing about order.';
COMMENT ON COLUMN dedup.article.source_id IS 'The caller''s own key, unique.';
COMMENT ON COLUMN dedup.article.url IS 'Where it was published; not compared.';
COMMENT ON COLUMN dedup.article.title IS 'Headline; not compared.';
COMMENT ON COLUMN dedup.article.publication IS 'Who published it; not compared.';
COMMENT ON COLUMN dedup.article.published_at IS 'When it was published; the earlier of two duplicates is the original.';
COMMENT ON COLUMN dedup.article.added_at IS 'When the corpus first stored it; stands in where published_at is missing.';
COMMENT ON COLUMN dedup.article.language IS 'ISO 639 code; chooses the sentence parameters; null is the corpus default.';
COMMENT ON COLUMN dedup.article.text IS 'The body as given, without NUL and lone surrogates.';
COMMENT ON COLUMN dedup.article.revision IS 'How often text or language changed; ties a fingerprint to its text.';
COMMENT ON COLUMN dedup.article.status IS 'pending: not settled yet; unique; similar: canonical, but like another one; duplicate: see duplicate_of; failed: see reason.';
COMMENT ON COLUMN dedup.article.duplicate_of IS 'The canonical article this one duplicates (article.id).';
COMMENT ON COLUMN dedup.article.score IS 'Duplicate: its score with duplicate_of. Similar: its highest score. 0 to 1.';
COMMENT ON COLUMN dedup.article.marked_at IS 'When the present mark was written.';
COMMENT ON COLUMN dedup.article.reason IS 'content, sentences or signature: what decided; for failed articles why; for pending ones the limit that fired, if any.';

CREATE TABLE dedup.fingerprint (
    article_id bigint NOT NULL,
    version bigint NOT NULL,
    revision integer NOT NULL,
    content_hash bigint NOT NULL,
    sentence_hashes bigint[] NOT NULL,
    signature bytea NOT NULL,
    buckets bigint[] NOT NULL,
    sketch bigint NOT NULL,
    word_count integer NOT NULL,
    shingle_count integer NOT NULL,
    canonical boolean,
    CONSTRAINT fingerprint_pkey PRIMARY KEY (article_id),
    CONSTRAINT fingerprint_article_id_fkey
        FOREIGN KEY (article_id) REFERENCES dedup.article (id) ON DELETE CASCADE
);
-- Two partial indexes for the two kinds of look-up: among canonical articles (every settle), among the
-- others (only when a canonical article appears before articles already settled). Rows not settled yet
-- are in neither. fastupdate = off: a probe would scan the whole pending list of the index.
CREATE INDEX fingerprint_canonical ON dedup.fingerprint
    USING gin (sentence_hashes, buckets) WITH (fastupdate = off) WHERE canonical;
CREATE INDEX fingerprint_other ON dedup.fingerprint
    USING gin (sentence_hashes, buckets) WITH (fastupdate = off) WHERE NOT canonical;
-- Equal content has equal buckets, so only texts without any need to be found by their content.
CREATE INDEX fingerprint_content ON dedup.fingerprint (content_hash) WHERE buckets = '{}';

COMMENT ON TABLE dedup.fingerprint IS 'What is kept of a text: hashes, never words.';
COMMENT ON COLUMN dedup.fingerprint.article_id IS 'article.id.';
COMMENT ON COLUMN dedup.fingerprint.version IS 'Algorithm, settings and sentence parameters that made it, as one number.';
COMMENT ON COLUMN dedup.fingerprint.revision IS 'The article.revision it was made from.';
COMMENT ON COLUMN dedup.fingerprint.content_hash IS 'Hash of all normalised words in order.';
COMMENT ON COLUMN dedup.fingerprint.sentence_hashes IS 'Distinct hashes of its sentences, in order of appearance.';
COMMENT ON COLUMN dedup.fingerprint.signature IS 'MinHash values of its shingles, unsigned 32-bit little-endian.';
COMMENT ON COLUMN dedup.fingerprint.buckets IS 'One key per LSH band; empty where there is no shingle.';
COMMENT ON COLUMN dedup.fingerprint.sketch IS 'Smallest shingle hash; articles with different sketches count as different stories.';
COMMENT ON COLUMN dedup.fingerprint.word_count IS 'Normalised words in the text.';
COMMENT ON COLUMN dedup.fingerprint.shingle_count IS 'Distinct shingles in the text.';
COMMENT ON COLUMN dedup.fingerprint.canonical IS 'true: original of its story; false: a duplicate; null: takes no part yet.';

CREATE TABLE dedup.match (
    article_id bigint NOT NULL,
    other_id bigint NOT NULL,
    relation text NOT NULL,
    sentence_jaccard double precision NOT NULL,
    signature_jaccard double precision NOT NULL,
    containment double precision NOT NULL,
    CONSTRAINT match_pkey PRIMARY KEY (article_id, other_id),
    CONSTRAINT match_article_id_fkey
        FOREIGN KEY (article_id) REFERENCES dedup.article (id) ON DELETE CASCADE,
    CONSTRAINT match_other_id_fkey
        FOREIGN KEY (other_id) REFERENCES dedup.article (id) ON DELETE CASCADE,
    CONSTRAINT match_relation_check CHECK (relation IN ('duplicate', 'similar'))
);
CREATE INDEX match_other ON dedup.match (other_id);

COMMENT ON TABLE dedup.match IS
    'Scored pairs: a duplicate with every canonical article it duplicates; a canonical article with every canonical one it is similar to.';
COMMENT ON COLUMN dedup.match.article_id IS 'The later article of the pair.';
COMMENT ON COLUMN dedup.match.other_id IS 'The earlier one, always canonical.';
COMMENT ON COLUMN dedup.match.relation IS 'duplicate or similar.';
COMMENT ON COLUMN dedup.match.sentence_jaccard IS 'Shared sentences over all sentences of both, common sentences left out.';
COMMENT ON COLUMN dedup.match.signature_jaccard IS 'Share of equal MinHash positions; 0 where no bucket is shared.';
COMMENT ON COLUMN dedup.match.containment IS 'Shared sentences over the sentences of the shorter article.';

CREATE TABLE dedup.common_sentence (
    sentence_hash bigint NOT NULL,
    stories integer NOT NULL,
    example text,
    since timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT common_sentence_pkey PRIMARY KEY (sentence_hash)
);
COMMENT ON TABLE dedup.common_sentence IS
    'Sentences that too many different stories carry: they find no candidates and count in no score. Brought up to date by the backfill.';
COMMENT ON COLUMN dedup.common_sentence.sentence_hash IS 'Hash of the normalised sentence.';
COMMENT ON COLUMN dedup.common_sentence.stories IS 'Different sketches among the articles that carry it.';
COMMENT ON COLUMN dedup.common_sentence.example IS 'The sentence as one of its articles prints it.';
COMMENT ON COLUMN dedup.common_sentence.since IS 'When it became common.';

CREATE TABLE dedup.sentence_pin (
    sentence_hash bigint NOT NULL,
    common boolean NOT NULL,
    example text,
    pinned_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT sentence_pin_pkey PRIMARY KEY (sentence_hash)
);
COMMENT ON TABLE dedup.sentence_pin IS
    'Sentences an analyst has declared always or never common; the next backfill acts on it.';
COMMENT ON COLUMN dedup.sentence_pin.sentence_hash IS 'Hash of the normalised sentence.';
COMMENT ON COLUMN dedup.sentence_pin.common IS 'true: always common; false: never.';
COMMENT ON COLUMN dedup.sentence_pin.example IS 'The sentence as it was pinned.';
COMMENT ON COLUMN dedup.sentence_pin.pinned_at IS 'When it was pinned.';

CREATE TABLE dedup.sentence_change (
    id bigint GENERATED ALWAYS AS IDENTITY,
    article_id bigint,
    sentence_hashes bigint[],
    CONSTRAINT sentence_change_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE dedup.sentence_change IS
    'Fingerprints that came or went since the common sentences were last counted.';
COMMENT ON COLUMN dedup.sentence_change.id IS 'Number of the change.';
COMMENT ON COLUMN dedup.sentence_change.article_id IS 'The article whose fingerprint came; null for one that went.';
COMMENT ON COLUMN dedup.sentence_change.sentence_hashes IS 'The sentences to count again; null: those of the article''s fingerprint.';

CREATE TABLE dedup.setting (
    name text NOT NULL,
    value text NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT setting_pkey PRIMARY KEY (name)
);
COMMENT ON TABLE dedup.setting IS 'Settings of this corpus that differ from the program''s defaults.';
COMMENT ON COLUMN dedup.setting.name IS 'Name, as `dedup settings` lists it.';
COMMENT ON COLUMN dedup.setting.value IS 'Value as text.';
COMMENT ON COLUMN dedup.setting.changed_at IS 'When it was set.';

CREATE TABLE dedup.sentence_model (
    language text NOT NULL,
    abbrev_types text NOT NULL,
    collocations text NOT NULL,
    sent_starters text NOT NULL,
    ortho_context text NOT NULL,
    checksum text NOT NULL,
    articles bigint NOT NULL,
    trained_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT sentence_model_pkey PRIMARY KEY (language)
);
COMMENT ON TABLE dedup.sentence_model IS
    'Punkt sentence parameters trained from this corpus'' own texts, in NLTK''s tab format.';
COMMENT ON COLUMN dedup.sentence_model.language IS 'ISO 639 code.';
COMMENT ON COLUMN dedup.sentence_model.abbrev_types IS 'File abbrev_types.txt.';
COMMENT ON COLUMN dedup.sentence_model.collocations IS 'File collocations.tab.';
COMMENT ON COLUMN dedup.sentence_model.sent_starters IS 'File sent_starters.txt.';
COMMENT ON COLUMN dedup.sentence_model.ortho_context IS 'File ortho_context.tab.';
COMMENT ON COLUMN dedup.sentence_model.checksum IS 'SHA-256 of the four files; part of the fingerprint version.';
COMMENT ON COLUMN dedup.sentence_model.articles IS 'How many articles it was trained on.';
COMMENT ON COLUMN dedup.sentence_model.trained_at IS 'When.';

CREATE TABLE dedup.corpus_state (
    only_row boolean NOT NULL DEFAULT true,
    fingerprint_digest text,
    algorithm_revision integer NOT NULL DEFAULT 0,
    rule_digest text,
    settled_through timestamptz,
    recount_all boolean NOT NULL DEFAULT true,
    CONSTRAINT corpus_state_pkey PRIMARY KEY (only_row),
    CONSTRAINT corpus_state_only_row_check CHECK (only_row)
);
INSERT INTO dedup.corpus_state DEFAULT VALUES;
COMMENT ON TABLE dedup.corpus_state IS 'One row: what the stored results were made with.';
COMMENT ON COLUMN dedup.corpus_state.only_row IS 'Always true: there is one row.';
COMMENT ON COLUMN dedup.corpus_state.fingerprint_digest IS 'Settings and sentence parameters of the fingerprints.';
COMMENT ON COLUMN dedup.corpus_state.algorithm_revision IS 'Revision of the fingerprint algorithm.';
COMMENT ON COLUMN dedup.corpus_state.rule_digest IS 'Settings of the marks.';
COMMENT ON COLUMN dedup.corpus_state.settled_through IS 'No settled article is later than this in canonical order.';
COMMENT ON COLUMN dedup.corpus_state.recount_all IS 'The next backfill counts every sentence again.';
