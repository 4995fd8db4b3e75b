"""What a profile is: three functions from what a tool says to what goes on the wire."""

from collections.abc import Callable
from typing import Any

import msgspec

from accord.answer import Answer, Problem, Said
from accord.arguments import JsonSchema
from accord.errors import Reject
from accord.revisions import Revision
from accord.tool import Tool

Result = dict[str, Any]


class Profile(msgspec.Struct, frozen=True):
    """One way to word an answer."""

    name: str
    success: Callable[[Answer[Said], Tool, Revision], Result]
    failure: Callable[[Problem, Tool, Revision], Result | Reject]
    output_schema: Callable[[Tool, Revision], JsonSchema | None]
