"""A child process of `accord read --jobs`: reads batches of lines until its input ends."""

import contextlib
import struct
from collections.abc import Iterator
from typing import Final

import msgspec

from accord.child_process import end_with_parent, read_frames, take_pipes
from accord.cli.transcript_encoding import Part, Task, encode_lines
from accord.process_pool import Message, messages, write_message

_FIRST: Final = struct.Struct("<Q")  # the number of the first line
_REPORT: Final = struct.Struct("<??Q")  # too large; one has failed; the number of replies


def to_message(lines: bytes, first: int) -> Message:
    """Return the message that asks for these lines."""
    return Message(_FIRST.pack(first), lines)


def lines_of(message: Message) -> tuple[bytes, int]:
    """Return the lines that a message asks for, and the number of the first."""
    return message.body, _FIRST.unpack(message.header)[0]


def part_of(result: Message) -> Part:
    """Return the output in a result; raise MemoryError if the worker had too little memory."""
    is_too_large, has_failed, replies = _REPORT.unpack(result.header)
    if is_too_large:
        raise MemoryError
    return Part(result.body, replies, has_failed)


def main(parent: int) -> None:
    """Read the batches that arrive on standard input; the first frame is the Task."""
    end_with_parent(parent)
    source, target = take_pipes()
    frames = read_frames(source)
    task = msgspec.json.decode(next(frames), type=Task)
    with contextlib.suppress(BrokenPipeError):  # the parent is gone
        for result in _results(task, messages(frames)):
            write_message(target, result)


def _results(task: Task, batches: Iterator[Message]) -> Iterator[Message]:
    for message in batches:
        try:
            part = encode_lines(task, *lines_of(message))
        except MemoryError:
            yield Message(_REPORT.pack(True, False, 0), b"")
        else:
            yield Message(_REPORT.pack(False, part.has_failed, part.replies), part.body)
