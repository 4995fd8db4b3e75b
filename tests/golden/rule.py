"""The golden rule: what a document shows is there and equal; the rest has to be allowed by name.

JSON inside a text is compared as JSON, prose byte for byte.
"""

import json
from collections.abc import Collection, Iterator
from typing import Any

_TEXT = "content[].text"


def differences(
    shown: Any, sent: Any, further: Collection[str] = (), path: str = ""
) -> Iterator[str]:
    """Yield the paths where a message differs from a document; `further` are paths to allow."""
    if isinstance(shown, dict) and isinstance(sent, dict):
        yield from _members(shown, sent, further, path)
    elif isinstance(shown, list) and isinstance(sent, list):
        if len(shown) != len(sent):
            yield f"{path} has {len(sent)} items, not {len(shown)}"
        for each, other in zip(shown, sent, strict=False):
            yield from differences(each, other, further, f"{path}[]")
    elif path.endswith(_TEXT) and _is_json(shown):
        yield from differences(json.loads(shown), json.loads(sent), further, f"{path} as JSON")
    elif type(shown) is not type(sent) or shown != sent:
        yield f"{path} is {sent!r}, not {shown!r}"


def _members(
    shown: dict[str, Any], sent: dict[str, Any], further: Collection[str], path: str
) -> Iterator[str]:
    for name in shown.keys() | sent.keys():
        here = f"{path}.{name}" if path else name
        if name not in sent:
            yield f"{here} is missing"
        elif name in shown:
            yield from differences(shown[name], sent[name], further, here)
        elif here not in further:
            yield f"{here} is in no document"


def _is_json(text: Any) -> bool:
    try:
        return isinstance(json.loads(text), dict | list)
    except (TypeError, ValueError):
        return False
