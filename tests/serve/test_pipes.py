"""Standard input and output belong to the protocol: nobody else writes there or reads from it."""

import asyncio
import fcntl
import json
import os
import select
import subprocess
from pathlib import Path
from typing import IO, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wire
from accord.serve.pipes import Output
from commands import TESTS, Popen
from serve.talk import ACCORD, ENVIRONMENT, SAMPLES, ask, calling, limited, serving, text
from stdio_peer import StdioPeer

# Nothing but the protocol goes out

WRITERS = [
    "print_it",
    "print_it_in_a_thread",
    "print_and_flush_it",
    "write_to_the_first_stdout",
    "write_to_a_stdout_that_was_replaced",
    "write_to_the_descriptor",
    "print_from_c",
    "start_a_chatty_child",
    "start_a_chatty_shell",
    "fork_a_chatty_child",
    "print_when_python_ends",
]


@pytest.mark.requirement("mcp.stdio.only-messages", "mcp.stdio.one-line")
@pytest.mark.parametrize("tool", WRITERS)
def test_what_a_tool_writes_goes_to_stderr(tool: str) -> None:
    assert "NOISE\n" in _stderr_after(tool)


def _stderr_after(tool: str) -> str:
    """Call a tool and then another, end the server, and return its stderr."""
    with serving("faulty:printing") as peer:
        ask(peer, tool)
        assert ask(peer, "quiet") == "quiet"
        peer.close_input()
        assert peer.rest() == []
        assert peer.wait() == 0
    return peer.stderr


PRINTS = """
import atexit
from accord import Server
server = Server("prints")
print("NOISE at import")
atexit.register(print, "NOISE at exit")

@server.tool
async def quiet() -> str:
    return "quiet"
"""


def test_what_a_module_prints_as_it_comes_and_goes_is_on_stderr(tmp_path: Path) -> None:
    module = tmp_path / "prints.py"
    module.write_text(PRINTS)
    with serving(str(module)) as peer:
        assert ask(peer, "quiet") == "quiet"
        peer.close_input()
        assert peer.rest() == []
        assert peer.wait() == 0
    assert peer.stderr == "NOISE at import\nNOISE at exit\n"


def test_what_a_tool_prints_is_there_when_its_reply_is() -> None:
    with serving("faulty:printing") as peer:
        ask(peer, "print_it")
        peer.kill()
        peer.wait()
    assert peer.stderr == "NOISE\n"


@pytest.mark.parametrize(
    "tool", ["close_stdout", "close_stdin", "close_the_descriptors", "replace_the_descriptors"]
)
def test_a_tool_cannot_cut_the_line(tool: str) -> None:
    _stderr_after(tool)


# Nobody else takes what comes in


@pytest.mark.parametrize(
    "tool", ["ask_a_person", "read_stdin", "read_the_descriptor", "start_a_curious_child"]
)
def test_a_tool_that_reads_stdin_finds_it_empty_and_steals_no_message(tool: str) -> None:
    with serving("faulty:printing") as peer:
        peer.send(calling("reads", tool))
        for number in range(20):
            peer.send(calling(number, "quiet"))
        replies = {reply["id"]: text(reply) for reply in peer.replies(21)}
    assert replies == {"reads": "nobody"} | dict.fromkeys(range(20), "quiet")


# Descriptors that are closed from the start


def test_without_a_stderr_a_print_goes_nowhere() -> None:
    with StdioPeer(
        ["sh", "-c", f"exec {ACCORD} serve faulty:printing 2>&-"], cwd=SAMPLES, env=ENVIRONMENT
    ) as peer:
        assert ask(peer, "print_it") == "null"
        assert ask(peer, "print_and_flush_it") == "null"
        assert ask(peer, "start_a_chatty_child") == "null"
        assert ask(peer, "quiet") == "quiet"
        peer.close_input()
        assert peer.rest() == []
        assert peer.wait() == 0


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_without_a_stdin_or_stdout_it_says_so_in_one_line(closed: str) -> None:
    command = f"exec {ACCORD} serve faulty:blocking {closed}"
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=SAMPLES,
        env=ENVIRONMENT,
        input=b"",
        capture_output=True,
        timeout=30,
    )
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b"Traceback" not in done.stderr


# A peer that is slow, or sends and takes much


def test_a_reply_of_eight_megabytes_comes_whole() -> None:
    size = 8 * 1024 * 1024
    with serving() as peer:
        answer = ask(peer, "text", size=size)
    assert len(answer) == size
    assert answer.endswith(f"{size // 8 - 1:>8}")


def test_a_request_of_nearly_four_megabytes_is_served() -> None:
    word = "word" * 1024 * 1023
    with serving() as peer:
        assert ask(peer, "echo", word=word) == word


def test_a_message_that_comes_byte_by_byte_is_served() -> None:
    with serving() as peer:
        for byte in json.dumps(calling(1, "echo", word="é\n")).encode() + b"\n":
            peer.send(bytes([byte]))
        assert text(peer.receive()) == "é\n"


def test_a_peer_that_does_not_read_is_made_to_wait_and_loses_nothing() -> None:
    """It asks for 50 MB, in 32 MB of requests, and reads none until the server takes no more."""
    calls, size = 2_000, 25_000
    requests = _lines([calling(n, "text", size=size, padding="x" * 16_000) for n in range(calls)])
    pipe = subprocess.PIPE
    with Popen(
        [ACCORD, "serve", "faulty:blocking"], cwd=SAMPLES, env=ENVIRONMENT, stdin=pipe, stdout=pipe
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(_lines([calling("first", "text", size=size)]))
        child.stdin.flush()
        child.stdout.readline()
        before = _memory(child.pid, "VmRSS")
        taken = _write_until_nobody_reads(child.stdin, requests)
        growth = _memory(child.pid, "VmHWM") - before
        output, _ = child.communicate(requests[taken:], timeout=30)
        assert child.returncode == 0
    replies = _checked(output)
    assert sorted(reply["id"] for reply in replies) == list(range(calls))
    assert {len(text(reply)) for reply in replies} == {size}
    assert len({text(reply) for reply in replies}) == 1
    assert taken < len(requests), "all was taken though nothing was read"
    assert growth < 64_000_000  # 16 MiB of requests, as much of replies, and some to work with


def _write_until_nobody_reads(stream: IO[bytes], data: bytes) -> int:
    """Return the number of bytes that were taken before the pipe stayed full for half a second."""
    os.set_blocking(stream.fileno(), False)
    taken = 0
    while taken < len(data) and select.select([], [stream], [], 0.5)[1]:
        taken += os.write(stream.fileno(), data[taken : taken + 65_536])
    os.set_blocking(stream.fileno(), True)
    return taken


def _memory(pid: int, which: str) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith(f"{which}:"))
    return int(line.split()[1]) * 1024


def _lines(messages: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def _checked(output: bytes) -> list[dict[str, Any]]:
    lines = output.splitlines(keepends=True)
    assert all(line.endswith(b"\n") for line in lines)
    return [wire.check(line, revision=wire.STATELESS, method="tools/call") for line in lines]


# Input and output that are files


@pytest.mark.parametrize("tool", ["echo", "text"])
def test_input_from_a_file_is_answered_to_the_last_line(tmp_path: Path, tool: str) -> None:
    arguments = {"word": "hi"} if tool == "echo" else {"size": 2}
    messages = [calling(number, tool, **arguments) for number in range(3000)]
    requests = tmp_path / "requests"
    requests.write_text("\n".join(json.dumps(message) for message in messages))
    replies = tmp_path / "replies"
    with requests.open("rb") as stdin, replies.open("wb") as stdout:
        done = subprocess.run(
            [ACCORD, "serve", "faulty:blocking"],
            cwd=SAMPLES,
            env=ENVIRONMENT,
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            timeout=30,
        )
    assert done.stderr == b""
    assert done.returncode == 0
    received = _checked(replies.read_bytes())
    assert sorted(reply["id"] for reply in received) == list(range(3000))
    assert len({text(reply) for reply in received}) == 1


@pytest.mark.parametrize("source", ["file", "pipe"])
def test_a_long_input_of_quick_calls_fills_no_queue(tmp_path: Path, source: str) -> None:
    """There is room for a thousand calls, and it holds four thousand."""
    messages = [calling(number, "echo", word="hi") for number in range(4000)]
    requests = tmp_path / "requests"
    requests.write_text("\n".join(json.dumps(message) for message in messages))
    command = limited('{"max_calls": 1000}').command
    if source == "pipe":
        command = ["sh", "-c", 'cat "$0" | "$@"', str(requests), *command]
    with requests.open("rb") as stdin:
        done = subprocess.run(
            command, cwd=TESTS, env=ENVIRONMENT, stdin=stdin, capture_output=True, timeout=30
        )
    received = _checked(done.stdout)
    assert len(received) == 4000
    assert {text(reply) for reply in received} == {"hi"}


@pytest.mark.parametrize("source", ["/dev/null", "an empty file"])
def test_an_empty_input_ends_the_server_at_once(tmp_path: Path, source: str) -> None:
    path = Path(source)
    if not path.is_absolute():
        path = tmp_path / source
        path.touch()
    with path.open("rb") as stdin:
        command = [ACCORD, "serve", "faulty:blocking", "--grace", "50"]
        done = subprocess.run(
            command, cwd=SAMPLES, env=ENVIRONMENT, stdin=stdin, capture_output=True, timeout=30
        )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


LENGTHS = [0, 1, 30, 4_095, 4_096, 4_097, 40_000]  # some are as long as the pipe is wide


@given(st.lists(st.lists(st.sampled_from(LENGTHS), max_size=4), max_size=6))
def test_lines_come_whole_and_in_order_through_a_narrow_pipe(turns: list[list[int]]) -> None:
    lines = [[b"abcdef"[turn : turn + 1] * n for n in each] for turn, each in enumerate(turns)]
    assert asyncio.run(_through_a_narrow_pipe(lines)) == [line for turn in lines for line in turn]


async def _through_a_narrow_pipe(turns: list[list[bytes]]) -> list[bytes]:
    """Return the output, if the lines of each turn of the loop are sent together."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4_096)
    loop = asyncio.get_running_loop()
    came = bytearray()
    loop.add_reader(reader, lambda: came.extend(os.read(reader, 65_536)))
    drained = asyncio.Event()
    output = Output(
        writer, loop, on_unsent=lambda _: None, on_progress=drained.set, on_broken=drained.set
    )
    for lines in turns:
        for line in lines:
            output.send(line)
        await asyncio.sleep(0)
    while output.backlog:
        drained.clear()
        await drained.wait()
    loop.remove_reader(reader)
    loop.remove_reader(writer)
    os.close(writer)
    while chunk := os.read(reader, 65_536):
        came += chunk
    os.close(reader)
    return bytes(came).split(b"\n")[:-1]
