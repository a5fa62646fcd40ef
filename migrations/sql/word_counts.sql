-- Word counts: in how many articles of a sample each word is, for `dedup sources` and `dedup coverage`.

CREATE TABLE dedup.word_count (
    word text COLLATE "C" NOT NULL,
    articles integer NOT NULL,
    CONSTRAINT word_count_pkey PRIMARY KEY (word),
    CONSTRAINT word_count_articles_check CHECK (articles > 0)
);
COMMENT ON TABLE dedup.word_count IS 'Words of a sample of articles, counted by `dedup init --search`; empty without the index of words. No mark depends on it.';
COMMENT ON COLUMN dedup.word_count.word IS 'A normalised word, in at least two articles of the sample. The empty word stands for the sample.';
COMMENT ON COLUMN dedup.word_count.articles IS 'Number of articles of the sample that have the word; of the empty word, number of articles in the sample.';
