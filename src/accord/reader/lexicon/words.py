"""Splits the names of tools, arguments and members into words."""

import re
from typing import Final

from accord.reader.memo import memo

_JOINTS: Final = re.compile(r"[^a-z0-9]")
_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a name in small letters: `get`, `user` of `getUser` and `get-user`."""
    return tuple(part.lower() for part in _PARTS.findall(name))


def singular(word: str) -> str:
    """Return a noun in the singular: `user` of `users`, `query` of `queries`."""
    return word[:-3] + "y" if word.endswith("ies") else word.removesuffix("s")


@memo
def squeezed(name: str) -> str:
    """Return a name in one spelling: `hasmore` of `has_more`, `hasMore` and `Has-More`."""
    return _JOINTS.sub("", name.lower())
