"""The cost of authorization: of a call with a verified token, and of the first verification."""

import asyncio
import gc
import json
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from joserfc import jwt
from joserfc.jwk import ECKey, OKPKey, RSAKey

from accord import TokenVerifier
from accord.auth import TokenRequest
from bench import wire
from bench.child import HttpChild
from bench.contenders import accord_command
from bench.http_trial import Exchange, has_wrk, post, run_wrk
from bench.report import number, table, verdict
from bench.servers.data import AUDIENCE
from bench.wire import STATELESS, WrongReplyError

ROUNDS = 9
TOKENS = 200
MAX_EXTRA_US = 4.0
MAX_RATIO = 1.2
SECONDS = 2

METHOD = """\
*A call*: `add` over HTTP in the 2026 era, with `accord serve --http` and its access log to /dev/null, as above, with
and without a verifier of tokens; wrk repeats one call with one RS256 token of about 700 bytes, whose verdict is kept
after the first. CPU time; the difference is the median of {rounds} rounds, in which both servers alternate. *First
verification*: `TokenVerifier.verify` of {tokens} different tokens, against `joserfc.jwt.decode` with a key and
`JWTClaimsRegistry.validate` of issuer, audience and expiry; in one process, CPU time, alternating, medians."""


@contextmanager
def issuer(keys: list[Any]) -> Iterator[str]:
    """Serve the metadata and keys of an issuer on loopback; yield its URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = {"issuer": url, "jwks_uri": f"{url}/jwks"}
            if self.path == "/jwks":
                found = {"keys": [key.as_dict(private=False) for key in keys]}
            body = json.dumps(found).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield url
    finally:
        server.shutdown()
        server.server_close()


def make_keys() -> dict[str, Any]:
    return {
        "RS256": RSAKey.generate_key(2048, {"kid": "rsa"}),
        "ES256": ECKey.generate_key("P-256", {"kid": "ec"}),
        "Ed25519": OKPKey.generate_key("Ed25519", {"kid": "ed"}),
    }


def make_token(url: str, algorithm: str, key: Any, number: int) -> str:
    now = int(time.time())
    claims = {
        "iss": url,
        "aud": AUDIENCE,
        "sub": "user-1",
        "client_id": "agent",
        "jti": str(number),
        "iat": now,
        "exp": now + 3_600,
        "scope": "shop:read shop:write",
    }
    header = {"alg": algorithm, "typ": "at+jwt", "kid": key.kid}
    return str(jwt.encode(header, claims, key, algorithms=[algorithm]))


# A call with a verified token


def measure_authorized(rounds: int, seconds: int) -> list[tuple[float, float]]:
    """Return the CPU µs of a call without and with a verified token, by round."""
    keys = make_keys()
    with issuer(list(keys.values())) as url, ExitStack() as stack:
        token = make_token(url, "RS256", keys["RS256"], 0)
        children = []
        for name, headers in (
            ("accord_server", {}),
            ("authorized_server", {"Authorization": f"Bearer {token}"}),
        ):
            command = accord_command(f"bench.servers.{name}:server", "--http", "127.0.0.1:{port}")
            child = HttpChild(command, {"BENCH_ISSUER": url}, keep_stderr=False)
            stack.enter_context(child)
            child.wait_until_listening()
            sent = {**wire.http_headers(STATELESS, "tools/call", "add"), **headers}
            body = wire.call(STATELESS, 1, "add").rstrip()
            reply, _ = post(child, sent, body)
            children.append((child, Exchange(sent, body, reply)))
        _require_refusal(children[1][0], children[0][1])
        for child, call in children:
            run_wrk(child, call, 1, str(wire.expected_value("add", 1)))
        return [
            (cost_of(*children[0], seconds), cost_of(*children[1], seconds)) for _ in range(rounds)
        ]


def _require_refusal(child: HttpChild, call: Exchange) -> None:
    try:
        post(child, call.headers, call.body)
    except WrongReplyError:
        return
    raise WrongReplyError("a call without a token was answered")


def cost_of(child: HttpChild, call: Exchange, seconds: int) -> float:
    cpu = child.cpu_seconds()
    calls, _ = run_wrk(child, call, seconds)
    return (child.cpu_seconds() - cpu) / calls * 1e6


# The first verification


def measure_first(rounds: int) -> dict[str, tuple[float, float]]:
    """Return the CPU µs of a verification by Accord and by joserfc, by algorithm."""
    keys = make_keys()
    with issuer(list(keys.values())) as url:
        return {name: _first(url, name, key, rounds) for name, key in keys.items()}


def _first(url: str, algorithm: str, key: Any, rounds: int) -> tuple[float, float]:
    tokens = [make_token(url, algorithm, key, number) for number in range(TOKENS)]
    public = type(key).import_key(key.as_dict(private=False))
    rules = jwt.JWTClaimsRegistry(
        iss={"essential": True, "value": url},
        aud={"essential": True, "value": AUDIENCE},
        exp={"essential": True},
    )

    def by_joserfc() -> None:
        for token in tokens:
            rules.validate(jwt.decode(token, public, algorithms=[algorithm]).claims)

    async def run() -> tuple[list[float], list[float]]:
        verifier = TokenVerifier(url, AUDIENCE)
        request = TokenRequest("POST", "/mcp", {}, "127.0.0.1")
        await verifier.verify(tokens[0], request)  # fetches the keys
        ours, theirs = [], []
        for _ in range(rounds):
            begun = time.process_time()
            for token in tokens:
                if await verifier.verify(token, request) is None:
                    raise WrongReplyError("a good token was refused")
            ours.append(time.process_time() - begun)
            theirs.append(cpu_of(by_joserfc))
        return ours, theirs

    gc.disable()
    try:
        ours, theirs = asyncio.run(run())
    finally:
        gc.enable()
    return tuple(statistics.median(each) / TOKENS * 1e6 for each in (ours, theirs))  # type: ignore[return-value]


def cpu_of(work: Callable[[], None]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def auth_parts(is_quick: bool) -> list[str]:
    """Measure, and return Markdown."""
    rounds = 3 if is_quick else ROUNDS
    lines = [["authorization", "CPU µs", "against", "at most", "measured", ""]]
    if has_wrk():
        found = measure_authorized(rounds, 1 if is_quick else SECONDS)
        without, added = (
            statistics.median(each)
            for each in zip(*((plain, token - plain) for plain, token in found), strict=True)
        )
        most = f"+{MAX_EXTRA_US:g} µs"
        result = verdict(added, MAX_EXTRA_US)
        lines.append(
            [
                "`add` over HTTP, verdict kept",
                number(without + added),
                f"{number(without)} without a verifier",
                most,
                f"{added:+.1f} µs",
                result,
            ]
        )
    for algorithm, (ours, theirs) in measure_first(rounds).items():
        found_ratio = ours / theirs
        lines.append(
            [
                f"first verification, {algorithm}",
                number(ours),
                f"{number(theirs)} by joserfc alone",
                f"{MAX_RATIO:g}×",
                f"{found_ratio:.2f}×",
                verdict(found_ratio, MAX_RATIO),
            ]
        )
    how = METHOD.format(rounds=rounds, tokens=TOKENS)
    return ["## Authorization", table(lines), how]
