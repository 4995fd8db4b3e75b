"""Safe output: text that cannot drive the terminal, and a standard output for answers alone."""

import contextlib
import os
import re
import sys
from collections.abc import Iterator
from typing import Final

# Control characters, bidirectional and zero-width ones, and lone surrogates.
_HIDDEN: Final = (
    r"\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    r"\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f"
)
_ANY: Final = re.compile(f"[{_HIDDEN}]")
_ANY_BUT_LINES: Final = re.compile(f"(?![\n\t])[{_HIDDEN}]")
_SHORT: Final = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def visible(text: str, *, keeps_lines: bool = False) -> str:
    """Escape control, bidirectional and invisible characters, as JSON does."""
    return (_ANY_BUT_LINES if keeps_lines else _ANY).sub(_escape, text)


def for_stdout(text: str) -> str:
    """Return text for standard output: escaped on a terminal, unchanged in a pipe."""
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    return visible(text, keeps_lines=True) if is_terminal else text


def _escape(found: re.Match[str]) -> str:
    """Escape one character as in JSON, so that JSON output stays valid."""
    character = found[0]
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    return "".join(f"\\u{unit:04x}" for unit in ((code,) if code < 0x10000 else _halves(code)))


def _halves(code: int) -> tuple[int, int]:
    """Return the surrogate pair of a character."""
    return 0xD800 + ((code - 0x10000) >> 10), 0xDC00 + ((code - 0x10000) & 0x3FF)


@contextlib.contextmanager
def stdout_to_stderr() -> Iterator[None]:
    """Redirect standard output to standard error, also for child processes."""
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
