"""The lower bound over stdio: replies to every request with the same bytes around its id.

Arguments: the part of the reply before the id, and the part after it.
"""

import os
import sys


def main(head: bytes, tail: bytes) -> None:
    for line in sys.stdin.buffer:
        _, is_request, value = line.partition(b'"id":')
        if is_request:
            os.write(1, head + value[: value.index(b",")] + tail)


if __name__ == "__main__":
    main(*map(os.fsencode, sys.argv[1:]))
