# For type checkers: `dedup.operation` is `dedup.api.operation` (dedup/__init__.py).
from dedup.api.operation import *  # noqa: F403
