"""`accord login`: signs in to a remote server by its page, for `call`, `tools` and `inspect`."""

import argparse
import asyncio
import sys
from pathlib import Path
from typing import Final

from accord.auth.fetch import bare
from accord.auth.sign_in import AuthRequest, Grant, SignIn, UserStore, browser
from accord.auth.sign_in.endpoints import Endpoints
from accord.auth.sign_in.metadata import canonical
from accord.cli.logs import log_directly
from accord.cli.remote import require_url
from accord.cli.terminal import visible
from accord.cli.values import port, seconds
from accord.client import Client
from accord.errors import ContractError, SignInError

EXAMPLES: Final = """\
  accord login https://mcp.example.com/mcp
  accord login https://mcp.example.com/mcp --scope shop:write
  accord login https://mcp.example.com/mcp --no-browser
  accord login https://mcp.example.com/mcp --client-id reports --client-secret-file secret.txt
  accord call https://mcp.example.com/mcp restock '{"item": "rope"}'
"""
_TIMEOUT: Final = 300.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument("url", metavar="URL", help="URL of the server")
    parser.add_argument(
        "--scope",
        action="append",
        default=[],
        metavar="SCOPE",
        help="request this scope as well; may be repeated",
    )
    parser.add_argument(
        "--no-browser",
        action="store_true",
        help="do not open a browser; paste the URL that it was redirected to, or the code in it",
    )
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=_TIMEOUT,
        metavar="SECONDS",
        help="time limit for the sign-in (default %(default)g)",
    )
    _add_client_arguments(parser.add_argument_group("A client that is registered already"))


def _add_client_arguments(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--client-id", metavar="ID", help="client id")
    group.add_argument(
        "--client-secret-file",
        type=Path,
        metavar="FILE",
        help="file with the client secret; - reads it from standard input",
    )
    group.add_argument(
        "--issuer", metavar="URL", help="authorization server at which the client is registered"
    )
    group.add_argument(
        "--client-metadata-url",
        metavar="URL",
        help="https URL of the client ID metadata document",
    )
    group.add_argument(
        "--redirect-port",
        type=port,
        default=0,
        metavar="PORT",
        help="port of the redirect URI, http://127.0.0.1:PORT/callback (default: any)",
    )


def run(options: argparse.Namespace) -> int:
    """Sign in, and check that the server accepts the token."""
    log_directly()
    require_url(options.url)
    if options.no_browser and str(options.client_secret_file) == "-":
        raise ContractError("standard input is for the code; put the secret into a file")
    store = UserStore()
    sign_in = SignIn(
        client_id=options.client_id,
        client_secret=_secret(options.client_secret_file),
        issuer=options.issuer,
        client_metadata_url=options.client_metadata_url,
        redirect_port=options.redirect_port,
        store=store,
        open_page=None if options.no_browser else browser.open_page,
        announce=_ask_for_code if options.no_browser else _announce,
        read_code=browser.read_line if options.no_browser else None,
        timeout=options.timeout,
    )
    grant = asyncio.run(_login(options.url, sign_in, store, options.scope))
    scopes = f"; scopes: {' '.join(grant.tokens.scopes)}" if grant.tokens.scopes else ""
    print(
        visible(
            f"Signed in to {bare(grant.server)} at {bare(grant.issuer)}{scopes};"
            f" kept in {store.place(grant.server)}"
        )
    )
    return 0


async def _login(url: str, sign_in: SignIn, store: UserStore, scopes: list[str]) -> Grant:
    """Connect, sign in at the first refusal, and use the token once."""
    earlier = await store.grant(canonical(url))
    auth = _AlwaysAsking(sign_in, [*(earlier.scopes if earlier else ()), *scopes])
    try:
        async with Client(url, auth=auth) as client:
            await client.request("tools/list", {})  # any reply will do
    except SignInError:
        if auth.grant is not None:
            await store.forget(auth.grant.server)
        raise
    if auth.grant is None:
        if (await Endpoints(url).discover(None)).resource is None:
            raise SignInError(f"{bare(url)} can be used without a sign-in, and offers none")
        auth.grant = await sign_in.sign_in(url, scopes=auth.scopes)
    return auth.grant


class _AlwaysAsking:
    """Signs in at the first refusal, whatever is stored; then it is as any sign-in."""

    def __init__(self, sign_in: SignIn, scopes: list[str]) -> None:
        self.grant: Grant | None = None
        self.scopes = scopes
        self._sign_in = sign_in

    async def token(self, request: AuthRequest) -> str | None:
        """Return a token, of a new sign-in."""
        if self.grant is not None:
            return await self._sign_in.token(request)
        if request.status is None:
            return None
        self.grant = await self._sign_in.sign_in(request.url, request.challenge, scopes=self.scopes)
        return self.grant.tokens.access_token


def _announce(url: str) -> None:
    browser.announce(url)
    if not browser.has_browser():
        print("No browser was found; use --no-browser to paste the result.", file=sys.stderr)


def _ask_for_code(url: str) -> None:
    browser.announce(url)
    text = "then paste the URL that the browser was sent to, or the code in it: "
    print(text, end="", file=sys.stderr, flush=True)


def _secret(file: Path | None) -> str | None:
    if file is None:
        return None
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ContractError(f"could not read the secret from {file}: {error}") from error
    if not text.strip():
        raise ContractError(f"{file} holds no secret")
    return text.strip()
