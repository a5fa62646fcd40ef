"""The known answers of the specification (docs/semantics.md, section 1.12), computed by dedup and by SQL.

docs/fingerprint_vectors.json holds texts and every step of their fingerprints. `specification.sql` computes
the steps from sentences on, with functions of its own.

If dedup was changed on purpose and a test fails, raise `ALGORITHM_REVISION` in `dedup/text/fingerprint.py`
and write the file again with DEDUP_REWRITE_VECTORS=1. With a new revision, corpora fingerprint their articles
again; with the old one, dedup would compare old and new fingerprints as if they were of one kind. To add a
text, add only its inputs to the file.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import unicodedata
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import psycopg
import pytest

from dedup.base.settings import PRINT_BYTES, PRINT_KEYS, Settings
from dedup.text.batch import BatchMaker
from dedup.text.clean import blocks
from dedup.text.fingerprint import ALGORITHM_REVISION, UNICODE_VERSION, Fingerprinter
from dedup.text.hashing import Hasher, signed
from dedup.text.normalize import words
from dedup.text.punkt import english
from dedup.text.signature import _functions, shingles
from tests.conftest import Server

PAGE = Path(__file__).parents[2] / "docs" / "semantics.md"
FILE = PAGE.with_name("fingerprint_vectors.json")
GIVEN = ("name", "about", "settings", "secret", "text", "title", "language", "scope")
NAMES = (
    *("word upper", "word lower", "sequence upper", "shingle", "bucket 15 lower"),
    *("print 0 upper", "letters", "scope upper"),
)
ANSWERS = ("content_hash", "sentence_hashes", "signature", "buckets", "word_count", "shingle_count")
SQL = Path(__file__).with_name("specification.sql").read_text("utf-8")


def answers(given: dict[str, Any], *, compiled: bool = True) -> dict[str, Any]:
    """Return a vector: the input, and each step of the fingerprint that dedup makes of it."""
    settings = Settings(**given["settings"])
    maker = Fingerprinter(settings, compiled=compiled)
    text, language = given["text"], given.get("language")
    hasher, found = Hasher(settings.hash_key), maker.splitter(language).sentences(text)
    made = maker.fingerprint(text, language, given.get("title"), given.get("scope"))
    every = [words(sentence) for sentence in found]
    text_words = list(chain.from_iterable(every))
    all_words = {*words(given.get("title") or ""), *text_words}
    stop_words = set(words(settings.stop_words))
    is_long = made.word_count >= settings.text_min_words
    shingled = shingles(text_words, settings.stop_word_length, stop_words) if is_long else ()
    hashes = BatchMaker(settings).sentences(found)
    size, bands = settings.signature_size, settings.bands
    vector = {name: given[name] for name in GIVEN if name in given} | {
        "blocks": blocks(text),
        "sentences": [
            {"text": sentence, "words": listed, "hash": shown(one)}
            for sentence, listed, one in zip(found, every, hashes, strict=True)
        ],
        "word_hashes": {word: shown(signed(hasher.word(word))) for word in sorted(all_words)},
        "shingle_hashes": sorted({hasher.shingle(one.split(" ")) for one in shingled}),
        "content_hash": shown(made.content_hash),
        "sentence_hashes": [shown(one) for one in made.sentence_hashes],
        "signature": made.signature[:size].tobytes().hex(),
        "buckets": [shown(one) for one in made.buckets[:bands]],
        "word_count": made.word_count,
        "shingle_count": made.shingle_count,
    }
    if settings.prints:
        stored = made.signature[size:].tobytes()
        assert len(stored) == PRINT_BYTES
        assert len(made.buckets) == bands + PRINT_KEYS
        vector["print_letters"] = int.from_bytes(stored[:4], "little")
        vector["print_sha256"] = hashlib.sha256(stored).hexdigest()
        vector["print_buckets"] = [shown(one) for one in made.buckets[bands:]]
    return vector


def shown(value: int | None) -> str | None:
    return None if value is None else str(value)


def document(given: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the content of the file of known answers."""
    hasher = Hasher()
    multipliers, increments = _functions(256)
    for one in given:
        if key := one["settings"].get("hash_key"):
            one["secret"] = hashlib.blake2b(key.encode(), digest_size=32).hexdigest()
    return {
        "revision": ALGORITHM_REVISION,
        "unicode_version": UNICODE_VERSION,
        "english_parameters": english().checksum,
        "coefficients": {
            name: [f"{int(one):016x}" for one in hasher._coefficients(name, 3)] for name in NAMES
        },
        "multipliers": multipliers.tolist(),
        "increments": increments.tolist(),
        "vectors": [answers(one) for one in given],
    }


def written(content: dict[str, Any]) -> str:
    """Return the file as text, with one line for each field of a vector, so that diffs can be read."""
    lines = []
    for vector in content["vectors"]:
        fields = (f"  {json.dumps(name)}: {json.dumps(vector[name], ensure_ascii=False)}" for name in vector)
        lines.append(" {\n" + ",\n".join(fields) + "\n }")
    head = (f"{json.dumps(name)}: {json.dumps(content[name])},\n" for name in content if name != "vectors")
    return "{\n" + "".join(head) + '"vectors": [\n' + ",\n".join(lines) + "\n]\n}\n"


CONTENT = json.loads(FILE.read_text("utf-8"))
if os.environ.get("DEDUP_REWRITE_VECTORS"):
    FILE.write_text(written(document(CONTENT["vectors"])), "utf-8")
    CONTENT = json.loads(FILE.read_text("utf-8"))
VECTORS: dict[str, dict[str, Any]] = {vector["name"]: vector for vector in CONTENT["vectors"]}


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "reference"])
@pytest.mark.parametrize("name", VECTORS)
def test_dedup_makes_the_known_answers(name: str, compiled: bool) -> None:
    assert answers(VECTORS[name], compiled=compiled) == VECTORS[name]


def test_the_file_is_what_dedup_writes() -> None:
    # The file names the Unicode version of the Python that wrote it. Ignore it: the answers do not depend on
    # it.
    wanted = document(CONTENT["vectors"]) | {"unicode_version": CONTENT["unicode_version"]}
    assert FILE.read_text("utf-8") == written(wanted)
    assert len(VECTORS) == len(CONTENT["vectors"])
    assert FILE.stat().st_size < 200_000


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("English", "English, wrapped"),
        ("Chinese", "Chinese, wrapped"),
        ("too few letters", "too few letters, no print"),
    ],
)
def test_what_the_file_calls_equal_is_equal(one: str, other: str) -> None:
    a, b = VECTORS[one], VECTORS[other]
    assert {name: a[name] for name in ANSWERS} == {name: b[name] for name in ANSWERS}
    assert a["text"] != b["text"] or a["settings"] != b["settings"]


def test_the_texts_have_only_characters_that_every_python_knows_alike() -> None:
    # All these characters were assigned in Unicode 3.2 or before, and the properties tested here never change
    # for assigned characters. The category of the soft hyphen did change, but the page names this character.
    old = unicodedata.ucd_3_2_0
    texts = "".join(one["text"] + one.get("title", "") for one in VECTORS.values())
    characters = set(texts) - {"\n", "\r", "\xad"}
    assert [c for c in characters if old.category(c)[0] != unicodedata.category(c)[0]] == []
    for form in ("NFC", "NFKC"):
        assert [c for c in characters if old.normalize(form, c) != unicodedata.normalize(form, c)] == []


def test_the_page_has_every_field_of_the_file() -> None:
    section = PAGE.read_text("utf-8").split("### 1.12 ")[1].split("\n## ")[0]
    fields = {*CONTENT, *(name for vector in VECTORS.values() for name in vector)}
    assert fields - set(re.findall(r"`(\w+)`", section)) == set()
    assert f"revision {CONTENT['revision']}." in PAGE.read_text("utf-8")


@pytest.fixture(scope="module")
def plain(server: Server) -> Iterator[psycopg.Connection[Any]]:
    """Yield a database that holds only `specification.sql`; its tables hold properties of characters, and
    numbers from the file of known answers."""
    given = set(unicodedata.normalize("NFKC", json.dumps([*VECTORS.values()], ensure_ascii=False) + "\n"))
    characters = given | set("".join(given).casefold())
    with psycopg.connect(server.create("dedup_specification"), autocommit=True) as connection:
        connection.execute(SQL.encode())
        connection.cursor().executemany(
            "INSERT INTO unicode VALUES (%s, %s, %s, %s)",
            [(c, c.casefold(), in_word(c), unicodedata.category(c)[0] == "L") for c in characters],
        )
        connection.execute(
            "INSERT INTO minhash_function SELECT i - 1, a, b FROM"
            " unnest(%s::bigint[], %s::bigint[]) WITH ORDINALITY AS f (a, b, i)",
            (CONTENT["multipliers"], CONTENT["increments"]),
        )
        for secret in {vector.get("secret", "") for vector in VECTORS.values()}:
            connection.execute("SELECT learn(%s, 128)", (bytes.fromhex(secret),))
        connection.execute("ANALYZE")
        yield connection


def in_word(c: str) -> bool:
    return unicodedata.category(c)[0] in "LM" or unicodedata.numeric(c, None) is not None or c == "_"


def test_sql_makes_the_coefficients_of_the_file(plain: psycopg.Connection[Any]) -> None:
    rows = plain.execute(
        "SELECT name, array_agg(value ORDER BY place) FROM coefficient"
        " WHERE secret = '' AND place < 3 GROUP BY name"
    )
    made = {name: [f"{int(value):016x}" for value in values] for name, values in rows}
    assert CONTENT["coefficients"].items() <= made.items()


@pytest.mark.parametrize("name", VECTORS)
def test_sql_makes_the_known_answers(plain: psycopg.Connection[Any], name: str) -> None:
    vector = {field: value for field, value in VECTORS[name].items() if "\0" not in str(value)}
    row = plain.execute("SELECT answers(%s)", (json.dumps(vector),)).fetchone()
    assert row is not None
    assert row[0] == {
        field: value for field, value in VECTORS[name].items() if field not in (*GIVEN, "blocks")
    }
