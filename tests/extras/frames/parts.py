"""Parts that this extra's code puts into its SQL statements, for `tests/db/test_statements.py`."""

from dedup.store.stories import delay, known, representing

PARTS = {
    "extras/frames/columns": {
        **{"first_at": known("c"), "at": known("m"), "delay": delay("at", "c.first_at"), "limit": "1"},
        **{"representative": representing("c.id", "latest"), "article": "1"},
        **{"columns": "source_id", "key": "id", "source": "SELECT * FROM dedup.article"},
    },
}
