"""Operations for the owner of a corpus: grants, the schema, the journal, and uninstalling."""

from dedup.api.operation import Contents, Operation, Role, printed_schema, who_may

__all__ = ["Contents", "Operation", "Role", "printed_schema", "who_may"]
