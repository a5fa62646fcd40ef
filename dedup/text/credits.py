"""Find the news agencies that an article credits, by a list of spellings of their names.

A listed name counts only at these seven places, not within a sentence such as "he told Reuters":

- `byline`: in the byline of the article, in a line that begins with "By" or ends with ", Associated Press",
  alone on a line, or before a date. In a list of over five names a name between two persons does not count.
- `dateline`: in brackets before the first sentence, "BERLIN (dpa) -", or before a dash, "Reuters. -"
- `end`: at the end of the text, "(APA/dpa, 1.11.2015)", "- AFP", "Source: AFP", or alone on the last line
- `copyright`: in one of the last lines that begins with "©" or "Copyright" and names a year or rights
- `item`: like a dateline or an end, but in the middle of the text: the agency wrote one item of a column
- `contribution`: "The Associated Press contributed to this report": the agency wrote part of the text
- `photo`: "Ada Roe/AP", "AP Photo", "© AFP" alone: the agency took a picture
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import Literal, get_args

from dedup.text import ends

Place = Literal["byline", "dateline", "end", "copyright", "item", "contribution", "photo"]

# In order of precedence: if an agency is credited at several places, the first place in this list counts.
PLACES: tuple[Place, ...] = get_args(Place)

REMEMBERED = 4_096  # Maximum number of cached bylines and bracketed texts; the same ones often recur
HEAD = TAIL = 300  # Characters at the beginning and at the end of a text that are searched
BYLINES = 600  # Characters at the beginning that are searched for bylines, which captions can precede
AFTER_CAPTIONS = 6_000  # Characters at the beginning that are searched for a dateline after captions
CONTRIBUTIONS = 600  # Characters at the end that are searched for lists of contributors
MAX_SPELLING = 60  # Maximum characters of a name
# Maximum number of authors in a byline. A longer list has all names on the page, not only the authors.
MAX_AUTHORS = 5

_DATELINE = 100  # Maximum characters of a dateline before its bracket or dash
_PLAIN_DATELINE = 60  # Maximum characters of a dateline before its bracket, if no dash follows
_OWN_LINE = 60  # Maximum characters of a line that is a byline or the last line
_LAST_LINES = 4
_CAPTION = 250  # Maximum characters of a caption: a paragraph of one line, with a name in brackets at the end

_BY = (
    *("By ", "BY ", "by ", "By: ", "Von ", "VON ", "Par ", "PAR ", "Por ", "POR "),
    *("Di ", "De ", "de l'", "de l\u2019"),
)
_SEPARATORS = re.compile(
    r"\s*[/,;|&\n\xb7\u2022\u2013\u2014](?:\s*(?:and|as well as) )?\s*"
    r"|\s+(?:-|and|und|et|y|e|with|mit|for|as well as)\s+"
)
_WITH = re.compile(r"(?:avec|mit|with|con|com)\s+", re.IGNORECASE)
_DASHES = "-\u2013\u2014_\ufffd"  # The last character stands for one that could not be decoded
_JOB = re.compile(r"(?:Staff|Writers?|Correspondents?|Reporters?|Editors?|Service|STAFF|WRITERS?)$")
# A part of a bracket that may stand beside an agency: initials of an author or a news desk, another medium,
# or a date. With any other part the bracket is no credit.
_CODE = re.compile(r"[a-z]{2,5}|[A-Z]{2,5}|[A-Za-z][a-z]{1,6}\.|[\d. :]*")
_END_DATE = re.compile(r"[\s,]+[\d. :/-]+$")
_WHEN = re.compile(
    r"[\s,|\xb7\u2022\u2013\u2014-]*(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|[Pp]ublished|[Uu]pdated|[Pp]osted"
    r"|Last |\d{1,2}[:/. ]|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.? \d)"
)
_PERSON = re.compile(r"(?:[A-Z][\w.'\u2019-]*[ ,&]+(?:and )?){2,8}")
_RIGHTS = re.compile(
    r"(?:(?:\xa9|\([cC]\)|(?:[Cc]opyright|COPYRIGHT)(?![^\W\d_]))[\s\xa0,:]*)+"
    r"(?:by\s+|\d{4}(?:-\d{4})?,?\s*(?:by\s+)?)*"
)
_RIGHTS_BEGIN = frozenset("\xa9(cC")  # Characters with which a match of `_RIGHTS` can begin
_CONTRIBUTED = re.compile(
    r"^[\s\u2022*]*(.{2,600}?)\s+(?:also\s+)?contributed\b"
    r"(?: (?:to|reporting)[\w ]*,? (?:along )?with (.{2,200})(?!\w))?",
    re.MULTILINE,
)
# Words before a list of contributors. The first letter is left out, since it may be a capital. "With " counts
# only at the start of a line, since it begins ordinary sentences, too.
_CONTRIBUTING = (
    *("ontributing: ", "aterial from ", "nformation from ", "dditional reporting by "),
    *("\nWith ", "\n With "),
)
_FILES = re.compile(r"(?:files|reports|reporting) (?:from|by) ")
_SENTENCE = re.compile(r"(?<=[a-z]{3})[.!?][\"\u201d\u2019]? ?(?=[A-Z])| was used ")
_PROVIDED = re.compile(
    r"(?:^Sources?:|\b(?:reported|written|provided|distributed|supplied|produced) by)(?: [Tt]he)? $"
)
_BRACKETS = re.compile(r"\(\s?([^()\n]{2,40})\)")
_DASHED = re.compile(r"\u2014 ?([A-Z][\w .]{1,24}?)[ .]*[\u2014\u2013-]")
_SLASHED = re.compile(r"/ ([A-Za-z]{2,6}(?:-[A-Za-z]{2,6}){0,3})[ .]*(?:\n|$)")
_PROSE = re.compile(r"[a-z\xe0-\xff]{3,}\s+[a-z\xe0-\xff]{2,}$")  # Running text at the end
_CAPTIONED = re.compile(r"Modal Trigger|aption|nlarge|mages? |hoto|Getty|icture|copyright")
_PHOTO_OF = re.compile(r"/ ?|hotos?: ?|opyright |aption |Trigger |\bvia |hotos? by ")
_PHOTO = re.compile(r" ?(?:[Pp]hotos?\b|/[A-Z][a-z]+ [A-Z]|PHOTO|[/|] ?(?:Getty|Landov|Corbis)| via Getty)")
_LAST = re.compile(
    r"[.!?\"\u201d\u2019\xbb\n]\s*(?:[-\u2013\u2014]+\s*)?([^.!?\"\u201d\u2019\xbb)\n]{2,40})$"
)
_CLOSED = '.!?"\u201d\u2019\xbb)\ufffd\n'
_WORD_BREAK = re.compile(r"[\W_]+")
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
        self._words = {_WORD_BREAK.split(name.casefold().lstrip(_EDGES))[0] for name in self._exact}
        self._begins = self._beginnings()
        self._ends = {name[-2:].casefold() for name in self._exact}
        self._starting: dict[str, list[str]] = {}
        self._ending: dict[str, list[str]] = {}
        for one in sorted(self._exact, key=len, reverse=True):
            self._starting.setdefault(one[:2], []).append(one)
            self._ending.setdefault(one[-2:], []).append(one)
        self._bracketed = lru_cache(REMEMBERED)(self._in_brackets)
        self._named = lru_cache(REMEMBERED)(self._in_byline)

    def _beginnings(self) -> dict[str, tuple[str, ...]]:
        """Map the first three characters of a credit line to the lower-case names that can begin the line."""
        found: dict[str, set[str]] = {"The": set()}
        for by in _BY:
            found.setdefault(by[:3], set()).add(by.casefold())
        for name in self._exact:
            begins = {name[:3]}
            if len(name) == 2:
                begins |= {f"{name}{after}" for after in " .:|,/-"}
            elif len(name) > 3:
                begins.add(name.casefold()[:3].upper())
            for three in begins:
                found.setdefault(three, set()).add(name.casefold())
        return {three: tuple(names) for three, names in found.items()}

    def read(
        self, text: str, byline: str | None = None, *, beginning: bool = True, end: bool = True
    ) -> tuple[Credit, ...]:
        """Return the credits of an article, one for each credited agency, sorted by agency id.

        `beginning`, `end`: False if `WordFinder` found no name there.

        >>> reader = CreditReader([Agency(1, "AP", ("AP", "Associated Press"))])
        >>> reader.read("BRIG (AP) - It rained."), reader.read("The AP exam is hard.")
        (((1, 'dateline'),), ())
        """
        found: dict[int, Place] = {}
        if byline:
            self._add(found, self._named(byline), "byline")
        self._within(found, text)
        if beginning:
            self._bylines(found, ends.first(text, BYLINES))
            self._photos(found, ends.first(text, HEAD))
        if end:
            tail = ends.last(text, TAIL)
            self._tail(found, tail.rstrip(), text)
            if "/" in tail or "hoto" in tail:
                self._photos(found, tail)
        if "item" in found.values():  # If several agencies wrote items, none wrote the whole text
            found = {id: "item" if place in ("dateline", "end") else place for id, place in found.items()}
        return tuple(sorted(found.items())) if found else ()

    def _bylines(self, found: dict[int, Place], part: str) -> None:
        begins, ending, above = self._begins, self._ending, ""
        for line in part.split("\n"):
            if line[:1] == " ":
                line = line.lstrip()
            # `_line` is slow, so call it only for lines that begin or may end with a name.
            if line[:3] in begins or line[-2:] in ending:
                name = line[4:] if line[:4] == "The " else line
                if name.casefold().startswith(begins.get(name[:3], ())) or (
                    line[-2:] in ending and len(line) <= _OWN_LINE and self._last_name(line)
                ):
                    self._line(found, line.strip(), above)
            if line:
                above = line

    def _add(self, found: dict[int, Place], agencies: Iterable[Agency], place: Place) -> None:
        for agency in agencies:
            if place in agency.places:
                before = found.setdefault(agency.id, place)
                if before != place and PLACES.index(place) < PLACES.index(before):
                    found[agency.id] = place

    def _agency(self, name: str) -> Agency | None:
        """Return the agency with this name, with or without "The" before the name."""
        name = name.strip(_EDGES)
        if name[:4] in ("The ", "the ", "THE "):
            name = name[4:]
        return self._exact.get(name) or (self._folded.get(name.casefold()) if len(name) > 3 else None)

    def _can_name(self, part: str) -> bool:
        """Return whether a part of a text has the first word of any name: a quick test before a search."""
        return not self._words.isdisjoint(_WORD_BREAK.split(part.casefold()))

    def _in_byline(self, byline: str) -> tuple[Agency, ...]:
        """Return the agencies in a byline. A name is an item of a list, or precedes a job or a date."""
        byline = byline[next((len(by) for by in _BY if byline.startswith(by)), 0) :]
        names = []  # the agencies of each name; [] for a person
        for part in _SEPARATORS.split(byline):
            agency = self._agency(part.strip("()[]. "))
            if agency is None and _JOB.search(part):
                words = part.split(" ")
                tries = (self._agency(" ".join(words[:count])) for count in range(len(words) - 1, 0, -1))
                agency = next((one for one in tries if one), None)
            agencies = [agency] if agency else self._dated(part)
            if agencies or not (_WHEN.match(part) or any(map(str.isdigit, part))):
                names.append(agencies)
        if len(names) > MAX_AUTHORS:  # Count only agencies at either end of the list
            names = [*takewhile(bool, names), *takewhile(bool, reversed(names))]
        return tuple(agency for agencies in names for agency in agencies)

    def _dated(self, line: str) -> list[Agency]:
        """Return the agency that begins a line, if a date follows: `Associated Press Monday, July 16`."""
        line = line.strip().removeprefix("The ")
        if line[:2] not in self._starting:
            return []
        agencies = self._leading(line)
        rest = next(
            (line[len(name) :] for name in self._starting.get(line[:2], ()) if line.startswith(name)), ""
        )
        return agencies if agencies and _WHEN.match(rest) else []

    def _in_brackets(self, inside: str) -> tuple[Agency, ...]:
        """Return the agencies in brackets; () if there are words other than agencies, initials and a date."""
        agencies = []
        # Brackets that begin with "The" are a link to an article of the agency, not a credit. The quick test
        # cannot find a name with full stops, such as A.F.P., so skip the test if there is a full stop.
        if inside.startswith("The ") or ("." not in inside and not self._can_name(inside)):
            return ()
        for part in re.split(r"\s*[/,;\u2013]\s*|\s+-\s+", _END_DATE.sub("", inside.strip())):
            name = _END_DATE.sub("", part).strip()
            agency = self._agency(name)
            if not agency and (name[-1:] == "." or ". " in name):
                # Typesetters put spaces and full stops into names: "Havas .", "A. F. P."
                tight = name.replace(" ", "")
                tries = (name.rstrip(" ."), tight, tight.replace(".", ""))
                agency = next(filter(None, map(self._agency, tries)), None)
            joined = [self._agency(one) for one in name.split("-")] if not agency and "-" in name else []
            if agency:
                agencies.append(agency)
            elif joined and all(joined):
                agencies += [one for one in joined if one]
            elif not _CODE.fullmatch(part):
                return ()
        return tuple(agencies)

    def _photos(self, found: dict[int, Place], part: str) -> bool:
        """Add the credits of photos in a part of a text; return whether there are any."""
        if not ("/" in part or "hoto" in part or "via " in part or "aption" in part or "opyright" in part):
            return False
        agencies = [
            one for match in _PHOTO_OF.finditer(part) for one in self._leading(part[match.end() :], "")
        ]
        for match in _PHOTO.finditer(part) if "hoto" in part or "/" in part or "PHOTO" in part else ():
            if name := self._last_name(part[: match.start()]):
                agencies.append(self._exact[name])
        self._add(found, agencies, "photo")
        return bool(agencies)

    def _within(self, found: dict[int, Place], text: str) -> None:
        """Add the credits in brackets, between dashes or after slashes, in the whole text."""
        for match in _BRACKETS.finditer(text):
            if agencies := self._bracketed(match[1]):
                if within := self._place(text, match.start(), match.end()):
                    self._add(found, agencies, within)
            elif match.end() + 2 >= len(text) and (given := _WITH.match(match[1])):
                self._add(found, self._bracketed(match[1][given.end() :]), "contribution")
        for match in _DASHED.finditer(text) if "\u2014" in text else ():
            before = text[max(0, match.start() - 3) : match.start()].rstrip()
            if before[-1:].isdecimal() or before[-1:] in (".", ","):
                self._add(found, self._bracketed(match[1]), "dateline" if match.start() < HEAD else "item")
        for match in _SLASHED.finditer(text) if "/" in text else ():
            if text[max(0, match.start() - 2) : match.start()].rstrip()[-1:] in _CLOSED:
                self._add(found, self._bracketed(match[1]), "end" if match.end() == len(text) else "item")

    def _place(self, text: str, start: int, stop: int) -> Place | None:
        """Return where a bracket with agencies stands, by the text around it; None if it is no credit."""
        line = text.rfind("\n", 0, start) + 1
        before = text[max(line, start - _DATELINE - 1) : start].strip(" \xa0\t\r[")
        rest = text[stop : stop + 12].lstrip(" .,:;)]'\u2019\xa0\r")
        above = text[max(0, line - _DATELINE) : max(0, line - 1)]
        captioned = HEAD <= start < AFTER_CAPTIONS and self._photos({}, above)
        amid: Place = "dateline" if start < HEAD or captioned else "item"
        ends = stop + 12 >= len(text) and not rest.strip(f"\n{_EDGES}.")
        if not ends and len(self._last_name(before)) > 3:
            return None  # The bracket has a short form of the name: "The Associated Press (AP) - an agency"
        if not ends and rest and rest[0] in _DASHES:
            prose = before[-1:].islower() and _PROSE.search(before)
            return amid if len(before) <= _DATELINE and not prose else None
        above = above.rstrip(" \xa0\r")
        closed = (before or above or "\n")[-1] in f"{_CLOSED}," or text[stop - 5 : stop - 1].isdecimal()
        if ends:
            number = any(map(str.isdigit, before[-20:])) and rest.strip()
            return "end" if closed or not before or number else None
        if rest[:1] in ("\n", "") and closed and (before or above):
            # A caption is a single line. If the line continues the line above, the brackets are the credit of
            # an item of a column, not of a photo.
            wrapped = above and text[line - 2 : line - 1] not in ("\n", "") and above[-1] not in _CLOSED
            return "item" if wrapped or not before or start - line > _CAPTION else "photo"
        if len(before) > _PLAIN_DATELINE or not (rest[:1].isupper() or rest[:1] in '"\u201c\xab\u201e\n'):
            return None
        words = before.split()
        ahead = (before or above)[-16:]
        if not before and start < HEAD and not above:
            return amid
        dateline = before.isupper() or any(map(str.isdigit, ahead)) or (len(words) <= 2 and closed and before)
        return amid if dateline else None

    def _line(self, found: dict[int, Place], line: str, above: str) -> None:
        """Add the credits from a line near the beginning: a byline, or a name followed by a dash."""
        if line.startswith(_BY):
            if len(line) <= 2 * _OWN_LINE:
                self._add(found, self._named(line), "byline")
            return
        if len(line) <= _OWN_LINE and not line.endswith((".", ":")):
            first, *others = re.split(r"\s*[|,]\s*|\s{2,}", line.strip("()") if line[-1:] == ")" else line)
            agencies = self._bracketed(first) if self._agency(first.split("/")[0]) else ()
            if agencies and all(len(other.split()) < 3 or _WHEN.match(other) for other in others):
                self._add(found, agencies, "photo" if _CAPTIONED.search(above) else "byline")
                return
            name, comma, last = line.rpartition(",")
            if comma and _PERSON.fullmatch(f"{name} ") and (agency := self._agency(last)):
                # A name below a quotation is the speaker's.
                if above.rstrip()[-1:] not in ('"', "\u201d", "\xbb"):
                    self._add(found, [agency], "photo" if _CAPTIONED.search(above) else "byline")
                return
        if len(line) <= 2 * _OWN_LINE and (agencies := tuple(self._dated(line))):
            self._add(found, agencies, "byline")
            return
        dashed = re.match(r"(.{2,40}?)(?:[.:]\s?[-\u2013\u2014]|\s[-\u2013\u2014]\s)", line)
        if dashed and (agency := self._agency(dashed[1])):
            self._add(found, [agency], "dateline")

    def _tail(self, found: dict[int, Place], tail: str, text: str) -> None:
        if tail[-2:].casefold() in self._ends:
            self._closing(found, tail)
        lines = [line.strip(_EDGES) for line in tail.split("\n")]
        if len(lines) > 1:
            for line in lines[-_LAST_LINES:]:
                if len(line) > _OWN_LINE:
                    continue
                if line[-2:].casefold() in self._ends and self._agency(re.split(r"[/,]", line)[-1]):
                    self._add(found, self._bracketed(line), "end")
                if line[:3] in self._begins and line.startswith(_BY):
                    self._add(found, self._named(line), "end")
        if "ource" in tail or "ed by" in tail:
            for line in (line.rstrip(".") for line in lines[-_LAST_LINES:]):
                if (name := self._last_name(line)) and _PROVIDED.search(line[: -len(name)]):
                    self._add(found, [self._exact[name]], "end")
        for line in lines:
            if line[:1] in _RIGHTS_BEGIN and (rights := _RIGHTS.match(line)):
                owner = line[rights.end() :]
                alone = self._agency(owner) and not any(map(str.isdigit, line))
                self._add(found, self._leading(owner), "photo" if alone else "copyright")
        last = lines[-1].strip(f"{_EDGES}(")
        if len(last) <= _OWN_LINE and ("ewsdesk" in tail or "ewsroom" in tail or "ureau " in tail):
            self._add(found, self._leading(last), "end")
        listed = "ontribut" in tail or "ation from " in tail or "aterial from " in tail
        if listed or "reporting by" in tail or "With " in tail:
            self._contributions(found, ends.last(text, CONTRIBUTIONS))

    def _contributions(self, found: dict[int, Place], tail: str) -> None:
        for match in _CONTRIBUTED.finditer(tail) if "ontributed" in tail else ():
            self._add(found, self._listed(_SENTENCE.split(match[1])[-1]), "contribution")
            self._add(found, self._listed(match[2] or ""), "contribution")
        for words in _CONTRIBUTING:
            if words in tail and self._can_name(names := tail.partition(words)[2].partition("\n")[0]):
                names = _SENTENCE.split(_FILES.sub("\n", names, count=1))[0]
                self._add(found, self._listed(names.rstrip(" .)")), "contribution")

    def _closing(self, found: dict[int, Place], tail: str) -> None:
        """Add the agencies named after the end of the last sentence: `… he said. - AFP`."""
        if last := _LAST.search(tail[-_OWN_LINE:]):
            agencies = [self._agency(part) for part in last[1].split("/")]
            if all(agencies):
                self._add(found, [agency for agency in agencies if agency], "end")

    def _leading(self, rest: str, article: str = "The ") -> list[Agency]:
        """Return the agency whose name begins a text; the longest matching spelling decides."""
        rest = rest.removeprefix(article).removeprefix(article.lower())
        for spelling in self._starting.get(rest[:2], ()):
            if rest.startswith(spelling) and not rest[len(spelling) : len(spelling) + 1].isalnum():
                return [self._exact[spelling]]
        return []

    def _last_name(self, text: str) -> str:
        """Return the longest spelling that ends a text; "" if there is none."""
        for spelling in self._ending.get(text[-2:], ()):
            if text.endswith(spelling) and not text[-len(spelling) - 1 : -len(spelling)].isalnum():
                return spelling
        return ""

    def _listed(self, names: str) -> list[Agency]:
        """Return the agencies in a list of contributors, which can also name people."""
        agencies: list[Agency] = []
        for part in _SEPARATORS.split(names):
            agency = self._agency(part.strip("()[]. ")) or next(iter(self._leading(part)), None)
            if agency:
                agencies.append(agency)
        return agencies
