# For type checkers: `dedup.worker` is `dedup.api.worker` (dedup/__init__.py).
from dedup.api.worker import *  # noqa: F403
