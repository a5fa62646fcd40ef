"""Who looks at the pages: the token that is entered once, the cookie after it, and where a form comes from.

A visitor is a random name in a cookie, signed with a key that this process alone knows and forgets. Forms
carry a second signature of the same name. So a page of another site can neither make a browser send a form
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

from starlette.types import Scope

from dedup.extras.serve.guard import ProblemError, check_host

ENTER = "/enter"
STATIC = "/static/"

VISIT_SECONDS = 12 * 3_600  # How long a visitor is known: a working day. Then the token is entered again

SEEN, ENTERED = "seen", "entered"


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
        self._token, self._hosts, self._clock = token, hosts, clock
        self._key = secrets.token_bytes(32)
        # Cookies do not know ports: two servers of one machine must not take each other's away.
        self.cookie = f"dedup_{secrets.token_hex(4)}"

    def check(self, scope: Scope) -> None:
        """Refuse a Host of another machine, and who did not enter the token."""
        check_host(scope, self._hosts)
        path = scope["path"]
        needed = self._token is not None and path != ENTER and not path.startswith(STATIC)
        if needed and self._known(scope) is None:
            raise ProblemError(401, "enter the token of this server; whoever started it has it")

    def _known(self, scope: Scope) -> Visitor | None:
        """The visitor of a request; None: it is unknown, or has not entered the token."""
        kind = SEEN if self._token is None else ENTERED
        raw = b"; ".join(value for name, value in scope["headers"] if name == b"cookie").decode("latin-1")
        pairs = (pair.strip().partition("=") for pair in raw.split(";"))
        # More than one only if somebody meddles.
        for value in [value for name, _, value in pairs if name == self.cookie][:4]:
            if self._is_own(value, kind):
                return Visitor(value, self._signed("form", value))
        return None

    def met(self, scope: Scope) -> Visitor:
        """The visitor of a request, or a new one where no token is needed."""
        return self._known(scope) or self._made(SEEN)

    def enter(self, scope: Scope, given: str) -> Visitor:
        """A visitor who knows the token and did not come from another site."""
        self.check_origin(scope)
        if self._token is None or not hmac.compare_digest(given.strip().encode(), self._token):
            raise ProblemError(401, "that is not the token of this server")
        return self._made(ENTERED)

    def check_form(self, scope: Scope, form: str) -> Visitor:
        """The visitor who sends a form of ours; refuses forms from elsewhere, or too old."""
        self.check_origin(scope)
        visitor = self._known(scope)
        if visitor is None or not hmac.compare_digest(form.encode(), visitor.form.encode()):
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

    def _made(self, kind: str) -> Visitor:
        name = f"{kind}-{int(self._clock())}-{secrets.token_urlsafe(16)}"
        value = f"{name}.{self._signed('visitor', name)}"
        return Visitor(value, self._signed("form", value), new=True)

    def _is_own(self, value: str, kind: str) -> bool:
        name, _, signature = value.rpartition(".")
        if not hmac.compare_digest(signature.encode(), self._signed("visitor", name).encode()):
            return False
        found, made, _ = name.split("-", 2)
        return found == kind and self._clock() - int(made) < VISIT_SECONDS

    def _signed(self, what: str, name: str) -> str:
        return hmac.new(self._key, f"{what} {name}".encode(), sha256).hexdigest()
