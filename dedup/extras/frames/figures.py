"""Numbers about a corpus, each with its chart: `frames.figures.copying(duplicates).plot()`.

The functions take the tables of `dedup.frames`, or DataFrames of pandas with the same columns. The extra
`notebook` has the packages. Articles whose time of publication is unknown are in no period, and copies whose
order is unknown have no delay (docs/semantics.md, section 7).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from dedup.base.errors import InputError
from dedup.base.extras import of_extra
from dedup.base.words import line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

SHOWN = 15  # Number of outlets for which a chart has room
DAYS, WEEKS = 90, 730  # At most this many days are drawn by day, or by week; more are drawn by month
LABEL_CHARACTERS = 30  # Maximum length of a name beside a chart
DELAY_HOURS = 48  # Longer delays are drawn as this delay

Draw = Callable[["DataFrame", "Axes"], None]
Table: TypeAlias = "pa.Table | DataFrame"


@dataclass(frozen=True)
class CorpusFigures:
    """Numbers with their chart. A notebook shows the numbers; `plot` draws the chart."""

    title: str
    table: DataFrame
    _draw: Draw = field(repr=False)
    _drawn: DataFrame | None = field(default=None, repr=False)  # numbers in the chart; None: those of `table`

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the chart, by default into a new figure; return its axes, empty if there are no numbers.

        Names in Chinese, Japanese or Korean need a font: `plt.rcParams["font.family"] = "Noto Sans CJK JP"`.
        Raises ImportError: matplotlib is missing; the message names the command that installs it.
        """
        with of_extra("plot", "notebook"):
            import matplotlib.pyplot as plt
        if ax is None:
            ax = plt.figure(layout="constrained").add_subplot()  # makes room for long names
        ax.set_title(self.title)
        drawn = self.table if self._drawn is None else self._drawn
        if len(drawn):
            self._draw(drawn, ax)
        for text in (*ax.get_xticklabels(), *ax.get_yticklabels(), ax.title):
            text.set_parse_math(False)  # matplotlib would read dollars in names as formulas
        return ax

    def _repr_html_(self) -> str | None:
        shown: Any = self.table
        html: str | None = shown._repr_html_()  # pandas escapes names
        return html


def status(marks: Table) -> CorpusFigures:
    """Return the number of articles by status."""
    counts = _pandas("marks", marks, "status")["status"].value_counts()
    return CorpusFigures("Articles by status", counts[counts > 0].to_frame("articles"), _bars("articles"))


def over_time(marks: Table) -> CorpusFigures:
    """Return originals and duplicates by day, or by week or month if days would be too many to see."""
    pd = _import_pandas()
    times = _pandas("marks", marks, "published_at", "status")
    usual = times["published_at"].quantile([0.01, 0.99], interpolation="nearest")
    # Leave out the first and last percent: a single wrong year would leave no room for the other times.
    times = times[times["published_at"].between(*usual)]
    time = times["published_at"]
    span = (time.max() - time.min()).days if len(time) else 0
    every, width = ("D", 0.9) if span <= DAYS else ("W", 6.5) if span <= WEEKS else ("M", 28)
    periods = time.dt.tz_localize(None).dt.to_period(every).rename("period")
    kinds = (times["status"] == "duplicate").map({False: "originals", True: "duplicates"})
    table = pd.crosstab(periods, kinds).reindex(columns=["originals", "duplicates"], fill_value=0)

    def draw(counts: DataFrame, ax: Axes) -> None:
        periods: Any = counts.index
        starts, below = periods.to_timestamp(), counts.iloc[:, 0] * 0
        for name in counts.columns:
            ax.bar(starts, counts[name], width, below, align="edge", label=name)
            below = below + counts[name]
        ax.tick_params(axis="x", rotation=30)
        ax.legend()

    return CorpusFigures("Articles over time", table, draw)


def copying(duplicates: Table) -> CorpusFigures:
    """Return how often each outlet (rows) copied each outlet (columns), as far as times tell."""
    pd = _import_pandas()
    found = _pandas("duplicates", duplicates, "publication", "original_publication", "delay_seconds")
    later = found[found["delay_seconds"] > 0]
    pairs = pd.crosstab(later["publication"], later["original_publication"])
    rows = pairs.sum(axis="columns").nlargest(SHOWN).index
    columns = pairs.sum().nlargest(SHOWN).index

    def draw(counts: DataFrame, ax: Axes) -> None:
        image = ax.imshow(counts, cmap="Blues")
        ax.set_xticks(range(len(columns)), map(_label, columns), rotation=45, ha="right")
        ax.set_yticks(range(len(rows)), map(_label, rows))
        ax.set_xlabel("first outlet")
        ax.set_ylabel("outlet with the copies")
        ax.figure.colorbar(image, ax=ax, label="duplicates")

    return CorpusFigures("Who copies whom", pairs, draw, pairs.loc[rows, columns])


def delays(duplicates: Table) -> CorpusFigures:
    """Return the delay of each copy in hours; in whole days if a date has no hour."""
    hours = _pandas("duplicates", duplicates, "delay_seconds").dropna() / 3600
    hours.columns = ["hours"]

    def draw(found: DataFrame, ax: Axes) -> None:
        ax.hist(found["hours"], bins=DELAY_HOURS)
        ax.set_xlabel(f"hours; longer delays at {DELAY_HOURS}")
        ax.set_ylabel("copies")

    return CorpusFigures("Delay of copies", hours, draw, hours.clip(upper=DELAY_HOURS))


def began(marks: Table, stories: Table) -> CorpusFigures:
    """Return the share of stories that each outlet began, among copied stories with a known first article."""
    printed = _pandas("stories", stories, "source_id", "copies")
    taken = printed[printed["copies"] > 0]["source_id"]
    marked = _pandas("marks", marks, "publication", "story_source_id", "was_first")
    first = marked[marked["was_first"].eq(True) & marked["story_source_id"].isin(taken)]["publication"]
    shares = 100 * first.astype(object).value_counts(normalize=True)
    unit = "percent of these stories"
    table = shares.to_frame(unit)
    return CorpusFigures("Who began the stories that others took up", table, _bars(unit), table.head(SHOWN))


def originals(credits: Table) -> CorpusFigures:
    """Return the percentage of original articles of each outlet, as far as this corpus knows.

    `credits`: the table of `frames.credits()`. If times do not tell which article of a story was first, each
    article may be original. So the percentage is between `known` and `known` + `unknown`.
    """
    counted = _pandas("credits", credits, "publication", "settled", "own", "own_at_most")
    counted = counted[counted["settled"] > 0].set_index("publication")
    percent = 100.0 / counted["settled"]
    table = counted[["settled"]].rename(columns={"settled": "articles"})
    table["known"] = counted["own"] * percent
    table["unknown"] = (counted["own_at_most"] - counted["own"]) * percent
    table = table.sort_values("articles", ascending=False)
    drawn = table.head(SHOWN).sort_values("known", ascending=False)[["known", "unknown"]]
    return CorpusFigures("Original reporting", table, _bars("percent of the outlet's articles"), drawn)


def added(additions: Table) -> CorpusFigures:
    """Return percentages by outlet: copies that add nothing, and copies of which over a fifth is new.

    Copies within an outlet do not count. Run `dedup sentences` first.
    """
    found = _pandas(
        "additions",
        additions,
        *("publication", "original_publication", "adds_nothing", "share_in_original", "words"),
    )
    others = found[found["publication"].astype(object) != found["original_publication"].astype(object)]
    table = (
        others.assign(
            nothing=100.0 * others["adds_nothing"].astype(float),
            fifth=100.0 * (others["share_in_original"] < 0.8),
        )
        .groupby("publication", observed=True)
        .agg(copies=("words", "size"), nothing=("nothing", "mean"), fifth=("fifth", "mean"))
        .sort_values("copies", ascending=False)
    )
    drawn = table.head(SHOWN)[["nothing"]]
    unit = "percent of the outlet's copies"
    return CorpusFigures("Copies that add nothing to their original", table, _bars(unit), drawn)


def diversity(panel: Table) -> CorpusFigures:
    """Return the effective number of origins of the five largest outlets by month, from the panel."""
    known = _pandas("panel", panel, "month", "outlet", "articles", "diversity").dropna(
        subset=["month", "outlet"]
    )
    most = known.groupby("outlet")["articles"].sum().astype(int).nlargest(5).index
    table = known[known["outlet"].isin(most)].pivot(index="month", columns="outlet", values="diversity")

    def draw(found: DataFrame, ax: Axes) -> None:
        for name in found.columns:
            ax.plot(found.index, found[name], marker=".", label=name)
        ax.set_xlabel("month")
        ax.set_ylabel("effective number of origins (1: all have one origin)")
        for text in ax.legend().get_texts():
            text.set_parse_math(False)

    return CorpusFigures("Diversity of origins", table, draw)


def _label(name: object) -> str:
    return line(str(name), most=LABEL_CHARACTERS)


def _bars(unit: str) -> Draw:
    """Return a function that draws a bar for each row, with the columns stacked in it."""

    def draw(found: DataFrame, ax: Axes) -> None:
        names = [_label(name) for name in found.index]
        left: Any = 0
        for column in found.columns:
            ax.barh(range(len(names)), found[column], 0.8, left, label=column)
            left = left + found[column]
        ax.set_yticks(range(len(names)), names)
        ax.invert_yaxis()
        ax.set_xlabel(unit)
        if len(found.columns) > 1:
            ax.legend()

    return draw


def _pandas(of: str, table: Table, *columns: str) -> DataFrame:
    """Return columns of a table as a DataFrame. `of`: the function of `frames` that made the table."""
    given: Any = table
    arrow = isinstance(given, pa.Table)
    if not isinstance(given, (pa.Table, _import_pandas().DataFrame)):
        raise InputError(f"{of} must be the table of frames.{of}(), not {type(given).__name__}")
    if missing := [name for name in columns if name not in (given.column_names if arrow else given.columns)]:
        raise InputError(f"the table has no column {', '.join(missing)}: give the table of frames.{of}()")
    found: DataFrame = given.select(columns).to_pandas() if arrow else given[[*columns]].copy()
    return found


def _import_pandas() -> Any:
    with of_extra("frames.figures", "notebook"):
        import pandas as pd
    return pd
