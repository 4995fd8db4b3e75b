"""Standard output for answers alone: whatever else is printed goes to standard error."""

import contextlib
import os
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Within the block descriptor 1 is standard error, for imports, tools and their children."""
    if sys.stdout is None:
        yield
        return
    sys.stdout.flush()
    output, target = os.dup(1), sys.stdout.fileno()
    os.dup2(2, target)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(output, target)
        os.close(output)
