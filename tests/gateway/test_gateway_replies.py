"""Replies of upstreams: as they are, repaired, normalised (behaviour 17); within limits (19)."""

import asyncio
import base64
import json
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from accord import Client, MCPError, Server
from accord.gateway import Gateway, spec_of
from gateway.gateways import ODD, SAMPLE, client_of, gateway_of, message_of

NEW = "2026-07-28"
KEY = "dev.accord-mcp/gateway"
HIDDEN_FAILURE = {"content": [{"type": "text", "text": "Error: file not found: /x"}]}
WEIRD = '{"content":[{"type":"text","text":"a","x-y":[1.50,1e3]}],"structuredContent":{"b":  1.0},"more":1}'


def run(main: Coroutine[Any, Any, None]) -> None:
    asyncio.run(main)


def odd(folder: Path, *, tools: list[Any] | None = None, **options: Any) -> Gateway:
    file = folder / "odd.json"
    file.write_text(json.dumps({} if tools is None else {"tools": tools}))
    return Gateway([spec_of([*ODD, str(file)], name="odd", **options)])


async def say(client: Client, raw: Any, name: str = "say") -> dict[str, Any]:
    text = raw if isinstance(raw, str) else json.dumps(raw)
    reply = await client.call_tool_raw(name, {"raw": text})
    return dict(reply.result)


@pytest.mark.requirement("gateway.17.as-is")
def test_as_is_keeps_every_byte_of_content_and_structure(tmp_path: Path) -> None:
    async def main() -> None:
        async with client_of(odd(tmp_path, replies="as-is").server, NEW) as client:
            reply = await client.call_tool_raw("say", {"raw": WEIRD})
            assert b'"content":[{"type":"text","text":"a","x-y":[1.50,1e3]}]' in reply.raw
            assert b'"structuredContent":{"b":  1.0}' in reply.raw
            result = await say(client, HIDDEN_FAILURE)
            assert result["content"] == HIDDEN_FAILURE["content"]
            assert "isError" not in result
            broken = await say(client, {"content": "text"})
            assert broken["content"] == "text"

    run(main())


@pytest.mark.requirement("gateway.17.repaired")
def test_repaired_marks_a_certain_failure_and_changes_nothing_else(tmp_path: Path) -> None:
    async def main() -> None:
        gateway = odd(tmp_path)
        async with client_of(gateway.server, NEW) as client:
            fine = {"content": [{"type": "text", "text": "All good"}], "extra": [1]}
            result = await say(client, fine)
            assert {name: result[name] for name in fine} == fine
            assert KEY not in result["_meta"]
            failed = {"content": [{"type": "text", "text": '{"success": false, "error": "no"}'}]}
            result = await say(client, failed)
            assert result["isError"] is True
            assert result["content"] == failed["content"]
            assert result["_meta"][KEY] == {"changed": ["isError: missing"]}
            assert gateway.upstreams["odd"].repairs == {"say": 1}

    run(main())


@pytest.mark.requirement("gateway.17.normalised")
@pytest.mark.parametrize("profile", ["plain", "envelope", "prose", "generic", "bare"])
def test_normalised_is_the_reading_in_the_profile_with_the_original_in_reach(
    tmp_path: Path, profile: str
) -> None:
    async def main() -> None:
        gateway = odd(tmp_path, replies="normalised")
        gateway.server.configure(profile=profile)
        rows = [{"id": 1}, {"id": 2}]
        original = {"content": [{"type": "text", "text": f"Found 2:\n{json.dumps(rows)}"}]}
        async with client_of(gateway.server, NEW) as client:
            reading = await client.call_tool("say", {"raw": json.dumps(original)})
            assert reading.response.data == rows
            details = reading.raw and (await say(client, original))["_meta"][KEY]
            assert details["confidence"] in ("certain", "likely")
            assert "content" in details["changed"]
            again = await client.call_tool_raw("read_more", {"cursor": details["original"]})
            assert again.result["content"] == original["content"]

    run(main())


@pytest.mark.requirement("gateway.17.output-schema")
def test_a_client_that_asks_for_a_profile_gets_it() -> None:
    async def main() -> None:
        asking = {"extensions": {"dev.accord-mcp/profile": {"name": "envelope"}}}
        async with client_of(gateway_of(SAMPLE).server, NEW, capabilities=asking) as client:
            reply = await client.call_tool_raw("rows", {"count": 1})
            assert reply.result["structuredContent"]["success"] is True
            (entry,) = [each for each in await client.list_tools() if each.name == "rows"]
            assert entry.output_schema is not None
            assert "success" in entry.output_schema["properties"]

    run(main())


@pytest.mark.requirement("gateway.17.media")
def test_media_survive_in_every_mode() -> None:
    async def main() -> None:
        for replies in ("as-is", "repaired", "normalised"):
            gateway = gateway_of(SAMPLE, replies=replies)
            async with client_of(gateway.server, NEW) as client:
                result = (await client.call_tool_raw("media")).result
                kinds = [each["type"] for each in result["content"]]
                assert kinds[-3:] == ["image", "audio", "resource_link"], replies
            async with client_of(gateway.server, "2024-11-05") as client:
                result = (await client.call_tool_raw("media")).result
                kinds = [each["type"] for each in result["content"]]
                if replies != "as-is":
                    assert kinds[-3:] == ["image", "text", "text"], replies

    run(main())


@pytest.mark.requirement("gateway.19.items")
@pytest.mark.parametrize("replies", ["repaired", "normalised"])
def test_a_large_list_is_cut_between_items_and_read_to_its_end(replies: Any) -> None:
    async def main() -> None:
        server = gateway_of(SAMPLE, replies=replies).server
        server.configure(max_bytes=8_192)
        async with client_of(server, NEW) as client:
            reading = await client.call_tool("rows", {"count": 500, "width": 40})
            found = list(
                reading.value if isinstance(reading.value, list) else reading.response.data
            )
            while reading.page is not None and reading.page.cursor is not None:
                assert len(reading.raw) < 3 * 8_192
                reading = await client.call_tool("read_more", {"cursor": reading.page.cursor})
                found += reading.response.data
            assert [each["id"] for each in found] == list(range(500))

    run(main())


@pytest.mark.requirement("gateway.19.lines")
def test_a_large_text_is_cut_at_line_ends() -> None:
    async def main() -> None:
        server = gateway_of(SAMPLE).server
        server.configure(max_bytes=4_096)
        async with client_of(server, NEW) as client:
            reading = await client.call_tool("story", {"lines": 1_000})
            text, pages = "", 0
            while True:
                part = str(reading.value)
                pages += 1
                text += part
                cursor = None if reading.page is None else reading.page.cursor
                if cursor is None:
                    break
                assert part.endswith("story\n")
                reading = await client.call_tool("read_more", {"cursor": cursor})
            assert pages > 5
            assert text == "\n".join(f"line {number} of the story" for number in range(1_000))

    run(main())


@pytest.mark.requirement("gateway.19.as-is")
def test_as_is_over_the_limit_fails_and_names_it() -> None:
    async def main() -> None:
        server = gateway_of(SAMPLE, replies="as-is").server
        server.configure(max_bytes=4_096)
        async with client_of(server, NEW) as client:
            reading = await client.call_tool("rows", {"count": 500})
            assert reading.is_failure
            assert "larger than the limit of 4,096 bytes" in message_of(reading)

    run(main())


@pytest.mark.requirement("gateway.19.workers")
def test_a_cursor_works_in_another_worker_with_the_key(tmp_path: Path) -> None:
    async def main() -> None:
        def worker() -> Server:
            server = gateway_of(SAMPLE, replies="normalised").server
            server.configure(max_bytes=4_096, fallback_key=b"k" * 32)
            return server

        async with client_of(worker(), NEW) as client:
            reading = await client.call_tool("rows", {"count": 300})
            assert reading.page is not None
            cursor = reading.page.cursor
        async with client_of(worker(), NEW) as client:
            more = await client.call_tool("read_more", {"cursor": cursor})
            assert more.is_failure is False
            assert more.response.data[0]["id"] == len(reading.response.data)

    run(main())


@pytest.mark.requirement("gateway.16.hints")
def test_lists_of_tools_are_private(tmp_path: Path) -> None:
    async def main() -> None:
        async with client_of(odd(tmp_path).server, NEW) as client:
            reply = await client.request("tools/list", {})
            assert (reply.result["cacheScope"], reply.result["ttlMs"]) == ("private", 0)

    run(main())


PICTURE = {"type": "image", "mimeType": "image/png", "data": "iVBO" * 2_000}
BLOB = {"uri": "file:///a.bin", "mimeType": "application/x-a", "blob": "AAAA" * 3_000}


@pytest.mark.requirement("gateway.19.media")
@pytest.mark.parametrize("replies", ["repaired", "normalised"])
def test_media_over_the_limit_become_links_that_lead_to_them(tmp_path: Path, replies: Any) -> None:
    small = {"type": "image", "mimeType": "image/gif", "data": "R0lG"}
    words = {"type": "text", "text": "three"}
    given = {"content": [words, PICTURE, {"type": "resource", "resource": BLOB}, small]}

    async def main() -> None:
        server = odd(tmp_path, replies=replies).server
        server.configure(max_bytes=4_096)
        async with client_of(server, NEW) as client:
            result = await say(client, given)
            kinds = [each["type"] for each in result["content"]]
            assert kinds == ["text", "resource_link", "resource_link", "image"]
            picture, blob = result["content"][1:3]
            assert (picture["mimeType"], picture["size"]) == ("image/png", 6_000)
            assert any("media" in each for each in result["_meta"][KEY]["changed"])
            (found,) = await client.read_resource(picture["uri"])
            assert found.content == base64.b64decode(PICTURE["data"])
            (found,) = await client.read_resource(blob["uri"])
            assert found.content == base64.b64decode(BLOB["blob"])
            for wrong in (picture["uri"][:-1] + "9", picture["uri"][:-1] + "0", "accord-reply://x"):
                with pytest.raises(MCPError):
                    await client.read_resource(wrong)
        async with client_of(server, "2024-11-05") as client:
            result = await say(client, given)
            assert [each["type"] for each in result["content"]] == ["text", "text", "text", "image"]

    run(main())


@pytest.mark.requirement("gateway.19.media", "gateway.19.as-is")
def test_media_over_the_limit_fail_as_they_are(tmp_path: Path) -> None:
    async def main() -> None:
        server = odd(tmp_path, replies="as-is").server
        server.configure(max_bytes=4_096)
        async with client_of(server, NEW) as client:
            result = await say(client, {"content": [PICTURE]})
            assert result["isError"] is True
            assert "larger than the limit of 4,096 bytes" in result["content"][0]["text"]

    run(main())
