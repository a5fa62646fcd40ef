"""Measure the time to align two texts of 100,000 characters, in the most expensive cases.

scripts/benchmarks/aligning.py
"""

from __future__ import annotations

import random
import statistics
import time

from dedup.text.alignment import align

CASES = ("edited and shuffled", "nothing in common", "template", "no sentence")

CHARACTERS = 100_000

RUNS = 5


def texts(case: str, characters: int = CHARACTERS) -> tuple[str, str]:
    """Return two invented texts of at least this number of characters."""
    rng = random.Random(5)
    letters = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
    vocabulary = ["".join(rng.choices(letters, k=rng.randint(1, 4))) for _ in range(6_000)]
    weights = [1 / n for n in range(1, 6_001)]

    def prose() -> list[str]:
        found: list[str] = []
        size = 0
        while size < characters:
            found.append(" ".join(rng.choices(vocabulary, weights, k=rng.randint(8, 30))).capitalize() + ". ")
            size += len(found[-1])
        return found

    sentences = prose()
    if case == "nothing in common":
        return "".join(sentences), "".join(prose())
    if case == "template":
        sentences = [
            f"In street number {n} some households of the old town asked for help. "
            for n in range(characters // 67)
        ]
    changed = [s.replace(" ", " changed ", 1) if rng.random() < 0.5 else s for s in sentences]
    rng.shuffle(changed)
    one, other = "".join(sentences), "".join(changed)
    if case == "no sentence":
        return one.replace(". ", " ").lower(), other.replace(". ", " ").lower()
    return one, other


def main() -> None:
    for case in CASES:
        a, b = texts(case)
        seconds = []
        for _ in range(RUNS):
            start = time.perf_counter()
            rows = align(a, b)
            seconds.append(time.perf_counter() - start)
        found = f"{len(a):,} and {len(b):,} characters, {len(rows):,} rows"
        print(f"{case:20} {statistics.median(seconds):.2f} s   {found}")


if __name__ == "__main__":
    main()
