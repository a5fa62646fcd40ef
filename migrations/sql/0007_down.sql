-- Back to the schema of 0005. What is dropped is about past runs, and no mark depends on it.

DROP TRIGGER article_waits ON dedup.article;
DROP TRIGGER pair_pin_waits ON dedup.pair_pin;
DROP FUNCTION dedup.article_waits();
DROP VIEW dedup.run_history;
DROP TABLE dedup.worker, dedup.run_total;
ALTER TABLE dedup.run
    DROP COLUMN fingerprinted, DROP COLUMN settled, DROP COLUMN failed, DROP COLUMN lost, DROP COLUMN seconds;
