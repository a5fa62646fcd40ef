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
    stale boolean NOT NULL DEFAULT false,
    takes_part boolean NOT NULL DEFAULT false,
    duplicate_of bigint,
    score double precision,
    marked_at timestamptz,
    reason text,
    limit_fired text,
    CONSTRAINT article_pkey PRIMARY KEY (id),
    CONSTRAINT article_source_id_key UNIQUE (source_id),
    CONSTRAINT article_duplicate_of_fkey FOREIGN KEY (duplicate_of) REFERENCES dedup.article (id),
    CONSTRAINT article_status_check
        CHECK (status IN ('pending', 'unique', 'similar', 'duplicate', 'failed')),
    CONSTRAINT article_stale_check CHECK (NOT stale OR status IN ('unique', 'similar', 'duplicate')),
    CONSTRAINT article_duplicate_of_check CHECK ((status = 'duplicate') = (duplicate_of IS NOT NULL)),
    -- The times that every client can read: 'infinity' in one row would stop all settling.
    CONSTRAINT article_published_at_check
        CHECK (published_at >= '0001-01-01 00:00:00+00' AND published_at < '10000-01-01 00:00:00+00'),
    CONSTRAINT article_added_at_check
        CHECK (added_at >= '0001-01-01 00:00:00+00' AND added_at < '10000-01-01 00:00:00+00')
);
-- Texts go out of line early, so that marking an article rewrites 100 bytes and not its text.
ALTER TABLE dedup.article SET (toast_tuple_target = 256);
-- What is to be settled, near enough in canonical order: the exact order depends on settings, and the result
-- does not depend on which articles are settled first. Settled rows are not in this index.
CREATE INDEX article_unsettled ON dedup.article
    (coalesce(published_at, added_at), source_id) WHERE status = 'pending' OR stale;
CREATE INDEX article_duplicate_of ON dedup.article (duplicate_of) WHERE duplicate_of IS NOT NULL;
CREATE INDEX article_failed ON dedup.article (id) WHERE status = 'failed';

COMMENT ON TABLE dedup.article IS
    'Every article with its mark. Nothing is ever removed by deduplication.';
COMMENT ON COLUMN dedup.article.id IS 'Internal number; says nothing about order.';
COMMENT ON COLUMN dedup.article.source_id IS 'The caller''s own key, unique.';
COMMENT ON COLUMN dedup.article.url IS 'Where it was published; not compared.';
COMMENT ON COLUMN dedup.article.title IS 'Headline; compared only where the text is too short to be compared by its parts.';
COMMENT ON COLUMN dedup.article.publication IS 'Who published it; not compared.';
COMMENT ON COLUMN dedup.article.published_at IS 'When it was published; the earlier of two duplicates is the original. Counts as missing where it cannot be true.';
COMMENT ON COLUMN dedup.article.added_at IS 'When the corpus first stored it; stands in where published_at is missing.';
COMMENT ON COLUMN dedup.article.language IS 'ISO 639 code; chooses the sentence parameters; null is the corpus default.';
COMMENT ON COLUMN dedup.article.text IS 'The body as given, without NUL and lone surrogates.';
COMMENT ON COLUMN dedup.article.revision IS 'How often what a fingerprint is made from has changed; ties a fingerprint to its text.';
COMMENT ON COLUMN dedup.article.status IS 'pending: never settled; unique; similar: canonical, but like another one; duplicate: see duplicate_of; failed: see reason.';
COMMENT ON COLUMN dedup.article.takes_part IS 'Whether other marks may rest on whether it is canonical: not before it is settled, nor while its place or its scores are about to change.';
COMMENT ON COLUMN dedup.article.stale IS 'The mark is the last one and must be settled again, which the next backfill does.';
COMMENT ON COLUMN dedup.article.duplicate_of IS 'The canonical article this one duplicates (article.id).';
COMMENT ON COLUMN dedup.article.score IS 'Duplicate: its score with duplicate_of. Similar: its highest score. 0 to 1.';
COMMENT ON COLUMN dedup.article.marked_at IS 'When the present mark was written.';
COMMENT ON COLUMN dedup.article.reason IS 'The rule that decided: pinned, content, sentences, signature or containment; for failed articles why.';
COMMENT ON COLUMN dedup.article.limit_fired IS 'The safety limit that left the article to the next backfill, or null.';

CREATE TABLE dedup.fingerprint (
    article_id bigint NOT NULL,
    version bigint NOT NULL,
    revision integer NOT NULL,
    content_hash bigint NOT NULL,
    sentence_hashes bigint[] NOT NULL,
    signature bytea NOT NULL,
    buckets bigint[] NOT NULL,
    word_count integer NOT NULL,
    shingle_count integer NOT NULL,
    canonical boolean NOT NULL DEFAULT true,
    CONSTRAINT fingerprint_pkey PRIMARY KEY (article_id),
    CONSTRAINT fingerprint_article_id_fkey
        FOREIGN KEY (article_id) REFERENCES dedup.article (id) ON DELETE CASCADE
);
-- Two partial indexes for the two kinds of look-up: among canonical articles (every settle), among duplicates
-- (only when a canonical article appears before articles already settled). An article that is not settled yet
-- is in the first, where nearly all of them stay: a row is written once, and not again by being settled.
-- fastupdate = off: a probe would scan the whole pending list of the index.
CREATE INDEX fingerprint_canonical ON dedup.fingerprint
    USING gin (sentence_hashes, buckets) WITH (fastupdate = off) WHERE canonical;
CREATE INDEX fingerprint_duplicate ON dedup.fingerprint
    USING gin (sentence_hashes, buckets) WITH (fastupdate = off) WHERE NOT canonical;
-- Equal content has equal buckets, so only short texts, which have none, need to be found by their content.
CREATE INDEX fingerprint_content ON dedup.fingerprint (content_hash) WHERE buckets = '{}';

COMMENT ON TABLE dedup.fingerprint IS 'What is kept of a text: hashes, never words.';
COMMENT ON COLUMN dedup.fingerprint.article_id IS 'article.id.';
COMMENT ON COLUMN dedup.fingerprint.version IS 'Algorithm, settings and sentence parameters that made it, as one number.';
COMMENT ON COLUMN dedup.fingerprint.revision IS 'The article.revision it was made from.';
COMMENT ON COLUMN dedup.fingerprint.content_hash IS 'Hash of all normalised words in order; of a short text, of its title and text.';
COMMENT ON COLUMN dedup.fingerprint.sentence_hashes IS 'Distinct hashes of its sentences, in order of appearance.';
COMMENT ON COLUMN dedup.fingerprint.signature IS 'The lowest byte of each MinHash value of its shingles; empty where there is none.';
COMMENT ON COLUMN dedup.fingerprint.buckets IS 'One key per LSH band; the content hash where there is no shingle; empty of a short text.';
COMMENT ON COLUMN dedup.fingerprint.word_count IS 'Normalised words in the text.';
COMMENT ON COLUMN dedup.fingerprint.shingle_count IS 'Distinct shingles in the text.';
COMMENT ON COLUMN dedup.fingerprint.canonical IS 'false: a duplicate. It counts only where article.takes_part.';

CREATE TABLE dedup.match (
    article_id bigint NOT NULL,
    other_id bigint NOT NULL,
    relation text NOT NULL,
    rule text NOT NULL,
    score double precision NOT NULL,
    sentence_jaccard double precision NOT NULL,
    signature_jaccard double precision NOT NULL,
    containment double precision NOT NULL,
    likest boolean NOT NULL DEFAULT false,
    CONSTRAINT match_pkey PRIMARY KEY (article_id, other_id),
    CONSTRAINT match_article_id_fkey
        FOREIGN KEY (article_id) REFERENCES dedup.article (id) ON DELETE CASCADE,
    CONSTRAINT match_other_id_fkey
        FOREIGN KEY (other_id) REFERENCES dedup.article (id) ON DELETE CASCADE,
    CONSTRAINT match_relation_check CHECK (relation IN ('duplicate', 'similar')),
    CONSTRAINT match_rule_check
        CHECK (rule IN ('pinned', 'content', 'sentences', 'signature', 'containment'))
);
CREATE INDEX match_other ON dedup.match (other_id);
CREATE UNIQUE INDEX match_likest ON dedup.match (other_id) WHERE likest;

COMMENT ON TABLE dedup.match IS
    'Scored pairs: a duplicate with the best of the canonical articles it duplicates; a canonical article with the best of the earlier canonical ones it is similar to, and with the one it is most like of all.';
COMMENT ON COLUMN dedup.match.article_id IS 'The later article of the pair.';
COMMENT ON COLUMN dedup.match.other_id IS 'The earlier one, always canonical.';
COMMENT ON COLUMN dedup.match.relation IS 'duplicate or similar.';
COMMENT ON COLUMN dedup.match.rule IS 'What decided: pinned, content, sentences, signature or containment.';
COMMENT ON COLUMN dedup.match.score IS 'The larger of the two Jaccards; 1 for equal content.';
COMMENT ON COLUMN dedup.match.sentence_jaccard IS 'Shared sentences over all sentences of both, common sentences left out.';
COMMENT ON COLUMN dedup.match.signature_jaccard IS 'Estimated Jaccard of the shingles of both; 0 where one has none.';
COMMENT ON COLUMN dedup.match.containment IS 'How much of the shorter article is in the longer one.';
COMMENT ON COLUMN dedup.match.likest IS 'Of all articles, earlier and later, the later one of the pair is the one most like the earlier one.';

CREATE TABLE dedup.common_sentence (
    sentence_hash bigint NOT NULL,
    carriers integer NOT NULL,
    effective_stories double precision NOT NULL,
    example text,
    since timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT common_sentence_pkey PRIMARY KEY (sentence_hash)
);
COMMENT ON TABLE dedup.common_sentence IS
    'Sentences that too many different stories carry: they find no candidates and count in no score. Brought up to date by the backfill.';
COMMENT ON COLUMN dedup.common_sentence.sentence_hash IS 'Hash of the normalised sentence.';
COMMENT ON COLUMN dedup.common_sentence.carriers IS 'Articles that carry it.';
COMMENT ON COLUMN dedup.common_sentence.effective_stories IS 'How many equally large stories these articles amount to.';
COMMENT ON COLUMN dedup.common_sentence.example IS 'The sentence as one of its articles prints it.';
COMMENT ON COLUMN dedup.common_sentence.since IS 'When it became common.';

CREATE TABLE dedup.sentence_count (
    sentence_hash bigint NOT NULL,
    carriers integer NOT NULL,
    pairs bigint NOT NULL,
    CONSTRAINT sentence_count_pkey PRIMARY KEY (sentence_hash)
);
COMMENT ON TABLE dedup.sentence_count IS
    'What decides whether a sentence is common, of every sentence that enough articles carry; changed by difference, never counted anew each night.';
COMMENT ON COLUMN dedup.sentence_count.sentence_hash IS 'Hash of the normalised sentence.';
COMMENT ON COLUMN dedup.sentence_count.carriers IS 'Articles that carry it; more than the setting common_stories.';
COMMENT ON COLUMN dedup.sentence_count.pairs IS 'Ordered pairs of carriers with an equal bucket key, summed over the bands.';

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
COMMENT ON TABLE dedup.pair_pin IS
    'What people have said two articles are to each other; it holds whatever the scores say. Keyed by the callers'' own ids, so it outlives a delete and a fresh load.';
COMMENT ON COLUMN dedup.pair_pin.source_id IS 'The caller''s key of one article, the smaller of both byte by byte.';
COMMENT ON COLUMN dedup.pair_pin.other_source_id IS 'The caller''s key of the other.';
COMMENT ON COLUMN dedup.pair_pin.relation IS 'duplicate, similar or unrelated.';
COMMENT ON COLUMN dedup.pair_pin.pinned_by IS 'Who said so.';
COMMENT ON COLUMN dedup.pair_pin.reason IS 'Why, or null.';
COMMENT ON COLUMN dedup.pair_pin.pinned_at IS 'When.';

CREATE TABLE dedup.sentence_change (
    id bigint GENERATED ALWAYS AS IDENTITY,
    article_id bigint,
    sentence_hashes bigint[],
    buckets bigint[],
    CONSTRAINT sentence_change_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE dedup.sentence_change IS
    'Fingerprints that came or went, and pins that changed, since the common sentences were last counted.';
COMMENT ON COLUMN dedup.sentence_change.id IS 'Number of the change.';
COMMENT ON COLUMN dedup.sentence_change.article_id IS 'The article whose fingerprint came or went; null for a pin.';
COMMENT ON COLUMN dedup.sentence_change.sentence_hashes IS 'The sentences of a fingerprint that went, or the one of a pin; null: the fingerprint came.';
COMMENT ON COLUMN dedup.sentence_change.buckets IS 'The buckets of a fingerprint that went.';

CREATE TABLE dedup.setting (
    name text NOT NULL,
    value text,
    adopted text,
    changed_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT setting_pkey PRIMARY KEY (name),
    CONSTRAINT setting_differs_check CHECK (value IS NOT NULL OR adopted IS NOT NULL)
);
COMMENT ON TABLE dedup.setting IS 'Settings of this corpus that differ from the program''s defaults, or will.';
COMMENT ON COLUMN dedup.setting.name IS 'Name, as `dedup settings` lists it.';
COMMENT ON COLUMN dedup.setting.value IS 'Value as text, in force from the next backfill on; null: the default.';
COMMENT ON COLUMN dedup.setting.adopted IS 'Value in force; null: the default.';
COMMENT ON COLUMN dedup.setting.changed_at IS 'When it was set.';

CREATE TABLE dedup.sentence_model (
    language text NOT NULL,
    adopted boolean NOT NULL DEFAULT false,
    abbrev_types text NOT NULL,
    collocations text NOT NULL,
    sent_starters text NOT NULL,
    ortho_context text NOT NULL,
    checksum text NOT NULL,
    articles bigint NOT NULL,
    trained_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT sentence_model_pkey PRIMARY KEY (language, adopted)
);
COMMENT ON TABLE dedup.sentence_model IS
    'Punkt sentence parameters trained from this corpus'' own texts, in NLTK''s tab format.';
COMMENT ON COLUMN dedup.sentence_model.language IS 'ISO 639 code.';
COMMENT ON COLUMN dedup.sentence_model.adopted IS 'true: in force; false: from the next backfill on.';
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
    unicode_version text,
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
COMMENT ON COLUMN dedup.corpus_state.unicode_version IS 'Version of the Unicode tables that the fingerprints were made with.';
COMMENT ON COLUMN dedup.corpus_state.rule_digest IS 'Settings of the marks.';
COMMENT ON COLUMN dedup.corpus_state.settled_through IS 'No settled article is later than this in canonical order.';
COMMENT ON COLUMN dedup.corpus_state.recount_all IS 'The next backfill counts every sentence again.';

CREATE TABLE dedup.settle_turn (
    only_row boolean NOT NULL DEFAULT true,
    CONSTRAINT settle_turn_pkey PRIMARY KEY (only_row),
    CONSTRAINT settle_turn_only_row_check CHECK (only_row)
);
INSERT INTO dedup.settle_turn DEFAULT VALUES;
COMMENT ON TABLE dedup.settle_turn IS 'One row: who locks it settles. Nothing is ever written to it.';
COMMENT ON COLUMN dedup.settle_turn.only_row IS 'Always true: there is one row.';

CREATE TABLE dedup.arrival (
    id bigint GENERATED ALWAYS AS IDENTITY,
    source_id text COLLATE "C" NOT NULL,
    url text,
    title text,
    publication text,
    published_at timestamptz,
    added_at timestamptz NOT NULL DEFAULT now(),
    language text,
    text text NOT NULL,
    CONSTRAINT arrival_pkey PRIMARY KEY (id)
);
CREATE INDEX arrival_source_id ON dedup.arrival (source_id, id);
COMMENT ON TABLE dedup.arrival IS
    'Articles that could not be stored at once, because another transaction held them: the next backfill stores them, or the next hook of the same article.';
COMMENT ON COLUMN dedup.arrival.id IS 'Order of arrival.';
COMMENT ON COLUMN dedup.arrival.source_id IS 'As in dedup.article, and so are all other columns; not unique here.';
COMMENT ON COLUMN dedup.arrival.url IS 'Null keeps what is stored.';
COMMENT ON COLUMN dedup.arrival.title IS 'Null keeps what is stored.';
COMMENT ON COLUMN dedup.arrival.publication IS 'Null keeps what is stored.';
COMMENT ON COLUMN dedup.arrival.published_at IS 'Null keeps what is stored.';
COMMENT ON COLUMN dedup.arrival.added_at IS 'When it arrived, unless the caller said something else.';
COMMENT ON COLUMN dedup.arrival.language IS 'Null keeps what is stored.';
COMMENT ON COLUMN dedup.arrival.text IS 'The body.';

CREATE TABLE dedup.attempt (
    article_id bigint NOT NULL,
    revision integer NOT NULL,
    attempts integer NOT NULL DEFAULT 1,
    first_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    reason text NOT NULL,
    CONSTRAINT attempt_pkey PRIMARY KEY (article_id),
    CONSTRAINT attempt_article_id_fkey
        FOREIGN KEY (article_id) REFERENCES dedup.article (id) ON DELETE CASCADE
);
COMMENT ON TABLE dedup.attempt IS
    'Articles whose text was tried alone and lost its worker process: tried again after a while, failed after several times. A row of another revision than the article counts for nothing.';
COMMENT ON COLUMN dedup.attempt.article_id IS 'article.id.';
COMMENT ON COLUMN dedup.attempt.revision IS 'The article.revision that was tried.';
COMMENT ON COLUMN dedup.attempt.attempts IS 'How often.';
COMMENT ON COLUMN dedup.attempt.first_at IS 'The first time.';
COMMENT ON COLUMN dedup.attempt.last_at IS 'The last time.';
COMMENT ON COLUMN dedup.attempt.reason IS 'What happened to the worker the last time.';

CREATE TABLE dedup.run (
    id bigint GENERATED ALWAYS AS IDENTITY,
    what text NOT NULL,
    host text NOT NULL,
    process_id integer NOT NULL,
    backend_pid integer,
    backend_start timestamptz,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    heartbeat_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    progress_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    stage text NOT NULL DEFAULT 'starting',
    done bigint NOT NULL DEFAULT 0,
    total bigint NOT NULL DEFAULT 0,
    ended_at timestamptz,
    outcome text,
    error text,
    CONSTRAINT run_pkey PRIMARY KEY (id),
    CONSTRAINT run_ended_check CHECK ((ended_at IS NULL) = (outcome IS NULL)),
    CONSTRAINT run_outcome_check CHECK (outcome IN ('done', 'stopped', 'failed', 'taken over'))
);
-- One at a time of each kind.
CREATE UNIQUE INDEX run_alive ON dedup.run (what) WHERE ended_at IS NULL;
COMMENT ON TABLE dedup.run IS
    'Who is, and was, at work: one row per backfill, the last 1,000 of them. A row without an end is alive while its heartbeat is.';
COMMENT ON COLUMN dedup.run.id IS 'Number of the run.';
COMMENT ON COLUMN dedup.run.what IS 'What runs: backfill.';
COMMENT ON COLUMN dedup.run.host IS 'Name of the machine it runs on.';
COMMENT ON COLUMN dedup.run.process_id IS 'Its process there.';
COMMENT ON COLUMN dedup.run.backend_pid IS 'The server process of its heartbeat; null where a pooler hides it.';
COMMENT ON COLUMN dedup.run.backend_start IS 'When that server process began, as pg_stat_activity has it.';
COMMENT ON COLUMN dedup.run.started_at IS 'When it began.';
COMMENT ON COLUMN dedup.run.heartbeat_at IS 'When it last said that it lives.';
COMMENT ON COLUMN dedup.run.progress_at IS 'When it last came further.';
COMMENT ON COLUMN dedup.run.stage IS 'What it does.';
COMMENT ON COLUMN dedup.run.done IS 'How much of this stage is done.';
COMMENT ON COLUMN dedup.run.total IS 'Of how much, as far as known.';
COMMENT ON COLUMN dedup.run.ended_at IS 'When it ended, or null.';
COMMENT ON COLUMN dedup.run.outcome IS 'How: done, stopped (as asked), failed, or taken over (by the next one, since it was gone).';
COMMENT ON COLUMN dedup.run.error IS 'The kind of error that ended it, or null.';
