"""`accord read` on many replies: in several processes, to a file, as CSV, Arrow and Parquet."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from accord.cli.transcript_encoding import Part, Task, encode_lines
from accord.cli.transcript_input import Input
from accord.cli.transcripts import write_readings
from accord.errors import ContractError
from accord.integrations.columns import COLUMNS, LINE, row_of
from accord.reader import read
from cli.command import ACCORD, ENVIRONMENT, Done, accord, accord_each, assert_one_line_of_misuse
from commands import Popen
from laws import examples
from processes import children, is_gone

GOOD = b'{"content": [{"type": "text", "text": "[1, 2]"}]}'
FAILED = b'{"success": false, "error": "no"}'
NAMES = [LINE.name, *(column.name for column in COLUMNS)]

INPUTS = {
    "nothing": b"",
    "blank lines": b"\n \r\n\n\t\n",
    "no end of the last line": GOOD + b"\n" + FAILED,
    "Windows lines": GOOD + b"\r\n" + FAILED + b"\r\n",
    "blank lines between": b"\n\n" + GOOD + b"\n\n \n" + FAILED + b"\n\n",
    "no JSON": b'{broken\nsunny\n[1,\n"\n{"a": NaN}\n',
    "no UTF-8": b"\xff\xfe\n\x00\x00\n\xed\xa0\x80\n" + GOOD,
    "half a character": b'{"a": "\\ud800", "error": "\\udfff"}\n"\\ud800"\n',
    "controls": b'{"items": ["\\u001b[2J", "\\r\\n", "\\u202e,\\""]}\n"\\u0000"\n\x0b\x0c\x85\n',
    "a long line": GOOD + b"\n[" + b"1," * 300_000 + b"1]\n" + FAILED,
    "deep": b"[" * 100_000 + b"\n" + GOOD,
    "many": b"\n".join([GOOD, FAILED, b"sunny"] * 7_000),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with each of the inputs."""
    folder = tmp_path_factory.mktemp("inputs")
    for name, lines in INPUTS.items():
        (folder / name).write_bytes(lines)
    return folder


# Several processes


@pytest.mark.parametrize("words", [(), ("--full",), ("--table",), ("--to", "csv")], ids=str)
@pytest.mark.parametrize("name", INPUTS)
def test_several_processes_write_what_one_writes(
    folder: Path, name: str, words: tuple[str, ...]
) -> None:
    command = ["read", name, "--lines", "--check", *words]
    done = accord_each({"one": command, "three": [*command, "--jobs", "3"]}, cwd=folder)
    assert done["one"] == done["three"]
    assert done["one"].err == ""
    assert done["one"].code == (b"false" in INPUTS[name] or "udfff" in str(INPUTS[name]))


class Written:
    """Collects what is written."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    def write(self, body: bytes) -> None:
        self.bodies.append(body)

    def finish(self) -> None:
        """Nothing comes after the last part."""

    def abandon(self) -> None:
        """Nothing is kept back."""


LINES = st.lists(
    st.one_of(
        st.sampled_from([GOOD, FAILED, b"", b" ", b"\r", b"sunny", b"[" * 600]),
        st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"")),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner),
            max_leaves=8,
        ).map(lambda value: json.dumps(value).encode()),
    ),
    max_size=60,
)


@settings(max_examples=examples(15))
@given(lines=LINES, size=st.integers(1, 400))
def test_whatever_the_lines_several_processes_write_what_one_writes(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], size: int
) -> None:
    path = tmp_path_factory.mktemp("lines") / "lines"
    path.write_bytes(b"\n".join(lines))
    task = Task(is_full=True)
    written = {}
    for jobs in (1, 2):
        output = Written()
        with path.open("rb", buffering=0) as file:
            has_failed = write_readings(Input(file, size), task, output, jobs)
        written[jobs] = (has_failed, b"".join(output.bodies))
    whole = encode_lines(task, path.read_bytes(), 1)
    assert written[1] == written[2] == (whole.has_failed, whole.body)


@given(lines=LINES, size=st.integers(1, 200), to=st.sampled_from(["json", "table", "csv", "arrow"]))
def test_batches_of_any_size_say_the_same(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], size: int, to: Any
) -> None:
    path = tmp_path_factory.mktemp("lines") / "lines"
    path.write_bytes(b"\n".join(lines))
    task = Task(to)
    with path.open("rb", buffering=0) as file:
        source = Input(file, size)
        source.has_documents()
        parts = []
        while not source.at_end:
            if batch := source.batch():
                parts.append(encode_lines(task, *batch))
    whole = encode_lines(task, path.read_bytes(), 1)
    assert sum(part.replies for part in parts) == whole.replies
    assert _content(to, parts) == _content(to, [whole])


def _content(to: str, parts: list[Part]) -> Any:
    if to != "arrow":
        return b"".join(part.body for part in parts)
    from accord.integrations.arrow import NUMBERED

    batches = [pa.ipc.read_record_batch(pa.py_buffer(part.body), NUMBERED) for part in parts]
    return [row for batch in batches for row in batch.to_pylist()]


def test_a_process_that_is_killed_is_replaced(tmp_path: Path) -> None:
    lines = (INPUTS["many"] + b"\n") * 2
    path = tmp_path / "lines"
    path.write_bytes(lines)
    with _started("read", str(path), "--lines", "--jobs", "2") as child:
        assert child.stdout is not None
        first = child.stdout.readline()  # then its output is blocked
        workers = children(child.pid)
        assert len(workers) == 2
        for pid in workers:
            os.kill(pid, signal.SIGKILL)
        out = child.stdout.read()
        assert child.stderr is not None
        assert (child.wait(30), child.stderr.read()) == (0, b"")
    assert first + out == encode_lines(Task(), lines, 1).body


def test_lines_that_kill_two_processes_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accord.cli.transcripts._WORKER", "pool_child")
    path = tmp_path / "lines"
    path.write_bytes(b"\n\ndie\n")
    said = "a process that read lines 1 to 3 ended twice, the last time with status 7"
    with path.open("rb", buffering=0) as file, pytest.raises(ContractError) as error:
        write_readings(Input(file), Task(), Written(), 2)
    assert str(error.value) == said


def test_a_reply_is_answered_before_the_next_one_comes() -> None:
    with _started("read", "-", "--lines", "--jobs", "2", stdin=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        for number in range(5):
            child.stdin.write(b"[%d]\n" % number)
            child.stdin.flush()
            assert json.loads(child.stdout.readline())["data"] == [number]
        out, err = child.communicate(timeout=30)
    assert (child.returncode, out, err) == (0, b"", b"")


def _started(*words: str, **streams: Any) -> Popen:
    pipe = subprocess.PIPE
    return Popen([ACCORD, *words], env=ENVIRONMENT, stdout=pipe, stderr=pipe, **streams)


def _endless() -> "subprocess.Popen[bytes]":
    """A process that writes replies until nobody reads them."""
    code = "import sys\nwhile True: sys.stdout.write('[1, 2]\\n' * 1000)"
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", code], stdout=pipe, stderr=subprocess.DEVNULL)


@pytest.fixture
def endless() -> Iterator[Any]:
    """The output of such a process."""
    with _endless() as process:
        yield process.stdout
        process.kill()


@pytest.mark.parametrize(
    "to", ["json", "csv", "arrow", pytest.param("parquet", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_it_ends_when_its_output_is_not_read_any_more(endless: Any, jobs: str, to: str) -> None:
    with _started("read", "-", "--lines", "--jobs", jobs, "--to", to, stdin=endless) as child:
        assert child.stdout is not None
        assert child.stdout.read(4)
        workers = children(child.pid)
        child.stdout.close()
        assert child.wait(50) == 1
        assert child.stderr is not None
        assert child.stderr.read() == b""
    _assert_gone(workers)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("to", ["csv", "parquet"])
def test_it_ends_by_a_signal_and_leaves_the_file_as_it_was(
    endless: Any, tmp_path: Path, number: signal.Signals, to: str
) -> None:
    path = tmp_path / f"out.{to}"
    path.write_bytes(b"before")
    words = ["read", "-", "--lines", "--jobs", "2", "--to", to, "-o", str(path)]
    with _started(*words, stdin=endless) as child:
        while (
            len(workers := children(child.pid)) < 2 or not path.with_name(f"out.{to}.part").exists()
        ):
            time.sleep(0.01)
        child.send_signal(number)
        code = child.wait(30)
        assert child.stderr is not None
        assert child.stderr.read() == b""
    assert code == (143 if number == signal.SIGTERM else -number)
    assert path.read_bytes() == b"before"
    if number != signal.SIGKILL:
        assert [*tmp_path.iterdir()] == [path]
    _assert_gone(workers)


def _assert_gone(processes: list[int]) -> None:
    until = time.monotonic() + 10
    while not all(map(is_gone, processes)):
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.parametrize("to", ["json", "parquet"])
def test_memory_does_not_grow_with_the_input(tmp_path: Path, to: str) -> None:
    line = json.dumps({"items": [{"id": n, "name": "x" * 100} for n in range(50)]}).encode() + b"\n"
    few, many = tmp_path / "few", tmp_path / "many"
    few.write_bytes(line * 200)
    with many.open("wb") as file:
        file.writelines([line * 1_000] * 33)
    assert many.stat().st_size > 200_000_000
    row_group = 0 if to == "json" else 3 * 64 * 1024 * 1024
    assert _peak(many, to) < _peak(few, to) + 30_000_000 + row_group


def _peak(path: Path, to: str) -> int:
    """The most memory that a process of these takes, in bytes."""
    code = (
        "import resource, subprocess, sys;"
        "subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)"
    )
    command = [sys.executable, "-c", code, ACCORD, "read", str(path), "--jobs", "2", "--to", to]
    return int(subprocess.check_output(command, env=ENVIRONMENT, timeout=50))


@pytest.mark.slow
def test_memory_does_not_grow_while_the_output_is_not_read(endless: Any) -> None:
    with _started("read", "-", "--lines", "--jobs", "2", stdin=endless) as child:
        while len(children(child.pid)) < 2:
            time.sleep(0.01)
        time.sleep(2)
        sizes = [_size(pid) for pid in (child.pid, *children(child.pid))]
        child.kill()
    assert max(sizes) < 100_000_000


def _size(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# Formats


def expected(lines: bytes) -> list[dict[str, Any]]:
    """The rows of lines, read one by one."""
    rows = []
    for number, line in enumerate(lines.split(b"\n"), 1):
        if line.strip():
            row = dict(zip(NAMES, (number, *row_of(read(line.rstrip(b"\r")))), strict=True))
            rows.append({name: _plain(value) for name, value in row.items()})
    return rows


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def rows_of(path: Path, to: str) -> list[dict[str, Any]]:
    """The rows of a file, read by pyarrow or csv."""
    if to == "parquet":
        rows: list[dict[str, Any]] = parquet.read_table(path).to_pylist()
    elif to == "arrow":
        rows = pa.ipc.open_file(path).read_all().to_pylist()
    else:
        with path.open(newline="") as file:
            rows = [*csv.DictReader(file)]
        for row in rows:
            row.update({name: json.loads(row[name]) for name in ("findings", "rules")})
    return rows


def as_csv(row: dict[str, Any]) -> dict[str, Any]:
    """A row as CSV has it: texts, but for its lists."""
    return {name: value if isinstance(value, list) else _cell(value) for name, value in row.items()}


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("to", ["csv", "arrow", "parquet"])
def test_a_file_has_a_row_for_each_reply(folder: Path, tmp_path: Path, to: str, jobs: str) -> None:
    names = [name for name in INPUTS if name not in ("many", "a long line")]
    command = ["read", "--lines", "--jobs", jobs, "--to", to]
    done = accord_each(
        {name: [*command, name, "-o", str(tmp_path / name)] for name in names}, cwd=folder
    )
    assert set(done.values()) == {Done(0, "", "")}
    for name in names:
        rows = expected(INPUTS[name])
        shown = [as_csv(row) for row in rows] if to == "csv" else rows
        assert rows_of(tmp_path / name, to) == shown, name


def test_rows_name_what_is_in_the_reply(tmp_path: Path) -> None:
    lines = [
        {"items": [{"id": 1}], "total": 7, "has_more": True, "offset": 2, "limit": 1},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "Missing Access"}},
        {"success": True, "messageId": "9"},
    ]
    path = tmp_path / "lines"
    path.write_text("\n".join(map(json.dumps, lines)))
    words = ["read", str(path), "--tool", "t", "--to", "parquet", "-o", str(tmp_path / "out")]
    assert accord(*words) == (0, "", "")
    listed, failed, acted = rows_of(tmp_path / "out", "parquet")
    page = {name: value for name, value in listed.items() if name.startswith("page_")}
    assert listed["tool_name"] == "t"
    assert (listed["response_type"], listed["item_count"]) == ("list", 1)
    assert json.loads(listed["data"]) == [{"id": 1}]
    assert [page[f"page_{name}"] for name in ("offset", "limit", "total", "has_more")] == [
        *(2, 1, 7, True)
    ]
    assert (failed["error_code"], failed["error_message"]) == ("-32603", "Missing Access")
    assert (failed["status"], failed["data"], failed["item_count"]) == ("error", None, None)
    assert (acted["response_type"], acted["status"], acted["line"]) == ("action", "success", 3)


@pytest.mark.parametrize("to", ["csv", "arrow", "parquet"])
def test_a_pipe_has_what_a_file_has(folder: Path, tmp_path: Path, to: str) -> None:
    words = [ACCORD, "read", "no UTF-8", "--lines", "--to", to]
    out = subprocess.check_output(words, cwd=folder, env=ENVIRONMENT, timeout=30)
    path = tmp_path / "out"
    if to == "arrow":
        assert pa.ipc.open_stream(out).read_all().to_pylist() == expected(INPUTS["no UTF-8"])
        return
    path.write_bytes(out)
    accord(*words[1:], "-o", str(tmp_path / "file"), cwd=folder)
    assert rows_of(path, to) == rows_of(tmp_path / "file", to)


@pytest.mark.parametrize("to", ["csv", "arrow", "parquet"])
def test_one_reply_of_many_lines_is_one_row(tmp_path: Path, to: str) -> None:
    reply = json.dumps({"items": [1, 2]}, indent=2)
    (tmp_path / "reply").write_text(reply)
    assert accord("read", "reply", "--to", to, "-o", "out", cwd=tmp_path).code == 0
    (row,) = rows_of(tmp_path / "out", to)
    assert (str(row["line"]), row["data"], str(row["item_count"])) == ("1", "[1,2]", "2")


@pytest.mark.parametrize("words", [(), ("--table",), ("--full",), ("--lines", "--jobs", "2")])
def test_any_output_can_go_to_a_file(folder: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    path = tmp_path / "out"
    printed = accord("read", "blank lines between", *words, cwd=folder)
    written = accord("read", "blank lines between", *words, "-o", str(path), cwd=folder)
    assert written == (0, "", "")
    assert path.read_text() == printed.out != ""
    assert [*tmp_path.iterdir()] == [path]


def test_csv_on_a_terminal_cannot_drive_it(folder: Path) -> None:
    from cli.command import accord_in_terminal

    shown = accord_in_terminal(80, "read", "controls", "--lines", "--to", "csv", cwd=folder)
    assert shown.startswith("line,tool_name,")
    assert {each for each in shown if each < " " or each in "\x7f\u202e"} == {"\n"}


def test_misuse_is_one_line(folder: Path, tmp_path: Path) -> None:
    file = ["read", "many"]
    table = {
        "exclude each other": [*file, "--table", "--to", "csv"],
        "--full": [*file, "--full", "--to", "csv"],
        "could not write": [*file, "--to", "csv", "-o", str(tmp_path / "no/out")],
        "-1": [*file, "--jobs", "-1"],
        "'many'": [*file, "--jobs", "many"],
        "'xlsx'": [*file, "--to", "xlsx"],
    }
    for fragment, done in accord_each(table, cwd=folder).items():
        assert_one_line_of_misuse(done, fragment)


def test_binary_formats_are_not_written_to_a_terminal(folder: Path) -> None:
    from cli.command import accord_in_terminal

    shown = accord_in_terminal(80, "read", "many", "--to", "parquet", cwd=folder)
    assert shown.startswith("accord read: parquet is binary")


@pytest.mark.parametrize(("to", "code"), [("csv", 0), ("json", 0), ("arrow", 2), ("parquet", 2)])
def test_only_arrow_and_parquet_need_the_extra(folder: Path, to: str, code: int) -> None:
    start = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from accord.cli.main import main\n"
        f"sys.exit(main(['read', 'no JSON', '--to', '{to}']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", start], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True
    )
    assert done.returncode == code
    assert bool(done.stdout) == (not code)
    needed = "the extra arrow is required for Arrow and Parquet: "
    assert done.stderr.startswith(f"accord read: {needed}" if code else "")
    assert done.stderr.count("\n") == (1 if code else 0)
