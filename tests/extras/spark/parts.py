"""Parts that this extra's code puts into its SQL statements, for `tests/db/test_statements.py`."""

from dedup.store.articles import body_sql

PARTS = {
    "extras/spark/postgres/cluster": {"check": "SELECT source_id FROM dedup.article", "text": body_sql("a")},
}
