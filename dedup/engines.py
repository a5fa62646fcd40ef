"""The names of the engines that settle; light, since the command line shows them in its help."""

from __future__ import annotations

from typing import Literal

EngineName = Literal["auto", "postgres", "memory"]
"""What settles: some articles at a time, through the indexes of Postgres; or all at once, in arrays in
memory; or whichever is quicker. The marks are the same."""

ENGINE_NAMES: tuple[EngineName, ...] = ("auto", "postgres", "memory")
