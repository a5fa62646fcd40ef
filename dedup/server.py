"""The embedded PostgreSQL server: start, stop, back up, restore, upgrade."""

from dedup.api.server import *  # noqa: F403
from dedup.api.server import __all__ as __all__
