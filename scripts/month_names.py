"""Make `dedup/base/month_names.json`: the names of months from Unicode's CLDR, and other words of dates.

    .venv/bin/python scripts/month_names.py

The data come from babel. The file has two parts, "press" and "all". Each part is a list of two items: the
numbers of months, by name and then by language; and the words that may stand beside a month in a date.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from babel import Locale, localedata

from dedup.base import written

Names = tuple[dict[str, dict[str, int]], list[str]]

TABLE = Path(written.__file__).with_name("month_names.json")

PRESS = (
    "af", "am", "ar", "az", "be", "bg", "bn", "bs", "ca", "cs", "cy", "da", "de", "el", "en", "es",
    "et", "eu", "fa", "fi", "fil", "fr", "ga", "gl", "gu", "he", "hi", "hr", "hu", "hy", "id", "is",
    "it", "ja", "ka", "kk", "km", "kn", "ko", "lo", "lt", "lv", "mk", "ml", "mr", "ms", "my", "nb",
    "ne", "nl", "pa", "pl", "ps", "pt", "ro", "ru", "si", "sk", "sl", "so", "sq", "sr", "sr_Latn", "sv",
    "sw", "ta", "te", "th", "tr", "uk", "ur", "uz", "vi", "zh",
)  # fmt: skip
"""Languages in which a word is looked up first. Other words are looked up in all languages of CLDR. So `out`
is October, as in Portuguese, and not August, as in Morisyen."""


def main() -> None:
    TABLE.write_text(table(), "utf-8")


def table() -> str:
    """Return the content of `month_names.json`."""
    # Locales of a country are left out, because they repeat the names of the language.
    every = [i for i in localedata.locale_identifiers() if not re.search("_([A-Z]{2}|[0-9]{3})$", i)]
    return json.dumps({"press": names(PRESS), "all": names(every)}, ensure_ascii=False) + "\n"


def names(languages: Iterable[str]) -> Names:
    """Return the numbers of months by name and language, and the other words that may stand in dates."""
    months: dict[str, dict[str, int]] = {}
    others = set(written.FILLING)
    for language in sorted(languages):
        locale = Locale.parse(language)
        for context in ("format", "stand-alone"):
            for width in ("wide", "abbreviated"):
                for number, name in locale.months[context].get(width, {}).items():
                    for spelling in spellings(name) | ({f"ב{name}"} if language == "he" else set()):
                        months.setdefault(spelling, {}).setdefault(language, number)
                for name in locale.days[context].get(width, {}).values():
                    others.update(word for spelling in spellings(name) for word in spelling.split())
        patterns = (*locale.date_formats.values(), *locale.datetime_formats.values())
        for pattern in patterns:
            written_out = str(getattr(pattern, "pattern", pattern)).casefold()
            for literal in re.findall(r"'([^']+)'|([^\x00-\x7f]+)", written_out):
                others.update(re.findall(written.WORD, " ".join(literal)))
    return dict(sorted(months.items())), sorted(others)


def spellings(name: str) -> set[str]:
    """Return a name in small letters, with and without accents; an empty set for a name with digits."""
    words = [word for word in re.split(r"[\s,./()’'-]+", name.casefold()) if word]
    joined = " ".join(words)
    if not words or any(character.isdigit() for character in joined):
        return set()
    plain = "".join(c for c in unicodedata.normalize("NFKD", joined) if not unicodedata.combining(c))
    return {joined, plain} | ({words[-1]} if len(words) > 1 and len(words[0]) <= 3 else set())


if __name__ == "__main__":
    main()
