"""The cost of reading a reply, compared with decoding its JSON alone; and of a file of replies."""

import gc
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from accord.reader import read
from bench.report import number, table, verdict
from bench.servers.data import make_rows
from bench.wire import WrongReplyError

ROUNDS = 25
MAX_RATIO = 1.5
MAX_US = 15.0
MAX_GROWTH = 1.1
VARIANTS = 50  # replies of each kind, so that no reply repeats at once
FEW, MANY = 10_000, 100_000
LINES = 400_000  # replies for one process, and for two
MAX_SHARE = 1 / 1.8  # of the time of one process that two may take

METHOD = """\
In one process, from the bytes of a JSON-RPC message to a `Reading`, with the name of the tool. *msgspec*: decoding
the message, and its text if that is JSON. {variants} different replies of each kind alternate, so no reply is read
twice in a row; the reader caches names of tools and members, never replies. CPU time, {rounds} rounds,
alternating, medians; the ratio is the median of the ratios of the rounds; the garbage collector is off.

*JSON Lines*: `accord read replies.jsonl --lines` in its own process, with stdout to /dev/null: CPU time per reply,
including the start of the process, and peak memory. *Jobs*: elapsed time, the better of two runs each, alternating."""


class Kind(NamedTuple):
    """A kind of reply: the tool, the payload of the n-th reply, and the expected response type."""

    title: str
    tool: str
    payload: Callable[[int], Any]
    expected: str
    is_small: bool = True
    is_error: bool = False
    has_structure: bool = False


def rows(n: int) -> list[dict[str, Any]]:
    return [{**asdict(row), "quantity": n} for row in make_rows()]


def page(n: int) -> dict[str, Any]:
    paging = {"totalChannels": 150, "showing": 1, "offset": n, "limit": 1, "hasMore": True}
    return {**paging, "channels": [{"id": str(n), "name": "general"}]}


KINDS = (
    Kind("100 rows, an array", "list_orders", rows, "list", is_small=False),
    Kind(
        "100 rows and their count",
        "list_orders",
        lambda n: {"total": 100, "orders": rows(n)},
        "list",
        is_small=False,
    ),
    Kind("an object", "add", lambda n: {"sum": n}, "single"),
    Kind(
        "an object, also as structured content",
        "add",
        lambda n: {"sum": n},
        "single",
        has_structure=True,
    ),
    Kind(
        "an action",
        "discord_send_message",
        lambda n: {"success": True, "messageId": str(n), "channelId": "2"},
        "action",
    ),
    Kind("a list of one, with a page", "discord_list_channels", page, "list"),
    Kind("a failure", "get_order", lambda n: f"Error executing tool: no order {n}", "error", is_error=True),
    Kind("nothing found", "search_files", lambda n: f"No matches found for {n}", "list"),
    Kind("a sentence", "get-sum", lambda n: f"The sum of {n} and 3 is {n + 3}.", "single"),
    Kind("two bullets", "list_tables", lambda n: f"Found 2 tables:\n- users{n}\n- posts", "list"),
)  # fmt: skip


def message(kind: Kind, n: int) -> bytes:
    value = kind.payload(n)
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    result: dict[str, Any] = {"content": [{"type": "text", "text": text}]}
    if kind.has_structure:
        result["structuredContent"] = value
    if kind.is_error:
        result["isError"] = True
    return msgspec.json.encode({"jsonrpc": "2.0", "id": n, "result": result})


@dataclass
class Cost:
    """Microseconds per reply, for each round."""

    accord: list[float] = field(default_factory=list)
    msgspec_only: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        return statistics.median(a / b for a, b in zip(self.accord, self.msgspec_only, strict=True))

    @property
    def us(self) -> float:
        return statistics.median(self.accord)


class Stream(NamedTuple):
    """A file of replies: CPU microseconds per reply, peak memory in megabytes, elapsed seconds."""

    cpu_us: float
    peak_mb: float
    seconds: float


@dataclass
class Figures:
    """The costs by kind of reply, and of files by number of replies and by number of jobs."""

    costs: dict[str, Cost] = field(default_factory=dict)
    streams: dict[int, Stream] = field(default_factory=dict)
    jobs: dict[int, Stream] = field(default_factory=dict)


def measure_reading(count: int = ROUNDS) -> Figures:
    figures = Figures()
    replies = {kind: [message(kind, n) for n in range(VARIANTS)] for kind in KINDS}
    for kind, messages in replies.items():
        check(kind, messages[0])
        figures.costs[kind.title] = Cost()
    was_on = gc.isenabled()
    gc.disable()
    try:
        for index in range(count):
            for kind, messages in replies.items():
                measure_round(
                    figures.costs[kind.title], kind, messages, accord_first=index % 2 == 0
                )
    finally:
        if was_on:
            gc.enable()
    for length in (FEW, MANY):
        with replies_file(length) as path:
            figures.streams[length] = measure_stream(path, length)
    figures.jobs = measure_jobs()
    return figures


def check(kind: Kind, reply: bytes) -> None:
    reading = read(reply, kind.tool)
    if reading.response.response_type != kind.expected:
        raise WrongReplyError(f"{kind.title} reads as {reading.response.response_type}")


def measure_round(cost: Cost, kind: Kind, messages: list[bytes], *, accord_first: bool) -> None:
    many = messages * (10 if kind.is_small else 1)
    is_text = isinstance(kind.payload(0), str)
    runs = [
        (cost.accord, lambda: read_all(kind.tool, many)),
        (cost.msgspec_only, lambda: decode_once(many) if is_text else decode_twice(many)),
    ]
    for figures, run in runs if accord_first else reversed(runs):
        started = time.process_time_ns()
        run()
        figures.append((time.process_time_ns() - started) / len(many) / 1e3)


decode = msgspec.json.Decoder().decode


def read_all(tool: str, messages: Iterable[bytes]) -> None:
    for reply in messages:
        read(reply, tool)


def decode_once(messages: Iterable[bytes]) -> None:
    for reply in messages:
        decode(reply)


def decode_twice(messages: Iterable[bytes]) -> None:
    for reply in messages:
        decode(decode(reply)["result"]["content"][0]["text"])


@contextmanager
def replies_file(length: int) -> Iterator[Path]:
    """A file of this many replies of all kinds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "replies.jsonl"
        with path.open("wb") as file:
            for n in range(length):
                kind = KINDS[0 if n % 100 == 0 else 2 + n % (len(KINDS) - 2)]
                file.write(message(kind, n) + b"\n")
        yield path


def measure_stream(path: Path, length: int, jobs: int = 1) -> Stream:
    """Run `accord read` on a file of replies."""
    command = [sys.executable, "-m", "accord", "read", str(path), "--lines", "--jobs", str(jobs)]
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise WrongReplyError(f"accord read ended with {process.returncode}")
    cpu_us = (used.ru_utime + used.ru_stime) / length * 1e6
    return Stream(cpu_us, used.ru_maxrss / 1024, seconds)


def measure_jobs() -> dict[int, Stream]:
    """Return the faster of two runs with one and with two processes."""
    with replies_file(LINES) as path:
        runs = [(jobs, measure_stream(path, LINES, jobs)) for jobs in (1, 2, 1, 2)]
    return {
        jobs: min(
            (stream for number, stream in runs if number == jobs), key=lambda each: each.seconds
        )
        for jobs in (1, 2)
    }


def reading_parts(figures: Figures, count: int = ROUNDS) -> list[str]:
    return [
        "## Reading, Accord only",
        costs_table(figures),
        streams_table(figures),
        jobs_table(figures),
        "## How reading was measured",
        METHOD.format(variants=VARIANTS, rounds=count),
    ]


def costs_table(figures: Figures) -> str:
    titles = ["reply", "bytes", "msgspec µs", "Accord µs", "ratio", "at most", ""]
    lines = [titles]
    for kind in KINDS:
        cost = figures.costs[kind.title]
        limit = f"{MAX_US:.0f} µs" if kind.is_small else f"{MAX_RATIO}×"
        result = verdict(cost.us, MAX_US) if kind.is_small else verdict(cost.ratio, MAX_RATIO)
        shown = [
            number(statistics.median(cost.msgspec_only)),
            number(cost.us),
            f"{cost.ratio:.2f}×",
        ]
        lines.append([kind.title, f"{len(message(kind, 0)):,}", *shown, limit, result])
    return table(lines)


def streams_table(figures: Figures) -> str:
    few, many = figures.streams[FEW], figures.streams[MANY]
    growth = many.peak_mb / few.peak_mb
    return table(
        [
            ["JSON Lines", "CPU µs per reply", "peak memory MB", "ratio", f"at most {MAX_GROWTH}×"],
            [f"{FEW:,} replies", number(few.cpu_us), f"{few.peak_mb:.1f}", "", ""],
            [
                f"{MANY:,} replies",
                number(many.cpu_us),
                f"{many.peak_mb:.1f}",
                f"{growth:.2f}×",
                verdict(growth, MAX_GROWTH),
            ],
        ]
    )


def jobs_table(figures: Figures) -> str:
    one, two = figures.jobs[1], figures.jobs[2]
    share = two.seconds / one.seconds
    titles = ["JSON Lines", "seconds", "CPU µs per reply", "peak memory MB", "share"]
    return table(
        [
            [*titles, f"at most {MAX_SHARE:.2f}×"],
            [f"{LINES:,} replies", *_shown(one), "", ""],
            ["the same, `--jobs 2`", *_shown(two), f"{share:.2f}×", verdict(share, MAX_SHARE)],
        ]
    )


def _shown(stream: Stream) -> list[str]:
    return [f"{stream.seconds:.1f}", number(stream.cpu_us), f"{stream.peak_mb:.1f}"]
