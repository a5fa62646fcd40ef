"""Parts of the extra's statements, as its code passes them."""

from dedup.store.word_index import FOLDED, WORDS

PARTS = {
    "extras/coverage/finding": {
        "indexed": WORDS,
        "folded": FOLDED.format("given.word"),
        "query": "(w.query && '''@d100'''::tsquery)",
    },
}
