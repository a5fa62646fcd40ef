"""Hard cases have the promised properties, measured by brute force without the code that makes the cases."""

from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from dedup.base.errors import InputError
from dedup.base.settings import Settings
from dedup.extras.judging.truth import read_truth
from dedup.extras.lab.documents import DocumentSet
from dedup.extras.lab.hard_cases import (
    CASES,
    edits,
    generate,
    ocr,
    parts,
    repeated,
    spelling,
)
from dedup.extras.lab.hard_cases.case import DUPLICATE, SIMILAR, CasePair, CaseStory, MadeCase
from dedup.extras.lab.hard_cases.prose import Dice, Writer
from dedup.text.fingerprint import Fingerprinter
from dedup.text.normalize import words
from dedup.text.signature import shingles

SIZES: dict[str, dict[str, int]] = {
    "wire-300": {"papers": 30, "singles": 20, "small_stories": 5},
    "wire-300-rewritten": {"papers": 30, "singles": 20, "small_stories": 5},
    "boilerplate-10000": {"articles": 60, "twice": 10},
    "templates": {"items": 60, "twice": 6},
    "live-blogs": {"blogs": 2, "versions": 12},
    "spelling": {"originals": 3},
    "ocr": {"originals": 4},
    "excerpts": {"per_share": 1},
    "digest": {"digests": 4},
}
each_case = pytest.mark.parametrize("name", list(CASES))
seeds = st.integers(0, 10**6).map(str)


@cache
def made(name: str, seed: int = 1) -> MadeCase:
    return CASES[name].make(seed, **SIZES[name])


@cache
def texts(name: str) -> dict[str, str]:
    return {article.source_id: article.text for article in made(name).articles}


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


@cache
def fives(text: str) -> frozenset[str]:
    found = words(text)
    return frozenset(" ".join(found[i : i + 5]) for i in range(len(found) - 4))


def jaccard(a: frozenset[str] | set[str], b: frozenset[str] | set[str]) -> float:
    return len(a & b) / len(a | b)


def contained(part: str, whole: str) -> float:
    return len(fives(part) & fives(whole)) / len(fives(part))


def named_pairs(name: str) -> Iterator[CasePair]:
    """Yield the pairs of a case, including pairs within its stories."""
    for row in made(name).truth:
        if isinstance(row, CasePair):
            yield row
        else:
            for a, b in itertools.combinations(row.ids, 2):
                yield CasePair(a, b, DUPLICATE, kind=row.kind)


def unnamed_pairs(name: str) -> Iterator[tuple[str, str]]:
    known = {frozenset((pair.a, pair.b)) for pair in named_pairs(name)}
    for a, b in itertools.combinations(texts(name), 2):
        if frozenset((a, b)) not in known:
            yield a, b


# Properties of all cases


@pytest.mark.long("dedup", "migrations")
@each_case
def test_a_seed_gives_the_same_bytes_and_another_seed_other_texts(name: str, tmp_path: Path) -> None:
    first = generate(name, 1, tmp_path / "first", **SIZES[name])
    again = generate(name, 1, tmp_path / "again", **SIZES[name])
    other = generate(name, 2, tmp_path / "other", **SIZES[name])
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]
    assert all(path.read_bytes()[4:8] == bytes(4) for path in first)  # gzip files contain no time
    assert not {row["text"] for row in rows(first[0])} & {row["text"] for row in rows(other[0])}


@pytest.mark.long("dedup", "migrations")
@each_case
def test_the_files_are_what_the_lab_and_load_read(name: str, tmp_path: Path) -> None:
    articles, truth = generate(name, 1, tmp_path, **SIZES[name])
    corpus = DocumentSet.read(articles)
    assert (corpus.refused, corpus.repeated) == (0, 0)
    wanted = [(a.source_id, a.text, a.title, a.publication, a.published_at) for a in made(name).articles]
    assert [(d.id, d.text, d.title, d.publication, d.published_at) for d in corpus] == wanted
    read = read_truth(truth, corpus.numbers)
    assert read.unknown == 0
    pairs = {frozenset((pair.a, pair.b)): pair.label for pair in named_pairs(name)}
    assert read.duplicates == list(pairs.values()).count(DUPLICATE)
    assert read.unclear == list(pairs.values()).count(SIMILAR)


@each_case
def test_the_truth_names_articles_that_exist_once(name: str) -> None:
    ids = [article.source_id for article in made(name).articles]
    assert len(ids) == len(set(ids))
    for row in made(name).truth:
        members = row.ids if isinstance(row, CaseStory) else (row.a, row.b)
        assert len(set(members)) == len(members) > 1
        assert set(members) <= set(ids)


@each_case
def test_every_article_can_be_read_and_has_a_time(name: str) -> None:
    reader = Fingerprinter(Settings())
    for article in made(name).articles:
        assert reader.fingerprint(article.text, article.language).word_count >= Settings().text_min_words
        assert article.title
        assert article.published_at is not None


def test_extra_keys_are_in_the_file_of_truth_only_where_they_are_known(tmp_path: Path) -> None:
    [*_, row] = rows(generate("excerpts", 1, tmp_path, per_share=1)[1])
    extra = {"kind": "middle", "share": 90}
    assert row == {"a": "whole-90-middle-00", "b": "part-90-middle-00", "label": "duplicate", **extra}
    assert rows(generate("wire-300", 1, tmp_path, papers=4, singles=0, small_stories=0)[1]) == [
        {"cluster": "wire", "ids": ["wire-000", "wire-001", "wire-002", "wire-003"]}
    ]


def test_an_unknown_case_is_refused_with_the_names_of_the_known(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'wires'; there are wire-300, wire-300-rewritten"):
        generate("wires", 1, tmp_path)


def test_a_failure_leaves_the_old_file_and_no_half_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    articles, truth = generate("digest", 1, tmp_path, digests=1)
    before = articles.read_bytes()
    bad = MadeCase([*made("digest").articles, object()])  # type: ignore[list-item]  # it has nothing to write
    monkeypatch.setitem(CASES, "digest", replace(CASES["digest"], make=lambda seed: bad))
    with pytest.raises(AttributeError):
        generate("digest", 1, tmp_path)
    assert articles.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == sorted((articles, truth))


# One story in many papers


@pytest.mark.parametrize("name", ["wire-300", "digest", "excerpts", "ocr", "spelling"])
def test_articles_that_the_truth_does_not_name_together_are_unrelated(name: str) -> None:
    for a, b in itertools.islice(unnamed_pairs(name), 2_000):
        assert jaccard(fives(texts(name)[a]), fives(texts(name)[b])) < 0.1, (a, b)


def test_copies_of_a_wire_story_share_half_of_the_shorter_one() -> None:
    for pair in named_pairs("wire-300"):
        a, b = fives(texts("wire-300")[pair.a]), fives(texts("wire-300")[pair.b])
        assert len(a & b) >= 0.5 * min(len(a), len(b)), pair
    copies = [text for name, text in texts("wire-300").items() if name.startswith("wire-")]
    assert len(set(copies)) == len(copies)


@pytest.mark.long("dedup", "migrations")
def test_the_wire_case_has_300_copies_700_singles_and_60_small_stories() -> None:
    full = CASES["wire-300"].make(1)
    wire, *small = [row for row in full.truth if isinstance(row, CaseStory)]
    assert len(wire.ids) == 300
    assert len(small) == 60
    assert {len(story.ids) for story in small} == {2, 3, 4}
    assert sum(article.source_id.startswith("single-") for article in full.articles) == 700
    assert len({a.publication for a in full.articles if a.source_id.startswith("wire-")}) == 300
    times = [a.published_at for a in full.articles if a.source_id.startswith("wire-") and a.published_at]
    assert timedelta(hours=24) < max(times) - min(times) < timedelta(hours=36)


def flat(body: edits.Paragraphs) -> list[str]:
    return [sentence for paragraph in body for sentence in paragraph]


@given(seeds)
def test_papers_cut_from_the_bottom_and_at_most_a_third(seed: str) -> None:
    body = Writer(seed).article(200).paragraphs
    cut = flat(edits.trimmed(Dice(seed), body))
    assert cut == flat(body)[: len(cut)]
    before, after = (sum(len(s.split()) for s in part) for part in (flat(body), cut))
    assert 2 / 3 * before <= after < before


@given(seeds)
def test_a_reworded_lead_changes_a_word_or_two_of_the_first_sentence(seed: str) -> None:
    body = Writer(seed).article(150).paragraphs
    new = edits.lead_reworded(Dice(seed), body)
    assert flat(new)[1:] == flat(body)[1:]
    changed = Levenshtein.distance(flat(new)[0].split(), flat(body)[0].split())
    assert 1 <= changed <= 2 * max(len(v.split()) for v in edits.SYNONYMS.values())


@given(seeds)
def test_an_update_changes_one_or_two_numbers(seed: str) -> None:
    body = Writer(seed).article(200).paragraphs
    new = flat(edits.numbers_updated(Dice(seed), body))
    changed = [(a, b) for a, b in zip(flat(body), new, strict=True) if a != b]
    assert len(changed) <= 2
    for a, b in changed:
        [(old, late)] = [(x, y) for x, y in zip(a.split(), b.split(), strict=True) if x != y]
        assert int(old) < int(late)


@pytest.mark.long("dedup", "migrations")
@given(seeds)
def test_regrouped_paragraphs_hold_the_same_sentences(seed: str) -> None:
    body = Writer(seed).article(200).paragraphs
    new = edits.regrouped(Dice(seed), body)
    assert flat(new) == flat(body)
    assert len(new) <= len(body)


# Boilerplate and templates


def test_all_articles_have_the_boilerplate_and_only_the_named_pairs_a_body() -> None:
    bodies = {}
    for name, text in texts("boilerplate-10000").items():
        found = text.split("\n\n")
        assert found[:3] == repeated.ABOVE
        assert found[-5:] == repeated.BELOW
        bodies[name] = "\n\n".join(found[3:-5])
    kinds = []
    for pair in named_pairs("boilerplate-10000"):
        same = jaccard(fives(bodies[pair.a]), fives(bodies[pair.b]))
        assert same == 1 if pair.kind == "verbatim" else 0.6 <= same < 1
        kinds.append(pair.kind)
    assert kinds == ["verbatim", "edited"] * 5
    assert (
        max(jaccard(fives(bodies[a]), fives(bodies[b])) for a, b in unnamed_pairs("boilerplate-10000")) < 0.02
    )


def test_items_of_a_template_are_alike_but_only_those_sent_twice_are_equal() -> None:
    found = texts("templates")
    assert all(found[pair.a] == found[pair.b] for pair in named_pairs("templates"))
    assert len(list(named_pairs("templates"))) == 6
    alike = []
    for a, b in unnamed_pairs("templates"):
        assert found[a] != found[b]
        if a[:5] == b[:5]:
            alike.append(jaccard(shingles(words(found[a]), 4), shingles(words(found[b]), 4)))
    assert sum(alike) / len(alike) > 0.25  # for unrelated articles the mean is below 0.01


# Live blogs


def test_a_version_is_the_one_before_with_posts_on_top() -> None:
    blog = [text for name, text in texts("live-blogs").items() if name.startswith("blog-00")]
    posts = [text.removeprefix(f"{parts.BLOG_HEAD}\n\n") for text in blog]
    for earlier, later in itertools.pairwise(posts):
        assert later.endswith(f"\n\n{earlier}")


def test_versions_are_duplicates_from_the_promised_overlap_on() -> None:
    labels = set()
    for pair in named_pairs("live-blogs"):
        overlap = jaccard(fives(texts("live-blogs")[pair.a]), fives(texts("live-blogs")[pair.b]))
        assert pair.overlap == pytest.approx(overlap, abs=1e-4)
        assert pair.label == (DUPLICATE if overlap >= 0.8 else SIMILAR)
        labels.add((pair.kind, pair.label))
    assert labels == {
        (kind, label) for kind in ("next version", "later version") for label in (DUPLICATE, SIMILAR)
    }
    [first_last] = [p for p in named_pairs("live-blogs") if (p.a, p.b) == ("blog-00-v00", "blog-00-v11")]
    assert first_last.overlap is not None
    assert first_last.overlap < 0.35
    for a, b in unnamed_pairs("live-blogs"):
        assert a[:7] != b[:7]


# Spelling


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("british", "The Labor program: 5 percent", "The Labour programme: 5 per cent"),
        ("british", "CENTER, centered", "CENTRE, centered"),
        ("quotes", '"It is," said Farmers\' Union. "No."', "“It is,” said Farmers’ Union. “No.”"),
        ("dashes", "A mayor - 62-year old - fell.", "A mayor—62-year old—fell."),
        ("ellipsis", "we waited ... and", "we waited… and"),
        ("abbreviations", "Mr. Ash of U.S. Air left 5 p.m. Jan. 3", "Mr Ash of US Air left 5 pm January 3"),
        ("ligatures", "The office fire of 49 flats", "The oﬃce ﬁre of ４９ ﬂats"),
        ("headings", "A fire in Ashford\n\nIt burned.", "A FIRE IN ASHFORD\n\nIt burned."),
        ("numbers", "12 men, 2.5 tons, Jan. 3 in 7 days", "twelve men, 2.5 tons, Jan. 3 in seven days"),
        ("accents", "Zoë Ibáñez", "Zoe Ibanez"),
        ("everything", 'Mr. Ibáñez said: "5 fires ... here - now."', "Mr Ibanez said: “ﬁve ﬁres… here—now.”"),
    ],
)  # fmt: skip
def test_each_kind_of_spelling_by_hand(kind: str, before: str, after: str) -> None:
    assert spelling.KINDS[kind](before) == after


def test_every_copy_differs_and_reads_the_same() -> None:
    for pair in named_pairs("spelling"):
        a, b = texts("spelling")[pair.a], texts("spelling")[pair.b]
        assert a != b
        if pair.kind is not None:
            assert Levenshtein.normalized_similarity(a.casefold(), b.casefold()) > 0.9, pair.kind
    kinds = [row.kind for row in made("spelling").truth if isinstance(row, CasePair)]
    assert kinds == list(spelling.KINDS) * 3


def test_to_the_fingerprint_some_kinds_are_no_difference_at_all() -> None:
    for pair in named_pairs("spelling"):
        if pair.kind in ("quotes", "dashes", "ellipsis", "ligatures", "headings"):
            assert words(texts("spelling")[pair.a]) == words(texts("spelling")[pair.b])


# Noise


def test_the_noise_of_a_copy_is_its_level() -> None:
    levels = []
    for pair in named_pairs("ocr"):
        if pair.level is None:
            assert pair.label == SIMILAR
            continue
        original, copy = texts("ocr")[pair.a], texts("ocr")[pair.b]
        share = 100 * Levenshtein.distance(original, copy) / len(original)
        assert share == pytest.approx(pair.level, rel=0.15, abs=0.01)
        assert pair.label == DUPLICATE
        assert pair.b.endswith(f"-level-{pair.level:02}")
        assert copy.count("\n") == original.count("\n")
        levels.append(pair.level)
    assert levels == list(ocr.LEVELS) * 4


@given(seeds, st.integers(0, 100))
def test_noise_is_never_more_than_two_edits_an_error(seed: str, level: int) -> None:
    text = Writer(seed).sentence()
    errors = round(level / 100 * len(text))
    copy = ocr.noisy(Dice(seed), text, level)
    assert Levenshtein.distance(text, copy) <= 2 * errors
    assert (copy == text) == (errors == 0)


# Excerpts and digests


def test_an_excerpt_is_the_stated_share_of_its_original() -> None:
    seen = []
    for pair in named_pairs("excerpts"):
        whole, part = texts("excerpts")[pair.a], texts("excerpts")[pair.b]
        assert pair.share is not None
        assert part in whole
        assert whole.startswith(part) == (pair.kind == "top")
        assert len(part.split()) == pytest.approx(pair.share / 100 * len(whole.split()), abs=0.51)
        assert pair.label == (DUPLICATE if pair.share >= 70 else SIMILAR)
        assert jaccard(fives(whole), fives(part)) == pytest.approx(pair.share / 100, abs=0.03)
        seen.append((pair.share, pair.kind))
    assert seen == list(itertools.product(parts.SHARES, parts.PLACES))


def test_a_digest_contains_its_six_articles_and_no_others() -> None:
    for page in (f"digest-{number:03}" for number in range(4)):
        stories = [pair for pair in named_pairs("digest") if pair.a == page]
        assert len(stories) == 6
        for pair in stories:
            assert pair.label == SIMILAR
            text = texts("digest")[pair.b]
            first = text.split("\n\n")[:2]
            assert "\n\n".join(first) in texts("digest")[page]
            share = contained(text, texts("digest")[page])
            assert share == 1 if pair.kind == "whole" else share < 0.8
    for a, b in unnamed_pairs("digest"):
        if b[:10] != a[:10] and len(b) == 10:
            assert contained(texts("digest")[a], texts("digest")[b]) < 0.1
