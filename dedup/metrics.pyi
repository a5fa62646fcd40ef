# For type checkers: `dedup.metrics` is `dedup.api.metrics` (dedup/__init__.py).
from dedup.api.metrics import *  # noqa: F403
