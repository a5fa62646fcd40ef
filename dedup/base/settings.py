"""Settings of a corpus, each with its default, bounds, and the measurement or reason behind it.

A changed `fingerprint` setting fingerprints every article again. A changed `rule` setting settles every
article again, without reading its text. Both wait until a backfill adopts them (docs/semantics.md, section
6). A `window` setting chooses the articles that are compared. The table `setting` stores the values.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from dedup.base.article import MAX_TEXT_CHARACTERS, storable
from dedup.base.errors import SettingError

Kind = Literal["fingerprint", "rule", "window"]

PRINT_KEYS, PRINT_BYTES = 48, 4 + 8 * 256
"""Bucket keys and bytes that a print adds to an article (`dedup/text/damaged.py`)."""

# Days. A year without leap days gives a window the same length in every year.
WINDOW_UNITS = {"d": 1, "w": 7, "y": 365}

# A sentence in so many outlets is a quote. Two outlets often have one owner, or are customers of one agency.
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
    """The settings of a corpus; immutable. A value may be a text, which is read as the type of its setting.

    Raises SettingError: a value of the wrong type or out of range, or two that contradict each other.
    """

    default_language: str = _setting("en", "fingerprint", "language of articles that name none")
    text_max_characters: int = _setting(
        # The longest of 120,000 real articles, a live blog, has 132,000 characters.
        1_000_000, "fingerprint", "longer texts are marked failed", 1_000, MAX_TEXT_CHARACTERS
    )  # fmt: skip
    text_min_words: int = _setting(
        # Shorter ones match by template: at 20, 2.6 % of the marks on short newswire, and a sixth of those on
        # one small set, are not confirmed; at 24, 0.4 % and none. 22 to 30 work (scripts/recall.py).
        24, "fingerprint", "shorter texts take part by their content alone, title included", 1, 1_000
    )  # fmt: skip
    sentence_min_characters: int = _setting(
        20, "fingerprint", "a sentence counts from this many normalised characters", 1, 1_000
    )
    stop_word_length: int = _setting(4, "fingerprint", "words of fewer characters start a shingle", 2, 20)
    stop_words: str = _setting(
        "", "fingerprint", "words that start a shingle, space-separated, instead of the length rule"
    )
    signature_size: int = _setting(
        # One byte each. 256 halve the error of 64 whole values of four bytes, in the same space.
        256, "fingerprint", "MinHash values per signature", 4, 1_024
    )  # fmt: skip
    bands: int = _setting(16, "fingerprint", "LSH bands: buckets per article", 1, 128)
    rows: int = _setting(4, "fingerprint", "MinHash values per band", 1, 16)
    hash_key: str = _setting(
        "", "fingerprint", "seeds every hash, so that no stranger can craft words that collide; empty: none",
        secret=True,
    )  # fmt: skip
    damaged_print: str = _setting(
        # It costs as much space as all else together, and only archives of scanned papers need it.
        "off", "fingerprint", "whether misread reprints are found: for archives of scanned papers",
        choices=("off", "on"),
    )  # fmt: skip
    common_stories: int = _setting(
        # Copies of one report with a shingle Jaccard of 0.6 or more never count for more than 1 / 0.6 ** 4 =
        # 7.7 effective stories, however many they are.
        10, "rule", "a sentence of more effective stories than this is common", 1, 1_000_000
    )  # fmt: skip
    duplicate_sentence_jaccard: float = _setting(0.7, "rule", "duplicate from this sentence Jaccard", 0, 1)
    duplicate_signature_jaccard: float = _setting(
        # A version close to the one before it may be far from the first, the original of the story: at
        # 0.7 that costs 5 % of the pairs of a set of version chains, at 0.6 2 %.
        0.6, "rule", "duplicate from this signature Jaccard, in a shared bucket", 0, 1
    )  # fmt: skip
    similar_sentence_jaccard: float = _setting(0.3, "rule", "similar from this sentence Jaccard", 0, 1)
    similar_signature_jaccard: float = _setting(
        0.3, "rule", "similar from this signature Jaccard, in a shared bucket", 0, 1
    )
    similar_containment: float = _setting(
        0.7, "rule", "similar if so much of the shorter article is in the longer one", 0, 1
    )
    evidence_sentences: int = _setting(
        # From 1 to 6 no measured share changes. 2, since a page with one sentence left is no article.
        2, "rule", "sentences two articles must share to be duplicates by sentences", 1, 100
    )  # fmt: skip
    evidence_shingles: int = _setting(
        # Different price tables share their 4 to 6 shingles; short prose has 8. Values from 5 to 10 work.
        8, "rule", "shingles each of two articles must have to be duplicates by signature", 1, 10_000
    )  # fmt: skip
    containment_sentences: int = _setting(
        3, "rule", "sentences two articles must share to count as contained by sentences", 1, 100
    )
    containment_shingles: int = _setting(
        # From 30 on excerpts of short items are lost; under 16 the error of the signature shows.
        20, "rule", "shingles each of two articles must have to count as contained by signature", 1, 10_000
    )  # fmt: skip
    similar_pairs: int = _setting(
        # Pages filled in from one template are similar by the thousand: all their pairs would grow with the
        # square of their number.
        50, "rule", "pairs kept of each article with earlier ones, the best", 1, 10_000
    )  # fmt: skip
    canonical_order: str = _setting(
        "published", "rule", "what makes an article earlier; where strangers may write, added",
        choices=("published", "added"),
    )  # fmt: skip
    earliest_year: int = _setting(
        # The first printed newspapers are of 1605; an older date is wrong. So are 0001 and 1601, the first
        # years of two kinds of clocks. 1970, the first year of a third, can be right.
        1605, "rule", "a published_at before this year counts as missing; set it to your first year", 1, 9999
    )  # fmt: skip
    keep_window: str = _setting(
        "", "window", "articles so much older than the newest are archived: 90d, 12w, 2y; empty: none is"
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
        """Return a copy with some values replaced. Raises SettingError, also for an unknown name."""
        known = {item.name for item in fields(self)}
        for name in values:
            if name not in known:
                raise SettingError(f"unknown setting {name!r}; see `dedup settings`")
        return replace(self, **values)

    @property
    def prints(self) -> bool:
        """True if fingerprints hold prints (docs/semantics.md, section 1.9)."""
        return self.damaged_print == "on"

    @property
    def buckets(self) -> int:
        """The most bucket keys of an article."""
        return self.bands + PRINT_KEYS * self.prints

    @property
    def signature_bytes(self) -> int:
        """Bytes of the signature of an article that has shingles, with its print."""
        return self.signature_size + PRINT_BYTES * self.prints

    def digest(self, kind: Kind) -> str:
        """Return a hash of the settings of one kind, for versions and comparisons."""
        lines = [
            f"{item.name}={getattr(self, item.name)!r}"
            for item in fields(self)
            if item.metadata["kind"] == kind
            and item.name != "default_language"
            # Corpora older than this setting keep their fingerprints.
            and (item.name != "damaged_print" or self.prints)
        ]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()


WINDOW_FORM = "a number of days, weeks or years such as 90d, 12w or 2y, up to 999 years"


def window_days(given: str) -> int | None:
    """Return a length of time in days, 730 for `2y`; None if it is not of `WINDOW_FORM`."""
    found = re.fullmatch(r"([1-9][0-9]{0,5})([dwy])", given.strip())
    days = int(found[1]) * WINDOW_UNITS[found[2]] if found else 0
    return days if 0 < days <= 999 * WINDOW_UNITS["y"] else None


# The fewest characters of a hash key that a person chooses: a shorter one could be guessed.
HASH_KEY_CHARACTERS = 32


def masked(secret: str) -> str:
    """Return an id to show for a secret: equal secrets have equal ids. An empty secret has none."""
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
            raise ValueError  # int() would cut 7.9 down to 7
        return wanted(value)
    except (ValueError, OverflowError):
        raise SettingError(f"{name} must be {_CALLED[wanted]}, not {value!r}") from None


def _check(name: str, value: Any, metadata: Mapping[str, Any]) -> None:
    low, high, choices = metadata["low"], metadata["high"], metadata["choices"]
    if choices and value not in choices:
        raise SettingError(f"{name} must be one of {', '.join(choices)}")
    if low is not None and not low <= value <= high:
        raise SettingError(f"{name} must be between {low:,} and {high:,}, not {value}")
