"""oidc-provider, a certified authorization server, on loopback; and a browser that agrees to all it asks."""

import http.cookiejar
import json
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from base64 import b64encode
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import pytest

from processes import free_port

NODE = Path(sys.executable).with_name("node")
HERE = Path(__file__).parent
PEERS = Path(sys.prefix, "peers/node_modules")
MACHINE = ("machine", "a secret")
"""The client that may use the grant client_credentials, and introspect."""
SCOPES = ("shop:read", "shop:write")


class AuthorizationServer:
    """Issues tokens for one resource to `alice` and to MACHINE. A context manager."""

    def __init__(
        self, resource: str, *, tokens: Literal["jwt", "opaque"] = "jwt", seconds: int = 300
    ) -> None:
        if not (PEERS / "oidc-provider").exists():
            pytest.fail(f"oidc-provider is not in {PEERS}: `make test-all` installs it")
        self._port = free_port()
        self.issuer = f"http://127.0.0.1:{self._port}"
        self._resource = resource
        self._options = {"format": tokens, "seconds": seconds}

    def __enter__(self) -> Self:
        client, secret = MACHINE
        task = {
            "modules": str(PEERS),
            "port": self._port,
            "resource": self._resource,
            "scopes": " ".join(SCOPES),
            "client": client,
            "secret": secret,
            **self._options,
        }
        self._process = subprocess.Popen(
            [NODE, HERE / "authorization_server.mjs", json.dumps(task)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"listening\n"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.communicate(timeout=10)

    def rotate_keys(self) -> None:
        """Replace the key that signs tokens, and forget the old one."""
        urllib.request.urlopen(f"{self.issuer}/rotate-keys", b"").close()

    def machine_token(self, scope: str) -> str:
        """Return an access token for MACHINE."""
        form = {
            "grant_type": "client_credentials",
            "scope": scope,
            "resource": self._resource,
        }
        request = urllib.request.Request(
            f"{self.issuer}/token",
            urllib.parse.urlencode(form).encode(),
            {"authorization": basic(*MACHINE)},
        )
        with urllib.request.urlopen(request) as response:
            token: str = json.load(response)["access_token"]
            return token


def basic(client: str, secret: str) -> str:
    """Return the header of a client with a secret, as RFC 6749 2.3.1 encodes it."""
    pair = f"{urllib.parse.quote_plus(client)}:{urllib.parse.quote_plus(secret)}"
    return "Basic " + b64encode(pair.encode()).decode()


class _Browser(urllib.request.HTTPRedirectHandler):
    """Follows redirects up to the callback of a client."""

    def __init__(self, callback: str) -> None:
        self.callback = callback
        self.arrived: str | None = None

    def redirect_request(
        self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: str
    ) -> Any:
        if newurl.startswith(self.callback):
            self.arrived = newurl
            return None
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def agree(url: str) -> dict[str, str]:
    """Open the page of an authorization request as a browser, and return what the callback gets."""
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
    browser = _Browser(query["redirect_uri"])
    jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
    try:
        urllib.request.build_opener(browser, jar).open(url).close()
    except urllib.error.HTTPError as error:
        if browser.arrived is None:
            raise AssertionError(f"{error.code}: {error.read()!r}") from error
    assert browser.arrived is not None
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(browser.arrived).query))
