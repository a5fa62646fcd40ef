"""What can be asked over HTTP: one list, of which the routes and the OpenAPI document are made."""

from __future__ import annotations

from dataclasses import dataclass

JSON = "application/json"
LINES = "application/x-ndjson"
PROBLEM = "application/problem+json"

NAMES = {"id": "source_id"}  # Members of the library's answers -> what they are called here


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the query."""

    name: str
    about: str
    kind: str = "string"  # `string`, `boolean` or `integer`, as JSON Schema names them
    default: bool | int | None = None  # what it is if it is not given; None if it has to be


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
