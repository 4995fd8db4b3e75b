"""What a profile is: three functions from what a tool says to what goes on the wire."""

from collections.abc import Callable
from typing import Any

import msgspec

from accord.answer import Answer, Problem, Said
from accord.arguments import JsonSchema
from accord.errors import Reject
from accord.revisions import Revision
from accord.telemetry import Observed
from accord.tool import Tool

Result = dict[str, Any]


class Setting(msgspec.Struct, frozen=True, gc=False):
    """For whom an answer is worded: which tool gives it, in which revision, what was observed."""

    tool: Tool
    revision: Revision
    observed: Observed | None = None


class Profile(msgspec.Struct, frozen=True):
    """One way to word an answer."""

    name: str
    success: Callable[[Answer[Said], Setting], Result]
    failure: Callable[[Problem, Setting], Result | Reject]
    output_schema: Callable[[Tool, Revision], JsonSchema | None]
    has_own_shape: bool = False
    """Whether its text is one JSON object of its own, for successes and failures alike."""
