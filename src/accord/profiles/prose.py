"""`prose`: the answer's own text, then its data as indented JSON."""

import msgspec

from accord.model.answer import Answer, Problem, Value
from accord.profiles.profile import (
    Profile,
    RenderContext,
    Result,
    TextResult,
    add_details,
    as_data,
    data_schema,
    failure_result,
    has_details,
    is_empty,
    with_blocks,
)


def success(answer: Answer[Value], context: RenderContext) -> TextResult | Result:
    """Return one text block for a person to read; the data also as structure."""
    content, blocks, has_more = _text(answer, context), answer.blocks, has_details(answer)
    rendered = as_data(content or "", answer, context)
    if not blocks and not has_more:
        return rendered
    result = with_blocks(rendered, blocks, context, replaces_text=content is None)
    if has_more:
        add_details(result, answer)
    return result


def _text(answer: Answer[Value], context: RenderContext) -> str | None:
    if answer.text is not None:
        return answer.text
    if is_empty(answer, context.tool) and (answer.message is not None or answer.blocks):
        return answer.message
    data = answer.data
    shown = data if isinstance(data, str) else msgspec.json.format(data.json, indent=2).decode()
    return shown if answer.message is None else f"{answer.message}\n{shown}"


def failure(problem: Problem, context: RenderContext) -> Result:
    """Return one text block with the tool, the reason and the remediation, and `isError`."""
    return failure_result(f"Error executing {context.tool.name}", problem)


PROFILE = Profile("prose", success, failure, data_schema)
