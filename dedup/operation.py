"""A corpus in the hands of its owner."""

from dedup.api.operation import Contents, Operation, Role, printed_schema, who_may

__all__ = ["Contents", "Operation", "Role", "printed_schema", "who_may"]
