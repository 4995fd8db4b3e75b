"""Pages of tools/list: all tools once, in one order; only a cursor that we made leads on."""

import re
from threading import Thread
from typing import Any

import pytest
from msgspec import Raw
from msgspec.json import encode

import wire
from accord import Server
from accord.model.tool import Tool
from accord.revisions import REVISIONS
from accord.signing import Signer
from peer import Peer

KEY = b"a key of sixteen"
NAMES = ["delta", "alpha", "echo", "bravo", "charlie"]

every_revision = pytest.mark.parametrize("revision", wire.REVISIONS)


def paged(page_size: int | None = 2, key: bytes | None = KEY) -> Server:
    server = Server("paged", page_size=page_size, key=key)
    for name in NAMES:
        server.tool(name=name)(lambda: None)
    return server


def listed(peer: Peer, **params: Any) -> dict[str, Any]:
    result: dict[str, Any] = peer.ask("tools/list", params)["result"]
    return result


def names(result: dict[str, Any]) -> list[str]:
    return [tool["name"] for tool in result["tools"]]


def walked(peer: Peer) -> list[list[str]]:
    """The names on each page, by following the cursors."""
    result = listed(peer)
    pages = [names(result)]
    while "nextCursor" in result:
        result = listed(peer, cursor=result["nextCursor"])
        pages.append(names(result))
    return pages


@every_revision
@pytest.mark.parametrize("page_size", [1, 2, 3, 4, 5, 6, None])
def test_the_pages_hold_each_tool_once_in_order(page_size: int | None, revision: str) -> None:
    size = page_size or len(NAMES)
    expected = [NAMES[i : i + size] for i in range(0, len(NAMES), size)]
    assert walked(Peer(paged(page_size), revision)) == expected


@pytest.mark.requirement("mcp.tools.same-list")
@every_revision
def test_the_order_is_the_same_for_every_connection(revision: str) -> None:
    server = paged()
    assert (
        walked(Peer(server, revision))
        == walked(Peer(server, revision))
        == walked(Peer(server, wire.REVISIONS[0]))
    )


def test_a_server_without_tools_has_one_empty_page() -> None:
    result = listed(Peer(Server("empty", page_size=2), "2025-11-25"))
    assert result == {"tools": []}


def test_a_cursor_is_url_safe_and_leads_on_at_every_worker_with_the_key() -> None:
    cursor = listed(Peer(paged(), "2025-11-25"))["nextCursor"]
    assert re.fullmatch(r"[A-Za-z0-9_-]+", cursor)
    assert names(listed(Peer(paged(), "2025-06-18"), cursor=cursor)) == NAMES[2:4]


def cursor_of(key: bytes | None) -> str:
    return str(listed(Peer(paged(key=key), "2025-11-25"))["nextCursor"])


GOOD = cursor_of(KEY)
BAD_CURSORS = {
    "empty": "",
    "a space": " ",
    "a number": "2",
    "words": "give me more",
    "an accent": "é",
    "NUL": "\0",
    "long": "x" * 100_000,
    "padded": GOOD + "=",
    "with a space": GOOD + " ",
    "with a line break": GOOD + "\n",
    "twice": GOOD * 2,
    "without its last character": GOOD[:-1],
    "without its first character": GOOD[1:],
    "in capitals": GOOD.upper(),
    "of another key": cursor_of(b"another sixteen!"),
    "of a key made for one process": cursor_of(None),
    "made for another purpose": Signer(KEY).sign("tools/call", b"2"),
    "of no page": Signer(b"0" * 16).sign("tools/list", b"-1"),
}


@every_revision
@pytest.mark.parametrize("cursor", BAD_CURSORS.values(), ids=BAD_CURSORS)
def test_a_cursor_that_we_did_not_make_is_refused(cursor: str, revision: str) -> None:
    reply = Peer(paged(), revision).ask("tools/list", {"cursor": cursor})
    assert reply["error"]["code"] == -32602


def test_a_cursor_with_any_one_character_changed_is_refused() -> None:
    peer = Peer(paged(), "2025-11-25")
    for i, character in enumerate(GOOD):
        for other in "AB1_":
            forged = GOOD[:i] + other + GOOD[i + 1 :]
            reply = peer.ask("tools/list", {"cursor": forged})
            assert ("error" in reply) == (other != character)


def test_a_bad_cursor_is_refused_where_there_is_one_page() -> None:
    reply = Peer(paged(page_size=None), "2025-11-25").ask("tools/list", {"cursor": "x"})
    assert reply["error"]["code"] == -32602


@every_revision
def test_a_page_that_is_made_while_tools_change_is_not_kept(revision: str) -> None:
    """As when a tool in a thread adds another, while the list is being worded."""
    server = paged(None)
    peer = Peer(server, revision)
    added: list[str] = []

    def entry(tool: Tool, *_: Any) -> dict[str, Any]:
        if not added:
            added.append("late")
            server.tool(name="late")(lambda: None)
        return {"name": tool.name}

    server.registry.page(
        "tools/list",
        None,
        REVISIONS[revision],
        Signer(KEY),
        profile=None,
        tool_entry=entry,
        encode=lambda page: Raw(encode(page)),
    )
    assert added == ["late"]
    assert names(listed(peer)) == [*NAMES, "late"]


def test_tools_that_come_and_go_in_threads_spoil_no_list() -> None:
    server = Server("busy", changing={"tools", "resources", "prompts"})
    server.resource("busy://always")(lambda: "x")
    failures: list[BaseException] = []

    def churn(name: str) -> None:
        try:
            for _ in range(100):
                server.tool(name=name)(lambda: None)
                server.resource(f"busy://{name}")(lambda: "x")
                server.remove(server.tools[name])
                server.remove(server.resources[f"busy://{name}"])
        except BaseException as error:  # noqa: BLE001 - whatever it is, the test is to know
            failures.append(error)

    peer = Peer(server, wire.STATELESS)
    threads = [Thread(target=churn, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        for method in ("tools/list", "resources/list"):
            assert "result" in peer.ask(method)
    for thread in threads:
        thread.join()
    assert failures == []
    assert listed(peer)["tools"] == []
    assert [r["uri"] for r in peer.ask("resources/list")["result"]["resources"]] == [
        "busy://always"
    ]
