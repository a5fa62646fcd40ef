"""Recognise visitors by a cookie, and check which site sent a form.

If the server has a token, only visitors who entered the token get a cookie. The cookie has a random name for
the visitor, signed with a key of this process. Each form contains a second signature of the cookie.
SameSite, `Origin` and that signature prevent a page of another site from sending a valid form through the
visitor's browser. CSP and missing CORS headers prevent that page from reading a form.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import urlsplit

from itsdangerous import BadSignature, Signer, TimestampSigner
from starlette.requests import cookie_parser
from starlette.types import Scope

from dedup.extras.serve.guard import ProblemError, check_host

ENTER = "/enter"
STATIC = "/static/"

VISIT_SECONDS = 12 * 3_600  # Lifetime of a cookie: a working day. Then the visitor enters the token again


@dataclass(frozen=True, slots=True)
class Visitor:
    value: str  # value of the cookie
    form: str  # signature for the forms of this visitor
    new: bool = False  # the browser does not have the cookie yet


class Visitors:
    """Check the visitor of each request. Without `token`, everybody may see the pages."""

    def __init__(
        self, token: bytes | None, hosts: frozenset[str] | None, clock: Callable[[], float] = time.time
    ) -> None:
        self._token, self._hosts = token, hosts
        key = secrets.token_bytes(32)
        self._names = TimestampSigner(key, salt="visitor", digest_method=sha256)
        self._names.get_timestamp = lambda: int(clock())  # type: ignore[method-assign]
        self._forms = Signer(key, salt="form", digest_method=sha256)
        # Browsers send a cookie to all ports of a host: two servers on one host need different cookie names.
        self.cookie = f"dedup_{secrets.token_hex(4)}"

    def check(self, scope: Scope) -> None:
        """Raise ProblemError for an unknown name in the header Host, or if a needed token was not entered."""
        check_host(scope, self._hosts)
        # The page that asks for the token needs the style sheet before the visitor has entered the token.
        if scope["path"] != ENTER and not scope["path"].startswith(STATIC):
            self.visitor_of(scope)

    def visitor_of(self, scope: Scope) -> Visitor:
        """Return the visitor of a request, or a new visitor if no token is needed."""
        cookies = cookie_parser(dict(scope["headers"]).get(b"cookie", b"").decode("latin-1"))
        value = cookies.get(self.cookie, "")
        try:
            self._names.unsign(value, max_age=VISIT_SECONDS - 1)
        except BadSignature:
            if self._token is not None:
                words = "enter the token of this server; ask the person who started it"
                raise ProblemError(401, words) from None
            return self._made()
        return Visitor(value, self._forms.get_signature(value).decode())

    def enter(self, scope: Scope, given: str) -> Visitor:
        """Return a new visitor; raise ProblemError for a wrong token, or a form that another site sent."""
        self.check_origin(scope)
        # Compare bytes: `compare_digest` raises TypeError for a str with non-ASCII characters.
        if self._token is None or not hmac.compare_digest(given.strip().encode(), self._token):
            raise ProblemError(401, "that is not the token of this server")
        return self._made()

    def check_form(self, scope: Scope, form: str) -> Visitor:
        """Return the visitor who sent a form; raise ProblemError if the form is old or another visitor's."""
        self.check_origin(scope)
        visitor = self.visitor_of(scope)
        if not self._forms.verify_signature(visitor.value, form):
            raise ProblemError(403, "this form is too old or belongs to another visitor: open the page again")
        return visitor

    @staticmethod
    def check_origin(scope: Scope) -> None:
        """Raise ProblemError if another site sent the request, or if the request does not name its site."""
        headers = dict(scope["headers"])
        site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin")
        host = headers.get(b"host", b"").decode("latin-1").lower()
        # Old browsers do not send Sec-Fetch-Site; then the request must have Origin.
        named = site in (None, b"same-origin") and (site is not None or origin is not None)
        if named and origin is not None:
            try:
                named = urlsplit(origin.decode("latin-1")).netloc.lower() == host
            except ValueError:
                named = False
        if not named:
            raise ProblemError(403, "send the form from a page of this server")

    def header(self, visitor: Visitor) -> str:
        return f"{self.cookie}={visitor.value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={VISIT_SECONDS}"

    def _made(self) -> Visitor:
        kind = "seen" if self._token is None else "entered"
        value = self._names.sign(f"{kind}-{secrets.token_urlsafe(16)}").decode()
        return Visitor(value, self._forms.get_signature(value).decode(), new=True)
