"""Cursors: what we made for this leads on for a while; whatever else comes is refused."""

import json
import re
import stat
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import wire
from accord import Answer, ContractError, Cursors, Page, Problem, Server
from accord.profiles import PROFILES
from cli.command import ACCORD, ENVIRONMENT, accord_each, assert_one_line_of_misuse, write
from peer import Peer
from stdio_peer import StdioPeer

V1, V2, V3, V4, V5 = wire.REVISIONS
META = "dev.accord-mcp/answer"
KEY = b"a key of sixteen"
ITEMS = list(range(2_000))
CURSORS = Cursors(KEY)

each_profile = pytest.mark.parametrize("profile", PROFILES)
each_revision = pytest.mark.parametrize("revision", wire.REVISIONS)


class Clock:
    """A time that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def refusal(cursors: Cursors, cursor: str, purpose: str = "cursor") -> str:
    """The code of the validation problem that a cursor gets."""
    with pytest.raises(Problem) as caught:
        cursors.decode(cursor, purpose)
    assert caught.value.kind == "validation"
    assert [fault.field for fault in caught.value.fields] == ["cursor"]
    assert caught.value.message.startswith("The cursor ")
    return caught.value.code


# Made and read back


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)  # fmt: skip
purposes = st.text(max_size=20)


@given(json_values, purposes)
def test_what_was_put_in_comes_out(value: Any, purpose: str) -> None:
    assert CURSORS.decode(CURSORS.encode(value, purpose), purpose) == value


@given(json_values)
def test_a_cursor_is_url_safe_and_says_whose_and_which_version_it_is(value: Any) -> None:
    assert re.fullmatch(r"accord\.1[A-Za-z0-9_-]+", CURSORS.encode(value))


@given(json_values, purposes, purposes)
def test_a_cursor_is_good_for_its_own_purpose_alone(value: Any, one: str, other: str) -> None:
    assume(one != other)
    assert refusal(CURSORS, CURSORS.encode(value, one), other) == "INVALID_CURSOR"


def test_a_cursor_is_good_under_its_own_key_alone() -> None:
    cursor = CURSORS.encode(7)
    assert Cursors(KEY).decode(cursor) == 7
    for others in (Cursors(b"another key of 24 bytes."), Cursors(), Cursors(KEY + b"x")):
        assert refusal(others, cursor) == "INVALID_CURSOR"


@pytest.mark.parametrize("length", [0, 15, 65])
def test_a_key_too_short_or_too_long_is_our_own_fault(length: int) -> None:
    with pytest.raises(ContractError, match="16 to 64 bytes"):
        Cursors(b"k" * length)


# Forged


def test_no_character_of_a_cursor_can_be_another() -> None:
    cursor = CURSORS.encode({"after": 7})
    for at, letter in enumerate(cursor):
        for other in {"A", "b", "-", ".", "é", chr(ord(letter) ^ 1)} - {letter}:
            forged = cursor[:at] + other + cursor[at + 1 :]
            assert refusal(CURSORS, forged) == "INVALID_CURSOR"


def test_no_part_of_a_cursor_is_a_cursor_nor_is_a_longer_one() -> None:
    cursor = CURSORS.encode({"after": 7})
    for end in range(len(cursor)):
        assert refusal(CURSORS, cursor[:end]) == "INVALID_CURSOR"
    for more in ("A", "=", " ", "\n", "\0", cursor):
        assert refusal(CURSORS, cursor + more) == "INVALID_CURSOR"


@given(st.text(st.characters(), max_size=60), st.sampled_from(["", "accord.", "accord.1"]))
def test_whatever_else_comes_is_refused(text: str, beginning: str) -> None:
    assert refusal(CURSORS, beginning + text) == "INVALID_CURSOR"


# Expired


@pytest.mark.parametrize(
    ("passed", "is_good"),
    [(0, True), (59, True), (60, True), (61, False), (10**9, False), (-3_600, False)],
    ids=["at once", "in time", "at last", "too late", "years later", "from the future"],
)
def test_a_cursor_is_good_for_its_time_and_not_before_it_was_made(
    passed: float, is_good: bool
) -> None:
    clock = Clock()
    cursors = Cursors(KEY, seconds=60, clock=clock)
    cursor = cursors.encode("x")
    clock.now += passed
    if is_good:
        assert cursors.decode(cursor) == "x"
    else:
        assert refusal(cursors, cursor) == "CURSOR_EXPIRED"


def test_a_cursor_is_good_for_an_hour_unless_somebody_says_otherwise() -> None:
    clock = Clock()
    cursors = Cursors(clock=clock)
    cursor = cursors.encode("x")
    clock.now += 3_600
    assert cursors.decode(cursor) == "x"
    clock.now += 1
    assert refusal(cursors, cursor) == "CURSOR_EXPIRED"


def test_all_cursors_to_one_value_have_one_length() -> None:
    """The room beside it must not depend on the time."""
    clock = Clock()
    cursors = Cursors(KEY, clock=clock)
    lengths = set()
    for clock.now in (1_794_746_374.0, 1_794_746_374.5, 1_794_746_374.123456, 1_794_746_375.25):
        lengths.add(len(cursors.encode("x")))
    assert len(lengths) == 1


# In a call


def shop(*, key: bytes | None = KEY, profile: str = "plain") -> Server:
    server = Server(
        "shop", version="1.0", key=key, max_bytes=2_048, profile=profile, read_more=True
    )

    @server.tool(read_only=True)
    def numbers(start: int = 0, cursor: str | None = None) -> list[int]:
        return ITEMS[start:]

    @server.tool(read_only=True)
    def others(start: int = 0, cursor: str | None = None) -> list[int]:
        return ITEMS[start:]

    @server.tool(read_only=True)
    def all_numbers() -> list[int]:
        return ITEMS

    return server


def cursor_in(reply: dict[str, Any]) -> str:
    return str(reply["result"]["_meta"][META]["page"]["cursor"])


def assert_refused(reply: dict[str, Any], profile: str, revision: str, sentence: str) -> None:
    """A validation problem, as profile and revision word it."""
    if "error" in reply:
        assert profile == "bare" or revision in (V1, V2, V3)
        assert reply["error"]["code"] == -32602
        assert sentence in reply["error"]["message"]
        (fault,) = reply["error"]["data"]["validation_errors"]
        assert fault["field"] == "cursor"
        return
    assert profile != "bare"
    assert revision in (V4, V5)
    assert reply["result"]["isError"] is True
    (block,) = reply["result"]["content"]
    assert sentence in block["text"]
    if profile == "envelope":
        assert json.loads(block["text"])["meta"]["error"]["type"] == "validation"
    elif profile == "generic":
        details = json.loads(block["text"])["error"]["details"]
        assert [fault["field"] for fault in details["validationErrors"]] == ["cursor"]


OLD = Cursors(KEY, clock=lambda: 1_000.0)
NEW = Cursors(KEY, clock=lambda: 9e9)


def bad_cursors() -> dict[str, tuple[str, str, str]]:
    """The tool that is asked, the cursor that it gets, and what is said of it."""
    peer = Peer(shop(), V4)
    own, more = cursor_in(peer.call("numbers")), cursor_in(peer.call("all_numbers"))
    foreign = cursor_in(Peer(shop(key=b"another key of 24 bytes."), V4).call("numbers"))
    listed = Server("shop", key=KEY, page_size=1)
    for name in ("a", "b"):
        listed.tool(name=name)(lambda: 1)
    page = Peer(listed, V4).ask("tools/list")["result"]["nextCursor"]
    other = "was not issued by this server for this purpose"
    return {
        "forged": ("numbers", own[:-1] + ("A" if own[-1] != "A" else "B"), other),
        "cut short": ("numbers", own[:-7], other),
        "of another key": ("numbers", foreign, other),
        "of another tool": ("others", own, other),
        "of read_more": ("numbers", more, other),
        "of tools/list": ("numbers", f"rest.accord.{page}", other),
        "for another purpose": ("numbers", "rest." + CURSORS.encode(7), other),
        "nothing but a beginning": ("numbers", "rest.accord.", other),
        "huge": ("numbers", "rest.accord.1" + "A" * 1_000_000, other),
        "beyond ASCII": ("numbers", "rest.accord.1é🙂", other),
        "expired": ("numbers", "rest." + OLD.encode(7, "rest of numbers"), "has expired"),
        "from the future": ("numbers", "rest." + NEW.encode(7, "rest of numbers"), "has expired"),
        "read_more: of a tool": ("read_more", own, other),
        "read_more: empty": ("read_more", "", "is not a cursor of this server"),
        "read_more: a tool's own": ("read_more", "42", "is not a cursor of this server"),
        "read_more: expired": ("read_more", OLD.encode(7, "read_more"), "has expired"),
        "read_more: huge": ("read_more", "A" * 1_000_000, "is not a cursor of this server"),
    }


BAD = bad_cursors()


@pytest.mark.parametrize(("tool", "cursor", "sentence"), BAD.values(), ids=BAD)
@each_profile
@pytest.mark.parametrize("revision", [V1, V3, V4, V5])
def test_a_cursor_that_is_not_for_this_is_a_validation_problem(
    profile: str, revision: str, tool: str, cursor: str, sentence: str
) -> None:
    reply = Peer(shop(profile=profile), revision).call(tool, cursor=cursor)
    assert_refused(reply, profile, revision, sentence)


@each_profile
@pytest.mark.parametrize("revision", [V1, V4])
def test_a_cursor_of_a_call_with_other_arguments_is_a_validation_problem(
    profile: str, revision: str
) -> None:
    peer = Peer(shop(profile=profile), revision)
    cursor = cursor_in(peer.call("numbers", start=1))
    for arguments in ({}, {"start": 2}, {"start": None}):
        reply = peer.call("numbers", **arguments, cursor=cursor)
        assert_refused(reply, profile, revision, "belongs to a call with other arguments")
    assert "result" in peer.call("numbers", cursor=cursor, start=1)


def recording_cursors() -> tuple[Server, list[str | None]]:
    """Return a server with one tool, and the cursors that the tool received."""
    seen: list[str | None] = []
    server = Server("shop")

    @server.tool(read_only=True)
    def get(cursor: str | None = None) -> int:
        seen.append(cursor)
        return 1

    return server, seen


def test_a_refused_cursor_never_reaches_the_tool() -> None:
    server, seen = recording_cursors()
    assert Peer(server, V4).call("get", cursor="rest.accord.1forged")["result"]["isError"] is True
    assert seen == []


def test_a_tool_that_is_gone_cannot_be_continued() -> None:
    server = shop()
    peer = Peer(server, V4)
    cursor = cursor_in(peer.call("all_numbers"))
    del server.tools["all_numbers"]
    result = peer.call("read_more", cursor=cursor)["result"]
    assert result["isError"] is True
    assert result["content"][0]["text"].endswith("There is no tool all_numbers any more")


@pytest.mark.parametrize("tool", ["numbers", "all_numbers"])
def test_servers_that_share_a_key_continue_each_others_answers(tool: str) -> None:
    cursor = cursor_in(Peer(shop(), V4).call(tool))
    name = "numbers" if tool == "numbers" else "read_more"
    result = Peer(shop(), V5).call(name, cursor=cursor)["result"]
    assert json.loads(result["content"][0]["text"])["result"][0] > 0


def test_servers_without_a_key_do_not() -> None:
    cursor = cursor_in(Peer(shop(key=None), V4).call("numbers"))
    reply = Peer(shop(key=None), V4).call("numbers", cursor=cursor)
    assert_refused(reply, "plain", V4, "was not issued by this server for this purpose")


# A tool's own cursors


@pytest.mark.parametrize(
    "own",
    [
        "",
        "42",
        "accord.1x",
        "Rest.accord.1x",
        "rest",
        "rest1x",
        " rest.accord.1x",
        "é🙂",
        "\0",
        "x" * 100_000,
    ],
    ids=lambda own: repr(own[:12]),
)
@each_revision
def test_a_tools_own_cursor_reaches_it_untouched(revision: str, own: str) -> None:
    server, seen = recording_cursors()
    assert "error" not in Peer(server, revision).call("get", cursor=own)
    assert seen == [own]


def test_a_tool_can_make_its_own_cursors_as_we_do() -> None:
    cursors = Cursors(KEY)
    server = Server("shop", max_bytes=2_048)

    @server.tool(read_only=True)
    def get(cursor: str | None = None) -> Answer[list[int]]:
        start = 0 if cursor is None else cursors.decode(cursor, "get")
        end = min(start + 700, len(ITEMS))
        own = cursors.encode(end, "get") if end < len(ITEMS) else None
        return Answer(ITEMS[start:end], page=Page(has_more=own is not None, cursor=own))

    peer = Peer(server, V4)
    reply, items = peer.call("get"), []
    while True:
        items += reply["result"]["structuredContent"]["result"]
        page = reply["result"]["_meta"][META]["page"]
        if not page["hasMore"]:
            break
        reply = peer.call("get", cursor=page["cursor"])
        assert "isError" not in reply["result"], reply
    assert items == ITEMS


# Keys that are kept in a file


SHOP = """
from accord import Server

server = Server("shop", max_bytes=2_048, read_more=True)

@server.tool(read_only=True)
def numbers(cursor: str | None = None) -> list[int]:
    return list(range(2_000))

@server.tool(read_only=True)
def all_numbers() -> dict[str, list[int]]:
    return {"numbers": list(range(2_000))}

@server.tool(read_only=True)
def names(cursor: str | None = None) -> set[str]:
    return {f"name {n}" for n in range(300)}
"""


def serving(folder: Path, *words: str) -> StdioPeer:
    return StdioPeer([ACCORD, "serve", "shop", *words], cwd=folder, env=ENVIRONMENT)


def called(peer: StdioPeer, name: str, **arguments: Any) -> dict[str, Any]:
    return peer.modern("tools/call", {"name": name, "arguments": arguments})


def items_of(reply: dict[str, Any]) -> list[Any]:
    data = json.loads(reply["result"]["content"][0]["text"])
    items: list[Any] = data["numbers"] if "numbers" in data else data["result"]
    return items


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path, shop=SHOP)


def test_with_a_key_file_an_answer_is_continued_after_a_restart(folder: Path) -> None:
    cut: dict[str, dict[str, Any]] = {}
    with serving(folder, "--key-file", "key") as first:
        for name in ("numbers", "all_numbers"):
            cut[name] = called(first, name)
    with serving(folder, "--key-file", "key") as second:
        for name, more in (("numbers", "numbers"), ("all_numbers", "read_more")):
            reply = called(second, more, cursor=cursor_in(cut[name]))
            assert items_of(reply)[0] == len(items_of(cut[name]))


def test_without_one_a_restart_ends_all_cursors(folder: Path) -> None:
    with serving(folder) as first, serving(folder) as second:
        reply = called(second, "numbers", cursor=cursor_in(called(first, "numbers")))
        assert_refused(reply, "plain", V5, "was not issued by this server for this purpose")


def test_a_set_has_one_order_in_every_process(folder: Path) -> None:
    with (
        serving(folder, "--key-file", "key") as first,
        serving(folder, "--key-file", "key") as second,
    ):
        reply, items, peers = called(first, "names"), [], [second, first] * 20
        for peer in peers:
            items += items_of(reply)
            page = reply["result"]["_meta"][META]["page"]
            if not page["hasMore"]:
                break
            reply = called(peer, "names", cursor=page["cursor"])
    assert sorted(items) == sorted(f"name {n}" for n in range(300))


def test_a_key_file_is_made_for_its_owner_alone(folder: Path) -> None:
    with serving(folder, "--key-file", "key") as peer:
        called(peer, "numbers")
    key = folder / "key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert len(bytes.fromhex(key.read_text())) == 32


def test_processes_that_start_at_once_make_one_key(folder: Path) -> None:
    with ExitStack() as stack:
        peers = [stack.enter_context(serving(folder, "--key-file", "key")) for _ in range(4)]
        cursor = cursor_in(called(peers[0], "numbers"))
        for peer in peers:
            assert items_of(called(peer, "numbers", cursor=cursor))[0] > 0
    made = {path.name for path in folder.iterdir() if path.is_file()}
    assert made == {"shop.py", "key"}


def test_a_key_of_ones_own_is_taken_as_it_is(folder: Path) -> None:
    (folder / "key").write_bytes(KEY + b"\n")
    with serving(folder, "--key-file", "key") as peer:
        cursor = cursor_in(Peer(shop(), V4).call("numbers"))
        assert items_of(called(peer, "numbers", cursor=cursor))[0] > 0
    assert (folder / "key").read_bytes() == KEY + b"\n"


def test_a_bad_key_file_is_one_line(folder: Path) -> None:
    (folder / "empty").touch()
    (folder / "short").write_bytes(b"short")
    (folder / "long").write_bytes(b"k" * 65)
    (folder / "a_folder").mkdir()
    cases = {
        "empty": ("does not hold a key", "16 to 64 bytes"),
        "short": ("does not hold a key", "16 to 64 bytes"),
        "long": ("does not hold a key", "16 to 64 bytes"),
        "a_folder": ("could not use the key file", "Is a directory"),
        "missing/key": ("could not use the key file", "No such file or directory"),
        "shop.py/key": ("could not use the key file", "Not a directory"),
    }
    done = accord_each({name: ["serve", "shop", "--key-file", name] for name in cases}, cwd=folder)
    for name, fragments in cases.items():
        assert_one_line_of_misuse(done[name], name, *fragments)
