"""Shutdown of a child process: nothing is left of it, whatever it does."""

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from accord.client import stdio
from accord.client.peer import Peer, connect
from client.connections import UNWATCHED, descriptors, misbehaving, run, text, with_misbehaving
from processes import is_gone
from serve.http.talk import eventually


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "_GRACE", 0.3)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "started"


def start(fault: str, log: Path, **options: Any) -> Any:
    return connect(
        misbehaving(fault), env={**UNWATCHED, "START_LOG": str(log)}, timeout=20, **options
    )


def is_reaped(pid: int) -> bool:
    """True if a process is neither running nor a zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


FAULTS = ["decent", "will_not_end", "ends_only_when_asked", "never_reads_on", "floods_stderr"]


@pytest.mark.parametrize("fault", FAULTS)
def test_no_process_and_no_descriptor_is_left(fault: str, log: Path) -> None:
    async def main() -> None:
        before = descriptors()
        async with start(fault, log, era="handshake"):
            pass
        assert descriptors() <= before

    run(main())
    (pid,) = map(int, log.read_text().split())
    assert is_reaped(pid)


def test_a_server_that_ends_by_itself_is_given_the_time(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdio, "_GRACE", 40)

    async def main() -> float:
        async with start("decent", log):
            began = monotonic()
        return monotonic() - began

    assert run(main()) < 30


@pytest.mark.parametrize("fault", ["dies_in_a_call", "dies_at_once", "refuses", "silent"])
def test_nothing_is_left_of_a_server_that_failed(fault: str, log: Path) -> None:
    async def main() -> None:
        before = descriptors()
        with pytest.raises(Exception, match=r"the server|not answered"):
            async with connect(
                misbehaving(fault), env={**UNWATCHED, "START_LOG": str(log)}, timeout=0.5
            ) as peer:
                await peer.call("hello")
        assert descriptors() <= before

    run(main())
    pids = map(int, log.read_text().split()) if log.exists() else ()
    assert all(map(is_reaped, pids))


def test_nothing_is_left_when_the_block_raises(log: Path) -> None:
    async def main() -> None:
        async with start("will_not_end", log):
            raise LookupError("of our own")

    with pytest.raises(LookupError, match="of our own"):
        run(main())
    assert is_reaped(int(log.read_text()))


def test_nothing_is_left_when_the_task_is_cancelled_even_while_it_ends(log: Path) -> None:
    async def main() -> None:
        inside = asyncio.Event()

        async def hold() -> None:
            async with start("will_not_end", log):
                inside.set()

        task = asyncio.create_task(hold())
        await inside.wait()
        task.cancel()  # in the middle of the end
        await asyncio.wait([task])
        assert task.cancelled()

    run(main())
    assert is_reaped(int(log.read_text()))


def test_children_of_a_server_end_with_it() -> None:
    async def say(peer: Peer) -> int:
        return int(text(await peer.call("who")))

    pid = with_misbehaving("leaves_a_child", say)
    assert eventually(lambda: is_gone(pid))


def test_a_child_that_went_its_own_way_does_not_hold_us_up() -> None:
    pids: list[int] = []

    async def say(peer: Peer) -> None:
        pids.append(int(text(await peer.call("who"))))

    try:
        began = monotonic()
        with_misbehaving("leaves_a_stranger", say)
        assert monotonic() - began < 30
        assert not is_gone(pids[0])
    finally:
        with suppress(ProcessLookupError):
            os.kill(pids[0], signal.SIGKILL)


def test_pending_requests_fail_when_the_connection_closes(log: Path) -> None:
    async def main() -> str:
        async with start("tells_of_cancellations", log) as peer:
            waiting = asyncio.create_task(peer.call("wait"))
            await peer.request("ping")
        await asyncio.wait([waiting])
        return str(waiting.exception())

    assert run(main()) == "this connection was closed before the reply arrived"


def test_many_connections_leave_no_descriptor(log: Path) -> None:
    async def one() -> str:
        async with start("decent", log) as peer:
            return text(await peer.call("hello"))

    async def main() -> None:
        await one()
        before = descriptors()
        for _ in range(3):
            assert await asyncio.gather(*(one() for _ in range(5))) == ["hello"] * 5
        assert descriptors() <= before

    run(main())
    assert all(is_reaped(int(pid)) for pid in log.read_text().split())
