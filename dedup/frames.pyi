# For type checkers: `dedup.frames` is `dedup.api.frames` (dedup/__init__.py).
from dedup.api.frames import *  # noqa: F403
