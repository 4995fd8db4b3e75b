"""Commands end, whatever a target and its libraries leave behind: tasks, threads, exit handlers."""

import signal
import subprocess
from pathlib import Path
from time import monotonic

import pytest

from cli.command import ACCORD, ENVIRONMENT, Done, accord, write
from commands import Popen
from stdio_peer import StdioPeer

GRACE = "0.5"
SOON = 30
"""Seconds within which a process has ended on a busy machine; what is left behind takes 600."""

DATABASE = """
import aiosqlite
from accord import Context, Problem, Server

server = Server("shop")
connection = None

@server.tool
async def count() -> int:
    '''Count, in a connection that is opened lazily and closed never.'''
    global connection
    if connection is None:
        connection = await aiosqlite.connect(":memory:")
    async with connection.execute("SELECT 40 + 2") as cursor:
        return (await cursor.fetchone())[0]

@server.tool
async def fail() -> int:
    '''Fail.'''
    await count()
    raise Problem.conflict("taken")
"""

LEFT = """
import asyncio, atexit, threading, time
from accord import Server

server = Server("left")

def sleep():
    time.sleep(600)

async def ignore():
    while True:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            pass

@server.tool
async def thread() -> int:
    threading.Thread(target=sleep).start()
    return 42

@server.tool
def thread_of_a_thread() -> int:
    threading.Thread(target=sleep).start()
    return 42

@server.tool
async def task() -> int:
    global kept
    kept = asyncio.create_task(ignore())
    return 42

@server.tool
async def thread_of_asyncio() -> int:
    global kept
    kept = asyncio.create_task(asyncio.to_thread(sleep))
    await asyncio.sleep(0.05)
    return 42

@server.tool
def exit_handler() -> int:
    atexit.register(sleep)
    return 42

@server.tool
async def generator() -> int:
    global kept
    async def forever():
        try:
            while True:
                yield 1
        finally:
            await ignore()
    kept = forever()
    await anext(kept)
    return 42
"""

AT_IMPORT = """
import threading, time
from accord import Server
threading.Thread(target=time.sleep, args=[600]).start()
server = Server("left")

@server.tool
def add(a: int, b: int) -> int:
    return a + b
"""

LIFESPAN = """
import threading, time
from contextlib import asynccontextmanager
from accord import Context, Server

@asynccontextmanager
async def open_shop(server):
    print("entered", flush=True)

    @server.tool
    async def added(ctx: Context) -> str:
        '''Say the state.'''
        return ctx.state

    yield "open"
    print("left")

server = Server("shop", lifespan=open_shop)
"""


def call(folder: Path, *words: str) -> Done:
    return accord("call", *words, "--grace", GRACE, cwd=folder)


def test_a_connection_that_was_never_closed_does_not_hold_the_exit(tmp_path: Path) -> None:
    write(tmp_path, shop=DATABASE)
    began = monotonic()
    done = call(tmp_path, "shop.py", "count")
    assert (done.code, done.out) == (0, "42\n"), done.err
    failed = call(tmp_path, "shop.py", "fail")
    assert failed.code == 1
    assert "taken" in failed.err
    assert monotonic() - began < SOON


def test_nor_that_of_a_server(tmp_path: Path) -> None:
    write(tmp_path, shop=DATABASE)
    command = [ACCORD, "serve", "shop.py", "--grace", GRACE]
    with StdioPeer(command, env=ENVIRONMENT, cwd=tmp_path) as peer:
        reply = peer.modern("tools/call", {"name": "count", "arguments": {}})
        assert reply["result"]["content"][0]["text"] == "42"
        peer.close_input()
        assert peer.wait(SOON) == 0


@pytest.mark.parametrize(
    "tool",
    ["thread", "thread_of_a_thread", "task", "thread_of_asyncio", "exit_handler", "generator"],
)
def test_a_call_ends_whatever_it_leaves_behind(tmp_path: Path, tool: str) -> None:
    write(tmp_path, left=LEFT)
    began = monotonic()
    done = call(tmp_path, "left.py", tool)
    assert (done.code, done.out) == (0, "42\n"), done.err
    assert monotonic() - began < SOON


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["call", "left.py", "add", '{"a": 2, "b": 3}'], 0),
        (["call", "left.py", "add", '{"a": "x", "b": 3}'], 1),
        (["call", "left.py", "multiply"], 2),
        (["tools", "left.py"], 0),
        (["tools", "left.py", "--json"], 0),
        (["serve", "left.py"], 0),
    ],
)
def test_the_exit_code_and_the_output_stay_right(
    tmp_path: Path, words: list[str], code: int
) -> None:
    write(tmp_path, left=AT_IMPORT)
    began = monotonic()
    done = accord(*words, "--grace", GRACE, cwd=tmp_path)
    assert done.code == code, done
    assert ("5" in done.out) == (words[0] == "call" and code == 0)
    assert ("add" in done.out) == (words[0] == "tools")
    assert monotonic() - began < SOON


def test_without_a_left_thread_nobody_waits_for_the_grace_period(tmp_path: Path) -> None:
    write(tmp_path, shop=LIFESPAN)
    began = monotonic()
    done = accord("call", "shop.py", "added", "--grace", "600", cwd=tmp_path)
    assert (done.code, done.out) == (0, "open\n")
    assert monotonic() - began < SOON


def test_tools_that_the_lifespan_adds_are_listed_and_called(tmp_path: Path) -> None:
    write(tmp_path, shop=LIFESPAN)
    listed = accord("tools", "shop.py", cwd=tmp_path)
    assert listed == (0, "shop 0.0.0: 1 tool\n  added()  Say the state.\n", "entered\nleft\n")
    called = accord("call", "shop.py", "added", cwd=tmp_path)
    assert called == (0, "open\n", "entered\nleft\n")
    unknown = accord("call", "shop.py", "missing", cwd=tmp_path)
    assert unknown.code == 2
    assert "no tool 'missing'; the server has: added" in unknown.err
    assert unknown.err.startswith("entered\nleft\n")


def test_ctrl_c_during_a_call_leaves_the_lifespan(tmp_path: Path) -> None:
    source = LIFESPAN.replace(
        "return ctx.state", "print('called', flush=True); import asyncio; await asyncio.sleep(600)"
    )
    write(tmp_path, shop=source)
    pipe = subprocess.PIPE
    command = [ACCORD, "call", "shop.py", "added"]
    with Popen(command, cwd=tmp_path, env=ENVIRONMENT, stdout=pipe, stderr=pipe) as child:
        assert child.stderr is not None
        assert [child.stderr.readline() for _ in range(2)] == [b"entered\n", b"called\n"]
        child.send_signal(signal.SIGINT)
        assert child.wait(SOON) == -signal.SIGINT
        assert child.stderr.readline() == b"left\n"
