"""A corpus as Arrow tables, and as one file; the extra `frames`."""
