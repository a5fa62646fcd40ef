"""The database: what is stored, statement by statement. It decides nothing."""
