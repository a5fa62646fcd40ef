"""Parts that this extra's code puts into its SQL statements, for `tests/db/test_statements.py`."""

from dedup.store.articles import body_sql, html_sql

PARTS = {
    "extras/judging/storing": {
        **{"body": body_sql("a"), "other_body": body_sql("o")},
        **{"html": html_sql("a"), "other_html": html_sql("o")},
    },
}
