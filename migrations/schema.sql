--- table agency
CREATE TABLE dedup.agency ();
--- table alembic_version
CREATE TABLE dedup.alembic_version ();
--- table article
CREATE TABLE dedup.article () WITH (toast_tuple_target=256);
--- table article_mark
CREATE TABLE dedup.article_mark ();
--- table attached_copy
CREATE TABLE dedup.attached_copy ();
--- table attachment
CREATE TABLE dedup.attachment ();
--- table bulk_change
CREATE TABLE dedup.bulk_change ();
--- table common_sentence
CREATE TABLE dedup.common_sentence ();
--- table compared_copy
CREATE TABLE dedup.compared_copy ();
--- table compared_version
CREATE TABLE dedup.compared_version ();
--- table corpus_state
CREATE TABLE dedup.corpus_state ();
--- table correction
CREATE TABLE dedup.correction ();
--- table correction_phrase
CREATE TABLE dedup.correction_phrase ();
--- table credit
CREATE TABLE dedup.credit ();
--- table credit_unread
CREATE TABLE dedup.credit_unread ();
--- table deferred_article
CREATE TABLE dedup.deferred_article ();
--- table feed
CREATE TABLE dedup.feed ();
--- table feed_entry
CREATE TABLE dedup.feed_entry ();
--- table fingerprint
CREATE TABLE dedup.fingerprint () WITH (fillfactor=85);
--- table fingerprint_bulk
CREATE TABLE dedup.fingerprint_bulk ();
--- table journal
CREATE TABLE dedup.journal ();
--- table journal_deleted
CREATE TABLE dedup.journal_deleted ();
--- table journal_mark
CREATE TABLE dedup.journal_mark ();
--- table judgement
CREATE TABLE dedup.judgement ();
--- table key_block
CREATE TABLE dedup.key_block () WITH (toast_tuple_target=8160);
--- table key_segment
CREATE TABLE dedup.key_segment ();
--- table load
CREATE TABLE dedup.load ();
--- table load_part
CREATE TABLE dedup.load_part ();
--- table mark_change
CREATE TABLE dedup.mark_change ();
--- table match
CREATE TABLE dedup.match ();
--- table outbox
CREATE TABLE dedup.outbox ();
--- table outlet
CREATE TABLE dedup.outlet ();
--- table pair_pin
CREATE TABLE dedup.pair_pin ();
--- table quoted_sentence
CREATE TABLE dedup.quoted_sentence ();
--- table recent_key
CREATE TABLE dedup.recent_key ();
--- table refused_row
CREATE TABLE dedup.refused_row ();
--- table review_pair
CREATE TABLE dedup.review_pair ();
--- table run
CREATE TABLE dedup.run ();
--- table run_total
CREATE TABLE dedup.run_total ();
--- table sentence_change
CREATE TABLE dedup.sentence_change ();
--- table sentence_count
CREATE TABLE dedup.sentence_count ();
--- table sentence_model
CREATE TABLE dedup.sentence_model ();
--- table sentence_pin
CREATE TABLE dedup.sentence_pin ();
--- table sentence_schedule
CREATE TABLE dedup.sentence_schedule ();
--- table setting
CREATE TABLE dedup.setting ();
--- table settle_turn
CREATE TABLE dedup.settle_turn ();
--- table word_count
CREATE TABLE dedup.word_count ();
--- table worker
CREATE TABLE dedup.worker ();
--- column id of agency
ALTER TABLE dedup.agency ADD COLUMN id integer NOT NULL GENERATED ALWAYS AS IDENTITY;
--- column name of agency
ALTER TABLE dedup.agency ADD COLUMN name text COLLATE "C" NOT NULL;
--- column spellings of agency
ALTER TABLE dedup.agency ADD COLUMN spellings text[] NOT NULL;
--- column places of agency
ALTER TABLE dedup.agency ADD COLUMN places text[] NOT NULL DEFAULT '{byline,dateline,end,copyright,item,contribution,photo}'::text[];
--- column version_num of alembic_version
ALTER TABLE dedup.alembic_version ADD COLUMN version_num character varying(32) NOT NULL;
--- column id of article
ALTER TABLE dedup.article ADD COLUMN id bigint NOT NULL GENERATED ALWAYS AS IDENTITY;
--- column source_id of article
ALTER TABLE dedup.article ADD COLUMN source_id text COLLATE "C" NOT NULL;
--- column url of article
ALTER TABLE dedup.article ADD COLUMN url text;
--- column title of article
ALTER TABLE dedup.article ADD COLUMN title text;
--- column publication of article
ALTER TABLE dedup.article ADD COLUMN publication text;
--- column published_at of article
ALTER TABLE dedup.article ADD COLUMN published_at timestamp with time zone;
--- column added_at of article
ALTER TABLE dedup.article ADD COLUMN added_at timestamp with time zone NOT NULL DEFAULT now();
--- column language of article
ALTER TABLE dedup.article ADD COLUMN language text;
--- column text of article
ALTER TABLE dedup.article ADD COLUMN text text;
--- column revision of article
ALTER TABLE dedup.article ADD COLUMN revision integer NOT NULL DEFAULT 0;
--- column attachment_id of article
ALTER TABLE dedup.article ADD COLUMN attachment_id integer;
--- column text_hash of article
ALTER TABLE dedup.article ADD COLUMN text_hash bytea;
--- column kept of article
ALTER TABLE dedup.article ADD COLUMN kept jsonb;
--- column byline of article
ALTER TABLE dedup.article ADD COLUMN byline text;
--- column scope of article
ALTER TABLE dedup.article ADD COLUMN scope text;
--- column id of article_mark
ALTER TABLE dedup.article_mark ADD COLUMN id bigint NOT NULL;
--- column time of article_mark
ALTER TABLE dedup.article_mark ADD COLUMN "time" timestamp with time zone NOT NULL;
--- column duplicate_of of article_mark
ALTER TABLE dedup.article_mark ADD COLUMN duplicate_of bigint;
--- column score of article_mark
ALTER TABLE dedup.article_mark ADD COLUMN score double precision;
--- column marked_at of article_mark
ALTER TABLE dedup.article_mark ADD COLUMN marked_at timestamp with time zone;
--- column attachment_id of article_mark
ALTER TABLE dedup.article_mark ADD COLUMN attachment_id integer;
--- column stale of article_mark
ALTER TABLE dedup.article_mark ADD COLUMN stale boolean NOT NULL DEFAULT false;
--- column takes_part of article_mark
ALTER TABLE dedup.article_mark ADD COLUMN takes_part boolean NOT NULL DEFAULT false;
--- column archived of article_mark
ALTER TABLE dedup.article_mark ADD COLUMN archived boolean NOT NULL DEFAULT false;
--- column status of article_mark
ALTER TABLE dedup.article_mark ADD COLUMN status text NOT NULL DEFAULT 'pending'::text;
--- column reason of article_mark
ALTER TABLE dedup.article_mark ADD COLUMN reason text;
--- column limit_fired of article_mark
ALTER TABLE dedup.article_mark ADD COLUMN limit_fired text;
--- column waits_since of article_mark
ALTER TABLE dedup.article_mark ADD COLUMN waits_since timestamp with time zone;
--- column attachment_id of attached_copy
ALTER TABLE dedup.attached_copy ADD COLUMN attachment_id integer NOT NULL;
--- column source_id of attached_copy
ALTER TABLE dedup.attached_copy ADD COLUMN source_id text COLLATE "C" NOT NULL;
--- column text of attached_copy
ALTER TABLE dedup.attached_copy ADD COLUMN text text NOT NULL;
--- column title of attached_copy
ALTER TABLE dedup.attached_copy ADD COLUMN title text COLLATE "C";
--- column url of attached_copy
ALTER TABLE dedup.attached_copy ADD COLUMN url text COLLATE "C";
--- column publication of attached_copy
ALTER TABLE dedup.attached_copy ADD COLUMN publication text COLLATE "C";
--- column language of attached_copy
ALTER TABLE dedup.attached_copy ADD COLUMN language text COLLATE "C";
--- column published_at of attached_copy
ALTER TABLE dedup.attached_copy ADD COLUMN published_at timestamp with time zone;
--- column byline of attached_copy
ALTER TABLE dedup.attached_copy ADD COLUMN byline text COLLATE "C";
--- column status of attached_copy
ALTER TABLE dedup.attached_copy ADD COLUMN status text;
--- column original of attached_copy
ALTER TABLE dedup.attached_copy ADD COLUMN original text COLLATE "C";
--- column score of attached_copy
ALTER TABLE dedup.attached_copy ADD COLUMN score double precision;
--- column kept of attached_copy
ALTER TABLE dedup.attached_copy ADD COLUMN kept jsonb;
--- column changed_at of attached_copy
ALTER TABLE dedup.attached_copy ADD COLUMN changed_at timestamp with time zone;
--- column scope of attached_copy
ALTER TABLE dedup.attached_copy ADD COLUMN scope text COLLATE "C";
--- column id of attachment
ALTER TABLE dedup.attachment ADD COLUMN id integer NOT NULL;
--- column name of attachment
ALTER TABLE dedup.attachment ADD COLUMN name text COLLATE "C" NOT NULL;
--- column schema_name of attachment
ALTER TABLE dedup.attachment ADD COLUMN schema_name text COLLATE "C" NOT NULL;
--- column table_name of attachment
ALTER TABLE dedup.attachment ADD COLUMN table_name text COLLATE "C" NOT NULL;
--- column key_columns of attachment
ALTER TABLE dedup.attachment ADD COLUMN key_columns text[] NOT NULL;
--- column key_types of attachment
ALTER TABLE dedup.attachment ADD COLUMN key_types text[] NOT NULL;
--- column columns of attachment
ALTER TABLE dedup.attachment ADD COLUMN columns jsonb NOT NULL;
--- column where_clause of attachment
ALTER TABLE dedup.attachment ADD COLUMN where_clause text;
--- column mark_columns of attachment
ALTER TABLE dedup.attachment ADD COLUMN mark_columns boolean NOT NULL DEFAULT false;
--- column triggers of attachment
ALTER TABLE dedup.attachment ADD COLUMN triggers boolean NOT NULL DEFAULT true;
--- column leaving of attachment
ALTER TABLE dedup.attachment ADD COLUMN leaving boolean NOT NULL DEFAULT false;
--- column attached_at of attachment
ALTER TABLE dedup.attachment ADD COLUMN attached_at timestamp with time zone NOT NULL DEFAULT now();
--- column seen of attachment
ALTER TABLE dedup.attachment ADD COLUMN seen jsonb NOT NULL DEFAULT '{}'::jsonb;
--- column html of attachment
ALTER TABLE dedup.attachment ADD COLUMN html boolean NOT NULL DEFAULT false;
--- column changed_column of attachment
ALTER TABLE dedup.attachment ADD COLUMN changed_column text;
--- column sync_minutes of attachment
ALTER TABLE dedup.attachment ADD COLUMN sync_minutes integer;
--- column synced_at of attachment
ALTER TABLE dedup.attachment ADD COLUMN synced_at timestamp with time zone;
--- column compared_at of attachment
ALTER TABLE dedup.attachment ADD COLUMN compared_at timestamp with time zone;
--- column changed_through of attachment
ALTER TABLE dedup.attachment ADD COLUMN changed_through timestamp with time zone;
--- column kept_columns of attachment
ALTER TABLE dedup.attachment ADD COLUMN kept_columns text[] NOT NULL DEFAULT '{}'::text[];
--- column copied of attachment
ALTER TABLE dedup.attachment ADD COLUMN copied boolean NOT NULL DEFAULT false;
--- column bases of attachment
ALTER TABLE dedup.attachment ADD COLUMN bases jsonb NOT NULL DEFAULT '[]'::jsonb;
--- column rests_until of attachment
ALTER TABLE dedup.attachment ADD COLUMN rests_until timestamp with time zone;
--- column id of bulk_change
ALTER TABLE dedup.bulk_change ADD COLUMN id bigint NOT NULL GENERATED ALWAYS AS IDENTITY;
--- column article_id of bulk_change
ALTER TABLE dedup.bulk_change ADD COLUMN article_id bigint NOT NULL;
--- column sentence_hash of common_sentence
ALTER TABLE dedup.common_sentence ADD COLUMN sentence_hash bigint NOT NULL;
--- column carriers of common_sentence
ALTER TABLE dedup.common_sentence ADD COLUMN carriers integer NOT NULL;
--- column effective_stories of common_sentence
ALTER TABLE dedup.common_sentence ADD COLUMN effective_stories double precision NOT NULL;
--- column example of common_sentence
ALTER TABLE dedup.common_sentence ADD COLUMN example text;
--- column since of common_sentence
ALTER TABLE dedup.common_sentence ADD COLUMN since timestamp with time zone NOT NULL DEFAULT now();
--- column article_id of compared_copy
ALTER TABLE dedup.compared_copy ADD COLUMN article_id bigint NOT NULL;
--- column original_id of compared_copy
ALTER TABLE dedup.compared_copy ADD COLUMN original_id bigint NOT NULL;
--- column revision of compared_copy
ALTER TABLE dedup.compared_copy ADD COLUMN revision integer NOT NULL;
--- column original_revision of compared_copy
ALTER TABLE dedup.compared_copy ADD COLUMN original_revision integer NOT NULL;
--- column words of compared_copy
ALTER TABLE dedup.compared_copy ADD COLUMN words integer NOT NULL;
--- column words_added of compared_copy
ALTER TABLE dedup.compared_copy ADD COLUMN words_added integer NOT NULL;
--- column grams of compared_copy
ALTER TABLE dedup.compared_copy ADD COLUMN grams integer NOT NULL;
--- column grams_in_original of compared_copy
ALTER TABLE dedup.compared_copy ADD COLUMN grams_in_original integer NOT NULL;
--- column sentences of compared_copy
ALTER TABLE dedup.compared_copy ADD COLUMN sentences text[] NOT NULL;
--- column numbers of compared_copy
ALTER TABLE dedup.compared_copy ADD COLUMN numbers text[] NOT NULL;
--- column compared_at of compared_copy
ALTER TABLE dedup.compared_copy ADD COLUMN compared_at timestamp with time zone NOT NULL DEFAULT now();
--- column article_id of compared_version
ALTER TABLE dedup.compared_version ADD COLUMN article_id bigint NOT NULL;
--- column before_id of compared_version
ALTER TABLE dedup.compared_version ADD COLUMN before_id bigint NOT NULL;
--- column revision of compared_version
ALTER TABLE dedup.compared_version ADD COLUMN revision integer NOT NULL;
--- column before_revision of compared_version
ALTER TABLE dedup.compared_version ADD COLUMN before_revision integer NOT NULL;
--- column earlier of compared_version
ALTER TABLE dedup.compared_version ADD COLUMN earlier text[] NOT NULL;
--- column later of compared_version
ALTER TABLE dedup.compared_version ADD COLUMN later text[] NOT NULL;
--- column earlier_hashes of compared_version
ALTER TABLE dedup.compared_version ADD COLUMN earlier_hashes bigint[] NOT NULL;
--- column later_hashes of compared_version
ALTER TABLE dedup.compared_version ADD COLUMN later_hashes bigint[] NOT NULL;
--- column compared_at of compared_version
ALTER TABLE dedup.compared_version ADD COLUMN compared_at timestamp with time zone NOT NULL DEFAULT now();
--- column only_row of corpus_state
ALTER TABLE dedup.corpus_state ADD COLUMN only_row boolean NOT NULL DEFAULT true;
--- column fingerprint_digest of corpus_state
ALTER TABLE dedup.corpus_state ADD COLUMN fingerprint_digest text;
--- column algorithm_revision of corpus_state
ALTER TABLE dedup.corpus_state ADD COLUMN algorithm_revision integer NOT NULL DEFAULT 0;
--- column unicode_version of corpus_state
ALTER TABLE dedup.corpus_state ADD COLUMN unicode_version text;
--- column rule_digest of corpus_state
ALTER TABLE dedup.corpus_state ADD COLUMN rule_digest text;
--- column settled_through of corpus_state
ALTER TABLE dedup.corpus_state ADD COLUMN settled_through timestamp with time zone;
--- column recount_all of corpus_state
ALTER TABLE dedup.corpus_state ADD COLUMN recount_all boolean NOT NULL DEFAULT true;
--- column bulk_run of corpus_state
ALTER TABLE dedup.corpus_state ADD COLUMN bulk_run bigint;
--- column horizon of corpus_state
ALTER TABLE dedup.corpus_state ADD COLUMN horizon timestamp with time zone;
--- column horizon_wanted of corpus_state
ALTER TABLE dedup.corpus_state ADD COLUMN horizon_wanted timestamp with time zone;
--- column divided of corpus_state
ALTER TABLE dedup.corpus_state ADD COLUMN divided text DEFAULT 'no horizon'::text;
--- column article_id of correction
ALTER TABLE dedup.correction ADD COLUMN article_id bigint NOT NULL;
--- column phrase of correction
ALTER TABLE dedup.correction ADD COLUMN phrase text COLLATE "C" NOT NULL;
--- column place of correction
ALTER TABLE dedup.correction ADD COLUMN place text NOT NULL;
--- column phrase of correction_phrase
ALTER TABLE dedup.correction_phrase ADD COLUMN phrase text COLLATE "C" NOT NULL;
--- column article_id of credit
ALTER TABLE dedup.credit ADD COLUMN article_id bigint NOT NULL;
--- column agency_id of credit
ALTER TABLE dedup.credit ADD COLUMN agency_id integer NOT NULL;
--- column place of credit
ALTER TABLE dedup.credit ADD COLUMN place text NOT NULL;
--- column kind of credit
ALTER TABLE dedup.credit ADD COLUMN kind text NOT NULL GENERATED ALWAYS AS (
CASE place
    WHEN 'item'::text THEN 'part'::text
    WHEN 'contribution'::text THEN place
    WHEN 'photo'::text THEN place
    ELSE 'text'::text
END) STORED;
--- column article_id of credit_unread
ALTER TABLE dedup.credit_unread ADD COLUMN article_id bigint NOT NULL;
--- column id of deferred_article
ALTER TABLE dedup.deferred_article ADD COLUMN id bigint NOT NULL GENERATED ALWAYS AS IDENTITY;
--- column source_id of deferred_article
ALTER TABLE dedup.deferred_article ADD COLUMN source_id text COLLATE "C" NOT NULL;
--- column url of deferred_article
ALTER TABLE dedup.deferred_article ADD COLUMN url text;
--- column title of deferred_article
ALTER TABLE dedup.deferred_article ADD COLUMN title text;
--- column publication of deferred_article
ALTER TABLE dedup.deferred_article ADD COLUMN publication text;
--- column published_at of deferred_article
ALTER TABLE dedup.deferred_article ADD COLUMN published_at timestamp with time zone;
--- column added_at of deferred_article
ALTER TABLE dedup.deferred_article ADD COLUMN added_at timestamp with time zone NOT NULL DEFAULT now();
--- column language of deferred_article
ALTER TABLE dedup.deferred_article ADD COLUMN language text;
--- column text of deferred_article
ALTER TABLE dedup.deferred_article ADD COLUMN text text NOT NULL;
--- column byline of deferred_article
ALTER TABLE dedup.deferred_article ADD COLUMN byline text;
--- column kept of deferred_article
ALTER TABLE dedup.deferred_article ADD COLUMN kept jsonb;
--- column scope of deferred_article
ALTER TABLE dedup.deferred_article ADD COLUMN scope text;
--- column id of feed
ALTER TABLE dedup.feed ADD COLUMN id integer NOT NULL GENERATED ALWAYS AS IDENTITY;
--- column address of feed
ALTER TABLE dedup.feed ADD COLUMN address text COLLATE "C" NOT NULL;
--- column etag of feed
ALTER TABLE dedup.feed ADD COLUMN etag text;
--- column modified of feed
ALTER TABLE dedup.feed ADD COLUMN modified text;
--- column answered_at of feed
ALTER TABLE dedup.feed ADD COLUMN answered_at timestamp with time zone;
--- column not_before of feed
ALTER TABLE dedup.feed ADD COLUMN not_before timestamp with time zone;
--- column failures of feed
ALTER TABLE dedup.feed ADD COLUMN failures integer NOT NULL DEFAULT 0;
--- column problem of feed
ALTER TABLE dedup.feed ADD COLUMN problem text;
--- column source_id of feed_entry
ALTER TABLE dedup.feed_entry ADD COLUMN source_id text COLLATE "C" NOT NULL;
--- column feed_id of feed_entry
ALTER TABLE dedup.feed_entry ADD COLUMN feed_id integer NOT NULL;
--- column digest of feed_entry
ALTER TABLE dedup.feed_entry ADD COLUMN digest bytea NOT NULL;
--- column seen_at of feed_entry
ALTER TABLE dedup.feed_entry ADD COLUMN seen_at timestamp with time zone NOT NULL DEFAULT now();
--- column brought of feed_entry
ALTER TABLE dedup.feed_entry ADD COLUMN brought boolean;
--- column article_id of fingerprint
ALTER TABLE dedup.fingerprint ADD COLUMN article_id bigint NOT NULL;
--- column version of fingerprint
ALTER TABLE dedup.fingerprint ADD COLUMN version bigint NOT NULL;
--- column revision of fingerprint
ALTER TABLE dedup.fingerprint ADD COLUMN revision integer NOT NULL;
--- column content_hash of fingerprint
ALTER TABLE dedup.fingerprint ADD COLUMN content_hash bigint NOT NULL;
--- column sentence_hashes of fingerprint
ALTER TABLE dedup.fingerprint ADD COLUMN sentence_hashes bigint[] NOT NULL;
--- column signature of fingerprint
ALTER TABLE dedup.fingerprint ADD COLUMN signature bytea NOT NULL;
--- column buckets of fingerprint
ALTER TABLE dedup.fingerprint ADD COLUMN buckets bigint[] NOT NULL;
--- column word_count of fingerprint
ALTER TABLE dedup.fingerprint ADD COLUMN word_count integer NOT NULL;
--- column shingle_count of fingerprint
ALTER TABLE dedup.fingerprint ADD COLUMN shingle_count integer NOT NULL;
--- column canonical of fingerprint
ALTER TABLE dedup.fingerprint ADD COLUMN canonical boolean NOT NULL DEFAULT true;
--- column article_id of fingerprint_bulk
ALTER TABLE dedup.fingerprint_bulk ADD COLUMN article_id bigint NOT NULL;
--- column version of fingerprint_bulk
ALTER TABLE dedup.fingerprint_bulk ADD COLUMN version bigint NOT NULL;
--- column revision of fingerprint_bulk
ALTER TABLE dedup.fingerprint_bulk ADD COLUMN revision integer NOT NULL;
--- column content_hash of fingerprint_bulk
ALTER TABLE dedup.fingerprint_bulk ADD COLUMN content_hash bigint NOT NULL;
--- column sentence_hashes of fingerprint_bulk
ALTER TABLE dedup.fingerprint_bulk ADD COLUMN sentence_hashes bigint[] NOT NULL;
--- column signature of fingerprint_bulk
ALTER TABLE dedup.fingerprint_bulk ADD COLUMN signature bytea NOT NULL;
--- column buckets of fingerprint_bulk
ALTER TABLE dedup.fingerprint_bulk ADD COLUMN buckets bigint[] NOT NULL;
--- column word_count of fingerprint_bulk
ALTER TABLE dedup.fingerprint_bulk ADD COLUMN word_count integer NOT NULL;
--- column shingle_count of fingerprint_bulk
ALTER TABLE dedup.fingerprint_bulk ADD COLUMN shingle_count integer NOT NULL;
--- column canonical of fingerprint_bulk
ALTER TABLE dedup.fingerprint_bulk ADD COLUMN canonical boolean NOT NULL DEFAULT true;
--- column number of journal
ALTER TABLE dedup.journal ADD COLUMN number integer NOT NULL;
--- column key of journal
ALTER TABLE dedup.journal ADD COLUMN key uuid NOT NULL DEFAULT gen_random_uuid();
--- column position of journal
ALTER TABLE dedup.journal ADD COLUMN "position" bigint NOT NULL;
--- column forgotten of journal
ALTER TABLE dedup.journal ADD COLUMN forgotten bigint NOT NULL;
--- column server_started of journal
ALTER TABLE dedup.journal ADD COLUMN server_started timestamp with time zone NOT NULL DEFAULT pg_postmaster_start_time();
--- column position of journal_deleted
ALTER TABLE dedup.journal_deleted ADD COLUMN "position" bigint NOT NULL;
--- column article_id of journal_deleted
ALTER TABLE dedup.journal_deleted ADD COLUMN article_id bigint NOT NULL;
--- column source_id of journal_deleted
ALTER TABLE dedup.journal_deleted ADD COLUMN source_id text COLLATE "C" NOT NULL;
--- column deleted_at of journal_deleted
ALTER TABLE dedup.journal_deleted ADD COLUMN deleted_at timestamp with time zone NOT NULL DEFAULT now();
--- column article_id of journal_mark
ALTER TABLE dedup.journal_mark ADD COLUMN article_id bigint NOT NULL;
--- column position of journal_mark
ALTER TABLE dedup.journal_mark ADD COLUMN "position" bigint NOT NULL;
--- column source_id of judgement
ALTER TABLE dedup.judgement ADD COLUMN source_id text COLLATE "C" NOT NULL;
--- column other_source_id of judgement
ALTER TABLE dedup.judgement ADD COLUMN other_source_id text COLLATE "C" NOT NULL;
--- column judged_by of judgement
ALTER TABLE dedup.judgement ADD COLUMN judged_by text NOT NULL;
--- column label of judgement
ALTER TABLE dedup.judgement ADD COLUMN label text NOT NULL;
--- column note of judgement
ALTER TABLE dedup.judgement ADD COLUMN note text;
--- column judged_at of judgement
ALTER TABLE dedup.judgement ADD COLUMN judged_at timestamp with time zone NOT NULL DEFAULT now();
--- column text_hash of judgement
ALTER TABLE dedup.judgement ADD COLUMN text_hash bytea NOT NULL;
--- column other_text_hash of judgement
ALTER TABLE dedup.judgement ADD COLUMN other_text_hash bytea NOT NULL;
--- column segment of key_block
ALTER TABLE dedup.key_block ADD COLUMN segment bigint NOT NULL;
--- column number of key_block
ALTER TABLE dedup.key_block ADD COLUMN number integer NOT NULL;
--- column entries of key_block
ALTER TABLE dedup.key_block ADD COLUMN entries bigint[] NOT NULL;
--- column id of key_segment
ALTER TABLE dedup.key_segment ADD COLUMN id bigint NOT NULL;
--- column canonical of key_segment
ALTER TABLE dedup.key_segment ADD COLUMN canonical boolean NOT NULL;
--- column entries of key_segment
ALTER TABLE dedup.key_segment ADD COLUMN entries bigint NOT NULL;
--- column blocks of key_segment
ALTER TABLE dedup.key_segment ADD COLUMN blocks bigint NOT NULL;
--- column id of load
ALTER TABLE dedup.load ADD COLUMN id integer NOT NULL GENERATED ALWAYS AS IDENTITY;
--- column source of load
ALTER TABLE dedup.load ADD COLUMN source text;
--- column feed_id of load
ALTER TABLE dedup.load ADD COLUMN feed_id integer;
--- column loaded_by of load
ALTER TABLE dedup.load ADD COLUMN loaded_by text NOT NULL DEFAULT SESSION_USER;
--- column loaded_at of load
ALTER TABLE dedup.load ADD COLUMN loaded_at timestamp with time zone NOT NULL DEFAULT now();
--- column removed_by of load
ALTER TABLE dedup.load ADD COLUMN removed_by text;
--- column removed_at of load
ALTER TABLE dedup.load ADD COLUMN removed_at timestamp with time zone;
--- column load_id of load_part
ALTER TABLE dedup.load_part ADD COLUMN load_id integer;
--- column feed_id of load_part
ALTER TABLE dedup.load_part ADD COLUMN feed_id integer;
--- column kind of load_part
ALTER TABLE dedup.load_part ADD COLUMN kind text NOT NULL;
--- column ids of load_part
ALTER TABLE dedup.load_part ADD COLUMN ids int8multirange NOT NULL;
--- column id of mark_change
ALTER TABLE dedup.mark_change ADD COLUMN id bigint NOT NULL GENERATED ALWAYS AS IDENTITY;
--- column attachment_id of mark_change
ALTER TABLE dedup.mark_change ADD COLUMN attachment_id integer NOT NULL;
--- column source_id of mark_change
ALTER TABLE dedup.mark_change ADD COLUMN source_id text COLLATE "C" NOT NULL;
--- column failed of mark_change
ALTER TABLE dedup.mark_change ADD COLUMN failed text;
--- column article_id of match
ALTER TABLE dedup.match ADD COLUMN article_id bigint NOT NULL;
--- column other_id of match
ALTER TABLE dedup.match ADD COLUMN other_id bigint NOT NULL;
--- column relation of match
ALTER TABLE dedup.match ADD COLUMN relation text NOT NULL;
--- column rule of match
ALTER TABLE dedup.match ADD COLUMN rule text NOT NULL;
--- column score of match
ALTER TABLE dedup.match ADD COLUMN score double precision NOT NULL;
--- column sentence_jaccard of match
ALTER TABLE dedup.match ADD COLUMN sentence_jaccard double precision NOT NULL;
--- column signature_jaccard of match
ALTER TABLE dedup.match ADD COLUMN signature_jaccard double precision NOT NULL;
--- column containment of match
ALTER TABLE dedup.match ADD COLUMN containment double precision NOT NULL;
--- column best_match of match
ALTER TABLE dedup.match ADD COLUMN best_match boolean NOT NULL DEFAULT false;
--- column id of outbox
ALTER TABLE dedup.outbox ADD COLUMN id bigint NOT NULL GENERATED ALWAYS AS IDENTITY;
--- column attachment_id of outbox
ALTER TABLE dedup.outbox ADD COLUMN attachment_id integer NOT NULL;
--- column amount of outbox
ALTER TABLE dedup.outbox ADD COLUMN amount integer NOT NULL DEFAULT 1;
--- column source_ids of outbox
ALTER TABLE dedup.outbox ADD COLUMN source_ids text[] COLLATE "C";
--- column noted_at of outbox
ALTER TABLE dedup.outbox ADD COLUMN noted_at timestamp with time zone NOT NULL DEFAULT now();
--- column base of outbox
ALTER TABLE dedup.outbox ADD COLUMN base integer;
--- column name of outlet
ALTER TABLE dedup.outlet ADD COLUMN name text COLLATE "C" NOT NULL;
--- column family of outlet
ALTER TABLE dedup.outlet ADD COLUMN family text COLLATE "C";
--- column alias_of of outlet
ALTER TABLE dedup.outlet ADD COLUMN alias_of text COLLATE "C";
--- column agency of outlet
ALTER TABLE dedup.outlet ADD COLUMN agency text COLLATE "C";
--- column is_alias of outlet
ALTER TABLE dedup.outlet ADD COLUMN is_alias boolean NOT NULL GENERATED ALWAYS AS ((alias_of IS NOT NULL)) STORED;
--- column target_is_alias of outlet
ALTER TABLE dedup.outlet ADD COLUMN target_is_alias boolean GENERATED ALWAYS AS (
CASE
    WHEN (alias_of IS NOT NULL) THEN false
    ELSE NULL::boolean
END) STORED;
--- column source_id of pair_pin
ALTER TABLE dedup.pair_pin ADD COLUMN source_id text COLLATE "C" NOT NULL;
--- column other_source_id of pair_pin
ALTER TABLE dedup.pair_pin ADD COLUMN other_source_id text COLLATE "C" NOT NULL;
--- column relation of pair_pin
ALTER TABLE dedup.pair_pin ADD COLUMN relation text NOT NULL;
--- column pinned_by of pair_pin
ALTER TABLE dedup.pair_pin ADD COLUMN pinned_by text NOT NULL DEFAULT CURRENT_USER;
--- column reason of pair_pin
ALTER TABLE dedup.pair_pin ADD COLUMN reason text;
--- column pinned_at of pair_pin
ALTER TABLE dedup.pair_pin ADD COLUMN pinned_at timestamp with time zone NOT NULL DEFAULT now();
--- column sentence_hash of quoted_sentence
ALTER TABLE dedup.quoted_sentence ADD COLUMN sentence_hash bigint NOT NULL;
--- column article_id of quoted_sentence
ALTER TABLE dedup.quoted_sentence ADD COLUMN article_id bigint NOT NULL;
--- column revision of quoted_sentence
ALTER TABLE dedup.quoted_sentence ADD COLUMN revision integer NOT NULL;
--- column outlets of quoted_sentence
ALTER TABLE dedup.quoted_sentence ADD COLUMN outlets integer NOT NULL;
--- column stories of quoted_sentence
ALTER TABLE dedup.quoted_sentence ADD COLUMN stories integer NOT NULL;
--- column articles of quoted_sentence
ALTER TABLE dedup.quoted_sentence ADD COLUMN articles integer NOT NULL;
--- column words of quoted_sentence
ALTER TABLE dedup.quoted_sentence ADD COLUMN words text NOT NULL;
--- column counted_at of quoted_sentence
ALTER TABLE dedup.quoted_sentence ADD COLUMN counted_at timestamp with time zone NOT NULL DEFAULT now();
--- column first_known of quoted_sentence
ALTER TABLE dedup.quoted_sentence ADD COLUMN first_known boolean NOT NULL DEFAULT false;
--- column article_id of recent_key
ALTER TABLE dedup.recent_key ADD COLUMN article_id bigint NOT NULL;
--- column keys of recent_key
ALTER TABLE dedup.recent_key ADD COLUMN keys bigint[] NOT NULL;
--- column attachment_id of refused_row
ALTER TABLE dedup.refused_row ADD COLUMN attachment_id integer NOT NULL;
--- column source_id of refused_row
ALTER TABLE dedup.refused_row ADD COLUMN source_id text COLLATE "C" NOT NULL;
--- column source_id of review_pair
ALTER TABLE dedup.review_pair ADD COLUMN source_id text COLLATE "C" NOT NULL;
--- column other_source_id of review_pair
ALTER TABLE dedup.review_pair ADD COLUMN other_source_id text COLLATE "C" NOT NULL;
--- column place of review_pair
ALTER TABLE dedup.review_pair ADD COLUMN place integer NOT NULL;
--- column stratum of review_pair
ALTER TABLE dedup.review_pair ADD COLUMN stratum text NOT NULL;
--- column stratum_size of review_pair
ALTER TABLE dedup.review_pair ADD COLUMN stratum_size bigint NOT NULL;
--- column stratum_picked of review_pair
ALTER TABLE dedup.review_pair ADD COLUMN stratum_picked bigint NOT NULL;
--- column scores of review_pair
ALTER TABLE dedup.review_pair ADD COLUMN scores jsonb NOT NULL DEFAULT '{}'::jsonb;
--- column picked_at of review_pair
ALTER TABLE dedup.review_pair ADD COLUMN picked_at timestamp with time zone NOT NULL DEFAULT now();
--- column id of run
ALTER TABLE dedup.run ADD COLUMN id bigint NOT NULL GENERATED ALWAYS AS IDENTITY;
--- column what of run
ALTER TABLE dedup.run ADD COLUMN what text NOT NULL;
--- column host of run
ALTER TABLE dedup.run ADD COLUMN host text NOT NULL;
--- column process_id of run
ALTER TABLE dedup.run ADD COLUMN process_id integer NOT NULL;
--- column backend_pid of run
ALTER TABLE dedup.run ADD COLUMN backend_pid integer;
--- column backend_start of run
ALTER TABLE dedup.run ADD COLUMN backend_start timestamp with time zone;
--- column started_at of run
ALTER TABLE dedup.run ADD COLUMN started_at timestamp with time zone NOT NULL DEFAULT clock_timestamp();
--- column heartbeat_at of run
ALTER TABLE dedup.run ADD COLUMN heartbeat_at timestamp with time zone NOT NULL DEFAULT clock_timestamp();
--- column progress_at of run
ALTER TABLE dedup.run ADD COLUMN progress_at timestamp with time zone NOT NULL DEFAULT clock_timestamp();
--- column stage of run
ALTER TABLE dedup.run ADD COLUMN stage text NOT NULL DEFAULT 'starting'::text;
--- column done of run
ALTER TABLE dedup.run ADD COLUMN done bigint NOT NULL DEFAULT 0;
--- column total of run
ALTER TABLE dedup.run ADD COLUMN total bigint NOT NULL DEFAULT 0;
--- column ended_at of run
ALTER TABLE dedup.run ADD COLUMN ended_at timestamp with time zone;
--- column outcome of run
ALTER TABLE dedup.run ADD COLUMN outcome text;
--- column error of run
ALTER TABLE dedup.run ADD COLUMN error text;
--- column fingerprinted of run
ALTER TABLE dedup.run ADD COLUMN fingerprinted bigint NOT NULL DEFAULT 0;
--- column settled of run
ALTER TABLE dedup.run ADD COLUMN settled bigint NOT NULL DEFAULT 0;
--- column failed of run
ALTER TABLE dedup.run ADD COLUMN failed bigint NOT NULL DEFAULT 0;
--- column seconds of run
ALTER TABLE dedup.run ADD COLUMN seconds jsonb NOT NULL DEFAULT '{}'::jsonb;
--- column name of run_total
ALTER TABLE dedup.run_total ADD COLUMN name text COLLATE "C" NOT NULL;
--- column stage of run_total
ALTER TABLE dedup.run_total ADD COLUMN stage text COLLATE "C" NOT NULL DEFAULT ''::text;
--- column value of run_total
ALTER TABLE dedup.run_total ADD COLUMN value double precision NOT NULL;
--- column id of sentence_change
ALTER TABLE dedup.sentence_change ADD COLUMN id bigint NOT NULL GENERATED ALWAYS AS IDENTITY;
--- column article_id of sentence_change
ALTER TABLE dedup.sentence_change ADD COLUMN article_id bigint;
--- column sentence_hashes of sentence_change
ALTER TABLE dedup.sentence_change ADD COLUMN sentence_hashes bigint[];
--- column buckets of sentence_change
ALTER TABLE dedup.sentence_change ADD COLUMN buckets bigint[];
--- column sentence_hash of sentence_count
ALTER TABLE dedup.sentence_count ADD COLUMN sentence_hash bigint NOT NULL;
--- column carriers of sentence_count
ALTER TABLE dedup.sentence_count ADD COLUMN carriers integer NOT NULL;
--- column pairs of sentence_count
ALTER TABLE dedup.sentence_count ADD COLUMN pairs bigint NOT NULL;
--- column language of sentence_model
ALTER TABLE dedup.sentence_model ADD COLUMN language text NOT NULL;
--- column adopted of sentence_model
ALTER TABLE dedup.sentence_model ADD COLUMN adopted boolean NOT NULL DEFAULT false;
--- column abbrev_types of sentence_model
ALTER TABLE dedup.sentence_model ADD COLUMN abbrev_types text NOT NULL;
--- column collocations of sentence_model
ALTER TABLE dedup.sentence_model ADD COLUMN collocations text NOT NULL;
--- column sent_starters of sentence_model
ALTER TABLE dedup.sentence_model ADD COLUMN sent_starters text NOT NULL;
--- column ortho_context of sentence_model
ALTER TABLE dedup.sentence_model ADD COLUMN ortho_context text NOT NULL;
--- column checksum of sentence_model
ALTER TABLE dedup.sentence_model ADD COLUMN checksum text NOT NULL;
--- column articles of sentence_model
ALTER TABLE dedup.sentence_model ADD COLUMN articles bigint NOT NULL;
--- column trained_at of sentence_model
ALTER TABLE dedup.sentence_model ADD COLUMN trained_at timestamp with time zone NOT NULL DEFAULT now();
--- column sentence_hash of sentence_pin
ALTER TABLE dedup.sentence_pin ADD COLUMN sentence_hash bigint NOT NULL;
--- column common of sentence_pin
ALTER TABLE dedup.sentence_pin ADD COLUMN common boolean NOT NULL;
--- column example of sentence_pin
ALTER TABLE dedup.sentence_pin ADD COLUMN example text;
--- column pinned_at of sentence_pin
ALTER TABLE dedup.sentence_pin ADD COLUMN pinned_at timestamp with time zone NOT NULL DEFAULT now();
--- column scope of sentence_pin
ALTER TABLE dedup.sentence_pin ADD COLUMN scope text;
--- column only_row of sentence_schedule
ALTER TABLE dedup.sentence_schedule ADD COLUMN only_row boolean NOT NULL DEFAULT true;
--- column minutes of sentence_schedule
ALTER TABLE dedup.sentence_schedule ADD COLUMN minutes integer NOT NULL;
--- column outlets of sentence_schedule
ALTER TABLE dedup.sentence_schedule ADD COLUMN outlets integer NOT NULL;
--- column begun_at of sentence_schedule
ALTER TABLE dedup.sentence_schedule ADD COLUMN begun_at timestamp with time zone NOT NULL DEFAULT now();
--- column name of setting
ALTER TABLE dedup.setting ADD COLUMN name text NOT NULL;
--- column value of setting
ALTER TABLE dedup.setting ADD COLUMN value text;
--- column adopted of setting
ALTER TABLE dedup.setting ADD COLUMN adopted text;
--- column changed_at of setting
ALTER TABLE dedup.setting ADD COLUMN changed_at timestamp with time zone NOT NULL DEFAULT now();
--- column only_row of settle_turn
ALTER TABLE dedup.settle_turn ADD COLUMN only_row boolean NOT NULL DEFAULT true;
--- column word of word_count
ALTER TABLE dedup.word_count ADD COLUMN word text COLLATE "C" NOT NULL;
--- column articles of word_count
ALTER TABLE dedup.word_count ADD COLUMN articles integer NOT NULL;
--- column id of worker
ALTER TABLE dedup.worker ADD COLUMN id bigint NOT NULL GENERATED ALWAYS AS IDENTITY;
--- column host of worker
ALTER TABLE dedup.worker ADD COLUMN host text NOT NULL;
--- column process_id of worker
ALTER TABLE dedup.worker ADD COLUMN process_id integer NOT NULL;
--- column started_at of worker
ALTER TABLE dedup.worker ADD COLUMN started_at timestamp with time zone NOT NULL DEFAULT clock_timestamp();
--- column seen_at of worker
ALTER TABLE dedup.worker ADD COLUMN seen_at timestamp with time zone NOT NULL DEFAULT clock_timestamp();
--- column idle_at of worker
ALTER TABLE dedup.worker ADD COLUMN idle_at timestamp with time zone;
--- column backend_pid of worker
ALTER TABLE dedup.worker ADD COLUMN backend_pid integer;
--- column backend_start of worker
ALTER TABLE dedup.worker ADD COLUMN backend_start timestamp with time zone;
--- constraint agency_name_key of agency
ALTER TABLE dedup.agency ADD CONSTRAINT agency_name_key UNIQUE (name);
--- constraint agency_pkey of agency
ALTER TABLE dedup.agency ADD CONSTRAINT agency_pkey PRIMARY KEY (id);
--- constraint alembic_version_pkc of alembic_version
ALTER TABLE dedup.alembic_version ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);
--- constraint article_pkey of article
ALTER TABLE dedup.article ADD CONSTRAINT article_pkey PRIMARY KEY (id);
--- constraint article_source_id_key of article
ALTER TABLE dedup.article ADD CONSTRAINT article_source_id_key UNIQUE (source_id);
--- constraint article_mark_pkey of article_mark
ALTER TABLE dedup.article_mark ADD CONSTRAINT article_mark_pkey PRIMARY KEY (id);
--- constraint attached_copy_pkey of attached_copy
ALTER TABLE dedup.attached_copy ADD CONSTRAINT attached_copy_pkey PRIMARY KEY (attachment_id, source_id);
--- constraint attachment_name_key of attachment
ALTER TABLE dedup.attachment ADD CONSTRAINT attachment_name_key UNIQUE (name);
--- constraint attachment_pkey of attachment
ALTER TABLE dedup.attachment ADD CONSTRAINT attachment_pkey PRIMARY KEY (id);
--- constraint bulk_change_pkey of bulk_change
ALTER TABLE dedup.bulk_change ADD CONSTRAINT bulk_change_pkey PRIMARY KEY (id);
--- constraint common_sentence_pkey of common_sentence
ALTER TABLE dedup.common_sentence ADD CONSTRAINT common_sentence_pkey PRIMARY KEY (sentence_hash);
--- constraint compared_copy_pkey of compared_copy
ALTER TABLE dedup.compared_copy ADD CONSTRAINT compared_copy_pkey PRIMARY KEY (article_id);
--- constraint compared_version_pkey of compared_version
ALTER TABLE dedup.compared_version ADD CONSTRAINT compared_version_pkey PRIMARY KEY (article_id);
--- constraint corpus_state_pkey of corpus_state
ALTER TABLE dedup.corpus_state ADD CONSTRAINT corpus_state_pkey PRIMARY KEY (only_row);
--- constraint correction_pkey of correction
ALTER TABLE dedup.correction ADD CONSTRAINT correction_pkey PRIMARY KEY (article_id);
--- constraint correction_phrase_pkey of correction_phrase
ALTER TABLE dedup.correction_phrase ADD CONSTRAINT correction_phrase_pkey PRIMARY KEY (phrase);
--- constraint credit_pkey of credit
ALTER TABLE dedup.credit ADD CONSTRAINT credit_pkey PRIMARY KEY (article_id, agency_id);
--- constraint credit_unread_pkey of credit_unread
ALTER TABLE dedup.credit_unread ADD CONSTRAINT credit_unread_pkey PRIMARY KEY (article_id);
--- constraint deferred_article_pkey of deferred_article
ALTER TABLE dedup.deferred_article ADD CONSTRAINT deferred_article_pkey PRIMARY KEY (id);
--- constraint feed_address_key of feed
ALTER TABLE dedup.feed ADD CONSTRAINT feed_address_key UNIQUE (address);
--- constraint feed_pkey of feed
ALTER TABLE dedup.feed ADD CONSTRAINT feed_pkey PRIMARY KEY (id);
--- constraint feed_entry_pkey of feed_entry
ALTER TABLE dedup.feed_entry ADD CONSTRAINT feed_entry_pkey PRIMARY KEY (source_id, feed_id);
--- constraint fingerprint_pkey of fingerprint
ALTER TABLE dedup.fingerprint ADD CONSTRAINT fingerprint_pkey PRIMARY KEY (article_id);
--- constraint fingerprint_bulk_pkey of fingerprint_bulk
ALTER TABLE dedup.fingerprint_bulk ADD CONSTRAINT fingerprint_bulk_pkey PRIMARY KEY (article_id);
--- constraint journal_pkey of journal
ALTER TABLE dedup.journal ADD CONSTRAINT journal_pkey PRIMARY KEY (number);
--- constraint journal_deleted_pkey of journal_deleted
ALTER TABLE dedup.journal_deleted ADD CONSTRAINT journal_deleted_pkey PRIMARY KEY ("position", article_id);
--- constraint journal_mark_pkey of journal_mark
ALTER TABLE dedup.journal_mark ADD CONSTRAINT journal_mark_pkey PRIMARY KEY (article_id);
--- constraint judgement_pkey of judgement
ALTER TABLE dedup.judgement ADD CONSTRAINT judgement_pkey PRIMARY KEY (source_id, other_source_id, judged_by);
--- constraint key_block_pkey of key_block
ALTER TABLE dedup.key_block ADD CONSTRAINT key_block_pkey PRIMARY KEY (segment, number);
--- constraint key_segment_pkey of key_segment
ALTER TABLE dedup.key_segment ADD CONSTRAINT key_segment_pkey PRIMARY KEY (id);
--- constraint load_pkey of load
ALTER TABLE dedup.load ADD CONSTRAINT load_pkey PRIMARY KEY (id);
--- constraint mark_change_pkey of mark_change
ALTER TABLE dedup.mark_change ADD CONSTRAINT mark_change_pkey PRIMARY KEY (id);
--- constraint match_pkey of match
ALTER TABLE dedup.match ADD CONSTRAINT match_pkey PRIMARY KEY (article_id, other_id);
--- constraint outbox_pkey of outbox
ALTER TABLE dedup.outbox ADD CONSTRAINT outbox_pkey PRIMARY KEY (id);
--- constraint outlet_is_alias_key of outlet
ALTER TABLE dedup.outlet ADD CONSTRAINT outlet_is_alias_key UNIQUE (name, is_alias);
--- constraint outlet_pkey of outlet
ALTER TABLE dedup.outlet ADD CONSTRAINT outlet_pkey PRIMARY KEY (name);
--- constraint pair_pin_pkey of pair_pin
ALTER TABLE dedup.pair_pin ADD CONSTRAINT pair_pin_pkey PRIMARY KEY (source_id, other_source_id);
--- constraint quoted_sentence_pkey of quoted_sentence
ALTER TABLE dedup.quoted_sentence ADD CONSTRAINT quoted_sentence_pkey PRIMARY KEY (sentence_hash);
--- constraint refused_row_pkey of refused_row
ALTER TABLE dedup.refused_row ADD CONSTRAINT refused_row_pkey PRIMARY KEY (attachment_id, source_id);
--- constraint review_pair_pkey of review_pair
ALTER TABLE dedup.review_pair ADD CONSTRAINT review_pair_pkey PRIMARY KEY (source_id, other_source_id);
--- constraint run_pkey of run
ALTER TABLE dedup.run ADD CONSTRAINT run_pkey PRIMARY KEY (id);
--- constraint run_total_pkey of run_total
ALTER TABLE dedup.run_total ADD CONSTRAINT run_total_pkey PRIMARY KEY (name, stage);
--- constraint sentence_change_pkey of sentence_change
ALTER TABLE dedup.sentence_change ADD CONSTRAINT sentence_change_pkey PRIMARY KEY (id);
--- constraint sentence_count_pkey of sentence_count
ALTER TABLE dedup.sentence_count ADD CONSTRAINT sentence_count_pkey PRIMARY KEY (sentence_hash);
--- constraint sentence_model_pkey of sentence_model
ALTER TABLE dedup.sentence_model ADD CONSTRAINT sentence_model_pkey PRIMARY KEY (language, adopted);
--- constraint sentence_pin_pkey of sentence_pin
ALTER TABLE dedup.sentence_pin ADD CONSTRAINT sentence_pin_pkey PRIMARY KEY (sentence_hash);
--- constraint sentence_schedule_pkey of sentence_schedule
ALTER TABLE dedup.sentence_schedule ADD CONSTRAINT sentence_schedule_pkey PRIMARY KEY (only_row);
--- constraint setting_pkey of setting
ALTER TABLE dedup.setting ADD CONSTRAINT setting_pkey PRIMARY KEY (name);
--- constraint settle_turn_pkey of settle_turn
ALTER TABLE dedup.settle_turn ADD CONSTRAINT settle_turn_pkey PRIMARY KEY (only_row);
--- constraint word_count_pkey of word_count
ALTER TABLE dedup.word_count ADD CONSTRAINT word_count_pkey PRIMARY KEY (word);
--- constraint worker_pkey of worker
ALTER TABLE dedup.worker ADD CONSTRAINT worker_pkey PRIMARY KEY (id);
--- type submission
CREATE TYPE dedup.submission AS (source_id text, body text, title text, url text, publication text, published_at timestamp with time zone, added_at timestamp with time zone, language text, byline text, kept jsonb, version bigint, content_hash bigint, sentence_hashes bigint[], signature bytea, buckets bigint[], word_count integer, shingle_count integer, scope text);
--- function agency_changed()
CREATE OR REPLACE FUNCTION dedup.agency_changed()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
BEGIN
    PERFORM settle_lock();
    DELETE FROM credit WHERE agency_id NOT IN (SELECT id FROM agency);
    DELETE FROM correction WHERE phrase NOT IN (SELECT p.phrase FROM correction_phrase p);
    INSERT INTO credit_unread SELECT id FROM article ON CONFLICT DO NOTHING;
    RETURN NULL;
END $function$;
--- function article_attached()
CREATE OR REPLACE FUNCTION dedup.article_attached()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
BEGIN
    IF NOT has_table_privilege('dedup.outbox', 'DELETE')
       OR TG_OP <> 'INSERT' AND current_setting('dedup.syncing', true) IS DISTINCT FROM 'on' THEN
        RAISE EXCEPTION 'the article is a row of an attached table, and is changed there'
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT = '`dedup attachments` lists the tables.';
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $function$;
--- function article_came()
CREATE OR REPLACE FUNCTION dedup.article_came()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
BEGIN
    INSERT INTO article_mark (id, time, attachment_id)
    SELECT id, coalesce(published_at, added_at), attachment_id FROM came ON CONFLICT (id) DO NOTHING;
    RETURN NULL;
END $function$;
--- function article_deleted()
CREATE OR REPLACE FUNCTION dedup.article_deleted()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
BEGIN
    PERFORM note_bulk_change(ARRAY[OLD.id]);
    PERFORM waiting_went(ARRAY[OLD.id], ARRAY[OLD.revision]);
    DELETE FROM fingerprint WHERE article_id = OLD.id;
    -- A mark cannot point to an article that is gone, and an archived one gets no other.
    UPDATE article_mark
    SET status = CASE WHEN archived THEN 'failed' ELSE 'pending' END, stale = false, duplicate_of = NULL, score = NULL,
        reason = CASE WHEN archived THEN 'archived: its original was deleted' END,
        marked_at = CASE WHEN archived THEN now() END
    WHERE duplicate_of = OLD.id;
    DELETE FROM article_mark WHERE id = OLD.id;
    PERFORM remove_pairs(ARRAY[OLD.id]);
    RETURN NULL;
END $function$;
--- function article_edit()
CREATE OR REPLACE FUNCTION dedup.article_edit()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
BEGIN
    IF (NEW.text, NEW.text_hash, NEW.language, NEW.scope) IS DISTINCT FROM (OLD.text, OLD.text_hash, OLD.language, OLD.scope)
       OR NEW.title IS DISTINCT FROM OLD.title
          AND NOT EXISTS (
              SELECT FROM fingerprint f
              WHERE f.article_id = OLD.id AND f.revision = OLD.revision AND f.buckets <> '{}')
          AND NOT EXISTS (SELECT FROM article_mark k WHERE k.id = OLD.id AND k.archived) THEN
        NEW.revision := OLD.revision + 1;
    END IF;
    RETURN NEW;
END $function$;
--- function article_edited()
CREATE OR REPLACE FUNCTION dedup.article_edited()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
BEGIN
    -- Who follows attached tables calls it once for all that one statement has changed. That nobody else gets here
    -- with the parameter set is what "article_attached_update" is for.
    IF NEW.attachment_id IS NULL OR current_setting('dedup.syncing', true) IS DISTINCT FROM 'on' THEN
        PERFORM articles_edited(ARRAY[OLD.id], ARRAY[OLD.revision], ARRAY[NEW.revision]);
    END IF;
    RETURN NULL;
END $function$;
--- function article_lock()
CREATE OR REPLACE FUNCTION dedup.article_lock()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
BEGIN
    -- An older snapshot would not show all pairs of the articles, and some would stay as they are.
    IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
        RAISE EXCEPTION 'articles and pins can be changed in READ COMMITTED transactions only'
            USING ERRCODE = 'invalid_transaction_state';
    END IF;
    PERFORM settle_lock();
    RETURN NULL;
END $function$;
--- function article_mark_new()
CREATE OR REPLACE FUNCTION dedup.article_mark_new()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
BEGIN
    RETURN NULL;
END $function$;
--- function article_mark_waits()
CREATE OR REPLACE FUNCTION dedup.article_mark_waits()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
BEGIN
    NEW.waits_since := now();
    RETURN NEW;
END $function$;
--- function article_marks()
CREATE OR REPLACE FUNCTION dedup.article_marks()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
BEGIN
    IF pg_trigger_depth() = 1 AND (
        current_setting('dedup.settling', true) IS DISTINCT FROM 'on'
        OR NOT has_table_privilege('dedup.settle_turn', 'UPDATE')
    ) THEN
        RAISE EXCEPTION 'only dedup writes the marks of articles' USING ERRCODE = 'insufficient_privilege',
            HINT = 'To overrule a mark say what two articles are to each other: `dedup pin set`.';
    END IF;
    RETURN NULL;
END $function$;
--- function article_new()
CREATE OR REPLACE FUNCTION dedup.article_new()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
BEGIN
    NEW.revision := 0;
    RETURN NEW;
END $function$;
--- function article_waits()
CREATE OR REPLACE FUNCTION dedup.article_waits()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
BEGIN
    IF current_setting('dedup.settling', true) IS DISTINCT FROM 'on'
       AND current_setting('max_prepared_transactions') = '0' AND EXISTS (SELECT FROM worker) THEN
        NOTIFY dedup;
    END IF;
    RETURN NULL;
END $function$;
--- function articles_edited(ids bigint[], before integer[], after integer[])
CREATE OR REPLACE FUNCTION dedup.articles_edited(ids bigint[], before integer[], after integer[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path = pg_catalog, dedup, pg_temp
 SET enable_seqscan TO 'off'
AS $function$
DECLARE
    rewritten bigint[];
    revisions integer[];
    moved bigint[];
    came_back bigint[];
BEGIN
    SELECT array_agg(g.id) FILTER (WHERE g.was <> g.is_now), array_agg(g.was) FILTER (WHERE g.was <> g.is_now),
           array_agg(g.id) FILTER (WHERE g.was = g.is_now)
    INTO rewritten, revisions, moved
    FROM unnest(ids, before, after) AS g (id, was, is_now);
    PERFORM note_bulk_change(ids);
    UPDATE article_mark k SET time = coalesce(a.published_at, a.added_at)
    FROM article a WHERE k.id = ANY (ids) AND a.id = k.id AND k.time <> coalesce(a.published_at, a.added_at);
    -- One that was archived may be inside now. Its pairs with those that stay archived go: they would count as pairs of
    -- an article inside.
    WITH back AS (
        UPDATE article_mark
        SET archived = false, stale = status <> 'failed', marked_at = CASE WHEN status <> 'failed' THEN marked_at END,
            reason = CASE WHEN status <> 'failed' THEN reason END,
            status = CASE WHEN status = 'failed' THEN 'pending' ELSE status END
        WHERE id = ANY (ids) AND archived RETURNING id)
    SELECT array_agg(id) INTO came_back FROM back;
    IF came_back IS NOT NULL THEN
        PERFORM remove_pairs(came_back);
    END IF;
    IF rewritten IS NOT NULL THEN
        PERFORM waiting_went(rewritten, revisions);
        DELETE FROM fingerprint WHERE article_id = ANY (rewritten);
        UPDATE article_mark
        SET status = 'pending', stale = false, takes_part = false, duplicate_of = NULL, score = NULL, reason = NULL,
            marked_at = NULL
        WHERE id = ANY (rewritten);
        PERFORM remove_pairs(rewritten);
    END IF;
    IF moved IS NOT NULL THEN
        PERFORM withdraw(moved);
    END IF;
END $function$;
--- function attached_emptied()
CREATE OR REPLACE FUNCTION dedup.attached_emptied()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
BEGIN
    INSERT INTO outbox (attachment_id) SELECT id FROM attachment WHERE NOT leaving;
    RETURN NULL;
END $function$;
--- function attached_text(attachment_id integer, source_id text)
CREATE OR REPLACE FUNCTION dedup.attached_text(attachment_id integer, source_id text)
 RETURNS text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
DECLARE
    found text;
    place attachment;
BEGIN
    SELECT a.* INTO place FROM attachment a WHERE a.id = attached_text.attachment_id;
    IF place.copied THEN
        RETURN (SELECT c.text FROM attached_copy c
                WHERE c.attachment_id = place.id AND c.source_id = attached_text.source_id COLLATE "C");
    END IF;
    -- Whose code the view uses, and who owns the function that reads it: its owner may have altered it.
    IF NOT EXISTS (
        SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = place.schema_name AND c.relname = place.table_name AND dedup.strangers(c.oid) = '{}')
       OR NOT coalesce((
        SELECT bool_and(dedup.role_is_trusted(p.proowner)) FROM pg_proc p
        WHERE p.pronamespace = 'dedup'::regnamespace AND p.proname = format('attached_%s_text', attachment_id)), false) THEN
        RETURN NULL;
    END IF;
    EXECUTE format('SELECT dedup.%I($1)', format('attached_%s_text', attachment_id)) INTO found USING source_id;
    RETURN found;
EXCEPTION WHEN syntax_error_or_access_rule_violation OR data_exception OR cardinality_violation THEN
    RETURN NULL;
END $function$;
--- function block(key bigint, blocks bigint)
CREATE OR REPLACE FUNCTION dedup.block(key bigint, blocks bigint)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (((((key >> 33) + 1073741824) * blocks) >> 31))::integer;
--- function byline_changed()
CREATE OR REPLACE FUNCTION dedup.byline_changed()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
BEGIN
    INSERT INTO credit_unread VALUES (NEW.id) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $function$;
--- function canonical_time(published_at timestamp with time zone, added_at timestamp with time zone, policy text, earliest timestamp with time zone)
CREATE OR REPLACE FUNCTION dedup.canonical_time(published_at timestamp with time zone, added_at timestamp with time zone, policy text, earliest timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN ((policy = 'published'::text) AND (published_at >= earliest) AND ((published_at - added_at) <= '24:00:00'::interval)) THEN published_at ELSE added_at END;
--- function carrier(sentences bigint[])
CREATE OR REPLACE FUNCTION dedup.carrier(sentences bigint[])
 RETURNS TABLE(sentence_hash bigint, article_id bigint, buckets bigint[])
 LANGUAGE plpgsql
 STABLE
 SET search_path = pg_catalog, dedup, pg_temp
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'on'
AS $function$
BEGIN
    RETURN QUERY
    SELECT key.hash, hit.article_id, hit.buckets
    FROM (SELECT DISTINCT h.hash, h.article_id FROM holding('{true,false}', sentences) AS h) AS key
    CROSS JOIN LATERAL (
        SELECT f.article_id, f.buckets FROM fingerprint f
        WHERE f.article_id = key.article_id AND key.hash = ANY (f.sentence_hashes) OFFSET 0) AS hit;
END $function$;
--- function changes(since text, most integer)
CREATE OR REPLACE FUNCTION dedup.changes(since text DEFAULT NULL::text, most integer DEFAULT 1000)
 RETURNS TABLE(cursor text, source_id text, status text, duplicate_of text, score double precision, reason text)
 LANGUAGE plpgsql
 STABLE
 SET search_path = pg_catalog, dedup, pg_temp
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
#variable_conflict use_column
DECLARE
    triggers text := journal_triggers();
    present journal;
    given text[];
    after bigint := 0;
    after_id bigint := 0;
    began bigint;
    own text;
    told bigint := 0;
BEGIN
    SELECT * INTO present FROM journal j ORDER BY j.number DESC LIMIT 1;
    IF triggers IS NULL OR present.number IS NULL THEN
        RAISE EXCEPTION 'no journal of marks is kept' USING ERRCODE = 'DJ001',
            HINT = 'The owner of the schema starts it: `dedup changes --start`.';
    END IF;
    began := present.position;
    own := left(md5(present.key || triggers), 12);
    IF since <> '' THEN
        given := regexp_match(since, '^([0-9a-f]{12})\.(\d{1,18})\.(\d{1,18})\.(\d{1,18})\.(\d{1,18})$');
        IF given IS NULL THEN
            RAISE EXCEPTION 'that is no cursor of changes' USING ERRCODE = 'DJ002';
        END IF;
        after := given[2];
        after_id := given[3];
        began := given[4];
        -- A standby may not have come so far yet.
        IF pg_is_in_recovery() AND given[1] = own AND given[5]::bigint > present.position THEN
            RETURN;
        END IF;
        IF present.forgotten > greatest(after, began) OR NOT EXISTS (
            SELECT FROM journal j WHERE left(md5(j.key || triggers), 12) = given[1] AND j.position >= given[5]::bigint
        ) THEN
            RAISE EXCEPTION 'the cursor is of another history, or older than the deletions that are told'
                USING ERRCODE = 'DJ003', HINT = 'Forget the marks that were read, and read all of them without a cursor.';
        END IF;
    END IF;
    IF after = 0 THEN
        RETURN QUERY
        SELECT format('%s.0.%s.%s.%s', own, m.id, began, present.position),
               m.source_id, m.status, m.original_source_id, m.score, m.reason
        FROM article_mark k
        CROSS JOIN LATERAL (SELECT * FROM mark WHERE mark.id = k.id OFFSET 0) AS m
        WHERE k.id > after_id AND k.status <> 'pending'
          AND NOT EXISTS (SELECT FROM journal_mark c WHERE c.article_id = k.id OFFSET 0)
        ORDER BY k.id LIMIT most;
        GET DIAGNOSTICS told = ROW_COUNT;
        after_id := 9223372036854775807;
    END IF;
    IF told < most THEN
        RETURN QUERY
        SELECT format('%s.%s.%s.%s.%s', own, found.position, found.id, began, present.position),
               found.source_id, found.status, found.original_source_id, found.score, found.reason
        FROM (
            (SELECT c.position, m.id, m.source_id, m.status, m.original_source_id, m.score, m.reason
             FROM journal_mark c
             CROSS JOIN LATERAL (SELECT * FROM mark WHERE mark.id = c.article_id OFFSET 0) AS m
             WHERE (c.position, c.article_id) > (after, after_id)
             ORDER BY c.position, c.article_id LIMIT most - told)
            UNION ALL
            (SELECT d.position, d.article_id, d.source_id, 'deleted', NULL, NULL, NULL
             FROM journal_deleted d
             WHERE (d.position, d.article_id) > (after, after_id) AND d.position > began
             ORDER BY d.position, d.article_id LIMIT most - told)
        ) AS found (position, id, source_id, status, original_source_id, score, reason)
        ORDER BY found.position, found.id LIMIT most - told;
    END IF;
END $function$;
--- function clear_best_match(ids bigint[])
CREATE OR REPLACE FUNCTION dedup.clear_best_match(ids bigint[])
 RETURNS TABLE(article_id bigint, other_id bigint)
 LANGUAGE sql
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
    UPDATE match m SET best_match = false
    WHERE m.ctid = ANY (ARRAY(
        SELECT found.ctid FROM unnest(ids) AS given (id) CROSS JOIN LATERAL (
            SELECT p.ctid FROM match p WHERE p.other_id = given.id AND p.best_match OFFSET 0) AS found))
    RETURNING m.article_id, m.other_id
$function$;
--- function compact_index(index_name text)
CREATE OR REPLACE FUNCTION dedup.compact_index(index_name text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path = pg_catalog, dedup, pg_temp
 SET lock_timeout TO '1s'
AS $function$
BEGIN
    IF index_name IS NULL OR index_name NOT IN (
        'article_unsettled', 'article_mark_pkey', 'fingerprint_pkey', 'fingerprint_bulk_pkey', 'recent_key_keys'
    ) THEN
        RAISE EXCEPTION 'no index to be made again' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    EXECUTE format('REINDEX INDEX dedup.%I', index_name);
END $function$;
--- function counts_came()
CREATE OR REPLACE FUNCTION dedup.counts_came()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
BEGIN
    IF current_setting('dedup.settling', true) IS DISTINCT FROM 'on' THEN
        UPDATE corpus_state SET recount_all = true WHERE NOT recount_all;
    END IF;
    RETURN NULL;
END $function$;
--- function credits_gone()
CREATE OR REPLACE FUNCTION dedup.credits_gone()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        DELETE FROM credit;
        DELETE FROM correction;
        DELETE FROM credit_unread;
    ELSE
        DELETE FROM credit WHERE article_id IN (SELECT id FROM gone);
        DELETE FROM correction WHERE article_id IN (SELECT id FROM gone);
        DELETE FROM credit_unread WHERE article_id IN (SELECT id FROM gone);
    END IF;
    RETURN NULL;
END $function$;
--- function drop_pairs(articles bigint[], others bigint[], pairs integer, policy text, earliest timestamp with time zone)
CREATE OR REPLACE FUNCTION dedup.drop_pairs(articles bigint[], others bigint[], pairs integer, policy text, earliest timestamp with time zone)
 RETURNS void
 LANGUAGE sql
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
    DELETE FROM match WHERE ctid = ANY (ARRAY(
        SELECT kept.place_on_disk
        FROM unnest(articles, others) AS given (article_id, other_id)
        CROSS JOIN LATERAL (
            SELECT m.ctid, m.other_id, m.best_match, m.rule,
                   row_number() OVER (ORDER BY m.score DESC, m.rule COLLATE "C", o.time, o.source_id)
            FROM (SELECT p.ctid, p.* FROM match p
                  WHERE p.article_id = given.article_id AND p.relation = 'similar' OFFSET 0) AS m
            CROSS JOIN LATERAL (
                SELECT canonical_time(a.published_at, a.added_at, policy, earliest), a.source_id
                FROM article a WHERE a.id = m.other_id OFFSET 0) AS o (time, source_id)
            OFFSET 0
        ) AS kept (place_on_disk, other_id, best_match, rule, rank)
        WHERE kept.other_id = given.other_id AND NOT kept.best_match AND kept.rule <> 'pinned' AND kept.rank > pairs))
$function$;
--- function emptied()
CREATE OR REPLACE FUNCTION dedup.emptied()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
BEGIN
    IF current_setting('dedup.publishing', true) = 'on' THEN
        RETURN NULL;  -- what was in it is in the table that takes its place
    END IF;
    -- Whatever the bulk engine decided rests on what is gone.
    UPDATE corpus_state SET recount_all = true, bulk_run = NULL WHERE NOT recount_all OR bulk_run IS NOT NULL;
    IF TG_TABLE_NAME = 'article_mark' THEN
        INSERT INTO article_mark (id, time, attachment_id)
        SELECT id, coalesce(published_at, added_at), attachment_id FROM article;
    END IF;
    IF TG_TABLE_NAME = 'article' THEN
        TRUNCATE article_mark;
        IF EXISTS (SELECT FROM match) THEN
            TRUNCATE match;
        END IF;
        IF EXISTS (SELECT FROM fingerprint) THEN
            TRUNCATE fingerprint;
        END IF;
        IF EXISTS (SELECT FROM fingerprint_bulk) THEN
            TRUNCATE fingerprint_bulk;
        END IF;
    END IF;
    IF TG_TABLE_NAME = 'fingerprint' THEN
        TRUNCATE recent_key, key_segment, key_block;
    END IF;
    IF TG_TABLE_NAME IN ('fingerprint', 'match', 'pair_pin') THEN
        UPDATE article_mark SET takes_part = false, stale = status IN ('unique', 'similar', 'duplicate')
        WHERE NOT archived
          AND (takes_part OR NOT stale AND status IN ('unique', 'similar', 'duplicate'));
    END IF;
    RETURN NULL;
END $function$;
--- function entry(key bigint, article_id bigint)
CREATE OR REPLACE FUNCTION dedup.entry(key bigint, article_id bigint)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (((key >> 33) << 32) + article_id);
--- function fingerprint_came()
CREATE OR REPLACE FUNCTION dedup.fingerprint_came()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
BEGIN
    IF TG_TABLE_NAME = 'fingerprint' THEN
        INSERT INTO sentence_change (article_id) SELECT article_id FROM came;
        INSERT INTO recent_key (article_id, keys)
        SELECT article_id, keys(sentence_hashes, buckets, content_hash) FROM came;
    END IF;
    RETURN NULL;
END $function$;
--- function fingerprint_changed()
CREATE OR REPLACE FUNCTION dedup.fingerprint_changed()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
BEGIN
    IF TG_TABLE_NAME = 'fingerprint' THEN
        INSERT INTO recent_key (article_id, keys)
        SELECT article_id, keys(sentence_hashes, buckets, content_hash) FROM is_now;
    END IF;
    RETURN NULL;
END $function$;
--- function fingerprint_went()
CREATE OR REPLACE FUNCTION dedup.fingerprint_went()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
BEGIN
    IF TG_TABLE_NAME = 'fingerprint' THEN
        INSERT INTO sentence_change (article_id, sentence_hashes, buckets)
        SELECT article_id, sentence_hashes, buckets FROM went;
        PERFORM note_bulk_change(ARRAY(SELECT article_id FROM went));
    END IF;
    RETURN NULL;
END $function$;
--- function fire_always()
CREATE OR REPLACE FUNCTION dedup.fire_always()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
DECLARE
    found record;
BEGIN
    FOR found IN SELECT t.tgname, t.tgrelid::regclass AS owner FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
                 WHERE c.relnamespace = 'dedup'::regnamespace AND NOT t.tgisinternal AND t.tgenabled <> 'A' LOOP
        EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER %I', found.owner, found.tgname);
    END LOOP;
END $function$;
--- function holder(bucket_keys bigint[])
CREATE OR REPLACE FUNCTION dedup.holder(bucket_keys bigint[])
 RETURNS TABLE(bucket bigint, sentence_hashes bigint[], buckets bigint[])
 LANGUAGE plpgsql
 STABLE
 SET search_path = pg_catalog, dedup, pg_temp
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'on'
AS $function$
BEGIN
    RETURN QUERY
    SELECT key.hash, hit.sentence_hashes, hit.buckets
    FROM (SELECT DISTINCT h.hash, h.article_id FROM holding('{true,false}', bucket_keys) AS h) AS key
    CROSS JOIN LATERAL (
        SELECT f.sentence_hashes, f.buckets FROM fingerprint f
        WHERE f.article_id = key.article_id AND key.hash = ANY (f.buckets) OFFSET 0) AS hit;
END $function$;
--- function holding(among boolean[], hashes bigint[])
CREATE OR REPLACE FUNCTION dedup.holding(among boolean[], hashes bigint[])
 RETURNS TABLE(hash bigint, article_id bigint)
 LANGUAGE sql
 STABLE PARALLEL SAFE
BEGIN ATOMIC
 SELECT k.hash,
     (e.entry & '4294967295'::bigint)
    FROM (((dedup.key_segment s
      CROSS JOIN unnest(holding.hashes) k(hash))
      CROSS JOIN LATERAL ( SELECT b_1.entries
            FROM dedup.key_block b_1
           WHERE ((b_1.segment = s.id) AND (b_1.number = dedup.block(k.hash, s.blocks)))
          OFFSET 0) b)
      CROSS JOIN LATERAL unnest(b.entries[(width_bucket((dedup.entry(k.hash, (0)::bigint) - 1), b.entries) + 1):width_bucket(dedup.entry(k.hash, '4294967295'::bigint), b.entries)]) e(entry))
   WHERE ((s.canonical = ANY (holding.among)) AND (b.entries[(width_bucket((dedup.entry(k.hash, (0)::bigint) - 1), b.entries) + 1)] <= dedup.entry(k.hash, '4294967295'::bigint)))
 UNION ALL
  SELECT k.key,
     r.article_id
    FROM (dedup.recent_key r
      CROSS JOIN LATERAL unnest(r.keys) k(key))
   WHERE ((cardinality(holding.hashes) <= 2000) AND (r.keys && holding.hashes) AND (k.key = ANY (holding.hashes)))
 UNION ALL
  SELECT k.key,
     r.article_id
    FROM (dedup.recent_key r
      CROSS JOIN LATERAL unnest(r.keys) k(key))
   WHERE ((cardinality(holding.hashes) > 2000) AND
         CASE
             WHEN (k.key IN ( SELECT unnest(holding.hashes) AS unnest)) THEN true
             ELSE NULL::boolean
         END);
END;
--- function independent_origins(article_ids bigint[])
CREATE OR REPLACE FUNCTION dedup.independent_origins(article_ids bigint[])
 RETURNS integer
 LANGUAGE sql
 STABLE
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
    SELECT count(*)::integer FROM origins(article_ids) WHERE kind <> 'not compared'
$function$;
--- function journal_emptied()
CREATE OR REPLACE FUNCTION dedup.journal_emptied()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
BEGIN
    DELETE FROM journal_mark;
    DELETE FROM journal_deleted;
    DELETE FROM journal;
    PERFORM journal_next();
    RETURN NULL;
END $function$;
--- function journal_inserted()
CREATE OR REPLACE FUNCTION dedup.journal_inserted()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
BEGIN
    PERFORM journal_note((SELECT array_agg(id) FROM now_marks WHERE status <> 'pending'));
    RETURN NULL;
END $function$;
--- function journal_next()
CREATE OR REPLACE FUNCTION dedup.journal_next()
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
DECLARE
    given bigint;
BEGIN
    -- What a reader has seen may not be taken back by a crash: it commits before it is seen.
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'local', true);
    END IF;
    LOOP
        UPDATE journal SET position = position + 1
        WHERE number = (SELECT max(number) FROM journal) AND server_started = pg_postmaster_start_time()
        RETURNING position INTO given;
        IF FOUND THEN
            RETURN given;
        END IF;
        INSERT INTO journal (number, position, forgotten)
        SELECT coalesce(max(number), 0) + 1, coalesce(max(position), 0), coalesce(max(forgotten), 0) FROM journal
        ON CONFLICT DO NOTHING;
        DELETE FROM journal WHERE number <= (SELECT max(number) FROM journal) - 1000;
    END LOOP;
END $function$;
--- function journal_note(ids bigint[])
CREATE OR REPLACE FUNCTION dedup.journal_note(ids bigint[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
DECLARE
    given bigint;
BEGIN
    IF ids IS NOT NULL THEN
        given := journal_next();
        INSERT INTO journal_mark (article_id, position) SELECT id, given FROM unnest(ids) AS changed (id)
        ON CONFLICT (article_id) DO UPDATE SET position = excluded.position;
    END IF;
END $function$;
--- function journal_removed()
CREATE OR REPLACE FUNCTION dedup.journal_removed()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
DECLARE
    given bigint;
    last_old bigint;
BEGIN
    IF NOT EXISTS (SELECT FROM old_articles) THEN
        RETURN NULL;
    END IF;
    given := journal_next();
    INSERT INTO journal_deleted (position, article_id, source_id) SELECT given, id, source_id FROM old_articles;
    DELETE FROM journal_mark WHERE article_id = ANY (ARRAY(SELECT id FROM old_articles));
    WITH old AS (
        DELETE FROM journal_deleted WHERE (position, article_id) IN (
            SELECT d.position, d.article_id FROM journal_deleted d ORDER BY d.position, d.article_id
            LIMIT 10 * (SELECT count(*) FROM old_articles))
          AND deleted_at < now() - interval '30 days'
        RETURNING position)
    SELECT max(position) INTO last_old FROM old;
    IF last_old IS NOT NULL THEN
        UPDATE journal SET forgotten = last_old WHERE number = (SELECT max(number) FROM journal);
    END IF;
    RETURN NULL;
END $function$;
--- function journal_renamed()
CREATE OR REPLACE FUNCTION dedup.journal_renamed()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
BEGIN
    INSERT INTO journal_deleted (position, article_id, source_id) VALUES (journal_next(), OLD.id, OLD.source_id);
    PERFORM journal_note(OLD.id || ARRAY(SELECT id FROM article_mark WHERE duplicate_of = OLD.id));
    RETURN NULL;
END $function$;
--- function journal_triggers()
CREATE OR REPLACE FUNCTION dedup.journal_triggers()
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
    SELECT CASE WHEN count(*) = 5 THEN concat_ws(
        ' ', (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()),
        string_agg(format('%s %s', t.oid, t.xmin), ' ' ORDER BY t.oid)) END
    FROM pg_trigger t
    WHERE t.tgrelid IN ('dedup.article'::regclass, 'dedup.article_mark'::regclass)
      AND starts_with(t.tgname::text, 'journal_') AND t.tgenabled = 'A'
$function$;
--- function journal_updated()
CREATE OR REPLACE FUNCTION dedup.journal_updated()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path = pg_catalog, dedup, pg_temp
 SET enable_hashjoin TO 'on'
 SET enable_nestloop TO 'off'
AS $function$
BEGIN
    PERFORM journal_note((
        SELECT array_agg(n.id ORDER BY n.id) FROM now_marks n JOIN old_marks o ON o.id = n.id
        WHERE (n.status, n.duplicate_of, n.score, n.reason) IS DISTINCT FROM (o.status, o.duplicate_of, o.score, o.reason)));
    RETURN NULL;
END $function$;
--- function keys(sentence_hashes bigint[], buckets bigint[], content_hash bigint)
CREATE OR REPLACE FUNCTION dedup.keys(sentence_hashes bigint[], buckets bigint[], content_hash bigint)
 RETURNS bigint[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN (buckets = '{}'::bigint[]) THEN (sentence_hashes || content_hash) ELSE (sentence_hashes || buckets) END;
--- function loads_emptied()
CREATE OR REPLACE FUNCTION dedup.loads_emptied()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
BEGIN
    DELETE FROM load_part;
    RETURN NULL;
END $function$;
--- function make_stale(ids bigint[])
CREATE OR REPLACE FUNCTION dedup.make_stale(ids bigint[])
 RETURNS SETOF bigint
 LANGUAGE sql
 SET search_path = pg_catalog, dedup, pg_temp
 SET enable_seqscan TO 'off'
AS $function$
    UPDATE article_mark a SET stale = true
    WHERE a.id = ANY (ids) AND NOT a.stale AND a.status IN ('unique', 'similar', 'duplicate') AND NOT a.archived
      -- OFFSET 0: looked up one by one, and not by reading all articles once.
      AND (a.duplicate_of IS NULL OR (SELECT true FROM article o WHERE o.id = a.duplicate_of OFFSET 0))
    RETURNING a.id
$function$;
--- function note_bulk_change(ids bigint[])
CREATE OR REPLACE FUNCTION dedup.note_bulk_change(ids bigint[])
 RETURNS void
 LANGUAGE sql
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
    INSERT INTO bulk_change (article_id)
    SELECT given.id FROM unnest(ids) AS given (id), corpus_state s WHERE s.bulk_run IS NOT NULL
$function$;
--- function only_row_stays()
CREATE OR REPLACE FUNCTION dedup.only_row_stays()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
BEGIN
    RAISE EXCEPTION 'dedup.% has one row, which stays', TG_TABLE_NAME
        USING HINT = 'To empty a corpus: TRUNCATE dedup.article CASCADE.';
END $function$;
--- function origins(article_ids bigint[])
CREATE OR REPLACE FUNCTION dedup.origins(article_ids bigint[])
 RETURNS TABLE(kind text, name text, articles bigint, stories bigint, outlets bigint)
 LANGUAGE sql
 STABLE
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
    SELECT coalesce(o.kind, 'not compared'), o.name, count(*), count(DISTINCT s.story_id), count(DISTINCT p.outlet)
    FROM (
        -- Stories first: the copies of each are read once.
        SELECT m.story_id, array_agg(m.id) AS ids
        FROM (SELECT DISTINCT unnest(article_ids) AS id) AS given
        CROSS JOIN LATERAL (
            SELECT id, CASE WHEN status IN ('unique', 'similar', 'duplicate') THEN coalesce(duplicate_of, id) END AS story_id
            FROM article_mark WHERE id = given.id OFFSET 0
        ) AS m
        GROUP BY m.story_id OFFSET 0
    ) AS s
    LEFT JOIN LATERAL (SELECT kind, name FROM story_origin WHERE story_id = s.story_id OFFSET 0) AS o ON true
    CROSS JOIN LATERAL unnest(s.ids) AS member (id)
    CROSS JOIN LATERAL (SELECT outlet FROM outlet_article WHERE id = member.id OFFSET 0) AS p
    GROUP BY 1, 2
    ORDER BY 4 DESC, 3 DESC, 1, 2
$function$;
--- function outbox_checked()
CREATE OR REPLACE FUNCTION dedup.outbox_checked()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
BEGIN
    IF has_table_privilege('dedup.outbox', 'DELETE') THEN
        RETURN NEW;
    END IF;
    IF NOT EXISTS (
        SELECT FROM pg_proc p
        WHERE p.pronamespace = 'dedup'::regnamespace
          AND p.proname IN (format('attached_%s_changed', NEW.attachment_id), format('attached_%s_base_1', NEW.attachment_id))
          AND p.proowner = (SELECT r.oid FROM pg_roles r WHERE r.rolname = current_user)) THEN
        RAISE EXCEPTION 'attachment % is of another owner', NEW.attachment_id USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF cardinality(NEW.source_ids) > 1000 OR pg_column_size(NEW.source_ids) > 4000000 THEN
        NEW.source_ids := '{}';  -- compare the whole table, and delete no more than a comparison may
    END IF;
    NEW.amount := greatest(cardinality(NEW.source_ids), 1);  -- of a whole table too: a note of nothing is not read
    NEW.noted_at := now();
    RETURN NEW;
END $function$;
--- function pair_pin_changed()
CREATE OR REPLACE FUNCTION dedup.pair_pin_changed()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
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
END $function$;
--- function publish_bulk()
CREATE OR REPLACE FUNCTION dedup.publish_bulk()
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
BEGIN
    LOCK TABLE fingerprint, fingerprint_bulk IN ACCESS EXCLUSIVE MODE;
    DELETE FROM fingerprint_bulk f USING (SELECT DISTINCT article_id FROM bulk_change) AS c
    WHERE f.article_id = c.article_id
      AND NOT EXISTS (SELECT FROM article a WHERE a.id = f.article_id AND a.revision = f.revision);
    INSERT INTO fingerprint_bulk SELECT * FROM fingerprint ON CONFLICT (article_id) DO NOTHING;
    PERFORM set_config('dedup.publishing', 'on', true);
    TRUNCATE fingerprint;
    PERFORM set_config('dedup.publishing', 'off', true);
    ALTER TABLE fingerprint RENAME TO fingerprint_swapped;
    ALTER TABLE fingerprint_swapped RENAME CONSTRAINT fingerprint_pkey TO fingerprint_swapped_pkey;
    ALTER TABLE fingerprint_bulk RENAME TO fingerprint;
    ALTER TABLE fingerprint RENAME CONSTRAINT fingerprint_bulk_pkey TO fingerprint_pkey;
    ALTER TABLE fingerprint_swapped RENAME TO fingerprint_bulk;
    ALTER TABLE fingerprint_bulk RENAME CONSTRAINT fingerprint_swapped_pkey TO fingerprint_bulk_pkey;
    ALTER TABLE fingerprint SET (fillfactor = 85);
    ALTER TABLE fingerprint_bulk RESET (fillfactor);
END $function$;
--- function remove_pairs(ids bigint[])
CREATE OR REPLACE FUNCTION dedup.remove_pairs(ids bigint[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path = pg_catalog, dedup, pg_temp
 SET enable_seqscan TO 'off'
AS $function$
DECLARE
    partners bigint[];
BEGIN
    WITH gone AS (
        DELETE FROM match m WHERE m.ctid = ANY (ARRAY(
            SELECT pair.place FROM unnest(ids) AS given (id) CROSS JOIN LATERAL (
                SELECT * FROM (SELECT e.ctid FROM match e WHERE e.article_id = given.id OFFSET 0) AS earlier
                UNION ALL
                SELECT * FROM (SELECT l.ctid FROM match l WHERE l.other_id = given.id OFFSET 0) AS later
            ) AS pair (place)))
        RETURNING m.article_id, m.other_id
    )
    SELECT array_agg(id) INTO partners
    FROM (
        SELECT article_id FROM gone UNION SELECT other_id FROM gone EXCEPT SELECT unnest(ids)
    ) AS partner (id);
    PERFORM make_stale(partners);
END $function$;
--- function role_is_trusted(role oid)
CREATE OR REPLACE FUNCTION dedup.role_is_trusted(role oid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
    -- From PostgreSQL 16 on a membership may lend nothing: what counts is whether the role can be taken.
    SELECT pg_has_role(role_is_trusted.role, n.nspowner,
        CASE WHEN current_setting('server_version_num')::integer >= 160000 THEN 'SET' ELSE 'MEMBER' END)
    FROM pg_namespace n WHERE n.oid = 'dedup'::regnamespace
$function$;
--- function sentence_pin_changed()
CREATE OR REPLACE FUNCTION dedup.sentence_pin_changed()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        INSERT INTO sentence_change (sentence_hashes) VALUES (ARRAY[OLD.sentence_hash]);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO sentence_change (sentence_hashes) VALUES (ARRAY[NEW.sentence_hash]);
    END IF;
    RETURN NULL;
END $function$;
--- function sentences_went()
CREATE OR REPLACE FUNCTION dedup.sentences_went()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
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
END $function$;
--- function settle_lock()
CREATE OR REPLACE FUNCTION dedup.settle_lock()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
BEGIN
    PERFORM FROM settle_turn FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'dedup.settle_turn has lost its row' USING HINT = 'Run `dedup verify --repair`.';
    END IF;
END $function$;
--- function sharing(among boolean[], hashes bigint[])
CREATE OR REPLACE FUNCTION dedup.sharing(among boolean[], hashes bigint[])
 RETURNS TABLE(article_id bigint, canonical boolean)
 LANGUAGE plpgsql
 STABLE
 SET search_path = pg_catalog, dedup, pg_temp
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_bitmapscan TO 'on'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
BEGIN
    RETURN QUERY
    SELECT hit.article_id, hit.canonical
    FROM (SELECT h.article_id, array_agg(h.hash) AS hashes FROM holding(among, hashes) AS h GROUP BY 1) AS found
    CROSS JOIN LATERAL (
        SELECT f.article_id, f.canonical FROM fingerprint f
        WHERE f.article_id = found.article_id AND f.canonical = ANY (among)
          AND found.hashes && keys(f.sentence_hashes, f.buckets, f.content_hash) OFFSET 0) AS hit;
END $function$;
--- function start_journal()
CREATE OR REPLACE FUNCTION dedup.start_journal()
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
BEGIN
    PERFORM settle_lock();
    IF journal_triggers() IS NOT NULL AND EXISTS (SELECT FROM journal) THEN
        RETURN false;
    END IF;
    PERFORM stop_journal();
    CREATE TRIGGER journal_removed AFTER DELETE ON article REFERENCING OLD TABLE AS old_articles
        FOR EACH STATEMENT EXECUTE FUNCTION journal_removed();
    CREATE TRIGGER journal_renamed AFTER UPDATE OF source_id ON article
        FOR EACH ROW WHEN (NEW.source_id <> OLD.source_id) EXECUTE FUNCTION journal_renamed();
    CREATE TRIGGER journal_inserted AFTER INSERT ON article_mark REFERENCING NEW TABLE AS now_marks
        FOR EACH STATEMENT EXECUTE FUNCTION journal_inserted();
    CREATE TRIGGER journal_updated AFTER UPDATE ON article_mark REFERENCING OLD TABLE AS old_marks NEW TABLE AS now_marks
        FOR EACH STATEMENT EXECUTE FUNCTION journal_updated();
    CREATE TRIGGER journal_emptied AFTER TRUNCATE ON article_mark
        FOR EACH STATEMENT EXECUTE FUNCTION journal_emptied();
    PERFORM fire_always(), journal_next();
    RETURN true;
END $function$;
--- function state_came()
CREATE OR REPLACE FUNCTION dedup.state_came()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
BEGIN
    NEW.recount_all := true;
    NEW.settled_through := NULL;
    NEW.bulk_run := NULL;
    NEW.divided := NULL;
    RETURN NEW;
END $function$;
--- function stop_journal()
CREATE OR REPLACE FUNCTION dedup.stop_journal()
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
DECLARE
    found record;
    were boolean := false;
BEGIN
    PERFORM settle_lock();
    LOCK TABLE journal IN ACCESS EXCLUSIVE MODE;  -- first, as readers do
    FOR found IN SELECT t.tgname, t.tgrelid::regclass AS owner FROM pg_trigger t
                 WHERE t.tgrelid IN ('dedup.article'::regclass, 'dedup.article_mark'::regclass)
                   AND starts_with(t.tgname::text, 'journal_') ORDER BY t.tgrelid LOOP
        EXECUTE format('DROP TRIGGER %I ON %s', found.tgname, found.owner);
        were := true;
    END LOOP;
    TRUNCATE journal, journal_mark, journal_deleted;
    RETURN were;
END $function$;
--- function strangers(relation oid)
CREATE OR REPLACE FUNCTION dedup.strangers(relation oid)
 RETURNS text[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
BEGIN
    -- Most are plain tables, and views of all texts ask for each row.
    IF EXISTS (SELECT FROM pg_class c WHERE c.oid = relation AND c.relkind IN ('r', 'm') AND NOT c.relhassubclass
                   AND dedup.role_is_trusted(c.relowner)) THEN
        RETURN '{}';
    END IF;
    RETURN (
        WITH RECURSIVE used (class, object) AS (
            SELECT 'pg_class'::regclass::oid, relation
            UNION
            SELECT more.class, more.object
            FROM used CROSS JOIN LATERAL (
                SELECT 'pg_class'::regclass::oid AS class, i.inhrelid AS object
                FROM pg_inherits i WHERE i.inhparent = used.object
                UNION ALL
                SELECT d.refclassid, d.refobjid
                FROM pg_class c
                JOIN pg_rewrite w ON w.ev_class = c.oid
                JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
                WHERE c.oid = used.object AND c.relkind = 'v'
                  AND d.refclassid IN ('pg_class'::regclass, 'pg_proc'::regclass, 'pg_type'::regclass,
                                       'pg_operator'::regclass)) AS more
            WHERE used.class = 'pg_class'::regclass
        ), owners (role) AS (
            SELECT c.relowner FROM used JOIN pg_class c ON c.oid = used.object WHERE class = 'pg_class'::regclass
            UNION
            SELECT p.proowner FROM used JOIN pg_proc p ON p.oid = used.object WHERE class = 'pg_proc'::regclass
            UNION
            SELECT t.typowner FROM used JOIN pg_type t ON t.oid = used.object WHERE class = 'pg_type'::regclass
            UNION
            SELECT o.oprowner FROM used JOIN pg_operator o ON o.oid = used.object WHERE class = 'pg_operator'::regclass
        )
        SELECT coalesce(array_agg(pg_get_userbyid(role)::text ORDER BY pg_get_userbyid(role)), '{}')
        FROM owners WHERE NOT dedup.role_is_trusted(role));
END $function$;
--- function submit_new(given dedup.submission, rules text[], policy text, earliest timestamp with time zone, most integer, pairs_kept integer, told_before bigint, mark jsonb)
CREATE OR REPLACE FUNCTION dedup.submit_new(given dedup.submission, rules text[], policy text, earliest timestamp with time zone, most integer, pairs_kept integer, told_before bigint, mark jsonb)
 RETURNS TABLE(outcome text, article_id bigint, other_time timestamp with time zone, other_source_id text, other_content_hash bigint, other_sentences bigint[], other_signature bytea, other_buckets bigint[], other_shingle_count integer, other_score double precision, other_reason text, other_published timestamp with time zone, other_sentence_count integer, told bigint, added timestamp with time zone, unsettled bigint)
 LANGUAGE plpgsql
 SET search_path = pg_catalog, dedup, pg_temp
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
#variable_conflict use_variable
DECLARE
    state corpus_state;
    before article;  -- the stored article, if this is an edit
    own bigint[];
    contents bigint[] := CASE WHEN given.buckets = '{}' THEN ARRAY[given.content_hash] ELSE '{}' END;
    place timestamptz;
    latest boolean;
    found_ids bigint[];
    copies bigint[];  -- of the article before the edit
    partners bigint[];  -- similar to the article before the edit
    near bigint[] := '{}';  -- originals that share something with partners, and these themselves
    plain boolean;
    is_original boolean;
    gained bigint[];
    outdone bigint[];
    outdone_others bigint[];
    text_revision integer;
    originals bigint[];
    seen pg_snapshot;
    turn bigint;  -- the number of this transaction if no other one is at work, or worked since it began
BEGIN
    -- In this order: the lock itself is waited for as long as the transaction may wait, a row 0.1 s.
    PERFORM settle_lock();
    PERFORM set_config('lock_timeout', '100ms', true), set_config('dedup.settling', 'on', true),
            set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
            set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true);
    -- The lock has given this transaction its number. The snapshot begins and ends with that number unless an earlier
    -- transaction is at work, or a later one has ended.
    seen := pg_current_snapshot();
    turn := pg_current_xact_id()::text::bigint;
    IF pg_snapshot_xmin(seen)::text::bigint <> turn OR pg_snapshot_xmax(seen)::text::bigint <> turn THEN
        turn := NULL;
    END IF;
    SELECT * INTO state FROM corpus_state;
    SELECT * INTO before FROM article a WHERE a.source_id = given.source_id;
    given.published_at := coalesce(given.published_at, before.published_at);
    added := coalesce(given.added_at, before.added_at, now());
    place := canonical_time(given.published_at, added, policy, earliest);
    partners := ARRAY(
        SELECT m.other_id FROM match m WHERE m.article_id = before.id AND m.relation = 'similar'
        UNION ALL
        SELECT m.article_id FROM match m WHERE m.other_id = before.id AND m.relation = 'similar' ORDER BY 1);
    IF turn = (mark->>'after')::bigint + 1 THEN
        told := told_before;  -- nothing has changed since the first call
    ELSIF rules IS DISTINCT FROM ARRAY[state.fingerprint_digest, state.rule_digest, state.algorithm_revision::text,
                                    state.unicode_version] THEN
        outcome := 'rules';
    ELSIF state.bulk_run IS NOT NULL OR state.settled_through IS NULL OR place < state.horizon
          OR before.id IS NOT NULL AND (
              before.attachment_id IS NOT NULL OR before.text IS NOT DISTINCT FROM given.body
              -- The fingerprint was made with the given title and language.
              OR before.title IS NOT NULL AND given.title IS NULL
              OR before.language IS NOT NULL AND given.language IS NULL
              OR before.scope IS NOT NULL AND given.scope IS NULL
              OR NOT EXISTS (
                  SELECT FROM article_mark k WHERE k.id = before.id AND k.status IN ('unique', 'similar', 'duplicate')
                  AND k.takes_part AND NOT k.stale AND NOT k.archived)
              -- Copies without another original are compared with the new text, and similar articles without another pair.
              -- Of others, all pairs would be needed.
              OR EXISTS (
                  SELECT FROM match m CROSS JOIN LATERAL (SELECT * FROM article_mark WHERE id = m.article_id OFFSET 0) AS k
                  WHERE m.other_id = before.id AND (
                      k.stale OR NOT k.takes_part OR pairs_kept = 1
                      OR EXISTS (SELECT FROM match o WHERE o.article_id = m.article_id AND o.other_id <> before.id OFFSET 0)))
              OR EXISTS (
                  SELECT FROM unnest(partners) AS p (id)
                  WHERE EXISTS (SELECT FROM match o WHERE o.article_id = p.id AND o.other_id <> before.id OFFSET 0)
                     OR EXISTS (
                         SELECT FROM match o
                         WHERE o.other_id = p.id AND o.relation = 'similar' AND o.article_id <> before.id OFFSET 0))
              OR EXISTS (
                  SELECT FROM match m CROSS JOIN LATERAL (SELECT * FROM article_mark WHERE id = m.other_id OFFSET 0) AS k
                  WHERE m.article_id = before.id AND (k.stale OR NOT k.takes_part)))
          OR EXISTS (SELECT FROM deferred_article w WHERE w.source_id = given.source_id)
          OR EXISTS (SELECT FROM pair_pin p WHERE p.source_id = given.source_id)
          OR EXISTS (SELECT FROM pair_pin p WHERE p.other_source_id = given.source_id) THEN
        outcome := 'not plain';
    END IF;
    IF outcome IS NOT NULL THEN
        RETURN NEXT;
        RETURN;
    END IF;
    IF told IS NULL THEN
        -- In the order of the index of unsettled articles, so that no other one can be chosen.
        SELECT count(*) INTO unsettled
        FROM (SELECT FROM article_mark k WHERE k.status = 'pending' OR k.stale ORDER BY k.time, k.id LIMIT 1000) AS u;
        latest := place > state.settled_through;
        own := uncommon(given.sentence_hashes);
        copies := ARRAY(SELECT m.article_id FROM match m WHERE m.other_id = before.id AND m.relation = 'duplicate' ORDER BY 1);
        -- Duplicates matter where they may be later, or may be unsettled.
        SELECT coalesce(array_agg(s.article_id) FILTER (WHERE s.canonical OR NOT latest OR copies <> '{}'), '{}'),
               count(*) <= most
               AND coalesce(bool_and(k.takes_part AND k.status <> 'pending' AND NOT k.stale), true)
               AND copies <@ coalesce(array_agg(s.article_id), '{}')
        INTO found_ids, plain
        FROM (SELECT * FROM sharing(CASE WHEN latest AND unsettled = 0 AND copies = '{}' THEN '{true}' ELSE '{true,false}' END::boolean[],
                                    own || given.buckets || contents) AS s
              WHERE s.article_id IS DISTINCT FROM before.id LIMIT most + 1) AS s
        CROSS JOIN LATERAL (SELECT * FROM article_mark WHERE id = s.article_id OFFSET 0) AS k;
        IF plain AND partners <> '{}' THEN
            SELECT array_agg(DISTINCT s.article_id), bool_and(k.takes_part AND k.status <> 'pending' AND NOT k.stale)
            INTO near, plain
            FROM unnest(partners) AS p (id)
            CROSS JOIN LATERAL (SELECT * FROM fingerprint f WHERE f.article_id = p.id OFFSET 0) AS f
            CROSS JOIN LATERAL (
                SELECT * FROM sharing('{true}', keys(uncommon(f.sentence_hashes), f.buckets, f.content_hash))
                LIMIT most + 1) AS s
            CROSS JOIN LATERAL (SELECT * FROM article_mark WHERE id = s.article_id OFFSET 0) AS k
            WHERE s.article_id <> before.id;
            plain := plain AND partners <@ near AND cardinality(near) <= most;
        END IF;
        IF plain IS NOT TRUE THEN
            outcome := 'not plain';
            RETURN NEXT;
            RETURN;
        END IF;
        IF found_ids || near <> '{}' THEN
            told := hash_array_extended(own || copies || partners, coalesce(before.id, 0));
            FOR article_id, other_time, other_source_id, other_content_hash, other_sentences, other_signature,
                other_buckets, other_shingle_count, other_score, other_reason, other_published, other_sentence_count,
                is_original IN
                SELECT a.id, canonical_time(a.published_at, a.added_at, policy, earliest), a.source_id, f.content_hash,
                       uncommon(f.sentence_hashes),
                       f.signature, f.buckets, f.shingle_count, k.score, k.reason, a.published_at,
                       cardinality(f.sentence_hashes), f.canonical
                FROM unnest(ARRAY(SELECT DISTINCT unnest(found_ids || near) ORDER BY 1)) AS found (id)
                CROSS JOIN LATERAL (SELECT * FROM article WHERE id = found.id OFFSET 0) AS a
                CROSS JOIN LATERAL (SELECT * FROM article_mark WHERE id = found.id OFFSET 0) AS k
                CROSS JOIN LATERAL (SELECT * FROM fingerprint WHERE fingerprint.article_id = found.id OFFSET 0) AS f
            LOOP
                told := hash_record_extended(
                    ROW(told, article_id, other_time, other_source_id, other_content_hash, other_sentences, other_signature,
                        other_buckets, other_shingle_count, other_score, other_reason, other_published,
                        other_sentence_count, is_original), 0);
                IF told_before IS NULL THEN
                    outcome := CASE WHEN article_id <> ALL (found_ids) THEN 'near' WHEN is_original THEN 'original'
                                    WHEN article_id = ANY (copies) THEN 'copy' ELSE 'duplicate' END;
                    RETURN NEXT;
                END IF;
            END LOOP;
        END IF;
    END IF;
    IF told IS DISTINCT FROM told_before THEN
        outcome := CASE WHEN told_before IS NULL THEN 'shares' ELSE 'not plain' END;
        other_sentences := own;
        other_time := place;
        other_published := given.published_at;
        other_buckets := partners;
        article_id := turn;
        RETURN NEXT;
        RETURN;
    END IF;
    gained := ARRAY(SELECT (p->>'other_id')::bigint FROM jsonb_array_elements(mark->'pairs') AS p
                    WHERE (p->>'best_match')::boolean);
    IF before.id IS NULL THEN
        PERFORM set_config('dedup.storing', 'on', true);  -- it brings its mark
        INSERT INTO article (source_id, url, title, publication, published_at, added_at, language, byline, kept, scope, text)
        VALUES (given.source_id, given.url, given.title, given.publication, given.published_at, added, given.language,
                given.byline, given.kept, given.scope, given.body)
        ON CONFLICT ON CONSTRAINT article_source_id_key DO NOTHING RETURNING article.id, article.revision INTO article_id, text_revision;
        PERFORM set_config('dedup.storing', 'off', true);
        IF NOT FOUND THEN
            outcome := 'not plain';
            RETURN NEXT;
            RETURN;
        END IF;
        INSERT INTO article_mark (id, time, status, takes_part, duplicate_of, score, reason, marked_at)
        VALUES (article_id, coalesce(given.published_at, added), coalesce(mark->>'status', 'unique'), true,
                (mark->>'duplicate_of')::bigint, (mark->>'score')::double precision, mark->>'reason', now());
    ELSE
        originals := ARRAY(SELECT m.other_id FROM match m WHERE m.article_id = before.id);
        -- Triggers remove the old fingerprint and the pairs; they make the mark pending, and marks of partners stale.
        UPDATE article a
        SET text = given.body, title = given.title, url = coalesce(given.url, a.url),
            publication = coalesce(given.publication, a.publication), published_at = given.published_at,
            added_at = added, language = given.language, scope = given.scope, byline = coalesce(given.byline, a.byline),
            kept = coalesce(given.kept, a.kept)
        WHERE a.id = before.id RETURNING a.id, a.revision INTO article_id, text_revision;
        UPDATE article_mark
        SET status = coalesce(mark->>'status', 'unique'), takes_part = true,
            duplicate_of = (mark->>'duplicate_of')::bigint, score = (mark->>'score')::double precision,
            reason = mark->>'reason', limit_fired = NULL, marked_at = now()
        WHERE id = article_id;
        UPDATE article_mark SET stale = false WHERE id = ANY (originals);
    END IF;
    INSERT INTO fingerprint (article_id, version, revision, content_hash, sentence_hashes, signature, buckets,
                             word_count, shingle_count, canonical)
    VALUES (article_id, given.version, text_revision, given.content_hash, given.sentence_hashes, given.signature,
            given.buckets, given.word_count, given.shingle_count, mark->>'duplicate_of' IS NULL);
    IF mark IS NOT NULL THEN
        SELECT array_agg(c.article_id), array_agg(c.other_id) INTO outdone, outdone_others FROM clear_best_match(gained) AS c;
        INSERT INTO match (article_id, other_id, relation, rule, score, sentence_jaccard, signature_jaccard, containment,
                           best_match)
        SELECT article_id, p.other_id, mark->>'status', p.rule, p.score, p.sentence_jaccard, p.signature_jaccard,
               p.containment, p.best_match
        FROM jsonb_to_recordset(mark->'pairs') AS p (
            other_id bigint, rule text, score double precision, sentence_jaccard double precision,
            signature_jaccard double precision, containment double precision, best_match boolean);
        UPDATE article_mark k
        SET status = 'similar', score = m.score, reason = m.rule, limit_fired = NULL, marked_at = now()
        FROM unnest(gained) AS earlier (id) CROSS JOIN LATERAL (
            SELECT p.score, p.rule FROM match p WHERE p.article_id = article_id AND p.other_id = earlier.id OFFSET 0) AS m
        WHERE k.id = earlier.id;
        IF outdone IS NOT NULL THEN
            PERFORM drop_pairs(outdone, outdone_others, pairs_kept, policy, earliest);
        END IF;
    END IF;
    IF mark->'later' <> '[]' THEN
        INSERT INTO match (article_id, other_id, relation, rule, score, sentence_jaccard, signature_jaccard, containment,
                           best_match)
        SELECT p.article_id, article_id, p.relation, p.rule, p.score, p.sentence_jaccard, p.signature_jaccard,
               p.containment, p.best_match
        FROM jsonb_to_recordset(mark->'later') AS p (
            article_id bigint, relation text, rule text, score double precision, sentence_jaccard double precision,
            signature_jaccard double precision, containment double precision, best_match boolean);
    END IF;
    IF mark->'marks' <> '[]' THEN
        UPDATE article_mark k
        SET stale = false, status = m.status, score = m.score, reason = m.reason, limit_fired = NULL, marked_at = now()
        FROM (SELECT * FROM jsonb_to_recordset(mark->'marks') AS m (
                  id bigint, status text, score double precision, reason text) OFFSET 0) AS m
        WHERE k.id = m.id;
    END IF;
    INSERT INTO credit_unread (article_id) VALUES (article_id) ON CONFLICT DO NOTHING;
    UPDATE corpus_state SET settled_through = place WHERE settled_through < place;
    outcome := 'stored';
    RETURN NEXT;
END $function$;
--- function text_hash(body text)
CREATE OR REPLACE FUNCTION dedup.text_hash(body text)
 RETURNS bytea
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
    SELECT sha256(convert_to(translate(body, E' \t\r\n', ''), 'UTF8'))
$function$;
--- function uncommon(hashes bigint[])
CREATE OR REPLACE FUNCTION dedup.uncommon(hashes bigint[])
 RETURNS bigint[]
 LANGUAGE plpgsql
 STABLE
 SET search_path = pg_catalog, dedup, pg_temp
AS $function$
DECLARE
    common bigint[] := ARRAY(SELECT c.sentence_hash FROM common_sentence c WHERE c.sentence_hash = ANY (hashes));
BEGIN
    RETURN CASE WHEN common = '{}' THEN hashes ELSE ARRAY(SELECT h FROM unnest(hashes) AS h WHERE h <> ALL (common)) END;
END $function$;
--- function waiting_went(ids bigint[], revisions integer[])
CREATE OR REPLACE FUNCTION dedup.waiting_went(ids bigint[], revisions integer[])
 RETURNS void
 LANGUAGE sql
 SET search_path = pg_catalog, dedup, pg_temp
 SET enable_seqscan TO 'off'
AS $function$
    INSERT INTO sentence_change (article_id, sentence_hashes, buckets)
    SELECT w.article_id, w.sentence_hashes, w.buckets
    FROM unnest(ids, revisions) AS given (id, revision)
    CROSS JOIN LATERAL (
        SELECT * FROM fingerprint_bulk b WHERE b.article_id = given.id AND b.revision = given.revision OFFSET 0) AS w
    WHERE NOT EXISTS (SELECT FROM fingerprint f WHERE f.article_id = w.article_id)
$function$;
--- function withdraw(ids bigint[])
CREATE OR REPLACE FUNCTION dedup.withdraw(ids bigint[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path = pg_catalog, dedup, pg_temp
 SET enable_seqscan TO 'off'
AS $function$
BEGIN
    -- OFFSET 0: looked up one by one, whatever the statistics say.
    PERFORM make_stale(ARRAY(
        SELECT later.article_id FROM unnest(ids) AS given (id)
        CROSS JOIN LATERAL (SELECT m.article_id FROM match m WHERE m.other_id = given.id OFFSET 0) AS later
        EXCEPT SELECT unnest(ids)));
    UPDATE article_mark a
    SET takes_part = false,
        stale = a.stale OR a.status IN ('unique', 'similar', 'duplicate')
            AND (a.duplicate_of IS NULL OR (SELECT true FROM article o WHERE o.id = a.duplicate_of OFFSET 0)) IS TRUE
    WHERE a.id = ANY (ids) AND NOT a.archived
      AND (a.takes_part OR NOT a.stale AND a.status IN ('unique', 'similar', 'duplicate'));
END $function$;
--- constraint agency_places_check of agency
ALTER TABLE dedup.agency ADD CONSTRAINT agency_places_check CHECK (((cardinality(places) > 0) AND (places <@ '{byline,dateline,end,copyright,item,contribution,photo}'::text[])));
--- constraint agency_spellings_check of agency
ALTER TABLE dedup.agency ADD CONSTRAINT agency_spellings_check CHECK (((cardinality(spellings) > 0) AND (array_position(spellings, NULL::text) IS NULL)));
--- constraint article_added_at_check of article
ALTER TABLE dedup.article ADD CONSTRAINT article_added_at_check CHECK (((added_at >= '0001-01-01 00:00:00+00'::timestamp with time zone) AND (added_at < '10000-01-01 00:00:00+00'::timestamp with time zone)));
--- constraint article_published_at_check of article
ALTER TABLE dedup.article ADD CONSTRAINT article_published_at_check CHECK (((published_at >= '0001-01-01 00:00:00+00'::timestamp with time zone) AND (published_at < '10000-01-01 00:00:00+00'::timestamp with time zone)));
--- constraint article_text_check of article
ALTER TABLE dedup.article ADD CONSTRAINT article_text_check CHECK (((attachment_id IS NULL) = (text IS NOT NULL)));
--- constraint article_text_hash_check of article
ALTER TABLE dedup.article ADD CONSTRAINT article_text_hash_check CHECK (((attachment_id IS NULL) = (text_hash IS NULL)));
--- constraint article_mark_archived_check of article_mark
ALTER TABLE dedup.article_mark ADD CONSTRAINT article_mark_archived_check CHECK (((NOT archived) OR (NOT ((status = 'pending'::text) OR stale OR takes_part))));
--- constraint article_mark_duplicate_of_check of article_mark
ALTER TABLE dedup.article_mark ADD CONSTRAINT article_mark_duplicate_of_check CHECK (((status = 'duplicate'::text) = (duplicate_of IS NOT NULL)));
--- constraint article_mark_stale_check of article_mark
ALTER TABLE dedup.article_mark ADD CONSTRAINT article_mark_stale_check CHECK (((NOT stale) OR (status = ANY (ARRAY['unique'::text, 'similar'::text, 'duplicate'::text]))));
--- constraint article_mark_status_check of article_mark
ALTER TABLE dedup.article_mark ADD CONSTRAINT article_mark_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'unique'::text, 'similar'::text, 'duplicate'::text, 'failed'::text])));
--- constraint attachment_sync_minutes_check of attachment
ALTER TABLE dedup.attachment ADD CONSTRAINT attachment_sync_minutes_check CHECK ((sync_minutes > 0));
--- constraint compared_copy_grams_check of compared_copy
ALTER TABLE dedup.compared_copy ADD CONSTRAINT compared_copy_grams_check CHECK (((grams > 0) AND ((grams_in_original >= 0) AND (grams_in_original <= grams))));
--- constraint compared_copy_words_check of compared_copy
ALTER TABLE dedup.compared_copy ADD CONSTRAINT compared_copy_words_check CHECK (((words_added >= 0) AND (words_added <= words)));
--- constraint corpus_state_only_row_check of corpus_state
ALTER TABLE dedup.corpus_state ADD CONSTRAINT corpus_state_only_row_check CHECK (only_row);
--- constraint correction_place_check of correction
ALTER TABLE dedup.correction ADD CONSTRAINT correction_place_check CHECK ((place = ANY (ARRAY['headline'::text, 'beginning'::text, 'end'::text])));
--- constraint correction_phrase_check of correction_phrase
ALTER TABLE dedup.correction_phrase ADD CONSTRAINT correction_phrase_check CHECK ((((length(phrase) >= 5) AND (length(phrase) <= 80)) AND (phrase = btrim(phrase))));
--- constraint credit_place_check of credit
ALTER TABLE dedup.credit ADD CONSTRAINT credit_place_check CHECK ((place = ANY (ARRAY['byline'::text, 'dateline'::text, 'end'::text, 'copyright'::text, 'item'::text, 'contribution'::text, 'photo'::text])));
--- constraint feed_address_check of feed
ALTER TABLE dedup.feed ADD CONSTRAINT feed_address_check CHECK ((octet_length(address) <= 2000));
--- constraint feed_entry_feed_id_fkey of feed_entry
ALTER TABLE dedup.feed_entry ADD CONSTRAINT feed_entry_feed_id_fkey FOREIGN KEY (feed_id) REFERENCES dedup.feed(id) ON DELETE CASCADE;
--- constraint judgement_judged_by_check of judgement
ALTER TABLE dedup.judgement ADD CONSTRAINT judgement_judged_by_check CHECK (((length(judged_by) >= 1) AND (length(judged_by) <= 100)));
--- constraint judgement_label_check of judgement
ALTER TABLE dedup.judgement ADD CONSTRAINT judgement_label_check CHECK ((label = ANY (ARRAY['duplicate'::text, 'similar'::text, 'different'::text, 'unsure'::text])));
--- constraint judgement_order_check of judgement
ALTER TABLE dedup.judgement ADD CONSTRAINT judgement_order_check CHECK ((source_id < other_source_id));
--- constraint load_feed_id_fkey of load
ALTER TABLE dedup.load ADD CONSTRAINT load_feed_id_fkey FOREIGN KEY (feed_id) REFERENCES dedup.feed(id) ON DELETE SET NULL;
--- constraint load_part_feed_id_fkey of load_part
ALTER TABLE dedup.load_part ADD CONSTRAINT load_part_feed_id_fkey FOREIGN KEY (feed_id) REFERENCES dedup.feed(id) ON DELETE CASCADE;
--- constraint load_part_kind_check of load_part
ALTER TABLE dedup.load_part ADD CONSTRAINT load_part_kind_check CHECK ((kind = ANY (ARRAY['new'::text, 'known'::text, 'edited'::text])));
--- constraint load_part_load_id_fkey of load_part
ALTER TABLE dedup.load_part ADD CONSTRAINT load_part_load_id_fkey FOREIGN KEY (load_id) REFERENCES dedup.load(id) ON DELETE CASCADE;
--- constraint load_part_owner_check of load_part
ALTER TABLE dedup.load_part ADD CONSTRAINT load_part_owner_check CHECK ((num_nonnulls(load_id, feed_id) = 1));
--- constraint match_relation_check of match
ALTER TABLE dedup.match ADD CONSTRAINT match_relation_check CHECK ((relation = ANY (ARRAY['duplicate'::text, 'similar'::text])));
--- constraint match_rule_check of match
ALTER TABLE dedup.match ADD CONSTRAINT match_rule_check CHECK ((rule = ANY (ARRAY['pinned'::text, 'content'::text, 'sentences'::text, 'signature'::text, 'damaged'::text, 'containment'::text]))) NOT VALID;
--- constraint outlet_agency_check of outlet
ALTER TABLE dedup.outlet ADD CONSTRAINT outlet_agency_check CHECK (((btrim(agency) <> ''::text) AND (octet_length(agency) <= 1000)));
--- constraint outlet_alias_check of outlet
ALTER TABLE dedup.outlet ADD CONSTRAINT outlet_alias_check CHECK (((alias_of IS NULL) OR ((family IS NULL) AND (agency IS NULL))));
--- constraint outlet_alias_of_fkey of outlet
ALTER TABLE dedup.outlet ADD CONSTRAINT outlet_alias_of_fkey FOREIGN KEY (alias_of, target_is_alias) REFERENCES dedup.outlet(name, is_alias);
--- constraint outlet_family_check of outlet
ALTER TABLE dedup.outlet ADD CONSTRAINT outlet_family_check CHECK (((btrim(family) <> ''::text) AND (octet_length(family) <= 1000)));
--- constraint outlet_name_check of outlet
ALTER TABLE dedup.outlet ADD CONSTRAINT outlet_name_check CHECK (((btrim(name) <> ''::text) AND (octet_length(name) <= 1000)));
--- constraint pair_pin_order_check of pair_pin
ALTER TABLE dedup.pair_pin ADD CONSTRAINT pair_pin_order_check CHECK ((source_id < other_source_id));
--- constraint pair_pin_relation_check of pair_pin
ALTER TABLE dedup.pair_pin ADD CONSTRAINT pair_pin_relation_check CHECK ((relation = ANY (ARRAY['duplicate'::text, 'similar'::text, 'unrelated'::text])));
--- constraint review_pair_order_check of review_pair
ALTER TABLE dedup.review_pair ADD CONSTRAINT review_pair_order_check CHECK ((source_id < other_source_id));
--- constraint review_pair_picked_check of review_pair
ALTER TABLE dedup.review_pair ADD CONSTRAINT review_pair_picked_check CHECK (((stratum_picked >= 1) AND (stratum_picked <= stratum_size)));
--- constraint run_ended_check of run
ALTER TABLE dedup.run ADD CONSTRAINT run_ended_check CHECK (((ended_at IS NULL) = (outcome IS NULL)));
--- constraint run_outcome_check of run
ALTER TABLE dedup.run ADD CONSTRAINT run_outcome_check CHECK ((outcome = ANY (ARRAY['done'::text, 'stopped'::text, 'failed'::text, 'taken over'::text])));
--- constraint sentence_schedule_minutes_check of sentence_schedule
ALTER TABLE dedup.sentence_schedule ADD CONSTRAINT sentence_schedule_minutes_check CHECK ((minutes > 0));
--- constraint sentence_schedule_only_row_check of sentence_schedule
ALTER TABLE dedup.sentence_schedule ADD CONSTRAINT sentence_schedule_only_row_check CHECK (only_row);
--- constraint setting_differs_check of setting
ALTER TABLE dedup.setting ADD CONSTRAINT setting_differs_check CHECK (((value IS NOT NULL) OR (adopted IS NOT NULL)));
--- constraint settle_turn_only_row_check of settle_turn
ALTER TABLE dedup.settle_turn ADD CONSTRAINT settle_turn_only_row_check CHECK (only_row);
--- constraint word_count_articles_check of word_count
ALTER TABLE dedup.word_count ADD CONSTRAINT word_count_articles_check CHECK ((articles > 0));
--- index article_outlet of article
CREATE INDEX article_outlet ON dedup.article USING btree ("left"(publication, 100) COLLATE "C", COALESCE(published_at, added_at), id) WHERE (publication IS NOT NULL);
--- index article_time of article
CREATE INDEX article_time ON dedup.article USING btree (COALESCE(published_at, added_at), id);
--- index article_url of article
CREATE INDEX article_url ON dedup.article USING hash (url);
--- index article_duplicate_of of article_mark
CREATE INDEX article_duplicate_of ON dedup.article_mark USING btree (duplicate_of, "time", id) WHERE (duplicate_of IS NOT NULL);
--- index article_failed of article_mark
CREATE INDEX article_failed ON dedup.article_mark USING btree (id) WHERE (status = 'failed'::text);
--- index article_unsettled of article_mark
CREATE INDEX article_unsettled ON dedup.article_mark USING btree ("time", id) WHERE ((status = 'pending'::text) OR stale);
--- index common_sentence_carriers of common_sentence
CREATE INDEX common_sentence_carriers ON dedup.common_sentence USING btree (carriers, ((~ sentence_hash)));
--- index common_sentence_stories of common_sentence
CREATE INDEX common_sentence_stories ON dedup.common_sentence USING btree (effective_stories, ((~ sentence_hash)));
--- index compared_copy_original of compared_copy
CREATE INDEX compared_copy_original ON dedup.compared_copy USING btree (original_id);
--- index compared_version_before of compared_version
CREATE INDEX compared_version_before ON dedup.compared_version USING btree (before_id);
--- index deferred_article_source_id of deferred_article
CREATE INDEX deferred_article_source_id ON dedup.deferred_article USING btree (source_id, id);
--- index feed_entry_by_feed of feed_entry
CREATE INDEX feed_entry_by_feed ON dedup.feed_entry USING btree (feed_id, seen_at);
--- index journal_mark_position of journal_mark
CREATE INDEX journal_mark_position ON dedup.journal_mark USING btree ("position", article_id);
--- index judgement_other of judgement
CREATE INDEX judgement_other ON dedup.judgement USING btree (other_source_id);
--- index load_part_feed_id of load_part
CREATE INDEX load_part_feed_id ON dedup.load_part USING btree (feed_id) WHERE (feed_id IS NOT NULL);
--- index load_part_ids of load_part
CREATE INDEX load_part_ids ON dedup.load_part USING gist (ids);
--- index load_part_load_id of load_part
CREATE INDEX load_part_load_id ON dedup.load_part USING btree (load_id) WHERE (load_id IS NOT NULL);
--- index match_best_match of match
CREATE UNIQUE INDEX match_best_match ON dedup.match USING btree (other_id) WHERE best_match;
--- index match_containment of match
CREATE INDEX match_containment ON dedup.match USING btree (containment) WHERE (rule = 'containment'::text);
--- index match_other of match
CREATE INDEX match_other ON dedup.match USING btree (other_id, score);
--- index match_score of match
CREATE INDEX match_score ON dedup.match USING btree (score) WHERE (rule = ANY (ARRAY['sentences'::text, 'signature'::text]));
--- index outlet_alias_of of outlet
CREATE INDEX outlet_alias_of ON dedup.outlet USING btree (alias_of) WHERE (alias_of IS NOT NULL);
--- index pair_pin_other of pair_pin
CREATE INDEX pair_pin_other ON dedup.pair_pin USING btree (other_source_id);
--- index pair_pin_pinned_at of pair_pin
CREATE INDEX pair_pin_pinned_at ON dedup.pair_pin USING btree (pinned_at);
--- index quoted_sentence_article of quoted_sentence
CREATE INDEX quoted_sentence_article ON dedup.quoted_sentence USING btree (article_id);
--- index quoted_sentence_outlets of quoted_sentence
CREATE INDEX quoted_sentence_outlets ON dedup.quoted_sentence USING btree (outlets, sentence_hash);
--- index quoted_sentence_stories of quoted_sentence
CREATE INDEX quoted_sentence_stories ON dedup.quoted_sentence USING btree (stories, sentence_hash);
--- index recent_key_keys of recent_key
CREATE INDEX recent_key_keys ON dedup.recent_key USING gin (keys) WITH (fastupdate='on', gin_pending_list_limit='256');
--- index review_pair_place of review_pair
CREATE INDEX review_pair_place ON dedup.review_pair USING btree (place);
--- index run_alive of run
CREATE UNIQUE INDEX run_alive ON dedup.run USING btree (what) WHERE (ended_at IS NULL);
--- index sentence_pin_pinned_at of sentence_pin
CREATE INDEX sentence_pin_pinned_at ON dedup.sentence_pin USING btree (pinned_at);
--- view marked_article
CREATE OR REPLACE VIEW dedup.marked_article AS
SELECT a.id,
    a.source_id,
    a.url,
    a.title,
    a.publication,
    a.published_at,
    a.added_at,
    k."time",
    a.language,
    a.text,
    a.revision,
    a.attachment_id,
    a.text_hash,
    k.status,
    k.stale,
    k.takes_part,
    k.duplicate_of,
    k.score,
    k.reason,
    k.limit_fired,
    k.marked_at,
    k.archived,
    a.kept,
    a.byline,
        CASE
            WHEN ((a.published_at >= '1605-01-01 00:00:00+00'::timestamp with time zone) AND ((a.published_at - a.added_at) <= '24:00:00'::interval)) THEN a.published_at
            ELSE NULL::timestamp with time zone
        END AS known_at,
    ( SELECT c.phrase
           FROM dedup.correction c
          WHERE (c.article_id = a.id)) AS correction,
    a.scope
   FROM (dedup.article a
     LEFT JOIN dedup.article_mark k ON ((k.id = a.id)));
--- view article_text
CREATE OR REPLACE VIEW dedup.article_text AS
SELECT article.id AS article_id,
    (article.text COLLATE "C") AS text,
    false AS html
   FROM dedup.article
  WHERE (article.attachment_id IS NULL)
UNION ALL
 SELECT a.id AS article_id,
    (dedup.attached_text(a.attachment_id, a.source_id) COLLATE "C") AS text,
    COALESCE(( SELECT t.html
           FROM dedup.attachment t
          WHERE (t.id = a.attachment_id)), false) AS html
   FROM dedup.article a
  WHERE (a.attachment_id IS NOT NULL);
--- view run_history
CREATE OR REPLACE VIEW dedup.run_history AS
SELECT id,
    what,
    host,
    started_at,
    ended_at,
    (EXTRACT(epoch FROM (COALESCE(ended_at, clock_timestamp()) - started_at)))::double precision AS seconds,
    COALESCE(outcome, 'running'::text) AS outcome,
    error,
    stage,
    fingerprinted,
    settled,
    failed,
    seconds AS stage_seconds
   FROM dedup.run;
--- view judged_pair
CREATE OR REPLACE VIEW dedup.judged_pair AS
SELECT j.source_id,
    j.other_source_id,
    j.label,
    j.judged_by,
    j.judged_at,
    j.note,
    ((dedup.text_hash(a.text) <> j.text_hash) OR (dedup.text_hash(o.text) <> j.other_text_hash)) AS stale,
    a.title,
    o.title AS other_title,
    a.publication,
    o.publication AS other_publication,
    a.status,
    o.status AS other_status,
    (COALESCE(a.duplicate_of, a.id) = COALESCE(o.duplicate_of, o.id)) AS same_story,
    m.sentence_jaccard,
    m.signature_jaccard,
    p.stratum,
    ((p.stratum_size)::double precision / (p.stratum_picked)::double precision) AS weight
   FROM ((((dedup.judgement j
     LEFT JOIN dedup.marked_article a ON ((a.source_id = j.source_id)))
     LEFT JOIN dedup.marked_article o ON ((o.source_id = j.other_source_id)))
     LEFT JOIN LATERAL ( SELECT match.sentence_jaccard,
            match.signature_jaccard
           FROM dedup.match
          WHERE ((match.article_id = a.id) AND (match.other_id = o.id))
        UNION ALL
         SELECT match.sentence_jaccard,
            match.signature_jaccard
           FROM dedup.match
          WHERE ((match.article_id = o.id) AND (match.other_id = a.id))) m ON (true))
     LEFT JOIN dedup.review_pair p ON (((p.source_id = j.source_id) AND (p.other_source_id = j.other_source_id))));
--- view canonical_article
CREATE OR REPLACE VIEW dedup.canonical_article AS
SELECT id,
    source_id,
    url,
    title,
    publication,
    published_at,
    added_at,
    language,
    COALESCE(text, (( SELECT t.text
           FROM dedup.article_text t
          WHERE (t.article_id = a.id)) COLLATE "default")) AS text,
    status,
    stale,
    score,
    reason,
    marked_at,
    archived,
    kept,
    byline,
    correction
   FROM dedup.marked_article a
  WHERE (status <> 'duplicate'::text);
--- view duplicate
CREATE OR REPLACE VIEW dedup.duplicate AS
SELECT a.id,
    a.source_id,
    a.title,
    a.publication,
    a.published_at,
    o.id AS original_id,
    o.source_id AS original_source_id,
    o.title AS original_title,
    o.publication AS original_publication,
    o.published_at AS original_published_at,
    a.stale,
    a.score,
    a.reason,
    m.sentence_jaccard,
    m.signature_jaccard,
    m.containment,
    t.delay,
    a.archived,
    (t.delay IS NOT NULL) AS times_known
   FROM (((dedup.marked_article a
     JOIN dedup.marked_article o ON ((o.id = a.duplicate_of)))
     CROSS JOIN LATERAL ( SELECT
                CASE
                    WHEN ((a.known_at <> date_trunc('day'::text, a.known_at, 'UTC'::text)) AND (o.known_at <> date_trunc('day'::text, o.known_at, 'UTC'::text))) THEN NULLIF((a.known_at - o.known_at), '00:00:00'::interval)
                    ELSE NULLIF((date_trunc('day'::text, a.known_at, 'UTC'::text) - date_trunc('day'::text, o.known_at, 'UTC'::text)), '00:00:00'::interval)
                END AS delay) t)
     LEFT JOIN dedup.match m ON (((m.article_id = a.id) AND (m.other_id = o.id))))
  WHERE (a.status = 'duplicate'::text);
--- view story
CREATE OR REPLACE VIEW dedup.story AS
SELECT c.id,
    c.source_id,
    c.title,
    c.publication,
    c.known_at AS first_at,
        CASE
            WHEN COALESCE(d.times_known, true) THEN GREATEST(c.known_at, d.last_at)
            ELSE NULL::timestamp with time zone
        END AS last_at,
    (1 + d.copies) AS articles,
    d.copies,
    COALESCE(d.publications, '{}'::text[]) AS copied_by,
    COALESCE(d.source_ids, '{}'::text[]) AS copy_source_ids,
    c.archived,
    COALESCE(d.undated, '{}'::text[]) AS also_in,
    COALESCE(d.times_known, (c.known_at IS NOT NULL)) AS times_known,
    ( SELECT count(DISTINCT p.outlet) AS count
           FROM (( SELECT c.id
                UNION ALL
                 SELECT copy.id
                   FROM dedup.article_mark copy
                  WHERE (copy.duplicate_of = c.id)) v
             CROSS JOIN LATERAL ( SELECT outlet_article.outlet
                   FROM dedup.outlet_article
                  WHERE (outlet_article.id = v.id)
                 OFFSET 0) p)) AS outlets,
        CASE
            WHEN ((c.status = ANY (ARRAY['unique'::text, 'similar'::text])) OR (d.copies > 0)) THEN 1
            ELSE 0
        END AS independent_origins,
    ( SELECT story_origin.kind
           FROM dedup.story_origin
          WHERE (story_origin.story_id = c.id)
         OFFSET 0) AS origin_kind,
    ( SELECT story_origin.name
           FROM dedup.story_origin
          WHERE (story_origin.story_id = c.id)
         OFFSET 0) AS origin
   FROM (dedup.marked_article c
     CROSS JOIN LATERAL ( SELECT count(*) AS copies,
            array_agg(DISTINCT a.publication ORDER BY a.publication) FILTER (WHERE ((a.publication IS NOT NULL) AND (t.delay > '00:00:00'::interval))) AS publications,
            array_agg(DISTINCT a.publication ORDER BY a.publication) FILTER (WHERE ((a.publication IS NOT NULL) AND ((t.delay > '00:00:00'::interval) IS NOT TRUE))) AS undated,
            array_agg(a.source_id ORDER BY a.known_at, a.source_id) AS source_ids,
            max(a.known_at) AS last_at,
            bool_and((t.delay IS NOT NULL)) AS times_known
           FROM (dedup.marked_article a
             CROSS JOIN LATERAL ( SELECT
                        CASE
                            WHEN ((a.known_at <> date_trunc('day'::text, a.known_at, 'UTC'::text)) AND (c.known_at <> date_trunc('day'::text, c.known_at, 'UTC'::text))) THEN NULLIF((a.known_at - c.known_at), '00:00:00'::interval)
                            ELSE NULLIF((date_trunc('day'::text, a.known_at, 'UTC'::text) - date_trunc('day'::text, c.known_at, 'UTC'::text)), '00:00:00'::interval)
                        END AS delay) t)
          WHERE (a.duplicate_of = c.id)) d)
  WHERE (c.status <> 'duplicate'::text);
--- view story_article
CREATE OR REPLACE VIEW dedup.story_article AS
SELECT a.id,
    a.source_id,
    c.id AS story_id,
    c.source_id AS story_source_id,
    a.status,
    a.stale,
    a.score,
    a.reason,
    a.title,
    a.publication,
    a.known_at AS appeared_at,
        CASE
            WHEN ((a.id = c.id) AND (a.known_at IS NOT NULL)) THEN '00:00:00'::interval
            ELSE t.delay
        END AS delay,
    a.archived,
    ((t.delay IS NOT NULL) OR ((a.id = c.id) AND (a.known_at IS NOT NULL))) AS times_known,
    a.byline
   FROM ((dedup.marked_article a
     JOIN dedup.marked_article c ON ((c.id = COALESCE(a.duplicate_of, a.id))))
     CROSS JOIN LATERAL ( SELECT
                CASE
                    WHEN ((a.known_at <> date_trunc('day'::text, a.known_at, 'UTC'::text)) AND (c.known_at <> date_trunc('day'::text, c.known_at, 'UTC'::text))) THEN NULLIF((a.known_at - c.known_at), '00:00:00'::interval)
                    ELSE NULLIF((date_trunc('day'::text, a.known_at, 'UTC'::text) - date_trunc('day'::text, c.known_at, 'UTC'::text)), '00:00:00'::interval)
                END AS delay) t);
--- view similar_pair
CREATE OR REPLACE VIEW dedup.similar_pair AS
SELECT p.article_id,
    a.source_id,
    p.other_id,
    o.source_id AS other_source_id,
    a.title,
    o.title AS other_title,
    a.publication,
    o.publication AS other_publication,
    p.rule,
    p.score,
    p.sentence_jaccard,
    p.signature_jaccard,
    p.containment
   FROM ((( SELECT match.article_id,
            match.other_id,
            match.rule,
            match.score,
            match.sentence_jaccard,
            match.signature_jaccard,
            match.containment
           FROM dedup.match
          WHERE (match.relation = 'similar'::text)
        UNION ALL
         SELECT match.other_id,
            match.article_id,
            match.rule,
            match.score,
            match.sentence_jaccard,
            match.signature_jaccard,
            match.containment
           FROM dedup.match
          WHERE (match.relation = 'similar'::text)) p
     JOIN dedup.article a ON ((a.id = p.article_id)))
     JOIN dedup.article o ON ((o.id = p.other_id)));
--- view article_sentence
CREATE OR REPLACE VIEW dedup.article_sentence AS
SELECT a.id AS article_id,
    a.source_id,
    (s."position")::integer AS "position",
    s.sentence_hash,
    (c.sentence_hash IS NOT NULL) AS common
   FROM (((dedup.article a
     JOIN ( SELECT fingerprint.article_id,
            fingerprint.revision,
            fingerprint.sentence_hashes
           FROM dedup.fingerprint
        UNION ALL
         SELECT fingerprint_bulk.article_id,
            fingerprint_bulk.revision,
            fingerprint_bulk.sentence_hashes
           FROM dedup.fingerprint_bulk) f ON (((f.article_id = a.id) AND (f.revision = a.revision))))
     CROSS JOIN LATERAL unnest(f.sentence_hashes) WITH ORDINALITY s(sentence_hash, "position"))
     LEFT JOIN dedup.common_sentence c ON ((c.sentence_hash = s.sentence_hash)));
--- view publication_overlap
CREATE OR REPLACE VIEW dedup.publication_overlap AS
SELECT
        CASE
            WHEN p.later THEN p.copier
            ELSE p.original
        END AS publication,
        CASE
            WHEN p.later THEN p.original
            ELSE p.copier
        END AS original_publication,
    count(*) AS duplicates,
    avg(p.score) AS mean_score,
    (percentile_cont((0.5)::double precision) WITHIN GROUP (ORDER BY ((abs(EXTRACT(epoch FROM p.delay)))::double precision)) * '00:00:01'::interval) AS median_delay,
    true AS times_known
   FROM ( SELECT COALESCE(duplicate.publication, ''::text) AS copier,
            COALESCE(duplicate.original_publication, ''::text) AS original,
            duplicate.score,
            duplicate.delay,
            (duplicate.delay > '00:00:00'::interval) AS later
           FROM dedup.duplicate
          WHERE duplicate.times_known) p
  GROUP BY
        CASE
            WHEN p.later THEN p.copier
            ELSE p.original
        END,
        CASE
            WHEN p.later THEN p.original
            ELSE p.copier
        END
UNION ALL
 SELECT a.publication,
    b.publication AS original_publication,
    count(*) AS duplicates,
    NULL::double precision AS mean_score,
    NULL::interval AS median_delay,
    false AS times_known
   FROM (( SELECT DISTINCT shared_article.story_id,
            COALESCE(shared_article.publication, ''::text) AS publication
           FROM dedup.shared_article
          WHERE (shared_article.was_first IS NULL)) a
     JOIN ( SELECT DISTINCT shared_article.story_id,
            COALESCE(shared_article.publication, ''::text) AS publication
           FROM dedup.shared_article
          WHERE (shared_article.was_first IS NULL)) b ON (((b.story_id = a.story_id) AND (b.publication > a.publication))))
  GROUP BY a.publication, b.publication;
--- view daily_mark
CREATE OR REPLACE VIEW dedup.daily_mark AS
SELECT ((a.known_at AT TIME ZONE 'UTC'::text))::date AS day,
    count(*) AS articles,
    count(*) FILTER (WHERE (a.status = 'unique'::text)) AS unique_articles,
    count(*) FILTER (WHERE (a.status = 'similar'::text)) AS similar_articles,
    count(*) FILTER (WHERE (a.status = 'duplicate'::text)) AS duplicates,
    count(*) FILTER (WHERE (a.status = 'pending'::text)) AS pending,
    count(*) FILTER (WHERE (a.status = 'failed'::text)) AS failed,
    count(*) FILTER (WHERE a.stale) AS stale,
    count(*) FILTER (WHERE a.archived) AS archived,
    count(*) FILTER (WHERE ((s.id IS NOT NULL) AND (s.was_first IS NULL))) AS first_unknown
   FROM (dedup.marked_article a
     LEFT JOIN dedup.shared_article s ON ((s.id = a.id)))
  GROUP BY (((a.known_at AT TIME ZONE 'UTC'::text))::date);
--- view mark
CREATE OR REPLACE VIEW dedup.mark AS
SELECT a.id,
    a.source_id,
    a.url,
    a.title,
    a.publication,
    a.published_at,
    a.added_at,
    a.language,
    a.status,
    a.stale,
    a.duplicate_of,
    o.source_id AS original_source_id,
    a.score,
    a.reason,
    a.limit_fired,
    a.marked_at,
    a.archived,
    a.kept,
    a.byline,
    a.correction,
    a.scope
   FROM (dedup.marked_article a
     LEFT JOIN dedup.article o ON ((o.id = a.duplicate_of)));
--- view scored_pair
CREATE OR REPLACE VIEW dedup.scored_pair AS
SELECT m.article_id,
    a.source_id,
    m.other_id,
    o.source_id AS other_source_id,
    m.relation,
    m.rule,
    m.score,
    m.sentence_jaccard,
    m.signature_jaccard,
    m.containment,
        CASE
            WHEN ((a.known_at <> date_trunc('day'::text, a.known_at, 'UTC'::text)) AND (o.known_at <> date_trunc('day'::text, o.known_at, 'UTC'::text))) THEN (a.known_at <> o.known_at)
            ELSE COALESCE((date_trunc('day'::text, a.known_at, 'UTC'::text) <> date_trunc('day'::text, o.known_at, 'UTC'::text)), false)
        END AS times_known
   FROM ((dedup.match m
     JOIN dedup.marked_article a ON ((a.id = m.article_id)))
     JOIN dedup.marked_article o ON ((o.id = m.other_id)));
--- view sentence
CREATE OR REPLACE VIEW dedup.sentence AS
SELECT sentence_hash,
    c.carriers,
    c.effective_stories,
    (c.sentence_hash IS NOT NULL) AS common,
        CASE p.common
            WHEN true THEN 'always'::text
            WHEN false THEN 'never'::text
            ELSE NULL::text
        END AS pin,
    COALESCE(c.example, p.example) AS example,
    c.since
   FROM (dedup.common_sentence c
     FULL JOIN dedup.sentence_pin p USING (sentence_hash));
--- view pinned_pair
CREATE OR REPLACE VIEW dedup.pinned_pair AS
SELECT source_id,
    other_source_id,
    relation,
    pinned_by,
    reason,
    pinned_at
   FROM dedup.pair_pin;
--- view schema_version
CREATE OR REPLACE VIEW dedup.schema_version AS
SELECT version_num
   FROM dedup.alembic_version;
--- view story_version
CREATE OR REPLACE VIEW dedup.story_version AS
SELECT v.id,
    a.source_id,
    c.id AS story_id,
    o.source_id AS story_source_id,
    v.version,
    v.before_id,
    b.source_id AS before_source_id,
    a.title,
    a.publication,
    a.known_at AS appeared_at,
    c.archived,
    (
        CASE
            WHEN ((a.known_at <> date_trunc('day'::text, a.known_at, 'UTC'::text)) AND (b.known_at <> date_trunc('day'::text, b.known_at, 'UTC'::text))) THEN NULLIF((a.known_at - b.known_at), '00:00:00'::interval)
            ELSE NULLIF((date_trunc('day'::text, a.known_at, 'UTC'::text) - date_trunc('day'::text, b.known_at, 'UTC'::text)), '00:00:00'::interval)
        END IS NOT NULL) AS times_known
   FROM ((((dedup.article_mark c
     CROSS JOIN LATERAL ( SELECT c.id,
            (1)::bigint AS version,
                CASE
                    WHEN (c.status = 'similar'::text) THEN ( SELECT m.other_id
                       FROM ((dedup.match m
                         JOIN dedup.article_mark e ON ((e.id = m.other_id)))
                         JOIN dedup.article s ON ((s.id = m.other_id)))
                      WHERE ((m.article_id = c.id) AND (m.relation = 'similar'::text))
                      ORDER BY m.score DESC, e."time", s.source_id
                     LIMIT 1)
                    ELSE NULL::bigint
                END AS before_id
        UNION ALL
         SELECT k.id,
            (1 + row_number() OVER w),
            lag(k.id, 1, c.id) OVER w AS lag
           FROM (dedup.article_mark k
             CROSS JOIN LATERAL ( SELECT s_1.id,
                    s_1.source_id,
                    s_1.url,
                    s_1.title,
                    s_1.publication,
                    s_1.published_at,
                    s_1.added_at,
                    s_1."time",
                    s_1.language,
                    s_1.text,
                    s_1.revision,
                    s_1.attachment_id,
                    s_1.text_hash,
                    s_1.status,
                    s_1.stale,
                    s_1.takes_part,
                    s_1.duplicate_of,
                    s_1.score,
                    s_1.reason,
                    s_1.limit_fired,
                    s_1.marked_at,
                    s_1.archived,
                    s_1.kept,
                    s_1.byline,
                    s_1.known_at
                   FROM dedup.marked_article s_1
                  WHERE (s_1.id = k.id)
                 OFFSET 0) s)
          WHERE (k.duplicate_of = c.id)
          WINDOW w AS (ORDER BY s.known_at, s.source_id)) v)
     JOIN dedup.article o ON ((o.id = c.id)))
     CROSS JOIN LATERAL ( SELECT a_1.id,
            a_1.source_id,
            a_1.url,
            a_1.title,
            a_1.publication,
            a_1.published_at,
            a_1.added_at,
            a_1."time",
            a_1.language,
            a_1.text,
            a_1.revision,
            a_1.attachment_id,
            a_1.text_hash,
            a_1.status,
            a_1.stale,
            a_1.takes_part,
            a_1.duplicate_of,
            a_1.score,
            a_1.reason,
            a_1.limit_fired,
            a_1.marked_at,
            a_1.archived,
            a_1.kept,
            a_1.byline,
            a_1.known_at
           FROM dedup.marked_article a_1
          WHERE (a_1.id = v.id)
         OFFSET 0) a)
     LEFT JOIN LATERAL ( SELECT b_1.source_id,
            b_1.known_at
           FROM dedup.marked_article b_1
          WHERE (b_1.id = v.before_id)
         OFFSET 0) b ON (true))
  WHERE (c.status <> 'duplicate'::text);
--- view alteration
CREATE OR REPLACE VIEW dedup.alteration AS
SELECT v.id,
    v.source_id,
    v.story_source_id,
    v.version,
    v.before_source_id,
    v.publication,
    v.appeared_at,
    (p."position")::integer AS "position",
        CASE
            WHEN (p.earlier IS NULL) THEN 'added'::text
            WHEN (p.later IS NULL) THEN 'removed'::text
            ELSE 'changed'::text
        END AS kind,
    p.earlier,
    p.later,
    (EXISTS ( SELECT
           FROM dedup.common_sentence s
          WHERE ((s.sentence_hash = p.earlier_hash) OR (s.sentence_hash = p.later_hash)))) AS common,
    v.times_known
   FROM ((((dedup.story_version v
     CROSS JOIN LATERAL ( SELECT c_1.article_id,
            c_1.before_id,
            c_1.revision,
            c_1.before_revision,
            c_1.earlier,
            c_1.later,
            c_1.earlier_hashes,
            c_1.later_hashes,
            c_1.compared_at
           FROM dedup.compared_version c_1
          WHERE ((c_1.article_id = v.id) AND (c_1.before_id = v.before_id))
         OFFSET 0) c)
     CROSS JOIN LATERAL ( SELECT
           FROM dedup.article a_1
          WHERE ((a_1.id = c.article_id) AND (a_1.revision = c.revision))
         OFFSET 0) a)
     CROSS JOIN LATERAL ( SELECT
           FROM dedup.article b_1
          WHERE ((b_1.id = c.before_id) AND (b_1.revision = c.before_revision))
         OFFSET 0) b)
     CROSS JOIN LATERAL UNNEST(c.earlier, c.later, c.earlier_hashes, c.later_hashes) WITH ORDINALITY p(earlier, later, earlier_hash, later_hash, "position"));
--- view quote
CREATE OR REPLACE VIEW dedup.quote AS
SELECT q.sentence_hash,
    q.words,
    q.outlets,
    q.stories,
    q.articles,
    (c.sentence_hash IS NOT NULL) AS common,
    (q.words ~ '["«»„“”「」『』]'::text) AS speech,
    a.source_id,
        CASE
            WHEN q.first_known THEN a.publication
            ELSE NULL::text
        END AS publication,
        CASE
            WHEN q.first_known THEN a.known_at
            ELSE NULL::timestamp with time zone
        END AS appeared_at,
    q.counted_at,
    q.first_known
   FROM ((dedup.quoted_sentence q
     JOIN dedup.marked_article a ON (((a.id = q.article_id) AND (a.revision = q.revision))))
     LEFT JOIN dedup.common_sentence c ON ((c.sentence_hash = q.sentence_hash)));
--- view article_credit
CREATE OR REPLACE VIEW dedup.article_credit AS
SELECT c.article_id,
    a.source_id,
    COALESCE(k.duplicate_of, k.id) AS story_id,
    a.publication,
    a.published_at,
    g.name AS agency,
    c.place,
    c.kind
   FROM (((dedup.credit c
     JOIN dedup.agency g ON ((g.id = c.agency_id)))
     JOIN dedup.article a ON ((a.id = c.article_id)))
     JOIN dedup.article_mark k ON ((k.id = c.article_id)));
--- view agency_copy
CREATE OR REPLACE VIEW dedup.agency_copy AS
SELECT a.id AS article_id,
    a.source_id,
    a.publication,
    a.published_at,
    s.story_id,
    s.agency,
    (EXISTS ( SELECT
           FROM dedup.article_credit c
          WHERE ((c.article_id = a.id) AND (c.agency = s.agency) AND (c.kind = 'text'::text)))) AS credited
   FROM ((( SELECT DISTINCT article_credit.story_id,
            article_credit.agency
           FROM dedup.article_credit
          WHERE (article_credit.kind = 'text'::text)) s
     JOIN dedup.article_mark k ON ((COALESCE(k.duplicate_of, k.id) = s.story_id)))
     JOIN dedup.article a ON ((a.id = k.id)));
--- view publication_credit
CREATE OR REPLACE VIEW dedup.publication_credit AS
SELECT COALESCE(a.publication, ''::text) AS publication,
    count(*) AS articles,
    count(*) FILTER (WHERE c.credited) AS credited,
    count(c.article_id) AS agency_copy,
    ((count(c.article_id))::double precision / (count(*))::double precision) AS share,
    count(*) FILTER (WHERE (k.status = ANY (ARRAY['unique'::text, 'similar'::text, 'duplicate'::text]))) AS settled,
    count(*) FILTER (WHERE ((k.status = ANY (ARRAY['unique'::text, 'similar'::text, 'duplicate'::text])) AND ((c.article_id IS NULL) OR c.own) AND ((s.id IS NULL) OR s.was_first))) AS own,
    count(*) FILTER (WHERE ((k.status = ANY (ARRAY['unique'::text, 'similar'::text, 'duplicate'::text])) AND ((c.article_id IS NULL) OR c.own) AND (s.was_first IS NOT FALSE))) AS own_at_most
   FROM (((dedup.article a
     JOIN dedup.article_mark k ON ((k.id = a.id)))
     LEFT JOIN dedup.shared_article s ON ((s.id = a.id)))
     LEFT JOIN ( SELECT t.article_id,
            bool_or(t.credited) AS credited,
            bool_or((lower(t.publication) IN ( SELECT lower(unnest((g.spellings || g.name))) AS lower))) AS own
           FROM (dedup.agency_copy t
             JOIN dedup.agency g ON ((g.name = t.agency)))
          GROUP BY t.article_id) c ON ((c.article_id = a.id)))
  GROUP BY COALESCE(a.publication, ''::text);
--- view shared_article
CREATE OR REPLACE VIEW dedup.shared_article AS
SELECT id,
    story_id,
    publication,
        CASE
            WHEN later THEN false
            WHEN (count(*) FILTER (WHERE (later IS NOT TRUE)) OVER (PARTITION BY story_id) = 1) THEN true
            ELSE NULL::boolean
        END AS was_first
   FROM ( SELECT a.id,
            m.story_id,
            a.publication,
            (a.known_at > min(
                CASE
                    WHEN (a.known_at <> date_trunc('day'::text, a.known_at, 'UTC'::text)) THEN a.known_at
                    ELSE ((a.known_at + '24:00:00'::interval) - '00:00:00.000001'::interval)
                END) OVER (PARTITION BY m.story_id)) AS later
           FROM (( SELECT article_mark.duplicate_of AS story_id,
                    article_mark.id
                   FROM dedup.article_mark
                  WHERE (article_mark.duplicate_of IS NOT NULL)
                UNION ALL
                 SELECT DISTINCT article_mark.duplicate_of,
                    article_mark.duplicate_of
                   FROM dedup.article_mark
                  WHERE (article_mark.duplicate_of IS NOT NULL)) m
             CROSS JOIN LATERAL ( SELECT marked_article.id,
                    marked_article.publication,
                    marked_article.known_at
                   FROM dedup.marked_article
                  WHERE (marked_article.id = m.id)
                 OFFSET 0) a)) p;
--- view story_representative
CREATE OR REPLACE VIEW dedup.story_representative AS
SELECT k.id AS story_id,
    k.id AS first_id,
    COALESCE(m.latest_id, k.id) AS latest_id,
    COALESCE(m.fullest_id, k.id) AS fullest_id
   FROM (dedup.article_mark k
     CROSS JOIN LATERAL ( SELECT (array_agg(a.id ORDER BY (a.correction IS NULL), a.known_at DESC NULLS LAST, w.words DESC, a.source_id))[1] AS latest_id,
            (array_agg(a.id ORDER BY w.words DESC, (a.correction IS NULL), a.known_at DESC NULLS LAST, a.source_id))[1] AS fullest_id
           FROM ((( SELECT k.id
                UNION ALL
                 SELECT d.id
                   FROM dedup.article_mark d
                  WHERE (d.duplicate_of = k.id)) told(id)
             CROSS JOIN LATERAL ( SELECT marked_article.id,
                    marked_article.source_id,
                    marked_article.url,
                    marked_article.title,
                    marked_article.publication,
                    marked_article.published_at,
                    marked_article.added_at,
                    marked_article."time",
                    marked_article.language,
                    marked_article.text,
                    marked_article.revision,
                    marked_article.attachment_id,
                    marked_article.text_hash,
                    marked_article.status,
                    marked_article.stale,
                    marked_article.takes_part,
                    marked_article.duplicate_of,
                    marked_article.score,
                    marked_article.reason,
                    marked_article.limit_fired,
                    marked_article.marked_at,
                    marked_article.archived,
                    marked_article.kept,
                    marked_article.byline,
                    marked_article.known_at,
                    marked_article.correction
                   FROM dedup.marked_article
                  WHERE (marked_article.id = told.id)
                 OFFSET 0) a)
             CROSS JOIN LATERAL ( SELECT COALESCE(max(f.word_count), 0) AS words
                   FROM ( SELECT fingerprint.word_count,
                            fingerprint.revision
                           FROM dedup.fingerprint
                          WHERE (fingerprint.article_id = told.id)
                        UNION ALL
                         SELECT fingerprint_bulk.word_count,
                            fingerprint_bulk.revision
                           FROM dedup.fingerprint_bulk
                          WHERE (fingerprint_bulk.article_id = told.id)) f
                  WHERE (f.revision = a.revision)) w)
          WHERE (EXISTS ( SELECT
                   FROM dedup.article_mark d
                  WHERE (d.duplicate_of = k.id)))) m)
  WHERE (k.status <> 'duplicate'::text);
--- view current_article
CREATE OR REPLACE VIEW dedup.current_article AS
SELECT a.id,
    a.source_id,
    a.url,
    a.title,
    a.publication,
    a.published_at,
    a.added_at,
    a.language,
    COALESCE(a.text, (( SELECT t.text
           FROM dedup.article_text t
          WHERE (t.article_id = a.id)) COLLATE "default")) AS text,
    a.status,
    a.stale,
    a.score,
    a.reason,
    a.marked_at,
    a.archived,
    a.kept,
    a.byline,
    a.correction,
    o.id AS story_id,
    o.source_id AS story_source_id
   FROM ((dedup.article o
     CROSS JOIN LATERAL ( SELECT story_representative.latest_id
           FROM dedup.story_representative
          WHERE (story_representative.story_id = o.id)
         OFFSET 0) r)
     CROSS JOIN LATERAL ( SELECT marked_article.id,
            marked_article.source_id,
            marked_article.url,
            marked_article.title,
            marked_article.publication,
            marked_article.published_at,
            marked_article.added_at,
            marked_article."time",
            marked_article.language,
            marked_article.text,
            marked_article.revision,
            marked_article.attachment_id,
            marked_article.text_hash,
            marked_article.status,
            marked_article.stale,
            marked_article.takes_part,
            marked_article.duplicate_of,
            marked_article.score,
            marked_article.reason,
            marked_article.limit_fired,
            marked_article.marked_at,
            marked_article.archived,
            marked_article.kept,
            marked_article.byline,
            marked_article.known_at,
            marked_article.correction
           FROM dedup.marked_article
          WHERE (marked_article.id = r.latest_id)
         OFFSET 0) a);
--- view outlet_article
CREATE OR REPLACE VIEW dedup.outlet_article AS
SELECT a.id,
    a.source_id,
    a.publication,
    n.outlet,
    n.family,
    COALESCE(n.agency,
        CASE
            WHEN n.listed THEN ( SELECT min(g.name) AS min
               FROM dedup.agency g
              WHERE (lower(n.outlet) IN ( SELECT (lower(s.s) COLLATE "C") AS lower
                       FROM unnest((g.spellings || g.name)) s(s))))
            ELSE NULL::text
        END) AS agency
   FROM (((dedup.article a
     LEFT JOIN dedup.outlet o ON ((o.name = (a.publication COLLATE "C"))))
     LEFT JOIN dedup.outlet t ON ((t.name = o.alias_of)))
     CROSS JOIN LATERAL ( SELECT COALESCE(o.alias_of,
                CASE
                    WHEN (btrim(a.publication) <> ''::text) THEN (a.publication COLLATE "C")
                    ELSE NULL::text
                END) AS outlet,
            COALESCE(t.family, o.family) AS family,
            COALESCE(t.agency, o.agency) AS agency,
            (lower(COALESCE(o.alias_of, (a.publication COLLATE "C"))) IN ( SELECT (lower(s.s) COLLATE "C") AS lower
                   FROM dedup.agency,
                    LATERAL unnest((agency.spellings || agency.name)) s(s))) AS listed) n);
--- view article_agency
CREATE OR REPLACE VIEW dedup.article_agency AS
SELECT k.id AS article_id,
    found.agency,
    (found.place = 0) AS own
   FROM (dedup.article_mark k
     CROSS JOIN LATERAL ( SELECT p.agency,
            0 AS place
           FROM dedup.outlet_article p
          WHERE ((p.id = k.id) AND (p.agency IS NOT NULL))
        UNION ALL
         SELECT g.name,
            array_position('{byline,dateline,end,copyright}'::text[], c.place) AS array_position
           FROM (dedup.credit c
             JOIN dedup.agency g ON ((g.id = c.agency_id)))
          WHERE ((c.article_id = k.id) AND (c.kind = 'text'::text))
  ORDER BY 2, 1
 LIMIT 1) found);
--- view story_origin
CREATE OR REPLACE VIEW dedup.story_origin AS
SELECT k.id AS story_id,
        CASE
            WHEN (c.agency IS NOT NULL) THEN 'agency'::text
            WHEN (o.family IS NOT NULL) THEN 'family'::text
            WHEN (o.outlet IS NOT NULL) THEN 'outlet'::text
            ELSE 'unknown'::text
        END AS kind,
    COALESCE(c.agency, o.family, o.outlet) AS name
   FROM ((dedup.article_mark k
     CROSS JOIN LATERAL ( SELECT outlet_article.outlet,
            outlet_article.family
           FROM dedup.outlet_article
          WHERE (outlet_article.id = k.id)
         OFFSET 0) o)
     CROSS JOIN LATERAL ( SELECT COALESCE(( SELECT article_agency.agency
                   FROM dedup.article_agency
                  WHERE (article_agency.article_id = k.id)
                 OFFSET 0), ( SELECT a.agency
                   FROM (( SELECT article_mark.id,
                            count(*) OVER () AS copies
                           FROM dedup.article_mark
                          WHERE (article_mark.duplicate_of = k.id)
                         OFFSET 0) copy
                     CROSS JOIN LATERAL ( SELECT article_agency.agency,
                            article_agency.own
                           FROM dedup.article_agency
                          WHERE (article_agency.article_id = copy.id)
                         OFFSET 0) a)
                  GROUP BY a.agency, copy.copies
                 HAVING (bool_or(a.own) OR ((2 * count(*)) > copy.copies))
                  ORDER BY (bool_or(a.own)) DESC, (count(*)) DESC, a.agency
                 LIMIT 1)) AS agency) c)
  WHERE (k.status <> 'duplicate'::text);
--- view addition
CREATE OR REPLACE VIEW dedup.addition AS
SELECT d.id,
    d.source_id,
    d.title,
    d.publication,
    d.published_at,
    d.original_id,
    d.original_source_id,
    d.original_publication,
    c.words,
    c.words_added,
    cardinality(c.sentences) AS sentences_added,
    cardinality(c.numbers) AS numbers_added,
    ((c.grams_in_original)::double precision / (c.grams)::double precision) AS share_in_original,
    (c.grams_in_original = c.grams) AS adds_nothing,
    c.sentences,
    c.numbers,
    d.times_known,
    d.stale,
    d.archived,
    c.compared_at
   FROM (((dedup.compared_copy c
     JOIN dedup.duplicate d ON (((d.id = c.article_id) AND (d.original_id = c.original_id))))
     JOIN dedup.article a ON (((a.id = c.article_id) AND (a.revision = c.revision))))
     JOIN dedup.article o ON (((o.id = c.original_id) AND (o.revision = c.original_revision))));
--- view origin_month
CREATE OR REPLACE VIEW dedup.origin_month AS
SELECT month,
    outlet,
    min(family) AS family,
    origin_kind,
    origin,
    count(*) AS articles,
    count(*) FILTER (WHERE (class = 'own'::text)) AS own,
    count(*) FILTER (WHERE (class = 'copied'::text)) AS copied,
    count(*) FILTER (WHERE (class = 'agency'::text)) AS agency,
    count(*) FILTER (WHERE (class = 'first unknown'::text)) AS first_unknown
   FROM ( SELECT (date_trunc('month'::text, a.known_at, 'UTC'::text))::date AS month,
            p.outlet,
            p.family,
            COALESCE(o.kind, 'not compared'::text) AS origin_kind,
            o.name AS origin,
                CASE
                    WHEN (o.kind IS NULL) THEN 'not compared'::text
                    WHEN ((o.kind = 'agency'::text) AND (o.name IS DISTINCT FROM p.agency)) THEN 'agency'::text
                    WHEN ((s.id IS NULL) OR s.was_first) THEN 'own'::text
                    WHEN (NOT s.was_first) THEN 'copied'::text
                    ELSE 'first unknown'::text
                END AS class
           FROM (((dedup.marked_article a
             JOIN dedup.outlet_article p ON ((p.id = a.id)))
             LEFT JOIN dedup.shared_article s ON ((s.id = a.id)))
             LEFT JOIN dedup.story_origin o ON ((o.story_id =
                CASE
                    WHEN (a.status = ANY (ARRAY['unique'::text, 'similar'::text, 'duplicate'::text])) THEN COALESCE(a.duplicate_of, a.id)
                    ELSE NULL::bigint
                END)))) classed
  GROUP BY month, outlet, origin_kind, origin;
--- view outlet_month
CREATE OR REPLACE VIEW dedup.outlet_month AS
SELECT month,
    outlet,
    min(family) AS family,
    (sum(articles))::bigint AS articles,
    (sum(own))::bigint AS own,
    (sum(copied))::bigint AS copied,
    (sum(agency))::bigint AS agency,
    (sum(first_unknown))::bigint AS first_unknown,
    (COALESCE(sum(articles) FILTER (WHERE (origin_kind = 'not compared'::text)), (0)::numeric))::bigint AS not_compared,
    (((sum(articles) FILTER (WHERE (origin_kind <> 'not compared'::text)) ^ (2)::numeric))::double precision / sum(((articles)::double precision ^ (2)::double precision)) FILTER (WHERE (origin_kind <> 'not compared'::text))) AS diversity,
    ((month IS NOT NULL) AND (sum(first_unknown) = (0)::numeric)) AS times_known
   FROM dedup.origin_month
  GROUP BY month, outlet;
--- view outlet_overlap
CREATE OR REPLACE VIEW dedup.outlet_overlap AS
SELECT
        CASE
            WHEN pair.later THEN pair.copier
            ELSE pair.original
        END AS outlet,
        CASE
            WHEN pair.later THEN pair.original
            ELSE pair.copier
        END AS original_outlet,
    count(*) AS copies,
    count(*) FILTER (WHERE pair.agency) AS agency_copies,
    (percentile_cont((0.5)::double precision) WITHIN GROUP (ORDER BY ((abs(EXTRACT(epoch FROM pair.delay)))::double precision)) * '00:00:01'::interval) AS median_delay,
    true AS times_known
   FROM ( SELECT c.outlet AS copier,
            o.outlet AS original,
            d.delay,
            (d.delay > '00:00:00'::interval) AS later,
            ( SELECT (story_origin.kind = 'agency'::text)
                   FROM dedup.story_origin
                  WHERE (story_origin.story_id = d.original_id)
                 OFFSET 0) AS agency
           FROM ((dedup.duplicate d
             JOIN dedup.outlet_article c ON ((c.id = d.id)))
             JOIN dedup.outlet_article o ON ((o.id = d.original_id)))
          WHERE (d.times_known AND (c.outlet <> o.outlet))) pair
  GROUP BY
        CASE
            WHEN pair.later THEN pair.copier
            ELSE pair.original
        END,
        CASE
            WHEN pair.later THEN pair.original
            ELSE pair.copier
        END
UNION ALL
 SELECT a.outlet,
    b.outlet AS original_outlet,
    count(*) AS copies,
    count(*) FILTER (WHERE ( SELECT (story_origin.kind = 'agency'::text)
           FROM dedup.story_origin
          WHERE (story_origin.story_id = a.story_id)
         OFFSET 0)) AS agency_copies,
    NULL::interval AS median_delay,
    false AS times_known
   FROM (( SELECT DISTINCT s.story_id,
            p.outlet
           FROM (dedup.shared_article s
             JOIN dedup.outlet_article p ON ((p.id = s.id)))
          WHERE (s.was_first IS NULL)) a
     JOIN ( SELECT DISTINCT s.story_id,
            p.outlet
           FROM (dedup.shared_article s
             JOIN dedup.outlet_article p ON ((p.id = s.id)))
          WHERE (s.was_first IS NULL)) b ON (((b.story_id = a.story_id) AND (b.outlet > a.outlet))))
  GROUP BY a.outlet, b.outlet;
--- trigger agency_changed of agency
CREATE OR REPLACE TRIGGER agency_changed AFTER INSERT OR DELETE OR UPDATE OR TRUNCATE ON dedup.agency FOR EACH STATEMENT EXECUTE FUNCTION dedup.agency_changed();
--- trigger article_attached_delete of article
CREATE OR REPLACE TRIGGER article_attached_delete BEFORE DELETE ON dedup.article FOR EACH ROW WHEN ((old.attachment_id IS NOT NULL)) EXECUTE FUNCTION dedup.article_attached();
--- trigger article_attached_insert of article
CREATE OR REPLACE TRIGGER article_attached_insert BEFORE INSERT ON dedup.article FOR EACH ROW WHEN ((new.attachment_id IS NOT NULL)) EXECUTE FUNCTION dedup.article_attached();
--- trigger article_attached_update of article
CREATE OR REPLACE TRIGGER article_attached_update BEFORE UPDATE OF source_id, url, title, publication, published_at, added_at, language, byline, text, attachment_id, text_hash, kept, scope ON dedup.article FOR EACH ROW WHEN (((old.attachment_id IS NOT NULL) OR (new.attachment_id IS NOT NULL))) EXECUTE FUNCTION dedup.article_attached();
--- trigger article_byline of article
CREATE OR REPLACE TRIGGER article_byline AFTER UPDATE OF byline, title ON dedup.article FOR EACH ROW WHEN (((old.byline IS DISTINCT FROM new.byline) OR (old.title IS DISTINCT FROM new.title))) EXECUTE FUNCTION dedup.byline_changed();
--- trigger article_came of article
CREATE OR REPLACE TRIGGER article_came AFTER INSERT ON dedup.article REFERENCING NEW TABLE AS came FOR EACH STATEMENT WHEN (((current_setting('dedup.storing'::text, true) IS DISTINCT FROM 'on'::text) OR (NOT has_table_privilege('dedup.settle_turn'::text, 'UPDATE'::text)))) EXECUTE FUNCTION dedup.article_came();
--- trigger article_credits_emptied of article
CREATE OR REPLACE TRIGGER article_credits_emptied AFTER TRUNCATE ON dedup.article FOR EACH STATEMENT EXECUTE FUNCTION dedup.credits_gone();
--- trigger article_credits_gone of article
CREATE OR REPLACE TRIGGER article_credits_gone AFTER DELETE ON dedup.article REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION dedup.credits_gone();
--- trigger article_deleted of article
CREATE OR REPLACE TRIGGER article_deleted AFTER DELETE ON dedup.article FOR EACH ROW EXECUTE FUNCTION dedup.article_deleted();
--- trigger article_edit of article
CREATE OR REPLACE TRIGGER article_edit BEFORE UPDATE OF source_id, title, text, text_hash, language, published_at, added_at, scope ON dedup.article FOR EACH ROW WHEN ((((((old.title IS DISTINCT FROM new.title) OR (old.text IS DISTINCT FROM new.text)) OR (old.text_hash IS DISTINCT FROM new.text_hash)) OR (old.language IS DISTINCT FROM new.language)) OR (old.scope IS DISTINCT FROM new.scope))) EXECUTE FUNCTION dedup.article_edit();
--- trigger article_edited of article
CREATE OR REPLACE TRIGGER article_edited AFTER UPDATE OF source_id, title, text, text_hash, language, published_at, added_at, scope ON dedup.article FOR EACH ROW WHEN (((((old.source_id IS DISTINCT FROM new.source_id) OR (old.revision IS DISTINCT FROM new.revision)) OR (old.published_at IS DISTINCT FROM new.published_at)) OR (old.added_at IS DISTINCT FROM new.added_at))) EXECUTE FUNCTION dedup.article_edited();
--- trigger article_emptied of article
CREATE OR REPLACE TRIGGER article_emptied AFTER TRUNCATE ON dedup.article FOR EACH STATEMENT EXECUTE FUNCTION dedup.emptied();
--- trigger article_lock of article
CREATE OR REPLACE TRIGGER article_lock BEFORE DELETE OR UPDATE OF source_id, title, text, text_hash, language, published_at, added_at, scope ON dedup.article FOR EACH STATEMENT EXECUTE FUNCTION dedup.article_lock();
--- trigger article_new of article
CREATE OR REPLACE TRIGGER article_new BEFORE INSERT ON dedup.article FOR EACH ROW WHEN ((new.revision <> 0)) EXECUTE FUNCTION dedup.article_new();
--- trigger article_revision of article
CREATE OR REPLACE TRIGGER article_revision BEFORE UPDATE OF revision ON dedup.article FOR EACH STATEMENT EXECUTE FUNCTION dedup.article_marks();
--- trigger article_waits of article
CREATE OR REPLACE TRIGGER article_waits AFTER INSERT OR DELETE OR UPDATE OF source_id, title, text, language, published_at, added_at, scope ON dedup.article FOR EACH STATEMENT EXECUTE FUNCTION dedup.article_waits();
--- trigger attached_emptied of article
CREATE OR REPLACE TRIGGER attached_emptied AFTER TRUNCATE ON dedup.article FOR EACH STATEMENT EXECUTE FUNCTION dedup.attached_emptied();
--- trigger loads_emptied of article
CREATE OR REPLACE TRIGGER loads_emptied AFTER TRUNCATE ON dedup.article FOR EACH STATEMENT EXECUTE FUNCTION dedup.loads_emptied();
--- trigger sentences_deleted of article
CREATE OR REPLACE TRIGGER sentences_deleted AFTER DELETE ON dedup.article FOR EACH ROW EXECUTE FUNCTION dedup.sentences_went();
--- trigger sentences_edited of article
CREATE OR REPLACE TRIGGER sentences_edited AFTER UPDATE OF title, text, text_hash, language, scope ON dedup.article FOR EACH ROW WHEN ((old.revision <> new.revision)) EXECUTE FUNCTION dedup.sentences_went();
--- trigger sentences_emptied of article
CREATE OR REPLACE TRIGGER sentences_emptied AFTER TRUNCATE ON dedup.article FOR EACH STATEMENT EXECUTE FUNCTION dedup.sentences_went();
--- trigger article_mark_emptied of article_mark
CREATE OR REPLACE TRIGGER article_mark_emptied AFTER TRUNCATE ON dedup.article_mark FOR EACH STATEMENT EXECUTE FUNCTION dedup.emptied();
--- trigger article_mark_new of article_mark
CREATE OR REPLACE TRIGGER article_mark_new BEFORE INSERT ON dedup.article_mark FOR EACH ROW WHEN (((pg_trigger_depth() = 0) AND ((current_setting('dedup.settling'::text, true) IS DISTINCT FROM 'on'::text) OR (NOT has_table_privilege('dedup.settle_turn'::text, 'UPDATE'::text))))) EXECUTE FUNCTION dedup.article_mark_new();
--- trigger article_mark_waits of article_mark
CREATE OR REPLACE TRIGGER article_mark_waits BEFORE UPDATE OF status, stale ON dedup.article_mark FOR EACH ROW WHEN ((((new.status = 'pending'::text) OR new.stale) AND (NOT ((old.status = 'pending'::text) OR old.stale)))) EXECUTE FUNCTION dedup.article_mark_waits();
--- trigger article_marks of article_mark
CREATE OR REPLACE TRIGGER article_marks BEFORE DELETE OR UPDATE ON dedup.article_mark FOR EACH STATEMENT EXECUTE FUNCTION dedup.article_marks();
--- trigger common_sentence_came of common_sentence
CREATE OR REPLACE TRIGGER common_sentence_came BEFORE INSERT OR DELETE OR UPDATE ON dedup.common_sentence FOR EACH STATEMENT EXECUTE FUNCTION dedup.counts_came();
--- trigger common_sentence_emptied of common_sentence
CREATE OR REPLACE TRIGGER common_sentence_emptied AFTER TRUNCATE ON dedup.common_sentence FOR EACH STATEMENT EXECUTE FUNCTION dedup.emptied();
--- trigger corpus_state_came of corpus_state
CREATE OR REPLACE TRIGGER corpus_state_came BEFORE INSERT ON dedup.corpus_state FOR EACH ROW EXECUTE FUNCTION dedup.state_came();
--- trigger corpus_state_stays of corpus_state
CREATE OR REPLACE TRIGGER corpus_state_stays BEFORE DELETE OR TRUNCATE ON dedup.corpus_state FOR EACH STATEMENT EXECUTE FUNCTION dedup.only_row_stays();
--- trigger correction_phrase_changed of correction_phrase
CREATE OR REPLACE TRIGGER correction_phrase_changed AFTER INSERT OR DELETE OR UPDATE OR TRUNCATE ON dedup.correction_phrase FOR EACH STATEMENT EXECUTE FUNCTION dedup.agency_changed();
--- trigger fingerprint_came of fingerprint
CREATE OR REPLACE TRIGGER fingerprint_came AFTER INSERT ON dedup.fingerprint REFERENCING NEW TABLE AS came FOR EACH STATEMENT EXECUTE FUNCTION dedup.fingerprint_came();
--- trigger fingerprint_changed of fingerprint
CREATE OR REPLACE TRIGGER fingerprint_changed AFTER UPDATE ON dedup.fingerprint REFERENCING OLD TABLE AS was NEW TABLE AS is_now FOR EACH STATEMENT EXECUTE FUNCTION dedup.fingerprint_changed();
--- trigger fingerprint_emptied of fingerprint
CREATE OR REPLACE TRIGGER fingerprint_emptied AFTER TRUNCATE ON dedup.fingerprint FOR EACH STATEMENT EXECUTE FUNCTION dedup.emptied();
--- trigger fingerprint_went of fingerprint
CREATE OR REPLACE TRIGGER fingerprint_went AFTER DELETE ON dedup.fingerprint REFERENCING OLD TABLE AS went FOR EACH STATEMENT EXECUTE FUNCTION dedup.fingerprint_went();
--- trigger fingerprint_came of fingerprint_bulk
CREATE OR REPLACE TRIGGER fingerprint_came AFTER INSERT ON dedup.fingerprint_bulk REFERENCING NEW TABLE AS came FOR EACH STATEMENT EXECUTE FUNCTION dedup.fingerprint_came();
--- trigger fingerprint_changed of fingerprint_bulk
CREATE OR REPLACE TRIGGER fingerprint_changed AFTER UPDATE ON dedup.fingerprint_bulk REFERENCING OLD TABLE AS was NEW TABLE AS is_now FOR EACH STATEMENT EXECUTE FUNCTION dedup.fingerprint_changed();
--- trigger fingerprint_emptied of fingerprint_bulk
CREATE OR REPLACE TRIGGER fingerprint_emptied AFTER TRUNCATE ON dedup.fingerprint_bulk FOR EACH STATEMENT EXECUTE FUNCTION dedup.emptied();
--- trigger fingerprint_went of fingerprint_bulk
CREATE OR REPLACE TRIGGER fingerprint_went AFTER DELETE ON dedup.fingerprint_bulk REFERENCING OLD TABLE AS went FOR EACH STATEMENT EXECUTE FUNCTION dedup.fingerprint_went();
--- trigger match_emptied of match
CREATE OR REPLACE TRIGGER match_emptied AFTER TRUNCATE ON dedup.match FOR EACH STATEMENT EXECUTE FUNCTION dedup.emptied();
--- trigger outbox_checked of outbox
CREATE OR REPLACE TRIGGER outbox_checked BEFORE INSERT ON dedup.outbox FOR EACH ROW EXECUTE FUNCTION dedup.outbox_checked();
--- trigger pair_pin_changed of pair_pin
CREATE OR REPLACE TRIGGER pair_pin_changed AFTER INSERT OR DELETE OR UPDATE ON dedup.pair_pin FOR EACH ROW EXECUTE FUNCTION dedup.pair_pin_changed();
--- trigger pair_pin_emptied of pair_pin
CREATE OR REPLACE TRIGGER pair_pin_emptied AFTER TRUNCATE ON dedup.pair_pin FOR EACH STATEMENT EXECUTE FUNCTION dedup.emptied();
--- trigger pair_pin_lock of pair_pin
CREATE OR REPLACE TRIGGER pair_pin_lock BEFORE INSERT OR DELETE OR UPDATE ON dedup.pair_pin FOR EACH STATEMENT EXECUTE FUNCTION dedup.article_lock();
--- trigger pair_pin_waits of pair_pin
CREATE OR REPLACE TRIGGER pair_pin_waits AFTER INSERT OR DELETE OR UPDATE ON dedup.pair_pin FOR EACH STATEMENT EXECUTE FUNCTION dedup.article_waits();
--- trigger sentence_change_emptied of sentence_change
CREATE OR REPLACE TRIGGER sentence_change_emptied AFTER TRUNCATE ON dedup.sentence_change FOR EACH STATEMENT EXECUTE FUNCTION dedup.emptied();
--- trigger sentence_count_came of sentence_count
CREATE OR REPLACE TRIGGER sentence_count_came BEFORE INSERT OR DELETE OR UPDATE ON dedup.sentence_count FOR EACH STATEMENT EXECUTE FUNCTION dedup.counts_came();
--- trigger sentence_count_emptied of sentence_count
CREATE OR REPLACE TRIGGER sentence_count_emptied AFTER TRUNCATE ON dedup.sentence_count FOR EACH STATEMENT EXECUTE FUNCTION dedup.emptied();
--- trigger sentence_pin_changed of sentence_pin
CREATE OR REPLACE TRIGGER sentence_pin_changed AFTER INSERT OR DELETE OR UPDATE ON dedup.sentence_pin FOR EACH ROW EXECUTE FUNCTION dedup.sentence_pin_changed();
--- trigger sentence_pin_emptied of sentence_pin
CREATE OR REPLACE TRIGGER sentence_pin_emptied AFTER TRUNCATE ON dedup.sentence_pin FOR EACH STATEMENT EXECUTE FUNCTION dedup.emptied();
--- trigger settle_turn_stays of settle_turn
CREATE OR REPLACE TRIGGER settle_turn_stays BEFORE DELETE OR TRUNCATE ON dedup.settle_turn FOR EACH STATEMENT EXECUTE FUNCTION dedup.only_row_stays();
