"""Count what copies add to their originals in sets of real news, and check `adds_nothing` by brute force.

    scripts/additions.py [SET ...] [--data FOLDER]

Settles each set on a temporary server and runs `dedup sentences`. The check shares no code with dedup: it
compares the grams (three consecutive words) of the whole stored texts. `fifth`: copies in which more than a
fifth of the grams is new; `numbers`: copies with numbers that the original lacks; `order`: copies that add no
word, but leave words out or move words; `wrong`: copies for which the check disagrees. If a copy is `wrong`,
the exit code is 1.
"""

from __future__ import annotations

import argparse
import re
import sys
import unicodedata
from pathlib import Path

from sandbox import DATA, fresh_corpus, throwaway_server

from dedup import Deduplicator
from dedup.base.article import Article
from dedup.db.database import Database
from dedup.files.readers import read_articles

COLUMNS = ("copies", "nothing", "fifth", "numbers", "order", "wrong")


def sets(data: Path) -> list[str]:
    """Return the names of all sets of a folder."""
    return sorted(path.name.split(".")[0] for path in data.glob("*.jsonl.gz") if ".truth" not in path.name)


def grams(text: str) -> set[tuple[str, ...]]:
    """Return the set of grams of a text: three consecutive words, or all words of a shorter text."""
    words = re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold())
    return {tuple(words[start : start + 3]) for start in range(max(1, len(words) - 2))}


def settle(dd: Deduplicator, file: Path) -> None:
    with read_articles(file) as reader:
        dd.load(article for article in reader if isinstance(article, Article))
    dd.backfill()
    dd.keep_sentences()


def measure(dd: Deduplicator) -> dict[str, int]:
    """Return the counts of a corpus, by column."""
    counts = dict.fromkeys(COLUMNS, 0)
    for row in list(dd.additions()):
        copy, original = (dd.get(name) for name in (row["id"], row["original"]))
        assert copy
        assert original
        counts["copies"] += 1
        counts["nothing"] += row["adds_nothing"]
        counts["fifth"] += row["share_in_original"] < 0.8
        counts["numbers"] += bool(row["numbers_added"])
        counts["order"] += row["words_added"] == 0 and not row["adds_nothing"]
        stands = grams(copy.article.text) <= grams(original.article.text)
        if stands != row["adds_nothing"]:
            counts["wrong"] += 1
            print(f"{row['id']} of {row['original']}: {stands} by the check", file=sys.stderr)
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sets", nargs="*", metavar="SET", help="default: every set")
    parser.add_argument("--data", type=Path, default=DATA, help=f"folder of the sets; default: {DATA}")
    given = parser.parse_args()
    print(f"{'':24}" + "".join(f"{name:>9}" for name in COLUMNS))
    total = dict.fromkeys(COLUMNS, 0)
    with throwaway_server() as url:
        database = Database(url)
        for name in given.sets or sets(given.data):
            fresh_corpus(database)
            with Deduplicator(url) as dd:
                settle(dd, given.data / f"{name}.jsonl.gz")
                counts = measure(dd)
            total = {column: total[column] + counts[column] for column in COLUMNS}
            print(f"{name:24}" + "".join(f"{count:9,}" for count in counts.values()), flush=True)
        database.close()
    print(f"{'all':24}" + "".join(f"{count:9,}" for count in total.values()))
    return 1 if total["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
