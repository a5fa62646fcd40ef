"""Find the news agencies that an article credits, by a list of spellings of their names.

A listed name counts only at these five places, not in running text:

- `byline`: in the byline of the article, in a line that begins with "By", or alone on a line
- `dateline`: in brackets before the first sentence, "BERLIN (dpa) -", or before a dash, "Reuters. -"
- `end`: at the end of the text, "(APA/dpa, 1.11.2015)", "- AFP", or alone on the last line
- `copyright`: in one of the last lines, if the line begins with "©" or "Copyright"
- `contribution`: "The Associated Press contributed to this report": the agency wrote part of the text
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

Place = Literal["byline", "dateline", "end", "copyright", "contribution"]

# In order of precedence: if an agency is credited at several places, the first place in this list counts.
PLACES: tuple[Place, ...] = get_args(Place)

REMEMBERED = 4_096  # Maximum of cached bylines and bracketed texts, which often recur
HEAD = TAIL = 300  # Characters at the beginning and at the end of a text that are searched
MAX_SPELLING = 60  # Maximum characters of a name

_BRACKET = 40  # Maximum characters between the brackets
_DATELINE = 100  # Maximum characters before the bracket, on the same line
_PLAIN_DATELINE = 60  # Maximum characters before the bracket, if no dash follows
_OWN_LINE = 60  # Maximum characters of a line that is a byline or the last line
_LAST_LINES = 4

_BY = ("By ", "BY ", "by ", "Von ", "VON ", "Par ", "PAR ", "Por ", "POR ", "Di ", "De ")
_SEPARATORS = re.compile(r"\s*(?:[/,;|&\n\xb7\u2022\u2013]| and | und | et | y | e | with | mit | for )\s*")
_DASHES = (" -", " \u2013", " \u2014")
_DASH = re.compile(r"[.:]?\s*(?:[-\u2013\u2014_]|$)")
_JOB = re.compile(r"(?:Staff|Writers?|Correspondents?|Reporters?|Editors?|Service|STAFF|WRITERS?)$")
_CODE = re.compile(r"[a-z]{2,5}|red\.?|[\d. :]*")  # Initials of an author or a news desk, or a date
_END_DATE = re.compile(r"[\s,]+[\d. :/-]+$")
_RIGHTS = re.compile(
    r"(?:(?:\xa9|\([cC]\)|[Cc]opyright|COPYRIGHT)[\s\xa0,:]*)+(?:by\s+|\d{4}(?:-\d{4})?,?\s*(?:by\s+)?)*"
)
_RIGHTS_BEGIN = frozenset("\xa9(cC")  # First characters of `_RIGHTS`
_CONTRIBUTED = re.compile(
    r"^[\s\u2022*]*(.{2,280}?)\s+(?:also\s+)?contributed (?:to|reporting)", re.MULTILINE
)
_CONTRIBUTING = re.compile(
    r"(?:^\s*(?:Contributing:|With) |[Mm]aterial from |Information from )(.{2,200}?)(?: was used.*)?\.?\s*$",
    re.MULTILINE,
)
_LAST = re.compile(
    r"[.!?\"\u201d\u2019\xbb)\n]\s*(?:[-\u2013\u2014]+\s*)?([^.!?\"\u201d\u2019\xbb)\n]{2,40})$"
)
_CLOSED = '.!?"\u201d\u2019\xbb)\n'
_EDGES = " \t\r\xa0-\u2013\u2014_*\u2022"


@dataclass(frozen=True, slots=True)
class Agency:
    """An agency of the list."""

    id: int
    name: str
    spellings: tuple[str, ...]  # Spellings of fewer than four characters are case-sensitive
    places: tuple[Place, ...] = PLACES  # Places where the name counts as a credit


Credit = tuple[int, Place]  # The id of an agency, and the place where it is credited


class CreditReader:
    """Reader of the credits of articles, for a list of agencies."""

    def __init__(self, agencies: Iterable[Agency]) -> None:
        self.names: dict[int, str] = {}
        self._exact: dict[str, Agency] = {}
        self._folded: dict[str, Agency] = {}
        for agency in agencies:
            self.names[agency.id] = agency.name
            for spelling in agency.spellings:
                self._exact.setdefault(spelling, agency)
                if len(spelling) > 3:
                    self._folded.setdefault(spelling.casefold(), agency)
        self._begins = self._beginnings()
        self._ends = {name[-2:].casefold() for name in self._exact}
        self._spelled = sorted(self._exact, key=len, reverse=True)
        self._bracketed = lru_cache(REMEMBERED)(self._in_brackets)
        self._named = lru_cache(REMEMBERED)(self._in_byline)

    def _beginnings(self) -> dict[str, tuple[str, ...]]:
        """Map the first three characters of a credit line to the lower-case names that can begin the line."""
        found: dict[str, set[str]] = {by[:3]: {by.casefold()} for by in _BY}
        for name in self._exact:
            begins = {name[:3]}
            if len(name) == 2:
                begins |= {f"{name}{after}" for after in " .:|,/-"}
            elif len(name) > 3:
                begins.add(name.casefold()[:3].upper())
            for three in begins:
                found.setdefault(three, set()).add(name.casefold())
        return {three: tuple(names) for three, names in found.items()}

    def read(self, text: str, byline: str | None = None) -> tuple[Credit, ...]:
        """Return the credits of an article, one for each credited agency, sorted by agency id.

        >>> reader = CreditReader([Agency(1, "AP", ("AP", "Associated Press"))])
        >>> reader.read("BRIG (AP) - It rained."), reader.read("The AP exam is hard.")
        (((1, 'dateline'),), ())
        """
        found: dict[int, Place] = {}
        if byline:
            self._add(found, self._named(byline), "byline")
        head = text[:HEAD]
        if "(" in head:
            self._dateline(found, head)
        begins = self._begins
        for line in head.split("\n"):
            if line[:1] == " ":
                line = line.lstrip()
            # `_line` is slow, so call it only for lines that begin with a whole name.
            if line[:3] in begins and line.casefold().startswith(begins[line[:3]]):
                self._line(found, line.strip())
        self._tail(found, text[-TAIL:].rstrip())
        return tuple(sorted(found.items())) if found else ()

    def _add(self, found: dict[int, Place], agencies: Iterable[Agency], place: Place) -> None:
        for agency in agencies:
            if place in agency.places:
                before = found.get(agency.id)
                if before is None or PLACES.index(place) < PLACES.index(before):
                    found[agency.id] = place

    def _agency(self, name: str) -> Agency | None:
        """Return the agency with this name, with or without "The" before the name."""
        name = name.strip(_EDGES)
        if name[:4] in ("The ", "the ", "THE "):
            name = name[4:]
        return self._exact.get(name) or (self._folded.get(name.casefold()) if len(name) > 3 else None)

    def _in_byline(self, byline: str) -> tuple[Agency, ...]:
        """Return the agencies in a byline: each is an item of a list, or precedes a job ("AP Writer")."""
        for by in _BY:
            if byline.startswith(by):
                byline = byline[len(by) :]
                break
        agencies = []
        for part in _SEPARATORS.split(byline):
            agency = self._agency(part.strip("()[]. "))
            if agency is None and _JOB.search(part):
                words = part.split(" ")
                tries = (self._agency(" ".join(words[:count])) for count in range(len(words) - 1, 0, -1))
                agency = next((one for one in tries if one), None)
            if agency:
                agencies.append(agency)
        return tuple(agencies)

    def _in_brackets(self, inside: str) -> tuple[Agency, ...]:
        """Return the agencies in brackets; () if there are words other than agencies, initials and a date."""
        agencies = []
        for part in re.split(r"\s*[/,;\u2013]\s*|\s+-\s+", _END_DATE.sub("", inside.strip())):
            agency = self._agency(_END_DATE.sub("", part))
            if agency:
                agencies.append(agency)
            elif not _CODE.fullmatch(part):
                return ()
        return tuple(agencies)

    def _dateline(self, found: dict[int, Place], head: str) -> None:
        start = head.find("(")
        while start >= 0:
            stop = head.find(")", start, start + _BRACKET)
            if stop > 0 and (agencies := self._bracketed(head[start + 1 : stop])):
                line = head.rfind("\n", 0, start) + 1
                if (head[stop + 1 : stop + 3] in _DASHES and start - line <= _DATELINE) or self._opens(
                    head[line:start].strip(), head[stop + 1 : stop + 8]
                ):
                    self._add(found, agencies, "dateline")
                    return
            start = head.find("(", start + 1)

    @staticmethod
    def _opens(before: str, after: str) -> bool:
        """Return whether the texts before and after a bracket show that the bracket is part of a dateline."""
        line = after.partition("\n")[0]
        if _DASH.match(line.lstrip()):
            return len(before) <= _DATELINE
        plain = len(before) <= _PLAIN_DATELINE and not before.endswith(".")
        return plain and (not before or before.isupper() or any(map(str.isdigit, before)))

    def _line(self, found: dict[int, Place], line: str) -> None:
        """Add the credits from a line near the beginning: a byline, or a name followed by a dash."""
        if line.startswith(_BY):
            if len(line) <= 2 * _OWN_LINE:
                self._add(found, self._named(line), "byline")
            return
        if len(line) <= _OWN_LINE and not line.endswith((".", ":")):
            first, *others = re.split(r"\s*[|,/]\s*|\s{2,}", line.strip("()"))
            if (agency := self._agency(first)) and all(len(other) < _BRACKET for other in others):
                self._add(found, [agency], "byline")
                return
        name = re.match(r"(.{2,40}?)(?:[.:]\s?[-\u2013\u2014]|\s[-\u2013\u2014]\s)", line)
        if name and (agency := self._agency(name[1])):
            self._add(found, [agency], "dateline")

    def _tail(self, found: dict[int, Place], tail: str) -> None:
        if tail.endswith((")", ").")):
            start = tail.rfind("(")
            inside = tail[start + 1 :].rstrip(".)")
            closed = tail[:start].rstrip(" \xa0")[-1:] in _CLOSED or inside[-4:].isdecimal()
            if start > 0 and len(inside) <= _BRACKET and closed:
                self._add(found, self._bracketed(inside), "end")
        elif tail[-2:].casefold() in self._ends:
            self._closing(found, tail)
        lines = [line.strip(_EDGES) for line in tail.split("\n")]
        if len(lines) > 1:
            for line in lines[-_LAST_LINES:]:
                if line[-2:].casefold() in self._ends and len(line) <= _OWN_LINE:
                    parts = [self._agency(part) for part in re.split(r"\s*[/,]\s*", line)]
                    if all(parts):
                        self._add(found, [part for part in parts if part], "end")
        for line in lines:
            if line[:1] in _RIGHTS_BEGIN and (match := _RIGHTS.match(line)):
                self._add(found, self._leading(line[match.end() :]), "copyright")
        last = lines[-1].strip(f"{_EDGES}(")
        if len(last) <= _OWN_LINE and ("ewsdesk" in tail or "ewsroom" in tail or "ureau " in tail):
            self._add(found, self._leading(last), "end")
        # The two searches are slow on long lines, so run them only if a typical word is present.
        if (
            "ontribut" in tail
            or "aterial from" in tail
            or "nformation from" in tail
            or (len(lines) > 1 and ("\nWith " in tail or "\n With " in tail))
        ):
            for match in (*_CONTRIBUTED.finditer(tail), *_CONTRIBUTING.finditer(tail)):
                self._add(found, self._listed(match[1]), "contribution")

    def _closing(self, found: dict[int, Place], tail: str) -> None:
        """Add the agencies named after the end of the last sentence: `… he said. - AFP`."""
        last = _LAST.search(tail[-_OWN_LINE:])
        if last:
            agencies = [self._agency(part) for part in last[1].split("/")]
            if all(agencies):
                self._add(found, [agency for agency in agencies if agency], "end")

    def _leading(self, rest: str) -> list[Agency]:
        """Return the agency whose name begins a text; the longest matching spelling decides."""
        rest = rest.removeprefix("The ").removeprefix("the ")
        for spelling in self._spelled:
            if rest.startswith(spelling) and not rest[len(spelling) : len(spelling) + 1].isalnum():
                return [self._exact[spelling]]
        return []

    def _listed(self, names: str) -> list[Agency]:
        """Return the agencies in a list of contributors, which can also name people."""
        agencies = []
        for part in _SEPARATORS.split(names.rpartition(". ")[2]):
            agency = self._agency(part.strip("()[]. ")) or next(iter(self._leading(part)), None)
            if agency:
                agencies.append(agency)
        return agencies
