"""Parts that this extra's code puts into its SQL statements, for `tests/db/test_statements.py`."""

from dedup.extras.browse.questions import counting
from dedup.extras.browse.questions.reading import LABEL
from dedup.store import word_index
from dedup.store.stories import delay, known

PARTS = {
    "extras/browse/questions/questions": {
        "counts": counting.COUNTS,
        "publication": LABEL.format("publication"),
        "known": known("a"),
        "dated": "true",
        "delay": delay("c.known_at", "o.known_at"),
        "rules": "= 'containment'",
        "measure": "containment",
        "side": ">=",
        "direction": "ASC",
        "column": "url",
        "condition": "true",
        "indexed": word_index.WORDS,
        "words": word_index.GIVEN,
        "order": "carriers",
        "only": "true",
        "label": LABEL.format("other"),
        "language": LABEL.format("language"),
        "delay_copied": delay(known("c"), "o.known_at"),
        "delay_by": delay("o.known_at", "c.known_at"),
    },
    "extras/browse/questions/quotes": {"order": "outlets"},
}
