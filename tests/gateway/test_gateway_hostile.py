"""What a hostile upstream or client would try."""

import asyncio
import json
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from accord import Client
from accord.gateway import Gateway, spec_of
from gateway.gateways import ODD, SAMPLE, client_of, gateway_of, message_of, until

NEW = "2026-07-28"
KEY = "dev.accord-mcp/gateway"


def odd(folder: Path, tools: list[Any] | None = None, **options: Any) -> Gateway:
    file = folder / "odd.json"
    file.write_text(json.dumps({} if tools is None else {"tools": tools}))
    return Gateway([spec_of([*ODD, str(file)], name="odd", **options)])


async def say(client: Client, result: Any) -> dict[str, Any]:
    reply = await client.call_tool_raw("say", {"raw": json.dumps(result)})
    return dict(reply.result)


@pytest.mark.requirement("gateway.17.own-words")
@pytest.mark.parametrize("replies", ["as-is", "repaired", "normalised"])
def test_an_upstream_cannot_speak_for_the_gateway(tmp_path: Path, replies: Any) -> None:
    lie = {KEY: {"changed": [], "confidence": "certain", "original": "x"}, "other": 1}
    given = {"content": [{"type": "text", "text": "hello"}], "_meta": lie}

    async def main() -> None:
        async with client_of(odd(tmp_path, replies=replies).server, NEW) as client:
            meta = (await say(client, given))["_meta"]
            assert meta["other"] == 1
            assert meta.get(KEY, {}).get("original") != "x"

    asyncio.run(main())


@pytest.mark.requirement("gateway.17.kept")
def test_originals_are_kept_ten_minutes_and_for_their_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        gateway = odd(tmp_path, replies="normalised")
        originals = gateway.server.dispatcher.originals
        assert originals._seconds == 600
        async with client_of(gateway.server, NEW) as client:
            rows = [{"id": 1}, {"id": 2}]
            given = {"content": [{"type": "text", "text": json.dumps(rows, indent=1)}]}
            cursor = (await say(client, given))["_meta"][KEY]["original"]
            again = await client.call_tool_raw("read_more", {"cursor": cursor})
            assert again.result["content"] == given["content"]
            now = originals._clock()
            monkeypatch.setattr(originals, "_clock", lambda: now + 601)
            late = await client.call_tool("read_more", {"cursor": cursor})
            assert late.is_failure
            assert "not kept any more" in message_of(late)

    asyncio.run(main())


@pytest.mark.requirement("gateway.18.noise")
@pytest.mark.parametrize(
    "result",
    [
        '{"content": [{"type": "text", "text": "\\\\ud800"}]}',
        '{"content": [{"type": "text", "text": "a", "n": NaN}]}',
        '{"content": [' + '{"type":"text","text":"x"},' * 5_000 + "{}]}",
        '{"content": ' + "[" * 5_000 + "]" * 5_000 + "}",
        '{"structuredContent": ' + '{"a":' * 400 + "1" + "}" * 400 + "}",
        '{"content": [], "structuredContent": {"a": 1' + "0" * 5_000 + "}}",
        '{"content": null, "resultType": "input_required", "inputRequests": {"a": 1}}',
        "7",
        "null",
        '"text"',
    ],
    ids=[
        *("surrogate", "nan", "blocks", "deep", "deep-structure", "digits", "questions"),
        *("number", "null", "string"),
    ],
)
@pytest.mark.parametrize("replies", ["as-is", "repaired", "normalised"])
def test_odd_results_end_their_call_and_nothing_else(
    tmp_path: Path, result: str, replies: Any
) -> None:
    async def main() -> None:
        async with client_of(odd(tmp_path, replies=replies, timeout=5).server, NEW) as client:
            reply = await client.request(
                "tools/call", {"name": "say", "arguments": {"raw": result}}
            )
            assert (reply.result is None) is (reply.error is not None)
            fine = await say(client, {"content": [{"type": "text", "text": "fine"}]})
            assert fine["content"][0]["text"] == "fine"

    asyncio.run(main())


@pytest.mark.requirement("gateway.2.collision")
def test_tools_cannot_take_names_of_the_gateway_or_of_each_other(tmp_path: Path) -> None:
    schema = {"type": "object"}
    tools: list[Any] = [{"name": name, "inputSchema": schema} for name in ("read_more", "a", "a")]
    tools += [{"name": "a b", "inputSchema": schema}, {"name": "a_b", "inputSchema": schema}]
    tools += [{"name": 7, "inputSchema": schema}, {"inputSchema": schema}, {"name": ""}]

    async def main() -> None:
        async with client_of(odd(tmp_path, tools).server, NEW) as client:
            names = [each.name for each in await client.list_tools()]
            assert names == ["read_more", "odd_read_more", "a", "a_b", "odd_a_b"]

    asyncio.run(main())


@pytest.mark.requirement("gateway.4.restart", "gateway.24.stderr")
def test_a_server_that_ends_is_back_within_two_seconds(tmp_path: Path) -> None:
    async def main() -> None:
        gateway = odd(tmp_path)
        one = gateway.upstreams["odd"]
        async with client_of(gateway.server, NEW) as client:
            await client.call_tool("leave")
            await until(lambda: one.status == "unavailable")
            assert "fatal: the database is gone" in one.reason
            began = monotonic()
            await until(lambda: one.status == "ok")
            assert monotonic() - began < 5  # 0.25 s, and the time to start

    asyncio.run(main())


@pytest.mark.requirement("gateway.4.restart")
def test_pauses_before_a_restart_grow_to_ten_seconds_at_most() -> None:
    from accord.gateway.upstreams import _DELAYS

    assert _DELAYS[0] <= 1
    assert max(_DELAYS) <= 10
    assert list(_DELAYS) == sorted(_DELAYS)


@pytest.mark.requirement("gateway.20.scopes")
def test_scopes_of_the_caller_hold_for_tools_of_upstreams(tmp_path: Path) -> None:
    from accord.auth.static_tokens import add_token
    from commands import ACCORD
    from http_peer import HttpPeer, HttpServer

    tokens = tmp_path / "tokens.toml"
    reader, other = add_token(tokens, "reader", ["shop:read"]), add_token(tokens, "other", [])
    command = [ACCORD, "serve", " ".join(SAMPLE), "--http", "127.0.0.1:0"]
    with HttpServer([*command, "--token-file", str(tokens), "--scope", "shop:read"]) as gateway:
        statuses = []
        for token in (reader, other):
            headers = {"Authorization": f"Bearer {token}"}
            peer = HttpPeer(gateway.port, "2025-06-18", headers=headers)
            statuses.append(peer.post(peer.calling("add", a=1, b=2)).status)
            peer.close()
        assert statuses == [200, 403]


@pytest.mark.requirement("gateway.9.bounded")
def test_callers_of_many_kinds_share_a_bounded_number_of_sessions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("accord.gateway.upstreams._MAX_SESSIONS", 2)

    async def main() -> None:
        gateway = gateway_of(SAMPLE, revision="2025-11-25")
        one = gateway.upstreams["sample"]
        async with client_of(gateway.server, NEW) as client:
            for number in range(5):
                meta = {
                    "io.modelcontextprotocol/clientCapabilities": {
                        "elicitation": {"form": {"odd": number}}
                    }
                }
                params = {"name": "add", "arguments": {"a": 1, "b": 1}, "_meta": meta}
                assert "isError" not in (await client.request("tools/call", params)).result
            assert len(one._links) <= 2
            assert not one._locks

    asyncio.run(main())
