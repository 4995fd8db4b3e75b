"""Somebody's words on a terminal, which they cannot drive."""

import re
import sys
from typing import Final

# Controls, what turns the direction of writing, what has no width, and halves of characters.
_HIDDEN: Final = (
    r"\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    r"\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f"
)
_ANY: Final = re.compile(f"[{_HIDDEN}]")
_ANY_BUT_LINES: Final = re.compile(f"(?![\n\t])[{_HIDDEN}]")
_SHORT: Final = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def visible(text: str, *, keeps_lines: bool = False) -> str:
    """Text in which what would move the cursor, turn the words or hide is escaped."""
    return (_ANY_BUT_LINES if keeps_lines else _ANY).sub(_escape, text)


def shown(text: str) -> str:
    """Text for standard output: as it is for a program, and on a terminal what a person may see."""
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    return visible(text, keeps_lines=True) if is_terminal else text


def _escape(found: re.Match[str]) -> str:
    """As JSON writes it, so that JSON stays JSON."""
    character = found[0]
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    return "".join(f"\\u{unit:04x}" for unit in ((code,) if code < 0x10000 else _halves(code)))


def _halves(code: int) -> tuple[int, int]:
    """A character beyond the first 65,536 as JSON escapes it."""
    return 0xD800 + ((code - 0x10000) >> 10), 0xDC00 + ((code - 0x10000) & 0x3FF)
