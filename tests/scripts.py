"""Import of the programs of `scripts/`, which is no package, as modules."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).parents[1] / "scripts"


def script(name: str) -> ModuleType:
    """Return a program of `scripts/` as a module."""
    file = FOLDER / name
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module  # `@dataclass` looks its module up there
    spec.loader.exec_module(module)
    return module
