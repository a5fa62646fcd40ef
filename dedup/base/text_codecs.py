"""Look up text encodings by the names that documents use."""

from __future__ import annotations

import codecs

# Python lists these as text encodings, but no document uses them.
_NONE = frozenset({"charmap", "idna", "mbcs", "oem", "punycode", "undefined"})
_SAMPLE = b"text"


def text_codec(name: str) -> str | None:
    """Return Python's name for a text encoding; None if there is no text encoding of this name."""
    try:
        found = codecs.lookup(name).name
        if found in _NONE or "escape" in found:  # For example unicode_escape, for Python source
            return None
        _SAMPLE.decode(found, "replace")  # LookupError if the codec is not for texts, such as zlib
        codecs.getincrementaldecoder(found)("replace").decode(_SAMPLE)
    except (LookupError, ValueError):
        return None
    return found
