"""The OpenAPI document describes every endpoint and answer of the service, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from dedup.db.database import Database
from dedup.extras.serve.app import Service
from dedup.extras.serve.endpoints import ANY_REFUSAL, ENDPOINTS, document, schema_of
from dedup.extras.serve.guard import Access
from dedup.operation import Operation
from tests.cli.conftest import HARBOUR, MUSEUM
from tests.extras.serve.conftest import LINES, Door, Reply, Serving
from tests.replica import journal

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "object": (dict,),
    "array": (list,),
}
KNOWN = {
    *("type", "properties", "required", "items", "prefixItems", "anyOf", "enum", "const", "$ref", "minimum"),
    *("maximum", "maxItems", "minLength", "description", "format", "default"),
}


def faults(value: Any, schema: Any, where: str = "") -> list[str]:
    """Return the faults of a value against a schema. Names that the schema lacks are faults, too."""
    assert set(schema) <= KNOWN, set(schema) - KNOWN
    if "$ref" in schema:
        return faults(value, resolved(schema["$ref"]), where)
    if "anyOf" in schema:
        tried = [faults(value, one, where) for one in schema["anyOf"]]
        return [] if [] in tried else [f"{where}: none of {len(tried)}", *min(tried, key=len)]
    if "const" in schema or "enum" in schema:
        allowed = schema.get("enum", [schema.get("const")])
        return [] if value in allowed else [f"{where}: {value!r} is not in {allowed}"]
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    fits = [
        k for k in kinds if isinstance(value, TYPES[k]) and (k == "boolean" or not isinstance(value, bool))
    ]
    if not fits:
        return [f"{where}: {value!r} is no {kinds}"]
    found: list[str] = []
    if isinstance(value, dict) and "properties" in schema:
        found += [f"{where}.{name} is missing" for name in set(schema["required"]) - set(value)]
        found += [f"{where}.{name} is not described" for name in set(value) - set(schema["properties"])]
        for name in set(value) & set(schema["properties"]):
            found += faults(value[name], schema["properties"][name], f"{where}.{name}")
    for number, item in enumerate(value if isinstance(value, list) else ()):
        of = schema.get("items") or schema["prefixItems"][number]
        found += faults(item, of, f"{where}[{number}]")
    return found


def resolved(reference: str) -> Any:
    """Return the part of the document to which a reference points."""
    found: Any = document()
    for name in reference.removeprefix("#/").split("/"):
        found = found[name]
    return found


def described(method: str, path: str, reply: Reply) -> None:
    """Fail unless the document describes this answer."""
    answers = document()["paths"][path][method.lower()]["responses"]
    assert str(reply.status) in answers, f"{method} {path} {reply.status}"
    said = answers[str(reply.status)]
    said = resolved(said["$ref"]) if "$ref" in said else said
    kind = reply.headers["content-type"]
    assert faults(reply.json, said["content"][kind]["schema"]) == []
    assert ("retry-after" in reply.headers) == (reply.status in (429, 503))


ARTICLE = {"source_id": "a", "text": HARBOUR, "title": "T", "published_at": "2026-03-11", "added_at": "soon"}
COPY = {
    "source_id": "b",
    "text": HARBOUR + " One more sentence stands here at the end of it.",
    "published_at": "2026-03-12",
}
GOOD: list[tuple[str, str, Any, dict[str, str]]] = [
    ("POST", "/v1/articles", ARTICLE, {}),
    ("POST", "/v1/articles", COPY, {"store": "true"}),
    ("POST", "/v1/articles", {"source_id": "c", "text": MUSEUM + HARBOUR}, {"store": "false"}),
    ("POST", "/v1/articles", {"text": HARBOUR}, {"store": "false"}),
    (
        "POST",
        "/v1/articles:batch",
        b'{"source_id": "d", "text": ""}\nno\n\n{"source_id": 5, "text": "a b"}',
        {},
    ),
    (
        "POST",
        "/v1/articles:batch",
        [{"source_id": "d", "text": ""}, {"source_id": 5, "text": "a b"}, "no"],
        {},
    ),
    ("GET", "/v1/articles", None, {"source_id": "b"}),
    ("GET", "/v1/articles", None, {"source_id": "b", "text": "true"}),
    ("GET", "/v1/articles", None, {"source_id": "d"}),
    ("GET", "/v1/story", None, {"source_id": "b", "limit": "5"}),
    ("GET", "/v1/sources", None, {"source_id": "a", "limit": "2"}),
    ("POST", "/v1/sources", {"text": HARBOUR}, {}),
    ("GET", "/v1/coverage", None, {"source_id": "a", "days": "2", "at": "2026-03-11"}),
    ("GET", "/v1/coverage", None, {"source_id": "a", "text": "true"}),
    ("POST", "/v1/coverage", {"text": HARBOUR}, {"limit": "1"}),
    ("GET", "/v1/origins", None, {"first": "2026-03-11", "last": "2026-03-12"}),
    ("POST", "/v1/origins", {"source_ids": ["a", "b"]}, {"first": "2026-03-11", "limit": "1"}),
    ("GET", "/v1/explanation", None, {"source_id": "a", "other_source_id": "b"}),
    ("GET", "/v1/explanation", None, {"source_id": "a", "other_source_id": "b", "text": "true"}),
    ("GET", "/v1/explanation", None, {"source_id": "a", "other_source_id": "d"}),
    ("DELETE", "/v1/articles", None, {"source_id": "a"}),
    ("GET", "/v1/changes", None, {"limit": "2"}),
    ("GET", "/v1/health", None, {}),
    ("GET", "/v1/ready", None, {}),
    ("GET", "/openapi.json", None, {}),
]


def ask(door: Door, method: str, path: str, body: Any, query: dict[str, str]) -> Reply:
    kind = LINES if isinstance(body, bytes) else "application/json"
    return door.ask(method, path, body, None, kind=kind, **query)


@pytest.fixture
def kept(database: Database) -> Iterator[None]:
    """Keep a journal of marks during the test."""
    with journal(database):
        yield


@pytest.fixture
def searchable(database: Database) -> Iterator[Operation]:
    """The owner of the corpus."""
    with Operation(database.url) as owner:
        yield owner


@pytest.mark.long("dedup", "migrations")
@pytest.mark.usefixtures("kept")
def test_every_operation_answers_as_described(serving: Serving, searchable: Operation) -> None:
    door = serving(texts=True)
    asked = set()
    door.submit(ARTICLE)
    searchable.make_searchable()
    for method, path, body, query in GOOD:
        reply = ask(door, method, path, body, query)
        assert reply.status == 200, (method, path, reply.raw)
        described(method, path, reply)
        asked.add((method, path))
    assert asked == {(endpoint.method, endpoint.path) for endpoint in ENDPOINTS}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.usefixtures("kept")
def test_every_operation_refuses_as_described(serving: Serving) -> None:
    door, guarded = serving(), serving(access=Access(b"0123456789abcdef"))
    for method, path, body, query in GOOD:
        known = {name: "true" if value in ("true", "false") else value for name, value in query.items()}
        for given in (query, known, {}, {"no": "such"}, {**query, "text": "true"}):
            described(method, path, ask(door, method, path, body, given))
        if path in ("/v1/articles", "/v1/articles:batch") and method == "POST":
            described(method, path, door.ask(method, path, body, kind="text/plain"))
        described(method, path, door.ask(method, path, body, {"Host": "evil.example"}))
        described(method, path, ask(guarded, method, path, body, query))


def test_other_methods_and_addresses_are_not_there(door: Door) -> None:
    paths = document()["paths"]
    for path in paths:
        for method in METHODS:
            reply = door.ask(method, path)
            assert (reply.status == 405) == (method.lower() not in paths[path])
    assert door.ask("GET", "/docs").status == 404


def test_the_document_is_whole(door: Door) -> None:
    made = door.ask("GET", "/openapi.json").json
    assert made == document()
    assert made["openapi"].startswith("3.1.")
    references = re.findall(r"'\$ref': '([^']+)'", str(made))
    assert references
    assert all(resolved(reference) for reference in references)
    ids = [operation["operationId"] for path in made["paths"].values() for operation in path.values()]
    assert sorted(ids) == sorted(endpoint.name for endpoint in ENDPOINTS)
    assert all(callable(getattr(Service, name)) for name in ids)
    for path in made["paths"].values():
        for operation in path.values():
            assert {str(status) for status in ANY_REFUSAL} <= set(operation["responses"])


def operations() -> Iterator[tuple[str, Any]]:
    """Yield the operations of the document, each with its method and address."""
    for path, methods in document()["paths"].items():
        yield from ((f"{method.upper()} {path}", operation) for method, operation in methods.items())


def test_generators_of_clients_can_make_every_operation() -> None:
    """Generators of clients leave out operations and types if they do not know a media type or a keyword."""
    names = [operation["operationId"] for _, operation in operations()]
    assert len(set(names)) == len(names)
    for where, operation in operations():
        assert re.fullmatch("[a-z][a-z_]*", operation["operationId"]), where
        assert "{" not in where, "ids are not in paths"
        if "requestBody" in operation:
            sent = operation["requestBody"]["content"]
            assert list(sent) == ["application/json"], where
            assert sent["application/json"]["schema"]["$ref"].startswith("#/components/schemas/"), where
        for status, answer in operation["responses"].items():
            said = resolved(answer["$ref"]) if "$ref" in answer else answer
            kind = "application/json" if status == "200" else "application/problem+json"
            # JSON comes first, because a generator of clients takes the first media type that it knows.
            streamed = ["text/event-stream"] if (where, status) == ("GET /v1/changes", "200") else []
            assert list(said["content"]) == [kind, *streamed], (where, status)
            assert said["content"][kind]["schema"]["$ref"].startswith("#/components/schemas/"), (
                where,
                status,
            )
        for parameter in operation["parameters"]:
            assert parameter["in"] == ("header" if parameter["name"] == "Last-Event-ID" else "query")
            assert parameter["schema"]["type"] in ("string", "boolean", "integer")
    for name, schema in document()["components"]["schemas"].items():
        assert re.fullmatch("[A-Z][A-Za-z]*", name)
        assert {word for one in within(schema) for word in one} <= KNOWN


def within(schema: Any) -> Iterator[Any]:
    """Yield a JSON schema, and all schemas within it."""
    yield schema
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", ()), *schema.get("prefixItems", ())]
    for one in [*inner, *([schema["items"]] if "items" in schema else [])]:
        yield from within(one)


def test_what_can_be_sent_is_described() -> None:
    paths = document()["paths"]
    for method, path, body, _ in GOOD:
        if method == "POST" and not isinstance(body, bytes):
            sent = paths[path]["post"]["requestBody"]["content"]["application/json"]["schema"]
            assert (
                faults([item for item in body if item != "no"] if isinstance(body, list) else body, sent)
                == []
            )
    article = {"$ref": "#/components/schemas/Article"}
    assert faults({"source_id": "a", "html": "<p>A page"}, article) == []
    assert faults({"id": "a", "text": "b"}, article)


def test_an_id_has_one_name() -> None:
    """Check that the id of an article is always named `source_id`.

    The name of a second article's id says the article's role: `other_source_id`.
    """
    named = {parameter["name"] for _, operation in operations() for parameter in operation["parameters"]}
    assert {name for name in named if "id" in name} == {"source_id", "other_source_id"}
    assert not named & {"a", "b"}
    for schema in document()["components"]["schemas"].values():
        members = {name for one in within(schema) for name in one.get("properties", ())}
        assert {name for name in members if name == "id" or name.endswith("_id")} <= {"source_id"}


def test_the_check_sees_what_is_wrong() -> None:
    problem = {"type": "about:blank", "title": "a", "status": 400, "detail": "b"}
    schema = {"$ref": "#/components/schemas/Problem"}
    assert faults(problem, schema) == []
    assert faults({**problem, "status": "400"}, schema)
    assert faults({**problem, "status": True}, schema)
    assert faults({**problem, "more": 1}, schema)
    assert faults({"type": "about:blank"}, schema)
    assert faults(None, {"anyOf": [{"type": "string"}, {"type": "integer"}]})
    assert faults([1, "a"], {"type": "array", "items": {"type": "integer"}})


def test_a_type_without_a_schema_is_an_error() -> None:
    for kind in (complex, bytes, list[int]):
        with pytest.raises(TypeError, match="no schema"):
            schema_of(kind)
