"""One measurement of one server over stdio: start, first call, pipelined calls, calls one at a time."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench import wire
from bench.child import Child
from bench.contenders import LOOP, Contender
from bench.wire import HANDSHAKE, Era, Tool, WrongReplyError

FIRST_CALL = 1


@dataclass(frozen=True)
class Calls:
    """Calls made to one process, pipelined or one at a time."""

    replies: list[bytes]
    seconds: float
    cpu_seconds: float
    latencies_us: list[float] = field(default_factory=list)  # empty if pipelined

    @property
    def cpu_us(self) -> float:
        return self.cpu_seconds / len(self.replies) * 1e6


@dataclass(frozen=True)
class Trial:
    """The figures of one process."""

    start_ms: float
    cpu_us: float
    calls_per_second: float
    memory_mb: float
    sequential_cpu_us: float
    latencies_us: tuple[float, ...]  # sorted


def measure(
    contender: Contender, era: Era, tool: Tool, scale: float, arguments: Sequence[str] = ()
) -> Trial:
    constant = FIRST_CALL if contender is LOOP else None
    first_number = range(FIRST_CALL, FIRST_CALL + 1)
    numbers = next_numbers(first_number, contender.count(tool, scale))
    sequential_numbers = next_numbers(numbers, contender.sequential_count(scale))
    with Child((*contender.command, *arguments), contender.env) as child:
        first = open_session(child, era, tool)
        start = time.perf_counter() - child.started
        pipelined_calls = pipelined(child, era, tool, numbers)
        memory = child.memory_bytes()
        sequential = one_at_a_time(child, era, tool, sequential_numbers)
        extra = child.end_input()
    wire.check_calls([first], tool, first_number, constant)
    wire.check_calls(pipelined_calls.replies, tool, numbers, constant)
    wire.check_calls(sequential.replies, tool, sequential_numbers, constant)
    if extra:
        raise WrongReplyError(f"output after the last reply: {extra[:300]!r}")
    return Trial(
        start_ms=start * 1e3,
        cpu_us=pipelined_calls.cpu_us,
        calls_per_second=len(numbers) / pipelined_calls.seconds,
        memory_mb=memory / 1e6,
        sequential_cpu_us=sequential.cpu_us,
        latencies_us=tuple(sorted(sequential.latencies_us)),
    )


def next_numbers(numbers: range, count: int) -> range:
    return range(numbers.stop, numbers.stop + count)


def open_session(child: Child, era: Era, tool: Tool) -> bytes:
    """Return the reply to the first call, after the handshake if the era has one."""
    if era == HANDSHAKE:
        wire.result_in(child.request(wire.initialize()), 0)
        child.send(wire.initialized())
    return child.request(wire.call(era, FIRST_CALL, tool))


def pipelined(child: Child, era: Era, tool: Tool, numbers: range) -> Calls:
    requests = b"".join(wire.call(era, number, tool) for number in numbers)
    cpu = child.cpu_seconds()
    started = time.perf_counter()
    replies = child.pipeline(requests, len(numbers))
    seconds = time.perf_counter() - started
    return Calls(replies, seconds, child.cpu_seconds() - cpu)


def one_at_a_time(child: Child, era: Era, tool: Tool, numbers: range) -> Calls:
    requests = [wire.call(era, number, tool) for number in numbers]
    replies, latencies = [], []
    cpu = child.cpu_seconds()
    for message in requests:
        started = time.perf_counter_ns()
        replies.append(child.request(message))
        latencies.append((time.perf_counter_ns() - started) / 1e3)
    return Calls(replies, sum(latencies) / 1e6, child.cpu_seconds() - cpu, latencies)


def split_reply(source: Contender, era: Era, tool: Tool) -> tuple[str, str]:
    """Return the parts of a real reply before and after its id, for the constant loop."""
    with Child(source.command, source.env) as child:
        reply = open_session(child, era, tool)
    wire.check_calls([reply], tool, range(FIRST_CALL, FIRST_CALL + 1))
    head, tail = reply.decode().split(f'"id":{FIRST_CALL}', 1)
    return head + '"id":', tail + "\n"
