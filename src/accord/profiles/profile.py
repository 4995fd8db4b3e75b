"""What a profile is: three functions from what a tool says to what goes on the wire."""

from collections.abc import Callable
from typing import Any

import msgspec

from accord.answer import Answer, Problem
from accord.arguments import JsonSchema
from accord.errors import Reject
from accord.revisions import Revision
from accord.tool import Tool

Result = dict[str, Any]


class Profile(msgspec.Struct, frozen=True):
    """One way to word an answer.

    The data of an answer that comes here is text (`str`) where the tool says text, else `Encoded`.
    """

    name: str
    success: Callable[[Answer[Any], Tool, Revision], Result]
    failure: Callable[[Problem, Tool, Revision], Result | Reject]
    output_schema: Callable[[Tool, Revision], JsonSchema | None]
