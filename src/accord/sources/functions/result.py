"""What a function returns, from its return hint."""

from collections.abc import Callable
from typing import Any, Final, get_args, get_origin

import msgspec

from accord.answer import Answer
from accord.arguments import JsonSchema
from accord.sources.functions.hints import annotate, describe

_SAYS_NOTHING: Final = (Any, None, type(None), Answer)


class Result:
    """The output schema, and the check that a result keeps to it; none where the hint says nothing.

    `str` is text as it stands: neither a JSON value nor structure.
    """

    def __init__(self, hint: Any, tool: str) -> None:
        if get_origin(hint) is Answer:
            (hint,) = get_args(hint)
        self.is_text = hint is str
        self.schema: JsonSchema | None = None
        self.check: Callable[[bytes], object] | None = None
        if not self.is_text and not any(hint is silent for silent in _SAYS_NOTHING):
            what = f"the result of tool {tool!r}"
            hint = annotate(hint, None, what)
            self.schema = describe(hint, what)
            self.check = msgspec.json.Decoder(hint).decode
