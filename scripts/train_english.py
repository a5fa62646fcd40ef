"""Make the shipped English sentence parameters from a sample of English news.

    scripts/train_english.py [DATA_FOLDER]

Reads a seeded sample of each English set, trains with NLTK's PunktTrainer (dedup/text/training.py),
writes `dedup/text/punkt_english/` in NLTK's tab format and prints the checksum for `punkt.py`.
Only lists of words leave this script: abbreviations, pairs, sentence starters, frequent words.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path

from dedup.text.punkt import NEUTRAL
from dedup.text.training import train

SETS = {  # set: share of its articles that is read; about 4 MB of text from each
    "reuters_web_2006_2010": 0.03,
    "us_outlets_a": 0.2,
    "guardian_capi": 0.2,
    "reuters_c50": 0.25,
    "bbc2225": 0.5,
    "reuters21578": 0.25,
    "horne2017": 1.0,
    "fakenewsnet2017": 1.0,
}
SEED = 20061120
TARGET = Path(__file__).parent.parent / "dedup" / "text" / "punkt_english"


def sample(file: Path, share: float) -> Iterator[str]:
    chooser = random.Random(SEED)
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            if chooser.random() < share:
                yield json.loads(line)["text"]


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[2] / "shared" / "data"
    # House by house, because Punkt learns an abbreviation from how consistently its period is written,
    # and "Mr." of one house is "Mr" at the next.
    model = NEUTRAL
    for name, share in SETS.items():
        model |= train(sample(folder / f"{name}.jsonl.gz", share))
        print(f"{name:22} {len(model.abbrev_types):5} abbreviations so far")
    TARGET.mkdir(exist_ok=True)
    for name, content in model.to_files().items():
        (TARGET / name).write_text(content, "utf-8", newline="\n")
        print(f"{name:20} {content.count(chr(10)) + 1:6} lines {len(content.encode()):8} bytes")
    print(f"ENGLISH_SHA256 = {model.checksum!r}")


if __name__ == "__main__":
    main()
