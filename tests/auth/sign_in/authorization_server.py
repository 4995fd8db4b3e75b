"""An MCP server and its authorization server on one port of loopback, with faults to switch on."""

import json
import urllib.error
import urllib.request
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from peers.scripted_server import Request, scripted_server, stateless

WELL_KNOWN = "/.well-known/"


@dataclass
class Variant:
    """What this server does; a sign-in works with all defaults."""

    resource_at: str | None = f"{WELL_KNOWN}oauth-protected-resource/mcp"
    is_named: bool = True
    """True if the challenge names the metadata."""
    resource: dict[str, Any] = field(default_factory=dict)
    """Members that replace those of the resource's metadata."""
    tenant: str = ""
    """The path of the issuer."""
    server_at: str | None = f"{WELL_KNOWN}oauth-authorization-server"
    server: dict[str, Any] = field(default_factory=dict)
    registered: dict[str, Any] = field(default_factory=dict)
    """Members that replace those of the reply to a registration."""
    challenge: str = 'scope="read"'
    iss: str | None = "{issuer}"
    error: dict[str, str] | None = None
    """An error instead of a code."""
    expires_in: int | None = 3600
    refreshes: bool = True
    rotates: bool = True
    accepts: bool = True
    """False if no token is ever accepted."""
    needs: dict[str, str] = field(default_factory=dict)
    """The scope that a tool requires."""
    grants: str | None = None
    """The scopes that are granted, whatever is requested."""
    token_error: str | None = None


class Site:
    """The state of the server, and all that it was asked for."""

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        self.origin = ""
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.headers: list[dict[str, str]] = []
        self.issued = 0
        self.tokens: dict[str, set[str]] = {}
        self.refresh_tokens: dict[str, set[str]] = {}
        self.codes: dict[str, dict[str, str]] = {}
        self.clients: dict[str, str | None] = {}
        self.problems: list[str] = []
        """What a server would refuse."""

    @property
    def issuer(self) -> str:
        return self.origin + self.variant.tenant

    def named(self, event: str) -> list[dict[str, Any]]:
        return [params for name, params in self.events if name == event]

    def grant(self, scopes: str) -> dict[str, Any]:
        """Return a new token, as the token endpoint does."""
        self.issued += 1
        variant, number = self.variant, self.issued
        granted = set((scopes if variant.grants is None else variant.grants).split())
        reply: dict[str, Any] = {"access_token": f"access-{number}", "token_type": "Bearer"}
        self.tokens[f"access-{number}"] = granted
        if variant.expires_in is not None:
            reply["expires_in"] = variant.expires_in
        if variant.grants is not None:
            reply["scope"] = variant.grants
        if variant.refreshes:
            reply["refresh_token"] = f"refresh-{number}"
            self.refresh_tokens[f"refresh-{number}"] = granted
        return reply

    async def answer(self, request: Request) -> None:
        """Answer any request of a client or a browser."""
        variant, (path, _, query) = self.variant, request.path.partition("?")
        if path == "/mcp":
            await self._mcp(request)
        elif path == variant.resource_at:
            self.events.append(("resource", {}))
            stated = {"resource": f"{self.origin}/mcp", "authorization_servers": [self.issuer]}
            await _json(request, stated | self._filled(variant.resource))
        elif path == variant.server_at:
            self.events.append(("server", {}))
            await _json(request, self._metadata() | self._filled(variant.server))
        elif path == "/register":
            await self._register(request)
        elif path == "/authorize":
            await self._authorize(request, _one_each(query))
        elif path == "/token":
            await self._token(request, _one_each(request.body.decode()))
        elif path == "/revoke":
            self.events.append(("revoke", _one_each(request.body.decode())))
            self.tokens.clear()
            await request.reply(200)
        else:
            self.events.append(("missing", {"path": path}))
            await request.reply(404)

    def _filled(self, members: dict[str, Any]) -> dict[str, Any]:
        text = json.dumps(members).replace("{issuer}", self.issuer)
        return dict(json.loads(text.replace("{origin}", self.origin)))

    def _metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.origin}/authorize",
            "token_endpoint": f"{self.origin}/token",
            "registration_endpoint": f"{self.origin}/register",
            "revocation_endpoint": f"{self.origin}/revoke",
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
        }

    async def _mcp(self, request: Request) -> None:
        self.headers.append(dict(request.headers))
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        place = f'resource_metadata="{self.origin}{self.variant.resource_at}"'
        parts = [place] if self.variant.is_named and self.variant.resource_at else []
        if token not in self.tokens or not self.variant.accepts:
            challenge = ", ".join([*parts, *filter(None, [self.variant.challenge])])
            await request.reply(401, headers={"WWW-Authenticate": f"Bearer {challenge}".strip()})
            return
        needed = self.variant.needs.get(request.message.get("params", {}).get("name", ""), "")
        if not set(needed.split()) <= self.tokens[token]:
            given = ['error="insufficient_scope"', f'scope="{needed}"', *parts]
            header = {"WWW-Authenticate": f"Bearer {', '.join(given)}"}
            await request.reply(403, headers=header)
        elif request.rpc == "tools/list":
            await request.result({"resultType": "complete", "tools": []})
        else:
            await stateless(request)

    async def _register(self, request: Request) -> None:
        body = json.loads(request.body)
        client_id = f"client-{len(self.named('register')) + 1}"
        self.events.append(("register", body))
        reply = {"client_id": client_id, **body, **self.variant.registered}
        self.clients[client_id] = reply.get("client_secret")
        await _json(request, reply, 201)

    async def _authorize(self, request: Request, params: dict[str, str]) -> None:
        self.events.append(("authorize", params))
        if params.get("code_challenge_method") != "S256":
            self.problems.append("no S256")
        reply = {"state": params["state"]}
        if self.variant.error is not None:
            reply |= self.variant.error
        else:
            reply["code"] = f"code-{len(self.codes) + 1}"
            self.codes[reply["code"]] = params
        if self.variant.iss is not None:
            reply["iss"] = self.variant.iss.replace("{issuer}", self.issuer)
        location = f"{params['redirect_uri']}?{urlencode(reply)}"
        await request.reply(302, headers={"Location": location})

    async def _token(self, request: Request, form: dict[str, str]) -> None:
        given = {"authorization": request.headers.get("authorization")}
        self.events.append(("token", form | {k: v for k, v in given.items() if v}))
        match form.get("grant_type"):
            case "authorization_code":
                granted = self._redeem(form)
            case "refresh_token":
                granted = self.refresh_tokens.get(form["refresh_token"])
                if self.variant.rotates:
                    self.refresh_tokens.pop(form["refresh_token"], None)
            case _:
                granted = set(form.get("scope", "").split())
        error = self.variant.token_error or ("invalid_grant" if granted is None else None)
        if error is not None:
            await _json(request, {"error": error, "error_description": "no"}, 400)
            return
        await _json(request, self.grant(" ".join(sorted(granted or ()))))

    def _redeem(self, form: dict[str, str]) -> set[str] | None:
        asked = self.codes.pop(form["code"], None)
        if asked is None:
            return None
        digest = sha256(form["code_verifier"].encode()).digest()
        if urlsafe_b64encode(digest).rstrip(b"=").decode() != asked["code_challenge"]:
            self.problems.append("the verifier does not fit")
        for name in ("redirect_uri", "resource"):
            if form.get(name) != asked.get(name):
                self.problems.append(f"another {name}")
        return set(asked.get("scope", "").split())


@asynccontextmanager
async def serving(site: Site) -> AsyncIterator[str]:
    """Serve a site on loopback, and give the URL of its MCP server."""
    async with scripted_server(site.answer) as server:
        site.origin = server.url.removesuffix("/mcp")
        yield server.url


def agree(page: str) -> None:
    """Open a page and follow where it leads, as the browser of a person does who agrees."""
    try:
        with urllib.request.urlopen(page, timeout=10) as reply:
            reply.read()
    except urllib.error.HTTPError as error:
        error.read()


async def _json(request: Request, value: dict[str, Any], status: int = 200) -> None:
    members = {name: each for name, each in value.items() if each is not None}
    await request.reply(status, json.dumps(members).encode())


def _one_each(query: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(f"?{query}").query).items()}
