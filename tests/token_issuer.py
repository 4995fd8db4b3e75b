"""An authorization server on loopback, for tests: metadata, keys, introspection, and faults."""

import base64
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs

from joserfc import jwk, jws
from joserfc.jwk import ECKey, OctKey, OKPKey, RSAKey

AUDIENCE = "https://mcp.example.com/mcp"
Fault = Callable[[BaseHTTPRequestHandler], bool]
"""Answers a request in place of the server, if it returns True."""


def make_keys() -> dict[str, Any]:
    """Return a key for each kind of signature, by its id."""
    return {
        "rsa": RSAKey.generate_key(2048, {"kid": "rsa"}),
        "ec": ECKey.generate_key("P-256", {"kid": "ec"}),
        "ed": OKPKey.generate_key("Ed25519", {"kid": "ed"}),
    }


KEYS = make_keys()
OTHERS = make_keys()
"""Keys with the same ids that the issuer does not have."""
ALGORITHMS = {"rsa": "RS256", "ec": "ES256", "ed": "EdDSA"}


def encode(value: Any) -> str:
    """Return JSON, text or bytes as base64url without padding."""
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def sign(header: Any, claims: Any, key: Any, algorithm: str | None = None) -> str:
    """Return a token with any header and claims; `algorithm` is how it is really signed."""
    signed = f"{encode(header)}.{encode(claims)}"
    name = algorithm or (header["alg"] if isinstance(header, dict) else "RS256")
    model = jws.JWSRegistry.algorithms[name]
    return f"{signed}.{encode(model.sign(signed.encode(), key))}"


class Issuer:
    """The server. A context manager."""

    def __init__(self, path: str = "") -> None:
        self.path = path
        self.keys = dict(KEYS)
        self.hits: Counter[str] = Counter()
        self.faults: dict[str, Fault] = {}
        """Faults by the end of a path."""
        self.metadata: dict[str, Any] = {}
        """Members of the metadata in place of the usual ones."""
        self.active: dict[str, Mapping[str, Any]] = {}
        """Opaque tokens, and what is known of them."""
        self.credentials: list[str | None] = []
        """The Authorization headers of introspection requests."""

    def __enter__(self) -> Self:
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.answer(self)

            def do_POST(self) -> None:
                issuer.answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """The issuer."""
        return self.origin + self.path

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        """Answer a request, or fail as told."""
        self.hits[request.path] += 1
        for end, fault in list(self.faults.items()):
            if request.path.endswith(end) and fault(request):
                return
        if request.path == "/jwks":
            send(request, 200, {"keys": [public(key) for key in self.keys.values()]})
        elif request.path == "/introspect":
            self._introspect(request)
        elif request.path == f"/.well-known/oauth-authorization-server{self.path}":
            known = {"issuer": self.url, "jwks_uri": f"{self.origin}/jwks"}
            send(request, 200, known | self.metadata)
        else:
            send(request, 404, {})

    def _introspect(self, request: BaseHTTPRequestHandler) -> None:
        self.credentials.append(request.headers["authorization"])
        body = request.rfile.read(int(request.headers["content-length"]))
        [token] = parse_qs(body.decode())["token"]
        found = self.active.get(token)
        send(request, 200, {"active": False} if found is None else {"active": True, **found})

    def claims(self, **changed: Any) -> dict[str, Any]:
        """Return valid claims with changes; a value of `...` leaves a claim out."""
        now = int(time.time())
        usual = {
            "iss": self.url,
            "aud": AUDIENCE,
            "sub": "zoe",
            "client_id": "agent",
            "iat": now,
            "exp": now + 600,
            "scope": "shop:read",
        }
        return {name: value for name, value in (usual | changed).items() if value is not ...}

    def token(self, kid: str = "rsa", **changed: Any) -> str:
        """Return a valid token with changed claims."""
        header = {"alg": ALGORITHMS[kid], "typ": "at+jwt", "kid": kid}
        return sign(header, self.claims(**changed), self.keys.get(kid, KEYS[kid]))


def public(key: Any) -> dict[str, Any]:
    """Return a key as it is published."""
    return dict(key.as_dict(private=False))


def send(
    request: BaseHTTPRequestHandler, status: int, value: Any, headers: Mapping[str, str] = {}
) -> None:
    """Send JSON, or bytes as they are."""
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    request.send_response(status)
    for name, text in headers.items():
        request.send_header(name, text)
    request.send_header("content-length", str(len(body)))
    request.end_headers()
    request.wfile.write(body)


__all__ = [
    "AUDIENCE",
    "KEYS",
    "OTHERS",
    "Issuer",
    "OctKey",
    "encode",
    "jwk",
    "public",
    "send",
    "sign",
]
