"""Run the compiled kernel on random texts, in a build that stops at any wrong access to memory.

Needs gcc with sanitizers. Buffers have exactly the size that the kernel asks for, so that every overrun is
found.
    python scripts/fuzz_native.py --seconds 60
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
SANITIZE = [
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
    "-g",
    "-O1",
    "-std=c99",
    "-shared",
    "-fPIC",
]
ODD = [chr(code) for code in (*range(0x250), *range(0x2000, 0x2070), *range(0x3000, 0x3100), 0xFDFA, 0x1D400)]


def build_and_run(seconds: float, seed: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "libnative.so")
        subprocess.run(
            ["gcc", *SANITIZE, "-o", library, *(ROOT / "dedup/text").glob("native*.c")], check=True
        )
        runtime = subprocess.run(
            ["gcc", "-print-file-name=libasan.so"], check=True, capture_output=True, text=True
        ).stdout.strip()
        # Leaks are not reported, because Python leaks by design. With malloc the sanitizer sees every
        # allocation.
        env = {"LD_PRELOAD": runtime, "ASAN_OPTIONS": "detect_leaks=0", "PYTHONMALLOC": "malloc"}
        command: list[str | Path] = [
            sys.executable,
            __file__,
            "--seconds",
            str(seconds),
            "--seed",
            str(seed),
            "--with",
            library,
        ]
        env |= {"PYTHONPATH": str(ROOT)}
        return subprocess.run(command, env=os.environ | env, check=False).returncode


def fuzz(library: Path, seconds: float, seed: int) -> None:
    from dedup.base.settings import Settings
    from dedup.text import native
    from dedup.text.damaged import Printer
    from dedup.text.punkt import english

    # Set the library before the import below, which would load the usual library.
    native.LIBRARY, native.ROOM_BYTES, native.ROOM_KEPT = library, 8, 0
    from tests.text.test_native import ASCII, MODEL, PIECES

    few = Settings(text_min_words=2, sentence_min_characters=3)
    kernels = [native.NativeKernel(Settings(), english()), native.NativeKernel(few, MODEL)]
    chooser, printer = random.Random(seed), Printer("")
    end, texts = time.monotonic() + seconds, 0
    lot: list[tuple[native.Prepared, str | None]] = []
    while time.monotonic() < end:
        pieces = PIECES + [" "] * 20 + chooser.choices(ODD, k=9) + ["\ufdfa"] * chooser.choice([0, 50])
        if chooser.random() < 0.5:  # only ASCII: every character is one byte
            pieces = ASCII + [chr(chooser.randrange(128)) for _ in range(9)]
        text = "".join(chooser.choices(pieces, k=chooser.choice([0, 1, 3, 50, 400, 3_000])))
        title = "".join(chooser.choices(pieces, k=4)) if chooser.random() < 0.5 else None
        printer.prints([text])
        kernel = chooser.choice(kernels)
        if prepared := kernel.prepared(text):
            kernel.make(prepared, title)
            lot.append((prepared, title))
        if chooser.random() < 0.1:
            kernel.make_many([one for one, _ in lot], [title for _, title in lot])
            lot.clear()
        texts += 1
    print(f"{texts:,} texts, seed {seed}: nothing found")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--with", dest="library", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.library is None:
        return build_and_run(options.seconds, options.seed)
    fuzz(options.library, options.seconds, options.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
