"""How a connection begins: which era, which revision, and what is said if there is none."""

import sys
from pathlib import Path
from typing import Any

import pytest

from accord.connect import Peer, connect
from accord.errors import ContractError, PeerError
from connect.talk import UNWATCHED, meet, nothing, rogue, run


async def revision(peer: Peer) -> str:
    return peer.revision


@pytest.mark.parametrize(
    ("habit", "agreed"),
    [
        ("decent", "2025-11-25"),
        ("knows_only_the_oldest", "2024-11-05"),
        ("dies_of_what_it_does_not_know", "2025-11-25"),
        ("dies_of_initialize_after_discover", "2025-11-25"),
        ("speaks_the_future_and_the_past", "2025-11-25"),
        ("says_little_of_itself", "2026-07-28"),
    ],
)
def test_an_era_is_found_in_common(habit: str, agreed: str) -> None:
    assert meet(habit, revision) == agreed


def test_a_server_that_is_silent_for_a_moment_is_started_again(tmp_path: Path) -> None:
    log = tmp_path / "started"
    env = {**UNWATCHED, "ROGUE_LOG": str(log)}
    habit = "ignores_what_it_does_not_know"
    assert meet(habit, revision, timeout=3, env=env) == "2025-11-25"
    assert len(log.read_text().split()) == 2


def test_a_server_that_answers_is_started_once(tmp_path: Path) -> None:
    log = tmp_path / "started"
    meet("decent", revision, env={**UNWATCHED, "ROGUE_LOG": str(log)})
    assert len(log.read_text().split()) == 1


def test_what_a_server_leaves_out_is_empty() -> None:
    async def known(peer: Peer) -> tuple[Any, ...]:
        return peer.server, peer.capabilities, peer.instructions

    assert meet("says_little_of_itself", known) == ({}, {}, None)


@pytest.mark.parametrize(
    ("habit", "options", "sentence"),
    [
        ("refuses", {}, r"the server refused to begin: not today \(-32000\)"),
        ("offers_the_future", {}, "no revision is common: the server speaks '2099-01-01'"),
        ("speaks_only_the_future", {}, "no revision is common: the server speaks 2099-01-01"),
        ("wants_capabilities", {}, "refused to begin: Missing required client capability"),
        ("decent", {"era": "stateless"}, "does not speak revision 2026-07-28: it answered Method not"),
        ("silent", {"timeout": 0.4, "era": "handshake"}, "initialize was not answered within 0.4 s"),
        ("silent", {"timeout": 0.4}, "initialize was not answered within 0.4 s"),
        ("dies_at_once", {}, "the server ended with exit code 7; its stderr ends:\nno database"),
    ],
)  # fmt: skip
def test_why_nothing_was_agreed_is_said(habit: str, options: Any, sentence: str) -> None:
    with pytest.raises(PeerError, match=sentence):
        meet(habit, nothing, **options)


@pytest.mark.parametrize(
    ("target", "options", "sentence"),
    [
        ("", {}, "the command line is empty"),
        ([], {}, "the command line is empty"),
        ("say 'this", {}, "is no command line: No closing quotation"),
        ("ftp://localhost/mcp", {}, "ftp:// is no way to a server"),
        ("file:///etc/passwd", {}, "file:// is no way to a server"),
        ("http://", {}, "names no host"),
        ("http://[::1/mcp", {}, "cannot be sent"),
        ("http://127.0.0.1:1/mcp", {"headers": {"X-Name": "ü"}}, "cannot be sent"),
        ("http://127.0.0.1:1/mcp", {"cwd": "/"}, "cwd and env are for a command"),
        ("http://127.0.0.1:1/mcp", {"env": {}}, "cwd and env are for a command"),
        ("true", {"headers": {"a": "b"}}, "headers are for a URL"),
        ("true", {"era": "stone"}, "'stone' is no era"),
        ("true", {"revision": "2020-01-01"}, "'2020-01-01' is no revision"),
        ("true", {"revision": "2025-11-25", "era": "stateless"}, "of the handshake era"),
        ("true", {"revision": "2026-07-28", "era": "handshake"}, "of the stateless era"),
    ],
)
def test_what_cannot_be_asked_for_is_our_own_fault(
    target: Any, options: Any, sentence: str
) -> None:
    async def main() -> None:
        async with connect(target, **options):
            pass

    with pytest.raises(ContractError, match=sentence):
        run(main())


@pytest.mark.parametrize(
    ("target", "options", "sentence"),
    [
        (["/no/such/program"], {}, "cannot start '/no/such/program': No such file"),
        (["a\0b"], {}, "cannot start"),
        (["/"], {}, "cannot start '/': Permission denied"),
        ([sys.executable], {"cwd": "/no/such/folder"}, "cannot start .*: No such file"),
        (
            "http://127.0.0.1:1/mcp",
            {},
            r"cannot talk to http://127.0.0.1:1/mcp: .*is the server running",
        ),
    ],
)
def test_what_cannot_be_reached_is_told(target: Any, options: Any, sentence: str) -> None:
    async def main() -> None:
        async with connect(target, **options):
            pass

    with pytest.raises(PeerError, match=sentence):
        run(main())


def test_nothing_can_be_asked_after_the_end() -> None:
    async def main() -> None:
        async with connect(rogue("decent"), env=UNWATCHED) as peer:
            pass
        with pytest.raises(PeerError, match="this connection is closed"):
            await peer.call("late")

    run(main())
