"""Golden fingerprints: whoever changes what a fingerprint holds finds out here.

When one of these fails, and the change is meant, raise `ALGORITHM_REVISION` in `dedup/text/fingerprint.py`
and print the new values with `python -m tests.text.test_golden`. Corpora then fingerprint their articles
again; without it, old and new fingerprints would be compared as if they were of one kind.

The values hold for every Python from 3.11 on: the texts have no character whose properties changed since
Unicode 14. The version number is not among them, since it tells the Unicode tables too; `test_fingerprint.py`
has what it covers.
"""

from __future__ import annotations

import textwrap
import unicodedata
from dataclasses import replace
from typing import Any

import pytest

from dedup.base.settings import Settings
from dedup.text.fingerprint import ALGORITHM_REVISION, Fingerprint, Fingerprinter
from dedup.text.punkt import ENGLISH_SHA256, english

# Every setting is given, so that a new default is no change of the algorithm.
SETTINGS = Settings(
    default_language="en",
    text_max_characters=1_000_000,
    text_min_words=1,
    sentence_min_characters=20,
    stop_word_length=4,
    stop_words="",
    signature_size=10,
    bands=3,
    rows=3,
    hash_key="",
    damaged_print="off",
)

TEXTS: dict[str, tuple[str, str | None]] = {
    "wire": (
        "PORT HALE, Jan. 5 (Courier) -- A storm flooded the old harbour on Monday, Mayor J. B. Hale said.\n"
        '"We have seen worse," he said. "But not since 1987."\n\nRead more\n\n'
        "The U.S. Coast Guard closed the port at 9 p.m. on Monday. Losses are put at $3.5 million--or more.",
        "en",
    ),
    "wrapped": (
        "Storm floods harbour\n"
        "A storm flooded the old harbour of Port Hale on Monday night,\r\nthe mayor said. The well-\n"
        "known pier is gone, and  the\tferries are not\u00a0running before the end of the week.",
        None,
    ),
    "German": (
        "Der Sturm erreichte die Küste am Montag. Die Straße zum Hafen ist gesperrt, sagte Bürgermeister "
        "Groß. \u201eWir haben Schlimmeres gesehen\u201c, meinte er.",
        "de",
    ),
    "Hindi": ("सोमवार की रात को तूफान तट पर पहुंचा। पुराना बंदरगाह पानी में डूब गया॥ क्या कोई घायल हुआ?", "hi"),
    "Chinese": (
        "周一晚上，风暴到达海岸。老港口被淹了！市长说：「我们见过更糟的。」没有人受伤，火车照常运行。",
        "zh",
    ),
    "Arabic": (
        "وصلت العاصفة إلى الساحل ليلة الاثنين. هل أصيب أحد؟ قال رئيس البلدية إن الميناء القديم مغلق.",
        "ar",
    ),
    "Amharic": ("አውሎ ነፋሱ ሰኞ ምሽት ወደ ባህር ዳርቻ ደረሰ። አሮጌው ወደብ በውሃ ተጥለቀለቀ፧ ማንም አልተጎዳም።", "am"),
    "no shingle": ("Laundry detergent discount: washing machines, dishwashers, refrigerators", "en"),
    "glued": (
        "La loi a été rejetée par l'opposition.Les députés ont quitté la salle.\u00a0\u00bb"
        "Lire www.exemple.fr/La.Suite et la suite.",
        "fr",
    ),
}

OTHER_SETTINGS: dict[str, dict[str, Any]] = {
    "keyed wire": {"hash_key": "schlüssel"},
    "listed wire": {"stop_words": "the at on we", "sentence_min_characters": 40},
    "short wire": {"text_min_words": 1_000},
    "short keyed wire": {"text_min_words": 1_000, "hash_key": "schlüssel"},
    "whole wire": {"signature_size": 256, "bands": 16, "rows": 4},
}
"""The text "wire" with its title under other settings."""

TITLE = "Storm floods the harbour of Port Hale"


def made(name: str) -> Fingerprint:
    if name in OTHER_SETTINGS:
        text, language = TEXTS["wire"]
        other = Fingerprinter(replace(SETTINGS, **OTHER_SETTINGS[name]))
        return other.fingerprint(text, language, TITLE)
    return Fingerprinter(SETTINGS).fingerprint(*TEXTS[name])


def values(found: Fingerprint) -> dict[str, Any]:
    return {
        "content_hash": found.content_hash,
        "sentence_hashes": list(found.sentence_hashes),
        "signature": textwrap.wrap(found.signature.tobytes().hex(), 64),
        "buckets": list(found.buckets),
        "word_count": found.word_count,
        "shingle_count": found.shingle_count,
    }


GOLDEN_REVISION = 5
GOLDEN_ENGLISH = "f0917c1b09cc8561"  # How the checksum of the shipped parameters of that revision begins
GOLDEN: dict[str, dict[str, Any]] = {
    "wire": {
        "content_hash": 7391464333294105666,
        "sentence_hashes": [
            6873767730165381581,
            7257572738023078455,
            -5769880160343844463,
            -5022561497025299087,
        ],
        "signature": ["d17ba3d1cc45617f0d67"],
        "buckets": [-4499674896381554523, 5768342714504792986, 3430104338105816172],
        "word_count": 53,
        "shingle_count": 26,
    },
    "wrapped": {
        "content_hash": -8857266580783760560,
        "sentence_hashes": [8459428586474668204, -4193253244087711416, -770449680792750504],
        "signature": ["a5a2edd59acb0e7f65ee"],
        "buckets": [-5626128925032693584, -5317956489367559133, 140782804420722897],
        "word_count": 36,
        "shingle_count": 15,
    },
    "German": {
        "content_hash": -540636330127079754,
        "sentence_hashes": [8868104883332904042, 754752137415242200, -7727292229537092154],
        "signature": ["105f0c646fe1702c1f79"],
        "buckets": [-6088775391161965770, 4532599113591468917, 5291114187034998750],
        "word_count": 22,
        "shingle_count": 7,
    },
    "Hindi": {
        "content_hash": 6717924936564444231,
        "sentence_hashes": [-4438864854082959898, 1984262741497114820],
        "signature": ["71c1e862ddbf358a6718"],
        "buckets": [-5174578218955515139, 30449075920682675, -6885133299008998956],
        "word_count": 18,
        "shingle_count": 9,
    },
    "Chinese": {
        "content_hash": -5223331732814425800,
        "sentence_hashes": [],
        "signature": ["38f95f0c350eb785373f"],
        "buckets": [-8939005998270410514, 8603520708117630819, -205980835427393044],
        "word_count": 7,
        "shingle_count": 1,
    },
    "Arabic": {
        "content_hash": -4877484596340557010,
        "sentence_hashes": [4996566615666840854, 4296662110784767215],
        "signature": ["281d3baaf6af51caf696"],
        "buckets": [5339121525976710876, 6446189701181148006, 5215742977573624398],
        "word_count": 16,
        "shingle_count": 5,
    },
    "Amharic": {
        "content_hash": 7943437454372312537,
        "sentence_hashes": [-7328823761304202293],
        "signature": ["2e6184f7b94b28e35bad"],
        "buckets": [5265416907257553908, -810040290771023244, -244313707972275473],
        "word_count": 14,
        "shingle_count": 10,
    },
    "no shingle": {
        "content_hash": 34374999712010607,
        "sentence_hashes": [34374999712010607],
        "signature": [],
        "buckets": [34374999712010607, 34374999712010607, 34374999712010607],
        "word_count": 7,
        "shingle_count": 0,
    },
    "glued": {
        "content_hash": -8252887755532788276,
        "sentence_hashes": [-8293374699954685608, 6494135841987547044, 5602347972200159898],
        "signature": ["4dd10edff6ecf38660aa"],
        "buckets": [8502685524912598483, -7486707332593458652, -3364526349993031641],
        "word_count": 23,
        "shingle_count": 13,
    },
    "keyed wire": {
        "content_hash": 6510569475671150578,
        "sentence_hashes": [
            -5537119514686925113,
            -7386777028802182144,
            -2236335935927397794,
            -7646563687772142851,
        ],
        "signature": ["0f8d0dc4760d82fa6fdb"],
        "buckets": [-8752627648102127015, -4168444933008558704, 7018687456503245409],
        "word_count": 53,
        "shingle_count": 26,
    },
    "listed wire": {
        "content_hash": 7391464333294105666,
        "sentence_hashes": [6873767730165381581, -5769880160343844463],
        "signature": ["66a2ee09d75483232e67"],
        "buckets": [-6206533182808791846, -7329546346079741030, 2696644643333011665],
        "word_count": 53,
        "shingle_count": 8,
    },
    "short wire": {
        "content_hash": 5105065723075710493,
        "sentence_hashes": [],
        "signature": [],
        "buckets": [],
        "word_count": 53,
        "shingle_count": 0,
    },
    "short keyed wire": {
        "content_hash": -7916319699710620177,
        "sentence_hashes": [],
        "signature": [],
        "buckets": [],
        "word_count": 53,
        "shingle_count": 0,
    },
    "whole wire": {
        "content_hash": 7391464333294105666,
        "sentence_hashes": [
            6873767730165381581,
            7257572738023078455,
            -5769880160343844463,
            -5022561497025299087,
        ],
        "signature": [
            "d17ba3d1cc45617f0d672bfe85685e8dd6596993c21021311a8ef20160ea078c",
            "0ead2a47b5b38f1e07073af92855b5ae632dd73b31a5e5732074312ec4719be2",
            "47a2f194fa4c2b9c86ba384d3296632c5f8b9b43909cc788aef119888b194b38",
            "18113858ee6740836178b392a523b605be7edcc11dfdce3c5fc1b8c89d8f3e86",
            "5a42e74818850eedad90bb0f180346cd160cffd2e031c95267a184f697c3c221",
            "7e33e53a17871265ce34f65cd1081338dbb72541fc0a4e17e017ce42383be256",
            "1e8745166cdab0024fbcf7a7e32caa5a637310d497762780e8b35f8a7c23805c",
            "3ad0683beb8dab26f42d142b12b4bef87fb6844e651055b46df6367c18660e9a",
        ],
        "buckets": [
            -8200727703867431791,
            -8279562030824769582,
            -4152103791235174392,
            -6384749095271986830,
            8258366569804243190,
            -548652445459467967,
            1096927435159306432,
            9107032674581682223,
            7991995608489213962,
            -2590439445982567702,
            6098302456324103709,
            -1273586676425746324,
            -4140450643085341193,
            1508133545491918651,
            -926472443098939006,
            4608804585412545683,
        ],
        "word_count": 53,
        "shingle_count": 26,
    },
}


@pytest.mark.parametrize("name", [*TEXTS, *OTHER_SETTINGS])
def test_golden_fingerprints(name: str) -> None:
    assert values(made(name)) == GOLDEN[name]


def test_every_golden_value_has_its_text() -> None:
    assert GOLDEN.keys() == TEXTS.keys() | OTHER_SETTINGS.keys()


def test_the_texts_have_only_characters_that_every_python_knows_alike() -> None:
    # All were assigned in Unicode 3.2 or before, and these properties of assigned characters are stable.
    old = unicodedata.ucd_3_2_0
    characters = set("".join(text for text, _ in TEXTS.values()) + TITLE) - {"\n", "\r", "\t"}
    assert [c for c in characters if old.category(c)[0] != unicodedata.category(c)[0]] == []
    for form in ("NFC", "NFKC"):
        assert [c for c in characters if old.normalize(form, c) != unicodedata.normalize(form, c)] == []


def test_golden_values_are_those_of_this_revision() -> None:
    assert ALGORITHM_REVISION == GOLDEN_REVISION


def test_the_shipped_model_is_the_one_the_values_were_made_with() -> None:
    assert english().checksum == ENGLISH_SHA256
    assert ENGLISH_SHA256.startswith(GOLDEN_ENGLISH)


if __name__ == "__main__":
    print({name: values(made(name)) for name in [*TEXTS, *OTHER_SETTINGS]})
