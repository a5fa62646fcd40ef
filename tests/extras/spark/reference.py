"""The rounds: decide a corpus many articles at a time (docs/semantics.md, section 6).

The oracle takes one article after another. An engine on many machines, in which articles are rows of tables,
cannot do so. This module specifies such an engine, step by step in plain Python, for small corpora. The
rounds give the oracle's answer for all `Options`.

The rounds decide *nodes* (`nodes.py`): classes of articles with equal fingerprints. The first member acts for
its node, and its number in canonical order is the number of the node. Two nodes *meet* if they share a key.
While some nodes are undecided, a round takes these steps:

    place     the position of a node among the undecided nodes with a key, in canonical order, from 1 on
    head      w: the largest number of places under a key whose pairs are within the budget
    eligible  the nodes with a place of at most w under ALL their keys; an eligible node stays eligible
    HEAD      score each newly eligible b with each undecided a < b that b meets
    DECIDE    an eligible b is out if one of the duplicates a < b that HEAD has found is canonical; b is
              canonical if all of them are out; otherwise b waits
    STAR      score each newly canonical c with each x that c meets and that HEAD has not scored with c:
              1. x > c that was never eligible; if x is undecided and a duplicate of c, x is out
              2. x < c that was out before c was eligible, and that has a member after c

The result is the same as for one article after another, for these reasons:

*Classes.* Members of a class are duplicates of each other by content. They have the same relations with all
other articles, since an article that a pin names is a node by itself. So if the first member is canonical,
the other members are not; and if an earlier canonical article is a duplicate of the first member, it is a
duplicate of all members. Only the originals differ: the originals of a member are the canonical duplicates of
its class before the member.

*No pair is missed.* A canonical c is scored with each x that c meets, if marks or pairs can depend on the
two. The pair is scored once, and with all the keys that the two share.
 - x > c. If x became eligible while c was undecided, HEAD scored the pair. If x became eligible later or
   never, STAR 1 of c did.
 - x < c. If x was undecided when c became eligible, HEAD scored the pair. Otherwise x had been decided: if x
   is canonical, STAR 1 of x scored the pair; if x is out, STAR 2 of c does, if a member of x comes after c.
 - An eligible b is within the head under all its keys, and an undecided a < b has a place before b. So HEAD
   sees all keys that a and b share. STAR looks at all members of the keys of c.

*The decisions are right.* A node that is out has an earlier canonical duplicate. Let b be canonical, and let
a < b be a duplicate of b. If a was undecided when b became eligible, DECIDE has seen that a is out. If a had
been decided before, a is out, too: if a were canonical, STAR 1 of a would have put b out. So a node is
canonical exactly when no earlier canonical node is its duplicate, and only one set of nodes has this property
(section 5).

*The rounds end.* The first undecided node has the first place under all its keys, so the node is eligible.
All nodes before it are decided, so DECIDE decides the node. So each round decides at least one node.

The proof does not depend on the width of the head, on the division of classes into nodes, or on the round in
which a node inside the head becomes eligible.
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
"""Two nodes that meet -> the kinds of the keys that they share, one entry for each key."""


@dataclass(frozen=True, slots=True)
class Options:
    """Choices of an engine that do not change the result.

    Attributes:
        head_minimum: number of places in the smallest head, at least 1.
        budget: maximum number of pairs of places in a round, summed over the keys, unless the smallest head
            has more; None: `PAIRS_PER_ENTRY` for each entry of a group.
        part: how classes are divided into nodes; see `nodes`.
        starts: function of the number of the round (from 1) and of a node inside the head: whether the node
            becomes eligible in this round. The first undecided node always does.
    """

    head_minimum: int = HEAD_MINIMUM
    budget: int | None = None
    part: Callable[[int], int] = lambda _: 0
    starts: Callable[[int, int], bool] = lambda _round, _node: True


@dataclass(frozen=True, slots=True)
class Round:
    """Counts of a round.

    Attributes:
        head: width of the head, in places.
        undecided: undecided nodes at the start of the round.
        eligible: nodes that became eligible in this round.
        waiting: eligible nodes that are undecided at the end of the round.
        head_pairs, star_later, star_earlier: pairs scored by HEAD, and by the two cases of STAR.
        put_out: nodes that STAR decided to be out: later duplicates of a newly canonical node.
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
        """Return the number of scored pairs."""
        return self.head_pairs + self.star_later + self.star_earlier


@dataclass(frozen=True, slots=True)
class ReferenceMarks:
    """The marks of a corpus.

    Attributes:
        marks: mark of every article, by id.
        pairs: the rows of `match`.
        best_match: (article_id, other_id) of each pair whose later article is the earlier one's best match.
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
        """Record that a node was decided in round `number`, and whether it is canonical."""
        self.undecided.remove(node)
        self.decided_in[node], self.canonical[node] = number, canonical


def marks(
    subjects: Sequence[Subject],
    common: Collection[int],
    settings: Settings,
    pins: Pins | None = None,
    options: Options | None = None,
) -> ReferenceMarks:
    """Return the marks and pairs of a corpus, like `oracle.marks` (docs/semantics.md, sections 3 to 5)."""
    ordered = in_order(subjects)
    said = numbered(ordered, pins or {})
    options = options or Options()
    found = nodes(ordered, said, options.part)
    profiles = {node.first: Profile.of(node.fingerprint, common, node.published) for node in found}
    state, report = decided(found, groups(found, common, said), profiles, settings, said, options)
    return results(ordered, found, state, profiles, settings, report)


def place(given: Groups, undecided: Set[int]) -> Groups:
    """Return the undecided nodes of each key, in canonical order. The first node has place 1 there."""
    return {key: [node for node in own if node in undecided] for key, own in given.items()}


def eligible(places: Groups, w: int, undecided: Collection[int]) -> set[int]:
    """Return the undecided nodes with a place of at most w under all their keys."""
    return set(undecided).difference(*(own[w:] for own in places.values()))


def head_meetings(places: Groups, w: int, newly: Set[int]) -> Meetings:
    """HEAD: return the pairs of a newly eligible node and an earlier undecided node under the same key, if
    both have one of the first `w` places."""
    found: dict[NodePair, list[Kind]] = {}
    for (kind, _), own in places.items():
        for at, b in enumerate(own[:w]):
            if b in newly:
                for a in own[:at]:
                    found.setdefault((a, b), []).append(kind)
    return found


def star_meetings(given: Groups, newly: Set[int], last: Mapping[int, int], state: State) -> Meetings:
    """STAR: return the pairs of a newly canonical node and a node under the same key, if `star_later` or
    `star_earlier` holds.

    Args:
        last: number of the last member of each node.
    """
    found: dict[NodePair, list[Kind]] = {}
    for (kind, _), own in given.items():
        for c in newly & set(own):
            for x in own:
                if star_later(c, x, state) or star_earlier(c, x, last[x], state):
                    found.setdefault((min(c, x), max(c, x)), []).append(kind)
    return found


def star_later(c: int, x: int, state: State) -> bool:
    """STAR, first case: return whether x is later than c and was never eligible."""
    return x > c and x not in state.eligible_in


def star_earlier(c: int, x: int, last: int, state: State) -> bool:
    """STAR, second case: return whether x is earlier than c, was out before c was eligible, and has a member
    after c."""
    return x < c < last and not state.canonical.get(x, True) and state.decided_in[x] < state.eligible_in[c]


def score(
    met: Meetings, profiles: Mapping[int, Profile], settings: Settings, said: Said
) -> dict[NodePair, Related]:
    """Return the pairs in `met` that are related, with their scores."""
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
    for b in sorted(waiting):  # in order, because a decision depends on earlier nodes
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
            assert same is not None  # articles with equal content are always related
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
    """Add the mark of a canonical article, and the pairs that it keeps with similar canonical articles."""
    similar = [*before, *after]
    made.marks[subject.id] = decide((), (related for _, _, related in similar))
    made.pairs.update(Pair.of(subject.id, other, r) for _, other, r in kept_similar(before, settings))
    best = best_match(similar)
    if best and best[0] > subject.order:
        made.pairs.add(Pair.of(best[1], subject.id, best[2]))
        made.best_match.add((best[1], subject.id))
