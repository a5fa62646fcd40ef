"""Import a module only when its first attribute is read, so that programs start quickly.

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
    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.__name__), name)
