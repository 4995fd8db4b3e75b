"""`accord serve` with tokens: options, limits, the log, TLS, and `accord token`."""

import asyncio
import json
import os
import re
import sqlite3
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection, HTTPSConnection
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from accord.auth import TokenRequest
from accord.auth.static_tokens import StaticTokens, add_token
from accord.errors import ContractError
from accord.serve.limits import CallLimits, Rate
from commands import ACCORD, ENVIRONMENT, SAMPLES, run
from http_peer import HttpPeer, HttpServer
from token_issuer import AUDIENCE, Issuer

GUARDED = f"{SAMPLES}/guarded.py:server"


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with Issuer() as issuer:
        yield issuer


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    return tmp_path / "tokens.toml"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as opened:
        opened.execute("CREATE TABLE stock (item TEXT PRIMARY KEY, amount INT)")
        opened.execute("INSERT INTO stock VALUES ('rope', 7)")
    opened.close()
    return path


@contextmanager
def serving(*words: object, **environment: str) -> Iterator[HttpServer]:
    command = [ACCORD, "serve", *map(str, words), "--http", "127.0.0.1:0"]
    with HttpServer(command, env={**os.environ, **environment}) as running:
        yield running
    assert "Traceback" not in running.stderr, running.stderr


def peer_of(server: HttpServer, token: str | None, revision: str = "2025-06-18") -> HttpPeer:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return HttpPeer(server.port, revision, headers=headers)


def status_of(server: HttpServer, token: str | None, tool: str, **arguments: Any) -> int:
    peer = peer_of(server, token)
    try:
        return peer.post(peer.calling(tool, **arguments)).status
    finally:
        peer.close()


# Token files


def test_a_token_is_printed_once_and_only_its_digest_is_kept(tokens: Path) -> None:
    done = run([ACCORD, "token", "add", "ci", "--scope", "shop:read", "--file", str(tokens)])
    token = done.out.strip()
    assert re.fullmatch(r"accord_[\w-]{43}", token)
    text = tokens.read_text()
    assert token not in text
    assert re.search(
        r'^\[tokens\.ci\]\nsha256 = "[0-9a-f]{64}"\nscopes = \["shop:read"\]$', text, re.M
    )
    assert tokens.stat().st_mode & 0o777 == 0o600
    again = run([ACCORD, "token", "add", "ci", "--file", str(tokens)])
    assert again.code == 2
    assert "has a token 'ci' already" in again.err
    assert tokens.read_text() == text


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["a b"], "a token's name must be"),
        (["x" * 65], "a token's name must be"),
        (["x]\n[y"], "a token's name must be"),
        (["x", "--scope", "two words"], "the scopes of token 'x'"),
        (["x", "--scope", 'a"b'], "the scopes of token 'x'"),
    ],
)
def test_a_token_that_cannot_be_written_is_refused(
    tokens: Path, words: list[str], reason: str
) -> None:
    done = run([ACCORD, "token", "add", *words, "--file", str(tokens)])
    assert done.code == 2
    assert reason in done.err
    assert not tokens.exists()


def test_a_file_keeps_its_mode_and_a_link_to_it(tokens: Path, tmp_path: Path) -> None:
    add_token(tokens, "first", [])
    tokens.chmod(0o640)  # for the group of the server
    link = tmp_path / "link.toml"
    link.symlink_to(tokens)
    token = add_token(link, "second", [])
    assert link.is_symlink()
    assert tokens.stat().st_mode & 0o777 == 0o640
    assert caller_of(StaticTokens(tokens), token) == "second"
    assert sorted(tmp_path.iterdir()) == sorted([tokens, link])


@pytest.mark.parametrize("text", ["tokens = {}", "[[tokens]]", "[tokens", "\xff"])
def test_a_file_that_a_token_cannot_be_added_to_stays_as_it_is(tokens: Path, text: str) -> None:
    tokens.write_bytes(text.encode("latin-1"))
    with pytest.raises(ContractError, match="is not valid"):
        add_token(tokens, "ci", [])
    assert tokens.read_bytes() == text.encode("latin-1")


def test_tokens_that_are_added_at_once_are_all_kept(tokens: Path) -> None:
    names = [f"job-{number}" for number in range(24)]
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda name: add_token(tokens, name, ["a"]), names))
    verifier = StaticTokens(tokens)
    assert [caller_of(verifier, token) for token in made] == names


def caller_of(verifier: StaticTokens, token: str) -> str | None:
    caller = asyncio.run(verifier.verify(token, TokenRequest("POST", "/mcp", {}, None)))
    return None if caller is None else caller.subject


def test_a_token_file_says_who_calls_and_what_they_may(tokens: Path, database: Path) -> None:
    reader = add_token(tokens, "reader", ["shop:read"])
    writer = add_token(tokens, "writer", ["shop:read", "shop:write"])
    other = add_token(tokens, "other", [])
    words = ["--token-file", tokens, "--scope", "shop:read", "--write-scope", "shop:write"]
    with serving(database, *words) as server:
        write = {"query": "UPDATE stock SET amount = 8"}
        assert status_of(server, None, "run_query", query="SELECT 1") == 401
        assert status_of(server, other, "run_query", query="SELECT 1") == 403
        assert status_of(server, reader, "run_query", query="SELECT 1") == 200
        with peer_of(server, reader) as peer:
            names = peer.ask("tools/list").message["result"]["tools"]
        writing = [
            each["name"]
            for each in names
            if not each.get("annotations", {}).get("readOnlyHint", False)
        ]
        assert writing
        for tool in writing:
            assert status_of(server, reader, tool, **write) == 403
            assert status_of(server, writer, tool, **write) == 200
    assert "subject='writer'" in server.stderr
    assert reader not in server.stderr


def test_a_token_file_is_read_again_when_it_changes(tokens: Path, database: Path) -> None:
    first = add_token(tokens, "first", [])
    with serving(database, "--token-file", tokens) as server:

        def ask(token: str) -> int:
            return status_of(server, token, "run_query", query="SELECT 1")

        assert ask(first) == 200
        second = add_token(tokens, "second", [])
        eventually(lambda: ask(second) == 200)
        text = tokens.read_text()
        tokens.write_text(text[text.index("[tokens.second]") :])
        eventually(lambda: ask(first) == 401)
        assert ask(second) == 200
        tokens.write_text("[tokens")
        eventually(lambda: ask(second) == 503)
        tokens.write_text(text)
        eventually(lambda: ask(second) == 200)
    assert "no token is accepted until the file is repaired" in server.stderr


def eventually(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 15
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.parametrize(
    "text",
    [
        "[tokens.x]",
        '[tokens.x]\nsha256 = "short"',
        f'[tokens.x]\nsha256 = "{"0" * 64}"\nscopes = "a"',
        f'[tokens.x]\nsha256 = "{"0" * 64}"\nscopes = ["a b"]',
        f'[tokens.x]\nsha256 = "{"0" * 64}"\n[tokens.y]\nsha256 = "{"0" * 64}"',
        f'[tokens.x]\nsha256 = "{"0" * 64}"\ntoken = "secret"',
        "token = 1",
        "not TOML",
    ],
)
def test_a_broken_token_file_is_refused_at_the_start(tokens: Path, text: str) -> None:
    tokens.write_text(text)
    with pytest.raises(ContractError, match="token"):
        StaticTokens(tokens)


# Options


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--issuer", "https://as.example"], "--issuer needs --audience"),
        (["--issuer", "http://as.example", "--audience", "x"], "must be https"),
        (["--audience", "x"], "--audience needs --issuer"),
        (["--introspection", "https://as.example/i"], "--introspection needs --issuer"),
        (["--scope", "a"], "--scope needs callers with tokens"),
        (["--admin-scope", "a"], "--admin-scope needs callers with tokens"),
        (["--write-scope", "a"], "--write-scope is for databases"),
        (["--token-file", "missing.toml"], "could not read the token file"),
        (["--rate", "many"], "is not a rate"),
        (["--rate", "0/s"], "is not a rate"),
        (["--max-concurrent", "0"], "--max-concurrent must be a whole number"),
        (["--tls-cert", "a.pem"], "--tls-cert and --tls-key belong together"),
        (["--tls-cert", "a.pem", "--tls-key", "b.pem"], "could not use the certificate"),
        (["--public-url", "shop.example"], "must be an http(s) URL"),
        (["--public-url", 'https://a"b.example'], "must be a URL without spaces"),
        (["--public-url", "https://shop.example/?a=1"], "must be an http(s) URL"),
        (
            ["--issuer", "https://as.example", "--audience", "x", "--introspection", "https://i"],
            "--introspection needs the environment variable ACCORD_INTROSPECTION_ID",
        ),
    ],
)
def test_options_that_do_not_fit_are_refused(words: list[str], reason: str, tmp_path: Path) -> None:
    target = f"{SAMPLES}/shared.py:server"
    command = [ACCORD, "serve", target, "--http", "127.0.0.1:0", *words]
    done = run(command, cwd=tmp_path, env=ENVIRONMENT)
    assert done.code == 2
    assert reason in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("option", ["--issuer", "--token-file", "--scope", "--rate", "--tls-cert"])
def test_without_http_the_options_are_refused(option: str) -> None:
    value = "5/s" if option == "--rate" else "x"
    done = run(
        [ACCORD, "serve", GUARDED, option, value], env={**ENVIRONMENT, "ISSUER": "http://[::1]"}
    )
    assert done.code == 2
    assert f"{option} requires HTTP" in done.err


def test_the_options_are_in_accord_toml_too(issuer: Issuer, database: Path, tmp_path: Path) -> None:
    add_token(tmp_path / "tokens.toml", "ci", ["shop:read"])
    (tmp_path / "accord.toml").write_text(
        f'issuer = "{issuer.url}"\naudience = "{AUDIENCE}"\nscope = ["shop:read"]\n'
        'token-file = "tokens.toml"\nrate = "2/h"\n[shop]\ntarget = "shop.db"\n'
    )
    with serving(tmp_path / "accord.toml") as server:
        statuses = [status_of(server, issuer.token(), "run_query", query="SELECT 1") for _ in "123"]
        assert statuses == [200, 200, 429]
        assert status_of(server, None, "run_query", query="SELECT 1") == 401


def test_the_public_url_is_the_audience_unless_one_is_given(issuer: Issuer, database: Path) -> None:
    words = ["--issuer", issuer.url, "--public-url", "https://mcp.example.com"]
    with serving(database, *words) as server:
        assert status_of(server, issuer.token(), "run_query", query="SELECT 1") == 200
        assert status_of(server, issuer.token(aud="x"), "run_query", query="SELECT 1") == 401


def test_introspection_has_its_credentials_from_the_environment(database: Path) -> None:
    with Issuer() as other:
        other.active = {"good": {"sub": "zoe", "aud": AUDIENCE}}
        words = ["--issuer", other.url, "--introspection", f"{other.origin}/introspect"]
        secrets = {"ACCORD_INTROSPECTION_ID": "mcp", "ACCORD_INTROSPECTION_SECRET": "s3cret&"}
        with serving(database, *words, "--audience", AUDIENCE, **secrets) as server:
            assert status_of(server, "good", "run_query", query="SELECT 1") == 200
            assert status_of(server, "bad", "run_query", query="SELECT 1") == 401
        assert set(other.credentials) == {"Basic bWNwOnMzY3JldCUyNg=="}


def test_the_issuer_is_not_asked_about_the_tokens_of_a_file(database: Path, tokens: Path) -> None:
    static = add_token(tokens, "ci", [])
    with Issuer() as other:
        other.active = {"good": {"sub": "zoe", "aud": AUDIENCE}}
        words = ["--issuer", other.url, "--introspection", f"{other.origin}/introspect"]
        secrets = {"ACCORD_INTROSPECTION_ID": "mcp", "ACCORD_INTROSPECTION_SECRET": "s3cret&"}
        words += ["--audience", AUDIENCE, "--token-file", str(tokens)]
        with serving(database, *words, **secrets) as server:
            assert status_of(server, static, "run_query", query="SELECT 1") == 200
            assert other.hits["/introspect"] == 0
            assert status_of(server, "good", "run_query", query="SELECT 1") == 200
            time.sleep(1.1)  # the verdicts of the file have ended, those of the issuer have not
            assert status_of(server, "good", "run_query", query="SELECT 1") == 200
            assert other.hits["/introspect"] == 1


# Operators


ADMIN = {"/metrics": 200, "/": 200, "/health": 200}


@pytest.mark.parametrize("path", ADMIN)
def test_counters_and_the_page_are_for_loopback_without_a_public_url(
    issuer: Issuer, path: str
) -> None:
    with serving(GUARDED, "--telemetry", ISSUER=issuer.url) as server:
        peer = HttpPeer(server.port)
        assert peer.visit("GET", path=path).status == 200
        proxied = peer.visit("GET", {"X-Forwarded-For": "203.0.113.9"}, path=path)
        assert proxied.status == (200 if path == "/health" else 403)
        peer.close()


@pytest.mark.parametrize("path", ["/metrics", "/", "/inspector/api/tools"])
def test_with_a_public_url_counters_and_the_page_need_the_admin_scope(
    issuer: Issuer, path: str
) -> None:
    words = ["--telemetry", "--public-url", "https://mcp.example.com", "--admin-scope", "ops"]
    with serving(GUARDED, *words, ISSUER=issuer.url) as server:
        peer = HttpPeer(server.port)

        def status(token: str | None) -> int:
            headers = {} if token is None else {"Authorization": f"Bearer {token}"}
            return peer.visit("GET", headers, path=path).status

        assert status(None) == 401
        assert status("x") == 401
        assert status(issuer.token(scope="shop:read")) == 403
        assert status(issuer.token(scope="ops")) not in (401, 503)
        assert peer.visit("GET", path="/health").status == 200
        peer.close()


class Operator:
    """A person with a token, whose browser shows the page."""

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        found = re.search(r'name="accord-token" content="([^"]+)"', self.ask("GET", "/")[1])
        assert found is not None
        self._headers["X-Accord-Token"] = found[1]

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, str]:
        """Return the status and the body of a response."""
        connection = HTTPConnection("127.0.0.1", self._port, timeout=30)
        connection.request(method, path, json.dumps(body), self._headers)
        response = connection.getresponse()
        self.challenge = response.headers["WWW-Authenticate"]
        text = response.read().decode()
        connection.close()
        return response.status, text

    def tools(self) -> str:
        return self.ask("POST", "/inspector/api/tools")[1]

    def call(self, tool: str, **arguments: Any) -> tuple[int, str]:
        """Return the status, and the last message of the call."""
        body = {"tool": tool, "arguments": arguments}
        status, text = self.ask("POST", "/inspector/api/call", body)
        return status, str(json.loads(text)["messages"][-1]["raw"]) if status == 200 else text


@pytest.mark.parametrize("workers", [1, 2])
def test_calls_of_the_page_are_of_the_operator_with_their_scopes(
    issuer: Issuer, workers: int
) -> None:
    words = ["--public-url", "https://mcp.example.com", "--admin-scope", "ops"]
    with serving(GUARDED, *words, "--workers", workers, ISSUER=issuer.url) as server:
        operator = Operator(server.port, issuer.token(sub="ann", scope="ops shop:read"))
        assert '\\"subject\\":\\"ann\\"' in operator.call("whoami")[1]
        refused = json.loads(operator.call("restock", item="rope")[1])["result"]
        assert refused["isError"]
        assert "shop:write shop:stock" in refused["content"][0]["text"]
        assert "purge" not in operator.tools()
        scopes = "ops shop:read shop:write shop:stock shop:admin"
        manager = Operator(server.port, issuer.token(sub="bob", scope=scopes))
        assert "restocked" in manager.call("restock", item="rope")[1]
        assert "purge" in manager.tools()
        visitor = Operator(server.port, issuer.token(scope="ops"))
        assert visitor.call("add", a=1, b=2)[0] == 403
        assert 'scope="shop:read ops"' in visitor.challenge
    assert "whoami success" in server.stderr
    assert "subject='ann'" in server.stderr


@pytest.mark.parametrize(
    "name", ["X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded", "Via", "Host"]
)
def test_what_a_proxy_has_passed_on_is_not_of_loopback(issuer: Issuer, name: str) -> None:
    with serving(GUARDED, "--allow-host", "shop.example", ISSUER=issuer.url) as server:
        peer = HttpPeer(server.port)
        assert peer.visit("GET", path="/").status == 200
        assert peer.visit("GET", {name: "shop.example"}, path="/").status == 403
        peer.close()


def test_with_a_public_url_and_no_admin_scope_nobody_sees_counters(issuer: Issuer) -> None:
    words = ["--telemetry", "--public-url", "https://mcp.example.com"]
    with serving(GUARDED, *words, ISSUER=issuer.url) as server:
        peer = HttpPeer(server.port, headers={"Authorization": f"Bearer {issuer.token()}"})
        for path in ("/metrics", "/", "/inspector/api/tools"):
            assert peer.visit("GET", path=path).status == 403
        peer.close()
    assert "and a page at" not in server.stderr


def test_with_a_public_url_and_no_verifier_the_page_is_not_public() -> None:
    with serving(f"{SAMPLES}/shared.py:server", "--public-url", "https://shop.example") as server:
        peer = HttpPeer(server.port)
        for path in ("/metrics", "/", "/inspector/api/tools"):
            assert peer.visit("GET", path=path).status == 403
        assert peer.visit("GET", path="/health").status == 200
        peer.close()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_public_url_alone_does_not_open_the_port(workers: int) -> None:
    words = ["--public-url", "https://shop.example", "--workers", str(workers)]
    command = [ACCORD, "serve", f"{SAMPLES}/shared.py:server", "--http", "0.0.0.0:0", *words]
    done = run(command, env=ENVIRONMENT)
    assert done.code == 2
    assert "can be reached from elsewhere" in done.err


def test_a_tool_name_of_a_stranger_is_not_kept(issuer: Issuer) -> None:
    with serving(GUARDED, "--rate", "2/h", ISSUER=issuer.url) as server:
        statuses = [status_of(server, issuer.token(), f"x{number}") for number in range(3)]
        assert statuses[-1] == 429


def test_another_header_is_no_way_around_a_limit() -> None:
    with serving(f"{SAMPLES}/shared.py:server", "--rate", "2/h") as server:
        statuses = [status_of(server, f"token{number}", "pid") for number in range(3)]
        assert statuses == [200, 200, 429]


@pytest.mark.parametrize("form", ["text", "json"])
def test_the_log_has_subject_and_client_but_no_token(issuer: Issuer, form: str) -> None:
    name = "zo\x1b[31m\nforged success 0.1 ms " + "x" * 300
    token = issuer.token(sub=name, client_id="agent")
    with serving(GUARDED, "--log-format", form, ISSUER=issuer.url) as server:
        assert status_of(server, token, "add", a=123_456, b=2) == 200
        assert status_of(server, issuer.token(client_id=...), "add", a=1, b=2) == 200
        server.said(re.compile(r"zoe"))
    lines = server.stderr.splitlines()
    assert len(lines) == 2
    assert "\x1b" not in server.stderr
    assert token not in server.stderr
    assert "123456" not in server.stderr
    assert len(lines[0]) < 400
    if form == "json":
        first, second = map(json.loads, lines)
        assert (first["client"], second["subject"]) == ("agent", "zoe")
        assert "client" not in second
    else:
        assert lines[0].endswith("client='agent'")
        assert lines[1].endswith("subject='zoe'")


def test_the_log_has_calls_that_are_refused_for_a_scope_or_a_limit(issuer: Issuer) -> None:
    with serving(GUARDED, "--rate", "1/h", ISSUER=issuer.url) as server:
        token = issuer.token()
        assert status_of(server, token, "restock", item="rope") == 403
        assert [status_of(server, token, "add", a=1, b=2) for _ in range(2)] == [200, 429]
        server.said(re.compile(r"rate_limit"))
    outcomes = [line.split()[:2] for line in server.stderr.splitlines()]
    assert outcomes == [["restock", "authorization"], ["add", "success"], ["add", "rate_limit"]]
    assert all("subject='zoe'" in line for line in server.stderr.splitlines())


# Limits


def test_calls_above_the_rate_are_refused_by_caller_and_tool(issuer: Issuer) -> None:
    with serving(GUARDED, "--rate", "3/min", ISSUER=issuer.url) as server:
        zoe, yan = issuer.token(), issuer.token(sub="yan")
        assert [status_of(server, zoe, "add", a=1, b=2) for _ in range(4)] == [200] * 3 + [429]
        assert status_of(server, issuer.token(jti="new"), "add", a=1, b=2) == 429
        assert status_of(server, zoe, "whoami") == 200
        assert status_of(server, yan, "add", a=1, b=2) == 200
        peer = peer_of(server, zoe)
        refused = peer.post(peer.calling("add", a=1, b=2, id=5))
        assert 1 <= int(refused.headers["Retry-After"]) <= 20
        assert "3/min" in json.loads(refused.body)["error"]["message"]
        assert json.loads(refused.body)["id"] == 5
        assert peer.ask("tools/list").status == 200
        batch = [peer.calling("add", a=1, b=2, id=1), peer.calling("whoami", id=2)]
        peer.close()
        older = peer_of(server, zoe, "2025-03-26")
        replies = {each["id"]: each["result"] for each in older.post(batch).message}
        assert replies[1]["isError"]
        assert "3/min" in replies[1]["content"][0]["text"]
        assert "isError" not in replies[2]
        older.close()


def test_open_calls_of_a_caller_are_limited(issuer: Issuer) -> None:
    with serving(GUARDED, "--max-concurrent", "2", ISSUER=issuer.url) as server:
        zoe = issuer.token()
        found: list[int] = []
        threads = [
            threading.Thread(target=lambda: found.append(status_of(server, zoe, "wait")))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        eventually(lambda: len(found) == 2)
        assert status_of(server, issuer.token(sub="yan"), "add", a=1, b=2) == 200
        for thread in threads:
            thread.join()
        assert sorted(found) == [200, 200, 429, 429]
        assert status_of(server, zoe, "wait") == 200


def test_without_a_verifier_limits_are_by_address() -> None:
    target = f"{SAMPLES}/shared.py:server"
    with serving(target, "--rate", "1/h") as server:
        peer = HttpPeer(server.port, "2025-06-18", begin=False)
        names = [each["name"] for each in peer.ask("tools/list").message["result"]["tools"]]
        statuses = [peer.post(peer.calling(names[0])).status for _ in range(2)]
        assert statuses == [200, 429]
        peer.close()


@pytest.mark.parametrize(
    ("text", "rate"),
    [("60/min", Rate(60, 60)), ("5/s", Rate(5, 1)), ("100/h", Rate(100, 3600))],
)
def test_a_rate_is_shown_as_it_is_written(text: str, rate: Rate) -> None:
    assert Rate.parse(text) == rate
    assert str(rate) == text


def test_calls_are_available_again_with_time() -> None:
    now = 0.0
    limits = CallLimits(Rate(2, 10), None, clock=lambda: now)
    assert [limits.excess("zoe", "add") is None for _ in range(3)] == [True, True, False]
    now = 5.0
    assert [limits.excess("zoe", "add") is None for _ in range(2)] == [True, False]
    excess = limits.excess("zoe", "add")
    assert excess is not None
    assert excess.retry_after == pytest.approx(5)
    now = 100.0
    assert [limits.excess("zoe", "add") is None for _ in range(3)] == [True, True, False]


# TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    certificate, secret = folder / "cert.pem", folder / "key.pem"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    secret.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return certificate, secret


@pytest.mark.parametrize("workers", [1, 2])
def test_it_serves_https_itself(
    issuer: Issuer, certificate: tuple[Path, Path], workers: int
) -> None:
    cert, key = certificate
    words = ["--tls-cert", cert, "--tls-key", key, "--workers", workers]
    command = [ACCORD, "serve", GUARDED, *map(str, words), "--http", "127.0.0.1:0"]
    env = {**os.environ, "ISSUER": issuer.url, "AUDIENCE": "api://shop"}
    with HttpServer(command, env=env, url=re.compile(r"MCP at https://(\S+)")) as server:
        port = server.port
        trust = ssl.create_default_context(cafile=str(cert))
        connection = HTTPSConnection("127.0.0.1", port, context=trust, timeout=20)
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        message["params"] = {"name": "add", "arguments": {"a": 1, "b": 2}}
        headers = {"Content-Type": "application/json", "MCP-Protocol-Version": "2025-06-18"}
        token = issuer.token(aud="api://shop")
        for _ in range(3):
            authorized = {**headers, "Authorization": f"Bearer {token}"}
            connection.request("POST", "/mcp", json.dumps(message), authorized)
            response = connection.getresponse()
            assert (response.status, b'"3"' in response.read()) == (200, True)
        connection.request("POST", "/mcp", json.dumps(message), headers)
        response = connection.getresponse()
        response.read()
        metadata = f"https://127.0.0.1:{port}/.well-known/oauth-protected-resource/mcp"
        assert metadata in str(response.headers["WWW-Authenticate"])
        connection.close()
        plain = HttpPeer(port)
        with pytest.raises((ConnectionError, OSError)):
            plain.visit("GET", path="/health")
        plain.close()
    assert "Traceback" not in server.stderr


def test_stdio_starts_without_what_tokens_need() -> None:
    code = (
        "import sys, accord.cli.serve, accord.serve.stdio;"
        " print(*sorted(name for name in sys.modules"
        " if name.startswith(('joserfc', 'cryptography', 'accord.auth', 'accord.http1'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
