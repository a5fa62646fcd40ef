"""Run one of the other programs: read texts, and write pairs or groups of article numbers.

    .rivals/bin/python scripts/benchmarks/rivals.py NAME TEXTS WORK FOUND

Runs in the environment of `requirements/rivals.txt`, and imports no module of dedup. TEXTS is a folder with
`all.jsonl`, and with the same lines dealt out to `part-0.jsonl`, `part-1.jsonl` and so on. A line is
`{"id": "17", "text": "…"}`; the id is the number of the article. WORK is a new folder for the files of the
program. FOUND is a file for numpy: pairs of shape (m, 2), or the group of each article, of shape (n,).

Each program is used as its manual shows, with the parameters in this file.
"""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

SHINGLE_WORDS = 5

THRESHOLD = 0.6
"""Minimum Jaccard of pairs that datasketch and rensa report. In the truth, pairs of at least 0.8 are right,
and pairs between 0.5 and 0.8 are not counted, so a small error of the estimate near 0.6 does no harm."""

RENSA_VALUES, RENSA_BANDS = 128, 32
"""Values and bands of rensa. Bands of 4 values find nearly all pairs with a Jaccard of 0.6 as candidates."""

BATCH = 1_000
"""Maximum number of articles whose shingles are in memory at the same time."""

SEED = 42

WORD = re.compile(r"\w+")


def main() -> int:
    name, texts, work, found = sys.argv[1], *(Path(word) for word in sys.argv[2:5])
    os.environ["HF_HUB_OFFLINE"] = "1"
    work.mkdir(parents=True, exist_ok=True)
    RIVALS[name](texts, work, found)
    return 0


def numbered(texts: Path) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of every article."""
    with (texts / "all.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield int(row["id"]), row["text"]


def shingles(text: str) -> list[str]:
    """Return the distinct runs of five words in small letters. A text of fewer words is a single run."""
    words = WORD.findall(text.lower())
    runs = range(max(1, len(words) - SHINGLE_WORDS + 1))
    return list({" ".join(words[i : i + SHINGLE_WORDS]) for i in runs})


def save_pairs(found: Path, pairs: list[tuple[int, int]]) -> None:
    with found.open("wb") as file:
        np.save(file, np.array(sorted(set(pairs)), np.int32).reshape(-1, 2))


def save_groups(found: Path, groups: dict[int, Any], size: int) -> None:
    """Save the group number of each article; an article without a group is a group by itself."""
    numbers: dict[Any, int] = {}
    rows = [numbers.setdefault(groups.get(i, ("alone", i)), len(numbers)) for i in range(size)]
    with found.open("wb") as file:
        np.save(file, np.array(rows, np.int32))


def datasketch(values: int, texts: Path, found: Path) -> None:
    """Run `MinHashLSH`: query, then insert each article. Pairs have an estimate of at least `THRESHOLD`."""
    from datasketch import MinHash, MinHashLSH

    index = MinHashLSH(threshold=THRESHOLD, num_perm=values)
    base = MinHash(num_perm=values, seed=SEED)  # random numbers are drawn once
    sketches: dict[int, MinHash] = {}
    pairs = []
    for number, text in numbered(texts):
        sketch = base.copy()
        sketch.update_batch([shingle.encode() for shingle in shingles(text)])
        for other in index.query(sketch):
            if sketch.jaccard(sketches[other]) >= THRESHOLD:
                pairs.append((other, number))
        index.insert(number, sketch)
        sketches[number] = sketch
    save_pairs(found, pairs)


def rensa(texts: Path, found: Path) -> None:
    """Run `RMinHash` and `RMinHashLSH`: insert all articles, then query each. Pairs as in `datasketch`."""
    from rensa import RMinHash, RMinHashLSH

    index = RMinHashLSH(THRESHOLD, RENSA_VALUES, RENSA_BANDS)
    sketches: list[Any] = []
    rows = numbered(texts)
    while batch := list(islice(rows, BATCH)):
        made = RMinHash.from_token_sets(
            [shingles(text) for _, text in batch], num_perm=RENSA_VALUES, seed=SEED
        )
        index.insert_many(made, start_key=len(sketches))
        sketches += made
    pairs = []
    for start in range(0, len(sketches), BATCH):
        asking = sketches[start : start + BATCH]
        for number, candidates in enumerate(index.query_all(asking), start):
            sketch = sketches[number]
            pairs += [
                (other, number)
                for other in candidates
                if other < number and sketch.jaccard(sketches[other]) >= THRESHOLD
            ]
    save_pairs(found, pairs)


def text_dedup(texts: Path, work: Path, found: Path) -> None:
    """Run `python -m text_dedup.minhash` with its defaults: 250 values, threshold 0.7, 5-grams.

    The program clusters articles that share a band, without comparing these articles.
    """
    command = [sys.executable, "-m", "text_dedup.minhash", "--path", "json", "--split", "train"]
    command += ["--data_files", str(texts / "all.jsonl"), "--cache_dir", str(work / "cache")]
    command += ["--output", str(work / "kept"), "--column", "text", "--idx_column", "id", "--debug"]
    command += ["--batch_size", "10000", "--num_proc", str(len(os.sched_getaffinity(0)))]
    environment = {**os.environ, "HF_HOME": str(work / "home")}
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    from text_dedup.utils import UnionFind

    with (work / "kept" / "uf.pkl").open("rb") as file:
        clusters: UnionFind = pickle.load(file)
    size = sum(1 for _ in (texts / "all.jsonl").open("rb"))
    save_groups(found, {int(id): clusters.find(id) for id in list(clusters.parent)}, size)


def datatrove(texts: Path, work: Path, found: Path) -> None:
    """Run the four stages of datatrove's MinHash example, with its defaults: 14 buckets of 8, 5-grams."""
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.dedup import MinhashDedupSignature
    from datatrove.pipeline.dedup.minhash import (
        MinhashConfig,
        MinhashDedupBuckets,
        MinhashDedupCluster,
        MinhashDedupFilter,
    )
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers.jsonl import JsonlWriter

    config = MinhashConfig()
    parts = len(list(texts.glob("part-*.jsonl")))
    reader = JsonlReader(str(texts), glob_pattern="part-*.jsonl", shuffle_files=False)
    signatures, buckets, removed = (str(work / name) for name in ("signatures", "buckets", "removed"))
    stages: list[tuple[int, list[Any]]] = [
        (parts, [reader, MinhashDedupSignature(signatures, config)]),
        (config.num_buckets, [MinhashDedupBuckets(signatures, buckets, config=config)]),
        (1, [MinhashDedupCluster(buckets, removed, config, save_cluster_id=True)]),
        (parts, [reader, MinhashDedupFilter(removed), JsonlWriter(str(work / "kept"))]),
    ]
    for number, (tasks, steps) in enumerate(stages, 1):
        logs = str(work / "logs" / str(number))
        LocalPipelineExecutor(steps, tasks=tasks, workers=min(tasks, parts), logging_dir=logs).run()
    groups = {}
    read = [number for number, text in numbered(texts) if text]  # datatrove's reader skips empty texts
    for part in range(parts):
        numbers = [number for number in read if number % parts == part]
        file = Path(removed) / f"{part:06d}.clusters"
        if file.exists():
            rows = np.fromfile(file, "<u4").reshape(-1, 2)
            groups.update({numbers[line]: int(cluster) for line, cluster in rows})
    save_groups(found, groups, sum(1 for _ in (texts / "all.jsonl").open("rb")))


RIVALS = {
    "datasketch-128": lambda texts, work, found: datasketch(128, texts, found),  # noqa: ARG005
    "datasketch-64": lambda texts, work, found: datasketch(64, texts, found),  # noqa: ARG005
    "rensa": lambda texts, work, found: rensa(texts, found),  # noqa: ARG005
    "text-dedup": text_dedup,
    "datatrove": datatrove,
}


if __name__ == "__main__":
    sys.exit(main())
