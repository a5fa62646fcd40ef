"""The answers and exit codes of commands."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

from dedup.db.database import URL_VARIABLE, Database
from dedup.text.fingerprint import ALGORITHM_REVISION, UNICODE_VERSION
from tests.cli.conftest import HARBOUR, MUSEUM, Dedup
from tests.corpora import article, deduplicator, load, window

_UNIQUE = {"status": "unique", "duplicate_of": None, "score": None, "reason": None, "stale": False}
_COPY = {"status": "duplicate", "duplicate_of": "first", "score": 1.0, "reason": "content", "stale": False}
MARKS = [{"id": "copy"} | _COPY, {"id": "first"} | _UNIQUE, {"id": "other"} | _UNIQUE]


def test_load_backfill_marks_and_matches(dedup: Dedup, news: Path) -> None:
    loaded = dedup("load", str(news))
    assert (loaded.code, loaded.out) == (0, "")
    assert "read 3 lines: 3 new, 0 changed, 0 same, 0 superseded, 0 refused" in loaded.err
    assert "next: dedup backfill" in loaded.err
    assert "wrote 3 marks" in dedup("backfill", "--workers", "0").err
    assert dedup("marks").lines == MARKS
    assert dedup("matches").lines == [
        {
            "a": "copy",
            "b": "first",
            "relation": "duplicate",
            "rule": "content",
            "score": 1.0,
            "sentence_jaccard": 1.0,
            "signature_jaccard": 1.0,
            "containment": 1.0,
            "times_known": True,
        }
    ]


def test_marks_as_csv_to_a_file(dedup: Dedup, news: Path, tmp_path: Path) -> None:
    dedup("load", str(news))
    dedup("backfill", "--workers", "0")
    result = dedup("marks", "--format", "csv", "-o", "marks.csv")
    assert result.code == 0
    assert result.out == ""
    rows = list(csv.DictReader((tmp_path / "marks.csv").read_text().splitlines()))
    assert [row["id"] for row in rows] == ["copy", "first", "other"]
    assert rows[1]["duplicate_of"] == ""
    assert dedup("marks", "-f", "csv").out.splitlines()[0] == "id,status,duplicate_of,score,reason,stale"
    (copy, *_) = csv.DictReader(io.StringIO(dedup("marks", "-f", "csv").out))
    assert copy["stale"] in ("False", "false")


def test_a_second_load_and_backfill_have_nothing_to_do(dedup: Dedup, news: Path) -> None:
    dedup("load", str(news))
    dedup("backfill", "--workers", "0")
    again = dedup("load", str(news), "--json")
    said = json.loads(again.out)
    assert said.pop("files")[0]["file"] == str(news)
    assert said == {
        "lines": 3,
        "new": 0,
        "changed": 0,
        "same": 3,
        "superseded": 0,
        "refused": 0,
        "repaired": 0,
        "lost_dates": 0,
        "rejects": [],
        "truncated": [],
    }
    assert dedup("backfill").err == "everything was settled already\n"


def test_load_with_other_field_names_and_defaults(dedup: Dedup, database: Database, tmp_path: Path) -> None:
    file = tmp_path / "export.csv"
    with file.open("w", newline="") as target:
        csv.writer(target).writerows([["guid", "story"], ["a", HARBOUR], ["b", MUSEUM]])
    result = dedup(
        "load",
        str(file),
        "-m",
        "source_id=guid",
        "-m",
        "text=story",
        "--publication",
        "Courier",
        "--language",
        "en",
    )
    assert result.code == 0
    with database.transaction() as cursor:
        rows = cursor.execute(
            "SELECT source_id, publication, language FROM dedup.article ORDER BY 1"
        ).fetchall()
    assert rows == [("a", "Courier", "en"), ("b", "Courier", "en")]


def test_check_answers_every_line(dedup: Dedup, tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    lines = [
        json.dumps({"id": "a", "text": HARBOUR}),
        "not json",
        json.dumps({"id": "b", "text": HARBOUR + " More tomorrow, the clerk said."}),
        json.dumps({"id": "c", "text": "  "}),
    ]
    file.write_text("\n".join(lines))
    result = dedup("check", str(file))
    assert result.code == 0
    a, refused, b, c = result.lines
    assert (a["id"], a["status"]) == ("a", "unique")
    assert (refused["status"], refused["id"]) == ("refused", None)
    assert refused["reason"].startswith("line 2: broken JSON")
    assert (b["status"], b["duplicate_of"], b["matches"][0]["id"]) == ("duplicate", "a", "a")
    assert (c["status"], c["reason"]) == ("failed", "empty: the text has no words")
    assert [mark["id"] for mark in dedup("marks").lines] == ["a", "b", "c"]


def test_check_dry_run_stores_nothing(dedup: Dedup, news: Path) -> None:
    assert [line["status"] for line in dedup("check", "--dry-run", str(news)).lines] == ["unique"] * 3
    assert dedup("marks").out == ""


def test_check_names_the_copies_that_came_before_their_original(dedup: Dedup, tmp_path: Path) -> None:
    file = tmp_path / "newest-first.jsonl"
    lines = [
        json.dumps({"id": f"day {day}", "text": HARBOUR, "published_at": f"2026-03-{day:02}T08:00Z"})
        for day in (12, 11, 10)
    ]
    file.write_text("\n".join(lines))
    newest, middle, oldest = dedup("check", str(file)).lines
    assert [line["status"] for line in (newest, middle, oldest)] == ["unique"] * 3
    assert (newest["copies"], newest["copy_count"]) == ([], 0)
    assert middle["copies"] == [{"id": "day 12", "rule": "content", "score": 1.0}]
    assert ([copy["id"] for copy in oldest["copies"]], oldest["copy_count"]) == (["day 11", "day 12"], 2)


def test_delete_judges_the_copies_again(dedup: Dedup, news: Path) -> None:
    dedup("load", str(news))
    dedup("backfill", "--workers", "0")
    result = dedup("delete", "first", "nobody")
    assert result.code == 1
    assert "unknown: nobody" in result.err
    assert [(m["id"], m["status"]) for m in dedup("marks").lines] == [("copy", "unique"), ("other", "unique")]


def test_show_and_explain(dedup: Dedup, news: Path) -> None:
    dedup("load", str(news))
    dedup("backfill", "--workers", "0")
    shown = dedup("show", "copy")
    assert shown.out.startswith("copy: duplicate of first (content, 1.000)\n")
    assert "its story: 2 articles, the original first" in shown.out
    story = json.loads(dedup("show", "first", "--json").out)
    assert [member["id"] for member in story["story"]] == ["first", "copy"]
    explained = dedup("explain", "copy", "first")
    assert "shared sentences (6)" in explained.out
    assert explained.out.startswith("duplicate by content: the same words in the same order\n")
    apart = dedup("explain", "first", "other", "--json")
    assert json.loads(apart.out)["decision"].startswith("not related: sentence Jaccard 0.000 is below 0.3")
    missing = dedup("explain", "first", "nobody")
    assert missing.code == 1
    assert missing.err == "dedup: no article with source_id 'nobody'; `dedup marks` lists them\n"


def test_common_sentences_pinned_and_unpinned(dedup: Dedup, news: Path) -> None:
    dedup("load", str(news))
    sentence = "The mayor promised a ferry every ten minutes."
    assert dedup("common", "pin", sentence, "--always").code == 0
    dedup("backfill", "--workers", "0")
    (listed,) = json.loads(dedup("common", "--json").out)
    assert (listed["example"], listed["common"], listed["pin"]) == (sentence, True, "always")
    assert f"[common] {sentence}" in dedup("explain", "copy", "first").out
    assert dedup("common", "unpin", str(listed["sentence_hash"])).code == 0
    dedup("backfill", "--workers", "0")
    assert json.loads(dedup("common", "--json").out) == []
    assert dedup("common", "unpin", sentence).code == 1
    assert dedup("common", "pin", "Too short.", "--always").code == 2
    assert dedup("common", "pin", sentence).code == 2


def test_status_says_what_is_pending(dedup: Dedup, news: Path) -> None:
    dedup("load", str(news))
    before = json.loads(dedup("status", "--json").out)
    assert (before["counts"], before["unfingerprinted"]) == ({"pending": 3}, 3)
    assert "without fingerprint" in dedup("status").out
    assert dedup("status").err == "next: dedup backfill\n"
    dedup("backfill", "--workers", "0")
    after = json.loads(dedup("status", "--json").out)
    assert after["counts"] == {"unique": 2, "duplicate": 1}
    assert (after["unfingerprinted"], after["stories_with_copies"], after["uncounted"]) == (0, 1, False)
    assert (after["stale"], after["backfill"]) == (0, None)
    assert after["fingerprint_revision"] == ALGORITHM_REVISION
    assert f"revision {ALGORITHM_REVISION}, Unicode {UNICODE_VERSION}" in dedup("status", "--all").out
    shown = dedup("status")
    assert "3 articles" in shown.out
    assert shown.err == ""


def test_status_tells_bytes_of_tables_only_where_asked(dedup: Dedup, news: Path) -> None:
    dedup("load", str(news))
    dedup("backfill", "--workers", "0")
    shown, more = dedup("status").out, dedup("status", "--sizes").out
    assert re.search(r", \d+\.\d MB: 3 articles\n", shown)
    assert not any(words in shown for words in ("bytes per article", "sentence_pin"))
    assert "bytes per article: text" in more
    assert "sentence_pin" in more, "`--sizes` lists every table"


def test_status_shows_a_limit_that_fired(dedup: Dedup, news: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("MANY_CANDIDATES", "MAX_CANDIDATES"):
        monkeypatch.setattr(f"dedup.settling.hook.{limit}", 0)
    dedup("check", str(news))
    assert "limit left 1 article for the next backfill: more than 0 candidates" in dedup("status").err
    dedup("backfill", "--workers", "0")
    assert "safety limit" not in dedup("status").err
    assert dedup("marks").lines == MARKS


def test_a_changed_setting_waits_for_the_next_backfill(dedup: Dedup, news: Path) -> None:
    assert json.loads(dedup("settings", "--json").out)["common_stories"] == 10
    dedup("load", str(news))
    dedup("backfill", "--workers", "0")
    dedup("settings", "set", "bands=16", "text_min_words=8")  # `bands`: the default
    assert json.loads(dedup("status", "--json").out)["waiting_settings"] == ["text_min_words"]
    status = dedup("status")
    assert "text_min_words to be put in force by a backfill" in status.out
    assert "next: dedup backfill" in status.err
    dedup("settings", "reset", "text_min_words")
    assert json.loads(dedup("status", "--json").out)["waiting_settings"] == []
    said = dedup("settings", "set", "canonical_order=added", "common_stories=5").err
    assert "the next backfill puts them in force" in said
    assert "next: dedup backfill (3 articles to settle, about 1 s)" in said
    shown = dedup("settings").out
    assert "published → added" in shown
    assert "10 → 5" in shown
    assert json.loads(dedup("settings", "--json").out)["common_stories"] == 10
    assert dedup("marks").lines == MARKS
    assert dedup("verify").code == 0
    said = dedup("backfill", "--workers", "0").err
    assert "the settings or the version of dedup changed: 3 articles to settle, about 1 s" in said
    shown = dedup("settings").out
    assert "added *" in shown
    assert "5 *" in shown
    assert " → " not in shown.split("\n", 1)[1]
    marks = {mark["id"]: (mark["status"], mark["duplicate_of"]) for mark in dedup("marks").lines}
    assert marks["first"] == ("duplicate", "copy")  # both were added at one moment, so the id decides
    assert "new settings" not in dedup("backfill", "--workers", "0").err


def test_settings_are_tried_before_they_are_set(dedup: Dedup, news: Path, tmp_path: Path) -> None:
    dedup("load", str(news))
    dedup("backfill", "--workers", "0")
    file = tmp_path / "changed.csv"
    tried = dedup("settings", "try", "canonical_order=added", "--csv", str(file))
    assert re.search(r"unique -> duplicate +1\n", tried.out)
    assert f"wrote 2 changed marks to {file}" in tried.err
    assert "next: dedup settings set canonical_order=added" in tried.err
    assert file.read_text().splitlines() == [
        "id,status,duplicate_of,reason,new_status,new_duplicate_of,new_score,new_reason",
        "copy,duplicate,first,content,unique,,,",
        "first,unique,,,duplicate,copy,1.0,content",
    ]
    assert dedup("settings", "try", "common_stories=5", "--csv", str(file)).code == 2
    assert json.loads(dedup("settings", "try", "stop_word_length=3", "--json").out)["counts"] == {}
    refused = dedup("settings", "try", "hash_key=abc-secret")
    assert (refused.code, "secret" in refused.err) == (2, False)
    assert json.loads(dedup("settings", "--json").out)["waiting"] == {}
    assert dedup("marks").lines == MARKS


def test_settings_are_reset(dedup: Dedup, news: Path) -> None:
    dedup("load", str(news))
    dedup("settings", "set", "canonical_order=added", "common_stories=5")
    dedup("backfill", "--workers", "0")
    assert dedup("settings", "reset", "canonical_order", "common_stories").code == 0
    assert "added * → published" in dedup("settings").out
    dedup("backfill", "--workers", "0")
    assert "*" not in dedup("settings").out.split("\n", 1)[1]
    assert dedup("marks").lines == MARKS


def test_a_setting_taken_back_before_the_backfill_changes_nothing(dedup: Dedup, news: Path) -> None:
    dedup("load", str(news))
    dedup("backfill", "--workers", "0")
    dedup("settings", "set", "bands=8")
    assert "16 → 8" in dedup("settings").out
    assert dedup("settings", "reset", "bands").err == "settings changed\n"
    unknown = dedup("settings", "reset", "min_words")
    assert (unknown.code, unknown.err) == (2, "dedup: unknown setting 'min_words'; see `dedup settings`\n")
    assert dedup("backfill", "--workers", "0").err == "everything was settled already\n"


def test_a_setting_of_an_empty_corpus_is_in_force_at_once(dedup: Dedup) -> None:
    assert dedup("settings", "set", "common_stories=5").err == "settings changed\n"
    assert json.loads(dedup("settings", "--json").out)["common_stories"] == 5


def test_a_preview_counts_texts_where_fingerprints_change(dedup: Dedup, news: Path) -> None:
    dedup("load", str(news))
    dedup("backfill", "--workers", "0")
    said = dedup("settings", "set", "stop_word_length=3").err
    assert "3 texts to fingerprint, 3 articles to settle, about 1 s" in said
    dedup("backfill", "--workers", "0")
    assert dedup("marks").lines == MARKS
    assert dedup("verify").code == 0


def test_what_is_stale_is_shown(dedup: Dedup, database: Database, news: Path) -> None:
    dedup("load", str(news))
    dedup("backfill", "--workers", "0")
    with database.transaction() as cursor:
        cursor.execute("UPDATE dedup.article SET published_at = '2026-03-13' WHERE source_id = 'copy'")
    stale = [mark["id"] for mark in dedup("marks").lines if mark["stale"]]
    assert stale == ["copy"]
    assert [mark | {"stale": False} for mark in dedup("marks").lines] == MARKS
    assert json.loads(dedup("status", "--json").out)["stale"] == 1
    status = dedup("status")
    assert re.search(r"stale +1, which must be settled again\n", status.out)
    assert status.err == "next: dedup backfill\n"
    assert dedup("verify").err == (
        "not checked: the marks of 1 pending or stale article; run `dedup backfill` first\n"
        "checked 3 articles: 0 differences\n"
    )
    dedup("backfill", "--workers", "0")
    assert dedup("marks").lines == MARKS


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("colour=red", "unknown setting 'colour'"),
        ("bands", "write NAME=VALUE"),
        ("bands=many", "bands must be a whole number"),
        ("duplicate_sentence_jaccard=1.5", "between 0 and 1"),
        ("canonical_order=random", "one of published, added"),
    ],
)
def test_a_wrong_setting_changes_nothing(dedup: Dedup, change: str, words: str) -> None:
    result = dedup("settings", "set", change)
    assert result.code == 2
    assert words in result.err
    assert "*" not in dedup("settings").out.split("\n", 1)[1]
    assert " → " not in dedup("settings").out.split("\n", 1)[1]


def test_verify_a_sample(dedup: Dedup, news: Path) -> None:
    dedup("load", str(news))
    dedup("backfill", "--workers", "0")
    assert json.loads(dedup("verify", "--sample", "2", "--json").out)["articles"] == 2


@pytest.mark.long("dedup", "migrations")
def test_train_sentences_changes_only_that_language(dedup: Dedup, database: Database, tmp_path: Path) -> None:
    text = (
        "Der Rat der Stadt tagte am Montag bis ca. Mitternacht. Er sprach ca. drei Stunden über den Hafen. "
        * 8
    )
    file = tmp_path / "de.jsonl"
    file.write_text("".join(json.dumps({"id": f"d{i}", "text": text, "lang": "de"}) + "\n" for i in range(3)))
    dedup("load", str(file))
    dedup("check", "--language", "en", str(_one(tmp_path, "en", HARBOUR)))
    dedup("backfill", "--workers", "0")
    versions = _versions(database)
    result = dedup("train-sentences", "de", str(file))
    assert result.code == 0
    assert "from 3 articles" in result.err
    dedup("backfill", "--workers", "0")
    after = _versions(database)
    assert after["en"] == versions["en"]
    assert after["d0"] != versions["d0"]
    assert dedup("verify").code == 0
    assert dedup("train-sentences", "../x", str(file)).code == 2
    assert dedup("train-sentences", "fr", str(file)).code == 2


def test_db_url_hides_the_address_of_a_database_of_ones_own(
    dedup: Dedup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(URL_VARIABLE, "postgresql://me:hidden@localhost/x")
    result = dedup("db", "url")
    assert "hidden" not in result.out + result.err


def test_init_twice(dedup: Dedup) -> None:
    assert re.search(r"has the schema \d{4} already", dedup("init").err)


def test_check_reads_standard_input(dedup: Dedup, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(json.dumps({"id": "a", "text": MUSEUM}).encode()))
    monkeypatch.setattr("sys.stdin", stdin)
    assert dedup("check").lines[0]["status"] == "unique"


def _one(folder: Path, name: str, text: str) -> Path:
    file = folder / f"{name}.jsonl"
    file.write_text(json.dumps({"id": name, "text": text}))
    return file


def _versions(database: Database) -> dict[str, int]:
    with database.transaction() as cursor:
        rows = cursor.execute(
            "SELECT a.source_id, f.version FROM dedup.article a"
            " JOIN dedup.fingerprint f ON f.article_id = a.id"
        )
        return dict(rows.fetchall())


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("command", [["uninstall"], ["changes", "--stop"]], ids=lambda c: c[0])
def test_after_the_answer_no_nothing_is_changed(
    dedup: Dedup, database: Database, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    load(database, article("old", window(0, 6)))
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    found = dedup(*command)
    assert found.code == 1
    assert found.err.endswith("nothing was changed\n")
    assert "interrupted" not in found.err
    assert deduplicator(database).get("old")
