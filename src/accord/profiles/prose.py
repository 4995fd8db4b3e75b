"""`prose`: the answer's own text, then its data as indented JSON, or in the layout it names."""

from accord.model.answer import Answer, Problem, Value
from accord.profiles.details import sentences, with_details
from accord.profiles.layouts import LAYOUTS
from accord.profiles.output_schemas import data_schema
from accord.profiles.profile import (
    Profile,
    RenderContext,
    Result,
    TextResult,
    as_data,
    failure_result,
    has_details,
    is_empty,
    with_blocks,
    with_meta,
)


def success(answer: Answer[Value], context: RenderContext) -> TextResult | Result:
    """Return one text block for a person to read; the data also as structure."""
    content, data = _text(answer, context), answer.data
    has_more = has_details(answer)
    if has_more:
        data, closing = with_details(answer), sentences(answer)
        if closing:
            content = f"{'null' if content is None else content}\n\n{closing}"
    rendered = as_data(content or "", data, context)
    if not answer.blocks and not has_more:
        return rendered
    result = with_blocks(rendered, answer.blocks, context, replaces_text=content is None)
    return with_meta(result, answer)


def _text(answer: Answer[Value], context: RenderContext) -> str | None:
    if answer.text is not None:
        return answer.text
    if is_empty(answer.data, context.tool) and (answer.message is not None or answer.blocks):
        return answer.message
    data = answer.data
    shown = data if isinstance(data, str) else LAYOUTS[data.layout](data.json)
    return shown if answer.message is None else f"{answer.message}\n{shown}"


def failure(problem: Problem, context: RenderContext) -> Result:
    """Return one text block with the tool, the reason and the remediation, and `isError`."""
    return failure_result(f"Error executing {context.tool.name}", problem)


PROFILE = Profile("prose", success, failure, data_schema)
