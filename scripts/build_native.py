"""Build the compiled kernel (`dedup/text/native.c`, the slowest steps in C), in `pip install` or by hand.

Uses the C compiler named by CC, or `cc`, or the compiler of the `ziglang` wheel, which pip installs if there
is no other compiler. The kernel runs on any processor of the architecture, and finds out at run time which
newer instructions the processor supports. DEDUP_WHEEL_PLATFORM names the tag of the wheel's platform, if it
is not this machine's; that needs ziglang. Without a compiler the wheel has no kernel, and dedup is slower.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

NAMES = ("native.c", "native_narrow.c", "native_damaged.c", "native_words.c")
SOURCES = [Path("dedup", "text", name) for name in NAMES]
LIBRARY = SOURCES[0].with_name("libnative.so")
FLAGS = ["-std=c99", "-O3", "-Wall", "-Wextra", "-shared", "-fPIC", "-s"]

TARGETS = {
    "manylinux_2_17_x86_64": "x86_64-linux-gnu.2.17",
    "manylinux_2_17_aarch64": "aarch64-linux-gnu.2.17",
    "musllinux_1_1_x86_64": "x86_64-linux-musl",
    "musllinux_1_1_aarch64": "aarch64-linux-musl",
    "macosx_11_0_x86_64": "x86_64-macos.11.0",
    "macosx_11_0_arm64": "aarch64-macos.11.0",
}
"""Platform tag of a wheel -> name of the same platform for `zig cc`."""


class NotCompiledError(Exception):
    """Raised if there is no compiler, or the compiler failed."""


def compile_into(library: Path, root: Path, platform: str = "") -> None:
    """Build the kernel of the checkout `root` as `library`. Raises NotCompiledError."""
    command = _compiler(platform)
    if command is None:
        raise NotCompiledError("there is no C compiler: install one, or: pip install ziglang")
    unfinished = library.with_suffix(".new")
    try:
        subprocess.run(
            [*command, *FLAGS, "-o", unfinished, *(root / source for source in SOURCES)], check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise NotCompiledError(f"the C compiler failed: {error}") from None
    unfinished.replace(library)


def _compiler(platform: str) -> list[str | Path] | None:
    if not platform and (found := _local_compiler()):
        return [found]
    if importlib.util.find_spec("ziglang"):
        target = ["-target", TARGETS[platform]] if platform else []
        # By default zig compiles for this machine's processor, with instructions that other machines may
        # lack.
        return [sys.executable, "-m", "ziglang", "cc", *target, "-mcpu=baseline"]
    return None


def _local_compiler() -> str | None:
    return shutil.which(os.environ.get("CC", "cc"))


class NativeKernelHook(BuildHookInterface[Any]):
    """The hook of hatchling for building a wheel, or an editable installation."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        return [] if _local_compiler() else ["ziglang>=0.13"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root, platform = Path(self.root), os.environ.get("DEDUP_WHEEL_PLATFORM", "")
        self._folder = tempfile.TemporaryDirectory()
        library = root / LIBRARY if version == "editable" else Path(self._folder.name, LIBRARY.name)
        try:
            compile_into(library, root, platform)
        except NotCompiledError as error:
            if platform:
                raise
            self.app.display_warning(f"dedup will be slower, without its compiled kernel: {error}")
            return
        if version != "editable":
            build_data["force_include"][str(library)] = str(LIBRARY)
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{platform or next(platform_tags())}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        self._folder.cleanup()


def main() -> None:
    root = Path(__file__).parent.parent
    try:
        compile_into(root / LIBRARY, root)
    except NotCompiledError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
