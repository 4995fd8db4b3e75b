"""Many replies: reads an input in this process, or in several at once, and writes the readings."""

import sys
from collections.abc import Iterator
from time import monotonic
from typing import IO, Final

import msgspec

from accord.cli.transcript_encoding import Part, Task, encode_lines
from accord.cli.transcript_input import Input
from accord.cli.transcript_output import Output
from accord.errors import ContractError

_INTERVAL: Final = 0.2  # seconds between updates of the count
_WORKER: Final = "accord.cli.transcript_worker"


def write_readings(
    source: Input, task: Task, output: Output, jobs: int, *, is_to_file: bool = False
) -> bool:
    """Read each line as a reply and write the readings in order; return True if one is an error."""
    parts = _in_turn(source, task) if jobs == 1 else _at_once(source, task, jobs)
    counter = _ReplyCounter(is_to_file=is_to_file)
    has_failed = False
    for part in parts:
        if part.replies:
            output.write(part.body)
            counter.add(part.replies)
            has_failed = has_failed or part.has_failed
    counter.end()
    return has_failed


def _in_turn(source: Input, task: Task) -> Iterator[Part]:
    while not source.at_end:
        if batch := source.batch():
            yield encode_lines(task, batch.lines, batch.first)


def _at_once(source: Input, task: Task, jobs: int) -> Iterator[Part]:
    """Read batches in several processes; memory is bounded, since the pool has little room."""
    from accord.cli.transcript_worker import lines_of, part_of, to_message
    from accord.process_pool import ProcessPool, WorkerDied

    with ProcessPool(_WORKER, msgspec.json.encode(task), jobs) as pool:
        try:
            while not (source.at_end and pool.is_idle):
                if source.at_end or not pool.has_room:
                    pool.wait()
                elif (source.is_ready() or pool.wait(source.fileno())) and (
                    batch := source.batch()
                ):
                    pool.submit(to_message(*batch))
                yield from map(part_of, pool.results())
        except WorkerDied as error:
            lines, first = lines_of(error.message)
            last = first + lines.rstrip(b"\n").count(b"\n")
            raise ContractError(
                f"a process that read lines {first:,} to {last:,} ended twice, the last time with"
                f" status {error.status}"
            ) from error


class _ReplyCounter:
    """A count of replies on standard error, if that is a terminal without the readings."""

    def __init__(self, *, is_to_file: bool) -> None:
        self._count = 0
        has_room = is_to_file or not _is_terminal(sys.stdout)
        self._is_shown = has_room and _is_terminal(sys.stderr)
        self._next = monotonic() + _INTERVAL

    def add(self, count: int) -> None:
        """Count more replies."""
        self._count += count
        if self._is_shown and monotonic() >= self._next:
            self._next = monotonic() + _INTERVAL
            self._show("")

    def end(self) -> None:
        """Print the final count."""
        if self._is_shown:
            self._show("\n")

    def _show(self, end: str) -> None:
        print(f"\r{self._count:,} replies read", end=end, file=sys.stderr, flush=True)


def _is_terminal(stream: IO[str] | None) -> bool:
    return stream is not None and stream.isatty()
