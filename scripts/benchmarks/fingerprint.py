"""Measure each step from a text to its fingerprint, and compare the split into sentences with NLTK.

    .venv/bin/python scripts/benchmarks/fingerprint.py [FILE] [--articles N] [--json]

Reads articles in any format of `dedup load`, by default the web news beside the checkout, and needs no
database. Each figure is the best of several runs, in processor time of one core. The steps after the split
into sentences are measured on arrays of whole batches, as in `fingerprint_many`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np

from dedup.base.article import Article
from dedup.base.numbers import begins_run
from dedup.base.settings import Settings
from dedup.files.readers import read_articles
from dedup.text.batch import Tokens
from dedup.text.clean import blocks, glued_blocks
from dedup.text.fingerprint import BATCH_CHARACTERS, Fingerprinter, TextTask, UnreadableError
from dedup.text.hashing import Hasher
from dedup.text.normalize import normalised
from dedup.text.punkt import PunktModel, english
from dedup.text.sentences import SentenceSplitter
from dedup.text.signature import buckets, minhash_many
from dedup.text.training import punkt

FILE = Path(__file__).parents[3] / "shared" / "data" / "reuters_web_2006_2010.jsonl.gz"
ARTICLES = 2_000
RUNS = 5

Steps = dict[str, float]
"""Seconds of each step for all texts."""


def main() -> None:
    """Measure all steps, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path, default=FILE)
    parser.add_argument("--articles", type=int, default=ARTICLES)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of the table")
    arguments = parser.parse_args()
    if not arguments.file.exists():
        sys.exit(f"{arguments.file} is not there: name a file of articles")
    found = (item for item in read_articles(arguments.file) if isinstance(item, Article))
    texts = [article.text for article in islice(found, arguments.articles) if article.text.strip()]
    megabytes = sum(len(text.encode("utf-8", "replace")) for text in texts) / 1e6
    batch, single = in_batches(texts), alone(texts)
    ratio = beside_nltk(texts)
    if arguments.json:
        figures = {"articles": len(texts), "megabytes": megabytes, "batch": batch, "single": single}
        print(json.dumps({**figures, "times_as_fast_as_nltk": ratio}))
        return
    ascii_share = sum(map(str.isascii, texts)) / len(texts)
    print(f"{arguments.file.name}: {len(texts):,} articles, {megabytes:.1f} MB, {ascii_share:.0%} ASCII\n")
    print(f"{'step':<18}{'batch us/article':>18}{'MB/s':>10}{'alone us/article':>20}{'MB/s':>10}")
    for step, seconds in batch.items():
        cells = f"{step:<18}{seconds / len(texts) * 1e6:>18.1f}{megabytes / seconds:>10.1f}"
        if step in single:
            cells += f"{single[step] / len(texts) * 1e6:>20.1f}{megabytes / single[step]:>10.1f}"
        print(cells)
    print(f"\nSplitting is {ratio:.1f} times as fast as NLTK's Punkt on the same blocks.")


def best(function: Callable[[], object], runs: int = RUNS) -> float:
    """Run a function several times, and return the least processor time of a run in seconds."""
    found = []
    for _ in range(runs):
        started = time.process_time()
        function()
        found.append(time.process_time() - started)
    return min(found)


def in_batches(texts: list[str]) -> Steps:
    """Measure each step over all texts; the later steps work on batches of texts."""
    settings = Settings()
    splitter, hasher = SentenceSplitter(english()), Hasher()
    steps = {"clean": best(lambda: [glued_blocks(text) for text in texts])}
    sentences = [splitter.sentences(text) for text in texts]
    whole = best(lambda: [splitter.sentences(text) for text in texts])
    steps["split"] = whole - steps["clean"]
    lines = ["\n".join([*found, ""]) for found in sentences]
    steps["normalise"] = best(lambda: [normalised(line) for line in lines])
    batches = list(batched([normalised(line) for line in lines]))

    def hash_all() -> None:
        for data in batches:
            hashed(data, hasher)

    steps["words and hashes"] = best(hash_all)
    tokens = [Tokens(b"".join(data), hasher) for data in batches]
    starts = [
        found.lines[np.cumsum([0, *(part.count(b"\n") for part in data)])]
        for found, data in zip(tokens, batches, strict=True)
    ]
    places = [chosen(found, start, settings) for found, start in zip(tokens, starts, strict=True)]
    pairs = list(zip(tokens, places, strict=True))
    steps["shingles"] = best(lambda: [shingled(found, *place) for found, place in pairs])
    keys = [shingled(found, *place) for found, place in pairs]
    firsts = [np.unique(key >> np.uint64(32), return_index=True)[1] for key in keys]
    signing = [(key.astype(np.uint32), first) for key, first in zip(keys, firsts, strict=True)]
    size = settings.signature_size
    steps["MinHash"] = best(lambda: [minhash_many(low, first, size) for low, first in signing])
    values = [minhash_many(low, first, size) for low, first in signing]
    coefficients = hasher.of_buckets(settings.bands, settings.rows)
    steps["buckets"] = best(lambda: [buckets(found, coefficients) for found in values])
    fingerprinter = Fingerprinter(settings)
    tasks = [TextTask(i, 0, "en", None, text) for i, text in enumerate(texts)]
    steps["all of it"] = best(lambda: fingerprinter.fingerprint_many(tasks))
    return steps


def batched(parts: list[bytes]) -> list[list[bytes]]:
    """Divide encoded texts into batches. A batch ends when it has `BATCH_CHARACTERS` bytes or more."""
    found: list[list[bytes]] = [[]]
    size = 0
    for part in parts:
        found[-1].append(part)
        size += len(part)
        if size >= BATCH_CHARACTERS:
            found.append([])
            size = 0
    return [batch for batch in found if batch]


def hashed(data: list[bytes], hasher: Hasher) -> None:
    """Hash all words, sentences and texts of a batch."""
    tokens = Tokens(b"".join(data), hasher)
    full = np.flatnonzero(np.diff(tokens.lines))
    tokens.sequences(tokens.lines[full], tokens.lines[full + 1])
    starts = tokens.lines[np.cumsum([0, *(part.count(b"\n") for part in data)])]
    full = np.flatnonzero(np.diff(starts))
    tokens.sequences(starts[full], starts[full + 1])


def chosen(tokens: Tokens, starts: np.ndarray, settings: Settings) -> tuple[np.ndarray, np.ndarray]:
    """Return for each shingle the position of its first word among all words, and of its text."""
    stops = tokens.lengths < settings.stop_word_length
    stops[np.maximum(starts[1:] - 1, 0)] = stops[np.maximum(starts[1:] - 2, 0)] = False
    at = np.flatnonzero(stops)
    return at, np.repeat(np.arange(len(starts) - 1), np.diff(starts))[at]


def shingled(tokens: Tokens, at: np.ndarray, text_of: np.ndarray) -> np.ndarray:
    """Return the distinct shingles of a batch, each with the number of its text in the upper bits."""
    keys = text_of.astype(np.uint64) << np.uint64(32) | tokens.shingles(at)
    keys.sort()
    return keys[begins_run(keys)]


def alone(texts: list[str]) -> Steps:
    """Measure the time to make all fingerprints one text at a time."""
    fingerprinter = Fingerprinter(Settings())

    def each() -> None:
        for text in texts:
            try:
                fingerprinter.fingerprint(text, "en")
            except UnreadableError:
                continue

    return {"all of it": best(each, 3)}


def to_nltk(model: PunktModel) -> punkt.PunktParameters:
    """Convert a model to NLTK's class `PunktParameters`."""
    parameters = punkt.PunktParameters()
    parameters.abbrev_types = set(model.abbrev_types)
    parameters.collocations = set(model.collocations)
    parameters.sent_starters = set(model.sent_starters)
    # Use a Counter: NLTK's defaultdict would store every unknown word that is looked up.
    parameters.ortho_context = Counter(model.ortho_context)
    return parameters


def beside_nltk(texts: list[str]) -> float:
    """Return the speed of the split into sentences, relative to NLTK with the same parameters."""
    found = [block for text in texts[:500] for block in blocks(text)]
    nltk = punkt.PunktSentenceTokenizer(to_nltk(english()))
    splitter = SentenceSplitter(english())
    ours = best(lambda: [splitter.split(block) for block in found])
    return best(lambda: [nltk.tokenize(block) for block in found], 2) / ours


if __name__ == "__main__":
    main()
