-- Attached views, and tables without triggers: how their changes are found, and what was looked at last.

ALTER TABLE dedup.attachment
    ADD COLUMN changed_column text,
    ADD COLUMN sync_minutes integer,
    ADD COLUMN synced_at timestamptz,
    ADD COLUMN compared_at timestamptz,
    ADD COLUMN changed_through timestamptz,
    ADD CONSTRAINT attachment_sync_minutes_check CHECK (sync_minutes > 0);
COMMENT ON COLUMN dedup.attachment.changed_column IS 'The column of the time of a row''s last change, or null: all rows are compared.';
COMMENT ON COLUMN dedup.attachment.sync_minutes IS 'After so many minutes a backfill or a worker looks for changes; null: only `dedup sync` does.';
COMMENT ON COLUMN dedup.attachment.synced_at IS 'When it was last looked for changes, to the end.';
COMMENT ON COLUMN dedup.attachment.compared_at IS 'When all rows were last compared, to the end; only that finds rows that are gone.';
COMMENT ON COLUMN dedup.attachment.changed_through IS 'The latest time of a change that was seen, but none in the future.';
