"""Progress that lets a test act between the stages of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


class Stopped(BaseException):
    """Raised in place of a process that ends without warning."""


@dataclass
class Meddling:
    """Progress that calls a function when a stage begins."""

    happens: Callable[[str], None]
    stages: list[str] = field(default_factory=list)

    def start(self, stage: str, total: int | None) -> None:
        self.stages.append(stage)
        self.happens(stage)

    def advance(self, count: int, total: int | None = None) -> None:
        pass
