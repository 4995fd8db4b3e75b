"""Runs the `accord` command: words in; exit code, output and errors out."""

import fcntl
import os
import pty
import struct
import termios
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import commands
from commands import ACCORD, Done

EXAMPLES = Path(__file__).parents[2] / "examples"
ENVIRONMENT = {key: value for key, value in commands.ENVIRONMENT.items() if key != "COLUMNS"}


def accord(*words: str | bytes, cwd: Path = EXAMPLES, stdin: bytes = b"") -> Done:
    """Run `accord` with these words, where nothing is a terminal."""
    return commands.run([ACCORD, *words], cwd=cwd, env=ENVIRONMENT, stdin=stdin)


def accord_each(
    table: Mapping[str, Sequence[str | bytes]],
    cwd: Path = EXAMPLES,
    stdin: Mapping[str, bytes] | None = None,
) -> dict[str, Done]:
    """Run several commands at the same time, and return how each ended, by name."""
    given = stdin or {}
    with ThreadPoolExecutor() as pool:
        running = {
            name: pool.submit(accord, *words, cwd=cwd, stdin=given.get(name, b""))
            for name, words in table.items()
        }
    return {name: future.result() for name, future in running.items()}


def accord_in_terminal(columns: int, *words: str, cwd: Path = EXAMPLES) -> str:
    """Return the text that a terminal of that width shows."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    child = commands.start(
        [ACCORD, *words], cwd=cwd, env=ENVIRONMENT, stdin=slave, stdout=slave, stderr=slave
    )
    os.close(slave)
    shown = b"".join(iter(lambda: _read(master), b""))
    child.wait()
    os.close(master)
    return shown.decode().replace("\r\n", "\n")


def _read(master: int) -> bytes:
    try:
        return os.read(master, 65_536)
    except OSError:  # Linux says so when the last process has left the terminal
        return b""


def write(folder: Path, **modules: str) -> Path:
    """Python modules by name, in a folder to run commands in."""
    for name, source in modules.items():
        (folder / f"{name}.py").write_text(source)
    return folder


def assert_one_line_of_misuse(done: Done, *fragments: str) -> None:
    """Exit code 2, nothing on standard output, and one line that says all of this."""
    assert done.out == ""
    assert done.err.count("\n") == 1, done.err
    assert done.err.endswith("\n")
    assert done.err.startswith("accord")
    assert " _" not in done.err, "names of our own are nothing to a person"
    assert [fragment for fragment in fragments if fragment not in done.err] == [], done.err
    assert done.code == 2
