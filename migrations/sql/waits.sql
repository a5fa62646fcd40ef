-- The time from which an article waits to be settled again, for monitors: the time of storing says nothing of an edit.

ALTER TABLE dedup.article_mark ADD COLUMN waits_since timestamptz;
COMMENT ON COLUMN dedup.article_mark.waits_since IS 'When the article last became pending or stale; null: not since it was stored.';

CREATE FUNCTION dedup.article_mark_waits() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    NEW.waits_since := now();
    RETURN NEW;
END $$;
CREATE TRIGGER article_mark_waits BEFORE UPDATE OF status, stale ON dedup.article_mark FOR EACH ROW
    WHEN ((NEW.status = 'pending' OR NEW.stale) AND NOT (OLD.status = 'pending' OR OLD.stale))
    EXECUTE FUNCTION dedup.article_mark_waits();
