"""Golden fingerprints: whoever changes what a fingerprint holds finds out here.

When one of these fails, and the change is meant, raise `ALGORITHM_REVISION` in `dedup/text/fingerprint.py`
and print the new values with `python -m tests.text.test_golden`. Corpora then fingerprint their articles
again; without it, old and new fingerprints would be compared as if they were of one kind.
"""

from __future__ import annotations

from typing import Any

import pytest

from dedup.settings import Settings
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
}


def values(made: Fingerprint) -> dict[str, Any]:
    return {
        "version": made.version,
        "content_hash": made.content_hash,
        "sentence_hashes": list(made.sentence_hashes),
        "signature": made.signature.astype(">u4").tobytes().hex(" ", 20),
        "buckets": list(made.buckets),
        "sketch": made.sketch,
        "word_count": made.word_count,
        "shingle_count": made.shingle_count,
    }


GOLDEN_REVISION = 1
GOLDEN: dict[str, dict[str, Any]] = {
    "wire": {
        "version": 316495327788033063,
        "content_hash": -4517013931057701589,
        "sentence_hashes": [
            5637256448331015410,
            -5054596478163555160,
            -5131269899056710515,
            -352788188108871832,
        ],
        "signature": "10f864d62e60a4e1046778ed0730b85501871978 0304b56a11f6536b0c1ac78e0271367007522d1c",
        "buckets": [-8230704912347039937, 7294074516462338490, 4304936406946774],
        "sketch": 149629251398487071,
        "word_count": 53,
        "shingle_count": 26,
    },
    "wrapped": {
        "version": 316495327788033063,
        "content_hash": -1600862451101611916,
        "sentence_hashes": [-5435058123050457167, -475370771111179508, 3127575755463235042],
        "signature": "2082a4b529ca0fe5073e38e60a0960d204ac757f 014fd40301074dc6182d162f061d4be10614955e",
        "buckets": [8312279320969088006, 5174888338273038371, -2223943629908046618],
        "sketch": 500093329822858996,
        "word_count": 36,
        "shingle_count": 15,
    },
    "German": {
        "version": 1548301289614483787,
        "content_hash": 8289799597943695611,
        "sentence_hashes": [8297663410134014243, 8304915289313410705, -1944925883926525544],
        "signature": "1d40ae812e2fe92f2d15c35135aead490a3f66ac 5dce080708aa41f9093733bf34312b1f1cb0d49b",
        "buckets": [-112761112337831257, -4790801634824052236, 7244840835969010808],
        "sketch": 2998354478699763457,
        "word_count": 22,
        "shingle_count": 7,
    },
    "Hindi": {
        "version": 1548301289614483787,
        "content_hash": -5040918652877201835,
        "sentence_hashes": [8862857447621314406, -3266647440368216449],
        "signature": "300e4c120047ec451a69572e0202dd1d6700cfe0 237563682acc04731266d0a377047b823d24762e",
        "buckets": [-2910023009318403408, -8922845966782901924, -3776718337921637057],
        "sketch": 1811506894218720817,
        "word_count": 18,
        "shingle_count": 9,
    },
    "Chinese": {
        "version": 1548301289614483787,
        "content_hash": -4682666951565688430,
        "sentence_hashes": [],
        "signature": "8d7ac4a3c63ed6000de939d64353d7f83e2f732b be43393faec1e4c82de8b13cb096fa712778e522",
        "buckets": [-6239158823154834928, 6641699434153491721, -3846392182104274341],
        "sketch": -2204699679939393073,
        "word_count": 7,
        "shingle_count": 1,
    },
    "Arabic": {
        "version": 1548301289614483787,
        "content_hash": -8348166373273947741,
        "sentence_hashes": [-7769951936349618279, -2502515201642824550],
        "signature": "3018494c1d8922be1c1783d40d3630f33b37c4a1 1daf75c616e6bfdc3696f6bd26f063660d9b56a2",
        "buckets": [2205816300003619959, -59843448947479274, 5869117151329485042],
        "sketch": 3373002511910033891,
        "word_count": 16,
        "shingle_count": 5,
    },
    "Amharic": {
        "version": 1548301289614483787,
        "content_hash": -5570133319225491427,
        "sentence_hashes": [8881845423871565441],
        "signature": "07a64b861ce0fde412c6943b129a134e05235b56 07a8bf851fbbab4124b3d78b0a2fb3540bf8dbd3",
        "buckets": [-8118935118925125818, 9093961510373744891, 5917969802126230187],
        "sketch": 206932107538502794,
        "word_count": 14,
        "shingle_count": 10,
    },
    "no shingle": {
        "version": 316495327788033063,
        "content_hash": 3433479343943770354,
        "sentence_hashes": [3433479343943770354],
        "signature": "",
        "buckets": [],
        "sketch": 3027573412637440944,
        "word_count": 7,
        "shingle_count": 0,
    },
}


@pytest.mark.parametrize("name", TEXTS)
def test_golden_fingerprints(name: str) -> None:
    text, language = TEXTS[name]
    assert values(Fingerprinter(SETTINGS).fingerprint(text, language)) == GOLDEN[name]


def test_golden_values_are_those_of_this_revision() -> None:
    assert ALGORITHM_REVISION == GOLDEN_REVISION


def test_the_shipped_model_is_the_one_the_values_were_made_with() -> None:
    assert english().checksum == ENGLISH_SHA256


if __name__ == "__main__":
    fingerprinter = Fingerprinter(SETTINGS)
    print({name: values(fingerprinter.fingerprint(*given)) for name, given in TEXTS.items()})
