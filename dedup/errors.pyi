# For type checkers: `dedup.errors` is `dedup.base.errors` (dedup/__init__.py).
from dedup.base.errors import *  # noqa: F403
