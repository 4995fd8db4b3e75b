"""Version negotiation over stdio: the era, the revision, and the errors."""

import sys
from pathlib import Path
from typing import Any

import pytest

from accord.client.peer import Peer, connect
from accord.errors import ContractError, PeerError
from client.connections import UNWATCHED, do_nothing, misbehaving, run, with_misbehaving


async def revision(peer: Peer) -> str:
    return peer.revision


@pytest.mark.parametrize(
    ("fault", "agreed"),
    [
        ("decent", "2025-11-25"),
        ("knows_only_the_oldest", "2024-11-05"),
        ("dies_of_what_it_does_not_know", "2025-11-25"),
        ("dies_of_initialize_after_discover", "2025-11-25"),
        ("speaks_the_future_and_the_past", "2025-11-25"),
        ("says_little_of_itself", "2026-07-28"),
    ],
)
def test_an_era_is_found_in_common(fault: str, agreed: str) -> None:
    assert with_misbehaving(fault, revision) == agreed


def test_a_server_that_is_silent_for_a_moment_is_started_again(tmp_path: Path) -> None:
    log = tmp_path / "started"
    env = {**UNWATCHED, "START_LOG": str(log)}
    fault = "ignores_what_it_does_not_know"
    assert with_misbehaving(fault, revision, timeout=6, env=env) == "2025-11-25"
    assert len(log.read_text().split()) == 2


def test_a_server_that_answers_is_started_once(tmp_path: Path) -> None:
    log = tmp_path / "started"
    with_misbehaving("decent", revision, env={**UNWATCHED, "START_LOG": str(log)})
    assert len(log.read_text().split()) == 1


def test_what_a_server_leaves_out_is_empty() -> None:
    async def known(peer: Peer) -> tuple[Any, ...]:
        return peer.server, peer.capabilities, peer.instructions

    assert with_misbehaving("says_little_of_itself", known) == ({}, {}, None)


@pytest.mark.parametrize(
    ("fault", "options", "sentence"),
    [
        ("refuses", {}, r"the server rejected the handshake: not today \(-32000\)"),
        ("offers_the_future", {}, "no common revision: the server supports '2099-01-01'"),
        ("speaks_only_the_future", {}, "no common revision: the server supports 2099-01-01"),
        ("wants_capabilities", {}, "rejected the handshake: Missing required client capability"),
        ("decent", {"era": "stateless"}, "does not support revision 2026-07-28: it answered Method not"),
        ("silent", {"timeout": 0.4, "era": "handshake"}, "initialize was not answered within 0.4 s"),
        ("silent", {"timeout": 0.4}, "initialize was not answered within 0.4 s"),
        ("dies_at_once", {}, "the server exited with code 7; its stderr ends:\nno database"),
    ],
)  # fmt: skip
def test_why_nothing_was_agreed_is_reported(fault: str, options: Any, sentence: str) -> None:
    with pytest.raises(PeerError, match=sentence):
        with_misbehaving(fault, do_nothing, **options)


async def connect_once(target: Any, options: Any) -> None:
    """Connect, and close the connection at once."""
    async with connect(target, **options):
        pass


@pytest.mark.parametrize(
    ("target", "options", "sentence"),
    [
        ("", {}, "the command line is empty"),
        ([], {}, "the command line is empty"),
        ("say 'this", {}, "is not a command line: No closing quotation"),
        ("ftp://localhost/mcp", {}, "ftp:// is not supported"),
        ("file:///etc/passwd", {}, "file:// is not supported"),
        ("http://", {}, "has no host"),
        ("http://[::1/mcp", {}, "are invalid"),
        ("http://127.0.0.1:1/mcp", {"headers": {"X-Name": "ü"}}, "are invalid"),
        ("http://127.0.0.1:1/mcp", {"cwd": "/"}, "cwd and env must not be given"),
        ("http://127.0.0.1:1/mcp", {"env": {}}, "cwd and env must not be given"),
        ("true", {"headers": {"a": "b"}}, "headers must not be given"),
        ("true", {"era": "stone"}, "era must be one of"),
        ("true", {"revision": "2020-01-01"}, "revision must be one of"),
        ("true", {"revision": "2025-11-25", "era": "stateless"}, "to the handshake era"),
        ("true", {"revision": "2026-07-28", "era": "handshake"}, "to the stateless era"),
    ],
)
def test_what_cannot_be_asked_for_is_our_own_fault(
    target: Any, options: Any, sentence: str
) -> None:
    with pytest.raises(ContractError, match=sentence):
        run(connect_once(target, options))


@pytest.mark.parametrize(
    ("target", "options", "sentence"),
    [
        (["/no/such/program"], {}, "could not start '/no/such/program': No such file"),
        (["a\0b"], {}, "could not start"),
        (["/"], {}, "could not start '/': Permission denied"),
        ([sys.executable], {"cwd": "/no/such/folder"}, "could not start .*: No such file"),
        (
            "http://127.0.0.1:1/mcp",
            {},
            r"could not reach http://127.0.0.1:1/mcp: .*is the server running",
        ),
    ],
)
def test_what_cannot_be_reached_is_reported(target: Any, options: Any, sentence: str) -> None:
    with pytest.raises(PeerError, match=sentence):
        run(connect_once(target, options))


def test_nothing_can_be_asked_after_the_end() -> None:
    async def main() -> None:
        async with connect(misbehaving("decent"), env=UNWATCHED) as peer:
            pass
        with pytest.raises(PeerError, match="this connection is closed"):
            await peer.call("late")

    run(main())
