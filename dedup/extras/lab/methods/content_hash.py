"""Method 9: MD5 of the raw text: exact copies only.

MD5Signature of Apache Nutch. The smallest change, even of white space, makes another hash.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from dedup.extras.lab.algorithms.same_key import SameKey
from dedup.extras.lab.documents import Document


@dataclass
class ContentHash(SameKey):
    """1 where the texts are the same characters, else 0; an empty text is like none."""

    row = "9"
    name = "content-hash"
    about = "the same MD5 of the text"
    source = "Apache Nutch, MD5Signature"
    finds = "articles of the same hash"

    def key(self, document: Document) -> bytes | None:
        text = document.text.encode(errors="surrogatepass")
        return hashlib.md5(text, usedforsecurity=False).digest() if text else None
