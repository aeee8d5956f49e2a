"""An OpenID provider for tests, on this machine: discovery, authorization, token, userinfo and keys over real HTTP.

It keeps the rules: a code is good once, for one client, one address and the verifier of PKCE whose challenge it was
given. A test says who logs in there, and what it does wrong.
"""

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT_ID, CLIENT_SECRET = "placeto", "a-secret-of-the-client"
KEY_NAME = "key-1"
ADA: dict[str, Any] = {
    "sub": "248289761001",
    "preferred_username": "ada",
    "email": "ada@example.org",
    "email_verified": True,
}


@dataclass
class Grant:
    """What a code stands for."""

    nonce: str
    challenge: str
    redirect: str
    person: dict[str, Any]


@dataclass
class Provider:
    """Who logs in, what goes wrong, and what has been asked."""

    address: str = ""
    person: dict[str, Any] = field(default_factory=lambda: dict(ADA))
    token: dict[str, Any] = field(default_factory=dict)
    """claims of the id_token in place of the right ones; None leaves one out"""
    userinfo: dict[str, Any] = field(default_factory=dict)
    """the same of userinfo"""
    discovery: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    """what it answers in place of a code"""
    fails_at: str = ""
    """the path at which it answers 500"""
    signs_with: str = "own"
    """`own`, `other key` that it does not publish, `secret` of the client, or `none`"""
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    """path and fields of each request"""
    grants: dict[str, Grant] = field(default_factory=dict)
    persons: dict[str, dict[str, Any]] = field(default_factory=dict)
    """access token → who"""

    def asked_at(self, path: str) -> list[dict[str, str]]:
        """The fields of the requests for `path`."""
        return [fields for asked, fields in self.asked if asked == path]

    def answer(self, path: str, fields: dict[str, str], headers: Any) -> tuple[int, dict[str, Any] | str]:
        """Status, and JSON or an address to go to."""
        self.asked.append((path, fields))
        if path == self.fails_at:
            return 500, {"error": "server_error"}
        if path == "/.well-known/openid-configuration":
            return 200, self._configuration()
        if path == "/keys":
            return 200, {"keys": [self._public_key()]}
        if path == "/authorize":
            return self._authorize(fields)
        if path == "/token":
            return self._token(fields)
        if path == "/userinfo":
            person = self.persons.get(headers.get("Authorization", "").removeprefix("Bearer "))
            return (200, _changed(person, self.userinfo)) if person else (401, {"error": "invalid_token"})
        return 404, {}

    def _configuration(self) -> dict[str, Any]:
        names = {"authorization": "authorize", "token": "token", "userinfo": "userinfo"}
        endpoints = {f"{name}_endpoint": f"{self.address}/{path}" for name, path in names.items()}
        more = {"issuer": self.address, "jwks_uri": f"{self.address}/keys"}
        return _changed({**more, **endpoints}, self.discovery)

    def _public_key(self) -> dict[str, Any]:
        numbers: dict[str, Any] = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(a_key("own").public_key()))
        return {**numbers, "kid": KEY_NAME, "use": "sig", "alg": "RS256"}

    def _authorize(self, fields: dict[str, str]) -> tuple[int, dict[str, Any] | str]:
        if fields["client_id"] != CLIENT_ID or fields["response_type"] != "code" or "openid" not in fields["scope"]:
            return 400, {"error": "invalid_request"}
        assert fields["code_challenge_method"] == "S256"
        if self.error:
            return 302, f"{fields['redirect_uri']}?{urlencode({'error': self.error, 'state': fields['state']})}"
        code = secrets.token_urlsafe(16)
        grant = Grant(fields["nonce"], fields["code_challenge"], fields["redirect_uri"], dict(self.person))
        self.grants[code] = grant
        return 302, f"{fields['redirect_uri']}?{urlencode({'code': code, 'state': fields['state']})}"

    def _token(self, fields: dict[str, str]) -> tuple[int, dict[str, Any]]:
        if (fields.get("client_id"), fields.get("client_secret")) != (CLIENT_ID, CLIENT_SECRET):
            return 401, {"error": "invalid_client"}
        grant = self.grants.pop(fields.get("code", ""), None)
        if grant is None or grant.redirect != fields.get("redirect_uri"):
            return 400, {"error": "invalid_grant"}
        if grant.challenge != challenge_of(fields.get("code_verifier", "")):
            return 400, {"error": "invalid_grant"}
        access = secrets.token_urlsafe(16)
        self.persons[access] = grant.person
        return 200, {"access_token": access, "token_type": "Bearer", "expires_in": 300, "id_token": self._signed(grant)}

    def _signed(self, grant: Grant) -> str:
        now = int(time.time())
        claims = {"iss": self.address, "aud": CLIENT_ID, "iat": now, "exp": now + 300, "nonce": grant.nonce}
        claims = _changed({**claims, "sub": grant.person["sub"]}, self.token)
        if self.signs_with == "secret":
            return jwt.encode(claims, CLIENT_SECRET.ljust(32), "HS256", headers={"kid": KEY_NAME})
        if self.signs_with == "none":
            return jwt.encode(claims, "", "none", headers={"kid": KEY_NAME})
        return jwt.encode(claims, a_key(self.signs_with), "RS256", headers={"kid": KEY_NAME})


@cache
def a_key(_name: str) -> rsa.RSAPrivateKey:
    """A key, the same for the same name."""
    return rsa.generate_private_key(65537, 2048)


def challenge_of(verifier: str) -> str:
    """PKCE's S256."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")


def _changed(given: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in {**given, **changes}.items() if value is not None}


@contextmanager
def running_provider() -> Iterator[Provider]:
    """A provider that answers at `address` while the block runs."""
    provider = Provider()

    class Handler(BaseHTTPRequestHandler):
        """Hands requests to the provider."""

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            self._answer(parts.path, dict(parse_qsl(parts.query)))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self._answer(self.path, dict(parse_qsl(body)))

        def _answer(self, path: str, fields: dict[str, str]) -> None:
            status, content = provider.answer(path, fields, self.headers)
            self.send_response(status)
            if isinstance(content, str):
                self.send_header("Location", content)
            body = b"" if isinstance(content, str) else json.dumps(content).encode()
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        provider.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield provider
        finally:
            server.shutdown()
            thread.join()
