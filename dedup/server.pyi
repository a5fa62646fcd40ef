# For type checkers: `dedup.server` is `dedup.api.server` (dedup/__init__.py).
from dedup.api.server import *  # noqa: F403
