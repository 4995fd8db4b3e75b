"""One process of one contender: started, called once, then called many times."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench import wire
from bench.child import Child
from bench.contenders import LOOP, Contender
from bench.wire import HANDSHAKE, Era, Tool, WrongReplyError

FIRST_CALL = 1


@dataclass(frozen=True)
class Span:
    """Calls made on one process, one after the other or pipelined."""

    replies: list[bytes]
    seconds: float
    cpu_seconds: float
    waits_us: list[float] = field(default_factory=list)  # for each reply; not where pipelined

    @property
    def cpu_us(self) -> float:
        return self.cpu_seconds / len(self.replies) * 1e6


@dataclass(frozen=True)
class Trial:
    start_ms: float
    cpu_us: float
    calls_per_second: float
    memory_mb: float
    depth_1_cpu_us: float
    depth_1_us: tuple[float, ...]  # sorted


def measure(
    contender: Contender, era: Era, tool: Tool, scale: float, arguments: Sequence[str] = ()
) -> Trial:
    constant = FIRST_CALL if contender is LOOP else None
    first_number = range(FIRST_CALL, FIRST_CALL + 1)
    numbers = following(first_number, contender.count(tool, scale))
    numbers_alone = following(numbers, contender.count_alone(scale))
    with Child((*contender.command, *arguments), contender.env) as child:
        first = open_session(child, era, tool)
        start = time.perf_counter() - child.started
        together = pipelined(child, era, tool, numbers)
        memory = child.memory_bytes()
        alone = one_by_one(child, era, tool, numbers_alone)
        rest = child.end_input()
    wire.check_calls([first], tool, first_number, constant)
    wire.check_calls(together.replies, tool, numbers, constant)
    wire.check_calls(alone.replies, tool, numbers_alone, constant)
    if rest:
        raise WrongReplyError(f"more was said than asked: {rest[:300]!r}")
    return Trial(
        start_ms=start * 1e3,
        cpu_us=together.cpu_us,
        calls_per_second=len(numbers) / together.seconds,
        memory_mb=memory / 1e6,
        depth_1_cpu_us=alone.cpu_us,
        depth_1_us=tuple(sorted(alone.waits_us)),
    )


def following(numbers: range, count: int) -> range:
    return range(numbers.stop, numbers.stop + count)


def open_session(child: Child, era: Era, tool: Tool) -> bytes:
    """The reply to the first call, after the handshake where the era has one."""
    if era == HANDSHAKE:
        wire.result_in(child.ask(wire.initialize()), 0)
        child.send(wire.initialized())
    return child.ask(wire.call(era, FIRST_CALL, tool))


def pipelined(child: Child, era: Era, tool: Tool, numbers: range) -> Span:
    requests = b"".join(wire.call(era, number, tool) for number in numbers)
    cpu = child.cpu_seconds()
    begun = time.perf_counter()
    replies = child.pipeline(requests, len(numbers))
    seconds = time.perf_counter() - begun
    return Span(replies, seconds, child.cpu_seconds() - cpu)


def one_by_one(child: Child, era: Era, tool: Tool, numbers: range) -> Span:
    requests = [wire.call(era, number, tool) for number in numbers]
    replies, waits = [], []
    cpu = child.cpu_seconds()
    for message in requests:
        begun = time.perf_counter_ns()
        replies.append(child.ask(message))
        waits.append((time.perf_counter_ns() - begun) / 1e3)
    return Span(replies, sum(waits) / 1e6, child.cpu_seconds() - cpu, waits)


def cut_reply(source: Contender, era: Era, tool: Tool) -> tuple[str, str]:
    """A real reply in two parts, before and after its id, for the constant loop to say."""
    with Child(source.command, source.env) as child:
        reply = open_session(child, era, tool)
    wire.check_calls([reply], tool, range(FIRST_CALL, FIRST_CALL + 1))
    head, tail = reply.decode().split(f'"id":{FIRST_CALL}', 1)
    return head + '"id":', tail + "\n"
