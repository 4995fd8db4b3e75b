"""A child of a ProcessPool that replies in capitals, and dies if a message asks it to."""

import os
from pathlib import Path

from accord.child_process import end_with_parent, read_frames, take_pipes
from accord.process_pool import Message, messages, write_message


def main(parent: int) -> None:
    end_with_parent(parent)
    source, target = take_pipes()
    frames = read_frames(source)
    next(frames)
    for header, body in messages(frames):
        if body.strip() == b"die":
            os._exit(7)
        if header == b"die once":
            mark = Path(os.fsdecode(body))
            if not mark.exists():
                mark.touch()
                os._exit(7)
        write_message(target, Message(header, body.upper()))
