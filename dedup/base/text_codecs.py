"""Encodings of texts by the names that documents give them."""

from __future__ import annotations

import codecs

# Python lists these as encodings of texts, but no document is written in them.
_NONE = frozenset({"charmap", "idna", "mbcs", "oem", "punycode", "undefined"})
_SAMPLE = b"text"


def text_codec(name: str) -> str | None:
    """Return Python's name of an encoding of texts; None if there is no such encoding."""
    try:
        found = codecs.lookup(name).name
        if found in _NONE or "escape" in found:  # such as unicode_escape, which is Python's own
            return None
        _SAMPLE.decode(found, "replace")  # LookupError: it encodes bytes, such as zlib
        codecs.getincrementaldecoder(found)("replace").decode(_SAMPLE)
    except (LookupError, ValueError):
        return None
    return found
