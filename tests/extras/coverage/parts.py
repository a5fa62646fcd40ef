"""Parts of the extra's statements, as its code passes them."""

from dedup.extras.coverage.origins import GIVEN
from dedup.store.stories import known
from dedup.store.word_index import WORDS

PARTS = {
    "extras/coverage/origins": {
        "among": "SELECT * FROM dedup.mark",
        "known": known("m"),
        "indexed": WORDS,
        "words": GIVEN,
    },
}
