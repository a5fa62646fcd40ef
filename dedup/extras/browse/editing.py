"""Make the changes that visitors ask for with `--edit`: pin or unpin pairs and sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from dedup.api.deduplicator import Deduplicator
from dedup.base.errors import InputError, RightsError
from dedup.extras.browse.asking import Fields, go
from dedup.extras.browse.views import KINDS, hash_of, pin_command
from dedup.extras.serve.guard import ProblemError

DONE = {
    "said": "Saved. Both articles were settled again; their new marks are shown below.",
    "unsure": "Saved: you cannot tell how the two articles are related, so the rules still decide.",
    "undone": "Undone. The rules have settled both articles again.",
    "waits": "Saved. The marks change with the next backfill, or when a worker has settled both articles.",
    "pinned": "Saved. The change takes effect with the next backfill.",
}
"""Messages shown after a change, by the value of `done` in the address."""

# Value of the field `say` -> label of the judgement. A pin stores the value of `say`, except `unsure`.
LABELS = {"duplicate": "duplicate", "similar": "similar", "unrelated": "different", "unsure": "unsure"}

LONGEST_REASON = 1_000  # Maximum number of characters of a reason


def judge(dd: Deduplicator, given: Fields) -> str:
    """Store a decision on a pair as a judgement and, unless `unsure`, as a pin. Return the next address."""
    a, b, by, reason = given["a"], given["b"], given["by"].strip(), given["reason"].strip()
    say = given["say"]
    if say not in LABELS:
        raise InputError("choose how the two articles are related")
    if not by:
        raise InputError("give your name")
    if a == b:
        raise InputError("a pair has two articles; both ids are the same")
    if len(reason) > LONGEST_REASON:
        raise InputError(f"the reason has more than {LONGEST_REASON:,} characters")
    from dedup.extras.judging.judgements import key

    with _owner_only(pin_command(a, b)):
        dd.judgements.record(key(a, b), by, LABELS[say], reason or None)
        if say == "unsure":
            return _shown(given, by, "unsure")
        dd.pins.set(a, b, say, by=by, reason=reason or None)
        return _shown(given, by, _settled(dd, "said", a, b))


def undo(dd: Deduplicator, given: Fields) -> str:
    from dedup.extras.judging.judgements import key

    a, b = given["a"], given["b"]
    found = dd.browsing.compare(a, b)
    with _owner_only(None):
        dd.pins.remove(a, b)
        if found.pin:
            dd.judgements.take_back(key(a, b), found.pin.pinned_by)
        return _shown(given, "", _settled(dd, "undone", a, b))


def sentence(dd: Deduplicator, given: Fields) -> str:
    number, say = hash_of(given["hash"]), given["say"]
    if say not in ("always", "never", "unpin"):
        raise InputError("the field `say` must be always, never or unpin")
    with _owner_only(None):
        if say == "unpin":
            dd.common_sentences.unpin(number)
        else:
            dd.common_sentences.pin(number, common=say == "always")
    return go("/sentences", done="pinned")


@contextmanager
def _owner_only(command: str | None) -> Iterator[None]:
    """Refuse a change that the server's role may not make. `command`: the owner may type it instead."""
    try:
        yield
    except RightsError:
        words = "nothing was changed, because the database role of this server only reads: start"
        words += " `dedup browse --edit` as the owner of the corpus"
        if command:
            words += f", or type as the owner: {command} (RELATION: duplicate, similar or unrelated)"
        raise ProblemError(403, words) from None


def _settled(dd: Deduplicator, done: str, a: str, b: str) -> str:
    """Settle two articles now. Return the argument `done`, or "waits" if an article is not settled yet."""
    found = dd.pins.settle(a, b)
    return "waits" if any(one.stale or one.verdict.status == "pending" for one in found) else done


def _shown(given: Fields, by: str, done: str) -> str:
    if given["back"] in {kind for kind, _ in KINDS}:
        return go("/judge", kind=given["back"], by=by, done=done)
    return go("/compare", a=given["a"], b=given["b"], by=by, done=done)


@dataclass(frozen=True, slots=True)
class Action:
    path: str
    fields: tuple[str, ...]
    work: Callable[[Deduplicator, Fields], str]  # returns the address of the next page


ACTIONS = (
    Action("/judge", ("a", "b", "by", "reason", "say", "back"), judge),
    Action("/judge/undo", ("a", "b", "back"), undo),
    Action("/sentences", ("hash", "say"), sentence),
)
