"""Errors that the library raises."""

from dedup.base.errors import *  # noqa: F403
from dedup.base.errors import __all__ as __all__
