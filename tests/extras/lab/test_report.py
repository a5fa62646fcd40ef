"""The report shows the right numbers in the right cells, loads nothing, and makes texts harmless."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser

import numpy as np
import pytest

from dedup.extras.judging.truth import STORY_SIZES, GroupScore, SizeBand, Tally
from dedup.extras.lab.documents import Document
from dedup.extras.lab.evaluation.comparison import Comparison
from dedup.extras.lab.evaluation.disagreements import Disagreement
from dedup.extras.lab.evaluation.measures import CurvePoint, Evaluation, KindRecall
from dedup.extras.lab.evaluation.results import MethodResult
from dedup.extras.lab.report.charts import MAX_POINTS, Dot, scatter, thinned
from dedup.extras.lab.report.figures import amount, percent, share, threshold
from dedup.extras.lab.report.page import render

# Label, row, tuned F1, CPU seconds in total, and recall of the largest stories
METHODS = (
    ("dedup", "0", 0.962, 9.6, 0.98),
    ("sentences", "1", 0.871, 3.1, 0.04),
    ("weighted-sentences", "1w", 0.893, 3.9, 0.11),
    ("spotsigs", "2", 0.941, 4.4, 0.95),
    ("spotsigs:stop_words=list", "2", 0.935, 5.0, 0.94),
    ("minhash", "3", 0.957, 21.0, 0.97),
    ("minhash:bands=32:rows=4", "3", 0.955, 24.0, 0.97),
    ("sketches", "4", 0.702, 1.9, 0.71),
    ("word-shingles", "5", 0.966, 74.0, 0.98),
    ("character-shingles", "5", 0.958, 190.0, 0.98),
    ("longest-common-subsequence", "7", 0.903, 960.0, 0.9),
    ("tf-idf", "8", 0.911, 36.0, 0.93),
    ("content-hash", "9", 0.411, 0.2, 0.3),
    ("text-profile", "10", 0.522, 2.2, 0.41),
    ("simhash", "11", 0.744, 6.6, 0.52),
)
STORM = (
    "The storm reached the coast at Harrow Point on Monday night, tearing roofs from forty houses. "
    "Two fishing boats were lost, and their crews were taken off by helicopter. "
    "Mayor Ines Calder said the town had never seen such a tide. "
)
REST = "".join(
    f"In ward {n} the water stood {n + 2} hands high, and the residents slept in the school hall. "
    for n in range(30)
)


def result(label: str, row: str = "0", **facts: object) -> MethodResult:
    name = label.partition(":")[0]
    given = {
        "about": f"what {name} computes, in a line",
        "source": "its authors, 2008",
        "finds": "articles that share an item",
        "threshold": 0.6,
        "outcome": "done",
        "documents": 2_000,
        "candidates": 15_000,
        "memory": 48_000_000,
        "pairs": np.array([[0, 1], [1, 2], [4, 5]], np.int32),
        "scores": np.array([0.9, 0.7, 0.4], np.float32),
        "accepted": np.array([True, True, False]),
        "groups": np.array([0, 0, 0, 1, 2, 2, 3], np.int32),
    }
    return MethodResult(label=label, row=row, name=name, **{**given, **facts})  # type: ignore[arg-type]


def evaluation(quality: float, large: float = 0.9) -> Evaluation:
    """Return invented figures of a method with a tuned F1 of about `quality`."""
    right = round(10_000 * quality)
    tally = Tally(right, 10_000 - right, 10_000 - right)
    recalls = np.linspace(0, quality + (1 - quality) * 0.7, 900)
    curve = [
        CurvePoint(1 - r / 2, max(0.1, 1 - (1 - quality) * (r / quality) ** 6), r) for r in recalls.tolist()
    ]
    finding = (quality, quality, (quality + large) / 2, large, 0.0)
    pairs, stories = (420, 1_900, 6_400, 21_000, 0), (310, 95, 14, 6, 0)
    return Evaluation(
        own=Tally(right - 300, 200, 10_300 - right),
        strict=tally,
        tuned=tally,
        thresholds=(0.55, 0.6125),
        average_precision=quality - 0.013,
        curve=tuple(curve),
        groups=GroupScore(
            unnamed=0,
            pairs=tally,
            adjusted_rand=quality - 0.1,
            b_cubed_precision=0.9,
            b_cubed_recall=0.9,
            by_size=tuple(
                SizeBand(least, most, count, total, round(total * found))
                for (least, most), count, total, found in zip(
                    STORY_SIZES, stories, pairs, finding, strict=True
                )
            ),
        ),
        by_kind=(),
    )


def document(text: str, **facts: str | None) -> Document:
    given = {"title": "Storm tears roofs from forty houses", "publication": "Harrow Courier"}
    time = datetime(2031, 3, 4, 6, 10, tzinfo=UTC)
    return Document(**{"id": "hc-0412", "published_at": time, "text": text, **given, **facts})  # type: ignore[arg-type]


def disagreement(a: Document, b: Document, truth: str = "duplicates") -> Disagreement:
    scores = {label: 0.5 + quality / 3 for label, _, quality, _, _ in METHODS} | {"content-hash": None}
    accepted = ("dedup", "minhash", "word-shingles", "tf-idf")
    return Disagreement(
        "a duplicate that dedup finds and most other methods miss",
        truth,
        a,
        b,
        scores | {"sentences": 0.12},
        accepted,
    )


def comparison(**facts: object) -> Comparison:
    results = [result(label, row, seconds=s) for label, row, _, s, _ in METHODS]
    none = {"documents": 0, "candidates": 0, "memory": 0}
    results += [
        result("ssdeep", "12", outcome="failed", reason="the library is not installed", **none),
        result("longest-common-substring", "6", outcome="too slow", reason="over 10 minutes of CPU", **none),
    ]
    changed = STORM.replace("forty", "some 40").replace("Mayor Ines Calder", "Ines Calder, the mayor,")
    given = {
        "corpus": "harrow-2031.jsonl.gz",
        "documents": 2_000,
        "characters": 5_412_345,
        "refused": 3,
        "repeated": 1,
        "truth": "harrow-2031.stories.jsonl",
        "duplicates": 29_720,
        "unclear": 412,
        "results": tuple(results),
        "evaluations": {label: evaluation(q, large) for label, _, q, _, large in METHODS},
        "disagreements": (
            disagreement(
                document(STORM + REST), document(changed + REST, publication="Northern Post", id="np-77")
            ),
            disagreement(
                document("A choir of children sang in the old church. It was cold.", title=None),
                document("The harbour master resigned on Friday.\n\nHe gave no reason.", publication=None),
                "unclear",
            ),
        ),
        "made_at": "2031-04-01 09:00 UTC",
        "machine": "2 cores, Linux, Python 3.11.7",
    }
    return Comparison(**{**given, **facts})  # type: ignore[arg-type]


class ReportPage(HTMLParser):
    """A parsed page: tags with attributes, and the cells of its tables. Tags must be balanced."""

    VOID = frozenset({"meta", "br", "path", "circle", "polyline", "use"})

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.tables: list[list[list[str]]] = []
        self.text = ""
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "title", "desc"):
            self.text += data
            if {"td", "th"} & set(self.open):
                self.tables[-1][-1][-1] += data


def body(page: ReportPage, table: int = 0) -> dict[str, list[str]]:
    """Return the cells after the label of each method, by label. Table 0 also has a cell before the label,
    which is left out."""
    rows = [row[1:] if table == 0 else row for row in page.tables[table][1 + (table == 0) :]]
    return {row[0].partition("what ")[0]: row[1:] for row in rows}


@pytest.fixture(scope="module")
def source() -> str:
    return render(comparison())


@pytest.fixture(scope="module")
def page(source: str) -> ReportPage:
    return ReportPage(source)


@pytest.mark.long("dedup", "migrations")
def test_the_table_shows_the_figures(page: ReportPage) -> None:
    rows = body(page)
    assert len(rows) == 17
    # dedup: 9,320 pairs right, 200 wrong, 680 missed; 15,000 candidates, 9.6 s and 48 MB for 2,000 articles
    assert rows["dedup"] == [
        "0.60", "0.955", "0.979", "0.932",
        "0.962", "0.550", "0.613",
        "0.949", "0.862", "0.900", "7.5", "4.8", "24",
    ]  # fmt: skip
    assert rows["word-shingles"][4] == "0.966 (best)"
    assert rows["content-hash"][-2] == "0.10 (best)"
    assert rows["ssdeep"] == ["failed: the library is not installed"]
    assert rows["longest-common-substring"] == ["too slow: over 10 minutes of CPU"]


def test_the_summary_says_who_is_best_where_the_product_stands_and_what_failed(page: ReportPage) -> None:
    assert (
        "With its threshold tuned, word-shingles is best: 97\u00a0% of its pairs are duplicates, and it finds"
        " 97\u00a0% of all duplicates (F1\u00a00.966); dedup, character-shingles and minhash are"
        " level with it (within 0.01).\n"
        "dedup, the product's own rule, is number 2 of 15 with F1\u00a00.962 (0.955 at its own threshold) and"
        " takes 4.8 CPU seconds per 1,000 articles, where word-shingles takes 37.\n"
        "2 of 17 methods gave no result: ssdeep (failed: the library is not installed) and"
        " longest-common-substring (too slow: over 10 minutes of CPU)."
    ) in page.text


def test_the_summary_says_how_many_unclear_pairs_a_share_leaves_out() -> None:
    given = comparison()
    best = given.evaluations["word-shingles"]
    sure = replace(best, tuned=Tally(right=300, wrong=0, missed=0, unclear=619))
    found = render(replace(given, evaluations={**given.evaluations, "word-shingles": sure}))
    assert (
        "word-shingles is best: 100\u00a0% of its clear pairs are duplicates, and it finds 100\u00a0% of all"
        " duplicates (F1\u00a01.000); it finds 619 more pairs that are unclear in the truth, and if these"
        " were wrong, its F1 would be 0.492"
    ) in ReportPage(found).text


def test_recall_is_told_by_size_of_story(page: ReportPage) -> None:
    rows = body(page, 1)
    assert len(rows) == 15
    assert rows["sentences"] == ["87\u00a0%", "87\u00a0%", "46\u00a0%", "4\u00a0%", "–"]
    heads = page.tables[1][0]
    assert heads[1:3] == ["2–4310 stories, 420 pairs", "5–1995 stories, 1,900 pairs"]
    assert heads[5] == "100 and moreno story, no pair"


def test_the_loss_of_the_plain_cut_off_is_said_in_words(page: ReportPage) -> None:
    assert (
        "In stories of 50–99 articles, “sentences” finds 4\u00a0% of the pairs and dedup 98\u00a0%:"
        " 19,740 pairs of 21,000 are lost."
    ) in page.text


def test_no_loss_is_said_where_there_is_none() -> None:
    equal = {label: evaluation(0.9) for label, *_ in METHODS}
    assert "are lost" not in render(comparison(evaluations=equal))


def test_recall_by_kind_is_shown_where_pairs_have_kinds() -> None:
    kinds = (KindRecall("10 % of noise", 200, 150, 180), KindRecall("excerpt", 40, 0, 2))
    given = {label: replace(evaluation(q), by_kind=kinds) for label, _, q, _, _ in METHODS}
    assert body(ReportPage(render(comparison(evaluations=given))), 2)["dedup"] == ["75\u00a0%", "0\u00a0%"]


def test_every_method_has_its_curve_and_its_dot(page: ReportPage) -> None:
    lines = [attrs for tag, attrs in page.tags if tag == "polyline"]
    assert len(lines) == 15
    assert all(len((line["points"] or "").split()) <= MAX_POINTS + 1 for line in lines)
    assert sum(attrs.get("class") == "mark" for _, attrs in page.tags) == 15
    assert sum((attrs.get("class") or "").startswith("dot") for _, attrs in page.tags) == 15


def test_the_answer_comes_first_and_long_parts_are_folded(source: str) -> None:
    shown = re.sub("<details>.*?</details>", "", source[source.index("<body>") :], flags=re.DOTALL)
    assert shown.index("is best") < shown.index("<h2")
    assert "Harrow Point" not in shown
    assert shown.count("<svg") == 2  # the scatter plot, and an invisible one that defines shapes
    assert "its authors, 2008" not in shown


def test_nothing_comes_from_outside(source: str, page: ReportPage) -> None:
    for mark in ("http:", "https:", "//", "url(", "<script", "<link", "<img", "<iframe", "@import"):
        assert mark not in source
    for _, attrs in page.tags:
        assert not {"src", "srcset", "style", "data", "action"} & set(attrs)
        assert not [name for name in attrs if name.startswith("on")]
        assert (attrs.get("href") or "#").startswith("#")
    policy = [a["content"] for t, a in page.tags if t == "meta" and "http-equiv" in a]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'"]


def test_every_reference_within_the_page_leads_somewhere(page: ReportPage) -> None:
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    wanted = [attrs["href"][1:] for _, attrs in page.tags if attrs.get("href")]  # type: ignore[index]
    wanted += [i for _, a in page.tags if a.get("aria-labelledby") for i in a["aria-labelledby"].split()]  # type: ignore[union-attr]
    assert set(wanted) <= set(ids)


def test_a_reader_without_eyes_is_told_everything(page: ReportPage) -> None:
    assert all("scope" in attrs for tag, attrs in page.tags if tag == "th")
    pictures = [attrs for tag, attrs in page.tags if tag == "svg" and "aria-hidden" not in attrs]
    assert len(pictures) == 16
    assert all(attrs["role"] == "img" and attrs["aria-labelledby"] for attrs in pictures)


HOSTILE = (
    "</div></mark><script>alert(1)</script> \"quoted' <img src=x onerror=alert(1)> {{ 7 * 7 }} {% raw %} "
    "&amp; \x00\x07\x1b[31m\x85\ud800 \u202egnp.exe مرحبا بالعالم ]]> <!-- http://evil.example/x.js"
)


def test_hostile_texts_do_no_harm() -> None:
    side = document(HOSTILE, title=HOSTILE, publication=HOSTILE, id=HOSTILE)
    bad = result(HOSTILE, about=HOSTILE, reason=HOSTILE, outcome="failed", source=HOSTILE, finds=HOSTILE)
    source = render(
        comparison(
            corpus=HOSTILE,
            truth=HOSTILE,
            made_at=HOSTILE,
            machine=HOSTILE,
            results=(*comparison().results, bad, result(HOSTILE, seconds=1.0)),
            evaluations={**comparison().evaluations, HOSTILE: evaluation(0.5)},
            disagreements=(
                replace(
                    disagreement(side, replace(side, text=HOSTILE * 2)),
                    kind=HOSTILE,
                    truth=HOSTILE,
                    scores={HOSTILE: 0.5},
                    accepted=(HOSTILE,),
                ),
            ),
        )
    )
    source.encode("utf-8")
    page = ReportPage(source)
    assert {tag for tag, _ in page.tags}.isdisjoint({"script", "img"})
    assert not [name for _, attrs in page.tags for name in attrs if name.startswith("on")]
    assert "{{ 7 * 7 }}" in page.text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202d\u202e]", source)
    assert "␀␇␛[31m\ufffd\ufffd" in page.text


def test_colours_can_be_told_from_their_ground(source: str) -> None:
    """Text has a contrast of at least 4.5 (WCAG 2) in both colour schemes and on paper."""

    def luminance(colour: str) -> float:
        digits = colour if len(colour) == 6 else "".join(c * 2 for c in colour)
        parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    schemes = [
        dict(re.findall(r"--(\w+): #(\w+)", rule)) for rule in re.findall(r":root \{(.*?)\}", source, re.S)
    ]
    assert len(schemes) == 3
    grounds = {
        "ink": ("paper", "band", "own", "plus", "minus", "h1", "h2", "h3", "h4", "h5"),
        "quiet": ("paper", "band"),
        "main": ("paper",),
        "best": ("paper", "band"),
    }
    for scheme in schemes:
        for text, behind in grounds.items():
            for ground in behind:
                low, high = sorted((luminance(scheme[text]), luminance(scheme[ground])))
                assert (high + 0.05) / (low + 0.05) >= 4.5, (text, ground, scheme)


def test_texts_are_shown_with_what_they_share(source: str) -> None:
    assert "<mark>forty</mark> " in source
    assert "<mark>some 40</mark> " in source
    assert "sentences that both texts have</summary>" in source


def test_without_truth_it_shows_what_is_accepted_and_what_it_costs() -> None:
    page = ReportPage(render(comparison(truth=None, duplicates=0, unclear=0, evaluations={})))
    assert body(page)["dedup"] == ["0.60", "2", "2", "5", "3", "7.5", "4.8", "24"]
    assert "No truth was given" in page.text
    assert "polyline" not in {tag for tag, _ in page.tags}


def test_a_comparison_of_nothing_is_a_page() -> None:
    page = ReportPage(
        render(
            comparison(
                results=(), evaluations={}, disagreements=(), documents=0, characters=0, refused=0, repeated=0
            )
        )
    )
    assert "No method was run on this corpus." in page.text
    assert page.tables == []


def test_methods_that_found_nothing_are_shown_without_numbers() -> None:
    nothing = Tally(0, 0, 0)
    empty = replace(evaluation(0.5), own=nothing, tuned=nothing, strict=nothing, curve=())
    page = ReportPage(render(comparison(evaluations={"dedup": empty})))
    assert body(page)["dedup"][1:5] == ["–", "–", "–", "–"]
    assert "No method could be judged by this truth." in page.text


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (share(0.99996), ">0.999"), (share(1.0), "1.000"), (share(0.00001), "<0.001"), (share(0.0), "0.000"),
        (percent(0.9996), "99.9\u00a0%"), (percent(1.0), "100\u00a0%"), (percent(0.004), "0.4\u00a0%"),
        (amount(0.0314), "0.031"), (amount(1234.5), "1,234"), (amount(0), "0"), (amount(9.96), "10"),
        (threshold(0.7), "0.70"), (threshold(0.8125), "0.8125"),
    ],
)  # fmt: skip
def test_numbers_are_rounded_sensibly(shown: str, expected: str) -> None:
    assert shown == expected


def test_thinning_keeps_the_ends_and_the_jumps() -> None:
    line = [(n / 5_000, 1.0 if n < 2_500 else 0.2) for n in range(5_001)]
    kept = thinned(line)
    assert (kept[0], kept[-1]) == (line[0], line[-1])
    assert len(kept) <= MAX_POINTS + 1
    assert {y for _, y in kept} == {1.0, 0.2}
    assert thinned([]) == []
    assert thinned([(0.3, 1.0)] * 500)[0] == (0.3, 1.0)


def test_labels_of_a_scatter_do_not_touch_each_other() -> None:
    drawn = scatter([Dot(f"method-{n}", 1.0 + n / 100, 0.9) for n in range(8)]).dots
    shift = {"start": 0, "end": -8 * 7.8}
    places = [(dot.label_x + shift[dot.anchor], dot.label_y) for dot in drawn]
    assert len(places) == 8
    for i, (x, y) in enumerate(places):
        for other_x, other_y in places[i + 1 :]:
            assert abs(x - other_x) >= 50 or abs(y - other_y) >= 13


def test_the_best_of_a_column_is_marked_unless_too_many_share_it() -> None:
    given = [result(f"m{n}", seconds=float(s)) for n, s in enumerate((2, 2, 5, 7, 9))]
    rows = body(ReportPage(render(comparison(truth=None, evaluations={}, results=tuple(given)))))
    assert [row[-2] for row in rows.values()] == ["1.0 (best)", "1.0 (best)", "2.5", "3.5", "4.5"]
    assert {row[-1] for row in rows.values()} == {"24"}


def test_of_two_methods_one_is_best_and_of_one_none() -> None:
    two = (result("a", seconds=2.0), result("b", seconds=4.0))
    rows = body(ReportPage(render(comparison(truth=None, evaluations={}, results=two))))
    assert (rows["a"][-2], rows["b"][-2]) == ("1.0 (best)", "2.0")
    assert "(best)" not in render(comparison(truth=None, evaluations={}, results=two[:1]))
