"""Settings of a corpus, each with its default, its limits, and the measurement or reason for the default.

After a change of a `fingerprint` setting, every article is fingerprinted again. After a change of a `rule`
setting, every article is settled again, without reading its text. Both changes wait for the next backfill
(docs/semantics.md, section 6). A `window` setting chooses which articles are compared. Table: `setting`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from inspect import cleandoc
from typing import Any, Literal

from dedup.base.article import MAX_TEXT_CHARACTERS, storable
from dedup.base.errors import SettingError

Kind = Literal["fingerprint", "rule", "window"]
"""Kinds of settings, by the work that a change of a setting causes."""

PRINT_KEYS, PRINT_BYTES = 85, 4 + 8 * 256
"""Number of bucket keys, and of bytes, of a signature that finds misread reprints (`text/damaged.py`)."""

# Days per unit. A year always has 365 days, so that a window has the same length in every year.
WINDOW_UNITS = {"d": 1, "w": 7, "y": 365}

# A sentence in at least this many outlets counts as a quote. Two outlets often share an owner or an agency.
MIN_OUTLETS = 3


def _setting(
    default: Any,
    kind: Kind,
    about: str,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    secret: bool = False,
) -> Any:
    metadata = {"kind": kind, "about": about, "low": low, "high": high, "choices": choices, "secret": secret}
    return field(default=default, metadata=metadata, repr=not secret)


@dataclass(frozen=True)
class Settings:
    """The settings of a corpus; immutable. A value can be a string, which is converted to the setting's type.

    Raises SettingError: a value has the wrong type or is out of range, or two values contradict each other.
    """

    default_language: str = _setting("en", "fingerprint", "language of articles that do not name a language")
    text_max_characters: int = _setting(
        # The longest of 120,000 real articles, a live blog, has 132,000 characters.
        1_000_000, "fingerprint", "maximum length; longer texts are marked failed", 1_000, MAX_TEXT_CHARACTERS
    )  # fmt: skip
    text_min_words: int = _setting(
        # With a lower minimum, texts match that only share a template. On short newswire, 2.6 % of the marks
        # are unconfirmed with a minimum of 20, and 0.4 % with 24; on a small set, a sixth of the marks with
        # 20, and none with 24. Values from 22 to 30 work (scripts/recall.py).
        24, "fingerprint", "minimum number of words; shorter texts match by equal title and text", 1, 1_000
    )  # fmt: skip
    sentence_min_characters: int = _setting(
        20, "fingerprint", "minimum number of normalised characters for a sentence to count", 1, 1_000
    )
    stop_word_length: int = _setting(4, "fingerprint", "characters; shorter words start a shingle", 2, 20)
    stop_words: str = _setting(
        "", "fingerprint", "space-separated words that start a shingle, instead of stop_word_length"
    )
    signature_size: int = _setting(
        # A value takes one byte. 256 values have half the error of 64 four-byte values, in the same space.
        256, "fingerprint", "MinHash values per signature", 4, 1_024
    )  # fmt: skip
    bands: int = _setting(16, "fingerprint", "LSH bands: buckets per article", 1, 128)
    rows: int = _setting(4, "fingerprint", "MinHash values per band", 1, 16)
    hash_key: str = _setting(
        "", "fingerprint", "key of all hashes, so that strangers cannot craft colliding words; empty: none",
        secret=True,
    )  # fmt: skip
    damaged_print: str = _setting(
        # Damaged-print signatures double the space per article; only archives of scanned papers need them.
        "off", "fingerprint", "find reprints with misread letters: only for archives of scanned papers",
        choices=("off", "on"),
    )  # fmt: skip
    common_stories: int = _setting(
        # Similar stories count less ("effective" stories: docs/semantics.md, section 2). All copies of a
        # report together count as at most 1 / 0.6 ** 4 = 7.7 stories, if their shingle Jaccard is at least
        # 0.6. So the default is above 7.7.
        10, "rule", "a sentence in more effective stories than this number is common", 1, 1_000_000
    )  # fmt: skip
    duplicate_sentence_jaccard: float = _setting(0.7, "rule", "minimum sentence Jaccard of duplicates", 0, 1)
    duplicate_signature_jaccard: float = _setting(
        # In a chain of versions, a late version can differ much from the first one, which is the original: at
        # 0.7, 5 % of the pairs in a set of such chains are missed; at 0.6, 2 %.
        0.6, "rule", "minimum signature Jaccard of duplicates that share a bucket", 0, 1
    )  # fmt: skip
    similar_sentence_jaccard: float = _setting(0.3, "rule", "minimum sentence Jaccard of similar pairs", 0, 1)
    similar_signature_jaccard: float = _setting(
        0.3, "rule", "minimum signature Jaccard of similar pairs that share a bucket", 0, 1
    )
    similar_signature_alone: float = _setting(
        # Most pairs between 0.3 and 0.5 without a shared sentence are filled-in templates: only 74 of 452
        # have an exact containment of at least 0.5.
        0.5, "rule", "minimum signature Jaccard of similar pairs without a shared sentence", 0, 1
    )  # fmt: skip
    similar_containment: float = _setting(
        0.7, "rule", "minimum share of the shorter article that is in the longer one, for similar pairs", 0, 1
    )
    evidence_sentences: int = _setting(
        # For duplicates, values from 1 to 6 give equal results. With 1, one shared sentence makes pairs
        # similar, and most of these pairs are templates: only 43 of 163 have an exact containment of at least
        # 0.5.
        2, "rule", "minimum number of shared sentences for relations by sentences", 1, 100
    )  # fmt: skip
    evidence_shingles: int = _setting(
        # Two different price tables may share all their shingles, but a table has only 4 to 6 shingles, and
        # short prose has 8. Values from 5 to 10 work.
        8, "rule", "minimum number of shingles in each article for relations by signature", 1, 10_000
    )  # fmt: skip
    containment_sentences: int = _setting(
        # With 2, texts of two sentences are found in longer texts, without another wrong pair
        # (scripts/recall.py).
        2, "rule", "minimum number of shared sentences for containment by sentences", 1, 100
    )  # fmt: skip
    containment_shingles: int = _setting(
        # With 30 or more, excerpts of short articles are missed. With 15, 7 more pairs are found than
        # with 20; 5 of the 7 are right (scripts/recall.py).
        15, "rule", "minimum number of shingles in each article for containment by signature", 1, 10_000
    )  # fmt: skip
    containment_ratio: float = _setting(
        # Containment is estimated, with an error that grows with the ratio. On unseen news, 99 % of the pairs
        # were right with ratios up to 4, 80 % with ratios from 4 to 8, and a third with ratios above 16.
        4, "rule", "beyond this ratio of shingles, containment by signature needs containment_share",
        1, 1_000_000,
    )  # fmt: skip
    containment_share: float = _setting(
        0.3, "rule", "minimum share of the shorter article's sentences in both beyond that ratio", 0, 1
    )  # fmt: skip
    furniture_sentences: int = _setting(
        # On real news, 2 and 3 exclude the same pairs; with 1, pairs of short reprints are lost.
        3, "rule", "common sentences in each of two articles that share no other sentence, so that their"
        " signatures do not count", 1, 1_000,
    )  # fmt: skip
    reprint_days: int = _setting(
        # Without this setting, a score below 0.9 would be enough at any distance in time. A person read 16
        # such pairs, 3 to 10 days apart: 15 were different news, such as a timeline issued again. Most pairs
        # 1 to 3 days apart are updates of one report.
        3, "rule", "articles published more days apart are duplicates only with reprint_score", 0, 1_000_000
    )  # fmt: skip
    reprint_score: float = _setting(
        0.9, "rule", "minimum score of duplicates published more than reprint_days apart", 0, 1
    )
    similar_pairs: int = _setting(
        # Thousands of pages from one template can be similar to each other; without a maximum, the number of
        # stored pairs would grow with the square of the number of pages.
        50, "rule", "maximum number of stored pairs with earlier articles; the best are kept", 1, 10_000
    )  # fmt: skip
    canonical_order: str = _setting(
        "published", "rule", "time that decides which article is earlier; use added if strangers can write",
        choices=("published", "added"),
    )  # fmt: skip
    earliest_year: int = _setting(
        # The first printed newspapers are from 1605, so an older date is wrong. Clocks of computers start in
        # 0001, 1601 or 1970, so these years may mean a missing date. 1970 is accepted: it can be right.
        1605, "rule", "a published_at before this year counts as missing; set it to your first year", 1, 9999
    )  # fmt: skip
    keep_window: str = _setting(
        "", "window", "articles this much older than the newest are archived: 90d, 12w, 2y; empty: none"
    )

    def __post_init__(self) -> None:
        for item in fields(self):
            value = _read(item.name, getattr(self, item.name), type(item.default))
            _check(item.name, value, item.metadata)
            object.__setattr__(self, item.name, value)
        if self.bands * self.rows > self.signature_size:
            raise SettingError(
                f"bands * rows is {self.bands * self.rows}, more than signature_size {self.signature_size}"
            )
        for channel in ("sentence", "signature"):
            low = getattr(self, f"similar_{channel}_jaccard")
            if not 0 < low <= getattr(self, f"duplicate_{channel}_jaccard"):
                raise SettingError(
                    f"similar_{channel}_jaccard must be above 0 and at most duplicate_{channel}_jaccard"
                )
        if not self.similar_containment > 0:
            raise SettingError("similar_containment must be above 0")
        if self.keep_window and window_days(self.keep_window) is None:
            raise SettingError(f"keep_window must be {WINDOW_FORM}, not {self.keep_window!r}")

    @property
    def keep_days(self) -> int | None:
        """The setting `keep_window` in days; None if nothing is archived."""
        return window_days(self.keep_window)

    def with_values(self, values: Mapping[str, Any]) -> Settings:
        """Return a copy with some values replaced. Raises SettingError: a wrong value, or an unknown name."""
        known = {item.name for item in fields(self)}
        for name in values:
            if name not in known:
                raise SettingError(f"unknown setting {name!r}; see `dedup settings`")
        return replace(self, **values)

    @property
    def prints(self) -> bool:
        """True if fingerprints contain damaged-print signatures (docs/semantics.md, section 1.9)."""
        return self.damaged_print == "on"

    @property
    def buckets(self) -> int:
        """Maximum number of bucket keys per article."""
        return self.bands + PRINT_KEYS * self.prints

    @property
    def signature_bytes(self) -> int:
        """Bytes in a signature, including the damaged-print signature.

        The signature of an article without shingles is empty.
        """
        return self.signature_size + PRINT_BYTES * self.prints

    def digest(self, kind: Kind) -> str:
        """Return a hash of the settings of one kind. A different hash shows that a setting was changed."""
        lines = [
            f"{item.name}={getattr(self, item.name)!r}"
            for item in fields(self)
            if item.metadata["kind"] == kind
            and item.name != "default_language"
            # Leave out this setting while it is off, so that corpora made before it existed keep their hash.
            and (item.name != "damaged_print" or self.prints)
        ]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()


# `help(Settings)` has the words of `dedup settings`, so that both describe a setting in the same way.
_told = "\n".join(f"    {item.name}: {item.metadata['about']}." for item in fields(Settings))
Settings.__doc__ = f"{cleandoc(Settings.__doc__ or '')}\n\nAttributes:\n{_told}\n"

WINDOW_FORM = "a number of days, weeks or years such as 90d, 12w or 2y, up to 999 years"


def window_days(given: str) -> int | None:
    """Return the number of days in a duration: 730 for `2y`. Return None if its form is not `WINDOW_FORM`."""
    found = re.fullmatch(r"([1-9][0-9]{0,5})([dwy])", given.strip())
    days = int(found[1]) * WINDOW_UNITS[found[2]] if found else 0
    return days if 0 < days <= 999 * WINDOW_UNITS["y"] else None


# Minimum number of characters of a hash key that a person chooses: a shorter key could be guessed.
HASH_KEY_CHARACTERS = 32


def masked(secret: str) -> str:
    """Return a text that shows only a short hash of a secret; "" for the empty secret."""
    return secret and f"set (id {hashlib.blake2b(secret.encode(), digest_size=4).hexdigest()})"


_CALLED = {int: "a whole number", float: "a number", str: "text"}


def _read(name: str, value: Any, wanted: type) -> Any:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise SettingError(f"{name} must be {_CALLED[wanted]}")
    if wanted is str:
        if storable(str(value)) != str(value):
            raise SettingError(f"{name} has a NUL or a lone surrogate, which Postgres cannot store")
        return str(value)
    try:
        if wanted is int and isinstance(value, float) and not value.is_integer():
            raise ValueError  # int() would accept 7.9, as 7
        return wanted(value)
    except (ValueError, OverflowError):
        raise SettingError(f"{name} must be {_CALLED[wanted]}, not {value!r}") from None


def _check(name: str, value: Any, metadata: Mapping[str, Any]) -> None:
    low, high, choices = metadata["low"], metadata["high"], metadata["choices"]
    if choices and value not in choices:
        raise SettingError(f"{name} must be one of {', '.join(choices)}")
    if low is not None and not low <= value <= high:
        raise SettingError(f"{name} must be between {low:,} and {high:,}, not {value}")
