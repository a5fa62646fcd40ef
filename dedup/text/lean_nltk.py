"""NLTK's Punkt, without the libraries that NLTK takes along where they happen to be installed.

`import nltk` imports scikit-learn and SciPy if they are there, as they are with the lab: 85 MB and a second
for every process, and nothing that Punkt needs.
"""

from __future__ import annotations

import sys

_HIDDEN = [name for name in ("scipy", "sklearn") if name not in sys.modules]

for _name in _HIDDEN:
    sys.modules[_name] = None  # type: ignore[assignment]  # an import of it now fails, as if it were absent
try:
    from nltk.tokenize import punkt
finally:
    for _name in _HIDDEN:
        del sys.modules[_name]

__all__ = ["punkt"]
