-- The end of a migration: its triggers fire in replica mode too, and no function may be called by everyone.

SELECT dedup.fire_always();
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA dedup FROM PUBLIC;
