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
    hash_key="",
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


GOLDEN_REVISION = 1
GOLDEN: dict[str, dict[str, Any]] = {
    "wire": {
        "content_hash": -4517013931057701589,
        "sentence_hashes": [
            5637256448331015410,
            -5054596478163555160,
            -5131269899056710515,
            -352788188108871832,
        ],
        "signature": ["0362870f42610a33d798"],
        "buckets": [-7253457976661595156, 3471248194300754332, 6691193807850445869],
        "word_count": 53,
        "shingle_count": 26,
    },
    "wrapped": {
        "content_hash": -1600862451101611916,
        "sentence_hashes": [-5435058123050457167, -475370771111179508, 3127575755463235042],
        "signature": ["3d5bd2f06fd4d7d15f4c"],
        "buckets": [-537051073993707798, 2941165097726696335, -3098698741453001154],
        "word_count": 36,
        "shingle_count": 15,
    },
    "German": {
        "content_hash": 8289799597943695611,
        "sentence_hashes": [8297663410134014243, 8304915289313410705, -1944925883926525544],
        "signature": ["1d8cf456ad98c27c0ec1"],
        "buckets": [-238162259825033618, -6592123434542046562, 1760972585264862373],
        "word_count": 22,
        "shingle_count": 7,
    },
    "Hindi": {
        "content_hash": -5040918652877201835,
        "sentence_hashes": [8862857447621314406, -3266647440368216449],
        "signature": ["0d9b4c8f38cb217c9297"],
        "buckets": [-709527061771134829, 5755319656106125415, -5624719168399280467],
        "word_count": 18,
        "shingle_count": 9,
    },
    "Chinese": {
        "content_hash": -4682666951565688430,
        "sentence_hashes": [],
        "signature": ["3ba2227902a1fcbe0cdf"],
        "buckets": [7070373762120987217, -4437075863207182175, 4450655090980012582],
        "word_count": 7,
        "shingle_count": 1,
    },
    "Arabic": {
        "content_hash": -8348166373273947741,
        "sentence_hashes": [-7769951936349618279, -2502515201642824550],
        "signature": ["e8a6a49ca045dbc4cbd3"],
        "buckets": [-2453245983838319062, 7597216031172474262, -7555785961480767400],
        "word_count": 16,
        "shingle_count": 5,
    },
    "Amharic": {
        "content_hash": -5570133319225491427,
        "sentence_hashes": [8881845423871565441],
        "signature": ["c1313f6e4df945c2e505"],
        "buckets": [3378779815018552728, 3683899678210845004, -7552977822192619500],
        "word_count": 14,
        "shingle_count": 10,
    },
    "no shingle": {
        "content_hash": 3433479343943770354,
        "sentence_hashes": [3433479343943770354],
        "signature": [],
        "buckets": [3433479343943770354, 3433479343943770354, 3433479343943770354],
        "word_count": 7,
        "shingle_count": 0,
    },
    "glued": {
        "content_hash": 5566216796550844221,
        "sentence_hashes": [-923008048899282848, 2391987528322064278, -1893364188723497911],
        "signature": ["b8ddb5cc4976fd556f0c"],
        "buckets": [-4825520617368105762, 8277631476153112751, 2976677707233529359],
        "word_count": 23,
        "shingle_count": 13,
    },
    "keyed wire": {
        "content_hash": 761822152378006709,
        "sentence_hashes": [
            -2530042088428864039,
            -235419081682065218,
            -488515395614439007,
            -1897229651418614040,
        ],
        "signature": ["d3e0df18e8d7fec057be"],
        "buckets": [-7192221084250927953, 3030881044681839905, -7822190454285429059],
        "word_count": 53,
        "shingle_count": 26,
    },
    "listed wire": {
        "content_hash": -4517013931057701589,
        "sentence_hashes": [5637256448331015410, -5131269899056710515],
        "signature": ["646261b94261ff3d4c67"],
        "buckets": [4053407599684161896, -4281965968194790639, -7167422751006314171],
        "word_count": 53,
        "shingle_count": 8,
    },
    "short wire": {
        "content_hash": 408326311304217230,
        "sentence_hashes": [],
        "signature": [],
        "buckets": [],
        "word_count": 53,
        "shingle_count": 0,
    },
    "short keyed wire": {
        "content_hash": -6702107993330296886,
        "sentence_hashes": [],
        "signature": [],
        "buckets": [],
        "word_count": 53,
        "shingle_count": 0,
    },
    "whole wire": {
        "content_hash": -4517013931057701589,
        "sentence_hashes": [
            5637256448331015410,
            -5054596478163555160,
            -5131269899056710515,
            -352788188108871832,
        ],
        "signature": [
            "0362870f42610a33d798cc511569b6da5861d5413b87aa497f1e84fe4ff481e0",
            "42cae7cb5bf56c3f28dbc840f404b0964c2c15605c62480246da98051221cba2",
            "68178816ecfb571009c650607b3e368485e2d2e4dece519e884ef71c0b5d0e72",
            "9f820bd257527db3162179570e947baefa1f033c9d34175cbd47163708c8345f",
            "19cd946a58511d19823caf685ccd97c5788c19d30a8e041576597f541ecda296",
            "78d7943885949cf06793e18d3d7157533add50cdffa4b596db320443dd6b7a67",
            "5abe5c6e45f660e4566349b74019f075edcf3f884ba94c312b7dd8b2876474e6",
            "4802e4430b6ad93218e2581ff604e09fa9234c4d85540e5815cd04d2f3c5d11f",
        ],
        "buckets": [
            2482857618706334634,
            -1435220364420212025,
            3745570708036154244,
            2215755666185635639,
            796098521415108334,
            7408229069053058012,
            -1273821923570905995,
            8329759377825425077,
            7152607872675592203,
            1235517003183211476,
            675027521876091610,
            -1447825872544264281,
            -6107935396804683694,
            97076835039557633,
            3544298664120922445,
            1323741120360416329,
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


if __name__ == "__main__":
    print({name: values(made(name)) for name in [*TEXTS, *OTHER_SETTINGS]})
