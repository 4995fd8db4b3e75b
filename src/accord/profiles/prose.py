"""`prose`: the answer's own words, then its data as indented JSON."""

import msgspec

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
    """One text block for a person to read; the data also as structure."""
    words, blocks, has_more = _words(answer, setting), answer.blocks, has_beside(answer)
    said = as_data(words or "", answer, setting)
    if not blocks and not has_more:
        return said
    result = with_blocks(said, blocks, setting, is_silent=words is None)
    if has_more:
        add_beside(result, answer)
    return result


def _words(answer: Answer[Value], setting: RenderContext) -> str | None:
    if answer.text is not None:
        return answer.text
    if says_nothing(answer, setting.tool) and (answer.message is not None or answer.blocks):
        return answer.message
    data = answer.data
    shown = data if isinstance(data, str) else msgspec.json.format(data.json, indent=2).decode()
    return shown if answer.message is None else f"{answer.message}\n{shown}"


def failure(problem: Problem, setting: RenderContext) -> Result:
    """One text block that says which tool failed and why, and `isError`."""
    words = f"Error executing {setting.tool.name}: {problem.message}"
    return {"content": [text(words)], "isError": True}


PROFILE = Profile("prose", success, failure, data_schema)
