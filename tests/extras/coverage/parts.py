"""Parts that this extra's code puts into its SQL statements, for `tests/db/test_statements.py`."""

from dedup.store.stories import known
from dedup.store.word_index import FOLDED, GIVEN, WORDS

PARTS = {
    "extras/coverage/origins": {
        "among": "SELECT * FROM dedup.mark",
        "known": known("m"),
        "indexed": WORDS,
        "words": GIVEN,
    },
    "extras/coverage/finding": {
        "indexed": WORDS,
        "folded": FOLDED.format("given.word"),
        "query": "(w.query && '''@d100'''::tsquery)",
    },
}
