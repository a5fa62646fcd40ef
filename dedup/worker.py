"""A worker, for programs that want one beside their own work."""

from dedup.api.worker import work

__all__ = ["work"]
