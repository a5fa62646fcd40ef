"""What can be asked over HTTP: one list, of which the routes and the OpenAPI document are made.

The document is OpenAPI 3.1, made of the endpoints and of the types of the answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from http import HTTPStatus
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import dedup
from dedup import Explanation, MarkChange, MarkedArticle, Story, Verdict
from dedup.base.article import ARTICLE_FIELDS, MAX_FIELD_BYTES
from dedup.extras.serve.body import FIELDS
from dedup.extras.serve.limits import BATCH_ARTICLES

JSON = "application/json"
LINES = "application/x-ndjson"
PROBLEM = "application/problem+json"

NAMES = {"id": "source_id"}  # Members of the library's answers -> what they are called here


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    about: str
    kind: str = "string"  # `string`, `boolean` or `integer`, as JSON Schema names them
    default: bool | int | str | None = None  # what it is if it is not given; None if it has to be


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A method of an address.

    Attributes:
        name: of the method of `Service` that answers.
        body: the name of the schema of the JSON that it takes; None: it takes none.
        answer: the name of the schema of its answer.
        refusals: the statuses it may have beside those that every one may have.
    """

    name: str
    method: str
    path: str
    about: str
    answer: str
    parameters: tuple[Parameter, ...] = ()
    body: str | None = None
    refusals: tuple[int, ...] = ()


_SOURCE_ID = Parameter("source_id", "The article's own id.")
_STORE = Parameter("store", "`false` answers only, and stores nothing.", "boolean", True)

ENDPOINTS = (
    Endpoint(
        "submit",
        "POST",
        "/v1/articles",
        "Store an article, or its new version, and say what it is.",
        "Submitted",
        (_STORE,),
        "Article",
        (408, 413, 415, 501),
    ),
    Endpoint(
        "submit_batch",
        "POST",
        "/v1/articles:batch",
        "Store articles one after the other, and say what each is, in the same order.",
        "Batch",
        (_STORE,),
        "Articles",
        (408, 413, 415, 501),
    ),
    Endpoint(
        "mark",
        "GET",
        "/v1/articles",
        "An article with its mark and the pairs behind it.",
        "MarkedArticle",
        (
            _SOURCE_ID,
            Parameter("text", "Its text as well; the server must have been told so.", "boolean", False),
        ),
        refusals=(403, 404),
    ),
    Endpoint(
        "delete",
        "DELETE",
        "/v1/articles",
        "Delete an article; its duplicates and partners are judged again.",
        "Deleted",
        (_SOURCE_ID,),
        refusals=(404,),
    ),
    Endpoint(
        "story",
        "GET",
        "/v1/story",
        "The story of an article: its original and the copies, by time.",
        "Story",
        (_SOURCE_ID, Parameter("limit", "At most so many copies.", "integer", 1_000)),
        refusals=(404,),
    ),
    Endpoint(
        "explain",
        "GET",
        "/v1/explanation",
        "Why two articles are, or are not, related.",
        "Explanation",
        (
            _SOURCE_ID,
            Parameter("other_source_id", "The other's."),
            Parameter(
                "text", "Their sentences as well; the server must have been told so.", "boolean", False
            ),
        ),
        refusals=(403, 404),
    ),
    Endpoint(
        "changes",
        "GET",
        "/v1/changes",
        "The marks that changed since a cursor, in order, and the cursor to go on from.",
        "Changes",
        (
            Parameter(
                "since", "The cursor of the last answer; none: every mark, and then changes.", default=""
            ),
            Parameter("limit", "At most so many changes, up to 10,000.", "integer", 1_000),
        ),
        refusals=(410,),
    ),
    Endpoint(
        "health", "GET", "/v1/health", "Whether the database answers and has the right schema.", "State"
    ),
    Endpoint("ready", "GET", "/v1/ready", "Whether a request would be worked on now.", "State"),
    Endpoint("openapi", "GET", "/openapi.json", "This description.", "Document"),
)

ANY_REFUSAL = (400, 401, 421, 429, 500, 503)  # Statuses that every endpoint may have

PROBES = frozenset(("/v1/health", "/v1/ready"))
"""What orchestrators ask: not counted, and without a token. Nor does it cost much, or tell a secret."""

PATHS = frozenset(endpoint.path for endpoint in ENDPOINTS)

OPEN = PROBES | {"/openapi.json"}  # What needs no token

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}

STATUSES = ("unique", "similar", "duplicate", "pending", "failed")


@cache
def document() -> Schema:
    paths: dict[str, Schema] = {}
    for endpoint in ENDPOINTS:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _described(endpoint)
    statuses = sorted({*ANY_REFUSAL, 405}.union(*(endpoint.refusals for endpoint in ENDPOINTS)))
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "dedup",
            "version": dedup.__version__,
            "summary": "Near-duplicate detection for news.",
        },
        "paths": paths,
        "components": {
            "schemas": _schemas(),
            "responses": {str(status): _refusal(status) for status in statuses},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}, {}],
    }


def _refusal(status: int) -> Schema:
    made: Schema = {
        "description": HTTPStatus(status).phrase,
        "content": {PROBLEM: {"schema": _reference("Problem")}},
    }
    if status in (429, 503):
        about = "Seconds after which the same request may be sent again."
        made["headers"] = {"Retry-After": {"description": about, "schema": {"type": "integer", "minimum": 1}}}
    return made


def _described(endpoint: Endpoint) -> Schema:
    refusals = sorted({*ANY_REFUSAL, *endpoint.refusals})
    made: Schema = {
        "operationId": endpoint.name,
        "summary": endpoint.about,
        "parameters": [_parameter(found) for found in endpoint.parameters],
        "responses": {
            "200": {"description": "The answer.", "content": {JSON: {"schema": _reference(endpoint.answer)}}},
            **{str(status): {"$ref": f"#/components/responses/{status}"} for status in refusals},
        },
    }
    if endpoint.path in OPEN:
        made["security"] = []
    if endpoint.body is not None:
        made["requestBody"] = {"required": True, "content": {JSON: {"schema": _reference(endpoint.body)}}}
    if endpoint.body == "Articles":
        # In words alone: generators of clients leave out an endpoint of which they do not know a media type.
        made["requestBody"]["description"] = f"Or the same articles as {LINES}, one a line."
    return made


def _parameter(found: Parameter) -> Schema:
    schema: Schema = {"type": found.kind}
    if found.default is not None:
        schema["default"] = found.default
    if found.kind == "integer":
        schema |= {"minimum": 0, "maximum": 999_999_999}
    return {
        "name": found.name,
        "in": "query",
        "required": found.default is None,
        "description": found.about,
        "schema": schema,
    }


def _reference(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _schemas() -> dict[str, Schema]:
    verdict = schema_of(Verdict)
    verdict["properties"] |= {"provisional": {"type": "boolean"}, "status": {"enum": [*STATUSES, "refused"]}}
    verdict["required"].append("provisional")
    submitted = _and(verdict, repairs=_list(_object(field=TEXT, reason=TEXT, value=TEXT)))
    marked = schema_of(MarkedArticle)
    marked["properties"]["verdict"] = verdict
    _without_text(marked["properties"]["article"], "text")
    explanation = _and(schema_of(Explanation), shared_sentences=COUNT, differing_sentences=COUNT)
    _without_text(explanation, "shared", "differing")
    for name in ("earlier", "later"):
        _without_text(explanation["properties"][name], "ignored")
    story = _and(schema_of(Story), count=COUNT)
    changed = schema_of(MarkChange)
    del changed["properties"]["cursor"]
    changed["required"].remove("cursor")
    changed["properties"]["status"] = {"enum": [*STATUSES, "deleted"]}
    reason: Schema = {"anyOf": [TEXT, {"type": "null"}]}
    batch = _object(verdicts=_list(_reference("Submitted")), left=COUNT, reason=reason)
    return {
        "Article": _article(),
        "Articles": _list(_reference("Article")) | {"maxItems": BATCH_ARTICLES},
        "Batch": batch,
        "Changes": _object(changes=_list(changed), cursor={"anyOf": [TEXT, {"type": "null"}]}),
        "Deleted": _object(source_id=TEXT),
        "Document": {"type": "object", "description": "OpenAPI 3.1."},
        "Explanation": explanation,
        "MarkedArticle": marked,
        "Problem": _object(type=TEXT, title=TEXT, status={"type": "integer"}, detail=TEXT),
        "State": _object(status={"const": "ok"}),
        "Story": story,
        "Submitted": submitted,
    }


def _article() -> Schema:
    """An article by the library's field names, with the other names that do as well."""
    properties: dict[str, Schema] = {}
    for name in (*ARTICLE_FIELDS[:2], "html", *ARTICLE_FIELDS[2:]):
        made: Schema = {"type": ["string", "null"]}
        if name == "source_id":
            made = {"type": ["string", "integer"], "minLength": 1}
        if name == "kept":
            made["type"] = ["object", "null"]
        if name in ("published_at", "added_at"):
            made["type"] = ["string", "number", "null"]
        about = [f"At most {MAX_FIELD_BYTES[name]:,} bytes of UTF-8."] if name in MAX_FIELD_BYTES else []
        if name == "text":
            about.append("This or `html` is needed.")
        if name == "html":
            about.append("A page, out of which the text is taken.")
        if others := ", ".join(other for other in FIELDS[name] if other != name):
            about.append(f"Also under the names {others}.")
        properties[name] = {**made, **({"description": " ".join(about)} if about else {})}
    return {"type": "object", "properties": properties, "required": ["source_id"]}


# Types as schemas.

_PLAIN: dict[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    datetime: {"type": "string", "format": "date-time"},
    NoneType: {"type": "null"},
}


def schema_of(kind: Any) -> Schema:
    """The schema of what `dedup.base.answer.plain` makes of such a value; TypeError if there is none."""
    if kind in _PLAIN:
        return dict(_PLAIN[kind])
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
        hints = get_type_hints(kind)
        return _object(
            **{NAMES.get(item.name, item.name): schema_of(hints[item.name]) for item in fields(kind)}
        )
    raise TypeError(f"no schema for {kind!r}")


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _and(schema: Schema, **properties: Schema) -> Schema:
    return _object(**schema["properties"], **properties) | {"required": [*schema["required"], *properties]}


def _without_text(schema: Schema, *names: str) -> None:
    """Make these optional: they are there only where texts are told."""
    schema["required"] = [name for name in schema["required"] if name not in names]


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}
