"""Make the shipped English sentence parameters from a sample of English news.

    scripts/train_english.py [DATA_FOLDER]

Reads a seeded sample of each English set, trains with NLTK's PunktTrainer (dedup/text/training.py), adds
words of news that training does not learn (`with_known`), writes `dedup/text/punkt_english/` in NLTK's tab
format and prints the checksum for `punkt.py`. Only lists of words leave this script: abbreviations, pairs,
sentence starters, frequent words.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from dedup.text.punkt import NEUTRAL, PunktModel
from dedup.text.training import train

SETS = {  # share of the articles that is read, by set; about 4 MB of text from each set
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


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


TITLES = _words("mr mrs ms messrs dr prof rev sen sens rep reps gov govs gen lt col maj capt sgt pres atty")
"""Titles before a name: no sentence ends between a title and the next word. Punkt ends a sentence between an
abbreviation and a word that often starts a sentence, as "Trump" and "Obama" do in news. Of the ends that
Punkt found at abbreviations in the English sets, 58 % were wrong, such as in "Mr. Trump"."""

ABBREVIATIONS = (
    TITLES
    | _words("jan feb mar apr jun jul aug sep sept oct nov dec tues thurs")
    | _words("adm brig cmdr cpl gens lts msgr pfc pvt sgts spc supt")
    | _words("ala ariz calif colo conn del fla ga ill ind kan ky la md mich minn mo mont neb nev okla ore pa")
    | _words("n.h n.j n.m n.y n.c n.d r.i s.c s.d d.c w.va tenn tex vt va wash wis wyo")
    | _words("u.s u.n u.k e.u bros cos ltd ft mt")
)
"""Abbreviations of months, days, ranks, states and other names in news. The words "mass", "miss", "ark",
"sat", "sun" and "wed" are missing, because most full stops after these words end a sentence."""

PAIRS = frozenset(
    {
        *(("no", "##number##"), ("nos", "##number##"), ("co", "ltd"), ("j.p", "morgan")),
        *((country, "general") for country in ("u.s", "u.n", "u.k")),
    }
)
"""Pairs of words between which no sentence ends, though the second word can start a sentence: "No. 1"."""

TARGET = Path(__file__).parent.parent / "dedup" / "text" / "punkt_english"


def sample(file: Path, share: float) -> Iterator[str]:
    chooser = random.Random(SEED)
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            if chooser.random() < share:
                yield json.loads(line)["text"]


def with_known(model: PunktModel) -> PunktModel:
    """Return the model with the abbreviations and the collocations that this script lists."""
    titled = {(title, starter) for title in TITLES for starter in model.sent_starters}
    return replace(
        model,
        abbrev_types=model.abbrev_types | ABBREVIATIONS,
        collocations=model.collocations | PAIRS | titled,
    )


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[2] / "shared" / "data"
    # Train on each publisher apart, because Punkt learns an abbreviation only if it always has a full stop,
    # and publishers differ: some write "Mr", others "Mr.".
    model = NEUTRAL
    for name, share in SETS.items():
        model |= train(sample(folder / f"{name}.jsonl.gz", share))
        print(f"{name:22} {len(model.abbrev_types):5} abbreviations so far")
    model = with_known(model)
    TARGET.mkdir(exist_ok=True)
    for name, content in model.to_files().items():
        (TARGET / name).write_text(content, "utf-8", newline="\n")
        print(f"{name:20} {content.count(chr(10)) + 1:6} lines {len(content.encode()):8} bytes")
    print(f"ENGLISH_SHA256 = {model.checksum!r}")


if __name__ == "__main__":
    main()
