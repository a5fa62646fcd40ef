"""Near-duplicate detection for news, inside the newsroom's own Postgres."""
