"""Who looks at the pages: the token that is entered once, the cookie after it, and where a form comes from.

A visitor is a random name in a cookie, signed with a key that this process alone knows and forgets. Forms
carry a second signature of the same cookie. So a page of another site can neither make a browser send a form
that counts (SameSite, `Origin`, the form's signature) nor read one (no CORS, and CSP).
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

VISIT_SECONDS = 12 * 3_600  # How long a visitor is known: a working day. Then the token is entered again


@dataclass(frozen=True, slots=True)
class Visitor:
    value: str  # of the cookie
    form: str  # what the forms of this visitor carry
    new: bool = False  # whether the browser has not got the cookie yet


class Visitors:
    """Knows visitors, for a `Guard`: a `token` is entered once; without one anybody may come in."""

    def __init__(
        self, token: bytes | None, hosts: frozenset[str] | None, clock: Callable[[], float] = time.time
    ) -> None:
        self._token, self._hosts = token, hosts
        key = secrets.token_bytes(32)
        self._names = TimestampSigner(key, salt="visitor", digest_method=sha256)
        self._names.get_timestamp = lambda: int(clock())  # type: ignore[method-assign]
        self._forms = Signer(key, salt="form", digest_method=sha256)
        # Cookies do not know ports: two servers of one machine must not take each other's away.
        self.cookie = f"dedup_{secrets.token_hex(4)}"

    def check(self, scope: Scope) -> None:
        """Refuse a Host of another machine, and who did not enter the token."""
        check_host(scope, self._hosts)
        if scope["path"] != ENTER and not scope["path"].startswith(STATIC):
            self.met(scope)

    def met(self, scope: Scope) -> Visitor:
        """The visitor of a request, or a new one where no token is needed."""
        cookies = cookie_parser(dict(scope["headers"]).get(b"cookie", b"").decode("latin-1"))
        value = cookies.get(self.cookie, "")
        try:
            self._names.unsign(value, max_age=VISIT_SECONDS - 1)
        except BadSignature:
            if self._token is not None:
                words = "enter the token of this server; whoever started it has it"
                raise ProblemError(401, words) from None
            return self._made()
        return Visitor(value, self._forms.get_signature(value).decode())

    def enter(self, scope: Scope, given: str) -> Visitor:
        """A visitor who knows the token and did not come from another site."""
        self.check_origin(scope)
        if self._token is None or not hmac.compare_digest(given.strip().encode(), self._token):
            raise ProblemError(401, "that is not the token of this server")
        return self._made()

    def check_form(self, scope: Scope, form: str) -> Visitor:
        """The visitor who sends a form of ours; refuses forms from elsewhere, or too old."""
        self.check_origin(scope)
        visitor = self.met(scope)
        if not self._forms.verify_signature(visitor.value, form):
            raise ProblemError(403, "this form is too old, or of another page: open the page again")
        return visitor

    @staticmethod
    def check_origin(scope: Scope) -> None:
        """Refuse a request that was sent from another site, or does not name its own."""
        headers = dict(scope["headers"])
        site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin")
        host = headers.get(b"host", b"").decode("latin-1").lower()
        named = site in (None, b"same-origin") and (site is not None or origin is not None)
        if named and origin is not None:
            try:
                named = urlsplit(origin.decode("latin-1")).netloc.lower() == host
            except ValueError:
                named = False
        if not named:
            raise ProblemError(403, "forms are taken from the pages of this server only")

    def header(self, visitor: Visitor) -> str:
        """The value of `Set-Cookie` for a visitor."""
        return f"{self.cookie}={visitor.value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={VISIT_SECONDS}"

    def _made(self) -> Visitor:
        kind = "seen" if self._token is None else "entered"
        value = self._names.sign(f"{kind}-{secrets.token_urlsafe(16)}").decode()
        return Visitor(value, self._forms.get_signature(value).decode(), new=True)
