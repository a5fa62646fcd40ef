# For type checkers: `dedup.watch` is `dedup.api.watch` (dedup/__init__.py).
from dedup.api.watch import *  # noqa: F403
