"""Tokens that only their issuer can read."""

import asyncio
from typing import Any

import httpx2
import pytest

from accord import Caller, Server
from accord.auth import AnyOf, Introspection, TokenRequest, Unavailable
from accord.auth.introspection import RefusalBudget
from accord.errors import ContractError
from token_issuer import AUDIENCE, Issuer

GOOD = {"sub": "zoe", "client_id": "agent", "aud": AUDIENCE, "scope": "shop:read"}


def of(issuer: Issuer, /, **changed: Any) -> Introspection:
    options = {"client_id": "mcp", "client_secret": "s", "issuer": issuer.url, "audience": AUDIENCE}
    return Introspection(f"{issuer.origin}/introspect", **{**options, **changed})


def by(address: str) -> TokenRequest:
    return TokenRequest("POST", "/mcp", {}, address)


async def outcome(verifier: Any, token: str, address: str = "203.0.113.1") -> str:
    try:
        caller = await verifier.verify(token, by(address))
    except Unavailable:
        return "unavailable"
    return "refused" if caller is None else "valid"


def test_an_active_token_names_its_caller() -> None:
    with Issuer() as issuer:
        issuer.active = {"t": GOOD}
        found = asyncio.run(of(issuer).verify("t", by("::1")))
    assert isinstance(found, Caller)
    assert (found.subject, found.client, found.issuer) == ("zoe", "agent", issuer.url)
    assert found.scopes == {"shop:read"}
    assert found.claims["active"] is True


def test_made_up_tokens_make_no_storm_at_the_issuer() -> None:
    with Issuer() as issuer:
        issuer.active = {"good": GOOD, "new": GOOD}
        verifier = of(issuer)

        async def scenario() -> None:
            assert await outcome(verifier, "good") == "valid"
            found = [await outcome(verifier, f"bad{number}") for number in range(2_000)]
            assert found.count("unavailable") > 1_500
            assert await outcome(verifier, "good") == "valid"  # also from that address
            assert await outcome(verifier, "new") == "unavailable"
            assert await outcome(verifier, "new", "203.0.113.2") == "valid"
            assert await outcome(verifier, "new") == "valid"  # it is known by now

        asyncio.run(scenario())
        assert issuer.hits["/introspect"] < 500


@pytest.mark.parametrize("public_url", [None, "https://mcp.example.com"])
def test_made_up_tokens_of_one_client_of_a_proxy_exclude_no_other(public_url: str | None) -> None:
    seen: list[str | None] = []

    class Verifier:
        async def verify(self, token: str, request: TokenRequest) -> Caller | None:
            seen.append(request.address)
            return None

    server = Server("shop", auth=Verifier())
    app = server.asgi() if public_url is None else server.asgi(public_url=public_url)

    async def scenario() -> None:
        for address in ("127.0.0.1", "203.0.113.7"):
            transport = httpx2.ASGITransport(app, client=(address, 1))
            async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as it:
                for number, passed_on in enumerate(["", "203.0.113.1", "10.0.0.1, 203.0.113.2"]):
                    token = f"Bearer {address}-{number}"
                    headers = {"Authorization": token, "X-Forwarded-For": passed_on}
                    assert (await it.post("/mcp", headers=headers)).status_code == 401

    asyncio.run(scenario())
    direct = ["203.0.113.7"] * 3
    if public_url is None:
        assert seen == ["127.0.0.1"] * 3 + direct
    else:
        assert seen == ["127.0.0.1", "203.0.113.1", "203.0.113.2", *direct]


def test_the_budget_comes_back_with_time() -> None:
    now = 0.0
    budget = RefusalBudget(lambda: now)
    for _ in range(51):
        assert not budget.is_spent("a")
        budget.spend("a")
    assert budget.is_spent("a")
    assert not budget.is_spent("b")
    now = 1.0
    assert not budget.is_spent("a")


def test_many_tokens_at_once_wait_for_a_few_requests() -> None:
    with Issuer() as issuer:
        issuer.active = {f"t{number}": GOOD for number in range(400)}
        verifier = of(issuer)

        async def scenario() -> list[str]:
            return await asyncio.gather(*(outcome(verifier, f"t{each}") for each in range(400)))

        found = asyncio.run(scenario())
    assert found.count("valid") == 256
    assert found.count("unavailable") == 144


@pytest.mark.parametrize(
    "changed",
    [
        {"client_id": ""},
        {"client_secret": ""},
        {"audience": []},
        {"issuer": "http://as.example"},
    ],
)
def test_one_with_a_hole_is_not_made(changed: dict[str, Any]) -> None:
    with Issuer() as issuer, pytest.raises(ContractError):
        of(issuer, **changed)


def test_the_endpoint_must_be_https() -> None:
    with pytest.raises(ContractError, match="must be https"):
        Introspection(
            "http://as.example/introspect",
            client_id="a",
            client_secret="b",
            issuer="https://as.example",
            audience="c",
        )


class Fixed:
    """A verifier with one answer."""

    def __init__(self, answer: Caller | Unavailable | None) -> None:
        self._answer = answer

    async def verify(self, token: str, request: TokenRequest) -> Caller | None:
        if isinstance(self._answer, Unavailable):
            raise self._answer
        return self._answer


ZOE = Caller(issuer="https://as.example", subject="zoe")


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([ZOE, None], "valid"),
        ([None, ZOE], "valid"),
        ([None, None], "refused"),
        ([Unavailable("x"), ZOE], "valid"),
        ([Unavailable("x"), None], "unavailable"),
        ([None, Unavailable("x")], "unavailable"),
    ],
)
def test_of_several_verifiers_the_first_that_accepts_decides(
    answers: list[Any], expected: str
) -> None:
    assert asyncio.run(outcome(AnyOf([Fixed(each) for each in answers]), "t")) == expected
