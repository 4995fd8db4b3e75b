"""`plain`: the data as JSON text, a failure as `Error executing tool: <message>`."""

from accord.model.answer import Answer, Problem, Value
from accord.model.content import text
from accord.profiles.parts import (
    add_beside,
    as_data,
    data_schema,
    has_beside,
    says_nothing,
    with_blocks,
)
from accord.profiles.profile import Profile, RenderContext, Result, TextResult


def success(answer: Answer[Value], setting: RenderContext) -> TextResult | Result:
    """One text block, its JSON also as structure; no `isError`."""
    data, blocks, has_more = answer.data, answer.blocks, has_beside(answer)
    said = as_data(data if isinstance(data, str) else data.json.decode(), answer, setting)
    if not blocks and not has_more:
        return said
    result = with_blocks(said, blocks, setting, is_silent=says_nothing(answer, setting.tool))
    if has_more:
        add_beside(result, answer)
    return result


def failure(problem: Problem, setting: RenderContext) -> Result:
    """One text block that says why, and `isError`."""
    return {"content": [text(f"Error executing tool: {problem.message}")], "isError": True}


PROFILE = Profile("plain", success, failure, data_schema)
