"""Make the OpenAPI document from `openapi.json` and the types of answers, and list its endpoints."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from importlib import resources
from types import NoneType, UnionType
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

import dedup
from dedup import Explanation, MarkChange, MarkedArticle, Story, Verdict
from dedup.extras.serve.body import FIELDS

JSON = "application/json"
LINES = "application/x-ndjson"
PROBLEM = "application/problem+json"

NAMES = {"id": "source_id"}  # Field names of the library -> field names of the service
ANY_REFUSAL = (400, 401, 421, 429, 500, 503)  # Error statuses that every endpoint may answer with
# Orchestrators request these addresses often, without a token. The answers are cheap and reveal no secret.
PROBES = frozenset(("/v1/health", "/v1/ready"))
OPEN = PROBES | {"/openapi.json"}  # Addresses that need no token

Schema = dict[str, Any]


class Endpoint(NamedTuple):
    """An address with an HTTP method, and the method of `Service` that answers its requests."""

    name: str  # name of the method of `Service`
    method: str
    path: str
    parameters: list[Schema]  # in the form of OpenAPI


_PLAIN: dict[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    datetime: {"type": "string", "format": "date-time"},
    NoneType: {"type": "null"},
}


def schema_of(kind: Any) -> Schema:
    """Return the JSON schema of the result of `dedup.base.answer.plain` for a value of type `kind`.

    Raises TypeError: the type has no schema.
    """
    if kind in _PLAIN:
        return _PLAIN[kind]
    origin, inner = get_origin(kind), get_args(kind)
    if origin is UnionType or str(origin) == "typing.Union":
        return {"anyOf": [schema_of(one) for one in inner]}
    if origin is tuple and len(inner) == 2 and inner[1] is Ellipsis:
        return _list(schema_of(inner[0]))
    if origin is tuple:
        return {"type": "array", "prefixItems": [schema_of(one) for one in inner]}
    if origin is Mapping:
        return {"type": "object"}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {"enum": [item.value for item in kind]}
    if isinstance(kind, type) and is_dataclass(kind):
        return _object(_members(kind))
    raise TypeError(f"no schema for {kind!r}")


def _members(kind: type) -> Schema:
    hints = get_type_hints(kind)
    return {NAMES.get(item.name, item.name): schema_of(hints[item.name]) for item in fields(kind)}


def _object(members: Schema, *optional: str) -> Schema:
    return {
        "type": "object",
        "properties": members,
        "required": [name for name in members if name not in optional],
    }


def _answers() -> Schema:
    """Return the JSON schemas of the library's answers, plus the members that the service adds."""
    count: Schema = {"type": "integer", "minimum": 0}
    statuses = ("unique", "similar", "duplicate", "pending", "failed")
    judged = _members(Verdict) | {
        "provisional": {"type": "boolean"},
        "status": {"enum": [*statuses, "refused"]},
    }
    repair = dict.fromkeys(("field", "reason", "value"), schema_of(str))
    # The library's types require texts, but the service sends a text only on request.
    marked = _members(MarkedArticle) | {"verdict": _object(judged)}
    marked["article"]["required"].remove("text")
    explained = _members(Explanation) | {"shared_sentences": count, "differing_sentences": count}
    for name in ("earlier", "later"):
        explained[name]["required"].remove("ignored")
    changed = _members(MarkChange) | {"status": {"enum": [*statuses, "deleted"]}}
    del changed["cursor"]
    return {
        "Changes": _object({"changes": _list(_object(changed)), "cursor": schema_of(str | None)}),
        "Explanation": _object(explained, "shared", "differing"),
        "MarkedArticle": _object(marked),
        "Story": _object(_members(Story) | {"count": count}),
        "Submitted": _object(judged | {"repairs": _list(_object(repair))}),
    }


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}


@cache
def document() -> Schema:
    made: Schema = json.loads((resources.files("dedup.extras.serve") / "openapi.json").read_bytes())
    made["info"]["version"] = dedup.__version__
    for methods in made["paths"].values():
        for asked in methods.values():
            for status in ANY_REFUSAL:
                asked["responses"][str(status)] = {"$ref": f"#/components/responses/{status}"}
    schemas = made["components"]["schemas"]
    for name, about in schemas["Article"]["properties"].items():
        if others := ", ".join(other for other in FIELDS[name] if other != name):
            about["description"] = f"{about.get('description', '')} Also accepted as {others}.".lstrip()
    schemas |= _answers()
    return made


ENDPOINTS = tuple(
    Endpoint(about["operationId"], method.upper(), path, about["parameters"])
    for path, methods in document()["paths"].items()
    for method, about in methods.items()
)
PATHS = frozenset(document()["paths"])
