"""Keys of the issuer: fetched when needed, rotated, unavailable."""

import asyncio
import json
import socket
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import Any, TypeVar

import pytest
from joserfc.jwk import RSAKey

from accord import Caller, TokenVerifier
from accord.auth import TokenRequest, Unavailable
from accord.auth.keys import IssuerKeys, metadata_urls
from accord.auth.verdicts import Verdicts
from accord.errors import ContractError
from token_issuer import AUDIENCE, KEYS, OTHERS, Issuer, public, send, sign

T = TypeVar("T")
REQUEST = TokenRequest("POST", "/mcp", {}, "127.0.0.1")


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def verifier_of(issuer: Issuer, clock: Clock | None = None) -> TokenVerifier:
    verifier = TokenVerifier(issuer.url, AUDIENCE)
    if clock is not None:
        verifier._keys = IssuerKeys(issuer.url, clock=clock)
    return verifier


def verify(verifier: TokenVerifier, token: str) -> Caller | None:
    return asyncio.run(verifier.verify(token, REQUEST))


def rotated(issuer: Issuer, kid: str = "new") -> Callable[[], str]:
    """Give the issuer another key, and return what makes a token with it."""
    key = RSAKey.generate_key(2048, {"kid": kid})
    issuer.keys = {kid: key}
    return lambda: sign({"alg": "RS256", "kid": kid}, issuer.claims(), key)


def redirecting(request: BaseHTTPRequestHandler) -> bool:
    send(request, 302, b"", {"Location": "/elsewhere"})
    return True


def slow(request: BaseHTTPRequestHandler) -> bool:
    time.sleep(7)
    return False


def dripping(request: BaseHTTPRequestHandler) -> bool:
    request.send_response(200)
    request.end_headers()
    try:
        for _ in range(100):
            request.wfile.write(b" ")
            time.sleep(0.1)
    except OSError:
        pass
    return True


def sending(value: Any, status: int = 200) -> Callable[[BaseHTTPRequestHandler], bool]:
    def fault(request: BaseHTTPRequestHandler) -> bool:
        with suppress(OSError):  # the client has left
            send(request, status, value)
        return True

    return fault


FAULTS: dict[str, Callable[[BaseHTTPRequestHandler], bool]] = {
    "redirects": redirecting,
    "is garbage": sending(b"\x00\xff\x00"),
    "is HTML": sending(b"<html>login</html>"),
    "is empty": sending(b""),
    "is a list": sending([]),
    "is nested deeply": sending(b"[" * 100_000),
    "is an error": sending({}, 500),
    "is not found": sending({}, 404),
    "asks for credentials": sending({}, 401),
    "is huge": sending(b'{"keys":[' + b"1," * 600_000 + b"1]}"),
    "has no keys": sending({"keys": []}),
    "has keys that are not objects": sending({"keys": [1, None, "x"]}),
    "has secrets": sending({"keys": [{"kty": "oct", "k": "c2VjcmV0", "kid": "rsa"}]}),
    "has keys for encryption": sending({"keys": [{**public(KEYS["rsa"]), "use": "enc"}]}),
    "has broken keys": sending({"keys": [{"kty": "RSA", "n": "AQAB", "e": "!", "kid": "rsa"}]}),
    "has keys off the curve": sending(
        {"keys": [{**public(KEYS["ec"]), "x": "AAAA", "y": "AAAA", "kid": "rsa"}]}
    ),
    "has weak keys": sending(
        {"keys": [{"kty": "RSA", "n": "u" * 170 + "w", "e": "AQAB", "kid": "rsa"}]}
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_keys_that_cannot_be_had_are_not_a_refusal(fault: str) -> None:
    with Issuer() as issuer:
        verifier = verifier_of(issuer)
        issuer.faults["/jwks"] = FAULTS[fault]
        with pytest.raises(Unavailable) as error:
            verify(verifier, issuer.token())
        assert 1 <= error.value.retry_after <= 30
        assert "/elsewhere" not in issuer.hits


METADATA: dict[str, dict[str, Any]] = {
    "another issuer": {"issuer": "https://evil.example"},
    "the issuer with a slash": {"issuer": "SELF/"},
    "no issuer": {"issuer": None},
    "no keys": {"jwks_uri": ""},
    "keys at a file": {"jwks_uri": "file:///etc/passwd"},
    "keys without TLS elsewhere": {"jwks_uri": "http://192.0.2.1/jwks"},
    "keys at a number": {"jwks_uri": 7},
    "keys at a path": {"jwks_uri": "/jwks"},
}


@pytest.mark.parametrize("fault", METADATA)
def test_metadata_that_does_not_fit_is_not_used(fault: str) -> None:
    with Issuer() as issuer:
        changed = METADATA[fault]
        issuer.metadata = {
            name: value.replace("SELF", issuer.url) if isinstance(value, str) else value
            for name, value in changed.items()
        }
        with pytest.raises(Unavailable):
            verify(verifier_of(issuer), issuer.token())
        assert issuer.hits["/jwks"] == 0


@pytest.mark.parametrize("fault", [slow, dripping], ids=["slow", "dripping"])
def test_a_fetch_ends_within_its_time(fault: Callable[[BaseHTTPRequestHandler], bool]) -> None:
    with Issuer() as issuer:
        issuer.faults["/jwks"] = fault
        begun = time.monotonic()
        with pytest.raises(Unavailable):
            verify(verifier_of(issuer), issuer.token())
        assert 4 < time.monotonic() - begun < 7


def test_an_issuer_that_is_away_is_asked_again_within_30_s() -> None:
    clock = Clock()
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    keys = IssuerKeys(f"http://127.0.0.1:{port}", clock=clock)

    def seconds() -> float:
        with pytest.raises(Unavailable) as error:
            asyncio.run(keys.find("rsa", "RS256"))
        return error.value.retry_after

    waits = []
    for _ in range(12):
        waits.append(seconds())
        clock.now += waits[-1]
    assert waits[:6] == [1, 2, 4, 8, 16, 30]
    assert max(waits) == 30


def test_no_fetch_begins_while_a_failed_one_is_recent() -> None:
    clock = Clock()
    with Issuer() as issuer:
        verifier = verifier_of(issuer, clock)
        issuer.faults["/jwks"] = sending({}, 500)
        for _ in range(50):
            with pytest.raises(Unavailable):
                verify(verifier, issuer.token())
        assert issuer.hits["/jwks"] == 1
        issuer.faults.clear()
        clock.now += 1
        assert verify(verifier, issuer.token()) is not None


def test_known_keys_are_used_while_the_issuer_is_away() -> None:
    clock = Clock()
    with Issuer() as issuer:
        verifier = verifier_of(issuer, clock)
        assert verify(verifier, issuer.token()) is not None
        issuer.faults["/jwks"] = sending({}, 500)
        for _ in range(5):
            clock.now += 3_600
            assert verify(verifier, issuer.token()) is not None
        clock.now += 24 * 3_600
        with pytest.raises(Unavailable):
            verify(verifier, issuer.token())


def test_a_new_key_is_found_by_its_unknown_id() -> None:
    clock = Clock()
    with Issuer() as issuer:
        verifier = verifier_of(issuer, clock)
        assert verify(verifier, issuer.token()) is not None
        make = rotated(issuer)
        clock.now += 10
        assert verify(verifier, make()) is not None


def test_unknown_ids_cause_a_fetch_every_10_s_at_most() -> None:
    clock = Clock()
    with Issuer() as issuer:
        verifier = verifier_of(issuer, clock)
        assert verify(verifier, issuer.token()) is not None
        before = issuer.hits["/jwks"]
        for number in range(100):
            clock.now += 0.5
            token = sign({"alg": "RS256", "kid": f"k{number}"}, issuer.claims(), OTHERS["rsa"])
            assert verify(verifier, token) is None
        assert issuer.hits["/jwks"] - before == 5


def test_a_key_that_is_rotated_out_is_refused() -> None:
    clock = Clock()
    with Issuer() as issuer:
        verifier = verifier_of(issuer, clock)
        old = issuer.token()
        assert verify(verifier, old) is not None
        make = rotated(issuer)
        clock.now += 10
        assert verify(verifier, make()) is not None
        assert verify(verifier, old) is None


def test_keys_are_fetched_again_after_a_while() -> None:
    clock = Clock()

    async def scenario(issuer: Issuer) -> None:
        verifier = verifier_of(issuer, clock)
        old = issuer.token()
        assert await verifier.verify(old, REQUEST) is not None
        rotated(issuer)
        clock.now += 300
        assert await verifier.verify(old, REQUEST) is not None  # nobody waits for the fetch
        for _ in range(200):
            await asyncio.sleep(0.01)
            if await verifier.verify(old, REQUEST) is None:
                return
        raise AssertionError("the old key is still in use")

    with Issuer() as issuer:
        asyncio.run(scenario(issuer))


async def at_once(count: int, work: Callable[[int], Awaitable[T]]) -> list[T | BaseException]:
    return await asyncio.gather(*(work(each) for each in range(count)), return_exceptions=True)


def test_many_first_tokens_share_one_fetch() -> None:
    with Issuer() as issuer:
        verifier = verifier_of(issuer)
        tokens = [issuer.token(jti=str(number)) for number in range(50)]
        found = asyncio.run(at_once(50, lambda each: verifier.verify(tokens[each], REQUEST)))
        assert all(isinstance(each, Caller) for each in found)
        assert dict(issuer.hits) == {"/.well-known/oauth-authorization-server": 1, "/jwks": 1}


def test_one_token_is_verified_once_by_all_who_wait() -> None:
    asked = 0

    class Slow:
        async def verify(self, token: str, request: TokenRequest) -> Caller | None:
            nonlocal asked
            asked += 1
            await asyncio.sleep(0.05)
            return Caller(issuer="https://as.example", subject=token)

    verdicts = Verdicts(Slow())
    found = asyncio.run(at_once(100, lambda each: verdicts.find("token", REQUEST)))
    assert asked == 1
    assert len({id(each) for each in found}) == 1


def test_those_who_wait_go_on_if_the_first_is_cancelled() -> None:
    class Slow:
        async def verify(self, token: str, request: TokenRequest) -> Caller | None:
            await asyncio.sleep(0.05)
            return Caller(issuer="https://as.example", subject=token)

    async def scenario() -> None:
        verdicts = Verdicts(Slow())
        first = asyncio.create_task(verdicts.find("token", REQUEST))
        await asyncio.sleep(0)
        second = asyncio.create_task(verdicts.find("token", REQUEST))
        await asyncio.sleep(0)
        first.cancel()
        found = await second
        assert found is not None
        assert found.caller.subject == "token"

    asyncio.run(scenario())


def test_made_up_tokens_fill_no_memory_and_push_no_good_one_out() -> None:
    asked = 0

    class Known:
        async def verify(self, token: str, request: TokenRequest) -> Caller | None:
            nonlocal asked
            asked += token == "good"
            return Caller(issuer="https://as.example", subject="zoe") if token == "good" else None

    async def scenario() -> None:
        verdicts = Verdicts(Known(), limit=100)
        assert await verdicts.find("good", REQUEST) is not None
        for number in range(10_000):
            assert await verdicts.find(f"bad{number}", REQUEST) is None
        assert await verdicts.find("good", REQUEST) is not None
        assert len(verdicts._refused) <= 100
        assert len(verdicts._grants) == 1

    asyncio.run(scenario())
    assert asked == 1


def test_too_many_open_verifications_are_turned_away() -> None:
    async def scenario() -> list[Any]:
        class Stuck:
            async def verify(self, token: str, request: TokenRequest) -> Caller | None:
                await asyncio.sleep(0.5)
                return None

        verdicts = Verdicts(Stuck())
        return await at_once(3_000, lambda each: verdicts.find(f"t{each}", REQUEST))

    found = asyncio.run(scenario())
    assert sum(isinstance(each, Unavailable) for each in found) == 2_000


def test_a_verdict_ends_with_the_token() -> None:
    clock, asked = Clock(), 0

    class Counting:
        async def verify(self, token: str, request: TokenRequest) -> Caller | None:
            nonlocal asked
            asked += 1
            return Caller(issuer="https://as.example", subject="zoe", claims={"exp": 1_100})

    async def scenario() -> None:
        verdicts = Verdicts(Counting(), clock=clock)
        for clock.now in (1_000, 1_050, 1_159, 1_161, 1_162):
            await verdicts.find("token", REQUEST)

    asyncio.run(scenario())
    assert asked == 3


@pytest.mark.parametrize(
    ("issuer", "urls"),
    [
        (
            "https://as.example",
            [
                "https://as.example/.well-known/oauth-authorization-server",
                "https://as.example/.well-known/openid-configuration",
            ],
        ),
        (
            "https://as.example/t/1",
            [
                "https://as.example/.well-known/oauth-authorization-server/t/1",
                "https://as.example/.well-known/openid-configuration/t/1",
                "https://as.example/t/1/.well-known/openid-configuration",
            ],
        ),
    ],
)
def test_metadata_is_looked_for_where_rfc_8414_and_openid_connect_have_it(
    issuer: str, urls: list[str]
) -> None:
    assert metadata_urls(issuer) == urls


def test_an_issuer_with_a_path_is_found() -> None:
    with Issuer("/realms/shop") as issuer:
        assert verify(verifier_of(issuer), issuer.token()) is not None


@pytest.mark.parametrize(
    ("issuer", "audience", "options"),
    [
        ("http://as.example", AUDIENCE, {}),
        ("as.example", AUDIENCE, {}),
        ("https://as.example/?tenant=1", AUDIENCE, {}),
        ("https://u:p@as.example", AUDIENCE, {}),
        ("https://as.example/#x", AUDIENCE, {}),
        (None, AUDIENCE, {}),
        ("https://as.example", "", {}),
        ("https://as.example", [], {}),
        ("https://as.example", AUDIENCE, {"algorithms": ["HS256"]}),
        ("https://as.example", AUDIENCE, {"algorithms": ["none"]}),
        ("https://as.example", AUDIENCE, {"algorithms": []}),
        ("https://as.example", AUDIENCE, {"scopes": "shop:read"}),
        ("https://as.example", AUDIENCE, {"scopes": ["two words"]}),
        ("https://as.example", AUDIENCE, {"scopes": ['quo"te']}),
    ],
)
def test_a_verifier_with_a_hole_is_not_made(
    issuer: Any, audience: Any, options: dict[str, Any]
) -> None:
    with pytest.raises(ContractError):
        TokenVerifier(issuer, audience, **options)


@pytest.mark.requirement("mcp.authorization.hierarchies")
def test_scopes_include_others_as_configured() -> None:
    implied = {"shop:admin": ["shop:write"], "shop:write": ["shop:read"], "a": ["b"], "b": ["a"]}
    with Issuer() as issuer:
        verifier = TokenVerifier(issuer.url, AUDIENCE, implied=implied)
        caller = verify(verifier, issuer.token(scope="shop:admin a"))
    assert caller is not None
    assert caller.scopes == {"shop:admin", "shop:write", "shop:read", "a", "b"}


ODD_MEMBERS: list[Any] = [None, 0, True, 1.5, "", "x", "\u0000", [], ["x"], [1], {}, "A" * 9_000]


@pytest.mark.parametrize(
    "member", ["kty", "n", "e", "crv", "x", "y", "kid", "use", "key_ops", "alg"]
)
def test_keys_of_a_set_that_is_partly_broken_are_used(member: str) -> None:
    broken = [
        {**public(key), "kid": kid, member: value}
        for kid, key in OTHERS.items()
        for value in ODD_MEMBERS
    ]
    odd = [{"kty": "RSA"}, {"kty": "XYZ"}, {"kid": 5, "kty": "EC"}, {}, 5, *broken]
    with Issuer() as issuer:
        good = [public(key) for key in KEYS.values()]
        issuer.faults["/jwks"] = sending(json.dumps({"keys": [*good, *odd]}).encode())
        for kid in KEYS:
            assert verify(verifier_of(issuer), issuer.token(kid)) is not None
