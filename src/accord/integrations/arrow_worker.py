"""A child process of `read_batches`: reads record batches of replies until its input ends."""

import contextlib

import msgspec

from accord.child_process import end_with_parent, read_frames, take_pipes
from accord.integrations.arrow import Columns, from_ipc, read_part, to_ipc
from accord.process_pool import Message, messages, write_message


def main(parent: int) -> None:
    """Read the batches that arrive on standard input; the first frame is the Columns."""
    end_with_parent(parent)
    source, target = take_pipes()
    frames = read_frames(source)
    columns = msgspec.json.decode(next(frames), type=Columns)
    with contextlib.suppress(BrokenPipeError):  # the parent is gone
        for header, body in messages(frames):
            write_message(target, Message(header, to_ipc(read_part(from_ipc(body), columns))))
