"""Parts of the statements of the extra, such as the code gives, for `tests/db/test_statements.py`."""

from dedup.store.articles import body, html

PARTS = {
    "extras/judging/storing": {
        **{"body": body("a"), "other_body": body("o")},
        **{"html": html("a"), "other_html": html("o")},
    },
}
