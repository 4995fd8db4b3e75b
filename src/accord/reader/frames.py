"""Lines that only say where a text begins and where it ends."""

import re
from typing import Final

FRAME: Final = ("<<<", "---", "===", "***", "[BEGIN", "[START")
_BEGIN: Final = re.compile(r"[-=*<\[ ]{1,12}(?:BEGIN|START)(?:\s[\w ]{1,40})?[-=*>\] ]{1,12}")
_END: Final = re.compile(r"[-=*<\[ /]{1,12}END(?:\s[\w ]{1,40})?[-=*>\] ]{1,12}")


def unframed(text: str) -> str:
    """A text without the line that says that it begins, and that which says that it ends."""
    first, _, rest = text.strip().partition("\n")
    inside, _, last = rest.rpartition("\n")
    return inside.strip("\n") if _BEGIN.fullmatch(first) and _END.fullmatch(last) else text
