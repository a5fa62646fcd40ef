"""Methods of near-duplicate detection, by their names on the command line.

all                             every method, in the order of their rows
linear                          methods that do not look at every pair
minhash, word-shingles          by name
1w, 5                           by row: both methods of row 5
minhash:bands=16:rows=8         with parameters
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from dedup.base import plugins
from dedup.base.errors import InputError
from dedup.extras.lab.method import Method
from dedup.extras.lab.methods.common_runs import CommonSubsequence, CommonSubstring
from dedup.extras.lab.methods.fuzzy_hash import FuzzyHash
from dedup.extras.lab.methods.keys import ContentHash, Sketches, TextProfile
from dedup.extras.lab.methods.product import DamagedPrints, Product
from dedup.extras.lab.methods.sentences import Cascade, Sentences, WeightedSentences
from dedup.extras.lab.methods.shingles import (
    CharacterShingles,
    LengthGroups,
    MinHashLSH,
    SpotSigs,
    WordShingles,
)
from dedup.extras.lab.methods.simhash import SimHash
from dedup.extras.lab.methods.words import TfIdf, WordsOnce

METHODS: dict[str, type[Method]] = {
    method.name: method
    for method in (
        Product, DamagedPrints, Sentences, WeightedSentences, SpotSigs, MinHashLSH, Sketches, WordShingles,
        CharacterShingles, CommonSubstring, CommonSubsequence, TfIdf, ContentHash, TextProfile, SimHash,
        FuzzyHash, LengthGroups, Cascade, WordsOnce,
    )
}  # fmt: skip
"""Methods by name, in the order of the rows of a report; methods of plug-ins come last."""

for _name, _added in plugins.every("methods").items():
    if isinstance(_added, type) and issubclass(_added, Method) and _name == _added.name not in METHODS:
        METHODS[_name] = _added
    else:
        plugins.refuse(plugins.declared("methods")[_name], "not a Method, or its name is wrong or taken")

Value = int | float | str  # value of a parameter: an integer is at least 1, a float is from 0 to 1


def parse(labels: str) -> list[Method]:
    """Return the methods of a list such as "1w, minhash:bands=16, 5" or "all", without repetitions."""
    found: dict[str, Method] = {}
    for part in labels.split(","):
        if part.strip():
            for method in _named(part.strip()):
                found.setdefault(label(method), method)
    if not found:
        raise InputError(f"no method is named: choose from {', '.join(METHODS)}, or all")
    return list(found.values())


def make(name: str) -> Method:
    """Return the one method that a name such as "minhash:bands=16" means; raise InputError for several."""
    methods = parse(name)
    if len(methods) > 1:
        raise InputError(f"{name}: names several methods: {', '.join(method.name for method in methods)}")
    return methods[0]


def label(method: Method) -> str:
    """Return the shortest name that makes this method, without parameters at their default.

    >>> label(MinHashLSH(bands=16))
    'minhash:bands=16'
    """
    values = vars(method)
    changed = [name for name, default in parameters(type(method)).items() if values[name] != default]
    return ":".join([method.name, *(f"{name}={values[name]}" for name in changed)])


def parameters(method: type[Method]) -> dict[str, Value]:
    """Return the parameters that a name may set, with their defaults."""
    return {f.name: f.default for f in fields(method) if isinstance(f.default, Value)}


def _named(text: str) -> list[Method]:
    name, *settings = text.split(":")
    chosen = [m for m in METHODS.values() if name in ("all", m.name, m.row)]
    if name == "linear":
        chosen = [m for m in METHODS.values() if not m.quadratic]
    if not chosen:
        raise InputError(f"{name}: no such method: choose from {', '.join(METHODS)}, a row, linear, or all")
    found: list[Method] = []
    for method in chosen:
        values: dict[str, Any] = dict(_setting(method, setting) for setting in settings)
        found.append(method(**values))
        if found[-1].threshold < found[-1].floor:
            raise InputError(
                f"{text}: pairs below the floor {found[-1].floor:g} are lost: lower floor to the threshold"
            )
    return found


def _setting(method: type[Method], text: str) -> tuple[str, Value]:
    parameter, _, given = text.partition("=")
    known = parameters(method)
    if parameter not in known:
        raise InputError(f"{method.name}: no parameter {parameter}: choose from {', '.join(known)}")
    kind = type(known[parameter])
    try:
        value = kind(given)
    except ValueError:
        raise InputError(f"{method.name}: {parameter} must be of type {kind.__name__}, not {given}") from None
    if isinstance(value, float) and not 0 <= value <= 1:
        raise InputError(f"{method.name}: {parameter} must be from 0 to 1, not {given}")
    if isinstance(value, int) and value < 1:
        raise InputError(f"{method.name}: {parameter} must be at least 1, not {given}")
    return parameter, value
