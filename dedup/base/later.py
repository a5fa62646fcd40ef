"""Modules that are imported when something of them is first used, for what most programs never ask for.

if TYPE_CHECKING:
    from dedup.settling import backfill
else:
    backfill = Later("dedup.settling.backfill")
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any


class Later(ModuleType):
    """Stands for the module of this name."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.__name__), name)
