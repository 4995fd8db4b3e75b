"""`accord whoami`: shows the sign-in at a remote server, or lists all of them."""

import argparse
import asyncio
import binascii
import sys
from base64 import urlsafe_b64decode
from collections.abc import Iterator
from time import time
from typing import Any, Final

import msgspec

from accord.auth.fetch import bare
from accord.auth.sign_in import Grant, UserStore
from accord.auth.sign_in.metadata import canonical
from accord.auth.sign_in.oauth import shown
from accord.cli.logs import log_directly
from accord.cli.remote import require_url
from accord.cli.terminal import visible

EXAMPLES: Final = """\
  accord whoami
  accord whoami https://mcp.example.com/mcp
"""
_NAMES: Final = ("email", "preferred_username", "sub")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument(
        "url", nargs="?", metavar="URL", help="URL of the server (default: list all)"
    )


def run(options: argparse.Namespace) -> int:
    """Show what is stored, without a request; exit code 1 if there is no sign-in."""
    log_directly()
    store = UserStore()
    if options.url is None:
        for server in store.servers():
            print(visible(server))
        return 0
    require_url(options.url)
    server = canonical(options.url)
    grant = asyncio.run(store.grant(server))
    if grant is None:
        url = visible(bare(options.url))
        print(f"accord whoami: not signed in to {url}; run: accord login {url}", file=sys.stderr)
        return 1
    for name, value in (*_rows(grant), ("kept in", store.place(server))):
        print(visible(f"{name:8} {value}"))
    return 0


def _rows(grant: Grant) -> Iterator[tuple[str, str]]:
    yield "server", bare(grant.server)
    yield "issuer", bare(grant.issuer)
    yield "client", shown(grant.registration.client_id)
    claims = _claims(grant.tokens.access_token)
    user = next((claims[name] for name in _NAMES if isinstance(claims.get(name), str)), None)
    if user is not None:
        yield "user", f"{shown(user)} (as the token says)"
    yield "scopes", " ".join(grant.tokens.scopes) or "not named"
    yield "token", _lifetime(grant)


def _lifetime(grant: Grant) -> str:
    """Say how long the access token is good, and what then."""
    tokens = grant.tokens
    then = "renewed on use" if tokens.refresh_token else "then a new sign-in is needed"
    if tokens.expires_at is None:
        return "valid until the server refuses it" if not tokens.refresh_token else then
    left = tokens.expires_at - time()
    if left <= 0:
        return f"expired; {then}" if tokens.refresh_token else "expired; a new sign-in is needed"
    return f"valid for {_duration(left)}, {then}"


def _duration(seconds: float) -> str:
    for size, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if round(seconds / size) >= 1:
            return f"{round(seconds / size)} {name}"
    return f"{seconds:.0f} s"


def _claims(token: str) -> dict[str, Any]:
    """Return the claims of a JWT, unverified; none of any other token."""
    payload = token.split(".")[1] if token.count(".") == 2 else ""
    try:
        found = msgspec.json.decode(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (msgspec.MsgspecError, binascii.Error, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
