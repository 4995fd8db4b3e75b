"""Text that is clearly a list: `lines` are tokens, `tables` have rows, `groups` cut other texts.

`weights` decides which way to cut a text is right, if any: a document with a list somewhere in it
is not a list.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from accord.reader.items import tables
from accord.reader.items.groups import Cut
from accord.reader.items.lines import (
    COUNT_LINES,
    Items,
    Line,
    counts_in,
    is_advice,
    is_rule,
    split_advice,
    tokens,
)
from accord.reader.items.weights import best_cut, is_record
from accord.reader.lexicon import squeezed, words
from accord.reader.lexicon.phrases import lines_of

__all__ = [
    "Items",
    "counts_asked",
    "find_items",
    "is_record",
    "is_rule",
    "split_advice",
    "states_count",
]

_LONGEST: Final = 1_000_000
"""Characters of a text in which items are looked for."""
_COUNT_LINES_BELOW: Final = 3
"""Lines at the end that may state the number of items."""
_QUANTITY: Final = words("members.quantity")
_TEXT_FENCES: Final = words("texts.fences") | {""}
_BULLETS: Final = ("- ", "* ", "• ")


def states_count(items: Items) -> bool:
    """True if the text around items states their number."""
    return len(items.items) in items.numbers


def counts_asked(arguments: Mapping[str, Any]) -> set[int]:
    """Return the numbers of items that arguments request, if more than one."""
    return {
        each
        for name, each in arguments.items()
        if type(each) is int and each > 1 and squeezed(name) in _QUANTITY
    }


def find_items(text: str, *, wants_list: bool = False, blocks: Sequence[str] = ()) -> Items | None:
    """Return the items of a text that is a list; a tool that lists needs less evidence."""
    if len(text) > _LONGEST or not text.strip():
        return None
    if not wants_list and "\n" not in text and text.lstrip()[0] not in "[<*":
        return None
    each_block: list[Cut] = []
    if wants_list and len(blocks) > 1:
        each_block = _block_each(blocks)
        text = "\n\n".join(block for block in blocks if not is_advice(block))
    whole = lines_of(text.strip("\n"))
    if whole is None:
        return None
    found = _plain_bullets(whole)
    if found is not None:
        return found
    plain = _unfenced(whole) if wants_list and "```" in text else whole
    body, advice = split_advice([line.rstrip() for line in plain])
    lines = tokens(body)
    stated = _stated(lines, advice)
    if wants_list and stated[""] == {0} and len(advice) == sum(map(bool, body)) == 1:
        found = Items([], body[0], "", "columns")
    elif any(body):
        found = tables.find(text, lines, wants_list)
        found = found or best_cut(lines, stated, each_block, wants_list=wants_list)
    if found is None or not advice:
        return found
    closing = "\n".join(line for line in (found.closing, *advice) if line.strip())
    return found._replace(closing=closing)


def _plain_bullets(lines: list[str]) -> Items | None:
    """Return the items of a plain list, the usual case: a heading and one line for each bullet."""
    mark = lines[1][:2] if len(lines) > 2 else ""
    if mark not in _BULLETS or lines[0][-1:] != ":":
        return None
    items = []
    for line in lines[1:]:
        if line[:2] != mark or not line[2:3].strip() or ":" in line or "```" in line:
            return None
        items.append(line[2:].rstrip())
    return Items(items, lines[0], "", "bullets")


def _unfenced(lines: list[str]) -> list[str]:
    """Return lines without the fences of a code block around all lines but a heading."""
    marks = [at for at, line in enumerate(lines) if line.startswith("```")]
    if len(marks) != 2 or marks[0] > 2 or marks[1] < len(lines) - 2:
        return lines
    if lines[marks[0]].strip("` ").lower() not in _TEXT_FENCES:
        return lines
    return [line for at, line in enumerate(lines) if at not in marks]


def _stated(lines: Sequence[Line], advice: Sequence[str]) -> dict[str, set[int]]:
    """Return the lines near the top and the end that state counts, with the counts.

    Those in the closing remarks are under an empty text.
    """
    around = (*lines[:COUNT_LINES], *lines[-_COUNT_LINES_BELOW:])
    texts = (line.text for line in around if line.kind not in ("bullet", "number"))
    found = {text: counts for text in texts if (counts := counts_in(text))}
    return {**found, "": counts_in("\n".join(advice))}


def _block_each(blocks: Sequence[str]) -> list[Cut]:
    """Return cuts with a text block for each item, also with the first as heading."""
    parts = [tokens(block.strip().splitlines()) for block in blocks if not is_advice(block)]
    below = [line for block in blocks if is_advice(block) for line in tokens(block.splitlines())]
    if len(parts) < 2 or not all(parts):
        return []
    whole = Cut("block-per-item", parts, [], below)
    return [whole, Cut("block-per-item", parts[1:], parts[0], below)]
