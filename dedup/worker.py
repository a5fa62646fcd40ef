"""A worker that runs inside your own program."""

from dedup.api.worker import work

__all__ = ["work"]
