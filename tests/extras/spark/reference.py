"""The rounds: a corpus decided many articles at a time (docs/semantics.md, section 6).

The oracle takes one article after the other. Where articles are rows of tables on many machines, nothing goes
one by one. This is what such an engine does instead, step by step in plain Python: the specification of a
distributed engine, for small corpora. It gives the oracle's answer, whatever `Options` says.

It decides *nodes* (`nodes.py`), classes of articles with equal fingerprints. A node acts through its first
member, whose number in canonical order it bears. Nodes *meet* where they share a key. While some are
undecided:

    place     of a node under a key: how nth it is of the undecided nodes with that key
    head    w: the largest one whose pairs of places are within the budget
    eligible  the nodes whose place is at most w under ALL their keys; who is eligible stays so
    HEAD    score each newly eligible b with each undecided a < b that it meets
    DECIDE    an eligible b is out if one of the duplicates a < b so found is canonical; it is canonical if
              all of them are out; otherwise it waits
    STAR      score each newly canonical c with each x that it meets and that HEAD has not shown it:
              1. x > c that was never eligible; if it is undecided and a duplicate of c, it is out
              2. x < c that was out before c was eligible, and has a member after c

Why the result is that of one article after the other:

*Classes.* Members of a class are duplicates of each other by content, and have the same relations with all
other articles, since an article that a pin names is a node of its own. So if the first member is canonical,
the others are not; and if an earlier canonical article is a duplicate of the first member, it is one of them
all. Only the originals differ: those of a member are the canonical duplicates of its class before it.

*Nothing is missed.* A canonical c is scored with each x that it meets, where marks or pairs can rest on it;
once; and with all the keys that they share.
 - x > c. If x became eligible while c was undecided, HEAD scored them. If later or never, STAR 1 of c did.
 - x < c. If x was undecided when c became eligible, HEAD scored them. Otherwise x had been decided: if it
   is canonical, its own STAR 1 scored them; if it is out, STAR 2 of c does, if a member of x comes after c.
 - An eligible b is within the head under all its keys, and an undecided a < b stands before it: so HEAD
   sees all that b shares with it. STAR looks at all members of the keys of c.

*It is right.* A node that is out has an earlier canonical duplicate. Let b be canonical and a < b a duplicate
of it. If a was undecided when b became eligible, DECIDE has seen that a is out. If a had been decided before,
it is out too: were it canonical, its STAR 1 would have put b out. So a node is canonical exactly when no
earlier canonical node is a duplicate of it, and only one set of nodes is so (section 5).

*It ends.* The first undecided node has the first place under all its keys, so it is eligible. All before it
is decided, so DECIDE decides it: each round decides one node at least.

None of this asks how wide the head is, how classes are divided, or whether all start who might.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from dedup.base.settings import Settings
from dedup.extras.spark.options import HEAD_MINIMUM, PAIRS_PER_ENTRY, head
from dedup.rules.marks import Mark, Pair, Partner, best_match, decide, kept_originals, kept_similar
from dedup.rules.oracle import Pins, Subject
from dedup.rules.pair import Profile, Related, Relation, relate, relate_scored, score_counted
from tests.reference.nodes import Groups, Kind, Node, NodePair, Said, groups, in_order, nodes, numbered

Meetings = Mapping[NodePair, Sequence[Kind]]
"""The keys that two nodes share, by their kinds: as many sentences as the two have in common."""


@dataclass(frozen=True, slots=True)
class Options:
    """Choices of an engine that do not change the result.

    Attributes:
        head_minimum: places in the smallest head, from 1 on.
        budget: pairs of places a round may look at, summed over the keys, unless the smallest head has
            more; None: `PAIRS_PER_ENTRY` for each entry of a group.
        part: how classes are divided into nodes; see `nodes`.
        starts: given the round, from 1, and a node inside the head: whether it becomes eligible in it.
            The first undecided node always does.
    """

    head_minimum: int = HEAD_MINIMUM
    budget: int | None = None
    part: Callable[[int], int] = lambda _: 0
    starts: Callable[[int, int], bool] = lambda _round, _node: True


@dataclass(frozen=True, slots=True)
class Round:
    """Counts of a round: nodes or pairs, except the first attribute.

    Attributes:
        head: places in the head.
        undecided: undecided nodes at the start of the round.
        eligible: nodes that became eligible in this round.
        waiting: eligible nodes that are undecided at the end of the round.
        head_pairs, star_later, star_earlier: pairs scored by HEAD, and by the two cases of STAR.
        put_out: nodes put out by STAR.
        edges: related pairs among all that were scored.
    """

    head: int
    undecided: int
    eligible: int
    waiting: int
    head_pairs: int
    star_later: int
    star_earlier: int
    put_out: int
    edges: int

    @property
    def pairs(self) -> int:
        """Pairs scored."""
        return self.head_pairs + self.star_later + self.star_earlier


@dataclass(frozen=True, slots=True)
class ReferenceMarks:
    """The marks of a corpus.

    Attributes:
        marks: of every article, by id.
        pairs: the rows of `match`.
        best_match: (article_id, other_id) of pairs whose later article is the one most like the earlier one.
        rounds: the counts of each round.
    """

    marks: dict[int, Mark]
    pairs: set[Pair]
    best_match: set[tuple[int, int]]
    rounds: list[Round]


@dataclass(slots=True)
class State:
    """The state of the nodes, by number: undecided, eligible or decided.

    Attributes:
        eligible_in, decided_in: the round in which a node became eligible, or was decided.
        canonical: whether a decided node is canonical.
        duplicates: earlier duplicates of an eligible node that HEAD has found.
        edges: the related pairs.
    """

    undecided: set[int]
    eligible_in: dict[int, int] = field(default_factory=dict)
    decided_in: dict[int, int] = field(default_factory=dict)
    canonical: dict[int, bool] = field(default_factory=dict)
    duplicates: dict[int, list[int]] = field(default_factory=dict)
    edges: dict[NodePair, Related] = field(default_factory=dict)

    def settle(self, node: int, canonical: bool, number: int) -> None:
        """Decide a node in a round."""
        self.undecided.remove(node)
        self.decided_in[node], self.canonical[node] = number, canonical


def marks(
    subjects: Sequence[Subject],
    common: Collection[int],
    settings: Settings,
    pins: Pins | None = None,
    options: Options | None = None,
) -> ReferenceMarks:
    """Return the marks and pairs of a corpus, as `oracle.marks` does (docs/semantics.md, sections 3 to 5)."""
    ordered = in_order(subjects)
    said = numbered(ordered, pins or {})
    options = options or Options()
    found = nodes(ordered, said, options.part)
    profiles = {node.first: Profile.of(node.fingerprint, common, node.published) for node in found}
    state, report = decided(found, groups(found, common, said), profiles, settings, said, options)
    return results(ordered, found, state, profiles, settings, report)


def place(given: Groups, undecided: Set[int]) -> Groups:
    """Return the undecided nodes under each key; the place of a node is its position in that list."""
    return {key: [node for node in own if node in undecided] for key, own in given.items()}


def eligible(places: Groups, w: int, undecided: Collection[int]) -> set[int]:
    """The undecided nodes whose place is at most w under all their keys."""
    return set(undecided).difference(*(own[w:] for own in places.values()))


def head_meetings(places: Groups, w: int, newly: Set[int]) -> Meetings:
    """HEAD: return the pairs within the head of a newly eligible node and an earlier undecided node."""
    found: dict[NodePair, list[Kind]] = {}
    for (kind, _), own in places.items():
        for at, b in enumerate(own[:w]):
            if b in newly:
                for a in own[:at]:
                    found.setdefault((a, b), []).append(kind)
    return found


def star_meetings(given: Groups, newly: Set[int], last: Mapping[int, int], state: State) -> Meetings:
    """STAR: the pairs of a newly canonical node and any that HEAD has not shown it.

    Args:
        last: node to the number of its last member.
    """
    found: dict[NodePair, list[Kind]] = {}
    for (kind, _), own in given.items():
        for c in newly & set(own):
            for x in own:
                if star_later(c, x, state) or star_earlier(c, x, last[x], state):
                    found.setdefault((min(c, x), max(c, x)), []).append(kind)
    return found


def star_later(c: int, x: int, state: State) -> bool:
    """STAR 1: return whether x is later than c and was never eligible, whether x is decided or not."""
    return x > c and x not in state.eligible_in


def star_earlier(c: int, x: int, last: int, state: State) -> bool:
    """STAR 2: return whether x is earlier than c, was out before c was eligible, and has a member after c."""
    return x < c < last and not state.canonical.get(x, True) and state.decided_in[x] < state.eligible_in[c]


def score(
    met: Meetings, profiles: Mapping[int, Profile], settings: Settings, said: Said
) -> dict[NodePair, Related]:
    """Return the related pairs among pairs of nodes that meet."""
    found: dict[NodePair, Related] = {}
    for (a, b), kinds in met.items():
        scores = score_counted(
            profiles[a],
            profiles[b],
            settings,
            shared=kinds.count("sentence"),
            same_bucket="bucket" in kinds,
        )
        related = relate_scored(scores, settings, said.get((a, b)))
        if related:
            found[a, b] = related
    return found


def peel(
    waiting: Iterable[int], duplicates: Mapping[int, Iterable[int]], canonical: Mapping[int, bool]
) -> dict[int, bool]:
    """DECIDE: return the eligible undecided nodes that can be decided, and whether they are canonical.

    Args:
        duplicates: earlier duplicates of each node that HEAD has found.
        canonical: whether a decided node is canonical.
    """
    found: dict[int, bool] = {}
    for b in sorted(waiting):  # every node before b that can be decided is decided by now
        earlier = {canonical.get(a, found.get(a)) for a in duplicates.get(b, ())}
        if True in earlier:
            found[b] = False
        elif None not in earlier:
            found[b] = True
    return found


def decided(
    found: Sequence[Node],
    given: Groups,
    profiles: Mapping[int, Profile],
    settings: Settings,
    said: Said,
    options: Options,
) -> tuple[State, list[Round]]:
    """Decide all nodes, round by round; return their state, and the rounds."""
    state = State({node.first for node in found})
    last = {node.first: node.last for node in found}
    entries = sum(len(own) for own in given.values())
    budget = PAIRS_PER_ENTRY * entries if options.budget is None else options.budget
    report: list[Round] = []
    while state.undecided:
        number, undecided = len(report) + 1, len(state.undecided)
        places = place(given, state.undecided)
        w = head(Counter(len(own) for own in places.values()), options.head_minimum, budget)
        first = min(state.undecided)
        newly = {
            node
            for node in eligible(places, w, state.undecided) - state.eligible_in.keys()
            if node == first or options.starts(number, node)
        }
        state.eligible_in |= dict.fromkeys(newly, number)
        met = head_meetings(places, w, newly)
        edges = score(met, profiles, settings, said)
        for (a, b), related in edges.items():
            if related.relation is Relation.DUPLICATE:
                state.duplicates.setdefault(b, []).append(a)
        by_window = peel(state.undecided & state.eligible_in.keys(), state.duplicates, state.canonical)
        for node, canonical in by_window.items():
            state.settle(node, canonical, number)
        centres = {node for node, canonical in by_window.items() if canonical}
        star = star_meetings(given, centres, last, state)
        edges |= (by_star := score(star, profiles, settings, said))
        out = {
            x
            for (_, x), related in by_star.items()
            if related.relation is Relation.DUPLICATE and x in state.undecided
        }
        for x in out:
            state.settle(x, False, number)
        state.edges |= edges
        later = sum(a in centres for a, _ in star)
        waiting = len(state.undecided & state.eligible_in.keys())
        report.append(
            Round(w, undecided, len(newly), waiting, len(met), later, len(star) - later, len(out), len(edges))
        )
    return state, report


def results(
    ordered: Sequence[Subject],
    found: Sequence[Node],
    state: State,
    profiles: Mapping[int, Profile],
    settings: Settings,
    rounds: list[Round],
) -> ReferenceMarks:
    """Return the marks of all members, the kept pairs, and the pairs of best matches."""
    originals: dict[int, list[int]] = {}
    before: dict[int, list[int]] = {}
    after: dict[int, list[int]] = {}
    for (a, b), related in state.edges.items():
        if related.relation is Relation.DUPLICATE:
            for c, x in ((a, b), (b, a)):
                if state.canonical[c]:
                    originals.setdefault(x, []).append(c)
        elif state.canonical[a] and state.canonical[b]:
            before.setdefault(b, []).append(a)
            after.setdefault(a, []).append(b)

    def partners(node: int, others: Mapping[int, Iterable[int]]) -> list[Partner]:
        edges = ((c, state.edges[min(node, c), max(node, c)]) for c in others.get(node, ()))
        return [(ordered[c].order, ordered[c].id, related) for c, related in edges]

    made = ReferenceMarks({}, set(), set(), rounds)
    for node in found:
        first, copies = node.first, node.members
        sources = partners(first, originals)
        if state.canonical[first]:
            original, copies = ordered[first], copies[1:]
            _add_canonical(made, original, partners(first, before), partners(first, after), settings)
            same = relate(profiles[first], profiles[first], settings)
            assert same is not None  # decided by the content hashes
            sources = [(original.order, original.id, same)]
        for number in copies:
            copy = ordered[number]
            own = [source for source in sources if source[0] < copy.order]
            made.marks[copy.id] = decide(own, ())
            made.pairs.update(Pair.of(copy.id, other, r) for _, other, r in kept_originals(own, settings))
    return made


def _add_canonical(
    made: ReferenceMarks, subject: Subject, before: list[Partner], after: list[Partner], settings: Settings
) -> None:
    """The mark of a canonical article, and the pairs that it keeps with others that are similar to it."""
    similar = [*before, *after]
    made.marks[subject.id] = decide((), (related for _, _, related in similar))
    made.pairs.update(Pair.of(subject.id, other, r) for _, other, r in kept_similar(before, settings))
    best = best_match(similar)
    if best and best[0] > subject.order:
        made.pairs.add(Pair.of(best[1], subject.id, best[2]))
        made.best_match.add((best[1], subject.id))
