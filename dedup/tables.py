"""Tables and views of a corpus as SQLAlchemy tables, for joins with models of your own."""

from dedup.db.tables import *  # noqa: F403
from dedup.db.tables import __all__ as __all__
