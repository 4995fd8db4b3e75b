"""What a client lets its model see of each answer of the shop, in a word or two."""

import re
from collections.abc import Callable, Mapping
from typing import Any

Seen = Mapping[str, Any]
"""Text, number of images, and mark of a failure (see probes/probing.py)."""

_REVISION = re.compile(r"\d{4}-\d\d-\d\d")
_MARKS = {"marked": "yes", "": "as text", "ends the run": "ends the run"}
_BASE64 = "iVBOR"


def _list(seen: Seen) -> str:
    return "yes" if _has(seen, "lantern", "rope", "torch") else "no"


def _page(seen: Seen) -> str:
    if not _has(seen, "499"):
        return "no"
    total, cursor = _has(seen, "1,?700"), _has(seen, "after-500")
    return "yes" if total and cursor else "total only" if total else "items only"


def _cut(seen: Seen) -> str:
    told, cursor = _has(seen, "2,?000"), _has(seen, r"rest\.")
    return "yes" if told and cursor else "no cursor" if told else "items only"


def _warning(seen: Seen) -> str:
    if not _has(seen, "12.5"):
        return "no"
    return "yes" if _has(seen, "The price is from 2019") else "data only"


def _failure(seen: Seen) -> str:
    if not _has(seen, "No sword here", "lantern or rope"):
        return "no reason" if seen["mark"] else "no"
    return _MARKS[seen["mark"]]


def _image(seen: Seen) -> str:
    if not seen["images"]:
        return "as base64" if _BASE64 in seen["text"] else "caption only"
    return "yes" if _has(seen, "a lantern") else "no caption"


def _has(seen: Seen, *patterns: str) -> bool:
    return all(re.search(each, seen["text"]) for each in patterns)


COLUMNS: dict[str, tuple[str, Callable[[Seen], str]]] = {
    "list": ("stock", _list),
    "page": ("orders", _page),
    "cut answer": ("log", _cut),
    "warning": ("price", _warning),
    "failure": ("buy", _failure),
    "image": ("picture", _image),
}
"""The columns of the table: the tool that is called, and what judges its answer."""


def verdicts(seen: Mapping[str, Seen]) -> dict[str, str]:
    """Return the verdict of each column, from what a client lets its model see of each tool."""
    return {name: judge(seen[tool]) for name, (tool, judge) in COLUMNS.items()}


def revision_of(seen: Mapping[str, Seen]) -> str:
    """Return the revision that the client negotiated."""
    found = _REVISION.search(seen["revision"]["text"])
    assert found is not None, seen["revision"]
    return found[0]
