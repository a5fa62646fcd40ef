"""Encodings that strangers name: those of texts, and no others."""

from __future__ import annotations

import codecs

_NONE = frozenset({"charmap", "idna", "mbcs", "oem", "punycode", "undefined"})
"""What Python counts among the encodings of texts, and is none of a document."""
_SAMPLE = b"text"


def text_codec(name: str) -> str | None:
    """The name by which Python knows an encoding of texts; None where there is no such encoding."""
    try:
        found = codecs.lookup(name).name
        if found in _NONE or "escape" in found:  # such as unicode_escape, which is Python's own
            return None
        _SAMPLE.decode(found, "replace")  # LookupError: it encodes bytes, such as zlib
        codecs.getincrementaldecoder(found)("replace").decode(_SAMPLE)
    except (LookupError, ValueError):
        return None
    return found
