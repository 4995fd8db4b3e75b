"""The floor: answers every request with the same bytes, the request's id spliced in.

Arguments: what stands before the id in the reply, and what stands after it.
"""

import os
import sys


def main(head: bytes, tail: bytes) -> None:
    for line in sys.stdin.buffer:
        _, is_request, rest = line.partition(b'"id":')
        if is_request:
            os.write(1, head + rest[: rest.index(b",")] + tail)


if __name__ == "__main__":
    main(*map(os.fsencode, sys.argv[1:]))
