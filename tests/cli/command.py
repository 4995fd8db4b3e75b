"""The `accord` command as a person runs it: words in; exit code, output and errors out."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ACCORD = str(Path(sys.executable).with_name("accord"))
EXAMPLES = Path(__file__).parents[2] / "examples"
ENVIRONMENT = {
    key: value for key, value in os.environ.items() if key not in ("COLUMNS", "PYTHONUNBUFFERED")
}


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


def accord(*words: str | bytes, cwd: Path = EXAMPLES, stdin: bytes = b"") -> Done:
    """Run `accord` with these words, where nothing is a terminal."""
    done = subprocess.run(
        [ACCORD, *words], cwd=cwd, env=ENVIRONMENT, input=stdin, capture_output=True, timeout=30
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def accord_each(
    table: Mapping[str, Sequence[str | bytes]],
    cwd: Path = EXAMPLES,
    stdin: Mapping[str, bytes] | None = None,
) -> dict[str, Done]:
    """Run several commands side by side, and give back each one's end under its name."""
    given = stdin or {}
    with ThreadPoolExecutor() as pool:
        running = {
            name: pool.submit(accord, *words, cwd=cwd, stdin=given.get(name, b""))
            for name, words in table.items()
        }
    return {name: future.result() for name, future in running.items()}


def accord_in_terminal(columns: int, *words: str, cwd: Path = EXAMPLES) -> str:
    """What a terminal of that width shows."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen(
        [ACCORD, *words], cwd=cwd, env=ENVIRONMENT, stdin=slave, stdout=slave, stderr=slave
    ):
        os.close(slave)
        shown = b"".join(iter(lambda: _read(master), b""))
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
