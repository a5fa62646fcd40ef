"""Builds the compiled kernel, `dedup/text/native.c`, beside its source: `python scripts/build_native.py`.

With the C compiler that CC names, or `cc`, or the one of the `ziglang` wheel. The code is for any processor of
its kind; what newer ones can do is found out when it runs.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "dedup" / "text" / "native.c"


def compiler() -> list[str] | None:
    if found := shutil.which(os.environ.get("CC", "cc")):
        return [found]
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "cc", "-mcpu=baseline"]
    return None


def main() -> None:
    command = compiler()
    if command is None:
        sys.exit("there is no C compiler; install one, or: pip install ziglang")
    made = SOURCE.with_name("libnative.so")
    unfinished = made.with_suffix(".new")
    flags = ["-std=c99", "-O3", "-Wall", "-Wextra", "-shared", "-fPIC"]
    subprocess.run([*command, *flags, "-o", unfinished, SOURCE], check=True)
    unfinished.replace(made)


if __name__ == "__main__":
    main()
